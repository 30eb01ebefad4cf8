//! What the doors remember: answers under an Idempotency-Key, and outcomes to be told to the source.
//!
//! None of it moves an action. An outcome is queued in the transaction that makes it, so none is lost and none is told that
//! did not happen; whether telling it succeeds changes nothing here but its own row.

use crate::rows::{Action, Get, hex};
use crate::script::say;
use crate::tx::{Durable, Write, failed, statements};
use crate::types::{Head, KeptAnswer, OutcomeCall, OutcomeHook};
use crate::{Ledger, LedgerError, journal};
use countersign_domain::canonical::sha256;
use countersign_domain::{ActionId, PersonId, ReceiptKind, State, Timestamp};
use serde_json::json;
use sqlx::any::AnyRow;

macro_rules! call_columns {
    () => {
        "seq, source, action, message_id, body, queued_at, state, tries, last, changed_at, next_at"
    };
}

statements! {
    KEPT = "SELECT body, status, answer FROM kept_answers WHERE source = $1 AND route = $2 AND key = $3 AND at > $4";
    FORGET = "DELETE FROM kept_answers WHERE at <= $1";
    KEEP = "INSERT INTO kept_answers (source, route, key, body, status, answer, at) VALUES ($1, $2, $3, $4, $5, $6, $7) \
        ON CONFLICT DO NOTHING";
    PUT_HOOK = "INSERT INTO outcome_hooks (source, url, added_at) VALUES ($1, $2, $3) \
        ON CONFLICT (source) DO UPDATE SET url = excluded.url, added_at = excluded.added_at";
    HOOK = "SELECT source, url, added_at FROM outcome_hooks WHERE source = $1";
    REMOVE_HOOK = "DELETE FROM outcome_hooks WHERE source = $1";
    // What still waits has nowhere to go.
    STOP_ALL = "UPDATE outcome_calls SET state = 'stopped', next_at = NULL, last = 'the outcome webhook was removed', \
        changed_at = $2 WHERE source = $1 AND state = 'waiting'";
    QUEUE = "INSERT INTO outcome_calls (seq, source, action, message_id, body, queued_at, state, tries, changed_at, next_at) \
        SELECT $1, h.source, $2, $3, $4, $5, 'waiting', 0, $5, $5 FROM outcome_hooks h WHERE h.source = $6";
    // The oldest of each source: a heap of one keeps no other waiting, and what a source is told comes in order.
    DUE = concat!("SELECT ", call_columns!(), " FROM (SELECT ", call_columns!(), ", row_number() OVER \
        (PARTITION BY source ORDER BY next_at, seq) AS nth FROM outcome_calls WHERE next_at IS NOT NULL AND next_at <= $1) \
        AS due WHERE nth = 1 ORDER BY next_at, seq");
    LOG = concat!("SELECT ", call_columns!(), " FROM outcome_calls WHERE source = $1 ORDER BY seq DESC \
        LIMIT CAST($2 AS bigint)");
    // The try that was counted is the one that ends: two workers do not write over each other.
    TOLD = "UPDATE outcome_calls SET state = $3, tries = tries + 1, last = $4, changed_at = $5, next_at = $6 \
        WHERE seq = $1 AND tries = $2 AND state = 'waiting'";
    FORGET_CALLS = "DELETE FROM outcome_calls WHERE next_at IS NULL AND changed_at <= $1";
}

fn read_call(row: &AnyRow) -> Result<OutcomeCall, LedgerError> {
    Ok(OutcomeCall {
        seq: row.int("seq")?,
        source: row.text("source")?,
        action: ActionId(row.int("action")?),
        message_id: row.text("message_id")?,
        body: row.text("body")?,
        queued_at: row.time("queued_at")?,
        state: row.text("state")?,
        tries: row.num("tries")?,
        last: row.text_or_null("last")?,
        changed_at: row.time("changed_at")?,
        next_at: row.time_or_null("next_at")?,
    })
}

/// Whether a source is told of it: an outcome, never a decision of a person on a draft.
fn is_outcome(state: State) -> bool {
    match state {
        State::Accepted | State::Unknown | State::Refused | State::GaveUp => true,
        State::Prepared
        | State::NeedsReview
        | State::Approved
        | State::InProgress
        | State::Rejected
        | State::Superseded
        | State::ClosedUnknown => false,
    }
}

/// Whether the outcome is what a person signed, not what the destination said: that it happened, or that it did not.
fn by_persons_word(action: &Action) -> bool {
    match &action.receipt {
        Some(receipt) if action.standing.state == State::Accepted => receipt.kind == ReceiptKind::Person,
        _ => action.standing.says_by_word(),
    }
}

/// Queues what `next` came to, where its source wants to know. `told`: the journal row that tells of it; its hash makes the
/// message's id, so the same fact never gets two.
pub(crate) fn queue(w: &mut Write, before: &Action, next: &Action, told: Head, now: Timestamp) {
    let state = next.standing.state;
    if state == before.standing.state || !is_outcome(state) {
        return;
    }
    // Neither text nor people: what the source needs to find its own record again.
    let body = json!({
        "type": format!("action.{}", state.name()),
        "timestamp": now,
        "data": {
            "id": next.id(),
            "key": next.key.as_ref().map(|k| json!({
                "environment": k.environment, "destination": k.destination, "effect": k.effect, "source": k.source,
                "request_id": k.request_id, "step": k.step, "revision": k.revision,
            })),
            "idempotency_key": next.idempotency_key.as_ref().map(|k| k.as_str()),
            "state": state.name(),
            "receipt_kind": next.receipt.as_ref().filter(|_| state == State::Accepted).map(|r| r.kind),
            "by_persons_word": by_persons_word(next),
            "receipt_id": next.receipt.as_ref().and_then(|r| r.reference.clone()).filter(|id| !id.contains('@')),
            "at": now,
        }
    });
    let id = hex(&sha256(format!("countersign/outcome/v1\n{}", told.hash).as_bytes()));
    let message = format!("msg_{}", &id[..32]);
    let body = body.to_string();
    w.later(say!("queueing an outcome", QUEUE, told.seq, next.n, message, body, now.millis(), &next.source));
}

impl Ledger {
    /// The answer kept under a key of a source and a call, unless it was kept before `since`.
    pub async fn kept_answer(
        &self,
        source: &str,
        route: &str,
        key: &str,
        since: Timestamp,
    ) -> Result<Option<KeptAnswer>, LedgerError> {
        let doing = "looking for a kept answer";
        let mut tx = self.pools().bare(doing).await?;
        let row = sqlx::query(KEPT)
            .bind(source.to_owned())
            .bind(route.to_owned())
            .bind(key.to_owned())
            .bind(since.millis())
            .fetch_optional(&mut *tx)
            .await
            .map_err(|e| failed(doing, e))?;
        row.map(|r| Ok(KeptAnswer { body: r.text("body")?, status: r.num("status")?, answer: r.text("answer")? }))
            .transpose()
    }

    /// Keeps an answer and forgets what was kept until `since`.
    pub async fn keep_answer(
        &self,
        source: &str,
        route: &str,
        key: &str,
        kept: &KeptAnswer,
        since: Timestamp,
        now: Timestamp,
    ) -> Result<(), LedgerError> {
        let doing = "keeping an answer";
        let mut w = self.pools().write(doing, Durable::Full).await?;
        sqlx::query(FORGET).bind(since.millis()).execute(w.conn().await?).await.map_err(|e| failed(doing, e))?;
        sqlx::query(KEEP)
            .bind(source.to_owned())
            .bind(route.to_owned())
            .bind(key.to_owned())
            .bind(kept.body.clone())
            .bind(i64::from(kept.status))
            .bind(kept.answer.clone())
            .bind(now.millis())
            .execute(w.conn().await?)
            .await
            .map_err(|e| failed(doing, e))?;
        w.commit(doing).await
    }

    /// Where a source is told of outcomes from now on. The journal keeps the address as a digest only.
    pub async fn set_outcome_hook(
        &self,
        source: &str,
        url: &str,
        by: &PersonId,
        now: Timestamp,
    ) -> Result<(), LedgerError> {
        let doing = "storing an outcome webhook";
        let mut w = self.pools().write(doing, Durable::Full).await?;
        sqlx::query(PUT_HOOK)
            .bind(source.to_owned())
            .bind(url.to_owned())
            .bind(now.millis())
            .execute(w.conn().await?)
            .await
            .map_err(|e| failed(doing, e))?;
        let details = json!({ "source": source, "url": hex(&sha256(url.as_bytes())) });
        let fact = json!({ "fact": "outcome_webhook_set", "details": details });
        journal::append(&mut w, now, None, fact, &by.0).await?;
        w.commit(doing).await
    }

    /// What still waited is not told any more.
    pub async fn remove_outcome_hook(&self, source: &str, by: &PersonId, now: Timestamp) -> Result<(), LedgerError> {
        let doing = "removing an outcome webhook";
        let mut w = self.pools().write(doing, Durable::Full).await?;
        let hit = sqlx::query(REMOVE_HOOK)
            .bind(source.to_owned())
            .execute(w.conn().await?)
            .await
            .map_err(|e| failed(doing, e))?;
        if hit.rows_affected() == 0 {
            return Err(LedgerError::not_found("outcome webhook of", source));
        }
        sqlx::query(STOP_ALL)
            .bind(source.to_owned())
            .bind(now.millis())
            .execute(w.conn().await?)
            .await
            .map_err(|e| failed(doing, e))?;
        let fact = json!({ "fact": "outcome_webhook_removed", "details": { "source": source } });
        journal::append(&mut w, now, None, fact, &by.0).await?;
        w.commit(doing).await
    }

    pub async fn outcome_hook(&self, source: &str) -> Result<Option<OutcomeHook>, LedgerError> {
        let doing = "reading an outcome webhook";
        let mut tx = self.pools().bare(doing).await?;
        let row = sqlx::query(HOOK).bind(source.to_owned()).fetch_optional(&mut *tx).await;
        row.map_err(|e| failed(doing, e))?
            .map(|r| Ok(OutcomeHook { source: r.text("source")?, url: r.text("url")?, added_at: r.time("added_at")? }))
            .transpose()
    }

    /// Outcomes that are to be told by now, the longest due first.
    pub async fn outcomes_due(&self, now: Timestamp) -> Result<Vec<OutcomeCall>, LedgerError> {
        let doing = "looking for outcomes to tell";
        let mut tx = self.pools().bare(doing).await?;
        let rows = sqlx::query(DUE).bind(now.millis()).fetch_all(&mut *tx).await;
        rows.map_err(|e| failed(doing, e))?.iter().map(read_call).collect()
    }

    /// The delivery log of a source, newest first.
    pub async fn outcome_log(&self, source: &str, limit: u32) -> Result<Vec<OutcomeCall>, LedgerError> {
        let doing = "reading the log of outcomes told";
        let mut tx = self.pools().bare(doing).await?;
        let rows = sqlx::query(LOG).bind(source.to_owned()).bind(i64::from(limit)).fetch_all(&mut *tx).await;
        rows.map_err(|e| failed(doing, e))?.iter().map(read_call).collect()
    }

    /// What a try came to: `delivered`, `stopped`, or `waiting` with `next_at`. What ended before `forget` leaves the log.
    pub async fn outcome_tried(
        &self,
        call: &OutcomeCall,
        state: &str,
        last: &str,
        next_at: Option<Timestamp>,
        forget: Timestamp,
        now: Timestamp,
    ) -> Result<(), LedgerError> {
        let doing = "recording how an outcome was told";
        // Lost with the power it is told once more, under the same id.
        let mut w = self.pools().write(doing, Durable::Rides).await?;
        sqlx::query(TOLD)
            .bind(call.seq)
            .bind(i64::from(call.tries))
            .bind(state.to_owned())
            .bind(last.to_owned())
            .bind(now.millis())
            .bind(next_at.map(Timestamp::millis))
            .execute(w.conn().await?)
            .await
            .map_err(|e| failed(doing, e))?;
        sqlx::query(FORGET_CALLS).bind(forget.millis()).execute(w.conn().await?).await.map_err(|e| failed(doing, e))?;
        w.commit(doing).await
    }
}
