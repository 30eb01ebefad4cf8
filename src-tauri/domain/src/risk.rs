//! Recipient and content risks (R17), as a list of findings. Pure: what is known about people comes in as arguments.

use crate::email::EmailView;
use crate::proposal::Conversation;

/// How much a finding weighs (design section 10).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    Fact,
    Note,
    Look,
    Stop,
}

impl Weight {
    pub const fn name(self) -> &'static str {
        match self {
            Weight::Fact => "fact",
            Weight::Note => "note",
            Weight::Look => "look",
            Weight::Stop => "stop",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Stable name: `look_alike_domain`, `mixed_scripts`, `first_time`, `outside_domain`, `bcc_present`,
    /// `reply_to_differs`, `not_in_conversation`, `attachment_changed`, `can_run_programs`, `direction_override`,
    /// `link_differs`, `hidden_text`, `split_reply`, `parent_missing`, `parent_differs` …
    pub code: &'static str,
    /// Path in the payload.
    pub field: String,
    pub weight: Weight,
    /// Holds the approve button back until a person has looked.
    pub holds: bool,
    pub text: String,
}

/// What we know about people and domains, from our own ledger.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// The owner's own domains, lower case.
    pub own_domains: Vec<String>,
    /// Addresses we had accepted mail to, lower case, with how often.
    pub recipients: Vec<(String, u32)>,
    /// Domains of those and of customers in conversations, lower case, with how often.
    pub domains: Vec<(String, u32)>,
    /// Digests of the attachments in the source's first draft.
    pub draft_attachments: Vec<String>,
}

/// All findings for an email, heaviest first.
pub fn findings(email: &EmailView, conversation: Option<&Conversation>, known: &Known) -> Vec<Finding> {
    let _ = (email, conversation, known);
    Vec::new()
}
