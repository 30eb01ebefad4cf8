//! The last thing of a test message, which is nobody's action: no approval, no ledger, sent once and not looked after.

use super::poised::{Crossed, Poised};
use super::reply::{Reply, answer};
use crate::boot::BootTime;
use crate::error::SetupCode;
use countersign_domain::{Answer, Contract, Outcome, classify};
use std::time::Duration;

/// Why there is no whole reply.
pub(crate) enum NoReply {
    /// Nothing of the last thing was said.
    Unsent(Answer),
    /// It was said, and what came of it is not known.
    Unclear(Answer),
}

impl NoReply {
    pub(crate) fn answer(self) -> Answer {
        match self {
            NoReply::Unsent(answer) | NoReply::Unclear(answer) => answer,
        }
    }
}

/// Sends it. The server's whole reply, or why there is none.
pub(crate) async fn deliver(poised: Poised, limit: Duration) -> Result<Reply, NoReply> {
    match poised.cross(BootTime::now(), limit).await {
        Crossed::Answered(reply) => Ok(reply),
        Crossed::Pending(late) => Err(NoReply::Unclear(answer(late.doubt().code, late.doubt().words))),
        Crossed::Broken(doubt) => Err(NoReply::Unclear(answer(doubt.code, doubt.words))),
        Crossed::Unsent(answer) => Err(NoReply::Unsent(answer)),
    }
}

/// Whether an answer to a test message that is no yes leaves open whether it went: the contract of what it is judges.
pub(crate) fn is_unclear(contract: Option<&Contract>, answer: &Answer) -> bool {
    contract.is_none_or(|contract| matches!(classify(contract, answer), Outcome::Unclear(_)))
}

/// The code and the words of a test message of which nobody knows whether it went.
pub(crate) fn may_have_gone(words: &str) -> (SetupCode, String) {
    let words = words.trim_end_matches('.');
    let text = format!(
        "The test message may have been sent, and nobody knows: {words}. It is not sent again by itself. Look into the \
         mailbox it was for before you send another one."
    );
    (SetupCode::Unclear, text)
}
