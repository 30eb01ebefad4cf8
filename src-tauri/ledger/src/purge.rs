//! Retention (R31): bodies go after a set time; key, hashes, states and receipts stay.

use crate::rows::{Action, Get};
use crate::tx::{Durable, Write, failed, statements};
use crate::types::Purged;
use crate::{Ledger, LedgerError, apply};
use countersign_domain::{ActionId, PersonId, Timestamp};
use serde_json::json;

statements! {
    OLD = "SELECT n FROM actions WHERE n > $1 AND changed_at < $2 AND state IN ('accepted', 'refused', 'gave_up', \
        'rejected', 'superseded') AND EXISTS (SELECT 1 FROM payloads p WHERE p.action = actions.n AND p.value IS NOT NULL) \
        ORDER BY n LIMIT 100";
    DIGESTS_OF = "SELECT DISTINCT sha256 FROM payload_attachments WHERE action = $1";
    EMPTY_PAYLOADS = "UPDATE payloads SET value = NULL WHERE action = $1 AND value IS NOT NULL";
    EMPTY_WIRES = "UPDATE wires SET bytes = NULL WHERE action = $1 AND bytes IS NOT NULL";
    // Only where no payload that is still there names it.
    EMPTY_ATTACHMENT = "UPDATE attachments SET bytes = NULL WHERE sha256 = $1 AND bytes IS NOT NULL \
        AND NOT EXISTS (SELECT 1 FROM payload_attachments x JOIN payloads p ON p.action = x.action AND p.version = x.version \
        WHERE x.sha256 = $1 AND p.value IS NOT NULL)";
    EMPTY_CONVERSATION = "UPDATE conversations SET value = NULL WHERE hash = $1 AND value IS NOT NULL \
        AND NOT EXISTS (SELECT 1 FROM actions a JOIN payloads p ON p.action = a.n AND p.version = a.payload_version \
        WHERE a.conversation = $1 AND p.value IS NOT NULL)";
    // What it was drafted with last, and what an approval of it was given with before the customer wrote again.
    CONVERSATIONS_OF = "SELECT conversation FROM actions WHERE n = $1 AND conversation IS NOT NULL \
        UNION SELECT conversation FROM approvals WHERE action = $1 AND conversation IS NOT NULL";
    // Replaced before anybody decided anything with it: nothing shows it any more.
    REPLACED = "SELECT hash FROM conversations WHERE value IS NOT NULL \
        AND NOT EXISTS (SELECT 1 FROM actions a WHERE a.conversation = conversations.hash) \
        AND NOT EXISTS (SELECT 1 FROM approvals p WHERE p.conversation = conversations.hash)";
    // What came while an action was under way or in doubt waits in its journal.
    NEWS = "SELECT j.fact FROM actions a JOIN journal j ON j.action = a.n WHERE j.kind = 'wrote_again' \
        AND a.state IN ('in_progress', 'unknown', 'closed_unknown')";
    EMPTY_UNNAMED = "UPDATE conversations SET value = NULL WHERE hash = $1";
    FORGET_PEOPLE = "DELETE FROM action_people WHERE action = $1";
    FORGET_TEXTS = "DELETE FROM kept_texts WHERE action = $1";
    QUEUE = "INSERT INTO index_queue (action) VALUES ($1) ON CONFLICT DO NOTHING";
}

impl Ledger {
    /// Takes the bodies of ended actions that were last changed before `older_than`. In small transactions, so that it
    /// may be stopped at any time.
    pub async fn purge(&self, older_than: Timestamp, by: &PersonId, now: Timestamp) -> Result<Purged, LedgerError> {
        let doing = "purging bodies";
        let mut purged = Purged::default();
        let mut last = 0;
        loop {
            let mut w = self.pools().write(doing, Durable::Full).await?;
            let rows = sqlx::query(OLD)
                .bind(last)
                .bind(older_than.millis())
                .fetch_all(w.conn().await?)
                .await
                .map_err(|e| failed(doing, e))?;
            let Some(row) = rows.last() else { break };
            last = row.int("n")?;
            for row in &rows {
                purged.attachments += one(&mut w, row.int("n")?, by, now).await?;
                purged.actions += 1;
            }
            w.commit(doing).await?;
        }
        if purged.actions > 0 {
            let mut w = self.pools().write(doing, Durable::Full).await?;
            empty_replaced(&mut w).await?;
            w.commit(doing).await?;
        }
        Ok(purged)
    }
}

async fn empty_replaced(w: &mut Write) -> Result<(), LedgerError> {
    let doing = "purging a body";
    let news = sqlx::query(NEWS).fetch_all(w.conn().await?).await.map_err(|e| failed(doing, e))?;
    let news = news.iter().map(|row| row.text("fact")).collect::<Result<Vec<_>, _>>()?;
    let replaced = sqlx::query(REPLACED).fetch_all(w.conn().await?).await.map_err(|e| failed(doing, e))?;
    for row in &replaced {
        let hash = row.text("hash")?;
        if !news.iter().any(|fact| fact.contains(&hash)) {
            sqlx::query(EMPTY_UNNAMED).bind(hash).execute(w.conn().await?).await.map_err(|e| failed(doing, e))?;
        }
    }
    Ok(())
}

async fn one(w: &mut Write, n: i64, by: &PersonId, now: Timestamp) -> Result<u32, LedgerError> {
    let doing = "purging a body";
    let action = Action::get(w.conn().await?, ActionId(n)).await?;
    let digests = sqlx::query(DIGESTS_OF).bind(n).fetch_all(w.conn().await?).await.map_err(|e| failed(doing, e))?;
    for statement in [EMPTY_PAYLOADS, EMPTY_WIRES, FORGET_PEOPLE, FORGET_TEXTS, QUEUE] {
        sqlx::query(statement).bind(n).execute(w.conn().await?).await.map_err(|e| failed(doing, e))?;
    }
    let mut attachments = 0;
    for row in &digests {
        let hit = sqlx::query(EMPTY_ATTACHMENT)
            .bind(row.text("sha256")?)
            .execute(w.conn().await?)
            .await
            .map_err(|e| failed(doing, e))?;
        attachments += hit.rows_affected() as u32;
    }
    let told = sqlx::query(CONVERSATIONS_OF).bind(n).fetch_all(w.conn().await?).await.map_err(|e| failed(doing, e))?;
    for row in &told {
        sqlx::query(EMPTY_CONVERSATION)
            .bind(row.text("conversation")?)
            .execute(w.conn().await?)
            .await
            .map_err(|e| failed(doing, e))?;
    }
    let change = |a: &mut Action| {
        a.who = String::new();
        a.email = String::new();
        a.subject = String::new();
        a.draft_reason = None;
    };
    apply::touch(w, &action, "purged", change, json!({}), &by.0, now).await?;
    Ok(attachments)
}
