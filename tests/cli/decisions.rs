//! A person's decisions from the command line.

use crate::shared::{World, at, email, text};
use serde_json::{Value, json};

const ROBIN: &str = "robin@customer.example";

#[test]
fn r13_approving_a_hash_that_is_no_longer_current_changes_nothing() {
    let world = World::sandbox();
    let action = world.created(&email("evt-1", "r-1", ROBIN));
    let id = text(&action["id"]);
    let mut payload = world.show(&action["id"])["payload"].clone();
    payload["text"] = json!("Of course: Thursday, 10:00.");
    let file = world.file("edited.json", &payload);
    let edited = world.cli.ok(&["edit", id, "--payload", file.to_str().unwrap()]);
    assert_eq!(edited["payload_version"], 2);
    assert_ne!(edited["payload_hash"], action["payload_hash"]);

    let stale = world.approve(&action, &at(0)).expect(3);
    assert_eq!((text(&stale.error()["code"]), text(&stale.error()["action"])), ("conflict", id));
    let doc = world.show(&action["id"]);
    assert_eq!((text(&doc["state"]), doc["approvals"].as_array().unwrap().len()), ("prepared", 0));
    assert_eq!(world.cli.run(&["approve", id, "--payload-hash", "28F1"]).expect(2).error()["field"], "payload_hash");

    let approved = world.approve(&doc, &at(0)).expect(0).json();
    assert_eq!(approved["state"], "approved");
    assert_eq!((text(&approved["next"]["what"]), text(&approved["next"]["at"])), ("undo_ends", at(10).as_str()));
    let refused = world.cli.run(&["edit", id, "--payload", file.to_str().unwrap()]).expect(3);
    assert!(text(&refused.error()["message"]).contains("undo"), "an approved action is undone before it is edited");
    let undone = world.cli.ok(&["undo", id]);
    assert_eq!(undone["state"], "prepared");
    assert_eq!(undone["approvals"][0]["counts"], false);
    world.cli.run(&["undo", id]).expect(3);
}

#[test]
fn f18_the_same_approval_twice_is_one_approval() {
    let world = World::sandbox();
    let action = world.created(&email("evt-1", "r-1", ROBIN));
    let answers: Vec<_> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..3).map(|_| scope.spawn(|| world.approve(&action, &at(0)))).collect();
        all.into_iter().map(|one| one.join().expect("it ends")).collect()
    });
    let again = world.approve(&action, &at(0)).expect(0).json();
    let counting = again["approvals"].as_array().unwrap().iter().filter(|a| a["counts"] == true).count();
    assert_eq!((text(&again["state"]), counting), ("approved", 1));
    // Each of them is told of the one approval there is, as if it had been the first.
    for answer in answers {
        let told = answer.expect(0).json();
        assert_eq!((text(&told["state"]), &told["approvals"]), ("approved", &again["approvals"]));
    }
    world.dispatch(&at(20)).expect(0);
    assert_eq!(world.show(&action["id"])["attempts"].as_array().map(Vec::len), Some(1));
}

#[test]
fn f14_an_untouched_edit_keeps_every_value_and_null_is_not_absent() {
    let world = World::sandbox();
    let mut document = email("evt-1", "r-1", ROBIN);
    document["actions"][0]["payload"]["html"] = json!(null);
    document["actions"][0]["payload"]["cc"] = json!([]);
    let action = world.created(&document);
    let payload = world.show(&action["id"])["payload"].clone();
    assert_eq!(payload, document["actions"][0]["payload"], "kept as it came");
    let file = world.file("same.json", &payload);
    let same = world.cli.ok(&["edit", text(&action["id"]), "--payload", file.to_str().unwrap()]);
    assert_eq!(same["payload_hash"], action["payload_hash"], "the same content has the same fingerprint");
    let mut without = payload.clone();
    without.as_object_mut().unwrap().remove("cc");
    let file = world.file("without.json", &without);
    let without = world.cli.ok(&["edit", text(&action["id"]), "--payload", file.to_str().unwrap()]);
    assert_ne!(without["payload_hash"], action["payload_hash"], "absent is not []");
    let bad = world.scratch.write("bad.json", r#"{"from":{"email":"support@shop.example"},"from":1}"#);
    let refused = world.cli.run(&["edit", text(&action["id"]), "--payload", bad.to_str().unwrap()]).expect(2);
    assert_eq!(refused.error()["field"], "payload.from");
}

#[test]
fn r12_in_live_a_decision_needs_the_passphrase() {
    let world = World::bare();
    world.cli.ok(&["init", "--owner", "Noor"]);
    let file = world.scratch.write(
        "live.toml",
        "name = \"live-mailbox\"\nkind = \"mailbox\"\nenvironment = \"live\"\n[mailbox]\n\
         from = [\"support@shop.example\"]\nsmtp = \"smtp+plain://127.0.0.1:2525\"\nusername = \"support@shop.example\"\n",
    );
    let add = ["destination", "add", file.to_str().unwrap()];
    let locked = world.without_passphrase().run_secret(&add, "--secret-fd", "its password").expect(4);
    assert_eq!(locked.error()["code"], "locked");
    world.cli.run_secret(&add, "--secret-fd", "its password").expect(0);
    let source =
        ["source", "add", "bot", "--environment", "live", "--effects", "email.send", "--destinations", "live-mailbox"];
    world.without_passphrase().run(&source).expect(4);
    world.cli.ok(&source);

    let mut document = email("evt-1", "r-1", ROBIN);
    document["actions"][0]["destination"] = json!("live-mailbox");
    let action = world.created(&document);
    let (id, hash) = (text(&action["id"]), text(&action["payload_hash"]));
    let approve = ["approve", id, "--payload-hash", hash];
    assert_eq!(world.without_passphrase().run(&approve).expect(4).error()["code"], "locked");
    assert_eq!(world.show(&action["id"])["state"], "prepared");
    let doc = world.cli.ok(&approve);
    assert_eq!((text(&doc["state"]), text(&doc["approvals"][0]["by"])), ("approved", "Noor"));

    assert_eq!(world.cli.run(&["dispatch", "--until-idle", "--now", &at(86_400)]).expect(8).error()["code"], "frozen");
    world.without_passphrase().run(&["sending", "on"]).expect(4);
    world.cli.ok(&["sending", "on"]);
    assert_eq!(world.cli.run(&["list", "--now", &at(0)]).expect(4).error()["code"], "not_permitted");
    world.without_passphrase().run(&["sending", "off"]).expect(0);
}

#[test]
fn r21_sending_off_is_the_kill_switch() {
    let world = World::sandbox();
    let action = world.created(&email("evt-1", "r-1", ROBIN));
    world.approve(&action, &at(0)).expect(0);
    world.cli.ok(&["sending", "off", "--environment", "sandbox"]);
    assert_eq!(world.dispatch(&at(20)).expect(8).error()["code"], "frozen");
    assert_eq!(world.show(&action["id"])["attempts"], json!([]));
    world.cli.ok(&["sending", "on", "--environment", "sandbox"]);
    world.dispatch(&at(20)).expect(0);
    assert_eq!(world.show(&action["id"])["state"], "accepted");
}

#[test]
fn f16_a_rejection_keeps_its_reason_and_nothing_is_sent() {
    let world = World::sandbox();
    let action = world.created(&email("evt-1", "r-1", ROBIN));
    let id = text(&action["id"]);
    assert_eq!(world.cli.run(&["reject", id, "--reason", " "]).expect(2).error()["field"], "reason");
    let doc = world.cli.ok(&["reject", id, "--reason", "wrong price"]);
    assert_eq!((text(&doc["state"]), text(&doc["reason"])), ("rejected", "wrong price"));
    world.approve(&action, &at(0)).expect(3);
    world.dispatch(&at(20)).expect(0);
    let again = world.propose(&email("evt-2", "r-1", ROBIN)).expect(0).json();
    assert_eq!(again["actions"][0]["state"], "rejected", "proposing the same again changes nothing");
}

#[test]
fn r17_a_check_that_holds_is_looked_at_on_purpose() {
    let world = World::sandbox();
    let first = world.created(&email("evt-1", "r-1", ROBIN));
    world.approve(&first, &at(0)).expect(0);
    let second = world.created(&email("evt-2", "r-2", ROBIN));
    let held = world.approve(&second, &at(1)).expect(4);
    let check = format!("split_reply:{}", text(&first["id"]));
    assert_eq!((text(&held.error()["code"]), text(&held.error()["field"])), ("not_permitted", check.as_str()));
    let doc = world.show(&second["id"]);
    let finding = doc["findings"].as_array().unwrap().iter().find(|f| f["code"] == "split_reply").unwrap();
    assert_eq!((text(&finding["weight"]), finding["holds"].as_bool()), ("stop", Some(true)));
    let (id, hash) = (text(&second["id"]), text(&second["payload_hash"]));
    let wrong = world.cli.run(&["approve", id, "--payload-hash", hash, "--checked", "split_reply"]).expect(2);
    assert_eq!(wrong.error()["field"], "checked");
    for none in ["split_reply:A-99", "may_have_been_sent:action"] {
        let wrong =
            world.cli.run(&["approve", id, "--payload-hash", hash, "--checked", none, "--checked", &check]).expect(2);
        assert_eq!(wrong.error()["field"], "checked", "{none}: there is no such check");
    }
    world.cli.ok(&["approve", id, "--payload-hash", hash, "--checked", &check, "--now", &at(1)]);
}

#[test]
fn r11_what_waits_for_another_goes_after_it_or_is_released() {
    let world = World::sandbox();
    let mut document = email("evt-1", "r-1", ROBIN);
    let mut second = document["actions"][0].clone();
    second["step"] = json!("second-mail");
    second["after"] = json!("first-reply");
    second["payload"]["subject"] = json!("And one more thing");
    document["actions"].as_array_mut().unwrap().push(second);
    let answer = world.propose(&document).expect(0).json();
    let (one, two) = (answer["actions"][0].clone(), answer["actions"][1].clone());
    world.approve(&two, &at(0)).expect(0);
    world.dispatch(&at(20)).expect(0);
    assert_eq!(world.show(&two["id"])["state"], "approved", "it waits its turn");
    world.cli.run(&["release", text(&two["id"])]).expect(3);
    world.cli.ok(&["reject", text(&one["id"]), "--reason", "no need"]);
    let stuck = world.cli.ok(&["show", text(&two["id"]), "--now", &at(20)]);
    for words in [text(&stuck["next"]["text"]), text(&stuck["explanation"])] {
        assert!(words.contains("until a person releases it"), "{words}");
    }
    let released = world.cli.ok(&["release", text(&two["id"])]);
    assert_eq!(released["state"], "approved");
    world.dispatch(&at(40)).expect(0);
    assert_eq!(world.show(&two["id"])["state"], "accepted");
}

#[test]
fn r28_a_revision_is_a_new_action_made_once() {
    let world = World::sandbox();
    let action = world.created(&email("evt-1", "r-1", ROBIN));
    world.approve(&action, &at(0)).expect(0);
    let id = text(&action["id"]).to_owned();
    world.cli.run(&["revise", &id]).expect(3);
    world.dispatch(&at(20)).expect(0);
    let mut payload: Value = world.show(&action["id"])["payload"].clone();
    payload["text"] = json!("One more thing.");
    let file = world.file("revised.json", &payload);
    let new = world.cli.ok(&["revise", &id, "--payload", file.to_str().unwrap()]);
    assert_eq!((text(&new["revises"]), new["key"]["revision"].as_i64()), (id.as_str(), Some(2)));
    assert_eq!(new["state"], "prepared");
    assert_eq!(world.show(&action["id"])["revised_by"], new["id"]);
    world.cli.run(&["revise", &id]).expect(3);
    world.approve(&new, &at(30)).expect(0);
    world.dispatch(&at(50)).expect(0);
    assert_eq!(world.show(&new["id"])["state"], "accepted");
}

#[test]
fn r01_delivery_request_action_attempt_and_approval_are_told_apart() {
    let world = World::sandbox();
    let action = world.created(&email("evt-1", "r-1", ROBIN));
    world.approve(&action, &at(0)).expect(0);
    world.dispatch(&at(20)).expect(0);
    let doc = world.show(&action["id"]);
    let ids = [&doc["deliveries"][0]["id"], &doc["id"], &doc["attempts"][0]["id"], &doc["approvals"][0]["id"]];
    let letters: Vec<&str> = ids.iter().map(|id| &text(id)[..2]).collect();
    assert_eq!(letters, ["D-", "A-", "T-", "P-"]);
    assert_eq!((text(&doc["request_id"]), text(&doc["deliveries"][0]["event_id"])), ("r-1", "evt-1"));
}

#[test]
fn r02_an_action_is_found_by_number_idempotency_key_and_canonical_key() {
    let world = World::sandbox();
    let action = world.created(&email("evt-1", "r-1", ROBIN));
    let canonical =
        json!(["v1", "sandbox", "sandbox-mailbox", "email.send", "bot", "r-1", "first-reply", 1]).to_string();
    for id in [text(&action["id"]), text(&action["idempotency_key"]), canonical.as_str()] {
        assert_eq!(world.cli.ok(&["show", id])["id"], action["id"], "{id}");
    }
    for id in ["A-99", "nonsense", "00000000-0000-4000-8000-000000000000"] {
        assert_eq!(world.cli.run(&["show", id]).expect(5).error()["code"], "not_found");
    }
    let found = world.cli.ok(&["search", "Delivery"]);
    assert_eq!(found["actions"][0]["id"], action["id"]);
    assert_eq!(world.cli.ok(&["search", "nowhere"])["actions"], json!([]));
}
