//! Places where a test can stop a process for good, to kill it exactly there. Debug builds only.
//!
//! `COUNTERSIGN_STOP_AT=after_crossing` and `COUNTERSIGN_STOP_FILE=FILE`: at that point the process writes a line to FILE and
//! never goes on. `COUNTERSIGN_PANIC_AT=after_crossing`: the first time that it comes there, what runs breaks off inside.
//! `COUNTERSIGN_SLEPT=60`: in the first attempt, as if the machine had slept for so many seconds since it began. A release
//! build has none of this.

use std::time::Duration;

#[cfg(debug_assertions)]
pub(crate) async fn testpoint(name: &str) {
    use std::sync::atomic::{AtomicBool, Ordering};
    static BROKE_OFF: AtomicBool = AtomicBool::new(false);
    let told = std::env::var("COUNTERSIGN_PANIC_AT").is_ok_and(|wanted| wanted == name);
    assert!(!told || BROKE_OFF.swap(true, Ordering::SeqCst), "told to break off at {name}");
    if std::env::var("COUNTERSIGN_STOP_AT").is_ok_and(|wanted| wanted == name) {
        if let Ok(file) = std::env::var("COUNTERSIGN_STOP_FILE") {
            use std::io::Write;
            let line = format!("{name} {}\n", std::process::id());
            let written = std::fs::OpenOptions::new()
                .create(true)
                .append(true)
                .open(file)
                .and_then(|mut f| f.write_all(line.as_bytes()));
            if written.is_err() {
                tracing::error!("the stop file cannot be written");
            }
        }
        std::future::pending::<()>().await;
    }
}

#[cfg(not(debug_assertions))]
pub(crate) async fn testpoint(_name: &str) {}

/// How long the machine is to have slept in the attempt that asks. Only the first one that asks is told.
#[cfg(debug_assertions)]
pub(crate) fn slept() -> Duration {
    use std::sync::atomic::{AtomicBool, Ordering};
    static TOLD: AtomicBool = AtomicBool::new(false);
    let seconds = std::env::var("COUNTERSIGN_SLEPT").ok().and_then(|text| text.parse().ok());
    seconds.filter(|_| !TOLD.swap(true, Ordering::SeqCst)).map_or(Duration::ZERO, Duration::from_secs)
}

#[cfg(not(debug_assertions))]
pub(crate) fn slept() -> Duration {
    Duration::ZERO
}

/// Whether this process shall claim without holding the dispatcher's lock: the test that four processes get one effect
/// past it too. Such a process recovers nobody's claims.
#[cfg(debug_assertions)]
pub(crate) fn past_the_lock() -> bool {
    std::env::var_os("COUNTERSIGN_PAST_THE_LOCK").is_some()
}

#[cfg(not(debug_assertions))]
pub(crate) fn past_the_lock() -> bool {
    false
}
