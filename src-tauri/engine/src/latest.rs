//! The latest time that is known to have been, so that a clock that is set back opens no key's window again (F40).
//!
//! The journal knows it over restarts and from every process; between its rows this process's own clock does.

use crate::core::Core;
use crate::failure::Failure;
use countersign_domain::Timestamp;
use countersign_domain::policy::window_time;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Clone, Debug, Default)]
pub(crate) struct Latest(Arc<Mutex<Seen>>);

#[derive(Clone, Copy, Debug)]
struct Seen {
    at: Timestamp,
    /// The journal is known up to this row.
    seq: i64,
}

impl Default for Seen {
    fn default() -> Seen {
        Seen { at: Timestamp::from_millis(0), seq: 0 }
    }
}

impl Latest {
    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// This process's clock said so.
    pub(crate) fn saw(&self, now: Timestamp) {
        let mut seen = self.lock();
        seen.at = seen.at.max(now);
    }
}

impl Core {
    /// The time that a key's window is judged by; None where the clock was set back.
    pub(crate) async fn window_time(&self) -> Result<Option<Timestamp>, Failure> {
        let known = self.latest.lock().seq;
        let newer = self.ledger.latest_time(known).await?;
        let now = self.clock.now();
        let mut seen = self.latest.lock();
        if let Some((seq, at)) = newer {
            *seen = Seen { at: seen.at.max(at), seq: seen.seq.max(seq) };
        }
        let time = window_time(now, seen.at);
        seen.at = seen.at.max(now);
        Ok(time)
    }
}
