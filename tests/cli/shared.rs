//! A home of the test's own, with its secrets in an encrypted file, and proposals for it.

use serde_json::{Value, json};
use std::path::PathBuf;
use testkit::{Answer, Cli, Scratch};

pub const PASSPHRASE: &str = "correct horse battery";
/// When the manual clock starts. Commands that move it say how far.
pub const START: i64 = 1_793_610_900;

pub struct World {
    pub scratch: Scratch,
    pub cli: Cli,
}

/// A moment of the manual clock, in seconds after the start.
pub fn at(seconds: i64) -> String {
    let total = START + seconds;
    let (days, rest) = (total.div_euclid(86_400), total.rem_euclid(86_400));
    // Civil date of a day number (the usual arithmetic of the proleptic Gregorian calendar).
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let (day, month) = (doy - (153 * mp + 2) / 5 + 1, if mp < 10 { mp + 3 } else { mp - 9 });
    let year = yoe + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", rest / 3600, rest % 3600 / 60, rest % 60)
}

impl World {
    /// An empty folder and a command line for it; no home yet.
    pub fn bare() -> World {
        let scratch = Scratch::new("");
        let secrets = format!("file:{}", scratch.join("secrets").display());
        let cli = Cli::new(scratch.join("home")).with_args(&["--secrets", &secrets]).with_passphrase(PASSPHRASE);
        World { scratch, cli }
    }

    /// A home with the sandbox environment, and the source `bot` that may propose email to it.
    pub fn sandbox() -> World {
        let world = World::bare();
        world.cli.ok(&["init", "--owner", "Noor", "--sandbox"]);
        world.source("bot", "sandbox-mailbox");
        world
    }

    pub fn source(&self, name: &str, destinations: &str) -> Value {
        let effects = "email.send,email.reply";
        self.cli.ok(&[
            "source",
            "add",
            name,
            "--environment",
            "sandbox",
            "--effects",
            effects,
            "--destinations",
            destinations,
        ])
    }

    /// The same home, asked without a passphrase.
    pub fn without_passphrase(&self) -> Cli {
        let secrets = format!("file:{}", self.scratch.join("secrets").display());
        Cli::new(self.scratch.join("home")).with_args(&["--secrets", &secrets])
    }

    pub fn file(&self, name: &str, document: &Value) -> PathBuf {
        self.scratch.write(name, document.to_string())
    }

    pub fn propose(&self, document: &Value) -> Answer {
        self.cli.run_input(&["propose", "-", "--source", "bot"], document.to_string().as_bytes())
    }

    /// Proposes and expects a new action: its line of the answer.
    #[track_caller]
    pub fn created(&self, document: &Value) -> Value {
        let answer = self.propose(document).expect(0).json();
        assert_eq!(answer["actions"][0]["disposition"], "created", "{answer}");
        answer["actions"][0].clone()
    }

    #[track_caller]
    pub fn show(&self, id: &Value) -> Value {
        self.cli.ok(&["show", text(id)])
    }

    pub fn approve(&self, action: &Value, now: &str) -> Answer {
        let hash = text(&action["payload_hash"]);
        self.cli.run(&["approve", text(&action["id"]), "--payload-hash", hash, "--now", now])
    }

    pub fn dispatch(&self, now: &str) -> Answer {
        self.cli.run(&["dispatch", "--until-idle", "--now", now])
    }
}

#[track_caller]
pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("a text is expected, not {value}"))
}

/// One email to somebody of the sandbox's world.
pub fn email(event: &str, request: &str, to: &str) -> Value {
    json!({
        "event_id": event,
        "request_id": request,
        "source_version": 3,
        "actions": [{
            "step": "first-reply",
            "effect": "email.send",
            "destination": "sandbox-mailbox",
            "payload": {
                "from": { "email": "support@shop.example" },
                "to": [{ "name": "Robin Vale", "email": to }],
                "subject": "Delivery slot",
                "text": "Of course: your slot is moved."
            }
        }]
    })
}

pub fn disposition(answer: &Value) -> &str {
    text(&answer["actions"][0]["disposition"])
}

#[test]
fn the_manual_clock_is_written_as_rfc_3339() {
    assert_eq!(at(0), "2026-11-02T09:15:00Z");
    assert_eq!(at(86_400 * 120), "2027-03-02T09:15:00Z");
}
