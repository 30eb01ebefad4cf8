//! Outcomes told to their source: signed, at least once, with a log of our own; and nothing of it touches an action.

use crate::outcomes::Far;
use crate::shared::{START, World, at, email, text};
use countersign_sandbox::Fault;
use serde_json::{Value, json};
use sqlx::{AnyConnection, AssertSqlSafe, Connection};
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};
use testkit::peers;
use testkit::tls::Authority;

/// One request as it came.
#[derive(Clone, Debug)]
struct Heard {
    path: String,
    headers: Vec<(String, String)>,
    body: String,
}

impl Heard {
    fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(n, _)| n == name).map_or("", |(_, value)| value)
    }
    fn document(&self) -> Value {
        serde_json::from_str(&self.body).expect("the body is JSON")
    }
}

/// Somebody who listens: keeps what came, and answers as told, then with 204. A status of 0 hangs up without a word.
struct Ear {
    url: String,
    heard: Arc<Mutex<Vec<Heard>>>,
}

impl Ear {
    fn answering(statuses: &[u16]) -> Ear {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/outcomes?for=far", listener.local_addr().expect("an address"));
        let heard = Arc::new(Mutex::new(Vec::new()));
        let (kept, mut statuses) = (heard.clone(), VecDeque::from(statuses.to_vec()));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.expect("a connection");
                let mut reader = BufReader::new(stream.try_clone().expect("a second handle"));
                let mut lines = Vec::new();
                loop {
                    let mut line = String::new();
                    if reader.read_line(&mut line).unwrap_or(0) == 0 || line.trim_end().is_empty() {
                        break;
                    }
                    lines.push(line.trim_end().to_owned());
                }
                let Some(first) = lines.first() else { continue };
                let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
                let named = lines[1..].iter().filter_map(|l| l.split_once(": "));
                let headers: Vec<_> = named.map(|(n, v)| (n.to_lowercase(), v.to_owned())).collect();
                let length = headers.iter().find(|(n, _)| n == "content-length").and_then(|(_, v)| v.parse().ok());
                let mut body = vec![0; length.unwrap_or(0)];
                reader.read_exact(&mut body).expect("the whole body");
                let body = String::from_utf8(body).expect("text");
                kept.lock().expect("not poisoned").push(Heard { path, headers, body });
                match statuses.pop_front().unwrap_or(204) {
                    0 => {}
                    301 => write!(stream, "HTTP/1.1 301 Moved\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n")
                        .expect("it reads"),
                    status => {
                        write!(stream, "HTTP/1.1 {status} As Told\r\nContent-Length: 0\r\n\r\n").expect("it reads")
                    }
                }
            }
        });
        Ear { url, heard }
    }

    fn heard(&self) -> Vec<Heard> {
        self.heard.lock().expect("not poisoned").clone()
    }
}

/// An approved email on the system's clock, which the signature's time is judged by.
fn approved(world: &World, request: &str) -> Value {
    let mut document = email(&format!("evt-{request}"), request, &format!("{request}@customer.example"));
    document["actions"][0]["destination"] = json!("far-mailbox");
    document["actions"][0]["payload"]["from"] = json!({ "email": "far@far-shop.example" });
    let answer = world.cli.run_input(&["propose", "-", "--source", "far"], document.to_string().as_bytes());
    let action = answer.expect(0).json()["actions"][0].clone();
    world.cli.ok(&["approve", text(&action["id"]), "--payload-hash", text(&action["payload_hash"])]);
    action
}

fn log(world: &World) -> Vec<Value> {
    world.cli.ok(&["source", "outcome", "far"])["calls"].as_array().expect("a list").clone()
}

#[test]
fn r09_a_source_is_told_of_each_outcome_signed_and_without_text_or_addresses() {
    let world = World::sandbox();
    let far = Far::set_up(&world);
    let ear = Ear::answering(&[]);
    let made = world.cli.ok(&["source", "outcome", "far", "--url", &ear.url]);
    let secret = text(&made["signing_secret"]).to_owned();
    let action = approved(&world, "r-1");
    assert_eq!(ear.heard().len(), 0, "an approval is a decision, and no outcome");
    world.cli.run(&["dispatch", "--until-idle"]).expect(0);
    let heard = ear.heard();
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert_eq!(heard[0].path, "/outcomes?for=far");
    assert!(peers::verifies(&secret, &heard[0].headers, &heard[0].body), "the library takes it for signed");
    assert!(!peers::verifies(&secret, &heard[0].headers, &heard[0].body.replace("accepted", "refused")));
    let told = heard[0].document();
    let data = &told["data"];
    assert_eq!((text(&told["type"]), text(&data["state"])), ("action.accepted", "accepted"));
    assert_eq!((&data["id"], &data["idempotency_key"]), (&action["id"], &action["idempotency_key"]));
    assert_eq!(data["key"], action["key"]);
    let names: Vec<&str> = data.as_object().expect("an object").keys().map(String::as_str).collect();
    assert_eq!(names, ["at", "by_persons_word", "id", "idempotency_key", "key", "receipt_id", "receipt_kind", "state"]);
    assert_eq!((text(&data["receipt_kind"]), &data["by_persons_word"]), ("answer", &json!(false)), "its own proof");
    for hidden in ["@", "Delivery slot", "Of course", "Robin"] {
        assert!(!heard[0].body.contains(hidden), "{hidden}: {}", heard[0].body);
    }
    let calls = log(&world);
    assert_eq!((text(&calls[0]["state"]), calls[0]["tries"].as_i64()), ("delivered", Some(1)));
    assert_eq!(text(&calls[0]["webhook_id"]), heard[0].header("webhook-id"));
    assert_eq!(far.effects(&action), 1);
    let rejected = {
        let mut document = email("evt-2", "r-2", "r-2@customer.example");
        document["actions"][0]["destination"] = json!("far-mailbox");
        document["actions"][0]["payload"]["from"] = json!({ "email": "far@far-shop.example" });
        let answer = world.cli.run_input(&["propose", "-", "--source", "far"], document.to_string().as_bytes());
        answer.expect(0).json()["actions"][0]["id"].clone()
    };
    world.cli.ok(&["reject", text(&rejected), "--reason", "not today"]);
    world.cli.run(&["dispatch", "--until-idle"]).expect(0);
    assert_eq!(ear.heard().len(), 1, "decisions are not told");
    world.cli.ok(&["verify"]);
}

#[test]
fn r09_an_outcome_is_told_again_under_the_same_id_until_it_is_heard_and_the_action_stays_as_it_is() {
    let world = World::sandbox();
    let far = Far::set_up(&world);
    // An error, a connection cut after hearing it, and a redirect, which is not followed.
    let ear = Ear::answering(&[500, 0, 301]);
    let secret = text(&world.cli.ok(&["source", "outcome", "far", "--url", &ear.url])["signing_secret"]).to_owned();
    far.sandbox.fault_once(Fault::hang_after_acting());
    let action = approved(&world, "r-1");
    // The clock is the test's own, and near the real one: a signature holds for five minutes.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs() as i64 - START;
    let dispatch = |later: i64| world.dispatch(&at(now + later));
    let ended = dispatch(2).expect(6);
    assert_eq!(ended.error()["code"], "unknown", "a listener that fails changes no exit code");
    assert_eq!((log(&world)[0]["tries"].as_i64(), text(&log(&world)[0]["state"])), (Some(1), "waiting"));
    dispatch(4);
    assert_eq!(ear.heard().len(), 1, "not before its time");
    for (later, tries) in [(12, 2), (50, 3), (200, 4), (260, 4)] {
        dispatch(later);
        assert_eq!(log(&world)[0]["tries"].as_i64(), Some(tries), "after {later} s");
    }
    let heard = ear.heard();
    let id = heard[0].header("webhook-id").to_owned();
    assert_eq!(heard.len(), 4);
    assert!(heard.iter().all(|h| h.header("webhook-id") == id), "one fact, one id");
    assert!(heard.iter().all(|h| h.body == heard[0].body), "the same bytes");
    assert!(heard.iter().all(|h| peers::verifies(&secret, &h.headers, &h.body)), "each signed, with its own time");
    assert_ne!(heard[0].header("webhook-timestamp"), heard[3].header("webhook-timestamp"));
    assert_eq!(heard[0].document()["type"], "action.unknown");
    let call = log(&world)[0].clone();
    assert_eq!((text(&call["state"]), text(&call["last"])), ("delivered", "answered 204"), "{call}");
    assert!(!heard.iter().any(|h| h.path == "/elsewhere"), "no redirect is followed");
    let doc = world.show(&action["id"]);
    assert_eq!((text(&doc["state"]), far.effects(&action)), ("unknown", 1));
    world.cli.ok(&["verify"]);
}

#[test]
fn r09_a_listener_that_is_gone_is_told_nothing_more_and_bad_addresses_are_refused() {
    let world = World::sandbox();
    let _far = Far::set_up(&world);
    for bad in ["http://shop.example/x", "ftp://127.0.0.1/x", "127.0.0.1:80", "https://user:pass@shop.example/"] {
        let refused = world.cli.run(&["source", "outcome", "far", "--url", bad]).expect(2);
        assert_eq!(refused.error()["field"], "url", "{bad}");
    }
    world.cli.run(&["source", "outcome", "nobody", "--url", "https://shop.example/"]).expect(5);
    let ear = Ear::answering(&[410]);
    world.cli.ok(&["source", "outcome", "far", "--url", &ear.url]);
    approved(&world, "r-1");
    world.cli.run(&["dispatch", "--until-idle"]).expect(0);
    let call = log(&world)[0].clone();
    assert_eq!((text(&call["state"]), &call["next_at"]), ("stopped", &Value::Null), "{call}");
    world.cli.ok(&["source", "outcome", "far", "--remove"]);
    assert_eq!(world.cli.ok(&["source", "outcome", "far"])["url"], Value::Null);
    approved(&world, "r-2");
    world.cli.run(&["dispatch", "--until-idle"]).expect(0);
    assert_eq!((ear.heard().len(), log(&world).len()), (1, 1), "nothing is queued without a listener");
}

#[test]
fn r09_r25_a_source_is_told_where_a_persons_word_stands_behind_an_acceptance() {
    let world = World::sandbox();
    let far = Far::set_up(&world);
    let ear = Ear::answering(&[]);
    world.cli.ok(&["source", "outcome", "far", "--url", &ear.url]);
    far.sandbox.fault_once(Fault::hang_after_acting());
    let action = approved(&world, "r-1");
    let id = text(&action["id"]).to_owned();
    world.cli.run(&["dispatch", "--until-idle"]).expect(6);
    let evidence = "Robin confirmed it on the phone";
    let doc = world.cli.ok(&["resolve", &id, "--happened", "--evidence", evidence]);
    assert_eq!((text(&doc["receipt"]["kind"]), text(&doc["receipt"]["by"])), ("person", "Noor"), "{doc}");
    let told = text(&doc["explanation"]);
    assert!(told.starts_with("Accepted, on Noor's word. ") && told.contains("has not confirmed it"), "{told}");
    let listed = world.cli.ok(&["list"])["actions"][0]["receipt"].clone();
    assert!(text(&listed).starts_with("On Noor’s word"), "{listed}");
    let record = world.cli.ok(&["export"])["actions"][0].clone();
    assert_eq!((text(&record["receipt_kind"]), text(&record["receipt_by"])), ("person", "Noor"), "{record}");
    world.cli.run(&["dispatch", "--until-idle"]).expect(0);

    let heard = ear.heard();
    let kinds: Vec<_> = heard.iter().map(|h| h.document()["type"].clone()).collect();
    assert_eq!(kinds, ["action.unknown", "action.accepted"]);
    let (doubt, word) = (heard[0].document(), heard[1].document());
    assert_eq!((&doubt["data"]["receipt_kind"], &doubt["data"]["by_persons_word"]), (&Value::Null, &json!(false)));
    assert_eq!((&word["data"]["receipt_kind"], &word["data"]["by_persons_word"]), (&json!("person"), &json!(true)));
    for hidden in ["Noor", "phone", "Robin"] {
        assert!(!heard[1].body.contains(hidden), "{hidden}: {}", heard[1].body);
    }
}

/// What a person with the file could do, or a disk that takes no more.
fn on_the_file(world: &World, statement: &str) {
    sqlx::any::install_default_drivers();
    let url = format!("sqlite://{}", world.scratch.join("home/ledger.db").display());
    tokio::runtime::Runtime::new().expect("a runtime").block_on(async {
        let mut conn = AnyConnection::connect(&url).await.expect("connects");
        sqlx::raw_sql(AssertSqlSafe(statement.to_owned())).execute(&mut conn).await.expect("it is taken");
        conn.close().await.expect("closed");
    });
}

/// Another source than `far` that is told at `url`, with a heap of old outcomes that nobody took from it yet.
fn heap(world: &World, name: &str, url: &str, action: &Value) {
    world.source(name, "sandbox-mailbox");
    world.cli.ok(&["source", "outcome", name, "--url", url]);
    let n = text(&action["id"]).trim_start_matches("A-");
    on_the_file(
        world,
        &format!(
            "WITH RECURSIVE k (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM k WHERE i < 30) \
             INSERT INTO outcome_calls (seq, source, action, message_id, body, queued_at, state, tries, changed_at, next_at) \
             SELECT i + 1000000 + (SELECT coalesce(max(seq), 0) FROM outcome_calls), '{name}', {n}, 'msg_{name}' || i, '{{}}', 1, 'waiting', 0, 1, 1 FROM k"
        ),
    );
}

#[test]
fn r09_a_listener_that_is_dead_or_cannot_be_read_of_keeps_no_other_source_waiting() {
    let world = World::sandbox();
    let _far = Far::set_up(&world);
    let (ear, dead) = (Ear::answering(&[]), Ear::answering(&[500; 40]));
    world.cli.ok(&["source", "outcome", "far", "--url", &ear.url]);
    let action = approved(&world, "r-1");
    heap(&world, "dead", &dead.url, &action);
    world.cli.run(&["dispatch", "--until-idle"]).expect(0);
    assert_eq!(ear.heard().len(), 1, "each source has its turn");
    assert!((1..10).contains(&dead.heard().len()), "and a dead one has one a pass: {}", dead.heard().len());

    // One of which the row cannot even be read.
    let action = approved(&world, "r-2");
    heap(&world, "broken", &dead.url, &action);
    on_the_file(&world, "UPDATE outcome_hooks SET added_at = 'no time' WHERE source = 'broken'");
    world.cli.run(&["dispatch", "--until-idle"]).expect(0);
    assert_eq!(ear.heard().len(), 2);
    on_the_file(&world, "UPDATE outcome_hooks SET added_at = 1 WHERE source = 'broken'");
    let calls = world.cli.ok(&["source", "outcome", "broken"])["calls"].as_array().expect("a list").clone();
    let tried: Vec<_> = calls.iter().filter(|call| call["tries"] == 1).collect();
    assert!(!tried.is_empty(), "it is tried again later: {calls:?}");
    assert!(text(&tried[0]["last"]).contains("cannot be read") && tried[0]["state"] == "waiting", "{tried:?}");
}

#[test]
fn r09_a_webhook_that_could_not_be_stored_leaves_the_one_before_as_it_was() {
    let world = World::sandbox();
    let _far = Far::set_up(&world);
    let (first, second) = (Ear::answering(&[]), Ear::answering(&[]));
    let made = world.cli.ok(&["source", "outcome", "far", "--url", &first.url]);
    let secret = text(&made["signing_secret"]).to_owned();
    on_the_file(&world, "CREATE TRIGGER no_more BEFORE UPDATE ON outcome_hooks BEGIN SELECT RAISE(ABORT, 'no'); END");
    let refused = world.cli.run(&["source", "outcome", "far", "--url", &second.url]);
    assert_ne!(refused.code, 0, "the ledger took nothing");
    on_the_file(&world, "DROP TRIGGER no_more");
    approved(&world, "r-1");
    world.cli.run(&["dispatch", "--until-idle"]).expect(0);
    assert_eq!((first.heard().len(), second.heard().len()), (1, 0), "{:?}", log(&world));
    let heard = first.heard().remove(0);
    assert!(peers::verifies(&secret, &heard.headers, &heard.body), "signed with what its listener was given");

    // The next one has a secret of its own, and the first one's is no use any more.
    let next = world.cli.ok(&["source", "outcome", "far", "--url", &second.url]);
    approved(&world, "r-2");
    world.cli.run(&["dispatch", "--until-idle"]).expect(0);
    assert_eq!((first.heard().len(), second.heard().len()), (1, 1));
    let heard = second.heard().remove(0);
    assert!(peers::verifies(text(&next["signing_secret"]), &heard.headers, &heard.body));
    assert!(!peers::verifies(&secret, &heard.headers, &heard.body));
}

#[test]
fn r09_a_listener_with_an_authority_of_its_own_is_told_once_the_home_trusts_it() {
    let world = World::sandbox();
    let _far = Far::set_up(&world);
    let ear = Ear::answering(&[]);
    let ca = Authority::new();
    let tokio = tokio::runtime::Runtime::new().expect("a runtime");
    let address = ear.url.trim_start_matches("http://").split('/').next().expect("an address").parse().expect("one");
    let front = tokio.block_on(ca.front("127.0.0.1", address)).expect("a port");
    world.cli.ok(&["source", "outcome", "far", "--url", &format!("https://{}/outcomes", front.address)]);
    approved(&world, "r-1");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs() as i64 - START;
    world.dispatch(&at(now + 2)).expect(0);
    let call = log(&world)[0].clone();
    assert_eq!((text(&call["state"]), ear.heard().len()), ("waiting", 0), "{call}");
    assert!(text(&call["last"]).contains("certificate"), "it says why: {call}");
    ca.write(&world.cli.home().join("outcomes.pem")).expect("it is written");
    let config = world.cli.home().join("config.toml");
    let text_of_it = std::fs::read_to_string(&config).expect("it is there");
    std::fs::write(&config, format!("{text_of_it}outcome_ca_file = \"outcomes.pem\"\n")).expect("it is written");
    world.dispatch(&at(now + 12)).expect(0);
    assert_eq!((text(&log(&world)[0]["state"]), ear.heard().len()), ("delivered", 1));
}
