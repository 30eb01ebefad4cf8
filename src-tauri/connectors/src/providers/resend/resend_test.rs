use super::*;

#[test]
fn r20_every_recorded_answer_gets_its_outcome() {
    let seen = crate::answers::check("resend", &CONTRACTS[0].1, read);
    assert!(seen > 30, "the folder is read: {seen}");
}

#[test]
fn the_dates_of_the_list_are_read_as_they_are_written() {
    let at = Timestamp::from_millis(1_793_610_900_000).millis();
    for text in ["2026-11-02T09:15:00Z", "2026-11-02T09:15:00.000000+00:00", "2026-11-02 09:15:00.000000+00"] {
        assert_eq!(dated(text), Some(at), "{text}");
    }
}
