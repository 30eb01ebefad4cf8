//! Where a source is told of outcomes, and how telling it went.

use super::Desk;
use crate::failure::Failure;
use crate::intake::http::SECRET_PREFIX;
use crate::keychain::{LoginSecret, random};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use countersign_connectors::notice::Listener;
use countersign_ledger::SourceRecord;
use serde::Serialize;

/// Rows of the log that are shown.
const SHOWN: u32 = 100;

/// What `source outcome NAME --url U` prints, once.
#[derive(Clone, Serialize)]
pub struct NewOutcomeHook {
    pub source: String,
    pub url: String,
    pub signing_secret: String,
}

impl std::fmt::Debug for NewOutcomeHook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "NewOutcomeHook({}, …)", self.source)
    }
}

/// The webhook of a source with its delivery log, newest first.
#[derive(Clone, Debug, Serialize)]
pub struct OutcomeHookDoc {
    pub source: String,
    /// None where it has none.
    pub url: Option<String>,
    pub calls: Vec<OutcomeCallDoc>,
}

/// One outcome and how telling it went.
#[derive(Clone, Debug, Serialize)]
pub struct OutcomeCallDoc {
    pub webhook_id: String,
    pub action: String,
    /// `waiting`, `delivered` or `stopped`.
    pub state: String,
    pub tries: u32,
    pub last: Option<String>,
    pub queued_at: String,
    pub changed_at: String,
    pub next_at: Option<String>,
}

impl Desk {
    async fn known_source(&self, name: &str) -> Result<SourceRecord, Failure> {
        let found = self.ledger().source(name).await?;
        found.ok_or_else(|| Failure::not_found(format!("there is no source {name}")).at("name"))
    }

    /// Which environment a source belongs to.
    pub async fn environment_of_source(&self, name: &str) -> Result<String, Failure> {
        Ok(self.known_source(name).await?.environment)
    }

    /// Tells the source's outcomes to `url` from now on. The signing secret is new each time; it is in the answer and
    /// nowhere else.
    ///
    /// # Errors
    /// Bad input for an address that is neither `https` nor on loopback; conflict for a revoked source.
    pub async fn set_outcome_hook(&self, name: &str, url: &str) -> Result<NewOutcomeHook, Failure> {
        let source = self.known_source(name).await?;
        if source.revoked_at.is_some() {
            return Err(Failure::conflict(format!("the source {name} was revoked")).at("name"));
        }
        Listener::at(url).map_err(|why| Failure::bad_input("url", why))?;
        self.present(&source.environment, "adding an outcome webhook").await?;
        let signing_secret = format!("{SECRET_PREFIX}{}", STANDARD.encode(random::<32>()?));
        // The secret first: a webhook without one could not be signed.
        self.core.keychain.put_outcome_secret(name, &LoginSecret::new(signing_secret.clone())).await?;
        self.ledger().set_outcome_hook(name, url, &self.core.owner, self.now()).await?;
        Ok(NewOutcomeHook { source: name.to_owned(), url: url.to_owned(), signing_secret })
    }

    /// Nothing more is told. Needs nobody's presence: it only takes something away.
    pub async fn remove_outcome_hook(&self, name: &str) -> Result<(), Failure> {
        self.known_source(name).await?;
        self.ledger().remove_outcome_hook(name, &self.core.owner, self.now()).await?;
        self.core.keychain.remove_outcome_secret(name).await
    }

    pub async fn outcome_hook(&self, name: &str) -> Result<OutcomeHookDoc, Failure> {
        self.known_source(name).await?;
        let url = self.ledger().outcome_hook(name).await?.map(|hook| hook.url);
        let calls = self.ledger().outcome_log(name, SHOWN).await?.into_iter().map(|c| OutcomeCallDoc {
            webhook_id: c.message_id,
            action: c.action.to_string(),
            state: c.state,
            tries: c.tries,
            last: c.last,
            queued_at: c.queued_at.to_string(),
            changed_at: c.changed_at.to_string(),
            next_at: c.next_at.map(|t| t.to_string()),
        });
        Ok(OutcomeHookDoc { source: name.to_owned(), url, calls: calls.collect() })
    }
}
