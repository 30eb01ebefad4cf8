//! A ledger with a person, a device, a destination and a source, and the moves of the protocol in one call each.

use countersign_domain::*;
use countersign_ledger::*;
use serde_json::{Value, json};
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, AssertSqlSafe, Connection};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};

pub const HOUR: i64 = 3_600_000;
const START: i64 = 1_790_000_000_000;

pub struct Stage {
    pub ledger: Ledger,
    /// For looking and meddling past the ledger.
    pub url: String,
    pub file: Option<PathBuf>,
    _dir: Option<tempfile::TempDir>,
    pub secret: LedgerSecret,
    pub roster: Roster,
    pub source: SourceRecord,
    clock: AtomicI64,
}

pub fn noor() -> PersonId {
    PersonId::from("Noor")
}
pub fn sam() -> PersonId {
    PersonId::from("Sam")
}
pub fn device_of(person: &PersonId) -> DeviceKey {
    DeviceKey::from_seed(&[if *person == noor() { 1 } else { 2 }; 32])
}
/// A second device of Noor's.
pub fn noors_phone() -> DeviceKey {
    DeviceKey::from_seed(&[9; 32])
}
pub fn account(n: u8) -> AccountFingerprint {
    AccountFingerprint([n; 32])
}
pub fn worker(name: &str) -> WorkerId {
    WorkerId::from(name)
}

pub fn destination(name: &str, n: u8) -> DestinationRecord {
    DestinationRecord {
        name: name.to_owned(),
        kind: "mailbox".to_owned(),
        environment: "live".to_owned(),
        account: account(n),
        account_label: format!("{name}@shop.example"),
        config: json!({ "name": name }),
        undo_seconds: 10,
        created_at: Timestamp::from_millis(START),
        removed_at: None,
        paused: None,
    }
}

pub fn source(name: &str) -> SourceRecord {
    SourceRecord {
        name: name.to_owned(),
        environment: "live".to_owned(),
        effects: vec!["email.reply".to_owned(), "email.send".to_owned(), "crm.note".to_owned()],
        destinations: vec!["support".to_owned(), "crm".to_owned()],
        token_hash: format!("{:0<64}", hex_of(name)),
        signed: false,
        created_at: Timestamp::from_millis(START),
        revoked_at: None,
    }
}

fn hex_of(text: &str) -> String {
    text.bytes().map(|b| format!("{b:02x}")).collect()
}

pub fn email(to: &str, text: &str) -> Value {
    json!({
        "from": { "email": "support@shop.example" }, "to": [{ "name": "Robin Vale", "email": to }],
        "subject": "Re: Delivery slot", "text": text, "in_reply_to": "<m1@customer.example>",
    })
}

pub fn with_attachment(to: &str, text: &str, base64: &str) -> Value {
    let mut payload = email(to, text);
    payload["attachments"] = json!([{ "filename": "slots.pdf", "content_type": "application/pdf", "base64": base64 }]);
    payload
}

/// A proposal with one reply.
pub fn proposal(event: &str, request: &str, text: &str) -> Value {
    json!({
        "event_id": event, "request_id": request,
        "conversation": { "from": { "name": "Robin Vale", "email": "robin@customer.example" },
            "subject": "Delivery slot", "message_id": "<m1@customer.example>", "text": "Can I move my slot?" },
        "actions": [{ "step": "reply", "effect": "email.reply", "destination": "support",
            "payload": email("robin@customer.example", text) }],
    })
}

/// A reply, and a note that goes after it.
pub fn bundle(event: &str, request: &str) -> Value {
    let mut p = proposal(event, request, "Of course.");
    let note = json!({ "step": "note", "after": "reply", "effect": "crm.note", "destination": "crm",
        "payload": { "record": { "type": "contact", "match": { "email": "robin@customer.example" } }, "text": "Moved" } });
    p["actions"].as_array_mut().expect("a list").push(note);
    p
}

/// A note that waits for nothing.
pub fn crm_only(event: &str, request: &str) -> Value {
    let mut p = bundle(event, request);
    let actions = p["actions"].as_array_mut().expect("a list");
    actions.remove(0);
    actions[0].as_object_mut().expect("an action").remove("after");
    p
}

pub fn parse(document: &Value) -> Proposal {
    Proposal::parse(document.to_string().as_bytes()).expect("a proposal of the right form")
}

pub fn receipt(text: &str) -> Receipt {
    contract::answer_receipt(Some("queue-1".to_owned()), text)
}
pub fn accepted() -> Outcome {
    Outcome::Accepted(receipt("250 queued"))
}
pub fn unclear() -> Outcome {
    Outcome::Unclear(Doubt { code: "net:timeout".to_owned(), words: String::new() })
}
pub fn refused() -> Outcome {
    Outcome::Refused(Refusal { code: "smtp:final_dot:550".to_owned(), words: "no".to_owned() })
}
pub fn not_sent(counts: bool) -> Outcome {
    Outcome::NotSent(NotSent {
        code: "smtp:rcpt:450".to_owned(),
        words: "later".to_owned(),
        counts,
        pauses: false,
        retry_after: None,
    })
}

pub fn conflict<T: std::fmt::Debug>(result: Result<T, LedgerError>) -> Conflict {
    match result {
        Err(LedgerError::Conflict(c)) => c,
        other => panic!("a conflict was expected, not {other:?}"),
    }
}

pub fn illegal<T: std::fmt::Debug>(result: Result<T, LedgerError>) {
    match conflict(result) {
        Conflict::Illegal(_) => {}
        other => panic!("an impossible transition was expected, not {other:?}"),
    }
}

/// The server for the PostgreSQL half, if there is one.
pub fn postgres_url() -> Option<String> {
    std::env::var("COUNTERSIGN_TEST_PG").ok().filter(|url| !url.is_empty())
}

impl Stage {
    pub async fn sqlite() -> Stage {
        let dir = tempfile::Builder::new().prefix("cs-ledger-").tempdir().expect("a scratch folder");
        let file = dir.path().join("ledger.db");
        let now = Timestamp::from_millis(START);
        let ledger = Ledger::create(&file, "ledger-under-test", now).await.expect("a new ledger");
        let url = format!("sqlite://{}?mode=rw", file.display());
        Stage::furnish(ledger, url, Some(file), Some(dir)).await
    }

    /// The same on PostgreSQL, in a schema of its own. None, and said so, where there is no server.
    pub async fn postgres() -> Option<Stage> {
        let Some(server) = postgres_url() else {
            eprintln!("not run on PostgreSQL: COUNTERSIGN_TEST_PG is not set");
            return None;
        };
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let schema = format!("t{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        sqlx::any::install_default_drivers();
        let mut conn = AnyConnection::connect(&server).await.expect("the server of COUNTERSIGN_TEST_PG");
        sqlx::raw_sql(AssertSqlSafe(format!("CREATE SCHEMA {schema}"))).execute(&mut conn).await.expect("a schema");
        let joint = if server.contains('?') { '&' } else { '?' };
        let url = format!("{server}{joint}options=-c%20search_path%3D{schema}");
        let ledger = Ledger::open_postgres(&url, "ledger-under-test", Timestamp::from_millis(START))
            .await
            .expect("a new ledger on PostgreSQL");
        Some(Stage::furnish(ledger, url, None, None).await)
    }

    async fn furnish(ledger: Ledger, url: String, file: Option<PathBuf>, dir: Option<tempfile::TempDir>) -> Stage {
        let now = Timestamp::from_millis(START);
        let owner = OwnerKey::from_seed(&[7; 32]);
        for (person, device) in [(noor(), device_of(&noor())), (sam(), device_of(&sam())), (noor(), noors_phone())] {
            let cert = owner.admit(&person, &device.public()).expect("a key");
            ledger.put_person(&person, &cert, now).await.expect("a person");
        }
        for (name, n) in [("support", 1), ("crm", 2)] {
            ledger.add_destination(&destination(name, n), &noor(), now).await.expect("a destination");
        }
        ledger.add_source(&source("shopbot"), &noor(), now).await.expect("a source");
        ledger.set_setting("sending/live", "on", "Noor", now).await.expect("a setting");
        let certs = ledger.device_certs().await.expect("certificates");
        Stage {
            ledger,
            url,
            file,
            _dir: dir,
            secret: LedgerSecret([5; 32]),
            roster: Roster::new(&owner.public(), &certs),
            source: source("shopbot"),
            clock: AtomicI64::new(START),
        }
    }

    pub fn path(&self) -> &Path {
        self.file.as_deref().expect("a ledger in a file")
    }
    pub fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.clock.load(Ordering::Relaxed))
    }
    pub fn pass(&self, millis: i64) {
        self.clock.fetch_add(millis, Ordering::Relaxed);
    }

    // ---- moves

    pub async fn receive(&self, document: &Value) -> Received {
        self.receive_from(document, &self.source).await
    }
    pub async fn receive_from(&self, document: &Value, source: &SourceRecord) -> Received {
        self.ledger
            .receive(&parse(document), source, &self.secret, &noor(), self.now())
            .await
            .expect("a delivery is recorded")
    }
    /// A prepared reply to a request of its own.
    pub async fn prepared(&self, request: &str) -> ActionId {
        self.receive(&proposal(&format!("evt-{request}"), request, "Of course.")).await.actions[0]
            .action
            .expect("an action")
    }
    pub async fn approved(&self, request: &str) -> ActionId {
        let id = self.prepared(request).await;
        self.approve(id).await.expect("approved");
        id
    }
    pub async fn sign(&self, id: ActionId, by: &PersonId, device: &DeviceKey) -> (Approval, Wire) {
        let s = self.ledger.signable(id, &self.secret).await.expect("signable");
        let wire = s.stored_wire.clone().unwrap_or_else(|| self.render(&s));
        let what = Signable {
            key: s.sealed.key().clone(),
            payload_version: s.sealed.version(),
            payload_hash: s.sealed.hash(),
            wire_hash: wire.hash(),
            account: s.destination.account,
            conversation: s.detail.conversation.as_ref().map(Conversation::hash),
        };
        let now = self.now();
        let until = Timestamp::from_millis(now.millis() + 72 * HOUR);
        let approval =
            Approval::sign(&what, s.sealed.hash(), by, device, s.sequence, now, until).expect("the current hash");
        (approval, wire)
    }
    /// Stands in for a provider: differs with the time, as a Date header does.
    fn render(&self, s: &Signing) -> Wire {
        Wire::new(format!("{} {} {}", s.idempotency_key, s.sealed.hash(), self.now()).into_bytes())
    }
    pub async fn approve(&self, id: ActionId) -> Result<Standing, LedgerError> {
        let (approval, wire) = self.sign(id, &noor(), &device_of(&noor())).await;
        self.ledger.approve(id, &approval, &wire, 1, self.now(), true, self.now()).await
    }
    pub async fn claim_as(&self, name: &str, only: Option<ActionId>) -> Result<Claimed, LedgerError> {
        let reach = ["support".to_owned(), "crm".to_owned()];
        self.ledger.claim(&self.request(&worker(name), &reach, only)).await
    }
    pub fn request<'a>(
        &'a self,
        worker: &'a WorkerId,
        reach: &'a [String],
        only: Option<ActionId>,
    ) -> ClaimRequest<'a> {
        static NONE_NEEDED: std::sync::LazyLock<HashMap<String, u8>> = std::sync::LazyLock::new(HashMap::new);
        static NO_ACCOUNTS: std::sync::LazyLock<HashMap<String, AccountFingerprint>> =
            std::sync::LazyLock::new(HashMap::new);
        ClaimRequest {
            worker,
            reach,
            roster: &self.roster,
            secret: &self.secret,
            approvers_needed: &NONE_NEEDED,
            accounts: &NO_ACCOUNTS,
            only,
            skip: &[],
            now: self.now(),
        }
    }
    pub async fn claim(&self, id: ActionId) -> Claim {
        match self.claim_as("w1", Some(id)).await {
            Ok(Claimed::Claimed(claim)) => *claim,
            other => panic!("a claim was expected, not {other:?}"),
        }
    }
    pub async fn nothing_to_claim(&self) -> bool {
        matches!(self.claim_as("w1", None).await, Ok(Claimed::None))
    }
    pub async fn cross(&self, claim: &Claim) -> Standing {
        self.ledger.record_crossing(claim, &json!({ "uidnext": 7 }), self.now()).await.expect("the crossing")
    }
    pub async fn close(&self, claim: &Claim, outcome: &Outcome) -> Standing {
        let evidence = json!({ "stage": "final_dot" });
        self.ledger.close_attempt(claim, outcome, &evidence, self.now(), self.now()).await.expect("the end")
    }
    /// Claimed, crossed and closed.
    pub async fn attempt(&self, id: ActionId, outcome: &Outcome) -> Standing {
        let claim = self.claim(id).await;
        self.cross(&claim).await;
        self.close(&claim, outcome).await
    }
    pub async fn unknown(&self, request: &str) -> ActionId {
        let id = self.approved(request).await;
        assert_eq!(self.attempt(id, &unclear()).await.state, State::Unknown);
        id
    }
    pub async fn state(&self, id: ActionId) -> State {
        self.ledger.action(id).await.expect("readable").expect("there").state()
    }
    /// What one look at the newest crossing showed.
    pub async fn look(
        &self,
        id: ActionId,
        seen: &Sighting,
        conclusive: bool,
        next: Option<Timestamp>,
    ) -> Result<Standing, LedgerError> {
        let crossed = self.ledger.action(id).await?.expect("there").last_crossed.expect("a crossing");
        self.ledger.record_sighting(id, seen, conclusive, crossed, next, self.now()).await
    }
    pub async fn verdict(&self, id: ActionId, verdict: Verdict) -> Result<Standing, LedgerError> {
        let record = self.ledger.action(id).await?.expect("there");
        let key = record.key.expect("a key");
        let word = approval::SignedVerdict::sign(&key, verdict, "I looked", &noor(), &device_of(&noor()), self.now());
        self.ledger.settle(id, &word, record.last_crossed, self.now()).await
    }
    pub async fn broken(&self) -> Vec<Broken> {
        self.ledger.verify(&self.roster, Some(&self.secret), &mut |_, _| {}).await.expect("verify runs")
    }
    /// The ledger proves itself: also used at the end of every phase test.
    pub async fn holds(&self) {
        assert_eq!(self.broken().await, Vec::new());
    }

    // ---- past the ledger

    pub async fn raw(&self, sql: &str) -> u64 {
        self.try_raw(sql).await.unwrap_or_else(|e| panic!("{sql}: {e}"))
    }
    pub async fn try_raw(&self, sql: &str) -> Result<u64, sqlx::Error> {
        let mut conn = AnyConnection::connect(&self.url).await?;
        let done = sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(&mut conn).await?;
        conn.close().await?;
        Ok(done.rows_affected())
    }
    pub async fn rows(&self, sql: &str) -> Vec<AnyRow> {
        let mut conn = AnyConnection::connect(&self.url).await.expect("connects");
        sqlx::query(AssertSqlSafe(sql.to_owned())).fetch_all(&mut conn).await.unwrap_or_else(|e| panic!("{sql}: {e}"))
    }
    pub async fn number(&self, sql: &str) -> i64 {
        sqlx::Row::try_get(&self.rows(sql).await[0], 0).expect("a number")
    }
}

/// Runs a story on SQLite, and on PostgreSQL where there is a server.
macro_rules! on_both {
    ($(#[$doc:meta])* $name:ident, $story:expr) => {
        $(#[$doc])*
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() {
            let story = $story;
            story(crate::stage::Stage::sqlite().await).await;
            if let Some(stage) = crate::stage::Stage::postgres().await {
                story(stage).await;
            }
        }
    };
}
pub(crate) use on_both;
