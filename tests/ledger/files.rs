//! The file itself: a newer schema (F47), copies (F10), reading only, retention (R31).

use crate::stage::*;
use countersign_domain::{State, Timestamp};
use countersign_ledger::{Conflict, Ledger, LedgerError, OpenOptions, SCHEMA};

async fn open(path: &std::path::Path) -> Result<Ledger, LedgerError> {
    Ledger::open(path, OpenOptions::default()).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f47_a_newer_schema_is_refused_with_its_number_and_nothing_is_changed() {
    let s = Stage::sqlite().await;
    s.prepared("req-1").await;
    s.ledger.close().await;
    s.raw("PRAGMA user_version = 999; PRAGMA wal_checkpoint(TRUNCATE)").await;
    let before = std::fs::read(s.path()).expect("the file");
    let error = open(s.path()).await.expect_err("refused");
    assert!(matches!(error, LedgerError::Newer { found: 999, known: SCHEMA }), "{error:?}");
    assert!(error.to_string().contains("999"), "{error}");
    assert_eq!(std::fs::read(s.path()).expect("the file"), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f47_a_newer_schema_that_is_still_in_the_wal_is_refused_too() {
    use sqlx::Connection;
    let s = Stage::sqlite().await;
    s.ledger.close().await;
    let mut other = sqlx::AnyConnection::connect(&s.url).await.expect("another program");
    sqlx::raw_sql("PRAGMA user_version = 1000").execute(&mut other).await.expect("written to the WAL");
    let before = std::fs::read(s.path()).expect("the file");
    let error = open(s.path()).await.expect_err("refused");
    assert!(matches!(error, LedgerError::Newer { found: 1000, .. }), "{error:?}");
    assert_eq!(std::fs::read(s.path()).expect("the file"), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f47_a_file_that_is_no_ledger_is_left_alone() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("notes.txt");
    std::fs::write(
        &file,
        "not a database, but longer than the header of one, so that it can be read as such. ".repeat(4),
    )
    .expect("written");
    assert!(matches!(open(&file).await, Err(LedgerError::Foreign { .. })));
    assert!(matches!(open(&dir.path().join("none.db")).await, Err(LedgerError::NotFound { .. })));
    let again = Ledger::create(&file, "x", Timestamp::from_millis(1)).await;
    assert!(matches!(again, Err(LedgerError::Place { .. })));
    assert!(std::fs::read_to_string(&file).expect("still there").starts_with("not a database"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f46_a_synced_folder_is_refused_before_anything_is_written() {
    let dir = tempfile::tempdir().expect("a folder");
    let synced = dir.path().join("Dropbox");
    std::fs::create_dir(&synced).expect("a folder");
    let error = Ledger::create(&synced.join("ledger.db"), "x", Timestamp::from_millis(1)).await.expect_err("refused");
    assert!(matches!(&error, LedgerError::Place { why } if why.contains("synced")), "{error}");
    assert_eq!(std::fs::read_dir(&synced).expect("readable").count(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r31_the_file_is_its_owners_and_survives_closing_and_opening() {
    use std::os::unix::fs::PermissionsExt;
    let s = Stage::sqlite().await;
    let id = s.approved("req-1").await;
    assert_eq!(std::fs::metadata(s.path()).expect("there").permissions().mode() & 0o777, 0o600);
    let head = s.ledger.head().await.expect("head");
    s.ledger.close().await;
    let again = open(s.path()).await.expect("opened");
    assert_eq!((again.id(), again.head().await.expect("head")), ("ledger-under-test", head));
    assert_eq!(again.action(id).await.expect("read").expect("there").state(), State::Approved);
    // Kept in the file itself; what each connection is told besides shows in `durable`.
    let row = &s.rows("PRAGMA journal_mode").await[0];
    assert_eq!(sqlx::Row::try_get::<String, _>(row, 0).expect("a text"), "wal");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f47_a_ledger_of_an_earlier_build_gets_the_new_tables_when_it_is_opened_and_keeps_all_it_held() {
    let s = Stage::sqlite().await;
    let id = s.approved("req-1").await;
    let head = s.ledger.head().await.expect("head");
    s.ledger.close().await;
    // As a build of schema 1 left it.
    s.raw(
        "DROP TRIGGER known_people_insert; DROP TRIGGER known_people_update; DROP TABLE known_domains; \
         DROP INDEX journal_of_configuration; DROP INDEX deliveries_not_taken_from; DROP TABLE kept_answers; DROP TABLE outcome_calls; DROP TABLE outcome_hooks; \
         UPDATE action_people SET email = replace(email, '@customer', '@CUSTOMER'); \
         UPDATE schema_version SET version = 1 WHERE one = 1; PRAGMA user_version = 1; PRAGMA wal_checkpoint(TRUNCATE)",
    )
    .await;
    let reader = Ledger::open(s.path(), OpenOptions { read_only: true }).await.expect("a reader leaves it as it is");
    let named = reader.verify(&s.roster, Some(&s.secret), &mut |_, _| {}).await.expect("verified as it is");
    assert_eq!(
        named.iter().map(|b| b.what.as_str()).collect::<Vec<_>>(),
        ["people"],
        "addresses had other spellings then"
    );
    reader.close().await;
    assert_eq!(s.number("SELECT version FROM schema_version").await, 1);
    let opened = tokio::join!(open(s.path()), open(s.path()));
    let (one, two) = (opened.0.expect("raised"), opened.1.expect("at the same moment by another program"));
    assert_eq!(s.number("SELECT version FROM schema_version").await, SCHEMA);
    assert_eq!(one.head().await.expect("head"), head, "what was told is as it was");
    assert_eq!(two.action(id).await.expect("read").expect("there").state(), State::Approved);
    assert_eq!(two.verify(&s.roster, Some(&s.secret), &mut |_, _| {}).await.expect("verified"), []);
    assert!(one.outcomes_due(s.now()).await.expect("the new tables are there").is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r40_a_ledger_opened_for_reading_refuses_every_write() {
    let s = Stage::sqlite().await;
    let id = s.prepared("req-1").await;
    let reader = Ledger::open(s.path(), OpenOptions { read_only: true }).await.expect("opened");
    assert_eq!(reader.action(id).await.expect("read").expect("there").state(), State::Prepared);
    let result = reader.reject(id, "no", &noor(), s.now()).await;
    assert!(matches!(result, Err(LedgerError::ReadOnly)), "{result:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f10_a_backup_is_made_while_in_use_marked_as_a_copy_and_verified() {
    let s = Stage::sqlite().await;
    let id = s.approved("req-1").await;
    // So much still in the WAL that a copy of the main file alone would be behind.
    let head = s.ledger.head().await.expect("head");
    let to = s.path().with_file_name("copy.db");
    assert_eq!(s.ledger.backup(&to, s.now()).await.expect("copied"), head);
    s.attempt(id, &accepted()).await;
    assert!(!s.ledger.is_backup().await.expect("read"));
    let copy = open(&to).await.expect("opened");
    assert!(copy.is_backup().await.expect("read"));
    assert_eq!((copy.id(), copy.head().await.expect("head")), ("ledger-under-test", head));
    assert_eq!(copy.action(id).await.expect("read").expect("there").state(), State::Approved);
    assert_eq!(copy.verify(&s.roster, Some(&s.secret), &mut |_, _| {}).await.expect("verify runs"), []);
    // The original has gone on: the anchor's row is not in the copy.
    let newer = s.ledger.head().await.expect("head");
    assert_eq!(copy.hash_at(newer.seq).await.expect("read"), None);
    assert!(matches!(s.ledger.backup(&to, s.now()).await, Err(LedgerError::Place { .. })), "it exists");
}

on_both!(r31_a_purge_takes_what_the_customer_wrote_before_too, async |s: Stage| {
    let said = |event: &str, words: &str| {
        let mut p = proposal(event, "req-1", "Of course.");
        p["conversation"]["text"] = words.into();
        p
    };
    let id = s.receive(&said("evt-1", "Nobody decided on this.")).await.actions[0].action.expect("an action");
    s.receive(&said("evt-2", "This was approved once.")).await;
    s.approve(id).await.expect("approved");
    s.ledger.undo(id, &noor(), s.now()).await.expect("undone");
    s.receive(&said("evt-3", "This was answered.")).await;
    s.approve(id).await.expect("approved");
    s.attempt(id, &accepted()).await;
    let kept = "SELECT COUNT(*) FROM conversations WHERE value IS NOT NULL";
    assert_eq!(s.number(kept).await, 3);
    s.pass(200 * 24 * HOUR);
    let limit = Timestamp::from_millis(s.now().millis() - 180 * 24 * HOUR);
    assert_eq!(s.ledger.purge(limit, &noor(), s.now()).await.expect("purged").actions, 1);
    assert_eq!(s.number(kept).await, 0);
    s.holds().await;
});

on_both!(r31_a_purge_takes_bodies_and_leaves_keys_hashes_states_and_receipts, async |s: Stage| {
    let mut p = proposal("evt-1", "req-1", "Of course.");
    p["actions"][0]["payload"] = with_attachment("robin@customer.example", "Of course.", "c2xvdHM=");
    let old = s.receive(&p).await.actions[0].action.expect("an action");
    s.approve(old).await.expect("approved");
    s.attempt(old, &accepted()).await;
    let doubtful = s.unknown("req-2").await;
    s.pass(200 * 24 * HOUR);
    let young = s.approved("req-3").await;
    s.attempt(young, &accepted()).await;
    s.ledger.feed_search_index(100).await.expect("fed");
    let before = s.ledger.action(old).await.expect("read").expect("there");
    let limit = Timestamp::from_millis(s.now().millis() - 180 * 24 * HOUR);
    let purged = s.ledger.purge(limit, &noor(), s.now()).await.expect("purged");
    assert_eq!((purged.actions, purged.attachments), (1, 1));
    let after = s.ledger.action(old).await.expect("read").expect("there");
    assert_eq!(
        (after.key, after.row.payload_hash, after.wire_hash),
        (before.key, before.row.payload_hash, before.wire_hash)
    );
    assert_eq!((after.row.standing, after.row.receipt), (before.row.standing, before.row.receipt));
    assert_eq!((after.row.who.as_str(), after.row.subject.as_str()), ("", ""));
    assert!(matches!(s.ledger.current(old).await, Err(LedgerError::Conflict(Conflict::Purged))));
    assert!(s.ledger.current(doubtful).await.is_ok(), "what may still go out keeps its body");
    assert!(s.ledger.detail(old).await.expect("detail").payloads[0].payload.is_none());
    // A repeat of the purged request is still recognised.
    let again = s.receive(&p).await;
    assert_eq!(again.actions[0].action, Some(old));
    s.ledger.feed_search_index(100).await.expect("fed");
    assert_eq!(s.ledger.purge(limit, &noor(), s.now()).await.expect("again").actions, 0);
    s.holds().await;
});
