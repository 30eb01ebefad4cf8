//! Claim, crossing, stale claims, closing (R18, R19, R21, R26; F11, F12; invariants 3 and 4).

use crate::stage::*;
use countersign_domain::{ActionId, Outcome, State, Timestamp, Verdict};
use countersign_ledger::{Claimed, Conflict, LedgerError, Waits};
use serde_json::json;
use std::sync::Arc;

/// F12: an approval is a ticket spent once, whoever asks.
async fn eight_race(s: Stage) {
    let id = s.approved("req-1").await;
    let s = Arc::new(s);
    let tasks: Vec<_> = (0..8)
        .map(|n| {
            let s = s.clone();
            tokio::spawn(async move { s.claim_as(&format!("w{n}"), None).await })
        })
        .collect();
    let mut won = 0;
    for task in tasks {
        match task.await.expect("no panic") {
            Ok(Claimed::Claimed(claim)) => {
                assert_eq!(claim.action, id);
                won += 1;
            }
            Ok(Claimed::None) => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(won, 1);
    assert_eq!(s.number("SELECT count(*) FROM attempts").await, 1);
    s.holds().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn r18_f12_eight_claimers_one_winner() {
    eight_race(Stage::sqlite().await).await;
    if let Some(s) = Stage::postgres().await {
        eight_race(s).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn r18_two_ledgers_open_on_one_file_never_both_hold_an_action() {
    let s = Stage::sqlite().await;
    for n in 0..10 {
        s.approved(&format!("req-{n}")).await;
    }
    let second = countersign_ledger::Ledger::open(s.path(), Default::default()).await.expect("opened again");
    let s = Arc::new(s);
    let mut tasks = Vec::new();
    for (n, ledger) in [s.ledger.clone(), second.clone(), s.ledger.clone(), second].into_iter().enumerate() {
        let s = s.clone();
        tasks.push(tokio::spawn(async move {
            let name = worker(&format!("w{n}"));
            let reach = ["support".to_owned()];
            let mut got = Vec::new();
            loop {
                match ledger.claim(&s.request(&name, &reach, None)).await.expect("a claim or nothing") {
                    Claimed::Claimed(claim) => got.push(claim.action),
                    Claimed::None => return got,
                    Claimed::Refused { .. } => panic!("nothing was altered"),
                }
            }
        }));
    }
    let mut all: Vec<ActionId> = Vec::new();
    for task in tasks {
        all.extend(task.await.expect("no panic"));
    }
    all.sort();
    let distinct = all.iter().collect::<std::collections::BTreeSet<_>>().len();
    assert_eq!((all.len(), distinct), (10, 10));
    s.holds().await;
}

on_both!(inv3_the_database_itself_refuses_a_second_open_attempt, async |s: Stage| {
    let id = s.approved("req-1").await;
    s.claim(id).await;
    let insert = format!(
        "INSERT INTO attempts (action, number, worker, claimed_at, in_doubt) VALUES ({}, 9, 'thief', 1, 0)",
        id.0
    );
    assert!(s.try_raw(&insert).await.is_err());
});

on_both!(inv3_crossing_is_a_compare_and_set_on_the_open_attempt_and_its_worker, async |s: Stage| {
    let id = s.approved("req-1").await;
    let claim = s.claim(id).await;
    let mut thief = claim.clone();
    thief.worker = worker("w2");
    assert_eq!(conflict(s.ledger.record_crossing(&thief, &json!(null), s.now()).await), Conflict::ClaimLost);
    s.cross(&claim).await;
    assert_eq!(conflict(s.ledger.record_crossing(&claim, &json!(null), s.now()).await), Conflict::ClaimLost);
    s.close(&claim, &unclear()).await;
    assert_eq!(conflict(s.ledger.record_crossing(&claim, &json!(null), s.now()).await), Conflict::ClaimLost);
    s.holds().await;
});

on_both!(r19_a_claim_found_stale_before_its_crossing_is_known_to_be_not_sent, async |s: Stage| {
    let id = s.approved("req-1").await;
    s.claim(id).await;
    let back = s.ledger.recover_stale(&worker("w2"), s.now()).await.expect("recovered");
    assert_eq!((back[0].0, back[0].1.state, back[0].1.attempts), (id, State::Approved, 0));
    assert_eq!(s.attempt(id, &accepted()).await.state, State::Accepted);
    s.holds().await;
});

on_both!(r19_f11_a_crossing_found_stale_is_unknown_and_never_claimable, async |s: Stage| {
    let id = s.approved("req-1").await;
    let claim = s.claim(id).await;
    s.cross(&claim).await;
    s.pass(15 * 60_000);
    let back = s.ledger.recover_stale(&worker("w2"), s.now()).await.expect("recovered");
    assert_eq!((back[0].1.state, back[0].1.attempts), (State::Unknown, 1));
    assert!(s.nothing_to_claim().await);
    // The paused worker wakes up: its evidence is kept and proves acceptance.
    let standing = s.close(&claim, &accepted()).await;
    assert_eq!(standing.state, State::Accepted);
    let detail = s.ledger.detail(id).await.expect("detail");
    assert_eq!((detail.attempts.len(), detail.attempts[0].outcome.as_str()), (1, "unclear"));
    assert!(detail.attempts[0].evidence["late"][0]["outcome"]["outcome"] == "accepted");
    s.holds().await;
});

on_both!(f11_a_late_no_of_a_worker_that_lost_its_claim_changes_nothing, async |s: Stage| {
    let id = s.approved("req-1").await;
    let claim = s.claim(id).await;
    s.cross(&claim).await;
    s.ledger.recover_stale(&worker("w2"), s.now()).await.expect("recovered");
    assert_eq!(s.close(&claim, &refused()).await.state, State::Unknown);
    assert_eq!(s.close(&claim, &not_sent(true)).await.state, State::Unknown);
    s.holds().await;
});

on_both!(r26_a_live_workers_own_claims_are_left_alone, async |s: Stage| {
    let id = s.approved("req-1").await;
    s.claim(id).await;
    assert!(s.ledger.recover_stale(&worker("w1"), s.now()).await.expect("looked").is_empty());
    assert_eq!(s.ledger.open_attempts().await.expect("a list")[0].action, id);
});

on_both!(r26_three_stale_claims_in_a_row_lead_to_needs_review, async |s: Stage| {
    let id = s.approved("req-1").await;
    for n in 1..=3 {
        s.claim(id).await;
        let back = s.ledger.recover_stale(&worker("w2"), s.now()).await.expect("recovered");
        let expected = if n < 3 { State::Approved } else { State::NeedsReview };
        assert_eq!(back[0].1.state, expected, "after {n}");
    }
    s.holds().await;
});

on_both!(r21_three_attempts_then_it_gives_up_and_an_approval_grants_one_more, async |s: Stage| {
    let id = s.approved("req-1").await;
    for n in 1..=3 {
        let expected = if n < 3 { State::Approved } else { State::GaveUp };
        assert_eq!(s.attempt(id, &not_sent(true)).await.state, expected, "attempt {n}");
    }
    assert!(s.nothing_to_claim().await);
    s.approve(id).await.expect("approved again");
    assert_eq!(s.attempt(id, &not_sent(true)).await.state, State::GaveUp);
    s.holds().await;
});

on_both!(r21_offline_and_a_failed_login_count_nothing, async |s: Stage| {
    let id = s.approved("req-1").await;
    for _ in 0..5 {
        let claim = s.claim(id).await;
        let standing = s.close(&claim, &not_sent(false)).await;
        assert_eq!((standing.state, standing.attempts), (State::Approved, 0));
    }
    s.holds().await;
});

on_both!(r21_backoff_holds_an_action_back_and_send_now_does_not_shorten_it, async |s: Stage| {
    let id = s.approved("req-1").await;
    let claim = s.claim(id).await;
    s.cross(&claim).await;
    let later = Timestamp::from_millis(s.now().millis() + 60_000);
    s.ledger.close_attempt(&claim, &not_sent(true), &json!({}), later, s.now()).await.expect("closed");
    assert!(s.nothing_to_claim().await);
    assert_eq!(s.ledger.action(id).await.expect("readable").expect("there").row.waits, Waits::Backoff);
    assert_eq!(conflict(s.ledger.send_now(id, &noor(), s.now()).await), Conflict::NotInUndoWindow);
    s.pass(60_000);
    s.claim(id).await;
});

on_both!(r18_the_kill_switch_and_a_freeze_stop_claims_and_crossings, async |s: Stage| {
    let one = s.approved("req-1").await;
    s.approved("req-2").await;
    let claim = s.claim(one).await;
    s.ledger.set_setting("sending/live", "off", "Noor", s.now()).await.expect("off");
    assert!(s.nothing_to_claim().await);
    assert_eq!(conflict(s.ledger.record_crossing(&claim, &json!(null), s.now()).await), Conflict::SendingOff);
    s.ledger.set_setting("sending/live", "on", "Noor", s.now()).await.expect("on");
    s.ledger.set_setting("frozen", "restored", "countersign", s.now()).await.expect("frozen");
    assert!(s.nothing_to_claim().await);
    assert_eq!(conflict(s.ledger.record_crossing(&claim, &json!(null), s.now()).await), Conflict::SendingOff);
    s.ledger.set_setting("frozen", "", "Noor", s.now()).await.expect("thawed");
    s.cross(&claim).await;
});

on_both!(r18_the_kill_switch_and_a_freeze_bar_a_repeat_of_what_is_in_doubt, async |s: Stage| {
    let id = s.unknown("req-1").await;
    let (w, reach) = (worker("w1"), ["support".to_owned()]);
    for (key, barred, free) in [("sending/live", "off", "on"), ("frozen", "restored", "")] {
        s.ledger.set_setting(key, barred, "Noor", s.now()).await.expect("set");
        let claimed = s.ledger.claim_repeat(id, &s.request(&w, &reach, Some(id))).await;
        assert!(matches!(claimed, Ok(Claimed::None)), "{key}: {claimed:?}");
        assert_eq!(s.state(id).await, State::Unknown, "{key}");
        s.ledger.set_setting(key, free, "Noor", s.now()).await.expect("set back");
    }
    let claimed = s.ledger.claim_repeat(id, &s.request(&w, &reach, Some(id))).await;
    assert!(matches!(claimed, Ok(Claimed::Claimed(_))), "{claimed:?}");
    s.holds().await;
});

on_both!(r16_a_changed_situation_leads_to_needs_review_before_the_crossing_only, async |s: Stage| {
    let id = s.approved("req-1").await;
    let claim = s.claim(id).await;
    let standing = s.ledger.situation_changed(&claim, "the customer wrote again", s.now()).await.expect("moved");
    assert_eq!(standing.state, State::NeedsReview);
    let detail = s.ledger.detail(id).await.expect("detail");
    assert_eq!(detail.record.row.reason.as_deref(), Some("the customer wrote again"));
    assert_eq!(detail.attempts[0].outcome, "not_sent");
    assert!(!detail.approvals[0].counts);
    let two = s.approved("req-2").await;
    let claim = s.claim(two).await;
    s.cross(&claim).await;
    illegal(s.ledger.situation_changed(&claim, "too late", s.now()).await);
    assert_eq!(s.state(two).await, State::InProgress);
    s.holds().await;
});

on_both!(inv4_found_before_any_crossing_means_somebody_sent_it, async |s: Stage| {
    let id = s.approved("req-1").await;
    let claim = s.claim(id).await;
    let standing = s.ledger.found_before_crossing(&claim, &receipt("in Sent"), s.now()).await.expect("moved");
    assert_eq!(standing.state, State::Accepted);
    assert_eq!(conflict(s.ledger.record_crossing(&claim, &json!(null), s.now()).await), Conflict::ClaimLost);
    s.holds().await;
});

on_both!(inv4_accepted_needs_a_receipt_and_the_database_says_so, async |s: Stage| {
    let id = s.approved("req-1").await;
    s.attempt(id, &accepted()).await;
    let record = s.ledger.action(id).await.expect("readable").expect("there");
    assert!(record.row.receipt.is_some() && record.accepted_at.is_some());
    assert!(s.try_raw("UPDATE actions SET receipt = NULL").await.is_err());
    assert!(s.try_raw("UPDATE attempts SET receipt = NULL WHERE outcome = 'accepted'").await.is_err());
});

on_both!(inv4_without_a_crossing_nothing_is_accepted_or_unclear, async |s: Stage| {
    let id = s.approved("req-1").await;
    let claim = s.claim(id).await;
    for outcome in [accepted(), unclear()] {
        let result = s.ledger.close_attempt(&claim, &outcome, &json!({}), s.now(), s.now()).await;
        illegal_or_refused(result, &outcome);
        assert_eq!(s.state(id).await, State::InProgress);
    }
    assert_eq!(s.ledger.open_attempts().await.expect("a list").len(), 1, "the attempt was rolled back with it");
});

fn illegal_or_refused<T: std::fmt::Debug>(result: Result<T, LedgerError>, outcome: &Outcome) {
    // For accepted the CHECK of the attempt speaks before the table of transitions does.
    match result {
        Err(LedgerError::Conflict(Conflict::Illegal(_))) | Err(LedgerError::Database { .. }) => {}
        other => panic!("{}: {other:?}", outcome.name()),
    }
}

on_both!(r21_a_repeat_in_doubt_leads_out_by_acceptance_only, async |s: Stage| {
    let w = worker("w1");
    let reach = ["support".to_owned()];
    for (n, outcome, expected) in [
        (1, not_sent(true), State::Unknown),
        (2, refused(), State::Unknown),
        (3, unclear(), State::Unknown),
        (4, accepted(), State::Accepted),
    ] {
        let id = s.unknown(&format!("req-{n}")).await;
        let since = s.ledger.unknown_item(id).await.expect("read").expect("unknown").since;
        s.pass(1_000);
        let claim = match s.ledger.claim_repeat(id, &s.request(&w, &reach, Some(id))).await {
            Ok(Claimed::Claimed(claim)) => *claim,
            other => panic!("{other:?}"),
        };
        assert!(claim.standing.in_doubt);
        s.cross(&claim).await;
        assert_eq!(s.close(&claim, &outcome).await.state, expected, "{}", outcome.name());
        if expected == State::Unknown {
            let item = s.ledger.unknown_item(id).await.expect("read").expect("unknown");
            assert_eq!(item.since, since, "the doubt is as old as it was");
        }
    }
    s.holds().await;
});

on_both!(r15_expiry_bars_a_claim_never_a_repeat_under_the_same_key, async |s: Stage| {
    let id = s.unknown("req-1").await;
    s.pass(80 * HOUR);
    let w = worker("w1");
    let reach = ["support".to_owned()];
    let claimed = s.ledger.claim_repeat(id, &s.request(&w, &reach, Some(id))).await;
    assert!(matches!(claimed, Ok(Claimed::Claimed(_))), "{claimed:?}");
});

on_both!(r28_a_revised_action_never_dispatches_again, async |s: Stage| {
    let id = s.unknown("req-1").await;
    s.ledger.revise(id, None, &s.secret, &noor(), s.now()).await.expect("revised");
    let w = worker("w1");
    let reach = ["support".to_owned()];
    illegal(s.ledger.claim_repeat(id, &s.request(&w, &reach, Some(id))).await);
    assert_eq!(s.verdict(id, Verdict::DidNotHappen).await.expect("settled").state, State::Superseded);
    assert!(s.nothing_to_claim().await);
    s.holds().await;
});

on_both!(r11_two_actions_on_one_record_never_run_at_once, async |s: Stage| {
    let one = s.receive(&bundle("evt-1", "req-1")).await.actions;
    let two = s.receive(&bundle("evt-2", "req-2")).await.actions;
    for reply in [one[0].action.expect("reply"), two[0].action.expect("reply")] {
        s.approve(reply).await.expect("approved");
        s.attempt(reply, &accepted()).await;
    }
    let (first, second) = (one[1].action.expect("note"), two[1].action.expect("note"));
    s.approve(first).await.expect("approved");
    s.approve(second).await.expect("approved");
    let claim = s.claim(first).await;
    assert!(s.nothing_to_claim().await, "the same record is under way");
    s.cross(&claim).await;
    s.close(&claim, &unclear()).await;
    assert!(s.nothing_to_claim().await, "the same record is in doubt");
    s.verdict(first, Verdict::Happened).await.expect("settled");
    s.claim(second).await;
    s.holds().await;
});

on_both!(r23_recovery_touches_only_the_unresolved_one, async |s: Stage| {
    let (one, two) = (s.approved("req-1").await, s.approved("req-2").await);
    s.attempt(one, &accepted()).await;
    let before = s.ledger.action(one).await.expect("readable");
    s.claim(two).await;
    s.ledger.recover_stale(&worker("w2"), s.now()).await.expect("recovered");
    assert_eq!(s.ledger.action(one).await.expect("readable"), before);
});
