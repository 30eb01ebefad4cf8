//! Backoff, look-ups, windows: the numbers of protocol.md.

use countersign_domain::policy::*;
use countersign_domain::{Contract, Timestamp};
use std::time::Duration;

const MINUTE: i64 = 60;
const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;

fn contract(extra: &str) -> Contract {
    let text = format!(
        r#"
        effects = ["email.send"]
        key_mechanism = "key"
        on_changed_content = "conflict"
        not_sent = []
        refused = []
        accepted = []
        sources = []
        facts_as_of = "2026-11-01"
        {extra}"#
    );
    toml::from_str(&text).unwrap()
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(seconds * 1000)
}

fn looks(contract: &Contract) -> Vec<i64> {
    (0..).map_while(|n| next_look_at(contract, at(0), n)).map(|t| t.millis() / 1000).collect()
}

/// Protocol: "At once, then 30 s, 2 min, 10 min, 1 h, 6 h, 24 h, then daily for 14 days."
fn plain() -> Vec<i64> {
    let mut steps = vec![0, 30, 2 * MINUTE, 10 * MINUTE, HOUR, 6 * HOUR, DAY];
    steps.extend((2..=14).map(|day| day * DAY));
    steps
}

#[test]
fn r24_looks_follow_the_schedule_of_the_protocol() {
    let contract = contract("family = \"look_up_only\"\nlookup = \"Sent\"");
    assert_eq!(looks(&contract), plain());
    assert_eq!(next_look(at(5), 3), Some(at(5 + 10 * MINUTE)));
    assert_eq!(next_look(at(0), 20), None);
}

#[test]
fn r24_where_absence_is_proof_one_look_falls_on_the_end_of_the_delay() {
    let conclusive = |delay: i64| {
        contract(&format!(
            "family = \"look_up_only\"\nlookup = \"list\"\nlookup_delay_seconds = {delay}\nabsence_conclusive = true"
        ))
    };
    for delay in [1, 45, 5 * MINUTE, 20 * HOUR, 3 * DAY + 1, 20 * DAY] {
        let mut expected = plain();
        expected.push(delay);
        expected.sort_unstable();
        assert_eq!(looks(&conclusive(delay)), expected, "delay {delay}");
    }
    assert_eq!(looks(&conclusive(HOUR)), plain(), "a step of its own needs no other");
    let contract = conclusive(5 * MINUTE);
    assert!(!absence_proves(&contract, at(0), at(5 * MINUTE - 1)));
    assert!(absence_proves(&contract, at(0), at(5 * MINUTE)));
}

#[test]
fn r25_absence_proves_nothing_where_the_contract_does_not_say_so() {
    let contract = contract("family = \"look_up_only\"\nlookup = \"Sent\"\nlookup_delay_seconds = 60");
    assert!(!absence_proves(&contract, at(0), at(365 * DAY)));
}

#[test]
fn r21_backoff_is_one_and_ten_minutes_and_retry_after_wins() {
    assert_eq!(backoff(1, None), Duration::from_secs(60));
    assert_eq!(backoff(2, None), Duration::from_secs(600));
    assert_eq!(backoff(1, Some(Duration::from_secs(7200))), Duration::from_secs(7200));
    assert_eq!(backoff(2, Some(Duration::from_secs(5))), Duration::from_secs(5));
}

#[test]
fn r21_a_repeat_by_itself_only_in_the_first_half_of_the_window_and_by_a_person_in_the_whole() {
    let native = contract("family = \"replay\"\nretention_hours = 24\nlookup = \"get\"");
    let crossed = at(1000);
    let by_itself = |t| may_repeat_by_itself(&native, crossed, at(1000 + t));
    let by_person = |t| person_may_repeat(&native, crossed, at(1000 + t));
    assert!(by_itself(0) && by_itself(12 * HOUR - 1) && !by_itself(12 * HOUR));
    assert!(by_person(12 * HOUR) && by_person(DAY - 1) && !by_person(DAY));
    // A clock that was set back says nothing about what is left of the window.
    assert!(!by_itself(-1) && !by_person(-1));
    for family in ["look_up_only", "none"] {
        let keyless = contract(&format!("family = \"{family}\"\nretention_hours = 24"));
        assert!(!person_may_repeat(&keyless, crossed, crossed), "{family}");
    }
    let no_window = contract("family = \"replay\"");
    assert!(!person_may_repeat(&no_window, crossed, crossed));
}

#[test]
fn r25_what_recognises_a_repeat_by_the_request_alone_is_repeated_by_a_person_only() {
    for family in ["conditional_create", "one_shot"] {
        let c = contract(&format!("family = \"{family}\"\nretention_hours = 24\nlookup = \"get\""));
        assert!(person_may_repeat(&c, at(0), at(DAY - 1)), "{family}");
        assert!(!may_repeat_by_itself(&c, at(0), at(0)), "{family}");
        let by_itself = plan(&c, at(0), at(0), 0, true, true, at(60));
        assert_eq!(by_itself, Plan::Look { at: next_look(at(0), 0).unwrap() }, "{family}");
    }
    for family in ["replay", "refuse", "resume"] {
        let native = contract(&format!("family = \"{family}\"\nretention_hours = 24"));
        assert!(may_repeat_by_itself(&native, at(0), at(0)), "{family}");
    }
}

#[test]
fn f40_a_clock_that_was_set_back_leaves_no_window_open() {
    assert_eq!(window_time(at(1000), at(0)), Some(at(1000)));
    assert_eq!(window_time(at(1000), at(1030)), Some(at(1030)), "corrected a little: what has been is the floor");
    assert_eq!(window_time(at(1000), at(1061)), None);
}

#[test]
fn r25_the_plan_repeats_looks_or_asks_a_person_by_the_contract() {
    let native = contract("family = \"replay\"\nretention_hours = 24\nlookup = \"get\"");
    let look = |n: u32| Plan::Look { at: next_look(at(0), n).unwrap() };
    assert_eq!(plan(&native, at(0), at(0), 2, true, true, at(60)), Plan::Repeat);
    assert_eq!(plan(&native, at(0), at(0), 2, false, true, at(60)), look(2), "no attempt left");
    assert_eq!(plan(&native, at(0), at(0), 2, true, false, at(60)), look(2), "switched off");
    assert_eq!(plan(&native, at(0), at(0), 5, true, true, at(13 * HOUR)), look(5), "second half");
    assert_eq!(plan(&native, at(0), at(0), 20, true, true, at(15 * DAY)), Plan::AskPerson, "done asking");
    let blind = contract("family = \"none\"");
    assert_eq!(plan(&blind, at(0), at(0), 0, true, true, at(0)), Plan::AskPerson);
}

#[test]
fn r25_a_person_says_it_did_not_happen_only_after_answer_time_and_look_up_delay() {
    let contract = contract("family = \"look_up_only\"\nlookup = \"Sent\"\nlookup_delay_seconds = 90");
    assert_eq!(did_not_happen_from(&contract, at(0), Duration::from_secs(600)), at(600));
    assert_eq!(did_not_happen_from(&contract, at(0), Duration::from_secs(5)), at(90));
}
