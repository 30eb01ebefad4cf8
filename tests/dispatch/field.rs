//! Failures seen in the field. Numbers are those of the case file.

use crate::office::{Office, Setup};
use countersign_domain::State;
use countersign_engine::{Code, Dispatcher};
use countersign_sandbox::{Fault, Habits, ImapStage, Misbehaviour, Point, Protocol, Release, Times};
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);

/// The server never answers; three seconds are all we wait.
fn impatient() -> Setup {
    Setup { answer_timeout: 3, ..Setup::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn f01_a_lost_answer_is_unknown_and_nothing_goes_out_again_even_after_a_restart() {
    let office = Office::with(impatient()).await;
    office.sandbox.fault_once(Fault::hang_after_acting());
    let id = office.approved("r1").await;
    let dispatcher = office.dispatcher().await;
    dispatcher.tick().await;
    assert_eq!(office.state(id).await, State::Unknown);
    assert_eq!(office.effects(id).await, 1);
    let connections = office.sandbox.connections(Protocol::Smtp);
    assert_eq!(connections, 1);
    drop(dispatcher);
    let restarted = Dispatcher::start(office.again().await).await.expect("the lock is free");
    for _ in 0..5 {
        office.later(30 * MINUTE);
        restarted.tick().await;
    }
    assert_eq!(office.state(id).await, State::Unknown);
    assert_eq!(office.sandbox.connections(Protocol::Smtp), connections, "nothing was said to SMTP again");
    let doc = office.doc(id).await;
    assert_eq!(doc.attempts.len(), 1);
    assert!(doc.lookups.len() >= 3, "it was looked for: {:?}", doc.lookups);
}

#[tokio::test(flavor = "multi_thread")]
async fn f01_a_late_yes_settles_the_case() {
    let office = Office::with(impatient()).await;
    office.sandbox.fault_once(Fault::late_answer());
    let id = office.approved("r1").await;
    let dispatcher = office.dispatcher().await;
    dispatcher.tick().await;
    assert_eq!(office.state(id).await, State::Unknown);
    // While the socket is open nobody may say that it did not happen, however late it is.
    office.later(60 * MINUTE);
    let refused = office.core.may_say_did_not_happen(id).await.expect_err("the socket is open");
    assert_eq!(refused.code, Code::Conflict);
    office.sandbox.release(Release::Answers);
    dispatcher.late_answers().await;
    assert_eq!(office.state(id).await, State::Accepted);
    assert_eq!(office.doc(id).await.receipt.expect("a receipt").kind, "late_answer");
    assert_eq!(office.effects(id).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn f02_one_attempt_is_one_connection_and_the_next_one_waits_for_its_backoff() {
    let office = Office::new().await;
    office.sandbox.set_fault(Fault::refused_at_end(451), Times::Always);
    let id = office.approved("r1").await;
    let dispatcher = office.dispatcher().await;
    for _ in 0..3 {
        dispatcher.tick().await;
    }
    assert_eq!(office.sandbox.connections(Protocol::Smtp), 1);
    office.later(MINUTE);
    dispatcher.tick().await;
    office.later(9 * MINUTE);
    dispatcher.tick().await;
    assert_eq!(office.sandbox.connections(Protocol::Smtp), 2, "the second backoff is ten minutes");
    office.later(MINUTE);
    dispatcher.tick().await;
    assert_eq!(office.state(id).await, State::GaveUp);
    office.later(24 * 60 * MINUTE);
    dispatcher.tick().await;
    assert_eq!(office.sandbox.connections(Protocol::Smtp), 3, "three attempts and no more");
    assert_eq!(office.effects(id).await, 0);
    assert_eq!(office.doc(id).await.attempts.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn f03_f06_a_copy_that_cannot_be_filed_never_puts_the_send_back() {
    let office = Office::new().await;
    office.sandbox.set_fault(Fault::append_refused(), Times::Always);
    let id = office.approved("r1").await;
    let dispatcher = office.dispatcher().await;
    for _ in 0..5 {
        dispatcher.tick().await;
        office.later(20 * MINUTE);
    }
    assert_eq!(office.state(id).await, State::Accepted);
    assert_eq!(office.effects(id).await, 1);
    let doc = office.doc(id).await;
    let filing = doc.filing.expect("a follow-up");
    assert_eq!(filing.state, "failed", "{}", filing.text);
    assert!(doc.offers.iter().any(|o| o.what == "file_copy" && o.offered), "{:?}", doc.offers);
    assert!(!doc.offers.iter().any(|o| o.what == "approve" && o.offered), "{:?}", doc.offers);
    // Filing alone is tried again, from the stored bytes.
    office.sandbox.clear_faults();
    office.core.file_copy(id).await.expect("it can be filed");
    assert_eq!(office.doc(id).await.filing.expect("a follow-up").state, "filed");
    assert_eq!(office.copies(id).await, 1);
    assert_eq!(office.effects(id).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn f04_a_reply_out_of_turn_is_doubt_and_never_a_second_message() {
    let office = Office::with(Setup { chunking: false, ..impatient() }).await;
    office.sandbox.fault_once(Fault::stray_reply_in_body(10, 451));
    let id = office.approved("r1").await;
    let dispatcher = office.dispatcher().await;
    for _ in 0..4 {
        dispatcher.tick().await;
        // Whether it was read before the last dot or after it: it is no answer to that, whatever its code.
        assert_eq!(office.state(id).await, State::Unknown);
        office.later(15 * MINUTE);
    }
    let doc = office.doc(id).await;
    assert_eq!((doc.attempts.len(), doc.attempts[0].outcome.as_str()), (1, "unclear"), "{:?}", doc.attempts);
    assert_eq!(office.sandbox.connections(Protocol::Smtp), 1);
    assert!(office.effects(id).await <= 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn f04_a_no_to_a_chunk_comes_before_the_last_thing_so_it_was_not_sent_and_goes_once() {
    let office = Office::with(impatient()).await;
    office.sandbox.fault_once(Fault::stray_reply_in_body(10, 451));
    let id = office.approved("r1").await;
    let dispatcher = office.dispatcher().await;
    dispatcher.tick().await;
    let doc = office.doc(id).await;
    assert_eq!((doc.state.as_str(), doc.attempts[0].outcome.as_str()), ("approved", "not_sent"), "{:?}", doc.attempts);
    assert_eq!(
        (office.sandbox.count(Point::CommitReceived), office.effects(id).await),
        (0, 0),
        "no last chunk was said"
    );
    office.later(MINUTE);
    dispatcher.tick().await;
    assert_eq!((office.state(id).await, office.effects(id).await), (State::Accepted, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn f05_where_the_provider_files_the_copy_we_append_nothing() {
    let office = Office::with(Setup { files_sent: true, ..Setup::default() }).await;
    let id = office.approved("r1").await;
    let dispatcher = office.dispatcher().await;
    dispatcher.tick().await;
    office.later(MINUTE);
    dispatcher.tick().await;
    assert_eq!(office.state(id).await, State::Accepted);
    assert_eq!(office.doc(id).await.filing.expect("a follow-up").state, "already_present");
    assert_eq!(office.sandbox.appends().len(), 0);
    assert_eq!(office.copies(id).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn r24_what_the_provider_filed_settles_an_unknown_outcome() {
    let office = Office::with(Setup { files_sent: true, ..impatient() }).await;
    office.sandbox.fault_once(Fault::reset_after_acting());
    let id = office.approved("r1").await;
    let dispatcher = office.dispatcher().await;
    dispatcher.tick().await;
    dispatcher.tick().await;
    assert_eq!(office.state(id).await, State::Accepted);
    assert_eq!(office.doc(id).await.receipt.expect("a receipt").kind, "lookup");
    assert_eq!(office.effects(id).await, 1);
    assert_eq!(office.core.frozen().await.expect("it can be asked"), None, "our own crossing explains it");
}

#[tokio::test(flavor = "multi_thread")]
async fn f07_a_rewritten_message_id_is_found_by_our_own_header() {
    let office = Office::with(Setup { files_sent: true, ..impatient() }).await;
    office.sandbox.set_habits(Habits { files_sent: true, replaces_message_id: true, ..Habits::default() });
    office.sandbox.fault_once(Fault::reset_after_acting());
    let id = office.approved("r1").await;
    let dispatcher = office.dispatcher().await;
    dispatcher.tick().await;
    dispatcher.tick().await;
    assert_eq!(office.state(id).await, State::Accepted);
    assert_eq!(office.doc(id).await.lookups.last().expect("a look").strength, "strong");
}

#[tokio::test(flavor = "multi_thread")]
async fn f08_one_refused_recipient_keeps_us_out_of_data() {
    let office = Office::new().await;
    let gone = "gone@customer.example";
    office.sandbox.set_fault(Fault::rcpt_refused(gone, 550), Times::Always);
    let id = office.propose_to("r1", &[crate::office::ROBIN, gone]).await;
    office.approve(id).await;
    office.dispatcher().await.tick().await;
    assert_eq!(office.state(id).await, State::Refused);
    assert_eq!(office.effects(id).await, 0);
    assert_eq!(office.sandbox.count(Point::DataStarted), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn f09_a_permanent_no_is_final_and_files_nothing() {
    let office = Office::new().await;
    office.sandbox.set_fault(Fault::refused_at_end(550), Times::Always);
    let id = office.approved("r1").await;
    let dispatcher = office.dispatcher().await;
    for _ in 0..4 {
        dispatcher.tick().await;
        office.later(60 * MINUTE);
    }
    assert_eq!(office.state(id).await, State::Refused);
    let doc = office.doc(id).await;
    assert_eq!(doc.attempts.len(), 1);
    assert!(doc.offers.iter().any(|o| o.what == "revise" && o.offered), "{:?}", doc.offers);
    assert_eq!(office.sandbox.appends().len(), 0);
    assert_eq!(office.sandbox.connections(Protocol::Smtp), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn f11_a_slow_worker_is_not_rescued_by_the_clock() {
    let office = Office::new().await;
    office.sandbox.fault_once(Fault::late_answer());
    let id = office.approved("r1").await;
    let dispatcher = office.dispatcher().await;
    let slow = async {
        dispatcher.tick().await;
    };
    let others = async {
        office.sandbox.wait_for(Point::Held, 1).await.expect("the answer is held");
        office.later(15 * MINUTE);
        let second = Dispatcher::start(office.again().await).await.err().expect("the lock is held");
        assert_eq!(second.code.exit(), 8);
        assert_eq!(office.state(id).await, State::InProgress);
        office.sandbox.release(Release::Answers);
    };
    tokio::join!(slow, others);
    assert_eq!(office.state(id).await, State::Accepted);
    assert_eq!(office.effects(id).await, 1);
    assert_eq!(office.doc(id).await.attempts.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn f17_when_the_customer_wrote_again_it_is_held_instead_of_sent() {
    let office = Office::new().await;
    let id = office.approved("r1").await;
    office.customer_writes_again("r1");
    office.dispatcher().await.tick().await;
    assert_eq!(office.state(id).await, State::NeedsReview);
    assert_eq!(office.sandbox.effects().len(), 0);
    assert_eq!(office.sandbox.connections(Protocol::Smtp), 0, "it was asked before SMTP was spoken to");
}

#[tokio::test(flavor = "multi_thread")]
async fn r16_what_cannot_be_asked_is_not_sent_and_counts_no_attempt() {
    let office = Office::new().await;
    office.sandbox.set_fault(Fault::imap_down(), Times::Always);
    let id = office.approved("r1").await;
    let dispatcher = office.dispatcher().await;
    dispatcher.tick().await;
    assert_eq!(office.state(id).await, State::Approved);
    assert_eq!(office.effects(id).await, 0);
    let record = office.core.ledger.action(id).await.unwrap().unwrap();
    assert_eq!(record.standing().attempts, 0);
    office.sandbox.clear_faults();
    office.later(2 * MINUTE);
    dispatcher.tick().await;
    assert_eq!(office.state(id).await, State::Accepted);
    assert_eq!(office.effects(id).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn r16_where_the_look_works_and_the_situation_cannot_be_read_nothing_is_sent_and_no_attempt_counted() {
    let office = Office::new().await;
    let id = office.approved("r1").await;
    // The look finds nothing of ours to read. Whether the customer wrote again is in what came after their message.
    let answer = Misbehaviour::No { text: "[UNAVAILABLE] cannot read now".to_owned() };
    let unreadable = Fault::Imap { at: ImapStage::Fetch, folder: Some("INBOX".to_owned()), taken: false, answer };
    office.sandbox.set_fault(unreadable, Times::Always);
    let dispatcher = office.dispatcher().await;
    dispatcher.tick().await;
    let record = office.core.ledger.action(id).await.unwrap().unwrap();
    assert_eq!((record.state(), record.standing().attempts), (State::Approved, 0));
    let doc = office.doc(id).await;
    assert!(doc.attempts[0].evidence.to_string().contains("situation:cannot_ask"), "{:?}", doc.attempts);
    assert_eq!((office.effects(id).await, office.sandbox.connections(Protocol::Smtp)), (0, 0));
    office.sandbox.clear_faults();
    office.later(2 * MINUTE);
    dispatcher.tick().await;
    assert_eq!((office.state(id).await, office.effects(id).await), (State::Accepted, 1));
}

/// Changes the file as somebody with an editor would.
pub async fn alter(office: &Office, statement: &'static str) {
    use sqlx::Connection;
    sqlx::any::install_default_drivers();
    let address = format!("sqlite://{}", office.home().ledger().display());
    let mut file = sqlx::AnyConnection::connect(&address).await.expect("the file opens");
    let triggers: Vec<(String,)> = sqlx::query_as("SELECT name FROM sqlite_master WHERE type = 'trigger'")
        .fetch_all(&mut file)
        .await
        .expect("they can be listed");
    for (name,) in triggers {
        let drop = sqlx::AssertSqlSafe(format!("DROP TRIGGER {name}"));
        sqlx::query(drop).execute(&mut file).await.expect("it can be dropped");
    }
    let hit = sqlx::query(statement).execute(&mut file).await.expect("the file can be altered");
    assert!(hit.rows_affected() > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn f13_what_was_altered_after_the_approval_is_not_sent_and_is_named() {
    let alterations = [
        "UPDATE wires SET bytes = CAST(replace(CAST(bytes AS TEXT), 'Tuesday', 'Tuesdoy') AS BLOB)",
        "UPDATE payloads SET value = replace(value, 'Tuesday', 'Tuesdoy')",
        "UPDATE payloads SET value = replace(value, 'robin@customer', 'rabin@customer')",
    ];
    for alteration in alterations {
        let office = Office::new().await;
        let id = office.approved("r1").await;
        alter(&office, alteration).await;
        let dispatcher = office.dispatcher().await;
        let report = dispatcher.tick().await;
        let (refused, why) = report.refused.first().unwrap_or_else(|| panic!("{alteration}: {report:?}"));
        assert_eq!((*refused, why.code), (id, Code::Integrity), "{alteration}");
        let handled = dispatcher.until_idle().await;
        assert!(handled.states.is_empty(), "{alteration}: nothing moved");
        assert_eq!(office.sandbox.connections(Protocol::Smtp), 0, "{alteration}");
        assert_eq!(office.sandbox.effects().len(), 0, "{alteration}");
    }
}
