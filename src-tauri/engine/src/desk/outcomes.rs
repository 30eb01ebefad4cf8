//! Where a source is told of outcomes, and how telling it went.

use super::Desk;
use crate::failure::Failure;
use crate::intake::SECRET_PREFIX;
use crate::keychain::{LoginSecret, random};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use countersign_connectors::notice::Listener;
use countersign_domain::Timestamp;
use countersign_ledger::SourceRecord;
use serde::Serialize;
use std::time::Duration;
use ts_rs::TS;

/// Rows of the log that are shown.
const SHOWN: u32 = 100;

/// What `source outcome NAME --url U` prints, once.
#[derive(Clone, Serialize, TS)]
#[ts(export)]
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
#[derive(Clone, Debug, Serialize, TS)]
#[ts(export)]
pub struct OutcomeHookDoc {
    pub source: String,
    /// None where it has none.
    pub url: Option<String>,
    pub calls: Vec<OutcomeCallDoc>,
}

/// One outcome and how telling it went.
#[derive(Clone, Debug, Serialize, TS)]
#[ts(export)]
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
        let ca_file = self.core.config.outcome_ca_file.as_deref();
        Listener::at(url, ca_file).map_err(|why| Failure::bad_input("url", why))?;
        self.present(&source.environment, "adding an outcome webhook").await?;
        let signing_secret = format!("{SECRET_PREFIX}{}", STANDARD.encode(random::<32>()?));
        let before = self.ledger().outcome_hook(name).await?.map(|hook| hook.added_at);
        let after = |at: Timestamp| at.plus(Duration::from_millis(1));
        let added_at = before.map_or(self.now(), |at| self.now().max(after(at)));
        // The secret first, under a name nothing refers to yet: if the ledger does not take the webhook, the one before
        // goes on with its own secret.
        self.core.keychain.put_outcome_secret(name, added_at, &LoginSecret::new(signing_secret.clone())).await?;
        if let Err(failed) = self.ledger().set_outcome_hook(name, url, &self.core.owner, added_at).await {
            self.forget(name, added_at).await;
            return Err(failed.into());
        }
        if let Some(before) = before {
            self.forget(name, before).await;
        }
        Ok(NewOutcomeHook { source: name.to_owned(), url: url.to_owned(), signing_secret })
    }

    /// Nothing more is told. Needs nobody's presence: it only takes something away.
    pub async fn remove_outcome_hook(&self, name: &str) -> Result<(), Failure> {
        self.known_source(name).await?;
        let added_at = self.ledger().outcome_hook(name).await?.map(|hook| hook.added_at);
        self.ledger().remove_outcome_hook(name, &self.core.owner, self.now()).await?;
        if let Some(added_at) = added_at {
            self.forget(name, added_at).await;
        }
        Ok(())
    }

    /// Nothing refers to this secret any more; one that cannot be taken away signs nothing and is only said in the log.
    async fn forget(&self, source: &str, added_at: Timestamp) {
        if let Err(failure) = self.core.keychain.remove_outcome_secret(source, added_at).await {
            tracing::warn!(code = failure.code.word(), "a signing secret that is no longer used could not be removed");
        }
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
