//! Proposals by mail: what is taken, what is refused, and where each message goes (R09, R10).

use crate::letters::{
    self, FOLDER, HOUR, Letters, SOURCE, WORD, attached, message, multipart, part, proposal, signature,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use testkit::office::{self, ASKED, CUSTOMER, Mailbox, Office};
use testkit::{MailServers, wait};

fn start() -> Letters {
    let servers = MailServers::start();
    servers.deliver("support", CUSTOMER, ASKED.as_bytes());
    let office = Office::on_a_manual_clock(&[Mailbox::plain(servers.ports().submission, &servers)]);
    Letters::new(servers, office)
}

#[test]
fn r09_a_signed_proposal_by_mail_becomes_one_action_however_often_it_comes() {
    let letters = start();
    let running = letters.watch(&[]);
    let signed = letters.signed("inquiry-1");
    letters.deliver(&signed);
    letters.settled(1, 0);
    let [id] = &letters.actions()[..] else { panic!("one action") };
    assert_eq!(letters.office.show(id)["source"], SOURCE);
    letters.office.approve(id);
    letters.office.until(id, "is accepted", |doc| office::state(doc) == "accepted");
    assert_eq!(letters.servers.wait_for("robin", "INBOX", 1).len(), 1);

    // Delivered once more, and played back into the folder an hour later.
    letters.deliver(&signed);
    letters.put(letters::now() + HOUR, &signed);
    letters.settled(3, 0);
    assert_eq!(letters.actions().len(), 1);
    assert_eq!(letters.dispositions(id), ["created", "duplicate", "duplicate"]);
    let (code, log) = running.stop();
    assert_eq!(code, 0, "it ends in order: {log}");
    assert!(!log.contains(WORD), "{log}");
    assert_eq!(letters.servers.wait_for("robin", "INBOX", 1).len(), 1, "no second effect");
    let inbox = letters.servers.mailbox("support", "INBOX");
    assert!(
        inbox.iter().any(|m| String::from_utf8_lossy(m).contains("Can I move my slot?")),
        "the Inbox is not touched"
    );
    letters.office.ok(&["verify"]);
}

#[test]
fn r09_the_document_is_found_in_every_shape_a_mail_program_gives_it() {
    let letters = start();
    let running = letters.watch(&[]);
    let signed = |request: &str, content: &dyn Fn(&str) -> String| {
        let document = proposal(request).to_string();
        let fields = signature(&letters.secret, &format!("msg_{request}"), letters::now(), &document);
        letters.deliver(&message(&fields, &content(&document)));
    };
    signed("nested", &|document| {
        let words =
            multipart("alternative", "b-2", &[letters::text(), "Content-Type: text/html\r\n\r\n<p>\r\n".into()]);
        let inner = multipart("mixed", "b-3", &[words, part(document)]);
        multipart("signed; protocol=\"x/y\"", "b-4", &[inner, "Content-Type: x/y\r\n\r\nAAAA\r\n".into()])
    });
    signed("quoted", &|document| {
        let coded = document.replace('=', "=3D").replace("ü", "=C3=BC").replace("ß", "=C3=9F");
        let soft = coded.replace(",", ",=\r\n");
        let kind = "Content-Type: application/vnd.countersign.proposal+json\r\n";
        let part = format!("{kind}Content-Transfer-Encoding: quoted-printable\r\n\r\n{soft}\r\n");
        multipart("mixed", "b-5", &[letters::text(), part])
    });
    signed("alone", &part);
    letters.settled(3, 0);
    let mut requests: Vec<Value> =
        letters.actions().iter().map(|id| letters.office.show(id)["request_id"].clone()).collect();
    requests.sort_by_key(Value::to_string);
    assert_eq!(requests, ["alone", "nested", "quoted"]);
    running.stop();
}

#[test]
fn r09_a_large_document_comes_whole_and_one_that_is_too_large_is_never_fetched() {
    let letters = start();
    let running = letters.watch(&[]);
    // Several pieces of what one command fetches; the limit of the document is 35 MiB.
    let file: Vec<u8> = (0..5 << 20_u32).map(|n: u32| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let mut document = proposal("large");
    let kind = "application/octet-stream";
    document["actions"][0]["payload"]["attachments"] =
        serde_json::json!([{ "filename": "a.bin", "content_type": kind, "base64": STANDARD.encode(&file) }]);
    let document = document.to_string();
    let fields = signature(&letters.secret, "msg_1", letters::now(), &document);
    letters.deliver(&message(&fields, &attached(&document)));
    letters.settled(1, 0);
    let attachment = &letters.office.show(&letters.actions()[0])["payload"]["attachments"][0];
    assert_eq!(attachment["size"], file.len());
    let fields = signature(&letters.secret, "msg_2", letters::now(), "{}");
    letters.deliver(&message(&fields, &part(&" ".repeat(40 << 20))));
    letters.settled(1, 1);
    let (_, log) = running.stop();
    assert!(log.contains("larger than a proposal may be"), "{log}");
}

#[test]
fn r10_a_message_that_no_source_has_signed_as_it_is_goes_to_refused_and_leaves_nothing() {
    let letters = start();
    let former = letters::add_source(&letters.office, "former");
    letters.office.ok(&["source", "revoke", "former"]);
    let running = letters.watch(&[]);
    let now = letters::now();
    let document = proposal("inquiry-1").to_string();
    let content = attached(&document);
    let good = signature(&letters.secret, "msg_1", now, &document);
    let other = format!("whsec_{}", STANDARD.encode([7_u8; 32]));
    let refused = [
        message("", &content),
        message(&signature(&other, "msg_1", now, &document), &content),
        message(&signature(&former, "msg_1", now, &document), &content),
        message(&good, &attached(&document.replace("10 to 12", "10 to 13"))),
        message(&good.replace("msg_1", "msg_2"), &content),
        message(&format!("{good}webhook-id: msg_1\r\n"), &content),
        message(&good, &multipart("mixed", "b-1", &[part(&document), part(&document)])),
        message(&good, &letters::text()),
        message("", &multipart("mixed", "b-1", &[letters::text(), format!("{good}{}", part(&document))])),
        "no message at all".to_owned(),
    ];
    for message in &refused {
        letters.deliver(message);
    }
    letters.settled(0, refused.len());
    assert_eq!(letters.actions(), Vec::<String>::new());
    for source in [SOURCE, "former"] {
        let told = letters.office.ok(&["source", "refusals", source]);
        assert_eq!(told["refusals"], serde_json::json!([]), "a stranger writes nothing into a source's list");
        assert_eq!(told["not_taken"], serde_json::json!([]));
    }
    let (_, log) = running.stop();
    for why in [
        "it is not signed",
        "no source has signed it",
        "webhook-id is missing, there twice",
        "more than one part",
        "no part of it",
    ] {
        assert!(log.contains(why), "{why}: {log}");
    }
    assert!(!log.contains(WORD) && !log.contains("10 to 1"), "nothing of a message is in the log: {log}");
    letters.office.ok(&["verify"]);
}

#[test]
fn r10_what_a_known_source_may_not_is_refused_and_told_to_the_owner() {
    let letters = start();
    let running = letters.watch(&[]);
    let now = letters::now();
    let send = |arrived: i64, id: &str, at: i64, document: &Value| {
        let document = document.to_string();
        letters.put(arrived, &message(&signature(&letters.secret, id, at, &document), &attached(&document)));
    };
    send(now, "msg_1", now - 25 * HOUR, &proposal("too-late"));
    send(now, "msg_2", now + HOUR, &proposal("from-tomorrow"));
    let mut malformed = proposal("malformed");
    malformed["actions"][0]["payload"]["colour"] = "red".into();
    send(now, "msg_3", now, &malformed);
    let mut elsewhere = proposal("elsewhere");
    elsewhere["actions"][0]["destination"] = "another".into();
    send(now, "msg_4", now, &elsewhere);
    // An hour in a queue, and a weekend in the folder of a computer that was off.
    send(now, "msg_5", now - 23 * HOUR, &proposal("slow"));
    send(now - 60 * HOUR, "msg_6", now - 61 * HOUR, &proposal("weekend"));
    letters.settled(2, 4);
    assert_eq!(letters.actions().len(), 2);
    let told = letters.office.ok(&["source", "refusals", SOURCE]);
    let whys: Vec<&str> =
        told["refusals"].as_array().expect("a list").iter().map(|r| r["why"].as_str().expect("text")).collect();
    assert_eq!(whys.iter().filter(|why| why.contains("24 hours")).count(), 2, "{told:#}");
    assert_eq!(whys.iter().filter(|why| why.starts_with("actions[0].payload.colour")).count(), 1, "{told:#}");
    assert_eq!(whys.len(), 3, "{told:#}");
    assert!(told["refusals"].as_array().expect("a list").iter().all(|r| r["door"] == "mail"), "{told:#}");
    assert_eq!(
        told["not_taken"].as_array().map(Vec::len),
        Some(1),
        "the delivery itself tells of the fourth: {told:#}"
    );
    running.stop();
}

#[test]
fn r09_what_is_no_letterbox_is_refused_by_name_before_anything_is_opened() {
    let letters = start();
    let other = "name = \"blind\"\nkind = \"mailbox\"\nenvironment = \"sandbox\"\n[mailbox]\n\
                 from = [\"support@test.example\"]\nsmtp = \"smtp+plain://127.0.0.1:2525\"\nusername = \"support\"\n";
    letters.office.add_destination("blind", other, "secret");
    let refused = |which: &str, code: i32| {
        let error = letters.office.run(&["serve", "--watch-mailbox", which]).expect(code).error();
        assert_eq!(error["field"], "watch-mailbox", "{error}");
    };
    refused("nobody", 5);
    refused("blind", 2);
    for folder in ["inbox", "", "a*", "Vorschläge", "a\"b"] {
        refused(&format!("support-mailbox:{folder}"), 2);
    }
    assert!(!letters.servers.imap("support").has(FOLDER));
}

#[test]
fn r09_a_folder_that_has_another_use_is_left_alone_and_another_name_is_made() {
    let letters = start();
    letters.servers.imap("support").append("Sent", letters.signed("inquiry-1").as_bytes());
    let running =
        letters.watch(&["--watch-mailbox", "support-mailbox:Sent", "--watch-mailbox", "support-mailbox:Agents/In"]);
    wait::until("the other folder is made", || letters.servers.imap("support").has("Agents/In/refused").then_some(()));
    letters.servers.imap("support").append("Agents/In", letters.signed("inquiry-2").as_bytes());
    letters.servers.wait_for("support", "Agents/In/accepted", 1);
    letters.deliver(&letters.signed("inquiry-3"));
    letters.settled(1, 0);
    let (_, log) = running.stop();
    assert_eq!(log.matches("has another use").count(), 1, "told once: {log}");
    assert_eq!(letters.servers.mailbox("support", "Sent").len(), 1);
    assert_eq!(letters.actions().len(), 2);
}
