//! What can go wrong with the ledger. A `Conflict` can be explained to a person; `Database` says what we were doing.

use countersign_domain::{ActionId, Illegal, PayloadHash};

#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// Somebody or something else was first, or the rules do not allow it. Nothing changed.
    #[error(transparent)]
    Conflict(#[from] Conflict),
    #[error("there is no {what} {id}")]
    NotFound { what: &'static str, id: String },
    /// Another process held the write lock for longer than we wait. Nothing was saved; the same call may be made again.
    #[error("not saved: another program is writing to the ledger; try again")]
    Busy,
    /// A stored row does not agree with itself or with the journal.
    #[error("{what} {id} does not hold: {why}")]
    Corrupt { what: &'static str, id: String, why: String },
    /// The file is something else.
    #[error("{path} is not a ledger: {why}")]
    Foreign { path: String, why: &'static str },
    /// The file was written by a newer Countersign. It was not changed.
    #[error("the ledger has schema {found}, this build knows {known}; use a newer Countersign. Nothing was changed")]
    Newer { found: i64, known: i64 },
    /// The ledger may not lie here.
    #[error("the ledger cannot be kept here: {why}")]
    Place { why: String },
    #[error("not saved: the disk is full")]
    Full,
    /// This ledger was opened for reading only.
    #[error("the ledger was opened for reading only")]
    ReadOnly,
    #[error("the database failed while {doing}")]
    Database {
        doing: &'static str,
        #[source]
        source: sqlx::Error,
    },
}

impl LedgerError {
    pub(crate) fn corrupt(what: &'static str, id: impl ToString, why: impl Into<String>) -> Self {
        LedgerError::Corrupt { what, id: id.to_string(), why: why.into() }
    }
    pub(crate) fn not_found(what: &'static str, id: impl ToString) -> Self {
        LedgerError::NotFound { what, id: id.to_string() }
    }
}

/// Why a decision was not taken. Each is a sentence for a person.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Conflict {
    #[error("the draft changed; its fingerprint is now {}", current.fingerprint())]
    HashNotCurrent { current: PayloadHash },
    #[error("{0}")]
    Illegal(Illegal),
    /// Somebody else moved the action between reading and writing.
    #[error("the action was changed meanwhile; its draft is now version {current}")]
    VersionMoved { current: u32 },
    #[error("the same request and step already has an action: {action}")]
    KeyExists { action: ActionId },
    #[error("this event id already belongs to another proposal")]
    EventExists,
    #[error("the name `{name}` is in use or was used before; a removed name is never used again")]
    NameTaken { name: String },
    #[error("this account is already set up as `{by}`")]
    AccountTaken { by: String },
    /// It was handed over once, or a first approver signed: only the stored wire may be approved.
    #[error("the request differs from the stored one, which is the only one that may be approved now")]
    WireDiffers,
    /// A field of the approval is not that of the stored action.
    #[error("the approval does not fit the action: {field} differs")]
    ApprovalDiffers { field: &'static str },
    #[error("{by} has already approved this; a second person is needed")]
    SameApprover { by: String },
    /// The attempt was closed or belongs to another worker.
    #[error("this worker no longer holds the claim")]
    ClaimLost,
    /// A source told of a newer message after the claim.
    #[error("the customer wrote again after this was approved")]
    WroteAgain,
    /// Sending was switched off, or dispatch was frozen, after the claim.
    #[error("sending is switched off or frozen")]
    SendingOff,
    #[error("an identity is still missing: {field}")]
    StillMissing { field: &'static str },
    #[error("the action it waits for, {action}, has not ended without acceptance")]
    OrderStands { action: ActionId },
    /// Its source lost the permission meanwhile, or its destination went.
    #[error("{why}")]
    NotPermitted { why: String },
    #[error("it waits for nothing")]
    NoOrder,
    #[error("it waits for its next attempt, not for the end of an undo window")]
    NotInUndoWindow,
    /// An attempt that crossed is still open.
    #[error("an attempt is still open")]
    AttemptOpen,
    #[error("a message of this action was purged; it cannot go out again")]
    Purged,
    /// The word was about an earlier crossing.
    #[error("it was handed over again meanwhile; look again before saying that it did not happen")]
    CrossedAgain,
    #[error("the signature of this decision does not fit the action")]
    OtherAction,
}

impl From<Illegal> for LedgerError {
    fn from(illegal: Illegal) -> Self {
        LedgerError::Conflict(Conflict::Illegal(illegal))
    }
}
