//! What the journal tells of people, devices, destinations, sources and settings: the proof of rows that belong to no
//! action. Each change is a journal row with a digest of the row as it then stood; the last one told is what must stand.
//!
//! A claim cannot walk the whole chain, so an open ledger keeps what was told so far and reads on from there.

use crate::directory;
use crate::journal::Stored;
use crate::rows::{Get, hex};
use crate::script::{Answer, Said, say};
use crate::tx::{Conn, failed, statements};
use crate::types::{Broken, DestinationRecord, Head, SourceRecord};
use crate::{Ledger, LedgerError, backup, proof};
use countersign_domain::canonical::tagged_hash;
use countersign_domain::{Approval, Timestamp};
use serde_json::{Value, json};
use sqlx::any::AnyRow;
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

statements! {
    // The head says how far was looked, also where nothing was told: the next time begins there.
    TOLD_SINCE = "SELECT h.seq AS upto, h.hash AS upto_hash, j.seq, j.at, j.action, j.kind, j.fact, j.by_whom, j.previous, j.hash, \
        p.hash AS hash_before, f.previous AS previous_after FROM ledger_head h \
        LEFT JOIN journal j ON j.seq > $1 AND j.kind IN ('setting_changed', 'device_admitted', 'device_withdrawn', \
            'destination_added', 'destination_changed', 'destination_removed', 'destination_paused', \
            'destination_resumed', 'source_added', 'source_revoked') \
        LEFT JOIN journal p ON p.seq = j.seq - 1 LEFT JOIN journal f ON f.seq = j.seq + 1 \
        WHERE h.one = 1 ORDER BY j.seq";
    // A plain order by seq would walk the journal from its end.
    LAST_NUMBER = "SELECT fact FROM journal WHERE kind IN ('setting_changed', 'device_admitted', 'device_withdrawn', \
        'destination_added', 'destination_changed', 'destination_removed', 'destination_paused', 'destination_resumed', \
        'source_added', 'source_revoked') ORDER BY seq + 0 DESC LIMIT 1";
    PEOPLE = "SELECT name, created_at FROM people ORDER BY name";
    DEVICES = "SELECT device, person, public, signature, admitted_at, withdrawn_at FROM devices ORDER BY device";
    SETTINGS = "SELECT key, value, changed_at, changed_by FROM settings ORDER BY key";
}

/// Kinds of journal rows that change a configuration; the statements above and the index that serves them name the same.
const KINDS: [&str; 10] = [
    "setting_changed",
    "device_admitted",
    "device_withdrawn",
    "destination_added",
    "destination_changed",
    "destination_removed",
    "destination_paused",
    "destination_resumed",
    "source_added",
    "source_revoked",
];

#[derive(Clone, Debug, PartialEq)]
struct Setting {
    value: String,
    at: i64,
    by: String,
}

#[derive(Clone, Debug)]
struct Device {
    digest: String,
    withdrawn: bool,
}

/// The configuration as the journal tells it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Configured {
    upto: i64,
    /// Of the last such row; they are numbered from 1, so that a missing one shows.
    number: i64,
    settings: BTreeMap<String, Setting>,
    people: BTreeMap<String, i64>,
    devices: BTreeMap<String, Device>,
    destinations: BTreeMap<String, String>,
    sources: BTreeMap<String, String>,
}

impl Configured {
    /// Takes in one journal row; those of other kinds say nothing here.
    pub(crate) fn hear(&mut self, stored: &Stored) -> Result<(), LedgerError> {
        let kind = stored.row.kind.as_str();
        if stored.row.entry.action.is_some() || !KINDS.contains(&kind) {
            return Ok(());
        }
        let entry = &stored.row.entry;
        let details = &entry.fact["details"];
        self.number += 1;
        if details["number"].as_i64() != Some(self.number) {
            return Err(LedgerError::corrupt(
                "journal",
                entry.seq,
                "a change of the configuration before it is missing",
            ));
        }
        let text = |key: &str| details[key].as_str().unwrap_or("").to_owned();
        match kind {
            "setting_changed" => {
                let told = Setting { value: text("value"), at: entry.at, by: entry.by.clone() };
                self.settings.insert(text("key"), told);
            }
            "device_admitted" => {
                self.people.entry(text("person")).or_insert(entry.at);
                self.devices.insert(text("device"), Device { digest: text("digest"), withdrawn: false });
            }
            "device_withdrawn" => {
                self.devices.insert(text("device"), Device { digest: text("digest"), withdrawn: true });
            }
            "source_added" | "source_revoked" => {
                self.sources.insert(text("name"), text("digest"));
            }
            _ => {
                self.destinations.insert(text("name"), text("digest"));
            }
        }
        Ok(())
    }

    /// Reads on in the journal: each row's hash and its links to both neighbours, as with an action's own rows.
    fn read_on(&mut self, rows: &[AnyRow]) -> Result<(), LedgerError> {
        let mut upto = self.upto;
        for row in rows {
            let head = Head { seq: row.int("upto")?, hash: row.parsed("upto_hash")? };
            upto = upto.max(head.seq);
            if row.int_or_null("seq")?.is_some() {
                let stored = Stored::read(row)?;
                proof::linked(head, row, &stored)?;
                self.hear(&stored)?;
            }
        }
        self.upto = upto;
        Ok(())
    }

    /// What an action of `environment` is held back by, as stored, against what the journal told of it.
    pub(crate) fn settings_hold(
        &self,
        environment: &str,
        stored: &BTreeMap<String, String>,
    ) -> Result<(), LedgerError> {
        let sending = format!("{}{environment}", directory::SENDING);
        let approvers = format!("{}{environment}", directory::APPROVERS_NEEDED);
        for key in [directory::FROZEN, sending.as_str(), approvers.as_str()] {
            if self.settings.get(key).map(|told| &told.value) != stored.get(key) {
                return Err(LedgerError::corrupt("setting", key, "its value is not the one in the journal"));
            }
        }
        Ok(())
    }

    pub(crate) fn destination_holds(&self, d: &DestinationRecord) -> Result<(), LedgerError> {
        match self.destinations.get(&d.name) {
            Some(told) if *told == destination_digest(d) => Ok(()),
            _ => Err(LedgerError::corrupt("destination", &d.name, "it is not the one in the journal")),
        }
    }

    /// Nobody approves with a device that was withdrawn, whatever the devices' rows say.
    pub(crate) fn device_counts(&self, approval: &Approval) -> Result<(), LedgerError> {
        match self.devices.get(&approval.device.0) {
            Some(told) if !told.withdrawn => Ok(()),
            Some(_) => Err(LedgerError::corrupt("device", &approval.device, "the journal says that it was withdrawn")),
            None => Err(LedgerError::corrupt("device", &approval.device, "the journal knows nothing of it")),
        }
    }

    /// Every row of these tables against what was told last.
    pub(crate) async fn compare(&self, conn: &mut Conn, broken: &mut Vec<Broken>) -> Result<(), LedgerError> {
        let mut people = self.people.clone();
        for row in rows(conn, PEOPLE).await? {
            let name = row.text("name")?;
            if people.remove(&name) != Some(row.int("created_at")?) {
                say(broken, "person", &name, "the row is not what the journal tells");
            }
        }
        missing(broken, "person", people.keys());

        let mut devices: BTreeMap<_, _> = self.devices.iter().map(|(k, d)| (k.clone(), d.digest.clone())).collect();
        for row in rows(conn, DEVICES).await? {
            let name = row.text("device")?;
            if devices.remove(&name).as_deref() != Some(device_digest(&row)?.as_str()) {
                say(broken, "device", &name, "the row is not what the journal tells");
            }
        }
        missing(broken, "device", devices.keys());

        let mut settings = self.settings.clone();
        for row in rows(conn, SETTINGS).await? {
            let key = row.text("key")?;
            let told = settings.remove(&key);
            // The mark of a backup is written beside the journal: the copy's head is the original's.
            if key == backup::BACKUP {
                continue;
            }
            let stands = Setting { value: row.text("value")?, at: row.int("changed_at")?, by: row.text("changed_by")? };
            match told {
                None => say(broken, "setting", &key, "no journal row tells of it"),
                Some(told) if told != stands => say(broken, "setting", &key, "it is not the one in the journal"),
                Some(_) => {}
            }
        }
        missing(broken, "setting", settings.keys());

        let mut destinations = self.destinations.clone();
        for row in rows(conn, directory::ALL_DESTINATIONS).await? {
            let name = row.text("name")?;
            let stands = keep("destination", &name, directory::read_destination(&row), broken)?;
            let told = destinations.remove(&name);
            if stands.is_some_and(|d| told != Some(destination_digest(&d))) {
                say(broken, "destination", &name, "it is not the one in the journal");
            }
        }
        missing(broken, "destination", destinations.keys());

        let mut sources = self.sources.clone();
        for row in rows(conn, directory::SOURCES).await? {
            let name = row.text("name")?;
            let stands = keep("source", &name, directory::read_source(&row), broken)?;
            let told = sources.remove(&name);
            if stands.is_some_and(|s| told != Some(source_digest(&s))) {
                say(broken, "source", &name, "it is not the one in the journal");
            }
        }
        missing(broken, "source", sources.keys());
        Ok(())
    }
}

/// What an open ledger keeps of it, and what was told since.
pub(crate) struct ToldSince {
    known: Arc<Configured>,
}

impl ToldSince {
    pub(crate) fn said(&self) -> Said {
        say!("reading what was configured", TOLD_SINCE, self.known.upto)
    }

    /// What the journal tells up to its head. To be asked before a transaction writes: what is kept must be on disk.
    pub(crate) fn answered(&self, ledger: &Ledger, answer: &Answer) -> Result<Arc<Configured>, LedgerError> {
        let mut next = Configured::clone(&self.known);
        next.read_on(&answer.rows)?;
        let next = Arc::new(next);
        let mut kept = ledger.inner.configured.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.upto < next.upto {
            *kept = next.clone();
        }
        Ok(next)
    }
}

impl Ledger {
    pub(crate) fn told_since(&self) -> ToldSince {
        ToldSince { known: self.inner.configured.lock().unwrap_or_else(PoisonError::into_inner).clone() }
    }

    /// The first reading of a long journal takes a moment; not while the write lock is held.
    pub(crate) async fn configured_once(&self, conn: &mut Conn) -> Result<(), LedgerError> {
        let since = self.told_since();
        if since.known.upto > 0 {
            return Ok(());
        }
        let doing = "reading what was configured";
        let rows = sqlx::query(TOLD_SINCE).bind(0_i64).fetch_all(conn).await.map_err(|e| failed(doing, e))?;
        since.answered(self, &Answer { rows, hit: 0 }).map(drop)
    }
}

/// Number of the next change of the configuration.
pub(crate) async fn next_number(conn: &mut Conn) -> Result<i64, LedgerError> {
    let row = sqlx::query(LAST_NUMBER)
        .fetch_optional(conn)
        .await
        .map_err(|e| failed("numbering a change of the configuration", e))?;
    let Some(row) = row else { return Ok(1) };
    let fact: Value = serde_json::from_str(&row.text("fact")?).unwrap_or_default();
    Ok(fact["details"]["number"].as_i64().unwrap_or(0) + 1)
}

async fn rows(conn: &mut Conn, statement: &'static str) -> Result<Vec<AnyRow>, LedgerError> {
    sqlx::query(statement).fetch_all(conn).await.map_err(|e| failed("verifying the configuration", e))
}

fn say(broken: &mut Vec<Broken>, what: &str, id: &str, why: &str) {
    broken.push(Broken { what: what.to_owned(), id: id.to_owned(), why: why.to_owned() });
}

fn missing<'a>(broken: &mut Vec<Broken>, what: &str, ids: impl Iterator<Item = &'a String>) {
    for id in ids {
        say(broken, what, id, "its row is missing");
    }
}

/// A row that cannot be read is named like one that differs.
fn keep<T>(
    what: &str,
    id: &str,
    read: Result<T, LedgerError>,
    broken: &mut Vec<Broken>,
) -> Result<Option<T>, LedgerError> {
    match read {
        Ok(value) => Ok(Some(value)),
        Err(LedgerError::Corrupt { why, .. }) => {
            say(broken, what, id, &why);
            Ok(None)
        }
        Err(other) => Err(other),
    }
}

pub(crate) fn device_digest(row: &AnyRow) -> Result<String, LedgerError> {
    let value = json!([
        row.text("device")?,
        row.text("person")?,
        row.text("public")?,
        row.text("signature")?,
        row.int("admitted_at")?,
        row.int_or_null("withdrawn_at")?,
    ]);
    Ok(hex(&tagged_hash("countersign/device-row/v1", &value)))
}

pub(crate) fn destination_digest(d: &DestinationRecord) -> String {
    let millis = |t: Option<Timestamp>| t.map(Timestamp::millis);
    let paused = d.paused.as_ref().map(|p| json!([p.why, p.since.millis(), millis(p.until)]));
    let value = json!([
        d.name,
        d.kind,
        d.environment,
        d.account,
        d.account_label,
        d.config,
        d.undo_seconds,
        d.created_at.millis(),
        millis(d.removed_at),
        paused,
    ]);
    hex(&tagged_hash("countersign/destination-row/v1", &value))
}

pub(crate) fn source_digest(s: &SourceRecord) -> String {
    let value = json!([
        s.name,
        s.environment,
        s.effects,
        s.destinations,
        s.token_hash,
        s.signed,
        s.created_at.millis(),
        s.revoked_at.map(Timestamp::millis),
    ]);
    hex(&tagged_hash("countersign/source-row/v1", &value))
}
