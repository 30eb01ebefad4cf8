//! Copies. Made by the database itself while it is in use, never by copying the file (F10), marked as copies and verified
//! before anybody relies on them.

use crate::tx::{Conn, Engine, Pools, failed};
use crate::types::{Broken, Head};
use crate::{Ledger, LedgerError, directory, journal, place};
use countersign_domain::Timestamp;
use serde_json::json;
use sqlx::Row;
use std::path::Path;

/// The setting that marks a file as a copy. Not in the journal: the copy's head is the original's.
pub(crate) const BACKUP: &str = "backup";

const COPY_SQLITE: &str = "VACUUM INTO $1";
const CHECK_SQLITE: &str = "PRAGMA integrity_check(20)";

pub(crate) const SEAMS: &[(&str, &str, &str, &str)] = &[
    ("backup", "copy a ledger that is in use", COPY_SQLITE, ""),
    ("backup", "whether the file itself is sound", CHECK_SQLITE, ""),
];

impl Ledger {
    /// Writes a verified copy to `to`, which must not exist, and returns the head it holds. On PostgreSQL the server's own
    /// backup is the way.
    pub async fn backup(&self, to: &Path, now: Timestamp) -> Result<Head, LedgerError> {
        let doing = "writing a backup";
        if self.pools().engine != Engine::Sqlite {
            return Err(LedgerError::Place { why: "a team ledger is backed up on its server".into() });
        }
        place::check(to)?;
        if to.exists() {
            return Err(LedgerError::Place { why: format!("{} exists already", to.display()) });
        }
        let target = to.to_str().ok_or_else(|| LedgerError::Place { why: "its name is not valid UTF-8".into() })?;
        {
            let mut conn = self.pools().bare(doing).await?;
            sqlx::query(COPY_SQLITE).bind(target.to_owned()).execute(&mut *conn).await.map_err(|e| failed(doing, e))?;
        }
        let head = finish(to, now).await;
        if head.is_err() {
            // A copy that does not verify must not lie around as one.
            let _ = std::fs::remove_file(to);
        }
        head
    }

    /// Whether this file was made by `backup` and not taken into use since.
    pub async fn is_backup(&self) -> Result<bool, LedgerError> {
        let mut tx = self.pools().bare("reading a setting").await?;
        Ok(directory::setting(&mut tx, BACKUP).await?.is_some_and(|v| !v.is_empty()))
    }
}

async fn finish(copy: &Path, now: Timestamp) -> Result<Head, LedgerError> {
    let doing = "verifying a backup";
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(copy, std::fs::Permissions::from_mode(0o600))
            .map_err(|e| LedgerError::Place { why: format!("{}: {e}", copy.display()) })?;
    }
    let pools = Pools::sqlite(copy, false, false).await?;
    let mut w = pools.write(doing, crate::tx::Durable::Full).await?;
    sqlx::query(directory::PUT_SETTING)
        .bind(BACKUP)
        .bind(json!({ "made_at": now }).to_string())
        .bind(now.millis())
        .bind("countersign")
        .execute(w.conn().await?)
        .await
        .map_err(|e| failed(doing, e))?;
    w.commit(doing).await?;
    let mut broken = Vec::new();
    let head = {
        let mut tx = pools.read(doing).await?;
        check_file(&mut tx, Engine::Sqlite, &mut broken).await?;
        journal::head(&mut tx).await?
    };
    pools.checkpoint().await?;
    pools.leave_log().await?;
    pools.close().await;
    match broken.into_iter().next() {
        Some(b) => Err(LedgerError::corrupt("backup", copy.display(), b.why)),
        None => Ok(head),
    }
}

/// SQLite's own check of the file: pages, indexes, constraints.
pub(crate) async fn check_file(conn: &mut Conn, engine: Engine, broken: &mut Vec<Broken>) -> Result<(), LedgerError> {
    if engine != Engine::Sqlite {
        return Ok(());
    }
    let rows = sqlx::query(CHECK_SQLITE).fetch_all(conn).await.map_err(|e| failed("checking the file", e))?;
    for row in &rows {
        let line: String = row.try_get(0).map_err(|e| failed("checking the file", e))?;
        if line != "ok" {
            broken.push(Broken { what: "file".to_owned(), id: "ledger".to_owned(), why: line });
        }
    }
    Ok(())
}
