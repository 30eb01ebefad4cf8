//! `demo`: the whole job on the sandbox, in a throw-away home with secrets in memory. Effects are counted at the sandbox,
//! not in our own rows.

use crate::output::{Ended, Output};
use crate::session::Session;
use countersign_domain::{ActionId, State};
use countersign_engine::sandbox_home::{self, Embedded, Fault, Release, Sandbox, story};
use countersign_engine::view::ActionDoc;
use countersign_engine::{
    Clock, Code, Core, Desk, Dispatcher, Failure, Home, InitArgs, Intake, MemoryStore, OpenArgs, SecretsChoice,
};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Duration;

const UNDO: u32 = 10;
const HOLD: Duration = Duration::from_secs(UNDO as u64);
/// Longer than the first waits of the look-up schedule.
const LATER: Duration = Duration::from_secs(40);

/// Removes the throw-away home, however the demo ends.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The expectations, as they held or not.
struct Story {
    out: Output,
    held: Vec<Value>,
    all: bool,
}

impl Story {
    fn expect(&mut self, what: &str, holds: bool) -> Result<(), Failure> {
        self.all &= holds;
        self.held.push(json!({ "what": what, "held": holds }));
        self.out.say(&format!("{}  {what}", if holds { "holds " } else { "FAILED" }))
    }
}

struct Stage {
    core: Core,
    desk: Desk,
    intake: Intake,
    dispatcher: Dispatcher,
    embedded: Embedded,
}

impl Stage {
    async fn set(home: &Home) -> Result<Stage, Failure> {
        let clock = Clock::manual(Clock::System.now());
        let secrets = SecretsChoice::Memory(MemoryStore::default());
        let args = InitArgs { owner: "Noor".to_owned(), sandbox: true, secrets: secrets.clone(), passphrase: None };
        home.init(args, &clock).await?;
        let mut open = OpenArgs::new(home.clone());
        open.secrets = Some(secrets);
        open.clock = clock;
        let core = Core::open(open).await?;
        let desk = Desk::new(core.clone());
        sandbox_home::furnish(&desk, UNDO).await?;
        let dispatcher = Dispatcher::start(core.clone()).await?;
        let missing = || Failure::internal("the sandbox did not start in this process");
        let embedded = Embedded::start(&core).await?.ok_or_else(missing)?;
        embedded.servers().ok_or_else(missing)?;
        let intake = Intake::open(&core).await?;
        Ok(Stage { core, desk, intake, dispatcher, embedded })
    }

    fn sandbox(&self) -> Result<&Sandbox, Failure> {
        self.embedded.servers().ok_or_else(|| Failure::internal("the sandbox is gone"))
    }

    /// Messages the sandbox took under this action's key.
    fn effects(&self, doc: &ActionDoc) -> Result<usize, Failure> {
        let key = doc.idempotency_key.as_deref().unwrap_or_default();
        Ok(self.sandbox()?.effects_with_header("X-Countersign-Key", key).len())
    }

    async fn of_request(&self, request: &str) -> Result<ActionDoc, Failure> {
        let all = self.core.ledger.actions_of_request(story::SOURCE, request, None).await?;
        let id = all.last().map(|r| r.id()).ok_or_else(|| Failure::internal(format!("{request} was not proposed")))?;
        self.desk.action(id).await
    }

    /// Approves what is shown, lets the hold pass and dispatches.
    async fn send(&self, doc: &ActionDoc) -> Result<ActionDoc, Failure> {
        let id = id_of(doc)?;
        self.desk.approve(id, &doc.payload_hash, &[]).await?;
        self.core.clock.advance(HOLD);
        self.dispatcher.tick().await;
        self.desk.action(id).await
    }
}

fn id_of(doc: &ActionDoc) -> Result<ActionId, Failure> {
    doc.id.parse().map_err(|e: countersign_domain::BadId| Failure::internal(e.to_string()))
}

fn is(doc: &ActionDoc, state: State) -> bool {
    doc.state == state.name()
}

pub async fn demo(s: &Session) -> Ended {
    let unique = format!("countersign-demo-{}-{}", std::process::id(), Clock::System.now().millis());
    let dir = std::env::temp_dir().join(unique);
    let scratch = Scratch(dir.clone());
    let stage = Stage::set(&Home::at(&dir)).await?;
    let mut told = Story { out: s.out, held: Vec::new(), all: true };
    let ended = play(&stage, &mut told).await;
    let actions = ledger(&stage).await?;
    let Stage { core, dispatcher, embedded, .. } = stage;
    // The connection whose answer never came is still read; it ends with its server.
    embedded.stop().await;
    dispatcher.late_answers().await;
    core.ledger.close().await;
    drop(scratch);
    ended?;
    if s.out.json {
        s.out.answer(&json!({ "ok": told.all, "expectations": told.held, "actions": actions }))?;
    } else {
        s.out.say("")?;
        s.out.answer(&json!(actions))?;
        s.out.say(if told.all { "\nEvery expectation held." } else { "\nNot every expectation held." })?;
    }
    Ok(if told.all { 0 } else { Code::Internal.exit() })
}

async fn play(stage: &Stage, told: &mut Story) -> Result<(), Failure> {
    proposals(stage, told).await?;
    approved_once(stage, told).await?;
    let unknown = lost_answer(stage, told).await?;
    found(stage, told, unknown).await?;
    revision(stage, told).await?;
    let (roster, secret) = (stage.core.roster().await?, stage.core.ledger_secret().await?);
    let broken = stage.core.ledger.verify(&roster, Some(&secret), &mut |_, _| {}).await?;
    told.expect("the ledger proves itself: chain, signatures, hashes, states", broken.is_empty())
}

async fn proposals(stage: &Stage, told: &mut Story) -> Result<(), Failure> {
    sandbox_home::tell_story(&stage.core, &stage.intake, &stage.embedded).await?;
    let waiting = stage.desk.page(None, Some(State::Prepared), None, 10).await?.actions.len();
    told.expect("three proposals wait for a person", waiting == 3)?;
    stage.dispatcher.tick().await;
    told.expect("nothing leaves without an approval", stage.sandbox()?.effects().is_empty())?;

    let first = stage.of_request("sandbox-chairs").await?;
    let conversations = story::conversations(stage.core.clock.now().millis() / 1000);
    let source = stage.intake.by_name(story::SOURCE).await?;
    let again = stage.intake.propose(&source, conversations[0].proposal.to_string().as_bytes()).await?;
    let same = again.actions.iter().all(|a| a.disposition == "duplicate" && a.id.as_ref() == Some(&first.id));
    told.expect("the same event delivered twice meets the same action", same && again.actions.len() == 1)?;
    let waiting = stage.desk.page(None, None, None, 10).await?.actions.len();
    told.expect("and makes no second one", waiting == 3)
}

async fn approved_once(stage: &Stage, told: &mut Story) -> Result<(), Failure> {
    let doc = stage.of_request("sandbox-chairs").await?;
    let id = id_of(&doc)?;
    stage.desk.approve(id, &doc.payload_hash, &[]).await?;
    stage.dispatcher.tick().await;
    told.expect("an approved reply is held while it can be undone", stage.effects(&doc)? == 0)?;
    stage.core.clock.advance(HOLD);
    stage.dispatcher.tick().await;
    let doc = stage.desk.action(id).await?;
    let once = is(&doc, State::Accepted) && stage.effects(&doc)? == 1;
    told.expect("then it goes out once and is accepted with a receipt", once && doc.receipt.is_some())
}

async fn lost_answer(stage: &Stage, told: &mut Story) -> Result<ActionDoc, Failure> {
    let doc = stage.of_request("sandbox-delivery").await?;
    let suspicious = doc.findings.iter().any(|f| f.code == "look_alike_domain");
    told.expect("a look-alike address in the draft is pointed out", suspicious)?;
    let mut payload = doc.payload.clone();
    payload["cc"] = json!([]);
    let id = id_of(&doc)?;
    let edited = stage.desk.edit(id, Some(doc.payload_version), payload).await?;
    let stale = stage.desk.approve(id, &doc.payload_hash, &[]).await;
    let refused = matches!(&stale, Err(e) if e.code == Code::Conflict);
    told.expect("an approval of the draft before the edit is refused", refused)?;
    // The mailbox takes the whole message, and its answer never comes. Its index is slow, so the look at once sees nothing.
    stage.sandbox()?.fault_once(Fault::hang_after_acting());
    stage.sandbox()?.fault_once(Fault::slow_index("Sent"));
    let doc = stage.send(&edited).await?;
    told.expect("a lost answer is unknown, not failed", is(&doc, State::Unknown) && stage.effects(&doc)? == 1)?;
    Ok(doc)
}

async fn found(stage: &Stage, told: &mut Story, unknown: ActionDoc) -> Result<(), Failure> {
    let id = id_of(&unknown)?;
    told.expect("asked too early, the mailbox shows nothing, and that proves nothing", unknown.lookups.len() == 1)?;
    stage.dispatcher.tick().await;
    told.expect("nothing is sent again by itself", stage.effects(&unknown)? == 1)?;
    stage.sandbox()?.release(Release::Index);
    let mut doc = stage.desk.action(id).await?;
    // At once, after 30 s, after 2 min: the schedule of the protocol, on the demo's own clock.
    for _ in 0..5 {
        if !is(&doc, State::Unknown) {
            break;
        }
        stage.core.clock.advance(LATER);
        stage.dispatcher.tick().await;
        doc = stage.desk.action(id).await?;
    }
    let by_lookup = doc.receipt.as_ref().is_some_and(|r| r.kind == "lookup");
    told.expect("the destination is asked, and what is found settles it", is(&doc, State::Accepted) && by_lookup)?;
    told.expect("it was never sent a second time", stage.effects(&doc)? == 1 && doc.attempts.len() == 1)
}

async fn revision(stage: &Stage, told: &mut Story) -> Result<(), Failure> {
    let first = stage.of_request("sandbox-invoice").await?;
    let first = stage.send(&first).await?;
    told.expect("the third reply is accepted", is(&first, State::Accepted))?;
    let mut payload = first.payload.clone();
    payload["text"] = json!(
        "Dear Mika,\n\nOne more thing: the corrected invoice has number 2231-B.\n\nKind regards,\nShop support\n"
    );
    let id = id_of(&first)?;
    let new = stage.desk.revise(id, Some(payload)).await?;
    let follows = new.revises.as_deref() == Some(first.id.as_str()) && new.idempotency_key != first.idempotency_key;
    told.expect("a revision is a new action with a key of its own", follows && is(&new, State::Prepared))?;
    let twice = stage.desk.revise(id, None).await;
    told.expect("an action is revised once", matches!(&twice, Err(e) if e.code == Code::Conflict))?;
    let new = stage.send(&new).await?;
    let both = is(&new, State::Accepted) && stage.effects(&new)? == 1 && stage.effects(&first)? == 1;
    told.expect("it goes out once, under its own approval", both)?;
    told.expect("four messages left, one per approval", stage.sandbox()?.effects().len() == 4)
}

/// The ledger, one line per action.
async fn ledger(stage: &Stage) -> Result<Vec<Value>, Failure> {
    let mut lines = Vec::new();
    for row in stage.desk.page(None, None, None, 50).await?.actions.iter().rev() {
        let doc = stage
            .desk
            .action(row.id.parse().map_err(|e: countersign_domain::BadId| Failure::internal(e.to_string()))?)
            .await?;
        lines.push(json!({
            "id": doc.id,
            "request_id": doc.request_id,
            "revision": doc.key.as_ref().map(|k| k.revision),
            "state": doc.state,
            "attempts": doc.attempts.len(),
            "lookups": doc.lookups.len(),
            "deliveries": doc.deliveries.len(),
            "effects": stage.effects(&doc)?,
            "receipt": doc.receipt.map(|r| r.text),
            "explanation": doc.explanation,
        }));
    }
    Ok(lines)
}
