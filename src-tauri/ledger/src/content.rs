//! What an action carries: payloads, attachments, conversations, wires. Stored once, hashed again at every reading.

use crate::rows::{Action, Get, hex};
use crate::script::{Answer, Said, say};
use crate::tx::{Conn, Write, failed, statements};
use crate::types::PayloadVersion;
use crate::{Conflict, LedgerError, directory};
use countersign_domain::canonical::{canonical, sha256};
use countersign_domain::{
    AccountFingerprint, ActionId, Attachment, Conversation, ConversationHash, Mailbox, Payload, PayloadHash, Sealed,
    Timestamp, Wire, WireHash, json,
};
use serde_json::Value;
use sqlx::any::AnyRow;

statements! {
    PUT_PAYLOAD = "INSERT INTO payloads (action, version, value, hash, content, by_whom, at) \
        VALUES ($1, $2, $3, $4, $5, $6, $7)";
    PAYLOAD = "SELECT version, value, hash, content, by_whom, at FROM payloads WHERE action = $1 AND version = $2";
    PAYLOADS = "SELECT version, value, hash, content, by_whom, at FROM payloads WHERE action = $1 ORDER BY version";
    // A digest whose bytes were purged gets them back when the same file comes again.
    PUT_ATTACHMENT = "INSERT INTO attachments (sha256, size, bytes) VALUES ($1, $2, $3) \
        ON CONFLICT (sha256) DO UPDATE SET bytes = excluded.bytes WHERE attachments.bytes IS NULL";
    NAME_ATTACHMENT = "INSERT INTO payload_attachments (action, version, sha256) VALUES ($1, $2, $3) \
        ON CONFLICT DO NOTHING";
    ATTACHMENT = "SELECT bytes FROM attachments WHERE sha256 = $1";
    PUT_CONVERSATION = "INSERT INTO conversations (hash, value) VALUES ($1, $2) \
        ON CONFLICT (hash) DO UPDATE SET value = excluded.value WHERE conversations.value IS NULL";
    CONVERSATION = "SELECT value FROM conversations WHERE hash = $1";
    PUT_WIRE = "INSERT INTO wires (action, hash, bytes, at) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";
    WIRE = "SELECT bytes FROM wires WHERE action = $1 AND hash = $2";
    PUT_PERSON_OF_ACTION = "INSERT INTO action_people (action, email) VALUES ($1, $2) ON CONFLICT DO NOTHING";
    DROP_PEOPLE_OF_ACTION = "DELETE FROM action_people WHERE action = $1";
    KNOW_PEOPLE_OF = "INSERT INTO known_people (environment, email, times) \
        SELECT CAST($2 AS TEXT), email, 1 FROM action_people WHERE action = $1 \
        ON CONFLICT (environment, email) DO UPDATE SET times = known_people.times + excluded.times";
    KNOW_PERSON = "INSERT INTO known_people (environment, email, times) VALUES ($1, $2, $3) \
        ON CONFLICT (environment, email) DO UPDATE SET times = known_people.times + excluded.times";
}

/// Hash of a payload's content alone, to recognise the same draft under whatever key.
pub(crate) fn content_hash(payload: &Payload) -> String {
    hex(&sha256(canonical(payload.value()).as_bytes()))
}

/// What a list and a search show of a payload, and what relates actions to each other.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Face {
    pub who: String,
    pub email: String,
    pub subject: String,
    pub thread: Option<String>,
    /// Everybody it goes to, each once, in the form in which addresses are compared ([`Mailbox::folded`]).
    pub people: Vec<String>,
    pub record_key: Option<String>,
}

pub(crate) fn face(account: Option<&AccountFingerprint>, payload: &Payload) -> Face {
    let value = payload.value();
    if let Some(email) = payload.email() {
        let mut people: Vec<String> = email.to.iter().chain(&email.cc).chain(&email.bcc).map(Mailbox::folded).collect();
        people.sort();
        people.dedup();
        let first = email.to.first();
        return Face {
            who: first.map(|m| m.name.clone().unwrap_or_else(|| m.email.clone())).unwrap_or_default(),
            email: first.map(|m| m.email.clone()).unwrap_or_default(),
            subject: email.subject.clone(),
            thread: email.in_reply_to.clone(),
            people,
            record_key: None,
        };
    }
    let text = |v: Option<&Value>| v.and_then(Value::as_str).unwrap_or("").to_owned();
    let matched = value.get("match").or_else(|| value.get("record").and_then(|r| r.get("match")));
    let email =
        text(matched.and_then(|m| m.get("email")).or_else(|| value.get("requester").and_then(|r| r.get("email"))));
    Face {
        who: email.clone(),
        people: if email.is_empty() { Vec::new() } else { vec![folded(&email)] },
        email,
        subject: ["subject", "title"].iter().map(|k| text(value.get(*k))).find(|t| !t.is_empty()).unwrap_or_default(),
        thread: None,
        // CRM and ticket effects name one record: two of them on the same one never run at once.
        record_key: account.and_then(|account| payload.record().map(|r| r.key(account))),
    }
}

/// An address in the form in which addresses are compared: two spellings of one mailbox are one.
fn folded(email: &str) -> String {
    Mailbox { name: None, email: email.to_owned() }.folded()
}

/// [`face`], for whoever knows the destination's name only.
pub(crate) async fn face_at(conn: &mut Conn, destination: &str, payload: &Payload) -> Result<Face, LedgerError> {
    let account = directory::destination(conn, destination).await?.map(|d| d.account);
    Ok(face(account.as_ref(), payload))
}

impl Face {
    pub(crate) fn put_on(self, action: &mut Action) {
        action.who = self.who;
        action.email = self.email;
        action.subject = self.subject;
        action.thread = self.thread;
        action.record_key = self.record_key;
    }
}

/// A stored payload version as it stands in its row.
#[derive(Clone, Debug)]
pub(crate) struct StoredPayload {
    pub version: u32,
    pub value: Option<String>,
    pub hash: Option<PayloadHash>,
    pub content: String,
    pub by: String,
    pub at: Timestamp,
}

impl StoredPayload {
    fn read(row: &AnyRow) -> Result<StoredPayload, LedgerError> {
        Ok(StoredPayload {
            version: row.num("version")?,
            value: row.text_or_null("value")?,
            hash: row.parsed_or_null("hash")?,
            content: row.text("content")?,
            by: row.text("by_whom")?,
            at: row.time("at")?,
        })
    }
}

pub(crate) struct NewPayload<'a> {
    pub action: i64,
    pub version: u32,
    pub payload: &'a Payload,
    pub hash: Option<PayloadHash>,
    pub by: &'a str,
}

pub(crate) fn put_payload(w: &mut Write, new: NewPayload<'_>, now: Timestamp) {
    let doing = "storing an attachment";
    for attachment in new.payload.attachments() {
        let size = attachment.bytes.len() as i64;
        w.later(say!(doing, PUT_ATTACHMENT, &attachment.sha256, size, attachment.bytes.to_vec()));
    }
    w.later(say!(
        "storing a payload",
        PUT_PAYLOAD,
        new.action,
        new.version,
        canonical(new.payload.value()),
        new.hash.map(|h| h.to_string()),
        content_hash(new.payload),
        new.by,
        now.millis(),
    ));
    for attachment in new.payload.attachments() {
        w.later(say!(doing, NAME_ATTACHMENT, new.action, new.version, &attachment.sha256));
    }
}

/// Replaces the people an action goes to.
pub(crate) fn change_people(w: &mut Write, action: i64, people: &[String]) {
    w.later(say!("storing whom an action goes to", DROP_PEOPLE_OF_ACTION, action));
    put_people(w, action, people);
}

/// The people a new action goes to.
pub(crate) fn put_people(w: &mut Write, action: i64, people: &[String]) {
    for email in people {
        w.later(say!("storing whom an action goes to", PUT_PERSON_OF_ACTION, action, email));
    }
}

pub(crate) fn know(w: &mut Write, environment: &str, email: &str, times: i64) {
    w.later(say!("remembering a person", KNOW_PERSON, environment, folded(email), times));
}

/// Everybody an accepted action went to is known from now on.
pub(crate) fn know_people_of(w: &mut Write, action: &Action) {
    w.later(say!("remembering whom an action went to", KNOW_PEOPLE_OF, action.n, &action.environment));
}

pub(crate) fn read_payloads(answer: &Answer) -> Result<Vec<StoredPayload>, LedgerError> {
    answer.rows.iter().map(StoredPayload::read).collect()
}

pub(crate) async fn payload(conn: &mut Conn, action: i64, version: u32) -> Result<StoredPayload, LedgerError> {
    let row = sqlx::query(PAYLOAD)
        .bind(action)
        .bind(i64::from(version))
        .fetch_optional(conn)
        .await
        .map_err(|e| failed("reading a payload", e))?;
    let row = row.ok_or_else(|| {
        LedgerError::corrupt("payload", format!("{} version {version}", ActionId(action)), "its row is missing")
    })?;
    StoredPayload::read(&row)
}

/// The digests of a payload's attachments, wherever they stand in it.
pub(crate) fn digests(value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![value];
    while let Some(v) = open.pop() {
        match v {
            Value::Object(map) => {
                if let (Some(Value::String(digest)), Some(_)) = (map.get("sha256"), map.get("size")) {
                    found.push(digest.clone());
                }
                open.extend(map.values());
            }
            Value::Array(items) => open.extend(items),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    found
}

/// Whether these are the bytes of an attachment's digest.
pub(crate) fn has_digest(bytes: &[u8], digest: &str) -> bool {
    hex(&sha256(bytes)) == digest
}

/// An attachment's bytes, hashed again. None once purged, or where it was never stored.
pub(crate) async fn attachment(conn: &mut Conn, digest: &str) -> Result<Option<Attachment>, LedgerError> {
    let row = sqlx::query(ATTACHMENT)
        .bind(digest.to_owned())
        .fetch_optional(conn)
        .await
        .map_err(|e| failed("reading an attachment", e))?;
    row.map_or(Ok(None), |row| read_attachment(&row, digest))
}

fn read_attachment(row: &AnyRow, digest: &str) -> Result<Option<Attachment>, LedgerError> {
    let Some(bytes) = row.bytes_or_null("bytes")? else { return Ok(None) };
    let attachment = Attachment::new(bytes);
    if attachment.sha256 != digest {
        return Err(LedgerError::corrupt(
            "attachment",
            &digest[..digest.len().min(8)],
            "its bytes have another digest",
        ));
    }
    Ok(Some(attachment))
}

/// The stored payload as a value, read as strictly as at intake and bound to its attachments' bytes. `there`: rows of
/// attachments that were read already.
pub(crate) async fn open_payload(
    conn: &mut Conn,
    action: i64,
    effect: &str,
    stored: &StoredPayload,
    there: &Answer,
) -> Result<Payload, LedgerError> {
    let id = || format!("{} version {}", ActionId(action), stored.version);
    let text = stored.value.as_ref().ok_or(Conflict::Purged)?;
    if hex(&sha256(text.as_bytes())) != stored.content {
        return Err(LedgerError::corrupt("payload", id(), "its text has another hash than was stored with it"));
    }
    let value = json::parse(text.as_bytes())
        .map_err(|e| LedgerError::corrupt("payload", id(), format!("it cannot be read: {}", e.reason)))?;
    let mut known = Vec::new();
    for digest in digests(&value) {
        let row = there.rows.iter().find(|row| row.text("sha256").is_ok_and(|text| text == digest));
        known.extend(match row {
            Some(row) => read_attachment(row, &digest)?,
            None => attachment(conn, &digest).await?,
        });
    }
    let payload = Payload::parse(effect, value, &known)
        .map_err(|e| LedgerError::corrupt("payload", id(), format!("{}: {}", e.field, e.reason)))?;
    if canonical(payload.value()) != *text {
        return Err(LedgerError::corrupt("payload", id(), "it reads differently from what was stored"));
    }
    Ok(payload)
}

/// The current payload sealed again: its hash is computed, and must be the stored one.
pub(crate) async fn sealed(conn: &mut Conn, action: &Action) -> Result<Sealed, LedgerError> {
    let stored = payload(conn, action.n, action.payload_version).await?;
    seal(conn, action, &stored, &Answer::default()).await
}

/// The same of the row that was read already.
pub(crate) async fn seal(
    conn: &mut Conn,
    action: &Action,
    stored: &StoredPayload,
    there: &Answer,
) -> Result<Sealed, LedgerError> {
    let key = action.need_key()?.clone();
    let payload = open_payload(conn, action.n, &action.effect, stored, there).await?;
    let sealed = Sealed::seal(key, stored.version, payload);
    if Some(sealed.hash()) != stored.hash || Some(sealed.hash()) != action.payload_hash {
        let id = format!("{} version {}", action.id(), stored.version);
        return Err(LedgerError::corrupt("payload", id, "its hash is not the stored one"));
    }
    Ok(sealed)
}

/// The same from payloads that were read and opened already.
pub(crate) fn sealed_of(action: &Action, versions: &[PayloadVersion]) -> Result<Sealed, LedgerError> {
    let id = || format!("{} version {}", action.id(), action.payload_version);
    let current = versions
        .iter()
        .find(|v| v.version == action.payload_version)
        .ok_or_else(|| LedgerError::corrupt("payload", id(), "its row is missing"))?;
    let payload = current.payload.clone().ok_or(Conflict::Purged)?;
    let sealed = Sealed::seal(action.need_key()?.clone(), current.version, payload);
    match Some(sealed.hash()) == current.hash && Some(sealed.hash()) == action.payload_hash {
        true => Ok(sealed),
        false => Err(LedgerError::corrupt("payload", id(), "its hash is not the stored one")),
    }
}

pub(crate) fn put_conversation(w: &mut Write, conversation: &Conversation) -> ConversationHash {
    let hash = conversation.hash();
    let text = canonical(&conversation.value);
    w.later(say!("storing a conversation", PUT_CONVERSATION, hash.to_string(), text));
    hash
}

/// The conversation behind an action, hashed again. None where there is none or it was purged.
pub(crate) async fn conversation(conn: &mut Conn, action: &Action) -> Result<Option<Conversation>, LedgerError> {
    match action.conversation {
        Some(hash) => conversation_at(conn, action.id(), hash).await,
        None => Ok(None),
    }
}

/// The same under a hash that an action's journal names.
pub(crate) async fn conversation_at(
    conn: &mut Conn,
    action: ActionId,
    hash: ConversationHash,
) -> Result<Option<Conversation>, LedgerError> {
    let row = sqlx::query(CONVERSATION)
        .bind(hash.to_string())
        .fetch_optional(conn)
        .await
        .map_err(|e| failed("reading a conversation", e))?;
    read_conversation(action, hash, row.as_ref())
}

/// The same from its row.
pub(crate) fn read_conversation(
    action: ActionId,
    hash: ConversationHash,
    row: Option<&AnyRow>,
) -> Result<Option<Conversation>, LedgerError> {
    let broken = |why: &str| LedgerError::corrupt("conversation", action, why);
    let row = row.ok_or_else(|| broken("its row is missing"))?;
    let Some(text) = row.text_or_null("value")? else { return Ok(None) };
    let value = json::parse(text.as_bytes()).map_err(|_| broken("it cannot be read"))?;
    let conversation = Conversation::parse(value).map_err(|_| broken("it cannot be read"))?;
    if conversation.hash() != hash || canonical(&conversation.value) != text {
        return Err(broken("its hash is not the stored one"));
    }
    Ok(Some(conversation))
}

pub(crate) fn put_wire(action: i64, wire: &Wire, now: Timestamp) -> Said {
    say!("storing a wire", PUT_WIRE, action, wire.hash().to_string(), wire.bytes().to_vec(), now.millis())
}

/// The wire under `hash`, hashed again.
pub(crate) async fn wire(conn: &mut Conn, action: ActionId, hash: WireHash) -> Result<Wire, LedgerError> {
    let row = sqlx::query(WIRE)
        .bind(action.0)
        .bind(hash.to_string())
        .fetch_optional(conn)
        .await
        .map_err(|e| failed("reading a wire", e))?;
    read_wire(action, hash, row.as_ref())
}

/// The same from its row.
pub(crate) fn read_wire(action: ActionId, hash: WireHash, row: Option<&AnyRow>) -> Result<Wire, LedgerError> {
    let row = row.ok_or_else(|| LedgerError::corrupt("wire", action, "its row is missing"))?;
    let wire = Wire::new(row.bytes_or_null("bytes")?.ok_or(Conflict::Purged)?);
    if wire.hash() != hash {
        return Err(LedgerError::corrupt("wire", action, "its bytes have another hash"));
    }
    Ok(wire)
}
