//! History: lists and full text (R29, R37).

use crate::stage::*;
use countersign_domain::{ActionId, State, Timestamp};
use countersign_ledger::{Many, PageFilter, SearchFilter, StateCounts};

async fn found(s: &Stage, text: &str, filter: &SearchFilter) -> Vec<ActionId> {
    s.ledger.search(text, filter, None, 50).await.expect("a page").rows.into_iter().map(|r| r.id).collect()
}

on_both!(r29_search_finds_by_people_subject_and_text_newest_first, async |s: Stage| {
    let one = s.receive(&proposal("e1", "order-77", "The fee is confirmed.")).await.actions[0].action.expect("id");
    let two = s.receive(&proposal("e2", "order-78", "The fee is waived.")).await.actions[0].action.expect("id");
    let live = SearchFilter { environment: Some("live".to_owned()), ..SearchFilter::default() };
    assert!(found(&s, "fee", &live).await.is_empty(), "not indexed yet");
    assert_eq!(s.ledger.index_pending().await.expect("a number"), 2);
    assert_eq!(s.ledger.feed_search_index(100).await.expect("fed"), 2);
    assert_eq!(found(&s, "fee", &live).await, [two, one]);
    assert_eq!(found(&s, "fee waived ", &live).await, [two]);
    assert_eq!(found(&s, "confir", &live).await, [one], "the last word is a beginning");
    assert_eq!(found(&s, "robin@customer.example ", &live).await, [two, one]);
    assert_eq!(found(&s, "order-77 ", &live).await, [one]);
    assert_eq!(found(&s, "delivery slot", &live).await, [two, one]);
    let other = SearchFilter { environment: Some("sandbox".to_owned()), ..SearchFilter::default() };
    assert!(found(&s, "fee", &other).await.is_empty());
});

on_both!(r29_filters_follow_the_state_after_it_moved, async |s: Stage| {
    let id = s.approved("req-1").await;
    s.ledger.feed_search_index(100).await.expect("fed");
    let of = |state| SearchFilter {
        environment: Some("live".to_owned()),
        state: Some(state),
        destination: Some("support".to_owned()),
        effect: Some("email.reply".to_owned()),
        ..SearchFilter::default()
    };
    assert_eq!(found(&s, "", &of(State::Approved)).await, [id]);
    s.attempt(id, &accepted()).await;
    assert!(found(&s, "course", &of(State::Approved)).await.is_empty(), "what is shown is what is");
    s.ledger.feed_search_index(100).await.expect("fed");
    assert_eq!(found(&s, "course", &of(State::Accepted)).await, [id]);
    assert_eq!(s.ledger.index_pending().await.expect("a number"), 0);
});

on_both!(r29_nothing_that_is_typed_is_query_syntax, async |s: Stage| {
    s.prepared("req-1").await;
    s.ledger.feed_search_index(100).await.expect("fed");
    let any = SearchFilter::default();
    for text in [
        "\"",
        "'",
        "(",
        ")",
        "*",
        "a*",
        "who:",
        "NEAR(a b)",
        "AND",
        "OR NOT",
        "-course",
        "course\"; DROP TABLE x",
        "\\",
        "^course",
        "{who}",
        "a:*",
        "!a",
        "a & | b",
        "<->",
        "%",
        "\u{0}",
        "ü",
        "日本",
        "tags : qstate",
        "😀",
        " ",
    ] {
        s.ledger.search(text, &any, None, 10).await.unwrap_or_else(|e| panic!("{text:?}: {e:?}"));
    }
    assert!(found(&s, "qstate61", &any).await.is_empty(), "tags are not words of the text");
});

on_both!(r37_pages_go_on_where_the_last_one_ended, async |s: Stage| {
    let mut ids = Vec::new();
    for n in 0..7 {
        ids.push(s.prepared(&format!("req-{n}")).await);
    }
    s.approve(ids[2]).await.expect("approved");
    s.ledger.feed_search_index(100).await.expect("fed");
    let filter = PageFilter {
        environment: Some("live".to_owned()),
        states: vec![State::Prepared, State::Approved],
        oldest_first: false,
    };
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let page = s.ledger.page(&filter, after, 3).await.expect("a page");
        seen.extend(page.rows.iter().map(|r| r.id));
        match page.next {
            Some(next) => after = Some(next.to_string().parse().expect("a cursor reads what it writes")),
            None => break,
        }
    }
    ids.reverse();
    assert_eq!(seen, ids);
    let oldest = PageFilter { oldest_first: true, ..filter };
    assert_eq!(s.ledger.page(&oldest, None, 1).await.expect("a page").rows[0].id, ids[6]);
    let first = s.ledger.search("course", &SearchFilter::default(), None, 3).await.expect("a page");
    let second = s.ledger.search("course", &SearchFilter::default(), first.next, 10).await.expect("a page");
    assert_eq!((first.rows.len(), second.rows.len(), second.next), (3, 4, None));
});

on_both!(r37_counts_are_of_requests, async |s: Stage| {
    s.receive(&bundle("evt-1", "req-1")).await;
    s.approved("req-2").await;
    s.unknown("req-3").await;
    s.receive(&proposal("", "req-4", "x")).await;
    let counts = s.ledger.counts("live").await.expect("counts");
    let one = Many { n: 1, more: false };
    assert_eq!(counts, StateCounts { awaiting: one, on_the_way: one, unknown: one, needs_review: one });
});

on_both!(r37_a_count_that_is_not_counted_on_says_that_there_are_more, async |s: Stage| {
    for n in 0..21 {
        let mut document = proposal(&format!("evt-{n}"), &format!("req-{n}"), "x");
        let one = document["actions"][0].clone();
        let steps = (0..50).map(|step| {
            let mut action = one.clone();
            action["step"] = serde_json::json!(format!("step-{step}"));
            action
        });
        document["actions"] = steps.collect();
        s.receive(&document).await;
        let counted = s.ledger.counts("live").await.expect("counts").awaiting;
        // 50 actions a request: a thousand are twenty requests.
        assert_eq!(counted, Many { n: if n < 20 { n + 1 } else { counted.n }, more: n == 20 }, "{n}");
    }
    let shown = s.ledger.counts("live").await.expect("counts").awaiting.n;
    assert!((20..=21).contains(&shown), "{shown}");
});

on_both!(r29_a_time_range_bounds_a_search, async |s: Stage| {
    let one = s.prepared("req-1").await;
    s.pass(HOUR);
    let middle = s.now();
    let two = s.prepared("req-2").await;
    s.ledger.feed_search_index(100).await.expect("fed");
    let from = SearchFilter { from: Some(middle), ..SearchFilter::default() };
    let to = SearchFilter { to: Some(middle), ..SearchFilter::default() };
    assert_eq!(found(&s, "course", &from).await, [two]);
    assert_eq!(found(&s, "course", &to).await, [one]);
    assert_eq!(found(&s, "", &from).await, [two]);
    let never = SearchFilter { from: Some(Timestamp::from_millis(i64::MAX)), ..SearchFilter::default() };
    assert!(found(&s, "course", &never).await.is_empty());
});

on_both!(r29_one_request_is_read_with_all_its_steps_and_revisions, async |s: Stage| {
    s.receive(&bundle("evt-1", "req-1")).await;
    let all = s.ledger.actions_of_request("shopbot", "req-1", None).await.expect("a list");
    assert_eq!(all.len(), 2);
    let one = s.ledger.actions_of_request("shopbot", "req-1", Some("note")).await.expect("a list");
    assert_eq!(one.len(), 1);
    let key = one[0].idempotency_key.clone().expect("a key");
    assert_eq!(s.ledger.action_by_key(&key).await.expect("read").expect("there").id(), one[0].id());
});

/// The index is merged only when nothing waits, never by a decision's own commit.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r29_no_decision_touches_the_index() {
    let s = Stage::sqlite().await;
    let id = s.approved("req-1").await;
    s.attempt(id, &accepted()).await;
    assert_eq!(s.number("SELECT count(*) FROM search_docs").await, 0);
    let automerge = "SELECT v FROM search_index_config WHERE k = 'automerge'";
    assert_eq!(s.number(automerge).await, 0);
    s.ledger.feed_search_index(10).await.expect("fed");
    for _ in 0..5 {
        assert_eq!(s.ledger.feed_search_index(10).await.expect("merged"), 0);
    }
    s.raw("INSERT INTO search_index (search_index) VALUES ('integrity-check')").await;
}
