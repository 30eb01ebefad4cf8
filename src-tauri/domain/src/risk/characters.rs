//! Characters that change how a text reads, or that nobody sees (F28). They are shown, never removed: what is signed is
//! what is sent.

use super::{Finding, Weight};
use crate::email::EmailView;
use crate::proposal::Conversation;
use std::collections::BTreeSet;

/// Where a text stands decides what is ordinary in it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Addresses and file names: nothing invisible belongs there.
    Strict,
    /// Names, subjects and bodies: writing systems and emoji need joiners and direction marks.
    Prose,
}

/// Turns the reading direction by force or opens an embedding.
fn turns(c: char) -> bool {
    matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// Forces a direction, as against marking where foreign text begins and ends.
fn forces(c: char) -> bool {
    matches!(c, '\u{202D}' | '\u{202E}')
}

/// Is there without being seen, in whatever company.
fn unseen(c: char) -> bool {
    matches!(c,
        '\u{00AD}' | '\u{034F}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' | '\u{180B}'..='\u{180F}'
        | '\u{200B}' | '\u{2060}'..='\u{2065}' | '\u{206A}'..='\u{206F}' | '\u{2800}' | '\u{3164}' | '\u{FEFF}'
        | '\u{FFA0}' | '\u{FFF9}'..='\u{FFFB}' | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{E0FFF}')
}

/// Joiners and direction marks: needed by writing systems and emoji, odd between Latin letters.
fn joins(c: char) -> bool {
    matches!(c, '\u{200C}' | '\u{200D}' | '\u{200E}' | '\u{200F}' | '\u{061C}')
}

/// Letters among which a joiner does nothing but hide.
fn plain(c: char) -> bool {
    c.is_alphanumeric() && (c as u32) < 0x0530
}

fn name(c: char) -> String {
    let words = match c {
        '\u{202A}' => "left-to-right embedding",
        '\u{202B}' => "right-to-left embedding",
        '\u{202C}' => "end of embedding",
        '\u{202D}' => "left-to-right override",
        '\u{202E}' => "right-to-left override",
        '\u{2066}'..='\u{2069}' => "direction isolate",
        '\u{00AD}' => "soft hyphen",
        '\u{200B}' => "zero-width space",
        '\u{200C}' => "zero-width non-joiner",
        '\u{200D}' => "zero-width joiner",
        '\u{200E}' | '\u{200F}' | '\u{061C}' => "direction mark",
        '\u{2060}' => "word joiner",
        '\u{FEFF}' => "zero-width no-break space",
        '\u{3164}' | '\u{115F}' | '\u{1160}' | '\u{FFA0}' | '\u{2800}' => "blank letter",
        '\u{E0000}'..='\u{E007F}' => "hidden letter (tag)",
        _ => "invisible",
    };
    format!("U+{:04X} ({words})", c as u32)
}

fn hidden_in(text: &str, place: Place) -> BTreeSet<char> {
    let mut found = BTreeSet::new();
    let (mut before, mut flag) = (None, false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let next = chars.peek().copied();
        // A black flag is followed by tags that name a region.
        flag = c == '\u{1F3F4}' || (flag && ('\u{E0020}'..='\u{E007F}').contains(&c));
        let odd = match place {
            Place::Strict => unseen(c) || joins(c),
            Place::Prose if joins(c) => before.is_none_or(plain) && next.is_none_or(plain),
            // At the very beginning of a text it is a mark of its encoding.
            Place::Prose => unseen(c) && !flag && !(c == '\u{FEFF}' && before.is_none()),
        };
        if odd {
            found.insert(c);
        }
        before = Some(c);
    }
    found
}

fn list(chars: &BTreeSet<char>) -> String {
    const SHOWN: usize = 6;
    let mut names: Vec<String> = chars.iter().take(SHOWN).map(|c| name(*c)).collect();
    if chars.len() > SHOWN {
        names.push(format!("{} more", chars.len() - SHOWN));
    }
    names.join(", ")
}

fn check(all: &mut Vec<Finding>, field: &str, text: &str, place: Place) {
    let turning: BTreeSet<char> = text.chars().filter(|c| turns(*c)).collect();
    if !turning.is_empty() {
        // In prose, embeddings and isolates are how two directions are written side by side.
        let forced = place == Place::Strict || turning.iter().any(|c| forces(*c));
        let weight = if forced { Weight::Stop } else { Weight::Note };
        let text = format!("Changes the direction in which it reads: {}.", list(&turning));
        all.push(Finding::new("direction_override", field, weight, text));
    }
    let hidden = hidden_in(text, place);
    if !hidden.is_empty() {
        let text = format!("Has characters that can't be seen: {}.", list(&hidden));
        all.push(Finding::new("invisible_characters", field, Weight::Look, text).holding());
    }
}

pub(super) fn findings(email: &EmailView, conversation: Option<&Conversation>) -> Vec<Finding> {
    let mut all = Vec::new();
    let reply_to = email.reply_to.iter().enumerate().map(|(i, m)| (format!("reply_to[{i}]"), m));
    let from = std::iter::once(("from".to_owned(), &email.from));
    let customer = conversation.and_then(|c| c.from.as_ref()).map(|m| ("conversation.from".to_owned(), m));
    for (path, mailbox) in from.chain(email.recipients()).chain(reply_to).chain(customer) {
        check(&mut all, &format!("{path}.name"), mailbox.name.as_deref().unwrap_or_default(), Place::Prose);
        check(&mut all, &format!("{path}.email"), &mailbox.email, Place::Strict);
    }
    check(&mut all, "subject", &email.subject, Place::Prose);
    check(&mut all, "text", email.text.as_deref().unwrap_or_default(), Place::Prose);
    check(&mut all, "html", email.html.as_deref().unwrap_or_default(), Place::Prose);
    for (i, file) in email.attachments.iter().enumerate() {
        check(&mut all, &format!("attachments[{i}].filename"), &file.filename, Place::Strict);
    }
    all
}
