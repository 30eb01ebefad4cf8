//! Answers of an HTTP API that come late, from somebody else, or hold what must not be kept.

use crate::http::{Branch, HOUR, MINUTE};
use countersign_domain::State;
use countersign_engine::SANDBOX;
use countersign_engine::anchor::MAY_HAVE_BEEN_SENT;
use countersign_sandbox::Times;
use countersign_sandbox::api::{Acts, ApiFault, ApiSays, On};
use countersign_sandbox::apps::resend::Resend;
use serde_json::Value;
use std::time::Duration;

#[tokio::test(flavor = "multi_thread")]
async fn f53_a_late_answer_settles_what_the_time_out_left_open() {
    let b = Branch::webhook("none", |_| {}).await;
    b.api.fault_once(ApiFault::answers_late());
    let id = b.approved("r1").await;
    b.tick().await;
    assert_eq!(b.state(id).await, State::Unknown);
    b.api.release();
    b.dispatcher.late_answers().await;
    assert_eq!(b.state(id).await, State::Accepted);
    assert_eq!(b.office.doc(id).await.receipt.expect("a receipt").kind, "late_answer");
    assert_eq!((b.effects(), b.api.connections()), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn f53_a_second_answer_that_is_overdue_too_holds_nobody_up_and_both_sockets_count() {
    let b = Branch::resend().await;
    b.api.set_fault(ApiFault::answers_late(), Times::Exactly(2));
    let id = b.approved("r1").await;
    for _ in 0..2 {
        tokio::time::timeout(Duration::from_secs(60), b.tick()).await.expect("a tick ends although sockets are open");
    }
    assert_eq!((b.state(id).await, b.api.writes().len()), (State::Unknown, 2));
    b.later(HOUR);
    let refused = b.office.core.may_say_did_not_happen(id).await.expect_err("two sockets are open");
    assert_eq!(refused.code, countersign_engine::Code::Conflict);
    b.api.release();
    b.dispatcher.late_answers().await;
    assert_eq!((b.state(id).await, b.effects()), (State::Accepted, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_token_is_not_sent_and_pauses_until_somebody_signs_in() {
    let b = Branch::resend().await;
    b.api.with_app(|app| app.as_any().downcast_mut::<Resend>().expect("it is Resend").revoke());
    let id = b.approved("r1").await;
    for _ in 0..3 {
        b.tick().await;
        b.later(HOUR);
    }
    assert_eq!(
        (b.state(id).await, b.effects(), b.api.writes().len()),
        (State::Approved, 0, 1),
        "asked once, then it waits"
    );
    let doc = b.office.doc(id).await;
    assert_eq!(doc.attempts[0].outcome, "not_sent");
    let evidence = serde_json::to_string(&doc).expect("plain data");
    assert!(!evidence.contains("re_good_key"), "F44: no key in what is kept");
    let paused = b.office.core.ledger.destination("place").await.unwrap().unwrap().paused.expect("it is paused");
    assert!(paused.until.is_none() && paused.why.contains("API key"), "{paused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn f40_a_clock_an_hour_off_sends_nothing_and_says_why() {
    let b = Branch::webhook("keeps_id", |r| r.keeps_id = true).await;
    b.api.advance(HOUR);
    let id = b.approved("r1").await;
    b.tick().await;
    assert_eq!((b.state(id).await, b.effects()), (State::Approved, 0));
    let paused = b.office.core.ledger.destination("place").await.unwrap().unwrap().paused.expect("it is paused");
    assert!(paused.why.contains("60 minutes apart: this computer's is behind"), "{paused:?}");
    // Somebody sets the clock right and signs in again.
    b.office.later(HOUR);
    b.office.core.ledger.resume_destination("place", b.office.clock.now()).await.unwrap();
    b.tick().await;
    assert_eq!((b.state(id).await, b.effects()), (State::Accepted, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_captive_portal_is_no_success_and_no_refusal() {
    for status in [200, 302, 401, 403, 511] {
        let b = Branch::webhook("none", |_| {}).await;
        b.api.fault_once(ApiFault::portal(status));
        let id = b.approved("r1").await;
        b.tick().await;
        assert_eq!((b.state(id).await, b.effects()), (State::Unknown, 0), "{status}");
        let told = b.office.doc(id).await.explanation;
        for part in ["A web page answered", "not the receiver", "Nothing can be concluded", "destination's address"] {
            assert!(told.contains(part), "{status}, {part}: {told}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn f40_a_clock_an_hour_off_is_told_although_everything_is_accepted() {
    let b = Branch::resend().await;
    let told = async || {
        let rows = b.office.desk.destinations(Some(SANDBOX)).await.expect("they are there");
        let row = rows.into_iter().find(|row| row.name == "place").expect("it is there");
        (row.health, row.health_text)
    };
    assert_eq!(told().await.0, "not_tried", "nobody answered yet");
    b.api.advance(HOUR);
    let id = b.approved("r1").await;
    b.tick().await;
    assert_eq!((b.state(id).await, b.effects()), (State::Accepted, 1), "a token has no time");
    let (health, text) = told().await;
    assert!(health == "reachable" && text.contains("60 minutes apart: this computer's is behind"), "{text}");
    // Another process is told by the home.
    let again = b.office.again().await;
    assert!(again.clock_warning("place").is_some_and(|text| text.contains("60 minutes apart")));
    let tested = b.office.desk.test_destination("place", None, &|_| {}).await.expect("it is reached");
    let step = tested.steps.iter().find(|step| step.step == "clock").expect("the test tells it");
    assert!(step.text.contains("60 minutes apart: this computer's is behind"), "{step:?}");
    // Somebody sets the clock right; the next answer shows it.
    b.office.later(HOUR);
    let tested = b.office.desk.test_destination("place", None, &|_| {}).await.expect("it is reached");
    assert!(tested.steps.iter().all(|step| step.step != "clock"), "{tested:?}");
    assert_eq!(told().await, ("reachable".to_owned(), String::new()));
}

#[tokio::test(flavor = "multi_thread")]
async fn r31_what_is_kept_of_an_answer_holds_no_address_and_no_token() {
    let b = Branch::resend().await;
    b.api.fault_once(ApiFault::says_ok_but(
        Acts::No,
        r#"{"name":"validation_error","message":"robin@customer.example with re_good_key"}"#,
    ));
    let id = b.approved("r1").await;
    b.office
        .core
        .settings
        .set_repeats_by_itself("place", false, &b.office.core.owner, b.office.clock.now())
        .await
        .unwrap();
    b.tick().await;
    let attempts: Value = serde_json::to_value(&b.office.doc(id).await.attempts).expect("plain data");
    assert!(!attempts.to_string().contains("robin@customer.example"), "{attempts}");
}

#[tokio::test(flavor = "multi_thread")]
async fn r31_what_a_provider_repeats_of_a_message_is_not_kept() {
    let said = r#"{"statusCode":422,"name":"validation_error","message":"Bad content: 'Of course: Tuesday.' for Vale, Robin (Re: Grüße)"}"#;
    let says = |status| ApiSays::Json { status, body: said.to_owned() };
    for (status, ends) in [(422, State::Refused), (500, State::Unknown)] {
        let b = Branch::resend().await;
        b.repeats_by_itself(false).await;
        b.api.fault_once(ApiFault::new(Acts::No, says(status)));
        // The look after the doubt is told the same.
        b.api.set_fault(ApiFault::new(Acts::No, says(500)).on(On::Questions), Times::Always);
        let id = b.approved("r1").await;
        b.tick().await;
        b.later(MINUTE);
        b.tick().await;
        assert_eq!(b.state(id).await, ends);
        let doc = b.office.doc(id).await;
        let outside = serde_json::to_string(&(&doc.attempts, &doc.lookups, &doc.reason)).expect("plain data");
        let journal = b.office.core.ledger.journal_after(0, 1000).await.expect("the journal");
        let journal = journal.iter().map(|row| row.entry.fact.to_string()).collect::<String>();
        for gone in ["Of course", "Tuesday", "Vale", "Grüße"] {
            assert!(!outside.contains(gone) && !journal.contains(gone), "{status}, {gone}: {outside}");
        }
        assert!(outside.contains("validation_error"), "{status}: the category stays: {outside}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn f10_after_an_adoption_a_person_can_say_of_a_webhook_that_it_was_not_sent() {
    let branch = Branch::webhook("none", |_| {}).await;
    let id = branch.approved("r1").await;
    branch.office.restored_and_adopted().await;
    branch.tick().await;
    assert_eq!((branch.state(id).await, branch.effects()), (State::NeedsReview, 0));
    let desk = &branch.office.desk;
    desk.confirm(id, None, None).await.expect("it can be confirmed");
    let doc = branch.office.doc(id).await;
    let open = doc.findings.iter().find(|f| f.code == MAY_HAVE_BEEN_SENT).expect("it is asked");
    assert!(open.weight == "stop" && open.cleared.is_none(), "{open:?}");
    desk.clear_finding(id, MAY_HAVE_BEEN_SENT, "action").await.expect("a person says so");
    branch.office.approve(id).await;
    branch.tick().await;
    assert_eq!((branch.state(id).await, branch.effects()), (State::Accepted, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn r20_a_yes_that_announces_json_and_has_none_is_no_yes() {
    let branch = Branch::webhook("none", |_| {}).await;
    let id = branch.approved("r1").await;
    branch.api.fault_once(ApiFault::says_ok_but(Acts::No, ""));
    branch.tick().await;
    assert_eq!((branch.state(id).await, branch.effects()), (State::Unknown, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn r24_a_first_attempt_that_was_certainly_not_sent_makes_no_absence_doubtful() {
    let b = Branch::webhook("look_up", |r| (r.can_be_asked, r.names_the_id) = (true, false)).await;
    b.api.fault_once(ApiFault::too_many("60"));
    let id = b.approved("r1").await;
    b.tick().await;
    assert_eq!(
        (b.state(id).await, b.effects(), b.api.writes().len()),
        (State::Approved, 0, 1),
        "not sent, for certain"
    );
    b.later(2 * MINUTE);
    b.tick().await;
    assert_eq!((b.state(id).await, b.effects(), b.api.writes().len()), (State::Accepted, 1, 2), "no person was asked");
    assert_eq!(b.office.doc(id).await.attempts.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn r24_a_repeat_in_doubt_that_was_turned_away_leaves_the_doubt_that_there_was() {
    let b = Branch::webhook("keeps_id_and_look_up", |r| {
        (r.can_be_asked, r.names_the_id, r.keeps_id) = (true, false, true);
    })
    .await;
    b.api.fault_once(ApiFault::resets_before_acting());
    b.api.fault_once(ApiFault::too_many("60"));
    let id = b.approved("r1").await;
    b.tick().await;
    b.tick().await;
    assert_eq!((b.state(id).await, b.effects()), (State::Unknown, 0), "the first one may have arrived");
    // It cannot be told that nothing arrived; the key makes the repeat safe, and so it goes.
    b.later(11 * MINUTE);
    b.tick().await;
    assert_eq!((b.state(id).await, b.effects()), (State::Accepted, 1));
}
