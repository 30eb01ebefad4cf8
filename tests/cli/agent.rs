//! An agent on MCP, by the official SDK: it proposes and asks, and whatever else it tries is refused and recorded.

use crate::shared::{World, at, email, text};
use serde_json::{Value, json};
use testkit::peers::Agent;

const ROBIN: &str = "robin@customer.example";

fn world() -> (World, String) {
    let world = World::bare();
    world.cli.ok(&["init", "--owner", "Noor", "--sandbox"]);
    let token = text(&world.source("bot", "sandbox-mailbox")["token"]).to_owned();
    (world, token)
}

/// What the journal says was refused at a door: what was tried and why.
fn refusals(world: &World) -> Vec<(String, String)> {
    let all = world.cli.ok(&["source", "refusals", "bot"]);
    let all = all["refusals"].as_array().expect("a list").clone();
    all.iter().map(|r| (text(&r["tried"]).to_owned(), text(&r["why"]).to_owned())).collect()
}

/// A refusal by the tool: its code and field.
#[track_caller]
fn refused(result: &Value) -> (String, String) {
    assert_eq!(result["isError"], true, "{result}");
    let error = &result["structuredContent"]["error"];
    assert!(text(&error["message"]).len() > 10, "with its reason: {result}");
    (text(&error["code"]).to_owned(), error["field"].as_str().unwrap_or_default().to_owned())
}

#[test]
fn r10_an_agent_proposes_asks_and_lists_by_the_official_sdk() {
    let (world, token) = world();
    let mut agent = Agent::start(&world.cli, "bot", &token);
    assert_eq!(agent.hello["serverInfo"]["name"], "countersign");
    assert!(text(&agent.hello["instructions"]).contains("never propose it again"));
    let tools = agent.tools();
    let tools = tools.as_array().expect("tools");
    let names: Vec<&str> = tools.iter().map(|t| text(&t["name"])).collect();
    assert_eq!(names, ["propose_action", "get_action", "find_action", "list_destinations"]);
    for tool in &tools[..3] {
        assert!(text(&tool["description"]).contains("Never propose it again"), "{tool}");
    }
    for tool in &tools[1..] {
        assert_eq!(tool["annotations"]["readOnlyHint"], true, "{tool}");
    }

    let listed = agent.ok("list_destinations", &json!({}));
    let contracts = listed["destinations"].as_array().expect("a list");
    assert!(contracts.iter().all(|c| c["destination"] == "sandbox-mailbox"), "{listed}");
    let by_person = world.cli.ok(&["destination", "contract", "sandbox-mailbox"]);
    for contract in contracts {
        for question in ["if_answer_lost", "recognises_repeat", "can_be_looked_up"] {
            assert!(text(&contract[question]).len() > 10, "{contract}");
        }
        let same = by_person["contracts"].as_array().expect("a list").iter().any(|c| c == contract);
        assert!(same, "the person reads the same words: {contract}");
    }

    let document = email("evt-1", "r-1", ROBIN);
    let first = agent.ok("propose_action", &document)["actions"][0].clone();
    assert_eq!((text(&first["disposition"]), text(&first["state"])), ("created", "prepared"));
    let again = agent.ok("propose_action", &document)["actions"][0].clone();
    assert_eq!((text(&again["disposition"]), &again["id"]), ("duplicate", &first["id"]));
    for id in ["id", "idempotency_key"] {
        let got = agent.ok("get_action", &json!({ "id": first[id] }));
        assert_eq!((&got["id"], text(&got["state"])), (&first["id"], "prepared"));
    }
    let found = agent.ok("find_action", &json!({ "request_id": "r-1", "step": "first-reply" }));
    assert_eq!(found["actions"].as_array().map(Vec::len), Some(1));
    assert_eq!(agent.ok("find_action", &json!({ "request_id": "r-2" }))["actions"], json!([]));
    drop(agent);
    assert_eq!(refusals(&world), [], "nothing of this was a try");
    let shown = world.show(&first["id"]);
    assert_eq!(shown["state"], "prepared");
    assert_eq!(shown["deliveries"].as_array().map(Vec::len), Some(2), "each delivery is recorded");
}

#[test]
fn r09_r10_whatever_an_agent_tries_nothing_is_approved_or_sent_and_each_try_is_recorded() {
    let (world, token) = world();
    let others = text(&world.source("other", "sandbox-mailbox")["token"]).to_owned();
    let mut other = Agent::start(&world.cli, "other", &others);
    let foreign = other.ok("propose_action", &email("evt-9", "r-9", ROBIN))["actions"][0].clone();
    drop(other);
    let mut agent = Agent::start(&world.cli, "bot", &token);
    let own = agent.ok("propose_action", &email("evt-1", "r-1", ROBIN))["actions"][0].clone();

    // Tools that do not exist.
    let hash = text(&own["payload_hash"]).to_owned();
    let tools = ["approve_action", "approve", "send", "dispatch", "edit_action", "resolve_action", "confirm", "undo"];
    for tool in tools {
        let result = agent.call(tool, &json!({ "id": own["id"], "payload_hash": hash }));
        let why = result["protocol_error"].as_str().unwrap_or_else(|| panic!("{tool}: {result}"));
        assert!(why.contains("a person's"), "with its reason: {why}");
    }
    // Fields that are not a source's to set, at each level.
    for (path, field, value) in [
        ("", "environment", json!("live")),
        ("", "approved", json!(true)),
        ("", "source", json!("other")),
        ("/actions/0", "state", json!("approved")),
        ("/actions/0", "approvals", json!([{ "by": "Noor" }])),
        ("/actions/0", "revision", json!(2)),
        ("/actions/0/payload", "approved", json!(true)),
    ] {
        let mut document = email("evt-2", "r-2", ROBIN);
        document.pointer_mut(path).expect("a place")[field] = value;
        let (code, named) = refused(&agent.call("propose_action", &document));
        assert!(code == "bad_input" && named.ends_with(field), "{path}/{field}: {code} {named}");
    }
    let (_, named) = refused(&agent.call("get_action", &json!({ "id": own["id"], "approve": true })));
    assert_eq!(named, "approve");
    // What it may not propose: an effect and a destination of others.
    for (field, value) in [("effect", "crm.note"), ("destination", "crm")] {
        let mut document = email("evt-3", "r-3", ROBIN);
        document["actions"][0][field] = json!(value);
        if field == "effect" {
            document["actions"][0]["payload"] =
                json!({ "record": { "type": "contact", "match": { "email": ROBIN } }, "text": "Asked." });
        }
        let result = agent.call("propose_action", &document);
        assert_eq!(result["isError"], true, "{result}");
        let action = &result["structuredContent"]["actions"][0];
        assert_eq!(text(&action["disposition"]), "not_permitted");
        assert!(text(&action["reason"]).len() > 5, "{action}");
    }
    // What is not its own.
    for id in [&foreign["id"], &foreign["idempotency_key"], &json!("A-99")] {
        let (code, _) = refused(&agent.call("get_action", &json!({ "id": id })));
        assert_eq!(code, "not_found", "one answer for what is another's and what is not there");
    }
    assert_eq!(agent.ok("find_action", &json!({ "request_id": "r-9" }))["actions"], json!([]));
    drop(agent);
    // A token that is wrong, missing, or another source's.
    for wrong in ["cs_wrong", "", &others] {
        let started = world.cli.run_secret(&["mcp", "--source", "bot"], "--token-fd", &format!("{wrong} ")).expect(4);
        assert_eq!(started.error()["code"], "not_permitted");
        assert_eq!(started.stdout, "", "nothing is served");
    }
    world.cli.run_secret(&["mcp", "--source", "nobody"], "--token-fd", &token).expect(4);

    let recorded = refusals(&world);
    for tool in tools {
        assert!(recorded.iter().any(|(tried, _)| tried == tool), "{tool} is recorded: {recorded:?}");
    }
    for field in ["environment", "approved", "source", "state", "approvals", "revision", "payload.approved"] {
        let named = |why: &String| why.split(':').next().is_some_and(|name| name.ends_with(field));
        assert!(recorded.iter().any(|(tried, why)| tried == "propose_action" && named(why)), "{field}: {recorded:?}");
    }
    let count = |what: &str| recorded.iter().filter(|(tried, _)| tried == what).count();
    assert_eq!((count("token"), count("get_action")), (3, 3), "{recorded:?}");
    let deliveries = world.cli.ok(&["export"]).to_string();
    assert!(deliveries.contains(text(&own["id"])), "the record names what was proposed");

    // The worker runs, and finds nothing that a person approved.
    let done = world.dispatch(&at(0)).expect(0).json();
    assert_eq!(done["actions"], json!([]), "nothing was handed over");
    let doc = world.show(&own["id"]);
    assert_eq!((text(&doc["state"]), doc["attempts"].as_array().map(Vec::len)), ("prepared", Some(0)));
    assert_eq!(doc["approvals"], json!([]));
    assert_eq!(world.cli.ok(&["list"])["actions"].as_array().map(Vec::len), Some(2), "no row of a refused proposal");
    world.cli.ok(&["verify"]);
}

#[test]
fn r10_a_revoked_token_stops_an_agent_at_its_next_call() {
    let (world, token) = world();
    let mut agent = Agent::start(&world.cli, "bot", &token);
    agent.ok("propose_action", &email("evt-1", "r-1", ROBIN));
    world.cli.ok(&["source", "revoke", "bot"]);
    let (code, field) = refused(&agent.call("find_action", &json!({ "request_id": "r-1" })));
    assert_eq!((code.as_str(), field.as_str()), ("not_permitted", "token"));
    refused(&agent.call("propose_action", &email("evt-2", "r-2", ROBIN)));
    drop(agent);
    assert_eq!(world.cli.ok(&["list"])["actions"].as_array().map(Vec::len), Some(1));
}
