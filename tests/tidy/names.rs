//! Rules and failures that are delivered have a test that carries their number, and the invariants name theirs.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use crate::{SOURCES, file, none};

/// Requirements delivered so far (product.md). The control record, drills, team follow in later issues; R37 and
/// R38 are looked at in the window, R34 and R35 are each destination's own suite.
const DELIVERED: &[&[u8]] = &[
    &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20],
    &[21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31],
    &[39, 40, 42],
];
/// Failure cases delivered so far.
const CASES: &[u8] = &[
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
    32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55,
];

/// Names of the Rust tests, and the sentences of the page's tests.
static TESTS: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let mut names = BTreeSet::new();
    for source in SOURCES.iter() {
        if source.path.ends_with(".rs") {
            names.extend(rust_tests(&source.text));
        }
        if source.path.starts_with("ui/tests/") || source.path.starts_with("ui/e2e/") {
            names.extend(page_tests(&source.text));
        }
    }
    names
});

/// Functions that follow a test attribute.
fn rust_tests(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut attribute = false;
    for line in text.lines().map(str::trim) {
        if line.starts_with("#[") {
            attribute |= line.starts_with("#[test]") || line.contains("::test]") || line.contains("::test(");
        } else if let Some(rest) = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ") {
            if attribute || text.contains("proptest!") {
                names.push(rest.split(['(', '<']).next().unwrap_or_default().to_owned());
            }
            attribute = false;
        } else if !line.starts_with("//") {
            attribute = false;
        }
    }
    names
}

/// Texts that are a test's name: the first argument of `test(…` or `it(…`, and, since the journeys are a table, every text
/// that begins with a number of ours.
fn page_tests(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    for call in ["test(", "it(", "["] {
        for (at, _) in text.match_indices(call) {
            let rest = text[at + call.len()..].trim_start();
            if let Some(quote) = rest.chars().next().filter(|c| "\"'`".contains(*c)) {
                names.extend(rest[1..].split(quote).next().map(str::to_lowercase));
            }
        }
    }
    names
}

/// Whether a name carries the number as a word of its own: `r13_approving…`, `f08 refused…`.
fn carries(name: &str, number: &str) -> bool {
    name.split(['_', ' ', ':', ',']).any(|word| word.eq_ignore_ascii_case(number))
}

#[test]
fn every_delivered_requirement_and_failure_case_has_a_test_by_its_number() {
    let wanted =
        DELIVERED.iter().copied().flatten().map(|n| format!("r{n:02}")).chain(CASES.iter().map(|n| format!("f{n:02}")));
    none("numbers without a test", wanted.filter(|number| !TESTS.iter().any(|name| carries(name, number))).collect());
}

#[test]
fn every_invariant_names_a_test_that_exists() {
    let text = file("src-tauri/ARCHITECTURE.md");
    let section =
        text.split("\n## Invariants").nth(1).and_then(|rest| rest.split("\n## ").next()).expect("it has invariants");
    let rows: Vec<&str> = section.lines().filter(|line| line.starts_with('|')).skip(2).collect();
    assert!(rows.len() >= 10, "ten absences at least, one row each: {rows:?}");
    let mut wrong = Vec::new();
    for row in rows {
        let kept_by = row.trim_end_matches('|').rsplit('|').next().unwrap_or_default();
        let named: Vec<&str> = kept_by.split('`').skip(1).step_by(2).filter(|word| !word.contains('/')).collect();
        if named.is_empty() {
            wrong.push(format!("no test named: {row}"));
        }
        let bare = |name: &str| name.rsplit("::").next().unwrap_or_default().to_owned();
        wrong.extend(
            named.iter().filter(|name| !TESTS.contains(&bare(name))).map(|name| format!("no such test: {name}")),
        );
    }
    none("invariants and their tests", wrong);
}

#[test]
fn the_search_for_names_sees_what_is_a_test_and_nothing_else() {
    let text = "#[test]\nfn r01_one() {}\nfn r02_helper() {}\n#[tokio::test(flavor = \"multi_thread\")]\nasync fn f03_two() {}\n#[cfg(test)]\nmod x {}\n";
    assert_eq!(rust_tests(text), ["r01_one", "f03_two"]);
    assert_eq!(page_tests("test(\"F19 Enter while composing\", async () => {})"), ["f19 enter while composing"]);
    assert!(carries("r01_one", "r01") && !carries("r011_one", "r01"));
}
