//! What is told (F44): no login is in a log, a report, an answer or a file of the home, in any form, whatever the log is
//! asked to tell.

use crate::office::{CLIENT, ROBIN, SUPPORT, Setup, customers_message, destination_file, proposal, sign_in_lines};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use countersign_sandbox::api::{Api, ApiFault, App, On};
use countersign_sandbox::apps::hubspot::HubSpot;
use countersign_sandbox::apps::oauth::SignIn;
use countersign_sandbox::apps::resend::Resend;
use countersign_sandbox::{Config, Fault, Point, Protocol, Sandbox, Times};
use serde_json::json;
use std::io::{Read, Write};
use std::time::{SystemTime, UNIX_EPOCH};
use testkit::{Answer, Cli, Scratch, Session};

/// What every secret of these tests begins with. What the sign-in server gives out does, too.
const CANARY: &str = "canary-";
const PASSWORD: &str = "canary-PLAIN/+ä?1";
const REFRESH: &str = "canary-refresh/+?2";
const CLIENT_SECRET: &str = "canary-client/+?3";
const API_KEY: &str = "canary-api/+?4";
const TOKEN: &str = "canary-portal/+?5";

/// The forms in which a secret may show: as it is, in base64 wherever it lies in what was encoded (the answer to AUTH PLAIN,
/// `user=…auth=Bearer …`), as hex, in a URL, as the bytes of a list.
fn forms() -> Vec<String> {
    let mut forms = vec![CANARY.to_owned(), hex::encode(CANARY), CANARY.replace('-', "%2D")];
    forms.push(CANARY.bytes().map(|b| b.to_string()).collect::<Vec<_>>().join(", "));
    for before in 0..3 {
        let bytes = [&vec![0; before][..], CANARY.as_bytes()].concat();
        // Without the letters that also depend on what stands before and behind it.
        let (from, to) = ((before * 8).div_ceil(6), bytes.len() * 8 / 6);
        for engine in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
            forms.push(engine.encode(&bytes)[from..to].to_owned());
        }
    }
    forms
}

/// Asserts that none of it holds a secret.
fn silent(what: &str, text: &[u8]) {
    let lower = String::from_utf8_lossy(text).to_ascii_lowercase();
    for form in forms() {
        if let Some(at) = lower.find(&form.to_ascii_lowercase()) {
            let before: String = lower[..at].chars().rev().take(300).collect();
            panic!("a secret shows in {what} as {form}, after: {}", before.chars().rev().collect::<String>());
        }
    }
}

/// A home whose command line tells everything it can.
struct Loud {
    cli: Cli,
    dir: Scratch,
    runtime: tokio::runtime::Runtime,
    log: std::cell::RefCell<String>,
    _session: Session,
}

impl Loud {
    fn new() -> Loud {
        let (session, dir) = (Session::with_keyring(), Scratch::new(""));
        let told = vec![("RUST_LOG".into(), "trace".into())];
        let cli = Cli::new(dir.join("home")).with_env(session.env()).with_env(told).with_passphrase("correct horse");
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let loud = Loud { cli, dir, runtime, log: Default::default(), _session: session };
        loud.run(&["init", "--owner", "Noor Brackley", "--sandbox"]).expect(0);
        loud
    }

    fn heard(&self, answer: Answer) -> Answer {
        silent("an answer", answer.stdout.as_bytes());
        silent("a log", answer.stderr.as_bytes());
        self.log.borrow_mut().push_str(&answer.stderr);
        answer
    }

    fn run(&self, args: &[&str]) -> Answer {
        self.heard(self.cli.run(args))
    }

    fn api(&self, app: Box<dyn App>) -> Api {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
        self.runtime.block_on(Api::start(app, i64::try_from(now).expect("in time"))).expect("the double starts")
    }

    fn add(&self, name: &str, file: &str, secret: &str) {
        let file = self.dir.write(&format!("{name}.toml"), file);
        let add = ["destination", "add", file.to_str().unwrap()];
        self.heard(self.cli.run_secret(&add, "--secret-fd", secret)).expect(0);
    }

    fn source(&self, name: &str, effects: &str, destination: &str) {
        let add = ["source", "add", name, "--environment", "sandbox", "--effects", effects];
        self.run(&[&add[..], &["--destinations", destination]].concat()).expect(0);
    }

    /// Proposed and approved with every check looked at.
    fn approved(&self, source: &str, document: &serde_json::Value) {
        let propose = ["propose", "-", "--source", source];
        let made = self.heard(self.cli.run_input(&propose, document.to_string().as_bytes())).expect(0).json();
        let id = made["actions"][0]["id"].as_str().expect("an action");
        let doc = self.run(&["show", id]).expect(0).json();
        let hash = doc["payload_hash"].as_str().expect("a hash");
        let mut approve = vec!["approve".to_owned(), id.to_owned(), "--payload-hash".into(), hash.to_owned()];
        for finding in doc["findings"].as_array().expect("a list").iter().filter(|f| f["holds"] == true) {
            let looked = format!("{}:{}", finding["code"].as_str().unwrap(), finding["field"].as_str().unwrap());
            approve.extend(["--checked".to_owned(), looked]);
        }
        self.run(&approve.iter().map(String::as_str).collect::<Vec<_>>()).expect(0);
    }

    fn dispatch(&self) {
        self.run(&["dispatch", "--until-idle"]);
    }

    /// The report of the home, every file of it and of the folder beside it; and that the log did tell a lot.
    fn ends_silent(self) {
        for told in [&["doctor"][..], &["destination", "list"], &["verify"], &["export", "--format", "json"]] {
            self.run(told).expect(0);
        }
        let mut folders = vec![self.dir.join("")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => folders.push(path),
                    false => silent(&path.display().to_string(), &std::fs::read(&path).unwrap()),
                }
            }
        }
        let log = self.log.borrow();
        assert!(log.contains("TRACE") && log.contains("DEBUG"), "it tells everything: {}", log.len());
    }
}

#[test]
fn f44_a_password_and_a_bearer_token_that_a_mailbox_takes_or_refuses_are_told_nowhere() {
    let loud = Loud::new();
    let id = SignIn::new(SUPPORT, CLIENT, Some(CLIENT_SECRET), REFRESH);
    let tokens = id.tokens();
    let id = loud.api(Box::new(id));
    for oauth in [false, true] {
        let config = Config::in_memory(&[(SUPPORT, PASSWORD)]);
        let sandbox = loud.runtime.block_on(Sandbox::start(config)).expect("the mailbox starts");
        if oauth {
            sandbox.take_tokens(tokens.clone());
        }
        let setup = Setup { sign_in: oauth.then(|| id.address()), told: "false", ..Setup::default() };
        let name = if oauth { "signed-in" } else { "plain" };
        let file = destination_file(&sandbox, setup).replace(crate::office::MAILBOX, name);
        let secret = if oauth { format!("{REFRESH}\n{CLIENT_SECRET}") } else { PASSWORD.to_owned() };
        loud.add(name, &file, &secret);
        loud.source(name, "email.reply", name);
        sandbox.deliver(SUPPORT, customers_message(name, &[ROBIN]).as_bytes());
        let mut document = proposal(name, &[ROBIN]);
        document["actions"][0]["destination"] = json!(name);
        loud.approved(name, &document);
        let (logins, authenticated) = (sandbox.connections(Protocol::Imap), sandbox.count(Point::Authenticated));
        // Taken, refused by IMAP, refused by SMTP, and taken again.
        loud.run(&["destination", "test", name]).expect(0);
        assert!(sandbox.connections(Protocol::Imap) > logins && sandbox.count(Point::Authenticated) > authenticated);
        for trouble in [Fault::imap_login_refused(), Fault::smtp_login_refused(535)] {
            sandbox.set_fault(trouble, Times::Always);
            loud.dispatch();
            if oauth {
                tokens.end_all();
            }
            let refused = loud.run(&["destination", "test", name]);
            assert_ne!(refused.code, 0, "{refused:?}");
            sandbox.clear_faults();
            loud.run(&["destination", "test", name]).expect(0);
        }
        loud.dispatch();
        assert_eq!(sandbox.effects().len(), 1, "{name}: it went with what was never told");
        loud.run(&["destination", "remove", name]).expect(0);
    }
    loud.ends_silent();
}

#[test]
fn f44_an_api_key_and_what_stands_in_a_header_at_the_door_are_told_nowhere() {
    let loud = Loud::new();
    let resend = loud.api(Box::new(Resend::new(API_KEY)));
    let table = format!(
        "name = \"place\"\nkind = \"resend\"\nenvironment = \"sandbox\"\nundo_seconds = 0\n[resend]\n\
         from = [\"Shop Support <{SUPPORT}>\"]\nbase_url = \"{}\"\n",
        resend.base_url()
    );
    loud.add("place", &table, API_KEY);
    let mut hubspot = HubSpot::new(TOKEN);
    hubspot.put("contacts", "101", &[("email", ROBIN), ("firstname", "Robin")]);
    let hubspot = loud.api(Box::new(hubspot));
    let table = format!(
        "name = \"crm\"\nkind = \"hubspot\"\nenvironment = \"sandbox\"\nundo_seconds = 0\n[hubspot]\n\
         portal = 4815162\nbase_url = \"{}\"\n{}",
        hubspot.base_url(),
        sign_in_lines(None)
    );
    loud.add("crm", &table, TOKEN);
    loud.source("agent", "email.send,crm.note", "place,crm");
    let mail = json!({
        "from": { "name": "Shop Support", "email": SUPPORT }, "to": [{ "email": ROBIN }],
        "subject": "Your slot", "text": "Of course: Tuesday.\n"
    });
    let note = json!({ "record": { "type": "contact", "match": { "id": 101 } }, "text": "Moved to Tuesday" });
    for (api, name, effect, payload) in [(&resend, "place", "email.send", mail), (&hubspot, "crm", "crm.note", note)] {
        loud.run(&["destination", "test", name]);
        let document = json!({ "event_id": format!("evt-{name}"), "request_id": name,
            "actions": [{ "step": "only", "effect": effect, "destination": name, "payload": payload }] });
        loud.approved("agent", &document);
        api.set_fault(ApiFault::refuses(401).on(On::Writes), Times::Always);
        loud.dispatch();
        let shown = api.requests();
        assert!(
            shown.iter().any(|r| r.header("authorization").is_some_and(|h| h.contains(CANARY))),
            "{name}: it was said"
        );
        api.clear_faults();
        loud.run(&["destination", "test", name]);
        loud.dispatch();
    }
    // At the door: whatever a stranger puts where a token belongs.
    let mut serving = loud.cli.spawn(&["serve"]);
    let port = serving.listening();
    for header in [format!("Authorization: Bearer {TOKEN}"), format!("webhook-signature: v1,{TOKEN}")] {
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).expect("the door is open");
        let head = format!(
            "POST /v1/proposals HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{header}\r\nwebhook-id: m1\r\n\
             webhook-timestamp: 1\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}"
        );
        stream.write_all(head.as_bytes()).expect("it reads");
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
        silent("the door's answer", answer.as_bytes());
    }
    let (code, log) = serving.stop();
    assert_eq!(code, 0, "{log}");
    silent("the log of serve", log.as_bytes());
    loud.ends_silent();
}
