//! What can be set, with defaults and limits. Stored in the ledger, so that every change is a journal row with its author.

use crate::failure::Failure;
use crate::keychain::{Presence, SANDBOX};
use countersign_domain::{ActionId, PersonId, Timestamp};
use countersign_ledger::Ledger;
use std::time::Duration;

/// Undo window where the destination's file names none.
pub const UNDO_SECONDS: u32 = 10;
/// Approvals expire after so many hours.
pub const EXPIRY_HOURS: u32 = 72;

/// Journal rows read at a time.
const JOURNAL_AT_ONCE: u32 = 1000;

const EXPIRY: &str = "expiry_hours";
const NOTIFY_NAMES: &str = "notifications/names";
const NOTIFY: &str = "notifications";
const UNDO: &str = "undo_seconds";
const QUIET_UNTIL: &str = "quiet/until";
const QUIET_HOURS: &str = "quiet/hours";

/// Hours of the day in which notifications are quiet, in minutes after midnight by this computer's clock. They may go past
/// midnight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuietHours {
    pub from: u16,
    pub to: u16,
}

impl QuietHours {
    /// Two times of the day, `22:00` and `07:30`.
    ///
    /// # Errors
    /// Bad input with the field for what is no time of a day, and for two that are the same.
    pub fn parse(from: &str, to: &str) -> Result<QuietHours, Failure> {
        let minutes = |field: &str, text: &str| {
            let (hour, minute) = text.split_once(':').unwrap_or((text, ""));
            match (hour.parse::<u16>(), minute.parse::<u16>()) {
                (Ok(hour), Ok(minute)) if hour < 24 && minute < 60 => Ok(hour * 60 + minute),
                _ => Err(Failure::bad_input(field, "a time of the day such as 22:00 is expected")),
            }
        };
        let hours = QuietHours { from: minutes("quiet_from", from)?, to: minutes("quiet_to", to)? };
        if hours.from == hours.to {
            return Err(Failure::bad_input("quiet_to", "the two times are the same"));
        }
        Ok(hours)
    }

    fn has(self, minute: u16) -> bool {
        if self.from < self.to {
            (self.from..self.to).contains(&minute)
        } else {
            minute >= self.from || minute < self.to
        }
    }

    /// As `HH:MM`, from and to.
    pub fn texts(self) -> (String, String) {
        let text = |minute: u16| format!("{:02}:{:02}", minute / 60, minute % 60);
        (text(self.from), text(self.to))
    }
}

/// The moment as a clock on this computer's wall shows it.
fn local(now: Timestamp) -> jiff::Zoned {
    let moment = jiff::Timestamp::from_millisecond(now.millis()).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    moment.to_zoned(jiff::tz::TimeZone::system())
}

/// Key of the switch of an environment; `on` or `off`. Live is off until somebody switched it on.
pub(crate) fn sending_key(environment: &str) -> String {
    format!("sending/{environment}")
}

/// What the stored switch of an environment means; the sandbox starts on, everything else off.
pub(crate) fn is_on(environment: &str, stored: Option<&str>) -> bool {
    stored.map_or(environment == SANDBOX, |word| word == "on")
}

fn approvers_key(environment: &str) -> String {
    format!("approvers_needed/{environment}")
}

fn repeat_key(destination: &str) -> String {
    format!("repeat_by_itself/{destination}")
}

/// The settings of one home.
#[derive(Clone, Debug)]
pub struct Settings {
    ledger: Ledger,
}

impl Settings {
    pub(crate) fn new(ledger: Ledger) -> Settings {
        Settings { ledger }
    }

    /// Whether actions of the environment go out. The sandbox starts on, everything else off.
    pub async fn sending(&self, environment: &str) -> Result<bool, Failure> {
        let stored = self.ledger.setting(&sending_key(environment)).await?;
        Ok(is_on(environment, stored.as_deref()))
    }

    /// Whether sending was ever switched on there, whatever the switch says now: the journal forgets nothing.
    pub(crate) async fn was_ever_on(&self, environment: &str) -> Result<bool, Failure> {
        let key = sending_key(environment);
        // Never touched, never on; and most homes that move their clock are of that kind.
        if self.ledger.setting(&key).await?.is_none() {
            return Ok(false);
        }
        let mut after = 0;
        loop {
            let rows = self.ledger.journal_after(after, JOURNAL_AT_ONCE).await?;
            let Some(last) = rows.last() else { return Ok(false) };
            after = last.entry.seq;
            let on = rows.iter().filter(|row| row.kind == "setting_changed").any(|row| {
                let told = &row.entry.fact["details"];
                told["key"] == key && told["value"] == "on"
            });
            if on {
                return Ok(true);
            }
        }
    }

    /// The switch. Off is also the kill switch and needs nobody's presence; on needs it outside the sandbox.
    pub async fn set_sending(
        &self,
        environment: &str,
        on: bool,
        by: &PersonId,
        presence: Option<&Presence>,
        now: Timestamp,
    ) -> Result<(), Failure> {
        if on {
            present(environment, presence, "switching sending on")?;
        }
        let word = if on { "on" } else { "off" };
        Ok(self.ledger.set_setting(&sending_key(environment), word, &by.0, now).await?)
    }

    /// Undo window of a destination whose file names none.
    pub async fn undo_seconds(&self) -> Result<u32, Failure> {
        self.number(UNDO, UNDO_SECONDS).await
    }

    pub async fn set_undo_seconds(&self, n: u32, by: &PersonId, p: &Presence, now: Timestamp) -> Result<(), Failure> {
        self.set_number(UNDO, n, 0..=3600, by, p, now).await
    }

    /// How long an approval counts.
    pub async fn expiry(&self) -> Result<Duration, Failure> {
        Ok(Duration::from_secs(u64::from(self.number(EXPIRY, EXPIRY_HOURS).await?) * 3600))
    }

    pub async fn set_expiry_hours(&self, n: u32, by: &PersonId, p: &Presence, now: Timestamp) -> Result<(), Failure> {
        self.set_number(EXPIRY, n, 1..=24 * 90, by, p, now).await
    }

    /// 1, or 2 where two different people must approve.
    pub async fn approvers_needed(&self, environment: &str) -> Result<u8, Failure> {
        Ok(if self.number(&approvers_key(environment), 1).await? >= 2 { 2 } else { 1 })
    }

    /// What waits approved by fewer is taken back and says why; it is returned.
    pub async fn set_approvers_needed(
        &self,
        environment: &str,
        n: u32,
        by: &PersonId,
        _presence: &Presence,
        now: Timestamp,
    ) -> Result<Vec<ActionId>, Failure> {
        let needed = u8::try_from(n)
            .ok()
            .filter(|n| (1..=2).contains(n))
            .ok_or_else(|| Failure::bad_input(approvers_key(environment), "must be from 1 to 2"))?;
        Ok(self.ledger.set_approvers_needed(environment, needed, by, now).await?)
    }

    /// Whether an unknown outcome is repeated under the same key by itself where the contract makes that safe.
    pub async fn repeats_by_itself(&self, destination: &str) -> Result<bool, Failure> {
        Ok(self.ledger.setting(&repeat_key(destination)).await?.is_none_or(|word| word != "off"))
    }

    pub async fn set_repeats_by_itself(
        &self,
        destination: &str,
        on: bool,
        by: &PersonId,
        now: Timestamp,
    ) -> Result<(), Failure> {
        let word = if on { "on" } else { "off" };
        Ok(self.ledger.set_setting(&repeat_key(destination), word, &by.0, now).await?)
    }

    /// Desktop notifications at all; on by default.
    pub async fn notifications(&self) -> Result<bool, Failure> {
        Ok(self.ledger.setting(NOTIFY).await?.is_none_or(|word| word != "off"))
    }

    /// Whether notifications may carry the name of a person; off by default.
    pub async fn notification_names(&self) -> Result<bool, Failure> {
        Ok(self.ledger.setting(NOTIFY_NAMES).await?.is_some_and(|word| word == "on"))
    }

    pub async fn set_notifications(&self, on: bool, names: bool, by: &PersonId, now: Timestamp) -> Result<(), Failure> {
        let word = |yes: bool| if yes { "on" } else { "off" };
        self.ledger.set_setting(NOTIFY, word(on), &by.0, now).await?;
        Ok(self.ledger.set_setting(NOTIFY_NAMES, word(names), &by.0, now).await?)
    }

    /// Whether notifications are quiet at this moment.
    pub async fn quiet(&self, now: Timestamp) -> Result<bool, Failure> {
        if self.quiet_until().await?.is_some_and(|until| now < until) {
            return Ok(true);
        }
        let hours = self.quiet_hours().await?;
        Ok(hours.is_some_and(|hours| {
            let local = local(now);
            hours.has(u16::from(local.hour().unsigned_abs()) * 60 + u16::from(local.minute().unsigned_abs()))
        }))
    }

    pub async fn quiet_until(&self) -> Result<Option<Timestamp>, Failure> {
        let stored = self.ledger.setting(QUIET_UNTIL).await?.filter(|text| !text.is_empty());
        let parse =
            |text: String| text.parse().map_err(|_| Failure::integrity("the setting quiet/until is not a time"));
        stored.map(parse).transpose()
    }

    /// Until eight in the morning of the next day by this computer's clock; or not at all.
    pub async fn set_quiet_until_tomorrow(&self, on: bool, by: &PersonId, now: Timestamp) -> Result<(), Failure> {
        let text = if on {
            let morning = local(now)
                .tomorrow()
                .and_then(|day| day.with().hour(8).minute(0).second(0).subsec_nanosecond(0).build())
                .map_err(|e| Failure::internal(format!("there is no tomorrow: {e}")))?;
            Timestamp::from_millis(morning.timestamp().as_millisecond()).to_string()
        } else {
            String::new()
        };
        Ok(self.ledger.set_setting(QUIET_UNTIL, &text, &by.0, now).await?)
    }

    pub async fn quiet_hours(&self) -> Result<Option<QuietHours>, Failure> {
        let stored = self.ledger.setting(QUIET_HOURS).await?.filter(|text| !text.is_empty());
        let bad = || Failure::integrity("the setting quiet/hours is not two times");
        let parse = |text: String| {
            let (from, to) = text.split_once(' ').ok_or_else(bad)?;
            QuietHours::parse(from, to).map_err(|_| bad())
        };
        stored.map(parse).transpose()
    }

    pub async fn set_quiet_hours(
        &self,
        hours: Option<QuietHours>,
        by: &PersonId,
        now: Timestamp,
    ) -> Result<(), Failure> {
        let text = hours.map_or_else(String::new, |hours| {
            let (from, to) = hours.texts();
            format!("{from} {to}")
        });
        Ok(self.ledger.set_setting(QUIET_HOURS, &text, &by.0, now).await?)
    }

    async fn number(&self, key: &str, default: u32) -> Result<u32, Failure> {
        match self.ledger.setting(key).await? {
            None => Ok(default),
            Some(text) => text.parse().map_err(|_| Failure::integrity(format!("the setting {key} is not a number"))),
        }
    }

    async fn set_number(
        &self,
        key: &str,
        n: u32,
        allowed: std::ops::RangeInclusive<u32>,
        by: &PersonId,
        _presence: &Presence,
        now: Timestamp,
    ) -> Result<(), Failure> {
        if !allowed.contains(&n) {
            let why = format!("must be from {} to {}", allowed.start(), allowed.end());
            return Err(Failure::bad_input(key, why));
        }
        Ok(self.ledger.set_setting(key, &n.to_string(), &by.0, now).await?)
    }
}

/// Refuses without proof that a person is there, outside the sandbox.
pub fn present(environment: &str, presence: Option<&Presence>, what: &str) -> Result<(), Failure> {
    if environment == SANDBOX || presence.is_some() {
        return Ok(());
    }
    Err(Failure::locked(format!(
        "{what} in {environment} needs the passphrase; give it on the terminal or with --passphrase-fd"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r38_quiet_hours_may_go_past_midnight() {
        let night = QuietHours::parse("22:00", "07:30").unwrap();
        let at = |hour: u16, minute: u16| night.has(hour * 60 + minute);
        assert!(at(22, 0) && at(23, 59) && at(0, 0) && at(7, 29));
        assert!(!at(7, 30) && !at(12, 0) && !at(21, 59));
        let noon = QuietHours::parse("12:00", "13:00").unwrap();
        assert!(noon.has(12 * 60) && noon.has(13 * 60 - 1) && !noon.has(13 * 60) && !noon.has(0));
        assert_eq!(night.texts(), ("22:00".to_owned(), "07:30".to_owned()));
    }

    #[test]
    fn r38_what_is_no_time_of_the_day_is_refused_with_its_field() {
        let field = |from: &str, to: &str| QuietHours::parse(from, to).unwrap_err().field.unwrap();
        assert_eq!(field("24:00", "07:00"), "quiet_from");
        assert_eq!(field("22:00", "7"), "quiet_to");
        assert_eq!(field("22:00", "22:00"), "quiet_to");
    }
}
