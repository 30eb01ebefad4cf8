//! What a source hands in (interfaces.md, "Proposal").

use crate::address::{Mailbox, header_value, message_ids};
use crate::canonical::{ConversationHash, canonical, sha256, tagged_hash};
use crate::email::BODY_MAX;
use crate::fields::{Fields, at_most, expected, item, wrong};
use crate::json::{self, FieldError};
use crate::payload::{EFFECTS, Payload};
use crate::time::Timestamp;
use serde_json::Value;

/// What became of one action of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Disposition {
    Created,
    Duplicate,
    DraftReplaced,
    LateDraft,
    Stale,
    Conflict,
    NeedsReview,
    NotPermitted,
    NotTaken,
}

impl Disposition {
    pub const fn name(self) -> &'static str {
        match self {
            Disposition::Created => "created",
            Disposition::Duplicate => "duplicate",
            Disposition::DraftReplaced => "draft_replaced",
            Disposition::LateDraft => "late_draft",
            Disposition::Stale => "stale",
            Disposition::Conflict => "conflict",
            Disposition::NeedsReview => "needs_review",
            Disposition::NotPermitted => "not_permitted",
            Disposition::NotTaken => "not_taken",
        }
    }
}

/// The customer's message as the source told it. Kept whole, so that its hash can be signed.
#[derive(Clone, Debug, PartialEq)]
pub struct Conversation {
    /// As it came, checked.
    pub value: Value,
    pub from: Option<Mailbox>,
    /// Where the customer asked for the answer, if told and other than `from` (F33).
    pub reply_to: Vec<Mailbox>,
    /// The other people of the message, if told.
    pub to: Vec<Mailbox>,
    pub cc: Vec<Mailbox>,
    pub subject: Option<String>,
    pub received_at: Option<Timestamp>,
    /// The first well-formed id of what came, unfolded, with its angle brackets (F22).
    pub message_id: Option<String>,
    /// The parent's own parent, if exactly one was told.
    pub in_reply_to: Option<String>,
    pub references: Vec<String>,
    pub text: Option<String>,
    pub html: Option<String>,
    /// Headers of the message, if told: by them automatic mail is known (F41). A header that occurs more than once is here
    /// so often.
    pub headers: Vec<(String, String)>,
}

impl Conversation {
    /// Reads a stored or proposed conversation. Message ids may come as raw header bytes, folded: they are unfolded and
    /// taken where well formed, while `value` stays as it came. No other header value may hold a line break.
    ///
    /// # Errors
    /// The path below the conversation and the reason.
    pub fn parse(value: Value) -> Result<Conversation, FieldError> {
        let fields = Fields::of(&value, &CONVERSATION_FIELDS)?;
        let from = fields.get("from").map(Mailbox::read).transpose().map_err(|e| e.within("from"))?;
        let reply_to = Mailbox::read_list(&fields, "reply_to")?;
        let to = Mailbox::read_list(&fields, "to")?;
        let cc = Mailbox::read_list(&fields, "cc")?;
        let subject = fields.text("subject")?;
        if let Some(subject) = subject {
            header_value("subject", subject, SUBJECT_MAX)?;
        }
        let received_at =
            match fields.text("received_at")? {
                None => None,
                Some(text) => Some(text.parse::<Timestamp>().map_err(|_| {
                    wrong("received_at", "is not a time in RFC 3339 form, such as 2026-11-02T09:15:00Z")
                })?),
            };
        let message_id = ids(&fields, "message_id")?.into_iter().next();
        let parents = ids(&fields, "in_reply_to")?;
        let in_reply_to = if parents.len() == 1 { parents.into_iter().next() } else { None };
        let mut references = Vec::new();
        for (i, entry) in fields.list("references")?.iter().enumerate() {
            let path = item("references", i);
            let raw = entry.as_str().ok_or_else(|| expected(&path, "a string", entry))?;
            at_most(&path, raw, RAW_IDS_MAX)?;
            references.extend(message_ids(raw));
        }
        let text = body(&fields, "text")?;
        let html = body(&fields, "html")?;
        let subject = subject.map(str::to_owned);
        let headers = headers(&fields)?;
        Ok(Conversation {
            headers,
            from,
            reply_to,
            to,
            cc,
            subject,
            received_at,
            message_id,
            in_reply_to,
            references,
            text,
            html,
            value,
        })
    }

    /// Everybody the source named as part of the conversation.
    pub fn people(&self) -> impl Iterator<Item = &Mailbox> {
        self.from.iter().chain(&self.reply_to).chain(&self.to).chain(&self.cc)
    }

    pub fn hash(&self) -> ConversationHash {
        ConversationHash(tagged_hash("countersign/conversation/v1", &self.value))
    }
}

/// One action of a proposal.
#[derive(Clone, Debug, PartialEq)]
pub struct ProposedAction {
    pub step: String,
    /// The step of the same proposal that must be accepted first.
    pub after: Option<String>,
    pub effect: String,
    pub destination: String,
    pub payload: Payload,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct DraftMeta {
    pub run_id: Option<String>,
    pub model: Option<String>,
    pub reason: Option<String>,
}

/// A whole proposal, checked for form. Identities may be missing: that leads to needs review, not to a refusal.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    pub event_id: Option<String>,
    pub request_id: Option<String>,
    pub source_version: Option<u64>,
    pub conversation: Option<Conversation>,
    pub actions: Vec<ProposedAction>,
    pub draft: DraftMeta,
    /// SHA-256 over the canonical text of the whole document (64 hex digits): same event with other content is a conflict.
    pub content_hash: String,
}

impl Proposal {
    /// Parses and checks a document. It is taken whole or not at all.
    ///
    /// # Errors
    /// The path of the first field that is not as it must be (`actions[0].payload.to[1].email`), and the reason.
    pub fn parse(bytes: &[u8]) -> Result<Proposal, FieldError> {
        let document = json::parse(bytes)?;
        let content_hash = hex::encode(sha256(canonical(&document).as_bytes()));
        let fields = Fields::of(&document, &DOCUMENT_FIELDS)?;
        let event_id = identity(&fields, "event_id")?;
        let request_id = identity(&fields, "request_id")?;
        let source_version = match fields.get("source_version") {
            None => None,
            Some(value) => {
                Some(value.as_u64().ok_or_else(|| wrong("source_version", "is not an integer from 0 to 2^53 − 1"))?)
            }
        };
        let conversation = match fields.get("conversation") {
            None => None,
            Some(value) => Some(Conversation::parse(value.clone()).map_err(|e| e.within("conversation"))?),
        };
        let draft = match fields.get("draft") {
            None => DraftMeta::default(),
            Some(value) => DraftMeta::parse(value).map_err(|e| e.within("draft"))?,
        };
        fields.required("actions")?;
        let list = fields.list("actions")?;
        if list.is_empty() {
            return Err(wrong("actions", "has no action; at least one is needed"));
        }
        if list.len() > ACTIONS_MAX {
            return Err(wrong("actions", format!("at most {ACTIONS_MAX} actions are taken")));
        }
        let mut actions = Vec::with_capacity(list.len());
        for (i, value) in list.iter().enumerate() {
            actions.push(ProposedAction::parse(value).map_err(|e| e.within(&item("actions", i)))?);
        }
        check_steps(&actions)?;
        Ok(Proposal { event_id, request_id, source_version, conversation, actions, draft, content_hash })
    }
}

impl ProposedAction {
    fn parse(value: &Value) -> Result<ProposedAction, FieldError> {
        let fields = Fields::of(value, &["step", "after", "effect", "destination", "payload"])?;
        let step = name(&fields, "step")?;
        let after = if fields.get("after").is_some() { Some(name(&fields, "after")?) } else { None };
        let effect = name(&fields, "effect")?;
        if !Payload::knows(&effect) {
            return Err(wrong("effect", format!("is not an effect we know: {}", EFFECTS.join(", "))));
        }
        let destination = name(&fields, "destination")?;
        let payload =
            Payload::parse(&effect, fields.required("payload")?.clone(), &[]).map_err(|e| e.within("payload"))?;
        payload.due().map_err(|e| e.within("payload"))?;
        Ok(ProposedAction { step, after, effect, destination, payload })
    }
}

impl DraftMeta {
    fn parse(value: &Value) -> Result<DraftMeta, FieldError> {
        let fields = Fields::of(value, &["run_id", "model", "reason"])?;
        let text = |name: &str| -> Result<Option<String>, FieldError> {
            let Some(text) = fields.text(name)? else { return Ok(None) };
            at_most(name, text, REASON_MAX)?;
            Ok(Some(text.to_owned()))
        };
        Ok(DraftMeta { run_id: text("run_id")?, model: text("model")?, reason: text("reason")? })
    }
}

const DOCUMENT_FIELDS: [&str; 6] = ["event_id", "request_id", "source_version", "conversation", "actions", "draft"];
const CONVERSATION_FIELDS: [&str; 12] = [
    "from",
    "reply_to",
    "to",
    "cc",
    "subject",
    "received_at",
    "message_id",
    "in_reply_to",
    "references",
    "text",
    "html",
    "headers",
];
const ACTIONS_MAX: usize = 50;
/// Identities and names, in bytes.
const NAME_MAX: usize = 200;
const SUBJECT_MAX: usize = 2000;
const REASON_MAX: usize = 10_000;
/// Headers of the customer's message, and the bytes of one value.
const HEADERS_MAX: usize = 100;
const HEADER_MAX: usize = 10_000;
/// A header of ids as it came.
const RAW_IDS_MAX: usize = 64 << 10;

/// An identity of the source. Missing, null, empty and blank are all *missing* (R04); nothing is trimmed or repaired.
fn identity(fields: &Fields<'_>, name: &str) -> Result<Option<String>, FieldError> {
    let Some(text) = fields.text(name)? else { return Ok(None) };
    header_value(name, text, NAME_MAX)?;
    Ok((!text.trim().is_empty()).then(|| text.to_owned()))
}

fn name(fields: &Fields<'_>, field: &str) -> Result<String, FieldError> {
    let text = fields.filled_text(field)?;
    header_value(field, text, NAME_MAX)?;
    Ok(text.to_owned())
}

/// The ids in one raw header value.
fn ids(fields: &Fields<'_>, name: &str) -> Result<Vec<String>, FieldError> {
    let Some(raw) = fields.text(name)? else { return Ok(Vec::new()) };
    at_most(name, raw, RAW_IDS_MAX)?;
    Ok(message_ids(raw))
}

/// `{"Auto-Submitted": "auto-replied", "List-Id": ["…", "…"]}`; values as they came, unfolded.
fn headers(fields: &Fields<'_>) -> Result<Vec<(String, String)>, FieldError> {
    let Some(value) = fields.get("headers") else { return Ok(Vec::new()) };
    let map = value.as_object().ok_or_else(|| expected("headers", "an object", value))?;
    let mut all = Vec::new();
    for (name, value) in map {
        let path = format!("headers.{name}");
        let is_name =
            !name.is_empty() && name.len() <= NAME_MAX && name.bytes().all(|b| b.is_ascii_graphic() && b != b':');
        if !is_name {
            return Err(wrong("headers", "has a name that no header has"));
        }
        let values = match value {
            Value::Array(values) => values.as_slice(),
            one => std::slice::from_ref(one),
        };
        for value in values {
            let text = value.as_str().ok_or_else(|| expected(&path, "a string or a list of strings", value))?;
            header_value(&path, text, HEADER_MAX)?;
            all.push((name.clone(), text.to_owned()));
        }
    }
    if all.len() > HEADERS_MAX {
        return Err(wrong("headers", format!("at most {HEADERS_MAX} headers are taken")));
    }
    Ok(all)
}

fn body(fields: &Fields<'_>, name: &str) -> Result<Option<String>, FieldError> {
    let Some(text) = fields.text(name)? else { return Ok(None) };
    at_most(name, text, BODY_MAX)?;
    Ok(Some(text.to_owned()))
}

/// Steps are named once; `after` names another step of the same document and never leads in a circle.
fn check_steps(actions: &[ProposedAction]) -> Result<(), FieldError> {
    let position = |step: &str| actions.iter().position(|a| a.step == step);
    for (i, action) in actions.iter().enumerate() {
        let path = item("actions", i);
        if position(&action.step) != Some(i) {
            return Err(wrong("step", "occurs twice in this document").within(&path));
        }
        if action.after.as_deref().is_some_and(|step| position(step).is_none()) {
            return Err(wrong("after", "names a step that this document does not have").within(&path));
        }
    }
    for (i, action) in actions.iter().enumerate() {
        let path = item("actions", i);
        let mut waits_for = action.after.as_deref();
        for _ in 0..=actions.len() {
            waits_for = waits_for.and_then(position).and_then(|next| actions[next].after.as_deref());
        }
        if waits_for.is_some() {
            return Err(wrong("after", "leads in a circle: these steps wait for each other").within(&path));
        }
    }
    Ok(())
}
