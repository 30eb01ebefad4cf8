//! What a person sees and approves, kept exactly as it was proposed: nothing filled in, absent ≠ null ≠ [].

use crate::canonical::sha256;
use crate::email::{self, EmailView};
use crate::json::FieldError;
use crate::records::{self, RecordRef};
use crate::send_at::Resolved;
use serde_json::Value;
use std::fmt;
use std::sync::Arc;

/// An attachment's bytes with what names them. In the payload value only `sha256` and `size` stand for the bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct Attachment {
    pub sha256: String,
    pub bytes: Arc<[u8]>,
}

impl Attachment {
    pub fn new(bytes: Vec<u8>) -> Self {
        Attachment { sha256: hex::encode(sha256(&bytes)), bytes: bytes.into() }
    }
}

impl fmt::Debug for Attachment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Attachment({} bytes)", self.bytes.len())
    }
}

/// A checked payload: the JSON value that is hashed (attachments as `sha256` and `size`) and the attachments' bytes.
#[derive(Clone, PartialEq)]
pub struct Payload {
    effect: String,
    value: Value,
    attachments: Vec<Attachment>,
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Payload({}, {} attachments)", self.effect, self.attachments.len())
    }
}

/// The effects of interfaces.md's table.
pub const EFFECTS: [&str; 10] = [
    email::SEND,
    email::REPLY,
    "crm.contact.upsert",
    "crm.note",
    "crm.task",
    "crm.deal.update",
    "crm.email.log",
    "ticket.reply",
    "ticket.create",
    "webhook.post",
];

impl Payload {
    /// Checks a payload as proposed, as edited or as stored. Attachments come as `base64`; an edit and a stored payload
    /// name one they already have by `sha256` and `size` (looked up in `known`). Unknown fields are refused by name.
    ///
    /// # Errors
    /// The path below the payload (`to[1].email`) and the reason, without the value.
    pub fn parse(effect: &str, value: Value, known: &[Attachment]) -> Result<Payload, FieldError> {
        let (value, attachments) = if email::is_email(effect) {
            email::check(effect, value, known)?
        } else {
            records::check(effect, &value)?;
            (value, Vec::new())
        };
        Ok(Payload { effect: effect.to_owned(), value, attachments })
    }

    /// Whether the effect is one that proposals may name.
    pub fn knows(effect: &str) -> bool {
        EFFECTS.contains(&effect)
    }

    pub fn effect(&self) -> &str {
        &self.effect
    }
    /// The value that is hashed and shown.
    pub fn value(&self) -> &Value {
        &self.value
    }
    pub fn attachments(&self) -> &[Attachment] {
        &self.attachments
    }
    /// The record at the destination that it touches. None: it makes one of its own, or none.
    pub fn record(&self) -> Option<RecordRef> {
        if email::is_email(&self.effect) { None } else { records::record_of(&self.effect, &self.value) }
    }
    /// When it is to go, if that was said; None: as soon as it is approved.
    ///
    /// # Errors
    /// The path below the payload and what may be said instead, where the time does not exist or occurs twice.
    pub fn due(&self) -> Result<Option<Resolved>, FieldError> {
        let when = self.email().and_then(|email| email.send_at);
        when.map(|when| when.resolve().map_err(|e| e.within("send_at"))).transpose()
    }
    /// The typed reading of `email.send` and `email.reply`.
    pub fn email(&self) -> Option<EmailView> {
        email::view(&self.effect, &self.value, &self.attachments)
    }
}
