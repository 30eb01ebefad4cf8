//! Proof of the whole ledger (R30): the chain row by row, then every action by itself. Memory stays small however long the
//! journal is.

use crate::journal::{self, Stored};
use crate::proof::{self, broken_part, is_open};
use crate::rows::{Action, Get, action_columns, hex, to_json};
use crate::tx::{Conn, failed, statements};
use crate::types::Broken;
use crate::{Conflict, Ledger, LedgerError, backup, content, directory};
use countersign_domain::canonical::sha256;
use countersign_domain::chain::GENESIS;
use countersign_domain::{ActionId, DeliveryId, LedgerSecret, Roster};
use serde_json::Value;
use std::collections::BTreeMap;

statements! {
    ACTIONS_AFTER = concat!("SELECT ", action_columns!(), " FROM actions WHERE n > $1 ORDER BY n LIMIT 200");
    WIRES_OF = "SELECT hash, bytes FROM wires WHERE action = $1 ORDER BY hash";
    COUNT_ACTIONS = "SELECT COUNT(*) AS many FROM actions";
    COUNT_DELIVERIES = "SELECT COUNT(*) AS many FROM deliveries";
    SETTING_KEYS = "SELECT key FROM settings ORDER BY key";
    DELIVERY = "SELECT source, content_hash, first FROM deliveries WHERE n = $1";
    ACTIONS_OF_DELIVERY = "SELECT step, action, disposition FROM delivery_actions WHERE delivery = $1 ORDER BY position";
}

impl Ledger {
    /// Everything that does not hold. `secret` also proves the idempotency keys. `progress` hears (done, of) in journal
    /// rows and actions.
    pub async fn verify(
        &self,
        roster: &Roster,
        secret: Option<&LedgerSecret>,
        progress: &mut (dyn FnMut(i64, i64) + Send),
    ) -> Result<Vec<Broken>, LedgerError> {
        let mut tx = self.pools().read("verifying the ledger").await?;
        let mut broken = Vec::new();
        backup::check_file(&mut tx, self.pools().engine, &mut broken).await?;
        let head = journal::head(&mut tx).await?;
        let actions = count(&mut tx, COUNT_ACTIONS).await?;
        let of = head.seq + actions;
        let mut told = Told::default();
        chain(&mut tx, &mut told, &mut broken, &mut |done| progress(done, of)).await?;
        told.compare(&mut tx, &mut broken).await?;
        let mut last = 0;
        let mut done = 0;
        loop {
            let rows = sqlx::query(ACTIONS_AFTER)
                .bind(last)
                .fetch_all(&mut *tx)
                .await
                .map_err(|e| failed("verifying the ledger", e))?;
            let Some(final_row) = rows.last() else { break };
            last = final_row.int("n")?;
            for row in &rows {
                match Action::read(row) {
                    Ok(action) => one(&mut tx, &action, roster, secret, &mut broken).await?,
                    Err(error) => keep(&mut broken, ActionId(row.int("n")?), Err(error))?,
                }
            }
            done += rows.len() as i64;
            progress(head.seq + done, of);
        }
        Ok(broken)
    }
}

async fn count(conn: &mut Conn, statement: &'static str) -> Result<i64, LedgerError> {
    sqlx::query(statement).fetch_one(conn).await.map_err(|e| failed("verifying the ledger", e))?.int("many")
}

fn keep(broken: &mut Vec<Broken>, action: ActionId, result: Result<(), LedgerError>) -> Result<(), LedgerError> {
    if let Err(error) = result {
        let (what, id, why) = broken_part(error, action)?;
        let found = Broken { what, id, why };
        if !broken.contains(&found) {
            broken.push(found);
        }
    }
    Ok(())
}

/// Everything about one action; each part is looked at also where another is broken.
async fn one(
    conn: &mut Conn,
    action: &Action,
    roster: &Roster,
    secret: Option<&LedgerSecret>,
    broken: &mut Vec<Broken>,
) -> Result<(), LedgerError> {
    let id = action.id();
    if let (Some(secret), Some(key)) = (secret, &action.key)
        && action.idempotency_key.as_ref() != Some(&key.idempotency_key(secret))
    {
        let why = "its idempotency key is not that of its action key";
        keep(broken, id, Err(LedgerError::corrupt("action", id, why)))?;
    }
    let told = match proof::journal_of(conn, action).await {
        Ok(told) => told,
        Err(error) => {
            keep(broken, id, Err(error))?;
            // Without its journal only what carries its own proof can be looked at.
            let sealed = match action.key.is_some() && is_open(action.standing.state) {
                true => content::sealed(conn, action).await.map(|_| ()),
                false => Ok(()),
            };
            keep(broken, id, sealed)?;
            keep(broken, id, wires(conn, action).await)?;
            return keep(broken, id, content::conversation(conn, action).await.map(|_| ()));
        }
    };
    let open = is_open(action.standing.state);
    keep(broken, id, proof::payloads_of(conn, action, &told, open).await.map(|_| ()))?;
    if action.key.is_some() && open {
        keep(broken, id, content::sealed(conn, action).await.map(|_| ()))?;
    }
    keep(broken, id, wires(conn, action).await)?;
    keep(broken, id, content::conversation(conn, action).await.map(|_| ()))?;
    keep(broken, id, proof::approvals_of(conn, action, &told, roster).await.map(|_| ()))?;
    keep(broken, id, proof::attempts_of(conn, action, &told).await)?;
    keep(broken, id, proof::words_of(conn, action, &told, roster).await)
}

/// Every stored wire against its hash, and the current one against what the action names.
async fn wires(conn: &mut Conn, action: &Action) -> Result<(), LedgerError> {
    let rows =
        sqlx::query(WIRES_OF).bind(action.n).fetch_all(&mut *conn).await.map_err(|e| failed("verifying a wire", e))?;
    for row in &rows {
        if let Some(bytes) = row.bytes_or_null("bytes")?
            && hex(&sha256(&bytes)) != row.text("hash")?
        {
            return Err(LedgerError::corrupt("wire", action.id(), "its bytes have another hash"));
        }
    }
    match action.wire_hash {
        Some(hash) => match content::wire(conn, action.id(), hash).await {
            Err(LedgerError::Conflict(Conflict::Purged)) if !is_open(action.standing.state) => Ok(()),
            other => other.map(|_| ()),
        },
        None => Ok(()),
    }
}

/// What the journal tells of things that are not actions.
#[derive(Default)]
struct Told {
    proposed: i64,
    deliveries: i64,
    settings: BTreeMap<String, String>,
    destinations: BTreeMap<String, Value>,
    removed: Vec<String>,
    sources: BTreeMap<String, Value>,
}

/// The chain from its first row to the head.
async fn chain(
    conn: &mut Conn,
    told: &mut Told,
    broken: &mut Vec<Broken>,
    progress: &mut (dyn FnMut(i64) + Send),
) -> Result<(), LedgerError> {
    let (mut seq, mut hash) = (0, GENESIS);
    loop {
        let rows = sqlx::query(journal::AFTER)
            .bind(seq)
            .bind(1_000_i64)
            .fetch_all(&mut *conn)
            .await
            .map_err(|e| failed("verifying the journal", e))?;
        if rows.is_empty() {
            break;
        }
        for row in &rows {
            let found = row.int("seq")?;
            let mut say = |why: &str| {
                broken.push(Broken { what: "journal".to_owned(), id: found.to_string(), why: why.to_owned() });
            };
            if found != seq + 1 {
                say("the row before it is missing");
            }
            seq = found;
            let stored = match Stored::read(row) {
                Ok(stored) => stored,
                Err(LedgerError::Corrupt { why, .. }) => {
                    say(&why);
                    continue;
                }
                Err(other) => return Err(other),
            };
            if !stored.holds() {
                say("its hash does not fit its content");
            } else if stored.previous != hash {
                say("it does not follow the row before it");
            }
            hash = stored.row.hash;
            told.hear(conn, &stored, broken).await?;
        }
        progress(seq);
    }
    let head = journal::head(conn).await?;
    if head.seq != seq || head.hash != hash {
        let why = "the head does not name the last row";
        broken.push(Broken { what: "journal".to_owned(), id: "head".to_owned(), why: why.to_owned() });
    }
    Ok(())
}

impl Told {
    async fn hear(&mut self, conn: &mut Conn, stored: &Stored, broken: &mut Vec<Broken>) -> Result<(), LedgerError> {
        let details = &stored.row.entry.fact["details"];
        let text = |key: &str| details[key].as_str().unwrap_or("").to_owned();
        match stored.row.kind.as_str() {
            "proposed" => self.proposed += 1,
            "delivered" => {
                self.deliveries += 1;
                let n = details["delivery"].as_i64().unwrap_or(0);
                if !delivery_holds(conn, n, details).await? {
                    let why = "it is not the one in the journal".to_owned();
                    broken.push(Broken { what: "delivery".to_owned(), id: DeliveryId(n).to_string(), why });
                }
            }
            "setting_changed" => {
                self.settings.insert(text("key"), text("value"));
            }
            "destination_added" | "destination_changed" => {
                self.destinations.insert(text("name"), details.clone());
            }
            "destination_removed" => self.removed.push(text("name")),
            "source_added" => {
                self.sources.insert(text("name"), details.clone());
            }
            _ => {}
        }
        Ok(())
    }

    /// The tables as they stand against what the journal told last.
    async fn compare(&self, conn: &mut Conn, broken: &mut Vec<Broken>) -> Result<(), LedgerError> {
        let mut say = |what: &str, id: &str, why: &str| {
            broken.push(Broken { what: what.to_owned(), id: id.to_owned(), why: why.to_owned() });
        };
        if count(conn, COUNT_ACTIONS).await? != self.proposed {
            say("action", "all", "the journal tells of another number of actions");
        }
        if count(conn, COUNT_DELIVERIES).await? != self.deliveries {
            say("delivery", "all", "the journal tells of another number of deliveries");
        }
        for (key, value) in &self.settings {
            if directory::setting(conn, key).await?.as_ref() != Some(value) {
                say("setting", key, "its value is not the one in the journal");
            }
        }
        // The mark of a backup is the one setting that is written beside the journal: the copy's head is the original's.
        for key in setting_keys(conn).await?.iter().filter(|k| *k != backup::BACKUP && !self.settings.contains_key(*k))
        {
            say("setting", key, "no journal row tells of it");
        }
        for (name, told) in &self.destinations {
            let Some(d) = directory::destination(conn, name).await? else {
                say("destination", name, "its row is missing");
                continue;
            };
            let config = hex(&sha256(to_json(&d.config).as_bytes()));
            if told["account"].as_str() != Some(d.account.to_string().as_str())
                || told["environment"].as_str() != Some(d.environment.as_str())
                || told["config"].as_str() != Some(config.as_str())
                || d.removed_at.is_some() != self.removed.contains(name)
            {
                say("destination", name, "it is not the one in the journal");
            }
        }
        for (name, told) in &self.sources {
            let row = directory::source(conn, name).await?;
            let holds = row.is_some_and(|s| {
                told["environment"] == s.environment
                    && told["effects"] == serde_json::json!(s.effects)
                    && told["destinations"] == serde_json::json!(s.destinations)
            });
            if !holds {
                say("source", name, "its permissions are not those in the journal");
            }
        }
        Ok(())
    }
}

async fn setting_keys(conn: &mut Conn) -> Result<Vec<String>, LedgerError> {
    let rows = sqlx::query(SETTING_KEYS).fetch_all(conn).await.map_err(|e| failed("verifying the settings", e))?;
    rows.iter().map(|row| row.text("key")).collect()
}

async fn delivery_holds(conn: &mut Conn, n: i64, told: &Value) -> Result<bool, LedgerError> {
    let doing = "verifying a delivery";
    let Some(row) = sqlx::query(DELIVERY).bind(n).fetch_optional(&mut *conn).await.map_err(|e| failed(doing, e))?
    else {
        return Ok(false);
    };
    let rows = sqlx::query(ACTIONS_OF_DELIVERY).bind(n).fetch_all(conn).await.map_err(|e| failed(doing, e))?;
    let mut actions = Vec::new();
    for a in &rows {
        let action = a.int_or_null("action")?.map(ActionId);
        actions.push(serde_json::json!({
            "step": a.text("step")?, "action": action, "disposition": a.text("disposition")?,
        }));
    }
    Ok(told["source"].as_str() == Some(row.text("source")?.as_str())
        && told["content_hash"].as_str() == Some(row.text("content_hash")?.as_str())
        && told["first"].as_i64() == row.int_or_null("first")?
        && told["actions"] == Value::Array(actions))
}
