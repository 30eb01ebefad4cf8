//! Resend: mail over its HTTP API, with a key that it honours for 24 hours.

use crate::mail_api::{self, MailApi, MailProvider, Members, address, addresses};
use crate::mime::KEY_HEADER;
use crate::registry::Provider;
use crate::site::{SiteConfig, contracts};
use crate::transport::http::{Credentials, Request};
use crate::{HttpReply, Login, Unrenderable};
use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use countersign_domain::contract::answer_receipt;
use countersign_domain::email::{EmailView, threading};
use countersign_domain::{
    Answer, AnswerCode, Contract, Conversation, Countersigned, IdempotencyKey, Receipt, ReceiptKind, Sighting,
    Strength, Timestamp,
};
use serde_json::{Map, Value, json};
use std::sync::LazyLock;

/// Documented for `to`; Resend counts each list by itself.
const RECIPIENTS_MAX: usize = 50;
/// Clocks differ, and the list is dated by theirs.
const CLOCKS_DIFFER: i64 = 10 * 60 * 1000;

static CONTRACTS: LazyLock<Vec<(String, Contract)>> = LazyLock::new(|| contracts(include_str!("contract.toml")));

pub(crate) const PROVIDER: Provider = mail_api::provider::<Resend>();

struct Resend;

#[async_trait]
impl MailProvider for Resend {
    const KIND: &'static str = "resend";
    const TITLE: &'static str = "Resend";
    const BASE_URL: &'static str = "https://api.resend.com";
    const SECRET: &'static str = "API key";
    /// With attachments, encoded [unverified].
    const REQUEST_MAX: usize = 40_000_000;
    const MEMBERS: Members = Members {
        from: "from",
        people: ["to", "cc", "bcc"],
        subject: "subject",
        text: "text",
        html: "html",
        attachments: "attachments",
        file: ["filename", "content"],
    };
    const CHECK: &'static str = "/emails?limit=1";
    const NEW_SECRET: &'static str = "Make a new one and add it here.";

    fn contracts() -> &'static [(String, Contract)] {
        &CONTRACTS
    }

    fn credentials(login: &Login) -> Credentials {
        Credentials::bearer(&login.secret)
    }

    fn request(
        config: &SiteConfig,
        email: &EmailView,
        key: &IdempotencyKey,
        conversation: Option<&Conversation>,
    ) -> Result<Request, Unrenderable> {
        for (field, list) in [("to", &email.to), ("cc", &email.cc), ("bcc", &email.bcc)] {
            if list.len() > RECIPIENTS_MAX {
                return Err(Unrenderable::new(
                    field,
                    format!("has more than {RECIPIENTS_MAX} addresses, which Resend refuses"),
                ));
            }
        }
        let (in_reply_to, references) = threading(email, conversation);
        let mut headers = Map::new();
        headers.insert(KEY_HEADER.into(), key.as_str().into());
        if let Some(parent) = in_reply_to {
            headers.insert("In-Reply-To".into(), parent.into());
        }
        if !references.is_empty() {
            headers.insert("References".into(), references.join(" ").into());
        }
        let mut body = Map::new();
        body.insert("from".into(), address(&email.from).into());
        body.insert("to".into(), addresses(&email.to).into());
        for (name, list) in [("cc", &email.cc), ("bcc", &email.bcc), ("reply_to", &email.reply_to)] {
            if !list.is_empty() {
                body.insert(name.into(), addresses(list).into());
            }
        }
        body.insert("subject".into(), email.subject.clone().into());
        for (name, text) in [("text", &email.text), ("html", &email.html)] {
            if let Some(text) = text {
                body.insert(name.into(), text.clone().into());
            }
        }
        body.insert("headers".into(), headers.into());
        if !email.attachments.is_empty() {
            let file = |a: &countersign_domain::email::EmailAttachment| json!({ "filename": a.filename, "content": STANDARD.encode(&a.content.bytes), "content_type": a.content_type });
            body.insert("attachments".into(), email.attachments.iter().map(file).collect());
        }
        let request = Request::json("POST", config.base.join("/emails"), &body.into());
        Ok(request.with("idempotency-key", key.as_str()))
    }

    fn test_request(config: &SiteConfig, to: &str, nonce: &str) -> Request {
        let mut body = mail_api::test_payload(to);
        body["from"] = address(&config.from[0]).into();
        Request::json("POST", config.base.join("/emails"), &body).with("idempotency-key", nonce)
    }

    fn read(reply: &HttpReply) -> Answer {
        read(reply)
    }

    fn checked(reply: &HttpReply) -> Option<&'static str> {
        if reply.status == 200 && reply.json().is_some_and(|list| list["data"].is_array()) {
            return Some("The key may send and look up");
        }
        let may_send = error_name(reply).as_deref() == Some("restricted_api_key");
        may_send.then_some("The key may only send: after 24 hours a lost answer cannot be looked up")
    }

    /// The list of sent mail. Nothing in it carries our key, so what is found is a hint.
    async fn look(api: &MailApi<Resend>, order: &Countersigned, login: &Login, noted: &[Value]) -> Sighting {
        let since = noted.first().and_then(|n| n["at"].as_str()).and_then(|t| t.parse::<Timestamp>().ok());
        // Before a request of ours was on its way nothing in the list could be told from others' mail.
        let Some(since) = since else {
            return Sighting::NotSeen { looked: "Nothing of this action was on its way to Resend.".into() };
        };
        let reply = match api.ask("/emails?limit=100", login).await {
            Ok(reply) => reply,
            Err(no) => return Sighting::cannot_tell(no.text()),
        };
        let sent = match (reply.status, reply.json()) {
            (200, Some(list)) if list["data"].is_array() => list["data"].clone(),
            _ => {
                return match error_name(&reply).as_deref() {
                    Some("restricted_api_key") => {
                        Sighting::cannot_tell("the key may only send, so the list of sent mail cannot be read")
                    }
                    _ => mail_api::unseen(read(&reply)),
                };
            }
        };
        let Some(ours) = Request::open(order.wire()).ok().and_then(|r| serde_json::from_slice::<Value>(&r.body).ok())
        else {
            return Sighting::cannot_tell("the stored request cannot be read");
        };
        let same = |mail: &&Value| {
            mail["subject"] == ours["subject"]
                && bare(&mail["to"]) == bare(&ours["to"])
                && mail["created_at"]
                    .as_str()
                    .is_some_and(|at| dated(at).is_none_or(|at| at >= since.millis() - CLOCKS_DIFFER))
        };
        let found = sent.as_array().into_iter().flatten().find(same);
        match found {
            Some(mail) => Sighting::Found(Receipt {
                kind: ReceiptKind::Lookup,
                reference: mail["id"].as_str().map(str::to_owned),
                text: "Resend's list of sent mail has a message with these recipients and this subject from about that time.".into(),
                strength: Strength::Weak,
                by: None,
            }),
            None => Sighting::NotSeen { looked: "Not among the last 100 messages in Resend's list of sent mail.".into() },
        }
    }
}

/// The addresses alone, lower case, sorted.
fn bare(list: &Value) -> Vec<String> {
    let mut all: Vec<String> = list
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(|text| text.rsplit_once('<').map_or(text, |(_, a)| a.trim_end_matches('>')).to_ascii_lowercase())
        .collect();
    all.sort();
    all
}

/// Milliseconds of `2026-11-02T09:15:00.123+00:00` or with a space, as the API writes it.
fn dated(text: &str) -> Option<i64> {
    let text = text.replacen(' ', "T", 1).replace("+00:00", "Z").replace("+00", "Z");
    text.parse::<Timestamp>().ok().map(|t| t.millis())
}

/// The `name` of the API's own error body.
fn error_name(reply: &HttpReply) -> Option<String> {
    reply.json()?["name"].as_str().map(str::to_owned)
}

/// Names of a key that is not taken, whatever the status; the documentation gives some with 401 and with 403.
fn is_login(status: u16, name: &str) -> bool {
    status == 401 || matches!(name, "missing_api_key" | "invalid_api_key" | "restricted_api_key")
}

fn read(reply: &HttpReply) -> Answer {
    let body = reply.json().unwrap_or_default();
    let text = |name: &str| body[name].as_str().unwrap_or_default();
    let status = reply.status;
    let (code, receipt, words) = match (text("id"), text("name")) {
        (id, "") if status == 200 && !id.is_empty() && body["error"].is_null() => {
            let receipt = answer_receipt(Some(id.to_owned()), "Resend accepted it.");
            ("http:200:accepted".to_owned(), Some(receipt), "200 accepted".to_owned())
        }
        (_, "") => return reply.foreign("Resend"),
        (_, name) => {
            let login = if is_login(status, name) { "login:" } else { "" };
            (format!("http:{login}{status}:{name}"), None, reply.words(text("message")))
        }
    };
    Answer { codes: vec![AnswerCode::new(code)], receipt, retry_after: reply.retry_after(), words }
}

#[cfg(test)]
#[path = "resend_test.rs"]
mod tests;
