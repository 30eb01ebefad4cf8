//! A point in time: UTC milliseconds since 1970. The domain never reads a clock; it is handed one of these.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a time in RFC 3339 form, such as 2026-11-02T09:15:00Z")]
pub struct BadTime(pub String);

impl Timestamp {
    pub const fn from_millis(millis: i64) -> Self {
        Timestamp(millis)
    }
    pub const fn millis(self) -> i64 {
        self.0
    }
    /// Saturates instead of wrapping, so that a clock set far ahead never makes a time in the past.
    pub fn plus(self, d: Duration) -> Self {
        Timestamp(self.0.saturating_add(i64::try_from(d.as_millis()).unwrap_or(i64::MAX)))
    }
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
        // jiff also reads forms wider than RFC 3339 (such as a space for the T); what we accept is what we print.
        let bad = || BadTime(text.to_owned());
        if text.as_bytes().get(10).is_none_or(|b| *b != b'T' && *b != b't') {
            return Err(bad());
        }
        text.parse::<jiff::Timestamp>().map(|t| Timestamp(t.as_millisecond())).map_err(|_| bad())
    }
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
