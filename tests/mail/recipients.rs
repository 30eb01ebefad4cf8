//! Who a message goes to after a person changed that, counted in the mailboxes of the real servers.

use serde_json::{Value, json};
use testkit::MailServers;
use testkit::mail::without_trace;
use testkit::office::{self, ASKED, CUSTOMER, Mailbox, Office};

const CAROL: &str = "carol@test.example";

/// A file with this action's payload, without Cc.
fn without_cc(office: &Office, doc: &Value, name: &str) -> String {
    let mut payload = doc["payload"].clone();
    assert_eq!(payload["cc"][0]["email"], CAROL, "{payload:#}");
    payload["cc"] = json!([]);
    office.file(name, &payload.to_string())
}

/// What lies in her inbox and names her nowhere in his.
fn carol_has(servers: &MailServers, messages: usize) {
    servers.settle();
    assert_eq!(servers.mailbox("carol", "INBOX").len(), messages);
}

#[test]
fn f34_somebody_who_was_taken_out_of_cc_gets_nothing_and_stands_in_no_header() {
    let servers = MailServers::start();
    servers.deliver("support", CUSTOMER, ASKED.as_bytes());
    let office = Office::on_a_manual_clock(&[Mailbox::plain(servers.ports().submission, &servers)]);
    let mut proposal = office::reply("inquiry-1");
    proposal["actions"][0]["payload"]["cc"] = json!([{ "email": CAROL }]);
    let id = office.propose(&proposal).remove(0);
    let edited = without_cc(&office, &office.show(&id), "edited.json");
    office.ok(&["edit", &id, "--payload", &edited]);
    office.approve(&id);
    assert_eq!(office.dispatch(), 0);
    let inbox = servers.wait_for("robin", "INBOX", 1);
    carol_has(&servers, 0);
    let message = String::from_utf8(without_trace(&inbox[0])).expect("7-bit");
    assert!(!message.contains("carol"), "{message}");
    assert!(!String::from_utf8_lossy(&servers.wait_for("support", "Sent", 1)[0]).contains("carol"), "nor in the copy");
}

#[test]
fn f34_a_revision_without_cc_goes_to_the_others_only() {
    let servers = MailServers::start();
    servers.deliver("support", CUSTOMER, ASKED.as_bytes());
    let office = Office::on_a_manual_clock(&[Mailbox::plain(servers.ports().submission, &servers)]);
    let mut proposal = office::reply("inquiry-1");
    proposal["actions"][0]["payload"]["cc"] = json!([{ "email": CAROL }]);
    let id = office.propose(&proposal).remove(0);
    office.approve(&id);
    assert_eq!(office.dispatch(), 0);
    servers.wait_for("carol", "INBOX", 1);
    let doc = office.show(&id);
    let edited = without_cc(&office, &doc, "revised.json");
    let revision = office.ok(&["revise", &id, "--payload", &edited]);
    let next = revision["id"].as_str().expect("a new action").to_owned();
    office.approve(&next);
    assert_eq!(office.dispatch(), 0);
    assert_eq!(servers.wait_for("robin", "INBOX", 2).len(), 2);
    carol_has(&servers, 1);
}
