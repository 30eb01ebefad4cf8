//! Unknown outcomes: when they are asked about, and when a person may say that nothing happened.

use crate::field::alter;
use crate::http::Branch;
use crate::office::{MAILBOX, Office, Setup};
use countersign_domain::{ActionId, State, Verdict};
use countersign_engine::{Code, Dispatcher, Frozen, SANDBOX};
use countersign_sandbox::api::ApiFault;
use countersign_sandbox::apps::resend::Resend;
use countersign_sandbox::{Fault, Times};
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);

/// The message was taken and the connection broke.
async fn unknown(setup: Setup) -> (Office, ActionId, Dispatcher) {
    let office = Office::with(setup).await;
    office.sandbox.fault_once(Fault::reset_after_acting());
    let id = office.approved("r1").await;
    let dispatcher = office.dispatcher().await;
    dispatcher.tick().await;
    assert_eq!(office.state(id).await, State::Unknown);
    (office, id, dispatcher)
}

async fn refuses_that_it_did_not_happen(office: &Office, id: ActionId) {
    let refused = office.desk.resolve(id, Verdict::DidNotHappen, "nothing in Sent").await.expect_err("too early");
    assert_eq!(refused.code, Code::Conflict, "{refused}");
    assert_eq!(office.state(id).await, State::Unknown);
}

/// The longer of answer time-out and look-up delay.
async fn wait_of(office: &Office) -> Duration {
    let (_, connector) = office.core.destinations.connector(MAILBOX).await.expect("it is there");
    let contract = connector.contract("email.reply").expect("it can reply");
    connector.answer_timeout().max(contract.lookup_delay())
}

#[tokio::test(flavor = "multi_thread")]
async fn r24_that_it_did_not_happen_waits_for_the_answer_time_out_and_the_lookup_delay() {
    for imap in [true, false] {
        let (office, id, _dispatcher) = unknown(Setup { imap, ..Setup::default() }).await;
        let wait = wait_of(&office).await;
        refuses_that_it_did_not_happen(&office, id).await;
        office.later(wait - Duration::from_millis(1));
        refuses_that_it_did_not_happen(&office, id).await;
        office.later(Duration::from_millis(1));
        office.desk.resolve(id, Verdict::DidNotHappen, "nothing in Sent").await.expect("now it may be said");
        assert_eq!(office.state(id).await, State::Approved);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r24_a_removed_destination_shortens_no_wait() {
    let (office, id, _dispatcher) = unknown(Setup::default()).await;
    let wait = wait_of(&office).await;
    office.core.ledger.remove_destination(MAILBOX, &office.core.owner, office.clock.now()).await.expect("it goes");
    refuses_that_it_did_not_happen(&office, id).await;
    office.later(wait);
    office.core.may_say_did_not_happen(id).await.expect("now it may be said");
}

#[tokio::test(flavor = "multi_thread")]
async fn looks_that_fell_due_during_sleep_are_made_once() {
    let (office, id, dispatcher) = unknown(Setup::default()).await;
    assert_eq!(office.doc(id).await.lookups.len(), 1, "it was asked at once");
    office.later(10 * 60 * MINUTE);
    for _ in 0..5 {
        dispatcher.tick().await;
    }
    assert_eq!(office.doc(id).await.lookups.len(), 2);
    office.later(14 * 60 * MINUTE);
    dispatcher.tick().await;
    assert_eq!(office.doc(id).await.lookups.len(), 3, "the next one is that of the first day");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_asked_is_not_due_for_ever() {
    let (office, id, dispatcher) = unknown(Setup { imap: false, ..Setup::default() }).await;
    for _ in 0..3 {
        office.later(MINUTE);
        dispatcher.tick().await;
    }
    let record = office.core.ledger.action(id).await.unwrap().unwrap();
    assert_eq!(record.row.next_look, None);
    assert_eq!(office.state(id).await, State::Unknown);
}

#[tokio::test(flavor = "multi_thread")]
async fn those_that_cannot_be_looked_for_let_the_others_have_their_turn() {
    let office = Office::new().await;
    office.sandbox.set_fault(Fault::reset_after_acting(), Times::Always);
    let mut last = None;
    for n in 1..=11 {
        let id = office.propose_to(&format!("r{n}"), &[&format!("person{n}@customer{n}.example")]).await;
        office.approve(id).await;
        last = Some(id);
    }
    let last = last.expect("there are some");
    let dispatcher = office.dispatcher().await;
    dispatcher.tick().await;
    assert_eq!(office.state(last).await, State::Unknown);
    // The first ten do not hold any more: each look at them fails.
    let spoilt = "UPDATE wires SET bytes = CAST(replace(CAST(bytes AS TEXT), 'Tuesday', 'Tuesdoy') AS BLOB) \
        WHERE action <= 10";
    alter(&office, spoilt).await;
    let before = office.doc(last).await.lookups.len();
    office.later(2 * MINUTE);
    for _ in 0..3 {
        dispatcher.tick().await;
    }
    assert!(office.doc(last).await.lookups.len() > before, "it was looked for");
}

#[tokio::test(flavor = "multi_thread")]
async fn r18_with_sending_off_or_frozen_nothing_in_doubt_is_finished_by_itself_or_by_a_person() {
    for frozen in [false, true] {
        let senders = "from = [\"Shop Support <support@shop.example>\"]\n";
        let b = Branch::of("resend", senders, "re_good_key", Box::new(Resend::new("re_good_key"))).await;
        let (core, now) = (&b.office.core, b.office.clock.now());
        b.api.set_fault(ApiFault::portal(504), Times::Always);
        let id = b.approved("r1").await;
        b.tick().await;
        assert_eq!((b.state(id).await, b.api.writes().len()), (State::Unknown, 2), "repeated once at once");
        b.api.clear_faults();
        match frozen {
            true => core.freeze(Frozen::ByHand, "Noor").await.expect("it freezes"),
            false => core.settings.set_sending(SANDBOX, false, &core.owner, None, now).await.expect("off"),
        }
        b.later(11 * MINUTE);
        let before = b.api.connections();
        b.tick().await;
        let barred = b.dispatcher.finish(id).await.expect_err("a person cannot either");
        assert_eq!(barred.code, Code::Conflict, "{barred}");
        assert_eq!((b.state(id).await, b.api.connections() - before), (State::Unknown, 0), "frozen: {frozen}");
        match frozen {
            true => b.office.desk.unfreeze(false).await.expect("it is lifted"),
            false => core.settings.set_sending(SANDBOX, true, &core.owner, None, now).await.expect("on"),
        }
        assert_eq!(b.dispatcher.finish(id).await.expect("now it is").state, State::Accepted);
        assert_eq!((b.effects(), b.api.writes().len()), (1, 3));
    }
}
