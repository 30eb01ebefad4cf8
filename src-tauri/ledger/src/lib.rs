//! The ledger: every action, approval and attempt, and the chained journal of what happened to them.
//!
//! One method is one transaction, and it is on disk before the method returns. Nothing here knows the network, the
//! keychain or the time: `now` is always an argument.

mod error;
mod stubs;
mod types;

pub use error::{Conflict, LedgerError};
pub use types::*;

/// An open ledger. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Ledger;
