//! What a source delivers while an action waits: a newer conversation, another order. And one decision made twice at once.

use crate::office::{Office, ROBIN, Setup, proposal};
use countersign_domain::{ActionId, State};
use countersign_engine::view::{ActionDoc, FindingDoc};
use countersign_engine::{Code, SANDBOX};
use serde_json::{Value, json};

/// Without IMAP the destination tells nothing of what the customer wrote: the source's word is all there is.
async fn office() -> Office {
    Office::with(Setup { imap: false, ..Setup::default() }).await
}

struct Taken {
    ids: Vec<ActionId>,
    dispositions: Vec<String>,
}

async fn hand_in(office: &Office, document: &Value) -> Taken {
    let source = office.intake.by_name("inbox-agent").await.expect("the source is known");
    let answer = office.intake.propose(&source, document.to_string().as_bytes()).await.expect("it is well formed");
    let ids = answer.actions.iter().filter_map(|a| a.id.as_deref()).map(|id| id.parse().expect("an id")).collect();
    Taken { ids, dispositions: answer.actions.into_iter().map(|a| a.disposition).collect() }
}

/// The same draft, with what the customer wrote a while later.
fn and_one_more_thing(event: &str, received_at: &str) -> Value {
    let mut document = proposal("r1", &[ROBIN]);
    document["event_id"] = json!(event);
    document["conversation"]["received_at"] = json!(received_at);
    document["conversation"]["message_id"] = json!("<again@customer.example>");
    document["conversation"]["text"] = json!("Please do not move it after all!");
    document
}

fn news(doc: &ActionDoc) -> Vec<&FindingDoc> {
    doc.findings.iter().filter(|f| f.code == "customer_wrote_again" && f.cleared.is_none()).collect()
}

async fn approve_unseen(office: &Office, id: ActionId) -> Result<ActionDoc, Code> {
    let hash = office.doc(id).await.payload_hash;
    office.desk.approve(id, &hash, &[]).await.map_err(|e| e.code)
}

async fn verifies(office: &Office) {
    let (roster, secret) = (office.core.roster().await.unwrap(), office.core.ledger_secret().await.unwrap());
    let broken = office.core.ledger.verify(&roster, Some(&secret), &mut |_, _| {}).await.expect("it can be read");
    assert_eq!(broken, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn r16_a_customer_who_wrote_again_is_read_before_the_unchanged_draft_is_approved() {
    let office = office().await;
    let id = hand_in(&office, &proposal("r1", &[ROBIN])).await.ids[0];
    assert!(news(&office.doc(id).await).is_empty());
    let again = hand_in(&office, &and_one_more_thing("evt-2", "2026-11-02T09:10:00Z")).await;
    assert_eq!((again.ids, again.dispositions), (vec![id], vec!["duplicate".to_owned()]), "the draft is the same");
    let doc = office.doc(id).await;
    assert_eq!(doc.conversation.as_ref().and_then(|c| c.text.as_deref()), Some("Please do not move it after all!"));
    assert!(news(&doc).len() == 1 && news(&doc)[0].holds, "{:?}", doc.findings);
    assert_eq!(approve_unseen(&office, id).await.map(|d| d.state), Err(Code::NotPermitted));
    office.approve(id).await;
    office.dispatcher().await.tick().await;
    assert_eq!(
        (office.state(id).await, office.effects(id).await),
        (State::Accepted, 1),
        "a person read it and wanted it"
    );
    verifies(&office).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r16_an_approved_reply_does_not_go_out_once_the_customer_wrote_again() {
    for late_draft in [false, true] {
        let office = office().await;
        let id = hand_in(&office, &proposal("r1", &[ROBIN])).await.ids[0];
        office.approve(id).await;
        let mut again = and_one_more_thing("evt-2", "2026-11-02T09:10:00Z");
        if late_draft {
            again["actions"][0]["payload"]["text"] = json!("Then it stays as it is.\n");
        }
        let taken = hand_in(&office, &again).await;
        assert_eq!(taken.dispositions, [if late_draft { "late_draft" } else { "duplicate" }]);
        let dispatcher = office.dispatcher().await;
        dispatcher.tick().await;
        assert_eq!((office.state(id).await, office.effects(id).await), (State::NeedsReview, 0), "late: {late_draft}");
        let doc = office.doc(id).await;
        assert!(doc.reason.as_deref().is_some_and(|why| why.contains("wrote again")), "{:?}", doc.reason);
        assert!(doc.approvals.iter().all(|a| !a.counts), "{:?}", doc.approvals);
        office.desk.confirm(id, None, None).await.expect("a person saw it");
        assert_eq!(approve_unseen(&office, id).await.map(|d| d.state), Err(Code::NotPermitted));
        office.approve(id).await;
        dispatcher.tick().await;
        assert_eq!((office.state(id).await, office.effects(id).await), (State::Accepted, 1), "late: {late_draft}");
        verifies(&office).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r16_an_older_conversation_and_a_new_draft_for_the_newer_one_hold_nothing_back() {
    let office = office().await;
    let id = hand_in(&office, &proposal("r1", &[ROBIN])).await.ids[0];
    hand_in(&office, &and_one_more_thing("evt-old", "2026-11-02T08:00:00Z")).await;
    let doc = office.doc(id).await;
    assert_eq!(doc.conversation.as_ref().and_then(|c| c.text.as_deref()), Some("Can I move my slot?"));
    assert!(news(&doc).is_empty(), "it came out of turn");
    hand_in(&office, &and_one_more_thing("evt-2", "2026-11-02T09:10:00Z")).await;
    let mut answered = and_one_more_thing("evt-3", "2026-11-02T09:10:00Z");
    answered["actions"][0]["payload"]["text"] = json!("Then it stays as it is.\n");
    assert_eq!(hand_in(&office, &answered).await.dispositions, ["draft_replaced"]);
    assert!(news(&office.doc(id).await).is_empty(), "the new draft was made knowing it");
    approve_unseen(&office, id).await.expect("nothing holds it");
    verifies(&office).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r16_a_first_approval_of_two_ends_when_the_customer_wrote_again() {
    let office = office().await;
    let presence = office.core.unlock(None).await.expect("the window of a home without a passphrase");
    let owner = office.core.owner.clone();
    let settings = &office.core.settings;
    settings.set_approvers_needed(SANDBOX, 2, &owner, &presence, office.clock.now()).await.expect("set");
    let id = hand_in(&office, &proposal("r1", &[ROBIN])).await.ids[0];
    let counting = |doc: ActionDoc| doc.approvals.iter().filter(|a| a.counts).count();
    assert_eq!(counting(office.approve(id).await), 1);
    hand_in(&office, &and_one_more_thing("evt-2", "2026-11-02T09:10:00Z")).await;
    assert_eq!((office.state(id).await, counting(office.doc(id).await)), (State::Prepared, 0));
    verifies(&office).await;
}

/// Two steps to two people, the second one after the first where told.
fn two_steps(event: &str, after: [Option<&str>; 2]) -> Value {
    let mut document = proposal("r1", &[ROBIN]);
    document["event_id"] = json!(event);
    let mut second = proposal("r1", &["sam@other.example"])["actions"][0].clone();
    second["step"] = json!("second");
    document["actions"].as_array_mut().expect("a list").push(second);
    for (n, after) in after.into_iter().enumerate() {
        if let Some(step) = after {
            document["actions"][n]["after"] = json!(step);
        }
    }
    document
}

#[tokio::test(flavor = "multi_thread")]
async fn r07_a_newer_draft_brings_its_order_and_one_that_would_wait_for_itself_is_a_conflict() {
    let office = office().await;
    let first_then_second = [None, Some("first-reply")];
    let ids = hand_in(&office, &two_steps("evt-1", [None, None])).await.ids;
    let taken = hand_in(&office, &two_steps("evt-2", first_then_second)).await;
    assert_eq!(taken.dispositions, ["duplicate", "draft_replaced"], "the order is part of the draft");
    assert_eq!(office.doc(ids[1]).await.after.as_deref(), Some("first-reply"));
    office.approve(ids[1]).await;
    let dispatcher = office.dispatcher().await;
    dispatcher.tick().await;
    assert_eq!(
        (office.state(ids[1]).await, office.sandbox.effects().len()),
        (State::Approved, 0),
        "not before the first"
    );
    let circle = hand_in(&office, &two_steps("evt-3", [Some("second"), None])).await;
    assert_eq!(circle.dispositions, ["conflict", "not_taken"], "the second one waits for the first");
    assert_eq!(office.doc(ids[0]).await.after, None);
    office.approve(ids[0]).await;
    dispatcher.tick().await;
    dispatcher.tick().await;
    for id in ids {
        assert_eq!((office.state(id).await, office.effects(id).await), (State::Accepted, 1));
    }
    verifies(&office).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r07_an_order_that_was_taken_out_of_the_draft_is_gone_and_one_that_is_not_spoken_of_stays() {
    let office = office().await;
    let ids = hand_in(&office, &two_steps("evt-1", [None, Some("first-reply")])).await.ids;
    let mut alone = two_steps("evt-2", [None, None]);
    alone["actions"].as_array_mut().expect("a list").remove(0);
    assert_eq!(hand_in(&office, &alone).await.dispositions, ["duplicate"]);
    assert_eq!(office.doc(ids[1]).await.after.as_deref(), Some("first-reply"), "nothing was said of it");
    assert_eq!(hand_in(&office, &two_steps("evt-3", [None, None])).await.dispositions, ["duplicate", "draft_replaced"]);
    assert_eq!(office.doc(ids[1]).await.after, None);
    verifies(&office).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f18_the_same_approval_given_eight_times_at_once_is_one_and_answers_each_time() {
    let office = office().await;
    let id = office.propose("r1").await;
    let hash = office.doc(id).await.payload_hash;
    let tries = (0..8).map(|_| {
        let (desk, hash) = (office.desk.clone(), hash.clone());
        tokio::spawn(async move { desk.approve(id, &hash, &[]).await })
    });
    for one in tries.collect::<Vec<_>>() {
        let doc = one.await.expect("it ends").unwrap_or_else(|e| panic!("it is the same decision: {e}"));
        assert_eq!((doc.state.as_str(), doc.approvals.len()), ("approved", 1));
    }
    office.dispatcher().await.tick().await;
    assert_eq!((office.state(id).await, office.effects(id).await), (State::Accepted, 1));
}
