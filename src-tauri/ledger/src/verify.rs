//! Proof of the whole ledger (R30): the chain row by row, then every action by itself. Memory stays small however long the
//! journal is.

use crate::configured::Configured;
use crate::dossier::Dossier;
use crate::journal::{self, Stored};
use crate::proof::{self, broken_part, is_open};
use crate::rows::{Action, Get, action_columns, hex};
use crate::tx::{Conn, failed, statements};
use crate::types::Broken;
use crate::{Conflict, Ledger, LedgerError, backup, beside, content, whole};
use countersign_domain::canonical::sha256;
use countersign_domain::chain::GENESIS;
use countersign_domain::{ActionId, LedgerSecret, Roster};
use std::collections::BTreeMap;

statements! {
    ACTIONS_AFTER = concat!("SELECT ", action_columns!(), " FROM actions WHERE n > $1 ORDER BY n LIMIT 200");
    WIRES_OF = "SELECT hash, bytes, at FROM wires WHERE action = $1 ORDER BY hash";
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
        let schema = self.pools().expected_schema().await?;
        let mut tx = self.pools().read("verifying the ledger").await?;
        let mut broken = Vec::new();
        backup::check_file(&mut tx, self.pools().engine, &mut broken).await?;
        let head = journal::head(&mut tx).await?;
        let actions = whole::count(&mut tx, whole::COUNT_ACTIONS).await?;
        let of = head.seq + actions;
        let mut told = Told::default();
        chain(&mut tx, &mut told, &mut broken, &mut |done| progress(done, of)).await?;
        told.counted.compare(&mut tx, schema, &mut broken).await?;
        told.configured.compare(&mut tx, &mut broken).await?;
        whole::hashed(&mut tx, &mut broken).await?;
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
    let rows = Dossier::read(conn, id).await?;
    let told = match proof::journal_of(&rows, action) {
        Ok(told) => told,
        Err(error) => {
            keep(broken, id, Err(error))?;
            // Without its journal only what carries its own proof can be looked at.
            let sealed = match action.key.is_some() && is_open(action.standing.state) {
                true => content::sealed(conn, action).await.map(|_| ()),
                false => Ok(()),
            };
            keep(broken, id, sealed)?;
            keep(broken, id, wires(conn, action, None).await)?;
            return keep(broken, id, rows.conversation(action).map(|_| ()));
        }
    };
    let open = is_open(action.standing.state);
    let payloads = match proof::payloads_of(conn, &rows, action, &told, open).await {
        Ok(payloads) => Some(payloads),
        Err(error) => {
            keep(broken, id, Err(error))?;
            None
        }
    };
    if action.key.is_some() && open {
        keep(broken, id, content::sealed(conn, action).await.map(|_| ()))?;
    }
    keep(broken, id, wires(conn, action, Some(&told)).await)?;
    keep(broken, id, rows.conversation(action).map(|_| ()))?;
    for error in beside::holds(conn, action, &told, payloads.as_deref()).await? {
        keep(broken, id, Err(error))?;
    }
    keep(broken, id, proof::approvals_of(&rows, action, &told, roster).map(|_| ()))?;
    keep(broken, id, proof::attempts_of(&rows, action, &told))?;
    keep(broken, id, proof::words_of(&rows, action, &told, roster))
}

/// Every stored wire against its hash and the approval that first brought it, and the current one against what the action
/// names.
async fn wires(conn: &mut Conn, action: &Action, told: Option<&proof::Told>) -> Result<(), LedgerError> {
    let mut written = BTreeMap::new();
    for (stored, details) in told.iter().flat_map(|t| t.details()).filter(|(s, _)| s.row.kind == "approved") {
        if let Some(hash) = details["wire_hash"].as_str() {
            written.entry(hash.to_owned()).or_insert(stored.row.entry.at);
        }
    }
    let rows =
        sqlx::query(WIRES_OF).bind(action.n).fetch_all(&mut *conn).await.map_err(|e| failed("verifying a wire", e))?;
    for row in &rows {
        if let Some(bytes) = row.bytes_or_null("bytes")?
            && hex(&sha256(&bytes)) != row.text("hash")?
        {
            return Err(LedgerError::corrupt("wire", action.id(), "its bytes have another hash"));
        }
        if told.is_some() && written.remove(&row.text("hash")?) != Some(row.int("at")?) {
            return Err(LedgerError::corrupt("wire", action.id(), "it is not the one in the journal"));
        }
    }
    if !written.is_empty() {
        return Err(LedgerError::corrupt("wire", action.id(), "its row is missing"));
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
    counted: whole::Counted,
    configured: Configured,
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
        self.counted.hear(stored);
        if let Err(LedgerError::Corrupt { what, id, why }) = self.configured.hear(stored) {
            broken.push(Broken { what: what.to_owned(), id, why });
        }
        if stored.row.kind == "delivered" {
            whole::delivery(conn, &stored.row.entry.fact["details"], broken).await?;
        }
        Ok(())
    }
}
