//! One record is never touched by two actions at once, and what follows another goes in its turn (R11).

use crate::stage::*;
use countersign_domain::{ActionId, Sighting, State};
use countersign_ledger::Claimed;
use serde_json::json;
use std::sync::Arc;

/// A proposal with one note and one task on records of the CRM.
fn on_records(request: &str, note: serde_json::Value, other: (&str, serde_json::Value)) -> serde_json::Value {
    let mut p = proposal(&format!("evt-{request}"), request, "Of course.");
    let note = json!({ "step": "note", "effect": "crm.note", "destination": "crm",
        "payload": { "record": { "type": "contact", "match": note }, "text": "Moved" } });
    let other = json!({ "step": "other", "effect": other.0, "destination": "crm", "payload": other.1 });
    p["actions"] = json!([note, other]);
    p
}

async fn two_on(s: &Stage, request: &str, a: serde_json::Value, b: (&str, serde_json::Value)) -> [ActionId; 2] {
    let mut source = s.source.clone();
    source.effects.extend(["crm.task", "crm.contact.upsert", "crm.deal.update"].map(str::to_owned));
    let taken = s.receive_from(&on_records(request, a, b), &source).await.actions;
    let ids = [taken[0].action.expect("the first"), taken[1].action.expect("the second")];
    for id in ids {
        s.approve(id).await.expect("approved");
    }
    ids
}

on_both!(r11_two_actions_on_one_record_are_never_under_way_at_once, async |s: Stage| {
    let robin = || json!({ "email": "Robin@Customer.example" });
    let upsert =
        json!({ "match": { "email": "robin@customer.example" }, "fields": { "phone": "1" }, "mode": "upsert" });
    let [note, change] = two_on(&s, "req-1", robin(), ("crm.contact.upsert", upsert)).await;
    let claim = s.claim(note).await;
    assert!(s.nothing_to_claim().await, "another effect, another spelling, the same record");
    assert_eq!(s.ledger.beside(change, s.now()).await.expect("read"), [note]);
    s.cross(&claim).await;
    assert!(s.nothing_to_claim().await);
    s.close(&claim, &unclear()).await;
    s.pass(24 * HOUR);
    assert!(s.nothing_to_claim().await, "in doubt it may still be at work");
    s.look(note, &Sighting::Found(receipt("found")), false, None).await.expect("found");
    assert_eq!(s.ledger.beside(change, s.now()).await.expect("read"), []);
    s.claim(change).await;
    s.holds().await;
});

on_both!(r11_records_named_in_two_ways_wait_for_each_other_while_they_could_be_one, async |s: Stage| {
    let task = json!({ "record": { "type": "contact", "match": { "id": 4711 } }, "title": "Call" });
    let [note, task] = two_on(&s, "req-1", json!({ "email": "robin@customer.example" }), ("crm.task", task)).await;
    let claim = s.claim(note).await;
    assert!(s.nothing_to_claim().await, "4711 may be Robin");
    s.cross(&claim).await;
    s.close(&claim, &unclear()).await;
    assert!(s.nothing_to_claim().await);
    s.pass(121_000);
    s.claim(task).await;
    s.holds().await;
});

on_both!(r11_other_records_are_not_held_back, async |s: Stage| {
    let deal = json!({ "record": { "type": "deal", "match": { "id": "4711" } }, "fields": { "dealstage": "won" } });
    let [note, deal] = two_on(&s, "req-1", json!({ "id": "4711" }), ("crm.deal.update", deal)).await;
    let sam = json!({ "record": { "type": "contact", "match": { "id": "4712" } }, "title": "Call" });
    let [_, sam] = two_on(&s, "req-2", json!({ "id": 4711 }), ("crm.task", sam)).await;
    s.claim(note).await;
    s.claim(deal).await;
    s.claim(sam).await;
    assert!(s.nothing_to_claim().await, "the second note is on the first one's record");
    s.holds().await;
});

on_both!(r11_a_repeat_waits_for_what_is_under_way_on_its_record, async |s: Stage| {
    let task = json!({ "record": { "type": "contact", "match": { "id": 4711 } }, "title": "Call" });
    let [note, task] = two_on(&s, "req-1", json!({ "email": "robin@customer.example" }), ("crm.task", task)).await;
    assert_eq!(s.attempt(note, &unclear()).await.state, State::Unknown);
    s.pass(121_000);
    let claim = s.claim(task).await;
    let (name, reach) = (worker("w1"), ["crm".to_owned()]);
    let repeat =
        async || s.ledger.claim_repeat(note, &s.request(&name, &reach, None)).await.expect("a claim or nothing");
    assert!(matches!(repeat().await, Claimed::None));
    s.cross(&claim).await;
    s.close(&claim, &accepted()).await;
    assert!(matches!(repeat().await, Claimed::Claimed(_)));
});

/// Claimers of several processes: connections of their own, one file.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn r11_of_eight_claimers_over_one_record_one_holds_it_at_a_time() {
    let s = Stage::sqlite().await;
    let robin = || json!({ "email": "robin@customer.example" });
    for n in 0..4 {
        let task = json!({ "record": { "type": "contact", "match": robin() }, "title": "Call" });
        two_on(&s, &format!("req-{n}"), robin(), ("crm.task", task)).await;
    }
    let s = Arc::new(s);
    let mut tasks = Vec::new();
    for n in 0..8 {
        let s = s.clone();
        let ledger = countersign_ledger::Ledger::open(s.path(), Default::default()).await.expect("opened again");
        tasks.push(tokio::spawn(async move {
            let (name, reach) = (worker(&format!("w{n}")), ["crm".to_owned()]);
            match ledger.claim(&s.request(&name, &reach, None)).await.expect("a claim or nothing") {
                Claimed::Claimed(claim) => Some(claim),
                Claimed::None => None,
                Claimed::Refused { .. } => panic!("nothing was altered"),
            }
        }));
    }
    let mut won = Vec::new();
    for task in tasks {
        won.extend(task.await.expect("no panic"));
    }
    assert_eq!(won.len(), 1);
    assert_eq!(s.number("SELECT count(*) FROM actions WHERE state = 'in_progress'").await, 1);
    s.cross(&won[0]).await;
    s.close(&won[0], &accepted()).await;
    assert!(!s.nothing_to_claim().await, "the next one's turn");
    s.holds().await;
}

on_both!(r11_what_follows_waits_until_the_first_was_accepted_or_a_person_releases_it, async |s: Stage| {
    for (n, (first, releases)) in
        [(unclear(), false), (refused(), true), (not_sent(true), true), (accepted(), false)].into_iter().enumerate()
    {
        let taken = s.receive(&bundle(&format!("evt-{n}"), &format!("req-{n}"))).await.actions;
        let (reply, note) = (taken[0].action.expect("reply"), taken[1].action.expect("note"));
        s.approve(reply).await.expect("approved");
        s.approve(note).await.expect("approved");
        let mut state = s.attempt(reply, &first).await.state;
        while state == State::Approved {
            s.pass(HOUR);
            state = s.attempt(reply, &first).await.state;
        }
        let goes = async || match s.claim_as("w1", Some(note)).await {
            Ok(Claimed::Claimed(claim)) => {
                s.cross(&claim).await;
                s.close(&claim, &accepted()).await.state == State::Accepted
            }
            _ => false,
        };
        assert_eq!(s.ledger.release(note, &noor(), s.now()).await.is_ok(), releases, "{state}");
        if state == State::Unknown {
            assert!(!goes().await, "nobody knows yet");
            s.look(reply, &Sighting::Found(receipt("found")), false, None).await.expect("found");
        }
        assert!(goes().await, "{state}");
    }
    s.holds().await;
});
