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

/// A row that does not follow from the one before it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("journal row {seq}: {why}")]
pub struct Break {
    pub seq: i64,
    pub why: Broken,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// The row was altered, or the one before it was.
    #[error("its hash does not follow from its content and the row before it")]
    Hash,
    /// Rows are missing, doubled or in another order.
    #[error("rows before it are missing or out of order")]
    Order,
    /// The last row is not the one that was to be there.
    #[error("the journal ends before it")]
    Short,
}

/// Walks rows in their stored order, each with the hash stored beside it, from `previous` on, which belongs to row
/// `after`. Answers every break; behind one it goes on from the stored hash, so that each altered row is named by itself.
pub fn check<'e>(
    previous: JournalHash,
    after: i64,
    rows: impl IntoIterator<Item = (&'e Entry, JournalHash)>,
) -> (JournalHash, Vec<Break>) {
    let (mut head, mut seq, mut breaks) = (previous, after, Vec::new());
    for (entry, stored) in rows {
        if entry.seq != seq + 1 {
            breaks.push(Break { seq: entry.seq, why: Broken::Order });
        }
        if link(head, entry) != stored {
            breaks.push(Break { seq: entry.seq, why: Broken::Hash });
        }
        (head, seq) = (stored, entry.seq);
    }
    (head, breaks)
}

/// As [`check`] over a whole journal, which must end with the row and the hash that the anchor knows.
pub fn check_to(anchor: (i64, JournalHash), rows: &[(Entry, JournalHash)]) -> Vec<Break> {
    let (_, mut breaks) = check(GENESIS, 0, rows.iter().map(|(entry, hash)| (entry, *hash)));
    let (seq, hash) = anchor;
    match rows.iter().find(|(entry, _)| entry.seq == seq) {
        _ if seq == 0 => {}
        None => breaks.push(Break { seq, why: Broken::Short }),
        Some((_, stored)) if *stored != hash => breaks.push(Break { seq, why: Broken::Hash }),
        Some(_) => {}
    }
    breaks
}
