//! Destination file → connector. Which kinds there are is the list in [`crate::providers`]; everything else about one is in
//! its folder.

use crate::{Connector, providers};
use countersign_domain::json::FieldError;
use serde::Serialize;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use toml::{Table, Value};

/// Reads a kind's table.
pub type ReadTable = fn(&Table, bool) -> Result<Box<dyn Settings>, FieldError>;

/// What the list says of a provider.
pub struct Provider {
    pub kind: fn() -> Kind,
    /// Reads the table named like the kind; unknown keys are refused before. The flag: the sandbox takes servers on this
    /// machine only.
    pub read: ReadTable,
}

/// A checked table of a destination file, of which a connector can be made.
pub trait Settings: fmt::Debug + Send + Sync {
    /// `base_dir`: what a relative `ca_file` is relative to.
    fn connect(&self, base_dir: &Path, learned: &Learned) -> Result<Box<dyn Connector>, FieldError>;
}

/// A checked destination file. The password is never in it.
#[derive(Clone, Debug)]
pub struct DestinationConfig {
    pub name: String,
    /// The registry's name: `mailbox`.
    pub kind: &'static str,
    pub environment: String,
    /// None: the default of the settings.
    pub undo_seconds: Option<u32>,
    pub settings: Arc<dyn Settings>,
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
    /// `text`, `list`, `url`, `number`, `choice`, `file`, or `secret`: asked for beside the kind's secret, kept with it and
    /// never in the file.
    pub kind: &'static str,
    pub required: bool,
    pub default: &'static str,
    pub choices: &'static [&'static str],
    pub help: &'static str,
}

/// All kinds this build has.
pub fn kinds() -> Vec<Kind> {
    providers::ALL.iter().map(|provider| (provider.kind)()).collect()
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
    let known: Vec<_> = providers::ALL.iter().map(|provider| ((provider.kind)(), provider.read)).collect();
    let Some((kind, read)) = known.iter().find(|(k, _)| k.name == kind_name) else {
        let names = known.iter().map(|(k, _)| k.name).collect::<Vec<_>>().join(", ");
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
    let keys: Vec<&str> = kind.fields.iter().filter(|f| f.kind != "secret").map(|f| f.key).collect();
    if let Some(stranger) = inner.keys().find(|k| !keys.contains(&k.as_str())) {
        return Err(unknown(stranger, &keys).within(kind.name));
    }
    let loopback_only = environment == "sandbox";
    let settings = read(inner, loopback_only).map_err(|e| e.within(kind.name))?;
    Ok(DestinationConfig { name, kind: kind.name, environment, undo_seconds, settings: settings.into() })
}

/// Makes the connector. `base_dir`: what a relative `ca_file` is relative to.
pub fn connect(
    config: &DestinationConfig,
    base_dir: &Path,
    learned: &Learned,
) -> Result<Box<dyn Connector>, FieldError> {
    config.settings.connect(base_dir, learned).map_err(|e| e.within(config.kind))
}

fn unknown(key: &str, known: &[&str]) -> FieldError {
    const SECRETS: [&str; 7] =
        ["password", "secret", "token", "api_key", "client_secret", "refresh_token", "access_token"];
    if SECRETS.contains(&key) {
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
