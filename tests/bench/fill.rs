//! A ledger with many actions, written past the product for speed: two real actions (one accepted, one waiting) are the
//! templates, their rows are copied with other numbers, names and texts. The journal is not part of it, so such a ledger
//! serves for reading only.

use crate::sink::Sink;
use crate::stage::{Secrets, Stage};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Row};
use std::path::Path;

pub const SEED: u64 = 20_261_130;
/// Of so many actions one waits for a person; the others were accepted.
const ONE_WAITS_IN: i64 = 50;

/// Words as people use them: few often, most seldom (Zipf over 40,000).
pub struct Words(u64);

impl Words {
    pub fn new(seed: u64) -> Words {
        Words(seed.max(1))
    }
    fn random(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
    /// A rank from 1 on; the density falls with the rank.
    pub fn rank(&mut self) -> u64 {
        (40_000f64.powf(self.random())) as u64
    }
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + (self.random() * (high - low) as f64) as u64
    }
    /// The word of a rank: syllables, so that prefixes are shared as in a language.
    pub fn word(rank: u64) -> String {
        const SYLLABLES: [&str; 16] =
            ["ba", "ce", "di", "fo", "gu", "la", "me", "ni", "po", "ru", "sa", "te", "vi", "wo", "xu", "za"];
        let mut left = rank;
        let mut word = String::new();
        while left > 0 || word.len() < 4 {
            word.push_str(SYLLABLES[(left % 16) as usize]);
            left /= 16;
        }
        word
    }
    pub fn text(&mut self, words: usize) -> String {
        (0..words).map(|_| Words::word(self.rank())).collect::<Vec<_>>().join(" ")
    }
}

/// Fills the home in `dir` (made if need be) up to `count` actions.
pub async fn home(dir: &Path, count: i64, secrets: Secrets) -> anyhow::Result<()> {
    let sink = Sink::start(None)?;
    let mut stage = Stage::set(dir, sink.addr, secrets).await?;
    let (id, hash) = stage.propose().await?;
    stage.approve(&id, &hash).await?;
    stage.dispatch(&id).await?;
    stage.propose().await?;
    stage.close().await;
    let mut db = SqliteConnectOptions::new()
        .filename(dir.join("home/ledger.db"))
        .foreign_keys(false)
        .pragma("synchronous", "OFF")
        .pragma("cache_size", "-200000")
        .connect()
        .await?;
    copy(&mut db, count).await?;
    db.close().await?;
    Ok(())
}

async fn copy(db: &mut SqliteConnection, count: i64) -> anyhow::Result<()> {
    let columns: Vec<String> = sqlx::query("SELECT name FROM pragma_table_info('actions')")
        .fetch_all(&mut *db)
        .await?
        .iter()
        .map(|r| r.get::<String, _>(0))
        .collect();
    let chosen = |name: &String| match name.as_str() {
        "n" => "$2".to_owned(),
        "action_key" | "idempotency_key" | "request_id" | "event_id" => format!("{name} || '-' || $2"),
        "who" => "$3".to_owned(),
        "email" => "$3 || '@customer.example'".to_owned(),
        "subject" => "$4".to_owned(),
        "created_at" | "changed_at" => format!("{name} + $2"),
        _ => name.clone(),
    };
    let copy_action = format!(
        "INSERT INTO actions ({}) SELECT {} FROM actions WHERE n = $1",
        columns.join(", "),
        columns.iter().map(chosen).collect::<Vec<_>>().join(", ")
    );
    let copy_payload = "INSERT INTO payloads (action, version, value, hash, content, by_whom, at) \
         SELECT $2, version, value, hash, content, by_whom, at FROM payloads WHERE action = $1";
    let put_doc = "INSERT INTO search_docs (n, who, subject, body, tags) VALUES ($1, $2, $3, $4, \
         (SELECT tags FROM search_docs WHERE n = $5))";
    let mut words = Words::new(SEED);
    let mut n = 3;
    while n <= count {
        let mut tx = db.begin_with("BEGIN IMMEDIATE").await?;
        for _ in 0..20_000.min(count - n + 1) {
            let template = if n % ONE_WAITS_IN == 0 { 2 } else { 1 };
            let who = Words::word(words.between(1, 40_000));
            let subject = words.text(6);
            sqlx::query(AssertSqlSafe(copy_action.as_str()))
                .bind(template)
                .bind(n)
                .bind(&who)
                .bind(&subject)
                .execute(&mut *tx)
                .await?;
            sqlx::query(copy_payload).bind(template).bind(n).execute(&mut *tx).await?;
            let body = words.text(110);
            sqlx::query(put_doc).bind(n).bind(&who).bind(&subject).bind(&body).bind(template).execute(&mut *tx).await?;
            n += 1;
        }
        sqlx::query("DELETE FROM index_queue").execute(&mut *tx).await?;
        tx.commit().await?;
    }
    // What the product does when nothing waits; bounded, as there.
    for _ in 0..200 {
        let before = sqlx::query("SELECT total_changes()").fetch_one(&mut *db).await?.get::<i64, _>(0);
        sqlx::query("INSERT INTO search_index (search_index, rank) VALUES ('merge', 500)").execute(&mut *db).await?;
        let after = sqlx::query("SELECT total_changes()").fetch_one(&mut *db).await?.get::<i64, _>(0);
        if after - before < 2 {
            break;
        }
    }
    sqlx::query("ANALYZE").execute(&mut *db).await?;
    sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut *db).await?;
    Ok(())
}
