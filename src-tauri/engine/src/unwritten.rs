//! What came of an attempt, until it is in the ledger.
//!
//! An ending is the last thing that may be lost: after the destination's yes nothing else knows of it. What cannot be
//! written now (a full disk, a ledger that another program holds) is kept here and written at the next tick.

use crate::core::Core;
use crate::dispatch::is_signed_out;
use crate::failure::Failure;
use crate::testpoint::testpoint;
use countersign_domain::policy::backoff;
use countersign_domain::{ActionId, AttemptId, Doubt, NotSent, Outcome, Receipt, Standing, State, Timestamp};
use countersign_ledger::{Claim, Conflict, LedgerError};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// After so long a destination that could not be reached is tried again.
pub(crate) const OFFLINE_PAUSE: Duration = Duration::from_secs(60);
/// How often an ending is written again at once while another process holds the ledger. Each try waits by itself.
const TRIES: u32 = 10;

/// How an attempt ended.
#[derive(Clone, Debug)]
pub(crate) enum Ending {
    Closed {
        outcome: Outcome,
        evidence: Value,
    },
    /// The world moved on, or a person must sign first.
    Changed(String),
    /// Our key was at the destination before this attempt crossed.
    Found(Receipt),
    /// The program broke off; whether anything was said is the mark's word.
    BrokeOff,
}

#[derive(Clone, Debug)]
enum Unwritten {
    Ending(Box<Claim>, Ending),
    /// An answer to an attempt that had been closed.
    Late {
        attempt: AttemptId,
        action: ActionId,
        outcome: Outcome,
    },
}

/// Endings of one dispatcher that are not in the ledger yet, oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Endings {
    kept: Arc<Mutex<Vec<Unwritten>>>,
}

impl Endings {
    /// Writes an ending. Where that fails it is kept, and written later.
    pub(crate) async fn end(&self, core: &Core, claim: &Claim, ending: Ending) -> Result<Standing, Failure> {
        self.put(core, Unwritten::Ending(Box::new(claim.clone()), ending)).await
    }

    /// The same for an answer that came late.
    pub(crate) async fn late(
        &self,
        core: &Core,
        attempt: AttemptId,
        action: ActionId,
        outcome: Outcome,
    ) -> Result<Standing, Failure> {
        self.put(core, Unwritten::Late { attempt, action, outcome }).await
    }

    async fn put(&self, core: &Core, item: Unwritten) -> Result<Standing, Failure> {
        match item.write(core).await {
            Ok(standing) => item.follow_up(core, standing).await,
            Err(e) => {
                let action = item.action();
                if item.may_be_written_later(&e) {
                    self.lock().push(item);
                }
                Err(Failure::from(e).on(action))
            }
        }
    }

    /// Writes what is kept. What still cannot be written stays.
    pub(crate) async fn write_kept(&self, core: &Core) -> Vec<Result<(ActionId, State), Failure>> {
        let kept = std::mem::take(&mut *self.lock());
        let mut done = Vec::new();
        for item in kept {
            let action = item.action();
            done.push(self.put(core, item).await.map(|standing| (action, standing.state)));
        }
        done
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Unwritten>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Unwritten {
    fn action(&self) -> ActionId {
        match self {
            Unwritten::Ending(claim, _) => claim.action,
            Unwritten::Late { action, .. } => *action,
        }
    }

    /// Against the rules once is against the rules for good; anything else may pass.
    fn may_be_written_later(&self, e: &LedgerError) -> bool {
        match (self, e) {
            // Its own ending is still kept before it.
            (Unwritten::Late { .. }, LedgerError::Conflict(Conflict::AttemptOpen)) => true,
            (_, LedgerError::Conflict(_) | LedgerError::NotFound { .. }) => false,
            _ => true,
        }
    }

    async fn write(&self, core: &Core) -> Result<Standing, LedgerError> {
        let mut tries = 0;
        loop {
            match self.write_once(core).await {
                Err(LedgerError::Busy) if tries < TRIES => tries += 1,
                written => return written,
            }
        }
    }

    async fn write_once(&self, core: &Core) -> Result<Standing, LedgerError> {
        let now = core.clock.now();
        let (claim, ending) = match self {
            Unwritten::Ending(claim, ending) => (claim, ending),
            Unwritten::Late { attempt, outcome, .. } => {
                return core.ledger.late_answer(*attempt, outcome, &json!({ "how": "late" }), now).await;
            }
        };
        match ending {
            Ending::Closed { outcome, evidence } => close(core, claim, outcome, evidence, now).await,
            Ending::Changed(why) => core.ledger.situation_changed(claim, why, now).await,
            Ending::Found(receipt) => core.ledger.found_before_crossing(claim, receipt, now).await,
            Ending::BrokeOff => {
                let open = core.ledger.open_attempts().await?;
                match open.iter().find(|a| a.attempt == claim.attempt) {
                    Some(attempt) => {
                        let outcome = broke_off(attempt.crossed_at.is_some());
                        close(core, claim, &outcome, &json!({ "how": "panic" }), now).await
                    }
                    None => {
                        let gone = || LedgerError::NotFound { what: "action", id: claim.action.to_string() };
                        core.ledger.action(claim.action).await?.map(|a| *a.standing()).ok_or_else(gone)
                    }
                }
            }
        }
    }

    /// What follows once it is written: the destination rests, the copy is filed.
    async fn follow_up(&self, core: &Core, standing: Standing) -> Result<Standing, Failure> {
        testpoint("after_close").await;
        match self {
            Unwritten::Ending(claim, Ending::Closed { outcome: Outcome::NotSent(why), .. }) if why.pauses => {
                pause(core, claim, why).await?;
            }
            Unwritten::Ending(claim, Ending::Found(_)) => {
                core.begin_filing(claim.action, &claim.order.key().destination).await?;
            }
            Unwritten::Late { action, outcome: Outcome::Accepted(_), .. } => {
                let destination = core.ledger.action(*action).await?.map(|record| record.row.destination);
                core.begin_filing(*action, &destination.unwrap_or_default()).await?;
            }
            Unwritten::Ending(_, Ending::Closed { .. } | Ending::Changed(_) | Ending::BrokeOff)
            | Unwritten::Late { .. } => {}
        }
        Ok(standing)
    }
}

async fn close(
    core: &Core,
    claim: &Claim,
    outcome: &Outcome,
    evidence: &Value,
    now: Timestamp,
) -> Result<Standing, LedgerError> {
    let wait = match outcome {
        Outcome::NotSent(why) if why.counts => backoff(claim.standing.attempts.saturating_add(1), why.retry_after),
        // Offline or signed out: the pause of the destination holds it back, not the action's backoff.
        Outcome::NotSent(why) if why.pauses => Duration::ZERO,
        Outcome::NotSent(why) => why.retry_after.unwrap_or(OFFLINE_PAUSE),
        // A lost answer is repeated at once, where the key allows it: most are lost on the way. A second time it is the
        // destination that is in trouble, and the attempts that are left shall outlast it.
        Outcome::Unclear(_) if claim.standing.attempts > 0 => backoff(claim.standing.attempts.saturating_add(1), None),
        Outcome::Accepted(_) | Outcome::Refused(_) | Outcome::Unclear(_) => Duration::ZERO,
    };
    let filing = core.first_filing(&claim.destination.name, now);
    core.ledger.close_attempt_and_file(claim, outcome, evidence, now.plus(wait), Some(filing), now).await
}

/// Pauses the destination: for a while where it could not be reached, until a person signs in where the login failed.
async fn pause(core: &Core, claim: &Claim, why: &NotSent) -> Result<(), Failure> {
    let now = core.clock.now();
    let until = (!is_signed_out(&why.code)).then(|| now.plus(why.retry_after.unwrap_or(OFFLINE_PAUSE)));
    Ok(core.ledger.pause_destination(&claim.order.key().destination, &why.words, until, now).await?)
}

fn broke_off(crossed: bool) -> Outcome {
    let (code, words) = ("engine:panic".to_owned(), "the program broke off during the attempt".to_owned());
    if crossed {
        Outcome::Unclear(Doubt { code, words })
    } else {
        Outcome::NotSent(NotSent { code, words, counts: true, pauses: false, retry_after: None })
    }
}
