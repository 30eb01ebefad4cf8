//! The email payloads: checked header values, attachments bound by digest, and what makes a reply land in its thread.

use crate::address::{header_value, message_id, message_id_list};
use crate::fields::{Fields, at_most, item, wrong};
use crate::json::FieldError;
use crate::payload::Attachment;
use crate::proposal::Conversation;
use crate::send_at::SendAt;
use crate::size::size_in_words;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

pub use crate::address::Mailbox;

pub const SEND: &str = "email.send";
pub const REPLY: &str = "email.reply";

/// Recipients of all kinds together.
pub const RECIPIENTS_MAX: usize = 100;
const SUBJECT_MAX: usize = 2000;
const FILENAME_MAX: usize = 255;
const CONTENT_TYPE_MAX: usize = 255;
const REFERENCES_MAX: usize = 200;
const ATTACHMENTS_MAX: usize = 50;
/// A text or HTML body, in bytes.
pub const BODY_MAX: usize = 2 << 20;
/// All attachments together, decoded, in bytes. Base64 makes them a third larger; 35 MiB is the largest document.
pub const ATTACHED_MAX: usize = 25 << 20;

const SEND_FIELDS: [&str; 10] =
    ["from", "to", "cc", "bcc", "reply_to", "subject", "text", "html", "attachments", "send_at"];
const REPLY_FIELDS: [&str; 12] = [
    "from",
    "to",
    "cc",
    "bcc",
    "reply_to",
    "subject",
    "text",
    "html",
    "attachments",
    "send_at",
    "in_reply_to",
    "references",
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmailAttachment {
    pub filename: String,
    pub content_type: String,
    pub content: Attachment,
}

/// `email.send` and `email.reply`, read from the checked value.
#[derive(Clone, Debug, PartialEq)]
pub struct EmailView {
    pub from: Mailbox,
    pub to: Vec<Mailbox>,
    pub cc: Vec<Mailbox>,
    pub bcc: Vec<Mailbox>,
    pub reply_to: Vec<Mailbox>,
    pub subject: String,
    pub text: Option<String>,
    pub html: Option<String>,
    /// `email.reply` only; None where the payload says null: the parent has no message id, and none is written.
    pub in_reply_to: Option<String>,
    /// None: built at rendering, see [`threading`].
    pub references: Option<Vec<String>>,
    pub attachments: Vec<EmailAttachment>,
    /// Not before then. Part of what is approved, and of no message.
    pub send_at: Option<SendAt>,
}

impl EmailView {
    /// To, Cc and Bcc in this order, each with the path of its entry in the payload.
    pub fn recipients(&self) -> impl Iterator<Item = (String, &Mailbox)> {
        let path = |name: &'static str| move |(i, m)| (item(name, i), m);
        let to = self.to.iter().enumerate().map(path("to"));
        let cc = self.cc.iter().enumerate().map(path("cc"));
        let bcc = self.bcc.iter().enumerate().map(path("bcc"));
        to.chain(cc).chain(bcc)
    }
}

/// Whether this module knows the effect.
pub(crate) fn is_email(effect: &str) -> bool {
    effect == SEND || effect == REPLY
}

/// Checks the value of an email effect and replaces each attachment's bytes by their digest and size.
pub(crate) fn check(
    effect: &str,
    mut value: Value,
    known: &[Attachment],
) -> Result<(Value, Vec<Attachment>), FieldError> {
    let attached = take_attachments(&mut value, known)?;
    read(effect, &value, &attached)?;
    Ok((value, attached))
}

/// The typed reading of a checked value; None for another effect.
pub fn view(effect: &str, value: &Value, attachments: &[Attachment]) -> Option<EmailView> {
    is_email(effect).then(|| read(effect, value, attachments).ok()).flatten()
}

fn read(effect: &str, value: &Value, attached: &[Attachment]) -> Result<EmailView, FieldError> {
    let is_reply = effect == REPLY;
    let fields = Fields::of(value, if is_reply { &REPLY_FIELDS } else { &SEND_FIELDS })?;

    let from = Mailbox::read(fields.required("from")?).map_err(|e| e.within("from"))?;
    fields.required("to")?;
    let to = Mailbox::read_list(&fields, "to")?;
    if to.is_empty() {
        return Err(wrong("to", "has no recipient; at least one is needed"));
    }
    let cc = Mailbox::read_list(&fields, "cc")?;
    let bcc = Mailbox::read_list(&fields, "bcc")?;
    let all = to.len() + cc.len() + bcc.len();
    if all > RECIPIENTS_MAX {
        return Err(wrong(
            "to",
            format!("with cc and bcc there are {all} recipients; at most {RECIPIENTS_MAX} are taken"),
        ));
    }
    let reply_to = Mailbox::read_list(&fields, "reply_to")?;
    if reply_to.len() > RECIPIENTS_MAX {
        return Err(wrong("reply_to", format!("at most {RECIPIENTS_MAX} addresses are taken")));
    }

    let subject = fields.required_text("subject")?;
    header_value("subject", subject, SUBJECT_MAX)?;
    let text = body(&fields, "text")?;
    let html = body(&fields, "html")?;
    if text.is_none() && html.is_none() {
        return Err(wrong("text", "neither text nor html is there; one of them is needed"));
    }

    let (mut in_reply_to, mut references) = (None, None);
    if is_reply {
        if !fields.has("in_reply_to") {
            return Err(wrong("in_reply_to", "is missing; null where the message answered has no message id"));
        }
        in_reply_to = fields.text("in_reply_to")?.map(str::to_owned);
        if let Some(id) = &in_reply_to {
            message_id("in_reply_to", id)?;
        }
        if fields.get("references").is_some() {
            let ids = message_id_list(&fields, "references")?;
            if ids.len() > REFERENCES_MAX {
                return Err(wrong("references", format!("at most {REFERENCES_MAX} ids are taken")));
            }
            references = Some(ids);
        }
    }

    let mut attachments = Vec::new();
    for (i, value) in fields.list("attachments")?.iter().enumerate() {
        let read = read_attachment(value, attached.get(i)).map_err(|e| e.within(&item("attachments", i)))?;
        attachments.push(read);
    }
    let send_at = fields.get("send_at").map(SendAt::read).transpose().map_err(|e| e.within("send_at"))?;
    Ok(EmailView {
        send_at,
        from,
        to,
        cc,
        bcc,
        reply_to,
        subject: subject.to_owned(),
        text,
        html,
        in_reply_to,
        references,
        attachments,
    })
}

fn body(fields: &Fields<'_>, name: &str) -> Result<Option<String>, FieldError> {
    let Some(text) = fields.text(name)? else { return Ok(None) };
    at_most(name, text, BODY_MAX)?;
    if text.contains('\0') {
        return Err(wrong(name, "contains a NUL character; remove it"));
    }
    Ok(Some(text.to_owned()))
}

fn read_attachment(value: &Value, content: Option<&Attachment>) -> Result<EmailAttachment, FieldError> {
    let fields = Fields::of(value, &["filename", "content_type", "sha256", "size"])?;
    let filename = fields.filled_text("filename")?;
    header_value("filename", filename, FILENAME_MAX)?;
    if filename.contains(['/', '\\']) {
        return Err(wrong("filename", "contains a path; a name alone is expected"));
    }
    let content_type = fields.required_text("content_type")?;
    header_value("content_type", content_type, CONTENT_TYPE_MAX)?;
    check_content_type(content_type)?;
    let content = content.cloned().ok_or_else(|| wrong("sha256", "names a file that this action does not have"))?;
    Ok(EmailAttachment { filename: filename.to_owned(), content_type: content_type.to_owned(), content })
}

/// `type/subtype` with optional parameters. Types that are themselves made of messages cannot travel as base64.
fn check_content_type(text: &str) -> Result<(), FieldError> {
    let is_token =
        |t: &str| !t.is_empty() && t.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`{|}~".contains(&b));
    let mut parts = text.split(';');
    let kind = parts.next().unwrap_or_default().trim();
    let named = kind.split_once('/').filter(|(main, sub)| is_token(main) && is_token(sub));
    let Some((main, _)) = named else {
        return Err(wrong("content_type", "is not of the form type/subtype"));
    };
    if main.eq_ignore_ascii_case("multipart") || main.eq_ignore_ascii_case("message") {
        return Err(wrong("content_type", "a message in a message is not taken; use application/octet-stream"));
    }
    let parameter_ok = |p: &str| {
        p.split_once('=').is_some_and(|(name, value)| {
            let value = value.trim();
            let quoted = value.strip_prefix('"').and_then(|v| v.strip_suffix('"'));
            let inner_ok = |v: &str| v.bytes().all(|b| (b' '..=b'~').contains(&b) && b != b'"' && b != b'\\');
            is_token(name.trim()) && (is_token(value) || quoted.is_some_and(inner_ok))
        })
    };
    if !parts.all(parameter_ok) {
        return Err(wrong("content_type", "has a parameter that is not name=value"));
    }
    Ok(())
}

/// Puts `sha256` and `size` in place of each `base64`; all other members stay as they were proposed. An entry that comes
/// with `sha256` must name a file that is already known.
fn take_attachments(value: &mut Value, known: &[Attachment]) -> Result<Vec<Attachment>, FieldError> {
    let Some(list) = value.get_mut("attachments").and_then(Value::as_array_mut) else { return Ok(Vec::new()) };
    if list.len() > ATTACHMENTS_MAX {
        return Err(wrong("attachments", format!("at most {ATTACHMENTS_MAX} files are taken")));
    }
    let mut attached = Vec::with_capacity(list.len());
    for (i, entry) in list.iter_mut().enumerate() {
        attached.push(take_attachment(entry, known).map_err(|e| e.within(&item("attachments", i)))?);
    }
    let total: usize = attached.iter().map(|file| file.bytes.len()).sum();
    if total > ATTACHED_MAX {
        let sizes = attached.iter().map(|file| file.bytes.len());
        let (i, largest) = sizes.enumerate().max_by_key(|(_, size)| *size).unwrap_or_default();
        let name = list[i]["filename"].as_str().unwrap_or_default();
        let of = |bytes: usize| size_in_words(bytes as u64);
        let reason = format!(
            "have {} together, most of it in `{name}` ({}); at most {} are taken, as files grow by a third on their way. \
             Leave it out, or send a link to it",
            of(total),
            of(largest),
            of(ATTACHED_MAX)
        );
        return Err(wrong("attachments", reason));
    }
    Ok(attached)
}

fn take_attachment(entry: &mut Value, known: &[Attachment]) -> Result<Attachment, FieldError> {
    let fields = Fields::of(entry, &["filename", "content_type", "base64", "sha256", "size"])?;
    let file = if fields.has("base64") {
        if fields.has("sha256") || fields.has("size") {
            return Err(wrong("base64", "stands beside sha256 or size; give the content or name it, not both"));
        }
        let bytes = STANDARD
            .decode(fields.required_text("base64")?)
            .map_err(|_| wrong("base64", "is not base64 (RFC 4648, padded, without line breaks)"))?;
        Attachment::new(bytes)
    } else {
        if !fields.has("sha256") {
            return Err(wrong("base64", "is missing"));
        }
        let digest = fields.required_text("sha256")?;
        let file = known.iter().find(|file| file.sha256 == digest);
        let file = file.ok_or_else(|| wrong("sha256", "names a file that this action does not have"))?;
        let size = fields.required("size")?;
        if size.as_u64() != Some(file.bytes.len() as u64) {
            return Err(wrong("size", format!("the file has {} bytes", file.bytes.len())));
        }
        file.clone()
    };
    let object = entry.as_object_mut().ok_or_else(|| wrong("", "an object is expected"))?;
    object.remove("base64");
    object.insert("sha256".into(), Value::String(file.sha256.clone()));
    object.insert("size".into(), Value::from(file.bytes.len() as u64));
    Ok(file)
}

/// Bytes that the value of `References` may have. Folding keeps lines short, but some relays unfold a header before they
/// measure it against the 998 bytes of a line (F23).
const REFERENCES_BYTES: usize = 998 - "References: ".len();

/// `In-Reply-To` and `References` of an answer (RFC 5322, 3.6.4), as they are written into the wire.
///
/// What the payload says is taken as it is: without an `in_reply_to` in it (an `email.send`, or a reply with null) no parent
/// is written, whatever the conversation is, since nobody approved one. References it leaves open are built from the
/// conversation: the parent's references, or its own `In-Reply-To` if that is one id, then the parent. Built lists are
/// trimmed: the first id and the last ones stay (F23).
pub fn threading(view: &EmailView, conversation: Option<&Conversation>) -> (Option<String>, Vec<String>) {
    let told = conversation.and_then(|c| c.message_id.as_deref());
    let Some(parent) = view.in_reply_to.as_deref() else {
        return (None, view.references.clone().unwrap_or_default());
    };
    if let Some(references) = &view.references {
        return (Some(parent.to_owned()), references.clone());
    }
    let mut ids: Vec<String> = Vec::new();
    // The conversation's ids belong to its own message only; another parent starts with itself.
    if let Some(c) = conversation.filter(|_| told == Some(parent)) {
        match (c.references.as_slice(), &c.in_reply_to) {
            ([], Some(one)) => ids.push(one.clone()),
            (references, _) => ids.extend(references.iter().cloned()),
        }
    }
    ids.retain(|id| id != parent);
    ids.push(parent.to_owned());
    (Some(parent.to_owned()), trimmed(ids))
}

fn trimmed(ids: Vec<String>) -> Vec<String> {
    let Some((first, rest)) = ids.split_first() else { return ids };
    let mut room = REFERENCES_BYTES.saturating_sub(first.len());
    let kept = rest.iter().rev().take_while(|id| {
        let fits = id.len() < room;
        room = room.saturating_sub(id.len() + 1);
        fits
    });
    let kept = kept.count();
    let mut out = vec![first.clone()];
    out.extend_from_slice(&rest[rest.len() - kept..]);
    out
}
