//! Dates as mail and IMAP write them, in UTC. Small on purpose: a pretend server needs four formats and no calendar.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const DAY: i64 = 86_400;

/// The pretend servers' own clock. A real mail server has one too; tests and drills set it by hand.
#[derive(Clone, Debug, Default)]
pub enum Clock {
    /// The computer's clock.
    #[default]
    System,
    /// Seconds since 1970 in UTC, moved by whoever holds the other end.
    Manual(Arc<AtomicI64>),
}

impl Clock {
    /// Seconds since 1970 in UTC.
    pub fn unix_seconds(&self) -> i64 {
        match self {
            Clock::System => SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |age| age.as_secs() as i64),
            Clock::Manual(seconds) => seconds.load(Ordering::SeqCst),
        }
    }
}

/// Year, month 1–12, day 1–31 of a day counted from 1970-01-01 in the proleptic Gregorian calendar.
fn civil(day: i64) -> (i64, usize, i64) {
    let shifted = day + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day_of_month = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month as usize, day_of_month)
}

fn day_number(year: i64, month: usize, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month = month as i64;
    let of_year = (153 * (if month > 2 { month - 3 } else { month + 9 }) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + of_year - 719_468
}

fn clock_of(seconds: i64) -> (i64, i64, i64) {
    let in_day = seconds.rem_euclid(DAY);
    (in_day / 3600, in_day / 60 % 60, in_day % 60)
}

/// `Mon, 02 Nov 2026 09:15:00 +0000`, as RFC 5322 3.3 wants it.
pub fn mail_date(seconds: i64) -> String {
    let day = seconds.div_euclid(DAY);
    let (year, month, of_month) = civil(day);
    let (hour, minute, second) = clock_of(seconds);
    let weekday = DAYS[day.rem_euclid(7) as usize];
    format!("{weekday}, {of_month:02} {} {year:04} {hour:02}:{minute:02}:{second:02} +0000", MONTHS[month - 1])
}

/// ` 2-Nov-2026 09:15:00 +0000`, as IMAP's INTERNALDATE wants it.
pub(crate) fn imap_date_time(seconds: i64) -> String {
    let (year, month, of_month) = civil(seconds.div_euclid(DAY));
    let (hour, minute, second) = clock_of(seconds);
    format!("{of_month:2}-{}-{year:04} {hour:02}:{minute:02}:{second:02} +0000", MONTHS[month - 1])
}

/// `2026-11-02T09:15:00Z`.
pub fn rfc3339(seconds: i64) -> String {
    let (year, month, of_month) = civil(seconds.div_euclid(DAY));
    let (hour, minute, second) = clock_of(seconds);
    format!("{year:04}-{month:02}-{of_month:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// The day number of an IMAP search date such as `2-Nov-2026`.
pub(crate) fn imap_day(text: &str) -> Option<i64> {
    let mut parts = text.split('-');
    let day: i64 = parts.next()?.trim().parse().ok()?;
    let month = month_number(parts.next()?)?;
    let year: i64 = parts.next()?.parse().ok()?;
    (parts.next().is_none() && (1..=31).contains(&day)).then(|| day_number(year, month, day))
}

/// Seconds since 1970 of an IMAP date-time such as ` 2-Nov-2026 09:15:00 +0100` (APPEND's optional argument).
pub(crate) fn imap_seconds(text: &str) -> Option<i64> {
    let mut parts = text.split_whitespace();
    let day = imap_day(parts.next()?)?;
    let mut clock = parts.next()?.split(':').map(|number| number.parse::<i64>().ok());
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    Some(day * DAY + hour * 3600 + minute * 60 + second - zone_seconds(parts.next()?)?)
}

/// The day in its own zone that a `Date:` header names, which is what SENTSINCE and its siblings compare.
pub(crate) fn mail_day(text: &str) -> Option<i64> {
    let rest = text.split_once(',').map_or(text, |(_, rest)| rest);
    let mut parts = rest.split_whitespace();
    let day: i64 = parts.next()?.parse().ok()?;
    let month = month_number(parts.next()?)?;
    let year: i64 = parts.next()?.parse().ok()?;
    Some(day_number(year, month, day))
}

pub(crate) fn day_of(seconds: i64) -> i64 {
    seconds.div_euclid(DAY)
}

fn month_number(name: &str) -> Option<usize> {
    MONTHS.iter().position(|month| month.eq_ignore_ascii_case(name)).map(|index| index + 1)
}

fn zone_seconds(zone: &str) -> Option<i64> {
    let (sign, digits) = match zone.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let number: i64 = (digits.len() == 4).then(|| digits.parse().ok()).flatten()?;
    Some(sign * (number / 100 * 3600 + number % 100 * 60))
}

#[cfg(test)]
mod tests {
    use super::*;

    // The right values come from GNU date: `date -u -d @1793610900`.
    #[test]
    fn dates_are_written_as_the_standards_show_them() {
        assert_eq!(mail_date(1_793_610_900), "Mon, 02 Nov 2026 09:15:00 +0000");
        assert_eq!(imap_date_time(1_793_610_900), " 2-Nov-2026 09:15:00 +0000");
        assert_eq!(rfc3339(1_793_610_900), "2026-11-02T09:15:00Z");
        assert_eq!(mail_date(951_782_400), "Tue, 29 Feb 2000 00:00:00 +0000");
        assert_eq!(mail_date(0), "Thu, 01 Jan 1970 00:00:00 +0000");
    }

    #[test]
    fn dates_are_read_back() {
        assert_eq!(imap_day("2-Nov-2026"), Some(1_793_610_900 / DAY));
        assert_eq!(imap_seconds(" 2-Nov-2026 10:15:00 +0100"), Some(1_793_610_900));
        assert_eq!(mail_day("Mon, 02 Nov 2026 23:59:00 -0800"), Some(1_793_610_900 / DAY));
        assert_eq!(mail_day("2 Nov 2026 01:00 +0000"), Some(1_793_610_900 / DAY));
        assert_eq!(imap_day("2-Nov"), None);
        assert_eq!(imap_day("2026-11-02"), None);
    }
}
