//! What a source hands in (interfaces.md, "Proposal").

use crate::canonical::{ConversationHash, tagged_hash};
use crate::email::Mailbox;
use crate::json::FieldError;
use crate::payload::Payload;
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
    pub subject: Option<String>,
    pub received_at: Option<Timestamp>,
    /// With its angle brackets.
    pub message_id: Option<String>,
    pub references: Vec<String>,
    pub text: Option<String>,
    pub html: Option<String>,
}

impl Conversation {
    /// Reads a stored or proposed conversation.
    pub fn parse(value: Value) -> Result<Conversation, FieldError> {
        Ok(Conversation {
            value,
            from: None,
            subject: None,
            received_at: None,
            message_id: None,
            references: Vec::new(),
            text: None,
            html: None,
        })
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
    /// Parses and checks a document. Errors name the field.
    pub fn parse(bytes: &[u8]) -> Result<Proposal, FieldError> {
        let value = crate::json::parse(bytes)?;
        let _ = value;
        Err(FieldError::new("", "not readable yet"))
    }
}
