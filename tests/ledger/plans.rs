//! Query plans: no list, search or claim walks a whole table, so that a million actions are as fast as a hundred (R37).

use crate::stage::*;
use sqlx::Row;

/// Statements that a window or a tick runs; a full walk in one of them would show at a million actions.
const HOT: [(&str, &str); 51] = [
    ("page", "PAGE_BY_STATE"),
    ("page", "PAGE_BY_STATE_OLDEST"),
    ("page", "PAGE"),
    ("page", "PAGE_OLDEST"),
    ("page", "UNREVISED_BY_STATE"),
    ("page", "COUNT"),
    ("page", "COUNT_TO_REVIEW"),
    ("claim", "DUE"),
    ("claim", "BESIDE"),
    ("claim", "RESTS_ON"),
    ("configured", "TOLD_SINCE"),
    ("configured", "LAST_NUMBER"),
    ("claim", "OPEN_ATTEMPTS"),
    ("claim", "NOTED"),
    ("decide", "EXPIRING"),
    ("dossier", "ATTACHMENTS"),
    ("dossier", "WIRE"),
    ("dossier", "CONVERSATION"),
    ("dossier", "DESTINATION"),
    ("decide", "CLEARED"),
    ("reconcile", "UNKNOWN_DUE"),
    ("reconcile", "LAST_CLOSED"),
    ("followup", "FILINGS_DUE"),
    ("journal", "AFTER"),
    ("journal", "OF_ACTION"),
    ("journal", "LAST_OF_ACTION"),
    ("proof", "CHAIN_OF_ACTION"),
    ("proof", "APPROVALS"),
    ("proof", "ATTEMPTS"),
    ("proof", "SIGHTINGS"),
    ("proof", "VERDICTS"),
    ("read", "BY_IDEMPOTENCY_KEY"),
    ("read", "OF_REQUEST"),
    ("read", "OF_REQUEST_AND_STEP"),
    ("read", "DELIVERIES_OF"),
    ("read", "KNOWN_PERSON"),
    ("read", "NOT_TAKEN_FROM"),
    ("read", "KNOWN_DOMAINS"),
    ("related", "SAME_PEOPLE"),
    ("related", "SAME_THREAD"),
    ("related", "SAME_RECORD"),
    ("related", "SAME_STEP"),
    ("repeats", "WAITING"),
    ("repeats", "NEWEST_REVISION"),
    ("revise", "WAITING_FOR"),
    ("search", "FIRST_SINCE"),
    ("next", "NEXT_DUE"),
    ("next", "FOLLOWS"),
    ("next", "HELD"),
    ("next", "SYNCED"),
    ("rules", "WAITS"),
];

/// Lines of a plan that walk a table from end to end. Walking an index that holds only what is asked for (a partial one)
/// or what a subquery already bounded is none.
fn walks(plan: &[String]) -> Vec<&String> {
    const SMALL: [&str; 8] = [
        "attempts_open",
        "actions_due",
        "actions_expiring",
        "filings_due",
        "SCAN requests",
        "SCAN capped",
        "SCAN CONSTANT ROW",
        // Only whether there is a first one.
        "SCAN index_queue",
    ];
    // All actions of an environment are a whole table, too.
    let walk = |l: &&String| l.starts_with("SCAN") || l.contains("actions_page (environment=?)");
    plan.iter().filter(|l| walk(l) && !SMALL.iter().any(|s| l.contains(s))).collect()
}

async fn plan(s: &Stage, sql: &str) -> Vec<String> {
    s.rows(&format!("EXPLAIN QUERY PLAN {sql}")).await.iter().map(|r| r.get::<String, _>("detail")).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r37_no_list_claim_or_look_walks_a_whole_table() {
    let s = Stage::sqlite().await;
    let all = countersign_ledger::shared_statements();
    for (file, name) in HOT {
        let text = all.iter().find(|(f, n, _)| (*f, *n) == (file, name)).unwrap_or_else(|| panic!("{file} {name}")).2;
        let plan = plan(&s, text).await;
        assert!(walks(&plan).is_empty(), "{file} {name}: {plan:#?}");
        assert!(!text.contains("OFFSET"), "{file} {name}");
        // The journal has a row or more for each delivery: what changed the configuration has an index of its own.
        let own = plan.iter().any(|l| l.contains("journal_of_configuration"));
        assert_eq!(own, file == "configured", "{file} {name}: {plan:#?}");
        // An action is found by its number or its own index; by its state only where a state is what is asked for.
        let of_people = name.starts_with("SAME_") && plan.iter().any(|l| l.contains("actions_by_state"));
        assert!(!of_people, "{file} {name}: {plan:#?}");
        let sorts = plan.iter().any(|l| l.contains("TEMP B-TREE FOR ORDER BY"));
        let bounded = [
            "SAME_PEOPLE",
            "SAME_THREAD",
            "SAME_RECORD",
            "SAME_STEP",
            "WAITING",
            "CLEARED",
            "OF_REQUEST_AND_STEP",
            "NEWEST_REVISION",
            "NOTED",
            "BESIDE",
            "TOLD_SINCE",
            "LAST_NUMBER",
            "ATTEMPTS",
            "DELIVERIES_OF",
        ];
        assert!(!sorts || bounded.contains(&name), "{file} {name} sorts what it found: {plan:#?}");
    }
    // `verify` walks everything once, but not everything for each person.
    let miscounted = all.iter().find(|(_, n, _)| *n == "MISCOUNTED").expect("listed").2;
    let miscounted = plan(&s, miscounted).await;
    assert!(!miscounted.iter().any(|l| l.contains("actions_by_state (environment=? AND state=?)")), "{miscounted:#?}");
    let (_, _, find, _) = countersign_ledger::seams()
        .into_iter()
        .find(|(f, w, ..)| *f == "search" && w.contains("find"))
        .expect("listed");
    let plan = plan(&s, find).await;
    let whole: Vec<_> = walks(&plan).into_iter().filter(|l| !l.contains("VIRTUAL TABLE")).collect();
    assert!(whole.is_empty(), "search: {plan:#?}");
    assert!(plan.iter().any(|l| l.contains("VIRTUAL TABLE")), "search: {plan:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r37_counting_walks_its_range_of_an_index_and_nothing_more() {
    let s = Stage::sqlite().await;
    let counting: Vec<_> =
        countersign_ledger::shared_statements().into_iter().filter(|(file, ..)| *file == "insights").collect();
    assert!(counting.len() >= 10, "{counting:?}");
    for (_, name, text) in counting {
        let plan = plan(&s, text).await;
        let derived = ["SCAN went", "SCAN twice", "SCAN times"];
        let whole: Vec<_> = walks(&plan).into_iter().filter(|l| !derived.iter().any(|d| l.contains(d))).collect();
        assert!(whole.is_empty(), "{name}: {plan:#?}");
        assert!(plan.iter().any(|l| l.starts_with("SEARCH")), "{name}: {plan:#?}");
        let range =
            name.starts_with("EVERY") || name == "STILL_ASKED" || plan.iter().any(|l| l.contains("actions_page"));
        assert!(range, "{name} begins somewhere else: {plan:#?}");
    }
}

/// SQLite plans a statement anew at each use where it wants to look at a value first: see ledger/src/page.rs.
#[test]
fn r37_no_statement_is_planned_anew_at_each_use() {
    let all = countersign_ledger::shared_statements();
    assert!(all.len() > 100, "{}", all.len());
    for (file, name, text) in all {
        assert!(!text.contains("LIMIT $"), "{file} {name}: {text}");
        let beside_a_partial_index = text.contains(" FROM actions ") && text.contains("state = $");
        assert!(!beside_a_partial_index, "{file} {name}: {text}");
    }
}
