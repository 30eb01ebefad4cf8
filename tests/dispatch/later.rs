//! Approved for a time on a wall: it goes then and not before, and whoever looks sees both times (F39).

use crate::office::{Office, ROBIN, SUPPORT, Setup, customers_message, proposal};
use countersign_domain::{ActionId, State};
use countersign_engine::{Code, Dispatcher};
use countersign_sandbox::{Fault, Protocol, Times};
use serde_json::{Value, json};
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

/// The clock stands at 2026-11-02T09:15Z, 10:15 in Berlin.
async fn proposed(office: &Office, send_at: Value) -> ActionId {
    office.sandbox.deliver(SUPPORT, customers_message("r1", &[ROBIN]).as_bytes());
    let mut document = proposal("r1", &[ROBIN]);
    document["actions"][0]["payload"]["send_at"] = send_at;
    let source = office.intake.by_name("inbox-agent").await.expect("the source is known");
    let answer = office.intake.propose(&source, document.to_string().as_bytes()).await.expect("it is taken");
    answer.actions[0].id.as_deref().expect("it is made").parse().expect("an id")
}

fn berlin(local: &str) -> Value {
    json!({ "local": local, "zone": "Europe/Berlin" })
}

#[tokio::test(flavor = "multi_thread")]
async fn f39_what_was_approved_for_a_time_goes_then_and_both_times_are_shown() {
    let office = Office::with(Setup { undo_seconds: 10, ..Setup::default() }).await;
    let dispatcher = office.dispatcher().await;
    let id = proposed(&office, berlin("2026-11-03T09:00")).await;
    let doc = office.approve(id).await;
    let next = doc.next.expect("it is said when");
    assert_eq!((next.what.as_str(), next.at.as_deref()), ("scheduled", Some("2026-11-03T08:00:00Z")));
    for part in ["2026-11-03 09:00 in Europe/Berlin", "UTC+01:00", "2026-11-03T08:00:00Z"] {
        assert!(
            next.text.contains(part) && doc.explanation.contains(part),
            "{part}: {} / {}",
            next.text,
            doc.explanation
        );
    }
    assert_eq!(office.desk.held().await.expect("asked"), [], "Undo counts no seconds of a day");
    let early = office.desk.send_now(id).await.expect_err("its time is part of what was approved");
    assert_eq!(early.code, Code::Conflict);
    office.later(22 * HOUR + 44 * MINUTE);
    dispatcher.tick().await;
    assert_eq!((office.state(id).await, office.sandbox.effects().len()), (State::Approved, 0), "a minute too early");
    office.later(MINUTE);
    dispatcher.tick().await;
    assert_eq!((office.state(id).await, office.effects(id).await), (State::Accepted, 1));
    let sent = String::from_utf8_lossy(&office.sandbox.effects()[0].bytes).into_owned();
    assert!(!sent.contains("send_at") && !sent.contains("Europe/Berlin"), "{sent}");
}

#[tokio::test(flavor = "multi_thread")]
async fn f39_a_draft_that_is_read_after_its_time_holds_the_approval_until_somebody_looked() {
    let office = Office::with(Setup { undo_seconds: 0, ..Setup::default() }).await;
    let id = proposed(&office, berlin("2026-11-02T11:00")).await;
    office.later(HOUR);
    let doc = office.doc(id).await;
    let passed = doc.findings.iter().find(|f| f.code == "time_passed").expect("it is shown");
    assert!(passed.holds && passed.text.contains("2026-11-02 11:00 in Europe/Berlin"), "{passed:?}");
    assert!(doc.findings.iter().all(|f| f.code != "sent_later"), "nothing says that it goes at a time that is over");
    let hash = doc.payload_hash;
    assert!(office.desk.approve(id, &hash, &[]).await.is_err());
    office.approve(id).await;
    office.dispatcher().await.tick().await;
    assert_eq!((office.state(id).await, office.effects(id).await), (State::Accepted, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn f39_an_approval_for_a_time_counts_from_then_and_can_be_taken_back_until_then() {
    let office = Office::with(Setup::default()).await;
    let id = proposed(&office, berlin("2026-11-09T10:15")).await;
    let doc = office.approve(id).await;
    assert_eq!(doc.approvals[0].expires_at, "2026-11-12T09:15:00Z", "three days after its time");
    office.later(6 * 24 * HOUR);
    let again = Dispatcher::start(office.again().await).await.expect("the lock is free");
    again.tick().await;
    assert_eq!(office.state(id).await, State::Approved, "it outlives the process and the three days");
    office.desk.undo(id).await.expect("it has not left");
    office.later(2 * 24 * HOUR);
    again.tick().await;
    assert_eq!((office.state(id).await, office.sandbox.effects().len()), (State::Prepared, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn f39_an_edit_and_a_revision_ask_for_another_time_where_there_is_none() {
    let office = Office::new().await;
    let id = proposed(&office, berlin("2026-11-03T09:00")).await;
    let before = office.doc(id).await;
    let mut payload = before.payload.clone();
    for (local, field) in
        [("2027-03-28T02:30", "payload.send_at.local"), ("2027-10-31T02:30", "payload.send_at.offset")]
    {
        payload["send_at"] = berlin(local);
        let no = office.desk.edit(id, None, payload.clone()).await.expect_err("it is asked for again");
        assert_eq!((no.code, no.field.as_deref()), (Code::BadInput, Some(field)));
        let no = office.desk.revise(id, Some(payload.clone())).await.expect_err("here as well");
        assert_eq!((no.code, no.field.as_deref()), (Code::BadInput, Some(field)));
    }
    assert_eq!(office.doc(id).await.payload_hash, before.payload_hash, "nothing was shifted");
    payload["send_at"] = json!({ "local": "2027-10-31T02:30", "zone": "Europe/Berlin", "offset": "+01:00" });
    office.desk.edit(id, None, payload).await.expect("which of the two was said");
    let next = office.approve(id).await.next.expect("it is said when");
    assert_eq!(next.at.as_deref(), Some("2027-10-31T01:30:00Z"));
}

#[tokio::test(flavor = "multi_thread")]
async fn f38_what_was_due_at_a_time_while_nothing_ran_waits_for_its_owner() {
    let office = Office::new().await;
    let id = proposed(&office, berlin("2026-11-03T09:00")).await;
    office.approve(id).await;
    // The computer was off over its time, and for three hours more.
    office.later(25 * HOUR + 45 * MINUTE);
    let dispatcher = office.dispatcher().await;
    for _ in 0..3 {
        dispatcher.tick().await;
        office.later(MINUTE);
    }
    let doc = office.doc(id).await;
    assert_eq!((doc.state.as_str(), office.sandbox.effects().len()), ("needs_review", 0));
    assert_eq!(office.sandbox.connections(Protocol::Smtp), 0);
    let reason = doc.reason.expect("it is said why");
    assert!(reason.contains("2026-11-03 09:00 in Europe/Berlin") && reason.contains("3 hours"), "{reason}");
    office.desk.confirm(id, None, None).await.expect("it can be confirmed");
    assert!(office.doc(id).await.findings.iter().any(|f| f.code == "time_passed" && f.holds));
    office.approve(id).await;
    dispatcher.tick().await;
    assert_eq!(
        (office.state(id).await, office.effects(id).await),
        (State::Accepted, 1),
        "a person wanted it all the same"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn f38_a_quarter_of_an_hour_late_it_goes_dated_by_the_time_it_was_approved_for() {
    let office = Office::new().await;
    let id = proposed(&office, berlin("2026-11-03T09:00")).await;
    office.approve(id).await;
    office.later(22 * HOUR + 45 * MINUTE + 15 * MINUTE);
    office.dispatcher().await.tick().await;
    assert_eq!((office.state(id).await, office.effects(id).await), (State::Accepted, 1));
    let sent = String::from_utf8_lossy(&office.sandbox.effects()[0].bytes).into_owned();
    assert!(sent.contains("Date: Tue, 3 Nov 2026 08:00:00 +0000"), "{sent}");
}

#[tokio::test(flavor = "multi_thread")]
async fn f38_one_that_was_tried_in_time_is_tried_on_past_the_limit() {
    let office = Office::new().await;
    office.sandbox.set_fault(Fault::mail_refused(451), Times::Exactly(2));
    let id = proposed(&office, berlin("2026-11-03T09:00")).await;
    office.approve(id).await;
    let dispatcher = office.dispatcher().await;
    office.later(22 * HOUR + 45 * MINUTE);
    for _ in 0..3 {
        dispatcher.tick().await;
        office.later(20 * MINUTE);
    }
    assert_eq!((office.state(id).await, office.effects(id).await), (State::Accepted, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn f39_what_follows_a_message_for_next_week_does_not_expire_before_it() {
    let office = Office::with(Setup { imap: false, ..Setup::default() }).await;
    let mut document = proposal("r1", &[ROBIN]);
    document["actions"][0]["payload"]["send_at"] = berlin("2026-11-09T10:15");
    let mut second = proposal("r1", &["sam@other.example"])["actions"][0].clone();
    (second["step"], second["after"]) = (json!("second"), json!("first-reply"));
    document["actions"].as_array_mut().expect("a list").push(second);
    let source = office.intake.by_name("inbox-agent").await.expect("the source is known");
    let answer = office.intake.propose(&source, document.to_string().as_bytes()).await.expect("it is taken");
    let ids: Vec<ActionId> =
        answer.actions.iter().map(|a| a.id.as_deref().expect("made").parse().expect("id")).collect();
    // Whichever is read first.
    let follows = office.approve(ids[1]).await;
    assert_eq!(follows.approvals[0].expires_at, "2026-11-12T09:15:00Z", "three days after what it waits for");
    office.approve(ids[0]).await;
    let next = office.doc(ids[1]).await.next.expect("it is said what it waits for");
    assert!(next.text.contains(&ids[0].to_string()) && next.text.contains("2026-11-09T09:15:00Z"), "{}", next.text);
    let dispatcher = office.dispatcher().await;
    for _ in 0..7 {
        dispatcher.tick().await;
        assert_eq!((office.state(ids[1]).await, office.sandbox.effects().len()), (State::Approved, 0));
        office.later(24 * HOUR);
    }
    dispatcher.tick().await;
    for id in ids {
        assert_eq!((office.state(id).await, office.effects(id).await), (State::Accepted, 1));
    }
}
