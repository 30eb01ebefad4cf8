//! When a message is to go, as a person says it: the time on a wall and the zone of that wall (F39).
//!
//! An hour that a clock change skips, and one that it repeats without the offset that tells which, are refused with their
//! field: nothing is moved in silence. The zones' rules come with the program, so that every machine reads them alike; what
//! they gave is fixed at the approval, as the action's due time, and later rules do not move it.

use crate::fields::{Fields, wrong};
use crate::json::FieldError;
use crate::time::Timestamp;
use jiff::civil;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone, TimeZoneDatabase};
use serde_json::Value;

const ZONE_MAX: usize = 64;

/// `{"local": "2027-03-28T10:30", "zone": "Europe/Berlin", "offset"?: "+02:00"}`, checked for its form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SendAt {
    local: civil::DateTime,
    zone: String,
    offset: Option<Offset>,
}

/// A time with the offset that its zone has then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resolved {
    pub at: Timestamp,
    offset: Offset,
}

impl SendAt {
    /// Checks the form only: a stored payload stays readable under other rules of its zone.
    pub(crate) fn read(value: &Value) -> Result<SendAt, FieldError> {
        let fields = Fields::of(value, &["local", "zone", "offset"])?;
        let local = fields.required_text("local")?;
        let local = wall_time(local)
            .ok_or_else(|| wrong("local", "is not a time as a clock shows it, such as 2027-03-28T10:30"))?;
        let zone = fields.required_text("zone")?;
        let named = |b: u8| b.is_ascii_alphanumeric() || b"/_+-".contains(&b);
        if zone.is_empty() || zone.len() > ZONE_MAX || !zone.bytes().all(named) {
            return Err(wrong("zone", NO_ZONE));
        }
        let told = |text: &str| offset(text).ok_or_else(|| wrong("offset", "is not an offset such as +02:00"));
        let offset = fields.text("offset")?.map(told).transpose()?;
        Ok(SendAt { local, zone: zone.to_owned(), offset })
    }

    /// The moment that is meant.
    ///
    /// # Errors
    /// The path below `send_at` and what may be said instead: for a zone that is not known, a time that does not exist or
    /// occurs twice there, an offset that the zone does not have then.
    pub fn resolve(&self) -> Result<Resolved, FieldError> {
        let zone = self.rules()?;
        let meant = zone.to_ambiguous_timestamp(self.local);
        let offset = match (meant.offset(), self.offset) {
            (AmbiguousOffset::Unambiguous { offset }, told) => match told.filter(|told| *told != offset) {
                None => offset,
                Some(_) => {
                    let text = format!("is not the offset of {} then; that is {}", self.zone, signed(offset));
                    return Err(wrong("offset", text));
                }
            },
            // Read with the offset before the change it is the later one, and the other way round.
            (AmbiguousOffset::Gap { before, after }, _) => {
                return Err(wrong(
                    "local",
                    format!(
                        "does not exist in {}: the clocks change from {} to {} then. Say {} or {}",
                        self.zone,
                        signed(before),
                        signed(after),
                        clock(after.to_timestamp(self.local).map(|t| before.to_datetime(t)), self.local),
                        clock(before.to_timestamp(self.local).map(|t| after.to_datetime(t)), self.local),
                    ),
                ));
            }
            (AmbiguousOffset::Fold { before, after }, Some(told)) if told == before || told == after => told,
            (AmbiguousOffset::Fold { before, after }, _) => {
                return Err(wrong(
                    "offset",
                    format!(
                        "is needed, since that hour occurs twice in {}: {} is the first one, {} the second",
                        self.zone,
                        signed(before),
                        signed(after)
                    ),
                ));
            }
        };
        let at = offset.to_timestamp(self.local).map_err(|_| wrong("local", "is beyond the times we know"))?;
        Ok(Resolved { at: Timestamp::from_millis(at.as_millisecond()), offset })
    }

    /// Both: the time on that wall and the same moment in UTC.
    pub fn both(&self, resolved: Resolved) -> String {
        let local = self.local.strftime("%Y-%m-%d %H:%M");
        format!("{local} in {} (UTC{}), which is {}", self.zone, signed(resolved.offset), resolved.at)
    }

    fn rules(&self) -> Result<TimeZone, FieldError> {
        TimeZoneDatabase::bundled().get(&self.zone).map_err(|_| wrong("zone", NO_ZONE))
    }
}

const NO_ZONE: &str = "is not a time zone we know; its name is needed, such as Europe/Berlin";

/// `YYYY-MM-DDThh:mm`, perhaps with seconds. jiff reads more forms than other programs do.
fn wall_time(text: &str) -> Option<civil::DateTime> {
    let shape = |shape: &str| {
        text.len() == shape.len()
            && text.bytes().zip(shape.bytes()).all(|(b, s)| if s == b'0' { b.is_ascii_digit() } else { b == s })
    };
    (shape("0000-00-00T00:00") || shape("0000-00-00T00:00:00")).then(|| text.parse().ok()).flatten()
}

/// `+hh:mm` or `-hh:mm`, at most a day.
fn offset(text: &str) -> Option<Offset> {
    let sign = match text.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let (hours, minutes) = text[1..].split_once(':')?;
    let number = |part: &str, below: i32| {
        let digits = part.len() == 2 && part.bytes().all(|b| b.is_ascii_digit());
        part.parse::<i32>().ok().filter(|n| digits && *n < below)
    };
    Offset::from_seconds(sign * (number(hours, 24)? * 3600 + number(minutes, 60)? * 60)).ok()
}

fn signed(offset: Offset) -> String {
    let seconds = offset.seconds();
    let (sign, all) = (if seconds < 0 { '-' } else { '+' }, seconds.abs());
    format!("{sign}{:02}:{:02}", all / 3600, all / 60 % 60)
}

fn clock(time: Result<civil::DateTime, jiff::Error>, otherwise: civil::DateTime) -> String {
    time.unwrap_or(otherwise).strftime("%H:%M").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn at(local: &str, zone: &str, offset: Option<&str>) -> Result<Resolved, FieldError> {
        SendAt::read(&json!({ "local": local, "zone": zone, "offset": offset }))?.resolve()
    }

    #[test]
    fn f39_a_time_that_the_clock_change_skips_is_asked_for_again_and_not_moved() {
        let no = at("2027-03-28T02:30", "Europe/Berlin", None).expect_err("it does not exist");
        assert_eq!(no.field, "local");
        for part in ["Europe/Berlin", "01:30", "03:30", "+01:00", "+02:00"] {
            assert!(no.reason.contains(part), "{part}: {}", no.reason);
        }
        assert!(at("2027-03-28T02:30", "Europe/Berlin", Some("+01:00")).is_err(), "an offset does not make it exist");
        // Lord Howe changes by half an hour.
        let half = at("2026-10-04T02:15", "Australia/Lord_Howe", None).expect_err("it does not exist");
        assert!(half.reason.contains("01:45") && half.reason.contains("02:45"), "{}", half.reason);
    }

    #[test]
    fn f39_a_time_that_occurs_twice_needs_the_offset_that_says_which() {
        let no = at("2027-10-31T02:30", "Europe/Berlin", None).expect_err("it occurs twice");
        assert_eq!(no.field, "offset");
        assert!(no.reason.contains("+02:00 is the first") && no.reason.contains("+01:00 the second"), "{}", no.reason);
        assert!(at("2027-10-31T02:30", "Europe/Berlin", Some("+03:00")).is_err(), "neither of the two");
        let utc = |offset| at("2027-10-31T02:30", "Europe/Berlin", Some(offset)).expect("told").at.to_string();
        assert_eq!(utc("+02:00"), "2027-10-31T00:30:00Z");
        assert_eq!(utc("+01:00"), "2027-10-31T01:30:00Z");
    }

    #[test]
    fn f39_the_same_wall_time_before_and_after_the_change_is_another_moment() {
        let utc = |local| at(local, "Europe/Berlin", None).expect("it exists").at.to_string();
        assert_eq!(utc("2027-03-27T09:00"), "2027-03-27T08:00:00Z");
        assert_eq!(utc("2027-03-28T09:00"), "2027-03-28T07:00:00Z");
        let meant = SendAt::read(&json!({ "local": "2027-03-28T09:00", "zone": "Europe/Berlin" })).expect("read");
        let both = meant.both(meant.resolve().expect("it exists"));
        assert_eq!(both, "2027-03-28 09:00 in Europe/Berlin (UTC+02:00), which is 2027-03-28T07:00:00Z");
    }

    #[test]
    fn f39_what_is_no_time_no_zone_or_no_offset_names_its_field() {
        let field = |local, zone, offset| at(local, zone, offset).expect_err("refused").field;
        for local in ["2027-03-28", "2027-03-28T25:00", "2027-02-30T10:00", "2027-03-28 10:00", "2027-03-28T10:00Z"] {
            assert_eq!(field(local, "Europe/Berlin", None), "local", "{local}");
        }
        for zone in ["", "Mars/Olympus", "CEST ", "../../etc/passwd", "+02:00"] {
            assert_eq!(field("2027-03-28T10:00", zone, None), "zone", "{zone}");
        }
        for offset in ["+2", "02:00", "+02:60", "+24:00", "+01:00"] {
            assert_eq!(field("2027-03-28T10:00", "Europe/Berlin", Some(offset)), "offset", "{offset}");
        }
    }
}
