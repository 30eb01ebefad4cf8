//! Messages that no person wrote: marked, approved one by one, and only so many a day in one thread (F41).

use crate::office::{Office, ROBIN, SUPPORT, Setup, customers_message, proposal};
use countersign_domain::{ActionId, State};
use countersign_engine::Code;
use countersign_engine::view::{ApproveOne, FindingDoc};
use serde_json::{Value, json};
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

async fn hand_in(office: &Office, document: &Value) -> Vec<ActionId> {
    let source = office.intake.by_name("inbox-agent").await.expect("the source is known");
    let answer = office.intake.propose(&source, document.to_string().as_bytes()).await.expect("it is taken");
    answer.actions.iter().map(|a| a.id.as_deref().expect("it is made").parse().expect("an id")).collect()
}

async fn marked(office: &Office, id: ActionId, code: &str) -> Vec<FindingDoc> {
    let mut findings = office.doc(id).await.findings;
    findings.retain(|f| f.code == code);
    findings
}

#[tokio::test(flavor = "multi_thread")]
async fn f41_an_automatic_answer_is_marked_by_the_mailbox_though_the_source_does_not_tell() {
    let office = Office::new().await;
    let message = customers_message("r1", &[ROBIN]).replace("Subject:", "Auto-Submitted: auto-replied\r\nSubject:");
    office.sandbox.deliver(SUPPORT, message.as_bytes());
    let id = hand_in(&office, &proposal("r1", &[ROBIN])).await[0];
    assert!(office.desk.check_parent(id).await.expect("it is asked"));
    let found = marked(&office, id, "automatic_message").await;
    assert!(found.len() == 1 && found[0].holds && found[0].weight == "stop", "{found:?}");
    let hash = office.doc(id).await.payload_hash;
    let no = office.desk.approve(id, &hash, &[]).await.expect_err("nobody looked");
    assert_eq!((no.code, no.field.as_deref()), (Code::NotPermitted, Some("automatic_message:conversation")));
    office.approve(id).await;
    office.dispatcher().await.tick().await;
    assert_eq!(
        (office.state(id).await, office.effects(id).await),
        (State::Accepted, 1),
        "a person looked and wanted it"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn f41_it_is_never_approved_together_with_others_not_even_looked_at() {
    let office = Office::new().await;
    let mut document = proposal("r1", &[ROBIN]);
    document["conversation"]["headers"] = json!({ "Precedence": "bulk" });
    let mut second = document["actions"][0].clone();
    second["step"] = json!("second");
    second["payload"]["text"] = json!("And the invoice.\n");
    document["actions"].as_array_mut().expect("a list").push(second);
    office.sandbox.deliver(SUPPORT, customers_message("r1", &[ROBIN]).as_bytes());
    let ids = hand_in(&office, &document).await;
    let mut wanted = Vec::new();
    for id in &ids {
        for finding in office.doc(*id).await.findings.iter().filter(|f| f.holds) {
            office.desk.clear_finding(*id, &finding.code, &finding.field).await.expect("a person looked");
        }
        let payload_hash = office.doc(*id).await.payload_hash;
        wanted.push(ApproveOne { id: id.to_string(), payload_hash, looked: Vec::new() });
    }
    for one in office.desk.approve_each(&wanted).await.expect("each is answered") {
        assert_eq!(one.error.map(|e| e.code), Some("not_permitted".to_owned()));
    }
    assert_eq!(office.state(ids[0]).await, State::Prepared);
    let alone = office.desk.approve_each(&wanted[..1]).await.expect("it is answered");
    assert!(alone[0].error.is_none(), "{:?}", alone[0].error);
    assert_eq!(office.state(ids[0]).await, State::Approved);
}

/// The next answer of ours in the same thread, after theirs.
fn round(n: usize) -> Value {
    let mut document = proposal("r1", &[ROBIN]);
    document["event_id"] = json!(format!("evt-{n}"));
    document["request_id"] = json!(format!("r-{n}"));
    document["conversation"]["headers"] = json!({ "Auto-Submitted": "auto-replied" });
    document["actions"][0]["payload"]["text"] = json!(format!("Answer {n}.\n"));
    document
}

#[tokio::test(flavor = "multi_thread")]
async fn f41_a_thread_of_automatic_answers_takes_three_a_day_and_no_more_whatever_is_cleared() {
    // What else went into the thread is told by our own ledger alone.
    let office = Office::with(Setup { imap: false, ..Setup::default() }).await;
    let dispatcher = office.dispatcher().await;
    for n in 1..=3 {
        let id = hand_in(&office, &round(n)).await[0];
        office.approve(id).await;
        dispatcher.tick().await;
        assert_eq!(office.state(id).await, State::Accepted, "{n}");
        office.later(HOUR);
    }
    let fourth = hand_in(&office, &round(4)).await[0];
    let found = marked(&office, fourth, "daily_limit").await;
    assert!(
        found.len() == 1 && found[0].text.contains("2026-11-03T09:15:00Z"),
        "until the first is a day old: {found:?}"
    );
    let doc = office.doc(fourth).await;
    let looked: Vec<_> = doc.findings.iter().filter(|f| f.holds).map(|f| (f.code.clone(), f.field.clone())).collect();
    let no = office.desk.approve(fourth, &doc.payload_hash, &looked).await.expect_err("its time clears it");
    assert_eq!((no.code, no.field.as_deref()), (Code::NotPermitted, Some("daily_limit:conversation")));
    // The same thread where a person wrote takes it, once somebody looked.
    let mut by_a_person = round(5);
    by_a_person["conversation"].as_object_mut().expect("an object").remove("headers");
    let fifth = hand_in(&office, &by_a_person).await[0];
    assert!(marked(&office, fifth, "daily_limit").await.is_empty());
    office.later(22 * HOUR);
    assert!(marked(&office, fourth, "daily_limit").await.is_empty(), "a day later it may go");
    office.approve(fourth).await;
    dispatcher.tick().await;
    assert_eq!(office.effects(fourth).await, 1);
}
