//! What is refused, with the exit code and the field of interfaces.md, and what is left behind: nothing.

use crate::shared::{PASSPHRASE, World, email, text};
use sqlx::{AnyConnection, AssertSqlSafe, Connection};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use testkit::Cli;

/// Changes a ledger file past everything that guards it.
fn alter(file: &Path, change: &str) {
    sqlx::any::install_default_drivers();
    let url = format!("sqlite://{}", file.display());
    tokio::runtime::Runtime::new().expect("a runtime").block_on(async {
        let mut conn = AnyConnection::connect(&url).await.expect("connects");
        let named = "SELECT name FROM sqlite_master WHERE type = 'trigger'";
        for row in sqlx::query(named).fetch_all(&mut conn).await.expect("the triggers") {
            let name: String = sqlx::Row::try_get(&row, 0).expect("a name");
            sqlx::raw_sql(AssertSqlSafe(format!("DROP TRIGGER {name}"))).execute(&mut conn).await.expect("it goes");
        }
        let done = sqlx::raw_sql(AssertSqlSafe(change.to_owned())).execute(&mut conn).await.expect("it is written");
        assert!(done.rows_affected() > 0, "{change}: nothing was altered");
        conn.close().await.expect("closed");
    });
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).expect("it is there").permissions().mode() & 0o777
}

#[test]
fn r40_only_the_environments_there_are_can_be_named() {
    let world = World::bare();
    world.cli.ok(&["init", "--owner", "Noor"]);
    let switch = |environment: &str| world.cli.run(&["sending", "on", "--environment", environment]).expect(2);
    assert_eq!(switch("nope").error()["field"], "environment");
    assert_eq!(switch("sandbox").error()["field"], "environment", "this home was made without it");
    world.cli.ok(&["sending", "off", "--environment", "live"]);
    let source = ["source", "add", "x", "--environment", "nope", "--effects", "email.send", "--destinations", "y"];
    assert_eq!(world.cli.run(&source).expect(2).error()["field"], "environment");
    let file = "name = \"second\"\nkind = \"mailbox\"\nenvironment = \"production\"\n[mailbox]\n\
                from = [\"second@shop.example\"]\nsmtp = \"smtps://smtp.shop.example:465\"\nusername = \"second\"\n";
    let path = world.scratch.write("second.toml", file);
    let added = world.cli.run_secret(&["destination", "add", path.to_str().unwrap()], "--secret-fd", "x").expect(2);
    assert_eq!(added.error()["field"], "environment");
    assert_eq!(world.cli.ok(&["destination", "list"])["destinations"], serde_json::json!([]));
}

#[test]
fn r40_a_home_that_can_be_none_is_named_and_nothing_is_left_of_it() {
    let world = World::bare();
    let secrets = format!("file:{}", world.scratch.join("secrets").display());
    let file = world.scratch.write("a-file", "x");
    let link = world.scratch.join("link");
    std::os::unix::fs::symlink(world.scratch.join("nowhere"), &link).expect("a link");
    for place in [file.clone(), file.join("below"), link, "/proc/countersign".into()] {
        let cli = Cli::new(&place).with_args(&["--secrets", &secrets]).with_passphrase(PASSPHRASE);
        let refused = cli.run(&["init", "--owner", "Noor"]).expect(2);
        assert_eq!(refused.error()["field"], "home", "{}", place.display());
    }
    let only = Cli::new(&file).run(&["list"]).expect(2);
    assert_eq!(only.error()["field"], "home");

    // The secrets cannot be written, so the home is given up after its folders were made.
    let nowhere = format!("file:{}", file.join("secrets").display());
    let cli = Cli::new(world.scratch.join("new/home")).with_args(&["--secrets", &nowhere]).with_passphrase(PASSPHRASE);
    assert_ne!(cli.run(&["init", "--owner", "Noor"]).code, 0);
    assert!(!world.scratch.join("new").exists(), "no empty folders");
}

#[test]
fn r27_a_backup_that_cannot_be_written_is_bad_input_and_nothing_else_is_said() {
    let world = World::bare();
    world.cli.ok(&["init", "--owner", "Noor"]);
    let refused = world.cli.run(&["backup", "/nonexistent/x"]).expect(2);
    assert_eq!(refused.error()["field"], "file");
    assert_eq!(refused.stderr.trim().lines().count(), 1, "stderr is one document: {}", refused.stderr);
    assert_eq!(refused.stdout, "");
}

#[test]
fn r27_an_altered_backup_is_not_restored_and_a_restored_home_is_private() {
    let world = World::sandbox();
    world.created(&email("evt-1", "r-1", "robin@customer.example"));
    let good = world.scratch.join("good.db");
    world.cli.ok(&["backup", good.to_str().unwrap()]);
    let changes = [
        "UPDATE journal SET fact = replace(fact, 'e', 'a') WHERE seq = 3",
        "UPDATE journal SET by_whom = 'Sam' WHERE seq = 2",
        "UPDATE payloads SET value = replace(value, 'Of course', 'Of coarse')",
    ];
    let secrets = format!("file:{}", world.scratch.join("secrets").display());
    let into = |name: &str| {
        let dir = world.scratch.join(name);
        (dir.clone(), Cli::new(dir).with_args(&["--secrets", &secrets]).with_passphrase(PASSPHRASE))
    };
    for (n, change) in changes.iter().enumerate() {
        let bad = world.scratch.join(&format!("bad-{n}.db"));
        std::fs::copy(&good, &bad).expect("a copy");
        alter(&bad, change);
        let seq = world.cli.ok(&["verify"])["seq"].clone();
        let refused = world.cli.run(&["restore", bad.to_str().unwrap()]).expect(9);
        assert_eq!(refused.error()["code"], "integrity", "{change}");
        assert_eq!(world.cli.ok(&["verify"])["seq"], seq, "the home is as it was");
        let (dir, fresh) = into("fresh");
        fresh.run(&["restore", bad.to_str().unwrap()]).expect(9);
        assert!(!dir.exists(), "no empty folder");
    }
    let (dir, fresh) = into("deep/fresh");
    let locked = Cli::new(&dir).with_args(&["--secrets", &secrets]);
    locked.run(&["restore", good.to_str().unwrap()]).expect(4);
    assert!(!world.scratch.join("deep").exists(), "no empty folder");
    fresh.ok(&["restore", good.to_str().unwrap()]);
    assert_eq!(mode(&dir), 0o700);
    fresh.ok(&["restore", good.to_str().unwrap()]);
    assert_eq!(mode(&dir.join("before-restore-1")), 0o700);
}

#[test]
fn r40_every_refusal_names_its_field_and_says_all_of_it() {
    let world = World::sandbox();
    let field = |args: &[&str]| {
        let error = world.cli.run(args).expect(2).error();
        (text(&error["field"]).to_owned(), text(&error["message"]).to_owned())
    };
    assert_eq!(field(&["resolve", "A-1", "--evidence", "x"]).0, "verdict");
    assert_eq!(field(&["destination", "test", "sandbox-mailbox", "--send-to", "notanaddr"]).0, "send-to");
    assert_eq!(field(&["purge", "--older-than", "-1d"]).0, "older-than");
    let (name, message) = field(&["init"]);
    assert!(name == "owner" && message.contains("--owner"), "what is missing is said: {message}");

    let broken = world.scratch.write("broken.toml", "name = \"x\"\nkind = [\n");
    let (name, message) = field(&["destination", "add", broken.to_str().unwrap()]);
    assert!(name == "file" && message.contains("TOML"), "{name}: {message}");

    let torn = b"{\"event_id\":\"evt-1\",\"actions\":[{\"step\":\"\xff\"}]}";
    let refused = world.cli.run_input(&["propose", "-", "--source", "bot"], torn).expect(2);
    assert_eq!(refused.error()["field"], "actions[0].step");
    for whole in [&b"[]"[..], b"", b"\xff"] {
        let refused = world.cli.run_input(&["propose", "-", "--source", "bot"], whole).expect(2);
        assert_eq!(refused.error()["field"], "document", "{whole:?}");
    }
}

#[test]
fn r40_serve_says_where_it_listens_in_a_document_without_json_too() {
    use std::io::{BufRead, BufReader};
    let world = World::sandbox();
    let command = world.cli.command(&["serve"]);
    let plain: Vec<_> = command.get_args().filter(|a| *a != "--json").map(ToOwned::to_owned).collect();
    let mut readable = std::process::Command::new(command.get_program());
    let mut child = readable.args(plain).stdout(std::process::Stdio::piped()).spawn().expect("it starts");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("a first line");
    let _ = child.kill();
    let _ = child.wait();
    let doc: serde_json::Value = serde_json::from_str(&line).unwrap_or_else(|e| panic!("no document ({e}): {line}"));
    assert!(text(&doc["listening"]).starts_with("127.0.0.1:"), "{doc}");
}
