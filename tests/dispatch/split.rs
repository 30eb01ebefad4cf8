//! Split or repeated replies: a second message to the same thread or person waits for a person who saw the first.

use crate::office::{MAILBOX, Office, ROBIN, SUPPORT, Setup, customers_message, proposal};
use countersign_domain::{ActionId, Approval, Conversation, Signable, State, Wire};
use countersign_engine::view::FindingDoc;
use countersign_engine::{Code, SANDBOX};
use serde_json::{Value, json};
use std::time::Duration;

const SPLIT_REPLY: &str = "split_reply";
const DAY: Duration = Duration::from_secs(24 * 3600);

async fn hand_in(office: &Office, document: &Value) -> Vec<ActionId> {
    let source = office.intake.by_name("inbox-agent").await.expect("the source is known");
    let answer = office.intake.propose(&source, document.to_string().as_bytes()).await.expect("it is taken");
    answer.actions.iter().map(|a| a.id.as_deref().expect("an action").parse().expect("an id")).collect()
}

/// Another step of the same request, to the same person in the same thread.
fn with_step(mut document: Value, event: &str, step: &str) -> Value {
    document["event_id"] = json!(event);
    document["actions"][0]["step"] = json!(step);
    document["actions"][0]["payload"]["text"] = json!(format!("The {step}.\n"));
    document
}

async fn open(office: &Office, id: ActionId) -> Vec<FindingDoc> {
    let mut findings = office.doc(id).await.findings;
    findings.retain(|f| f.code == SPLIT_REPLY && f.holds && f.cleared.is_none());
    findings
}

async fn approve_unseen(office: &Office, id: ActionId) -> Result<(), Code> {
    let hash = office.doc(id).await.payload_hash;
    office.desk.approve(id, &hash, &[]).await.map(drop).map_err(|e| e.code)
}

#[tokio::test(flavor = "multi_thread")]
async fn r17_another_step_of_the_same_request_is_a_second_reply_unless_both_were_proposed_together() {
    let office = Office::new().await;
    office.sandbox.deliver(SUPPORT, customers_message("r1", &[ROBIN]).as_bytes());
    let first = hand_in(&office, &proposal("r1", &[ROBIN])).await[0];
    let second = hand_in(&office, &with_step(proposal("r1", &[ROBIN]), "evt-2", "second-reply")).await[0];
    office.approve(first).await;
    assert_eq!(approve_unseen(&office, second).await, Err(Code::NotPermitted), "the first one is on its way");
    let dispatcher = office.dispatcher().await;
    dispatcher.tick().await;
    assert_eq!(approve_unseen(&office, second).await, Err(Code::NotPermitted), "the first one was accepted");
    dispatcher.tick().await;
    assert_eq!((office.sandbox.effects().len(), office.state(second).await), (1, State::Prepared));
    assert_eq!(open(&office, second).await.len(), 1);
    office.approve(second).await;
    dispatcher.tick().await;
    assert_eq!(
        (office.state(second).await, office.effects(second).await),
        (State::Accepted, 1),
        "a person wanted both"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn r17_what_was_proposed_together_is_approved_together_and_held_once_the_other_went() {
    let office = Office::new().await;
    office.sandbox.deliver(SUPPORT, customers_message("r1", &[ROBIN]).as_bytes());
    let mut document = proposal("r1", &[ROBIN]);
    for step in ["second", "third"] {
        let more = with_step(proposal("r1", &[ROBIN]), "evt-r1", step)["actions"][0].clone();
        document["actions"].as_array_mut().expect("a list").push(more);
    }
    document["actions"][1]["after"] = json!("first-reply");
    let ids = hand_in(&office, &document).await;
    approve_unseen(&office, ids[0]).await.expect("nothing went yet");
    approve_unseen(&office, ids[1]).await.expect("proposed together with what is on its way");
    let dispatcher = office.dispatcher().await;
    dispatcher.tick().await;
    for id in &ids[..2] {
        assert_eq!((office.state(*id).await, office.effects(*id).await), (State::Accepted, 1), "both were approved");
    }
    assert_eq!(approve_unseen(&office, ids[2]).await, Err(Code::NotPermitted), "the other two are with the customer");
    assert_eq!(open(&office, ids[2]).await.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn r17_two_spellings_of_one_address_are_one_person() {
    let office = Office::new().await;
    let first = office.propose_to("r1", &["robin@bücher.example"]).await;
    let second = office.propose_to("r2", &["Robin@xn--bcher-kva.example"]).await;
    office.approve(first).await;
    let found = open(&office, second).await;
    assert_eq!(found.iter().map(|f| f.field.clone()).collect::<Vec<_>>(), [first.to_string()]);
}

#[tokio::test(flavor = "multi_thread")]
async fn r16_a_touch_of_an_old_message_is_no_new_one() {
    let office = Office::new().await;
    let first = office.approved("r1").await;
    let dispatcher = office.dispatcher().await;
    dispatcher.tick().await;
    assert_eq!(office.state(first).await, State::Accepted);
    office.later(15 * DAY);
    dispatcher.tick().await;
    let second = office.propose("r2").await;
    assert!(open(&office, second).await.is_empty(), "long ago, in another thread");
    office.approve(second).await;
    office.later(Duration::from_secs(1));
    // The source delivers the old one again, under a newer version: its row changes, and nothing is sent.
    let mut again = proposal("r1", &[ROBIN]);
    (again["event_id"], again["source_version"]) = (json!("evt-again"), json!(9));
    assert_eq!(hand_in(&office, &again).await, [first]);
    dispatcher.tick().await;
    assert_eq!((office.state(second).await, office.effects(second).await), (State::Accepted, 1), "{MAILBOX}");
}

/// A signature under it as it stands, not stored yet.
async fn signed(office: &Office, id: ActionId) -> (Approval, Wire) {
    let core = &office.core;
    let secret = core.ledger_secret().await.expect("a secret");
    let s = core.ledger.signable(id, &secret).await.expect("it can be signed");
    let (_, connector) = core.destinations.connector(MAILBOX).await.expect("it is there");
    let (told, now) = (s.detail.conversation.as_ref(), office.clock.now());
    let wire = connector.render(&s.sealed, &s.idempotency_key, told, now).expect("it can be sent");
    let what = Signable {
        key: s.sealed.key().clone(),
        payload_version: s.sealed.version(),
        payload_hash: s.sealed.hash(),
        wire_hash: wire.hash(),
        account: s.destination.account,
        conversation: told.map(Conversation::hash),
    };
    let signer = core.signer(SANDBOX, None).await.expect("a key");
    let (person, device) = (&signer.person, &signer.device);
    let approval = Approval::sign(&what, s.sealed.hash(), person, device, s.sequence, now, now.plus(3 * DAY));
    (approval.expect("it is the current one"), wire)
}

#[tokio::test(flavor = "multi_thread")]
async fn r16_of_two_replies_approved_at_once_the_second_waits_for_a_person_when_the_first_has_gone() {
    // Without IMAP there is no Sent folder to ask: our own ledger alone knows.
    let office = Office::with(Setup { imap: false, ..Setup::default() }).await;
    let first = hand_in(&office, &proposal("r1", &[ROBIN])).await[0];
    let second = hand_in(&office, &with_step(proposal("r1", &[ROBIN]), "evt-2", "second-reply")).await[0];
    // Two people at two windows: each looked before the other one's decision was stored.
    let (approval, wire) = signed(&office, second).await;
    office.approve(first).await;
    let now = office.clock.now();
    office.core.ledger.approve(second, &approval, &wire, 1, now, false, now).await.expect("it is stored");
    assert_eq!((office.state(first).await, office.state(second).await), (State::Approved, State::Approved));
    office.later(Duration::from_secs(1));
    let dispatcher = office.dispatcher().await;
    dispatcher.tick().await;
    assert_eq!((office.state(first).await, office.effects(first).await), (State::Accepted, 1));
    let held = office.doc(second).await;
    assert_eq!((held.state.as_str(), office.sandbox.effects().len()), ("needs_review", 1));
    assert!(held.reason.as_deref().unwrap_or_default().contains(&first.to_string()), "{:?}", held.reason);
    // With the first one in view a person may still want it.
    office.desk.confirm(second, None, None).await.expect("it can be confirmed");
    assert_eq!(open(&office, second).await.len(), 1);
    office.approve(second).await;
    dispatcher.tick().await;
    assert_eq!((office.state(second).await, office.effects(second).await), (State::Accepted, 1));
}
