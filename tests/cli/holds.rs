//! What holds an approval back, and who may say that it was looked at.

use crate::parents::{Stage, with_code};
use crate::shared::{START, World, at, email, text};
use countersign_domain::{ActionId, PersonId, Timestamp, Verdict};
use countersign_engine::sandbox_home::{self, Fault};
use countersign_engine::view::DestinationForm;
use countersign_engine::{
    Clock, Code, Core, Desk, Dispatcher, Home, InitArgs, Intake, LIVE, LoginSecret, MemoryStore, OpenArgs, Passphrase,
    SecretsChoice,
};
use countersign_sandbox::{Config, Sandbox, Times};
use serde_json::{Value, json};
use std::io::ErrorKind;
use std::net::TcpListener;
use std::time::Duration;
use testkit::Scratch;

const ROBIN: &str = "robin@customer.example";
const ADDRESS: &str = "support@shop.example";
const PASSWORD: &str = "its password";
const MINUTE: Duration = Duration::from_secs(60);

/// A home with a passphrase and a mailbox in live that nobody speaks to; its desk is unlocked.
async fn live(scratch: &Scratch) -> (Desk, Intake, Passphrase) {
    live_at(scratch, "127.0.0.1:2525").await
}

pub(crate) async fn live_at(scratch: &Scratch, smtp: &str) -> (Desk, Intake, Passphrase) {
    let passphrase = Passphrase::new("correct horse battery").expect("long enough");
    let home = Home::at(scratch.join("home"));
    let secrets = SecretsChoice::Memory(MemoryStore::default());
    let clock = Clock::manual(Timestamp::from_millis(START * 1000));
    let args = InitArgs {
        owner: "Noor".into(),
        sandbox: false,
        secrets: secrets.clone(),
        passphrase: Some(passphrase.clone()),
    };
    home.init(args, &clock).await.expect("a home");
    let mut open = OpenArgs::new(home);
    open.secrets = Some(secrets);
    open.clock = clock;
    let core = Core::open(open).await.expect("it opens");
    let desk = Desk::new(core.clone());
    desk.unlock(Some(&passphrase)).await.expect("the right one");
    let file = format!(
        "name = \"live-mailbox\"\nkind = \"mailbox\"\nenvironment = \"live\"\n[mailbox]\nfrom = [\"{ADDRESS}\"]\n\
         smtp = \"smtp+plain://{smtp}\"\nusername = \"{ADDRESS}\"\n"
    );
    desk.add_destination(&file, &scratch.join(""), &LoginSecret::new(PASSWORD)).await.expect("added");
    desk.add_source("bot", LIVE, &["email.send".into()], &["live-mailbox".into()], false).await.expect("allowed");
    let intake = Intake::open(&core).await.expect("an intake");
    (desk, intake, passphrase)
}

pub(crate) async fn propose(intake: &Intake, source: &str, document: &Value) -> ActionId {
    let source = intake.by_name(source).await.expect("it is known");
    let answer = intake.propose(&source, document.to_string().as_bytes()).await.expect("well formed");
    answer.actions[0].id.as_deref().expect("an action").parse().expect("a number")
}

pub(crate) fn to_live(request: &str) -> Value {
    let mut document = email(&format!("evt-{request}"), request, ROBIN);
    document["actions"][0]["destination"] = json!("live-mailbox");
    document
}

#[tokio::test(flavor = "multi_thread")]
async fn r12_while_it_is_locked_nothing_that_was_typed_leaves_and_no_copy_is_written() {
    let scratch = Scratch::new("");
    let (desk, _, passphrase) = live(&scratch).await;
    let anywhere = TcpListener::bind("127.0.0.1:0").expect("a port");
    anywhere.set_nonblocking(true).expect("it can be looked at");
    let endpoint = format!("http://{}/token", anywhere.local_addr().expect("an address"));
    let values = [
        ("from", "other@shop.example"),
        ("smtp", "127.0.0.1:9"),
        ("username", "other@shop.example"),
        ("auth", "oauth"),
        ("token_endpoint", endpoint.as_str()),
        ("client_id", "what is to be carried out"),
    ];
    let form = DestinationForm {
        name: "other".into(),
        kind: "mailbox".into(),
        environment: LIVE.into(),
        undo_seconds: 10,
        values: values.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect(),
        secret: "any".into(),
    };
    let copy = scratch.join("copy.db");
    desk.lock();
    assert_eq!(desk.probe(&form, &|_| {}).await.expect_err("nobody is there").code, Code::Locked);
    assert_eq!(anywhere.accept().expect_err("nobody calls").kind(), ErrorKind::WouldBlock);
    assert_eq!(desk.back_up(&copy.display().to_string()).await.expect_err("nobody is there").code, Code::Locked);
    assert!(!copy.exists());
    desk.unlock(Some(&passphrase)).await.expect("the right one");
    desk.back_up(&copy.display().to_string()).await.expect("somebody is there");
    assert!(copy.exists());
    // The host that was typed is asked now; it hangs up.
    let (_, steps) = tokio::join!(
        async {
            while anywhere.accept().is_err() {
                tokio::task::yield_now().await;
            }
        },
        desk.probe(&form, &|_| {})
    );
    assert!(steps.expect("it is tried").iter().any(|step| step.step == "sign_in" && step.state == "stopped"));
}

#[tokio::test(flavor = "multi_thread")]
async fn r12_in_live_no_check_is_cleared_without_the_person() {
    let scratch = Scratch::new("");
    let (desk, intake, passphrase) = live(&scratch).await;
    let first = propose(&intake, "bot", &to_live("r-1")).await;
    let hash = desk.action(first).await.expect("a document").payload_hash;
    desk.approve(first, &hash, &[]).await.expect("approved");
    let second = propose(&intake, "bot", &to_live("r-2")).await;
    let hash = desk.action(second).await.expect("a document").payload_hash;
    let looked = [("split_reply".to_owned(), first.to_string())];

    desk.lock();
    let refused = desk.approve(second, &hash, &looked).await.expect_err("nobody is there");
    assert_eq!(refused.code, Code::Locked);
    let refused = desk.clear_finding(second, "split_reply", &looked[0].1).await.expect_err("nobody is there");
    assert_eq!(refused.code, Code::Locked);
    let doc = desk.action(second).await.expect("a document");
    let held = with_code(&doc, "split_reply");
    assert!(held.len() == 1 && held[0].holds && held[0].cleared.is_none(), "{held:?}");
    assert!(doc.journal.iter().all(|row| row.fact != "finding_cleared"), "nothing was written");

    desk.unlock(Some(&passphrase)).await.expect("the right one");
    let doc = desk.clear_finding(second, "split_reply", &looked[0].1).await.expect("Noor is there");
    assert!(with_code(&doc, "split_reply")[0].cleared.is_some());
    assert_eq!(desk.approve(second, &hash, &[]).await.expect("nothing is left").state, "approved");
}

#[tokio::test(flavor = "multi_thread")]
async fn r12_in_live_nothing_is_let_go_sooner_or_again_without_the_person() {
    let scratch = Scratch::new("");
    let (desk, intake, _) = live(&scratch).await;
    let mut document = to_live("r-1");
    let mut second = document["actions"][0].clone();
    (second["step"], second["after"]) = (json!("afterwards"), document["actions"][0]["step"].clone());
    document["actions"].as_array_mut().expect("a list").push(second);
    let source = intake.by_name("bot").await.expect("it is known");
    let answer = intake.propose(&source, document.to_string().as_bytes()).await.expect("well formed");
    let ids: Vec<ActionId> =
        answer.actions.iter().map(|a| a.id.as_deref().expect("an action").parse().expect("a number")).collect();
    for id in &ids {
        let doc = desk.action(*id).await.expect("a document");
        let looked: Vec<_> =
            doc.findings.iter().filter(|f| f.holds).map(|f| (f.code.clone(), f.field.clone())).collect();
        desk.approve(*id, &doc.payload_hash, &looked).await.expect("approved");
    }
    let dispatcher = Dispatcher::start(desk.core().clone()).await.expect("nobody else dispatches");
    desk.lock();
    let head = desk.core().ledger.head().await.expect("a head").seq;
    let refused = [
        desk.send_now(ids[0]).await.expect_err("nobody is there"),
        desk.release(ids[1]).await.expect_err("nobody is there"),
        desk.finish(&dispatcher, ids[0]).await.expect_err("nobody is there"),
    ];
    assert_eq!(refused.map(|failure| failure.code), [Code::Locked; 3]);
    assert_eq!(desk.core().ledger.head().await.expect("a head").seq, head, "nothing was written");
}

#[tokio::test(flavor = "multi_thread")]
async fn r12_where_two_people_are_needed_one_approval_leaves_it_prepared() {
    let scratch = Scratch::new("");
    let (desk, intake, _) = live(&scratch).await;
    let settings = &desk.core().settings;
    let presence = desk.presence().expect("unlocked");
    let noor = PersonId("Noor".into());
    settings.set_approvers_needed(LIVE, 2, &noor, &presence, desk.core().clock.now()).await.expect("set");
    let id = propose(&intake, "bot", &to_live("r-1")).await;
    let hash = desk.action(id).await.expect("a document").payload_hash;
    let doc = desk.approve(id, &hash, &[]).await.expect("the first of two");
    let counting = doc.approvals.iter().filter(|a| a.counts).count();
    assert_eq!((doc.state.as_str(), counting), ("prepared", 1));
    let again = desk.approve(id, &hash, &[]).await.expect_err("the same person is one person");
    assert_eq!(again.code, Code::Conflict);
    let doc = desk.action(id).await.expect("a document");
    assert_eq!((doc.state.as_str(), doc.approvals.len()), ("prepared", 1));
}

/// What Robin wrote, as it lies in the mailbox.
fn letter(words: &str) -> String {
    format!(
        "Date: Mon, 02 Nov 2026 09:00:00 +0000\r\nFrom: Robin Vale <{ROBIN}>\r\nTo: <{ADDRESS}>\r\n\
         Subject: Delivery slot\r\nMessage-ID: <m1@customer.example>\r\n\r\n{words}\r\n"
    )
}

#[test]
fn r17_the_command_line_asks_for_the_customers_message_before_it_approves() {
    let world = World::bare();
    world.cli.ok(&["init", "--owner", "Noor", "--sandbox"]);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let sandbox = runtime.block_on(Sandbox::start(Config::in_memory(&[(ADDRESS, PASSWORD)]))).expect("it starts");
    let file = world.scratch.write(
        "near.toml",
        format!(
            "name = \"near-mailbox\"\nkind = \"mailbox\"\nenvironment = \"sandbox\"\n[mailbox]\nfrom = [\"{ADDRESS}\"]\n\
             smtp = \"smtp+plain://{}\"\nimap = \"imap+plain://{}\"\nusername = \"{ADDRESS}\"\n",
            sandbox.smtp_addr(),
            sandbox.imap_addr()
        ),
    );
    world.cli.run_secret(&["destination", "add", file.to_str().unwrap()], "--secret-fd", PASSWORD).expect(0);
    world.source("bot", "near-mailbox");
    let mut document = email("evt-1", "r-1", ROBIN);
    document["conversation"] = json!({
        "from": { "name": "Robin Vale", "email": ROBIN }, "subject": "Delivery slot",
        "received_at": "2026-11-02T09:00:00Z", "message_id": "<m1@customer.example>", "references": [],
        "text": "Can I move my slot?", "html": null
    });
    document["actions"][0]["effect"] = json!("email.reply");
    document["actions"][0]["destination"] = json!("near-mailbox");
    document["actions"][0]["payload"]["in_reply_to"] = json!("<m1@customer.example>");
    let action = world.created(&document);

    let held = |check: &str| {
        let refused = world.approve(&action, &at(0)).expect(4).error();
        assert_eq!((text(&refused["code"]), text(&refused["field"])), ("not_permitted", check));
        let doc = world.show(&action["id"]);
        let code = check.split(':').next().unwrap();
        let found = doc["findings"].as_array().unwrap().iter().find(|f| f["code"] == code);
        assert!(found.is_some_and(|f| f["holds"] == true && f["cleared"].is_null()), "{doc:#}");
        assert_eq!((text(&doc["state"]), &doc["approvals"]), ("prepared", &json!([])));
    };
    held("parent_missing:in_reply_to");
    sandbox.deliver(ADDRESS, letter("Where is my parcel?").as_bytes());
    held("parent_differs:in_reply_to");
    let (id, hash) = (text(&action["id"]), text(&action["payload_hash"]));
    let looked = ["approve", id, "--payload-hash", hash, "--checked", "parent_differs:in_reply_to"];
    assert_eq!(world.cli.ok(&looked)["state"], "approved");

    document["event_id"] = json!("evt-2");
    document["request_id"] = json!("r-2");
    document["conversation"]["message_id"] = json!("<m2@customer.example>");
    document["actions"][0]["payload"]["in_reply_to"] = json!("<m2@customer.example>");
    document["actions"][0]["payload"]["to"] = json!([{ "email": "kim@customer.example" }]);
    document["conversation"]["from"] = json!({ "email": "kim@customer.example" });
    let honest = letter("Can I move my slot?").replace("<m1@", "<m2@").replace(ROBIN, "kim@customer.example");
    sandbox.deliver(ADDRESS, honest.as_bytes());
    let action = world.created(&document);
    assert_eq!(world.approve(&action, &at(0)).expect(0).json()["conversation"]["checked"], "matches");
}

impl Stage {
    async fn approve_shown(&self, id: ActionId) -> String {
        let hash = self.desk.action(id).await.expect("a document").payload_hash;
        self.desk.approve(id, &hash, &[]).await.unwrap_or_else(|e| panic!("not approved: {e}")).state
    }

    async fn listed(&self, view: &str) -> Vec<String> {
        let page = self.desk.list(view.parse().expect("a view"), None, None, 50).await.expect("a page");
        page.actions.into_iter().map(|row| row.id).collect()
    }

    async fn to_review(&self) -> u32 {
        self.desk.overview().await.expect("it reads").counts.needs_review
    }

    /// The story's reply about chairs, which then meets this until it has ended.
    async fn chairs_after(&self, dispatcher: &Dispatcher, fault: Fault) -> ActionId {
        sandbox_home::tell_story(self.desk.core(), &self.intake, &self.embedded).await.expect("three proposals");
        let id = self.of_request("sandbox-chairs").await.id.parse().expect("a number");
        self.approve_shown(id).await;
        let servers = self.embedded.servers().expect("they run here");
        servers.set_fault(fault, Times::Always);
        for _ in 0..4 {
            self.desk.core().clock.advance(11 * MINUTE);
            dispatcher.tick().await;
        }
        servers.clear_faults();
        id
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r17_a_reply_sent_meanwhile_holds_approving_again_what_gave_up() {
    let stage = Stage::set().await;
    let dispatcher = Dispatcher::start(stage.desk.core().clone()).await.expect("nobody else dispatches");
    let id = stage.chairs_after(&dispatcher, Fault::refused_at_end(451)).await;
    let doc = stage.desk.action(id).await.expect("a document");
    assert_eq!(doc.state, "gave_up");
    let again = doc.offers.iter().find(|o| o.what == "approve").expect("it is offered");
    assert!(again.offered, "{again:?}");
    assert!(stage.listed("needs_review").await.contains(&doc.id), "somebody has to decide");
    assert!(stage.listed("history").await.contains(&doc.id));
    assert_eq!(stage.to_review().await, 1);

    let told = sandbox_home::story::conversations(START);
    let chairs = told.iter().find(|c| c.proposal["request_id"] == "sandbox-chairs").expect("it is told");
    let mut other = chairs.proposal.clone();
    other["event_id"] = json!("evt-other");
    other["request_id"] = json!("another-request");
    let second = stage.propose(&other).await;
    assert_eq!(stage.approve_shown(second).await, "approved", "what gave up is no reply");

    let held = stage.desk.approve(id, &doc.payload_hash, &[]).await.expect_err("a second reply to the thread");
    let check = format!("split_reply:{second}");
    assert_eq!((held.code, held.field.as_deref()), (Code::NotPermitted, Some(check.as_str())));
    let looked = [("split_reply".to_owned(), second.to_string())];
    let doc = stage.desk.approve(id, &doc.payload_hash, &looked).await.expect("looked at");
    assert_eq!(doc.state, "approved");
    assert_eq!((stage.listed("needs_review").await, stage.to_review().await), (vec![], 0), "it was decided");
}

#[tokio::test(flavor = "multi_thread")]
async fn r29_what_was_refused_waits_in_needs_review_until_it_is_revised() {
    let stage = Stage::set().await;
    let dispatcher = Dispatcher::start(stage.desk.core().clone()).await.expect("nobody else dispatches");
    let id = stage.chairs_after(&dispatcher, Fault::refused_at_end(550)).await;
    let doc = stage.desk.action(id).await.expect("a document");
    assert_eq!(doc.state, "refused");
    assert!(doc.offers.iter().any(|o| o.what == "revise" && o.offered));
    assert_eq!((stage.listed("needs_review").await, stage.to_review().await), (vec![doc.id.clone()], 1));
    let new = stage.desk.revise(id, None).await.expect("a revision");
    assert_eq!((stage.listed("needs_review").await, stage.to_review().await), (vec![], 0), "it was decided");
    assert!(stage.listed("awaiting").await.contains(&new.id));
    assert!(stage.listed("history").await.contains(&doc.id));
}

#[tokio::test(flavor = "multi_thread")]
async fn r29_what_was_left_unknown_stays_beside_the_unknown_for_a_month() {
    let stage = Stage::set().await;
    let dispatcher = Dispatcher::start(stage.desk.core().clone()).await.expect("nobody else dispatches");
    let id = stage.chairs_after(&dispatcher, Fault::reset_before_acting()).await;
    assert_eq!(stage.listed("unknown").await, [id.to_string()]);
    let doc = stage.desk.resolve(id, Verdict::Leave, "").await.expect("left");
    assert_eq!(doc.state, "closed_unknown");
    assert_eq!(stage.listed("unknown").await, [id.to_string()]);
    assert_eq!(stage.desk.overview().await.expect("it reads").counts.unknown, 0, "only open ones are counted");
    stage.desk.core().clock.advance(31 * 24 * 60 * MINUTE);
    assert!(stage.listed("unknown").await.is_empty());
    assert!(stage.listed("history").await.contains(&id.to_string()));
}
