//! Statements with their values, and several of them said in one trip.
//!
//! sqlx keeps a SQLite connection on a thread of its own. The way there and back costs more than most of our statements do,
//! so a transaction says what it can at once: what it needs to know, then what it has to write, the last of it together
//! with its commit. On PostgreSQL the same statements are said one after another.

use crate::LedgerError;
use crate::tx::{Conn, Engine, engine_of, failed};
use futures_util::TryStreamExt;
use sqlx::any::{AnyArguments, AnyRow};
use sqlx::error::ErrorKind;
use sqlx::query::Query;
use sqlx::{Any, AssertSqlSafe, Either, Executor};

/// What `$1`, `$2` … of a statement stand for.
#[derive(Clone, Debug)]
pub(crate) enum Bind {
    Text(String),
    Int(i64),
    Bytes(Vec<u8>),
    NoText,
    NoInt,
}

impl From<i64> for Bind {
    fn from(n: i64) -> Bind {
        Bind::Int(n)
    }
}
impl From<u32> for Bind {
    fn from(n: u32) -> Bind {
        Bind::Int(n.into())
    }
}
impl From<u8> for Bind {
    fn from(n: u8) -> Bind {
        Bind::Int(n.into())
    }
}
impl From<bool> for Bind {
    fn from(yes: bool) -> Bind {
        Bind::Int(yes.into())
    }
}
impl From<String> for Bind {
    fn from(text: String) -> Bind {
        Bind::Text(text)
    }
}
impl From<&str> for Bind {
    fn from(text: &str) -> Bind {
        Bind::Text(text.to_owned())
    }
}
impl From<&String> for Bind {
    fn from(text: &String) -> Bind {
        Bind::Text(text.clone())
    }
}
impl From<Vec<u8>> for Bind {
    fn from(bytes: Vec<u8>) -> Bind {
        Bind::Bytes(bytes)
    }
}
impl From<Option<i64>> for Bind {
    fn from(n: Option<i64>) -> Bind {
        n.map_or(Bind::NoInt, Bind::Int)
    }
}
impl From<Option<String>> for Bind {
    fn from(text: Option<String>) -> Bind {
        text.map_or(Bind::NoText, Bind::Text)
    }
}
impl From<&Option<String>> for Bind {
    fn from(text: &Option<String>) -> Bind {
        text.clone().into()
    }
}

/// A statement with its values.
#[derive(Debug)]
pub(crate) struct Said {
    text: &'static str,
    binds: Vec<Bind>,
    /// For the error.
    doing: &'static str,
    /// What it means where a constraint turns it down.
    clash: Option<LedgerError>,
}

impl Said {
    pub(crate) fn new(doing: &'static str, text: &'static str, binds: Vec<Bind>) -> Said {
        Said { text, binds, doing, clash: None }
    }

    pub(crate) fn clashing(mut self, clash: impl Into<LedgerError>) -> Said {
        self.clash = Some(clash.into());
        self
    }
}

/// `say!(DOING, STATEMENT, $1, $2 …)`.
macro_rules! say {
    ($doing:expr, $text:expr $(, $bind:expr)* $(,)?) => {
        $crate::script::Said::new($doing, $text, vec![$($crate::script::Bind::from($bind)),*])
    };
}
pub(crate) use say;

/// What came of one statement.
#[derive(Default)]
pub(crate) struct Answer {
    pub rows: Vec<AnyRow>,
    /// Rows that it changed.
    pub hit: u64,
}

impl Answer {
    pub(crate) fn first(&self) -> Option<&AnyRow> {
        self.rows.first()
    }

    /// The row of a statement that always gives one.
    pub(crate) fn one(&self, doing: &'static str) -> Result<&AnyRow, LedgerError> {
        self.rows.first().ok_or_else(|| failed(doing, sqlx::Error::RowNotFound))
    }
}

/// Where a trip broke off. Nothing behind that was said.
pub(crate) struct Broke {
    /// Place of the statement; none for what begins or ends the transaction.
    pub at: Option<usize>,
    /// It was the beginning: there is no transaction.
    pub begun: bool,
    pub source: sqlx::Error,
}

impl Broke {
    pub(crate) fn error(self, all: &mut [Said], doing: &'static str) -> LedgerError {
        let Some(said) = self.at.and_then(|at| all.get_mut(at)) else { return failed(doing, self.source) };
        let refused = matches!(&self.source, sqlx::Error::Database(e)
            if matches!(e.kind(), ErrorKind::UniqueViolation | ErrorKind::CheckViolation));
        match said.clash.take().filter(|_| refused) {
            Some(clash) => clash,
            None => failed(said.doing, self.source),
        }
    }
}

/// Says `all` in their order, between `begin` and `end` where these are given.
pub(crate) async fn trip(
    conn: &mut Conn,
    begin: Option<&'static str>,
    all: &[Said],
    end: Option<&'static str>,
) -> Result<Vec<Answer>, Broke> {
    let edges = usize::from(begin.is_some()) + usize::from(end.is_some());
    if engine_of(conn) == Engine::Postgres || all.len() + edges < 2 {
        return one_by_one(conn, begin, all, end).await;
    }
    let ahead = usize::from(begin.is_some());
    let mut text = String::new();
    let mut binds = 0;
    for part in begin.into_iter().map(|t| (t, 0)).chain(all.iter().map(|s| (s.text, s.binds.len()))) {
        numbered_on(&mut text, part.0, binds);
        text.push_str(";\n");
        binds += part.1;
    }
    text.push_str(end.unwrap_or_default());
    let query = bound(sqlx::query(AssertSqlSafe(text)), all.iter().flat_map(|s| &s.binds));
    let mut answers = vec![Answer::default()];
    let broke = {
        let mut results = conn.fetch_many(query);
        loop {
            match results.try_next().await {
                Ok(Some(Either::Right(row))) => answers.last_mut().expect("never empty").rows.push(row),
                Ok(Some(Either::Left(done))) => {
                    answers.last_mut().expect("never empty").hit = done.rows_affected();
                    answers.push(Answer::default());
                }
                Ok(None) => break None,
                Err(source) => break Some(source),
            }
        }
    };
    // The last one is what would have come next.
    answers.pop();
    if let Some(source) = broke {
        let at = answers.len().checked_sub(ahead).filter(|at| *at < all.len());
        return Err(Broke { at, begun: begin.is_none() || !answers.is_empty(), source });
    }
    answers.drain(..ahead);
    answers.truncate(all.len());
    Ok(answers)
}

async fn one_by_one(
    conn: &mut Conn,
    begin: Option<&'static str>,
    all: &[Said],
    end: Option<&'static str>,
) -> Result<Vec<Answer>, Broke> {
    if let Some(begin) = begin {
        let begun = sqlx::raw_sql(begin).execute(&mut *conn).await;
        begun.map_err(|source| Broke { at: None, begun: false, source })?;
    }
    let mut answers = Vec::with_capacity(all.len());
    for (at, said) in all.iter().enumerate() {
        let broke = |source| Broke { at: Some(at), begun: true, source };
        let mut answer = Answer::default();
        let mut results = conn.fetch_many(bound(sqlx::query(said.text), &said.binds));
        while let Some(result) = results.try_next().await.map_err(broke)? {
            match result {
                Either::Right(row) => answer.rows.push(row),
                Either::Left(done) => answer.hit += done.rows_affected(),
            }
        }
        answers.push(answer);
    }
    if let Some(end) = end {
        let ended = sqlx::raw_sql(end).execute(&mut *conn).await;
        ended.map_err(|source| Broke { at: None, begun: true, source })?;
    }
    Ok(answers)
}

pub(crate) fn bound<'q, 'b>(
    mut query: Query<'q, Any, AnyArguments>,
    binds: impl IntoIterator<Item = &'b Bind>,
) -> Query<'q, Any, AnyArguments> {
    for bind in binds {
        query = match bind {
            Bind::Text(text) => query.bind(text.clone()),
            Bind::Int(n) => query.bind(*n),
            Bind::Bytes(bytes) => query.bind(bytes.clone()),
            Bind::NoText => query.bind(None::<String>),
            Bind::NoInt => query.bind(None::<i64>),
        };
    }
    query
}

/// Appends a statement, its `$1` … counted on from `from`: the values of all statements are one list. None of our statements
/// has a `$` in a text.
fn numbered_on(out: &mut String, statement: &str, from: usize) {
    let mut parts = statement.split('$');
    out.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        let n: usize = part[..digits].parse().unwrap_or_default();
        out.push('$');
        out.push_str(&(n + from).to_string());
        out.push_str(&part[digits..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_values_of_several_statements_are_counted_through() {
        let mut text = String::new();
        numbered_on(&mut text, "SELECT a FROM t WHERE n = $1 AND m = CAST($2 AS bigint)", 0);
        numbered_on(&mut text, "; UPDATE t SET a = $2 WHERE n = $1", 12);
        assert_eq!(text, "SELECT a FROM t WHERE n = $1 AND m = CAST($2 AS bigint); UPDATE t SET a = $14 WHERE n = $13");
    }
}
