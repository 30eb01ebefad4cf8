//! A home, a mailbox that can be told to misbehave, and the people around it. The clock moves only when it is told to.

use countersign_domain::{ActionId, IdempotencyKey, State, Timestamp};
use countersign_engine::view::ActionDoc;
use countersign_engine::{
    Clock, Core, Desk, Dispatcher, Failure, Frozen, Home, InitArgs, Intake, LoginSecret, MemoryStore, OpenArgs,
    SANDBOX, SecretsChoice, Surface,
};
use countersign_sandbox::{Config, Habits, Sandbox, SmtpFeatures};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

pub const SUPPORT: &str = "support@shop.example";
pub const ROBIN: &str = "robin@customer.example";
pub const MAILBOX: &str = "support-mailbox";
const PASSWORD: &str = "a \"quoted\" secret";
const SOURCE: &str = "inbox-agent";
/// What is handed over of a mailbox that signs in with OAuth, and the client that it is for.
pub const REFRESH: &str = "canary-refresh-first";
pub const CLIENT: &str = "countersign-test";

/// How the mailbox is set up.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    pub files_sent: bool,
    /// `files_sent_itself` in the destination file.
    pub told: &'static str,
    pub imap: bool,
    /// Whether the SMTP server offers CHUNKING.
    pub chunking: bool,
    pub undo_seconds: u32,
    pub answer_timeout: u32,
    /// Where the mailbox's sign-in is renewed; None: it has a password.
    pub sign_in: Option<SocketAddr>,
}

impl Default for Setup {
    fn default() -> Setup {
        Setup {
            files_sent: false,
            told: "\"auto\"",
            imap: true,
            chunking: true,
            undo_seconds: 0,
            answer_timeout: 30,
            sign_in: None,
        }
    }
}

pub struct Office {
    pub sandbox: Sandbox,
    pub core: Core,
    pub desk: Desk,
    pub intake: Intake,
    pub clock: Clock,
    pub dir: TempDir,
    memory: MemoryStore,
}

pub fn start_of_day() -> Timestamp {
    "2026-11-02T09:15:00Z".parse().expect("it is a time")
}

impl Office {
    pub async fn new() -> Office {
        Office::with(Setup::default()).await
    }

    pub async fn with(setup: Setup) -> Office {
        let habits = Habits { files_sent: setup.files_sent, ..Habits::default() };
        let smtp = SmtpFeatures { chunking: setup.chunking, ..SmtpFeatures::default() };
        let config = Config { smtp, habits, ..Config::in_memory(&[(SUPPORT, PASSWORD)]) };
        let sandbox = Sandbox::start(config).await.expect("the mailbox starts");
        let dir = tempfile::tempdir().expect("a folder");
        let clock = Clock::manual(start_of_day());
        let memory = MemoryStore::default();
        let home = Home::at(dir.path().join("home"));
        let args = InitArgs {
            owner: "Noor Brackley".into(),
            sandbox: true,
            secrets: SecretsChoice::Memory(memory.clone()),
            passphrase: None,
        };
        home.init(args, &clock).await.expect("the home is made");
        let core = open(&home, &memory, &clock).await;
        let desk = Desk::new(core.clone());
        let file = destination_file(&sandbox, setup);
        let secret = if setup.sign_in.is_some() { REFRESH } else { PASSWORD };
        let added = desk.add_destination(&file, dir.path(), &LoginSecret::new(secret)).await;
        added.expect("the mailbox is added");
        let effects = ["email.reply", "email.send"].map(str::to_owned);
        desk.add_source(SOURCE, SANDBOX, &effects, &[MAILBOX.to_owned()], false).await.expect("the source is added");
        let intake = Intake::open(&core).await.expect("the intake opens");
        Office { sandbox, core, desk, intake, clock, dir, memory }
    }

    pub fn home(&self) -> Home {
        Home::at(self.dir.path().join("home"))
    }

    /// The same home as another process would find it.
    pub async fn again(&self) -> Core {
        open(&self.home(), &self.memory, &self.clock).await
    }

    /// As [`Office::again`], where it may be refused.
    pub async fn try_again(&self) -> Result<Core, Failure> {
        let secrets = Some(SecretsChoice::Memory(self.memory.clone()));
        let args = OpenArgs { secrets, clock: self.clock.clone(), ..OpenArgs::new(self.home()) };
        Core::open(args).await
    }

    /// Runs a statement on the file beside the program, as somebody with an editor would.
    pub async fn on_the_file(&self, statement: &'static str) {
        use sqlx::Connection;
        sqlx::any::install_default_drivers();
        let address = format!("sqlite://{}", self.home().ledger().display());
        let mut file = sqlx::AnyConnection::connect(&address).await.expect("the file opens");
        sqlx::query(statement).execute(&mut file).await.unwrap_or_else(|e| panic!("{statement}: {e}"));
        file.close().await.expect("it closes");
    }

    /// A person takes over a ledger that says of itself that it was restored.
    pub async fn restored_and_adopted(&self) {
        self.core.freeze(Frozen::Restored, "worker").await.expect("it freezes");
        let presence = self.core.unlock(None).await.expect("the window of a home without a passphrase");
        self.core.unfreeze(true, &self.core.owner, &presence).await.expect("it is adopted");
    }

    /// The same secrets, looking at another folder.
    pub async fn elsewhere(&self, home: &Path) -> Core {
        open(&Home::at(home), &self.memory, &self.clock).await
    }

    pub async fn dispatcher(&self) -> Dispatcher {
        Dispatcher::start(self.core.clone()).await.expect("nobody else dispatches")
    }

    pub fn later(&self, by: Duration) {
        self.clock.advance(by);
    }

    pub async fn propose(&self, request: &str) -> ActionId {
        self.propose_to(request, &[ROBIN]).await
    }

    pub async fn propose_to(&self, request: &str, to: &[&str]) -> ActionId {
        self.propose_received_at(request, to, Some("2026-11-02T09:00:00Z")).await
    }

    /// As the source tells when the customer's message was received, if it does.
    pub async fn propose_received_at(&self, request: &str, to: &[&str], at: Option<&str>) -> ActionId {
        self.sandbox.deliver(SUPPORT, customers_message(request, to).as_bytes());
        let source = self.intake.by_name(SOURCE).await.expect("the source is known");
        let mut document = proposal(request, to);
        document["conversation"]["received_at"] = json!(at);
        let answer = self.intake.propose(&source, document.to_string().as_bytes()).await.expect("it is taken");
        let answer = serde_json::to_value(&answer).expect("it is plain data");
        let id = answer["actions"][0]["id"].as_str().unwrap_or_else(|| panic!("no action: {answer}"));
        id.parse().expect("it is an id")
    }

    /// Reads it, looks at whatever wants looking at, and approves what is shown.
    pub async fn approve(&self, id: ActionId) -> ActionDoc {
        let doc = self.desk.action(id).await.expect("it can be read");
        for finding in doc.findings.iter().filter(|f| f.holds && f.cleared.is_none()) {
            self.desk.clear_finding(id, &finding.code, &finding.field).await.expect("it can be cleared");
        }
        self.desk.approve(id, &doc.payload_hash, &[]).await.unwrap_or_else(|e| panic!("not approved: {e}"))
    }

    pub async fn approved(&self, request: &str) -> ActionId {
        let id = self.propose(request).await;
        self.approve(id).await;
        id
    }

    pub async fn doc(&self, id: ActionId) -> ActionDoc {
        self.desk.action(id).await.expect("it can be read")
    }

    pub async fn state(&self, id: ActionId) -> State {
        self.core.ledger.action(id).await.expect("it can be read").expect("it is there").state()
    }

    pub async fn key(&self, id: ActionId) -> IdempotencyKey {
        let record = self.core.ledger.action(id).await.expect("it can be read").expect("it is there");
        record.idempotency_key.expect("it has a key")
    }

    /// How many messages under this action's key the server took.
    pub async fn effects(&self, id: ActionId) -> usize {
        let key = self.key(id).await;
        self.sandbox.effects_with_header("X-Countersign-Key", key.as_str()).len()
    }

    /// Copies of this action in the Sent folder.
    pub async fn copies(&self, id: ActionId) -> usize {
        let key = self.key(id).await.to_string();
        let sent = self.sandbox.mailbox(SUPPORT, "Sent");
        sent.iter().filter(|m| String::from_utf8_lossy(&m.bytes).contains(&key)).count()
    }

    /// The customer writes again in the thread of a request.
    pub fn customer_writes_again(&self, request: &str) {
        let message = format!(
            "Date: Mon, 02 Nov 2026 09:20:00 +0000\r\nFrom: Robin Vale <{ROBIN}>\r\nTo: <{SUPPORT}>\r\n\
             Subject: Re: Delivery slot\r\nMessage-ID: <again-{request}@customer.example>\r\n\
             In-Reply-To: <{request}@customer.example>\r\nReferences: <{request}@customer.example>\r\n\r\nAnd one more thing.\r\n"
        );
        self.sandbox.deliver(SUPPORT, message.as_bytes());
    }
}

async fn open(home: &Home, memory: &MemoryStore, clock: &Clock) -> Core {
    let args = OpenArgs {
        secrets: Some(SecretsChoice::Memory(memory.clone())),
        clock: clock.clone(),
        surface: Surface::Window,
        ..OpenArgs::new(home.clone())
    };
    Core::open(args).await.unwrap_or_else(|e| panic!("the home does not open: {e}"))
}

pub fn destination_file(sandbox: &Sandbox, setup: Setup) -> String {
    let imap = if setup.imap { format!("imap = \"imap+plain://{}\"\n", sandbox.imap_addr()) } else { String::new() };
    let oauth = sign_in_lines(setup.sign_in);
    format!(
        "name = \"{MAILBOX}\"\nkind = \"mailbox\"\nenvironment = \"{SANDBOX}\"\nundo_seconds = {}\n[mailbox]\n\
         from = [\"Shop Support <{SUPPORT}>\"]\nsmtp = \"smtp+plain://{}\"\n{imap}username = \"{SUPPORT}\"\n\
         files_sent_itself = {}\nanswer_timeout_seconds = {}\n{oauth}",
        setup.undo_seconds,
        sandbox.smtp_addr(),
        setup.told,
        setup.answer_timeout,
    )
}

/// The lines of a destination's table for a sign-in that is renewed there.
pub fn sign_in_lines(at: Option<SocketAddr>) -> String {
    at.map(|at| format!("auth = \"oauth\"\ntoken_endpoint = \"http://{at}/token\"\nclient_id = \"{CLIENT}\"\n"))
        .unwrap_or_default()
}

/// What the proposal answers. It lies in the mailbox, as an approval makes sure.
pub fn customers_message(request: &str, people: &[&str]) -> String {
    let others: String = people[1..].iter().map(|email| format!(", <{email}>")).collect();
    format!(
        "Date: Mon, 02 Nov 2026 09:00:00 +0000\r\nFrom: Robin Vale <{}>\r\nTo: <{SUPPORT}>{others}\r\n\
         Subject: Delivery slot\r\nMessage-ID: <{request}@customer.example>\r\n\r\nCan I move my slot?\r\n",
        people[0]
    )
}

/// A reply to what Robin asked under this request.
pub fn proposal(request: &str, to: &[&str]) -> Value {
    let parent = format!("<{request}@customer.example>");
    let people: Vec<Value> = to.iter().map(|email| json!({ "name": "Robin Vale", "email": email })).collect();
    json!({
        "event_id": format!("evt-{request}"),
        "request_id": request,
        "conversation": {
            "from": { "name": "Robin Vale", "email": to[0] }, "subject": "Delivery slot",
            "received_at": "2026-11-02T09:00:00Z", "message_id": parent, "references": [],
            "text": "Can I move my slot?", "html": null
        },
        "actions": [{
            "step": "first-reply", "effect": "email.reply", "destination": MAILBOX,
            "payload": {
                "from": { "name": "Shop Support", "email": SUPPORT }, "to": people, "cc": [], "bcc": [], "reply_to": [],
                "subject": "Re: Delivery slot", "text": "Of course: Tuesday suits us.\n", "html": null,
                "in_reply_to": parent, "references": [parent], "attachments": []
            }
        }],
        "draft": { "run_id": "run-88", "model": "any", "reason": "moves the slot" }
    })
}
