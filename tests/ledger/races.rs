//! Two hands at once on one action, as two programs on one file have them (invariant 6). Whichever comes first, the other
//! one is told, and what may go out is what was decided.

use crate::stage::*;
use countersign_domain::approval::SignedVerdict;
use countersign_domain::{Payload, State, Verdict};
use countersign_ledger::{Claimed, Conflict, Ledger, LedgerError};
use serde_json::json;

/// So often each; both come first in turn.
const ROUNDS: usize = 12;

/// The same ledger, as another program has it open.
async fn another(s: &Stage) -> Ledger {
    match &s.file {
        Some(file) => Ledger::open(file, Default::default()).await.expect("opened again"),
        None => s.ledger.clone(),
    }
}

/// Both at once.
async fn at_once<A, B>(n: usize, a: impl Future<Output = A>, b: impl Future<Output = B>) -> (A, B) {
    if n.is_multiple_of(2) {
        return tokio::join!(biased; a, b);
    }
    let (b, a) = tokio::join!(biased; b, a);
    (a, b)
}

fn is_illegal<T>(result: &Result<T, LedgerError>) -> bool {
    matches!(result, Err(LedgerError::Conflict(Conflict::Illegal(_))))
}

on_both!(inv6_of_an_undo_and_a_claim_at_once_exactly_one_wins, async |s: Stage| {
    let other = another(&s).await;
    let (w, reach) = (worker("w2"), ["support".to_owned()]);
    for n in 0..ROUNDS {
        let id = s.approved(&format!("req-{n}")).await;
        let noor = noor();
        let request = s.request(&w, &reach, Some(id));
        let (undone, claimed) = at_once(n, s.ledger.undo(id, &noor, s.now()), other.claim(&request)).await;
        match claimed.expect("a claim or nothing") {
            Claimed::None => {
                assert_eq!(undone.expect("undone").state, State::Prepared);
                assert!(matches!(s.claim_as("w3", Some(id)).await, Ok(Claimed::None)), "it stays taken back");
            }
            Claimed::Claimed(claim) => {
                assert!(is_illegal(&undone), "{undone:?}");
                s.cross(&claim).await;
                assert_eq!(s.close(&claim, &accepted()).await.state, State::Accepted);
            }
            Claimed::Refused { why, .. } => panic!("nothing was altered: {why:?}"),
        }
    }
    s.holds().await;
});

on_both!(inv6_an_approval_and_an_edit_at_once_leave_what_was_read_approved_or_nothing, async |s: Stage| {
    let other = another(&s).await;
    let edited = Payload::parse("email.reply", email("robin@customer.example", "On Tuesday."), &[]).expect("a payload");
    for n in 0..ROUNDS {
        let id = s.prepared(&format!("req-{n}")).await;
        let noor = noor();
        let (approval, wire) = s.sign(id, &noor, &device_of(&noor)).await;
        let approve = s.ledger.approve(id, &approval, &wire, 1, s.now(), true, s.now());
        let (approved, edited) = at_once(n, approve, other.edit(id, 1, &edited, &noor, s.now())).await;
        match approved {
            Ok(standing) => {
                assert!(standing.state == State::Approved && is_illegal(&edited), "{edited:?}");
                assert_eq!(s.claim(id).await.order.sealed().hash(), approval.payload_hash);
            }
            Err(LedgerError::Conflict(Conflict::HashNotCurrent { current })) => {
                assert_eq!(edited.expect("edited"), 2);
                let record = s.ledger.action(id).await.expect("readable").expect("there");
                assert_eq!((record.state(), record.row.payload_hash), (State::Prepared, Some(current)));
                assert!(matches!(s.claim_as("w1", Some(id)).await, Ok(Claimed::None)));
            }
            Err(other) => panic!("{other:?}"),
        }
    }
    s.holds().await;
});

on_both!(inv6_an_approval_and_a_newer_draft_at_once_leave_what_was_read_approved_or_nothing, async |s: Stage| {
    let other = another(&s).await;
    for n in 0..ROUNDS {
        let request = format!("req-{n}");
        let id = s.prepared(&request).await;
        let noor = noor();
        let (approval, wire) = s.sign(id, &noor, &device_of(&noor)).await;
        let newer = parse(&proposal(&format!("evt-newer-{n}"), &request, "A newer draft."));
        let approve = s.ledger.approve(id, &approval, &wire, 1, s.now(), true, s.now());
        let redraft = other.receive(&newer, &s.source, &s.secret, &noor, s.now());
        let (approved, received) = at_once(n, approve, redraft).await;
        assert_eq!(received.expect("a delivery is recorded").actions[0].action, Some(id));
        let row = s.ledger.action(id).await.expect("readable").expect("there").row;
        match approved {
            Ok(standing) => {
                assert_eq!((standing.state, row.payload_version), (State::Approved, 1), "the draft came late");
                assert_eq!(s.claim(id).await.order.sealed().hash(), approval.payload_hash);
            }
            Err(LedgerError::Conflict(Conflict::HashNotCurrent { .. })) => {
                assert_eq!((row.standing.state, row.payload_version), (State::Prepared, 2));
                assert!(matches!(s.claim_as("w1", Some(id)).await, Ok(Claimed::None)));
            }
            Err(other) => panic!("{other:?}"),
        }
    }
    s.holds().await;
});

on_both!(inv6_a_verdict_and_a_late_yes_at_once_end_in_accepted, async |s: Stage| {
    let other = another(&s).await;
    for n in 0..ROUNDS {
        let id = s.approved(&format!("req-{n}")).await;
        let claim = s.claim(id).await;
        s.cross(&claim).await;
        s.close(&claim, &unclear()).await;
        s.pass(1_000);
        let record = s.ledger.action(id).await.expect("readable").expect("there");
        let verdict = [Verdict::DidNotHappen, Verdict::Leave, Verdict::Happened][n / 2 % 3];
        let (key, noor) = (record.key.expect("a key"), noor());
        let word = SignedVerdict::sign(&key, verdict, "I looked", &noor, &device_of(&noor), s.now());
        let (yes, evidence) = (accepted(), json!({ "how": "late" }));
        let settle = s.ledger.settle(id, &word, record.last_crossed, s.now());
        let late = other.late_answer(claim.attempt, &yes, &evidence, s.now());
        let (settled, late) = at_once(n, settle, late).await;
        assert_eq!(late.expect("it is kept").state, State::Accepted, "{verdict:?}");
        assert!(settled.is_ok() || is_illegal(&settled), "{settled:?}");
        assert_eq!(s.state(id).await, State::Accepted, "{verdict:?}");
        assert!(matches!(s.claim_as("w1", Some(id)).await, Ok(Claimed::None)), "it goes no second time");
    }
    s.holds().await;
});

on_both!(inv6_a_claim_after_a_false_verdict_and_a_late_yes_at_once_never_cross, async |s: Stage| {
    let other = another(&s).await;
    let (w, reach) = (worker("w2"), ["support".to_owned()]);
    for n in 0..ROUNDS {
        let id = s.approved(&format!("req-{n}")).await;
        let first = s.claim(id).await;
        s.cross(&first).await;
        s.close(&first, &unclear()).await;
        s.pass(1_000);
        s.verdict(id, Verdict::DidNotHappen).await.expect("settled");
        let (yes, evidence) = (accepted(), json!({ "how": "late" }));
        let request = s.request(&w, &reach, Some(id));
        let late = s.ledger.late_answer(first.attempt, &yes, &evidence, s.now());
        let (late, claimed) = at_once(n, late, other.claim(&request)).await;
        assert_eq!(late.expect("it is kept").state, State::Accepted);
        match claimed.expect("a claim or nothing") {
            Claimed::None => {}
            Claimed::Claimed(claim) => {
                let crossed = s.ledger.record_crossing(&claim, &json!(null), s.now()).await;
                assert_eq!(conflict(crossed), Conflict::ClaimLost, "the attempt was dropped");
            }
            Claimed::Refused { why, .. } => panic!("nothing was altered: {why:?}"),
        }
        assert_eq!(s.state(id).await, State::Accepted);
    }
    s.holds().await;
});
