//! Times and ids as texts.

use countersign_domain::{ActionId, AttemptId, Timestamp};
use std::time::Duration;

fn millis(text: &str) -> Option<i64> {
    text.parse::<Timestamp>().ok().map(Timestamp::millis)
}

#[test]
fn times_are_read_in_rfc_3339_form_only() {
    // date -u -d 2026-11-02T09:15:00Z +%s
    let at = 1793610900000;
    for text in
        ["2026-11-02T09:15:00Z", "2026-11-02t09:15:00z", "2026-11-02T10:15:00+01:00", "2026-11-02T09:15:00.000Z"]
    {
        assert_eq!(millis(text), Some(at), "{text}");
    }
    assert_eq!(millis("2026-11-02T09:15:00.25Z"), Some(at + 250));
    for text in [
        "",
        "2026-11-02",
        "2026-11-02T09:15:00",
        "2026-11-02 09:15:00Z",
        "2026-11-02T09:15Z",
        "2026-11-02T09:15:00Z[UTC]",
        "2026-11-02T09:15:00+01",
        "2026-11-02T09:15:00+0100",
        "2026-11-02T09:15:00.Z",
        "2026-13-02T09:15:00Z",
        "2026-11-31T09:15:00Z",
        "+002026-11-02T09:15:00Z",
        " 2026-11-02T09:15:00Z",
        "ü026-11-02T09:15:00Z",
    ] {
        assert_eq!(millis(text), None, "{text}");
    }
    assert_eq!(Timestamp::from_millis(at).to_string(), "2026-11-02T09:15:00Z");
}

#[test]
fn a_clock_far_ahead_never_makes_a_time_in_the_past() {
    let end = Timestamp::from_millis(i64::MAX - 5);
    assert!(end.plus(Duration::from_secs(3600)) > end);
    assert!(Timestamp::from_millis(i64::MIN).minus(Duration::MAX) <= Timestamp::from_millis(i64::MIN));
    assert_eq!(Timestamp::from_millis(5).since(Timestamp::from_millis(9)), Duration::ZERO);
}

#[test]
fn an_id_of_one_kind_is_not_read_as_another() {
    assert_eq!("A-17".parse::<ActionId>(), Ok(ActionId(17)));
    assert_eq!(ActionId(17).to_string(), "A-17");
    for text in ["T-17", "17", "A17", "A-", "A-0", "A--1", "A-1x", "a-1", "A-99999999999999999999"] {
        assert!(text.parse::<ActionId>().is_err(), "{text}");
    }
    assert!("A-17".parse::<AttemptId>().is_err());
}
