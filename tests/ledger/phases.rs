//! The whole way of an action, with the counts that the budget of performance.md names, on both engines.

use crate::stage::*;
use countersign_domain::State;

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
