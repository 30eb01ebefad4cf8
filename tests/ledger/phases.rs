//! The whole way of an action, with the counts that the budget of performance.md names, on both engines.

use crate::stage::*;
use countersign_domain::{ActionId, Fact, Standing, State, Verdict, advance};

on_both!(r18_one_action_from_proposal_to_receipt, async |s: Stage| {
    let id = s.prepared("req-1").await;
    s.approve(id).await.expect("approved");
    let claim = s.claim(id).await;
    assert_eq!(claim.order.action(), id);
    assert_eq!(claim.number, 1);
    s.cross(&claim).await;
    assert_eq!(s.close(&claim, &accepted()).await.state, State::Accepted);
    let detail = s.ledger.detail(id).await.expect("detail");
    let kinds: Vec<&str> = detail.journal.iter().map(|j| j.kind.as_str()).collect();
    assert_eq!(kinds, ["proposed", "approved", "claimed", "crossed", "accepted"]);
    assert_eq!((detail.payloads.len(), detail.approvals.len(), detail.attempts.len()), (1, 1, 1));
    assert!(detail.approvals[0].counts);
    assert_eq!(detail.conversation.and_then(|c| c.text).as_deref(), Some("Can I move my slot?"));
    s.holds().await;
});

on_both!(r19_the_same_bytes_are_claimed_again_after_a_certain_no, async |s: Stage| {
    let id = s.approved("req-1").await;
    let first = s.claim(id).await;
    s.cross(&first).await;
    s.close(&first, &not_sent(true)).await;
    s.pass(60_000);
    let second = s.claim(id).await;
    assert_eq!(first.order.wire().bytes(), second.order.wire().bytes());
    assert_eq!(first.order.idempotency_key(), second.order.idempotency_key());
});

on_both!(inv5_the_stored_journal_of_an_action_alone_leads_to_the_standing_in_its_row, async |s: Stage| {
    let settled = s.unknown("settled").await;
    s.verdict(settled, Verdict::DidNotHappen).await.expect("settled");
    s.attempt(settled, &accepted()).await;
    let gave_up = s.approved("gave-up").await;
    for _ in 0..3 {
        s.attempt(gave_up, &not_sent(true)).await;
    }
    let undone = s.approved("undone").await;
    s.ledger.undo(undone, &noor(), s.now()).await.expect("undone");
    let revised = s.unknown("revised").await;
    s.ledger.revise(revised, None, &s.secret, &noor(), s.now()).await.expect("revised");
    let left = s.unknown("left").await;
    s.verdict(left, Verdict::Leave).await.expect("left");
    let open = s.approved("open").await;
    s.cross(&s.claim(open).await).await;
    let stale = s.approved("stale").await;
    s.claim(stale).await;
    let mut ends = Vec::new();
    for n in 1..=s.number("SELECT count(*) FROM actions").await {
        let detail = s.ledger.detail(ActionId(n)).await.expect("detail");
        let mut standing: Option<Standing> = None;
        for row in &detail.journal {
            let mut told = row.entry.fact.clone();
            told.as_object_mut().expect("an object").remove("details");
            standing = Some(match standing {
                None => Standing::proposed(told["complete"] == true),
                Some(before) => match serde_json::from_value::<Fact>(told) {
                    Ok(fact) => advance(&before, &fact).expect("it was possible then"),
                    // A note, which moves nothing.
                    Err(_) => before,
                },
            });
        }
        assert_eq!(standing, Some(detail.record.row.standing), "{:?}", detail.record.row.id);
        ends.push(detail.record.state());
    }
    use State::{Accepted, ClosedUnknown, GaveUp, InProgress, Prepared, Unknown};
    assert_eq!(ends, [Accepted, GaveUp, Prepared, Unknown, Prepared, ClosedUnknown, InProgress, InProgress]);
});

on_both!(r27_the_feed_is_the_journal_in_order_without_gaps, async |s: Stage| {
    let id = s.approved("req-1").await;
    s.attempt(id, &unclear()).await;
    let rows = s.ledger.journal_after(0, 1_000).await.expect("rows");
    let seqs: Vec<i64> = rows.iter().map(|r| r.entry.seq).collect();
    assert_eq!(seqs, (1..=rows.len() as i64).collect::<Vec<_>>());
    assert_eq!(s.ledger.head().await.expect("head").seq, rows.len() as i64);
    let later = s.ledger.journal_after(rows.len() as i64 - 2, 10).await.expect("rows");
    assert_eq!(later.len(), 2);
});
