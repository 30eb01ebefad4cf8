//! Doubt and how it ends (R24, R25; invariant 4), and follow-ups.

use crate::stage::*;
use countersign_domain::{Sighting, State, Strength, Timestamp, Verdict, approval};
use countersign_ledger::{Claimed, Conflict};
use serde_json::json;

fn not_seen() -> Sighting {
    Sighting::NotSeen { looked: "Sent, by Message-ID".to_owned() }
}

on_both!(r24_unknown_stays_unknown_until_there_is_evidence_and_every_look_is_kept, async |s: Stage| {
    let id = s.unknown("req-1").await;
    assert_eq!(s.ledger.unknown_due(s.now()).await.expect("a list").len(), 1, "the first look is due at once");
    let next = Timestamp::from_millis(s.now().millis() + 30_000);
    let standing = s.look(id, &not_seen(), false, Some(next)).await.expect("kept");
    assert_eq!(standing.state, State::Unknown);
    assert!(s.ledger.unknown_due(s.now()).await.expect("a list").is_empty());
    s.pass(30_000);
    let item = &s.ledger.unknown_due(s.now()).await.expect("a list")[0];
    assert_eq!((item.looks, item.noted.clone(), item.attempts_left), (1, vec![json!({ "uidnext": 7 })], true));
    let cannot = Sighting::cannot_tell("offline");
    s.look(id, &cannot, true, Some(next)).await.expect("kept");
    assert_eq!(s.state(id).await, State::Unknown, "not being able to look proves nothing");
    assert_eq!(s.ledger.detail(id).await.expect("detail").sightings.len(), 2);
    s.holds().await;
});

on_both!(r25_found_settles_a_weak_sighting_does_not, async |s: Stage| {
    let id = s.unknown("req-1").await;
    let mut weak = receipt("the subject agrees");
    weak.strength = Strength::Weak;
    let standing = s.look(id, &Sighting::Found(weak), false, None).await.expect("kept");
    assert_eq!(standing.state, State::Unknown);
    let found = Sighting::Found(receipt("by Message-ID in Sent"));
    assert_eq!(s.look(id, &found, false, None).await.expect("kept").state, State::Accepted);
    s.holds().await;
});

on_both!(r25_conclusively_absent_grants_another_attempt_of_the_same_wire, async |s: Stage| {
    let id = s.unknown("req-1").await;
    let wire = s.ledger.action(id).await.expect("readable").expect("there").wire_hash;
    let standing = s.look(id, &not_seen(), true, None).await.expect("kept");
    assert_eq!((standing.state, standing.crossed_once), (State::Approved, true));
    let claim = s.claim(id).await;
    assert_eq!(Some(claim.order.wire().hash()), wire);
    assert_eq!((claim.number, claim.noted.len()), (2, 1));
    s.cross(&claim).await;
    s.close(&claim, &accepted()).await;
    s.holds().await;
});

on_both!(r25_each_verdict_does_what_it_says, async |s: Stage| {
    let (yes, no, leave) = (s.unknown("req-1").await, s.unknown("req-2").await, s.unknown("req-3").await);
    assert_eq!(s.verdict(yes, Verdict::Happened).await.expect("settled").state, State::Accepted);
    let receipt = s.ledger.action(yes).await.expect("readable").expect("there").row.receipt.expect("a receipt");
    assert_eq!(receipt.by.as_deref(), Some("Noor"));
    let standing = s.verdict(no, Verdict::DidNotHappen).await.expect("settled");
    assert_eq!((standing.state, standing.by_word), (State::Approved, true));
    assert_eq!(s.ledger.action(no).await.expect("readable").expect("there").by_word_of.as_deref(), Some("Noor"));
    assert_eq!(s.verdict(leave, Verdict::Leave).await.expect("settled").state, State::ClosedUnknown);
    assert!(s.ledger.unknown_due(Timestamp::from_millis(i64::MAX)).await.expect("a list").is_empty());
    // Evidence settles also what was left.
    let found = Sighting::Found(crate::stage::receipt("a delivery notice"));
    let standing = s.look(leave, &found, false, None).await.expect("kept");
    assert_eq!(standing.state, State::Accepted);
    s.holds().await;
});

on_both!(r25_a_verdict_on_another_action_or_on_a_settled_one_is_refused, async |s: Stage| {
    let (one, two) = (s.unknown("req-1").await, s.unknown("req-2").await);
    let key = s.ledger.action(two).await.expect("readable").expect("there").key.expect("a key");
    let word = approval::SignedVerdict::sign(&key, Verdict::Happened, "seen", &noor(), &device_of(&noor()), s.now());
    assert_eq!(conflict(s.ledger.settle(one, &word, None, s.now()).await), Conflict::OtherAction);
    s.verdict(one, Verdict::Happened).await.expect("settled");
    illegal(s.verdict(one, Verdict::DidNotHappen).await);
    assert_eq!(s.number("SELECT count(*) FROM verdicts").await, 1);
});

on_both!(r24_proof_for_an_action_under_way_again_drops_the_open_attempt, async |s: Stage| {
    let id = s.unknown("req-1").await;
    s.verdict(id, Verdict::DidNotHappen).await.expect("settled");
    let claim = s.claim(id).await;
    let found = Sighting::Found(receipt("a late delivery notice"));
    let standing = s.look(id, &found, false, None).await.expect("kept");
    assert_eq!((standing.state, standing.by_word), (State::Accepted, false));
    assert_eq!(conflict(s.ledger.record_crossing(&claim, &json!(null), s.now()).await), Conflict::ClaimLost);
    assert!(s.ledger.open_attempts().await.expect("a list").is_empty());
    s.holds().await;
});

on_both!(r24_a_late_answer_settles_and_drops_a_second_attempt, async |s: Stage| {
    let id = s.unknown("req-1").await;
    let first = s.ledger.detail(id).await.expect("detail").attempts[0].id;
    s.verdict(id, Verdict::DidNotHappen).await.expect("settled");
    let second = s.claim(id).await;
    let standing = s.ledger.late_answer(first, &accepted(), &json!({ "after": "612 s" }), s.now()).await.expect("kept");
    assert_eq!(standing.state, State::Accepted);
    assert_eq!(conflict(s.ledger.record_crossing(&second, &json!(null), s.now()).await), Conflict::ClaimLost);
    let detail = s.ledger.detail(id).await.expect("detail");
    assert_eq!(detail.attempts[1].outcome, "not_sent");
    s.holds().await;
});

on_both!(r24_an_accepted_action_stays_accepted_whatever_a_look_shows, async |s: Stage| {
    let id = s.approved("req-1").await;
    s.attempt(id, &accepted()).await;
    let standing = s.look(id, &not_seen(), true, None).await.expect("kept");
    assert_eq!(standing.state, State::Accepted);
    s.holds().await;
});

on_both!(r22_filing_has_a_state_of_its_own_and_never_touches_the_action, async |s: Stage| {
    let id = s.approved("req-1").await;
    s.attempt(id, &accepted()).await;
    s.ledger.put_filing(id, "waiting", "", Some(s.now()), s.now()).await.expect("waiting");
    assert_eq!(s.ledger.filings_due(s.now()).await.expect("a list").len(), 1);
    s.ledger.put_filing(id, "failed", "the folder is full", None, s.now()).await.expect("failed");
    assert!(s.ledger.filings_due(s.now()).await.expect("a list").is_empty());
    let filing = s.ledger.filing(id).await.expect("read").expect("there");
    assert_eq!((filing.state.as_str(), filing.tries), ("failed", 2));
    assert_eq!(s.state(id).await, State::Accepted);
    let order = s.ledger.order_for_look(id, &s.roster, &s.secret).await.expect("read").expect("verified");
    assert_eq!(order.action(), id);
    s.holds().await;
});

on_both!(r17_accepted_mail_makes_people_known_and_relates_later_actions, async |s: Stage| {
    let id = s.approved("req-1").await;
    let robin = std::collections::BTreeSet::from(["robin@customer.example".to_owned()]);
    let before = s.ledger.known_people("live", &robin).await.expect("read");
    assert!(before.recipients.is_empty());
    assert_eq!(before.domains.count("customer.example"), 1, "the customer wrote to us");
    s.attempt(id, &accepted()).await;
    let known = s.ledger.known_people("live", &robin).await.expect("read");
    assert_eq!(known.recipients, [("robin@customer.example".to_owned(), 1)]);
    let second = s.prepared("req-2").await;
    let related = s.ledger.related(second).await.expect("read");
    assert_eq!((related.len(), related[0].action, related[0].same_thread), (1, id, true));
    assert_eq!(related[0].recipient.as_deref(), Some("robin@customer.example"));
    for n in 2..4 {
        let again = s.approved(&format!("more-{n}")).await;
        s.attempt(again, &accepted()).await;
        let known = s.ledger.known_people("live", &robin).await.expect("read");
        assert_eq!(known.domains.count("customer.example"), n, "an open ledger reads on");
    }
});

/// An unknown action that was repeated under its key and crossed again, with what was known before.
async fn crossed_again(s: &Stage) -> (countersign_domain::ActionId, Timestamp) {
    let id = s.unknown("req-1").await;
    let before = s.ledger.unknown_item(id).await.expect("read").expect("unknown").last_crossed;
    s.pass(1_000);
    let (w, reach) = (worker("w1"), ["support".to_owned()]);
    match s.ledger.claim_repeat(id, &s.request(&w, &reach, Some(id))).await {
        Ok(Claimed::Claimed(claim)) => {
            s.cross(&claim).await;
            assert_eq!(s.close(&claim, &unclear()).await.state, State::Unknown);
        }
        other => panic!("{other:?}"),
    }
    (id, before)
}

on_both!(r25_a_look_that_began_before_the_newest_crossing_does_not_prove_absence, async |s: Stage| {
    let (id, before) = crossed_again(&s).await;
    let standing = s.ledger.record_sighting(id, &not_seen(), true, before, None, s.now()).await.expect("kept");
    assert_eq!(standing.state, State::Unknown);
    assert!(!s.ledger.detail(id).await.expect("detail").sightings[0].conclusive_absence);
    // Of the newest one it does; and finding it is proof whichever crossing it came from.
    assert_eq!(s.look(id, &not_seen(), true, None).await.expect("kept").state, State::Approved);
    let found = Sighting::Found(receipt("by Message-ID in Sent"));
    let standing = s.ledger.record_sighting(id, &found, false, before, None, s.now()).await.expect("kept");
    assert_eq!(standing.state, State::Accepted);
    s.holds().await;
});

on_both!(r25_a_word_that_it_did_not_happen_is_about_the_newest_crossing, async |s: Stage| {
    let (id, before) = crossed_again(&s).await;
    let key = s.ledger.action(id).await.expect("readable").expect("there").key.expect("a key");
    let sign = |v| approval::SignedVerdict::sign(&key, v, "asked them", &noor(), &device_of(&noor()), s.now());
    let no = sign(Verdict::DidNotHappen);
    assert_eq!(conflict(s.ledger.settle(id, &no, Some(before), s.now()).await), Conflict::CrossedAgain);
    assert_eq!(s.state(id).await, State::Unknown);
    assert_eq!(s.number("SELECT count(*) FROM verdicts").await, 0);
    // That it happened is true of the action, whichever crossing did it.
    let yes = sign(Verdict::Happened);
    assert_eq!(s.ledger.settle(id, &yes, Some(before), s.now()).await.expect("settled").state, State::Accepted);
    s.holds().await;
});

on_both!(r17_what_a_person_left_as_unknown_is_still_related, async |s: Stage| {
    let left = s.unknown("req-1").await;
    s.verdict(left, Verdict::Leave).await.expect("left");
    let second = s.prepared("req-2").await;
    let related = s.ledger.related(second).await.expect("read");
    assert_eq!((related.len(), related[0].action, related[0].state), (1, left, State::ClosedUnknown));
    assert!(related[0].same_thread && related[0].recipient.is_some());
});
