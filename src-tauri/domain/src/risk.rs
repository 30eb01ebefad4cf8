//! Recipient and content risks (R17), as a list of findings. Pure: what is known about people comes in as arguments.
//!
//! | file | finds |
//! |---|---|
//! | `risk/people` | first-time and outside recipients, Bcc, Reply-To, people who are not in the conversation |
//! | `risk/domains` | look-alike domains, letters from two alphabets |
//! | `risk/characters` | characters that turn the reading direction or cannot be seen |
//! | `risk/files` | changed attachments, attachments that can run programs |
//! | `risk/placeholders` | places that were meant to be filled |
//! | `risk/calendar` | calendar parts whose two methods differ, and what they invite to |
//! | `risk/automatic` | messages that no person wrote |
//! | `risk/parts` | a plain and a formatted part that say different things |
//! | `risk/html` | links that lead elsewhere than they say, text that is read by machines but not seen by people |

pub mod automatic;
mod calendar;
mod characters;
mod domains;
mod files;
mod html;
mod parts;
mod people;
mod placeholders;

pub use domains::{Domains, Likeness, likeness};
pub use files::program_kind;
pub use placeholders::{NAME_MAX as PLACE_NAME_MAX, name_of as place_name, places, unfilled};

use crate::address::Mailbox;
use crate::email::EmailView;
use crate::proposal::Conversation;
use std::collections::BTreeSet;

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

/// One thing to know before approving.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Stable name: `look_alike_domain`, `mixed_scripts`, `first_time`, `known_recipient`, `outside_domain`,
    /// `bcc_present`, `reply_to_differs`, `not_in_conversation`, `attachment_changed`, `can_run_programs`,
    /// `direction_override`, `invisible_characters`, `link_differs`, `hidden_text`, `html_not_checked`, `parts_differ`, `invitation`,
    /// `calendar_method_differs`, `calendar_unreadable`, `automatic_message`, `sent_later`, `unfilled_placeholder`. The
    /// engine adds what needs the ledger or the mailbox: `split_reply`, `repeated_step`, `parent_missing`, `parent_differs` …
    pub code: &'static str,
    /// Path in the payload, or in the conversation with `conversation.` in front.
    pub field: String,
    pub weight: Weight,
    /// Holds the approve button back until a person has looked.
    pub holds: bool,
    pub text: String,
}

impl Finding {
    fn new(code: &'static str, field: impl Into<String>, weight: Weight, text: impl Into<String>) -> Finding {
        Finding { code, field: field.into(), weight, holds: weight == Weight::Stop, text: text.into() }
    }
    /// Holds the approval back although it weighs less than a stop.
    fn holding(self) -> Finding {
        Finding { holds: true, ..self }
    }
}

/// What we know about people and domains, from our own ledger.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// The owner's own domains, lower case.
    pub own_domains: Vec<String>,
    /// Addresses we had accepted mail to, lower case, with how often; those among [`spellings`] are enough.
    pub recipients: Vec<(String, u32)>,
    /// Domains of those and of customers in conversations, lower case, with how often.
    pub domains: Domains,
    /// Digests of the attachments in the source's first draft.
    pub draft_attachments: Vec<String>,
}

/// Every address that an email goes to, in the forms under which it may be known: lower case, with the domain as written,
/// in its `xn--` form and in letters.
pub fn spellings(email: &EmailView) -> BTreeSet<String> {
    let forms = |m: &Mailbox| {
        let folded = m.folded();
        let drawn = folded.rsplit_once('@').map(|(local, domain)| format!("{local}@{}", domains::drawn(domain)));
        [Some(m.email.to_lowercase()), drawn, Some(folded)].into_iter().flatten()
    };
    email.recipients().flat_map(|(_, m)| forms(m)).collect()
}

/// All findings for an email, heaviest first, in the order of the fields within one weight.
pub fn findings(email: &EmailView, conversation: Option<&Conversation>, known: &Known) -> Vec<Finding> {
    let mut all = people::findings(email, conversation, known);
    all.extend(domains::findings(email, conversation, known));
    all.extend(characters::findings(email, conversation));
    all.extend(files::findings(email, known));
    all.extend(placeholders::findings(email));
    all.extend(calendar::findings(email));
    all.extend(email.send_at.as_ref().map(sent_later));
    all.extend(conversation.and_then(automatic::of_conversation).map(automatic_message));
    if let Some(html) = &email.html {
        all.extend(html::findings(html, "html"));
        all.extend(email.text.as_deref().and_then(|text| parts::finding(text, html)));
    }
    if let Some(html) = conversation.and_then(|c| c.html.as_ref()) {
        all.extend(html::findings(html, "conversation.html"));
    }
    all.sort_by_key(|f| std::cmp::Reverse(f.weight));
    all
}

/// The message answered was written by no person. One finding, whoever tells: the source or the mailbox.
pub fn automatic_message(why: automatic::Automatic) -> Finding {
    let text =
        format!("Nobody wrote this message: {}. Answering it may start two systems answering each other.", why.says());
    Finding::new("automatic_message", "conversation", Weight::Stop, text)
}

/// When it goes, on the wall and in UTC; what cannot be told is refused before it could be approved.
fn sent_later(when: &crate::send_at::SendAt) -> Finding {
    match when.resolve() {
        Ok(moment) => Finding::new("sent_later", "send_at", Weight::Note, format!("Goes at {}.", when.both(moment))),
        Err(wrong) => {
            let at = format!("send_at.{}", wrong.field);
            Finding::new("sent_later", at, Weight::Stop, format!("Its time {}.", wrong.reason))
        }
    }
}
