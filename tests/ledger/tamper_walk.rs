//! Every table and every column, read from the schema itself: one value changed, and `verify` names it (R30). A column that
//! comes with a later migration is walked too, without anybody thinking of it.

use crate::stage::*;
use countersign_domain::{ActionId, PersonId, Sighting, Verdict};
use countersign_ledger::{Ledger, LedgerError, OpenOptions};
use serde_json::json;
use sqlx::{AnyConnection, AssertSqlSafe, Connection, Row};
use std::path::Path;

/// What no journal row commits to, and why that is so.
const LEFT_OUT: [(&str, &str, &str); 11] = [
    ("ledger_head", "one", "a constant; a ledger without that row does not open"),
    ("schema_version", "one", "a constant; a ledger without that row does not open"),
    ("kept_texts", "*", "what somebody is typing: no decision rests on it"),
    (
        "kept_answers",
        "*",
        "what a request was answered with: no decision rests on it, and repeats are the ledger's own work",
    ),
    ("outcome_hooks", "*", "where news goes: no decision rests on it, and it carries neither text nor people"),
    ("outcome_calls", "*", "news and how telling it went: no decision rests on it"),
    ("index_queue", "*", "which search entries are behind: made again"),
    ("search_docs", "*", "the search's copy of words that are proven where they came from"),
    ("known_domains", "changed", "from where a reader goes on; what it reads is proven"),
    ("search_index", "*", "the search index: made again"),
    ("sqlite_sequence", "*", "SQLite's own"),
];

fn left_out(table: &str, column: &str) -> bool {
    LEFT_OUT.iter().any(|(t, c, _)| (*t == table || table.starts_with(&format!("{t}_"))) && (*c == "*" || *c == column))
}

/// A ledger in which every table has rows, and as many columns as possible a value.
async fn lived_in() -> Stage {
    let s = Stage::sqlite().await;
    let mut p = proposal("evt-1", "req-1", "Of course.");
    p["source_version"] = json!(3);
    p["draft"] = json!({ "run_id": "run-1", "model": "any", "reason": "moves the slot" });
    p["actions"][0]["payload"] = with_attachment("robin@customer.example", "Of course.", "c2xvdHM=");
    let sent = s.receive(&p).await.actions[0].action.expect("an action");
    s.ledger.clear_finding(sent, 1, "outside_domain", "to", &noor(), s.now()).await.expect("checked");
    s.approve(sent).await.expect("approved");
    s.attempt(sent, &accepted()).await;
    s.ledger.put_filing(sent, "waiting", "the provider may file it", Some(s.now()), s.now()).await.expect("kept");
    let attempt = s.ledger.detail(sent).await.expect("there").attempts[0].id;
    s.pass(1000);
    s.ledger.late_answer(attempt, &accepted(), &json!({ "how": "late" }), s.now()).await.expect("kept");
    s.receive(&p).await;
    let doubtful = s.unknown("req-2").await;
    let seen = Sighting::NotSeen { looked: "Sent".to_owned() };
    s.look(doubtful, &seen, false, Some(s.now())).await.expect("kept");
    s.verdict(doubtful, Verdict::DidNotHappen).await.expect("said");
    s.attempt(doubtful, &unclear()).await;
    s.ledger.revise(doubtful, None, &s.secret, &noor(), s.now()).await.expect("revised");
    let waiting = s.receive(&bundle("evt-3", "req-3")).await.actions[1].action.expect("a note");
    s.approve(waiting).await.expect("approved");
    let claimed = s.approved("req-4").await;
    s.claim(claimed).await;
    let mut nameless = proposal("", "req-5", "Of course.");
    nameless.as_object_mut().expect("a document").remove("event_id");
    let nameless = s.receive(&nameless).await.actions[0].action.expect("a row that waits");
    s.ledger.confirm(nameless, None, Some("evt-5"), &s.secret, &noor(), s.now()).await.expect("completed");
    let mut foreign = proposal("evt-6", "req-6", "Of course.");
    foreign["actions"][0]["destination"] = json!("nowhere");
    s.receive(&foreign).await;
    let rejected = s.prepared("req-7").await;
    s.ledger.reject(rejected, "not like this", &noor(), s.now()).await.expect("rejected");
    let later = countersign_domain::Timestamp::from_millis(s.now().millis() + HOUR);
    s.ledger.pause_destination("crm", "offline", Some(later), s.now()).await.expect("paused");
    s.ledger.add_destination(&destination("old", 3), &noor(), s.now()).await.expect("a destination");
    s.ledger.remove_destination("old", &noor(), s.now()).await.expect("removed");
    s.ledger.add_source(&source("oldbot"), &noor(), s.now()).await.expect("a source");
    s.ledger.revoke_source("oldbot", &noor(), s.now()).await.expect("revoked");
    s.ledger.withdraw_device(&noors_phone().id(), &noor(), s.now()).await.expect("withdrawn");
    s.holds().await;
    s
}

/// Another value of the same kind, as SQL. None where nothing of the column can be read.
fn other(kind: &str, row: &sqlx::any::AnyRow) -> String {
    match kind {
        "integer" => match row.get::<i64, _>("value") {
            flag @ (0 | 1) => (1 - flag).to_string(),
            n => (n + 1000).to_string(),
        },
        "text" => {
            let mut bytes = row.get::<String, _>("value").into_bytes();
            let at = bytes.iter().rposition(u8::is_ascii_alphanumeric);
            match at {
                Some(at) => {
                    bytes[at] = match bytes[at] {
                        b'9' => b'0',
                        b'z' => b'a',
                        b'f' => b'e',
                        b'Z' => b'A',
                        b => b + 1,
                    }
                }
                None => bytes.push(b'x'),
            }
            format!("'{}'", String::from_utf8(bytes).expect("text").replace('\'', "''"))
        }
        "blob" => {
            let mut bytes: Vec<u8> = row.get("value");
            *bytes.last_mut().expect("a byte") ^= 1;
            format!("X'{}'", bytes.iter().map(|b| format!("{b:02X}")).collect::<String>())
        }
        other => panic!("a value of the kind {other}"),
    }
}

async fn rows(conn: &mut AnyConnection, sql: String) -> Vec<sqlx::any::AnyRow> {
    sqlx::query(AssertSqlSafe(sql.clone())).fetch_all(conn).await.unwrap_or_else(|e| panic!("{sql}: {e}"))
}

/// Changes one value in the file and says what was there; None where every row of the table is empty in that column and
/// nothing of its type could be put.
async fn change(file: &Path, table: &str, column: &str, declared: &str) -> String {
    let mut conn = AnyConnection::connect(&format!("sqlite://{}?mode=rw", file.display())).await.expect("connects");
    sqlx::raw_sql("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON")
        .execute(&mut conn)
        .await
        .expect("off");
    // A row that counts in every column where there is one.
    let found = rows(
        &mut conn,
        format!(
            "SELECT rowid AS at, typeof({column}) AS kind, {column} AS value FROM {table} WHERE {column} IS NOT NULL \
             ORDER BY rowid LIMIT 1"
        ),
    )
    .await;
    let (at, new) = match found.first() {
        Some(row) => (row.get::<i64, _>("at"), other(&row.get::<String, _>("kind"), row)),
        None => {
            let first = rows(&mut conn, format!("SELECT rowid AS at FROM {table} ORDER BY rowid LIMIT 1")).await;
            let at = first.first().unwrap_or_else(|| panic!("the stage has no row in {table}")).get::<i64, _>("at");
            (at, if declared == "TEXT" { "'x'".to_owned() } else { "1".to_owned() })
        }
    };
    let set = |new: &str| format!("UPDATE {table} SET {column} = {new} WHERE rowid = {at}");
    let done = match sqlx::raw_sql(AssertSqlSafe(set(&new))).execute(&mut conn).await {
        Ok(done) => done,
        // Taken by another row: far away from all of them.
        Err(_) => sqlx::raw_sql(AssertSqlSafe(set("9999"))).execute(&mut conn).await.expect("another value"),
    };
    assert_eq!(done.rows_affected(), 1, "{table}.{column}");
    conn.close().await.expect("closed");
    new
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r30_one_changed_value_in_any_column_of_any_table_is_named_by_verify() {
    let s = lived_in().await;
    for row in s.rows("SELECT name FROM sqlite_master WHERE type = 'trigger'").await {
        s.raw(&format!("DROP TRIGGER {}", row.get::<String, _>(0))).await;
    }
    let tables = s.rows("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").await;
    let tables: Vec<String> = tables.iter().map(|r| r.get(0)).collect();
    let columns = s
        .rows(
            "SELECT m.name AS tab, c.name AS col, c.type AS declared FROM sqlite_master m, pragma_table_info(m.name) c \
             WHERE m.type = 'table' ORDER BY m.name, c.cid",
        )
        .await;
    s.ledger.close().await;
    let scratch = tempfile::tempdir().expect("a folder");
    let (mut walked, mut silent) = (0, Vec::new());
    for row in &columns {
        let (table, column, declared): (String, String, String) = (row.get("tab"), row.get("col"), row.get("declared"));
        if left_out(&table, &column) {
            continue;
        }
        let file = scratch.path().join(format!("{table}-{column}.db"));
        std::fs::copy(s.path(), &file).expect("a copy");
        let new = change(&file, &table, &column, &declared).await;
        walked += 1;
        let ledger = match Ledger::open(&file, OpenOptions { read_only: true }).await {
            Ok(ledger) => ledger,
            // Opening it says so already.
            Err(LedgerError::Corrupt { .. }) => continue,
            Err(other) => panic!("{table}.{column} = {new}: {other}"),
        };
        let broken = ledger.verify(&s.roster, Some(&s.secret), &mut |_, _| {}).await;
        ledger.close().await;
        match broken {
            // What the database itself notices is not what is asked for here.
            Ok(found) if found.iter().any(|b| b.what != "file") => {}
            other => silent.push(format!("{table}.{column} = {new}: {other:?}")),
        }
        std::fs::remove_file(&file).expect("removed");
    }
    assert!(silent.is_empty(), "{} of {walked} are not named:\n{}", silent.len(), silent.join("\n"));
    assert!(walked > 150, "only {walked} columns in {tables:?}");
}

/// Rows that are not there, or that nobody wrote.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r30_a_row_taken_away_or_put_in_is_named_by_verify() {
    let s = lived_in().await;
    for row in s.rows("SELECT name FROM sqlite_master WHERE type = 'trigger'").await {
        s.raw(&format!("DROP TRIGGER {}", row.get::<String, _>(0))).await;
    }
    s.ledger.close().await;
    let scratch = tempfile::tempdir().expect("a folder");
    let person = PersonId::from("Mallory");
    let sent = ActionId(1);
    for (n, (change, named)) in [
        ("DELETE FROM cleared".to_owned(), "check"),
        ("DELETE FROM filings".to_owned(), "filing"),
        ("DELETE FROM events WHERE event_id = 'evt-1'".to_owned(), "event"),
        ("DELETE FROM events WHERE event_id = 'evt-5'".to_owned(), "event"),
        ("INSERT INTO events VALUES ('shopbot', 'evt-9', 1, '')".to_owned(), "event"),
        ("DELETE FROM action_people WHERE action = 1".to_owned(), "people"),
        ("DELETE FROM payload_attachments".to_owned(), "attachment"),
        ("DELETE FROM known_people".to_owned(), "known person"),
        ("DELETE FROM known_domains".to_owned(), "known domain"),
        ("DELETE FROM wires WHERE action = 1".to_owned(), "wire"),
        ("DELETE FROM sources WHERE name = 'oldbot'".to_owned(), "source"),
        ("DELETE FROM destinations WHERE name = 'old'".to_owned(), "destination"),
        ("DELETE FROM devices WHERE withdrawn_at IS NOT NULL".to_owned(), "device"),
        (format!("INSERT INTO people VALUES ('{}', 1)", person.0), "person"),
        ("DELETE FROM settings WHERE key = 'sending/live'".to_owned(), "setting"),
        (format!("INSERT INTO cleared VALUES ({}, 1, 'new_recipient', 'to', 'Noor', 1)", sent.0), "check"),
        ("UPDATE conversations SET value = NULL".to_owned(), "conversation"),
        ("UPDATE attachments SET size = size + 1".to_owned(), "attachment"),
    ]
    .into_iter()
    .enumerate()
    {
        let file = scratch.path().join(format!("{n}.db"));
        std::fs::copy(s.path(), &file).expect("a copy");
        let mut conn = AnyConnection::connect(&format!("sqlite://{}?mode=rw", file.display())).await.expect("connects");
        let sql = format!("PRAGMA foreign_keys = OFF; {change}");
        let done =
            sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut conn).await.unwrap_or_else(|e| panic!("{change}: {e}"));
        assert!(done.rows_affected() > 0, "{change}: nothing was changed");
        conn.close().await.expect("closed");
        let ledger = Ledger::open(&file, OpenOptions { read_only: true }).await.expect("opens");
        let broken = ledger.verify(&s.roster, Some(&s.secret), &mut |_, _| {}).await.expect("verify runs");
        ledger.close().await;
        assert!(broken.iter().any(|b| b.what == named), "{change}: {broken:?}");
    }
}
