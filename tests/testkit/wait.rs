//! Waiting for real peers: bounded, and loud about what did not come.

use std::thread;
use std::time::{Duration, Instant};

/// How long a peer may take before the test fails. Generous, since the machine may be busy.
pub const PATIENCE: Duration = Duration::from_secs(60);

const PAUSE: Duration = Duration::from_millis(15);

/// Polls until `look` gives a value.
///
/// # Panics
/// When [`PATIENCE`] has passed; the message names `what`.
pub fn until<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    within(PATIENCE, look).unwrap_or_else(|| panic!("waited {} s in vain: {what}", PATIENCE.as_secs()))
}

/// Polls until `look` gives a value or `limit` has passed.
pub fn within<T>(limit: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let end = Instant::now() + limit;
    loop {
        if let Some(found) = look() {
            return Some(found);
        }
        if Instant::now() >= end {
            return None;
        }
        thread::sleep(PAUSE);
    }
}
