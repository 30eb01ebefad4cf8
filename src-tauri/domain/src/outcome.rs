//! What a destination said, and what that makes of an attempt. A connector reports, the domain judges.

use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// One thing an answer said, as `prefix:…:value`: `smtp:rcpt:550`, `smtp:final_dot:250`, `http:429`, `net:timeout`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AnswerCode(pub String);

impl AnswerCode {
    pub fn new(text: impl Into<String>) -> Self {
        AnswerCode(text.into())
    }
}

impl fmt::Display for AnswerCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a connector made of a reply: names and numbers, no judgement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    pub codes: Vec<AnswerCode>,
    pub receipt: Option<Receipt>,
    pub retry_after: Option<Duration>,
    /// The destination's own words, shortened, without addresses or message text.
    pub words: String,
}

/// Where the proof came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReceiptKind {
    /// The answer to the attempt itself.
    Answer,
    /// Found by asking the destination.
    Lookup,
    /// An answer that came after the attempt had been closed as unclear.
    LateAnswer,
    /// A delivery status notification with our envelope id.
    Dsn,
    /// A person's signed word.
    Person,
}

/// Proof of acceptance. Accepted is never delivered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Receipt {
    pub kind: ReceiptKind,
    /// The destination's own reference: a queue id, a message number.
    pub reference: Option<String>,
    /// One sentence for people: what was seen, where.
    pub text: String,
    pub strength: Strength,
    /// Set for [`ReceiptKind::Person`].
    pub by: Option<String>,
}

/// How much a sighting proves. Only `Proof` and `Strong` settle an action by themselves; `Weak` is shown to a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strength {
    None,
    /// Subject, recipients and time agree; a person decides.
    Weak,
    /// Our own key in a header, under another Message-ID.
    Strong,
    /// Exactly our Message-ID, or the destination's answer.
    Proof,
}

/// A definite no to this payload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Refusal {
    pub code: String,
    pub words: String,
}

/// This attempt certainly did nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NotSent {
    pub code: String,
    pub words: String,
    /// Whether it spoke to the destination; being offline or a failed login counts as no attempt.
    pub counts: bool,
    /// Pauses the destination until it can be reached or a person signed in again.
    pub pauses: bool,
    pub retry_after: Option<Duration>,
}

/// Why nobody can tell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Doubt {
    pub code: String,
    pub words: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    Accepted(Receipt),
    Refused(Refusal),
    NotSent(NotSent),
    Unclear(Doubt),
}

impl Outcome {
    /// The word stored with the attempt.
    pub fn name(&self) -> &'static str {
        match self {
            Outcome::Accepted(_) => "accepted",
            Outcome::Refused(_) => "refused",
            Outcome::NotSent(_) => "not_sent",
            Outcome::Unclear(_) => "unclear",
        }
    }
}

/// What one look at the destination showed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "sighting", rename_all = "snake_case")]
pub enum Sighting {
    /// An exact match. Settles the action if its strength is `Strong` or `Proof`.
    Found(Receipt),
    /// Looked properly, and it is not there. Whether that means anything is the contract's word.
    NotSeen { looked: String },
    /// Could not look (offline, login failed, no way to ask).
    CannotTell {
        why: String,
        /// The login was refused: asking again before a person signed in is pointless.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        signed_out: bool,
    },
}

impl Sighting {
    pub fn cannot_tell(why: impl Into<String>) -> Sighting {
        Sighting::CannotTell { why: why.into(), signed_out: false }
    }
}

/// A person's word on an unknown action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Happened,
    DidNotHappen,
    Leave,
}

/// One look with its time, as kept in the ledger.
#[derive(Clone, Debug, PartialEq)]
pub struct Look {
    pub at: Timestamp,
    pub sighting: Sighting,
}
