//! What becomes of an action after dispatch, with a mailbox that misbehaves. Effects are counted at the mailbox.

use crate::shared::{PASSPHRASE, World, at, email, text};
use countersign_sandbox::{Config, Fault, Habits, Release, Sandbox};
use serde_json::{Value, json};
use sqlx::{AnyConnection, AssertSqlSafe, Connection, Row};
use testkit::peers::Agent;
use tokio::runtime::Runtime;

const ADDRESS: &str = "far@far-shop.example";

/// A pretend mailbox in this process, reached as any other destination on loopback.
pub struct Far {
    name: &'static str,
    token: String,
    runtime: Runtime,
    pub sandbox: Sandbox,
}

impl Far {
    /// The mailbox, added to the home as `far-mailbox`, with the source `far` that may propose to it.
    pub fn set_up(world: &World) -> Far {
        Far::named(world, "far", true)
    }

    /// The same as `NAME-mailbox` with a source `NAME`. Without IMAP nothing can be looked up.
    fn named(world: &World, name: &'static str, imap: bool) -> Far {
        let runtime = Runtime::new().expect("a runtime");
        let sandbox = runtime.block_on(Sandbox::start(Config::in_memory(&[(ADDRESS, PASSPHRASE)]))).expect("it starts");
        let reads = format!("imap = \"imap+plain://{}\"\n", sandbox.imap_addr());
        let file = format!(
            "name = \"{name}-mailbox\"\nkind = \"mailbox\"\nenvironment = \"sandbox\"\nundo_seconds = 0\n[mailbox]\n\
             from = [\"{ADDRESS}\"]\nsmtp = \"smtp+plain://{}\"\n{}username = \"{ADDRESS}\"\n\
             answer_timeout_seconds = 5\nfiles_sent_itself = true\n",
            sandbox.smtp_addr(),
            if imap { reads.as_str() } else { "" },
        );
        let path = world.scratch.write(&format!("{name}.toml"), file);
        world.cli.run_secret(&["destination", "add", path.to_str().unwrap()], "--secret-fd", PASSPHRASE).expect(0);
        let token = text(&world.source(name, &format!("{name}-mailbox"))["token"]).to_owned();
        Far { name, token, runtime, sandbox }
    }

    pub fn effects(&self, action: &Value) -> usize {
        self.sandbox.effects_with_header("X-Countersign-Key", text(&action["idempotency_key"])).len()
    }

    /// An approved email, to somebody of its own: a second one to the same person would be held back.
    fn approved(&self, world: &World, request: &str) -> Value {
        let mut document = email(&format!("evt-{request}"), request, &format!("{request}@customer.example"));
        document["actions"][0]["destination"] = json!(format!("{}-mailbox", self.name));
        document["actions"][0]["payload"]["from"] = json!({ "email": ADDRESS });
        let answer = world.cli.run_input(&["propose", "-", "--source", self.name], document.to_string().as_bytes());
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
    let asked = world.cli.run(&["reconcile", &id, "--now", &at(40)]).expect(6).json();
    assert_eq!(asked["state"], "closed_unknown", "left is not known either");
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

#[test]
fn r24_every_unknown_action_is_asked_about_although_one_cannot_be() {
    let world = World::sandbox();
    let deaf = Far::named(&world, "deaf", false);
    let far = Far::set_up(&world);
    deaf.sandbox.fault_once(Fault::reset_after_acting());
    let first = deaf.approved(&world, "r-1");
    world.dispatch(&at(20)).expect(6);
    let next = &world.show(&first["id"])["next"];
    assert_eq!(next["what"], "person", "{next}");
    assert!(text(&next["text"]).contains("can’t be asked"), "{next}");
    assert_eq!(world.cli.ok(&["list"])["actions"][0]["next"]["what"], "person", "the list says so too");
    // Files nothing by itself: the look of the dispatch finds no copy, so it stays unknown too.
    far.sandbox.fault_once(Fault::reset_after_acting());
    let second = far.approved(&world, "r-2");
    world.dispatch(&at(40)).expect(6);

    let looks = |action: &Value| world.show(&action["id"])["lookups"].as_array().unwrap().len();
    let before = looks(&second);
    let asked = world.cli.run(&["reconcile", "--now", &at(60)]).expect(6).json();
    assert_eq!(asked["actions"].as_array().unwrap().len(), 2, "{asked}");
    assert_eq!(asked["notes"][0]["action"], first["id"], "{asked}");
    assert_eq!(looks(&second), before + 1, "the one behind it was asked about");
    let alone = world.cli.run(&["reconcile", text(&first["id"]), "--now", &at(60)]).expect(6).json();
    assert_eq!((text(&alone["state"]), alone["note"].is_string()), ("unknown", true), "{alone}");
}

#[test]
fn r23_a_revision_says_that_what_it_follows_may_have_been_sent() {
    let world = World::sandbox();
    let far = Far::set_up(&world);
    far.sandbox.fault_once(Fault::reset_before_acting());
    let lost = far.approved(&world, "r-1");
    world.dispatch(&at(20)).expect(6);
    let sent = far.approved(&world, "r-2");
    world.dispatch(&at(40));
    assert_eq!(world.show(&sent["id"])["state"], "accepted");
    for (action, words) in [(&lost, "may already have been sent"), (&sent, "was accepted")] {
        let new = world.cli.ok(&["revise", text(&action["id"])]);
        let all = new["findings"].as_array().unwrap();
        let said = all.iter().find(|f| f["code"] == "follows").unwrap_or_else(|| panic!("nothing says so: {all:?}"));
        assert_eq!((&said["field"], &said["holds"]), (&action["id"], &json!(false)));
        assert!(text(&said["text"]).contains(words), "{said}");
        let held = all.iter().any(|f| f["holds"] == true && f["field"] == action["id"]);
        assert!(!held, "what it follows on purpose holds nothing back: {all:?}");
    }
    let alone = far.approved(&world, "r-3");
    let doc = world.show(&alone["id"]);
    assert!(doc["findings"].as_array().unwrap().iter().all(|f| f["code"] != "follows"), "{doc}");
}

#[test]
fn r29_a_destination_that_does_not_let_us_in_is_named_where_one_looks() {
    let world = World::sandbox();
    let far = Far::set_up(&world);
    far.sandbox.fault_once(Fault::smtp_login_refused(535));
    let action = far.approved(&world, "r-1");
    let ended = world.dispatch(&at(20)).json();
    assert_eq!(ended["paused"][0]["destination"], "far-mailbox", "{ended}");
    assert!(!text(&ended["paused"][0]["why"]).is_empty());
    let doc = world.cli.ok(&["show", text(&action["id"]), "--now", &at(21)]);
    assert_eq!((text(&doc["state"]), text(&doc["next"]["what"])), ("approved", "paused"), "{doc}");
    for words in [text(&doc["next"]["text"]), text(&doc["explanation"])] {
        assert!(words.contains("far-mailbox is paused"), "{words}");
    }
    assert_eq!(far.effects(&action), 0);
}

/// The outcomes of test messages that the journal has, in order.
fn test_messages(world: &World) -> Vec<String> {
    sqlx::any::install_default_drivers();
    let url = format!("sqlite://{}", world.scratch.join("home/ledger.db").display());
    Runtime::new().expect("a runtime").block_on(async {
        let mut conn = AnyConnection::connect(&url).await.expect("connects");
        let rows = sqlx::query("SELECT fact FROM journal WHERE fact LIKE '%test_message%' ORDER BY seq");
        let rows = rows.fetch_all(&mut conn).await.expect("it is read");
        let facts = rows.iter().map(|row| serde_json::from_str::<Value>(&row.get::<String, _>(0)).expect("JSON"));
        facts.map(|fact| text(&fact["details"]["outcome"]).to_owned()).collect()
    })
}

#[test]
fn r24_a_test_message_whose_answer_is_lost_is_unknown_in_code_words_and_record_and_not_sent_again() {
    let world = World::sandbox();
    let far = Far::set_up(&world);
    let test = || world.cli.run(&["destination", "test", "far-mailbox", "--send-to", "me@far-shop.example"]);
    far.sandbox.fault_once(Fault::hang_after_acting());
    let lost = test().expect(6).error();
    assert_eq!(lost["code"], "unknown", "{lost}");
    assert!(text(&lost["message"]).contains("may have been sent"), "{lost}");
    assert!(text(&lost["message"]).contains("not sent again by itself"), "{lost}");
    assert_eq!(far.sandbox.effects().len(), 1, "it did go, and once");
    far.sandbox.fault_once(Fault::refused_at_end(550));
    let refused = test().expect(7).error();
    assert_eq!(refused["code"], "refused", "a no is a no: {refused}");
    far.sandbox.fault_once(Fault::cut_after_rcpt());
    assert_ne!(test().code, 6, "what was cut before the message was said is not in doubt");
    assert_eq!(far.sandbox.effects().len(), 1);
    assert_eq!(test_messages(&world), ["unknown", "not_sent", "not_sent"]);
    let shown = world.cli.ok(&["verify"]);
    assert_eq!(shown["broken"], json!([]));
}

#[test]
fn late_answers_are_waited_for_also_where_something_worse_than_an_unknown_outcome_came_of_it() {
    let world = World::sandbox();
    let far = Far::set_up(&world);
    let spoilt = far.approved(&world, "r-spoilt");
    // A changed byte of the wire: the claim of this one is refused, whose code is the gravest.
    sqlx::any::install_default_drivers();
    let url = format!("sqlite://{}", world.scratch.join("home/ledger.db").display());
    Runtime::new().expect("a runtime").block_on(async {
        let mut conn = AnyConnection::connect(&url).await.expect("connects");
        let guard = sqlx::query("SELECT sql FROM sqlite_master WHERE name = 'wires_no_update'");
        let guard: String = guard.fetch_one(&mut conn).await.expect("it is there").get(0);
        let change = "DROP TRIGGER wires_no_update; UPDATE wires SET bytes = CAST(X'00' || substr(bytes, 2) AS BLOB)";
        let all = AssertSqlSafe(format!("{change}; {guard}"));
        sqlx::raw_sql(all).execute(&mut conn).await.expect("it is changed");
    });
    far.sandbox.fault_once(Fault::late_answer());
    let late = far.approved(&world, "r-late");
    let ended = std::thread::scope(|scope| {
        scope.spawn(|| {
            // Past the answer's time-out, while the run still waits for what comes late.
            let unknown = || Some(()).filter(|()| world.show(&late["id"])["state"] == "unknown");
            testkit::wait::until("its answer timed out", unknown);
            far.sandbox.release(Release::Answers);
        });
        world.dispatch(&at(20)).expect(9)
    });
    assert_eq!(ended.error()["action"], spoilt["id"]);
    let doc = world.show(&late["id"]);
    assert_eq!((text(&doc["state"]), text(&doc["receipt"]["kind"])), ("accepted", "late_answer"), "{doc}");
    assert_eq!(far.effects(&late), 1);
}

#[test]
fn r10_an_agent_reads_that_an_unknown_outcome_must_not_be_proposed_again_and_a_repeat_meets_it() {
    let world = World::sandbox();
    let far = Far::set_up(&world);
    far.sandbox.fault_once(Fault::hang_after_acting());
    let action = far.approved(&world, "r-1");
    let mut agent = Agent::start(&world.cli, "far", &far.token);
    let before = agent.ok("get_action", &json!({ "id": action["id"] }));
    assert_eq!((text(&before["state"]), before.get("warning")), ("approved", None));
    world.dispatch(&at(20)).expect(6);
    let got = agent.ok("get_action", &json!({ "id": action["id"] }));
    assert_eq!(got["state"], "unknown");
    assert!(text(&got["warning"]).contains("Never propose it again"), "{got}");
    let mut document = email("evt-again", "r-1", "r-1@customer.example");
    document["actions"][0]["destination"] = json!("far-mailbox");
    document["actions"][0]["payload"]["from"] = json!({ "email": ADDRESS });
    let again = agent.ok("propose_action", &document)["actions"][0].clone();
    assert_eq!(
        (&again["id"], text(&again["state"])),
        (&action["id"], "unknown"),
        "the same action, never a second one"
    );
    assert_eq!(far.effects(&action), 1);
}

#[test]
fn r14_what_was_done_is_told_also_where_no_more_can_be_done_and_an_unknown_outcome_wins() {
    let world = World::sandbox();
    let far = Far::set_up(&world);
    let file = world.scratch.write(
        "live.toml",
        "name = \"live-mailbox\"\nkind = \"mailbox\"\nenvironment = \"live\"\n[mailbox]\nfrom = [\"live@shop.example\"]\n\
         smtp = \"smtp+plain://127.0.0.1:9\"\nusername = \"live@shop.example\"\n",
    );
    world.cli.run_secret(&["destination", "add", file.to_str().unwrap()], "--secret-fd", PASSPHRASE).expect(0);
    let effects = ["--effects", "email.send", "--destinations", "live-mailbox"];
    world.cli.ok(&[&["source", "add", "live-bot", "--environment", "live"][..], &effects].concat());
    let mut document = email("evt-live", "r-live", "sam@other.example");
    document["actions"][0]["destination"] = json!("live-mailbox");
    document["actions"][0]["payload"]["from"] = json!({ "email": "live@shop.example" });
    let answer = world.cli.run_input(&["propose", "-", "--source", "live-bot"], document.to_string().as_bytes());
    let held = answer.expect(0).json()["actions"][0].clone();
    world.approve(&held, &at(0)).expect(0);
    let sent = far.approved(&world, "r-1");
    let ended = world.dispatch(&at(20));
    assert_eq!((ended.code, ended.json()["held_back"].clone()), (8, json!(["live"])), "nothing worse came of it");
    let done = json!([{ "id": sent["id"], "state": "accepted" }]);
    assert_eq!(ended.json()["actions"], done, "and what was done is told");

    far.sandbox.fault_once(Fault::hang_after_acting());
    let unknown = far.approved(&world, "r-2");
    let ended = world.dispatch(&at(60)).expect(6);
    assert_eq!(text(&ended.error()["code"]), "unknown");
    assert_eq!(ended.json()["actions"], json!([{ "id": unknown["id"], "state": "unknown" }]));
    assert_eq!(ended.json()["held_back"], json!(["live"]));
    assert_eq!((far.effects(&sent), far.effects(&unknown)), (1, 1));

    world.cli.ok(&["freeze"]);
    let ended = world.dispatch(&at(90)).expect(8);
    assert_eq!(ended.json()["frozen"], "by_hand");
}
