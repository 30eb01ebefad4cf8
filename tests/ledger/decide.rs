//! What a person decides (R12, R13, R15, R28; F45).

use crate::stage::*;
use countersign_domain::state::Why;
use countersign_domain::{ActionId, Fact, Payload, State, Timestamp, WireHash};
use countersign_ledger::{Claimed, Conflict, RefusedClaim, Waits};

fn payload(text: &str) -> Payload {
    Payload::parse("email.reply", email("robin@customer.example", text), &[]).expect("a payload")
}

on_both!(r13_approving_a_hash_that_is_no_longer_current_changes_nothing, async |s: Stage| {
    let id = s.prepared("req-1").await;
    let (approval, wire) = s.sign(id, &noor(), &device_of(&noor())).await;
    assert_eq!(s.ledger.edit(id, 1, &payload("On Tuesday."), &noor(), s.now()).await.expect("edited"), 2);
    let before = s.ledger.head().await.expect("head");
    let c = conflict(s.ledger.approve(id, &approval, &wire, 1, s.now(), true, s.now()).await);
    let current = s.ledger.action(id).await.expect("readable").expect("there").row.payload_hash.expect("a hash");
    assert_eq!(c, Conflict::HashNotCurrent { current });
    assert_eq!(s.ledger.head().await.expect("head"), before);
    assert_eq!(s.number("SELECT count(*) FROM approvals").await, 0);
});

on_both!(r13_an_edit_must_name_the_version_it_replaces, async |s: Stage| {
    let id = s.prepared("req-1").await;
    s.receive(&proposal("evt-2", "req-1", "A newer draft.")).await;
    let c = conflict(s.ledger.edit(id, 1, &payload("On Tuesday."), &noor(), s.now()).await);
    assert_eq!(c, Conflict::VersionMoved { current: 2 });
});

on_both!(r13_an_approved_action_is_undone_before_it_is_edited_and_the_undo_ends_the_approval, async |s: Stage| {
    let id = s.approved("req-1").await;
    illegal(s.ledger.edit(id, 1, &payload("On Tuesday."), &noor(), s.now()).await);
    assert_eq!(s.ledger.undo(id, &noor(), s.now()).await.expect("undone").state, State::Prepared);
    let detail = s.ledger.detail(id).await.expect("detail");
    assert!(!detail.approvals[0].counts && detail.record.wire_hash.is_none());
    s.ledger.edit(id, 1, &payload("On Tuesday."), &noor(), s.now()).await.expect("edited");
    s.approve(id).await.expect("approved");
    assert_eq!(s.ledger.action(id).await.expect("readable").expect("there").newest_sequence, 2);
    s.holds().await;
});

on_both!(r12_every_field_of_an_approval_must_fit, async |s: Stage| {
    let id = s.prepared("req-1").await;
    let other = s.prepared("req-2").await;
    let (good, wire) = s.sign(id, &noor(), &device_of(&noor())).await;
    let mut wrong = Vec::new();
    let mut a = good.clone();
    a.key = s.sign(other, &noor(), &device_of(&noor())).await.0.key;
    wrong.push(a);
    let mut a = good.clone();
    a.wire_hash = WireHash([9; 32]);
    wrong.push(a);
    let mut a = good.clone();
    a.account = account(9);
    wrong.push(a);
    let mut a = good.clone();
    a.conversation = None;
    wrong.push(a);
    let mut a = good.clone();
    a.sequence = 2;
    wrong.push(a);
    for approval in wrong {
        match conflict(s.ledger.approve(id, &approval, &wire, 1, s.now(), true, s.now()).await) {
            Conflict::ApprovalDiffers { .. } => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(s.state(id).await, State::Prepared);
    s.ledger.approve(id, &good, &wire, 1, s.now(), true, s.now()).await.expect("the good one");
});

on_both!(r15_the_undo_window_holds_an_approved_action_back_and_send_now_ends_it, async |s: Stage| {
    let id = s.prepared("req-1").await;
    let (approval, wire) = s.sign(id, &noor(), &device_of(&noor())).await;
    let end = Timestamp::from_millis(s.now().millis() + 10_000);
    s.ledger.approve(id, &approval, &wire, 1, end, true, s.now()).await.expect("approved");
    assert!(s.nothing_to_claim().await);
    assert_eq!(s.ledger.action(id).await.expect("readable").expect("there").row.waits, Waits::UndoWindow);
    s.ledger.send_now(id, &noor(), s.now()).await.expect("ended");
    let claim = s.claim(id).await;
    illegal(s.ledger.undo(id, &noor(), s.now()).await);
    s.cross(&claim).await;
    s.close(&claim, &accepted()).await;
    s.holds().await;
});

on_both!(r15_an_expired_approval_goes_to_needs_review_and_a_confirmed_one_is_prepared_again, async |s: Stage| {
    let id = s.approved("req-1").await;
    s.pass(72 * HOUR);
    assert!(s.nothing_to_claim().await, "an expired approval bars a claim");
    assert_eq!(s.ledger.expire_due(s.now()).await.expect("looked"), [id]);
    assert_eq!(s.state(id).await, State::NeedsReview);
    // Never crossed: cannot be approved there, a person confirms it first.
    let (approval, wire) = s.sign(id, &noor(), &device_of(&noor())).await;
    illegal(s.ledger.approve(id, &approval, &wire, 1, s.now(), true, s.now()).await);
    let standing = s.ledger.confirm(id, None, None, &s.secret, &noor(), s.now()).await.expect("confirmed");
    assert_eq!(standing.state, State::Prepared);
    s.approve(id).await.expect("approved");
    s.holds().await;
});

on_both!(r15_two_different_people_are_needed_and_two_devices_of_one_are_one, async |s: Stage| {
    let id = s.prepared("req-1").await;
    let (first, wire) = s.sign(id, &noor(), &device_of(&noor())).await;
    s.ledger.approve(id, &first, &wire, 2, s.now(), true, s.now()).await.expect("one of two");
    s.pass(1_000);
    let (again, stored) = s.sign(id, &noor(), &noors_phone()).await;
    assert_eq!(stored, wire, "the second approver signs the stored wire");
    let c = conflict(s.ledger.approve(id, &again, &stored, 2, s.now(), true, s.now()).await);
    assert_eq!(c, Conflict::SameApprover { by: "Noor".to_owned() });
    let (second, stored) = s.sign(id, &sam(), &device_of(&sam())).await;
    let other = countersign_domain::Wire::new(b"another rendering".to_vec());
    let mut differs = second.clone();
    differs.wire_hash = other.hash();
    assert_eq!(
        conflict(s.ledger.approve(id, &differs, &other, 2, s.now(), true, s.now()).await),
        Conflict::WireDiffers
    );
    let standing = s.ledger.approve(id, &second, &stored, 2, s.now(), true, s.now()).await.expect("two of two");
    assert_eq!((standing.state, standing.signed), (State::Approved, 0));
    s.claim(id).await;
    s.holds().await;
});

on_both!(r15_an_edit_voids_the_first_of_two_approvals, async |s: Stage| {
    let id = s.prepared("req-1").await;
    let (first, wire) = s.sign(id, &noor(), &device_of(&noor())).await;
    s.ledger.approve(id, &first, &wire, 2, s.now(), true, s.now()).await.expect("one of two");
    s.ledger.edit(id, 1, &payload("On Tuesday."), &noor(), s.now()).await.expect("edited");
    let (second, wire) = s.sign(id, &sam(), &device_of(&sam())).await;
    let standing = s.ledger.approve(id, &second, &wire, 2, s.now(), true, s.now()).await.expect("one of two again");
    assert_eq!((standing.state, standing.signed), (State::Prepared, 1));
    s.holds().await;
});

on_both!(inv_after_a_crossing_only_the_stored_wire_may_be_approved, async |s: Stage| {
    let id = s.approved("req-1").await;
    assert_eq!(s.attempt(id, &not_sent(true)).await.state, State::Approved);
    assert_eq!(s.ledger.undo(id, &noor(), s.now()).await.expect("undone").state, State::NeedsReview);
    illegal(s.ledger.edit(id, 1, &payload("On Tuesday."), &noor(), s.now()).await);
    illegal(s.ledger.confirm(id, None, None, &s.secret, &noor(), s.now()).await);
    s.pass(1_000);
    let (approval, stored) = s.sign(id, &noor(), &device_of(&noor())).await;
    let other = countersign_domain::Wire::new(b"a new Date header".to_vec());
    let mut differs = approval.clone();
    differs.wire_hash = other.hash();
    assert_eq!(
        conflict(s.ledger.approve(id, &differs, &other, 1, s.now(), true, s.now()).await),
        Conflict::WireDiffers
    );
    s.ledger.approve(id, &approval, &stored, 1, s.now(), true, s.now()).await.expect("the stored one");
    assert_eq!(s.attempt(id, &accepted()).await.state, State::Accepted);
    s.holds().await;
});

on_both!(r13_a_rejected_action_stays_rejected, async |s: Stage| {
    let id = s.prepared("req-1").await;
    let standing = s.ledger.reject(id, "wrong customer", &noor(), s.now()).await.expect("rejected");
    assert_eq!(standing.state, State::Rejected);
    let record = s.ledger.action(id).await.expect("readable").expect("there");
    assert_eq!(record.row.reason.as_deref(), Some("wrong customer"));
    illegal(s.ledger.undo(id, &noor(), s.now()).await);
    s.holds().await;
});

on_both!(r11_release_is_possible_only_when_the_other_ended_without_acceptance, async |s: Stage| {
    let r = s.receive(&bundle("evt-1", "req-1")).await;
    let (reply, note) = (r.actions[0].action.expect("reply"), r.actions[1].action.expect("note"));
    s.approve(note).await.expect("approved");
    assert_eq!(conflict(s.ledger.release(note, &noor(), s.now()).await), Conflict::OrderStands { action: reply });
    s.ledger.reject(reply, "no", &noor(), s.now()).await.expect("rejected");
    assert!(s.nothing_to_claim().await);
    s.ledger.release(note, &noor(), s.now()).await.expect("released");
    s.claim(note).await;
    assert_eq!(
        conflict(s.ledger.release(reply, &noor(), s.now()).await),
        Conflict::Illegal(countersign_domain::Illegal {
            state: State::Rejected,
            fact: Fact::Released.name(),
            why: Why::NoSuchRow,
        })
    );
    s.holds().await;
});

on_both!(r28_revise_makes_one_new_action_and_bars_the_old_one, async |s: Stage| {
    let old = s.unknown("req-1").await;
    let new = s.ledger.revise(old, Some(&payload("Better.")), &s.secret, &noor(), s.now()).await.expect("revised");
    let (o, n) = (get(&s, old).await, get(&s, new).await);
    assert_eq!((o.state(), o.standing().revised, o.revised_by), (State::Unknown, true, Some(new)));
    assert_eq!((n.state(), n.revision, n.revises), (State::Prepared, 2, Some(old)));
    assert_ne!(o.idempotency_key, n.idempotency_key);
    illegal(s.ledger.revise(old, None, &s.secret, &noor(), s.now()).await);
    // Where it would go back to approved it becomes superseded.
    assert_eq!(
        s.verdict(old, countersign_domain::Verdict::DidNotHappen).await.expect("settled").state,
        State::Superseded
    );
    illegal(s.ledger.revise(old, None, &s.secret, &noor(), s.now()).await);
    s.holds().await;
});

on_both!(r28_what_waited_for_a_revised_action_waits_for_the_revision, async |s: Stage| {
    let r = s.receive(&bundle("evt-1", "req-1")).await;
    let (reply, note) = (r.actions[0].action.expect("reply"), r.actions[1].action.expect("note"));
    s.ledger.reject(reply, "rewrite", &noor(), s.now()).await.expect("rejected");
    let new = s.ledger.revise(reply, None, &s.secret, &noor(), s.now()).await.expect("revised");
    assert_eq!(s.state(reply).await, State::Superseded);
    s.approve(note).await.expect("approved");
    assert_eq!(conflict(s.ledger.release(note, &noor(), s.now()).await), Conflict::OrderStands { action: new });
    s.approve(new).await.expect("approved");
    s.attempt(new, &accepted()).await;
    s.claim(note).await;
    s.holds().await;
});

on_both!(r21_refused_may_be_approved_again_only_where_the_contract_frees_the_key, async |s: Stage| {
    let id = s.approved("req-1").await;
    assert_eq!(s.attempt(id, &refused()).await.state, State::Refused);
    let (approval, wire) = s.sign(id, &noor(), &device_of(&noor())).await;
    illegal(s.ledger.approve(id, &approval, &wire, 1, s.now(), false, s.now()).await);
    let standing = s.ledger.approve(id, &approval, &wire, 1, s.now(), true, s.now()).await.expect("approved");
    assert_eq!(standing.state, State::Approved);
    s.attempt(id, &accepted()).await;
    s.holds().await;
});

on_both!(r17_a_cleared_finding_holds_for_one_version, async |s: Stage| {
    let id = s.prepared("req-1").await;
    s.ledger.clear_finding(id, 1, "first_time", "to[0].email", &noor(), s.now()).await.expect("cleared");
    assert_eq!(s.ledger.cleared(id).await.expect("a list")[0].version, 1);
    s.ledger.edit(id, 1, &payload("On Tuesday."), &noor(), s.now()).await.expect("edited");
    let late = s.ledger.clear_finding(id, 1, "first_time", "to[0].email", &noor(), s.now()).await;
    assert_eq!(conflict(late), Conflict::VersionMoved { current: 2 });
    s.holds().await;
});

on_both!(r13_typed_text_is_kept_and_is_no_decision, async |s: Stage| {
    let id = s.prepared("req-1").await;
    let before = s.ledger.head().await.expect("head");
    s.ledger.keep_text(id, &noor(), "half a sen", s.now()).await.expect("kept");
    s.ledger.keep_text(id, &noor(), "half a sentence", s.now()).await.expect("kept");
    assert_eq!(s.ledger.kept_text(id, &noor()).await.expect("read").as_deref(), Some("half a sentence"));
    s.ledger.forget_text(id, &noor()).await.expect("forgotten");
    assert_eq!(s.ledger.kept_text(id, &noor()).await.expect("read"), None);
    assert_eq!(s.ledger.head().await.expect("head"), before);
});

async fn get(s: &Stage, id: ActionId) -> countersign_ledger::ActionRecord {
    s.ledger.action(id).await.expect("readable").expect("there")
}

/// F45: held by another process for longer than we wait, a decision is an error on screen, never a lost click.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f45_a_decision_that_cannot_be_saved_says_so_and_is_saved_later() {
    use sqlx::Connection;
    let s = Stage::sqlite().await;
    let id = s.prepared("req-1").await;
    let (approval, wire) = s.sign(id, &noor(), &device_of(&noor())).await;
    let mut other = sqlx::AnyConnection::connect(&s.url).await.expect("a second program");
    sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut other).await.expect("the write lock");
    let result = s.ledger.approve(id, &approval, &wire, 1, s.now(), true, s.now()).await;
    assert!(matches!(result, Err(countersign_ledger::LedgerError::Busy)), "{result:?}");
    assert_eq!(s.state(id).await, State::Prepared);
    sqlx::raw_sql("ROLLBACK").execute(&mut other).await.expect("released");
    s.ledger.approve(id, &approval, &wire, 1, s.now(), true, s.now()).await.expect("saved");
    assert_eq!(s.state(id).await, State::Approved);
}

on_both!(r15_where_two_are_needed_from_now_on_what_one_approved_is_taken_back_and_says_so, async |s: Stage| {
    let (waits, sent_before) = (s.approved("req-1").await, s.unknown("req-2").await);
    s.verdict(sent_before, countersign_domain::Verdict::DidNotHappen).await.expect("said");
    assert_eq!(s.state(sent_before).await, State::Approved);
    let back = s.ledger.set_approvers_needed("live", 2, &noor(), s.now()).await.expect("set");
    assert_eq!(back, [waits, sent_before]);
    // After a crossing there is one wire only, and a person looks at it again.
    assert_eq!((s.state(waits).await, s.state(sent_before).await), (State::Prepared, State::NeedsReview));
    for id in back {
        let reason = s.ledger.action(id).await.expect("readable").expect("there").row.reason;
        assert!(reason.is_some_and(|r| r.contains("another approver")), "it says why");
    }
    assert!(s.nothing_to_claim().await);
    // Two approve: now it goes.
    for (person, complete) in [(noor(), false), (sam(), true)] {
        let (approval, wire) = s.sign(waits, &person, &device_of(&person)).await;
        let standing = s.ledger.approve(waits, &approval, &wire, 2, s.now(), true, s.now()).await.expect("stored");
        assert_eq!(standing.state == State::Approved, complete);
    }
    let sent = s.ledger.set_approvers_needed("live", 2, &noor(), s.now()).await.expect("set again");
    assert_eq!(sent, [], "what two approved stays");
    assert_eq!(s.attempt(waits, &accepted()).await.state, State::Accepted);
    s.holds().await;
});

on_both!(r15_where_one_is_enough_again_nothing_is_approved_by_itself, async |s: Stage| {
    s.ledger.set_approvers_needed("live", 2, &noor(), s.now()).await.expect("set");
    let id = s.prepared("req-1").await;
    let (approval, wire) = s.sign(id, &noor(), &device_of(&noor())).await;
    s.ledger.approve(id, &approval, &wire, 2, s.now(), true, s.now()).await.expect("the first of two");
    assert_eq!(s.ledger.set_approvers_needed("live", 1, &noor(), s.now()).await.expect("set"), []);
    assert_eq!(s.state(id).await, State::Prepared);
    assert!(s.nothing_to_claim().await);
    // Whoever gave the first of two may give the one that is needed.
    let (approval, wire) = s.sign(id, &noor(), &device_of(&noor())).await;
    let standing = s.ledger.approve(id, &approval, &wire, 1, s.now(), true, s.now()).await.expect("approved");
    assert_eq!(standing.state, State::Approved);
    assert_eq!(s.attempt(id, &accepted()).await.state, State::Accepted);
    s.holds().await;
});

on_both!(r15_an_attempt_under_way_while_the_number_was_raised_does_not_wait_for_ever, async |s: Stage| {
    let id = s.approved("req-1").await;
    let claim = s.claim(id).await;
    assert_eq!(s.ledger.set_approvers_needed("live", 2, &noor(), s.now()).await.expect("set"), []);
    assert_eq!(s.close(&claim, &not_sent(true)).await.state, State::Approved);
    match s.claim_as("w1", Some(id)).await {
        Ok(Claimed::Refused { why: RefusedClaim::NotCountersigned(why), .. }) => {
            assert_eq!(why, countersign_domain::NotCountersigned::NeedsAnother);
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(s.state(id).await, State::Prepared);
    let reason = s.ledger.action(id).await.expect("readable").expect("there").row.reason;
    assert!(reason.is_some_and(|r| r.contains("another approver")), "it says why");
    s.holds().await;
});
