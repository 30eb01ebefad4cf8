//! The sandbox environment of a home: its embedded destination, and what the first start shows (R42).
//!
//! The servers run in whichever process dispatches; their ports are new at each start. The destination's file names fixed
//! ports that nobody connects to: the account is made of them, so it stays the same (see `destinations`).

use crate::core::Core;
use crate::desk::Desk;
use crate::failure::Failure;
use crate::intake::Intake;
use crate::keychain::{LoginSecret, SANDBOX};
use countersign_sandbox::story::{ADDRESS, DESTINATION, SOURCE};
use countersign_sandbox::{Account, Config, Habits, Running, StartError};

// What `demo` and drills script the servers with.
pub use countersign_sandbox::{Fault, Release, Sandbox, story};

/// Not a secret: these servers are reached from this computer only and can send nothing anywhere.
const PASSWORD: &str = "sandbox";
/// How long the embedded servers may take to answer. They are in the same process.
const ANSWER_SECONDS: u32 = 5;
const EFFECTS: [&str; 2] = ["email.send", "email.reply"];

/// The embedded servers, in this process or in the one that dispatches.
#[derive(Debug)]
pub struct Embedded {
    servers: Option<Sandbox>,
    running: Running,
}

impl Embedded {
    /// Starts the servers of this home, or finds those that another process runs. None without a sandbox environment.
    pub async fn start(core: &Core) -> Result<Option<Embedded>, Failure> {
        if !core.config.sandbox {
            return Ok(None);
        }
        let config = Config {
            accounts: vec![Account::new(ADDRESS, PASSWORD)],
            directory: Some(core.home.sandbox()),
            // Files the Sent copy itself, as most providers do: a lost answer can then be settled by looking.
            habits: Habits { files_sent: true, ..Habits::default() },
            ..Config::default()
        };
        match Sandbox::start(config).await {
            Ok(servers) => Ok(Some(Embedded { running: servers.running().clone(), servers: Some(servers) })),
            Err(StartError::InUse(Some(running))) => Ok(Some(Embedded { servers: None, running })),
            Err(StartError::InUse(None)) => {
                Err(Failure::frozen("another process is starting the sandbox of this home; try again"))
            }
            Err(e @ StartError::Io { .. }) => Err(Failure::internal(e.to_string())),
        }
    }

    pub fn running(&self) -> &Running {
        &self.running
    }

    /// The servers, where they run in this process.
    pub fn servers(&self) -> Option<&Sandbox> {
        self.servers.as_ref()
    }

    pub async fn stop(self) {
        if let Some(servers) = self.servers {
            servers.stop().await;
        }
    }
}

fn file(undo_seconds: u32) -> String {
    format!(
        r#"name = "{DESTINATION}"
kind = "mailbox"
environment = "{SANDBOX}"
undo_seconds = {undo_seconds}

[mailbox]
from = ["Shop support <{ADDRESS}>"]
smtp = "smtp+plain://127.0.0.1:1025"
imap = "imap+plain://127.0.0.1:1143"
answer_timeout_seconds = {ANSWER_SECONDS}
username = "{ADDRESS}"
sent_folder = "auto"
files_sent_itself = true
"#
    )
}

/// Sets up the embedded destination and the source that proposes to it, where they are not there yet.
pub async fn furnish(desk: &Desk, undo_seconds: u32) -> Result<(), Failure> {
    let core = desk.core();
    if !core.config.sandbox {
        return Ok(());
    }
    if core.ledger.destination(DESTINATION).await?.is_none() {
        let (_, mut record) = core.destinations.describe(&file(undo_seconds), &core.home.sandbox())?;
        record.config["embedded"] = true.into();
        desk.store_destination(record, &LoginSecret::new(PASSWORD)).await?;
    }
    if core.ledger.source(SOURCE).await?.is_none() {
        let effects = EFFECTS.map(str::to_owned);
        // Its token is thrown away: nobody but the first start proposes in this name.
        desk.add_source(SOURCE, SANDBOX, &effects, &[DESTINATION.to_owned()], false).await?;
    }
    Ok(())
}

/// Whether what [`furnish`] sets up is there, or was once: a person may remove it. True without a sandbox environment.
///
/// # Errors
/// The ledger's.
pub async fn is_furnished(core: &Core) -> Result<bool, Failure> {
    if !core.config.sandbox {
        return Ok(true);
    }
    Ok(core.ledger.destination(DESTINATION).await?.is_some() && core.ledger.source(SOURCE).await?.is_some())
}

/// Lets the three customers of the story write, and the sandbox agent propose its answers; once per home.
pub async fn tell_story(core: &Core, intake: &Intake, embedded: &Embedded) -> Result<(), Failure> {
    let (Some(servers), Some(_)) = (embedded.servers(), core.ledger.source(SOURCE).await?) else { return Ok(()) };
    let source = intake.by_name(SOURCE).await?;
    let conversations = story::conversations(core.clock.now().millis() / 1000);
    let mut new = Vec::new();
    for conversation in conversations {
        let request = conversation.proposal["request_id"].as_str().unwrap_or_default();
        if intake.find(&source, request, None).await?.is_empty() {
            new.push(conversation);
        }
    }
    story::deliver(servers, &new);
    for conversation in &new {
        intake.propose(&source, conversation.proposal.to_string().as_bytes()).await?;
    }
    Ok(())
}
