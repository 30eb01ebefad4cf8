//! Counts for the window: the chart of History and the Insights view.

use super::Time;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use ts_rs::TS;

/// How many actions last changed between one start and the next, by what they are now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct TallyBin {
    pub start: Time,
    pub accepted: u32,
    /// Refused or gave up.
    pub refused: u32,
    /// Unknown, or closed as unknown.
    pub unknown: u32,
    /// Rejected or superseded: ended by choice.
    pub not_sent: u32,
    pub on_the_way: u32,
    /// Had an attempt without a clear answer, whatever came of it.
    pub went_unknown: u32,
}

/// What a range of History holds, counted from the same rows as the list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct TallyDoc {
    /// By state; states without an action are left out.
    pub states: BTreeMap<String, u32>,
    /// One for each start that was asked for; what lies before the first start is in `states` only.
    pub bins: Vec<TallyBin>,
    /// Unknown, and still being asked.
    pub asked: u32,
    /// Actions with two receipts.
    pub two_receipts: u32,
}

/// What became of actions whose answer got lost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct SettledDoc {
    /// `lookup`, `answer` (a repeat under the same key), `late_answer`, `dsn`, `person`, `not_sent`, `revised`,
    /// `closed_unknown`, `under_way` or `unknown`.
    pub how: String,
    pub many: u32,
}

/// Approved actions of one source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct SourceShareDoc {
    pub source: String,
    pub approved: u32,
    /// As the source wrote them, without an edit.
    pub as_written: u32,
}

/// Checks that a person made before approving.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct CheckCount {
    pub code: String,
    pub many: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct InsightsDoc {
    pub tally: TallyDoc,
    /// Approvals of drafts from sources.
    pub approvals: u32,
    /// Time from draft to approval: under 5 minutes, 15 minutes, an hour, 4 hours, a day, longer.
    pub buckets: Vec<u32>,
    pub median_seconds: Option<u32>,
    /// Actions whose answer got lost at least once.
    pub unclear: u32,
    pub settled: Vec<SettledDoc>,
    /// From the lost answer to the receipt.
    pub settled_median_seconds: Option<u32>,
    pub sources: Vec<SourceShareDoc>,
    pub checks: Vec<CheckCount>,
}

/// What leaves, or left: the bytes as text.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct WireDoc {
    /// True for the bytes an approval covers; false for how it would be rendered now, which no approval covers.
    pub stored: bool,
    pub hash: Option<String>,
    /// Bytes, all of them.
    pub size: u64,
    /// The beginning, at most 64 KiB of it; what is not UTF-8 stands as U+FFFD.
    pub text: String,
    pub cut: bool,
}

impl std::fmt::Debug for WireDoc {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "WireDoc({} bytes)", self.size)
    }
}
