//! The list of kinds: destination file → connector. One line per kind; everything else is in the provider's folder.

use crate::Connector;
use crate::providers::mailbox;
use crate::providers::mailbox::config::MailboxConfig;
use countersign_domain::json::FieldError;
use serde::Serialize;
use std::path::Path;
use toml::{Table, Value};

/// A checked destination file. The password is never in it.
#[derive(Clone, Debug, PartialEq)]
pub struct DestinationConfig {
    pub name: String,
    /// The registry's name: `mailbox`.
    pub kind: &'static str,
    pub environment: String,
    /// None: the default of the settings.
    pub undo_seconds: Option<u32>,
    pub settings: Settings,
}

/// The table named like the kind.
#[derive(Clone, Debug, PartialEq)]
pub enum Settings {
    Mailbox(MailboxConfig),
}

/// What was found out about a destination and is kept by the caller, not in the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Learned {
    /// From [`Connector::test_send`].
    pub files_sent_itself: Option<bool>,
    /// Ports where the embedded sandbox listens today, for SMTP and IMAP. They stand in for those of the file when
    /// connecting; the account is made of the file's.
    pub sandbox_ports: Option<(u16, u16)>,
}

/// A kind as the form and the documentation show it.
#[derive(Clone, Debug, Serialize)]
pub struct Kind {
    pub name: &'static str,
    pub title: &'static str,
    pub effects: Vec<&'static str>,
    pub fields: Vec<FormField>,
    /// What the secret is called: `password`, `token`.
    pub secret: &'static str,
}

#[derive(Clone, Debug, Serialize)]
pub struct FormField {
    /// Key in the kind's table.
    pub key: &'static str,
    pub label: &'static str,
    /// `text`, `list`, `url`, `number`, `choice`, `file`.
    pub kind: &'static str,
    pub required: bool,
    pub default: &'static str,
    pub choices: &'static [&'static str],
    pub help: &'static str,
}

/// All kinds this build has.
pub fn kinds() -> Vec<Kind> {
    vec![mailbox::config::kind()]
}

const TOP_KEYS: [&str; 4] = ["name", "kind", "environment", "undo_seconds"];
const MAX_UNDO_SECONDS: i64 = 3600;

/// Reads and checks a destination file. Errors name the field; unknown keys are refused by name.
pub fn parse(toml_text: &str) -> Result<DestinationConfig, FieldError> {
    let table: Table = toml_text.parse().map_err(|e: toml::de::Error| {
        let line = e.span().map_or(0, |s| toml_text[..s.start].lines().count().max(1));
        FieldError::new("", format!("not valid TOML (line {line}): {}", e.message()))
    })?;
    let name = label(&table, "name")?;
    let kind_name = text(&table, "kind")?;
    let environment = label(&table, "environment")?;
    let undo_seconds = match table.get("undo_seconds") {
        None => None,
        Some(Value::Integer(n)) if (0..=MAX_UNDO_SECONDS).contains(n) => Some(*n as u32),
        Some(_) => return Err(FieldError::new("undo_seconds", "must be a whole number from 0 to 3600")),
    };
    let known = kinds();
    let Some(kind) = known.iter().find(|k| k.name == kind_name) else {
        let names = known.iter().map(|k| k.name).collect::<Vec<_>>().join(", ");
        return Err(FieldError::new("kind", format!("`{kind_name}` is not a kind of destination; there is: {names}")));
    };
    if let Some(stranger) = table.keys().find(|k| !TOP_KEYS.contains(&k.as_str()) && k.as_str() != kind.name) {
        return Err(unknown(stranger, &TOP_KEYS));
    }
    let inner = match table.get(kind.name) {
        Some(Value::Table(t)) => t,
        Some(_) => return Err(FieldError::new(kind.name, "must be a table")),
        None => return Err(FieldError::new(kind.name, format!("the table [{}] is missing", kind.name))),
    };
    let keys: Vec<&str> = kind.fields.iter().map(|f| f.key).collect();
    if let Some(stranger) = inner.keys().find(|k| !keys.contains(&k.as_str())) {
        return Err(unknown(stranger, &keys).within(kind.name));
    }
    let loopback_only = environment == "sandbox";
    let settings = match kind.name {
        mailbox::KIND => MailboxConfig::read(inner, loopback_only).map(Settings::Mailbox),
        other => Err(FieldError::new("", format!("the kind {other} has no reader"))),
    }
    .map_err(|e| e.within(kind.name))?;
    Ok(DestinationConfig { name, kind: kind.name, environment, undo_seconds, settings })
}

/// Makes the connector. `base_dir`: what a relative `ca_file` is relative to.
pub fn connect(
    config: &DestinationConfig,
    base_dir: &Path,
    learned: &Learned,
) -> Result<Box<dyn Connector>, FieldError> {
    match &config.settings {
        Settings::Mailbox(settings) => Ok(Box::new(
            mailbox::MailboxDestination::new(settings, base_dir, learned).map_err(|e| e.within(mailbox::KIND))?,
        )),
    }
}

fn unknown(key: &str, known: &[&str]) -> FieldError {
    if matches!(key, "password" | "secret" | "token" | "api_key") {
        return FieldError::new(key, "secrets are never in the file; hand it over when adding the destination");
    }
    FieldError::new(key, format!("unknown key; known are: {}", known.join(", ")))
}

pub(crate) fn text(table: &Table, key: &str) -> Result<String, FieldError> {
    match table.get(key) {
        Some(Value::String(s)) if !s.trim().is_empty() => Ok(s.clone()),
        Some(Value::String(_)) => Err(FieldError::new(key, "must not be empty")),
        Some(_) => Err(FieldError::new(key, "must be a text")),
        None => Err(FieldError::new(key, "is missing")),
    }
}

/// A name that stands in keys and paths.
fn label(table: &Table, key: &str) -> Result<String, FieldError> {
    let value = text(table, key)?;
    let shape = value.len() <= 64
        && value.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_')
        && value.as_bytes()[0].is_ascii_alphanumeric();
    if shape {
        Ok(value)
    } else {
        Err(FieldError::new(key, "must be 1 to 64 of a-z, 0-9, - and _, beginning with a letter or digit"))
    }
}

#[cfg(test)]
#[path = "registry_test.rs"]
mod tests;
