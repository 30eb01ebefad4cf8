//! The anchor: one row per commit in SQLite's WAL with synchronous=FULL, through the same library as the ledger.

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection};
use std::path::Path;
use std::time::{Duration, Instant};

pub struct Raw(SqliteConnection);

impl Raw {
    pub async fn open(dir: &Path) -> anyhow::Result<Raw> {
        let mut c = SqliteConnectOptions::new()
            .filename(dir.join("raw.db"))
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .connect()
            .await?;
        sqlx::query("CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY, a INT, b TEXT)").execute(&mut c).await?;
        Ok(Raw(c))
    }

    pub async fn commit(&mut self) -> anyhow::Result<Duration> {
        let began = Instant::now();
        let mut tx = self.0.begin_with("BEGIN IMMEDIATE").await?;
        sqlx::query("INSERT INTO t (a, b) VALUES (1, 'x')").execute(&mut *tx).await?;
        tx.commit().await?;
        Ok(began.elapsed())
    }

    /// Median of `n` commits in a row, in milliseconds, and how many a second that makes.
    pub async fn slice(&mut self, n: usize) -> anyhow::Result<(f64, f64)> {
        let began = Instant::now();
        let mut each = Vec::with_capacity(n);
        for _ in 0..n {
            each.push(crate::stats::millis(self.commit().await?));
        }
        let rate = n as f64 / began.elapsed().as_secs_f64();
        Ok((crate::stats::median(&mut each), rate))
    }
}
