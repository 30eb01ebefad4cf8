//! Places in a text that were meant to be filled and were not: `{order}`, `{{ name }}`, `[your name]`. A snippet leaves
//! them where nothing was known, a model where it knew nothing.

use super::{Finding, Weight, html};
use crate::email::EmailView;
use std::collections::BTreeSet;

/// Longest name of a place, in characters.
pub const NAME_MAX: usize = 40;
const SHOWN: usize = 4;

/// What the text in square brackets begins with when it is a place to be filled, and not a note or a reference.
const ASKS: [&str; 22] = [
    "your",
    "customer",
    "client",
    "recipient",
    "company",
    "insert",
    "add",
    "enter",
    "first",
    "last",
    "full",
    "ihr",
    "ihre",
    "kunde",
    "kunden",
    "name",
    "vorname",
    "nachname",
    "date",
    "datum",
    "amount",
    "betrag",
];
const ASKS_IN_FULL: [&str; 4] = ["order number", "invoice number", "phone number", "link here"];

fn in_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ' ')
}

/// The places of a text as they stand in it, with their braces, in order.
pub fn places(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(next) = text[at..].find(['{', '[']).map(|i| at + i) {
        match braced(&text[next..]).or_else(|| bracketed(&text[next..])) {
            Some(length) => {
                found.push(&text[next..next + length]);
                at = next + length;
            }
            None => at = next + 1,
        }
    }
    found
}

/// The name between the braces of a place.
pub fn name_of(place: &str) -> &str {
    place.trim_matches(['{', '}', '[', ']']).trim()
}

/// Bytes of the place that the text begins with.
fn braced(text: &str) -> Option<usize> {
    let inner = text.strip_prefix('{')?;
    let doubled = inner.starts_with('{');
    let inner = inner.strip_prefix('{').unwrap_or(inner);
    let end = inner.find('}')?;
    let name = inner[..end].trim_matches([' ', '\t']);
    let named = name.starts_with(char::is_alphabetic) && name.chars().all(in_name) && name.chars().count() <= NAME_MAX;
    let closes = !doubled || inner[end..].starts_with("}}");
    let length = text.len() - inner.len() + end + if doubled { 2 } else { 1 };
    (named && closes).then_some(length)
}

fn bracketed(text: &str) -> Option<usize> {
    let inner = text.strip_prefix('[')?;
    let end = inner.find([']', '\n'])?;
    let words = inner[..end].to_lowercase();
    let first: String = words.chars().take_while(|c| c.is_alphanumeric()).collect();
    let asks = ASKS.contains(&first.as_str()) || ASKS_IN_FULL.iter().any(|said| words.starts_with(said));
    (inner[end..].starts_with(']') && asks && words.chars().count() <= 2 * NAME_MAX).then_some(end + 2)
}

/// The finding of a text that has such places.
pub fn unfilled(field: &str, text: &str) -> Option<Finding> {
    let mut seen = BTreeSet::new();
    let open: Vec<&str> = places(text).into_iter().filter(|place| seen.insert(*place)).collect();
    let mut named = open.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", ");
    if open.len() > SHOWN {
        named.push_str(&format!(", {} more", open.len() - SHOWN));
    }
    let finding = Finding::new("unfilled_placeholder", field, Weight::Look, format!("Still to be filled: {named}."));
    (!open.is_empty()).then(|| finding.holding())
}

pub(super) fn findings(email: &EmailView) -> Vec<Finding> {
    let shown = email.html.as_deref().and_then(html::words).unwrap_or_default();
    let text = email.text.as_deref().unwrap_or_default();
    [("subject", email.subject.as_str()), ("text", text), ("html", shown.as_str())]
        .into_iter()
        .filter_map(|(field, text)| unfilled(field, text))
        .collect()
}
