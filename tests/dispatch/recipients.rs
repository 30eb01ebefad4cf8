//! Who a message goes to after a person changed that: the envelope of a mailbox, the members of a mail API.

use crate::http::Branch;
use crate::office::{MAILBOX, Office, ROBIN, SUPPORT, customers_message, proposal};
use countersign_domain::{ActionId, State};
use countersign_sandbox::api::App;
use countersign_sandbox::apps::described::{Described, Description};
use countersign_sandbox::apps::resend::Resend;
use serde_json::{Value, json};

const OLD: &str = "old@example.test";

/// A reply to all, with somebody in Cc, as the workflow drafted it.
async fn drafted(office: &Office, source: &str, destination: &str) -> ActionId {
    // Everybody is in the customer's message, so that nothing but the reviewer takes anybody out.
    office.sandbox.deliver(SUPPORT, customers_message("r1", &[ROBIN, OLD]).as_bytes());
    let mut document = proposal("r1", &[ROBIN]);
    document["actions"][0]["payload"].as_object_mut().expect("an object").remove("references");
    document["actions"][0]["destination"] = json!(destination);
    document["actions"][0]["payload"]["cc"] = json!([{ "name": "Old Hand", "email": OLD }]);
    let source = office.intake.by_name(source).await.expect("the source is known");
    let answer = office.intake.propose(&source, document.to_string().as_bytes()).await.expect("it is taken");
    answer.actions[0].id.as_deref().expect("it is made").parse().expect("an id")
}

/// The reviewer takes Cc out: emptied in one round, left out in the other.
fn without_cc(payload: &Value, left_out: bool) -> Value {
    let mut payload = payload.clone();
    payload["cc"] = json!([]);
    if left_out {
        payload.as_object_mut().expect("an object").remove("cc");
    }
    payload
}

#[tokio::test(flavor = "multi_thread")]
async fn f34_the_envelope_holds_nobody_who_was_taken_out_of_cc() {
    for left_out in [false, true] {
        let office = Office::new().await;
        let dispatcher = office.dispatcher().await;
        let id = drafted(&office, "inbox-agent", MAILBOX).await;
        let before = office.doc(id).await;
        office.desk.edit(id, None, without_cc(&before.payload, left_out)).await.expect("it is prepared");
        // The fingerprint that was read with Cc in it approves nothing any more.
        assert!(office.desk.approve(id, &before.payload_hash, &[]).await.is_err());
        office.approve(id).await;
        dispatcher.tick().await;
        assert_eq!(office.state(id).await, State::Accepted);
        let effects = office.sandbox.effects();
        assert_eq!(effects.len(), 1);
        assert_eq!(effects[0].envelope.rcpt_to, [ROBIN]);
        assert!(!String::from_utf8_lossy(&effects[0].bytes).contains(OLD));
        assert!(office.sandbox.mailbox(OLD, "INBOX").is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn f34_a_revision_of_what_went_to_cc_goes_to_the_others_only() {
    let office = Office::new().await;
    let dispatcher = office.dispatcher().await;
    let id = drafted(&office, "inbox-agent", MAILBOX).await;
    office.approve(id).await;
    dispatcher.tick().await;
    let sent = office.doc(id).await;
    assert_eq!(sent.state, "accepted");
    let next = office.desk.revise(id, Some(without_cc(&sent.payload, true))).await.expect("a revision");
    let next: ActionId = next.id.parse().expect("an id");
    office.approve(next).await;
    dispatcher.tick().await;
    let effects = office.sandbox.effects();
    let envelopes: Vec<_> = effects.iter().map(|e| e.envelope.rcpt_to.clone()).collect();
    assert_eq!(envelopes, [vec![OLD.to_owned(), ROBIN.to_owned()], vec![ROBIN.to_owned()]]);
}

fn described(text: &str) -> (Description, String, String) {
    let is: Description = serde_json::from_str(text).expect("a description");
    let (table, secret) = (is.table.clone(), is.secret.clone());
    (is, table, secret)
}

#[tokio::test(flavor = "multi_thread")]
async fn f34_a_mail_api_is_told_of_nobody_who_was_taken_out_of_cc() {
    let postmark = include_str!("../../src-tauri/connectors/src/providers/postmark/double.json");
    let mailersend = include_str!("../../src-tauri/connectors/src/providers/mailersend/double.json");
    let resend = ("from = [\"Shop Support <support@shop.example>\"]\n".to_owned(), "re_good_key".to_owned());
    let mut all: Vec<(&'static str, String, String, Box<dyn App>)> =
        vec![("resend", resend.0, resend.1.clone(), Box::new(Resend::new(&resend.1)))];
    for (kind, text) in [("postmark", postmark), ("mailersend", mailersend)] {
        let (is, table, secret) = described(text);
        all.push((kind, table, secret, Box::new(Described::new(is))));
    }
    for (kind, table, secret, app) in all {
        let b = Branch::of(kind, &table, &secret, app).await;
        let id = drafted(&b.office, "agent", "place").await;
        let payload = b.office.doc(id).await.payload;
        b.office.desk.edit(id, None, without_cc(&payload, false)).await.expect("it is prepared");
        b.office.approve(id).await;
        b.tick().await;
        assert_eq!(b.state(id).await, State::Accepted, "{kind}");
        let writes = b.api.writes();
        assert_eq!(writes.len(), 1, "{kind}");
        let body = String::from_utf8_lossy(&writes[0].body).into_owned();
        assert!(body.contains(ROBIN) && !body.contains(OLD), "{kind}: {body}");
    }
}
