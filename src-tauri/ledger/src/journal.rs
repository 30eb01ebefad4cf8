//! The chained journal: audit trail and change feed in one. Appended to in the transaction of what it tells.

use crate::rows::Get;
use crate::script::say;
use crate::tx::{Conn, Write, failed, statements};
use crate::types::{Head, JournalRow};
use crate::{Ledger, LedgerError};
use countersign_domain::Timestamp;
use countersign_domain::canonical::{JournalHash, canonical};
use countersign_domain::chain::{Entry, link};
use serde_json::Value;
use sqlx::any::AnyRow;

statements! {
    HEAD = "SELECT seq, hash FROM ledger_head WHERE one = 1";
    APPEND = "INSERT INTO journal (seq, at, action, kind, fact, by_whom, previous, hash) \
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    AFTER = "SELECT seq, at, action, kind, fact, by_whom, previous, hash FROM journal WHERE seq > $1 \
        ORDER BY seq LIMIT CAST($2 AS bigint)";
    OF_ACTION = "SELECT seq, at, action, kind, fact, by_whom, previous, hash FROM journal WHERE action = $1 ORDER BY seq";
    LAST_OF_ACTION = "SELECT seq, at, action, kind, fact, by_whom, previous, hash FROM journal WHERE action = $1 \
        ORDER BY seq DESC LIMIT 1";
    LATEST = "SELECT MAX(seq) AS seq, MAX(at) AS at FROM journal WHERE seq > $1";
    HASH_AT = "SELECT hash FROM journal WHERE seq = $1";
}

/// Appends one row. `fact` is an object with the fact's name under `fact` and what goes with it under `details`.
pub(crate) async fn append(
    w: &mut Write,
    at: Timestamp,
    action: Option<i64>,
    fact: Value,
    by: &str,
) -> Result<Head, LedgerError> {
    let before = match w.head {
        Some(head) => head,
        None => head(w.conn().await?).await?,
    };
    let kind = fact["fact"].as_str().unwrap_or("").to_owned();
    let text = canonical(&fact);
    let entry = Entry { seq: before.seq + 1, at: at.millis(), action, fact, by: by.to_owned() };
    let hash = link(before.hash, &entry);
    w.later(say!(
        "appending to the journal",
        APPEND,
        entry.seq,
        entry.at,
        action,
        kind,
        text,
        by,
        before.hash.to_string(),
        hash.to_string(),
    ));
    let head = Head { seq: entry.seq, hash };
    w.head = Some(head);
    Ok(head)
}

pub(crate) async fn head(conn: &mut Conn) -> Result<Head, LedgerError> {
    let row = sqlx::query(HEAD).fetch_one(conn).await.map_err(|e| failed("reading the journal's head", e))?;
    read_head(&row)
}

pub(crate) fn read_head(row: &AnyRow) -> Result<Head, LedgerError> {
    Ok(Head { seq: row.int("seq")?, hash: row.parsed("hash")? })
}

/// A stored row with the hash of the one before, as it says itself.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub row: JournalRow,
    pub previous: JournalHash,
}

impl Stored {
    pub(crate) fn read(row: &AnyRow) -> Result<Stored, LedgerError> {
        let seq = row.int("seq")?;
        let broken = |why: &str| LedgerError::corrupt("journal", seq, why);
        let fact: Value =
            serde_json::from_str(&row.text("fact")?).map_err(|_| broken("its fact is not the JSON it should be"))?;
        let kind = row.text("kind")?;
        if fact["fact"].as_str() != Some(kind.as_str()) {
            return Err(broken("its kind is not that of its fact"));
        }
        Ok(Stored {
            previous: row.parsed("previous").map_err(|_| broken("the hash before it is not a hash"))?,
            row: JournalRow {
                entry: Entry {
                    seq,
                    at: row.int("at")?,
                    action: row.int_or_null("action")?,
                    fact,
                    by: row.text("by_whom")?,
                },
                kind,
                hash: row.parsed("hash").map_err(|_| broken("its hash is not a hash"))?,
            },
        })
    }

    /// Whether the row's own hash fits its content and the row it says it follows.
    pub(crate) fn holds(&self) -> bool {
        link(self.previous, &self.row.entry) == self.row.hash
    }
}

pub(crate) async fn of_action(conn: &mut Conn, action: i64) -> Result<Vec<Stored>, LedgerError> {
    let rows = sqlx::query(OF_ACTION)
        .bind(action)
        .fetch_all(conn)
        .await
        .map_err(|e| failed("reading an action's journal", e))?;
    rows.iter().map(Stored::read).collect()
}

/// The newest row about an action.
pub(crate) async fn last_of_action(conn: &mut Conn, action: i64) -> Result<Option<Stored>, LedgerError> {
    let row = sqlx::query(LAST_OF_ACTION)
        .bind(action)
        .fetch_optional(conn)
        .await
        .map_err(|e| failed("reading an action's journal", e))?;
    row.as_ref().map(Stored::read).transpose()
}

pub(crate) async fn after(conn: &mut Conn, seq: i64, limit: u32) -> Result<Vec<Stored>, LedgerError> {
    let rows = sqlx::query(AFTER)
        .bind(seq)
        .bind(i64::from(limit))
        .fetch_all(conn)
        .await
        .map_err(|e| failed("reading the journal", e))?;
    rows.iter().map(Stored::read).collect()
}

impl Ledger {
    /// Rows with a higher number than `seq`, in order.
    pub async fn journal_after(&self, seq: i64, limit: u32) -> Result<Vec<JournalRow>, LedgerError> {
        let mut tx = self.pools().bare("reading the journal").await?;
        Ok(after(&mut tx, seq, limit).await?.into_iter().map(|s| s.row).collect())
    }

    pub async fn head(&self) -> Result<Head, LedgerError> {
        let mut tx = self.pools().bare("reading the journal's head").await?;
        head(&mut tx).await
    }

    /// The journal's hash at `seq`, to compare with an anchor. None where the journal is shorter.
    pub async fn hash_at(&self, seq: i64) -> Result<Option<JournalHash>, LedgerError> {
        if seq == 0 {
            return Ok(Some(countersign_domain::chain::GENESIS));
        }
        let mut tx = self.pools().bare("reading the journal").await?;
        let row = sqlx::query(HASH_AT)
            .bind(seq)
            .fetch_optional(&mut *tx)
            .await
            .map_err(|e| failed("reading the journal", e))?;
        row.map(|r| r.parsed("hash")).transpose()
    }

    /// The number of the newest row and the latest time of all rows after `seq`; None where there is none. Rows are in the
    /// order of their numbers, and not always of their times.
    pub async fn latest_time(&self, seq: i64) -> Result<Option<(i64, Timestamp)>, LedgerError> {
        let doing = "reading the journal's latest time";
        let mut tx = self.pools().bare(doing).await?;
        let row = sqlx::query(LATEST).bind(seq).fetch_one(&mut *tx).await.map_err(|e| failed(doing, e))?;
        Ok(row.int_or_null("seq")?.zip(row.time_or_null("at")?))
    }

    /// Writes down a fact about the ledger itself (frozen, restored, adopted …).
    pub async fn note(&self, kind: &str, details: Value, by: &str, now: Timestamp) -> Result<Head, LedgerError> {
        let mut w = self.pools().write("noting a fact", crate::tx::Durable::Full).await?;
        let head = append(&mut w, now, None, serde_json::json!({ "fact": kind, "details": details }), by).await?;
        w.commit("noting a fact").await?;
        Ok(head)
    }
}
