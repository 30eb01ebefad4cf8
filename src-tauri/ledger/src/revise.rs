//! Phase: a new action that follows another (R28), and an action that gets its identity or is confirmed.

use crate::content::{self, NewPayload, content_hash, face_at};
use crate::repeats::permitted;
use crate::rows::{ACTION_BY_KEY, Action, Get};
use crate::script::Answer;
use crate::tx::{Conn, Durable, Write, failed, statements};
use crate::types::Waits;
use crate::{Conflict, Ledger, LedgerError, apply, directory, news};
use countersign_domain::{
    ActionId, ActionKey, Fact, LedgerSecret, Payload, PersonId, Sealed, Standing, State, Timestamp,
};
use serde_json::json;

statements! {
    EVENT_TAKEN = "SELECT delivery FROM events WHERE source = $1 AND event_id = $2";
    TAKE_EVENT = "INSERT INTO events (source, event_id, delivery, content_hash) \
        SELECT source, $2, n, content_hash FROM deliveries WHERE n = $1";
    WAITING_FOR = "SELECT n FROM actions WHERE after_action = $1 ORDER BY n";
}

async fn by_key(conn: &mut Conn, key: &ActionKey) -> Result<Option<Action>, LedgerError> {
    sqlx::query(ACTION_BY_KEY)
        .bind(key.canonical())
        .fetch_optional(conn)
        .await
        .map_err(|e| failed("looking for an action key", e))?
        .map(|row| Action::read(&row))
        .transpose()
}

impl Ledger {
    /// Completes an action whose identity is missing, or confirms one whose situation changed. Never leads to approved.
    pub async fn confirm(
        &self,
        action: ActionId,
        request_id: Option<&str>,
        event_id: Option<&str>,
        secret: &LedgerSecret,
        by: &PersonId,
        now: Timestamp,
    ) -> Result<Standing, LedgerError> {
        let doing = "completing an action";
        let mut w = self.pools().write(doing, Durable::Full).await?;
        let current = Action::take(&mut w, action).await?;
        countersign_domain::advance(&current.standing, &Fact::Completed)?;
        let source = directory::source(w.conn().await?, &current.source).await?;
        let source = source.ok_or_else(|| LedgerError::not_found("source", &current.source))?;
        let there = directory::destination(w.conn().await?, &current.destination).await?;
        if let Some(why) = permitted(&source, &current.effect, &current.destination, there.as_ref()) {
            return Err(Conflict::NotPermitted { why }.into());
        }
        let next = if current.key.is_some() {
            apply::apply(&mut w, &current, &Fact::Completed, |_| {}, json!({}), &by.0, now).await?
        } else {
            complete(&mut w, &current, request_id, event_id, secret, by, now).await?
        };
        w.commit(doing).await?;
        Ok(next.standing)
    }

    /// A new action, revision + 1, prepared. The old one is marked revised and never goes again. Without a payload the
    /// current one is taken over.
    pub async fn revise(
        &self,
        action: ActionId,
        payload: Option<&Payload>,
        secret: &LedgerSecret,
        by: &PersonId,
        now: Timestamp,
    ) -> Result<ActionId, LedgerError> {
        let doing = "revising an action";
        let mut w = self.pools().write(doing, Durable::Full).await?;
        let old = Action::take(&mut w, action).await?;
        countersign_domain::advance(&old.standing, &Fact::Revised)?;
        let key = ActionKey { revision: old.revision + 1, ..old.need_key()?.clone() };
        if let Some(other) = by_key(w.conn().await?, &key).await? {
            return Err(Conflict::KeyExists { action: other.id() }.into());
        }
        let payload = match payload {
            Some(new) => new.clone(),
            None => {
                let stored = content::payload(w.conn().await?, old.n, old.payload_version).await?;
                content::open_payload(w.conn().await?, old.n, &old.effect, &stored, &Answer::default()).await?
            }
        };
        let new = insert_revision(&mut w, &old, key, &payload, secret, by, now).await?;
        let details = json!({ "revised_by": new.id() });
        let change = |a: &mut Action| a.revised_by = Some(new.n);
        let moved = apply::apply(&mut w, &old, &Fact::Revised, change, details, &by.0, now).await?;
        if moved.standing.state != State::Accepted {
            follow(&mut w, &old, &new, by, now).await?;
        }
        w.commit(doing).await?;
        Ok(new.id())
    }
}

async fn complete(
    w: &mut Write,
    current: &Action,
    request_id: Option<&str>,
    event_id: Option<&str>,
    secret: &LedgerSecret,
    by: &PersonId,
    now: Timestamp,
) -> Result<Action, LedgerError> {
    let filled = |given: Option<&str>, had: &Option<String>| {
        had.clone().or(given.map(str::to_owned)).filter(|t| !t.trim().is_empty())
    };
    let mut next = current.clone();
    next.request_id = filled(request_id, &current.request_id);
    next.event_id = filled(event_id, &current.event_id);
    let key = next.key_of_columns().ok_or(Conflict::StillMissing { field: "request_id" })?;
    if next.event_id.is_none() {
        return Err(Conflict::StillMissing { field: "event_id" }.into());
    }
    if let Some(other) = by_key(w.conn().await?, &key).await? {
        return Err(Conflict::KeyExists { action: other.id() }.into());
    }
    let mut takes_event = false;
    if current.event_id.is_none()
        && let Some(event) = &next.event_id
    {
        let taken = sqlx::query(EVENT_TAKEN)
            .bind(current.source.clone())
            .bind(event.clone())
            .fetch_optional(w.conn().await?)
            .await
            .map_err(|e| failed("looking for the event", e))?;
        match taken.map(|r| r.int("delivery")).transpose()? {
            // Another action of the same proposal was completed with the same event before.
            Some(delivery) if delivery == current.delivery => {}
            Some(_) => return Err(Conflict::EventExists.into()),
            None => {
                takes_event = true;
                sqlx::query(TAKE_EVENT)
                    .bind(current.delivery)
                    .bind(event.clone())
                    .execute(w.conn().await?)
                    .await
                    .map_err(|e| failed("recording an event", e))?;
            }
        }
    }
    // The hash covers the key, so the same content becomes the next version under it.
    let stored = content::payload(w.conn().await?, current.n, current.payload_version).await?;
    let payload =
        content::open_payload(w.conn().await?, current.n, &current.effect, &stored, &Answer::default()).await?;
    let version = current.payload_version + 1;
    let sealed = Sealed::seal(key.clone(), version, payload.clone());
    let hash = sealed.hash();
    let new = NewPayload { action: current.n, version, payload: &payload, hash: Some(hash), by: &by.0 };
    content::put_payload(w, new, now);
    let details = json!({
        "request_id": next.request_id, "event_id": next.event_id, "takes_event": takes_event,
        "payload": { "version": version, "hash": hash, "content": content_hash(&payload) },
    });
    let change = |a: &mut Action| {
        a.idempotency_key = Some(key.idempotency_key(secret));
        a.key = Some(key);
        a.request_id = next.request_id;
        a.event_id = next.event_id;
        a.payload_version = version;
        a.payload_hash = Some(hash);
    };
    apply::apply(w, current, &Fact::Completed, change, details, &by.0, now).await
}

async fn insert_revision(
    w: &mut Write,
    old: &Action,
    key: ActionKey,
    payload: &Payload,
    secret: &LedgerSecret,
    by: &PersonId,
    now: Timestamp,
) -> Result<Action, LedgerError> {
    let hash = Sealed::seal(key.clone(), 1, payload.clone()).hash();
    let face = face_at(w.conn().await?, &old.destination, payload).await?;
    let people = face.people.clone();
    let content = content_hash(payload);
    // Whoever revises it has read what came while it was under way.
    let conversation = news::waiting(w.conn().await?, old).await?.or(old.conversation);
    let mut new = Action {
        n: 0,
        conversation,
        idempotency_key: Some(key.idempotency_key(secret)),
        revision: key.revision,
        key: Some(key),
        standing: Standing::proposed(true),
        attempt: None,
        worker: None,
        not_before: now,
        waits: Waits::Nothing,
        payload_version: 1,
        payload_hash: Some(hash),
        wire_hash: None,
        newest_sequence: 0,
        ended_sequence: 0,
        expires_at: None,
        reason: None,
        receipt: None,
        accepted_at: None,
        by_word_of: None,
        unknown_since: None,
        looks: 0,
        next_look: None,
        first_crossed: None,
        last_crossed: None,
        revises: Some(old.n),
        revised_by: None,
        created_at: now,
        changed_at: now,
        row_version: 1,
        ..old.clone()
    };
    face.put_on(&mut new);
    let details = json!({
        "revises": old.id(), "after": old.after,
        "payload": { "version": 1, "hash": hash, "content": content },
    });
    let new = apply::insert(w, new, details, &by.0, now).await?;
    let stored = NewPayload { action: new.n, version: 1, payload, hash: Some(hash), by: &by.0 };
    content::put_payload(w, stored, now);
    content::put_people(w, new.n, &people);
    Ok(new)
}

/// What waited for the old action waits for the one that follows it.
async fn follow(w: &mut Write, old: &Action, new: &Action, by: &PersonId, now: Timestamp) -> Result<(), LedgerError> {
    let rows = sqlx::query(WAITING_FOR)
        .bind(old.n)
        .fetch_all(w.conn().await?)
        .await
        .map_err(|e| failed("looking for what waits", e))?;
    for row in rows {
        let n = row.int("n")?;
        if n == new.n {
            continue;
        }
        let waiting = Action::get(w.conn().await?, ActionId(n)).await?;
        let details = json!({ "after": new.id() });
        apply::touch(w, &waiting, "order_moved", |a| a.after = Some(new.n), details, &by.0, now).await?;
    }
    Ok(())
}
