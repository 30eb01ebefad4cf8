//! What was approved for a time goes then, and not hours later because nothing ran: a person decides anew (F38).

use crate::dispatch::Worker;
use crate::failure::Failure;
use countersign_domain::Timestamp;
use countersign_domain::policy::SCHEDULED_LATE_AFTER;
use countersign_ledger::Claim;
use std::time::Duration;

impl Worker {
    /// Why a message that was approved for a time does not go any more, if it does not. Only while nothing was said to the
    /// destination yet: once it was, a backoff may well lead past the limit.
    pub(crate) async fn overdue(&self, claim: &Claim) -> Result<Option<String>, Failure> {
        let Some(when) = claim.order.sealed().payload().email().and_then(|email| email.send_at) else {
            return Ok(None);
        };
        let standing = &claim.standing;
        // Rules of its zone that are not known any more: that was looked at when it was approved.
        let Some(due) = when.resolve().ok().filter(|_| standing.attempts == 0 && !standing.in_doubt) else {
            return Ok(None);
        };
        // Approved after its time it goes as soon as may be, like any other.
        let approved = claim.order.approved_at();
        let now = self.core.clock.now();
        if due.at <= approved || now <= due.at.plus(SCHEDULED_LATE_AFTER) {
            return Ok(None);
        }
        let from = self.held_until(claim, due.at).await?;
        if now <= from.plus(SCHEDULED_LATE_AFTER) {
            return Ok(None);
        }
        let minutes = now.since(from).as_secs() / 60;
        let late = if minutes < 120 { format!("{minutes} minutes") } else { format!("{} hours", minutes / 60) };
        Ok(Some(format!(
            "it was to go at {}, and that is {late} ago: nothing ran then, or it could not go. Read it, then decide anew",
            when.both(due)
        )))
    }

    /// What a person wanted it to wait for beside its time: the undo window, and the action before it.
    async fn held_until(&self, claim: &Claim, due: Timestamp) -> Result<Timestamp, Failure> {
        let ledger = &self.core.ledger;
        let undo = match ledger.destination(&claim.order.key().destination).await? {
            Some(destination) => Duration::from_secs(u64::from(destination.undo_seconds)),
            None => Duration::ZERO,
        };
        let after = ledger.action(claim.action).await?.and_then(|record| record.row.after);
        let accepted = match after {
            Some(other) => ledger.action(other).await?.and_then(|other| other.accepted_at),
            None => None,
        };
        Ok(accepted.unwrap_or(due).max(due).max(claim.order.approved_at().plus(undo)))
    }
}
