//! What MailerSend is sent, and what is made of its answers.

use super::*;
use countersign_domain::Payload;
use toml::Table;

fn body(payload: &Value) -> Result<Value, Unrenderable> {
    let effect = if payload.get("in_reply_to").is_some() { "email.reply" } else { "email.send" };
    let email = Payload::parse(effect, payload.clone(), &[]).unwrap().email().unwrap();
    let table: Table = "from = [\"Shop Support <support@shop.example>\"]".parse().unwrap();
    let config = SiteConfig::read(&table, false, Some(MailerSend::BASE_URL), true).unwrap();
    let key = "7c0f8f62-2a6f-4d5e-9a51-6c1d0c9a1f34".parse::<IdempotencyKey>().unwrap();
    let request = MailerSend::request(&config, &email, &key, None)?;
    assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/v1/email"));
    Ok(serde_json::from_slice(&request.body).unwrap())
}

fn mail(more: Value) -> Value {
    let mut mail = json!({
        "from": { "name": "Shop Support", "email": "support@shop.example" },
        "to": [{ "name": "Robin Vale", "email": "robin@customer.example" }], "subject": "Re: Grüße", "text": "Yes."
    });
    mail.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    mail
}

fn reply(status: u16, body: &str) -> HttpReply {
    let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
    HttpReply { status, headers, body: body.as_bytes().to_vec(), ahead_seconds: None }
}

#[test]
fn r20_every_recorded_answer_gets_its_outcome() {
    let seen = crate::answers::check(MailerSend::KIND, &CONTRACTS[0].1, read);
    assert!(seen > 30, "the folder is read: {seen}");
}

#[test]
fn r20_an_error_is_named_by_its_number_and_told_in_its_own_words() {
    let text = r#"{"message":"The given data was invalid.","errors":{"from.email":["Must be verified. #MS42207"]}}"#;
    let answer = read(&reply(422, text));
    assert_eq!(answer.codes[0].0, "http:422:MS42207");
    assert_eq!(answer.words, "422 The given data was invalid. Must be verified. #MS42207");
}

#[test]
fn a_message_is_written_as_its_documentation_says() {
    let sent = body(&mail(json!({
        "cc": [{ "name": "Jörg Müller", "email": "j@müller.example" }],
        "in_reply_to": "<parent.1@customer.example>", "references": ["<first@shop.example>", "<parent.1@customer.example>"],
        "attachments": [{ "filename": "größe.txt", "content_type": "text/plain", "base64": "aGk=" }],
    })));
    let wanted = json!({
        "from": { "email": "support@shop.example", "name": "Shop Support" },
        "to": [{ "email": "robin@customer.example", "name": "Robin Vale" }],
        "cc": [{ "email": "j@xn--mller-kva.example", "name": "Jörg Müller" }],
        "subject": "Re: Grüße", "text": "Yes.", "in_reply_to": "parent.1@customer.example", "references": ["first@shop.example", "parent.1@customer.example"],
        "attachments": [{ "filename": "größe.txt", "content": "aGk=", "disposition": "attachment" }],
    });
    assert_eq!(sent.unwrap(), wanted);
}

#[test]
fn what_it_would_refuse_or_change_is_said_before_an_approval() {
    let people = |n: usize| (0..n).map(|i| json!({ "email": format!("r{i}@customer.example") })).collect::<Value>();
    let file = |name: &str, kind: &str| json!({ "attachments": [{ "filename": name, "content_type": kind, "base64": "aGk=" }] });
    for (name, kind) in [("Größe.PDF", "application/pdf"), ("a.ics", "text/calendar"), ("b.jpg", "image/jpeg")] {
        let taken = body(&mail(file(name, kind)));
        assert!(taken.is_ok(), "{name}: {taken:?}");
    }
    let field = |more: Value| body(&mail(more)).map(drop).map_err(|no| no.field);
    assert_eq!(field(json!({ "to": people(50), "cc": people(10), "bcc": people(10) })), Ok(()));
    for (more, named) in [
        (json!({ "to": people(51) }), "to"),
        (json!({ "cc": people(11) }), "cc"),
        (json!({ "bcc": people(11) }), "bcc"),
        (json!({ "reply_to": people(2) }), "reply_to"),
        (json!({ "cc": [{ "name": "Müller, Jörg", "email": "j@customer.example" }] }), "cc"),
        (json!({ "to": [{ "name": "Sales; Shop", "email": "s@customer.example" }] }), "to"),
        (json!({ "subject": "x".repeat(999) }), "subject"),
        (json!({ "text": "x".repeat(2_000_001) }), "text"),
        (file("program.bin", "application/octet-stream"), "attachments[0].filename"),
        (file("no ending", "text/plain"), "attachments[0].filename"),
        (file("plan.pdf", "application/octet-stream"), "attachments[0].content_type"),
        (file("slot.ics", "text/calendar; method=REQUEST"), "attachments[0].content_type"),
        (json!({ "subject": "Dear {$name}" }), "subject"),
        (json!({ "text": "Dear {{ name }}" }), "text"),
        (json!({ "html": "<p>{{name}}</p>" }), "html"),
    ] {
        assert_eq!(field(more), Err(named.into()), "{named}");
    }
}

#[test]
fn a_check_tells_a_token_that_is_not_taken_from_an_address_that_is_wrong() {
    let good = |status, body: &str| MailerSend::checked(&reply(status, body)).is_some();
    assert!(good(200, r#"{"quota":1000,"remaining":752,"reset":"2023-04-15T00:00:00Z"}"#));
    for (status, body, login) in [
        (401, r#"{"message":"Unauthenticated."}"#, true),
        (200, r#"{"data":[]}"#, false),
        (404, "<h1>Not found</h1>", false),
    ] {
        assert!(!good(status, body), "{body}");
        let answer = read(&reply(status, body));
        assert_eq!(crate::transport::reply::refuses_login(&answer), login, "{answer:?}");
    }
}
