//! MailerSend: mail over its HTTP API. It knows no key and takes nothing by which a message could be found again, so after
//! doubt a person is asked. Its yes has no body: what it gives is a number in a header.

use crate::mail_api::{self, MailApi, MailProvider, Members};
use crate::registry::Provider;
use crate::site::{SiteConfig, contracts};
use crate::transport::http::{Credentials, Request};
use crate::{HttpReply, Login, Unrenderable};
use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use countersign_domain::contract::answer_receipt;
use countersign_domain::email::{EmailAttachment, EmailView, Mailbox, threading};
use countersign_domain::size::size_in_words;
use countersign_domain::{
    Answer, AnswerCode, Contract, Conversation, Countersigned, IdempotencyKey, Receipt, Sighting,
};
use serde_json::{Map, Value, json};
use std::sync::LazyLock;

const TO_MAX: usize = 50;
/// Of Cc, and of Bcc.
const COPIES_MAX: usize = 10;
const SUBJECT_MAX: usize = 998;
/// Of a text, and of an HTML body.
const BODY_MAX: usize = 2_000_000;
/// Of one file, decoded.
const FILE_MAX: usize = 25_000_000;
/// Endings of files that it takes.
const ENDINGS: [&str; 64] = [
    "txt", "csv", "log", "css", "ics", "xml", "jpg", "jpe", "jpeg", "gif", "png", "bmp", "psd", "tif", "tiff", "svg",
    "indd", "ai", "eps", "doc", "docx", "rtf", "odt", "ott", "pdf", "pub", "pages", "mobi", "epub", "mp3", "m4a",
    "m4v", "wma", "ogg", "flac", "wav", "aif", "aifc", "aiff", "mp4", "mov", "avi", "mkv", "mpeg", "mpg", "wmv", "xls",
    "xlsx", "ods", "numbers", "odp", "ppt", "pptx", "pps", "key", "zip", "vcf", "eml", "p7c", "p7m", "p7s", "pgp",
    "asc", "sig",
];
/// How the places begin that MailerSend fills in: its simple and its advanced personalization.
const PLACES: [&str; 2] = ["{$", "{{"];

static CONTRACTS: LazyLock<Vec<(String, Contract)>> = LazyLock::new(|| contracts(include_str!("contract.toml")));

pub(crate) const PROVIDER: Provider = mail_api::provider::<MailerSend>();

struct MailerSend;

#[async_trait]
impl MailProvider for MailerSend {
    const KIND: &'static str = "mailersend";
    const TITLE: &'static str = "MailerSend";
    const BASE_URL: &'static str = "https://api.mailersend.com";
    const SECRET: &'static str = "API token";
    /// A limit was not found in its documentation: this is more than any payload makes.
    const REQUEST_MAX: usize = 50_000_000;
    const MEMBERS: Members = Members {
        from: "from",
        people: ["to", "cc", "bcc"],
        subject: "subject",
        text: "text",
        html: "html",
        attachments: "attachments",
        file: ["filename", "content"],
    };
    /// <https://developers.mailersend.com/api/v1/other-endpoints.html>: 401 to a token that is none, and not counted.
    const CHECK: &'static str = "/v1/api-quota";
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
        _key: &IdempotencyKey,
        conversation: Option<&Conversation>,
    ) -> Result<Request, Unrenderable> {
        can_be_said(email)?;
        let mut body = Map::new();
        body.insert("from".into(), person(&email.from));
        for (name, list) in [("to", &email.to), ("cc", &email.cc), ("bcc", &email.bcc)] {
            if !list.is_empty() {
                body.insert(name.into(), list.iter().map(person).collect());
            }
        }
        if let Some(reply_to) = email.reply_to.first() {
            body.insert("reply_to".into(), person(reply_to));
        }
        body.insert("subject".into(), email.subject.clone().into());
        for (name, text) in [("text", &email.text), ("html", &email.html)] {
            if let Some(text) = text {
                body.insert(name.into(), text.clone().into());
            }
        }
        let (in_reply_to, references) = threading(email, conversation);
        if let Some(parent) = in_reply_to {
            body.insert("in_reply_to".into(), bare(&parent).into());
        }
        if !references.is_empty() {
            body.insert("references".into(), references.iter().map(|id| bare(id)).collect());
        }
        if !email.attachments.is_empty() {
            // It tells the type by the name's ending and takes none: see `can_be_attached`.
            let files = email.attachments.iter().map(|a| {
                let content = STANDARD.encode(&a.content.bytes);
                json!({ "filename": a.filename, "content": content, "disposition": "attachment" })
            });
            body.insert("attachments".into(), files.collect());
        }
        Ok(Request::json("POST", config.base.join("/v1/email"), &body.into()))
    }

    fn test_request(config: &SiteConfig, to: &str, _nonce: &str) -> Request {
        let mut body = mail_api::test_payload(to);
        body["from"] = person(&config.from[0]);
        body["to"] = json!([{ "email": to }]);
        Request::json("POST", config.base.join("/v1/email"), &body)
    }

    fn read(reply: &HttpReply) -> Answer {
        read(reply)
    }

    fn checked(reply: &HttpReply) -> Option<&'static str> {
        // Any good token may ask this; what it may do besides, MailerSend does not tell.
        let good = reply.status == 200 && reply.json().is_some_and(|found| found["quota"].is_number());
        good.then_some("The token is good. Whether it may send, the test message shows")
    }

    async fn look(_: &MailApi<MailerSend>, _: &Countersigned, _: &Login, _: &[Value]) -> Sighting {
        Sighting::cannot_tell("MailerSend takes nothing of ours by which a message could be found")
    }
}

/// What MailerSend would refuse, or would send other than it was approved.
fn can_be_said(email: &EmailView) -> Result<(), Unrenderable> {
    for (field, list, most) in
        [("to", &email.to, TO_MAX), ("cc", &email.cc, COPIES_MAX), ("bcc", &email.bcc, COPIES_MAX)]
    {
        if list.len() > most {
            return Err(Unrenderable::new(field, format!("has more than {most} addresses, which MailerSend refuses")));
        }
        // Left out in silence, the message would not be the one on the screen.
        if list.iter().any(|mailbox| mailbox.name.as_deref().is_some_and(|name| name.contains([',', ';']))) {
            let reason = "has a name with a comma or semicolon in it, which MailerSend refuses".to_owned();
            return Err(Unrenderable::new(field, reason));
        }
    }
    if email.reply_to.len() > 1 {
        return Err(Unrenderable::new("reply_to", "has more than one address; MailerSend takes one".to_owned()));
    }
    if email.subject.chars().count() > SUBJECT_MAX {
        let reason = format!("has more than {SUBJECT_MAX} characters, which MailerSend refuses");
        return Err(Unrenderable::new("subject", reason));
    }
    for (field, text) in [("text", &email.text), ("html", &email.html)] {
        if text.as_ref().is_some_and(|text| text.len() > BODY_MAX) {
            let most = size_in_words(BODY_MAX as u64);
            return Err(Unrenderable::new(field, format!("is larger than the {most} that MailerSend takes")));
        }
    }
    for (i, file) in email.attachments.iter().enumerate() {
        can_be_attached(file).map_err(|(field, why)| Unrenderable::new(format!("attachments[{i}].{field}"), why))?;
    }
    let everybody = [std::slice::from_ref(&email.from), &email.to, &email.cc, &email.bcc, &email.reply_to];
    for (field, list) in ["from", "to", "cc", "bcc", "reply_to"].into_iter().zip(everybody) {
        if list.iter().any(|mailbox| !mailbox.ascii_email().is_ascii()) {
            let reason = "has letters before the @ that MailerSend does not take".to_owned();
            return Err(Unrenderable::new(field, reason));
        }
    }
    let texts = [("subject", Some(&email.subject)), ("text", email.text.as_ref()), ("html", email.html.as_ref())];
    for (field, text) in texts {
        if let Some(place) = PLACES.into_iter().find(|place| text.is_some_and(|text| text.contains(place))) {
            let reason = format!("has {place} in it, where MailerSend would put something else");
            return Err(Unrenderable::new(field, reason));
        }
    }
    Ok(())
}

/// MailerSend takes files of these endings only, and takes no type: it tells the type by the ending. A file that would
/// arrive as another one than was approved is refused.
fn can_be_attached(file: &EmailAttachment) -> Result<(), (&'static str, String)> {
    let name = &file.filename;
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase()).unwrap_or_default();
    if !ENDINGS.contains(&ending.as_str()) {
        return Err((
            "filename",
            format!("`{name}` has an ending that MailerSend does not take; put it into a .zip file"),
        ));
    }
    let size = file.content.bytes.len();
    if size > FILE_MAX {
        let (size, most) = (size_in_words(size as u64), size_in_words(FILE_MAX as u64));
        return Err((
            "filename",
            format!("`{name}` has {size}; MailerSend takes at most {most} in a file. Send a link to it"),
        ));
    }
    let told = mime_guess::from_ext(&ending);
    if !told.iter().any(|kind| kind.essence_str().eq_ignore_ascii_case(file.content_type.trim())) {
        let by_name = told.first().map_or_else(|| "another type".to_owned(), |kind| kind.essence_str().to_owned());
        let why = format!(
            "`{name}` would arrive as {by_name}, since MailerSend tells the type of a file by its name alone: give it that \
             type without parameters, or another name"
        );
        return Err(("content_type", why));
    }
    Ok(())
}

/// A message id without its brackets. Documented for `in_reply_to`; for `references` no form is, and one API has one form
/// [inference].
fn bare(id: &str) -> &str {
    id.trim_start_matches('<').trim_end_matches('>')
}

fn person(mailbox: &Mailbox) -> Value {
    let email = mailbox.ascii_email();
    match mailbox.name.as_deref().filter(|name| !name.trim().is_empty()) {
        Some(name) => json!({ "email": email, "name": name }),
        None => json!({ "email": email }),
    }
}

fn read(reply: &HttpReply) -> Answer {
    let status = reply.status;
    let body = reply.json().unwrap_or(Value::Null);
    let known = match body["message"].as_str().filter(|text| !text.is_empty()) {
        _ if status == 202 => taken(reply, &body),
        Some(message) if status >= 400 => {
            let name = number(&body).unwrap_or_else(|| "unnumbered".to_owned());
            let login = if status == 401 { "login:" } else { "" };
            Some((
                format!("http:{login}{status}:{name}"),
                None,
                std::iter::once(message).chain(errors(&body)).collect(),
            ))
        }
        _ => None,
    };
    let Some((code, receipt, said)) = known else { return reply.foreign("MailerSend") };
    let words = reply.words(&said.join(" "));
    Answer { codes: vec![AnswerCode::new(code)], receipt, retry_after: reply.retry_after(), words }
}

/// A 202: a number and no body, unless there are recipients that it does not write to any more.
fn taken<'a>(reply: &HttpReply, body: &Value) -> Option<(String, Option<Receipt>, Vec<&'a str>)> {
    let id = reply.header("x-message-id").map(str::trim).filter(|id| !id.is_empty());
    let warnings = body["warnings"].as_array().filter(|all| !all.is_empty());
    let all_are = |kind: &str| warnings.is_some_and(|all| all.iter().all(|warning| warning["type"] == kind));
    let paused = reply.header("x-send-paused").is_some_and(|value| !value.trim().eq_ignore_ascii_case("false"));
    Some(match id {
        // Taken and not going out: whether it ever will is not known.
        Some(_) if paused => ("http:202:paused".into(), None, vec!["it was taken, but sending is paused there"]),
        Some(id) if reply.body.is_empty() => {
            let receipt = answer_receipt(Some(id.to_owned()), "MailerSend accepted it.");
            ("http:202:accepted".into(), Some(receipt), vec!["accepted"])
        }
        Some(_) if all_are("SOME_SUPPRESSED") => {
            let said = "it was taken, but not for recipients that MailerSend does not write to any more";
            ("http:202:SOME_SUPPRESSED".into(), None, vec![said])
        }
        None if all_are("ALL_SUPPRESSED") => {
            ("http:202:ALL_SUPPRESSED".into(), None, vec!["MailerSend does not write to these recipients any more"])
        }
        _ => return None,
    })
}

/// `MS42207` of `… #MS42207`, where the message or an error has one.
fn number(body: &Value) -> Option<String> {
    let texts = body["message"].as_str().into_iter().chain(errors(body));
    texts.filter_map(|text| text.split_once("#MS")).find_map(|(_, rest)| {
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        (!digits.is_empty()).then(|| format!("MS{digits}"))
    })
}

/// What it says of each field.
fn errors(body: &Value) -> impl Iterator<Item = &str> {
    let fields = body["errors"].as_object().into_iter().flat_map(Map::values);
    fields.flat_map(|field| field.as_array().into_iter().flatten()).filter_map(Value::as_str)
}

#[cfg(test)]
#[path = "mailersend_test.rs"]
mod tests;
