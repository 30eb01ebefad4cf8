//! What a CRM's answers, and its silence, prove: a change is read back, what was archived or merged is not taken for absence
//! or success, and a token of another account asks and writes nothing.

use crate::crm::{Crm, MINUTE, contact, deal};
use countersign_domain::{State, Verdict};
use countersign_engine::anchor::MAY_HAVE_BEEN_SENT;
use countersign_sandbox::api::{Acts, ApiFault, ApiSays, On};
use countersign_sandbox::{Point, Times};
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread")]
async fn r20_a_change_is_accepted_only_once_it_was_read_back() {
    // Said and done.
    let crm = Crm::new().await;
    let id = crm.one("r1", "crm.deal.update", deal(json!({}))).await;
    crm.approve(&[id]).await;
    let dispatcher = crm.office.dispatcher().await;
    dispatcher.tick().await;
    let doc = crm.office.doc(id).await;
    let receipt = doc.receipt.expect("a receipt");
    assert_eq!((doc.state.as_str(), receipt.kind.as_str()), ("accepted", "answer"));
    assert!(receipt.text.contains("read back"), "{}", receipt.text);
    assert_eq!(crm.api.effects().len(), 1);

    // Said and not done.
    let crm = Crm::new().await;
    let id = crm.one("r1", "crm.deal.update", deal(json!({}))).await;
    crm.approve(&[id]).await;
    let yes = r#"{"id":"7","properties":{"dealstage":"won"},"updatedAt":"2026-11-02T09:15:00Z","archived":false}"#;
    crm.api.fault_once(ApiFault::says_ok_but(Acts::No, yes));
    let dispatcher = crm.office.dispatcher().await;
    crm.go_on(&dispatcher, 8, 10 * MINUTE).await;
    let doc = crm.office.doc(id).await;
    assert_eq!(doc.state, "unknown", "a yes that the record does not bear out is none");
    assert!(doc.attempts[0].evidence.to_string().contains("dealstage"), "{:?}", doc.attempts);
    let patches = crm.api.writes().iter().filter(|r| r.method == "PATCH").count();
    assert_eq!((crm.api.effects().len(), patches), (0, 1), "and it is not repeated");

    // Done, and turned into something else at once.
    let crm = Crm::new().await;
    let id = crm.one("r1", "crm.deal.update", deal(json!({}))).await;
    crm.approve(&[id]).await;
    crm.with(|app| app.workflow = Some(("dealstage".into(), "closedwon".into())));
    let dispatcher = crm.office.dispatcher().await;
    crm.go_on(&dispatcher, 3, 10 * MINUTE).await;
    assert_eq!(crm.office.state(id).await, State::Unknown);
    assert_eq!(crm.api.effects().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn r20_a_late_yes_to_a_change_is_read_back_too() {
    for ends in [State::Accepted, State::Unknown] {
        let crm = Crm::new().await;
        let id = crm.one("r1", "crm.deal.update", deal(json!({}))).await;
        crm.approve(&[id]).await;
        crm.api.fault_once(ApiFault::answers_late());
        crm.with(|app| app.workflow = Some(("dealstage".into(), "closedwon".into())));
        let dispatcher = crm.office.dispatcher().await;
        dispatcher.tick().await;
        assert_eq!(crm.office.state(id).await, State::Unknown, "no answer in time, and a look that does not see it");
        if ends == State::Accepted {
            crm.with(|app| app.change("deals", "7", "dealstage", "won"));
        }
        crm.api.release();
        dispatcher.late_answers().await;
        assert_eq!(crm.office.state(id).await, ends);
        assert_eq!(crm.api.effects().len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn f53_a_contact_that_was_made_and_archived_is_not_taken_for_one_that_was_never_made() {
    let crm = Crm::new().await;
    let id = crm.one("r1", "crm.contact.upsert", contact("sam@other.example", "create_only")).await;
    crm.approve(&[id]).await;
    crm.api.fault_once(ApiFault::new(Acts::Yes, ApiSays::Held(Box::new(ApiSays::Reset))));
    let dispatcher = crm.office.dispatcher().await;
    let archived = async {
        crm.api.wait_for(Point::Held, 1).await.expect("it was made");
        let made = crm.with(|app| app.all("contacts").pop().expect("it was made").id);
        crm.with(|app| app.archive("contacts", &made));
        crm.api.release();
    };
    tokio::join!(dispatcher.tick(), archived);
    // Past the look-up delay, when absence would be proof.
    crm.go_on(&dispatcher, 8, 10 * MINUTE).await;
    let doc = crm.office.doc(id).await;
    assert_eq!((doc.state.as_str(), crm.effects(id).await), ("accepted", 1), "{:?}", doc.lookups);
    let text = doc.receipt.expect("a receipt").text;
    assert!(text.contains("archived"), "a person reads what became of it: {text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn r20_a_survivor_of_a_merge_that_merely_has_the_value_is_no_proof() {
    for (fault, ends) in
        [(ApiFault::resets_before_acting(), State::Unknown), (ApiFault::too_many("1"), State::NeedsReview)]
    {
        let crm = Crm::new().await;
        crm.with(|app| app.put("deals", "8", &[("dealname", "Chairs, again"), ("dealstage", "won")]));
        let id = crm.one("r1", "crm.deal.update", deal(json!({}))).await;
        crm.approve(&[id]).await;
        crm.api.fault_once(fault.clone());
        // The look at once comes before the merge.
        let dispatcher = crm.office.dispatcher().await;
        dispatcher.tick().await;
        crm.with(|app| app.merge("deals", "7", "8"));
        crm.go_on(&dispatcher, 6, 10 * MINUTE).await;
        let doc = crm.office.doc(id).await;
        assert_eq!(crm.office.state(id).await, ends, "{fault:?}: {:?}", doc.lookups);
        assert_eq!(crm.api.effects().len(), 0, "{fault:?}: nothing of ours happened");
        if ends == State::NeedsReview {
            assert!(doc.reason.unwrap_or_default().contains("merged into 8"), "compared again, and shown");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r16_what_certainly_did_nothing_is_no_reason_to_take_somebody_elses_change_for_ours() {
    let crm = Crm::new().await;
    let id = crm.one("r1", "crm.deal.update", deal(json!({}))).await;
    crm.approve(&[id]).await;
    crm.api.fault_once(ApiFault::too_many("1"));
    let dispatcher = crm.office.dispatcher().await;
    dispatcher.tick().await;
    crm.with(|app| app.change("deals", "7", "dealstage", "won"));
    crm.go_on(&dispatcher, 3, 10 * MINUTE).await;
    let doc = crm.office.doc(id).await;
    assert_eq!(doc.state, "needs_review", "somebody wrote it meanwhile: {:?}", doc.receipt);
    assert_eq!(crm.api.effects().len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn r20_a_token_of_another_account_halts_every_attempt_and_says_so() {
    let crm = Crm::new().await;
    let id = crm.one("r1", "crm.task", json!({ "title": "Call" })).await;
    crm.approve(&[id]).await;
    crm.with(|app| app.portal = 999);
    let dispatcher = crm.office.dispatcher().await;
    let writes = crm.api.writes().len();
    crm.go_on(&dispatcher, 3, 10 * MINUTE).await;
    let doc = crm.office.doc(id).await;
    assert_eq!((doc.state.as_str(), doc.attempts.len()), ("approved", 1));
    let told = crm.office.core.ledger.destination("crm").await.unwrap().unwrap().paused.expect("it rests");
    assert!(told.until.is_none() && told.why.contains("999") && told.why.contains("4815162"), "{told:?}");
    assert_eq!((crm.api.writes().len(), crm.api.effects().len()), (writes, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn r20_what_is_not_found_with_a_token_of_another_account_is_no_absence() {
    let crm = Crm::new().await;
    let id = crm.one("r1", "crm.contact.upsert", contact("sam@other.example", "create_only")).await;
    crm.approve(&[id]).await;
    crm.api.fault_once(ApiFault::new(Acts::Yes, ApiSays::Held(Box::new(ApiSays::Reset))));
    let dispatcher = crm.office.dispatcher().await;
    let swapped = async {
        crm.api.wait_for(Point::Held, 1).await.expect("it was made");
        // The other account has none of our contacts.
        let made = crm.with(|app| {
            app.portal = 999;
            let made = app.all("contacts").pop().expect("it was made").id;
            app.change("contacts", &made, "countersign_key", "hidden");
            made
        });
        crm.api.release();
        made
    };
    let (_, made) = tokio::join!(dispatcher.tick(), swapped);
    crm.go_on(&dispatcher, 8, 10 * MINUTE).await;
    assert_eq!(crm.office.state(id).await, State::Unknown);
    assert!(crm.office.doc(id).await.lookups.iter().any(|l| l.text.contains("999")), "it says why");
    let key = crm.office.key(id).await;
    crm.with(|app| {
        app.portal = 4_815_162;
        app.change("contacts", &made, "countersign_key", key.as_str());
    });
    crm.go_on(&dispatcher, 8, 240 * MINUTE).await;
    assert_eq!((crm.office.state(id).await, crm.effects(id).await), (State::Accepted, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn r16_a_deal_that_cannot_be_read_before_it_is_changed_is_left_alone_and_no_attempt_is_counted() {
    for fault in [ApiFault::refuses(500), ApiFault::portal(502), ApiFault::resets_before_acting()] {
        let crm = Crm::new().await;
        let id = crm.one("r1", "crm.deal.update", deal(json!({}))).await;
        crm.approve(&[id]).await;
        let deals = On::Path("/crm/objects/2026-03/deals/".to_owned());
        crm.api.set_fault(fault.clone().on(deals), Times::Always);
        let (dispatcher, before) = (crm.office.dispatcher().await, crm.api.writes().len());
        dispatcher.tick().await;
        let record = crm.office.core.ledger.action(id).await.unwrap().unwrap();
        assert_eq!((record.state(), record.standing().attempts), (State::Approved, 0), "{fault:?}");
        let doc = crm.office.doc(id).await;
        assert!(doc.attempts[0].evidence.to_string().contains("situation:cannot_ask"), "{fault:?}: {:?}", doc.attempts);
        assert_eq!((crm.api.writes().len() - before, crm.api.effects().len()), (0, 0), "{fault:?}");
        crm.api.clear_faults();
        crm.go_on(&dispatcher, 2, 2 * MINUTE).await;
        assert_eq!((crm.office.state(id).await, crm.api.effects().len()), (State::Accepted, 1), "{fault:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn f10_after_an_adoption_a_person_can_say_of_a_crm_action_that_it_was_not_sent() {
    let crm = Crm::new().await;
    let note = json!({ "record": { "type": "contact", "match": { "id": 101 } }, "text": "x" });
    let id = crm.one("r1", "crm.note", note).await;
    crm.approve(&[id]).await;
    crm.office.restored_and_adopted().await;
    let dispatcher = crm.office.dispatcher().await;
    dispatcher.tick().await;
    assert_eq!(crm.office.state(id).await, State::NeedsReview, "its list lags, so not finding it proves nothing");
    let desk = &crm.office.desk;
    desk.confirm(id, None, None).await.expect("it can be confirmed");
    desk.clear_finding(id, MAY_HAVE_BEEN_SENT, "action").await.expect("it is asked, and a person says so");
    crm.approve(&[id]).await;
    dispatcher.tick().await;
    assert_eq!((crm.office.state(id).await, crm.effects(id).await), (State::Accepted, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn r23_one_record_is_one_however_it_is_spelled() {
    let crm = Crm::new().await;
    crm.with(|app| app.change("contacts", "101", "hs_additional_emails", "second@customer.example"));
    let note = |by: Value| json!({ "record": { "type": "contact", "match": by }, "text": "x" });
    let spelled = [
        json!({ "email": "second@customer.example" }),
        json!({ "email": "ROBIN@customer.example" }),
        json!({ "id": "0101" }),
    ];
    let mut ids = Vec::new();
    for (n, by) in spelled.into_iter().enumerate() {
        ids.push(crm.one(&format!("r{n}"), "crm.note", note(by)).await);
    }
    crm.approve(&ids).await;
    crm.api.fault_once(ApiFault::resets_before_acting());
    let dispatcher = crm.office.dispatcher().await;
    crm.go_on(&dispatcher, 8, 10 * MINUTE).await;
    let states = crm.states([ids[0], ids[1], ids[2]]).await;
    assert_eq!(states, [State::Unknown, State::Approved, State::Approved], "the first may still be at work on it");
    assert_eq!(crm.api.effects().len(), 0);
    let desk = &crm.office.desk;
    desk.resolve(ids[0], Verdict::DidNotHappen, "the list of notes at HubSpot").await.expect("it is settled");
    crm.go_on(&dispatcher, 4, 10 * MINUTE).await;
    let states = crm.states([ids[0], ids[1], ids[2]]).await;
    assert_eq!(states[1..], [State::Accepted, State::Accepted], "{states:?}");
    let on = crm.with(|app| app.all("notes").into_iter().flat_map(|n| n.hangs_on).collect::<Vec<_>>());
    assert!(on.iter().all(|(object, id)| object == "contacts" && id == "101"), "{on:?}");
}
