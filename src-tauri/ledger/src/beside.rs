//! Rows that lie beside an action and follow from its journal: findings a person checked, the filing of its Sent copy, whom
//! it goes to, which attachments it names, the event that completed it.

use crate::content::{self, StoredPayload, face};
use crate::proof::Told;
use crate::rows::{Action, Get};
use crate::tx::{Conn, failed, statements};
use crate::{LedgerError, followup};
use countersign_domain::Payload;
use sqlx::any::AnyRow;
use std::collections::{BTreeMap, BTreeSet};

statements! {
    CHECKS = "SELECT version, code, field, by_whom, at FROM cleared WHERE action = $1";
    PEOPLE = "SELECT email FROM action_people WHERE action = $1 ORDER BY email";
    NAMED = "SELECT version, sha256 FROM payload_attachments WHERE action = $1 ORDER BY version, sha256";
    EVENT = "SELECT e.delivery, e.content_hash AS taken, d.content_hash FROM events e \
        JOIN deliveries d ON d.n = e.delivery WHERE e.source = $1 AND e.event_id = $2";
}

type Payloads = [(StoredPayload, Option<Payload>)];

/// A finding that a person checked, as its row says.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Check {
    version: i64,
    code: String,
    field: String,
    by: String,
    at: i64,
}

impl Check {
    pub(crate) fn read(row: &AnyRow) -> Result<Check, LedgerError> {
        Ok(Check {
            version: row.int("version")?,
            code: row.text("code")?,
            field: row.text("field")?,
            by: row.text("by_whom")?,
            at: row.int("at")?,
        })
    }
}

/// The checked findings are exactly those of the journal; who checked one first stays.
pub(crate) fn checks_hold(action: &Action, told: &Told, rows: &[Check]) -> Result<(), LedgerError> {
    let mut written = BTreeMap::new();
    for (stored, d) in told.details().filter(|(s, _)| s.row.kind == "finding_cleared") {
        let text = |key: &str| d[key].as_str().unwrap_or("").to_owned();
        let (version, entry) = (d["version"].as_i64().unwrap_or(0), &stored.row.entry);
        written.entry((version, text("code"), text("field"))).or_insert_with(|| (entry.by.clone(), entry.at));
    }
    let written: BTreeSet<Check> =
        written.into_iter().map(|((version, code, field), (by, at))| Check { version, code, field, by, at }).collect();
    match rows.iter().cloned().collect::<BTreeSet<_>>() == written {
        true => Ok(()),
        false => Err(LedgerError::corrupt("check", action.id(), "the checked findings are not those in the journal")),
    }
}

/// Everything beside the action, for `verify`; each part is looked at also where another is broken.
pub(crate) async fn holds(
    conn: &mut Conn,
    action: &Action,
    told: &Told,
    payloads: Option<&Payloads>,
) -> Result<Vec<LedgerError>, LedgerError> {
    let mut found = Vec::new();
    let mut keep = |result: Result<(), LedgerError>| match result {
        Ok(()) => Ok(()),
        Err(broken @ LedgerError::Corrupt { .. }) => {
            found.push(broken);
            Ok(())
        }
        Err(other) => Err(other),
    };
    keep(checks(conn, action, told).await)?;
    keep(filing(conn, action, told).await)?;
    keep(event(conn, action, told).await)?;
    if let Some(payloads) = payloads {
        keep(people(conn, action, payloads).await)?;
        keep(named(conn, action, payloads).await)?;
        keep(conversation(conn, action, payloads).await)?;
    }
    Ok(found)
}

async fn rows(conn: &mut Conn, statement: &'static str, action: &Action) -> Result<Vec<AnyRow>, LedgerError> {
    sqlx::query(statement)
        .bind(action.n)
        .fetch_all(conn)
        .await
        .map_err(|e| failed("verifying what lies beside an action", e))
}

async fn checks(conn: &mut Conn, action: &Action, told: &Told) -> Result<(), LedgerError> {
    let rows = rows(conn, CHECKS, action).await?;
    let rows: Result<Vec<_>, _> = rows.iter().map(Check::read).collect();
    checks_hold(action, told, &rows?)
}

async fn filing(conn: &mut Conn, action: &Action, told: &Told) -> Result<(), LedgerError> {
    let stands = followup::filing(conn, action.n).await?.map(|f| f.digest());
    let written = told.details().filter(|(s, _)| s.row.kind == "filing").last().map(|(_, d)| &d["digest"]);
    match stands.as_deref() == written.map(|d| d.as_str().unwrap_or("")) {
        true => Ok(()),
        false => Err(LedgerError::corrupt("filing", action.id(), "it is not the one in the journal")),
    }
}

/// The event id that a person gave when completing the action.
async fn event(conn: &mut Conn, action: &Action, told: &Told) -> Result<(), LedgerError> {
    let takes = told.details().any(|(_, d)| d["takes_event"].as_bool() == Some(true));
    let (true, Some(event)) = (takes, &action.event_id) else { return Ok(()) };
    let row = sqlx::query(EVENT)
        .bind(action.source.clone())
        .bind(event.clone())
        .fetch_optional(conn)
        .await
        .map_err(|e| failed("verifying an event", e))?;
    let broken = |why: &str| LedgerError::corrupt("event", action.id(), why);
    let row = row.ok_or_else(|| broken("its row is missing"))?;
    match row.int("delivery")? == action.delivery && row.text("taken")? == row.text("content_hash")? {
        true => Ok(()),
        false => Err(broken("it is not the one in the journal")),
    }
}

async fn people(conn: &mut Conn, action: &Action, payloads: &Payloads) -> Result<(), LedgerError> {
    let current = payloads.iter().find(|(stored, _)| stored.version == action.payload_version);
    let mut expected = match current {
        Some((_, Some(payload))) => face(None, payload).people,
        // A purge takes them with the body.
        _ => Vec::new(),
    };
    expected.sort();
    let rows = rows(conn, PEOPLE, action).await?;
    let mut stored = rows.iter().map(|r| r.text("email")).collect::<Result<Vec<_>, _>>()?;
    stored.sort();
    match stored == expected {
        true => Ok(()),
        false => Err(LedgerError::corrupt("people", action.id(), "whom it goes to is not what its payload says")),
    }
}

async fn named(conn: &mut Conn, action: &Action, payloads: &Payloads) -> Result<(), LedgerError> {
    let mut expected = BTreeSet::new();
    let mut purged = BTreeSet::new();
    for (stored, payload) in payloads {
        match payload {
            Some(p) => expected.extend(content::digests(p.value()).into_iter().map(|d| (i64::from(stored.version), d))),
            None => {
                purged.insert(i64::from(stored.version));
            }
        }
    }
    let rows = rows(conn, NAMED, action).await?;
    let mut stored = BTreeSet::new();
    for row in &rows {
        let version = row.int("version")?;
        if !purged.contains(&version) {
            stored.insert((version, row.text("sha256")?));
        }
    }
    match stored == expected {
        true => Ok(()),
        false => Err(LedgerError::corrupt("attachment", action.id(), "those it names are not those of its payloads")),
    }
}

/// A purge takes a conversation only with the last body that belongs to it.
async fn conversation(conn: &mut Conn, action: &Action, payloads: &Payloads) -> Result<(), LedgerError> {
    let there = payloads.iter().any(|(stored, p)| stored.version == action.payload_version && p.is_some());
    if there && action.conversation.is_some() && content::conversation(conn, action).await?.is_none() {
        return Err(LedgerError::corrupt("conversation", action.id(), "its text is gone"));
    }
    Ok(())
}
