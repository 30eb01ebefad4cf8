//! The ledger: every action, approval and attempt, and the chained journal of what happened to them.
//!
//! One method is one transaction, and what a later step rests on is on disk before the method returns (`tx::Durable`: the
//! claim, kept texts and the index ride on the next sync). Nothing here knows the network, the
//! keychain or the time: `now` is always an argument. No transaction is ever handed out.
//!
//! | file | what lives there |
//! |---|---|
//! | `open`, `place`, `tx`, `slots`, `script` | making and opening, where it may lie, transactions, connections, statements said at once |
//! | `apply`, `journal`, `rows`, `lines` | the one write path for state, the chain, rows to values and back, many at once |
//! | `receive`, `news`, `decide`, `approvers`, `revise` | what sources hand in; what people decide |
//! | `claim`, `close`, `reconcile`, `followup` | an attempt from claim to close; doubt; what comes after |
//! | `read`, `dossier` | one action with its history; all its rows at once |
//! | `related`, `around` | what else went the same way; what the ledger knows around an action |
//! | `page`, `search` | lists; full text |
//! | `directory`, `rules` | people, devices, sources, destinations, settings; what a round of dispatch reads of them |
//! | `proof`, `beside`, `configured`, `verify`, `whole` | does it hold: an action, what lies beside it, the configuration, all of it |
//! | `purge`, `backup` | retention; copies |
//! | `doors` | answers under an Idempotency-Key; outcomes to be told to their source |

mod apply;
mod approvers;
mod around;
mod backup;
mod beside;
mod claim;
mod close;
mod configured;
mod content;
mod decide;
mod directory;
mod doors;
mod dossier;
mod error;
mod followup;
mod insights;
mod journal;
mod lines;
mod news;
mod next;
mod open;
mod page;
mod place;
mod proof;
mod purge;
mod read;
mod receive;
mod reconcile;
mod related;
mod repeats;
mod revise;
mod rows;
mod rules;
mod script;
mod search;
mod slots;
mod tx;
mod types;
mod verify;
mod whole;

pub use error::{Conflict, LedgerError};
pub use insights::{ApprovalTimes, Insights, QUARTER, QuarterCount, SourceShare, Tally, WasUnclear};
pub use next::Follows;
pub use open::SCHEMA;
pub use rules::Rules;
pub use types::*;

use std::sync::Arc;

/// An open ledger. Cheap to clone.
#[derive(Clone)]
pub struct Ledger {
    inner: Arc<Inner>,
}

struct Inner {
    /// The search index was fed since it was last found merged.
    unmerged: std::sync::atomic::AtomicBool,
    pools: tx::Pools,
    id: String,
    /// What the journal tells of the configuration, as far as it was read.
    configured: std::sync::Mutex<Arc<configured::Configured>>,
    /// The known domains of each environment, as far as they were read.
    domains: tokio::sync::Mutex<read::KnownDomains>,
}

impl std::fmt::Debug for Ledger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Ledger({})", self.inner.id)
    }
}

impl Ledger {
    /// The random id given when it was made. A copy has the same one.
    pub fn id(&self) -> &str {
        &self.inner.id
    }

    pub(crate) fn pools(&self) -> &tx::Pools {
        &self.inner.pools
    }

    /// For a moment when nothing is under way: moves what was written lately from the log into the file, so that no action
    /// pays for it. Does nothing where little was written.
    pub async fn checkpoint_in_idle(&self) -> Result<(), LedgerError> {
        self.pools().checkpoint_in_idle().await
    }

    /// Changes with every commit that this process makes. What another process commits is seen by looking at [`Ledger::head`].
    pub fn moved(&self) -> tokio::sync::watch::Receiver<()> {
        self.pools().moved()
    }

    /// Closes every connection; what was written is on disk already.
    pub async fn close(&self) {
        self.inner.pools.close().await;
    }
}

/// Every statement that both engines run, by file and name: the PostgreSQL test prepares each of them.
#[doc(hidden)]
pub fn shared_statements() -> Vec<(&'static str, &'static str, &'static str)> {
    let of = |file: &'static str, list: &'static [(&'static str, &'static str)]| {
        list.iter().map(move |(name, text)| (file, *name, *text))
    };
    of("apply", apply::STATEMENTS)
        .chain(of("approvers", approvers::STATEMENTS))
        .chain(of("beside", beside::STATEMENTS))
        .chain(of("configured", configured::STATEMENTS))
        .chain(of("whole", whole::STATEMENTS))
        .chain(of("claim", claim::STATEMENTS))
        .chain(of("close", close::STATEMENTS))
        .chain(of("content", content::STATEMENTS))
        .chain(of("decide", decide::STATEMENTS))
        .chain(of("directory", directory::STATEMENTS))
        .chain(of("doors", doors::STATEMENTS))
        .chain(of("dossier", dossier::STATEMENTS))
        .chain(of("followup", followup::STATEMENTS))
        .chain(of("insights", insights::STATEMENTS))
        .chain(of("next", next::STATEMENTS))
        .chain(of("open", open::STATEMENTS))
        .chain(of("journal", journal::STATEMENTS))
        .chain(of("page", page::STATEMENTS))
        .chain(of("proof", proof::STATEMENTS))
        .chain(of("purge", purge::STATEMENTS))
        .chain(of("read", read::STATEMENTS))
        .chain(of("receive", receive::STATEMENTS))
        .chain(of("reconcile", reconcile::STATEMENTS))
        .chain(of("related", related::STATEMENTS))
        .chain(of("repeats", repeats::STATEMENTS))
        .chain(of("revise", revise::STATEMENTS))
        .chain(of("rows", rows::STATEMENTS))
        .chain(of("rules", rules::STATEMENTS))
        .chain(of("search", search::STATEMENTS))
        .chain(of("verify", verify::STATEMENTS))
        .collect()
}

/// Statements that differ between the engines: file, what it is for, the text on SQLite, the text on PostgreSQL.
#[doc(hidden)]
pub fn seams() -> Vec<(&'static str, &'static str, &'static str, &'static str)> {
    let mut all = tx::SEAMS.to_vec();
    all.extend_from_slice(search::SEAMS);
    all.extend_from_slice(backup::SEAMS);
    all
}
