//! What else went, may have gone or is about to go to the same thread, person or record, or for the same step of the same
//! request. The same request and step count wherever they go: a source that proposes one step at two destinations, or once
//! as a reply and once as a message of its own, proposes one message twice.

use crate::rows::Get;
use crate::script::{Answer, Said, say};
use crate::tx::{exactly, statements};
use crate::types::Related;
use crate::{Ledger, LedgerError};
use countersign_domain::{ActionId, AttemptId};
use sqlx::any::AnyRow;
use std::collections::BTreeMap;

macro_rules! columns {
    () => {
        "o.n, o.state, o.effect, o.destination, o.attempt, o.last_crossed, o.accepted_at, \
         CAST(CASE WHEN o.delivery = me.delivery THEN 1 ELSE 0 END AS BIGINT) AS same_delivery, \
         CAST(CASE WHEN o.draft_content = me.draft_content THEN 1 ELSE 0 END AS BIGINT) AS same_draft, \
         CAST(CASE WHEN o.source = me.source AND o.request_id = me.request_id AND o.step = me.step THEN 1 ELSE 0 END \
         AS BIGINT) AS same_step, \
         CAST(CASE WHEN o.source = me.source AND o.request_id = me.request_id AND o.step = me.step \
         AND o.destination = me.destination AND o.effect = me.effect THEN 1 ELSE 0 END AS BIGINT) AS revision"
    };
}
// What a customer reads is one effect, whether it goes as a message, as an answer to one or through a ticket.
macro_rules! alike {
    () => {
        " AND o.n <> me.n AND (o.effect = me.effect OR (o.effect IN ('email.send', 'email.reply', 'ticket.reply') \
         AND me.effect IN ('email.send', 'email.reply', 'ticket.reply'))) \
         AND o.state IN ('accepted', 'unknown', 'closed_unknown', 'approved', 'in_progress') ORDER BY o.n DESC LIMIT 200"
    };
}

statements! {
    // CROSS JOIN keeps SQLite to this order: from the newest action on, in the order wanted, it would ask all of them.
    SAME_PEOPLE = concat!("SELECT ", columns!(), ", q.email FROM actions me CROSS JOIN action_people p \
        CROSS JOIN action_people q CROSS JOIN actions o WHERE me.n = $1 AND p.action = me.n AND q.email = p.email \
        AND o.n = q.action AND o.environment = me.environment", alike!());
    SAME_THREAD = concat!("SELECT ", columns!(), " FROM actions me CROSS JOIN actions o WHERE me.n = $1 \
        AND o.environment = me.environment AND o.thread IS NOT NULL AND o.thread = me.thread", alike!());
    SAME_RECORD = concat!("SELECT ", columns!(), " FROM actions me CROSS JOIN actions o WHERE me.n = $1 \
        AND o.environment = me.environment AND o.record_key IS NOT NULL AND o.record_key = me.record_key", alike!());
    SAME_STEP = concat!("SELECT ", columns!(), " FROM actions me CROSS JOIN actions o WHERE me.n = $1 \
        AND o.source = me.source AND o.request_id = me.request_id AND o.step = me.step", alike!());
}

impl Ledger {
    /// Actions with the same effect to the same thread, person or record, or for the same step, that went, may have gone or
    /// are about to go; newest first. Revisions are among them, and say so.
    pub async fn related(&self, id: ActionId) -> Result<Vec<Related>, LedgerError> {
        let (answers, _) = self.pools().view("looking for related actions", said(id).into()).await?;
        of(&exactly(answers))
    }
}

const ALL: [&str; 4] = [SAME_PEOPLE, SAME_THREAD, SAME_RECORD, SAME_STEP];

pub(crate) fn said(id: ActionId) -> [Said; ALL.len()] {
    ALL.map(|statement| say!("looking for related actions", statement, id.0))
}

/// What [`said`] was answered; newest first.
pub(crate) fn of(answers: &[Answer; ALL.len()]) -> Result<Vec<Related>, LedgerError> {
    let mut found: BTreeMap<i64, Related> = BTreeMap::new();
    for (statement, answer) in ALL.into_iter().zip(answers) {
        for row in &answer.rows {
            let related = read(row)?;
            let one = found.entry(related.action.0).or_insert(related);
            match statement {
                SAME_PEOPLE => one.recipient = Some(row.text("email")?),
                SAME_THREAD => one.same_thread = true,
                SAME_RECORD => one.same_record = true,
                _ => {}
            }
        }
    }
    Ok(found.into_values().rev().collect())
}

fn read(row: &AnyRow) -> Result<Related, LedgerError> {
    Ok(Related {
        action: ActionId(row.int("n")?),
        state: row.parsed("state")?,
        effect: row.text("effect")?,
        destination: row.text("destination")?,
        same_thread: false,
        same_record: false,
        same_step: row.flag("same_step")?,
        revision: row.flag("revision")?,
        same_draft: row.flag("same_draft")?,
        attempt: row.int_or_null("attempt")?.map(AttemptId),
        same_delivery: row.flag("same_delivery")?,
        recipient: None,
        went_at: row.time_or_null("last_crossed")?.or(row.time_or_null("accepted_at")?),
    })
}
