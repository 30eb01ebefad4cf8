//! What the tables of all HTTP kinds have in common: `base_url`, `answer_timeout_seconds`, `ca_file` and, for kinds that
//! send mail, `from`.

use crate::registry::{FormField, text};
use crate::transport::http::{BaseUrl, Site};
use crate::transport::tls::Trust;
use countersign_domain::canonical::tagged_hash;
use countersign_domain::email::Mailbox;
use countersign_domain::json::FieldError;
use countersign_domain::{AccountFingerprint, Contract};
use serde_json::json;
use std::path::Path;
use std::time::Duration;
use toml::{Table, Value};

/// How long an HTTP API is waited for once the request has left.
pub const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// The common part of a kind's table.
#[derive(Clone, Debug, PartialEq)]
pub struct SiteConfig {
    pub base: BaseUrl,
    /// Empty for kinds that send no mail.
    pub from: Vec<Mailbox>,
    pub answer_timeout: Duration,
    pub ca_file: Option<String>,
}

impl SiteConfig {
    /// Reads it. `default_base`: the provider's own address; None where there is none and the file must say.
    pub fn read(
        table: &Table,
        loopback_only: bool,
        default_base: Option<&str>,
        sends_mail: bool,
    ) -> Result<SiteConfig, FieldError> {
        let optional = |key: &str| if table.contains_key(key) { text(table, key).map(Some) } else { Ok(None) };
        let base = match (optional("base_url")?, default_base) {
            (Some(url), _) => url,
            (None, Some(default)) => default.to_owned(),
            (None, None) => return Err(FieldError::new("base_url", "is missing")),
        };
        let base = BaseUrl::read(&base, loopback_only).map_err(|why| FieldError::new("base_url", why))?;
        let answer_timeout = match table.get("answer_timeout_seconds") {
            None => ANSWER_TIMEOUT,
            Some(Value::Integer(n)) if (1..=3600).contains(n) => Duration::from_secs(*n as u64),
            Some(_) => return Err(FieldError::new("answer_timeout_seconds", "must be a whole number from 1 to 3600")),
        };
        let from = if sends_mail { crate::providers::mailbox::config::senders(table)? } else { Vec::new() };
        Ok(SiteConfig { base, from, answer_timeout, ca_file: optional("ca_file")? })
    }

    /// The form's fields for it, in the order people expect.
    pub fn fields(default_base: &'static str, sends_mail: bool) -> Vec<FormField> {
        let field = |key, label, kind, required, default, help| FormField {
            key,
            label,
            kind,
            required,
            default,
            choices: &[],
            help,
        };
        let mut fields = Vec::new();
        if sends_mail {
            let help = "Who may be in From, one per line: Name <address>. The provider must know the domain";
            fields.push(field("from", "Senders", "list", true, "", help));
        }
        fields.extend([
            field(
                "base_url",
                "Address",
                "url",
                default_base.is_empty(),
                default_base,
                "https://, or http:// on loopback",
            ),
            field("answer_timeout_seconds", "Wait for the answer", "number", false, "60", "Seconds after the request"),
            field(
                "ca_file",
                "Certificate authority",
                "file",
                false,
                "",
                "PEM file, for a server with a certificate of its own",
            ),
        ]);
        fields
    }

    /// Where it is reached.
    pub fn site(&self, base_dir: &Path) -> Result<Site, FieldError> {
        Ok(Site::new(self.base.clone(), Trust::load(self.ca_file.as_deref(), base_dir)?))
    }

    pub fn may_send_as(&self, address: &str) -> bool {
        let wanted = Mailbox { name: None, email: address.to_owned() }.ascii_email();
        self.from.iter().any(|m| m.ascii_email() == wanted)
    }

    /// `countersign/account/v1` of kind, host and senders. The token is not part of it: a new one is the same account.
    pub fn account(&self, kind: &str) -> AccountFingerprint {
        let mut senders: Vec<String> = self.from.iter().map(Mailbox::ascii_email).collect();
        senders.sort();
        senders.dedup();
        let account = json!({ "kind": kind, "hosts": [self.base.place()], "login": "", "sender": senders });
        AccountFingerprint(tagged_hash("countersign/account/v1", &account))
    }

    /// The same for people.
    pub fn account_text(&self, kind: &str) -> String {
        let host = self.base.shown();
        let senders = self.from.iter().map(|m| m.email.as_str()).collect::<Vec<_>>().join(", ");
        if senders.is_empty() { format!("{kind} at {host}") } else { format!("{senders} via {kind} at {host}") }
    }
}

/// A provider's `contract.toml`: one table per contract, each with the effects it holds for. In the order of their names.
///
/// # Panics
/// When it does not hold: it is part of the program, and the crate's tests read every one.
pub fn contracts(contract_toml: &str) -> Vec<(String, Contract)> {
    let read = || -> Result<Vec<(String, Contract)>, String> {
        let file: Table = contract_toml.parse().map_err(|e: toml::de::Error| e.to_string())?;
        file.into_iter()
            .map(|(name, table)| Ok((name, table.try_into::<Contract>().map_err(|e| e.to_string())?)))
            .collect()
    };
    read().unwrap_or_else(|why| panic!("contract.toml is part of the program: {why}"))
}
