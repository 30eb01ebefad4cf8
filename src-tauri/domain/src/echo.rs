//! What a destination repeats of what it was sent. Its words are evidence and stay in the journal, which outlives a purge;
//! the payload's own values must not stay there with them.
//!
//! Codes and categories are names and stay. Of the words goes: what is a short value of the payload or part of one (a name,
//! a subject, a field), a number or reference with a digit in it, and three words in a row that stand so in a longer text.

use crate::outcome::{Outcome, Receipt, Sighting};
use crate::payload::Payload;
use crate::records::MatchBy;
use serde_json::Value;
use std::collections::HashSet;
use std::ops::Range;

/// A value of so many words is a text; of what is shorter each word counts.
const SHORT: usize = 8;
/// So many words in a row are no chance.
const RUN: usize = 3;
/// A shorter word says nothing.
const WORD_MIN: usize = 3;
/// Longest text that is kept, in characters.
const KEPT_MAX: usize = 300;
/// Stands for what was taken out.
const GONE: &str = "…";
/// Codes under which the words are our own: what the program did, and that somebody else answered.
const OURS: [&str; 2] = ["engine:", "foreign:"];

fn is_ours(code: &str) -> bool {
    OURS.iter().any(|ours| code.starts_with(ours))
}

/// The values of one payload, to be taken out of what a destination says.
pub struct Echo {
    /// Words of short values, and words with a digit wherever they stand.
    words: HashSet<String>,
    /// Every value, its words in lower case with a space around each.
    texts: Vec<String>,
    /// Values of two words: both together.
    pairs: HashSet<String>,
}

impl Echo {
    pub fn of(payload: &Payload) -> Echo {
        let mut echo = Echo { words: HashSet::new(), texts: Vec::new(), pairs: HashSet::new() };
        echo.take(payload.value());
        // The destination's own number of the record is what tells a person which one is meant.
        if let Some(record) = payload.record().filter(|r| r.by == MatchBy::Id) {
            echo.words.remove(&record.value.to_lowercase());
        }
        echo
    }

    fn take(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.take_text(text),
            Value::Number(number) => self.take_text(&number.to_string()),
            Value::Array(all) => all.iter().for_each(|v| self.take(v)),
            Value::Object(all) => all.values().for_each(|v| self.take(v)),
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn take_text(&mut self, text: &str) {
        let words: Vec<String> = words(text).into_iter().map(|(_, word)| word).collect();
        if words.is_empty() {
            return;
        }
        let short = words.len() <= SHORT;
        self.words.extend(words.iter().filter(|w| long_enough(w) && (short || has_digit(w))).cloned());
        if words.len() == 2 {
            self.pairs.insert(words.join(" "));
        }
        self.texts.push(format!(" {} ", words.join(" ")));
    }

    /// A destination's words without the payload's.
    pub fn clean(&self, said: &str) -> String {
        self.cut(said, true)
    }

    /// The same for a sentence of ours that may quote a destination: a word alone, which may be ours, stays.
    fn clean_sentence(&self, said: &str, reference: Option<&str>) -> String {
        match reference {
            // What the destination calls it is what a person looks for there.
            Some(reference) if !reference.is_empty() && said.contains(reference) => {
                let parts: Vec<String> = said.split(reference).map(|part| self.cut(part, false)).collect();
                parts.join(reference)
            }
            _ => self.cut(said, false),
        }
    }

    fn cut(&self, said: &str, single_words: bool) -> String {
        let all = words(said);
        let mut ours = vec![false; all.len()];
        for at in 0..all.len() {
            let word = &all[at].1;
            ours[at] |= self.words.contains(word) && (single_words || has_digit(word));
            let run = |len: usize| all.get(at..at + len).map(join);
            if run(2).is_some_and(|pair| self.pairs.contains(&pair)) {
                ours[at..at + 2].fill(true);
            }
            if run(RUN).is_some_and(|run| self.texts.iter().any(|text| text.contains(&format!(" {run} ")))) {
                ours[at..at + RUN].fill(true);
            }
        }
        let mut out = String::with_capacity(said.len());
        let (mut from, mut at) = (0, 0);
        while at < all.len() {
            if !ours[at] {
                at += 1;
                continue;
            }
            out.push_str(&said[from..all[at].0.start]);
            out.push_str(GONE);
            while at < all.len() && ours[at] {
                from = all[at].0.end;
                at += 1;
            }
        }
        out.push_str(&said[from..]);
        match out.char_indices().nth(KEPT_MAX) {
            Some((end, _)) => format!("{}{GONE}", &out[..end]),
            None => out,
        }
    }
}

fn join(run: &[(Range<usize>, String)]) -> String {
    run.iter().map(|(_, word)| word.as_str()).collect::<Vec<_>>().join(" ")
}

fn has_digit(word: &str) -> bool {
    word.chars().any(|c| c.is_ascii_digit())
}

fn long_enough(word: &str) -> bool {
    word.chars().count() >= WORD_MIN || word.chars().any(stands_alone)
}

/// Scripts without spaces between words: each sign is one.
fn stands_alone(c: char) -> bool {
    ('\u{2e80}'..='\u{d7ff}').contains(&c) || ('\u{f900}'..='\u{faff}').contains(&c) || c >= '\u{20000}'
}

/// Letters and digits in a row, in lower case, with where they stand.
fn words(text: &str) -> Vec<(Range<usize>, String)> {
    let mut found: Vec<(Range<usize>, String)> = Vec::new();
    let mut open = false;
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        if !c.is_alphanumeric() {
            open = false;
            continue;
        }
        let lower = c.to_lowercase();
        match found.last_mut() {
            Some((range, word)) if open && !stands_alone(c) => {
                range.end = end;
                word.extend(lower);
            }
            _ => found.push((at..end, lower.collect())),
        }
        open = !stands_alone(c);
    }
    found
}

impl Outcome {
    /// As it may be kept: without what the destination repeats of the payload.
    #[must_use]
    pub fn without(mut self, echo: &Echo) -> Outcome {
        match &mut self {
            Outcome::Accepted(receipt) => receipt.quiet(echo),
            Outcome::Refused(said) if !is_ours(&said.code) => said.words = echo.clean(&said.words),
            Outcome::NotSent(said) if !is_ours(&said.code) => said.words = echo.clean(&said.words),
            Outcome::Unclear(said) if !is_ours(&said.code) => said.words = echo.clean(&said.words),
            Outcome::Refused(_) | Outcome::NotSent(_) | Outcome::Unclear(_) => {}
        }
        self
    }
}

impl Sighting {
    /// As it may be kept: without what the destination repeats of the payload.
    #[must_use]
    pub fn without(mut self, echo: &Echo) -> Sighting {
        match &mut self {
            Sighting::Found(receipt) => receipt.quiet(echo),
            Sighting::CannotTell { why, .. } => *why = echo.clean(why),
            // Our own words.
            Sighting::NotSeen { .. } => {}
        }
        self
    }
}

impl Receipt {
    fn quiet(&mut self, echo: &Echo) {
        self.text = echo.clean_sentence(&self.text, self.reference.as_deref());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn contact() -> Echo {
        let value = json!({ "match": { "email": "sam@other.example" }, "mode": "create_only",
            "fields": { "firstname": "Sam", "lastname": "Vale", "phone": "+41 44 000 00 00", "score": 4711, "city": "東京" } });
        Echo::of(&Payload::parse("crm.contact.upsert", value, &[]).expect("a contact"))
    }

    #[test]
    fn r31_values_of_a_record_are_taken_out_of_what_is_said_and_the_rest_stays() {
        let echo = contact();
        let said =
            "VALIDATION_ERROR Property values were not valid: phone \"+41 44 000 00 00\", SAM, score=4711, 東京都";
        let kept = echo.clean(said);
        for gone in ["000 00 00", "SAM", "Sam", "4711", "東京"] {
            assert!(!kept.contains(gone), "{gone}: {kept}");
        }
        for stays in ["VALIDATION_ERROR", "Property values were not valid", "phone", "score="] {
            assert!(kept.contains(stays), "{stays}: {kept}");
        }
        assert_eq!(
            echo.clean("You have reached your ten_secondly_rolling limit."),
            "You have reached your ten_secondly_rolling limit."
        );
        assert!(echo.clean(&"x ".repeat(2000)).chars().count() <= KEPT_MAX + 1);
    }

    #[test]
    fn r31_a_line_of_a_long_text_is_taken_out_and_common_words_stay() {
        let value = json!({ "record": { "type": "contact", "match": { "id": 101 } },
            "text": "Dear Robin, we are sorry that the parcel 88-1234 went astray; we send it again on Tuesday to your door." });
        let echo = Echo::of(&Payload::parse("crm.note", value, &[]).expect("a note"));
        assert_eq!(
            echo.clean("the note \"sorry that the parcel\" is too long for record 101"),
            "the note \"…\" is too long for record 101"
        );
        assert_eq!(echo.clean("no parcel 1234 here"), "no parcel … here");
        assert_eq!(echo.clean("we are busy, try it again"), "we are busy, try it again");
    }

    #[test]
    fn r31_a_receipt_keeps_its_reference_and_our_own_words() {
        let mut receipt = crate::contract::answer_receipt(
            Some("4711".into()),
            "It answered with record 4711, Sam; +41 44 000 00 00.",
        );
        receipt.quiet(&contact());
        assert!(
            receipt.text.starts_with("It answered with record 4711") && !receipt.text.contains("000"),
            "{}",
            receipt.text
        );
    }
}
