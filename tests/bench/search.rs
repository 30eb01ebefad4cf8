//! Search at a million actions by CPU time, and what an approval's commit does to the index.

use crate::fill::{self, SEED, Words};
use crate::sink::Sink;
use crate::stage::{Secrets, Stage};
use crate::stats::{cpu_millis, percentile};
use countersign_domain::State;
use countersign_ledger::{Ledger, OpenOptions, SearchFilter};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, Row};
use std::path::Path;

const QUERIES: usize = 400;
const PAGE: u32 = 50;
const APPROVALS: usize = 60;

pub async fn run(dir: &Path, count: i64) -> anyhow::Result<()> {
    println!("search: filling a ledger with {count} actions (seed {SEED})");
    fill::home(dir, count, Secrets::File).await?;
    let path = dir.join("home/ledger.db");
    let ledger = Ledger::open(&path, OpenOptions { read_only: true }).await?;
    let mut words = Words::new(SEED + 1);
    let none = SearchFilter::default();
    let waiting = SearchFilter { state: Some(State::Prepared), ..SearchFilter::default() };
    let mut worst: f64 = 0.0;
    for (name, filter) in [
        ("one common word", &none),
        ("one word", &none),
        ("two words", &none),
        ("a beginning of three letters", &none),
        ("a word among those that wait (2 %)", &waiting),
    ] {
        let (mut cpu, mut hits) = (Vec::new(), 0);
        for _ in 0..QUERIES {
            let text = match name {
                "one common word" => Words::word(words.between(1, 60)) + " ",
                "two words" => {
                    format!("{} {} ", Words::word(words.between(1, 500)), Words::word(words.between(60, 5_000)))
                }
                "a beginning of three letters" => Words::word(words.between(300, 40_000))[..3].to_owned(),
                _ => Words::word(words.between(60, 5_000)) + " ",
            };
            let began = cpu_millis();
            let page = ledger.search(&text, filter, None, PAGE).await?;
            cpu.push(cpu_millis() - began);
            hits += page.rows.len();
        }
        let p99 = percentile(&mut cpu, 0.99);
        worst = worst.max(p99);
        println!(
            "  {name}: CPU p50 {:.2} ms, p99 {p99:.2} ms, {:.0} rows a page",
            percentile(&mut cpu, 0.5),
            hits as f64 / QUERIES as f64
        );
    }
    println!("search at {count} actions: CPU p99 at most {worst:.2} ms (goal: under 5 ms)");
    ledger.close().await;
    approvals(dir, &path).await
}

/// Approves on top of the full index: the index must not change in an approval's commit.
async fn approvals(dir: &Path, path: &Path) -> anyhow::Result<()> {
    let sink = Sink::start(None)?;
    let mut stage = Stage::reopen(dir, sink.addr).await?;
    let mut db = SqliteConnectOptions::new().filename(path).read_only(true).connect().await?;
    let (mut cpu, mut touched) = (Vec::new(), 0);
    for _ in 0..APPROVALS {
        let (id, hash) = stage.propose().await?;
        let state = "SELECT COUNT(*), COALESCE(MAX(id), 0), SUM(length(block)) FROM search_index_data";
        let read = |r: sqlx::sqlite::SqliteRow| (r.get::<i64, _>(0), r.get::<i64, _>(1), r.get::<i64, _>(2));
        let before = read(sqlx::query(state).fetch_one(&mut db).await?);
        let began = cpu_millis();
        stage.approve(&id, &hash).await?;
        cpu.push(cpu_millis() - began);
        touched += usize::from(before != read(sqlx::query(state).fetch_one(&mut db).await?));
    }
    db.close().await?;
    println!(
        "approvals on that ledger: CPU p50 {:.2} ms, p99 {:.2} ms; the index changed inside {touched} of {APPROVALS} \
         (goal: none)",
        percentile(&mut cpu, 0.5),
        percentile(&mut cpu, 0.99)
    );
    Ok(())
}
