//! The journal's hash chain (R30). Each row's hash covers the one before it, so no row can be altered, dropped or moved.

use crate::canonical::{JournalHash, tagged_hash};
use serde_json::{Value, json};

const JOURNAL_TAG: &str = "countersign/journal/v1";

/// The hash before the first row.
pub const GENESIS: JournalHash = JournalHash([0; 32]);

/// What one journal row says.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub seq: i64,
    /// UTC milliseconds.
    pub at: i64,
    /// The action's number, or none for facts about the ledger itself (a device admitted, sending switched).
    pub action: Option<i64>,
    /// The fact's name and details.
    pub fact: Value,
    /// Who did it.
    pub by: String,
}

/// Frozen: the hash of a row after `previous`.
pub fn link(previous: JournalHash, entry: &Entry) -> JournalHash {
    JournalHash(tagged_hash(
        JOURNAL_TAG,
        &json!({
            "previous": previous, "seq": entry.seq, "at": entry.at, "action": entry.action,
            "fact": entry.fact, "by": entry.by,
        }),
    ))
}
