//! An engine on a home of its own, sending to a sink.

use countersign_domain::{ActionId, State};
use countersign_engine::keychain::{LoginSecret, MemoryStore};
use countersign_engine::{Clock, Core, Desk, Dispatcher, Home, InitArgs, Intake, OpenArgs, Passphrase, SecretsChoice};
use serde_json::json;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub struct Stage {
    pub desk: Desk,
    pub dispatcher: Arc<Dispatcher>,
    pub intake: Intake,
    /// Of the mailbox and of the source.
    name: String,
    n: u64,
}

/// Where the home keeps its secrets.
#[derive(Clone, Copy, PartialEq)]
pub enum Secrets {
    Memory,
    File,
    Keychain,
}

pub const PASSPHRASE: &str = "correct horse battery";

impl Stage {
    /// A home in `dir/home` whose one mailbox is the sink: no undo window, no IMAP.
    pub async fn set(dir: &Path, sink: SocketAddr, secrets: Secrets) -> anyhow::Result<Stage> {
        let home = Home::at(dir.join("home"));
        let passphrase = (secrets == Secrets::File).then(|| Passphrase::new(PASSPHRASE)).transpose()?;
        let choice = match secrets {
            Secrets::Memory => SecretsChoice::Memory(MemoryStore::default()),
            Secrets::File => SecretsChoice::File(dir.join("secrets")),
            Secrets::Keychain => SecretsChoice::Keychain,
        };
        let args =
            InitArgs { owner: "Noor".into(), sandbox: true, secrets: choice.clone(), passphrase: passphrase.clone() };
        home.init(args, &Clock::System).await?;
        let mut open = OpenArgs::new(home);
        open.secrets = Some(choice);
        open.passphrase = passphrase;
        let core = Core::open(open).await?;
        Stage::with(core, dir, sink, "bench").await
    }

    /// The home that `set` made with a secrets file, with another mailbox.
    pub async fn reopen(dir: &Path, sink: SocketAddr) -> anyhow::Result<Stage> {
        let mut open = OpenArgs::new(Home::at(dir.join("home")));
        open.passphrase = Some(Passphrase::new(PASSPHRASE)?);
        let core = Core::open(open).await?;
        // A name is used once.
        let seq = core.ledger.head().await?.seq;
        let name = format!("bench-{seq}");
        let mut stage = Stage::with(core, dir, sink, &name).await?;
        // Nor are its people those of an earlier run.
        stage.n = 1_000_000_000 + u64::try_from(seq)?;
        Ok(stage)
    }

    async fn with(core: Core, dir: &Path, sink: SocketAddr, name: &str) -> anyhow::Result<Stage> {
        let desk = Desk::new(core.clone());
        let file = format!(
            "name = \"{name}\"\nkind = \"mailbox\"\nenvironment = \"sandbox\"\nundo_seconds = 0\n[mailbox]\n\
             from = [\"Shop <shop@bench.example>\"]\nsmtp = \"smtp+plain://{sink}\"\nusername = \"bench\"\n"
        );
        desk.add_destination(&file, dir, &LoginSecret::new("bench")).await?;
        let effects = ["email.send".to_owned()];
        desk.add_source(name, "sandbox", &effects, &[name.to_owned()], false).await?;
        let dispatcher = Arc::new(Dispatcher::start(core.clone()).await?);
        let intake = Intake::open(&core).await?;
        Ok(Stage { desk, dispatcher, intake, name: name.to_owned(), n: 0 })
    }

    /// Lets go of the ledger, after the search index has caught up.
    pub async fn close(self) {
        while self.dispatcher.core().ledger.feed_search_index(100).await.is_ok_and(|n| n > 0) {}
        self.dispatcher.core().ledger.close().await;
    }

    /// A proposal of about 800 bytes of text to a recipient of its own; answers action and payload hash.
    pub async fn propose(&mut self) -> anyhow::Result<(String, String)> {
        self.n += 1;
        let n = self.n;
        let text = "Thank you for your order. We have set your parcel aside and send it tomorrow morning. ".repeat(9);
        let document = json!({
            "event_id": format!("evt-{n}"), "request_id": format!("order-{n}"),
            "actions": [{ "step": "reply", "effect": "email.send", "destination": self.name, "payload": {
                "from": { "email": "shop@bench.example" },
                "to": [{ "name": "Robin Vale", "email": format!("robin{n}@customer.example") }],
                "subject": format!("Your order {n}"), "text": text } }]
        });
        let source = self.intake.by_name(&self.name).await?;
        let answer = self.intake.propose(&source, document.to_string().as_bytes()).await?;
        let action = &answer.actions[0];
        let id = action.id.clone().ok_or_else(|| anyhow::anyhow!("the proposal was not taken"))?;
        let hash = action.payload_hash.clone().ok_or_else(|| anyhow::anyhow!("no hash"))?;
        Ok((id, hash))
    }

    pub async fn approve(&self, id: &str, hash: &str) -> anyhow::Result<()> {
        self.desk.approve(id.parse()?, hash, &[]).await?;
        Ok(())
    }

    /// Approves while the loop runs, and waits for the destination's yes in the ledger: what a person waits for.
    pub async fn approve_and_see_accepted(&self, id: &str, hash: &str) -> anyhow::Result<Duration> {
        let id: ActionId = id.parse()?;
        let ledger = &self.dispatcher.core().ledger;
        let mut moved = ledger.moved();
        let began = Instant::now();
        let accepted = async {
            loop {
                moved.changed().await?;
                let state = ledger.action(id).await?.map(|record| record.state());
                match state {
                    Some(State::Accepted) => return anyhow::Ok(began.elapsed()),
                    Some(State::Prepared | State::Approved | State::InProgress) => {}
                    other => anyhow::bail!("{id} ended as {other:?}"),
                }
            }
        };
        let (approved, accepted) = tokio::join!(self.desk.approve(id, hash, &[]), accepted);
        approved?;
        accepted
    }

    /// Waits until the journal stood still for a moment.
    pub async fn settle(&self) -> anyhow::Result<()> {
        let ledger = &self.dispatcher.core().ledger;
        let mut moved = ledger.moved();
        while tokio::time::timeout(Duration::from_millis(30), moved.changed()).await.is_ok() {}
        Ok(())
    }

    /// Dispatches what is due and makes sure that it was accepted.
    pub async fn dispatch(&self, id: &str) -> anyhow::Result<()> {
        let report = self.dispatcher.tick().await;
        let state = report.attempted.iter().find(|(a, _)| a.to_string() == id).map(|(_, s)| *s);
        anyhow::ensure!(state == Some(State::Accepted), "{id} ended as {state:?}");
        Ok(())
    }
}
