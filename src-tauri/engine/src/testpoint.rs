//! Places where a test can stop a process for good, to kill it exactly there. Debug builds only.
//!
//! `COUNTERSIGN_STOP_AT=after_crossing` and `COUNTERSIGN_STOP_FILE=FILE`: at that point the process writes a line to FILE and
//! never goes on. A release build has none of this.

#[cfg(debug_assertions)]
pub(crate) async fn testpoint(name: &str) {
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
