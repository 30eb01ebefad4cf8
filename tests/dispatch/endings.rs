//! What the destination did is written down, whatever fails around it; and what follows is only what should.

use crate::office::{MAILBOX, Office, Setup};
use countersign_domain::{State, Verdict};
use countersign_engine::Code;
use countersign_engine::view::ApproveOne;
use countersign_sandbox::{Fault, Protocol, Release, Times};
use std::time::Duration;

#[tokio::test(flavor = "multi_thread")]
async fn f01_a_yes_that_could_not_be_written_is_kept_and_written_later() {
    let office = Office::new().await;
    let id = office.approved("r1").await;
    let dispatcher = office.dispatcher().await;
    office
        .on_the_file(
            "CREATE TRIGGER disk_is_full BEFORE UPDATE ON attempts WHEN NEW.closed_at IS NOT NULL \
             BEGIN SELECT RAISE(ABORT, 'the disk is full'); END",
        )
        .await;
    let report = dispatcher.tick().await;
    assert!(!report.failures.is_empty(), "it is said: {report:?}");
    assert_eq!(office.effects(id).await, 1);
    assert_eq!(office.state(id).await, State::InProgress);
    assert_eq!(dispatcher.tick().await.attempted.len(), 0, "it still cannot be written");
    office.on_the_file("DROP TRIGGER disk_is_full").await;
    dispatcher.tick().await;
    assert_eq!(office.state(id).await, State::Accepted);
    assert_eq!(office.doc(id).await.receipt.expect("a receipt").kind, "answer");
    assert!(office.doc(id).await.filing.is_some(), "its follow-up is not forgotten");
    assert_eq!(office.sandbox.connections(Protocol::Smtp), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_is_closed_even_where_its_destination_cannot_be_paused() {
    let office = Office::new().await;
    office.sandbox.fault_once(Fault::smtp_down());
    let id = office.approved("r1").await;
    let dispatcher = office.dispatcher().await;
    office
        .on_the_file("CREATE TRIGGER no_pause BEFORE UPDATE ON destinations BEGIN SELECT RAISE(ABORT, 'no'); END")
        .await;
    assert!(!dispatcher.tick().await.failures.is_empty(), "it is said");
    // Not paused, it goes with the next attempt.
    assert_eq!(office.state(id).await, State::Accepted);
    assert_eq!(office.effects(id).await, 1);
    assert!(office.core.ledger.open_attempts().await.expect("a list").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn f01_an_open_socket_that_cannot_be_marked_is_read_on_all_the_same() {
    let office = Office::with(Setup { answer_timeout: 3, ..Setup::default() }).await;
    office.sandbox.fault_once(Fault::late_answer());
    // Where the marks would lie there is a file.
    std::fs::write(office.home().dir().join("open"), "").expect("it can be written");
    let id = office.approved("r1").await;
    let dispatcher = office.dispatcher().await;
    dispatcher.tick().await;
    assert_eq!(office.state(id).await, State::Unknown, "it is closed");
    office.sandbox.release(Release::Answers);
    dispatcher.late_answers().await;
    assert_eq!(office.state(id).await, State::Accepted, "and its late yes counts");
    assert_eq!(office.effects(id).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_person_says_happened_is_filed_only_when_asked() {
    let office = Office::new().await;
    office.sandbox.fault_once(Fault::reset_after_acting());
    let id = office.approved("r1").await;
    let dispatcher = office.dispatcher().await;
    dispatcher.tick().await;
    assert_eq!(office.state(id).await, State::Unknown);
    office.desk.resolve(id, Verdict::Happened, "Robin thanked us for it").await.expect("it is settled");
    drop(dispatcher);
    let dispatcher = office.dispatcher().await;
    for _ in 0..3 {
        office.later(Duration::from_secs(600));
        dispatcher.tick().await;
    }
    assert_eq!(office.copies(id).await, 0);
    assert!(office.doc(id).await.filing.is_none());
    office.core.file_copy(id).await.expect("a person asked");
    assert_eq!(office.copies(id).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mailbox_that_refuses_the_login_is_left_alone_until_a_person_signs_in() {
    let office = Office::new().await;
    let id = office.approved("r1").await;
    office.sandbox.set_fault(Fault::imap_login_refused(), Times::Always);
    let before = office.sandbox.connections(Protocol::Imap);
    let dispatcher = office.dispatcher().await;
    for _ in 0..4 {
        dispatcher.tick().await;
        office.later(Duration::from_secs(3600));
    }
    assert_eq!(office.state(id).await, State::Approved);
    assert_eq!(office.sandbox.connections(Protocol::Imap), before + 1, "every further try could lock the account");
    let paused = office.core.ledger.destination(MAILBOX).await.unwrap().unwrap().paused;
    assert!(paused.is_some_and(|p| p.until.is_none()));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_clock_is_not_moved_by_hand_once_live_was_on() {
    let office = Office::new().await;
    let settings = &office.core.settings;
    let (owner, now) = (&office.core.owner, office.clock.now());
    settings.set_sending("live", false, owner, None, now).await.expect("off needs nobody");
    office.try_again().await.expect("live was never on");
    let presence = office.core.unlock(None).await.expect("the window of a home without a passphrase");
    settings.set_sending("live", true, owner, Some(&presence), now).await.expect("it is on");
    settings.set_sending("live", false, owner, None, now).await.expect("it is off again");
    let refused = office.try_again().await.expect_err("times there were real");
    assert_eq!(refused.code, Code::NotPermitted);
}

#[tokio::test(flavor = "multi_thread")]
async fn r11_approved_with_one_gesture_each_has_its_own_signature_and_one_that_cannot_is_named() {
    let office = Office::new().await;
    let (one, held, two) = (
        office.propose("r1").await,
        office.propose_to("r2", &["sam@other.example"]).await,
        office.propose_to("r3", &["kim@third.example"]).await,
    );
    let mut wanted = Vec::new();
    for id in [one, held, two] {
        let doc = office.doc(id).await;
        let looked = doc.findings.iter().filter(|f| f.holds).map(|f| (f.code.clone(), f.field.clone())).collect();
        wanted.push(ApproveOne { id: doc.id, payload_hash: doc.payload_hash, looked });
    }
    wanted[1].payload_hash = wanted[0].payload_hash.clone();
    let done = office.desk.approve_each(&wanted).await.expect("they are answered");
    let states: Vec<_> = done
        .iter()
        .map(|d| (d.action.as_ref().map(|a| a.state.as_str()), d.error.as_ref().map(|e| e.code.as_str())))
        .collect();
    assert_eq!(states, [(Some("approved"), None), (None, Some("conflict")), (Some("approved"), None)]);
    assert_eq!(office.state(held).await, State::Prepared, "nothing of it changed");
    let signed: Vec<_> =
        done.iter().filter_map(|d| d.action.as_ref()).map(|a| a.approvals[0].payload_hash.clone()).collect();
    assert_eq!(signed, [wanted[0].payload_hash.clone(), wanted[2].payload_hash.clone()]);
    office.dispatcher().await.tick().await;
    assert_eq!(office.sandbox.effects().len(), 2);
    assert_eq!(office.desk.approve_each(&[]).await.expect_err("nothing to approve").code, Code::BadInput);
}
