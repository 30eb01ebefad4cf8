//! Whether anything shows bubbles here. A decision never rests on one: lists, counts and the tray tell everything; where
//! bubbles are not shown, settings and `doctor` say so (F49).

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A service that takes longer is one that does not answer.
const WITHIN: Duration = Duration::from_secs(5);

const NONE: &str = "No notification service answers on this desktop, so no notifications are shown.";
const REFUSED: &str = "The notification service of this desktop did not take it, so no notifications are shown.";

/// Why the last bubble was not shown, if it was not. Shared by all that use one open home.
#[derive(Clone, Debug, Default)]
pub struct LastBubble(Arc<Mutex<Option<&'static str>>>);

impl LastBubble {
    pub(super) fn was(&self, problem: Option<&'static str>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = problem;
    }

    pub(crate) fn tested(&self, shown: Result<(), &'static str>) {
        self.was(shown.err());
    }

    pub fn problem(&self) -> Option<&'static str> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What shows bubbles here, by name.
///
/// # Errors
/// A sentence for a person, where nothing does.
pub async fn service() -> Result<String, &'static str> {
    in_time(name).await.unwrap_or(Err(NONE))
}

/// Shows one that says that it is a test.
///
/// # Errors
/// As [`service`].
pub async fn show_test() -> Result<(), &'static str> {
    service().await?;
    let shown = || {
        let note = super::note("This is a test", "Countersign shows notifications here. Nothing needs to be done.");
        note.show().map(drop).map_err(|_| REFUSED)
    };
    in_time(shown).await.unwrap_or(Err(REFUSED))
}

/// The calls block; one that never comes back holds up nobody.
async fn in_time<T: Send + 'static>(
    call: impl FnOnce() -> Result<T, &'static str> + Send + 'static,
) -> Option<Result<T, &'static str>> {
    tokio::time::timeout(WITHIN, tokio::task::spawn_blocking(call)).await.ok()?.ok()
}

#[cfg(all(unix, not(target_os = "macos")))]
fn name() -> Result<String, &'static str> {
    notify_rust::get_server_information().map(|is| is.name).map_err(|_| NONE)
}

/// The system shows them itself; whether it does is told by it alone.
#[cfg(not(all(unix, not(target_os = "macos"))))]
fn name() -> Result<String, &'static str> {
    Ok("the system".to_owned())
}

/// Why a bubble was not shown: nobody is there who shows them, or who is there did not take it.
pub(super) fn refused() -> Option<&'static str> {
    Some(if name().is_ok() { REFUSED } else { NONE })
}
