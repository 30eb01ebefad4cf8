//! The world moved on, or the ledger was taken over: what a person said before that counts only for what they saw.

use crate::office::Office;
use countersign_domain::{ActionId, State};
use countersign_engine::anchor::MAY_HAVE_BEEN_SENT;
use countersign_engine::view::FindingDoc;
use countersign_sandbox::Protocol;
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);

async fn say_it_was_not_sent(office: &Office, id: ActionId) {
    office.desk.clear_finding(id, MAY_HAVE_BEEN_SENT, "action").await.expect("a person says so");
}

#[tokio::test(flavor = "multi_thread")]
async fn r16_approved_again_with_the_news_in_view_it_goes_and_with_more_news_it_does_not() {
    let office = Office::new().await;
    let id = office.approved("r1").await;
    let dispatcher = office.dispatcher().await;
    for _ in 0..2 {
        office.customer_writes_again("r1");
        office.later(MINUTE);
        dispatcher.tick().await;
        assert_eq!(office.state(id).await, State::NeedsReview, "every message is news once");
        assert_eq!(office.sandbox.effects().len(), 0);
        office.desk.confirm(id, None, None).await.expect("it can be confirmed");
        office.approve(id).await;
    }
    office.later(MINUTE);
    dispatcher.tick().await;
    assert_eq!(office.state(id).await, State::Accepted);
    assert_eq!(office.effects(id).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn r27_a_word_from_before_a_second_adoption_does_not_count() {
    let office = Office::new().await;
    let id = office.propose("r1").await;
    office.restored_and_adopted().await;
    say_it_was_not_sent(&office, id).await;
    office.approve(id).await;
    office.restored_and_adopted().await;
    let dispatcher = office.dispatcher().await;
    dispatcher.tick().await;
    assert_eq!(office.state(id).await, State::NeedsReview);
    assert_eq!(office.sandbox.connections(Protocol::Smtp), 0);
    office.desk.confirm(id, None, None).await.expect("it can be confirmed");
    let open = |f: &FindingDoc| f.code == MAY_HAVE_BEEN_SENT && f.cleared.is_none();
    assert!(office.doc(id).await.findings.iter().any(open), "it is asked again");
    say_it_was_not_sent(&office, id).await;
    assert!(!office.doc(id).await.findings.iter().any(open), "and answered");
    office.approve(id).await;
    dispatcher.tick().await;
    assert_eq!(office.state(id).await, State::Accepted);
    assert_eq!(office.effects(id).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn r27_what_a_source_delivers_again_after_an_adoption_may_have_been_sent_too() {
    let office = Office::new().await;
    office.restored_and_adopted().await;
    // Known to the other copy: the customer wrote before the adoption, or nobody knows when.
    let again = office.approved("r1").await;
    let untimed = office.propose_received_at("r2", &["sam@other.example"], None).await;
    office.approve(untimed).await;
    let dispatcher = office.dispatcher().await;
    dispatcher.tick().await;
    for id in [again, untimed] {
        assert_eq!(office.state(id).await, State::NeedsReview, "{id}");
    }
    assert_eq!(office.sandbox.connections(Protocol::Smtp), 0);
    // Written since: the other copy cannot have known it.
    office.later(30 * MINUTE);
    let new = office.propose_received_at("r3", &["kim@third.example"], Some("2026-11-02T09:40:00Z")).await;
    office.approve(new).await;
    dispatcher.tick().await;
    assert_eq!(office.state(new).await, State::Accepted);
    assert_eq!(office.sandbox.effects().len(), 1);
}
