//! Counts over a range of time: the chart of History and the Insights view. Each starts at the first action since then and
//! walks that range of an index; nothing here is a fact of its own, every number is rows counted.

use crate::rows::{Get, read_json};
use crate::search::first_since;
use crate::tx::{Conn, failed, statements};
use crate::{Ledger, LedgerError};
use countersign_domain::{Receipt, State, Timestamp};

/// What every zone's offset from UTC is a multiple of, in milliseconds: whoever draws days adds quarters up to their own.
pub const QUARTER: i64 = 15 * 60 * 1000;
/// Time from draft to approval, in milliseconds: a bucket ends below each of these, the last one is open.
const BUCKET_ENDS: [i64; 5] = [300_000, 900_000, 3_600_000, 14_400_000, 86_400_000];
/// So many unclear actions are told one by one; nobody has more.
const UNCLEAR_MOST: i64 = 10_000;

// From a source's draft to the first approval of the action.
macro_rules! took {
    () => {
        "(SELECT p.at - (SELECT MAX(d.at) FROM payloads d WHERE d.action = a.n AND d.version <= p.payload_version \
            AND d.by_whom LIKE 'source %') AS took FROM actions a JOIN approvals p ON p.action = a.n AND p.sequence = 1 \
            WHERE a.environment = $1 AND a.n >= $2) AS times WHERE took IS NOT NULL"
    };
}

statements! {
    TALLY = "SELECT state, changed_at / 900000 AS quarter, COUNT(*) AS many FROM actions WHERE environment = $1 \
        AND n >= $2 AND state NOT IN ('prepared', 'needs_review') AND ($3 = '' OR destination = $3) \
        GROUP BY state, changed_at / 900000 ORDER BY quarter, state";
    // The first is answered by an index alone.
    EVERY_STATE = "SELECT state, COUNT(*) AS many FROM actions WHERE environment = $1 GROUP BY state";
    EVERY_STATE_THERE = "SELECT state, COUNT(*) AS many FROM actions WHERE environment = $1 AND destination = $2 \
        GROUP BY state";
    WENT_UNKNOWN = "SELECT quarter, COUNT(*) AS many FROM (SELECT DISTINCT a.n, a.changed_at / 900000 AS quarter \
        FROM actions a JOIN attempts t ON t.action = a.n WHERE a.environment = $1 AND a.n >= $2 AND t.outcome = 'unclear' \
        AND ($3 = '' OR a.destination = $3)) AS went GROUP BY quarter ORDER BY quarter";
    STILL_ASKED = "SELECT COUNT(*) AS many FROM actions WHERE environment = $1 AND state = 'unknown' AND n >= $2 \
        AND ($3 = '' OR destination = $3) AND next_look IS NOT NULL";
    TWO_RECEIPTS = "SELECT COUNT(*) AS many FROM (SELECT t.action FROM actions a JOIN attempts t ON t.action = a.n \
        WHERE a.environment = $1 AND a.n >= $2 AND ($3 = '' OR a.destination = $3) AND t.outcome = 'accepted' \
        GROUP BY t.action HAVING COUNT(*) > 1) AS twice";
    TIMES = concat!("SELECT COUNT(*) AS many, \
        CAST(COALESCE(SUM(CASE WHEN took < $3 THEN 1 ELSE 0 END), 0) AS BIGINT) AS below_1, \
        CAST(COALESCE(SUM(CASE WHEN took < $4 THEN 1 ELSE 0 END), 0) AS BIGINT) AS below_2, \
        CAST(COALESCE(SUM(CASE WHEN took < $5 THEN 1 ELSE 0 END), 0) AS BIGINT) AS below_3, \
        CAST(COALESCE(SUM(CASE WHEN took < $6 THEN 1 ELSE 0 END), 0) AS BIGINT) AS below_4, \
        CAST(COALESCE(SUM(CASE WHEN took < $7 THEN 1 ELSE 0 END), 0) AS BIGINT) AS below_5 FROM ", took!());
    MEDIAN_TIME = concat!("SELECT took FROM ", took!(), " ORDER BY took LIMIT 1 OFFSET $3");
    UNCLEAR = "SELECT a.n, a.state, a.receipt, a.accepted_at, MIN(t.closed_at) AS since FROM actions a \
        JOIN attempts t ON t.action = a.n WHERE a.environment = $1 AND a.n >= $2 AND t.outcome = 'unclear' \
        GROUP BY a.n, a.state, a.receipt, a.accepted_at ORDER BY a.n DESC LIMIT CAST($3 AS bigint)";
    AS_WRITTEN = "SELECT a.source, COUNT(*) AS many, \
        CAST(SUM(CASE WHEN d.by_whom LIKE 'source %' THEN 1 ELSE 0 END) AS BIGINT) AS written FROM actions a \
        JOIN approvals p ON p.action = a.n JOIN payloads d ON d.action = a.n AND d.version = p.payload_version \
        WHERE a.environment = $1 AND a.n >= $2 AND a.revises IS NULL \
        AND p.sequence = (SELECT MAX(q.sequence) FROM approvals q WHERE q.action = a.n) \
        GROUP BY a.source ORDER BY many DESC, a.source LIMIT 50";
    CHECKS = "SELECT c.code, COUNT(*) AS many FROM actions a JOIN cleared c ON c.action = a.n WHERE a.environment = $1 \
        AND a.n >= $2 GROUP BY c.code ORDER BY many DESC, c.code LIMIT 50";
}

/// How many actions last changed in one quarter of an hour, by the state they are in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuarterCount {
    pub start: Timestamp,
    /// None: not a state of its own, but had an unclear attempt, whatever came of it.
    pub state: Option<State>,
    pub many: u32,
}

/// What a range of History holds, counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub quarters: Vec<QuarterCount>,
    /// Unknown, and still being asked.
    pub asked: u32,
    /// Actions with two attempts that were accepted: none, unless something is very wrong.
    pub two_receipts: u32,
}

/// From a source's draft to the approval.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApprovalTimes {
    pub many: u32,
    /// Under 5 minutes, 15 minutes, an hour, 4 hours, a day, longer.
    pub buckets: Vec<u32>,
    /// Milliseconds.
    pub median: Option<i64>,
}

/// An action that had an unclear attempt, and what it is now.
#[derive(Clone, Debug, PartialEq)]
pub struct WasUnclear {
    pub state: State,
    pub receipt: Option<Receipt>,
    pub accepted_at: Option<Timestamp>,
    /// When the first unclear attempt was closed.
    pub since: Timestamp,
}

/// Approved actions of one source: how many, and how many of them as the source wrote them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceShare {
    pub source: String,
    pub approved: u32,
    pub as_written: u32,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Insights {
    pub times: ApprovalTimes,
    pub unclear: Vec<WasUnclear>,
    pub sources: Vec<SourceShare>,
    /// Checks that a person made before approving, by their code.
    pub checks: Vec<(String, u32)>,
}

impl Ledger {
    /// Counts what History holds of an environment since `from`: the actions that came in since then, each at the time
    /// and in the state it has now, so that they add up to the rows of the list.
    pub async fn tally(
        &self,
        environment: &str,
        from: Timestamp,
        destination: Option<&str>,
    ) -> Result<Tally, LedgerError> {
        let doing = "counting outcomes";
        let mut tx = self.pools().read(doing).await?;
        let Some(first) = first_since(&mut tx, from).await? else { return Ok(Tally::default()) };
        let at = |statement| {
            sqlx::query(statement)
                .bind(environment.to_owned())
                .bind(first)
                .bind(destination.unwrap_or_default().to_owned())
        };
        let mut quarters = Vec::new();
        for row in at(TALLY).fetch_all(&mut *tx).await.map_err(|e| failed(doing, e))? {
            let start = Timestamp::from_millis(row.int("quarter")?.saturating_mul(QUARTER));
            quarters.push(QuarterCount { start, state: Some(row.parsed("state")?), many: row.num("many")? });
        }
        for row in at(WENT_UNKNOWN).fetch_all(&mut *tx).await.map_err(|e| failed(doing, e))? {
            let start = Timestamp::from_millis(row.int("quarter")?.saturating_mul(QUARTER));
            quarters.push(QuarterCount { start, state: None, many: row.num("many")? });
        }
        let asked = at(STILL_ASKED).fetch_one(&mut *tx).await.map_err(|e| failed(doing, e))?.num("many")?;
        let two_receipts = at(TWO_RECEIPTS).fetch_one(&mut *tx).await.map_err(|e| failed(doing, e))?.num("many")?;
        Ok(Tally { quarters, asked, two_receipts })
    }

    /// How many actions of an environment are in each state, whenever they came in.
    pub async fn state_counts(
        &self,
        environment: &str,
        destination: Option<&str>,
    ) -> Result<Vec<(State, u32)>, LedgerError> {
        let doing = "counting states";
        let mut conn = self.pools().bare(doing).await?;
        let mut query = sqlx::query(if destination.is_some() { EVERY_STATE_THERE } else { EVERY_STATE });
        query = query.bind(environment.to_owned());
        if let Some(destination) = destination {
            query = query.bind(destination.to_owned());
        }
        let rows = query.fetch_all(&mut *conn).await.map_err(|e| failed(doing, e))?;
        rows.iter().map(|row| Ok((row.parsed("state")?, row.num("many")?))).collect()
    }

    /// What can be learnt from the actions of an environment that came in since `from`.
    pub async fn insights(&self, environment: &str, from: Timestamp) -> Result<Insights, LedgerError> {
        let doing = "counting for insights";
        let mut tx = self.pools().read(doing).await?;
        let Some(first) = first_since(&mut tx, from).await? else {
            let times = ApprovalTimes { buckets: vec![0; BUCKET_ENDS.len() + 1], ..ApprovalTimes::default() };
            return Ok(Insights { times, ..Insights::default() });
        };
        let at = |statement| sqlx::query(statement).bind(environment.to_owned()).bind(first);
        let times = times(&mut tx, environment, first).await?;
        let mut unclear = Vec::new();
        for row in at(UNCLEAR).bind(UNCLEAR_MOST).fetch_all(&mut *tx).await.map_err(|e| failed(doing, e))? {
            unclear.push(WasUnclear {
                state: row.parsed("state")?,
                receipt: read_json(&row, "receipt")?,
                accepted_at: row.time_or_null("accepted_at")?,
                since: row.time("since")?,
            });
        }
        let mut sources = Vec::new();
        for row in at(AS_WRITTEN).fetch_all(&mut *tx).await.map_err(|e| failed(doing, e))? {
            sources.push(SourceShare {
                source: row.text("source")?,
                approved: row.num("many")?,
                as_written: row.num("written")?,
            });
        }
        let mut checks = Vec::new();
        for row in at(CHECKS).fetch_all(&mut *tx).await.map_err(|e| failed(doing, e))? {
            checks.push((row.text("code")?, row.num("many")?));
        }
        Ok(Insights { times, unclear, sources, checks })
    }
}

async fn times(conn: &mut Conn, environment: &str, first: i64) -> Result<ApprovalTimes, LedgerError> {
    let doing = "counting times to approve";
    let mut query = sqlx::query(TIMES).bind(environment.to_owned()).bind(first);
    for end in BUCKET_ENDS {
        query = query.bind(end);
    }
    let row = query.fetch_one(&mut *conn).await.map_err(|e| failed(doing, e))?;
    let many: u32 = row.num("many")?;
    let ends =
        [row.num("below_1")?, row.num("below_2")?, row.num("below_3")?, row.num("below_4")?, row.num("below_5")?];
    let mut below = 0;
    let mut buckets = Vec::with_capacity(BUCKET_ENDS.len() + 1);
    for end in ends.into_iter().chain([many]) {
        buckets.push(u32::saturating_sub(end, below));
        below = end;
    }
    let mut median = None;
    if many > 0 {
        let row = sqlx::query(MEDIAN_TIME)
            .bind(environment.to_owned())
            .bind(first)
            .bind(i64::from((many - 1) / 2))
            .fetch_one(&mut *conn)
            .await
            .map_err(|e| failed(doing, e))?;
        median = Some(row.int("took")?);
    }
    Ok(ApprovalTimes { many, buckets, median })
}
