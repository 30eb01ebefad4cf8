//! The message, rendered from payload, key, conversation and time, and from nothing else. What comes out is 7-bit, has
//! CRLF line ends and short lines, so that no server on the way has a reason to touch it; and it is read back before it
//! is handed out.

pub mod check;
mod params;

use crate::error::Unrenderable;
use crate::letter::Letter;
use countersign_domain::canonical::sha256;
use countersign_domain::email::{EmailView, Mailbox, threading};
use countersign_domain::{Conversation, IdempotencyKey, Sealed, Timestamp, Wire};
use mail_builder::MessageBuilder;
use mail_builder::headers::HeaderType;
use mail_builder::headers::address::Address;
use mail_builder::headers::content_type::ContentType;
use mail_builder::headers::date::Date;
use mail_builder::headers::raw::Raw;
use mail_builder::headers::text::Text;
use mail_builder::mime::{BodyPart, MimePart};

/// The header that carries the idempotency key.
pub const KEY_HEADER: &str = "X-Countersign-Key";

/// Renders and seals an email payload.
pub fn render(
    sealed: &Sealed,
    key: &IdempotencyKey,
    conversation: Option<&Conversation>,
    at: Timestamp,
) -> Result<Wire, Unrenderable> {
    let email = sealed
        .payload()
        .email()
        .ok_or_else(|| Unrenderable::new("effect", format!("`{}` is not an email", sealed.payload().effect())))?;
    // Made of content as well: whoever writes a draft cannot know the boundary that it will get.
    let seed = hex::encode(&sha256(format!("{key}\n{}", sealed.hash()).as_bytes())[..12]);
    let message = message(&email, key, conversation, at, &seed)?;
    let everyone = email.to.iter().chain(&email.cc).chain(&email.bcc);
    let rcpt_to = everyone.map(Mailbox::ascii_email).collect();
    Ok(Letter::new(email.from.ascii_email(), rcpt_to, &message).seal())
}

/// `<key@sender's domain>`: what a copy is found by.
pub fn message_id(email: &EmailView, key: &IdempotencyKey) -> String {
    key.message_id(&email.from.ascii_domain())
}

fn message(
    email: &EmailView,
    key: &IdempotencyKey,
    conversation: Option<&Conversation>,
    at: Timestamp,
    seed: &str,
) -> Result<Vec<u8>, Unrenderable> {
    let (in_reply_to, references) = threading(email, conversation);
    for id in in_reply_to.iter().chain(&references) {
        if !is_message_id(id) {
            return Err(Unrenderable::new("in_reply_to", "is not a message id that can be written into a header"));
        }
    }
    let mut builder =
        MessageBuilder::new().header("From", list(std::slice::from_ref(&email.from))).header("To", list(&email.to));
    if !email.cc.is_empty() {
        builder = builder.header("Cc", list(&email.cc));
    }
    if !email.reply_to.is_empty() {
        builder = builder.header("Reply-To", list(&email.reply_to));
    }
    builder = builder
        .header("Subject", subject(&email.subject))
        .header("Date", Date::new(at.millis().div_euclid(1000)))
        .header("Message-ID", Raw::new(message_id(email, key)));
    if let Some(parent) = in_reply_to {
        builder = builder.header("In-Reply-To", Raw::new(parent));
    }
    if !references.is_empty() {
        builder = builder.header("References", Raw::new(references.join(" ")));
    }
    let mut bytes = builder
        .header(KEY_HEADER, Raw::new(key.as_str()))
        .body(body(email, seed))
        .write_to_vec()
        .map_err(|e| Unrenderable::new("", format!("the message cannot be written: {e}")))?;
    // The end of a message is an end of line; without it the transport would have to add one.
    if !bytes.ends_with(b"\r\n") {
        bytes.extend_from_slice(b"\r\n");
    }
    check::check(&bytes, email)?;
    Ok(bytes)
}

/// A message to try a destination with.
pub(crate) fn test_message(
    from: &Mailbox,
    to: &Mailbox,
    message_id: &str,
    at: Timestamp,
) -> Result<Vec<u8>, Unrenderable> {
    let text = "This is a test message of Countersign. It was sent because somebody tried this mailbox.\r\n";
    let bytes = MessageBuilder::new()
        .header("From", list(std::slice::from_ref(from)))
        .header("To", list(std::slice::from_ref(to)))
        .subject("Countersign test message")
        .header("Date", Date::new(at.millis().div_euclid(1000)))
        .header("Message-ID", Raw::new(message_id))
        .header("Auto-Submitted", Raw::new("auto-generated"))
        .body(MimePart::new("text/plain", text))
        .write_to_vec()
        .map_err(|e| Unrenderable::new("", format!("the message cannot be written: {e}")))?;
    check::check_bytes(&bytes).map_err(|why| Unrenderable::new("", why))?;
    Ok(bytes)
}

fn body<'a>(email: &'a EmailView, seed: &str) -> MimePart<'a> {
    let leaf = |kind: &'static str, text: &str| MimePart::new(kind, BodyPart::Text(normal_lines(text).into()));
    let multipart = |kind: &'static str, letter: &str, parts: Vec<MimePart<'a>>| {
        MimePart::new(ContentType::new(kind).attribute("boundary", format!("cs-{letter}-{seed}")), parts)
    };
    let text = email.text.as_deref().map(|t| leaf("text/plain", t));
    let html = email.html.as_deref().map(|h| leaf("text/html", h));
    let shown = match (text, html) {
        (Some(text), Some(html)) => multipart("multipart/alternative", "a", vec![text, html]),
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => leaf("text/plain", ""),
    };
    if email.attachments.is_empty() {
        return shown;
    }
    let mut parts = vec![shown];
    for file in &email.attachments {
        let mut part = MimePart::raw(BodyPart::Binary(file.content.bytes.as_ref().into()));
        // Raw headers: the builder then writes base64, whatever the type, so the bytes arrive as they are.
        part = part.header("Content-Type", Raw::new(params::content_type(&file.content_type, &file.filename)));
        part = part.header("Content-Disposition", Raw::new(params::disposition(&file.filename)));
        parts.push(part);
    }
    multipart("multipart/mixed", "m", parts)
}

/// Text that a reader would take for an encoded-word, although it is none.
fn looks_encoded(text: &str) -> bool {
    text.contains("=?")
}

fn subject(text: &str) -> HeaderType<'_> {
    if looks_encoded(text) { Raw::new(params::encoded_words(text)).into() } else { Text::new(text).into() }
}

fn list(mailboxes: &[Mailbox]) -> HeaderType<'_> {
    let name = |m: &'_ Mailbox| m.name.clone().filter(|n| !n.is_empty());
    if mailboxes.iter().any(|m| m.name.as_deref().is_some_and(looks_encoded)) {
        let one = |m: &Mailbox| match name(m) {
            Some(name) => format!("{} <{}>", params::encoded_words(&name), m.ascii_email()),
            None => format!("<{}>", m.ascii_email()),
        };
        return Raw::new(mailboxes.iter().map(one).collect::<Vec<_>>().join(", ")).into();
    }
    Address::new_list(mailboxes.iter().map(|m| Address::new_address(name(m), m.ascii_email())).collect()).into()
}

/// CRLF at every line end.
pub(crate) fn normal_lines(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n").replace('\n', "\r\n")
}

/// One `<local@domain>` of printable ASCII: what may be written raw. Checked at the door already; a line break here
/// would be another header.
pub(crate) fn is_message_id(id: &str) -> bool {
    let inner = id.strip_prefix('<').and_then(|r| r.strip_suffix('>'));
    id.len() <= 250
        && inner.is_some_and(|i| {
            i.bytes().all(|b| b.is_ascii_graphic() && b != b'<' && b != b'>')
                && i.split_once('@').is_some_and(|(l, d)| !l.is_empty() && !d.is_empty())
        })
}

#[cfg(test)]
#[path = "mime_test.rs"]
mod tests;
