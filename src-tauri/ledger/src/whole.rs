//! Tables as wholes, for `verify`: deliveries and their events, conversations and attachments against their hashes, whom
//! mail was accepted for, the schema's number. Walked in pages, so that memory stays small.

use crate::content::has_digest;
use crate::journal::Stored;
use crate::rows::{Get, hex};
use crate::tx::{Conn, failed, statements};
use crate::types::Broken;
use crate::{LedgerError, open};
use countersign_domain::canonical::{canonical, sha256, tagged_hash};
use countersign_domain::{Conversation, DeliveryId, json as strict};
use serde_json::{Value, json};
use sqlx::any::AnyRow;
use std::collections::BTreeMap;

statements! {
    COUNT_ACTIONS = "SELECT COUNT(*) AS many FROM actions";
    COUNT_DELIVERIES = "SELECT COUNT(*) AS many FROM deliveries";
    COUNT_EVENTS = "SELECT COUNT(*) AS many FROM events";
    SCHEMA_NUMBER = "SELECT version AS many FROM schema_version WHERE one = 1";
    DELIVERY = "SELECT d.n, d.source, d.environment, d.event_id, d.request_id, d.source_version, d.content_hash, d.at, \
        d.disposition, d.reason, d.first, d.run_id, d.model, d.draft_reason, e.delivery AS taken_by, \
        e.content_hash AS taken FROM deliveries d LEFT JOIN events e ON e.source = d.source AND e.event_id = d.event_id \
        WHERE d.n = $1";
    ACTIONS_OF_DELIVERY = "SELECT position, step, action, disposition, reason, payload_version FROM delivery_actions \
        WHERE delivery = $1 ORDER BY position";
    CONVERSATIONS = "SELECT hash, value FROM conversations WHERE hash > $1 ORDER BY hash LIMIT 200";
    ATTACHMENTS = "SELECT sha256, size, bytes FROM attachments WHERE sha256 > $1 ORDER BY sha256 LIMIT 4";
    KNOWN_SINCE = "SELECT environment, email, times FROM known_people WHERE (environment, email) > ($1, $2) \
        ORDER BY environment, email LIMIT 1000";
    DOMAINS = "SELECT environment, domain, times FROM known_domains ORDER BY environment, domain";
    // $1 is 1 where a purge took what could be counted: then only too small a number shows.
    MISCOUNTED = "SELECT k.environment, k.email FROM known_people k WHERE k.times < (SELECT COUNT(*) FROM action_people p \
            CROSS JOIN actions a WHERE p.email = k.email AND a.n = p.action AND a.environment = k.environment \
            AND a.state = 'accepted') OR (CAST($1 AS BIGINT) = 0 AND k.times > (SELECT COUNT(*) FROM action_people p \
            CROSS JOIN actions a WHERE p.email = k.email AND a.n = p.action AND a.environment = k.environment \
            AND a.state = 'accepted')) ORDER BY k.environment, k.email LIMIT 20";
    UNCOUNTED = "SELECT DISTINCT a.environment, p.email FROM action_people p JOIN actions a ON a.n = p.action \
        WHERE a.state = 'accepted' AND NOT EXISTS (SELECT 1 FROM known_people k WHERE k.environment = a.environment \
        AND k.email = p.email) ORDER BY a.environment, p.email LIMIT 20";
}

/// What the journal tells of how much there is.
#[derive(Default)]
pub(crate) struct Counted {
    proposed: i64,
    deliveries: i64,
    events: i64,
    purged: bool,
}

impl Counted {
    pub(crate) fn hear(&mut self, stored: &Stored) {
        match stored.row.kind.as_str() {
            "proposed" => self.proposed += 1,
            "delivered" => self.deliveries += 1,
            "purged" => self.purged = true,
            _ => {}
        }
        if stored.row.entry.fact["details"]["takes_event"].as_bool() == Some(true) {
            self.events += 1;
        }
    }

    /// `schema`: of the file, which an earlier build may have written.
    pub(crate) async fn compare(
        &self,
        conn: &mut Conn,
        schema: i64,
        broken: &mut Vec<Broken>,
    ) -> Result<(), LedgerError> {
        let mut say = |what: &str, id: &str, why: &str| broken.push(found(what, id, why));
        for (what, statement, told) in [
            ("action", COUNT_ACTIONS, self.proposed),
            ("delivery", COUNT_DELIVERIES, self.deliveries),
            ("event", COUNT_EVENTS, self.events),
        ] {
            if count(conn, statement).await? != told {
                say(what, "all", "the journal tells of another number");
            }
        }
        if count(conn, SCHEMA_NUMBER).await? != schema {
            say("schema", "number", "it is not the one of these tables");
        }
        let purged = i64::from(self.purged);
        let doing = "verifying whom mail was accepted for";
        let miscounted =
            sqlx::query(MISCOUNTED).bind(purged).fetch_all(&mut *conn).await.map_err(|e| failed(doing, e))?;
        let uncounted = sqlx::query(UNCOUNTED).fetch_all(&mut *conn).await.map_err(|e| failed(doing, e))?;
        for row in miscounted.iter().chain(&uncounted) {
            // No address in what may be printed.
            let id = hex(&sha256(format!("{} {}", row.text("environment")?, row.text("email")?).as_bytes()));
            say("known person", &id[..8], "how often mail to them was accepted is not what the actions say");
        }
        match schema >= open::DOMAINS_SINCE {
            true => domains(conn, broken).await,
            false => Ok(()),
        }
    }
}

/// The sums by domain against the people they are made of.
async fn domains(conn: &mut Conn, broken: &mut Vec<Broken>) -> Result<(), LedgerError> {
    let doing = "verifying the domains mail was accepted for";
    let mut sums: BTreeMap<(String, String), i64> = BTreeMap::new();
    let mut last = (String::new(), String::new());
    loop {
        let rows = sqlx::query(KNOWN_SINCE)
            .bind(last.0.clone())
            .bind(last.1.clone())
            .fetch_all(&mut *conn)
            .await
            .map_err(|e| failed(doing, e))?;
        for row in &rows {
            last = (row.text("environment")?, row.text("email")?);
            if let Some((_, domain)) = last.1.split_once('@') {
                *sums.entry((last.0.clone(), domain.to_owned())).or_default() += row.int("times")?;
            }
        }
        if rows.is_empty() {
            break;
        }
    }
    for row in sqlx::query(DOMAINS).fetch_all(conn).await.map_err(|e| failed(doing, e))? {
        let domain = (row.text("environment")?, row.text("domain")?);
        if sums.remove(&domain) != Some(row.int("times")?) {
            broken.push(known_domain(&domain, "how often mail to it was accepted is not what its people say"));
        }
    }
    broken.extend(sums.keys().map(|domain| known_domain(domain, "its row is missing")));
    Ok(())
}

fn known_domain((environment, domain): &(String, String), why: &str) -> Broken {
    // No part of an address in what may be printed.
    found("known domain", &hex(&sha256(format!("{environment} {domain}").as_bytes()))[..8], why)
}

pub(crate) async fn count(conn: &mut Conn, statement: &'static str) -> Result<i64, LedgerError> {
    sqlx::query(statement).fetch_one(conn).await.map_err(|e| failed("verifying the ledger", e))?.int("many")
}

fn found(what: &str, id: &str, why: &str) -> Broken {
    Broken { what: what.to_owned(), id: id.to_owned(), why: why.to_owned() }
}

/// Digest of a delivery's row and of the rows of its actions.
pub(crate) fn delivery_digest(row: &Value, actions: Vec<Value>) -> String {
    hex(&tagged_hash("countersign/delivery-row/v1", &json!([row, actions])))
}

/// A delivery against the journal row that tells of it.
pub(crate) async fn delivery(conn: &mut Conn, told: &Value, broken: &mut Vec<Broken>) -> Result<(), LedgerError> {
    let n = told["delivery"].as_i64().unwrap_or(0);
    let id = DeliveryId(n).to_string();
    match stands(conn, n).await {
        Ok(Some((digest, taken))) => {
            if told["digest"].as_str() != Some(digest.as_str()) {
                broken.push(found("delivery", &id, "it is not the one in the journal"));
            }
            if told["takes_event"].as_bool() == Some(true) && !taken {
                broken.push(found("event", &id, "it is not the one in the journal"));
            }
            Ok(())
        }
        Ok(None) => {
            broken.push(found("delivery", &id, "its row is missing"));
            Ok(())
        }
        Err(LedgerError::Corrupt { why, .. }) => {
            broken.push(found("delivery", &id, &why));
            Ok(())
        }
        Err(other) => Err(other),
    }
}

/// The digest of a stored delivery, and whether its event id leads to it.
async fn stands(conn: &mut Conn, n: i64) -> Result<Option<(String, bool)>, LedgerError> {
    let doing = "verifying a delivery";
    let row = sqlx::query(DELIVERY).bind(n).fetch_optional(&mut *conn).await.map_err(|e| failed(doing, e))?;
    let Some(row) = row else { return Ok(None) };
    let rows = sqlx::query(ACTIONS_OF_DELIVERY).bind(n).fetch_all(conn).await.map_err(|e| failed(doing, e))?;
    let mut actions = Vec::new();
    for a in &rows {
        actions.push(json!([
            a.int("position")?,
            a.text("step")?,
            a.int_or_null("action")?,
            a.text("disposition")?,
            a.text_or_null("reason")?,
            a.int_or_null("payload_version")?,
        ]));
    }
    let columns = json!([
        row.int("n")?,
        row.text("source")?,
        row.text("environment")?,
        row.text_or_null("event_id")?,
        row.text_or_null("request_id")?,
        row.int_or_null("source_version")?,
        row.text("content_hash")?,
        row.int("at")?,
        row.text("disposition")?,
        row.text_or_null("reason")?,
        row.int_or_null("first")?,
        row.text_or_null("run_id")?,
        row.text_or_null("model")?,
        row.text_or_null("draft_reason")?,
    ]);
    let taken =
        row.int_or_null("taken_by")? == Some(n) && row.text_or_null("taken")? == row.text_or_null("content_hash")?;
    Ok(Some((delivery_digest(&columns, actions), taken)))
}

/// Conversations and attachments carry their own hash, whoever still names them.
pub(crate) async fn hashed(conn: &mut Conn, broken: &mut Vec<Broken>) -> Result<(), LedgerError> {
    pages(conn, CONVERSATIONS, "hash", |hash, row| {
        let Some(text) = row.text_or_null("value")? else { return Ok(()) };
        let reads = strict::parse(text.as_bytes()).ok().and_then(|value| Conversation::parse(value).ok());
        match reads {
            Some(c) if c.hash().to_string() == hash && canonical(&c.value) == text => Ok(()),
            _ => {
                broken.push(found("conversation", &hash[..hash.len().min(8)], "its text has another hash"));
                Ok(())
            }
        }
    })
    .await?;
    pages(conn, ATTACHMENTS, "sha256", |digest, row| {
        let Some(bytes) = row.bytes_or_null("bytes")? else { return Ok(()) };
        if !has_digest(&bytes, digest) || row.int("size")? != bytes.len() as i64 {
            broken.push(found("attachment", &digest[..digest.len().min(8)], "its bytes have another digest or size"));
        }
        Ok(())
    })
    .await
}

async fn pages(
    conn: &mut Conn,
    statement: &'static str,
    key: &'static str,
    mut each: impl FnMut(&str, &AnyRow) -> Result<(), LedgerError>,
) -> Result<(), LedgerError> {
    let mut last = String::new();
    loop {
        let rows = sqlx::query(statement)
            .bind(last.clone())
            .fetch_all(&mut *conn)
            .await
            .map_err(|e| failed("verifying what is stored under its hash", e))?;
        let Some(end) = rows.last() else { return Ok(()) };
        last = end.text(key)?;
        for row in &rows {
            each(&row.text(key)?, row)?;
        }
    }
}
