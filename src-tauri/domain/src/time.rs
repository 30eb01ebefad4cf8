//! A point in time: UTC milliseconds since 1970. The domain never reads a clock; it is handed one of these.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// UTC milliseconds since 1970, written in RFC 3339 form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// A text that is not a time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a time in RFC 3339 form, such as 2026-11-02T09:15:00Z")]
pub struct BadTime(pub String);

impl Timestamp {
    /// Milliseconds since 1970-01-01T00:00:00Z; negative before.
    pub const fn from_millis(millis: i64) -> Self {
        Timestamp(millis)
    }
    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub const fn millis(self) -> i64 {
        self.0
    }
    /// Saturates instead of wrapping, so that a clock set far ahead never makes a time in the past.
    pub fn plus(self, d: Duration) -> Self {
        Timestamp(self.0.saturating_add(i64::try_from(d.as_millis()).unwrap_or(i64::MAX)))
    }
    /// Saturates, as [`Timestamp::plus`].
    pub fn minus(self, d: Duration) -> Self {
        Timestamp(self.0.saturating_sub(i64::try_from(d.as_millis()).unwrap_or(i64::MAX)))
    }
    /// Time from `earlier` to `self`; zero if the clock went back.
    pub fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0).max(0) as u64)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(t) => write!(f, "{t}"),
            Err(_) => write!(f, "{} ms", self.0),
        }
    }
}

impl FromStr for Timestamp {
    type Err = BadTime;
    fn from_str(text: &str) -> Result<Self, BadTime> {
        let bad = || BadTime(text.to_owned());
        if !is_rfc3339(text) {
            return Err(bad());
        }
        text.parse::<jiff::Timestamp>().map(|t| Timestamp(t.as_millisecond())).map_err(|_| bad())
    }
}

/// `YYYY-MM-DDThh:mm:ss`, perhaps a fraction, then `Z` or an offset. jiff reads more forms than other programs do.
fn is_rfc3339(text: &str) -> bool {
    let shaped = |text: &[u8], shape: &[u8]| {
        text.len() == shape.len()
            && text
                .iter()
                .zip(shape)
                .all(|(b, s)| if *s == b'0' { b.is_ascii_digit() } else { b.eq_ignore_ascii_case(s) })
    };
    let bytes = text.as_bytes();
    let Some((front, rest)) = bytes.split_at_checked("0000-00-00T00:00:00".len()) else { return false };
    let rest = match rest.strip_prefix(b".") {
        Some(fraction) => {
            let digits = fraction.iter().take_while(|b| b.is_ascii_digit()).count();
            if digits == 0 || digits > 9 {
                return false;
            }
            &fraction[digits..]
        }
        None => rest,
    };
    let zone = rest.eq_ignore_ascii_case(b"Z") || shaped(rest, b"+00:00") || shaped(rest, b"-00:00");
    shaped(front, b"0000-00-00T00:00:00") && zone
}

impl serde::Serialize for Timestamp {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Timestamp {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(d)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
