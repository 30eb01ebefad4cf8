//! How many people must approve, and what becomes of actions that were approved by fewer.

use crate::rows::{Action, Get};
use crate::tx::{Durable, Write, failed, statements};
use crate::{Ledger, LedgerError, apply, directory};
use countersign_domain::{ActionId, Fact, PersonId, Timestamp};
use serde_json::json;

statements! {
    APPROVED_BY_FEWER = "SELECT a.n FROM actions a WHERE a.environment = $1 AND a.state = 'approved' \
        AND (SELECT COUNT(DISTINCT p.by_whom) FROM approvals p WHERE p.action = a.n AND p.sequence > a.ended_sequence) \
        < CAST($2 AS BIGINT) ORDER BY a.n";
}

impl Ledger {
    /// Sets how many people must approve in an environment. What waits approved by fewer is taken back, so that it does
    /// not wait for ever; it is returned. Fewer than before approves nothing by itself.
    pub async fn set_approvers_needed(
        &self,
        environment: &str,
        needed: u8,
        by: &PersonId,
        now: Timestamp,
    ) -> Result<Vec<ActionId>, LedgerError> {
        let doing = "storing how many must approve";
        let mut w = self.pools().write(doing, Durable::Full).await?;
        let key = format!("{}{environment}", directory::APPROVERS_NEEDED);
        directory::put_setting(&mut w, &key, &needed.to_string(), &by.0, now).await?;
        let rows = sqlx::query(APPROVED_BY_FEWER)
            .bind(environment.to_owned())
            .bind(i64::from(needed))
            .fetch_all(w.conn().await?)
            .await
            .map_err(|e| failed(doing, e))?;
        let mut back = Vec::new();
        for row in rows {
            // No claim takes a damaged row, and `verify` names it.
            let Some(current) = Action::take_if_intact(&mut w, ActionId(row.int("n")?)).await? else { continue };
            take_back(&mut w, &current, &by.0, now).await?;
            back.push(current.id());
        }
        w.commit(doing).await?;
        Ok(back)
    }
}

/// Takes an approval back that too few people gave, and says so on the action.
pub(crate) async fn take_back(w: &mut Write, current: &Action, by: &str, now: Timestamp) -> Result<(), LedgerError> {
    let why = "another approver is needed now; it has to be approved again";
    let change = |a: &mut Action| a.reason = Some(why.to_owned());
    apply::apply(w, current, &Fact::Undone, change, json!({ "reason": why }), by, now).await?;
    Ok(())
}
