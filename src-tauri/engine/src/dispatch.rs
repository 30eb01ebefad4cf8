//! One attempt: look, situation, approach, crossing, cross, close (protocol.md, "Attempt, step by step").
//!
//! Nothing here decides what an answer means: the contract does, through `classify`. Nothing here retries: `close` puts the
//! action back with its backoff, and a later tick claims it again.

use crate::anchor::{Frozen, MAY_HAVE_BEEN_SENT};
use crate::core::Core;
use crate::destinations::Reached;
use crate::failure::Failure;
use crate::late::Late;
use crate::testpoint::testpoint;
use countersign_connectors::{BootTime, Crossed, Poised, Situation};
use countersign_domain::policy::{absence_proves, backoff};
use countersign_domain::{
    ActionId, Answer, Contract, Doubt, NotSent, Outcome, Receipt, Refusal, Sighting, Standing, State, Strength,
    classify,
};
use countersign_ledger::{Claim, Conflict, LedgerError};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// After so long a destination that could not be reached is tried again.
const OFFLINE_PAUSE: Duration = Duration::from_secs(60);
/// How often an outcome is written again while another process holds the ledger. Each try waits by itself.
const CLOSE_TRIES: u32 = 10;

/// The finding a person clears to send beside another message of ours to the same thread or recipient.
pub const SPLIT_REPLY: &str = "split_reply";

/// Why an attempt ended before its point of no return.
enum Stop {
    NotSent(NotSent),
    /// A definite no to this payload (a recipient does not exist).
    Refused(Refusal),
    /// The world moved on, or a person must sign first.
    Changed(String),
    /// Our key is at the destination already.
    Found(Receipt),
}

/// Performs attempts. One per dispatcher.
#[derive(Clone)]
pub(crate) struct Worker {
    pub(crate) core: Core,
    pub(crate) late: Late,
}

impl Worker {
    pub(crate) fn new(core: Core) -> Worker {
        let late = Late::new(core.home.clone());
        Worker { core, late }
    }

    /// Carries one claim to its end. What the destination did is in the ledger before this returns.
    pub(crate) async fn attempt(&self, claim: Claim) -> Result<Standing, Failure> {
        testpoint("after_verify").await;
        let began = Instant::now();
        let key = claim.order.key();
        let reached = match self.core.destinations.reach(&key.destination).await {
            Ok(Some(reached)) => reached,
            Ok(None) => return self.not_sent(&claim, offline("login:missing", "this device holds no login")).await,
            Err(failure) => {
                self.not_sent(&claim, waiting("destination:unusable", "the destination cannot be used")).await?;
                return Err(failure.on(claim.action));
            }
        };
        let Some(contract) = reached.connector.contract(&key.effect) else {
            return self.not_sent(&claim, refusing("contract:none", "the destination has no contract for this")).await;
        };
        match self.prepare(&claim, &reached, contract).await {
            Ok(poised) => self.cross(&claim, &reached, contract, poised, began).await,
            Err(Failed::Stop(stop)) => self.stop(&claim, stop).await,
            Err(Failed::Broken(failure)) => {
                self.not_sent(&claim, waiting("engine:failed", "the attempt was called off before it began")).await?;
                Err(failure.on(claim.action))
            }
        }
    }

    /// Everything before the point of no return. Nothing in here has an effect that a recipient could see.
    async fn prepare(&self, claim: &Claim, reached: &Reached, contract: &Contract) -> Result<Poised, Failed> {
        self.look_first(claim, reached, contract).await?;
        testpoint("after_look").await;
        // An attempt in doubt repeats what may have happened: whether the world moved on no longer matters.
        if !claim.standing.in_doubt {
            self.ask_situation(claim, reached).await?;
            testpoint("after_situation").await;
            self.ask_own_ledger(claim).await?;
        }
        let poised = match reached.connector.approach(&claim.order, &reached.login).await {
            Ok(poised) => poised,
            Err(halted) => return Err(Stop::from_answer(contract, &halted.answer).into()),
        };
        testpoint("after_approach").await;
        // Raised to a head that includes this claim: a ledger restored from before it will show.
        self.core.raise_anchor().await?;
        testpoint("after_anchor").await;
        Ok(poised)
    }

    /// Our own key, before any crossing of ours: finding it means that somebody else sent it.
    async fn look_first(&self, claim: &Claim, reached: &Reached, contract: &Contract) -> Result<(), Failed> {
        let restored = self.core.may_have_been_sent(claim.action).await?;
        if contract.can_look() {
            match reached.connector.look(&claim.order, &reached.login, &claim.noted).await {
                Sighting::Found(receipt) if receipt.strength >= Strength::Strong => {
                    if !claim.standing.crossed_once && restored.is_none() {
                        self.core.freeze(Frozen::FoundElsewhere, "worker").await?;
                    }
                    return Err(Stop::Found(receipt).into());
                }
                Sighting::Found(_) | Sighting::NotSeen { .. } => {}
                Sighting::CannotTell { why } => return Err(Stop::NotSent(offline("look:cannot_tell", &why)).into()),
            }
        }
        if let Some(adopted) = restored {
            let proven = contract.can_look() && absence_proves(contract, adopted.at, self.core.clock.now());
            if !proven && !self.is_cleared(claim.action, MAY_HAVE_BEEN_SENT).await? {
                return Err(Stop::Changed(
                    "it may have been sent before this ledger was restored or moved, and not finding it proves nothing; \
                     check with the recipient, then sign that it was not"
                        .into(),
                )
                .into());
            }
        }
        Ok(())
    }

    async fn ask_situation(&self, claim: &Claim, reached: &Reached) -> Result<(), Failed> {
        let ours = self.own_message_ids(claim).await?;
        match reached.connector.situation(&claim.order, &reached.login, &ours).await {
            Situation::Unchanged | Situation::NothingToAsk => Ok(()),
            Situation::Changed { text, .. } => Err(Stop::Changed(text).into()),
            Situation::CannotAsk { why, pauses: true } => {
                Err(Stop::NotSent(offline("situation:cannot_ask", &why)).into())
            }
            Situation::CannotAsk { why, pauses: false } => {
                Err(Stop::NotSent(waiting("situation:cannot_ask", &why)).into())
            }
        }
    }

    /// Message-IDs of our own actions of the same request: they do not count as somebody else's answer.
    async fn own_message_ids(&self, claim: &Claim) -> Result<Vec<String>, Failure> {
        let key = claim.order.key();
        let mut ids = Vec::new();
        for other in self.core.ledger.actions_of_request(&key.source, &key.request_id, None).await? {
            let Some(other_key) = &other.idempotency_key else { continue };
            // A purged message names no sender any more; it is long past what a situation looks at.
            let Ok((payload, _)) = self.core.ledger.current(other.id()).await else { continue };
            ids.extend(payload.email().map(|mail| other_key.message_id(mail.from.domain())));
        }
        Ok(ids)
    }

    /// The Sent folder knows what others sent; our own ledger knows what we did since the approval.
    async fn ask_own_ledger(&self, claim: &Claim) -> Result<(), Failed> {
        if self.is_cleared(claim.action, SPLIT_REPLY).await? {
            return Ok(());
        }
        for other in self.core.ledger.related(claim.action).await? {
            let went = matches!(other.state, State::Accepted | State::Unknown);
            let since = other.changed_at > claim.order.approved_at();
            // Whoever approved the other one saw this one, and wanted both.
            if went && since && !other.same_request && !self.is_cleared(other.action, SPLIT_REPLY).await? {
                return Err(Stop::Changed(format!(
                    "{} to the same thread or recipient went out after this was approved",
                    other.action
                ))
                .into());
            }
        }
        Ok(())
    }

    pub(crate) async fn is_cleared(&self, action: ActionId, code: &str) -> Result<bool, Failure> {
        Ok(self.core.ledger.cleared(action).await?.iter().any(|c| c.code == code))
    }

    /// The mark, the last thing, and what came of it.
    async fn cross(
        &self,
        claim: &Claim,
        reached: &Reached,
        contract: &Contract,
        poised: Poised,
        began: Instant,
    ) -> Result<Standing, Failure> {
        let noted = poised.noted();
        let marked = BootTime::now();
        if let Err(e) = self.core.ledger.record_crossing(claim, &noted, self.core.clock.now()).await {
            // Dropped before a byte of the last thing was said.
            drop(poised);
            let off = matches!(e, LedgerError::Conflict(Conflict::SendingOff));
            let code = if off { "engine:sending_off" } else { "engine:no_mark" };
            let standing =
                self.not_sent(claim, waiting(code, "the mark could not be written, so nothing was said")).await;
            return if off { standing } else { Err(Failure::from(e).on(claim.action)) };
        }
        testpoint("after_crossing").await;
        let crossed = poised.cross(marked, reached.connector.answer_timeout()).await;
        testpoint("after_cross").await;
        let took = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let evidence = |how: &str| json!({ "how": how, "took_ms": took });
        match crossed {
            Crossed::Answered(reply) => {
                let answer = reached.connector.read(&reply);
                self.close(claim, &classify(contract, &answer), &evidence("answered")).await
            }
            Crossed::Unsent(answer) => {
                let outcome = Outcome::NotSent(not_sent_of(contract, &answer));
                self.close(claim, &outcome, &evidence("dropped_unsent")).await
            }
            Crossed::Broken(doubt) => self.close(claim, &Outcome::Unclear(doubt), &evidence("broken")).await,
            Crossed::Pending(reader) => {
                let doubt = reader.doubt();
                // The socket stays open: closing it can change what the server does.
                let open = self.late.hold(claim.action)?;
                let standing = self.close(claim, &Outcome::Unclear(doubt), &evidence("no_answer_in_time")).await;
                self.late.read_on(self.core.clone(), claim, reached.connector.clone(), reader, open).await;
                standing
            }
        }
    }

    async fn stop(&self, claim: &Claim, stop: Stop) -> Result<Standing, Failure> {
        let now = self.core.clock.now();
        match stop {
            Stop::NotSent(why) => self.not_sent(claim, why).await,
            Stop::Refused(why) => self.close(claim, &Outcome::Refused(why), &json!({ "how": "before_crossing" })).await,
            Stop::Changed(why) => {
                let standing = self.core.ledger.situation_changed(claim, &why, now).await?;
                testpoint("after_close").await;
                Ok(standing)
            }
            Stop::Found(receipt) => {
                let standing = self.core.ledger.found_before_crossing(claim, &receipt, now).await?;
                testpoint("after_close").await;
                self.core.begin_filing(claim.action).await?;
                Ok(standing)
            }
        }
    }

    async fn not_sent(&self, claim: &Claim, why: NotSent) -> Result<Standing, Failure> {
        self.close(claim, &Outcome::NotSent(why), &json!({ "how": "before_crossing" })).await
    }

    /// Writes the outcome. It is the last thing that may be lost, so a busy ledger is asked again.
    pub(crate) async fn close(&self, claim: &Claim, outcome: &Outcome, evidence: &Value) -> Result<Standing, Failure> {
        let now = self.core.clock.now();
        let wait = match outcome {
            Outcome::NotSent(why) if why.counts => backoff(claim.standing.attempts.saturating_add(1), why.retry_after),
            // Offline or signed out: the pause of the destination holds it back, not the action's backoff.
            Outcome::NotSent(why) if why.pauses => Duration::ZERO,
            Outcome::NotSent(why) => why.retry_after.unwrap_or(OFFLINE_PAUSE),
            Outcome::Accepted(_) | Outcome::Refused(_) | Outcome::Unclear(_) => Duration::ZERO,
        };
        if let Outcome::NotSent(why) = outcome
            && why.pauses
        {
            self.pause(claim, why).await?;
        }
        let mut tries = 0;
        let standing = loop {
            match self.core.ledger.close_attempt(claim, outcome, evidence, now.plus(wait), now).await {
                Err(LedgerError::Busy) if tries < CLOSE_TRIES => tries += 1,
                closed => break closed?,
            }
        };
        testpoint("after_close").await;
        if matches!(outcome, Outcome::Accepted(_)) {
            self.core.begin_filing(claim.action).await?;
        }
        Ok(standing)
    }

    /// Pauses the destination: for a while where it could not be reached, until a person signs in where the login failed.
    async fn pause(&self, claim: &Claim, why: &NotSent) -> Result<(), Failure> {
        let now = self.core.clock.now();
        let signed_out = why.code.split(':').any(|part| part == "auth" || part == "login");
        let until = (!signed_out).then(|| now.plus(why.retry_after.unwrap_or(OFFLINE_PAUSE)));
        Ok(self.core.ledger.pause_destination(&claim.order.key().destination, &why.words, until, now).await?)
    }
}

enum Failed {
    Stop(Stop),
    Broken(Failure),
}

impl From<Stop> for Failed {
    fn from(stop: Stop) -> Failed {
        Failed::Stop(stop)
    }
}
impl From<Failure> for Failed {
    fn from(failure: Failure) -> Failed {
        Failed::Broken(failure)
    }
}
impl From<LedgerError> for Failed {
    fn from(e: LedgerError) -> Failed {
        Failed::Broken(e.into())
    }
}

impl Stop {
    /// An answer before the crossing, by the contract. A refusal stays one; whatever else it is, nothing was sent.
    fn from_answer(contract: &Contract, answer: &Answer) -> Stop {
        match classify(contract, answer) {
            Outcome::Refused(refusal) => Stop::Refused(refusal),
            _ => Stop::NotSent(not_sent_of(contract, answer)),
        }
    }
}

fn not_sent_of(contract: &Contract, answer: &Answer) -> NotSent {
    match classify(contract, answer) {
        Outcome::NotSent(why) => why,
        Outcome::Unclear(Doubt { code, words }) => {
            NotSent { code, words, counts: true, pauses: false, retry_after: answer.retry_after }
        }
        Outcome::Refused(refusal) => refusing(&refusal.code, &refusal.words),
        Outcome::Accepted(_) => refusing("engine:answer_too_early", "it said yes before it was asked"),
    }
}

/// Not sent, not counted, and the destination rests.
fn offline(code: &str, words: &str) -> NotSent {
    NotSent { code: code.into(), words: words.into(), counts: false, pauses: true, retry_after: None }
}

/// Not sent, not counted; this action waits.
fn waiting(code: &str, words: &str) -> NotSent {
    NotSent { code: code.into(), words: words.into(), counts: false, pauses: false, retry_after: None }
}

/// Not sent, and it counts.
fn refusing(code: &str, words: &str) -> NotSent {
    NotSent { code: code.into(), words: words.into(), counts: true, pauses: false, retry_after: None }
}
