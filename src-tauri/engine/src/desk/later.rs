//! What was approved for a time of its own, beside what is only held for Undo.

use super::Desk;
use super::forms::HOLD_MAX;
use countersign_domain::{State, Timestamp};
use countersign_ledger::{Detail, RowRecord, Waits};
use std::time::Duration;

impl Desk {
    /// The time it was approved for, on the wall and in UTC, as long as that has not come.
    pub(super) fn scheduled(&self, detail: &Detail) -> Option<String> {
        let row = &detail.record.row;
        if row.standing.state != State::Approved || row.waits != Waits::UndoWindow {
            return None;
        }
        let shown = detail.payloads.iter().find(|p| p.version == row.payload_version)?;
        let when = shown.payload.as_ref()?.email()?.send_at?;
        let moment = when.resolve().ok().filter(|moment| moment.at > self.now())?;
        Some(when.both(moment))
    }
}

/// Whether Undo counts its seconds: a line of a list does not know its payload, but no hold is longer.
pub(super) fn is_held(row: &RowRecord, now: Timestamp) -> bool {
    let longest = Duration::from_secs(u64::from(HOLD_MAX));
    row.waits == Waits::UndoWindow && row.not_before > now && row.not_before.since(now) <= longest
}

/// Whether it is to go at a time of its own, and that comes within a day.
pub(super) fn is_scheduled_soon(row: &RowRecord, now: Timestamp) -> bool {
    const SOON: Duration = Duration::from_secs(24 * 3600);
    row.waits == Waits::UndoWindow && row.not_before > now && row.not_before.since(now) <= SOON && !is_held(row, now)
}
