//! Lists. Keyset pages over indexes that begin with what is asked for: as fast at a million actions as at a hundred.

use crate::lines::{self, Bind};
use crate::rows::{Action, Get, action_columns};
use crate::tx::{Conn, Engine, failed, statements};
use crate::types::{Cursor, Many, NotTaken, Page, PageFilter, RowRecord, StateCounts};
use crate::{Ledger, LedgerError};
use countersign_domain::{DeliveryId, State};

// A bare parameter as LIMIT, or beside a column that a partial index compares, makes SQLite plan the whole statement anew at
// every use: it hopes to know better once it sees the value. A CAST keeps the plan.
statements! {
    PAGE_BY_STATE = concat!("SELECT ", action_columns!(), " FROM actions WHERE environment = $1 \
        AND state = CAST($2 AS text) AND n < $3 ORDER BY n DESC LIMIT CAST($4 AS bigint)");
    PAGE_BY_STATE_OLDEST = concat!("SELECT ", action_columns!(), " FROM actions WHERE environment = $1 \
        AND state = CAST($2 AS text) AND n > $3 ORDER BY n LIMIT CAST($4 AS bigint)");
    UNREVISED_BY_STATE = concat!("SELECT ", action_columns!(), " FROM actions WHERE environment = $1 \
        AND state = CAST($2 AS text) AND revised = 0 AND n < $3 ORDER BY n DESC LIMIT CAST($4 AS bigint)");
    PAGE = concat!("SELECT ", action_columns!(), " FROM actions WHERE environment = $1 AND n < $2 ORDER BY n DESC \
        LIMIT CAST($3 AS bigint)");
    PAGE_OLDEST = concat!("SELECT ", action_columns!(), " FROM actions WHERE environment = $1 AND n > $2 ORDER BY n \
        LIMIT CAST($3 AS bigint)");
    PAGE_OF_ALL = concat!("SELECT ", action_columns!(), " FROM actions WHERE n < $1 ORDER BY n DESC \
        LIMIT CAST($2 AS bigint)");
    PAGE_OF_ALL_OLDEST = concat!("SELECT ", action_columns!(), " FROM actions WHERE n > $1 ORDER BY n \
        LIMIT CAST($2 AS bigint)");
    ENVIRONMENTS = "SELECT DISTINCT environment FROM destinations ORDER BY environment";
    // Capped: past a thousand nobody reads the number, and each row of it has to be fetched. One row more is fetched than is
    // counted, and tells that the number is one of several.
    COUNT = "SELECT COUNT(*) AS many, CAST(COALESCE(SUM(one), 0) AS BIGINT) AS seen FROM (SELECT COUNT(*) AS one, source, \
        request_id, CASE WHEN request_id IS NULL THEN n ELSE 0 END AS alone FROM (SELECT source, request_id, n FROM actions \
        WHERE environment = $1 AND state = CAST($2 AS text) LIMIT 1001) AS capped GROUP BY 2, 3, 4) AS requests";
    COUNT_TO_REVIEW = "SELECT COUNT(*) AS many, CAST(COALESCE(SUM(one), 0) AS BIGINT) AS seen FROM (SELECT COUNT(*) AS one, source, \
        request_id, CASE WHEN request_id IS NULL THEN n ELSE 0 END AS alone FROM (SELECT source, request_id, n FROM actions \
        WHERE environment = $1 AND state IN ('needs_review', 'refused', 'gave_up') AND revised = 0 \
        LIMIT 1001) AS capped GROUP BY 2, 3, 4) AS requests";
    NOT_TAKEN = "SELECT n, source, at, disposition, reason FROM deliveries \
        WHERE disposition IN ('conflict', 'not_permitted') ORDER BY n DESC LIMIT CAST($1 AS bigint)";
}

impl Ledger {
    /// One page of lines. `limit` is bounded to 500.
    pub async fn page(
        &self,
        filter: &PageFilter,
        after: Option<Cursor>,
        limit: u32,
    ) -> Result<Page<RowRecord>, LedgerError> {
        let engine = self.pools().engine;
        let mut tx = self.pools().read("reading a page").await?;
        let limit = limit.clamp(1, 500);
        let from = after.map_or(if filter.oldest_first { 0 } else { i64::MAX }, |c| c.0);
        let mut rows = Vec::new();
        let mut more = false;
        if filter.states.is_empty() {
            (rows, more) = some(&mut tx, engine, filter, None, from, limit).await?;
        } else {
            // One indexed range per environment and state, merged: no sort over everything.
            for environment in environments(&mut tx, filter).await? {
                let one = PageFilter { environment: Some(environment), ..filter.clone() };
                for state in &filter.states {
                    let (found, goes_on) = some(&mut tx, engine, &one, Some(*state), from, limit).await?;
                    rows.extend(found);
                    more |= goes_on;
                }
            }
            rows.sort_by_key(|a| if filter.oldest_first { a.n } else { -a.n });
        }
        Ok(page_of(rows, limit, more))
    }

    /// One page of the lines of these states that no revision follows, newest first.
    pub async fn page_unrevised(
        &self,
        environment: &str,
        states: &[State],
        after: Option<Cursor>,
        limit: u32,
    ) -> Result<Page<RowRecord>, LedgerError> {
        let doing = "reading a page";
        let mut tx = self.pools().read(doing).await?;
        let limit = limit.clamp(1, 500);
        let mut rows = Vec::new();
        let mut more = false;
        for state in states {
            let binds = [
                Bind::Text(environment.to_owned()),
                Bind::Text(state.name().to_owned()),
                Bind::Int(after.map_or(i64::MAX, |c| c.0)),
                Bind::Int(i64::from(limit) + 1),
            ];
            let (found, many) = lines::select(&mut tx, self.pools().engine, UNREVISED_BY_STATE, &binds, doing).await?;
            more |= many > limit as usize;
            rows.extend(found);
        }
        rows.sort_by_key(|a| -a.n);
        Ok(page_of(rows, limit, more))
    }

    /// Requests with at least one action in each view. Counted up to a thousand actions of a state.
    pub async fn counts(&self, environment: &str) -> Result<StateCounts, LedgerError> {
        let mut tx = self.pools().read("counting").await?;
        let mut many = [Many::default(); 5];
        let states =
            [Some(State::Prepared), Some(State::Approved), Some(State::InProgress), Some(State::Unknown), None];
        for (count, state) in many.iter_mut().zip(states) {
            let mut query =
                sqlx::query(if state.is_some() { COUNT } else { COUNT_TO_REVIEW }).bind(environment.to_owned());
            if let Some(state) = state {
                query = query.bind(state.name());
            }
            let row = query.fetch_one(&mut *tx).await.map_err(|e| failed("counting", e))?;
            *count = Many::of(row.num("many")?, row.num("seen")?);
        }
        let [awaiting, approved, in_progress, unknown, needs_review] = many;
        Ok(StateCounts { awaiting, on_the_way: approved.and(in_progress), unknown, needs_review })
    }

    /// Deliveries that were recorded but not taken, newest first.
    pub async fn not_taken(&self, limit: u32) -> Result<Vec<NotTaken>, LedgerError> {
        let mut tx = self.pools().bare("reading what was not taken").await?;
        let rows = sqlx::query(NOT_TAKEN)
            .bind(i64::from(limit.clamp(1, 500)))
            .fetch_all(&mut *tx)
            .await
            .map_err(|e| failed("reading what was not taken", e))?;
        rows.iter()
            .map(|r| {
                Ok(NotTaken {
                    delivery: DeliveryId(r.int("n")?),
                    source: r.text("source")?,
                    at: r.time("at")?,
                    disposition: r.text("disposition")?,
                    reason: r.text_or_null("reason")?.unwrap_or_default(),
                })
            })
            .collect()
    }
}

/// `more`: the database had more rows than were asked for, also where a damaged one among them was left out.
pub(crate) fn page_of(mut rows: Vec<Action>, limit: u32, more: bool) -> Page<RowRecord> {
    let more = more || rows.len() > limit as usize;
    rows.truncate(limit as usize);
    let next = rows.last().filter(|_| more).map(|a| Cursor(a.n));
    Page { rows: rows.into_iter().map(Action::line).collect(), next }
}

/// The environment asked for, or every one that has or had a destination.
async fn environments(conn: &mut Conn, filter: &PageFilter) -> Result<Vec<String>, LedgerError> {
    if let Some(environment) = &filter.environment {
        return Ok(vec![environment.clone()]);
    }
    let rows = sqlx::query(ENVIRONMENTS).fetch_all(conn).await.map_err(|e| failed("reading environments", e))?;
    rows.iter().map(|r| r.text("environment")).collect()
}

async fn some(
    conn: &mut Conn,
    engine: Engine,
    filter: &PageFilter,
    state: Option<State>,
    from: i64,
    limit: u32,
) -> Result<(Vec<Action>, bool), LedgerError> {
    let statement = match (&filter.environment, state.is_some(), filter.oldest_first) {
        (Some(_), true, false) => PAGE_BY_STATE,
        (Some(_), true, true) => PAGE_BY_STATE_OLDEST,
        (Some(_), false, false) => PAGE,
        (Some(_), false, true) => PAGE_OLDEST,
        (None, _, false) => PAGE_OF_ALL,
        (None, _, true) => PAGE_OF_ALL_OLDEST,
    };
    let mut binds: Vec<Bind> = filter.environment.iter().cloned().map(Bind::Text).collect();
    binds.extend(state.filter(|_| filter.environment.is_some()).map(|s| Bind::Text(s.name().to_owned())));
    binds.extend([Bind::Int(from), Bind::Int(i64::from(limit) + 1)]);
    let (rows, many) = lines::select(conn, engine, statement, &binds, "reading a page").await?;
    Ok((rows, many > limit as usize))
}
