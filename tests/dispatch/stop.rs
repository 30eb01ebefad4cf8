//! The customer says "stop" while a message to them is under way, in doubt or came to nothing: nothing goes before it is read.

use crate::http::Branch;
use crate::office::{Office, ROBIN, Setup, proposal};
use countersign_domain::{ActionId, State, Verdict};
use countersign_engine::view::ActionDoc;
use countersign_engine::{Code, SANDBOX};
use countersign_sandbox::api::ApiFault;
use countersign_sandbox::{Fault, Misbehaviour, Point, Release, SmtpStage, Times};
use serde_json::{Value, json};
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);
const STOP: &str = "STOP. Please do not write to me again.";

/// Without IMAP the destination tells nothing of what the customer wrote: the source's word is all there is.
async fn office() -> Office {
    Office::with(Setup { imap: false, ..Setup::default() }).await
}

/// The next event of the source: the draft is what it was, and the customer wrote again.
fn stop(mut document: Value) -> Value {
    document["event_id"] = json!("evt-stop");
    let told = &mut document["conversation"];
    (told["message_id"], told["text"]) = (json!("<stop@customer.example>"), json!(STOP));
    document
}

async fn hand_in(office: &Office, source: &str, document: &Value) -> (ActionId, String) {
    let source = office.intake.by_name(source).await.expect("the source is known");
    let answer = office.intake.propose(&source, document.to_string().as_bytes()).await.expect("it is well formed");
    let one = &answer.actions[0];
    (one.id.as_deref().expect("an action").parse().expect("an id"), one.disposition.clone())
}

async fn says_stop(office: &Office, id: ActionId) {
    let taken = hand_in(office, "inbox-agent", &stop(proposal("r1", &[ROBIN]))).await;
    assert_eq!(taken, (id, "duplicate".to_owned()));
}

fn open_news(doc: &ActionDoc) -> usize {
    doc.findings.iter().filter(|f| f.code == "customer_wrote_again" && f.holds && f.cleared.is_none()).count()
}

fn text(doc: &ActionDoc) -> &str {
    doc.conversation.as_ref().and_then(|c| c.text.as_deref()).expect("the customer's words")
}

/// A person must have read it, and may want it all the same.
async fn goes_only_once_it_was_read(office: &Office, id: ActionId) {
    let before = office.sandbox.effects().len();
    let dispatcher = office.dispatcher().await;
    for _ in 0..3 {
        office.later(HOUR);
        dispatcher.tick().await;
    }
    assert_eq!(office.sandbox.effects().len(), before, "it did not go");
    let doc = office.doc(id).await;
    assert_eq!((text(&doc), open_news(&doc)), (STOP, 1), "{:?}", doc.findings);
    if doc.state == "needs_review" && doc.attempts.iter().all(|a| a.crossed_at.is_none()) {
        office.desk.confirm(id, None, None).await.expect("it can be confirmed");
    }
    let hash = office.doc(id).await.payload_hash;
    let unseen = office.desk.approve(id, &hash, &[]).await.map(drop).map_err(|e| e.code);
    assert_eq!(unseen, Err(Code::NotPermitted));
    office.approve(id).await;
    office.later(MINUTE);
    dispatcher.tick().await;
    assert_eq!((office.state(id).await, office.sandbox.effects().len()), (State::Accepted, before + 1));
    verifies(office).await;
}

async fn verifies(office: &Office) {
    let (roster, secret) = (office.core.roster().await.unwrap(), office.core.ledger_secret().await.unwrap());
    let broken = office.core.ledger.verify(&roster, Some(&secret), &mut |_, _| {}).await.expect("it can be read");
    assert_eq!(broken, []);
}

/// One attempt during which the customer writes: the server keeps its answer to MAIL until that was handed in.
async fn attempt_with_news(office: &Office, then: Misbehaviour) -> ActionId {
    let answer = Misbehaviour::Held { then: Box::new(then) };
    office.sandbox.fault_once(Fault::Smtp { at: SmtpStage::Mail, address: None, taken: false, answer });
    let (id, _) = hand_in(office, "inbox-agent", &proposal("r1", &[ROBIN])).await;
    office.approve(id).await;
    let dispatcher = office.dispatcher().await;
    let attempt = async {
        dispatcher.tick().await;
    };
    let customer = async {
        office.sandbox.wait_for(Point::Held, 1).await.expect("the answer is held");
        assert_eq!(office.state(id).await, State::InProgress);
        says_stop(office, id).await;
        assert_eq!(office.state(id).await, State::InProgress);
        office.sandbox.release(Release::Answers);
    };
    tokio::join!(attempt, customer);
    id
}

#[tokio::test(flavor = "multi_thread")]
async fn r16_what_the_customer_says_while_we_connect_keeps_the_attempt_from_crossing() {
    let office = office().await;
    let id = attempt_with_news(&office, Misbehaviour::Normal).await;
    assert_eq!((office.state(id).await, office.sandbox.effects().len()), (State::NeedsReview, 0));
    goes_only_once_it_was_read(&office, id).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r16_what_the_customer_said_during_an_attempt_that_failed_keeps_the_next_one_back() {
    let office = office().await;
    let later = Misbehaviour::Reply { code: 451, text: "4.3.2 not now".into() };
    let id = attempt_with_news(&office, later).await;
    let doc = office.doc(id).await;
    assert_eq!((doc.state.as_str(), office.sandbox.effects().len()), ("needs_review", 0));
    assert!(doc.reason.as_deref().is_some_and(|why| why.contains("wrote again")), "{:?}", doc.reason);
    goes_only_once_it_was_read(&office, id).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r16_what_the_customer_said_in_doubt_is_shown_and_a_verdict_lets_nothing_go_before_it_is_read() {
    let office = office().await;
    let (id, _) = hand_in(&office, "inbox-agent", &proposal("r1", &[ROBIN])).await;
    office.approve(id).await;
    office.sandbox.fault_once(Fault::reset_before_acting());
    let dispatcher = office.dispatcher().await;
    dispatcher.tick().await;
    assert_eq!(office.state(id).await, State::Unknown);
    says_stop(&office, id).await;
    let doc = office.doc(id).await;
    assert_eq!(
        (doc.state.as_str(), text(&doc), open_news(&doc)),
        ("unknown", STOP, 1),
        "whoever decides has it in view"
    );
    // Nothing but the journal names that message yet, and a purge leaves it.
    let (other, _) = hand_in(&office, "inbox-agent", &proposal("r2", &["sam@other.example"])).await;
    office.desk.reject(other, "not wanted").await.expect("rejected");
    office.later(24 * HOUR);
    let now = office.clock.now();
    assert_eq!(office.core.ledger.purge(now, &office.core.owner, now).await.expect("purged").actions, 1);
    dispatcher.tick().await;
    let said = office.desk.resolve(id, Verdict::DidNotHappen, "Robin has nothing").await.expect("signed");
    assert_eq!(said.state, "needs_review");
    drop(dispatcher);
    goes_only_once_it_was_read(&office, id).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r16_what_was_refused_or_gave_up_is_not_approved_again_before_the_news_is_read() {
    for (fault, times, became) in [
        (Fault::refused_at_end(550), Times::Once, State::Refused),
        (Fault::mail_refused(451), Times::Exactly(3), State::GaveUp),
    ] {
        let office = office().await;
        office.sandbox.set_fault(fault, times);
        let (id, _) = hand_in(&office, "inbox-agent", &proposal("r1", &[ROBIN])).await;
        office.approve(id).await;
        let dispatcher = office.dispatcher().await;
        for _ in 0..3 {
            dispatcher.tick().await;
            office.later(11 * MINUTE);
        }
        assert_eq!((office.state(id).await, office.sandbox.effects().len()), (became, 0));
        says_stop(&office, id).await;
        drop(dispatcher);
        goes_only_once_it_was_read(&office, id).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r16_a_first_approval_of_two_of_what_gave_up_ends_when_the_customer_wrote_again() {
    let office = office().await;
    office.sandbox.set_fault(Fault::mail_refused(451), Times::Exactly(3));
    let (id, _) = hand_in(&office, "inbox-agent", &proposal("r1", &[ROBIN])).await;
    office.approve(id).await;
    let dispatcher = office.dispatcher().await;
    for _ in 0..3 {
        dispatcher.tick().await;
        office.later(11 * MINUTE);
    }
    let presence = office.core.unlock(None).await.expect("the window of a home without a passphrase");
    let (owner, settings) = (office.core.owner.clone(), &office.core.settings);
    settings.set_approvers_needed(SANDBOX, 2, &owner, &presence, office.clock.now()).await.expect("set");
    let counting = |doc: ActionDoc| doc.approvals.iter().filter(|a| a.counts).map(|a| a.at.clone()).next_back();
    office.later(MINUTE);
    let first = counting(office.approve(id).await);
    assert!(first.is_some() && office.state(id).await == State::GaveUp);
    says_stop(&office, id).await;
    assert_eq!(counting(office.doc(id).await), None, "it was given without the news");
    office.approve(id).await;
    assert_eq!(office.state(id).await, State::GaveUp, "one of two once more");
    verifies(&office).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r16_after_the_customer_wrote_again_a_lost_answer_is_repeated_by_a_person_only() {
    let b = Branch::resend().await;
    b.api.fault_once(ApiFault::resets_before_acting());
    let id = b.approved("r1").await;
    // The first round hands it over; the repeat would follow at once.
    let (settings, owner) = (&b.office.core.settings, b.office.core.owner.clone());
    settings.set_repeats_by_itself("place", false, &owner, b.office.clock.now()).await.expect("off");
    b.tick().await;
    settings.set_repeats_by_itself("place", true, &owner, b.office.clock.now()).await.expect("on");
    assert_eq!((b.state(id).await, b.api.writes().len()), (State::Unknown, 1));
    let (same, _) = hand_in(&b.office, "agent", &stop(b.document("r1"))).await;
    assert_eq!(same, id);
    for _ in 0..4 {
        b.later(10 * MINUTE);
        b.tick().await;
    }
    assert_eq!((b.state(id).await, b.api.writes().len(), b.effects()), (State::Unknown, 1, 0));
    let doc = b.office.doc(id).await;
    assert_eq!((text(&doc), open_news(&doc)), (STOP, 1));
    b.dispatcher.finish(id).await.expect("a person wants it");
    assert_eq!((b.state(id).await, b.effects()), (State::Accepted, 1));
    verifies(&b.office).await;
}
