//! SMTP submission with an IMAP mailbox.

pub mod config;

use crate::*;
use countersign_domain::json::FieldError;
use serde_json::Value;
use std::path::Path;

pub const KIND: &str = "mailbox";

pub struct MailboxDestination {
    config: config::MailboxConfig,
}

impl MailboxDestination {
    pub fn new(config: &config::MailboxConfig, _base_dir: &Path, _learned: &Learned) -> Result<Self, FieldError> {
        Ok(MailboxDestination { config: config.clone() })
    }
}

fn not_yet() -> SetupError {
    SetupError { code: SetupCode::NotPossible, step: "smtp_connect", text: "not built yet".into() }
}

#[async_trait]
impl Connector for MailboxDestination {
    fn kind(&self) -> &'static str {
        KIND
    }
    fn account(&self) -> AccountFingerprint {
        self.config.account()
    }
    fn account_text(&self) -> String {
        self.config.account_text()
    }
    fn contract(&self, _effect: &str) -> Option<&Contract> {
        None
    }
    fn answer_timeout(&self) -> Duration {
        self.config.answer_timeout
    }
    fn render(
        &self,
        _: &Sealed,
        _: &IdempotencyKey,
        _: Option<&Conversation>,
        _: Timestamp,
    ) -> Result<Wire, Unrenderable> {
        Err(Unrenderable::new("", "not built yet"))
    }
    fn preview(&self, _wire: &Wire) -> Preview {
        Preview::default()
    }
    fn read(&self, _reply: &Reply) -> Answer {
        Answer::default()
    }
    async fn check(&self, _: &Login, _: &(dyn Fn(Probe) + Send + Sync)) -> Result<Whoami, SetupError> {
        Err(not_yet())
    }
    async fn test_send(
        &self,
        _: &Login,
        _: &str,
        _: &str,
        _: Timestamp,
        _: &(dyn Fn(Probe) + Send + Sync),
    ) -> Result<TestSend, SetupError> {
        Err(not_yet())
    }
    async fn situation(&self, _: &Countersigned, _: &Login, _: &[String]) -> Situation {
        Situation::NothingToAsk
    }
    async fn parent(&self, _: &Conversation, _: &Login) -> Parent {
        Parent::NothingToAsk
    }
    async fn approach(&self, _: &Countersigned, _: &Login) -> Result<Poised, Halted> {
        Err(Halted { answer: Answer::default() })
    }
    async fn look(&self, _: &Countersigned, _: &Login, _: &[Value]) -> Sighting {
        Sighting::CannotTell { why: "not built yet".into() }
    }
    async fn file_copy(&self, _: &Countersigned, _: &Login, _: &[Value], _: Duration) -> Filing {
        Filing::NotNeeded
    }
}
