//! What a provider promises, per destination and effect, as data; and what an answer means under it (R20).
//!
//! The engine decides from the contract; no code outside a provider's folder asks which provider it is.

use crate::outcome::{Answer, Doubt, NotSent, Outcome, Receipt, ReceiptKind, Refusal, Strength};
use serde::Deserialize;
use std::time::Duration;

/// What a destination does with a second request under the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    /// Answers with the first result.
    Replay,
    /// Answers with an error and does nothing.
    Refuse,
    /// Finishes what is left.
    Resume,
    /// The request names a state that the first one used up.
    ConditionalCreate,
    /// The request names an object that the first one used up.
    OneShot,
    /// Recognises nothing, but can be asked afterwards.
    LookUpOnly,
    /// Recognises nothing and cannot be asked.
    None,
}

/// One effect of one destination.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contract {
    /// The effects this entry holds for.
    pub effects: Vec<String>,
    pub family: Family,
    /// Where the key travels, in words: `Message-ID and X-Countersign-Key`.
    pub key_mechanism: String,
    /// How long the key is honoured. None: not at all.
    #[serde(default)]
    pub retention_hours: Option<u32>,
    /// Whether the key is known to the account of the login alone, and nothing tells of which account a login is: under
    /// another login a repeat may act again.
    #[serde(default)]
    pub key_of_login: bool,
    /// What the same key with other content does, in words.
    pub on_changed_content: String,
    /// How a lost result is found, in words; empty: it cannot be.
    #[serde(default)]
    pub lookup: String,
    /// After so long absence may mean something, in seconds.
    #[serde(default)]
    pub lookup_delay_seconds: u32,
    /// Whether not finding it (after the delay) proves that it did not happen.
    #[serde(default)]
    pub absence_conclusive: bool,
    /// Whether a refusal frees the key for another attempt with the same bytes.
    #[serde(default)]
    pub refusal_frees_key: bool,
    /// How a newer version of the record is noticed, in words; empty: not at all.
    #[serde(default)]
    pub version_guard: String,
    /// Patterns of answer codes. A digit position may be a letter (`5yz`), a segment may be `*`. First match in
    /// `not_sent`, `refused`, `accepted`, in that order of lists; what none lists is unclear.
    pub not_sent: Vec<String>,
    /// As `not_sent`, and the attempt does not count and pauses the destination (offline, failed login).
    #[serde(default)]
    pub pauses: Vec<String>,
    pub refused: Vec<String>,
    pub accepted: Vec<String>,
    /// Exceptions that are unclear although a wider pattern above matches.
    #[serde(default)]
    pub unclear: Vec<String>,
    /// Where the facts stand.
    pub sources: Vec<String>,
    pub facts_as_of: String,
}

impl Contract {
    pub fn retention(&self) -> Option<Duration> {
        self.retention_hours.map(|h| Duration::from_secs(u64::from(h) * 3600))
    }
    pub fn lookup_delay(&self) -> Duration {
        Duration::from_secs(u64::from(self.lookup_delay_seconds))
    }
    pub fn can_look(&self) -> bool {
        !self.lookup.is_empty()
    }
    /// Whether the destination itself recognises a repeat by its key, whatever the request says.
    pub fn has_native_key(&self) -> bool {
        self.retention_hours.is_some() && matches!(self.family, Family::Replay | Family::Refuse | Family::Resume)
    }
    /// Whether a repeat under the same key within the retention is safe.
    pub fn recognises_repeat(&self) -> bool {
        self.retention_hours.is_some()
            && matches!(
                self.family,
                Family::Replay | Family::Refuse | Family::Resume | Family::ConditionalCreate | Family::OneShot
            )
    }
}

/// Whether `code` matches `pattern`, segment by segment. `*` matches one segment, or all that follow where it is last.
pub fn matches(pattern: &str, code: &str) -> bool {
    let mut wanted = pattern.split(':').peekable();
    let mut given = code.split(':');
    loop {
        match (wanted.next(), given.next()) {
            (None, None) => return true,
            (Some("*"), Some(_)) if wanted.peek().is_none() => return true,
            (Some("*"), Some(_)) => {}
            (Some(w), Some(g)) if segment_matches(w, g) => {}
            _ => return false,
        }
    }
}

/// `5yz` and `5xx` match any number of three digits beginning with 5; all else is compared literally.
fn segment_matches(pattern: &str, given: &str) -> bool {
    let is_class = pattern.len() == 3
        && pattern.as_bytes()[0].is_ascii_digit()
        && (pattern.ends_with("yz") || pattern.ends_with("xx"));
    if is_class {
        return given.len() == 3
            && given.bytes().all(|b| b.is_ascii_digit())
            && given.as_bytes()[0] == pattern.as_bytes()[0];
    }
    pattern == given
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Accepted,
    Refused,
    NotSent,
    Pauses,
    Unclear,
}

/// Maps an answer to an outcome by the contract. Codes that point different ways, and codes that no list has, are unclear.
pub fn classify(contract: &Contract, answer: &Answer) -> Outcome {
    let class_of = |code: &str| {
        let hit = |list: &[String]| list.iter().any(|p| matches(p, code));
        if hit(&contract.unclear) {
            Class::Unclear
        } else if hit(&contract.pauses) {
            Class::Pauses
        } else if hit(&contract.not_sent) {
            Class::NotSent
        } else if hit(&contract.refused) {
            Class::Refused
        } else if hit(&contract.accepted) {
            Class::Accepted
        } else {
            Class::Unclear
        }
    };
    let classes: Vec<Class> = answer.codes.iter().map(|c| class_of(&c.0)).collect();
    let all = answer.codes.iter().map(|c| c.0.as_str()).collect::<Vec<_>>().join(", ");
    let words = answer.words.clone();
    let first = match classes.first() {
        Some(class) if classes.iter().all(|c| c == class) => *class,
        _ => Class::Unclear,
    };
    match first {
        // A success without its receipt is not a success: a captive portal also says 200.
        Class::Accepted => match &answer.receipt {
            Some(receipt) => Outcome::Accepted(receipt.clone()),
            None => Outcome::Unclear(Doubt { code: all, words }),
        },
        Class::Refused => Outcome::Refused(Refusal { code: all, words }),
        Class::NotSent => {
            Outcome::NotSent(NotSent { code: all, words, counts: true, pauses: false, retry_after: answer.retry_after })
        }
        Class::Pauses => {
            Outcome::NotSent(NotSent { code: all, words, counts: false, pauses: true, retry_after: answer.retry_after })
        }
        Class::Unclear => Outcome::Unclear(Doubt { code: all, words }),
    }
}

/// Longest reference of a destination that is kept.
const REFERENCE_MAX: usize = 200;

/// A receipt made of the destination's own answer. A reference of more than plain characters is not kept: it is shown,
/// copied and compared, and a receipt outlives the body that is purged.
pub fn answer_receipt(reference: Option<String>, text: impl Into<String>) -> Receipt {
    let plain = |r: &String| !r.is_empty() && r.len() <= REFERENCE_MAX && r.bytes().all(|b| b.is_ascii_graphic());
    let reference = reference.filter(plain);
    Receipt { kind: ReceiptKind::Answer, reference, text: text.into(), strength: Strength::Proof, by: None }
}
