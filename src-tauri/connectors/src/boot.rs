//! Time that goes on while the machine sleeps. Only for spans; it has no date.

use std::time::Duration;

/// A moment on the boot clock. Taken before the crossing is recorded and handed to [`crate::Poised::cross`], so that a
/// laptop that slept in between drops the connection unsent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BootTime(Duration);

impl BootTime {
    #[cfg(unix)]
    pub fn now() -> Self {
        // The ordinary monotonic clock stands still during sleep on Linux; on Apple systems it is this one that does not.
        #[cfg(any(target_os = "linux", target_os = "android"))]
        const CLOCK: rustix::time::ClockId = rustix::time::ClockId::Boottime;
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        const CLOCK: rustix::time::ClockId = rustix::time::ClockId::Monotonic;
        let t = rustix::time::clock_gettime(CLOCK);
        BootTime(Duration::new(u64::try_from(t.tv_sec).unwrap_or(0), u32::try_from(t.tv_nsec).unwrap_or(0)))
    }

    /// Elsewhere the standard library's clock counts sleep.
    #[cfg(not(unix))]
    pub fn now() -> Self {
        use std::sync::OnceLock;
        use std::time::Instant;
        static START: OnceLock<Instant> = OnceLock::new();
        BootTime(START.get_or_init(Instant::now).elapsed())
    }

    /// Span from this moment to now.
    pub fn elapsed(self) -> Duration {
        BootTime::now().0.saturating_sub(self.0)
    }

    /// The same moment, seen as if the machine had slept for `span` since. For tests and drills.
    pub fn before(self, span: Duration) -> Self {
        BootTime(self.0.saturating_sub(span))
    }
}
