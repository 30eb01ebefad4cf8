//! People and devices, destinations, sources, settings. Configuration without secrets; every change is in the journal.

use crate::rows::{Action, Get, hex, read_json, to_json};
use crate::tx::{Conn, Durable, Write, failed, statements};
use crate::types::{DestinationRecord, PAUSED_BY_HAND, Paused, SourceRecord};
use crate::{Conflict, Ledger, LedgerError, apply, configured, journal};
use countersign_domain::canonical::sha256;
use countersign_domain::{ActionId, DeviceCert, DeviceId, Fact, PersonId, Timestamp};
use serde_json::{Value, json};
use sqlx::Any;
use sqlx::any::{AnyArguments, AnyRow};
use sqlx::query::Query;

/// Settings the ledger itself reads.
pub(crate) const LEDGER_ID: &str = "ledger_id";
pub(crate) const FROZEN: &str = "frozen";
pub(crate) const SENDING: &str = "sending/";
pub(crate) const APPROVERS_NEEDED: &str = "approvers_needed/";

macro_rules! destination_columns {
    () => {
        "name, kind, environment, account, account_label, config, undo_seconds, created_at, removed_at, paused_why, \
         paused_since, paused_until"
    };
}
pub(crate) use destination_columns;
macro_rules! source_columns {
    () => {
        "name, environment, effects, destinations, token_hash, signed, created_at, revoked_at"
    };
}

statements! {
    PUT_PERSON = "INSERT INTO people (name, created_at) VALUES ($1, $2) ON CONFLICT DO NOTHING";
    PUT_DEVICE = "INSERT INTO devices (device, person, public, signature, admitted_at) VALUES ($1, $2, $3, $4, $5) \
        ON CONFLICT (device) DO UPDATE SET person = excluded.person, public = excluded.public, \
        signature = excluded.signature, withdrawn_at = NULL";
    DEVICES = "SELECT device, person, public, signature FROM devices WHERE withdrawn_at IS NULL ORDER BY device";
    DEVICE = "SELECT device, person, public, signature, admitted_at, withdrawn_at FROM devices WHERE device = $1";
    WITHDRAW_DEVICE = "UPDATE devices SET withdrawn_at = $2 WHERE device = $1 AND withdrawn_at IS NULL";
    PUT_DESTINATION = "INSERT INTO destinations (name, kind, environment, account, account_label, config, undo_seconds, \
        created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    UPDATE_DESTINATION = "UPDATE destinations SET kind = $2, account = $3, account_label = $4, config = $5, \
        undo_seconds = $6 WHERE name = $1";
    DESTINATION = concat!("SELECT ", destination_columns!(), " FROM destinations WHERE name = $1");
    DESTINATIONS = concat!("SELECT ", destination_columns!(), " FROM destinations WHERE removed_at IS NULL \
        ORDER BY environment, name");
    ALL_DESTINATIONS = concat!("SELECT ", destination_columns!(), " FROM destinations ORDER BY name");
    BY_ACCOUNT = "SELECT name FROM destinations WHERE environment = $1 AND account = $2 AND removed_at IS NULL \
        AND name <> $3";
    REMOVE_DESTINATION = "UPDATE destinations SET removed_at = $2, paused_why = NULL, paused_since = NULL, \
        paused_until = NULL WHERE name = $1 AND removed_at IS NULL";
    // A rest that ends by itself takes the place of none that a person ends, and a person's pause ($5) gives way to a
    // person's only.
    PAUSE = "UPDATE destinations SET paused_why = $2, paused_since = $3, paused_until = $4 WHERE name = $1 \
        AND (paused_why IS NULL OR $2 = $5 \
        OR (paused_why <> $5 AND (CAST($4 AS bigint) IS NULL OR paused_until IS NOT NULL)))";
    RESUME = "UPDATE destinations SET paused_why = NULL, paused_since = NULL, paused_until = NULL WHERE name = $1 \
        AND paused_why IS NOT NULL";
    GO_ON = "UPDATE destinations SET paused_why = NULL, paused_since = NULL, paused_until = NULL WHERE name = $1 \
        AND paused_why <> $2";
    APPROVED_AT = "SELECT n FROM actions WHERE state = 'approved' AND destination = $1 ORDER BY n";
    PUT_SOURCE = "INSERT INTO sources (name, environment, effects, destinations, token_hash, signed, created_at) \
        VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING";
    SOURCE = concat!("SELECT ", source_columns!(), " FROM sources WHERE name = $1");
    SOURCES = concat!("SELECT ", source_columns!(), " FROM sources ORDER BY name");
    SOURCE_BY_TOKEN = concat!("SELECT ", source_columns!(), " FROM sources WHERE token_hash = $1 AND revoked_at IS NULL");
    REVOKE_SOURCE = "UPDATE sources SET revoked_at = $2 WHERE name = $1 AND revoked_at IS NULL";
    SETTING = "SELECT value FROM settings WHERE key = $1";
    PUT_SETTING = "INSERT INTO settings (key, value, changed_at, changed_by) VALUES ($1, $2, $3, $4) \
        ON CONFLICT (key) DO UPDATE SET value = excluded.value, changed_at = excluded.changed_at, \
        changed_by = excluded.changed_by";
}

pub(crate) fn read_destination(row: &AnyRow) -> Result<DestinationRecord, LedgerError> {
    Ok(DestinationRecord {
        name: row.text("name")?,
        kind: row.text("kind")?,
        environment: row.text("environment")?,
        account: row.parsed("account")?,
        account_label: row.text("account_label")?,
        config: read_json(row, "config")?.unwrap_or(Value::Null),
        undo_seconds: row.num("undo_seconds")?,
        created_at: row.time("created_at")?,
        removed_at: row.time_or_null("removed_at")?,
        paused: match (row.text_or_null("paused_why")?, row.time_or_null("paused_since")?) {
            (Some(why), Some(since)) => Some(Paused { why, since, until: row.time_or_null("paused_until")? }),
            _ => None,
        },
    })
}

pub(crate) fn read_source(row: &AnyRow) -> Result<SourceRecord, LedgerError> {
    Ok(SourceRecord {
        name: row.text("name")?,
        environment: row.text("environment")?,
        effects: read_json(row, "effects")?.unwrap_or_default(),
        destinations: read_json(row, "destinations")?.unwrap_or_default(),
        token_hash: row.text("token_hash")?,
        signed: row.flag("signed")?,
        created_at: row.time("created_at")?,
        revoked_at: row.time_or_null("revoked_at")?,
    })
}

/// Also a removed one.
pub(crate) async fn destination(conn: &mut Conn, name: &str) -> Result<Option<DestinationRecord>, LedgerError> {
    sqlx::query(DESTINATION)
        .bind(name.to_owned())
        .fetch_optional(conn)
        .await
        .map_err(|e| failed("reading a destination", e))?
        .map(|row| read_destination(&row))
        .transpose()
}

async fn one_source(conn: &mut Conn, statement: &'static str, by: &str) -> Result<Option<SourceRecord>, LedgerError> {
    sqlx::query(statement)
        .bind(by.to_owned())
        .fetch_optional(conn)
        .await
        .map_err(|e| failed("reading a source", e))?
        .map(|row| read_source(&row))
        .transpose()
}

/// Also a revoked one.
pub(crate) async fn source(conn: &mut Conn, name: &str) -> Result<Option<SourceRecord>, LedgerError> {
    one_source(conn, SOURCE, name).await
}

pub(crate) async fn setting(conn: &mut Conn, key: &str) -> Result<Option<String>, LedgerError> {
    sqlx::query(SETTING)
        .bind(key.to_owned())
        .fetch_optional(conn)
        .await
        .map_err(|e| failed("reading a setting", e))?
        .map(|row| row.text("value"))
        .transpose()
}

pub(crate) async fn put_setting(
    w: &mut Write,
    key: &str,
    value: &str,
    by: &str,
    now: Timestamp,
) -> Result<(), LedgerError> {
    sqlx::query(PUT_SETTING)
        .bind(key.to_owned())
        .bind(value.to_owned())
        .bind(now.millis())
        .bind(by.to_owned())
        .execute(w.conn().await?)
        .await
        .map_err(|e| failed("storing a setting", e))?;
    note(w, "setting_changed", json!({ "key": key, "value": value }), by, now).await
}

/// Writes a change of the configuration down, with its number among them.
async fn note(w: &mut Write, kind: &str, mut details: Value, by: &str, now: Timestamp) -> Result<(), LedgerError> {
    details["number"] = json!(configured::next_number(w.conn().await?).await?);
    journal::append(w, now, None, json!({ "fact": kind, "details": details }), by).await?;
    Ok(())
}

impl Ledger {
    /// A person with a device that the owner key vouches for. The certificate is verified by whoever builds a roster.
    pub async fn put_person(&self, person: &PersonId, cert: &DeviceCert, now: Timestamp) -> Result<(), LedgerError> {
        let doing = "storing a person";
        let mut w = self.pools().write(doing, Durable::Full).await?;
        sqlx::query(PUT_PERSON)
            .bind(person.0.clone())
            .bind(now.millis())
            .execute(w.conn().await?)
            .await
            .map_err(|e| failed(doing, e))?;
        sqlx::query(PUT_DEVICE)
            .bind(cert.device.0.clone())
            .bind(person.0.clone())
            .bind(cert.public.clone())
            .bind(cert.signature.clone())
            .bind(now.millis())
            .execute(w.conn().await?)
            .await
            .map_err(|e| failed(doing, e))?;
        let digest = device_digest(&mut w, &cert.device).await?;
        let details = json!({ "person": person, "device": cert.device, "public": cert.public, "digest": digest });
        note(&mut w, "device_admitted", details, &person.0, now).await?;
        w.commit(doing).await
    }

    /// Certificates of devices that were not withdrawn. `Roster::new` keeps those that verify.
    pub async fn device_certs(&self) -> Result<Vec<DeviceCert>, LedgerError> {
        let mut tx = self.pools().bare("reading devices").await?;
        let rows = sqlx::query(DEVICES).fetch_all(&mut *tx).await.map_err(|e| failed("reading devices", e))?;
        rows.iter().map(read_cert).collect()
    }

    pub async fn withdraw_device(&self, device: &DeviceId, by: &PersonId, now: Timestamp) -> Result<(), LedgerError> {
        let doing = "withdrawing a device";
        let mut w = self.pools().write(doing, Durable::Full).await?;
        let hit = sqlx::query(WITHDRAW_DEVICE)
            .bind(device.0.clone())
            .bind(now.millis())
            .execute(w.conn().await?)
            .await
            .map_err(|e| failed(doing, e))?;
        if hit.rows_affected() == 0 {
            return Err(LedgerError::not_found("device", device));
        }
        let digest = device_digest(&mut w, device).await?;
        note(&mut w, "device_withdrawn", json!({ "device": device, "digest": digest }), &by.0, now).await?;
        w.commit(doing).await
    }

    /// # Errors
    /// `NameTaken` for a name in use or used before; `AccountTaken` for an account that is set up already.
    pub async fn add_destination(
        &self,
        d: &DestinationRecord,
        by: &PersonId,
        now: Timestamp,
    ) -> Result<(), LedgerError> {
        let doing = "storing a destination";
        let mut w = self.pools().write(doing, Durable::Full).await?;
        if destination(w.conn().await?, &d.name).await?.is_some() {
            return Err(Conflict::NameTaken { name: d.name.clone() }.into());
        }
        account_is_free(&mut w, d).await?;
        sqlx::query(PUT_DESTINATION)
            .bind(d.name.clone())
            .bind(d.kind.clone())
            .bind(d.environment.clone())
            .bind(d.account.to_string())
            .bind(d.account_label.clone())
            .bind(to_json(&d.config))
            .bind(i64::from(d.undo_seconds))
            .bind(now.millis())
            .execute(w.conn().await?)
            .await
            .map_err(|e| failed(doing, e))?;
        note_destination(&mut w, "destination_added", &d.name, told(d), &by.0, now).await?;
        w.commit(doing).await
    }

    /// Removed ones are left out.
    pub async fn destinations(&self, environment: Option<&str>) -> Result<Vec<DestinationRecord>, LedgerError> {
        let mut tx = self.pools().bare("reading destinations").await?;
        let rows =
            sqlx::query(DESTINATIONS).fetch_all(&mut *tx).await.map_err(|e| failed("reading destinations", e))?;
        let all: Result<Vec<_>, _> = rows.iter().map(read_destination).collect();
        Ok(all?.into_iter().filter(|d| environment.is_none_or(|e| d.environment == e)).collect())
    }

    /// Also a removed one.
    pub async fn destination(&self, name: &str) -> Result<Option<DestinationRecord>, LedgerError> {
        let mut tx = self.pools().bare("reading a destination").await?;
        destination(&mut tx, name).await
    }

    /// Takes a destination out of use. Its row stays, so that its name is never used again; what was approved for it goes
    /// to needs review.
    pub async fn remove_destination(&self, name: &str, by: &PersonId, now: Timestamp) -> Result<(), LedgerError> {
        let doing = "removing a destination";
        let mut w = self.pools().write(doing, Durable::Full).await?;
        let hit = sqlx::query(REMOVE_DESTINATION)
            .bind(name.to_owned())
            .bind(now.millis())
            .execute(w.conn().await?)
            .await
            .map_err(|e| failed(doing, e))?;
        if hit.rows_affected() == 0 {
            return Err(LedgerError::not_found("destination", name));
        }
        note_destination(&mut w, "destination_removed", name, json!({}), &by.0, now).await?;
        send_back(&mut w, name, "the destination was removed", &by.0, now).await?;
        w.commit(doing).await
    }

    /// Changes a destination under its name. A new account sends its approved actions back to needs review; they are
    /// returned.
    pub async fn update_destination(
        &self,
        d: &DestinationRecord,
        by: &PersonId,
        now: Timestamp,
    ) -> Result<Vec<ActionId>, LedgerError> {
        let doing = "changing a destination";
        let mut w = self.pools().write(doing, Durable::Full).await?;
        let before = destination(w.conn().await?, &d.name)
            .await?
            .filter(|b| b.removed_at.is_none() && b.environment == d.environment)
            .ok_or_else(|| LedgerError::not_found("destination", &d.name))?;
        account_is_free(&mut w, d).await?;
        sqlx::query(UPDATE_DESTINATION)
            .bind(d.name.clone())
            .bind(d.kind.clone())
            .bind(d.account.to_string())
            .bind(d.account_label.clone())
            .bind(to_json(&d.config))
            .bind(i64::from(d.undo_seconds))
            .execute(w.conn().await?)
            .await
            .map_err(|e| failed(doing, e))?;
        note_destination(&mut w, "destination_changed", &d.name, told(d), &by.0, now).await?;
        let back = match before.account == d.account {
            true => Vec::new(),
            false => send_back(&mut w, &d.name, "the destination's account changed", &by.0, now).await?,
        };
        w.commit(doing).await?;
        Ok(back)
    }

    /// Nothing goes out there until `until`, or until it is resumed. Not a state of its actions.
    pub async fn pause_destination(
        &self,
        name: &str,
        why: &str,
        until: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<(), LedgerError> {
        let doing = "pausing a destination";
        let mut w = self.pools().write(doing, Durable::Rides).await?;
        let hit = sqlx::query(PAUSE)
            .bind(name.to_owned())
            .bind(why.to_owned())
            .bind(now.millis())
            .bind(until.map(Timestamp::millis))
            .bind(PAUSED_BY_HAND)
            .execute(w.conn().await?)
            .await
            .map_err(|e| failed(doing, e))?;
        if hit.rows_affected() == 0 {
            return match destination(w.conn().await?, name).await? {
                Some(_) => Ok(()),
                None => Err(LedgerError::not_found("destination", name)),
            };
        }
        let details = json!({ "why": why, "until": until });
        note_destination(&mut w, "destination_paused", name, details, "worker", now).await?;
        w.commit(doing).await
    }

    /// A person lets it go on, whatever it waits for.
    pub async fn resume_destination(&self, name: &str, now: Timestamp) -> Result<(), LedgerError> {
        self.resume(name, sqlx::query(RESUME).bind(name.to_owned()), now).await
    }

    /// What it waited for is there, a network or a sign-in. What a person paused stays paused, whoever saw it last.
    pub async fn let_go_on(&self, name: &str, now: Timestamp) -> Result<(), LedgerError> {
        self.resume(name, sqlx::query(GO_ON).bind(name.to_owned()).bind(PAUSED_BY_HAND), now).await
    }

    async fn resume(
        &self,
        name: &str,
        update: Query<'_, Any, AnyArguments>,
        now: Timestamp,
    ) -> Result<(), LedgerError> {
        let doing = "resuming a destination";
        let mut w = self.pools().write(doing, Durable::Rides).await?;
        let hit = update.execute(w.conn().await?).await.map_err(|e| failed(doing, e))?;
        if hit.rows_affected() == 0 {
            return Ok(());
        }
        note_destination(&mut w, "destination_resumed", name, json!({}), "worker", now).await?;
        w.commit(doing).await
    }

    /// # Errors
    /// `NameTaken` for a name in use or used before.
    pub async fn add_source(&self, s: &SourceRecord, by: &PersonId, now: Timestamp) -> Result<(), LedgerError> {
        let doing = "storing a source";
        let mut w = self.pools().write(doing, Durable::Full).await?;
        let hit = sqlx::query(PUT_SOURCE)
            .bind(s.name.clone())
            .bind(s.environment.clone())
            .bind(to_json(&s.effects))
            .bind(to_json(&s.destinations))
            .bind(s.token_hash.clone())
            .bind(i64::from(s.signed))
            .bind(now.millis())
            .execute(w.conn().await?)
            .await
            .map_err(|e| failed(doing, e))?;
        if hit.rows_affected() == 0 {
            return Err(Conflict::NameTaken { name: s.name.clone() }.into());
        }
        let details = json!({
            "name": s.name, "environment": s.environment, "effects": s.effects, "destinations": s.destinations,
            "digest": source_digest(&mut w, &s.name).await?,
        });
        note(&mut w, "source_added", details, &by.0, now).await?;
        w.commit(doing).await
    }

    /// Revoked ones too.
    pub async fn sources(&self) -> Result<Vec<SourceRecord>, LedgerError> {
        let mut tx = self.pools().bare("reading sources").await?;
        let rows = sqlx::query(SOURCES).fetch_all(&mut *tx).await.map_err(|e| failed("reading sources", e))?;
        rows.iter().map(read_source).collect()
    }

    /// Also a revoked one.
    pub async fn source(&self, name: &str) -> Result<Option<SourceRecord>, LedgerError> {
        self.one_source(SOURCE, name).await
    }

    /// Revoked ones are not found.
    pub async fn source_by_token_hash(&self, hash: &str) -> Result<Option<SourceRecord>, LedgerError> {
        self.one_source(SOURCE_BY_TOKEN, hash).await
    }

    async fn one_source(&self, statement: &'static str, by: &str) -> Result<Option<SourceRecord>, LedgerError> {
        let mut tx = self.pools().bare("reading a source").await?;
        one_source(&mut tx, statement, by).await
    }

    pub async fn revoke_source(&self, name: &str, by: &PersonId, now: Timestamp) -> Result<(), LedgerError> {
        let doing = "revoking a source";
        let mut w = self.pools().write(doing, Durable::Full).await?;
        let hit = sqlx::query(REVOKE_SOURCE)
            .bind(name.to_owned())
            .bind(now.millis())
            .execute(w.conn().await?)
            .await
            .map_err(|e| failed(doing, e))?;
        if hit.rows_affected() == 0 {
            return Err(LedgerError::not_found("source", name));
        }
        let digest = source_digest(&mut w, name).await?;
        note(&mut w, "source_revoked", json!({ "name": name, "digest": digest }), &by.0, now).await?;
        w.commit(doing).await
    }

    pub async fn setting(&self, key: &str) -> Result<Option<String>, LedgerError> {
        let mut tx = self.pools().bare("reading a setting").await?;
        setting(&mut tx, key).await
    }

    /// `sending/ENVIRONMENT` (`on`, `off`) and `frozen` (empty or `off`: no) are read by `claim` and `record_crossing`.
    pub async fn set_setting(&self, key: &str, value: &str, by: &str, now: Timestamp) -> Result<(), LedgerError> {
        let doing = "storing a setting";
        let mut w = self.pools().write(doing, Durable::Full).await?;
        put_setting(&mut w, key, value, by, now).await?;
        w.commit(doing).await
    }
}

pub(crate) fn read_cert(row: &AnyRow) -> Result<DeviceCert, LedgerError> {
    Ok(DeviceCert {
        person: PersonId(row.text("person")?),
        device: DeviceId(row.text("device")?),
        public: row.text("public")?,
        signature: row.text("signature")?,
    })
}

/// The row as it stands after a change, as the journal commits to it.
async fn device_digest(w: &mut Write, device: &DeviceId) -> Result<String, LedgerError> {
    let row = sqlx::query(DEVICE)
        .bind(device.0.clone())
        .fetch_one(w.conn().await?)
        .await
        .map_err(|e| failed("reading a device", e))?;
    configured::device_digest(&row)
}

async fn source_digest(w: &mut Write, name: &str) -> Result<String, LedgerError> {
    let stands = source(w.conn().await?, name).await?.ok_or_else(|| LedgerError::not_found("source", name))?;
    Ok(configured::source_digest(&stands))
}

async fn note_destination(
    w: &mut Write,
    kind: &str,
    name: &str,
    mut details: Value,
    by: &str,
    now: Timestamp,
) -> Result<(), LedgerError> {
    let stands =
        destination(w.conn().await?, name).await?.ok_or_else(|| LedgerError::not_found("destination", name))?;
    details["name"] = json!(name);
    details["digest"] = json!(configured::destination_digest(&stands));
    note(w, kind, details, by, now).await
}

/// What the journal keeps of a destination: its configuration only as a digest, since hosts and logins are in it.
fn told(d: &DestinationRecord) -> Value {
    json!({
        "name": d.name, "kind": d.kind, "environment": d.environment, "account": d.account,
        "config": hex(&sha256(to_json(&d.config).as_bytes())), "undo_seconds": d.undo_seconds,
    })
}

async fn account_is_free(w: &mut Write, d: &DestinationRecord) -> Result<(), LedgerError> {
    let row = sqlx::query(BY_ACCOUNT)
        .bind(d.environment.clone())
        .bind(d.account.to_string())
        .bind(d.name.clone())
        .fetch_optional(w.conn().await?)
        .await
        .map_err(|e| failed("looking for an account", e))?;
    match row {
        Some(row) => Err(Conflict::AccountTaken { by: row.text("name")? }.into()),
        None => Ok(()),
    }
}

async fn send_back(
    w: &mut Write,
    destination: &str,
    why: &str,
    by: &str,
    now: Timestamp,
) -> Result<Vec<ActionId>, LedgerError> {
    let rows = sqlx::query(APPROVED_AT)
        .bind(destination.to_owned())
        .fetch_all(w.conn().await?)
        .await
        .map_err(|e| failed("looking for approved actions", e))?;
    let mut back = Vec::new();
    for row in rows {
        let current = match Action::get(w.conn().await?, ActionId(row.int("n")?)).await {
            Ok(current) => current,
            // A damaged row keeps nobody from removing a destination; no claim takes it, and `verify` names it.
            Err(LedgerError::Corrupt { .. }) => continue,
            Err(other) => return Err(other),
        };
        match apply::unaltered(w.conn().await?, &current).await {
            Err(LedgerError::Corrupt { .. }) => continue,
            other => other?,
        }
        let change = |a: &mut Action| a.reason = Some(why.to_owned());
        apply::apply(w, &current, &Fact::AccountChanged, change, json!({}), by, now).await?;
        back.push(current.id());
    }
    Ok(back)
}
