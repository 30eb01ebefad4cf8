//! What a person does: read, edit, approve, undo, reject, settle, revise; and what they set up.
//!
//! | file | what lives there |
//! |---|---|
//! | `document`, `words` | one action as the document of interfaces.md; offers, what comes next, contracts in words |
//! | `lists`, `export` | pages, search, counts, the overview; the record as a file |
//! | `insights` | counts over a range of time; the bytes of one action |
//! | `risks`, `follows`, `records` | findings, and what was cleared; the record at a CRM |
//! | `decide` | edit, approve and the other decisions |
//! | `files`, `preferences`, `snippets` | files a person attaches; what they set, backup, retention; canned texts |
//! | `set_up`, `forms`, `outcomes` | destinations, sources, sending; destinations as the window sets them up; where a source is told of outcomes |

mod decide;
mod document;
mod export;
mod files;
mod follows;
mod forms;
mod insights;
mod later;
mod lists;
mod outcomes;
mod preferences;
mod records;
mod risks;
mod set_up;
mod snippets;
mod words;

pub use document::sanitise;
pub(crate) use document::{History, key_doc, repeated, source_action};
pub use export::{Export, Format};
pub use lists::{View, no_home};
pub use outcomes::{NewOutcomeHook, OutcomeCallDoc, OutcomeHookDoc};
pub use set_up::{NewSource, NotTaken, RefusedTry};
pub(crate) use words::{contract_in_words, contracts_in_words, holds_up, recognised_until};

use crate::core::Core;
use crate::destinations::Reached;
use crate::failure::Failure;
use crate::home::LIVE;
use crate::keychain::{Passphrase, Presence, SANDBOX, Signer};
use crate::run::Dispatcher;
use crate::settings::{is_on, sending_key};
use crate::view::{ActionDoc, FindingDoc};
use countersign_domain::{ActionId, ActionKey, Payload, State, Timestamp};
use countersign_ledger::{ActionRecord, Detail, Ledger, PageFilter};
use document::Beside;
use risks::adopted_before;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use words::Scene;

/// The functions of a person. Cheap to clone; clones share what is unlocked and which environment is shown.
#[derive(Clone, Debug)]
pub struct Desk {
    core: Core,
    presence: Arc<Mutex<Option<Presence>>>,
    shown: Arc<Mutex<Option<String>>>,
    dispatches: Arc<AtomicBool>,
    attached: files::Attached,
}

impl Desk {
    pub fn new(core: Core) -> Desk {
        Desk {
            core,
            presence: Arc::default(),
            shown: Arc::default(),
            dispatches: Arc::default(),
            attached: files::Attached::default(),
        }
    }

    pub fn core(&self) -> &Core {
        &self.core
    }
    fn ledger(&self) -> &Ledger {
        &self.core.ledger
    }
    fn now(&self) -> Timestamp {
        self.core.clock.now()
    }

    /// Told by the process that holds the dispatcher lock, so that it does not take itself for another one.
    pub fn set_dispatches_here(&self, here: bool) {
        self.dispatches.store(here, Ordering::Relaxed);
    }
    fn dispatches_here(&self) -> bool {
        self.dispatches.load(Ordering::Relaxed)
    }

    /// Takes the passphrase; decisions in live are possible until [`Desk::lock`].
    pub async fn unlock(&self, passphrase: Option<&Passphrase>) -> Result<(), Failure> {
        let presence = self.core.unlock(passphrase).await?;
        *self.presence.lock().unwrap_or_else(PoisonError::into_inner) = Some(presence);
        Ok(())
    }

    pub fn lock(&self) {
        *self.presence.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Proof that a person is there, if it was given.
    pub fn presence(&self) -> Option<Presence> {
        self.presence.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The key that signs a decision of an environment.
    async fn signer(&self, environment: &str) -> Result<Signer, Failure> {
        let presence = self.presence_for(environment).await?;
        self.core.signer(environment, presence.as_ref()).await
    }

    /// The presence a decision of this environment needs. A home without a passphrase grants it in its window; where none
    /// is to be had the refusal says why.
    async fn presence_for(&self, environment: &str) -> Result<Option<Presence>, Failure> {
        match self.presence() {
            None if environment != SANDBOX => self.core.unlock(None).await.map(Some),
            given => Ok(given),
        }
    }

    /// Whether a person may have something handed over now: in live the key must be open, as for an approval.
    async fn deciding(&self, environment: &str, id: ActionId) -> Result<(), Failure> {
        self.signer(environment).await.map(drop).map_err(|e| e.on(id))
    }

    /// Lifts a freeze. With `adopt` a ledger that was restored, copied or rolled back is taken over. Needs presence.
    ///
    /// # Errors
    /// Locked without presence; conflict where nothing is frozen, or where adopting was needed and not said.
    pub async fn unfreeze(&self, adopt: bool) -> Result<(), Failure> {
        let presence =
            self.presence_for(LIVE).await?.ok_or_else(|| Failure::locked("lifting a freeze needs the key"))?;
        self.core.unfreeze(adopt, &self.core.owner, &presence).await.map(drop)
    }

    /// An action by number, idempotency key or canonical key.
    pub async fn resolve_id(&self, text: &str) -> Result<ActionId, Failure> {
        if let Ok(id) = text.parse::<ActionId>() {
            return match self.ledger().action(id).await? {
                Some(_) => Ok(id),
                None => Err(no_action(text)),
            };
        }
        if let Ok(key) = text.parse() {
            return self.ledger().action_by_key(&key).await?.map(|r| r.id()).ok_or_else(|| no_action(text));
        }
        match canonical_key(text) {
            Some(key) => {
                let secret = self.core.ledger_secret().await?;
                let derived = key.idempotency_key(&secret);
                self.ledger().action_by_key(&derived).await?.map(|r| r.id()).ok_or_else(|| no_action(text))
            }
            None => Err(no_action(text)),
        }
    }

    /// Which environment an action belongs to.
    pub async fn environment_of(&self, id: ActionId) -> Result<String, Failure> {
        Ok(self.record(id).await?.row.environment)
    }

    /// Where an action stands.
    pub async fn state_of(&self, id: ActionId) -> Result<State, Failure> {
        Ok(self.record(id).await?.state())
    }

    /// All actions whose outcome is unknown, oldest first.
    pub async fn unknown(&self) -> Result<Vec<ActionId>, Failure> {
        let filter = PageFilter { environment: None, states: vec![State::Unknown], oldest_first: true };
        let mut ids = Vec::new();
        let mut after = None;
        loop {
            let page = self.ledger().page(&filter, after, 200).await?;
            ids.extend(page.rows.iter().map(|row| row.id));
            match page.next {
                Some(next) => after = Some(next),
                None => return Ok(ids),
            }
        }
    }

    /// The action document.
    pub async fn action(&self, id: ActionId) -> Result<ActionDoc, Failure> {
        let detail = self.ledger().detail(id).await?;
        self.document(&detail).await
    }

    /// Asks the destination now what became of an unknown action. Needs the process that dispatches.
    pub async fn ask_now(&self, dispatcher: &Dispatcher, id: ActionId) -> Result<ActionDoc, Failure> {
        dispatcher.ask_now(id).await?;
        self.action(id).await
    }

    /// Finishes an unknown action under the same key, inside the time the destination keeps it.
    pub async fn finish(&self, dispatcher: &Dispatcher, id: ActionId) -> Result<ActionDoc, Failure> {
        self.deciding(&self.environment_of(id).await?, id).await?;
        dispatcher.finish(id).await?;
        self.action(id).await
    }

    /// Files the copy in Sent of an accepted action from the stored bytes; never sends.
    pub async fn file_copy(&self, id: ActionId) -> Result<ActionDoc, Failure> {
        self.core.file_copy(id).await?;
        self.action(id).await
    }

    /// All actions of the same request, in the order of their steps; the newest revision of each.
    pub async fn bundle(&self, id: ActionId) -> Result<Vec<ActionDoc>, Failure> {
        let record = self.record(id).await?;
        let Some(request) = &record.row.request_id else { return Ok(vec![self.action(id).await?]) };
        let all = self.ledger().actions_of_request(&record.row.source, request, None).await?;
        let mut docs = Vec::new();
        for one in all.iter().filter(|one| one.id() == id || one.revised_by.is_none()) {
            let same_place = one.id() != id && one.row.step == record.row.step;
            if one.row.environment == record.row.environment && !same_place {
                docs.push(self.action(one.id()).await?);
            }
        }
        Ok(docs)
    }

    /// The hash this payload would have, without storing anything.
    pub async fn fingerprint(&self, id: ActionId, payload: serde_json::Value) -> Result<String, Failure> {
        let (key, payload, _) = self.as_edited(id, payload).await?;
        Ok(countersign_domain::sealed::payload_hash(&key, &payload).to_string())
    }

    /// The findings this payload would have, without storing anything.
    pub async fn findings(&self, id: ActionId, payload: serde_json::Value) -> Result<Vec<FindingDoc>, Failure> {
        let (_, payload, detail) = self.as_edited(id, payload).await?;
        let around = self.around(&detail, Some(&payload)).await?;
        // Nothing was cleared for a version that does not exist yet.
        self.findings_of(&detail, &payload, detail.record.row.payload_version + 1, &around).await
    }

    async fn as_edited(&self, id: ActionId, value: serde_json::Value) -> Result<(ActionKey, Payload, Detail), Failure> {
        let detail = self.ledger().detail(id).await?;
        let known = self.files_of(&detail);
        let payload = Payload::parse(&detail.record.row.effect, value, &known)
            .map_err(|e| Failure::from(e.within("payload")).on(id))?;
        let key = detail
            .record
            .key
            .clone()
            .ok_or_else(|| Failure::conflict("it has no fingerprint yet: an identity is missing").on(id))?;
        Ok((key, payload, detail))
    }

    async fn record(&self, id: ActionId) -> Result<ActionRecord, Failure> {
        self.ledger().action(id).await?.ok_or_else(|| no_action(&id.to_string()))
    }

    /// The destination's connector with this device's login.
    async fn reach(&self, destination: &str) -> Result<Reached, Failure> {
        Ok(self.core.destinations.reach(destination).await??)
    }

    async fn document(&self, detail: &Detail) -> Result<ActionDoc, Failure> {
        let record = &detail.record;
        let row = &record.row;
        let shown = detail.payloads.iter().rev().find(|p| p.version == row.payload_version);
        let payload = shown.and_then(|p| p.payload.as_ref());
        let around = self.around(detail, payload).await?;
        let findings = match payload {
            Some(payload) => self.findings_of(detail, payload, row.payload_version, &around).await?,
            None => Vec::new(),
        };
        // A destination that was removed or broke has no contract to show; the action is shown all the same.
        let destination = around.destinations.iter().find(|d| d.name == row.destination);
        let connector = destination.and_then(|d| Some((d, self.core.destinations.connect(d).ok()?)));
        let contract = connector.as_ref().and_then(|(_, c)| c.contract(&row.effect));
        let in_words = connector.as_ref().zip(contract).map(|((destination, _), contract)| {
            contract_in_words(&row.destination, &destination.kind, &row.effect, contract)
        });
        let after = match row.after {
            Some(id) => self.ledger().action(id).await?,
            None => None,
        };
        let scene = Scene {
            record,
            contract,
            answer_timeout: connector.as_ref().map(|(_, c)| c.answer_timeout()).unwrap_or_default(),
            after: after.as_ref(),
            beside: match row.standing.state {
                State::Approved => around.beside,
                _ => None,
            },
            filing: detail.filing.as_ref(),
            paused: connector
                .as_ref()
                .and_then(|(destination, _)| destination.paused.as_ref())
                .filter(|paused| paused.lasts(self.now())),
            adopted: adopted_before(&around, detail)?.is_some(),
            attempt_open: detail.attempts.iter().any(|a| a.closed_at.is_none()),
            scheduled: self.scheduled(detail),
            now: self.now(),
        };
        let stored = around.settings.get(&sending_key(&row.environment));
        let sending = is_on(&row.environment, stored.map(String::as_str));
        let checked = risks::checked_of(&around, detail).map_or_else(|| "not_checked".to_owned(), |c| c.result);
        let beside = Beside { scene, findings, contract: in_words, checked, sending };
        Ok(document::action_doc(detail, &self.core.owner.0, beside))
    }
}

fn no_action(text: &str) -> Failure {
    Failure::not_found(format!("there is no action {text}")).at("id")
}

/// `["v1", environment, destination, effect, source, request_id, step, revision]`.
fn canonical_key(text: &str) -> Option<ActionKey> {
    let (version, environment, destination, effect, source, request_id, step, revision) =
        serde_json::from_str::<(String, String, String, String, String, String, String, u32)>(text).ok()?;
    (version == "v1").then_some(ActionKey { environment, destination, effect, source, request_id, step, revision })
}
