//! The only reader of the system time.

use countersign_domain::Timestamp;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime};

/// Where "now" comes from. Network time-outs stay real in both modes.
#[derive(Clone, Debug)]
pub enum Clock {
    System,
    /// UTC milliseconds, moved by tests, scripts and drills only.
    Manual(Arc<AtomicI64>),
}

impl Clock {
    pub fn manual(at: Timestamp) -> Clock {
        Clock::Manual(Arc::new(AtomicI64::new(at.millis())))
    }

    pub fn now(&self) -> Timestamp {
        match self {
            Clock::System => system_now(),
            Clock::Manual(at) => Timestamp::from_millis(at.load(Ordering::SeqCst)),
        }
    }

    /// Moves a manual clock forward; a system clock cannot be moved and ignores it.
    pub fn advance(&self, by: Duration) {
        if let Clock::Manual(at) = self {
            at.fetch_add(i64::try_from(by.as_millis()).unwrap_or(i64::MAX), Ordering::SeqCst);
        }
    }

    /// Sets a manual clock, back too.
    pub fn set(&self, to: Timestamp) {
        if let Clock::Manual(at) = self {
            at.store(to.millis(), Ordering::SeqCst);
        }
    }

    pub fn is_manual(&self) -> bool {
        matches!(self, Clock::Manual(_))
    }
}

fn system_now() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_clock_moves_only_when_it_is_moved() {
        let clock = Clock::manual(Timestamp::from_millis(1_000));
        assert_eq!(clock.now().millis(), 1_000);
        clock.advance(Duration::from_secs(6));
        assert_eq!(clock.now().millis(), 7_000);
    }
}
