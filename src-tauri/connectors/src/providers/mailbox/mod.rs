//! SMTP submission with an IMAP mailbox: the first destination.

pub mod config;
mod contract;
mod filing;
mod look;
mod situation;
mod trial;

use crate::letter::Letter;
use crate::mailbox::{Imap, Letterbox};
use crate::registry::{Learned, Provider, Settings};
use crate::transport::reply::answer;
use crate::transport::smtp::{self, Envelope};
use crate::transport::tls::{Server, Trust};
use crate::{
    Connector, Filing, Halted, Login, OAuth, Parent, Poised, Preview, Probe, Reply, SetupError, Situation, Step,
    TestSend, Unrenderable, Whoami,
};
use async_trait::async_trait;
use config::{Endpoint, FilesSent, MailboxConfig};
use countersign_domain::contract::answer_receipt;
use countersign_domain::json::FieldError;
use countersign_domain::{
    AccountFingerprint, Answer, AnswerCode, Contract, Conversation, Countersigned, IdempotencyKey, Sealed, Sighting,
    Timestamp, Wire,
};
use serde_json::Value;
use std::path::Path;
use std::time::Duration;
use tokio::time::timeout;

pub const KIND: &str = "mailbox";

pub(crate) const PROVIDER: Provider = Provider {
    kind: config::kind,
    read: |table, loopback_only| Ok(Box::new(MailboxConfig::read(table, loopback_only)?)),
};

impl Settings for MailboxConfig {
    fn connect(&self, base_dir: &Path, learned: &Learned) -> Result<Box<dyn Connector>, FieldError> {
        Ok(Box::new(MailboxDestination::new(self, base_dir, learned)?))
    }
}

/// The connection for sending waits meanwhile.
const NOTE_TIMEOUT: Duration = Duration::from_secs(10);

pub struct MailboxDestination {
    config: MailboxConfig,
    smtp: Server,
    imap: Option<Server>,
    /// What is set, else what a test message taught.
    files_sent_itself: Option<bool>,
    oauth: Option<OAuth>,
}

impl MailboxDestination {
    pub fn new(config: &MailboxConfig, base_dir: &Path, learned: &Learned) -> Result<Self, FieldError> {
        let trust = Trust::load(config.ca_file.as_deref(), base_dir)?;
        let server = |endpoint: &Endpoint, moved: Option<u16>| Server {
            endpoint: endpoint.clone(),
            // Only a server on this machine can have moved: a file that names another one is meant as it is.
            port: moved.filter(|_| endpoint.is_loopback()).unwrap_or(endpoint.port),
            trust: trust.clone(),
        };
        Ok(MailboxDestination {
            smtp: server(&config.smtp, learned.sandbox_ports.map(|p| p.0)),
            imap: config.imap.as_ref().map(|e| server(e, learned.sandbox_ports.map(|p| p.1))),
            files_sent_itself: match config.files_sent_itself {
                FilesSent::Yes => Some(true),
                FilesSent::No => Some(false),
                FilesSent::Auto => learned.files_sent_itself,
            },
            oauth: config.oauth.as_ref().map(|oauth| oauth.client(trust.clone())),
            config: config.clone(),
        })
    }

    fn patience(&self) -> Duration {
        smtp::patience(self.config.answer_timeout)
    }

    /// The mailbox, if there is one.
    fn mailbox(&self) -> Option<Imap<'_>> {
        self.imap.as_ref().map(|server| Imap {
            server,
            patience: self.patience(),
            sent_folder: self.config.sent_folder.as_deref(),
        })
    }

    /// UIDNEXT and UIDVALIDITY of the folders a look-up will search, so that it searches only what is newer. A mailbox
    /// that cannot be asked now is no reason not to send: a later look-up then searches everything.
    async fn note(&self, login: &Login) -> Value {
        match self.mailbox() {
            None => Value::Null,
            Some(mailbox) => match timeout(NOTE_TIMEOUT, mailbox.note(login)).await {
                Ok(noted) => noted.unwrap_or(Value::Null),
                Err(_) => Value::Null,
            },
        }
    }
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
    fn contract(&self, effect: &str) -> Option<&Contract> {
        Some(contract::of(self.imap.is_some())).filter(|c| c.effects.iter().any(|e| e == effect))
    }
    fn oauth(&self) -> Option<&OAuth> {
        self.oauth.as_ref()
    }
    fn answer_timeout(&self) -> Duration {
        self.config.answer_timeout
    }

    fn render(
        &self,
        sealed: &Sealed,
        key: &IdempotencyKey,
        conversation: Option<&Conversation>,
        at: Timestamp,
    ) -> Result<Wire, Unrenderable> {
        if let Some(email) = sealed.payload().email().filter(|e| !self.config.may_send_as(&e.from.email)) {
            let reason = format!("{} is not among the senders of this destination", email.from.email);
            return Err(Unrenderable::new("from.email", reason));
        }
        crate::mime::render(sealed, key, conversation, at)
    }

    fn preview(&self, wire: &Wire) -> Preview {
        crate::preview::preview(wire)
    }

    fn read(&self, reply: &Reply) -> Answer {
        read(reply)
    }

    async fn check(
        &self,
        login: &Login,
        _at: Timestamp,
        progress: &(dyn Fn(Probe) + Send + Sync),
    ) -> Result<Whoami, SetupError> {
        trial::check(self, login, progress).await
    }

    async fn test_send(
        &self,
        login: &Login,
        to: &str,
        nonce: &str,
        at: Timestamp,
        progress: &(dyn Fn(Probe) + Send + Sync),
    ) -> Result<TestSend, SetupError> {
        trial::test_send(self, login, trial::TestMessage { to, nonce, at }, progress).await
    }

    async fn situation(&self, order: &Countersigned, login: &Login, ours: &[String]) -> Situation {
        situation::situation(self, order, login, ours).await
    }

    async fn parent(&self, conversation: &Conversation, login: &Login) -> Parent {
        situation::parent(self, conversation, login).await
    }

    async fn approach(&self, order: &Countersigned, login: &Login, _at: Timestamp) -> Result<Poised, Halted> {
        let halted = |answer| Halted { answer };
        let Ok(letter) = Letter::open(order.wire()) else {
            return Err(halted(answer("smtp:wire:unreadable", "the stored request is not an email with its envelope")));
        };
        let envelope = Envelope {
            mail_from: &letter.mail_from,
            rcpt_to: &letter.rcpt_to,
            message: letter.message,
            envelope_id: order.idempotency_key().as_str(),
        };
        // The note must be older than the last thing, not than the first; so both connections are made at once.
        let (session, noted) =
            tokio::join!(smtp::log_in(&self.smtp, login, self.patience(), &|_| {}), self.note(login));
        let poised = session.map_err(halted)?.approach(&envelope, noted).await.map_err(halted)?;
        Ok(Poised::Smtp(poised))
    }

    fn letterbox(&self, folder: &str) -> Option<Letterbox<'_>> {
        self.mailbox().map(|imap| Letterbox::new(imap, folder))
    }

    async fn look(&self, order: &Countersigned, login: &Login, noted: &[Value]) -> Sighting {
        look::look(self, order, login, noted).await
    }

    fn has_copies(&self) -> bool {
        filing::mailbox_for_copies(self).is_some()
    }

    async fn file_copy(
        &self,
        order: &Countersigned,
        login: &Login,
        noted: &[Value],
        since_accepted: Duration,
    ) -> Filing {
        filing::file_copy(self, order, login, noted, since_accepted).await
    }
}

/// Names and numbers of a reply.
fn read(reply: &Reply) -> Answer {
    let Reply::Smtp(reply) = reply else {
        return answer("smtp:foreign", "an answer of another protocol");
    };
    let receipt = (reply.step == Step::FinalDot && reply.is(2)).then(|| {
        let text = format!("The server answered: {}", reply.words());
        answer_receipt(queue_id(&reply.text), text)
    });
    Answer {
        codes: vec![AnswerCode::new(format!("smtp:{}:{}", reply.step.name(), reply.code))],
        receipt,
        retry_after: None,
        words: reply.words(),
    }
}

/// The queue id, what a postmaster asks for: `queued as 4XyZ` (Postfix and many more), `id=1abc-…` (Exim).
fn queue_id(text: &str) -> Option<String> {
    let after = |mark: &str| {
        let lower = text.to_ascii_lowercase();
        let start = lower.find(mark)? + mark.len();
        let word = text[start..].split(|c: char| c.is_whitespace() || c == ',' || c == ';' || c == ')').next()?;
        let word = word.trim_end_matches('.');
        (!word.is_empty() && word.len() <= 80 && !word.contains('@')).then(|| word.to_owned())
    };
    after("queued as ").or_else(|| after("id=")).or_else(|| after("queued mail for delivery id "))
}

#[cfg(test)]
#[path = "answers_test.rs"]
mod tests;
