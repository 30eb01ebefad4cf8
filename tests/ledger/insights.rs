//! Counts over a range of time: what they say is what the rows say (R32).

use crate::stage::*;
use countersign_domain::{State, Timestamp, Verdict};
use countersign_ledger::{ApprovalTimes, SourceShare, Tally};

const MINUTE: i64 = 60_000;

fn many(tally: &Tally, state: Option<State>) -> u32 {
    tally.quarters.iter().filter(|q| q.state == state).map(|q| q.many).sum()
}

on_both!(r32_a_tally_counts_each_decided_action_once_at_its_time_and_by_destination, async |s: Stage| {
    let before = s.now();
    let gone = s.approved("req-0").await;
    s.attempt(gone, &accepted()).await;
    s.pass(60 * MINUTE);
    let start = s.now();
    for (request, outcome) in [("req-1", accepted()), ("req-2", accepted()), ("req-3", refused())] {
        let id = s.approved(request).await;
        s.attempt(id, &outcome).await;
    }
    s.pass(30 * MINUTE);
    let id = s.unknown("req-4").await;
    s.prepared("req-5").await;

    let tally = s.ledger.tally("live", start, None).await.expect("counted");
    assert_eq!(many(&tally, Some(State::Accepted)), 2, "{tally:?}");
    assert_eq!(many(&tally, Some(State::Refused)), 1);
    assert_eq!((many(&tally, Some(State::Unknown)), many(&tally, None)), (1, 1));
    assert_eq!(many(&tally, Some(State::Prepared)), 0, "nobody has decided on it");
    assert_eq!(tally.two_receipts, 0);
    let at = |state| tally.quarters.iter().find(|q| q.state == Some(state)).expect("there").start.millis();
    assert!(
        at(State::Accepted) <= start.millis() && start.millis() < at(State::Accepted) + countersign_ledger::QUARTER
    );
    assert!(at(State::Unknown) - at(State::Accepted) >= 15 * MINUTE, "each at its own time");

    let all = s.ledger.tally("live", before, None).await.expect("counted");
    assert_eq!(many(&all, Some(State::Accepted)), 3);
    let there = s.ledger.tally("live", before, Some("support")).await.expect("counted");
    assert_eq!(there, all, "everything went there");
    assert_eq!(s.ledger.tally("live", before, Some("crm")).await.expect("counted"), Tally::default());
    assert_eq!(s.ledger.tally("sandbox", before, None).await.expect("counted"), Tally::default());
    let later = Timestamp::from_millis(s.now().millis() + 1);
    assert_eq!(s.ledger.tally("live", later, None).await.expect("counted"), Tally::default());

    let mut states = s.ledger.state_counts("live", None).await.expect("counted");
    states.sort_by_key(|(state, _)| state.name());
    let expected = [(State::Accepted, 3), (State::Prepared, 1), (State::Refused, 1), (State::Unknown, 1)];
    assert_eq!(states, expected);
    assert_eq!(s.ledger.state_counts("live", Some("crm")).await.expect("counted"), []);

    s.verdict(id, Verdict::Happened).await.expect("settled");
    let settled = s.ledger.tally("live", start, None).await.expect("counted");
    assert_eq!((many(&settled, Some(State::Unknown)), many(&settled, None)), (0, 1), "it went unknown all the same");
});

on_both!(r32_insights_count_times_sources_and_how_lost_answers_ended, async |s: Stage| {
    let start = s.now();
    for (n, minutes) in [3, 10, 12, 90].into_iter().enumerate() {
        let id = s.prepared(&format!("req-{n}")).await;
        s.pass(minutes * MINUTE);
        s.approve(id).await.expect("approved");
        s.attempt(id, &accepted()).await;
    }
    let id = s.unknown("req-9").await;
    s.pass(4 * MINUTE);
    s.verdict(id, Verdict::Happened).await.expect("settled");
    let open = s.unknown("req-10").await;

    let found = s.ledger.insights("live", start).await.expect("counted");
    let times = ApprovalTimes { many: 6, buckets: vec![3, 2, 0, 1, 0, 0], median: Some(3 * MINUTE) };
    assert_eq!(found.times, times);
    let shares = vec![SourceShare { source: s.source.name.clone(), approved: 6, as_written: 6 }];
    assert_eq!(found.sources, shares);
    assert_eq!(found.unclear.len(), 2);
    let ended = found.unclear.iter().find(|one| one.state == State::Accepted).expect("settled");
    assert_eq!(ended.accepted_at.expect("a time").millis() - ended.since.millis(), 4 * MINUTE);
    assert!(ended.receipt.is_some());
    assert_eq!(s.state(open).await, State::Unknown);
    let nothing = s.ledger.insights("sandbox", start).await.expect("counted");
    assert_eq!((nothing.times.many, nothing.unclear.len(), nothing.sources.len()), (0, 0, 0));
});
