//! Follow-ups of an accepted action: filing the copy in Sent. They have a state of their own and can never re-open a send.

use crate::proof::evidence_digest;
use crate::rows::{Action, Get};
use crate::script::{Said, say};
use crate::tx::{Conn, Durable, Write, failed, statements};
use crate::types::{Filing, FirstFiling};
use crate::{Ledger, LedgerError, apply};
use countersign_domain::{ActionId, Timestamp};
use serde_json::json;
use sqlx::any::AnyRow;

statements! {
    PUT_FILING = "INSERT INTO filings (action, state, text, next_at, tries, changed_at) VALUES ($1, $2, $3, $4, 1, $5) \
        ON CONFLICT (action) DO UPDATE SET state = excluded.state, text = excluded.text, next_at = excluded.next_at, \
        tries = filings.tries + 1, changed_at = excluded.changed_at \
        RETURNING action, state, text, next_at, tries, changed_at";
    FILING = "SELECT action, state, text, next_at, tries, changed_at FROM filings WHERE action = $1";
    FILINGS_DUE = "SELECT action, state, text, next_at, tries, changed_at FROM filings \
        WHERE next_at IS NOT NULL AND next_at <= $1 ORDER BY next_at LIMIT 100";
}

pub(crate) fn read(row: &AnyRow) -> Result<Filing, LedgerError> {
    Ok(Filing {
        action: ActionId(row.int("action")?),
        state: row.text("state")?,
        text: row.text("text")?,
        next_at: row.time_or_null("next_at")?,
        tries: row.num("tries")?,
        changed_at: row.time("changed_at")?,
    })
}

impl Filing {
    /// What the journal commits to.
    pub(crate) fn digest(&self) -> String {
        let next = self.next_at.map(Timestamp::millis);
        evidence_digest(
            &json!([self.action, self.state, self.text, next, self.tries, self.changed_at.millis()]).to_string(),
        )
    }
}

pub(crate) async fn filing(conn: &mut Conn, action: i64) -> Result<Option<Filing>, LedgerError> {
    sqlx::query(FILING)
        .bind(action)
        .fetch_optional(conn)
        .await
        .map_err(|e| failed("reading a filing", e))?
        .map(|row| read(&row))
        .transpose()
}

/// The first word on an accepted action's copy, in the transaction of its acceptance.
pub(crate) async fn begin(
    w: &mut Write,
    action: &Action,
    first: FirstFiling<'_>,
    now: Timestamp,
) -> Result<(), LedgerError> {
    let filing = Filing {
        action: action.id(),
        state: first.state.to_owned(),
        text: first.text.to_owned(),
        next_at: first.next_at,
        tries: 1,
        changed_at: now,
    };
    w.later(said(&filing));
    let details = json!({ "state": filing.state, "digest": filing.digest() });
    apply::touch(w, action, "filing", |_| {}, details, "worker", now).await.map(drop)
}

fn said(f: &Filing) -> Said {
    let next_at = f.next_at.map(Timestamp::millis);
    say!("recording a filing", PUT_FILING, f.action.0, &f.state, &f.text, next_at, f.changed_at.millis())
}

impl Ledger {
    /// Sets the filing's state: `not_needed`, `waiting`, `already_present`, `filed` or `failed`; `next_at` is when to try
    /// again. The action's own state stays as it is.
    pub async fn put_filing(
        &self,
        action: ActionId,
        state: &str,
        text: &str,
        next_at: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<(), LedgerError> {
        let doing = "recording a filing";
        // What was filed is found again by a look in Sent, so this may ride on the next sync.
        let mut w = self.pools().write(doing, Durable::Rides).await?;
        let put = say!(doing, PUT_FILING, action.0, state, text, next_at.map(Timestamp::millis), now.millis());
        let (current, [put]) = Action::take_and(&mut w, action, [put]).await?;
        let details = json!({ "state": state, "digest": read(put.one(doing)?)?.digest() });
        apply::touch(&mut w, &current, "filing", |_| {}, details, "worker", now).await?;
        w.commit(doing).await
    }

    pub async fn filing(&self, action: ActionId) -> Result<Option<Filing>, LedgerError> {
        let mut tx = self.pools().bare("reading a filing").await?;
        filing(&mut tx, action.0).await
    }

    pub async fn filings_due(&self, now: Timestamp) -> Result<Vec<Filing>, LedgerError> {
        let mut tx = self.pools().bare("looking for filings").await?;
        let rows = sqlx::query(FILINGS_DUE)
            .bind(now.millis())
            .fetch_all(&mut *tx)
            .await
            .map_err(|e| failed("looking for filings", e))?;
        rows.iter().map(read).collect()
    }
}
