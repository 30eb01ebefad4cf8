//! What every border shows when something did not work: a code, a sentence, and where it can be named the field or action.
//!
//! A [`Code`] exists only where the window, the command line or an agent does something different for it. Messages hold ids
//! and short fingerprints; never an address, message text or a secret.

use countersign_domain::json::FieldError;
use countersign_domain::{ActionId, ApprovalError, Illegal, NotCountersigned};
use countersign_ledger::{Conflict, LedgerError};
use std::fmt;

/// The words of `{"error":{"code":…}}` (interfaces.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// Our own fault, or the machine's.
    Internal,
    /// The field is named.
    BadInput,
    /// Hash no longer current, key used with other content, impossible transition.
    Conflict,
    NotPermitted,
    /// A decision needs the passphrase first.
    Locked,
    NotFound,
    /// The outcome is not known.
    Unknown,
    Refused,
    GaveUp,
    /// Dispatch frozen or not possible: restore, copy, kill switch, disk, another dispatcher.
    Frozen,
    /// A hash or signature does not hold.
    Integrity,
}

impl Code {
    pub const ALL: [Code; 11] = [
        Code::Internal,
        Code::BadInput,
        Code::Conflict,
        Code::NotPermitted,
        Code::Locked,
        Code::NotFound,
        Code::Unknown,
        Code::Refused,
        Code::GaveUp,
        Code::Frozen,
        Code::Integrity,
    ];

    pub const fn word(self) -> &'static str {
        match self {
            Code::Internal => "internal",
            Code::BadInput => "bad_input",
            Code::Conflict => "conflict",
            Code::NotPermitted => "not_permitted",
            Code::Locked => "locked",
            Code::NotFound => "not_found",
            Code::Unknown => "unknown",
            Code::Refused => "refused",
            Code::GaveUp => "gave_up",
            Code::Frozen => "frozen",
            Code::Integrity => "integrity",
        }
    }

    /// The exit code of the command line (interfaces.md).
    pub const fn exit(self) -> u8 {
        match self {
            Code::Internal => 1,
            Code::BadInput => 2,
            Code::Conflict => 3,
            Code::NotPermitted | Code::Locked => 4,
            Code::NotFound => 5,
            Code::Unknown => 6,
            Code::Refused | Code::GaveUp => 7,
            Code::Frozen => 8,
            Code::Integrity => 9,
        }
    }
}

/// Something did not work, told at the border.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    pub code: Code,
    /// One sentence: what happened, what is known, what comes next.
    pub message: String,
    /// Path of the offending field in the input.
    pub field: Option<String>,
    pub action: Option<ActionId>,
}

impl Failure {
    pub fn new(code: Code, message: impl Into<String>) -> Failure {
        Failure { code, message: message.into(), field: None, action: None }
    }
    pub fn internal(message: impl Into<String>) -> Failure {
        Failure::new(Code::Internal, message)
    }
    pub fn bad_input(field: impl Into<String>, message: impl Into<String>) -> Failure {
        Failure { field: Some(field.into()), ..Failure::new(Code::BadInput, message) }
    }
    pub fn conflict(message: impl Into<String>) -> Failure {
        Failure::new(Code::Conflict, message)
    }
    pub fn not_permitted(message: impl Into<String>) -> Failure {
        Failure::new(Code::NotPermitted, message)
    }
    pub fn locked(message: impl Into<String>) -> Failure {
        Failure::new(Code::Locked, message)
    }
    pub fn not_found(message: impl Into<String>) -> Failure {
        Failure::new(Code::NotFound, message)
    }
    pub fn frozen(message: impl Into<String>) -> Failure {
        Failure::new(Code::Frozen, message)
    }
    pub fn integrity(message: impl Into<String>) -> Failure {
        Failure::new(Code::Integrity, message)
    }
    #[must_use]
    pub fn on(mut self, action: ActionId) -> Failure {
        self.action = Some(action);
        self
    }
    #[must_use]
    pub fn at(mut self, field: impl Into<String>) -> Failure {
        self.field = Some(field.into());
        self
    }
    /// As the shape of interfaces.md.
    pub fn doc(&self) -> crate::view::ErrorDoc {
        crate::view::ErrorDoc {
            code: self.code.word().to_owned(),
            message: self.message.clone(),
            field: self.field.clone(),
            action: self.action.map(|a| a.to_string()),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

impl From<FieldError> for Failure {
    fn from(e: FieldError) -> Failure {
        Failure::bad_input(e.field.clone(), e.to_string())
    }
}

impl From<ApprovalError> for Failure {
    fn from(e: ApprovalError) -> Failure {
        Failure::conflict(e.to_string())
    }
}

impl From<Illegal> for Failure {
    fn from(e: Illegal) -> Failure {
        Failure::conflict(e.to_string())
    }
}

impl From<NotCountersigned> for Failure {
    fn from(e: NotCountersigned) -> Failure {
        if e.is_integrity() { Failure::integrity(e.to_string()) } else { Failure::conflict(e.to_string()) }
    }
}

impl From<LedgerError> for Failure {
    fn from(e: LedgerError) -> Failure {
        let code = match &e {
            LedgerError::Conflict(why) => match why {
                Conflict::SendingOff => Code::Frozen,
                Conflict::NotPermitted { .. } => Code::NotPermitted,
                _ => Code::Conflict,
            },
            LedgerError::NotFound { .. } => Code::NotFound,
            LedgerError::Corrupt { .. } | LedgerError::Foreign { .. } => Code::Integrity,
            LedgerError::Newer { .. } | LedgerError::Place { .. } | LedgerError::Full => Code::Frozen,
            LedgerError::Busy | LedgerError::ReadOnly => Code::Internal,
            LedgerError::Database { source, .. } => {
                // The source may quote the statement; it goes to the log of the operator, never to a person's screen.
                tracing::error!(error = %source, "the database failed");
                Code::Internal
            }
        };
        let failure = Failure::new(code, e.to_string());
        match e {
            LedgerError::Conflict(Conflict::StillMissing { field }) => failure.at(field),
            _ => failure,
        }
    }
}

/// A file or folder could not be used. The path is the person's own and may be named.
pub(crate) fn disk(doing: &str, path: &std::path::Path, e: &std::io::Error) -> Failure {
    let code = match e.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::ReadOnlyFilesystem => Code::Frozen,
        std::io::ErrorKind::PermissionDenied => Code::NotPermitted,
        _ => Code::Internal,
    };
    Failure::new(code, format!("could not {doing} {}: {e}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_its_own_word_and_an_exit_code_of_interfaces() {
        let words: std::collections::BTreeSet<_> = Code::ALL.iter().map(|c| c.word()).collect();
        assert_eq!(words.len(), Code::ALL.len());
        assert!(Code::ALL.iter().all(|c| (1..=9).contains(&c.exit())));
    }
}
