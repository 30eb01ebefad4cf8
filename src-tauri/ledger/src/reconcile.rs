//! Phase: turn doubt into knowledge. Every look is kept; only proof, a conclusive absence or a person's signed word moves
//! an unknown action.

use crate::proof::{evidence_digest, look_digest};
use crate::rows::{Action, Get, action_columns, skip_damaged, to_json};
use crate::tx::{Conn, Durable, Write, failed, statements};
use crate::types::UnknownItem;
use crate::{Conflict, Ledger, LedgerError, apply, claim, close, content};
use countersign_domain::approval::SignedVerdict;
use countersign_domain::{
    ActionId, Fact, Receipt, ReceiptKind, Sighting, Standing, State, Strength, Timestamp, Verdict,
};
use serde_json::{Value, json};

statements! {
    PUT_SIGHTING = "INSERT INTO sightings (action, at, sighting, conclusive) VALUES ($1, $2, $3, $4) RETURNING n";
    PUT_VERDICT = "INSERT INTO verdicts (action, word) VALUES ($1, $2) RETURNING n";
    UNKNOWN_DUE = concat!("SELECT ", action_columns!(), " FROM actions WHERE state = 'unknown' AND next_look <= $1 \
        ORDER BY next_look LIMIT 200");
    LAST_CLOSED = "SELECT MAX(closed_at) AS at FROM attempts WHERE action = $1";
}

impl Ledger {
    /// Keeps one look. `conclusive_absence` is the contract's word that not seeing it now proves that nothing happened;
    /// `last_crossed` is the crossing that was the newest when the look began, and absence proves nothing about a later
    /// one. `next_look` is when to ask again by itself.
    pub async fn record_sighting(
        &self,
        action: ActionId,
        sighting: &Sighting,
        conclusive_absence: bool,
        last_crossed: Timestamp,
        next_look: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<Standing, LedgerError> {
        let doing = "keeping what a look showed";
        let mut w = self.pools().write(doing, Durable::Full).await?;
        let current = Action::take(&mut w, action).await?;
        let conclusive_absence = conclusive_absence && current.last_crossed == Some(last_crossed);
        let (number, digest) = put_sighting(&mut w, action, sighting, conclusive_absence, now).await?;
        let details = json!({ "sighting": number, "digest": digest });
        let looked = |a: &mut Action| {
            a.looks = a.looks.saturating_add(1);
            if a.standing.state == State::Unknown {
                a.next_look = next_look;
            }
        };
        let next = match sighting {
            Sighting::Found(receipt)
                if receipt.strength >= Strength::Strong && current.standing.state != State::Accepted =>
            {
                let now_looked = apply::touch(&mut w, &current, "looked", looked, details, "worker", now).await?;
                close::found(&mut w, &now_looked, receipt, json!({}), "destination", now).await?
            }
            Sighting::NotSeen { .. } if conclusive_absence && current.standing.state == State::Unknown => {
                let change = |a: &mut Action| {
                    a.looks = a.looks.saturating_add(1);
                    a.reason = Some("looked up: it did not arrive".to_owned());
                };
                apply::apply(&mut w, &current, &Fact::Absent, change, details, "destination", now).await?
            }
            Sighting::Found(_) | Sighting::NotSeen { .. } | Sighting::CannotTell { .. } => {
                apply::touch(&mut w, &current, "looked", looked, details, "worker", now).await?
            }
        };
        w.commit(doing).await?;
        Ok(next.standing)
    }

    /// A person's signed word on an unknown action. Whether a socket is still open, or a look-up delay still runs, is the
    /// caller's to know, and for which crossing: `last_crossed` was the newest one then.
    ///
    /// # Errors
    /// `CrossedAgain` where the word is that it did not happen, and it was handed over again meanwhile.
    pub async fn settle(
        &self,
        action: ActionId,
        verdict: &SignedVerdict,
        last_crossed: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<Standing, LedgerError> {
        let doing = "storing a verdict";
        let mut w = self.pools().write(doing, Durable::Full).await?;
        let current = Action::take(&mut w, action).await?;
        if current.key.as_ref() != Some(&verdict.key) {
            return Err(Conflict::OtherAction.into());
        }
        let fact = match verdict.verdict {
            Verdict::Happened => Fact::SaidHappened,
            Verdict::DidNotHappen => Fact::SaidDidNotHappen,
            Verdict::Leave => Fact::Left,
        };
        countersign_domain::advance(&current.standing, &fact)?;
        if verdict.verdict == Verdict::DidNotHappen && current.last_crossed != last_crossed {
            return Err(Conflict::CrossedAgain.into());
        }
        let word = to_json(verdict);
        let row = sqlx::query(PUT_VERDICT)
            .bind(action.0)
            .bind(word.clone())
            .fetch_one(w.conn().await?)
            .await
            .map_err(|e| failed(doing, e))?;
        let mut details = json!({ "verdict": row.int("n")?, "digest": evidence_digest(&word) });
        let receipt = Receipt {
            kind: ReceiptKind::Person,
            reference: None,
            text: verdict.evidence.clone(),
            strength: Strength::Weak,
            by: Some(verdict.by.0.clone()),
        };
        if fact == Fact::SaidHappened {
            details["receipt"] = json!(receipt);
        }
        let change = |a: &mut Action| match verdict.verdict {
            Verdict::Happened => a.receipt = Some(receipt),
            Verdict::DidNotHappen => a.by_word_of = Some(verdict.by.0.clone()),
            Verdict::Leave => {}
        };
        let next = apply::apply(&mut w, &current, &fact, change, details, &verdict.by.0, now).await?;
        if next.standing.state == State::Accepted {
            content::know_people_of(&mut w, &next);
        }
        w.commit(doing).await?;
        Ok(next.standing)
    }

    /// Unknown actions whose next look is due.
    pub async fn unknown_due(&self, now: Timestamp) -> Result<Vec<UnknownItem>, LedgerError> {
        let mut tx = self.pools().read("looking for what is unknown").await?;
        let rows = sqlx::query(UNKNOWN_DUE)
            .bind(now.millis())
            .fetch_all(&mut *tx)
            .await
            .map_err(|e| failed("looking for what is unknown", e))?;
        let mut items = Vec::new();
        for action in Action::read_all(&rows)? {
            items.extend(item(&mut tx, action).await.map(Some).or_else(skip_damaged)?);
        }
        Ok(items)
    }

    /// What is known of one action that may have happened; None where it is neither unknown nor closed unknown.
    pub async fn unknown_item(&self, action: ActionId) -> Result<Option<UnknownItem>, LedgerError> {
        let mut tx = self.pools().read("reading an unknown action").await?;
        let current = Action::get(&mut tx, action).await?;
        match current.standing.state {
            State::Unknown | State::ClosedUnknown => item(&mut tx, current).await.map(Some),
            State::Prepared
            | State::NeedsReview
            | State::Approved
            | State::InProgress
            | State::Accepted
            | State::Refused
            | State::GaveUp
            | State::Rejected
            | State::Superseded => Ok(None),
        }
    }
}

async fn item(conn: &mut Conn, action: Action) -> Result<UnknownItem, LedgerError> {
    let row = sqlx::query(LAST_CLOSED)
        .bind(action.n)
        .fetch_one(&mut *conn)
        .await
        .map_err(|e| failed("reading attempts", e))?;
    let missing = |what: &str| LedgerError::corrupt("state", action.id(), format!("it is unknown without {what}"));
    Ok(UnknownItem {
        action: action.id(),
        state: action.standing.state,
        since: action.unknown_since.ok_or_else(|| missing("since when"))?,
        looks: action.looks,
        next_look: action.next_look,
        first_crossed: action.first_crossed.ok_or_else(|| missing("a crossing"))?,
        last_crossed: action.last_crossed.ok_or_else(|| missing("a crossing"))?,
        noted: claim::noted(conn, action.n).await?,
        attempts_left: action.standing.attempts < action.standing.allowed,
        revised: action.standing.revised,
        last_closed: row.time_or_null("at")?,
        not_before: action.not_before,
        environment: action.environment,
        destination: action.destination,
        effect: action.effect,
    })
}

async fn put_sighting(
    w: &mut Write,
    action: ActionId,
    sighting: &Sighting,
    conclusive: bool,
    now: Timestamp,
) -> Result<(i64, Value), LedgerError> {
    let text = to_json(sighting);
    let row = sqlx::query(PUT_SIGHTING)
        .bind(action.0)
        .bind(now.millis())
        .bind(text.clone())
        .bind(i64::from(conclusive))
        .fetch_one(w.conn().await?)
        .await
        .map_err(|e| failed("keeping what a look showed", e))?;
    Ok((row.int("n")?, json!(look_digest(now.millis(), &text, conclusive))))
}
