//! When things go: undo window, order, expiry, pauses, the switch. A due time is a row, never a timer.

use crate::office::{Office, Setup};
use countersign_domain::{PersonId, State};
use countersign_engine::{Code, Dispatcher, SANDBOX};
use countersign_sandbox::{Fault, Protocol, Times};
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);

fn noor() -> PersonId {
    PersonId::from("Noor Brackley")
}

#[tokio::test(flavor = "multi_thread")]
async fn r15_nothing_leaves_before_the_undo_window_ends() {
    let office = Office::with(Setup { undo_seconds: 10, ..Setup::default() }).await;
    let id = office.approved("r1").await;
    let dispatcher = office.dispatcher().await;
    office.later(Duration::from_secs(9));
    dispatcher.tick().await;
    assert_eq!(office.state(id).await, State::Approved);
    assert_eq!(office.sandbox.connections(Protocol::Smtp), 0);
    office.later(Duration::from_secs(1));
    dispatcher.tick().await;
    assert_eq!(office.state(id).await, State::Accepted);
    assert_eq!(office.effects(id).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn r15_undo_inside_the_window_and_nothing_left() {
    let office = Office::with(Setup { undo_seconds: 10, ..Setup::default() }).await;
    let id = office.approved("r1").await;
    office.desk.undo(id).await.expect("it can be undone");
    office.later(MINUTE);
    office.dispatcher().await.tick().await;
    assert_eq!(office.state(id).await, State::Prepared);
    assert_eq!(office.sandbox.effects().len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn r15_an_expired_approval_sends_nothing() {
    let office = Office::with(Setup { undo_seconds: 10, ..Setup::default() }).await;
    let id = office.approved("r1").await;
    office.later(73 * 60 * MINUTE);
    office.dispatcher().await.tick().await;
    assert_eq!(office.state(id).await, State::NeedsReview);
    assert_eq!(office.sandbox.effects().len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn f38_an_undo_window_survives_the_process_that_began_it() {
    let office = Office::with(Setup { undo_seconds: 30, ..Setup::default() }).await;
    let id = office.approved("r1").await;
    let first = office.dispatcher().await;
    first.tick().await;
    drop(first);
    let core = office.again().await;
    assert_eq!(office.state(id).await, State::Approved, "the hold is a row with a due time");
    office.later(MINUTE);
    let second = Dispatcher::start(core).await.expect("the lock is free");
    second.tick().await;
    assert_eq!(office.effects(id).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_kill_switch_holds_everything_back_and_answers_8() {
    let office = Office::new().await;
    let id = office.approved("r1").await;
    let settings = &office.core.settings;
    settings.set_sending(SANDBOX, false, &noor(), None, office.clock.now()).await.expect("off needs nobody");
    let dispatcher = office.dispatcher().await;
    let held = dispatcher.until_idle().await;
    assert_eq!((held.code(), held.held_back), (Some(Code::Frozen), vec![SANDBOX.to_owned()]));
    assert_eq!(office.state(id).await, State::Approved);
    assert_eq!(office.sandbox.connections(Protocol::Smtp), 0);
    settings
        .set_sending(SANDBOX, true, &noor(), None, office.clock.now())
        .await
        .expect("the sandbox needs no presence");
    assert_eq!(dispatcher.until_idle().await.code(), None);
    assert_eq!(office.effects(id).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn live_is_off_until_a_person_switched_it_on() {
    let office = Office::new().await;
    assert!(!office.core.settings.sending("live").await.expect("it can be asked"));
    let refused = office.core.settings.set_sending("live", true, &noor(), None, office.clock.now()).await;
    assert_eq!(refused.expect_err("nobody showed presence").code.exit(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_login_pauses_the_destination_and_counts_nothing() {
    let office = Office::new().await;
    office.sandbox.set_fault(Fault::smtp_login_refused(535), Times::Always);
    let id = office.approved("r1").await;
    let dispatcher = office.dispatcher().await;
    for _ in 0..3 {
        dispatcher.tick().await;
        office.later(60 * MINUTE);
    }
    assert_eq!(office.state(id).await, State::Approved);
    let record = office.core.ledger.action(id).await.unwrap().unwrap();
    assert_eq!(record.standing().attempts, 0);
    assert_eq!(office.sandbox.connections(Protocol::Smtp), 1, "it waits for a person to sign in, and guesses no more");
    let paused = office.core.ledger.destination(crate::office::MAILBOX).await.unwrap().unwrap().paused;
    assert!(paused.is_some_and(|p| p.until.is_none()));
    // Signed in again.
    office.sandbox.clear_faults();
    office.core.ledger.resume_destination(crate::office::MAILBOX, office.clock.now()).await.expect("it resumes");
    dispatcher.tick().await;
    assert_eq!(office.effects(id).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_destination_that_is_unreachable_or_cannot_check_the_login_now_is_tried_again_by_itself() {
    for trouble in [Fault::smtp_down(), Fault::smtp_login_refused(454)] {
        let office = Office::new().await;
        office.sandbox.set_fault(trouble, Times::Always);
        let id = office.approved("r1").await;
        let dispatcher = office.dispatcher().await;
        dispatcher.tick().await;
        dispatcher.tick().await;
        assert_eq!(office.sandbox.connections(Protocol::Smtp), 1, "it rests");
        office.sandbox.clear_faults();
        office.later(2 * MINUTE);
        dispatcher.tick().await;
        assert_eq!(office.state(id).await, State::Accepted);
        assert_eq!(office.effects(id).await, 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r21_whatever_comes_instead_of_a_greeting_rests_the_destination_and_counts_nothing() {
    for trouble in [Fault::smtp_down(), Fault::greets_with(421), Fault::greets_with(554)] {
        let office = Office::new().await;
        office.sandbox.set_fault(trouble.clone(), Times::Always);
        let id = office.approved("r1").await;
        let dispatcher = office.dispatcher().await;
        // More often than the cap allows attempts.
        for n in 1..=5 {
            dispatcher.tick().await;
            let record = office.core.ledger.action(id).await.expect("readable").expect("there");
            assert_eq!((record.state(), record.standing().attempts), (State::Approved, 0), "{trouble:?}");
            assert_eq!(office.sandbox.connections(Protocol::Smtp), n, "{trouble:?}");
            let paused =
                office.core.ledger.destination(crate::office::MAILBOX).await.expect("readable").expect("there").paused;
            assert!(paused.is_some(), "{trouble:?}: it rests");
            office.later(2 * MINUTE);
        }
        office.sandbox.clear_faults();
        dispatcher.tick().await;
        assert_eq!(office.state(id).await, State::Accepted, "{trouble:?}");
        assert_eq!(office.effects(id).await, 1);
        let record = office.core.ledger.action(id).await.expect("readable").expect("there");
        assert_eq!(record.standing().attempts, 1, "{trouble:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn f40_a_clock_set_back_brings_nothing_to_life_and_sends_nothing_twice() {
    let office = Office::new().await;
    let id = office.approved("r1").await;
    let dispatcher = office.dispatcher().await;
    dispatcher.tick().await;
    assert_eq!(office.state(id).await, State::Accepted);
    office.clock.set(crate::office::start_of_day().minus(10 * MINUTE));
    for _ in 0..3 {
        dispatcher.tick().await;
    }
    office.clock.set(crate::office::start_of_day().plus(10 * MINUTE));
    dispatcher.tick().await;
    assert_eq!(office.state(id).await, State::Accepted);
    assert_eq!(office.effects(id).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_reply_of_ours_to_the_thread_holds_back_one_approved_before_it() {
    let office = Office::with(Setup { undo_seconds: 10, ..Setup::default() }).await;
    let first = office.propose("r1").await;
    let second = office.propose_to("r2", &[crate::office::ROBIN]).await;
    office.approve(first).await;
    let doc = office.doc(second).await;
    assert!(doc.findings.iter().any(|f| f.code == "split_reply" && f.holds), "{:?}", doc.findings);
    assert_eq!(office.sandbox.effects().len(), 0);
}
