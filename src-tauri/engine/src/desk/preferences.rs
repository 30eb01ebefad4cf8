//! What a person sets, and what they do with the whole record: quiet, backup, retention.

use super::Desk;
use super::later::{is_held, is_scheduled_soon};
use super::lists::PAGE;
use crate::failure::Failure;
use crate::home::LIVE;
use crate::keychain::Presence;
use crate::notify;
use crate::settings::QuietHours;
use crate::view::{HeldRow, Preferences, PurgedDoc};
use countersign_domain::{ActionId, State};
use countersign_ledger::PageFilter;
use std::path::Path;
use std::time::Duration;

/// The shortest time after which bodies may be taken away.
const RETENTION_DAYS: std::ops::RangeInclusive<u32> = 30..=3650;

impl Desk {
    pub async fn preferences(&self) -> Result<Preferences, Failure> {
        let (settings, config, home) = (&self.core.settings, &self.core.config, &self.core.home);
        let now = self.now();
        let hours = settings.quiet_hours().await?.map(QuietHours::texts);
        let (quiet_from, quiet_to) = hours.map_or((None, None), |(from, to)| (Some(from), Some(to)));
        let stamp: String = now.to_string().chars().filter(char::is_ascii_digit).take(12).collect();
        let beside = home.dir().parent().unwrap_or(home.dir());
        Ok(Preferences {
            undo_seconds: settings.undo_seconds().await?,
            expiry_hours: u32::try_from(settings.expiry().await?.as_secs() / 3600).unwrap_or(u32::MAX),
            notifications: settings.notifications().await?,
            notification_names: settings.notification_names().await?,
            notifications_problem: self.bubbles_problem().await.map(str::to_owned),
            quiet_until: settings.quiet_until().await?.filter(|until| now < *until).map(|until| until.to_string()),
            quiet_from,
            quiet_to,
            secrets: config.secrets.as_ref().map_or_else(|| "memory".to_owned(), ToString::to_string),
            passphrase: config.passphrase,
            home: home.dir().display().to_string(),
            backup_file: beside.join(format!("countersign-{stamp}.backup")).display().to_string(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        })
    }

    /// The hold that a destination starts with. Needs presence.
    pub async fn set_undo_seconds(&self, seconds: u32) -> Result<(), Failure> {
        let presence = self.owner_present().await?;
        self.core.settings.set_undo_seconds(seconds, &self.core.owner, &presence, self.now()).await
    }

    /// How long an approval counts. Needs presence.
    pub async fn set_expiry_hours(&self, hours: u32) -> Result<(), Failure> {
        let presence = self.owner_present().await?;
        self.core.settings.set_expiry_hours(hours, &self.core.owner, &presence, self.now()).await
    }

    pub async fn set_notifications(&self, on: bool, names: bool) -> Result<(), Failure> {
        self.core.settings.set_notifications(on, names, &self.core.owner, self.now()).await
    }

    /// Quiet at these times of each day; None: never.
    pub async fn set_quiet_hours(&self, times: Option<(&str, &str)>) -> Result<(), Failure> {
        let hours = times.map(|(from, to)| QuietHours::parse(from, to)).transpose()?;
        self.core.settings.set_quiet_hours(hours, &self.core.owner, self.now()).await
    }

    pub async fn quiet_until_tomorrow(&self, on: bool) -> Result<(), Failure> {
        self.core.settings.set_quiet_until_tomorrow(on, &self.core.owner, self.now()).await
    }

    /// Shows a notification that says that it is a test.
    ///
    /// # Errors
    /// None where it is not shown: the preferences say so.
    pub async fn test_notification(&self) -> Result<Preferences, Failure> {
        self.core.last_bubble.tested(notify::show_test().await);
        self.preferences().await
    }

    /// What the last one met with; before there was one, whether anything would show it.
    async fn bubbles_problem(&self) -> Option<&'static str> {
        match self.core.last_bubble.problem() {
            Some(problem) => Some(problem),
            None => notify::service().await.err(),
        }
    }

    async fn owner_present(&self) -> Result<Presence, Failure> {
        let given = self.presence_for(LIVE).await?;
        given.ok_or_else(|| Failure::locked("changing this needs the passphrase"))
    }

    /// What Undo can still take back, the last approval first; of every environment.
    pub async fn held(&self) -> Result<Vec<HeldRow>, Failure> {
        let filter = PageFilter { environment: None, states: vec![State::Approved], oldest_first: false };
        let page = self.ledger().page(&filter, None, PAGE).await?;
        let now = self.now();
        let held = page.rows.into_iter().filter(|row| is_held(row, now));
        Ok(held
            .map(|row| HeldRow {
                id: row.id.to_string(),
                effect: row.effect,
                who: row.who,
                until: row.not_before.to_string(),
            })
            .collect())
    }

    /// How many are to go at a time of their own within a day: whoever ends the program should know that it has to run then.
    pub async fn scheduled_soon(&self) -> Result<usize, Failure> {
        let filter = PageFilter { environment: None, states: vec![State::Approved], oldest_first: false };
        let page = self.ledger().page(&filter, None, PAGE).await?;
        let now = self.now();
        Ok(page.rows.iter().filter(|row| is_scheduled_soon(row, now)).count())
    }

    /// Puts back what is still held. What has left meanwhile stays as it is.
    pub async fn put_back_all(&self, held: &[HeldRow]) -> Result<(), Failure> {
        for row in held {
            let id: ActionId =
                row.id.parse().map_err(|_| Failure::bad_input("id", format!("{} is no action", row.id)))?;
            self.ledger().undo(id, &self.core.owner, self.now()).await.map_err(|e| Failure::from(e).on(id))?;
        }
        Ok(())
    }

    /// A checked copy of the ledger; never over a file that is there. Needs presence: it may be written anywhere.
    pub async fn back_up(&self, file: &str) -> Result<(), Failure> {
        let path = Path::new(file.trim());
        if !path.is_absolute() {
            return Err(Failure::bad_input("file", "a whole path is needed, from the root of the disk"));
        }
        self.owner_present().await?;
        self.core.backup(path).await.map(drop)
    }

    /// Takes away the bodies of what ended longer ago. Keys, fingerprints, states and receipts stay. Needs presence.
    pub async fn purge(&self, older_than_days: u32) -> Result<PurgedDoc, Failure> {
        if !RETENTION_DAYS.contains(&older_than_days) {
            let why = format!("must be from {} to {} days", RETENTION_DAYS.start(), RETENTION_DAYS.end());
            return Err(Failure::bad_input("days", why));
        }
        self.owner_present().await?;
        let now = self.now();
        let age = Duration::from_secs(u64::from(older_than_days) * 24 * 3600);
        let purged = self.ledger().purge(now.minus(age), &self.core.owner, now).await?;
        Ok(PurgedDoc { actions: purged.actions, attachments: purged.attachments })
    }
}
