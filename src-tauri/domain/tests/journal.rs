//! The journal's chain: any altered, dropped, doubled or moved row is named.

use countersign_domain::canonical::JournalHash;
use countersign_domain::chain::{Break, Broken, Entry, GENESIS, check, check_to, link};
use serde_json::json;

fn journal(rows: i64) -> Vec<(Entry, JournalHash)> {
    let mut head = GENESIS;
    let mut out = Vec::new();
    for seq in 1..=rows {
        let entry = Entry {
            seq,
            at: 1000 + seq,
            action: (seq % 2 == 0).then_some(7),
            fact: json!({"fact": "claimed", "n": seq}),
            by: "w".into(),
        };
        head = link(head, &entry);
        out.push((entry, head));
    }
    out
}

fn breaks(rows: &[(Entry, JournalHash)]) -> Vec<Break> {
    check(GENESIS, 0, rows.iter().map(|(e, h)| (e, *h))).1
}

#[test]
fn r30_an_untouched_journal_holds_and_can_be_checked_in_parts() {
    let rows = journal(10);
    assert_eq!(breaks(&rows), []);
    let (head, first) = check(GENESIS, 0, rows[..4].iter().map(|(e, h)| (e, *h)));
    let (end, second) = check(head, 4, rows[4..].iter().map(|(e, h)| (e, *h)));
    assert_eq!((end, first.len() + second.len()), (rows[9].1, 0));
}

#[test]
fn r30_every_changed_member_of_every_row_is_named() {
    let changes: [fn(&mut Entry); 4] = [
        |e| e.at += 1,
        |e| e.action = Some(e.action.unwrap_or(0) + 1),
        |e| e.fact = json!({"fact": "accepted"}),
        |e| e.by.push('x'),
    ];
    for i in 0..10 {
        for change in changes {
            let mut rows = journal(10);
            change(&mut rows[i].0);
            assert_eq!(breaks(&rows), [Break { seq: i as i64 + 1, why: Broken::Hash }]);
        }
        let mut rows = journal(10);
        rows[i].1.0[31] ^= 1;
        let named = breaks(&rows);
        assert_eq!(named[0], Break { seq: i as i64 + 1, why: Broken::Hash }, "its own hash");
        assert_eq!(named.len(), if i == 9 { 1 } else { 2 }, "and the row that follows from it");
    }
}

#[test]
fn r30_dropped_doubled_and_moved_rows_are_named() {
    let mut dropped = journal(10);
    dropped.remove(3);
    assert_eq!(breaks(&dropped), [Break { seq: 5, why: Broken::Order }, Break { seq: 5, why: Broken::Hash }]);
    let mut doubled = journal(10);
    doubled.insert(4, doubled[3].clone());
    assert!(breaks(&doubled).contains(&Break { seq: 4, why: Broken::Order }));
    let mut moved = journal(10);
    moved.swap(3, 4);
    assert!(!breaks(&moved).is_empty());
}

#[test]
fn r27_a_journal_that_ends_before_its_anchor_or_differs_at_it_is_named() {
    let rows = journal(10);
    assert_eq!(check_to((10, rows[9].1), &rows), []);
    assert_eq!(check_to((8, rows[7].1), &rows), [], "the anchor may be older than the head");
    assert_eq!(check_to((10, rows[9].1), &rows[..8]), [Break { seq: 10, why: Broken::Short }]);
    // Rolled back and written on: a consistent chain, but not ours.
    let mut other = rows[..8].to_vec();
    let entry = Entry { seq: 9, at: 0, action: None, fact: json!("other"), by: "w".into() };
    other.push((entry.clone(), link(other[7].1, &entry)));
    assert_eq!(check_to((9, rows[8].1), &other), [Break { seq: 9, why: Broken::Hash }]);
    assert_eq!(check_to((0, GENESIS), &[]), []);
}
