//! Canned texts with fields to be filled, kept with each workspace. A change is a setting, so the journal tells who made it;
//! what is filled in stands in drafts only.

use super::Desk;
use crate::failure::Failure;
use crate::view::{SnippetDoc, SnippetField};
use countersign_domain::risk::{PLACE_NAME_MAX, place_name, places};
use std::collections::BTreeSet;

const SNIPPETS_MAX: usize = 100;
const NAME_MAX: usize = 80;
/// Bytes of one text: each change of one writes all of them into the journal.
const TEXT_MAX: usize = 8 << 10;
const ALL_MAX: usize = 128 << 10;

const KINDS: [&str; 5] = ["text", "number", "amount", "date", "email"];

fn key(environment: &str) -> String {
    format!("snippets/{environment}")
}

/// Checks a snippet and gives it exactly the fields of its text, in their order.
fn checked(mut snippet: SnippetDoc) -> Result<SnippetDoc, Failure> {
    snippet.name = snippet.name.trim().to_owned();
    let chars = snippet.name.chars();
    if snippet.name.is_empty() || chars.clone().count() > NAME_MAX || chars.clone().any(char::is_control) {
        return Err(Failure::bad_input("name", format!("1 to {NAME_MAX} characters are expected")));
    }
    if snippet.text.trim().is_empty() {
        return Err(Failure::bad_input("text", "is empty"));
    }
    if snippet.text.len() > TEXT_MAX || snippet.text.contains('\0') {
        return Err(Failure::bad_input("text", format!("is longer than {} KiB", TEXT_MAX >> 10)));
    }
    let mut seen = BTreeSet::new();
    let mut fields = Vec::new();
    for place in places(&snippet.text).into_iter().filter(|place| place.starts_with('{')) {
        let name = place_name(place);
        if !seen.insert(name.to_owned()) {
            continue;
        }
        let told = snippet.fields.iter().find(|field| field.name == name);
        let kind = told.map_or("text", |field| field.kind.as_str());
        if !KINDS.contains(&kind) {
            return Err(Failure::bad_input("fields", format!("a field is one of {}", KINDS.join(", "))));
        }
        fields.push(SnippetField { name: name.to_owned(), kind: kind.to_owned() });
    }
    if let Some(field) = snippet.fields.iter().find(|field| !seen.contains(&field.name)) {
        let name: String = field.name.chars().take(PLACE_NAME_MAX).collect();
        return Err(Failure::bad_input("fields", format!("the text has no {{{name}}}")));
    }
    snippet.fields = fields;
    Ok(snippet)
}

impl Desk {
    /// Those of the workspace that is shown, by name.
    pub async fn snippets(&self) -> Result<Vec<SnippetDoc>, Failure> {
        let stored = self.ledger().setting(&key(&self.environment().await?)).await?;
        let parse = |text: String| {
            serde_json::from_str(&text).map_err(|_| Failure::integrity("the setting snippets is no list of snippets"))
        };
        stored.filter(|text| !text.is_empty()).map(parse).transpose().map(Option::unwrap_or_default)
    }

    /// Adds a snippet, or puts it in the place of the one of that name.
    ///
    /// # Errors
    /// Bad input with the field; conflict where another one has the name already.
    pub async fn set_snippet(&self, instead_of: Option<&str>, snippet: SnippetDoc) -> Result<Vec<SnippetDoc>, Failure> {
        let snippet = checked(snippet)?;
        let mut all = self.snippets().await?;
        if let Some(old) = instead_of {
            let before = all.len();
            all.retain(|one| one.name != old);
            if all.len() == before {
                return Err(Failure::not_found("there is no snippet of this name").at("name"));
            }
        }
        if all.iter().any(|one| one.name.to_lowercase() == snippet.name.to_lowercase()) {
            return Err(Failure::conflict("another snippet has this name").at("name"));
        }
        if all.len() >= SNIPPETS_MAX {
            return Err(Failure::bad_input("name", format!("there are {SNIPPETS_MAX} snippets; remove one first")));
        }
        all.push(snippet);
        self.keep(all).await
    }

    pub async fn remove_snippet(&self, name: &str) -> Result<Vec<SnippetDoc>, Failure> {
        let mut all = self.snippets().await?;
        all.retain(|one| one.name != name);
        self.keep(all).await
    }

    async fn keep(&self, mut all: Vec<SnippetDoc>) -> Result<Vec<SnippetDoc>, Failure> {
        all.sort_by_key(|one| one.name.to_lowercase());
        let text = serde_json::to_string(&all).map_err(|why| Failure::internal(why.to_string()))?;
        if text.len() > ALL_MAX {
            let why = format!("all snippets together are longer than {} KiB", ALL_MAX >> 10);
            return Err(Failure::bad_input("text", why));
        }
        let key = key(&self.environment().await?);
        self.ledger().set_setting(&key, &text, &self.core.owner.0, self.now()).await?;
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snippet(name: &str, text: &str, fields: &[(&str, &str)]) -> SnippetDoc {
        let field = |(name, kind): &(&str, &str)| SnippetField { name: (*name).into(), kind: (*kind).into() };
        SnippetDoc { name: name.into(), text: text.into(), fields: fields.iter().map(field).collect() }
    }

    #[test]
    fn r13_a_snippet_has_exactly_the_fields_of_its_text() {
        let made = checked(snippet(" Sent ", "Dear {name}, {order} left, {name}.", &[("order", "number")])).unwrap();
        assert_eq!(
            made,
            snippet("Sent", "Dear {name}, {order} left, {name}.", &[("name", "text"), ("order", "number")])
        );
    }

    #[test]
    fn r13_what_is_no_snippet_is_refused_with_its_field() {
        let field = |one: SnippetDoc| checked(one).unwrap_err().field.unwrap();
        assert_eq!(field(snippet(" ", "x", &[])), "name");
        assert_eq!(field(snippet("a\u{7}", "x", &[])), "name");
        assert_eq!(field(snippet("a", " \n", &[])), "text");
        assert_eq!(field(snippet("a", &"x".repeat(TEXT_MAX + 1), &[])), "text");
        assert_eq!(field(snippet("a", "{b}", &[("b", "colour")])), "fields");
        assert_eq!(field(snippet("a", "{b}", &[("c", "text")])), "fields");
    }
}
