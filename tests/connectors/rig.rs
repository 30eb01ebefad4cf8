//! A destination connected to its double, and orders to send.

use std::path::Path;
use std::time::Duration;

use countersign_connectors::{BootTime, Connector, Crossed, LateReader, Learned, Login, connect, parse};
use countersign_domain::countersigned::Candidate;
use countersign_domain::{
    ActionId, ActionKey, Approval, Conversation, Countersigned, DeviceKey, Doubt, LedgerSecret, Outcome, OwnerKey,
    Payload, PersonId, Roster, Sealed, Signable, Timestamp, classify,
};
use countersign_sandbox::{Config, Habits, Sandbox, SmtpFeatures};
use serde_json::{Value, json};

pub type Tried = Result<(), Box<dyn std::error::Error>>;

pub const SUPPORT: &str = "support@shop.example";
pub const ROBIN: &str = "robin@customer.example";
/// The customer's message that orders answer.
pub const PARENT: &str = "<m1@customer.example>";
const PASSWORD: &str = "a \"quoted\" secret";
/// 2026-11-02T09:15:00Z.
pub const NOW: Timestamp = Timestamp::from_millis(1_793_610_900_000);

/// Long enough for any server that answers at all, short enough that a broken test ends.
pub const PATIENT: Duration = Duration::from_secs(30);
/// For servers that were told never to answer.
pub const BRIEF: Duration = Duration::from_millis(600);

/// What the server offers and what its provider does.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    pub chunking: bool,
    pub dsn: bool,
    /// The provider files the Sent copy itself.
    pub files_sent: bool,
    /// `files_sent_itself` in the destination file.
    pub told: &'static str,
    /// Without it nothing can be looked up.
    pub imap: bool,
}

impl Default for Setup {
    fn default() -> Setup {
        Setup { chunking: true, dsn: true, files_sent: false, told: "\"auto\"", imap: true }
    }
}

pub struct Rig {
    pub sandbox: Sandbox,
    pub connector: Box<dyn Connector>,
    pub login: Login,
}

/// One attempt, as dispatch makes it.
pub struct Attempt {
    pub outcome: Outcome,
    /// The answer is overdue and the connection still open.
    pub late: Option<LateReader>,
    /// What was noted before the crossing; empty when it never came so far.
    pub noted: Vec<Value>,
}

impl Rig {
    pub async fn new(setup: Setup) -> Result<Rig, Box<dyn std::error::Error>> {
        let smtp = SmtpFeatures { chunking: setup.chunking, dsn: setup.dsn, ..SmtpFeatures::default() };
        let habits = Habits { files_sent: setup.files_sent, ..Habits::default() };
        let sandbox = Sandbox::start(Config { smtp, habits, ..Config::in_memory(&[(SUPPORT, PASSWORD)]) }).await?;
        let connector = Rig::connector(&sandbox, setup)?;
        Ok(Rig { sandbox, connector, login: Login::new(SUPPORT, PASSWORD) })
    }

    pub fn connector(sandbox: &Sandbox, setup: Setup) -> Result<Box<dyn Connector>, Box<dyn std::error::Error>> {
        let imap =
            if setup.imap { format!("imap = \"imap+plain://{}\"\n", sandbox.imap_addr()) } else { String::new() };
        let file = format!(
            "name = \"support-mailbox\"\nkind = \"mailbox\"\nenvironment = \"sandbox\"\n[mailbox]\n\
             from = [\"Shop Support <{SUPPORT}>\"]\nsmtp = \"smtp+plain://{}\"\n{imap}username = \"{SUPPORT}\"\n\
             files_sent_itself = {}\n",
            sandbox.smtp_addr(),
            setup.told
        );
        let config = parse(&file).map_err(|error| format!("{}: {}", error.field, error.reason))?;
        let learned = Learned::default();
        connect(&config, Path::new("."), &learned).map_err(|error| format!("{}: {}", error.field, error.reason).into())
    }

    /// A reply to Robin that a person has countersigned. Each step is an action of its own.
    pub fn order(&self, step: &str) -> Countersigned {
        self.order_with(step, &[ROBIN], "Of course: Tuesday suits us.\n.hidden dot\n")
    }

    pub fn order_with(&self, step: &str, to: &[&str], text: &str) -> Countersigned {
        let people: Vec<Value> = to.iter().map(|email| json!({ "name": "Robin Vale", "email": email })).collect();
        let payload = json!({
            "from": { "name": "Shop Support", "email": SUPPORT }, "to": people, "cc": [], "bcc": [], "reply_to": [],
            "subject": "Re: Delivery slot", "text": text, "html": null,
            "in_reply_to": PARENT, "references": [PARENT], "attachments": []
        });
        self.order_of("email.reply", step, payload, Some(conversation()))
    }

    pub fn order_of(&self, effect: &str, step: &str, payload: Value, about: Option<Conversation>) -> Countersigned {
        order_for(&*self.connector, effect, step, payload, about)
    }

    /// Approach, crossing, judgement.
    pub async fn attempt(&self, order: &Countersigned, limit: Duration) -> Attempt {
        attempt_on(&*self.connector, &self.login, order, limit).await
    }

    /// What the crossing's end means.
    pub async fn judge(&self, order: &Countersigned, crossed: Crossed) -> (Outcome, Option<LateReader>) {
        judge(&*self.connector, &self.login, order, crossed).await
    }

    /// Effects of this order at the double.
    pub fn effects(&self, order: &Countersigned) -> usize {
        self.sandbox.effects_with_header("X-Countersign-Key", order.idempotency_key().as_str()).len()
    }
}

/// An order on a destination that a person has countersigned.
pub fn order_for(
    connector: &dyn Connector,
    effect: &str,
    step: &str,
    payload: Value,
    about: Option<Conversation>,
) -> Countersigned {
    let key = ActionKey {
        environment: "sandbox".into(),
        destination: "support-mailbox".into(),
        effect: effect.into(),
        source: "inbox-agent".into(),
        request_id: "inquiry-4417".into(),
        step: step.into(),
        revision: ActionKey::FIRST_REVISION,
    };
    let secret = LedgerSecret([7; 32]);
    let payload = Payload::parse(effect, payload, &[]).expect("the payload is good");
    let sealed = Sealed::seal(key.clone(), 1, payload);
    let idempotency_key = key.idempotency_key(&secret);
    let wire = connector.render(&sealed, &idempotency_key, about.as_ref(), NOW).expect("it can be rendered");
    let device = DeviceKey::from_seed(&[1; 32]);
    let owner = OwnerKey::from_seed(&[2; 32]);
    let noor = PersonId("noor".into());
    let admitted = owner.admit(&noor, &device.public()).expect("the device's key is a key");
    let roster = Roster::new(&owner.public(), &[admitted]);
    let signable = Signable {
        key,
        payload_version: 1,
        payload_hash: sealed.hash(),
        wire_hash: wire.hash(),
        account: connector.account(),
        conversation: about.as_ref().map(Conversation::hash),
    };
    let expires = NOW.plus(Duration::from_secs(86_400));
    let approval = Approval::sign(&signable, sealed.hash(), &noor, &device, 1, NOW, expires).expect("it is current");
    let candidate = Candidate {
        action: ActionId(1),
        sealed,
        wire,
        account: connector.account(),
        conversation: about,
        approvals: vec![approval],
        newest_sequence: 1,
        approvers_needed: 1,
    };
    Countersigned::verify(candidate, &roster, &secret, NOW, true).expect("it was countersigned")
}

/// Approach, crossing, judgement.
pub async fn attempt_on(connector: &dyn Connector, login: &Login, order: &Countersigned, limit: Duration) -> Attempt {
    let contract = connector.contract_of(order).expect("this destination has the effect");
    let poised = match connector.approach(order, login, NOW).await {
        Err(halted) => {
            return Attempt { outcome: classify(contract, &halted.answer), late: None, noted: Vec::new() };
        }
        Ok(poised) => poised,
    };
    let noted = vec![poised.noted()];
    let (outcome, late) = judge(connector, login, order, poised.cross(BootTime::now(), limit).await).await;
    Attempt { outcome, late, noted }
}

/// What the crossing's end means.
pub async fn judge(
    connector: &dyn Connector,
    login: &Login,
    order: &Countersigned,
    crossed: Crossed,
) -> (Outcome, Option<LateReader>) {
    let contract = connector.contract_of(order).expect("this destination has the effect");
    match crossed {
        Crossed::Answered(reply) => {
            (classify(contract, &connector.confirm(order, connector.read(&reply), login).await), None)
        }
        Crossed::Pending(late) => (Outcome::Unclear(late.doubt()), Some(late)),
        Crossed::Broken(doubt) => (Outcome::Unclear(doubt), None),
        Crossed::Unsent(answer) => (classify(contract, &answer), None),
    }
}

/// What the source told of the customer's message.
pub fn conversation() -> Conversation {
    let told = json!({
        "from": { "name": "Robin Vale", "email": ROBIN }, "subject": "Delivery slot",
        "received_at": "2026-11-02T08:00:00Z", "message_id": PARENT, "references": [],
        "text": "Can I move my slot?\n", "html": null
    });
    Conversation::parse(told).expect("a good conversation")
}

/// The same as it lies in the mailbox.
pub const PARENT_BYTES: &str = "Return-Path: <robin@customer.example>\r\nDate: Mon, 02 Nov 2026 08:00:00 +0000\r\n\
    From: Robin Vale <robin@customer.example>\r\nTo: Shop Support <support@shop.example>\r\nSubject: Delivery slot\r\n\
    Message-ID: <m1@customer.example>\r\nMIME-Version: 1.0\r\nContent-Type: text/plain; charset=us-ascii\r\n\r\n\
    Can I move my slot?\r\n";

/// A message of the same conversation by somebody.
pub fn message_in_thread(from: &str, to: &str, message_id: &str) -> String {
    format!(
        "Date: Mon, 02 Nov 2026 09:00:00 +0000\r\nFrom: Somebody <{from}>\r\nTo: {to}\r\nSubject: Re: Delivery slot\r\n\
         Message-ID: {message_id}\r\nIn-Reply-To: {PARENT}\r\nReferences: {PARENT}\r\nMIME-Version: 1.0\r\n\
         Content-Type: text/plain; charset=us-ascii\r\n\r\nOne more thing.\r\n"
    )
}

/// The doubt of an outcome that must be unclear.
pub fn doubt(outcome: &Outcome) -> &Doubt {
    match outcome {
        Outcome::Unclear(doubt) => doubt,
        other => panic!("should be unclear: {other:?}"),
    }
}
