//! What a revision's reader must know about the actions it follows: some of them may have happened.

use super::Desk;
use crate::failure::Failure;
use countersign_domain::risk::{Finding, Weight};
use countersign_domain::{ActionId, State};
use countersign_ledger::Detail;

/// The revised action's part in it; None where it certainly did nothing.
fn finding(earlier: ActionId, state: State) -> Option<Finding> {
    let what = match state {
        State::Accepted => "was accepted",
        State::Unknown | State::ClosedUnknown | State::InProgress => "may already have been sent",
        State::Prepared
        | State::NeedsReview
        | State::Approved
        | State::Refused
        | State::GaveUp
        | State::Rejected
        | State::Superseded => return None,
    };
    Some(Finding {
        code: "follows",
        field: earlier.to_string(),
        weight: Weight::Note,
        // Whoever revised it saw this already, and chose a second one.
        holds: false,
        text: format!("{earlier}, which this revises, {what} and can’t be called back. This one goes beside it."),
    })
}

impl Desk {
    /// One note for each action before this one that may have had its effect, newest first.
    pub(super) async fn followed(&self, detail: &Detail) -> Result<Vec<Finding>, Failure> {
        let mut found = Vec::new();
        let mut earlier = detail.record.revises;
        while let Some(id) = earlier {
            let record = self.record(id).await?;
            found.extend(finding(id, record.state()));
            earlier = record.revises;
        }
        Ok(found)
    }
}
