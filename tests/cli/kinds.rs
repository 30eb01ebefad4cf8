//! Destinations with an HTTP API on the command line: added, tried, explained and sent to, as an outsider would.

use crate::shared::{START, World, at, text};
use countersign_sandbox::api::{Api, App};
use countersign_sandbox::apps::{receiver::Receiver, resend::Resend};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

const WHSEC: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// A double that lives beside the programs of the test.
fn double(app: Box<dyn App>) -> (Runtime, Api) {
    let runtime = Runtime::new().expect("a runtime");
    let api = runtime.block_on(Api::start(app, START)).expect("the double starts");
    (runtime, api)
}

fn add(world: &World, name: &str, kind: &str, table: &str, secret: &str) -> testkit::Answer {
    let file =
        format!("name = \"{name}\"\nkind = \"{kind}\"\nenvironment = \"sandbox\"\nundo_seconds = 0\n[{kind}]\n{table}");
    let path = world.scratch.write(&format!("{name}.toml"), file);
    world.cli.run_secret(&["destination", "add", path.to_str().expect("plain")], "--secret-fd", secret)
}

#[test]
fn r06_whether_it_repeats_by_itself_is_chosen_by_command_where_a_repeat_is_recognised() {
    let world = World::sandbox();
    let (_runtime, api) = double(Box::new(Resend::new("re_good_key")));
    let table = format!("base_url = \"{}\"\nfrom = [\"support@shop.example\"]\n", api.base_url());
    add(&world, "mail-api", "resend", &table, "re_good_key").expect(0);
    let listed = || {
        let all = world.cli.ok(&["destination", "list"]);
        let found = all["destinations"].as_array().expect("a list").iter().find(|d| d["name"] == "mail-api").cloned();
        found.expect("it is there")["repeats_by_itself"].clone()
    };
    assert_eq!(listed(), true, "on from the start where the contract has a native key");
    assert_eq!(world.cli.ok(&["destination", "repeat", "mail-api", "off"])["repeats_by_itself"], false);
    assert_eq!(listed(), false);
    world.cli.ok(&["destination", "repeat", "mail-api", "on"]);
    assert_eq!(listed(), true);
    let mailbox = world.cli.run(&["destination", "repeat", "sandbox-mailbox", "on"]).expect(2);
    assert_eq!(mailbox.error()["field"], "name", "a mail server recognises no repeat");
    world.cli.run(&["destination", "repeat", "nothing", "off"]).expect(5);
    assert_eq!(world.cli.ok(&["verify"])["broken"], json!([]));
}

#[test]
fn r34_a_mail_api_is_added_tried_explained_and_sent_to() {
    let world = World::sandbox();
    let (_runtime, api) = double(Box::new(Resend::new("re_good_key")));
    let senders = "from = [\"Shop Support <support@shop.example>\"]\n";
    let table = format!("base_url = \"{}\"\n{senders}", api.base_url());
    let leaked =
        add(&world, "mail-api", "resend", &format!("{table}api_key = \"re_good_key\"\n"), "re_good_key").expect(2);
    assert_eq!(leaked.error()["field"], "resend.api_key");
    let far = table.replace(&api.base_url(), "http://api.resend.example");
    assert_eq!(add(&world, "mail-api", "resend", &far, "re_good_key").expect(2).error()["field"], "resend.base_url");
    let added = add(&world, "mail-api", "resend", &table, "re_good_key").expect(0).json();
    assert_eq!(added["kind"], "resend");

    let tried = world.cli.ok(&["destination", "test", "mail-api"]);
    assert!(tried["steps"].as_array().is_some_and(|steps| steps.iter().all(|s| s["state"] == "done")), "{tried}");
    assert!(api.effects().is_empty(), "a test sends nothing unless told to");
    world.cli.ok(&["destination", "test", "mail-api", "--send-to", "me@shop.example"]);
    assert_eq!(api.effects().len(), 1);

    let contract = world.cli.ok(&["destination", "contract", "mail-api"]);
    let reply = contract["contracts"].as_array().unwrap().iter().find(|c| c["effect"] == "email.reply").unwrap();
    assert!(text(&reply["recognises_repeat"]).contains("24 hours"), "{reply}");
    assert!(reply["sources"].as_array().is_some_and(|s| !s.is_empty()));

    world.source("api-bot", "mail-api");
    let document = json!({
        "event_id": "evt-1", "request_id": "r1",
        "conversation": { "from": { "name": "Jörg", "email": "j@customer.example" }, "subject": "Größe", "text": "?" },
        "actions": [{ "step": "first", "effect": "email.send", "destination": "mail-api", "payload": {
            "from": { "email": "support@shop.example" }, "to": [{ "name": "Müller, Jörg", "email": "j@customer.example" }],
            "subject": "Größe 例子", "text": "Grüße 🙂\n"
        } }]
    });
    let path = world.scratch.write("p.json", document.to_string());
    let now = at(60);
    let answer = world.cli.ok(&["--now", &now, "propose", path.to_str().unwrap(), "--source", "api-bot"]);
    let id = text(&answer["actions"][0]["id"]).to_owned();
    let doc = world.cli.ok(&["--now", &now, "show", &id]);
    world.cli.ok(&["--now", &now, "approve", &id, "--payload-hash", text(&doc["payload_hash"])]);
    world.cli.run(&["--now", &now, "dispatch", "--until-idle"]).expect(0);
    let doc = world.cli.ok(&["--now", &now, "show", &id]);
    assert_eq!(doc["state"], "accepted", "{doc}");
    let effects = api.effects_of(text(&doc["idempotency_key"]));
    assert_eq!(effects.len(), 1);
    assert_eq!(effects[0].what["subject"], "Größe 例子");
    assert_eq!(effects[0].what["to"], json!(["\"Müller, Jörg\" <j@customer.example>"]));
    assert_eq!(doc["receipt"]["reference"], effects[0].id.as_str());
    world.cli.ok(&["verify"]);
}

#[test]
fn r34_a_wrong_key_and_a_wrong_secret_are_told_by_the_test() {
    let world = World::sandbox();
    let (_runtime, api) = double(Box::new(Resend::new("re_good_key")));
    let table = format!("base_url = \"{}\"\nfrom = [\"support@shop.example\"]\n", api.base_url());
    add(&world, "mail-api", "resend", &table, "re_wrong_key").expect(0);
    let error = world.cli.run(&["destination", "test", "mail-api"]).expect(4).error();
    assert!(text(&error["message"]).contains("refused the key"), "{error}");
    assert!(!error.to_string().contains("re_wrong_key"), "no secret in errors");

    let (_other, receiver) = double(Box::new(Receiver::new(WHSEC)));
    let hook = format!("base_url = \"{}/in\"\ncontract = \"keeps_id\"\nkeeps_id_hours = 48\n", receiver.base_url());
    add(&world, "hook", "webhook", &hook, "not-a-secret").expect(0);
    let error = world.cli.run(&["destination", "test", "hook"]).expect(4).error();
    assert!(text(&error["message"]).contains("whsec_"), "{error}");
    let contract: Value = world.cli.ok(&["destination", "contract", "hook"]);
    assert!(text(&contract["contracts"][0]["recognises_repeat"]).contains("2 days"), "{contract}");
    let odd = hook.replace("keeps_id\"", "sometimes\"");
    assert_eq!(add(&world, "odd", "webhook", &odd, WHSEC).expect(2).error()["field"], "webhook.contract");
}
