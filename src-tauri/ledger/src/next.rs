//! When something falls due by itself, so that an idle worker can rest until then.

use crate::rows::Get;
use crate::tx::{failed, statements};
use crate::{Ledger, LedgerError};
use countersign_domain::Timestamp;

statements! {
    // Each part reads an index that holds only what waits.
    NEXT_DUE = "SELECT MIN(due.at) AS at FROM (SELECT MIN(not_before) AS at FROM actions WHERE state = 'approved' \
        UNION ALL SELECT MIN(expires_at) FROM actions WHERE state = 'approved' \
        UNION ALL SELECT MIN(next_look) FROM actions WHERE state = 'unknown' \
        UNION ALL SELECT MIN(next_at) FROM filings WHERE next_at IS NOT NULL \
        UNION ALL SELECT MIN(next_at) FROM outcome_calls WHERE next_at IS NOT NULL) AS due";
}

impl Ledger {
    /// The earliest moment at which an approved action may go or is too old, an unknown one is asked about, a copy is filed
    /// or a source is told. It may lie in the past, where something due is held up. None where nothing waits for a time.
    pub async fn next_due(&self) -> Result<Option<Timestamp>, LedgerError> {
        let doing = "reading what falls due next";
        let mut tx = self.pools().bare(doing).await?;
        let row = sqlx::query(NEXT_DUE).fetch_one(&mut *tx).await.map_err(|e| failed(doing, e))?;
        row.time_or_null("at")
    }
}
