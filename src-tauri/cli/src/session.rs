//! What every command shares: the home, its secrets, the passphrase, the way answers are printed.

use crate::args::Global;
use crate::output::{Output, first_line, prompt};
use countersign_domain::ActionId;
use countersign_engine::{
    Clock, Core, Desk, Failure, Home, Intake, OpenArgs, Passphrase, SANDBOX, SecretsChoice, Surface,
};
use std::sync::{Mutex, OnceLock, PoisonError};

/// One run of the command line.
pub struct Session {
    pub global: Global,
    pub out: Output,
    pub home: Home,
    /// Read once: a descriptor gives its text only once.
    passphrase: OnceLock<Option<Passphrase>>,
    /// What was opened, to be waited for at the end.
    cores: Mutex<Vec<Core>>,
}

/// What a command will ask the secrets store for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    Nothing,
    Secrets,
}

impl Session {
    pub fn new(global: Global) -> Result<Session, Failure> {
        let home = Home::resolve(global.home.as_deref())?;
        let out = Output { json: global.json };
        Ok(Session { global, out, home, passphrase: OnceLock::new(), cores: Mutex::default() })
    }

    pub fn clock(&self) -> Clock {
        self.global.now.map_or(Clock::System, Clock::manual)
    }

    pub fn secrets(&self) -> Result<Option<SecretsChoice>, Failure> {
        self.global.secrets.as_deref().filter(|s| !s.is_empty()).map(str::parse).transpose()
    }

    /// The passphrase from its descriptor, or typed on the terminal if `ask`. None where there is neither.
    pub fn passphrase(&self, ask: bool) -> Result<Option<Passphrase>, Failure> {
        if let Some(known) = self.passphrase.get()
            && (known.is_some() || !ask)
        {
            return Ok(known.clone());
        }
        let text = match self.global.passphrase_fd {
            Some(fd) => Some(first_line("passphrase-fd", fd)?),
            None if ask => prompt("Passphrase")?,
            None => return Ok(None),
        };
        let passphrase = text.map(|t| Passphrase::new(&t)).transpose()?;
        Ok(self.passphrase.get_or_init(|| passphrase.clone()).clone().or(passphrase))
    }

    /// A passphrase that was just chosen is not asked for again.
    pub fn know(&self, passphrase: &Passphrase) {
        let _ = self.passphrase.set(Some(passphrase.clone()));
    }

    pub async fn core(&self, needs: Needs) -> Result<Core, Failure> {
        let config = self.home.config()?;
        let in_file = matches!(config.secrets, Some(SecretsChoice::File(_)));
        let passphrase = self.passphrase(in_file && needs == Needs::Secrets)?;
        let mut args = OpenArgs::new(self.home.clone());
        args.secrets = self.secrets()?;
        args.passphrase = passphrase;
        args.clock = self.clock();
        args.surface = Surface::CommandLine;
        let core = Core::open(args).await?;
        self.cores.lock().unwrap_or_else(PoisonError::into_inner).push(core.clone());
        Ok(core)
    }

    /// Waits for what outlives its command and must not be cut off.
    pub async fn settled(&self) {
        let cores = std::mem::take(&mut *self.cores.lock().unwrap_or_else(PoisonError::into_inner));
        for core in cores {
            core.settled().await;
        }
    }

    pub async fn desk(&self, needs: Needs) -> Result<Desk, Failure> {
        Ok(Desk::new(self.core(needs).await?))
    }

    pub async fn intake(&self) -> Result<Intake, Failure> {
        Intake::open(&self.core(Needs::Secrets).await?).await
    }

    /// Unlocks the key where a decision in this environment needs it. Without a passphrase the decision itself says no.
    pub async fn unlock(&self, desk: &Desk, environment: &str) -> Result<(), Failure> {
        if environment == SANDBOX || !desk.core().config.passphrase {
            return Ok(());
        }
        match self.passphrase(true)? {
            Some(passphrase) => desk.unlock(Some(&passphrase)).await,
            None => Ok(()),
        }
    }

    /// A desk that can decide about this action, and the action.
    pub async fn deciding(&self, id: &str) -> Result<(Desk, ActionId), Failure> {
        let desk = self.desk(Needs::Secrets).await?;
        let id = desk.resolve_id(id).await?;
        let environment = desk.environment_of(id).await?;
        self.unlock(&desk, &environment).await?;
        Ok((desk, id))
    }
}
