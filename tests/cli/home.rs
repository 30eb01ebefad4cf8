//! Making and keeping a home.

use crate::shared::{PASSPHRASE, World, at, email, text};
use testkit::Cli;

#[test]
fn r40_init_makes_a_home_once_and_names_what_is_wrong() {
    let world = World::bare();
    assert_eq!(world.cli.run(&["list"]).expect(5).error()["code"], "not_found");
    assert_eq!(world.cli.run(&["init"]).expect(2).error()["field"], "owner");
    assert_eq!(world.cli.run(&["init", "--owner", "  "]).expect(2).error()["field"], "owner");
    let both = world.without_passphrase().run(&["init", "--owner", "Noor", "--no-passphrase"]).expect(2);
    assert_eq!(both.error()["field"], "no-passphrase", "a secrets file is always encrypted");
    assert!(
        !world.scratch.join("secrets").exists() && !world.scratch.join("home/ledger.db").exists(),
        "no partial home"
    );

    let made = world.cli.ok(&["init", "--owner", "Noor"]);
    assert_eq!(made["owner"], "Noor");
    assert_eq!(made["environments"][0]["sending"], false, "live starts switched off");
    assert_eq!(world.cli.run(&["init", "--owner", "Noor"]).expect(3).error()["code"], "conflict");
}

#[test]
fn r39_the_secrets_file_lies_outside_the_home_and_is_private() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::bare();
    let inside = format!("file:{}", world.scratch.join("home/secrets").display());
    let cli = Cli::new(world.scratch.join("home")).with_args(&["--secrets", &inside]).with_passphrase(PASSPHRASE);
    assert_eq!(cli.run(&["init", "--owner", "Noor"]).expect(2).error()["field"], "secrets");
    world.cli.ok(&["init", "--owner", "Noor"]);
    let mode = std::fs::metadata(world.scratch.join("secrets")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let other = Cli::new(world.scratch.join("home")).with_args(&["--secrets", "keychain"]);
    assert_eq!(other.run(&["list"]).expect(2).error()["field"], "secrets", "a home keeps to its store");
}

#[test]
fn r40_options_stand_before_or_after_the_subcommand_and_answers_are_one_document() {
    let world = World::bare();
    world.cli.ok(&["init", "--owner", "Noor"]);
    let bare = Cli::new(world.scratch.join("home"));
    for args in [&["--json", "list"][..], &["list", "--json"]] {
        let answer = bare.run(args).expect(0);
        assert_eq!(answer.json()["actions"], serde_json::json!([]));
        assert_eq!(answer.json()["next"], serde_json::Value::Null);
    }
    for args in [&["list", "--state", "sent"][..], &["list", "--limit", "0"], &["list", "--after", "x"]] {
        let error = bare.run(args).expect(2).error();
        assert_eq!(error["field"], args[1].trim_start_matches("--"), "{error}");
    }
    assert_eq!(bare.run(&["frobnicate"]).expect(2).error()["code"], "bad_input");
    assert!(bare.run(&["--help"]).expect(0).stdout.contains("Exit codes"));
}

#[test]
fn r40_a_destination_is_added_listed_explained_and_removed_for_good() {
    let world = World::sandbox();
    let list = world.cli.ok(&["destination", "list"]);
    assert_eq!(list["destinations"][0]["name"], "sandbox-mailbox");
    let contract = world.cli.ok(&["destination", "contract", "sandbox-mailbox"]);
    let email = contract["contracts"].as_array().unwrap().iter().find(|c| c["effect"] == "email.send").unwrap();
    assert!(text(&email["can_be_looked_up"]).contains("proves nothing"), "{email}");
    assert_eq!(email["certainty"], 2);

    let file = |name: &str, extra: &str| {
        format!(
            "name = \"{name}\"\nkind = \"mailbox\"\nenvironment = \"sandbox\"\n{extra}\n[mailbox]\n\
             from = [\"Second <second@shop.example>\"]\nsmtp = \"smtp+plain://127.0.0.1:2525\"\n\
             username = \"second@shop.example\"\n"
        )
    };
    let add = |text: &str| {
        let path = world.scratch.write("second.toml", text);
        world.cli.run_secret(&["destination", "add", path.to_str().unwrap()], "--secret-fd", "its password")
    };
    assert_eq!(add(&file("second", "colour = 1")).expect(2).error()["field"], "colour");
    let password = add(&file("second", "password = \"x\"")).expect(2);
    assert_eq!(password.error()["field"], "password");
    assert_eq!(add(&file("Second One", "")).expect(2).error()["field"], "name");
    let outside = file("second", "").replace("127.0.0.1", "mail.shop.example");
    assert_eq!(add(&outside).expect(2).error()["field"], "mailbox.smtp", "the sandbox stays on loopback");
    assert_eq!(add(&file("second", "")).expect(0).json()["name"], "second");
    assert_eq!(add(&file("second", "")).expect(3).error()["code"], "conflict");
    assert_eq!(add(&file("third", "")).expect(3).error()["code"], "conflict", "one account is set up once");
    assert_eq!(world.cli.run(&["destination", "test", "nobody"]).expect(5).error()["code"], "not_found");
    world.cli.run(&["destination", "test", "second"]).expect(7);
    world.cli.ok(&["destination", "remove", "second"]);
    world.cli.run(&["destination", "remove", "second"]).expect(5);
    assert_eq!(add(&file("second", "")).expect(3).error()["code"], "conflict", "a removed name is never used again");

    let tested = world.cli.ok(&["destination", "test", "sandbox-mailbox"]);
    assert_eq!(tested["sent_folder"], "Sent");
}

#[test]
fn r10_a_source_is_added_with_its_permissions_and_its_token_is_shown_once() {
    let world = World::sandbox();
    let add = |name: &str, effects: &str, destinations: &str| {
        world.cli.run(&[
            "source",
            "add",
            name,
            "--environment",
            "sandbox",
            "--effects",
            effects,
            "--destinations",
            destinations,
            "--signed",
        ])
    };
    let made = add("shop.bot", "email.send", "sandbox-mailbox").expect(0).json();
    assert!(text(&made["token"]).len() > 40 && text(&made["signing_secret"]).starts_with("whsec_"));
    assert_eq!(add("shop.bot", "email.send", "sandbox-mailbox").expect(3).error()["field"], "name");
    assert_eq!(add("other", "email.fax", "sandbox-mailbox").expect(2).error()["field"], "effects");
    assert_eq!(add("other", "email.send", "nowhere").expect(2).error()["field"], "destinations");
    assert_eq!(add("Other One", "email.send", "sandbox-mailbox").expect(2).error()["field"], "name");
    let list = world.cli.run(&["source", "list"]).expect(0);
    assert!(!list.stdout.contains(text(&made["token"])) && !list.stdout.contains("whsec_"));
    world.cli.ok(&["source", "revoke", "shop.bot"]);
    world.cli.run(&["source", "revoke", "nobody"]).expect(5);
    let document = email("evt-1", "r-1", "robin@customer.example").to_string();
    let late = world.cli.run_input(&["propose", "-", "--source", "shop.bot"], document.as_bytes()).expect(4);
    assert_eq!(late.error()["field"], "source");
}

#[test]
fn r30_verify_answers_for_the_whole_ledger_and_export_writes_the_record() {
    let world = World::sandbox();
    let action = world.created(&email("evt-1", "r-1", "robin@customer.example"));
    let proof = world.cli.ok(&["verify"]);
    assert_eq!(proof["broken"], serde_json::json!([]));
    assert!(proof["seq"].as_i64().unwrap() > 0);
    let json = world.cli.ok(&["export"]);
    assert_eq!(json["actions"][0]["id"], action["id"]);
    assert!(!json.to_string().contains("your slot is moved"), "the record has no message text");
    let csv = world.cli.ok(&["export", "--format", "csv", "--state", "prepared"]);
    let lines: Vec<&str> = text(&csv["csv"]).lines().collect();
    assert!(lines.len() == 2 && lines[0].starts_with("id,environment,") && lines[1].starts_with(text(&action["id"])));
    let none = world.cli.ok(&["export", "--from", "2099-01-01T00:00:00Z"]);
    assert_eq!(none["actions"], serde_json::json!([]));
    assert_eq!(world.cli.run(&["export", "--from", "yesterday"]).expect(2).error()["field"], "from");
    assert_eq!(world.cli.ok(&["doctor"])["ok"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn r42_a_first_start_that_broke_off_is_named_by_doctor_and_completed_by_the_same_command() {
    let world = World::bare();
    // As far as the first start came: the home is made, its sandbox is not set up.
    let home = countersign_engine::Home::at(world.cli.home());
    let args = countersign_engine::InitArgs {
        owner: "Noor".into(),
        sandbox: true,
        secrets: format!("file:{}", world.scratch.join("secrets").display()).parse().expect("a store"),
        passphrase: Some(countersign_engine::Passphrase::new(crate::shared::PASSPHRASE).expect("long enough")),
    };
    home.init(args, &countersign_engine::Clock::System).await.expect("a home");
    let report = world.cli.run(&["doctor"]).expect(5).json();
    let check = report["checks"].as_array().expect("a list").iter().find(|c| c["check"] == "sandbox").cloned();
    let check = check.expect("it is looked at");
    assert_eq!((&report["ok"], &check["ok"]), (&serde_json::json!(false), &serde_json::json!(false)));
    assert!(text(&check["text"]).contains("countersign init"), "what to do: {check}");
    world.cli.run(&["init", "--owner", "Somebody Else", "--sandbox"]).expect(3);
    world.cli.ok(&["init", "--owner", "Noor", "--sandbox"]);
    assert_eq!(world.cli.ok(&["doctor"])["ok"], true);
    world.cli.run(&["init", "--owner", "Noor", "--sandbox"]).expect(3);
    world.source("bot", "sandbox-mailbox");
    world.created(&email("evt-1", "r-1", "robin@customer.example"));
}

#[test]
fn r40_doctor_ends_with_the_code_of_the_gravest_thing_that_is_not_in_order() {
    let world = World::sandbox();
    world.cli.ok(&["freeze"]);
    let report = world.cli.run(&["doctor"]).expect(8).json();
    assert_eq!(report["ok"], false, "the report is the answer all the same: {report}");
    let wrong = world.without_passphrase().run(&["doctor"]);
    assert_ne!(wrong.code, 0, "{wrong:?}");
    Cli::new(world.scratch.join("nowhere")).run(&["doctor"]).expect(5);
}

#[test]
fn r40_an_empty_list_says_what_is_empty_and_what_to_do() {
    let world = World::bare();
    world.cli.ok(&["init", "--owner", "Noor"]);
    let secrets = format!("file:{}", world.scratch.join("secrets").display());
    let plainly = |args: &[&str]| {
        let mut words = vec!["--home", world.cli.home().to_str().expect("plain"), "--secrets", &secrets];
        words.extend(args);
        let out =
            std::process::Command::new(testkit::cli::built("countersign")).args(&words).output().expect("it starts");
        assert!(out.status.success(), "{out:?}");
        String::from_utf8(out.stdout).expect("text")
    };
    for (args, says) in [
        (&["list"][..], "countersign propose"),
        (&["list", "--state", "unknown"], "countersign list"),
        (&["search", "slot"], "Nothing was found"),
        (&["destination", "list"], "countersign destination add"),
        (&["source", "list"], "countersign source add"),
    ] {
        let text = plainly(args);
        assert!(text.contains(says), "{args:?}: {text:?}");
    }
}

#[test]
fn r27_lost_secrets_come_back_from_the_recovery_export_and_the_message_names_the_command() {
    let world = World::sandbox();
    let action = world.created(&email("evt-1", "r-1", "robin@customer.example"));
    let file = world.scratch.join("recovery");
    let file = file.to_str().expect("plain");
    world.without_passphrase().run(&["recovery", "export", file]).expect(4);
    world.cli.ok(&["recovery", "export", file]);
    assert_eq!(world.cli.run(&["recovery", "export", file]).expect(2).error()["field"], "file", "it replaces nothing");
    let written = std::fs::read(file).expect("it is there");
    assert!(!String::from_utf8_lossy(&written).contains("ledger"), "it is encrypted");
    world.cli.run(&["recovery", "import", file]).expect(3);

    std::fs::remove_file(world.scratch.join("secrets")).expect("it was there");
    let lost = world.cli.run(&["dispatch", "--until-idle"]).expect(8).error();
    assert!(text(&lost["message"]).contains("countersign recovery import"), "{lost}");
    world.without_passphrase().run(&["recovery", "import", file]).expect(4);
    let back = world.cli.ok(&["recovery", "import", file]);
    assert!(text(&back["text"]).contains("unfreeze --adopt"), "{back}");
    assert_eq!(world.dispatch(&at(20)).expect(8).error()["code"], "frozen");
    world.cli.ok(&["unfreeze", "--adopt"]);
    assert_eq!(world.show(&action["id"])["idempotency_key"], action["idempotency_key"]);
    let again = world.created(&email("evt-2", "r-2", "sam@customer.example"));
    assert_ne!(again["idempotency_key"], action["idempotency_key"]);
    assert_eq!(world.cli.ok(&["verify"])["broken"], serde_json::json!([]));
}

#[test]
fn r27_a_restored_backup_is_left_frozen_until_a_person_adopts_it() {
    let world = World::sandbox();
    let action = world.created(&email("evt-1", "r-1", "robin@customer.example"));
    world.approve(&action, &at(0)).expect(0);
    let file = world.scratch.join("copy.db");
    let file = file.to_str().unwrap();
    world.cli.ok(&["backup", file]);
    assert_eq!(world.cli.run(&["backup", file]).expect(2).error()["field"], "file", "a backup replaces nothing");
    world.dispatch(&at(20)).expect(0);
    assert_eq!(world.show(&action["id"])["state"], "accepted");

    world.without_passphrase().run(&["restore", file]).expect(4);
    world.cli.run(&["restore", "/nowhere/copy.db"]).expect(2);
    world.cli.ok(&["restore", file]);
    assert_eq!(world.show(&action["id"])["state"], "approved", "as the backup knew it");
    assert_eq!(world.dispatch(&at(40)).expect(8).error()["code"], "frozen");
    world.without_passphrase().run(&["unfreeze", "--adopt"]).expect(4);
    assert_eq!(world.cli.run(&["unfreeze"]).expect(3).error()["code"], "conflict", "a restored ledger must be adopted");
    world.cli.ok(&["unfreeze", "--adopt"]);
    // The sandbox files the Sent copy itself, so the look before the first attempt finds what went out before.
    world.dispatch(&at(60));
    let doc = world.show(&action["id"]);
    assert_eq!(doc["state"], "accepted", "{doc}");
    assert_eq!(doc["receipt"]["kind"], "lookup", "found, not sent again");
}

#[test]
fn r27_freeze_and_unfreeze_stop_and_start_dispatch() {
    let world = World::sandbox();
    let action = world.created(&email("evt-1", "r-1", "robin@customer.example"));
    world.approve(&action, &at(0)).expect(0);
    world.cli.ok(&["freeze"]);
    assert_eq!(world.dispatch(&at(20)).expect(8).error()["code"], "frozen");
    assert_eq!(world.show(&action["id"])["state"], "approved");
    world.without_passphrase().run(&["unfreeze"]).expect(4);
    let lifted = world.cli.ok(&["unfreeze", "--adopt"]);
    assert_eq!(lifted["adopted"], false, "there was nothing to take over");
    assert_eq!(world.cli.run(&["unfreeze"]).expect(3).error()["code"], "conflict");
    world.dispatch(&at(20)).expect(0);
    assert_eq!(world.show(&action["id"])["state"], "accepted");
}

#[test]
fn r31_purge_needs_presence_and_keeps_hashes_and_receipts() {
    let world = World::sandbox();
    let action = world.created(&email("evt-1", "r-1", "robin@customer.example"));
    world.approve(&action, &at(0)).expect(0);
    world.dispatch(&at(20)).expect(0);
    world.without_passphrase().run(&["purge", "--older-than", "1d"]).expect(4);
    assert_eq!(world.cli.run(&["purge", "--older-than", "soon"]).expect(2).error()["field"], "older-than");
    let purged = world.cli.ok(&["purge", "--older-than", "30d", "--now", &at(86_400 * 40)]);
    assert_eq!(purged["actions"], 1);
    let doc = world.show(&action["id"]);
    assert_eq!(doc["payload_hash"], action["payload_hash"]);
    assert!(doc["receipt"]["text"].is_string() && !doc.to_string().contains("your slot is moved"), "{doc}");
    assert_eq!(world.cli.ok(&["verify"])["broken"], serde_json::json!([]));
}

#[test]
fn r40_the_demo_plays_the_whole_job_and_every_expectation_holds() {
    let world = World::bare();
    let bare = Cli::new(world.scratch.join("not-used"));
    let story = bare.run(&["demo"]).expect(0).json();
    assert_eq!(story["ok"], true);
    assert_eq!(story["actions"].as_array().unwrap().len(), 4);
    assert!(story["expectations"].as_array().unwrap().iter().all(|e| e["held"] == true), "{story}");
    assert!(!world.scratch.join("not-used").exists(), "its home is a throw-away one");
}
