//! A ledger with many actions, written past the product for speed. Two real actions, one accepted and one waiting, are the
//! templates: every row that belongs to them (journal, delivery, payload, people, wire, approval, attempt, filing) is
//! written again for each copy, with its own number, names, text, keys, hashes and place in the journal's chain. The copies
//! have neither a signature nor a digest of their own row, so they can be listed, searched and read, but not decided on;
//! what a measurement decides on it proposes through the product.

use crate::copies::{Batch, Copies};
use crate::sink::Sink;
use crate::stage::{Secrets, Stage};
use crate::words::SEED;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Row};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// Real actions before the copies.
const TEMPLATES: i64 = 2;
/// Of so many copies one waits for a person; the others were accepted.
pub const ONE_WAITS_IN: i64 = 50;
/// What an action takes on disk with all its rows, its eight journal rows and its words in the index: 13.3 kB were seen.
const BYTES_OF_ACTION: i64 = 14_000;
/// Copies written with one round of statements, and rounds in a transaction.
const BATCH: i64 = 2_000;
const ROUNDS: i64 = 10;
/// Bytes that the index gathers before it writes a segment. The product's merges join four segments of a level to one of the
/// next, so most of a million actions ends in two or three segments of a quarter of them and more; so it does here.
const GATHER: i64 = 512 << 20;
/// FTS5's own choice (fts5_config.c, FTS5_DEFAULT_HASHSIZE).
const GATHER_OF_FTS5: i64 = 1 << 20;

/// Fills the home in `dir` (made if need be) up to `count` actions. One that was filled so already is taken as it is.
pub async fn home(dir: &Path, count: i64, secrets: Secrets) -> anyhow::Result<()> {
    let done = dir.join(format!("filled-{count}"));
    // The keychain of an earlier run is gone with its session.
    if done.exists() && secrets == Secrets::File {
        return Ok(());
    }
    room(dir, count)?;
    println!("filling a ledger with {count} actions (seed {SEED})");
    let began = Instant::now();
    let sink = Sink::start(None)?;
    let mut stage = Stage::set(dir, sink.addr, secrets).await?;
    let (id, hash) = stage.propose().await?;
    stage.approve(&id, &hash).await?;
    stage.dispatch(&id).await?;
    stage.propose().await?;
    stage.close().await;
    let path = dir.join("home/ledger.db");
    let mut db = SqliteConnectOptions::new()
        .filename(&path)
        .foreign_keys(false)
        .journal_mode(SqliteJournalMode::Off)
        .synchronous(SqliteSynchronous::Off)
        .pragma("cache_size", "-400000")
        .connect()
        .await?;
    let triggers = lift_triggers(&mut db).await?;
    copy(&mut db, count).await?;
    let rows = began.elapsed();
    index(&mut db).await?;
    for sql in triggers {
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut db).await?;
    }
    known(&mut db).await?;
    sqlx::raw_sql("PRAGMA journal_mode = WAL; PRAGMA wal_checkpoint(TRUNCATE);").execute(&mut db).await?;
    db.close().await?;
    std::fs::File::open(&path)?.sync_all()?;
    std::fs::write(done, "")?;
    println!(
        "filled in {:.0} s, {:.0} s of it the search index; {:.0} bytes an action",
        began.elapsed().as_secs_f64(),
        (began.elapsed() - rows).as_secs_f64(),
        std::fs::metadata(&path)?.len() as f64 / count as f64
    );
    Ok(())
}

/// Says at once where the disk is too small, not after a quarter of an hour.
fn room(dir: &Path, count: i64) -> anyhow::Result<()> {
    let out = Command::new("df").args(["-Pk"]).arg(dir).output()?;
    let text = String::from_utf8_lossy(&out.stdout);
    let free = text.lines().nth(1).and_then(|line| line.split_whitespace().nth(3)?.parse::<i64>().ok());
    let needed = count * BYTES_OF_ACTION;
    match free {
        Some(free) if free * 1024 < needed => anyhow::bail!(
            "a ledger of {count} actions needs {:.1} GB in {}, where {:.1} GB are free",
            needed as f64 / 1e9,
            dir.display(),
            free as f64 * 1024.0 / 1e9
        ),
        _ => Ok(()),
    }
}

/// Takes every trigger away and answers the statements that make them again.
async fn lift_triggers(db: &mut SqliteConnection) -> anyhow::Result<Vec<String>> {
    let rows = sqlx::query("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetch_all(&mut *db).await?;
    for row in &rows {
        let drop = format!("DROP TRIGGER {}", row.get::<String, _>("name"));
        sqlx::raw_sql(AssertSqlSafe(drop)).execute(&mut *db).await?;
    }
    Ok(rows.iter().map(|r| r.get("sql")).collect())
}

async fn copy(db: &mut SqliteConnection, count: i64) -> anyhow::Result<()> {
    let statements = Statements::read(db).await?;
    let first = TEMPLATES + 1;
    let mut copies = Copies::read(db, count).await?;
    let mut next = first;
    // The next batch is made while SQLite writes this one.
    let make = |mut copies: Copies, from: i64| {
        tokio::task::spawn_blocking(move || {
            let batch = copies.batch(from, (from + BATCH - 1).min(count));
            (copies, batch)
        })
    };
    let mut made = make(copies, next);
    while next <= count {
        let mut tx = db.begin().await?;
        for _ in 0..ROUNDS {
            let batch;
            (copies, batch) = made.await?;
            let to = (next + BATCH - 1).min(count);
            made = make(copies, to + 1);
            statements.write(&mut tx, &batch, next, to).await?;
            next = to + 1;
            if next > count {
                break;
            }
        }
        tx.commit().await?;
    }
    let (copies, _) = made.await?;
    let (seq, hash) = copies.head();
    sqlx::query("UPDATE ledger_head SET seq = $1, hash = $2").bind(seq).bind(hash).execute(&mut *db).await?;
    Ok(())
}

/// Whom mail was accepted for; the triggers make the rest of it.
async fn known(db: &mut SqliteConnection) -> anyhow::Result<()> {
    sqlx::query(
        "INSERT INTO known_people (environment, email, times) SELECT a.environment, p.email, COUNT(*) FROM action_people p \
         JOIN actions a ON a.n = p.action WHERE a.state = 'accepted' GROUP BY 1, 2 \
         ON CONFLICT (environment, email) DO UPDATE SET times = excluded.times",
    )
    .execute(&mut *db)
    .await?;
    // As if it had become so over the years, not with the last row of the journal.
    sqlx::query("UPDATE known_domains SET changed = 0").execute(db).await?;
    Ok(())
}

/// Makes the index of all search rows at once.
async fn index(db: &mut SqliteConnection) -> anyhow::Result<()> {
    let set = "INSERT INTO search_index (search_index, rank) VALUES ('hashsize', $1)";
    sqlx::query(set).bind(GATHER).execute(&mut *db).await?;
    sqlx::query("INSERT INTO search_index (search_index) VALUES ('rebuild')").execute(&mut *db).await?;
    sqlx::query(set).bind(GATHER_OF_FTS5).execute(&mut *db).await?;
    sqlx::query("DELETE FROM index_queue").execute(&mut *db).await?;
    Ok(())
}

/// What is written for a batch. `$1` is a JSON array with one array a row; where a row needs nothing new, `$1` and `$2` are
/// the first and last number.
struct Statements {
    actions: String,
    from_rows: Vec<String>,
}

impl Statements {
    async fn read(db: &mut SqliteConnection) -> anyhow::Result<Statements> {
        let columns = async |db: &mut SqliteConnection, table: &str, new: &[(&str, &str)]| -> anyhow::Result<String> {
            let rows =
                sqlx::query("SELECT name FROM pragma_table_info($1)").bind(table.to_owned()).fetch_all(db).await?;
            let names: Vec<String> = rows.iter().map(|r| r.get(0)).collect();
            let values = names.iter().map(|name| {
                new.iter().find(|(n, _)| n == name).map_or(format!("t.{name}"), |(_, value)| (*value).to_owned())
            });
            Ok(format!("INSERT INTO {table} ({}) SELECT {}", names.join(", "), values.collect::<Vec<_>>().join(", ")))
        };
        let action = [
            ("n", "j.value ->> 0"),
            ("action_key", "j.value ->> 2"),
            ("idempotency_key", "j.value ->> 3"),
            ("request_id", "j.value ->> 4"),
            ("event_id", "'evt-' || (j.value ->> 0)"),
            ("delivery", "j.value ->> 0"),
            ("payload_hash", "j.value ->> 5"),
            ("draft_content", "j.value ->> 6"),
            ("who", "j.value ->> 7"),
            ("email", "j.value ->> 8"),
            ("subject", "j.value ->> 9"),
            ("created_at", "t.created_at - (j.value ->> 10)"),
            ("changed_at", "t.changed_at - (j.value ->> 10)"),
            ("not_before", "t.not_before - (j.value ->> 10)"),
            ("expires_at", "t.expires_at - (j.value ->> 10)"),
            ("accepted_at", "t.accepted_at - (j.value ->> 10)"),
            ("first_crossed", "t.first_crossed - (j.value ->> 10)"),
            ("last_crossed", "t.last_crossed - (j.value ->> 10)"),
        ];
        let mut actions = columns(db, "actions", &action).await?;
        actions.push_str(" FROM json_each($1) j JOIN actions t ON t.n = j.value ->> 1");
        // Of each action the row that its template has; `accepted` is action 1 and `waiting` action 2.
        let each = "CASE a.state WHEN 'accepted' THEN 1 ELSE 2 END";
        let mut from_rows = Vec::new();
        for (table, key, new) in [
            (
                "deliveries",
                "n",
                &[("n", "a.n"), ("event_id", "a.event_id"), ("request_id", "a.request_id"), ("at", "a.created_at")][..],
            ),
            ("events", "delivery", &[("event_id", "a.event_id"), ("delivery", "a.n")]),
            ("delivery_actions", "action", &[("delivery", "a.n"), ("action", "a.n")]),
            ("action_people", "action", &[("action", "a.n"), ("email", "a.email")]),
            ("wires", "action", &[("action", "a.n"), ("at", "a.created_at")]),
            (
                "approvals",
                "action",
                &[("n", "a.n"), ("action", "a.n"), ("payload_hash", "a.payload_hash"), ("at", "a.created_at")],
            ),
            (
                "attempts",
                "action",
                &[
                    ("n", "a.n"),
                    ("action", "a.n"),
                    ("claimed_at", "a.first_crossed"),
                    ("crossed_at", "a.first_crossed"),
                    ("closed_at", "a.accepted_at"),
                ],
            ),
            ("filings", "action", &[("action", "a.n"), ("changed_at", "a.changed_at")]),
        ] {
            let insert = columns(db, table, new).await?;
            from_rows.push(format!(
                "{insert} FROM actions a JOIN {table} t ON t.{key} = {each} WHERE a.n BETWEEN $1 AND $2"
            ));
        }
        Ok(Statements { actions, from_rows })
    }

    async fn write(&self, db: &mut SqliteConnection, batch: &Batch, from: i64, to: i64) -> anyhow::Result<()> {
        let rows = [
            (self.actions.as_str(), &batch.actions),
            (
                "INSERT INTO payloads (action, version, value, hash, content, by_whom, at) \
                 SELECT a.n, t.version, j.value ->> 1, a.payload_hash, a.draft_content, t.by_whom, a.created_at \
                 FROM json_each($1) j JOIN actions a ON a.n = j.value ->> 0 JOIN payloads t ON t.action = 1",
                &batch.payloads,
            ),
            (
                "INSERT INTO search_docs (n, who, subject, body, tags) \
                 SELECT a.n, a.who || ' ' || a.email || ' ' || a.email, a.subject, j.value ->> 2, t.tags \
                 FROM json_each($1) j JOIN actions a ON a.n = j.value ->> 0 JOIN search_docs t ON t.n = j.value ->> 1",
                &batch.docs,
            ),
            (
                "INSERT INTO journal (seq, at, action, kind, fact, by_whom, previous, hash) \
                 SELECT j.value ->> 0, j.value ->> 1, j.value ->> 2, j.value ->> 3, j.value ->> 4, j.value ->> 5, \
                 j.value ->> 6, j.value ->> 7 FROM json_each($1) j",
                &batch.journal,
            ),
        ];
        for (statement, json) in rows {
            sqlx::query(AssertSqlSafe(statement)).bind(json).execute(&mut *db).await?;
        }
        for statement in &self.from_rows {
            sqlx::query(AssertSqlSafe(statement.as_str())).bind(from).bind(to).execute(&mut *db).await?;
        }
        Ok(())
    }
}
