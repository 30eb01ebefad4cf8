//! What a delivery means (R04, R06, R07, R08, R10, R11; F20).

use crate::stage::*;
use countersign_domain::{Disposition, State};
use serde_json::json;
use std::sync::Arc;

on_both!(r06_a_new_proposal_makes_one_prepared_action, async |s: Stage| {
    let r = s.receive(&proposal("evt-1", "req-1", "Of course.")).await;
    let a = &r.actions[0];
    assert_eq!((a.disposition, a.state, a.payload_version), (Disposition::Created, Some(State::Prepared), Some(1)));
    assert!(a.key.is_some() && a.idempotency_key.is_some() && a.payload_hash.is_some());
    let record = s.ledger.action(a.action.expect("an id")).await.expect("readable").expect("there");
    assert_eq!(
        (record.row.subject.as_str(), record.row.email.as_str()),
        ("Re: Delivery slot", "robin@customer.example")
    );
    s.holds().await;
});

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn r06_16_identical_proposals_at_once_make_one_action() {
    let s = Arc::new(Stage::sqlite().await);
    let tasks: Vec<_> = (0..16)
        .map(|_| {
            let s = s.clone();
            tokio::spawn(async move { s.receive(&proposal("evt-1", "req-1", "Of course.")).await })
        })
        .collect();
    let mut answers = Vec::new();
    for task in tasks {
        answers.push(task.await.expect("no panic").actions.remove(0));
    }
    let created = answers.iter().filter(|a| a.disposition == Disposition::Created).count();
    let repeats = answers.iter().filter(|a| a.disposition == Disposition::Duplicate).count();
    assert_eq!((created, repeats), (1, 15));
    assert!(answers.iter().all(|a| a.action == answers[0].action && a.state == Some(State::Prepared)));
    assert_eq!(s.number("SELECT count(*) FROM actions").await, 1);
    assert_eq!(s.number("SELECT count(*) FROM deliveries").await, 16);
    assert_eq!(s.number("SELECT count(DISTINCT first) FROM deliveries WHERE first IS NOT NULL").await, 1);
    s.holds().await;
}

on_both!(f20_the_same_event_twice_answers_with_the_first_action, async |s: Stage| {
    let first = s.receive(&proposal("evt-1", "req-1", "Of course.")).await;
    s.pass(400);
    let again = s.receive(&proposal("evt-1", "req-1", "Of course.")).await;
    assert_eq!(again.actions[0].disposition, Disposition::Duplicate);
    assert_eq!(again.actions[0].action, first.actions[0].action);
    let detail = s.ledger.detail(first.actions[0].action.expect("an id")).await.expect("detail");
    assert_eq!(detail.deliveries.len(), 2);
    assert_eq!(detail.deliveries[1].first, Some(detail.deliveries[0].id));
});

on_both!(r06_the_same_event_with_other_content_is_a_conflict_and_replaces_nothing, async |s: Stage| {
    let id = s.prepared("req-1").await;
    let r = s.receive(&proposal("evt-req-1", "req-1", "Something else.")).await;
    assert_eq!(r.actions[0].disposition, Disposition::Conflict);
    let record = s.ledger.action(id).await.expect("readable").expect("there");
    assert_eq!(record.row.payload_version, 1);
    assert_eq!(s.ledger.not_taken(10).await.expect("a list").len(), 1);
    s.holds().await;
});

on_both!(r07_a_newer_draft_replaces_the_shown_one_and_a_late_one_changes_nothing, async |s: Stage| {
    let id = s.prepared("req-1").await;
    let newer = s.receive(&proposal("evt-2", "req-1", "Of course, on Tuesday.")).await;
    assert_eq!(newer.actions[0].disposition, Disposition::DraftReplaced);
    assert_eq!((newer.actions[0].action, newer.actions[0].payload_version), (Some(id), Some(2)));
    s.approve(id).await.expect("approved");
    let late = s.receive(&proposal("evt-3", "req-1", "No.")).await;
    assert_eq!((late.actions[0].disposition, late.actions[0].state), (Disposition::LateDraft, Some(State::Approved)));
    let record = s.ledger.action(id).await.expect("readable").expect("there");
    assert_eq!((record.row.payload_version, record.row.payload_hash), (2, newer.actions[0].payload_hash));
    let same = s.receive(&proposal("evt-4", "req-1", "Of course, on Tuesday.")).await;
    assert_eq!(same.actions[0].disposition, Disposition::Duplicate);
    s.holds().await;
});

on_both!(r07_a_newer_draft_ends_the_first_of_two_approvals, async |s: Stage| {
    let id = s.prepared("req-1").await;
    let (approval, wire) = s.sign(id, &noor(), &device_of(&noor())).await;
    let standing = s.ledger.approve(id, &approval, &wire, 2, s.now(), true, s.now()).await.expect("one of two");
    assert_eq!((standing.state, standing.signed), (State::Prepared, 1));
    s.receive(&proposal("evt-2", "req-1", "Of course, on Tuesday.")).await;
    let detail = s.ledger.detail(id).await.expect("detail");
    assert_eq!(detail.record.standing().signed, 0);
    assert!(!detail.approvals[0].counts);
    s.holds().await;
});

on_both!(r08_an_older_source_version_never_overwrites_and_an_equal_one_replaces, async |s: Stage| {
    let with = |event: &str, version: u64, text: &str| {
        let mut p = proposal(event, "req-1", text);
        p["source_version"] = json!(version);
        p
    };
    s.receive(&with("e1", 3, "third")).await;
    assert_eq!(s.receive(&with("e2", 2, "second")).await.actions[0].disposition, Disposition::Stale);
    assert_eq!(s.receive(&with("e3", 3, "third again")).await.actions[0].disposition, Disposition::DraftReplaced);
    // The same draft seen with a higher version raises what is known.
    assert_eq!(s.receive(&with("e4", 5, "third again")).await.actions[0].disposition, Disposition::Duplicate);
    assert_eq!(s.receive(&with("e5", 4, "fourth")).await.actions[0].disposition, Disposition::Stale);
    s.holds().await;
});

on_both!(r10_what_a_source_may_not_propose_is_recorded_and_nothing_of_it_is_taken, async |s: Stage| {
    let mut narrow = source("shopbot");
    narrow.effects = vec!["email.reply".to_owned()];
    let r = s.receive_from(&bundle("evt-1", "req-1"), &narrow).await;
    let dispositions: Vec<_> = r.actions.iter().map(|a| a.disposition).collect();
    assert_eq!(dispositions, [Disposition::NotTaken, Disposition::NotPermitted]);
    assert!(r.actions[1].reason.as_deref().is_some_and(|t| t.contains("crm.note")));
    assert_eq!(s.number("SELECT count(*) FROM actions").await, 0);
    assert_eq!(s.number("SELECT count(*) FROM deliveries").await, 1);
    // Refused work does not use the event up: once it is allowed, the same delivery is taken (F21).
    let again = s.receive(&bundle("evt-1", "req-1")).await;
    assert!(again.actions.iter().all(|a| a.disposition == Disposition::Created));
    s.holds().await;
});

on_both!(r10_a_removed_destination_or_revoked_source_takes_nothing, async |s: Stage| {
    s.ledger.remove_destination("crm", &noor(), s.now()).await.expect("removed");
    let r = s.receive(&bundle("evt-1", "req-1")).await;
    assert_eq!(r.actions[1].disposition, Disposition::NotPermitted);
    let mut gone = source("shopbot");
    gone.revoked_at = Some(s.now());
    let r = s.receive_from(&proposal("evt-2", "req-2", "x"), &gone).await;
    assert_eq!(r.actions[0].disposition, Disposition::NotPermitted);
});

on_both!(r04_a_missing_identity_waits_for_a_person_and_repeats_join_it, async |s: Stage| {
    let mut p = proposal("", "req-1", "Of course.");
    let r = s.receive(&p).await;
    let id = r.actions[0].action.expect("a row");
    assert_eq!((r.actions[0].disposition, r.actions[0].state), (Disposition::NeedsReview, Some(State::NeedsReview)));
    assert!(r.actions[0].key.is_none() && r.actions[0].payload_hash.is_none());
    let again = s.receive(&p).await;
    assert_eq!((again.actions[0].disposition, again.actions[0].action), (Disposition::Duplicate, Some(id)));
    // Other content is another row: nothing is matched by likeness.
    p["actions"][0]["payload"]["text"] = json!("Of course!");
    assert_ne!(s.receive(&p).await.actions[0].action, Some(id));
    assert!(s.approve_blind(id).await.is_err());
    let standing = s.ledger.confirm(id, None, Some("evt-1"), &s.secret, &noor(), s.now()).await.expect("completed");
    assert_eq!(standing.state, State::Prepared);
    let record = s.ledger.action(id).await.expect("readable").expect("there");
    assert_eq!((record.event_id.as_deref(), record.row.payload_version), (Some("evt-1"), 2));
    s.approve(id).await.expect("approved");
    s.holds().await;
});

on_both!(r04_confirm_into_a_key_that_exists_is_a_conflict_and_changes_nothing, async |s: Stage| {
    let other = s.prepared("req-1").await;
    let id = s.receive(&proposal("evt-9", "", "Of course.")).await.actions[0].action.expect("a row");
    let before = s.ledger.head().await.expect("head");
    let c = conflict(s.ledger.confirm(id, Some("req-1"), None, &s.secret, &noor(), s.now()).await);
    assert_eq!(c, countersign_ledger::Conflict::KeyExists { action: other });
    assert_eq!(s.ledger.head().await.expect("head"), before);
    assert_eq!(s.state(id).await, State::NeedsReview);
    // Still missing is said by name; an event id of another proposal is not taken over.
    let c = conflict(s.ledger.confirm(id, None, None, &s.secret, &noor(), s.now()).await);
    assert_eq!(c, countersign_ledger::Conflict::StillMissing { field: "request_id" });
    s.ledger.confirm(id, Some("req-2"), None, &s.secret, &noor(), s.now()).await.expect("completed");
    s.holds().await;
});

on_both!(r11_each_action_of_a_bundle_has_its_own_outcome_and_the_order_holds, async |s: Stage| {
    let r = s.receive(&bundle("evt-1", "req-1")).await;
    let (reply, note) = (r.actions[0].action.expect("reply"), r.actions[1].action.expect("note"));
    assert_eq!(s.ledger.action(note).await.expect("readable").expect("there").row.after, Some(reply));
    s.approve(note).await.expect("approved");
    assert!(s.nothing_to_claim().await, "the note waits for the reply");
    s.approve(reply).await.expect("approved");
    assert_eq!(s.attempt(reply, &accepted()).await.state, State::Accepted);
    assert_eq!(s.attempt(note, &not_sent(true)).await.state, State::Approved);
    assert_eq!(s.state(reply).await, State::Accepted);
    s.holds().await;
});

on_both!(r28_after_a_revise_a_delivery_meets_the_newest_revision, async |s: Stage| {
    let old = s.approved("req-1").await;
    s.attempt(old, &accepted()).await;
    let new = s.ledger.revise(old, None, &s.secret, &noor(), s.now()).await.expect("revised");
    let again = s.receive(&proposal("evt-req-1", "req-1", "Of course.")).await;
    assert_eq!((again.actions[0].disposition, again.actions[0].action), (Disposition::Duplicate, Some(new)));
    let newer = s.receive(&proposal("evt-2", "req-1", "A better text.")).await;
    assert_eq!((newer.actions[0].disposition, newer.actions[0].action), (Disposition::DraftReplaced, Some(new)));
    s.approve(new).await.expect("approved");
    let late = s.receive(&proposal("evt-3", "req-1", "Too late.")).await;
    assert_eq!((late.actions[0].disposition, late.actions[0].action), (Disposition::LateDraft, Some(new)));
    assert_eq!(s.number("SELECT count(*) FROM actions").await, 2, "a delivery never makes a revision");
    s.holds().await;
});

on_both!(r03_accounts_destinations_and_sources_never_share_a_key, async |s: Stage| {
    s.ledger.add_source(&source("otherbot"), &noor(), s.now()).await.expect("a source");
    let one = s.receive(&proposal("evt-1", "req-1", "Of course.")).await;
    let two = s.receive_from(&proposal("evt-1", "req-1", "Of course."), &source("otherbot")).await;
    assert_eq!(two.actions[0].disposition, Disposition::Created);
    assert_ne!(one.actions[0].idempotency_key, two.actions[0].idempotency_key);
});

impl Stage {
    /// Approving a row without a key cannot even be signed.
    async fn approve_blind(&self, id: countersign_domain::ActionId) -> Result<(), countersign_ledger::LedgerError> {
        self.ledger.signable(id, &self.secret).await.map(|_| ())
    }
}
