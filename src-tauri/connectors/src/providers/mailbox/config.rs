//! The table `[mailbox]` of a destination file.

use crate::registry::{FormField, Kind, text};
use crate::transport::oauth::OAuthConfig;
use countersign_domain::AccountFingerprint;
use countersign_domain::canonical::tagged_hash;
use countersign_domain::email::Mailbox;
use countersign_domain::json::FieldError;
use serde_json::json;
use std::net::IpAddr;
use std::time::Duration;
use toml::{Table, Value};

/// RFC 5321 4.5.3.2.6 asks to wait so long after the final dot.
pub const ANSWER_TIMEOUT: Duration = Duration::from_secs(600);

#[derive(Clone, Debug, PartialEq)]
pub struct MailboxConfig {
    /// Who may be in From. Never empty.
    pub from: Vec<Mailbox>,
    pub smtp: Endpoint,
    pub imap: Option<Endpoint>,
    pub answer_timeout: Duration,
    /// Empty: the server wants no login (only without `imap`).
    pub username: String,
    /// None: detected by SPECIAL-USE.
    pub sent_folder: Option<String>,
    pub files_sent_itself: FilesSent,
    pub ca_file: Option<String>,
    /// None: user name and password.
    pub oauth: Option<OAuthConfig>,
}

/// How one can sign in.
const AUTH: &[&str] = &["password", "oauth"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilesSent {
    Auto,
    Yes,
    No,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Security {
    Tls,
    StartTls,
    /// Loopback only.
    Plain,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    pub security: Security,
    pub host: String,
    pub port: u16,
}

impl Endpoint {
    /// Reads `smtps://host:port` and its relatives. `protocol`: `smtp` or `imap`.
    fn read(protocol: &str, text: &str, loopback_only: bool) -> Result<Endpoint, String> {
        let forms = format!(
            "{protocol}s://HOST[:PORT], {protocol}+starttls://HOST[:PORT] or, on loopback only, {protocol}+plain://HOST:PORT"
        );
        let (scheme, rest) = text.split_once("://").ok_or_else(|| format!("must be {forms}"))?;
        let (security, default_port) = match scheme.strip_prefix(protocol) {
            Some("s") => (Security::Tls, if protocol == "smtp" { 465 } else { 993 }),
            Some("+starttls") => (Security::StartTls, if protocol == "smtp" { 587 } else { 143 }),
            Some("+plain") => (Security::Plain, 0),
            _ => return Err(format!("must be {forms}")),
        };
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        Endpoint::at(security, rest, default_port, loopback_only, &forms)
    }

    /// Reads `host[:port]`. `default_port` 0: none. `forms`: what is said of something else.
    pub(crate) fn at(
        security: Security,
        rest: &str,
        default_port: u16,
        loopback_only: bool,
        forms: &str,
    ) -> Result<Endpoint, String> {
        // A name or password in an address would be shown with it, everywhere. Nothing of it is repeated here.
        if rest.contains('@') {
            return Err(
                "holds a user name or password; the secret is handed over beside it, when the destination is added"
                    .into(),
            );
        }
        let (host, port) = match rest.strip_prefix('[').and_then(|r| r.split_once(']')) {
            Some((v6, "")) => (v6, None),
            Some((v6, tail)) => (v6, tail.strip_prefix(':')),
            None => rest.split_once(':').map_or((rest, None), |(h, p)| (h, Some(p))),
        };
        let port = match port {
            None => default_port,
            Some(p) => p.parse::<u16>().map_err(|_| format!("has no port behind its colon: {forms}"))?,
        };
        if port == 0 {
            return Err("needs a port".into());
        }
        let is_name = host.parse::<IpAddr>().is_ok()
            || (!host.is_empty()
                && host.len() <= 253
                && host.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'.'));
        if !is_name {
            return Err(format!("must hold nothing but a host name and a port: {forms}"));
        }
        let endpoint = Endpoint { security, host: host.to_ascii_lowercase(), port };
        if !endpoint.is_loopback() {
            if security == Security::Plain {
                return Err(
                    "without encryption only a server on this machine is taken (127.0.0.1, [::1], localhost)".into()
                );
            }
            if loopback_only {
                return Err("the sandbox takes servers on this machine only (127.0.0.1, [::1], localhost)".into());
            }
        }
        Ok(endpoint)
    }

    pub fn is_loopback(&self) -> bool {
        self.host == "localhost" || self.host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
    }

    fn text(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }
}

impl MailboxConfig {
    pub(crate) fn read(table: &Table, loopback_only: bool) -> Result<MailboxConfig, FieldError> {
        let endpoint = |key: &str| {
            Endpoint::read(key, &text(table, key)?, loopback_only).map_err(|reason| FieldError::new(key, reason))
        };
        let smtp = endpoint("smtp")?;
        let imap = if table.contains_key("imap") { Some(endpoint("imap")?) } else { None };
        OAuthConfig::checked(table, AUTH)?;
        let oauth = OAuthConfig::read(table, loopback_only)?;
        let needs_name = table.contains_key("username") || imap.is_some() || oauth.is_some();
        let username = if needs_name { text(table, "username")? } else { String::new() };
        let optional = |key: &str| if table.contains_key(key) { text(table, key).map(Some) } else { Ok(None) };
        let sent_folder = optional("sent_folder")?.filter(|f| f != "auto");
        if sent_folder.as_ref().is_some_and(|f| f.chars().any(|c| c.is_control() || !c.is_ascii())) {
            return Err(FieldError::new("sent_folder", "must be the folder's name as the server lists it, in ASCII"));
        }
        let files_sent_itself = match table.get("files_sent_itself") {
            None => FilesSent::Auto,
            Some(Value::Boolean(true)) => FilesSent::Yes,
            Some(Value::Boolean(false)) => FilesSent::No,
            Some(Value::String(s)) if s == "auto" => FilesSent::Auto,
            Some(Value::String(s)) if s == "true" => FilesSent::Yes,
            Some(Value::String(s)) if s == "false" => FilesSent::No,
            Some(_) => return Err(FieldError::new("files_sent_itself", "must be true, false or \"auto\"")),
        };
        let answer_timeout = match table.get("answer_timeout_seconds") {
            None => ANSWER_TIMEOUT,
            Some(Value::Integer(n)) if (1..=3600).contains(n) => Duration::from_secs(*n as u64),
            Some(_) => return Err(FieldError::new("answer_timeout_seconds", "must be a whole number from 1 to 3600")),
        };
        Ok(MailboxConfig {
            from: senders(table)?,
            smtp,
            imap,
            answer_timeout,
            username,
            sent_folder,
            files_sent_itself,
            ca_file: optional("ca_file")?,
            oauth,
        })
    }

    /// `countersign/account/v1` of kind, hosts, login and senders. Display names and limits are not part of it.
    pub fn account(&self) -> AccountFingerprint {
        let mut senders: Vec<String> = self.from.iter().map(Mailbox::ascii_email).collect();
        senders.sort();
        senders.dedup();
        AccountFingerprint(tagged_hash(
            "countersign/account/v1",
            &json!({
                "kind": super::KIND,
                "hosts": [self.smtp.text(), self.imap.as_ref().map(Endpoint::text)],
                "login": self.username,
                "sender": senders,
            }),
        ))
    }

    pub fn account_text(&self) -> String {
        let senders = self.from.iter().map(|m| m.email.as_str()).collect::<Vec<_>>().join(", ");
        match &self.imap {
            Some(imap) if imap.host != self.smtp.host => {
                format!("{senders} via {}, mailbox at {}", self.smtp.host, imap.host)
            }
            Some(_) => format!("{senders} via {}", self.smtp.host),
            None => format!("{senders} via {}, no mailbox", self.smtp.host),
        }
    }

    pub fn may_send_as(&self, email: &str) -> bool {
        let wanted = Mailbox { name: None, email: email.to_owned() }.ascii_email();
        self.from.iter().any(|m| m.ascii_email() == wanted)
    }
}

pub(crate) fn senders(table: &Table) -> Result<Vec<Mailbox>, FieldError> {
    let list: Vec<&Value> = match table.get("from") {
        Some(Value::Array(items)) => items.iter().collect(),
        Some(one @ Value::String(_)) => vec![one],
        Some(_) => return Err(FieldError::new("from", "must be a list of addresses")),
        None => return Err(FieldError::new("from", "is missing")),
    };
    if list.is_empty() {
        return Err(FieldError::new("from", "needs at least one address"));
    }
    let read = |v: &Value| v.as_str().ok_or_else(|| "must be a text".to_owned())?.parse::<Mailbox>().map_err(|e| e.0);
    let named = |i: usize| move |why: String| FieldError::new(format!("from[{i}]"), why);
    list.iter().enumerate().map(|(i, v)| read(v).map_err(named(i))).collect()
}

pub(crate) fn kind() -> Kind {
    let field = |key, label, kind, required, default, choices, help| FormField {
        key,
        label,
        kind,
        required,
        default,
        choices,
        help,
    };
    let mut kind = Kind {
        name: super::KIND,
        title: "Mailbox (SMTP and IMAP)",
        effects: vec!["email.send", "email.reply"],
        secret: "password",
        fields: vec![
            field("from", "Senders", "list", true, "", &[], "Who may be in From, one per line: Name <address>"),
            field(
                "smtp",
                "Sending server",
                "url",
                true,
                "",
                &[],
                "smtps://smtp.example.com:465 or smtp+starttls://smtp.example.com:587",
            ),
            field(
                "imap",
                "Mailbox server",
                "url",
                false,
                "",
                &[],
                "imaps://imap.example.com:993. Without it a lost answer cannot be looked up",
            ),
            field("username", "User name", "text", true, "", &[], "For both servers"),
            field("sent_folder", "Sent folder", "text", false, "auto", &[], "auto finds it by its marking"),
            field(
                "files_sent_itself",
                "Copy in Sent",
                "choice",
                false,
                "auto",
                &["auto", "true", "false"],
                "Whether the provider files it by itself; auto learns it",
            ),
            field(
                "answer_timeout_seconds",
                "Wait for the answer",
                "number",
                false,
                "600",
                &[],
                "Seconds after the final dot",
            ),
            field(
                "ca_file",
                "Certificate authority",
                "file",
                false,
                "",
                &[],
                "PEM file, for a server with a certificate of its own",
            ),
        ],
    };
    kind.fields.extend(OAuthConfig::fields(AUTH));
    kind
}
