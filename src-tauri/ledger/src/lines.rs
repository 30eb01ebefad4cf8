//! Many rows of `actions` at once. Sixty values a row, each handed over by itself, are most of what a page or a search costs
//! on SQLite; there the whole list comes as one JSON text instead.

use crate::LedgerError;
use crate::rows::{Action, Get, action_columns, unreadable};
use crate::script::bound;
use crate::tx::{Conn, Engine, failed};
use serde_json::Value;
use sqlx::{AssertSqlSafe, Row};
use std::collections::HashMap;
use std::sync::LazyLock;

pub(crate) use crate::script::Bind;

/// The actions that `statement` selects, all their columns, in its order; those that can be read. Answers also how many
/// rows there were.
pub(crate) async fn select(
    conn: &mut Conn,
    engine: Engine,
    statement: &'static str,
    binds: &[Bind],
    doing: &'static str,
) -> Result<(Vec<Action>, usize), LedgerError> {
    if engine == Engine::Sqlite
        && let Some(rows) = packed(conn, statement, binds, doing).await?
    {
        return Ok((Action::read_all(&rows)?, rows.len()));
    }
    let rows = bound(sqlx::query(statement), binds).fetch_all(conn).await.map_err(|e| failed(doing, e))?;
    Ok((Action::read_all(&rows)?, rows.len()))
}

/// The list as one text. None where a value cannot be said in JSON: such a damaged row is left to the other way, row by row.
async fn packed(
    conn: &mut Conn,
    statement: &'static str,
    binds: &[Bind],
    doing: &'static str,
) -> Result<Option<Vec<Packed>>, LedgerError> {
    let text =
        format!(concat!("SELECT json_group_array(json_array(", action_columns!(), ")) AS list FROM ({})"), statement);
    let row = match bound(sqlx::query(AssertSqlSafe(text)), binds).fetch_one(conn).await {
        Ok(row) => row,
        Err(e) => {
            return match failed(doing, e) {
                LedgerError::Database { .. } => Ok(None),
                other => Err(other),
            };
        }
    };
    let Ok(text) = row.try_get::<String, _>("list") else { return Ok(None) };
    let Ok(lists) = serde_json::from_str::<Vec<Vec<Value>>>(&text) else { return Ok(None) };
    Ok(Some(lists.into_iter().map(Packed).collect()))
}

/// A row as the values of its columns, in the order of `action_columns`.
struct Packed(Vec<Value>);

static PLACES: LazyLock<HashMap<&'static str, usize>> =
    LazyLock::new(|| action_columns!().split(',').map(str::trim).enumerate().map(|(i, name)| (name, i)).collect());

impl Packed {
    fn value(&self, column: &'static str) -> Result<&Value, LedgerError> {
        PLACES.get(column).and_then(|place| self.0.get(*place)).ok_or_else(|| unreadable(column))
    }
}

impl Get for Packed {
    fn text(&self, column: &'static str) -> Result<String, LedgerError> {
        self.value(column)?.as_str().map(str::to_owned).ok_or_else(|| unreadable(column))
    }
    fn text_or_null(&self, column: &'static str) -> Result<Option<String>, LedgerError> {
        if self.value(column)?.is_null() { Ok(None) } else { self.text(column).map(Some) }
    }
    fn int(&self, column: &'static str) -> Result<i64, LedgerError> {
        self.value(column)?.as_i64().ok_or_else(|| unreadable(column))
    }
    fn int_or_null(&self, column: &'static str) -> Result<Option<i64>, LedgerError> {
        if self.value(column)?.is_null() { Ok(None) } else { self.int(column).map(Some) }
    }
    /// No column of `actions` holds bytes.
    fn bytes_or_null(&self, column: &'static str) -> Result<Option<Vec<u8>>, LedgerError> {
        Err(unreadable(column))
    }
}
