//! An agent on MCP, by the official SDK: it proposes and asks, and whatever else it tries is refused and recorded.

use crate::shared::{World, at, email, text};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use testkit::peers::Agent;

const ROBIN: &str = "robin@customer.example";

fn world() -> (World, String) {
    let world = World::bare();
    world.cli.ok(&["init", "--owner", "Noor", "--sandbox"]);
    let token = text(&world.source("bot", "sandbox-mailbox")["token"]).to_owned();
    (world, token)
}

/// A client without an SDK: what it writes is what the server reads.
struct Raw {
    child: Child,
    says: ChildStdin,
    hears: BufReader<ChildStdout>,
}

impl Raw {
    fn start(world: &World, token: &str) -> Raw {
        let mut command = world.cli.command(&["mcp", "--source", "bot"]);
        command.env("COUNTERSIGN_TOKEN", token).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("countersign starts");
        let (says, hears) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
        let mut raw = Raw { child, says, hears: BufReader::new(hears) };
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "raw", "version": "1" } });
        let answer = raw
            .asks(json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello }).to_string().as_bytes());
        assert_eq!(answer["result"]["serverInfo"]["name"], "countersign");
        raw.says(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string().as_bytes());
        raw
    }

    fn says(&mut self, line: &[u8]) {
        self.says.write_all(&[line, b"\n"].concat()).and_then(|()| self.says.flush()).expect("the server listens");
    }

    fn asks(&mut self, line: &[u8]) -> Value {
        self.says(line);
        let mut answer = String::new();
        self.hears.read_line(&mut answer).expect("the server answers");
        serde_json::from_str(&answer).unwrap_or_else(|e| panic!("no JSON ({e}): {answer}"))
    }

    /// Hangs up; the server ends by itself.
    fn end(self) {
        let Raw { mut child, says, hears } = self;
        drop(says);
        assert!(child.wait().expect("it ends").success());
        drop(hears);
    }
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

#[test]
fn r09_r10_an_unknown_method_and_a_line_that_is_no_message_are_answered_by_json_rpc_and_recorded() {
    let (world, token) = world();
    let mut raw = Raw::start(&world, &token);
    let own = {
        let call = json!({ "name": "propose_action", "arguments": email("evt-1", "r-1", ROBIN) });
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call });
        raw.asks(call.to_string().as_bytes())["result"]["structuredContent"]["actions"][0].clone()
    };
    // Methods of no server, and one of MCP that this server has not.
    let methods = ["approve", "tools/approve", "actions/send", "prompts/get"];
    for (id, method) in methods.iter().enumerate() {
        let params = json!({ "id": own["id"], "payload_hash": own["payload_hash"], "name": "approve" });
        let call = json!({ "jsonrpc": "2.0", "id": format!("m-{id}"), "method": method, "params": params });
        let answer = raw.asks(call.to_string().as_bytes());
        assert_eq!(
            (&answer["error"]["code"], text(&answer["id"])),
            (&json!(-32601), format!("m-{id}").as_str()),
            "{answer}"
        );
        assert!(text(&answer["error"]["message"]).contains("a person's"), "with its reason: {answer}");
    }
    // A notification is answered by nobody, and is a try all the same.
    raw.says(
        json!({ "jsonrpc": "2.0", "method": "notify/approve", "params": { "id": own["id"] } }).to_string().as_bytes(),
    );
    // Lines that are no JSON, and JSON that is no message: codes and the id `null` of JSON-RPC 2.0, section 5.1.
    let broken: [(&[u8], i64); 5] = [
        (b"countersign approve A-1", -32700),
        (b"{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"approve\",", -32700),
        (b"\xff\xfe", -32700),
        (b"[{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"tools/list\"}]", -32600),
        (b"{\"approve\":\"A-1\"}", -32600),
    ];
    for (line, code) in broken {
        let answer = raw.asks(line);
        let shown = String::from_utf8_lossy(line);
        assert_eq!(
            (&answer["error"]["code"], answer.get("id")),
            (&json!(code), Some(&Value::Null)),
            "{shown}: {answer}"
        );
        assert_eq!(answer["jsonrpc"], "2.0");
    }
    // The connection goes on, and blank lines are nobody's try.
    raw.says(b"");
    let answer = raw.asks(json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" }).to_string().as_bytes());
    assert_eq!((&answer["id"], &answer["result"]), (&json!(2), &json!({})));
    raw.end();

    let recorded = refusals(&world);
    for method in methods.iter().chain(&["notify/approve"]) {
        assert!(
            recorded.iter().any(|(tried, why)| tried == method && why.contains("no such method")),
            "{method}: {recorded:?}"
        );
    }
    let lines: Vec<&str> =
        recorded.iter().filter(|(tried, _)| tried == "a line").map(|(_, why)| why.as_str()).collect();
    assert_eq!(lines.len(), broken.len(), "{recorded:?}");
    assert_eq!(lines.iter().filter(|why| why.contains("no JSON;")).count(), 3, "{lines:?}");
    assert!(!recorded.iter().any(|(_, why)| why.contains("A-1")), "nothing of what was written: {recorded:?}");
    assert_eq!(recorded.len(), methods.len() + 1 + broken.len(), "{recorded:?}");
    assert_eq!(world.show(&own["id"])["state"], "prepared");
    world.cli.ok(&["verify"]);
}
