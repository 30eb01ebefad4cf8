//! The wire of an email: RFC 8785 of `{mail_from, message_sha256, rcpt_to}`, a newline, the message's bytes.

use countersign_domain::Wire;
use countersign_domain::canonical::{canonical, sha256};
use serde_json::{Value, json};

/// An email as it is stored and sent: the envelope and the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Letter<'a> {
    pub mail_from: String,
    /// Sorted, without repeats.
    pub rcpt_to: Vec<String>,
    pub message: &'a [u8],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the stored request is not an email with its envelope")]
pub struct NotALetter;

impl<'a> Letter<'a> {
    pub fn new(mail_from: String, mut rcpt_to: Vec<String>, message: &'a [u8]) -> Letter<'a> {
        rcpt_to.sort();
        rcpt_to.dedup();
        Letter { mail_from, rcpt_to, message }
    }

    pub fn seal(&self) -> Wire {
        let head = canonical(&json!({
            "mail_from": self.mail_from,
            "rcpt_to": self.rcpt_to,
            "message_sha256": hex::encode(sha256(self.message)),
        }));
        let mut bytes = Vec::with_capacity(head.len() + 1 + self.message.len());
        bytes.extend_from_slice(head.as_bytes());
        bytes.push(b'\n');
        bytes.extend_from_slice(self.message);
        Wire::new(bytes)
    }

    /// Reads a wire and checks that the message is the one its envelope names.
    pub fn open(wire: &'a Wire) -> Result<Letter<'a>, NotALetter> {
        let bytes = wire.bytes();
        let cut = bytes.iter().position(|b| *b == b'\n').ok_or(NotALetter)?;
        let (head, message) = (&bytes[..cut], &bytes[cut + 1..]);
        let head: Value = serde_json::from_slice(head).map_err(|_| NotALetter)?;
        let texts = |v: &Value| v.as_array()?.iter().map(|r| r.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>();
        let letter = Letter {
            mail_from: head["mail_from"].as_str().ok_or(NotALetter)?.to_owned(),
            rcpt_to: texts(&head["rcpt_to"]).filter(|r| !r.is_empty()).ok_or(NotALetter)?,
            message,
        };
        // Sealing it again must give the same bytes: nothing unread is in it.
        if letter.seal() == *wire { Ok(letter) } else { Err(NotALetter) }
    }
}
