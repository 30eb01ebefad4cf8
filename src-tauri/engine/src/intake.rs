//! What a source does: propose, and ask about its own actions. There is no approve in this file (R09, R10).
//!
//! Every door (loopback HTTP, command line, MCP, folders, mail) ends here, so one proposal makes one action whichever way
//! it came.

pub mod folder;
pub mod http;
pub mod mail;
mod signed;

pub use signed::SECRET_PREFIX;
pub(crate) use signed::sign;

use crate::anchor::{Frozen, frozen, may_have_been_sent};
use crate::clock::Clock;
use crate::core::Core;
use crate::desk::{History, contracts_in_words, key_doc, repeated, source_action};
use crate::destinations::Destinations;
use crate::failure::{Code, Failure};
use crate::keychain::Keychain;
use crate::view::{ContractDoc, ProposalActionAnswer, ProposalAnswer, SourceAction};
use countersign_domain::canonical::sha256;
use countersign_domain::json::FieldError;
use countersign_domain::{ActionId, LedgerSecret, PersonId, Proposal, State, Timestamp};
use countersign_ledger::{ActionRecord, Ledger, ReceivedAction, SourceRecord};
use governor::clock::{Clock as _, DefaultClock};
use governor::state::keyed::HashMapStateStore;
use governor::{Quota, RateLimiter};
use serde_json::json;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

/// Proposals per source and minute, and the size of a burst.
pub(crate) const PER_MINUTE: NonZeroU32 = NonZeroU32::new(120).expect("120 is not zero");
/// The journal's word for a try that did not become a delivery.
pub(crate) const REFUSED_AT_THE_DOOR: &str = "refused_at_the_door";
/// Characters kept of what somebody tried.
const TRIED_MAX: usize = 300;

type Rate = RateLimiter<String, HashMapStateStore<String>, DefaultClock>;

/// The functions of a source. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Intake {
    ledger: Ledger,
    keychain: Keychain,
    destinations: Destinations,
    clock: Clock,
    owner: PersonId,
    secret: LedgerSecret,
    proposals: Arc<Rate>,
    refusals: Arc<Rate>,
}

/// An answer to a question about one action.
#[derive(Clone, Debug)]
pub enum Asked {
    Own(Box<SourceAction>),
    /// It exists and belongs to another source, which is not told to the one that asks.
    Foreign,
    Nothing,
}

/// A source that was recognised and not revoked.
#[derive(Clone, Debug)]
pub struct Permitted(SourceRecord);

impl Permitted {
    pub fn name(&self) -> &str {
        &self.0.name
    }
}

impl Intake {
    /// # Errors
    /// `locked` where the ledger secret needs the passphrase: without it no action could get its key.
    pub async fn open(core: &Core) -> Result<Intake, Failure> {
        Ok(Intake {
            ledger: core.ledger.clone(),
            keychain: core.keychain.clone(),
            destinations: core.destinations.clone(),
            clock: core.clock.clone(),
            owner: core.owner.clone(),
            secret: core.ledger_secret().await?,
            proposals: Arc::new(rate()),
            refusals: Arc::new(rate()),
        })
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The source that holds this token. The ledger knows tokens by their digest only.
    pub async fn by_token(&self, token: &str) -> Result<Option<Permitted>, Failure> {
        Ok(self.ledger.source_by_token_hash(&token_hash(token)).await?.map(Permitted))
    }

    /// The source of this name, if the token is its own.
    ///
    /// # Errors
    /// Not permitted, one and the same for a name and a token that do not belong together; recorded where there is such a
    /// source.
    pub async fn by_credentials(&self, name: &str, token: &str) -> Result<Permitted, Failure> {
        match self.by_token(token).await? {
            Some(source) if source.name() == name => Ok(source),
            _ => {
                if self.ledger.source(name).await?.is_some() {
                    self.record_refusal(name, "mcp", "token", "the token is missing, wrong or revoked").await?;
                }
                Err(Failure::not_permitted("no source of this name has this token").at("token"))
            }
        }
    }

    /// Writes down that something was tried and refused. Nothing of what was handed in is in it but the name of the field.
    /// Past 120 a minute it is refused all the same, and not written down.
    pub async fn record_refusal(&self, source: &str, door: &str, what: &str, why: &str) -> Result<(), Failure> {
        if self.refusals.check_key(&source.to_owned()).is_err() {
            return Ok(());
        }
        let short = |text: &str| text.chars().filter(|c| !c.is_control()).take(TRIED_MAX).collect::<String>();
        let details = json!({ "source": source, "door": door, "tried": short(what), "why": short(why) });
        self.ledger.note(REFUSED_AT_THE_DOOR, details, &format!("source {source}"), self.clock.now()).await?;
        Ok(())
    }

    /// # Errors
    /// How long the source has to wait before its next proposal is taken.
    pub fn within_rate(&self, source: &Permitted) -> Result<(), Duration> {
        let not_yet = self.proposals.check_key(&source.0.name);
        not_yet.map(|_| ()).map_err(|not_until| not_until.wait_time_from(DefaultClock::default().now()))
    }

    /// The source named by a person at the command line, who needs no token.
    ///
    /// # Errors
    /// Not found; not permitted once revoked.
    pub async fn by_name(&self, name: &str) -> Result<Permitted, Failure> {
        let unknown = || Failure::not_found(format!("there is no source {name}")).at("source");
        let source = self.ledger.source(name).await?.ok_or_else(unknown)?;
        if source.revoked_at.is_some() {
            return Err(Failure::not_permitted(format!("the source {name} was revoked")).at("source"));
        }
        Ok(Permitted(source))
    }

    /// The source whose signing secret `holds` accepts.
    async fn by_signature(&self, holds: impl Fn(&str) -> bool) -> Result<Option<Permitted>, Failure> {
        for source in self.ledger.sources().await? {
            if !source.signed || source.revoked_at.is_some() {
                continue;
            }
            if let Some(secret) = self.keychain.source_secret(&source.name).await?
                && holds(secret.expose())
            {
                return Ok(Some(Permitted(source)));
            }
        }
        Ok(None)
    }

    /// Why dispatch is frozen, if it is. A restored or copied home must not take away what is meant for the one that goes on.
    async fn frozen(&self) -> Result<Option<Frozen>, Failure> {
        frozen(&self.ledger).await
    }

    /// Takes a proposal in, whole or not at all.
    ///
    /// # Errors
    /// Bad input with the field's path; then nothing was stored. A conflict or a lack of permission is an answer, not an
    /// error: the delivery is recorded and shown to the owner.
    pub async fn propose(&self, source: &Permitted, document: &[u8]) -> Result<ProposalAnswer, Failure> {
        // A refusal of the whole has no path inside it.
        let whole = |e: FieldError| if e.field.is_empty() { e.within("document") } else { e };
        let proposal = Proposal::parse(document).map_err(whole)?;
        let received = self.ledger.receive(&proposal, &source.0, &self.secret, &self.owner, self.clock.now()).await?;
        Ok(ProposalAnswer {
            delivery: received.delivery.to_string(),
            actions: received.actions.iter().map(answer).collect(),
        })
    }

    /// One of the source's own actions, by number or idempotency key.
    pub async fn get(&self, source: &Permitted, id_or_key: &str) -> Result<Option<SourceAction>, Failure> {
        match self.ask(source, id_or_key).await? {
            Asked::Own(action) => Ok(Some(*action)),
            Asked::Foreign | Asked::Nothing => Ok(None),
        }
    }

    /// The same, for a door that records who asks for what is not theirs.
    pub async fn ask(&self, source: &Permitted, id_or_key: &str) -> Result<Asked, Failure> {
        let found = if let Ok(id) = id_or_key.parse::<ActionId>() {
            self.ledger.action(id).await?
        } else if let Ok(key) = id_or_key.parse() {
            self.ledger.action_by_key(&key).await?
        } else {
            None
        };
        match found {
            Some(record) if record.row.source == source.0.name => Ok(Asked::Own(Box::new(self.tell(&record).await?))),
            Some(_) => Ok(Asked::Foreign),
            None => Ok(Asked::Nothing),
        }
    }

    /// The source's own actions of a request: every step and revision, or one step.
    pub async fn find(
        &self,
        source: &Permitted,
        request_id: &str,
        step: Option<&str>,
    ) -> Result<Vec<SourceAction>, Failure> {
        let mut all = Vec::new();
        for record in self.ledger.actions_of_request(&source.0.name, request_id, step).await? {
            all.push(self.tell(&record).await?);
        }
        Ok(all)
    }

    /// Where the source may propose to, with each contract in plain words.
    pub async fn list_destinations(&self, source: &Permitted) -> Result<Vec<ContractDoc>, Failure> {
        let mut all = Vec::new();
        for name in &source.0.destinations {
            let (record, connector) = match self.destinations.connector(name).await {
                Ok(found) => found,
                Err(e) if e.code == Code::NotFound => continue,
                Err(e) => return Err(e),
            };
            for effect in &source.0.effects {
                all.extend(contracts_in_words(&record, connector.as_ref(), effect));
            }
        }
        Ok(all)
    }

    async fn tell(&self, record: &ActionRecord) -> Result<SourceAction, Failure> {
        let filing = self.ledger.filing(record.id()).await?;
        let destination = self.ledger.destination(&record.row.destination).await?.filter(|d| d.removed_at.is_none());
        let prospect = self.destinations.prospect(&record.row, record.first_crossed, destination.as_ref());
        let in_doubt = matches!(record.state(), State::Unknown | State::ClosedUnknown);
        let repeated = if in_doubt { repeated(&self.ledger.detail(record.id()).await?.attempts) } else { Vec::new() };
        let adopted = may_have_been_sent(&self.ledger, record.id()).await?.is_some();
        let history = History { duplicates: 0, repeated, adopted };
        Ok(source_action(record, &prospect, filing.as_ref(), history, self.clock.now()))
    }
}

/// Whether a delivery was recorded and nothing of it taken.
fn turned_down(answer: &ProposalAnswer) -> bool {
    answer.actions.iter().any(|a| matches!(a.disposition.as_str(), "conflict" | "not_permitted" | "not_taken"))
}

/// Whether it is ours to mend (a locked keychain, a full disk) and no fault of what was handed in, which stays where it is.
fn is_ours(failure: &Failure) -> bool {
    matches!(failure.code, Code::Internal | Code::Locked | Code::Frozen | Code::Integrity)
}

fn rate() -> Rate {
    RateLimiter::hashmap(Quota::per_minute(PER_MINUTE).allow_burst(PER_MINUTE))
}

/// How a token is stored and looked up: 64 hex digits of its SHA-256.
pub(crate) fn token_hash(token: &str) -> String {
    hex::encode(sha256(token.as_bytes()))
}

fn answer(one: &ReceivedAction) -> ProposalActionAnswer {
    ProposalActionAnswer {
        step: one.step.clone(),
        id: one.action.map(|id| id.to_string()),
        key: one.key.as_ref().map(key_doc),
        idempotency_key: one.idempotency_key.as_ref().map(|k| k.to_string()),
        disposition: one.disposition.name().to_owned(),
        state: one.state.map(|s| s.name().to_owned()),
        payload_hash: one.payload_hash.map(|h| h.to_string()),
        payload_version: one.payload_version,
        reason: one.reason.clone(),
    }
}
