//! Destinations with an HTTP API on the command line: added, tried, explained and sent to, as an outsider would.

use crate::shared::{START, World, at, email, text};
use countersign_sandbox::api::{Api, ApiFault, App};
use countersign_sandbox::apps::{hubspot::HubSpot, receiver::Receiver, resend::Resend};
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
    assert!(text(&mailbox.error()["message"]).starts_with("sandbox-mailbox recognises no repeat"), "it says which");
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
    assert!(text(&error["message"]).contains("The API key is not taken. Resend: "), "{error}");
    assert!(!error.to_string().contains("re_wrong_key"), "no secret in errors");

    let (_other, receiver) = double(Box::new(Receiver::new(WHSEC)));
    let hook = format!("base_url = \"{}/in\"\ncontract = \"keeps_id\"\nkeeps_id_hours = 48\n", receiver.base_url());
    for wrong in ["not-a-secret", "whsec_c2hvcnQ=", "whsec_no base64 at all"] {
        let error = add(&world, "hook", "webhook", &hook, wrong).expect(2).error();
        assert!(error["field"] == "secret" && text(&error["message"]).contains("whsec_ and the base64"), "{error}");
        assert!(!error.to_string().contains(wrong), "{error}");
    }
    let no_header = add(&world, "mail-two", "resend", &table, "re_with a space").expect(2).error();
    assert!(no_header["field"] == "secret" && !no_header.to_string().contains("re_with"), "{no_header}");
    add(&world, "hook", "webhook", &hook, WHSEC).expect(0);
    let again =
        world.cli.run_secret(&["destination", "login", "hook"], "--secret-fd", "not-a-secret").expect(2).error();
    assert_eq!(again["field"], "secret", "nor when somebody signs in anew: {again}");
    world.cli.ok(&["destination", "test", "hook"]);
    let contract: Value = world.cli.ok(&["destination", "contract", "hook"]);
    assert!(text(&contract["contracts"][0]["recognises_repeat"]).contains("2 days"), "{contract}");
    let odd = hook.replace("keeps_id\"", "sometimes\"");
    assert_eq!(add(&world, "odd", "webhook", &odd, WHSEC).expect(2).error()["field"], "webhook.contract");
}

#[test]
fn f40_doctor_and_the_connection_test_tell_how_far_the_clocks_are_apart() {
    let world = World::sandbox();
    let (_runtime, api) = double(Box::new(Resend::new("re_good_key")));
    let table = format!("base_url = \"{}\"\nfrom = [\"support@shop.example\"]\n", api.base_url());
    add(&world, "mail-api", "resend", &table, "re_good_key").expect(0);
    let clock = |now: &str| {
        let steps = world.cli.ok(&["--now", now, "destination", "test", "mail-api"])["steps"].clone();
        let step = steps.as_array().expect("steps").iter().find(|s| s["step"] == "clock").map(|s| s["text"].clone());
        let checks = world.cli.run(&["--now", now, "doctor"]).json()["checks"].clone();
        let check = checks.as_array().expect("checks").iter().find(|c| c["check"] == "clock of mail-api").cloned();
        (step, check)
    };
    assert_eq!(clock(&at(60)), (None, None), "a minute is nothing");
    let (step, check) = clock(&at(3 * 3600));
    let (step, check) = (step.expect("a step"), check.expect("a check"));
    for told in [&step, &check["text"]] {
        assert!(text(told).contains("3 hours apart: this computer's is ahead"), "{told}");
    }
    assert_eq!(check["ok"], false);
    assert_eq!(clock(&at(0)), (None, None), "set right, and asked again");
}

#[test]
fn r16_changing_a_contact_and_making_one_have_their_three_questions_answered_each() {
    let world = World::sandbox();
    let (_runtime, api) = double(Box::new(HubSpot::new("pat-na1-good").prepared()));
    let table = format!("portal = 4815162\nbase_url = \"{}\"\n", api.base_url());
    add(&world, "crm", "hubspot", &table, "pat-na1-good").expect(0);
    let contract = world.cli.ok(&["destination", "contract", "crm"]);
    let listed = world.cli.ok(&["destination", "list"]);
    let row = listed["destinations"].as_array().expect("a list").iter().find(|d| d["name"] == "crm").cloned();
    for contracts in [&contract["contracts"], &row.expect("it is there")["contracts"]] {
        let all = contracts.as_array().expect("a list");
        for one in all {
            for question in ["if_answer_lost", "recognises_repeat", "can_be_looked_up"] {
                assert!(!text(&one[question]).is_empty(), "{question}: {one}");
            }
        }
        let case = |case: &str| {
            let of = |one: &&Value| one["effect"] == "crm.contact.upsert" && one["case"] == case;
            all.iter().find(of).cloned().unwrap_or_else(|| panic!("{case}: {contracts}"))
        };
        let (made, changed) = (case("a contact that is made"), case("a contact that is changed"));
        assert!(text(&made["recognises_repeat"]).contains("is refused"), "{made}");
        // A change has no key: its repeat would overwrite, and what is found proves little.
        assert!(text(&changed["recognises_repeat"]).starts_with("No."), "{changed}");
        assert!(text(&changed["if_answer_lost"]).contains("then you decide"), "{changed}");
        assert!(text(&changed["can_be_looked_up"]).contains("compared with the approved ones"), "{changed}");
        assert_eq!(all.iter().filter(|one| one["effect"] == "crm.note").count(), 1);
    }
}

#[test]
fn f44_a_password_in_an_address_is_refused_by_its_field_and_shown_nowhere() {
    let world = World::sandbox();
    let mailbox = "from = [\"support@shop.example\"]\nusername = \"support\"\n";
    for (kind, table, field) in [
        ("webhook", "base_url = \"https://me:canary@hooks.example/in\"\n".to_owned(), "webhook.base_url"),
        (
            "resend",
            "base_url = \"https://canary@api.example\"\nfrom = [\"s@shop.example\"]\n".to_owned(),
            "resend.base_url",
        ),
        ("hubspot", "portal = 1\nbase_url = \"https://me:canary@api.example\"\n".to_owned(), "hubspot.base_url"),
        ("mailbox", format!("{mailbox}smtp = \"smtps://me:canary@smtp.example:465\"\n"), "mailbox.smtp"),
        (
            "mailbox",
            format!("{mailbox}smtp = \"smtps://127.0.0.1\"\nimap = \"imaps://me:canary@i.example\"\n"),
            "mailbox.imap",
        ),
    ] {
        let error = add(&world, "place", kind, &table, WHSEC).expect(2).error();
        assert_eq!(error["field"], field, "{error}");
        assert!(!error.to_string().contains("canary"), "{error}");
    }
    assert!(!world.cli.ok(&["destination", "list"]).to_string().contains("canary"));
}

#[test]
fn r34_two_receivers_on_one_host_are_told_apart_where_they_are_listed() {
    let world = World::sandbox();
    let (_runtime, receiver) = double(Box::new(Receiver::new(WHSEC)));
    for name in ["orders", "returns"] {
        let table = format!("base_url = \"{}/{name}\"\n", receiver.base_url());
        let added = add(&world, name, "webhook", &table, WHSEC).expect(0).json();
        let place = receiver.base_url().replace("http://", "");
        assert_eq!(added["account"], format!("Webhook at {place}/{name}"));
    }
}

#[test]
fn f36_a_document_that_is_too_large_is_refused_in_words_that_name_where_it_came_from() {
    let world = World::sandbox();
    let large = vec![b' '; (35 << 20) + 1];
    let error = world.cli.run_input(&["propose", "-", "--source", "any"], &large).expect(2).error();
    let told = text(&error["message"]);
    assert!(told.starts_with("what came on standard input is larger than 36.7 MB, "), "{told}");
    assert!(told.contains("grow by a third") && told.contains("send a link"), "{told}");
    let path = world.scratch.write("large.json", &large);
    let error = world.cli.run(&["propose", path.to_str().expect("plain"), "--source", "any"]).expect(2).error();
    assert!(text(&error["message"]).contains("large.json is larger than 36.7 MB, "), "{error}");
}

/// An approved email at Resend, whose double is handed on.
fn at_resend(world: &World) -> (Runtime, Api, Value) {
    let (runtime, api) = double(Box::new(Resend::new("re_good_key")));
    let table =
        format!("base_url = \"{}\"\nfrom = [\"support@shop.example\"]\nanswer_timeout_seconds = 1\n", api.base_url());
    add(world, "mail-api", "resend", &table, "re_good_key").expect(0);
    world.source("api-bot", "mail-api");
    let mut document = email("evt-1", "r-1", "robin@customer.example");
    document["actions"][0]["destination"] = json!("mail-api");
    let answer = world.cli.run_input(&["propose", "-", "--source", "api-bot"], document.to_string().as_bytes());
    let action = answer.expect(0).json()["actions"][0].clone();
    // On the system's clock: how much of a key's window is left is judged by the latest time that the ledger knows.
    world.cli.ok(&["approve", text(&action["id"]), "--payload-hash", text(&action["payload_hash"])]);
    (runtime, api, action)
}

#[test]
fn r29_an_unknown_outcome_that_waits_for_a_sign_in_says_so_and_what_to_do() {
    let world = World::sandbox();
    let (_runtime, api, action) = at_resend(&world);
    // The first answer is lost; before the repeat the token is revoked.
    api.with_app(|app| app.as_any().downcast_mut::<Resend>().expect("it is Resend").revoke());
    api.fault_once(ApiFault::resets_before_acting());
    let ended = world.cli.run(&["dispatch", "--until-idle"]).expect(6);
    assert_eq!((text(&ended.error()["code"]), &ended.error()["action"]), ("unknown", &action["id"]));
    assert!(!text(&ended.error()["message"]).contains("nothing was sent again"), "it was repeated: {}", ended.stderr);
    let doc = world.show(&action["id"]);
    let attempts = doc["attempts"].as_array().expect("a list");
    assert_eq!((text(&doc["state"]), attempts.len()), ("unknown", 2), "{doc}");
    let next = &doc["next"];
    assert_eq!((text(&next["what"]), &next["at"]), ("paused", &Value::Null), "{next}");
    let day = &text(&attempts[1]["closed_at"])[..10];
    for words in [text(&next["text"]), text(&doc["explanation"])] {
        assert!(words.contains(&format!("mail-api is paused since {day}")), "{words}");
        assert!(words.contains("countersign destination login mail-api"), "what to do: {words}");
    }
    // The look before the repeat was turned away already, so nothing crossed a second time.
    assert_eq!(attempts[1]["crossed_at"], Value::Null, "{doc}");
    let told = text(&doc["explanation"]);
    assert!(told.contains("Nothing was sent again") && !told.contains("Not asked yet"), "{told}");
    let row = world.cli.ok(&["list"])["actions"][0].clone();
    assert_eq!((text(&row["next"]["what"]), &row["next"]["at"]), ("paused", &Value::Null), "{row}");
    assert_eq!(api.effects().len(), 0);

    // A person signs in anew, and nothing is in its way any more.
    api.with_app(|app| *app.as_any().downcast_mut::<Resend>().expect("it is Resend") = Resend::new("re_new_key"));
    world.cli.run_secret(&["destination", "login", "mail-api"], "--secret-fd", "re_new_key").expect(0);
    let doc = world.show(&action["id"]);
    assert_ne!(doc["next"]["what"], "paused", "{doc}");
}

#[test]
fn r25_finish_tells_an_outcome_that_stays_unknown_as_every_command_does() {
    let world = World::sandbox();
    let (_runtime, api, action) = at_resend(&world);
    let id = text(&action["id"]);
    world.cli.ok(&["destination", "repeat", "mail-api", "off"]);
    api.fault_once(ApiFault::resets_after_acting());
    world.cli.run(&["dispatch", "--until-idle"]).expect(6);
    let told = text(&world.show(&action["id"])["explanation"]).to_owned();
    assert!(told.contains("Nothing was sent again"), "{told}");
    api.fault_once(ApiFault::resets_after_acting());
    let ended = world.cli.run(&["finish", id]).expect(6);
    let doc = ended.json();
    assert_eq!(doc["state"], "unknown", "the action is on stdout");
    let (told, again) = (text(&doc["explanation"]), text(&doc["attempts"][1]["crossed_at"]));
    assert!(
        told.contains(&format!("repeated under the same key once, at {again}, always with the same bytes")),
        "{told}"
    );
    assert!(told.contains("mail-api recognises repeats until ") && !told.contains("Nothing was sent again"), "{told}");
    assert_eq!((text(&ended.error()["code"]), &ended.error()["action"]), ("unknown", &action["id"]));
    let asked = world.cli.run(&["finish", id]).expect(0);
    assert_eq!(
        (text(&asked.json()["state"]), asked.stderr.as_str()),
        ("accepted", ""),
        "and nothing where it is known"
    );
    assert_eq!(api.effects().len(), 1);
}

#[test]
fn r20_a_destination_is_not_called_reachable_before_anything_reached_it() {
    let world = World::sandbox();
    let row = |name: &str| {
        let all = world.cli.ok(&["destination", "list"]);
        let found = all["destinations"].as_array().expect("a list").iter().find(|d| d["name"] == name).cloned();
        found.expect("it is there")
    };
    assert_eq!(row("sandbox-mailbox")["health"], "reachable", "the embedded one lies in the program");
    let (_runtime, _api, action) = at_resend(&world);
    let new = row("mail-api");
    assert_eq!(new["health"], "not_tried", "{new}");
    assert!(text(&new["health_text"]).contains("countersign destination test mail-api"), "{new}");
    world.cli.run(&["dispatch", "--until-idle"]).expect(0);
    assert_eq!(world.show(&action["id"])["state"], "accepted");
    assert_eq!(row("mail-api")["health"], "reachable", "something was accepted there");
    let (_runtime, api) = double(Box::new(Resend::new("re_other_key")));
    let table = format!("base_url = \"{}\"\nfrom = [\"sales@shop.example\"]\n", api.base_url());
    let added = add(&world, "other-api", "resend", &table, "re_other_key").expect(0).json();
    assert_eq!(added["health"], "not_tried", "{added}");
    world.cli.ok(&["destination", "test", "other-api"]);
    assert_eq!(row("other-api")["health"], "reachable", "a test of it succeeded");
}
