//! What a worker has to do after its attempts, and when something falls due by itself, so that an idle one can rest until
//! then.

use crate::rows::Get;
use crate::script::say;
use crate::tx::{exactly, failed, statements};
use crate::types::Head;
use crate::{Ledger, LedgerError, journal};
use countersign_domain::Timestamp;

statements! {
    // Each part reads an index that holds only what waits.
    NEXT_DUE = "SELECT MIN(due.at) AS at FROM (SELECT MIN(not_before) AS at FROM actions WHERE state = 'approved' \
        UNION ALL SELECT MIN(expires_at) FROM actions WHERE state = 'approved' \
        UNION ALL SELECT MIN(next_look) FROM actions WHERE state = 'unknown' \
        UNION ALL SELECT MIN(next_at) FROM filings WHERE next_at IS NOT NULL \
        UNION ALL SELECT MIN(next_at) FROM outcome_calls WHERE next_at IS NOT NULL) AS due";
    FOLLOWS = "SELECT (SELECT value FROM settings WHERE key = 'frozen') AS frozen, \
        CAST(CASE WHEN EXISTS (SELECT 1 FROM filings WHERE next_at IS NOT NULL AND next_at <= $1) \
        THEN 1 ELSE 0 END AS BIGINT) AS filings, \
        CAST(CASE WHEN EXISTS (SELECT 1 FROM index_queue) THEN 1 ELSE 0 END AS BIGINT) AS to_index, \
        CAST(CASE WHEN EXISTS (SELECT 1 FROM outcome_calls WHERE next_at IS NOT NULL AND next_at <= $1) \
        THEN 1 ELSE 0 END AS BIGINT) AS outcomes";
    HELD = "SELECT n FROM actions WHERE environment = $1 AND state = 'approved' LIMIT 1";
    // What rides on a later sync may be gone after a power cut.
    SYNCED = "SELECT seq, hash FROM journal WHERE seq > $1 AND kind NOT IN ('claimed', 'repeated', 'filing', \
        'destination_paused', 'destination_resumed') ORDER BY seq DESC LIMIT 1";
}

/// What is left to do after a round of attempts.
#[derive(Clone, Debug)]
pub struct Follows {
    /// Why dispatch is frozen, as stored; None where it is not.
    pub frozen: Option<String>,
    /// The newest journal row that is certainly on disk, where there is one after the row that was asked from.
    pub synced: Option<Head>,
    /// A copy is to be filed, an action to be indexed, an outcome to be told.
    pub filings: bool,
    pub to_index: bool,
    pub outcomes: bool,
    /// Of the environments that were asked for, those in which something is approved.
    pub held: Vec<String>,
}

impl Ledger {
    /// `after`: the journal row up to which the caller knows; `off`: the environments that do not send.
    pub async fn follows(&self, after: i64, off: &[String], now: Timestamp) -> Result<Follows, LedgerError> {
        let doing = "looking for what follows";
        let mut script = vec![say!(doing, FOLLOWS, now.millis()), say!(doing, SYNCED, after)];
        script.extend(off.iter().map(|environment| say!(doing, HELD, environment)));
        let (mut answers, _) = self.pools().view(doing, script).await?;
        let held = answers.split_off(2);
        let [follows, synced] = exactly(answers);
        let row = follows.one(doing)?;
        Ok(Follows {
            frozen: row.text_or_null("frozen")?.filter(|word| !word.is_empty()),
            synced: synced.first().map(journal::read_head).transpose()?,
            filings: row.flag("filings")?,
            to_index: row.flag("to_index")?,
            outcomes: row.flag("outcomes")?,
            held: off.iter().zip(&held).filter(|(_, a)| a.first().is_some()).map(|(e, _)| e.clone()).collect(),
        })
    }

    /// The earliest moment at which an approved action may go or is too old, an unknown one is asked about, a copy is filed
    /// or a source is told. It may lie in the past, where something due is held up. None where nothing waits for a time.
    pub async fn next_due(&self) -> Result<Option<Timestamp>, LedgerError> {
        let doing = "reading what falls due next";
        let mut tx = self.pools().bare(doing).await?;
        let row = sqlx::query(NEXT_DUE).fetch_one(&mut *tx).await.map_err(|e| failed(doing, e))?;
        row.time_or_null("at")
    }
}
