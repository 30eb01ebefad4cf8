//! Rows to domain values and back, with a check in each direction: what does not agree with itself is not handed on.

use crate::LedgerError;
use crate::journal::Stored;
use crate::script::{Answer, Said, say};
use crate::tx::{Conn, Write, exactly, statements};
use crate::types::{ActionRecord, Head, RowRecord, Waits};
use countersign_domain::canonical::tagged_hash;
use countersign_domain::{
    ActionId, ActionKey, ConversationHash, DeliveryId, IdempotencyKey, PayloadHash, PersonId, Receipt, Standing, State,
    Timestamp, WireHash,
};
use serde_json::json;
use sqlx::Row;
use sqlx::any::AnyRow;

/// Columns of `actions`, in the order every statement reads them.
macro_rules! action_columns {
    () => {
        "n, action_key, idempotency_key, environment, destination, effect, source, request_id, step, revision, state, \
         attempts, allowed, crossed_once, crossing, in_doubt, revised, by_word, signed, stale_claims, attempt, worker, \
         not_before, waits, after_action, payload_version, payload_hash, wire_hash, conversation, record_key, \
         newest_sequence, ended_sequence, expires_at, reason, receipt, accepted_at, by_word_of, unknown_since, looks, \
         next_look, first_crossed, last_crossed, revises, revised_by, owner, delivery, event_id, source_version, \
         draft_content, run_id, model, draft_reason, who, email, subject, thread, created_at, changed_at, row_version"
    };
}
pub(crate) use action_columns;

statements! {
    ACTION = concat!("SELECT ", action_columns!(), " FROM actions WHERE n = $1");
    ACTION_TO_WRITE = concat!("SELECT ", action_columns!(), ", h.seq AS head_seq, h.hash AS head_hash, j.seq, j.at, \
        j.action, j.kind, j.fact, j.by_whom, j.previous, j.hash FROM actions CROSS JOIN ledger_head h \
        LEFT JOIN journal j ON j.seq = (SELECT MAX(seq) FROM journal WHERE action = $1) WHERE n = $1");
    ACTION_BY_KEY = concat!("SELECT ", action_columns!(), " FROM actions WHERE action_key = $1");
}

/// Typed reading of one column, with the column named where it cannot be read.
pub(crate) trait Get {
    fn text(&self, column: &'static str) -> Result<String, LedgerError>;
    fn text_or_null(&self, column: &'static str) -> Result<Option<String>, LedgerError>;
    fn int(&self, column: &'static str) -> Result<i64, LedgerError>;
    fn int_or_null(&self, column: &'static str) -> Result<Option<i64>, LedgerError>;
    fn bytes_or_null(&self, column: &'static str) -> Result<Option<Vec<u8>>, LedgerError>;
    fn flag(&self, column: &'static str) -> Result<bool, LedgerError> {
        match self.int(column)? {
            0 => Ok(false),
            1 => Ok(true),
            n => Err(LedgerError::corrupt("column", column, format!("{n} is neither 0 nor 1"))),
        }
    }
    fn time(&self, column: &'static str) -> Result<Timestamp, LedgerError> {
        self.int(column).map(Timestamp::from_millis)
    }
    fn time_or_null(&self, column: &'static str) -> Result<Option<Timestamp>, LedgerError> {
        Ok(self.int_or_null(column)?.map(Timestamp::from_millis))
    }
    /// A number of a narrower type.
    fn num<T: TryFrom<i64>>(&self, column: &'static str) -> Result<T, LedgerError> {
        let n = self.int(column)?;
        T::try_from(n).map_err(|_| LedgerError::corrupt("column", column, format!("{n} is out of range")))
    }
    /// A text with a form of its own: a hash, a state.
    fn parsed<T: std::str::FromStr>(&self, column: &'static str) -> Result<T, LedgerError> {
        self.text(column)?.parse().map_err(|_| LedgerError::corrupt("column", column, "its text has another form"))
    }
    fn parsed_or_null<T: std::str::FromStr>(&self, column: &'static str) -> Result<Option<T>, LedgerError> {
        match self.text_or_null(column)? {
            None => Ok(None),
            Some(text) => {
                text.parse().map(Some).map_err(|_| LedgerError::corrupt("column", column, "its text has another form"))
            }
        }
    }
}

pub(crate) fn unreadable(column: &'static str) -> LedgerError {
    LedgerError::corrupt("column", column, "it cannot be read as its type")
}

impl Get for AnyRow {
    fn text(&self, column: &'static str) -> Result<String, LedgerError> {
        self.try_get(column).map_err(|_| unreadable(column))
    }
    fn text_or_null(&self, column: &'static str) -> Result<Option<String>, LedgerError> {
        self.try_get(column).map_err(|_| unreadable(column))
    }
    fn int(&self, column: &'static str) -> Result<i64, LedgerError> {
        self.try_get(column).map_err(|_| unreadable(column))
    }
    fn int_or_null(&self, column: &'static str) -> Result<Option<i64>, LedgerError> {
        self.try_get(column).map_err(|_| unreadable(column))
    }
    fn bytes_or_null(&self, column: &'static str) -> Result<Option<Vec<u8>>, LedgerError> {
        self.try_get(column).map_err(|_| unreadable(column))
    }
}

/// A whole row of `actions`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Action {
    pub n: i64,
    pub key: Option<ActionKey>,
    pub idempotency_key: Option<IdempotencyKey>,
    pub environment: String,
    pub destination: String,
    pub effect: String,
    pub source: String,
    pub request_id: Option<String>,
    pub step: String,
    pub revision: u32,
    pub standing: Standing,
    pub attempt: Option<i64>,
    pub worker: Option<String>,
    pub not_before: Timestamp,
    pub waits: Waits,
    pub after: Option<i64>,
    pub payload_version: u32,
    pub payload_hash: Option<PayloadHash>,
    pub wire_hash: Option<WireHash>,
    pub conversation: Option<ConversationHash>,
    pub record_key: Option<String>,
    pub newest_sequence: u32,
    pub ended_sequence: u32,
    pub expires_at: Option<Timestamp>,
    pub reason: Option<String>,
    pub receipt: Option<Receipt>,
    pub accepted_at: Option<Timestamp>,
    pub by_word_of: Option<String>,
    pub unknown_since: Option<Timestamp>,
    pub looks: u32,
    pub next_look: Option<Timestamp>,
    pub first_crossed: Option<Timestamp>,
    pub last_crossed: Option<Timestamp>,
    pub revises: Option<i64>,
    pub revised_by: Option<i64>,
    pub owner: String,
    pub delivery: i64,
    pub event_id: Option<String>,
    pub source_version: Option<u64>,
    pub draft_content: String,
    pub run_id: Option<String>,
    pub model: Option<String>,
    pub draft_reason: Option<String>,
    pub who: String,
    pub email: String,
    pub subject: String,
    pub thread: Option<String>,
    pub created_at: Timestamp,
    pub changed_at: Timestamp,
    pub row_version: i64,
}

pub(crate) fn waits_name(waits: Waits) -> &'static str {
    match waits {
        Waits::Nothing => "nothing",
        Waits::UndoWindow => "undo",
        Waits::Backoff => "backoff",
    }
}

impl Action {
    pub(crate) fn id(&self) -> ActionId {
        ActionId(self.n)
    }

    pub(crate) async fn load(conn: &mut Conn, id: ActionId) -> Result<Option<Action>, LedgerError> {
        sqlx::query(ACTION)
            .bind(id.0)
            .fetch_optional(conn)
            .await
            .map_err(|e| crate::tx::failed("reading an action", e))?
            .map(|row| Action::read(&row))
            .transpose()
    }

    pub(crate) async fn get(conn: &mut Conn, id: ActionId) -> Result<Action, LedgerError> {
        Action::load(conn, id).await?.ok_or_else(|| LedgerError::not_found("action", id))
    }

    /// The same inside a write, in one go with the journal's head and the action's last journal row: a row that differs
    /// from what was written down last is not built upon.
    pub(crate) async fn take(w: &mut Write, id: ActionId) -> Result<Action, LedgerError> {
        Ok(Action::take_and(w, id, []).await?.0)
    }

    /// The same, with what else is asked on the way.
    pub(crate) async fn take_and<const N: usize>(
        w: &mut Write,
        id: ActionId,
        more: [Said; N],
    ) -> Result<(Action, [Answer; N]), LedgerError> {
        let mut script = vec![say!("reading an action", ACTION_TO_WRITE, id.0)];
        script.extend(more);
        let mut answers = w.ask_all(script).await?;
        let more = exactly(answers.split_off(1));
        let row = answers.first().and_then(Answer::first).ok_or_else(|| LedgerError::not_found("action", id))?;
        let action = Action::read(row)?;
        let last = row.int_or_null("seq")?.map(|_| Stored::read(row)).transpose()?;
        crate::apply::told_last(&action, last)?;
        w.head = Some(Head { seq: row.int("head_seq")?, hash: row.parsed("head_hash")? });
        w.intact = Some((action.n, action.row_version));
        Ok((action, more))
    }

    /// The same over a list of which one damaged row must not hold up the others: no claim takes it, `verify` names it.
    pub(crate) async fn take_if_intact(w: &mut Write, id: ActionId) -> Result<Option<Action>, LedgerError> {
        Action::take(w, id).await.map(Some).or_else(skip_damaged)
    }

    /// The readable ones of a list.
    pub(crate) fn read_all(rows: &[impl Get]) -> Result<Vec<Action>, LedgerError> {
        let mut all = Vec::with_capacity(rows.len());
        for row in rows {
            all.extend(Action::read(row).map(Some).or_else(skip_damaged)?);
        }
        Ok(all)
    }

    /// Reads a row and checks it against itself.
    pub(crate) fn read(row: &impl Get) -> Result<Action, LedgerError> {
        let n = row.int("n")?;
        Action::read_unnamed(row).map_err(|e| match e {
            LedgerError::Corrupt { what: "column", id, why } => {
                LedgerError::corrupt("action", ActionId(n), format!("{id}: {why}"))
            }
            other => other,
        })
    }

    fn read_unnamed(row: &impl Get) -> Result<Action, LedgerError> {
        let standing = Standing {
            state: row.parsed::<State>("state")?,
            attempts: row.num("attempts")?,
            allowed: row.num("allowed")?,
            crossed_once: row.flag("crossed_once")?,
            crossing: row.flag("crossing")?,
            in_doubt: row.flag("in_doubt")?,
            revised: row.flag("revised")?,
            by_word: row.flag("by_word")?,
            signed: row.num("signed")?,
            stale_claims: row.num("stale_claims")?,
        };
        let key_text = row.text_or_null("action_key")?;
        let mut action = Action {
            n: row.int("n")?,
            key: None,
            idempotency_key: row.parsed_or_null("idempotency_key")?,
            environment: row.text("environment")?,
            destination: row.text("destination")?,
            effect: row.text("effect")?,
            source: row.text("source")?,
            request_id: row.text_or_null("request_id")?,
            step: row.text("step")?,
            revision: row.num("revision")?,
            standing,
            attempt: row.int_or_null("attempt")?,
            worker: row.text_or_null("worker")?,
            not_before: row.time("not_before")?,
            waits: match row.text("waits")?.as_str() {
                "nothing" => Waits::Nothing,
                "undo" => Waits::UndoWindow,
                "backoff" => Waits::Backoff,
                _ => return Err(LedgerError::corrupt("column", "waits", "it is none of the known words")),
            },
            after: row.int_or_null("after_action")?,
            payload_version: row.num("payload_version")?,
            payload_hash: row.parsed_or_null("payload_hash")?,
            wire_hash: row.parsed_or_null("wire_hash")?,
            conversation: row.parsed_or_null("conversation")?,
            record_key: row.text_or_null("record_key")?,
            newest_sequence: row.num("newest_sequence")?,
            ended_sequence: row.num("ended_sequence")?,
            expires_at: row.time_or_null("expires_at")?,
            reason: row.text_or_null("reason")?,
            receipt: read_json(row, "receipt")?,
            accepted_at: row.time_or_null("accepted_at")?,
            by_word_of: row.text_or_null("by_word_of")?,
            unknown_since: row.time_or_null("unknown_since")?,
            looks: row.num("looks")?,
            next_look: row.time_or_null("next_look")?,
            first_crossed: row.time_or_null("first_crossed")?,
            last_crossed: row.time_or_null("last_crossed")?,
            revises: row.int_or_null("revises")?,
            revised_by: row.int_or_null("revised_by")?,
            owner: row.text("owner")?,
            delivery: row.int("delivery")?,
            event_id: row.text_or_null("event_id")?,
            source_version: row.int_or_null("source_version")?.and_then(|v| u64::try_from(v).ok()),
            draft_content: row.text("draft_content")?,
            run_id: row.text_or_null("run_id")?,
            model: row.text_or_null("model")?,
            draft_reason: row.text_or_null("draft_reason")?,
            who: row.text("who")?,
            email: row.text("email")?,
            subject: row.text("subject")?,
            thread: row.text_or_null("thread")?,
            created_at: row.time("created_at")?,
            changed_at: row.time("changed_at")?,
            row_version: row.int("row_version")?,
        };
        if let Some(text) = key_text {
            let key = action
                .key_of_columns()
                .ok_or_else(|| LedgerError::corrupt("column", "request_id", "it is missing although a key exists"))?;
            if key.canonical() != text {
                return Err(LedgerError::corrupt("column", "action_key", "it is not the key of the other columns"));
            }
            action.key = Some(key);
        }
        if action.key.is_some() != action.idempotency_key.is_some()
            || action.key.is_some() != action.payload_hash.is_some()
        {
            return Err(LedgerError::corrupt(
                "column",
                "idempotency_key",
                "key and hashes come together or not at all",
            ));
        }
        if (action.standing.state == State::Accepted) != action.receipt.is_some() {
            return Err(LedgerError::corrupt("column", "receipt", "it goes with accepted and with nothing else"));
        }
        Ok(action)
    }

    pub(crate) fn key_of_columns(&self) -> Option<ActionKey> {
        Some(ActionKey {
            environment: self.environment.clone(),
            destination: self.destination.clone(),
            effect: self.effect.clone(),
            source: self.source.clone(),
            request_id: self.request_id.clone()?,
            step: self.step.clone(),
            revision: self.revision,
        })
    }

    pub(crate) fn need_key(&self) -> Result<&ActionKey, LedgerError> {
        self.key
            .as_ref()
            .ok_or(LedgerError::Conflict(crate::Conflict::StillMissing { field: "request_id or event_id" }))
    }

    /// Digest of every column, put into each journal row that changes the action. A purge, which takes what only helps to
    /// recognise it in a list, is such a row.
    pub(crate) fn digest(&self) -> String {
        let millis = |t: Option<Timestamp>| t.map(Timestamp::millis);
        let identity = json!([
            self.n,
            self.key.as_ref().map(|k| k.array()),
            self.idempotency_key,
            self.environment,
            self.destination,
            self.effect,
            self.source,
            self.request_id,
            self.step,
            self.revision,
            self.revises,
            self.revised_by,
            self.owner,
            self.delivery,
            self.event_id,
            self.source_version,
            self.draft_content,
            self.conversation,
            self.record_key,
            self.after,
        ]);
        let claim = json!([self.attempt, self.worker, self.not_before.millis(), waits_name(self.waits)]);
        let content = json!([
            self.payload_version,
            self.payload_hash,
            self.wire_hash,
            self.newest_sequence,
            self.ended_sequence,
            millis(self.expires_at),
        ]);
        let outcome = json!([
            self.reason,
            self.receipt,
            millis(self.accepted_at),
            self.by_word_of,
            millis(self.unknown_since),
            self.looks,
            millis(self.next_look),
            millis(self.first_crossed),
            millis(self.last_crossed),
        ]);
        let face = json!([self.who, self.email, self.subject, self.thread, self.run_id, self.model, self.draft_reason]);
        let row = json!([self.created_at.millis(), self.changed_at.millis(), self.row_version]);
        let all = json!([identity, self.standing, claim, content, outcome, face, row]);
        hex(&tagged_hash("countersign/action-row/v1", &all))
    }

    pub(crate) fn record(self) -> ActionRecord {
        ActionRecord {
            key: self.key.clone(),
            idempotency_key: self.idempotency_key.clone(),
            revision: self.revision,
            revises: self.revises.map(ActionId),
            revised_by: self.revised_by.map(ActionId),
            wire_hash: self.wire_hash,
            conversation: self.conversation,
            owner: PersonId(self.owner.clone()),
            delivery: DeliveryId(self.delivery),
            event_id: self.event_id.clone(),
            source_version: self.source_version,
            run_id: self.run_id.clone(),
            model: self.model.clone(),
            draft_reason: self.draft_reason.clone(),
            by_word_of: self.by_word_of.clone(),
            accepted_at: self.accepted_at,
            newest_sequence: self.newest_sequence,
            first_crossed: self.first_crossed,
            last_crossed: self.last_crossed,
            row_version: self.row_version,
            row: self.line(),
        }
    }

    pub(crate) fn line(self) -> RowRecord {
        RowRecord {
            id: ActionId(self.n),
            environment: self.environment,
            source: self.source,
            request_id: self.request_id,
            step: self.step,
            effect: self.effect,
            destination: self.destination,
            standing: self.standing,
            reason: self.reason,
            who: self.who,
            email: self.email,
            subject: self.subject,
            created_at: self.created_at,
            changed_at: self.changed_at,
            payload_hash: self.payload_hash,
            payload_version: self.payload_version,
            not_before: self.not_before,
            waits: self.waits,
            after: self.after.map(ActionId),
            expires_at: self.expires_at,
            looks: self.looks,
            next_look: self.next_look,
            unknown_since: self.unknown_since,
            receipt: self.receipt,
        }
    }
}

pub(crate) fn skip_damaged<T>(error: LedgerError) -> Result<Option<T>, LedgerError> {
    match error {
        LedgerError::Corrupt { what, id, why } => {
            tracing::error!(what, id, why, "left out of a list; `verify` names it");
            Ok(None)
        }
        other => Err(other),
    }
}

pub(crate) fn read_json<T: serde::de::DeserializeOwned>(
    row: &impl Get,
    column: &'static str,
) -> Result<Option<T>, LedgerError> {
    row.text_or_null(column)?
        .map(|text| serde_json::from_str(&text))
        .transpose()
        .map_err(|_| LedgerError::corrupt("column", column, "it is not the JSON it should be"))
}

/// Lower-case hex, without a crate for it.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

pub(crate) fn to_json<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("our own values have string keys only")
}
