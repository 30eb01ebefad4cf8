//! What a person is shown of a wire, parsed back from its bytes.

use serde::Serialize;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Preview {
    pub mail_from: String,
    /// Everyone who gets it, sorted.
    pub rcpt_to: Vec<String>,
    /// Those of `rcpt_to` that no header names.
    pub bcc: Vec<String>,
    /// Unfolded and decoded, in order.
    pub headers: Vec<(String, String)>,
    pub subject: String,
    pub text: Option<String>,
    pub html: Option<String>,
    pub attachments: Vec<PreviewAttachment>,
    /// Bytes of the message as it is sent.
    pub size: u64,
    /// Set if the wire cannot be read; then all else is empty.
    pub unreadable: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PreviewAttachment {
    /// The name a receiver will likely see.
    pub filename: String,
    pub content_type: String,
    pub size: u64,
    pub sha256: String,
}
