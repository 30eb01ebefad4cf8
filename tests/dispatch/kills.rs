//! `kill -9` at every step of an attempt, of the real program; and four of them at once. The mailbox lives in the test, so
//! what it took is counted outside the program that died.

use crate::office::{MAILBOX, ROBIN, SUPPORT, Setup, customers_message, destination_file, proposal};
use countersign_sandbox::{Config, Protocol, Sandbox};
use serde_json::Value;
use std::path::PathBuf;
use testkit::{Cli, Scratch, wait};

const PASSWORD: &str = "a \"quoted\" secret";
const PASSPHRASE: &str = "correct horse battery";
pub(crate) const AT_WORK: &str = "2026-11-02T09:16:00Z";
pub(crate) const LATER: &str = "2026-11-02T09:40:00Z";

pub(crate) struct Desk {
    pub(crate) cli: Cli,
    pub(crate) dir: Scratch,
    runtime: tokio::runtime::Runtime,
    pub(crate) sandbox: Sandbox,
    pub(crate) id: String,
    pub(crate) key: String,
}

impl Desk {
    /// A home with one approved reply.
    pub(crate) fn new() -> Desk {
        Desk::with(Setup::default())
    }

    pub(crate) fn with(setup: Setup) -> Desk {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let sandbox = runtime.block_on(Sandbox::start(Config::in_memory(&[(SUPPORT, PASSWORD)]))).unwrap();
        let dir = Scratch::new("");
        let secrets = format!("file:{}", dir.join("secrets").display());
        let cli = Cli::new(dir.join("home")).with_args(&["--secrets", &secrets]).with_passphrase(PASSPHRASE);
        cli.ok(&["init", "--owner", "Noor Brackley", "--sandbox", "--now", AT_WORK]);
        let file = dir.write("mailbox.toml", destination_file(&sandbox, setup));
        let add = ["destination", "add", file.to_str().unwrap(), "--now", AT_WORK];
        cli.run_secret(&add, "--secret-fd", PASSWORD).expect(0);
        let add = ["source", "add", "inbox-agent", "--environment", "sandbox", "--effects", "email.reply"];
        cli.ok(&[&add[..], &["--destinations", MAILBOX, "--now", AT_WORK]].concat());
        let mut desk = Desk { cli, dir, runtime, sandbox, id: String::new(), key: String::new() };
        (desk.id, desk.key) = desk.approved("r1", ROBIN);
        desk
    }

    /// A reply, proposed and approved: its id and its idempotency key.
    pub(crate) fn approved(&self, request: &str, to: &str) -> (String, String) {
        let cli = &self.cli;
        self.sandbox.deliver(SUPPORT, customers_message(request, &[to]).as_bytes());
        let document = proposal(request, &[to]).to_string();
        let propose = ["propose", "-", "--source", "inbox-agent", "--now", AT_WORK];
        let answer = cli.run_input(&propose, document.as_bytes()).expect(0).json();
        let id = answer["actions"][0]["id"].as_str().unwrap().to_owned();
        let key = answer["actions"][0]["idempotency_key"].as_str().unwrap().to_owned();
        let doc = cli.ok(&["show", &id, "--now", AT_WORK]);
        let hash = doc["payload_hash"].as_str().unwrap().to_owned();
        let mut approve =
            vec!["approve".to_owned(), id.clone(), "--payload-hash".into(), hash, "--now".into(), AT_WORK.into()];
        for finding in doc["findings"].as_array().unwrap() {
            if finding["holds"].as_bool() == Some(true) && finding["cleared"].is_null() {
                let looked = format!("{}:{}", finding["code"].as_str().unwrap(), finding["field"].as_str().unwrap());
                approve.extend(["--checked".to_owned(), looked]);
            }
        }
        cli.ok(&approve);
        (id, key)
    }

    pub(crate) fn show(&self, now: &str) -> Value {
        self.cli.ok(&["show", &self.id, "--now", now])
    }

    pub(crate) fn effects(&self) -> usize {
        self.effects_of(&self.key)
    }

    pub(crate) fn effects_of(&self, key: &str) -> usize {
        self.sandbox.effects_with_header("X-Countersign-Key", key).len()
    }

    /// Copies of the first reply in Sent.
    pub(crate) fn copies(&self) -> usize {
        let sent = self.sandbox.mailbox(SUPPORT, "Sent");
        sent.iter().filter(|m| String::from_utf8_lossy(&m.bytes).contains(&self.key)).count()
    }

    /// Dispatches until the named step, then kills the process there. Proof of the step: it wrote its name itself.
    pub(crate) fn kill_at(&self, step: &str) {
        let told: PathBuf = self.dir.join(&format!("stopped-{step}"));
        let env = vec![
            ("COUNTERSIGN_STOP_AT".into(), step.into()),
            ("COUNTERSIGN_STOP_FILE".into(), told.clone().into_os_string()),
        ];
        let running = self.cli.clone().with_env(env).spawn(&["dispatch", "--until-idle", "--now", AT_WORK]);
        wait::until(&format!("the process stands at {step}"), || {
            std::fs::read_to_string(&told).ok().filter(|t| t.starts_with(step))
        });
        running.kill();
    }
}

/// Each step, what the ledger says right after the restart, and how many effects there may be by then and in the end.
const STEPS: [(&str, &[&str], usize, &str, usize); 12] = [
    ("before_claim", &["approved"], 0, "accepted", 1),
    ("after_claim", &["in_progress"], 0, "accepted", 1),
    ("after_verify", &["in_progress"], 0, "accepted", 1),
    ("after_look", &["in_progress"], 0, "accepted", 1),
    ("after_situation", &["in_progress"], 0, "accepted", 1),
    ("after_approach", &["in_progress"], 0, "accepted", 1),
    ("after_anchor", &["in_progress"], 0, "accepted", 1),
    // The mark is written and nothing was said: nobody can tell from outside, so it is unknown and never sent again.
    ("after_crossing", &["in_progress"], 0, "unknown", 0),
    ("after_cross", &["in_progress"], 1, "unknown", 1),
    ("after_close", &["accepted"], 1, "accepted", 1),
    ("before_filing", &["accepted"], 1, "accepted", 1),
    ("after_filing", &["accepted"], 1, "accepted", 1),
];

#[test]
fn r26_killed_at_every_step_the_state_is_right_and_there_is_at_most_one_effect() {
    for (step, states, effects, end, effects_in_the_end) in STEPS {
        let desk = Desk::new();
        desk.kill_at(step);
        let doc = desk.show(AT_WORK);
        assert!(states.contains(&doc["state"].as_str().unwrap()), "{step}: {}", doc["state"]);
        assert_eq!(desk.effects(), effects, "{step}");
        let code = if end == "unknown" { 6 } else { 0 };
        desk.cli.run(&["dispatch", "--until-idle", "--now", AT_WORK]).expect(code);
        assert_eq!(desk.show(AT_WORK)["state"], end, "{step}");
        desk.cli.run(&["dispatch", "--until-idle", "--now", LATER]);
        let doc = desk.show(LATER);
        assert_eq!(doc["state"], end, "{step}");
        assert_eq!(desk.effects(), effects_in_the_end, "{step}");
        if end == "accepted" {
            assert_eq!(desk.copies(), 1, "{step}: the copy is in Sent once");
        }
        desk.cli.run(&["verify", "--now", LATER]).expect(0);
        let Desk { runtime, sandbox, .. } = desk;
        runtime.block_on(sandbox.stop());
    }
}

#[test]
fn f12_four_dispatchers_through_the_lock_one_works_and_three_answer_8() {
    let desk = Desk::new();
    let told = desk.dir.join("holder");
    let env = vec![
        ("COUNTERSIGN_STOP_AT".into(), "after_approach".into()),
        ("COUNTERSIGN_STOP_FILE".into(), told.clone().into_os_string()),
    ];
    let holder = desk.cli.clone().with_env(env).spawn(&["dispatch", "--until-idle", "--now", AT_WORK]);
    wait::until("one of them dispatches", || told.exists().then_some(()));
    for _ in 0..3 {
        desk.cli.run(&["dispatch", "--until-idle", "--now", AT_WORK]).expect(8);
    }
    assert_eq!(desk.effects(), 0);
    holder.kill();
    desk.cli.run(&["dispatch", "--until-idle", "--now", AT_WORK]).expect(0);
    assert_eq!(desk.effects(), 1);
}

#[test]
fn f12_four_processes_past_the_lock_spend_one_approval_once() {
    let desk = Desk::new();
    let env = vec![("COUNTERSIGN_PAST_THE_LOCK".into(), "1".into())];
    let cli = desk.cli.clone().with_env(env);
    let all: Vec<_> = (0..4).map(|_| cli.spawn(&["dispatch", "--until-idle", "--now", AT_WORK])).collect();
    for one in all {
        let (code, log) = one.wait();
        assert_eq!(code, 0, "{log}");
    }
    assert_eq!(desk.effects(), 1);
    let doc = desk.show(AT_WORK);
    assert_eq!(doc["state"], "accepted");
    assert_eq!(doc["attempts"].as_array().unwrap().len(), 1);
    assert_eq!(desk.sandbox.connections(Protocol::Smtp), 1);
}
