//! Postmark: mail over its HTTP API. It knows no key; each message carries ours as its tag, by which it is found.

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
    Answer, AnswerCode, Contract, Conversation, Countersigned, IdempotencyKey, ReceiptKind, Sighting,
};
use serde_json::{Map, Value, json};
use std::sync::LazyLock;

/// To, Cc and Bcc together.
const RECIPIENTS_MAX: usize = 50;
/// No server token, or one that is not taken.
const BAD_TOKEN: i64 = 10;

static CONTRACTS: LazyLock<Vec<(String, Contract)>> = LazyLock::new(|| contracts(include_str!("contract.toml")));

pub(crate) const PROVIDER: Provider = mail_api::provider::<Postmark>();

struct Postmark;

#[async_trait]
impl MailProvider for Postmark {
    const KIND: &'static str = "postmark";
    const TITLE: &'static str = "Postmark";
    const BASE_URL: &'static str = "https://api.postmarkapp.com";
    const SECRET: &'static str = "server API token";
    /// Total after base64; text and HTML may have 5 MB each, which is more than a payload may have.
    const REQUEST_MAX: usize = 10_000_000;
    const MEMBERS: Members = Members {
        from: "From",
        people: ["To", "Cc", "Bcc"],
        subject: "Subject",
        text: "TextBody",
        html: "HtmlBody",
        attachments: "Attachments",
        file: ["Name", "Content"],
    };
    const CHECK: &'static str = "/messages/outbound?count=1&offset=0";
    const NEW_SECRET: &'static str = "Take the server's token, not the account's.";

    fn contracts() -> &'static [(String, Contract)] {
        &CONTRACTS
    }

    fn credentials(login: &Login) -> Credentials {
        Credentials::none().with("x-postmark-server-token", login.secret.as_str())
    }

    fn request(
        config: &SiteConfig,
        email: &EmailView,
        key: &IdempotencyKey,
        conversation: Option<&Conversation>,
    ) -> Result<Request, Unrenderable> {
        if email.recipients().count() > RECIPIENTS_MAX {
            let reason =
                format!("with cc and bcc there are more than {RECIPIENTS_MAX} recipients, which Postmark refuses");
            return Err(Unrenderable::new("to", reason));
        }
        let header = |name: &str, value: String| json!({ "Name": name, "Value": value });
        let (in_reply_to, references) = threading(email, conversation);
        let mut headers = vec![header(KEY_HEADER, key.to_string())];
        headers.extend(in_reply_to.map(|parent| header("In-Reply-To", parent)));
        if !references.is_empty() {
            headers.push(header("References", references.join(" ")));
        }
        let mut body = Map::new();
        body.insert("From".into(), address(&email.from).into());
        for (name, list) in [("To", &email.to), ("Cc", &email.cc), ("Bcc", &email.bcc), ("ReplyTo", &email.reply_to)] {
            if !list.is_empty() {
                body.insert(name.into(), addresses(list).join(", ").into());
            }
        }
        body.insert("Subject".into(), email.subject.clone().into());
        for (name, text) in [("TextBody", &email.text), ("HtmlBody", &email.html)] {
            if let Some(text) = text {
                body.insert(name.into(), text.clone().into());
            }
        }
        body.insert("Headers".into(), headers.into());
        body.insert("Tag".into(), key.as_str().into());
        body.insert("Metadata".into(), json!({ "countersign-key": key.as_str() }));
        if !email.attachments.is_empty() {
            let files = email.attachments.iter().map(|a| {
                let content = STANDARD.encode(&a.content.bytes);
                json!({ "Name": a.filename, "Content": content, "ContentType": a.content_type })
            });
            body.insert("Attachments".into(), files.collect());
        }
        Ok(Request::json("POST", config.base.join("/email"), &body.into()))
    }

    fn test_request(config: &SiteConfig, to: &str, nonce: &str) -> Request {
        let test = mail_api::test_payload(to);
        let body = json!({
            "From": address(&config.from[0]), "To": to, "Subject": test["subject"], "TextBody": test["text"],
            "Tag": nonce,
        });
        Request::json("POST", config.base.join("/email"), &body)
    }

    fn read(reply: &HttpReply) -> Answer {
        read(reply)
    }

    fn checked(reply: &HttpReply) -> Option<&'static str> {
        let good = reply.status == 200 && reply.json().is_some_and(|found| found["Messages"].is_array());
        good.then_some("The token may send and look up")
    }

    async fn look(api: &MailApi<Postmark>, order: &Countersigned, login: &Login, _noted: &[Value]) -> Sighting {
        let key = order.idempotency_key().as_str();
        let reply = match api.ask(&format!("/messages/outbound?count=10&offset=0&tag={key}"), login).await {
            Ok(reply) => reply,
            Err(no) => return Sighting::cannot_tell(no.text()),
        };
        let found = reply.json().filter(|_| reply.status == 200).and_then(|body| body["Messages"].as_array().cloned());
        let Some(found) = found else { return mail_api::unseen(read(&reply)) };
        // A search that ignored the tag would show somebody else's messages.
        match found.iter().find(|message| message["Tag"].as_str() == Some(key)) {
            Some(message) => {
                let id = message["MessageID"].as_str().map(str::to_owned);
                let mut receipt = answer_receipt(id, "Postmark has a message with our key as its tag.");
                receipt.kind = ReceiptKind::Lookup;
                Sighting::Found(receipt)
            }
            None => Sighting::NotSeen {
                looked: "No message with our key as its tag among Postmark's outbound messages.".into(),
            },
        }
    }
}

fn read(reply: &HttpReply) -> Answer {
    let status = reply.status;
    let body = reply.json().unwrap_or(Value::Null);
    let words = reply.words(body["Message"].as_str().unwrap_or_default());
    let (code, receipt) =
        match (status, body["ErrorCode"].as_i64(), body["MessageID"].as_str().filter(|id| !id.is_empty())) {
            (200, Some(0), Some(id)) => {
                let receipt = answer_receipt(Some(id.to_owned()), format!("Postmark accepted it: {words}"));
                ("http:200:accepted".to_owned(), Some(receipt))
            }
            (200, _, _) | (_, None, _) => return reply.foreign("Postmark"),
            (_, Some(number), _) => {
                let login = if status == 401 || number == BAD_TOKEN { "login:" } else { "" };
                (format!("http:{login}{status}:{number}"), None)
            }
        };
    Answer { codes: vec![AnswerCode::new(code)], receipt, retry_after: reply.retry_after(), words }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r20_every_recorded_answer_gets_its_outcome() {
        let seen = crate::answers::check(Postmark::KIND, &CONTRACTS[0].1, read);
        assert!(seen > 20, "the folder is read: {seen}");
    }
}
