//! How far this computer's clock and that of each destination were apart when it answered last (F40).
//!
//! A number of seconds per destination in the home, beside the ledger: it is a fact about this computer and not about any
//! action. Nothing is decided by it. What has a time of its own (a key's window, an approval) is judged by how much time went
//! by, which a clock that is off by a constant measures well.

use crate::core::Core;
use crate::home::private_folders;
use countersign_connectors::clocks_apart;
use std::path::PathBuf;

/// A change by less is not worth a write.
const SAME: u64 = 30;

impl Core {
    fn clock_of(&self, destination: &str) -> PathBuf {
        self.home.clocks().join(destination)
    }

    /// A destination told its time. `ahead_seconds`: by how much it is ahead of ours; None: it told none, and what is known
    /// stays.
    pub(crate) fn saw_clock(&self, destination: &str, ahead_seconds: Option<i64>) {
        let Some(ahead) = ahead_seconds else { return };
        let known = self.ahead_seconds(destination);
        if known.unwrap_or_default().abs_diff(ahead) < SAME {
            return;
        }
        let path = self.clock_of(destination);
        let written =
            private_folders().create(self.home.clocks()).and_then(|()| std::fs::write(&path, ahead.to_string()));
        if let Err(e) = written {
            tracing::warn!("how far the clocks are apart could not be written down: {e}");
        }
    }

    fn ahead_seconds(&self, destination: &str) -> Option<i64> {
        std::fs::read_to_string(self.clock_of(destination)).ok()?.trim().parse().ok()
    }

    /// What a person is to know of it: how far apart, which is behind, and what to do. None where they agree well enough.
    pub fn clock_warning(&self, destination: &str) -> Option<String> {
        let apart = clocks_apart(self.ahead_seconds(destination)?)?;
        Some(format!(
            "When it answered last, its clock and this computer's were {apart}. Set this computer's clock, then test the \
             connection: receivers refuse what is signed at a wrong time, and times shown here are wrong."
        ))
    }
}
