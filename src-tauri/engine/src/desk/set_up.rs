//! What a person sets up: destinations, sources, sending.

use super::Desk;
use crate::destinations::{Reached, user_name};
use crate::failure::{Code, Failure};
use crate::home::LIVE;
use crate::intake::SECRET_PREFIX;
use crate::intake::{REFUSED_AT_THE_DOOR, token_hash};
use crate::keychain::{LoginSecret, SANDBOX, random};
use crate::settings::present;
use crate::view::{ContractDoc, DestinationRow, DestinationTest, Overview, ProbeStep, SourceRow};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use countersign_connectors::{Probe, ProbeStatus, SetupCode, SetupError, Whoami, clocks_apart};
use countersign_domain::Timestamp;
use countersign_domain::payload::EFFECTS;
use countersign_ledger::{Conflict, DestinationRecord, LedgerError, SourceRecord};
use serde::Serialize;
use serde_json::json;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;
use ts_rs::TS;

/// What `source add` prints, once.
#[derive(Clone, Serialize, TS)]
#[ts(export)]
pub struct NewSource {
    pub name: String,
    pub token: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub signing_secret: Option<String>,
}

/// One try of a source that was refused before it became a delivery.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RefusedTry {
    pub at: String,
    pub door: String,
    /// The tool that was called, or `token`.
    pub tried: String,
    pub why: String,
}

/// A delivery of which nothing was taken. Of what was handed in it holds the source's own ids only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NotTaken {
    pub delivery: String,
    pub at: String,
    pub event_id: Option<String>,
    pub request_id: Option<String>,
    pub disposition: String,
    pub reason: Option<String>,
}

/// The journal's word for a test message that was handed over.
const TEST_MESSAGE: &str = "test_message";
/// Journal rows read at a time.
const JOURNAL_AT_ONCE: u32 = 1000;

impl std::fmt::Debug for NewSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "NewSource({}, …)", self.name)
    }
}

/// Turns a connector's progress into the window's steps, with how long each took.
pub(super) struct Steps<'p> {
    begun: Mutex<Option<Instant>>,
    done: Mutex<Vec<ProbeStep>>,
    tell: &'p (dyn Fn(&ProbeStep) + Send + Sync),
}

impl<'p> Steps<'p> {
    pub(super) fn new(tell: &'p (dyn Fn(&ProbeStep) + Send + Sync)) -> Steps<'p> {
        Steps { begun: Mutex::default(), done: Mutex::default(), tell }
    }

    pub(super) fn step(&self, probe: Probe) {
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        let state = match probe.status {
            ProbeStatus::Started => {
                *begun = Some(Instant::now());
                "running"
            }
            ProbeStatus::Done => "done",
            ProbeStatus::Failed => "stopped",
        };
        let took = begun.filter(|_| state != "running").map(|at| at.elapsed().as_millis());
        let step = ProbeStep {
            step: probe.step.to_owned(),
            state: state.to_owned(),
            text: probe.text,
            took_ms: took.map(|ms| u32::try_from(ms).unwrap_or(u32::MAX)),
        };
        (self.tell)(&step);
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        done.retain(|s| s.step != step.step);
        done.push(step);
    }

    /// A step of its own where the clocks are apart: the destination may take everything all the same.
    pub(super) fn tell_clock(&self, ahead_seconds: Option<i64>) {
        if let Some(apart) = ahead_seconds.and_then(clocks_apart) {
            let text = format!("Its clock and this computer's are {apart}. Set this computer's clock");
            self.step(Probe { step: "clock", status: ProbeStatus::Done, text });
        }
    }

    pub(super) fn finish(self) -> Vec<ProbeStep> {
        self.done.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

fn tested(name: &str, account: String, whoami: Whoami) -> DestinationTest {
    DestinationTest {
        name: name.to_owned(),
        account,
        steps: Vec::new(),
        sent_folder: whoami.sent_folder,
        size_limit: whoami.size_limit,
        sent: None,
        files_sent_itself: None,
    }
}

fn setup_failure(e: &SetupError) -> Failure {
    let code = match e.code {
        SetupCode::Login => Code::NotPermitted,
        SetupCode::NotPossible => Code::BadInput,
        SetupCode::Unclear => Code::Unknown,
        SetupCode::Unreachable | SetupCode::Tls | SetupCode::Protocol | SetupCode::Timeout => Code::Refused,
    };
    Failure::new(code, e.text.clone()).at(e.step)
}

impl Desk {
    pub(super) async fn present(&self, environment: &str, what: &str) -> Result<(), Failure> {
        present(environment, self.presence_for(environment).await?.as_ref(), what)
    }

    /// Adds a destination from its file. `secret`: the password or token, which is never in the file.
    ///
    /// # Errors
    /// Bad input with the key's path; conflict for a name that was used before and for an account that is already set up.
    pub async fn add_destination(
        &self,
        toml_text: &str,
        base_dir: &Path,
        secret: &LoginSecret,
    ) -> Result<DestinationRow, Failure> {
        let (config, mut record) = self.core.destinations.describe(toml_text, base_dir)?;
        if config.undo_seconds.is_none() {
            record.undo_seconds = self.core.settings.undo_seconds().await?;
        }
        self.environment_exists(&record.environment)?;
        self.present(&record.environment, "adding a destination").await?;
        self.store_destination(record, secret).await
    }

    pub(crate) async fn store_destination(
        &self,
        record: DestinationRecord,
        secret: &LoginSecret,
    ) -> Result<DestinationRow, Failure> {
        if self.ledger().destination(&record.name).await?.is_some() {
            return Err(Failure::from(LedgerError::from(Conflict::NameTaken { name: record.name })).at("name"));
        }
        // The login first: a row without one could be approved for and never be sent to.
        self.core.destinations.keep_login(&record, secret).await?;
        if let Err(e) = self.ledger().add_destination(&record, &self.core.owner, self.now()).await {
            // Where somebody else took the name meanwhile, the login belongs to that row.
            if !matches!(e, LedgerError::Conflict(Conflict::NameTaken { .. })) {
                self.core.destinations.put_back_login(&record, secret).await?;
            }
            return Err(e.into());
        }
        Ok(self.destination_row(&record))
    }

    /// # Errors
    /// Bad input for anything but `live` and, where the home was made with it, `sandbox`.
    pub fn environment_exists(&self, environment: &str) -> Result<(), Failure> {
        let bad = |why: String| Err(Failure::bad_input("environment", why));
        match environment {
            LIVE => Ok(()),
            SANDBOX if self.core.config.sandbox => Ok(()),
            SANDBOX => bad("this home was made without the sandbox environment (`init --sandbox`)".into()),
            other => bad(format!("there is no environment `{other}`; they are: {LIVE}, {SANDBOX}")),
        }
    }

    /// Its name is never used again; its login is forgotten.
    pub async fn remove_destination(&self, name: &str) -> Result<(), Failure> {
        let (record, _) = self.existing(name).await?;
        self.present(&record.environment, "removing a destination").await?;
        self.ledger().remove_destination(name, &self.core.owner, self.now()).await?;
        self.core.destinations.forget_login(name).await
    }

    pub(super) async fn existing(&self, name: &str) -> Result<(DestinationRecord, String), Failure> {
        let found = self.ledger().destination(name).await?.filter(|d| d.removed_at.is_none());
        let record = found.ok_or_else(|| Failure::not_found(format!("there is no destination {name}")).at("name"))?;
        let label = record.account_label.clone();
        Ok((record, label))
    }

    /// What it promises, per effect, in plain words.
    pub async fn contract(&self, name: &str) -> Result<Vec<ContractDoc>, Failure> {
        let (record, _) = self.existing(name).await?;
        self.core.destinations.connect(&record)?;
        Ok(self.destination_row(&record).contracts)
    }

    /// Connects and logs in, step by step; with `send_to` also sends one test message and learns whether the provider
    /// files the Sent copy itself. A success takes a paused destination up again.
    pub async fn test_destination(
        &self,
        name: &str,
        send_to: Option<&str>,
        tell: &(dyn Fn(&ProbeStep) + Send + Sync),
    ) -> Result<DestinationTest, Failure> {
        let (mut record, account) = self.existing(name).await?;
        if send_to.is_some() {
            self.present(&record.environment, "sending a test message").await?;
        }
        let steps = Steps::new(tell);
        let (place, whoami) = self.check_signed_in(self.reach(name).await?, &steps).await?;
        self.core.saw_clock(name, whoami.ahead_seconds);
        steps.tell_clock(whoami.ahead_seconds);
        let now = self.now();
        self.go_on(&record).await?;
        self.core.destinations.note_worked(name).await?;
        let mut test = tested(name, account, whoami);
        if let Some(to) = send_to {
            let nonce = hex::encode(random::<16>()?);
            let sent = place.connector.test_send(&place.login, to, &nonce, now, &|p| steps.step(p)).await;
            let outcome = match &sent {
                Ok(_) => "accepted",
                Err(e) if e.code == SetupCode::Unclear => "unknown",
                Err(_) => "not_sent",
            };
            // No action of anybody, and yet something may have left: it is in the record, without the address.
            let details = json!({ "destination": name, "outcome": outcome });
            self.ledger().note(TEST_MESSAGE, details, &self.core.owner.0, self.now()).await?;
            let sent = sent.map_err(|e| setup_failure(&e))?;
            if let Some(files) = sent.files_sent_itself {
                record.config["files_sent_itself"] = files.into();
                self.ledger().update_destination(&record, &self.core.owner, now).await?;
            }
            test.sent = Some(sent.answer);
            test.files_sent_itself = sent.files_sent_itself;
        }
        test.steps = steps.finish();
        Ok(test)
    }

    /// Sets up what a destination needs beforehand, once: at HubSpot the unique property.
    pub async fn prepare_destination(
        &self,
        name: &str,
        tell: &(dyn Fn(&ProbeStep) + Send + Sync),
    ) -> Result<Vec<ProbeStep>, Failure> {
        let (record, _) = self.existing(name).await?;
        self.present(&record.environment, "preparing a destination").await?;
        let place = self.reach(name).await?;
        let steps = Steps::new(tell);
        let prepared = place.connector.prepare(&place.login, self.now(), &|p| steps.step(p)).await;
        prepared.map_err(|e| setup_failure(&e))?;
        Ok(steps.finish())
    }

    /// The connection test; where a token was refused that looked good, once more with another one.
    async fn check_signed_in(&self, place: Reached, steps: &Steps<'_>) -> Result<(Reached, Whoami), Failure> {
        let checked = place.connector.check(&place.login, self.now(), &|p| steps.step(p)).await;
        let anew = match &checked {
            Err(e) if e.code == SetupCode::Login => self.core.destinations.reach_anew(&place).await?.transpose()?,
            _ => None,
        };
        match anew {
            None => checked.map(|whoami| (place, whoami)).map_err(|e| setup_failure(&e)),
            Some(anew) => {
                let checked = anew.connector.check(&anew.login, self.now(), &|p| steps.step(p)).await;
                checked.map(|whoami| (anew, whoami)).map_err(|e| setup_failure(&e))
            }
        }
    }

    /// Whether what is handed over for it is a refresh token and perhaps a client's secret.
    pub fn signs_in_by_oauth(&self, record: &DestinationRecord) -> Result<bool, Failure> {
        Ok(self.core.destinations.connect(record)?.oauth().is_some())
    }

    /// A person signs in anew: the secret is tried, takes the place of the one that is kept, and a destination that waited
    /// for it goes on. A password that is not taken changes nothing; a refresh token may be good for one exchange only, so
    /// what came of it is kept also where the test goes wrong.
    pub async fn sign_in(
        &self,
        name: &str,
        secret: &LoginSecret,
        tell: &(dyn Fn(&ProbeStep) + Send + Sync),
    ) -> Result<DestinationTest, Failure> {
        let (record, account) = self.existing(name).await?;
        self.present(&record.environment, "signing in to a destination").await?;
        let connector = self.core.destinations.connect(&record)?;
        let user = user_name(&record)?;
        let secret = &self.core.destinations.completed(name, connector.as_ref(), secret).await?;
        let login = self.core.destinations.try_login(connector.as_ref(), &user, secret).await??;
        let granted = connector.oauth().is_some();
        if granted {
            self.core.destinations.keep_login(&record, secret).await?;
        }
        let steps = Steps::new(tell);
        let whoami = connector.check(&login, self.now(), &|p| steps.step(p)).await.map_err(|e| setup_failure(&e))?;
        self.core.saw_clock(name, whoami.ahead_seconds);
        steps.tell_clock(whoami.ahead_seconds);
        if !granted {
            self.core.destinations.keep_login(&record, secret).await?;
        }
        self.go_on(&record).await?;
        self.core.destinations.note_worked(name).await?;
        Ok(DestinationTest { steps: steps.finish(), ..tested(name, account, whoami) })
    }

    /// What waited for a sign-in or a network goes on. What a person paused, a person lets go on.
    async fn go_on(&self, record: &DestinationRecord) -> Result<(), Failure> {
        Ok(self.ledger().let_go_on(&record.name, self.now()).await?)
    }

    /// Allows a source. Its token is in the answer and nowhere else.
    pub async fn add_source(
        &self,
        name: &str,
        environment: &str,
        effects: &[String],
        destinations: &[String],
        signed: bool,
    ) -> Result<NewSource, Failure> {
        let label = |field: &str, text: &str| {
            let shape = (1..=64).contains(&text.len())
                && text
                    .bytes()
                    .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_' || b == b'.');
            if shape {
                Ok(())
            } else {
                Err(Failure::bad_input(field, "1 to 64 of a-z, 0-9, `-`, `_` and `.` are expected"))
            }
        };
        label("name", name)?;
        self.environment_exists(environment)?;
        if effects.is_empty() || destinations.is_empty() {
            let field = if effects.is_empty() { "effects" } else { "destinations" };
            return Err(Failure::bad_input(field, "at least one is needed"));
        }
        for effect in effects {
            if !EFFECTS.contains(&effect.as_str()) {
                let known = EFFECTS.join(", ");
                return Err(Failure::bad_input("effects", format!("`{effect}` is not an effect; they are: {known}")));
            }
        }
        for destination in destinations {
            let found = self.ledger().destination(destination).await?.filter(|d| d.removed_at.is_none());
            if found.is_none_or(|d| d.environment != environment) {
                let why = format!("there is no destination {destination} in {environment}");
                return Err(Failure::bad_input("destinations", why));
            }
        }
        self.present(environment, "adding a source").await?;
        if self.ledger().source(name).await?.is_some() {
            return Err(Failure::from(LedgerError::from(Conflict::NameTaken { name: name.to_owned() })).at("name"));
        }
        let token = format!("cs_{}", URL_SAFE_NO_PAD.encode(random::<32>()?));
        let signing_secret = match signed {
            true => Some(format!("{SECRET_PREFIX}{}", STANDARD.encode(random::<32>()?))),
            false => None,
        };
        if let Some(secret) = &signing_secret {
            self.core.keychain.put_source_secret(name, &LoginSecret::new(secret.clone())).await?;
        }
        let record = SourceRecord {
            name: name.to_owned(),
            environment: environment.to_owned(),
            effects: effects.to_vec(),
            destinations: destinations.to_vec(),
            token_hash: token_hash(&token),
            signed,
            created_at: self.now(),
            revoked_at: None,
        };
        self.ledger().add_source(&record, &self.core.owner, self.now()).await?;
        Ok(NewSource { name: name.to_owned(), token, signing_secret })
    }

    /// What a source tried and was refused, newest first. From the journal, which holds nothing of what was handed in.
    pub async fn refusals(&self, name: &str) -> Result<Vec<RefusedTry>, Failure> {
        if self.ledger().source(name).await?.is_none() {
            return Err(Failure::not_found(format!("there is no source {name}")).at("name"));
        }
        let (mut found, mut after) = (Vec::new(), 0);
        loop {
            let rows = self.ledger().journal_after(after, JOURNAL_AT_ONCE).await?;
            let Some(last) = rows.last() else { break };
            after = last.entry.seq;
            for row in rows.iter().filter(|row| row.kind == REFUSED_AT_THE_DOOR) {
                let details = &row.entry.fact["details"];
                let text = |name: &str| details[name].as_str().unwrap_or_default().to_owned();
                if text("source") == name {
                    let at = Timestamp::from_millis(row.entry.at).to_string();
                    found.push(RefusedTry { at, door: text("door"), tried: text("tried"), why: text("why") });
                }
            }
        }
        found.reverse();
        Ok(found)
    }

    /// Deliveries of a source of which nothing was taken, newest first: a conflict or something it may not do.
    pub async fn not_taken_from(&self, name: &str) -> Result<Vec<NotTaken>, Failure> {
        let all = self.ledger().not_taken_from(name).await?.into_iter();
        Ok(all
            .map(|d| NotTaken {
                delivery: d.id.to_string(),
                at: d.at.to_string(),
                event_id: d.event_id,
                request_id: d.request_id,
                disposition: d.disposition,
                reason: d.reason,
            })
            .collect())
    }

    pub async fn sources(&self) -> Result<Vec<SourceRow>, Failure> {
        let all = self.ledger().sources().await?;
        Ok(all
            .into_iter()
            .map(|s| SourceRow {
                name: s.name,
                environment: s.environment,
                effects: s.effects,
                destinations: s.destinations,
                signed: s.signed,
                created_at: s.created_at.to_string(),
                revoked_at: s.revoked_at.map(|t| t.to_string()),
            })
            .collect())
    }

    /// Its token stops working at once. Needs nobody's presence: it only takes rights away.
    pub async fn revoke_source(&self, name: &str) -> Result<(), Failure> {
        match self.ledger().source(name).await? {
            None => return Err(Failure::not_found(format!("there is no source {name}")).at("name")),
            Some(source) if source.revoked_at.is_some() => {
                return Err(Failure::conflict(format!("the source {name} was revoked already")).at("name"));
            }
            Some(_) => {}
        }
        self.ledger().revoke_source(name, &self.core.owner, self.now()).await?;
        self.core.keychain.remove_source_secret(name).await?;
        match self.ledger().outcome_hook(name).await? {
            Some(_) => self.remove_outcome_hook(name).await,
            None => Ok(()),
        }
    }

    /// The switch of the environment that is shown.
    pub async fn sending(&self, on: bool) -> Result<Overview, Failure> {
        let environment = self.environment().await?;
        self.set_sending(&environment, on).await?;
        self.overview().await
    }

    /// The switch of an environment. On needs presence in live; off is also the kill switch.
    pub async fn set_sending(&self, environment: &str, on: bool) -> Result<(), Failure> {
        self.environment_exists(environment)?;
        let presence = if on { self.presence_for(environment).await? } else { None };
        self.core.settings.set_sending(environment, on, &self.core.owner, presence.as_ref(), self.now()).await
    }

    /// Whether actions of live go out.
    pub async fn sends_live(&self) -> Result<bool, Failure> {
        self.core.settings.sending(LIVE).await
    }
}
