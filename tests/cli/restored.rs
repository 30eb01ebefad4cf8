//! Backups on the command line: whose home a restored one is, what is said of a file that is none, and what a restore that
//! fails leaves behind.

use crate::shared::{PASSPHRASE, World, at, email, text};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use testkit::Cli;
use testkit::peers::Agent;

const ROBIN: &str = "robin@customer.example";

fn backup(world: &World) -> PathBuf {
    let file = world.scratch.join("good.db");
    world.cli.ok(&["backup", file.to_str().unwrap()]);
    file
}

/// Another folder for a home of the same ledger, with the secrets where they are.
fn elsewhere(world: &World, name: &str) -> Cli {
    let secrets = format!("file:{}", world.scratch.join("secrets").display());
    Cli::new(world.scratch.join(name)).with_args(&["--secrets", &secrets]).with_passphrase(PASSPHRASE)
}

fn restore(cli: &Cli, file: &Path) -> testkit::Answer {
    cli.run(&["restore", file.to_str().unwrap()])
}

/// A message that no other copy of the ledger can have known.
fn asked_later(event: &str, request: &str) -> Value {
    let mut document = email(event, request, ROBIN);
    document["conversation"] = json!({
        "from": { "name": "Robin Vale", "email": ROBIN }, "subject": "Delivery slot", "received_at": at(100),
        "message_id": null, "references": [], "text": "Can I move my slot?", "html": null
    });
    document
}

#[test]
fn r27_a_home_restored_elsewhere_is_its_owners_and_what_is_approved_there_goes_and_verifies() {
    let world = World::sandbox();
    let waiting = world.created(&email("evt-1", "r-1", ROBIN));
    let file = backup(&world);
    let cli = elsewhere(&world, "second");
    restore(&cli, &file).expect(0);
    cli.ok(&["unfreeze", "--adopt", "--now", &at(50)]);
    assert_eq!(cli.ok(&["show", text(&waiting["id"])])["owner"], "Noor");
    let document = asked_later("evt-2", "r-2").to_string();
    let answer = cli.run_input(&["propose", "-", "--source", "bot", "--now", &at(110)], document.as_bytes());
    let action = answer.expect(0).json()["actions"][0].clone();
    let (id, hash) = (text(&action["id"]), text(&action["payload_hash"]));
    let doc = cli.ok(&["approve", id, "--payload-hash", hash, "--now", &at(120)]);
    assert_eq!((&doc["state"], &doc["approvals"][0]["by"]), (&json!("approved"), &json!("Noor")));
    // Its sandbox came with it.
    cli.run(&["dispatch", "--until-idle", "--now", &at(140)]).expect(0);
    assert_eq!(cli.ok(&["show", id])["state"], "accepted");
    assert_eq!(cli.ok(&["verify"])["broken"], json!([]));
}

#[test]
fn r12_a_name_that_this_device_does_not_sign_for_approves_nothing() {
    let world = World::sandbox();
    let action = world.created(&email("evt-1", "r-1", ROBIN));
    let config = world.cli.home().join("config.toml");
    let told = std::fs::read_to_string(&config).expect("it is there");
    std::fs::write(&config, told.replace("\"Noor\"", "\"Sam\"")).expect("written");
    assert_eq!(world.approve(&action, &at(0)).expect(4).error()["code"], "not_permitted");
    let doc = world.show(&action["id"]);
    assert_eq!((&doc["state"], &doc["approvals"]), (&json!("prepared"), &json!([])));
    assert_eq!(world.cli.ok(&["verify"])["broken"], json!([]));
}

#[test]
fn r27_a_file_that_is_no_ledger_is_bad_input_and_a_damaged_backup_is_broken() {
    let world = World::sandbox();
    world.created(&email("evt-1", "r-1", ROBIN));
    let good = std::fs::read(backup(&world)).expect("it is there");
    let seq = world.cli.ok(&["verify"])["seq"].clone();
    let spoilt = |spoil: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = good.clone();
        spoil(&mut bytes);
        bytes
    };
    let half = good.len() / 2;
    let files = [
        (
            "words.db",
            2,
            b"Dear Noor, this is a letter and no database at all. Yours, Robin. It has to be long enough for a \
            header of a hundred bytes."
                .to_vec(),
        ),
        ("empty.db", 2, Vec::new()),
        ("torn.db", 9, spoilt(&|b| b.truncate(half))),
        ("stub.db", 9, spoilt(&|b| b.truncate(4096))),
        ("schema.db", 9, spoilt(&|b| b[100..2000].fill(0xff))),
        ("pages.db", 9, spoilt(&|b| b[4096..half].fill(0xff))),
        ("tail.db", 9, spoilt(&|b| b[half..].fill(0))),
    ];
    for (name, code, bytes) in files {
        let file = world.scratch.write(name, bytes);
        for cli in [&world.cli, &elsewhere(&world, "second")] {
            let refused = restore(cli, &file);
            assert_eq!(refused.code, code, "{name}: {}", refused.stderr);
            assert_eq!(refused.error()["field"], "file", "{name}");
        }
    }
    assert_eq!(world.cli.ok(&["verify"])["seq"], seq, "the home is as it was");
    assert!(!world.scratch.join("second").exists(), "no empty folder");
}

#[test]
fn r27_a_restore_that_cannot_be_written_leaves_the_home_its_ledger() {
    let world = World::sandbox();
    let action = world.created(&email("evt-1", "r-1", ROBIN));
    let file = backup(&world);
    // Where the copy would be written first lies something that cannot be written over.
    let beside = world.cli.home().join("ledger.db.new");
    std::fs::create_dir(&beside).expect("it can be made");
    let refused = restore(&world.cli, &file);
    assert_ne!(refused.code, 0);
    assert_eq!(world.show(&action["id"])["state"], "prepared");
    world.approve(&action, &at(0)).expect(0);
    world.dispatch(&at(20)).expect(0);
    std::fs::remove_dir(&beside).expect("it is empty");
    restore(&world.cli, &file).expect(0);
    assert_eq!(world.dispatch(&at(40)).expect(8).error()["code"], "frozen");
}

#[test]
fn r27_while_an_agent_has_the_ledger_open_nothing_is_put_in_its_place() {
    let world = World::bare();
    world.cli.ok(&["init", "--owner", "Noor", "--sandbox"]);
    let token = text(&world.source("bot", "sandbox-mailbox")["token"]).to_owned();
    let file = backup(&world);
    let mut agent = Agent::start(&world.cli, "bot", &token);
    let refused = restore(&world.cli, &file).expect(8);
    assert_eq!(refused.error()["code"], "frozen");
    let why = text(&refused.error()["message"]).to_owned();
    assert!(why.contains("mcp") && why.contains("close it"), "{why}");
    let proposed = agent.ok("propose_action", &email("evt-1", "r-1", ROBIN))["actions"][0].clone();
    assert_eq!(world.show(&proposed["id"])["state"], "prepared", "what the agent is told is what the home holds");
    assert!(!world.cli.home().join("before-restore-1").exists(), "nothing was moved");
    drop(agent);
    restore(&world.cli, &file).expect(0);
    world.cli.run(&["show", text(&proposed["id"])]).expect(5);
}
