//! What becomes of an action after dispatch, with a mailbox that misbehaves. Effects are counted at the mailbox.

use crate::shared::{PASSPHRASE, World, at, email, text};
use countersign_sandbox::{Config, Fault, Habits, Sandbox};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

const ROBIN: &str = "robin@customer.example";
const ADDRESS: &str = "far@far-shop.example";

/// A pretend mailbox in this process, reached as any other destination on loopback.
struct Far {
    runtime: Runtime,
    sandbox: Sandbox,
}

impl Far {
    /// The mailbox, added to the home as `far-mailbox`, with the source `far` that may propose to it.
    fn set_up(world: &World) -> Far {
        let runtime = Runtime::new().expect("a runtime");
        let sandbox = runtime.block_on(Sandbox::start(Config::in_memory(&[(ADDRESS, PASSPHRASE)]))).expect("it starts");
        let file = format!(
            "name = \"far-mailbox\"\nkind = \"mailbox\"\nenvironment = \"sandbox\"\nundo_seconds = 0\n[mailbox]\n\
             from = [\"{ADDRESS}\"]\nsmtp = \"smtp+plain://{}\"\nimap = \"imap+plain://{}\"\nusername = \"{ADDRESS}\"\n\
             answer_timeout_seconds = 2\nfiles_sent_itself = true\n",
            sandbox.smtp_addr(),
            sandbox.imap_addr(),
        );
        let path = world.scratch.write("far.toml", file);
        world.cli.run_secret(&["destination", "add", path.to_str().unwrap()], "--secret-fd", PASSPHRASE).expect(0);
        world.source("far", "far-mailbox");
        Far { runtime, sandbox }
    }

    fn effects(&self, action: &Value) -> usize {
        self.sandbox.effects_with_header("X-Countersign-Key", text(&action["idempotency_key"])).len()
    }

    /// An approved email to Robin.
    fn approved(&self, world: &World, request: &str) -> Value {
        let mut document = email(&format!("evt-{request}"), request, ROBIN);
        document["actions"][0]["destination"] = json!("far-mailbox");
        document["actions"][0]["payload"]["from"] = json!({ "email": ADDRESS });
        let answer = world.cli.run_input(&["propose", "-", "--source", "far"], document.to_string().as_bytes());
        let action = answer.expect(0).json()["actions"][0].clone();
        world.approve(&action, &at(0)).expect(0);
        action
    }
}

impl Drop for Far {
    fn drop(&mut self) {
        let _inside = self.runtime.enter();
        self.sandbox.clear_faults();
    }
}

#[test]
fn r24_a_lost_answer_is_asked_about_settled_by_a_person_and_never_sent_again_by_itself() {
    let world = World::sandbox();
    let far = Far::set_up(&world);
    far.sandbox.fault_once(Fault::hang_after_acting());
    let action = far.approved(&world, "r-1");
    let id = text(&action["id"]).to_owned();

    let ended = world.dispatch(&at(20)).expect(6);
    assert_eq!((text(&ended.error()["code"]), text(&ended.error()["action"])), ("unknown", id.as_str()));
    assert_eq!(world.show(&action["id"])["state"], "unknown");
    assert_eq!(far.effects(&action), 1);
    let asked = world.cli.run(&["reconcile", &id, "--now", &at(60)]).expect(6).json();
    assert!(!asked["lookups"].as_array().unwrap().is_empty(), "the look is kept as evidence");
    let offers = asked["offers"].as_array().unwrap();
    let order: Vec<&str> = offers.iter().map(|o| text(&o["what"])).collect();
    assert_eq!(order, ["ask", "finish", "happened", "did_not_happen", "revise", "leave"], "fixed order, no retry");
    assert_eq!(offers[1]["offered"], false, "a mailbox recognises no repeat");
    world.dispatch(&at(60)).expect(0);
    assert_eq!(far.effects(&action), 1, "nothing is sent again by itself");

    let said = |verdict: &str, evidence: &str, now: &str| {
        world.cli.run(&["resolve", &id, verdict, "--evidence", evidence, "--now", now])
    };
    assert_eq!(world.cli.run(&["resolve", &id, "--evidence", "x"]).expect(2).error()["code"], "bad_input");
    assert_eq!(said("--happened", " ", &at(80)).expect(2).error()["field"], "evidence");
    let settled = said("--happened", "Robin answered it on the phone", &at(80)).expect(0).json();
    assert_eq!((text(&settled["state"]), text(&settled["receipt"]["kind"])), ("accepted", "person"));
    assert_eq!(settled["receipt"]["by"], "Noor");
    assert_eq!(said("--did-not-happen", "x", &at(90)).expect(3).error()["code"], "conflict");
    world.cli.run(&["reconcile", &id]).expect(3);
    assert_eq!(far.effects(&action), 1);
    assert_eq!(world.cli.ok(&["verify"])["broken"], json!([]));
}

#[test]
fn r24_what_is_found_in_sent_settles_it() {
    let world = World::sandbox();
    let far = Far::set_up(&world);
    far.sandbox.set_habits(Habits { files_sent: true, ..Habits::default() });
    far.sandbox.fault_once(Fault::reset_after_acting());
    let action = far.approved(&world, "r-1");
    // The dispatch itself asks at once, and Sent has it.
    world.dispatch(&at(20)).expect(0);
    let doc = world.show(&action["id"]);
    assert_eq!((text(&doc["state"]), text(&doc["receipt"]["kind"])), ("accepted", "lookup"));
    assert_eq!(far.effects(&action), 1);
    assert_eq!(world.cli.ok(&["reconcile"])["actions"], json!([]), "nothing is left unknown");
}

#[test]
fn r25_it_did_not_happen_is_signed_and_sends_the_same_bytes_under_the_same_key() {
    let world = World::sandbox();
    let far = Far::set_up(&world);
    far.sandbox.fault_once(Fault::reset_before_acting());
    let action = far.approved(&world, "r-1");
    let id = text(&action["id"]).to_owned();
    world.dispatch(&at(20)).expect(6);
    assert_eq!(far.effects(&action), 0);
    let said = |cli: &testkit::Cli, now: &str| {
        cli.run(&["resolve", &id, "--did-not-happen", "--evidence", "Robin has nothing", "--now", now])
    };
    assert_eq!(said(&world.cli, &at(20)).expect(3).error()["code"], "conflict", "an answer may still come");
    let doc = said(&world.cli, &at(3600)).expect(0).json();
    assert_eq!((text(&doc["state"]), text(&doc["by_word_of"])), ("approved", "Noor"));
    world.dispatch(&at(3700)).expect(0);
    let doc = world.show(&action["id"]);
    assert_eq!((text(&doc["state"]), doc["attempts"].as_array().unwrap().len()), ("accepted", 2));
    assert_eq!(far.effects(&action), 1);
}

#[test]
fn r25_left_unknown_it_stays_unknown_and_can_be_revised() {
    let world = World::sandbox();
    let far = Far::set_up(&world);
    far.sandbox.fault_once(Fault::reset_before_acting());
    let action = far.approved(&world, "r-1");
    let id = text(&action["id"]).to_owned();
    world.dispatch(&at(20)).expect(6);
    let doc = world.cli.ok(&["resolve", &id, "--leave", "--evidence", "nobody knows", "--now", &at(30)]);
    assert_eq!(doc["state"], "closed_unknown");
    let offered: Vec<&str> =
        doc["offers"].as_array().unwrap().iter().filter(|o| o["offered"] == true).map(|o| text(&o["what"])).collect();
    assert_eq!(offered, ["ask", "revise"]);
    let new = world.cli.ok(&["revise", &id]);
    assert_eq!(new["revises"], action["id"]);
}

#[test]
fn r22_refused_and_given_up_are_said_with_their_code() {
    let world = World::sandbox();
    let far = Far::set_up(&world);
    far.sandbox.fault_once(Fault::refused_at_end(550));
    let action = far.approved(&world, "r-1");
    let ended = world.dispatch(&at(20)).expect(7);
    assert_eq!((text(&ended.error()["code"]), &ended.error()["action"]), ("refused", &action["id"]));
    let doc = world.show(&action["id"]);
    assert_eq!(doc["state"], "refused");
    assert_eq!(far.effects(&action), 0);
    let edit = world.file("edit.json", &doc["payload"]);
    world.cli.run(&["edit", text(&action["id"]), "--payload", edit.to_str().unwrap()]).expect(3);
}

#[test]
fn r18_while_another_process_dispatches_this_one_does_not() {
    let world = World::sandbox();
    let mut serving = world.cli.spawn(&["serve"]);
    serving.listening();
    for args in [&["dispatch", "--until-idle"][..], &["reconcile"], &["serve"]] {
        assert_eq!(world.cli.run(args).expect(8).error()["code"], "frozen", "{args:?}");
    }
    assert_eq!(serving.stop().0, 0, "it ends in good order");
    world.cli.run(&["dispatch", "--until-idle"]).expect(0);
}
