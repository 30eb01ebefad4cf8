//! A home with one or two mailboxes at real servers, and what a person and an agent do with it.

use std::cell::Cell;
use std::path::PathBuf;

use crate::cli::Running;
use crate::{Answer, Cli, MailServers, Scratch, mail, wait};
use serde_json::{Value, json};

pub const PASSPHRASE: &str = "nine quiet lamps";
pub const ACCOUNT: &str = "support@test.example";
pub const CUSTOMER: &str = "robin@test.example";
/// The customer's message as it lies in the mailbox of `support`.
pub const ASKED: &str = "Message-ID: <m1@customer.example>\r\nFrom: Robin Vale <robin@test.example>\r\nTo: support@test.example\r\n\
    Date: Mon, 02 Nov 2026 09:15:00 +0000\r\nSubject: Delivery slot\r\n\r\nCan I move my slot?\r\n";

/// A mailbox as its destination file names it.
pub struct Mailbox<'a> {
    pub name: &'a str,
    /// `smtp+plain://127.0.0.1:PORT` or with TLS.
    pub smtp: String,
    /// None: nothing can be looked up.
    pub imap: Option<String>,
    /// `true`, `false` or `auto`.
    pub files_sent_itself: &'a str,
    pub answer_timeout: u32,
    /// Another certificate authority than the system's.
    pub ca_file: Option<PathBuf>,
    /// Where its sign-in is renewed, for the client `countersign-test` whose secret is [`CLIENT_SECRET`]; the refresh token
    /// that is handed over is [`REFRESH`]. None: user name and password.
    pub sign_in: Option<String>,
}

pub const REFRESH: &str = "canary-refresh-first";
pub const CLIENT: &str = "countersign-test";
pub const CLIENT_SECRET: &str = "canary secret/+";

impl Mailbox<'_> {
    /// Plain SMTP on a port (a proxy's, mostly) and plain IMAP at the servers; the server files nothing in Sent.
    pub fn plain(smtp: u16, servers: &MailServers) -> Mailbox<'static> {
        Mailbox {
            name: "support-mailbox",
            smtp: format!("smtp+plain://127.0.0.1:{smtp}"),
            imap: Some(format!("imap+plain://127.0.0.1:{}", servers.ports().imap)),
            files_sent_itself: "false",
            answer_timeout: 20,
            ca_file: None,
            sign_in: None,
        }
    }

    fn toml(&self, environment: &str) -> String {
        let imap = self.imap.as_ref().map(|url| format!("imap = \"{url}\"\n")).unwrap_or_default();
        let ca = self.ca_file.as_ref().map(|path| format!("ca_file = \"{}\"\n", path.display())).unwrap_or_default();
        let oauth = self
            .sign_in
            .as_ref()
            .map(|endpoint| format!("auth = \"oauth\"\ntoken_endpoint = \"{endpoint}\"\nclient_id = \"{CLIENT}\"\n"));
        let oauth = oauth.unwrap_or_default();
        format!(
            "name = \"{}\"\nkind = \"mailbox\"\nenvironment = \"{environment}\"\nundo_seconds = 0\n[mailbox]\n\
             from = [\"Shop Support <{ACCOUNT}>\"]\nsmtp = \"{}\"\n{imap}{ca}answer_timeout_seconds = {}\n\
             username = \"support\"\nsent_folder = \"auto\"\nfiles_sent_itself = \"{}\"\n{oauth}",
            self.name, self.smtp, self.answer_timeout, self.files_sent_itself
        )
    }
}

/// A home in one environment. In `sandbox` the clock is the test's; in `live` it is the system's.
pub struct Office {
    cli: Cli,
    dir: Scratch,
    environment: &'static str,
    minute: Cell<u32>,
}

impl Office {
    /// A home whose mailboxes are in the sandbox environment, on a clock that only [`Office::later`] moves.
    pub fn on_a_manual_clock(mailboxes: &[Mailbox]) -> Office {
        let dir = Scratch::new("");
        let secrets = format!("file:{}", dir.join("secrets").display());
        let cli = Cli::new(dir.join("home")).with_args(&["--secrets", &secrets]).with_passphrase(PASSPHRASE);
        let office = Office { cli, dir, environment: "sandbox", minute: Cell::new(0) };
        office.furnish(&["init", "--owner", "Noor Brackley", "--sandbox"], mailboxes);
        office
    }

    /// A home in live, with whatever keeps its secrets in `cli`; sending is switched on.
    pub fn live(cli: Cli, dir: Scratch, mailboxes: &[Mailbox]) -> Office {
        let office = Office { cli, dir, environment: "live", minute: Cell::new(0) };
        office.furnish(&["init", "--owner", "Noor Brackley"], mailboxes);
        office.ok(&["sending", "on", "--environment", "live"]);
        office
    }

    fn furnish(&self, init: &[&str], mailboxes: &[Mailbox]) {
        self.ok(init);
        let mut names = Vec::new();
        for mailbox in mailboxes {
            let file = self.dir.write(&format!("{}.toml", mailbox.name), mailbox.toml(self.environment));
            let args = ["destination", "add", file.to_str().expect("plain path")];
            let refresh = format!("{REFRESH}\n{CLIENT_SECRET}");
            let secret = if mailbox.sign_in.is_some() { &refresh } else { mail::PASSWORD };
            self.cli.run_secret(&self.args(&args), "--secret-fd", secret).expect(0);
            names.push(mailbox.name);
        }
        let effects = "email.reply,email.send";
        self.ok(&[
            "source",
            "add",
            "inbox-agent",
            "--environment",
            self.environment,
            "--effects",
            effects,
            "--destinations",
            &names.join(","),
        ]);
    }

    /// Adds a destination of any kind from its file.
    pub fn add_destination(&self, name: &str, toml: &str, secret: &str) {
        let file = self.dir.write(&format!("{name}.toml"), toml);
        let args = ["destination", "add", file.to_str().expect("plain path")];
        self.cli.run_secret(&self.args(&args), "--secret-fd", secret).expect(0);
    }

    /// A command that is handed a secret.
    pub fn run_secret(&self, args: &[&str], secret: &str) -> Answer {
        self.cli.run_secret(&self.args(args), "--secret-fd", secret)
    }

    /// Allows a source more than [`Office::propose`]'s.
    pub fn add_source(&self, name: &str, effects: &str, destinations: &str) {
        let environment = ["--environment", self.environment];
        let rest = ["--effects", effects, "--destinations", destinations];
        self.ok(&[&["source", "add", name][..], &environment, &rest].concat());
    }

    /// Writes a file beside the home; returns its path.
    pub fn file(&self, name: &str, text: &str) -> String {
        self.dir.write(name, text).to_str().expect("plain path").to_owned()
    }

    /// Moves the manual clock.
    pub fn later(&self, minutes: u32) {
        self.minute.set(self.minute.get() + minutes);
    }

    fn args(&self, args: &[&str]) -> Vec<String> {
        let mut all: Vec<String> = args.iter().map(|&a| a.to_owned()).collect();
        if self.environment == "sandbox" {
            let minute = self.minute.get();
            assert!(minute < 14 * 60, "within one day");
            all.extend(["--now".to_owned(), format!("2026-11-02T{:02}:{:02}:00Z", 9 + minute / 60, minute % 60)]);
        }
        all
    }

    pub fn run(&self, args: &[&str]) -> Answer {
        self.cli.run(&self.args(args))
    }

    #[track_caller]
    pub fn ok(&self, args: &[&str]) -> Value {
        self.run(args).expect(0).json()
    }

    /// A command that runs until it is stopped.
    pub fn spawn(&self, args: &[&str], env: &[(&str, &str)]) -> Running {
        let env = env.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        self.cli.clone().with_env(env).spawn(&self.args(args))
    }

    /// The folder of the home.
    pub fn home(&self) -> &std::path::Path {
        self.cli.home()
    }

    /// Hands in a proposal and returns the ids of its actions.
    #[track_caller]
    pub fn propose(&self, proposal: &Value) -> Vec<String> {
        self.propose_as("inbox-agent", proposal)
    }

    #[track_caller]
    pub fn propose_as(&self, source: &str, proposal: &Value) -> Vec<String> {
        let args = self.args(&["propose", "-", "--source", source]);
        let answer = self.cli.run_input(&args, proposal.to_string().as_bytes()).expect(0).json();
        let actions = answer["actions"].as_array().expect("actions").iter();
        actions.map(|a| a["id"].as_str().expect("an id").to_owned()).collect()
    }

    pub fn show(&self, id: &str) -> Value {
        self.ok(&["show", id])
    }

    /// Approves what `show` shows now.
    #[track_caller]
    pub fn approve(&self, id: &str) -> Value {
        let hash = self.show(id)["payload_hash"].as_str().expect("a hash").to_owned();
        self.ok(&["approve", id, "--payload-hash", &hash])
    }

    /// One reply, proposed and approved.
    #[track_caller]
    pub fn approved_reply(&self) -> String {
        let id = self.propose(&reply("inquiry-1")).remove(0);
        self.approve(&id);
        id
    }

    /// Runs the worker until nothing is due; the exit code tells the worst outcome.
    pub fn dispatch(&self) -> i32 {
        let answer = self.run(&["dispatch", "--until-idle"]);
        assert!([0, 6, 7].contains(&answer.code), "{answer:?}");
        answer.code
    }

    /// Waits until `show` fulfils the condition.
    #[track_caller]
    pub fn until(&self, id: &str, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        wait::until(&format!("{id} {what}"), || Some(self.show(id)).filter(|doc| holds(doc)))
    }
}

/// A proposal with one reply to the customer's message.
pub fn reply(request: &str) -> Value {
    json!({
        "event_id": format!("evt-{request}"), "request_id": request, "source_version": 1,
        "conversation": {
            "from": {"name": "Robin Vale", "email": CUSTOMER}, "subject": "Delivery slot",
            "received_at": "2026-11-02T09:15:00Z", "message_id": "<m1@customer.example>", "references": [],
            "text": "Can I move my slot?", "html": null
        },
        "actions": [action("first-reply", "support-mailbox", "email.reply")],
        "draft": {"run_id": "run-1", "model": "any", "reason": "moves the slot"}
    })
}

pub fn action(step: &str, destination: &str, effect: &str) -> Value {
    let mut payload = json!({
        "from": {"name": "Shop Support", "email": ACCOUNT}, "to": [{"name": "Robin Vale", "email": CUSTOMER}],
        "cc": [], "bcc": [], "reply_to": [], "subject": "Re: Delivery slot",
        "text": "Of course: Thursday, 10 to 12.\n.\nA line that is one dot, and Grüße from Zürich.\n", "html": null,
        "attachments": []
    });
    if effect == "email.reply" {
        payload["in_reply_to"] = "<m1@customer.example>".into();
        payload["references"] = json!(["<m1@customer.example>"]);
    }
    json!({"step": step, "effect": effect, "destination": destination, "payload": payload})
}

pub fn state(doc: &Value) -> &str {
    doc["state"].as_str().expect("an action document has a state")
}
