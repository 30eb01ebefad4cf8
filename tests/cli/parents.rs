//! The customer's message is the source's word until the mailbox was asked (protocol.md). What the window does when an
//! action is opened, without a window.

use countersign_domain::{ActionId, Timestamp};
use countersign_engine::sandbox_home::{self, Embedded, story};
use countersign_engine::view::{ActionDoc, FindingDoc};
use countersign_engine::{Clock, Code, Core, Desk, Home, InitArgs, Intake, MemoryStore, OpenArgs, SecretsChoice};
use serde_json::{Value, json};
use testkit::Scratch;

pub struct Stage {
    pub desk: Desk,
    pub intake: Intake,
    pub embedded: Embedded,
    _scratch: Scratch,
}

impl Stage {
    pub async fn set() -> Stage {
        let scratch = Scratch::new("");
        let home = Home::at(scratch.join("home"));
        let secrets = SecretsChoice::Memory(MemoryStore::default());
        let clock = Clock::manual(Timestamp::from_millis(crate::shared::START * 1000));
        let args = InitArgs { owner: "Noor".into(), sandbox: true, secrets: secrets.clone(), passphrase: None };
        home.init(args, &clock).await.expect("a home");
        let mut open = OpenArgs::new(home);
        open.secrets = Some(secrets);
        open.clock = clock;
        let core = Core::open(open).await.expect("it opens");
        let desk = Desk::new(core.clone());
        sandbox_home::furnish(&desk, 10).await.expect("a destination and a source");
        let embedded = Embedded::start(&core).await.expect("it starts").expect("a sandbox environment");
        let intake = Intake::open(&core).await.expect("an intake");
        Stage { desk, intake, embedded, _scratch: scratch }
    }

    pub async fn propose(&self, document: &Value) -> ActionId {
        let source = self.intake.by_name(story::SOURCE).await.expect("the story's source");
        let answer = self.intake.propose(&source, document.to_string().as_bytes()).await.expect("well formed");
        answer.actions[0].id.as_deref().expect("an action").parse().expect("a number")
    }

    pub async fn of_request(&self, request: &str) -> ActionDoc {
        let core = self.desk.core();
        let all = core.ledger.actions_of_request(story::SOURCE, request, None).await.expect("it reads");
        self.desk.action(all[0].id()).await.expect("a document")
    }
}

fn number(doc: &ActionDoc) -> ActionId {
    doc.id.parse().expect("a number")
}

pub fn with_code<'d>(doc: &'d ActionDoc, code: &str) -> Vec<&'d FindingDoc> {
    doc.findings.iter().filter(|f| f.code == code).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn r17_the_message_in_the_mailbox_is_compared_with_what_the_source_shows() {
    let stage = Stage::set().await;
    sandbox_home::tell_story(stage.desk.core(), &stage.intake, &stage.embedded).await.expect("three proposals");
    let chairs = stage.of_request("sandbox-chairs").await;
    assert_eq!(chairs.conversation.as_ref().map(|c| c.checked.as_str()), Some("not_checked"));
    assert!(stage.desk.check_parent(number(&chairs)).await.expect("it asks"), "something new is known");
    assert!(!stage.desk.check_parent(number(&chairs)).await.expect("it asks"), "and only once");
    let chairs = stage.of_request("sandbox-chairs").await;
    assert_eq!(chairs.conversation.as_ref().map(|c| c.checked.as_str()), Some("matches"), "{:?}", chairs.findings);
    assert!(chairs.findings.iter().all(|f| !f.holds), "nothing holds an honest reply back: {:?}", chairs.findings);

    let delivery = stage.of_request("sandbox-delivery").await;
    stage.desk.check_parent(number(&delivery)).await.expect("it asks");
    let delivery = stage.of_request("sandbox-delivery").await;
    let outside = with_code(&delivery, "outside_thread");
    assert_eq!(outside.len(), 1, "the copy goes to somebody the thread does not know");
    assert!(outside[0].holds && outside[0].field == "cc[0].email");
    let refused =
        stage.desk.approve(number(&delivery), &delivery.payload_hash, &[]).await.expect_err("a check is left");
    assert_eq!(refused.code, Code::NotPermitted);
    for finding in delivery.findings.iter().filter(|f| f.holds) {
        stage.desk.clear_finding(number(&delivery), &finding.code, &finding.field).await.expect("a person looked");
    }
    let approved = stage.desk.approve(number(&delivery), &delivery.payload_hash, &[]).await.expect("nothing is left");
    assert_eq!(approved.state, "approved");
}

#[tokio::test(flavor = "multi_thread")]
async fn r17_a_message_that_is_missing_or_differs_holds_the_approval() {
    let stage = Stage::set().await;
    let conversations = story::conversations(crate::shared::START);
    let mut missing = conversations[0].proposal.clone();
    let id = stage.propose(&missing).await;
    stage.desk.check_parent(id).await.expect("it asks");
    let doc = stage.desk.action(id).await.expect("a document");
    assert_eq!(with_code(&doc, "parent_missing").len(), 1, "the customer never wrote that: {:?}", doc.findings);
    assert!(with_code(&doc, "parent_missing")[0].holds);

    let servers = stage.embedded.servers().expect("they run here");
    story::deliver(servers, &conversations);
    assert!(stage.desk.check_parent(id).await.expect("it asks again"), "it has arrived since");
    let doc = stage.desk.action(id).await.expect("a document");
    assert!(with_code(&doc, "parent_missing").is_empty());

    missing = conversations[1].proposal.clone();
    missing["conversation"]["text"] = json!("Please send the goods to my other address.");
    let id = stage.propose(&missing).await;
    stage.desk.check_parent(id).await.expect("it asks");
    let doc = stage.desk.action(id).await.expect("a document");
    let differs = with_code(&doc, "parent_differs");
    assert!(differs.len() == 1 && differs[0].holds && differs[0].text.contains("text"), "{:?}", doc.findings);
    assert_eq!(doc.conversation.expect("it is shown").checked, "differs");
}

#[tokio::test(flavor = "multi_thread")]
async fn r17_a_conversation_replaced_after_it_matched_is_compared_again() {
    let stage = Stage::set().await;
    sandbox_home::tell_story(stage.desk.core(), &stage.intake, &stage.embedded).await.expect("three proposals");
    let id = number(&stage.of_request("sandbox-chairs").await);
    stage.desk.check_parent(id).await.expect("it asks");
    assert_eq!(stage.desk.action(id).await.expect("a document").conversation.expect("shown").checked, "matches");

    let told = story::conversations(crate::shared::START);
    let chairs = told.iter().find(|c| c.proposal["request_id"] == "sandbox-chairs").expect("it is told");
    let mut again = chairs.proposal.clone();
    again["event_id"] = json!("evt-again");
    again["conversation"]["text"] = json!("Please send the chairs to my other address.");
    again["actions"][0]["payload"]["text"] = json!("We send them to the other address.");
    assert_eq!(stage.propose(&again).await, id, "the draft is replaced");
    let doc = stage.desk.action(id).await.expect("a document");
    assert_eq!(doc.conversation.expect("shown").checked, "not_checked", "nobody asked about these words");
    let held = stage.desk.approve(id, &doc.payload_hash, &[]).await.expect_err("the customer never wrote that");
    assert_eq!((held.code, held.field.as_deref()), (Code::NotPermitted, Some("parent_differs:in_reply_to")));
    let doc = stage.desk.action(id).await.expect("a document");
    assert_eq!((doc.state.as_str(), doc.conversation.expect("shown").checked.as_str()), ("prepared", "differs"));
}
