//! The first frame: some graphics drivers leave WebKit's window white. Dispatch does not start before a person can see it.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// How long the page may take to its first painted frame. A cold start on a busy machine was seen to need 5 s.
pub(crate) const FIRST_FRAME: Duration = Duration::from_secs(25);

/// Set in the second try, where WebKit draws without the graphics card.
pub(crate) const SAFE: &str = "COUNTERSIGN_SAFE_RENDERER";

/// What to do about the first frame.
#[derive(Debug, PartialEq)]
pub(crate) enum Verdict {
    /// It is on the screen.
    Painted,
    /// Start again, once, with the safe renderer.
    Again,
    /// Also the safe renderer shows nothing: say so on the terminal. The queue stays as it is.
    Hopeless,
    /// The window is gone before it painted.
    Closed,
}

/// Waits for the page's word. `safe` tells that this is the second try already.
pub(crate) fn watch(painted: &Receiver<()>, limit: Duration, safe: bool) -> Verdict {
    match painted.recv_timeout(limit) {
        Ok(()) => Verdict::Painted,
        Err(RecvTimeoutError::Disconnected) => Verdict::Closed,
        Err(RecvTimeoutError::Timeout) if safe => Verdict::Hopeless,
        Err(RecvTimeoutError::Timeout) => Verdict::Again,
    }
}

pub(crate) fn is_second_try() -> bool {
    std::env::var_os(SAFE).is_some()
}

/// Becomes a new process of the same program with the safe renderer. Returns only if that fails.
pub(crate) fn start_again() -> std::io::Error {
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(why) => return why,
    };
    let mut again = std::process::Command::new(program);
    again.args(std::env::args_os().skip(1)).env(SAFE, "1");
    again.env("WEBKIT_DISABLE_DMABUF_RENDERER", "1").env("WEBKIT_DISABLE_COMPOSITING_MODE", "1");
    become_process(&mut again)
}

/// In place: the lock on the home and the name on the bus must be free before the second try asks for them.
#[cfg(unix)]
fn become_process(again: &mut std::process::Command) -> std::io::Error {
    std::os::unix::process::CommandExt::exec(again)
}

#[cfg(not(unix))]
fn become_process(again: &mut std::process::Command) -> std::io::Error {
    match again.spawn() {
        Ok(_) => std::process::exit(0),
        Err(why) => why,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn f48_without_a_first_frame_it_starts_again_once_and_then_says_so() {
        let (painted, seen) = channel();
        assert_eq!(watch(&seen, Duration::from_millis(1), false), Verdict::Again);
        assert_eq!(watch(&seen, Duration::from_millis(1), true), Verdict::Hopeless);
        painted.send(()).expect("it listens");
        assert_eq!(watch(&seen, Duration::from_millis(1), true), Verdict::Painted);
        drop(painted);
        assert_eq!(watch(&seen, Duration::from_secs(60), false), Verdict::Closed);
    }
}
