//! The schema as it is made, kept as text: a change shows in review. And every shared statement on PostgreSQL.

use crate::stage::*;
use sqlx::{AnyConnection, Connection, Executor, Row, SqlSafeStr};
use std::path::Path;

fn compare(name: &str, found: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("ledger").join(name);
    if std::env::var_os("COUNTERSIGN_WRITE_SNAPSHOTS").is_some() {
        std::fs::write(&file, found).expect("the snapshot is written");
    }
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(found, kept, "{name} differs; COUNTERSIGN_WRITE_SNAPSHOTS=1 writes it anew");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r30_the_sqlite_schema_is_the_one_in_the_snapshot() {
    let s = Stage::sqlite().await;
    let rows = s.rows("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type, name").await;
    let text: Vec<String> = rows
        .iter()
        .map(|r| format!("-- {} {}\n{};\n", r.get::<String, _>(0), r.get::<String, _>(1), r.get::<String, _>(2)))
        .collect();
    compare("schema.sqlite.txt", &text.join("\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r41_both_engines_have_the_same_tables_and_columns() {
    let Some(p) = Stage::postgres().await else { return };
    let s = Stage::sqlite().await;
    let mut ours = Vec::new();
    for row in s
        .rows(
            "SELECT m.name, c.name FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.type = 'table' \
             AND m.name NOT LIKE 'search_index%' ORDER BY m.name, c.name",
        )
        .await
    {
        ours.push((row.get::<String, _>(0), row.get::<String, _>(1)));
    }
    let mut theirs = Vec::new();
    for row in p
        .rows(
            "SELECT CAST(table_name AS TEXT), CAST(column_name AS TEXT) FROM information_schema.columns \
             WHERE table_schema = current_schema() AND NOT (table_name = 'search_docs' AND column_name = 'words')",
        )
        .await
    {
        theirs.push((row.get::<String, _>(0), row.get::<String, _>(1)));
    }
    theirs.sort();
    ours.sort();
    assert_eq!(ours, theirs);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r41_every_shared_statement_is_prepared_on_postgresql_and_the_seams_are_listed() {
    let statements = countersign_ledger::shared_statements();
    assert!(statements.len() > 90, "only {} statements are listed", statements.len());
    let s = Stage::sqlite().await;
    let mut conn = AnyConnection::connect(&s.url).await.expect("connects");
    for (file, name, text) in &statements {
        conn.prepare(text.into_sql_str()).await.unwrap_or_else(|e| panic!("{file} {name} on SQLite: {e}"));
    }
    for (file, what, sqlite, postgres) in countersign_ledger::seams() {
        println!("seam in {file}.rs: {what}\n  SQLite: {sqlite}\n  PostgreSQL: {postgres}");
    }
    let Some(p) = Stage::postgres().await else { return };
    let mut conn = AnyConnection::connect(&p.url).await.expect("connects");
    for (file, name, text) in &statements {
        conn.prepare(text.into_sql_str()).await.unwrap_or_else(|e| panic!("{file} {name} on PostgreSQL: {e}"));
    }
    println!("{} statements prepared on PostgreSQL", statements.len());
}
