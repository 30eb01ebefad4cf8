//! Phase: close an attempt with its evidence and move the action, in one transaction. A worker that lost its claim leaves
//! evidence only; proof of acceptance settles the action whoever brings it.

use crate::proof::{evidence_digest, kept_digest};
use crate::rows::{Action, Get, read_json, to_json};
use crate::script::{Answer, Said, say};
use crate::tx::{Durable, Write, failed, statements};
use crate::types::{Claim, FirstFiling, Waits};
use crate::{Conflict, Ledger, LedgerError, apply, content, followup};
use countersign_domain::{ActionId, AttemptId, Fact, Outcome, Receipt, Standing, State, Timestamp};
use serde_json::{Value, json};

statements! {
    CLOSE_HELD = "UPDATE attempts SET closed_at = $3, outcome = $4, evidence = $5, receipt = $6 \
        WHERE n = $1 AND worker = $2 AND closed_at IS NULL RETURNING noted";
    CLOSE_OPEN = "UPDATE attempts SET closed_at = $2, outcome = $3, evidence = $4 WHERE n = $1 AND closed_at IS NULL \
        RETURNING noted";
    ATTEMPT = "SELECT n, action, worker, crossed_at, closed_at, late FROM attempts WHERE n = $1";
    KEEP_LATE = "UPDATE attempts SET late = $2 WHERE n = $1";
}

impl Ledger {
    /// Closes the attempt and moves the action by its outcome. `not_before` is the end of the backoff after *not sent*.
    /// If the claim was lost meanwhile, the evidence is kept, and acceptance settles the action.
    pub async fn close_attempt(
        &self,
        claim: &Claim,
        outcome: &Outcome,
        evidence: &Value,
        not_before: Timestamp,
        now: Timestamp,
    ) -> Result<Standing, LedgerError> {
        self.close_attempt_and_file(claim, outcome, evidence, not_before, None, now).await
    }

    /// The same; an acceptance begins the filing of its copy with it, unless one was begun before.
    pub async fn close_attempt_and_file(
        &self,
        claim: &Claim,
        outcome: &Outcome,
        evidence: &Value,
        not_before: Timestamp,
        filing: Option<FirstFiling<'_>>,
        now: Timestamp,
    ) -> Result<Standing, LedgerError> {
        let doing = "closing an attempt";
        let mut w = self.pools().write(doing, Durable::Full).await?;
        let kept = json!({ "outcome": outcome, "evidence": evidence });
        let receipt = match outcome {
            Outcome::Accepted(receipt) => Some(receipt),
            Outcome::Refused(_) | Outcome::NotSent(_) | Outcome::Unclear(_) => None,
        };
        let closing = Closing::new(claim, outcome.name(), &kept, receipt, now);
        let script = [closing.said(), say!(doing, followup::FILING, claim.action.0)];
        let (current, [closed, filed]) = Action::take_and(&mut w, claim.action, script).await?;
        let held =
            current.attempt == Some(claim.attempt.0) && current.worker.as_deref() == Some(claim.worker.0.as_str());
        if !held {
            // Whatever was done to the attempt by this is taken back: the claim was lost.
            drop(w);
            let mut w = self.pools().write(doing, Durable::Full).await?;
            let standing = keep_late(&mut w, claim.attempt, outcome, evidence, now).await?;
            w.commit(doing).await?;
            return Ok(standing);
        }
        let fact = match outcome {
            Outcome::Accepted(_) => Fact::Accepted,
            Outcome::Refused(_) => Fact::Refused,
            Outcome::NotSent(n) => Fact::NotSent { counts: n.counts },
            Outcome::Unclear(_) => Fact::Unclear,
        };
        let mut details = closing.details(&closed)?;
        if let Some(receipt) = receipt {
            details["receipt"] = json!(receipt);
        }
        let change = |a: &mut Action| {
            match outcome {
                Outcome::Accepted(receipt) => a.receipt = Some(receipt.clone()),
                Outcome::Refused(no) => a.reason = Some(reason(&no.code, &no.words)),
                Outcome::NotSent(no) => a.reason = Some(reason(&no.code, &no.words)),
                Outcome::Unclear(doubt) => a.reason = Some(reason(&doubt.code, &doubt.words)),
            }
            // A repeat in doubt that was turned away (429) waits as long as any other attempt would.
            if a.standing.state == State::Unknown {
                a.not_before = not_before;
            }
            if a.standing.state == State::Approved {
                a.not_before = not_before;
                a.waits = if not_before > now { Waits::Backoff } else { Waits::Nothing };
            }
        };
        let next = apply::apply(&mut w, &current, &fact, change, details, "destination", now).await?;
        if next.standing.state == State::Accepted {
            content::know_people_of(&mut w, &next);
            if let (Some(filing), None) = (filing, filed.first()) {
                followup::begin(&mut w, &next, filing, now).await?;
            }
        }
        w.commit(doing).await?;
        Ok(next.standing)
    }

    /// An answer that came after its attempt had been closed. Kept in any case; acceptance settles the action.
    pub async fn late_answer(
        &self,
        attempt: AttemptId,
        outcome: &Outcome,
        evidence: &Value,
        now: Timestamp,
    ) -> Result<Standing, LedgerError> {
        let doing = "keeping a late answer";
        let mut w = self.pools().write(doing, Durable::Full).await?;
        let standing = keep_late(&mut w, attempt, outcome, evidence, now).await?;
        w.commit(doing).await?;
        Ok(standing)
    }
}

/// A code and the destination's words, as one reason.
fn reason(code: &str, words: &str) -> String {
    match (code.is_empty(), words.is_empty()) {
        (true, _) => words.to_owned(),
        (_, true) => code.to_owned(),
        _ => format!("{words} ({code})"),
    }
}

/// The end of the attempt that a claim holds.
pub(crate) struct Closing<'a> {
    claim: &'a Claim,
    outcome: &'a str,
    evidence: String,
    receipt: Option<String>,
    now: Timestamp,
}

impl<'a> Closing<'a> {
    pub(crate) fn new(
        claim: &'a Claim,
        outcome: &'a str,
        evidence: &Value,
        receipt: Option<&Receipt>,
        now: Timestamp,
    ) -> Closing<'a> {
        Closing { claim, outcome, evidence: to_json(evidence), receipt: receipt.map(to_json), now }
    }

    pub(crate) fn said(&self) -> Said {
        say!(
            "closing an attempt",
            CLOSE_HELD,
            self.claim.attempt.0,
            &self.claim.worker.0,
            self.now.millis(),
            self.outcome,
            &self.evidence,
            &self.receipt,
        )
    }

    /// What the journal keeps of it.
    ///
    /// # Errors
    /// `ClaimLost` where the attempt was not open any more or was another worker's.
    pub(crate) fn details(&self, answer: &Answer) -> Result<Value, LedgerError> {
        let row = answer.first().ok_or(Conflict::ClaimLost)?;
        let kept = kept_digest(self.receipt.as_deref(), row.text_or_null("noted")?.as_deref());
        Ok(closed(self.claim.attempt, self.outcome, &self.evidence, &kept))
    }
}

/// Closes an open attempt whoever holds it: its worker is gone, or the action was settled by other means.
pub(crate) async fn close_open(
    w: &mut Write,
    attempt: AttemptId,
    outcome: &str,
    evidence: &Value,
    now: Timestamp,
) -> Result<Value, LedgerError> {
    let text = to_json(evidence);
    let row = sqlx::query(CLOSE_OPEN)
        .bind(attempt.0)
        .bind(now.millis())
        .bind(outcome.to_owned())
        .bind(text.clone())
        .fetch_optional(w.conn().await?)
        .await
        .map_err(|e| failed("closing an attempt", e))?
        .ok_or_else(|| LedgerError::corrupt("attempt", attempt, "the action names it as open, but it is closed"))?;
    Ok(closed(attempt, outcome, &text, &kept_digest(None, row.text_or_null("noted")?.as_deref())))
}

fn closed(attempt: AttemptId, outcome: &str, evidence: &str, kept: &str) -> Value {
    json!({
        "attempt": attempt.0, "closed": true, "outcome": outcome, "evidence": evidence_digest(evidence), "kept": kept,
    })
}

/// Proof of acceptance for an action in whatever state but accepted. An open attempt is closed with it: one that has not
/// crossed is dropped, one that has stays unclear in itself.
pub(crate) async fn found(
    w: &mut Write,
    current: &Action,
    receipt: &Receipt,
    mut details: Value,
    by: &str,
    now: Timestamp,
) -> Result<Action, LedgerError> {
    if let Some(open) = current.attempt {
        let outcome = if current.standing.crossing { "unclear" } else { "not_sent" };
        let evidence = json!({ "dropped": "the action was found accepted" });
        let closed = close_open(w, AttemptId(open), outcome, &evidence, now).await?;
        // A late answer of another attempt keeps its own number beside it.
        if let (Some(all), Some(more)) = (details.as_object_mut(), closed.as_object()) {
            if all.contains_key("attempt") {
                crate::apply::touch(w, current, "late_evidence", |_| {}, details.clone(), by, now).await?;
                let again = Action::get(w.conn().await?, current.id()).await?;
                return Box::pin(found_closed(w, &again, receipt, closed, by, now)).await;
            }
            all.extend(more.clone());
        }
    }
    found_closed(w, current, receipt, details, by, now).await
}

async fn found_closed(
    w: &mut Write,
    current: &Action,
    receipt: &Receipt,
    mut details: Value,
    by: &str,
    now: Timestamp,
) -> Result<Action, LedgerError> {
    details["receipt"] = json!(receipt);
    let change = |a: &mut Action| a.receipt = Some(receipt.clone());
    let next = apply::apply(w, current, &Fact::Found, change, details, by, now).await?;
    content::know_people_of(w, &next);
    Ok(next)
}

/// Keeps an answer on an attempt that its worker no longer holds.
async fn keep_late(
    w: &mut Write,
    attempt: AttemptId,
    outcome: &Outcome,
    evidence: &Value,
    now: Timestamp,
) -> Result<Standing, LedgerError> {
    let row = sqlx::query(ATTEMPT)
        .bind(attempt.0)
        .fetch_optional(w.conn().await?)
        .await
        .map_err(|e| failed("reading an attempt", e))?
        .ok_or_else(|| LedgerError::not_found("attempt", attempt))?;
    let crossed = row.int_or_null("crossed_at")?.is_some();
    if row.int_or_null("closed_at")?.is_none() {
        return Err(Conflict::AttemptOpen.into());
    }
    let mut late: Vec<Value> = read_json(&row, "late")?.unwrap_or_default();
    late.push(json!({ "at": now, "outcome": outcome, "evidence": evidence }));
    let text = to_json(&late);
    sqlx::query(KEEP_LATE)
        .bind(attempt.0)
        .bind(text.clone())
        .execute(w.conn().await?)
        .await
        .map_err(|e| failed("keeping late evidence", e))?;
    let current = Action::get(w.conn().await?, ActionId(row.int("action")?)).await?;
    let details = json!({ "attempt": attempt.0, "late": evidence_digest(&text), "outcome": outcome.name() });
    let next = match outcome {
        Outcome::Accepted(receipt) if crossed && current.standing.state != State::Accepted => {
            found(w, &current, receipt, details, "destination", now).await?
        }
        _ => apply::touch(w, &current, "late_evidence", |_| {}, details, "destination", now).await?,
    };
    Ok(next.standing)
}
