//! One attempt: look, situation, approach, crossing, cross, close (protocol.md, "Attempt, step by step").
//!
//! Nothing here decides what an answer means: the contract does, through `classify`. Nothing here retries: `close` puts the
//! action back with its backoff, and a later tick claims it again.

use crate::anchor::Frozen;
use crate::core::Core;
use crate::destinations::Reached;
use crate::failure::Failure;
use crate::late::Late;
use crate::related::{Means, means, was_shown};
use crate::repeat::Asked;
use crate::testpoint::{slept, testpoint};
use crate::unwritten::{Ending, Endings};
use countersign_connectors::{BootTime, Crossed, Poised, Situation};
use countersign_domain::policy::absence_proves;
use countersign_domain::{
    ActionId, Answer, Contract, Doubt, Echo, NotSent, Outcome, Receipt, Refusal, Sighting, Standing, State, Strength,
    classify,
};
use countersign_ledger::{Claim, Conflict, LedgerError};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// More sleep than this within an attempt calls it off.
const SLEPT: Duration = Duration::from_secs(5);

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

/// When an attempt began, on the clock that stands still while the machine sleeps and on the one that does not.
#[derive(Clone, Copy)]
struct Began {
    awake: Instant,
    boot: BootTime,
}

impl Began {
    fn now() -> Began {
        Began { awake: Instant::now(), boot: BootTime::now() }
    }

    /// The same, as if the machine had slept for so long since.
    fn before_sleep(self, span: Duration) -> Began {
        Began { boot: self.boot.before(span), ..self }
    }

    fn slept(self) -> Duration {
        self.boot.elapsed().saturating_sub(self.awake.elapsed())
    }
}

/// Performs attempts. One per dispatcher.
#[derive(Clone)]
pub(crate) struct Worker {
    pub(crate) core: Core,
    pub(crate) late: Late,
    pub(crate) endings: Endings,
}

impl Worker {
    pub(crate) fn new(core: Core) -> Worker {
        let endings = Endings::default();
        let late = Late::new(core.home.clone(), endings.clone());
        Worker { core, late, endings }
    }

    /// Carries one claim to its end. What the destination did is in the ledger before this returns, or kept to be written
    /// at the next tick.
    pub(crate) async fn attempt(&self, claim: Claim, asked: Asked) -> Result<Standing, Failure> {
        testpoint("after_verify").await;
        let began = Began::now().before_sleep(slept());
        let reached = match self.core.destinations.reach_row(claim.destination.clone()).await {
            Ok(Ok(reached)) => reached,
            Ok(Err(none)) => return self.not_sent(&claim, none.not_sent()).await,
            Err(failure) => {
                self.not_sent(&claim, waiting("destination:unusable", "the destination cannot be used")).await?;
                return Err(failure.on(claim.action));
            }
        };
        let connector = reached.connector.clone();
        let Some(contract) = connector.contract_of(&claim.order) else {
            return self.not_sent(&claim, refusing("contract:none", "the destination has no contract for this")).await;
        };
        let (reached, prepared) = self.prepare_signed_in(&claim, reached, contract, asked).await;
        match prepared {
            Ok((poised, noted)) => self.cross(&claim, &reached, contract, poised, &noted, began).await,
            Err(Failed::Stop(stop)) => self.stop(&claim, stop).await,
            Err(Failed::Broken(failure)) => {
                self.not_sent(&claim, waiting("engine:failed", "the attempt was called off before it began")).await?;
                Err(failure.on(claim.action))
            }
        }
    }

    /// [`Worker::prepare`], and where a token was refused that looked good, once more with another one: nothing of the action
    /// was said yet. A second no is the destination's word.
    async fn prepare_signed_in(
        &self,
        claim: &Claim,
        reached: Reached,
        contract: &Contract,
        asked: Asked,
    ) -> (Reached, Result<(Poised, Value), Failed>) {
        let prepared = self.prepare(claim, &reached, contract, asked).await;
        match &prepared {
            Err(Failed::Stop(Stop::NotSent(why))) if refuses_login(&why.code) => {}
            _ => return (reached, prepared),
        }
        match self.core.destinations.reach_anew(&reached).await {
            Ok(None) => (reached, prepared),
            Ok(Some(Err(none))) => (reached, Err(Stop::NotSent(none.not_sent()).into())),
            Err(failure) => (reached, Err(failure.into())),
            Ok(Some(Ok(anew))) => {
                let prepared = self.prepare(claim, &anew, contract, asked).await;
                (anew, prepared)
            }
        }
    }

    /// Everything before the point of no return. Nothing in here has an effect that a recipient could see.
    async fn prepare(
        &self,
        claim: &Claim,
        reached: &Reached,
        contract: &Contract,
        asked: Asked,
    ) -> Result<(Poised, Value), Failed> {
        if let Some(why) = self.overdue(claim).await? {
            return Err(Stop::Changed(why).into());
        }
        self.look_first(claim, reached, contract).await?;
        testpoint("after_look").await;
        // An attempt in doubt repeats what may have happened: whether the world moved on no longer matters.
        if !claim.standing.in_doubt {
            self.ask_situation(claim, reached).await?;
            testpoint("after_situation").await;
            self.ask_own_ledger(claim).await?;
        }
        let poised = match reached.connector.approach(&claim.order, &reached.login, self.core.clock.now()).await {
            Ok(poised) => poised,
            Err(halted) => return Err(Stop::from_answer(contract, &halted.answer).into()),
        };
        testpoint("after_approach").await;
        // Raised to a head that includes this claim: a ledger restored from before it will show.
        self.core.raise_anchor(&claim.head).await?;
        testpoint("after_anchor").await;
        if let Some(why) = self.bars_repeat(claim, reached, contract, asked).await? {
            return Err(Stop::NotSent(why).into());
        }
        let noted = self.note_login(poised.noted(), reached, contract).await?;
        Ok((poised, noted))
    }

    /// Our own key, before any crossing of ours: finding it means that somebody else sent it.
    async fn look_first(&self, claim: &Claim, reached: &Reached, contract: &Contract) -> Result<(), Failed> {
        let restored = self.core.may_have_been_sent(claim.action).await?;
        let said = match &restored {
            Some(adopted) => self.core.said_unsent(claim.action, adopted).await?,
            None => false,
        };
        // Another copy of this ledger may have used the key long ago, so nobody knows what is left of its window.
        let window_known = restored.is_none() || said;
        let asked = self.core.clock.now();
        let mut absent = false;
        if contract.can_look() {
            let seen = reached.connector.look(&claim.order, &reached.login, &claim.noted).await;
            match seen.without(&Echo::of(claim.order.sealed().payload())) {
                Sighting::Found(receipt) if receipt.strength >= Strength::Strong => {
                    if !claim.standing.crossed_once && restored.is_none() {
                        self.core.freeze(Frozen::FoundElsewhere, "worker").await?;
                    }
                    return Err(Stop::Found(receipt).into());
                }
                Sighting::Found(_) => {}
                Sighting::NotSeen { .. } => absent = true,
                // Its key keeps a second effect away, so not being able to look is no reason to wait.
                Sighting::CannotTell { signed_out: false, .. } if contract.has_native_key() && window_known => {}
                Sighting::CannotTell { why, signed_out: false } if contract.has_native_key() => {
                    return Err(Stop::NotSent(waiting("look:cannot_tell", &why)).into());
                }
                Sighting::CannotTell { why, signed_out } => {
                    let code = if signed_out { "look:login" } else { "look:cannot_tell" };
                    return Err(Stop::NotSent(offline(code, &why)).into());
                }
            }
        }
        if let Some(adopted) = restored.filter(|_| !said) {
            let proven = absent && absence_proves(contract, adopted.at, asked);
            if !proven {
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
            // Told exactly this before, a person approved again with it in view.
            Situation::Changed { text, .. } if self.was_told(claim, &text).await? => Ok(()),
            Situation::Changed { text, .. } => Err(Stop::Changed(text).into()),
            Situation::CannotAsk { why, signed_out: true, .. } => {
                Err(Stop::NotSent(offline("situation:login", &why)).into())
            }
            Situation::CannotAsk { why, pauses: true, .. } => {
                Err(Stop::NotSent(offline("situation:cannot_ask", &why)).into())
            }
            Situation::CannotAsk { why, pauses: false, .. } => {
                Err(Stop::NotSent(waiting("situation:cannot_ask", &why)).into())
            }
        }
    }

    /// Whether an earlier attempt ended with exactly this text. It names the newest message of each folder, so anything that
    /// came since makes another one; and as such an ending voids the approval, the one of now was given after it.
    async fn was_told(&self, claim: &Claim, text: &str) -> Result<bool, Failure> {
        let attempts = self.core.ledger.detail(claim.action).await?.attempts;
        Ok(attempts.iter().any(|a| a.closed_at.is_some() && a.evidence["situation"].as_str() == Some(text)))
    }

    /// Message-IDs of our own actions of the same request: they do not count as somebody else's answer.
    async fn own_message_ids(&self, claim: &Claim) -> Result<Vec<String>, Failure> {
        let key = claim.order.key();
        let own = claim.order.sealed().payload().email();
        let mut ids: Vec<String> =
            own.iter().map(|mail| claim.order.idempotency_key().message_id(mail.from.domain())).collect();
        for other in self.core.ledger.actions_of_request(&key.source, &key.request_id, None).await? {
            let Some(other_key) = other.idempotency_key.as_ref().filter(|_| other.id() != claim.action) else {
                continue;
            };
            // A purged message names no sender any more; it is long past what a situation looks at.
            let Ok((payload, _)) = self.core.ledger.current(other.id()).await else { continue };
            ids.extend(payload.email().map(|mail| other_key.message_id(mail.from.domain())));
        }
        Ok(ids)
    }

    /// The Sent folder knows what others sent; our own ledger knows what we did since the approval, and what goes elsewhere
    /// at this moment. Of two that are under way at once the one claimed later waits to see what becomes of the other.
    async fn ask_own_ledger(&self, claim: &Claim) -> Result<(), Failed> {
        let now = self.core.clock.now();
        for other in self.core.ledger.related(claim.action).await? {
            if means(&other, now) != Means::Holds {
                continue;
            }
            // When it went, not when it was touched last: a bounce or a filed copy is no second message.
            let since = other.went_at.is_some_and(|at| at > claim.order.approved_at());
            let went = match other.state {
                State::Accepted | State::Unknown | State::ClosedUnknown => since && !other.same_delivery,
                State::InProgress => other.attempt.is_some_and(|first| first.0 < claim.attempt.0),
                _ => false,
            };
            if !went || self.both_are_wanted(claim.action, other.action).await? {
                continue;
            }
            if other.state == State::InProgress {
                let why = format!(
                    "{} to the same person is being handed over; what becomes of it is seen first",
                    other.action
                );
                return Err(Stop::NotSent(waiting("engine:another_first", &why)).into());
            }
            let what =
                if other.same_step { "for the same step of the request" } else { "to the same thread or recipient" };
            return Err(Stop::Changed(format!("{} {what} went out after this was approved", other.action)).into());
        }
        Ok(())
    }

    /// Whether a person who approved one of the two, as it stands now, was shown the other one and wanted both.
    async fn both_are_wanted(&self, one: ActionId, other: ActionId) -> Result<bool, Failure> {
        for (approved, shown) in [(one, other), (other, one)] {
            let Some(record) = self.core.ledger.action(approved).await? else { continue };
            if was_shown(&self.core.ledger.cleared(approved).await?, record.row.payload_version, shown) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The mark, the last thing, and what came of it.
    async fn cross(
        &self,
        claim: &Claim,
        reached: &Reached,
        contract: &Contract,
        poised: Poised,
        noted: &Value,
        began: Began,
    ) -> Result<Standing, Failure> {
        // What was asked before the sleep (the situation, the key's window, the approval's end) is not known any more.
        if began.slept() > SLEPT {
            drop(poised);
            return self.not_sent(claim, waiting("engine:slept", "the machine slept during the attempt")).await;
        }
        let marked = BootTime::now();
        if let Err(e) = self.core.ledger.record_crossing(claim, noted, self.core.clock.now()).await {
            // Dropped before a byte of the last thing was said.
            drop(poised);
            if matches!(e, LedgerError::Conflict(Conflict::WroteAgain)) {
                let why = "the customer wrote again after this was approved; read it, then decide anew";
                return self.stop(claim, Stop::Changed(why.into())).await;
            }
            let off = matches!(e, LedgerError::Conflict(Conflict::SendingOff));
            let code = if off { "engine:sending_off" } else { "engine:no_mark" };
            let standing =
                self.not_sent(claim, waiting(code, "the mark could not be written, so nothing was said")).await;
            return if off { standing } else { Err(Failure::from(e).on(claim.action)) };
        }
        testpoint("after_crossing").await;
        let crossed = poised.cross(marked, reached.connector.answer_timeout()).await;
        testpoint("after_cross").await;
        let took = u64::try_from(began.awake.elapsed().as_millis()).unwrap_or(u64::MAX);
        let evidence = |how: &str| json!({ "how": how, "took_ms": took });
        match crossed {
            Crossed::Answered(reply) => {
                let answer = reached.connector.read(&reply);
                let answer = reached.connector.confirm(&claim.order, answer, &reached.login).await;
                self.close(claim, &classify(contract, &answer), &evidence("answered")).await
            }
            Crossed::Unsent(answer) => {
                let outcome = Outcome::NotSent(not_sent_of(contract, &answer));
                self.close(claim, &outcome, &evidence("dropped_unsent")).await
            }
            Crossed::Broken(doubt) => self.close(claim, &Outcome::Unclear(doubt), &evidence("broken")).await,
            Crossed::Pending(reader) => {
                let doubt = reader.doubt();
                // The socket stays open: closing it can change what the server does. A mark that cannot be made is no
                // reason to drop it.
                let open = self.late.hold(claim);
                let standing = self.close(claim, &Outcome::Unclear(doubt), &evidence("no_answer_in_time")).await;
                self.late.read_on(self.core.clone(), claim, reached, reader, open).await;
                standing
            }
        }
    }

    async fn stop(&self, claim: &Claim, stop: Stop) -> Result<Standing, Failure> {
        match stop {
            Stop::NotSent(why) => self.not_sent(claim, why).await,
            Stop::Refused(why) => self.close(claim, &Outcome::Refused(why), &json!({ "how": "before_crossing" })).await,
            // In doubt nothing may end it but evidence: it is left as unclear as it was, and waits.
            Stop::Changed(why) if claim.standing.in_doubt => {
                self.not_sent(claim, waiting("engine:person_first", &why)).await
            }
            Stop::Changed(why) => self.endings.end(&self.core, claim, Ending::Changed(why)).await,
            Stop::Found(receipt) => self.endings.end(&self.core, claim, Ending::Found(receipt)).await,
        }
    }

    async fn not_sent(&self, claim: &Claim, why: NotSent) -> Result<Standing, Failure> {
        self.close(claim, &Outcome::NotSent(why), &json!({ "how": "before_crossing" })).await
    }

    async fn close(&self, claim: &Claim, outcome: &Outcome, evidence: &Value) -> Result<Standing, Failure> {
        let kept = outcome.clone().without(&Echo::of(claim.order.sealed().payload()));
        let ending = Ending::Closed { outcome: kept, evidence: evidence.clone() };
        self.endings.end(&self.core, claim, ending).await
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

/// Whether a login failed, so that the destination waits for a person: `smtp:auth:535`, `http:login:401`, `look:login`. A
/// server that cannot check a password now says 454 (RFC 4954, section 6) and is asked again by itself; 432 wants a person.
pub(crate) fn is_signed_out(code: &str) -> bool {
    let passing = code.starts_with("smtp:auth:4") && code != "smtp:auth:432";
    !passing && code.split(':').any(|part| part == "auth" || part == "login")
}

/// Whether another token may be taken where this one was not: the server said no to it, and not to its form or its account.
fn refuses_login(code: &str) -> bool {
    let last = code.rsplit(':').next().unwrap_or_default();
    is_signed_out(code) && (last == "login" || last.bytes().all(|b| b.is_ascii_digit()))
}

/// Not sent, not counted, and the destination rests.
pub(crate) fn offline(code: &str, words: &str) -> NotSent {
    NotSent { code: code.into(), words: words.into(), counts: false, pauses: true, retry_after: None }
}

/// Not sent, not counted; this action waits.
pub(crate) fn waiting(code: &str, words: &str) -> NotSent {
    NotSent { code: code.into(), words: words.into(), counts: false, pauses: false, retry_after: None }
}

/// Not sent, and it counts.
fn refusing(code: &str, words: &str) -> NotSent {
    NotSent { code: code.into(), words: words.into(), counts: true, pauses: false, retry_after: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f42_only_a_no_to_the_token_itself_is_worth_another_one() {
        for code in ["smtp:auth:535", "smtp:auth:432", "http:login:401", "look:login", "situation:login"] {
            assert!(refuses_login(code), "{code}");
        }
        for code in ["smtp:auth:no_mechanism", "smtp:auth:unusable", "http:login:other_account", "login:sign_in"] {
            assert!(is_signed_out(code) && !refuses_login(code), "{code}");
        }
        assert!(!is_signed_out("smtp:auth:454"), "a passing trouble of the server");
        assert!(!is_signed_out("oauth:unreached") && !refuses_login("smtp:rcpt:550"));
    }

    #[test]
    fn what_was_asked_before_a_sleep_is_not_built_upon() {
        let began = Began::now();
        assert!(began.slept() < SLEPT);
        assert!(began.before_sleep(SLEPT * 3).slept() > SLEPT);
    }
}
