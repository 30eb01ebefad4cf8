//! The payloads that change records: CRM, tickets, webhook. Checked for their fields and kinds; what a field means is the
//! destination's business.

use crate::address::{Mailbox, check_address, header_value};
use crate::canonical::{AccountFingerprint, tagged_hash};
use crate::email::BODY_MAX;
use crate::fields::{Fields, at_most, expected, wrong};
use crate::json::FieldError;
use crate::time::Timestamp;
use serde_json::{Value, json};

const SUBJECT_MAX: usize = 2000;
const WORD_MAX: usize = 500;
const FIELDS_MAX: usize = 500;

/// How a payload names the record it touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchBy {
    Email,
    Id,
    ExternalId,
}

/// The record at the destination that an action touches: `contact` by `robin@customer.example`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordRef {
    /// `contact`, `company`, `deal`, `ticket` …, lower case.
    pub kind: String,
    pub by: MatchBy,
    /// An email in lower case; an id or external id as a text, whether it came as a string or as a number.
    pub value: String,
}

impl RecordRef {
    /// Two actions with equal keys touch one record of one account. 51 characters: digest of account and kind, how it is
    /// matched, digest of the value; so no address outlives a purge, and the parts can be compared by place (the ledger's
    /// claim does).
    pub fn key(&self, account: &AccountFingerprint) -> String {
        let digest = |value: Value| hex::encode(tagged_hash("countersign/record/v1", &value));
        let group = digest(json!([account.to_string(), self.kind]));
        let by = match self.by {
            MatchBy::Email => 'e',
            MatchBy::Id => 'i',
            MatchBy::ExternalId => 'x',
        };
        format!("{}:{by}:{}", &group[..16], &digest(json!(self.value))[..32])
    }
}

/// The record that a checked payload names, if its effect touches one.
pub(crate) fn record_of(effect: &str, value: &Value) -> Option<RecordRef> {
    let (kind, matched) = match effect {
        "crm.contact.upsert" => ("contact", value.get("match")?),
        "ticket.reply" => ("ticket", value.get("ticket")?),
        _ => {
            let record = value.get("record")?;
            (record.get("type")?.as_str()?, record.get("match")?)
        }
    };
    let names = [("email", MatchBy::Email), ("id", MatchBy::Id), ("external_id", MatchBy::ExternalId)];
    let (by, found) = names.into_iter().find_map(|(name, by)| Some((by, matched.get(name)?)))?;
    let text = match found {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let value = if by == MatchBy::Email { text.to_lowercase() } else { text };
    Some(RecordRef { kind: kind.to_lowercase(), by, value })
}

/// Checks the value of an effect other than email.
pub(crate) fn check(effect: &str, value: &Value) -> Result<(), FieldError> {
    match effect {
        "crm.contact.upsert" => contact_upsert(value),
        "crm.note" => note(value),
        "crm.task" => task(value),
        "crm.deal.update" => deal_update(value),
        "crm.email.log" => email_log(value),
        "ticket.reply" => ticket_reply(value),
        "ticket.create" => ticket_create(value),
        "webhook.post" => webhook(value),
        _ => Err(wrong("effect", format!("`{effect}` is not an effect we know"))),
    }
}

fn contact_upsert(value: &Value) -> Result<(), FieldError> {
    let fields = Fields::of(value, &["match", "fields", "mode"])?;
    matcher(fields.required("match")?).map_err(|e| e.within("match"))?;
    values("fields", fields.required("fields")?)?;
    match fields.required_text("mode")? {
        "create_only" | "update_only" | "upsert" => Ok(()),
        _ => Err(wrong("mode", "is not one of create_only, update_only, upsert")),
    }
}

fn note(value: &Value) -> Result<(), FieldError> {
    let fields = Fields::of(value, &["record", "text", "html"])?;
    record(fields.required("record")?)?;
    long_text("text", fields.required_text("text")?)?;
    optional_text(&fields, "html")
}

fn task(value: &Value) -> Result<(), FieldError> {
    let fields = Fields::of(value, &["record", "title", "text", "due_at", "assignee"])?;
    fields.get("record").map_or(Ok(()), record)?;
    header_value("title", fields.filled_text("title")?, SUBJECT_MAX)?;
    optional_text(&fields, "text")?;
    if let Some(due) = fields.text("due_at")? {
        let day = |text: &str| text.len() == 10 && format!("{text}T00:00:00Z").parse::<Timestamp>().is_ok();
        if due.parse::<Timestamp>().is_err() && !day(due) {
            return Err(wrong("due_at", "is neither a time in RFC 3339 form nor a day such as 2026-11-02"));
        }
    }
    if let Some(assignee) = fields.text("assignee")? {
        header_value("assignee", assignee, WORD_MAX)?;
    }
    Ok(())
}

fn deal_update(value: &Value) -> Result<(), FieldError> {
    let fields = Fields::of(value, &["record", "fields", "expected", "expected_version"])?;
    record(fields.required("record")?)?;
    let changed = fields.required("fields")?;
    values("fields", changed)?;
    if changed.as_object().is_some_and(serde_json::Map::is_empty) {
        return Err(wrong("fields", "has no field to change"));
    }
    if let Some(seen) = fields.get("expected") {
        values("expected", seen)?;
    }
    version(&fields)
}

fn email_log(value: &Value) -> Result<(), FieldError> {
    let fields = Fields::of(value, &["record", "subject", "text", "of_step"])?;
    record(fields.required("record")?)?;
    header_value("subject", fields.required_text("subject")?, SUBJECT_MAX)?;
    long_text("text", fields.required_text("text")?)?;
    if let Some(step) = fields.text("of_step")? {
        header_value("of_step", step, WORD_MAX)?;
    }
    Ok(())
}

fn ticket_reply(value: &Value) -> Result<(), FieldError> {
    let fields = Fields::of(value, &["ticket", "text", "html", "public", "status", "expected_version"])?;
    let ticket = fields.required("ticket")?;
    let of_ticket = Fields::of(ticket, &["id"]).map_err(|e| e.within("ticket"))?;
    word_or_number("id", of_ticket.required("id").map_err(|e| e.within("ticket"))?).map_err(|e| e.within("ticket"))?;
    long_text("text", fields.required_text("text")?)?;
    optional_text(&fields, "html")?;
    let public = fields.required("public")?;
    if !public.is_boolean() {
        return Err(expected("public", "true or false", public));
    }
    if let Some(status) = fields.text("status")? {
        header_value("status", status, WORD_MAX)?;
    }
    version(&fields)
}

fn ticket_create(value: &Value) -> Result<(), FieldError> {
    let fields = Fields::of(value, &["requester", "subject", "text"])?;
    Mailbox::read(fields.required("requester")?).map_err(|e| e.within("requester"))?;
    header_value("subject", fields.filled_text("subject")?, SUBJECT_MAX)?;
    long_text("text", fields.required_text("text")?)
}

fn webhook(value: &Value) -> Result<(), FieldError> {
    let fields = Fields::of(value, &["body"])?;
    let body = fields.required("body")?;
    if body.is_object() { Ok(()) } else { Err(expected("body", "an object", body)) }
}

/// `{type, match}`.
fn record(value: &Value) -> Result<(), FieldError> {
    let inner = || {
        let fields = Fields::of(value, &["type", "match"])?;
        header_value("type", fields.filled_text("type")?, WORD_MAX)?;
        matcher(fields.required("match")?).map_err(|e| e.within("match"))
    };
    inner().map_err(|e| e.within("record"))
}

/// Exactly one of `email`, `id`, `external_id`: two could point to two records.
fn matcher(value: &Value) -> Result<(), FieldError> {
    let fields = Fields::of(value, &["email", "id", "external_id"])?;
    let given = ["email", "id", "external_id"].into_iter().filter(|name| fields.has(name)).count();
    if given != 1 {
        return Err(wrong("", "exactly one of email, id, external_id is expected"));
    }
    if fields.has("email") {
        let email = fields.required_text("email")?;
        return check_address(email).map_err(|e| wrong("email", e.0));
    }
    let name = if fields.has("id") { "id" } else { "external_id" };
    word_or_number(name, fields.required(name)?)
}

/// An object of field names with plain values. Null, empty texts, 0 and false are deliberate and kept (F14).
fn values(name: &str, value: &Value) -> Result<(), FieldError> {
    let object = value.as_object().ok_or_else(|| expected(name, "an object", value))?;
    if object.len() > FIELDS_MAX {
        return Err(wrong(name, format!("at most {FIELDS_MAX} fields are taken")));
    }
    for (field, value) in object {
        let path = format!("{name}.{field}");
        match value {
            Value::Null | Value::Bool(_) => {}
            Value::Number(n) if n.is_i64() || n.is_u64() => {}
            Value::Number(_) => return Err(wrong(&path, "is not an integer; send it as a string")),
            Value::String(text) => long_text(&path, text)?,
            Value::Array(_) | Value::Object(_) => {
                return Err(expected(&path, "a string, a number, true, false or null", value));
            }
        }
    }
    Ok(())
}

fn version(fields: &Fields<'_>) -> Result<(), FieldError> {
    fields.get("expected_version").map_or(Ok(()), |v| word_or_number("expected_version", v))
}

fn word_or_number(name: &str, value: &Value) -> Result<(), FieldError> {
    match value {
        Value::String(text) if text.trim().is_empty() => Err(wrong(name, "is empty")),
        Value::String(text) => header_value(name, text, WORD_MAX),
        Value::Number(n) if n.is_i64() || n.is_u64() => Ok(()),
        other => Err(expected(name, "a string or an integer", other)),
    }
}

fn optional_text(fields: &Fields<'_>, name: &str) -> Result<(), FieldError> {
    fields.text(name)?.map_or(Ok(()), |text| long_text(name, text))
}

fn long_text(name: &str, text: &str) -> Result<(), FieldError> {
    at_most(name, text, BODY_MAX)?;
    if text.contains('\0') { Err(wrong(name, "contains a NUL character; remove it")) } else { Ok(()) }
}
