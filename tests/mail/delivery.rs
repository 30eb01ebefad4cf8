//! One proposal becomes one message, byte for byte what was approved, in its thread, with one copy in Sent.

use serde_json::json;
use sha2::{Digest, Sha256};
use testkit::mail::without_trace;
use testkit::{Cli, MailServers, Scratch, Session};

use testkit::office::{self, ACCOUNT, ASKED, CUSTOMER, Mailbox, Office};

/// The wire hash as an outsider computes it from what arrived: SHA-256 of the envelope in RFC 8785, a newline, the message.
fn wire_hash(message: &[u8]) -> String {
    let envelope = format!(
        r#"{{"mail_from":"{ACCOUNT}","message_sha256":"{}","rcpt_to":["{CUSTOMER}"]}}"#,
        hex::encode(Sha256::digest(message))
    );
    let mut wire = Sha256::new();
    wire.update(envelope.as_bytes());
    wire.update(b"\n");
    wire.update(message);
    hex::encode(wire.finalize())
}

fn header<'a>(message: &'a str, name: &str) -> Option<&'a str> {
    let head = message.split("\r\n\r\n").next().unwrap_or_default();
    head.split("\r\n").find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

/// TLS, the system's keychain, live: as a person would use it.
fn live_over_tls(files_sent_itself: &str, server_files: bool) {
    let servers = MailServers::start();
    servers.deliver("support", CUSTOMER, ASKED.as_bytes());
    let session = Session::with_keyring();
    let ports = servers.ports();
    let smtp = if server_files {
        format!("smtp+starttls://localhost:{}", ports.submission_files_copy)
    } else {
        format!("smtps://localhost:{}", ports.smtps)
    };
    let mailbox = Mailbox {
        name: "support-mailbox",
        smtp,
        imap: Some(format!("imaps://localhost:{}", ports.imaps)),
        files_sent_itself,
        answer_timeout: 30,
        ca_file: Some(servers.ca_pem()),
        sign_in: None,
    };
    let dir = Scratch::new("");
    let cli = Cli::new(dir.join("home")).with_env(session.env()).with_passphrase(office::PASSPHRASE);
    let office = Office::live(cli, dir, &[mailbox]);

    let id = office.approved_reply();
    let approved = office.show(&id);
    assert_eq!(office.dispatch(), 0);
    let done = office.show(&id);
    assert_eq!(office::state(&done), "accepted", "{done:#}");
    assert_eq!(done["attempts"].as_array().map(Vec::len), Some(1));

    let inbox = servers.wait_for("robin", "INBOX", 1);
    assert_eq!(inbox.len(), 1, "one message");
    let message = without_trace(&inbox[0]);
    assert_eq!(
        wire_hash(&message),
        approved["wire_hash"].as_str().expect("approved"),
        "the bytes are the approved ones"
    );
    let text = String::from_utf8(message.clone()).expect("7-bit");
    assert!(text.is_ascii(), "a 7-bit wire");
    assert_eq!(header(&text, "In-Reply-To"), Some("<m1@customer.example>"));
    assert_eq!(header(&text, "References"), Some("<m1@customer.example>"));
    assert_eq!(header(&text, "Subject"), Some("Re: Delivery slot"));
    let key = done["idempotency_key"].as_str().expect("a key");
    assert_eq!(header(&text, "Message-ID"), Some(format!("<{key}@test.example>").as_str()));
    assert_eq!(header(&text, "X-Countersign-Key"), Some(key));
    assert_eq!(header(&text, "Bcc"), None);

    // The copy is a follow-up; it may still be waiting to see whether the server files one.
    let filed = office.until(&id, "has its copy", |doc| {
        office.run(&["dispatch", "--until-idle"]);
        ["filed", "already_present", "not_needed"].contains(&doc["filing"]["state"].as_str().unwrap_or_default())
    });
    let sent = servers.wait_for("support", "Sent", 1);
    assert_eq!(sent.len(), 1, "exactly once: {filed:#}");
    assert_eq!(without_trace(&sent[0]), message, "the copy is the same bytes");
    assert_eq!(servers.mailbox("robin", "INBOX").len(), 1, "filing sends nothing");
    assert_eq!(office.ok(&["verify"])["broken"], json!([]));
}

#[test]
fn r14_one_proposal_becomes_one_message_of_the_approved_bytes_and_we_file_the_copy_once() {
    live_over_tls("false", false);
}

#[test]
fn f05_where_the_server_files_the_copy_itself_sent_holds_it_once() {
    live_over_tls("true", true);
}

#[test]
fn f05_where_nobody_knows_who_files_the_copy_sent_holds_it_once() {
    let servers = MailServers::start();
    servers.deliver("support", CUSTOMER, ASKED.as_bytes());
    for (port, request) in
        [(servers.ports().submission, "inquiry-1"), (servers.ports().submission_files_copy, "inquiry-2")]
    {
        servers.imap("support").empty("Sent");
        servers.imap("robin").empty("INBOX");
        let office =
            Office::on_a_manual_clock(&[Mailbox { files_sent_itself: "auto", ..Mailbox::plain(port, &servers) }]);
        let id = office.propose(&office::reply(request)).remove(0);
        office.approve(&id);
        assert_eq!(office.dispatch(), 0);
        servers.wait_for("robin", "INBOX", 1);
        servers.settle();
        // Look, wait half a minute, look again, then file.
        office.later(2);
        office.dispatch();
        office.later(2);
        office.dispatch();
        let done = office.show(&id);
        assert_eq!(servers.wait_for("support", "Sent", 1).len(), 1, "{request}: {done:#}");
        assert_eq!(office::state(&done), "accepted");
    }
}

#[test]
fn f08_a_refused_recipient_among_several_keeps_us_out_of_data() {
    let servers = MailServers::start();
    servers.deliver("support", CUSTOMER, ASKED.as_bytes());
    let office = Office::on_a_manual_clock(&[Mailbox::plain(servers.ports().submission, &servers)]);
    let mut proposal = office::reply("inquiry-1");
    proposal["actions"][0]["payload"]["cc"] = json!([{"email": testkit::mail::REFUSED}]);
    let id = office.propose(&proposal).remove(0);
    office.approve(&id);
    assert_eq!(office.dispatch(), 7);
    let done = office.show(&id);
    assert_eq!(office::state(&done), "refused", "{done:#}");
    assert_eq!(done["crossed_once"], false, "the point of no return was not reached");
    servers.settle();
    assert_eq!(servers.mailbox("robin", "INBOX").len(), 0, "the good recipient got nothing either");
}

#[test]
fn f09_a_permanent_refusal_after_the_last_byte_is_final_and_leaves_no_copy() {
    let servers = MailServers::start();
    let office = Office::on_a_manual_clock(&[Mailbox::plain(servers.ports().submission, &servers)]);
    let mut proposal = office::reply("inquiry-1");
    proposal["actions"] = json!([office::action("notice", "support-mailbox", "email.send")]);
    proposal["actions"][0]["payload"]["subject"] = testkit::mail::REFUSED_SUBJECT.into();
    let id = office.propose(&proposal).remove(0);
    office.approve(&id);
    assert_eq!(office.dispatch(), 7);
    for _ in 0..3 {
        office.later(30);
        office.dispatch();
    }
    let done = office.show(&id);
    assert_eq!(office::state(&done), "refused", "{done:#}");
    assert_eq!(done["attempts"].as_array().map(Vec::len), Some(1), "never again");
    servers.settle();
    assert_eq!(servers.mailbox("robin", "INBOX").len() + servers.mailbox("support", "Sent").len(), 0);
}

#[test]
fn r16_when_the_customer_wrote_again_the_reply_waits_for_a_person() {
    let servers = MailServers::start();
    servers.deliver("support", CUSTOMER, ASKED.as_bytes());
    let office = Office::on_a_manual_clock(&[Mailbox::plain(servers.ports().submission, &servers)]);
    let id = office.approved_reply();
    let again = ASKED.replace("<m1@", "<m2@").replace(
        "Subject: ",
        "In-Reply-To: <m1@customer.example>\r\nReferences: <m1@customer.example>\r\nSubject: Re: ",
    );
    servers.deliver("support", CUSTOMER, again.replace("09:15", "09:40").as_bytes());
    office.dispatch();
    let done = office.show(&id);
    assert_eq!(office::state(&done), "needs_review", "{done:#}");
    servers.settle();
    assert_eq!(servers.mailbox("robin", "INBOX").len(), 0, "nothing was sent");
}
