//! From a destination's row to its connector and login.
//!
//! The row's `config` is the destination file as JSON under `file`, with the folder that a relative `ca_file` is relative
//! to; what was learnt from a test message lies beside it. The secret is in the keychain; a sign-in is renewed on the way.

use crate::clock::Clock;
use crate::desk::{holds_up, recognised_until};
use crate::failure::Failure;
use crate::home::Home;
use crate::keychain::{Keychain, LoginSecret};
use crate::logins::{Logins, NoLogin, Signed};
use countersign_connectors::{Connector, DestinationConfig, Learned, Login, connect, parse};
use countersign_domain::{AccountFingerprint, State, Timestamp};
use countersign_ledger::{DestinationRecord, Ledger, Paused, RowRecord};
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// What the `config` column holds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredConfig {
    /// The destination file.
    pub file: toml::Table,
    /// Absolute.
    pub base_dir: PathBuf,
    /// Learnt from a test message; None: not known yet.
    #[serde(default)]
    pub files_sent_itself: Option<bool>,
    /// The sandbox's own servers, which listen elsewhere at each start.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub embedded: bool,
}

/// Connectors of this ledger, made when first asked for.
#[derive(Clone)]
pub struct Destinations {
    ledger: Ledger,
    keychain: Keychain,
    home: Home,
    clock: Clock,
    sign_ins: Logins,
    known: Arc<Mutex<HashMap<String, Known>>>,
    logins: Arc<Mutex<HashSet<String>>>,
    /// Which ones worked as long as this process runs; the setting beside it outlives it.
    worked: Arc<Mutex<HashSet<String>>>,
    /// Accounts that a form was tested with before it was stored.
    probed: Arc<Mutex<HashSet<String>>>,
}

/// Under which setting it is noted that a destination worked once: a test succeeded, or something was accepted.
fn worked_key(name: &str) -> String {
    format!("worked/{name}")
}

#[derive(Clone)]
struct Known {
    record: DestinationRecord,
    ports: Option<(u16, u16)>,
    connector: Arc<dyn Connector>,
}

impl fmt::Debug for Destinations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Destinations")
    }
}

/// What is to be expected of an action by itself.
#[derive(Clone, Debug)]
pub(crate) struct Prospect {
    /// Whether an unknown outcome comes to be known by asking or repeating.
    pub(crate) asked: bool,
    /// What keeps it from going on.
    pub(crate) paused: Option<Paused>,
    /// Until when a repeat is recognised.
    pub(crate) recognised_until: Option<Timestamp>,
}

impl Default for Prospect {
    fn default() -> Prospect {
        Prospect { asked: true, paused: None, recognised_until: None }
    }
}

/// A destination that can be spoken to.
#[derive(Clone)]
pub struct Reached {
    pub record: DestinationRecord,
    pub connector: Arc<dyn Connector>,
    pub login: Login,
}

impl Destinations {
    pub(crate) fn new(ledger: Ledger, keychain: Keychain, home: Home, clock: Clock) -> Destinations {
        let sign_ins = Logins::new(keychain.clone(), home.clone(), clock.clone());
        let (known, logins, worked, probed) = (Arc::default(), Arc::default(), Arc::default(), Arc::default());
        Destinations { ledger, keychain, home, clock, sign_ins, known, logins, worked, probed }
    }

    /// Reads a destination file and makes the row of it. Nothing is stored; errors name the field.
    pub fn describe(
        &self,
        toml_text: &str,
        base_dir: &Path,
    ) -> Result<(DestinationConfig, DestinationRecord), Failure> {
        // What is wrong with the text as a whole has no field of its own: the file is what was handed in.
        let config = parse(toml_text).map_err(|e| match e.field.as_str() {
            "" => Failure::bad_input("file", e.reason),
            _ => e.into(),
        })?;
        let base_dir = std::path::absolute(base_dir).map_err(|e| Failure::bad_input("ca_file", e.to_string()))?;
        let file: toml::Table = toml_text.parse().map_err(|_| Failure::bad_input("file", "not valid TOML"))?;
        let connector = connect(&config, &base_dir, &Learned::default())?;
        let stored = StoredConfig { file, base_dir, files_sent_itself: None, embedded: false };
        let record = DestinationRecord {
            name: config.name.clone(),
            kind: config.kind.to_owned(),
            environment: config.environment.clone(),
            account: connector.account(),
            account_label: connector.account_text(),
            config: serde_json::to_value(&stored).map_err(|e| Failure::internal(e.to_string()))?,
            undo_seconds: config.undo_seconds.unwrap_or(crate::settings::UNDO_SECONDS),
            created_at: self.clock.now(),
            removed_at: None,
            paused: None,
        };
        Ok((config, record))
    }

    /// The connector of a destination that was added.
    pub async fn connector(&self, name: &str) -> Result<(DestinationRecord, Arc<dyn Connector>), Failure> {
        let record = self
            .ledger
            .destination(name)
            .await?
            .filter(|d| d.removed_at.is_none())
            .ok_or_else(|| Failure::not_found(format!("there is no destination {name}")))?;
        let connector = self.connect(&record)?;
        Ok((record, connector))
    }

    /// The connector that was made last for a destination, without a look at its row.
    pub(crate) fn made(&self, name: &str) -> Option<Arc<dyn Connector>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(name).map(|known| known.connector.clone())
    }

    /// What is to be expected of an action by itself. `record`: its destination, None where it was removed.
    pub(crate) fn prospect(
        &self,
        row: &RowRecord,
        first_crossed: Option<Timestamp>,
        record: Option<&DestinationRecord>,
    ) -> Prospect {
        let unknown = matches!(row.standing.state, State::Unknown | State::ClosedUnknown);
        if !unknown && row.standing.state != State::Approved {
            return Prospect::default();
        }
        let now = self.clock.now();
        let paused = record.and_then(|d| d.paused.as_ref()).filter(|paused| paused.lasts(now));
        let connector = record.filter(|_| unknown).and_then(|record| self.connect(record).ok());
        // Of one that cannot be used any more the next look will say so.
        let Some(contract) = connector.as_ref().and_then(|c| c.contract(&row.effect)) else {
            return Prospect { paused: paused.filter(|_| !unknown).cloned(), ..Prospect::default() };
        };
        Prospect {
            asked: contract.can_look() || contract.recognises_repeat(),
            paused: paused.filter(|paused| holds_up(contract, paused)).cloned(),
            recognised_until: recognised_until(contract, first_crossed),
        }
    }

    /// The connector with a login that is good now. The inner error: why there is none; nothing is the matter with the
    /// program then.
    pub async fn reach(&self, name: &str) -> Signed<Reached> {
        let (record, _) = self.connector(name).await?;
        self.reach_row(record).await
    }

    /// The same of a row that was just read.
    pub(crate) async fn reach_row(&self, record: DestinationRecord) -> Signed<Reached> {
        let connector = self.connect(&record)?;
        let user = user_name(&record)?;
        let login = self.sign_ins.login(&record.name, &user, connector.oauth()).await?;
        Ok(login.map(|login| Reached { record, connector, login }))
    }

    /// The same with another login, after the destination refused this one although it looked good. None where there is no
    /// other: what was typed stays what it is.
    pub(crate) async fn reach_anew(&self, refused: &Reached) -> Result<Option<Result<Reached, NoLogin>>, Failure> {
        let Some(oauth) = refused.connector.oauth() else { return Ok(None) };
        let login = self.sign_ins.instead(&refused.record.name, &refused.login, oauth).await?;
        Ok(Some(login.map(|login| Reached { login, ..refused.clone() })))
    }

    /// Signs in with a destination as it was typed. Nothing is kept.
    pub(crate) async fn try_login(&self, connector: &dyn Connector, user: &str, secret: &LoginSecret) -> Signed<Login> {
        match connector.oauth() {
            None => Ok(Ok(Login::new(user, secret.expose()))),
            Some(oauth) => self.sign_ins.try_out(oauth, user, secret).await,
        }
    }

    /// What is handed over by a person who signs in anew, with what is kept beside it.
    pub(crate) async fn completed(
        &self,
        name: &str,
        connector: &dyn Connector,
        secret: &LoginSecret,
    ) -> Result<LoginSecret, Failure> {
        match connector.oauth() {
            None => usable(connector, secret).map(|()| secret.clone()),
            Some(_) => self.sign_ins.completed(name, secret).await,
        }
    }

    /// Keeps the secret of a destination as it was handed over: a password, a token, or a refresh token and on a second line
    /// the client's secret.
    pub(crate) async fn keep_login(&self, record: &DestinationRecord, secret: &LoginSecret) -> Result<(), Failure> {
        let connector = self.connect(record)?;
        if connector.oauth().is_none() {
            usable(connector.as_ref(), secret)?;
        }
        self.sign_ins.keep(&record.name, connector.oauth(), secret).await
    }

    /// Waits for renewals of sign-ins that nobody waits for any more.
    pub(crate) async fn settled(&self) {
        self.sign_ins.settled().await;
    }

    /// Takes back what was kept for a destination that was not added after all.
    pub(crate) async fn put_back_login(&self, record: &DestinationRecord, secret: &LoginSecret) -> Result<(), Failure> {
        let connector = self.connect(record)?;
        self.sign_ins.put_back(&record.name, connector.oauth(), secret).await
    }

    pub(crate) async fn forget_login(&self, name: &str) -> Result<(), Failure> {
        self.sign_ins.forget(name).await
    }

    /// Notes that it worked, once ever.
    pub(crate) async fn note_worked(&self, name: &str) -> Result<(), Failure> {
        let first = self.worked.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned());
        if first && !self.has_worked(name).await? {
            let now = self.clock.now();
            self.ledger.set_setting(&worked_key(name), &now.to_string(), "worker", now).await?;
        }
        Ok(())
    }

    /// A test of what is only typed yet succeeded.
    pub(crate) fn probed(&self, account: &AccountFingerprint) {
        self.probed.lock().unwrap_or_else(PoisonError::into_inner).insert(account.to_string());
    }

    pub(crate) fn was_probed(&self, account: &AccountFingerprint) -> bool {
        self.probed.lock().unwrap_or_else(PoisonError::into_inner).contains(&account.to_string())
    }

    /// Whether it was ever seen to work.
    pub(crate) async fn has_worked(&self, name: &str) -> Result<bool, Failure> {
        Ok(self.ledger.setting(&worked_key(name)).await?.is_some())
    }

    /// Whether this device can send to it now: it is not paused, and there is a login.
    pub(crate) async fn is_reachable(&self, record: &DestinationRecord) -> Result<bool, Failure> {
        let now = self.clock.now();
        let paused = record.paused.as_ref().is_some_and(|p| p.until.is_none_or(|until| now < until));
        Ok(!paused && self.has_login(&record.name).await?)
    }

    /// Whether this device holds a login. Remembered once it does: the secret itself is read anew for every attempt.
    async fn has_login(&self, name: &str) -> Result<bool, Failure> {
        let seen =
            |logins: &Mutex<HashSet<String>>| logins.lock().unwrap_or_else(PoisonError::into_inner).contains(name);
        if seen(&self.logins) {
            return Ok(true);
        }
        let held = self.keychain.login(name).await?.is_some();
        if held {
            self.logins.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned());
        }
        Ok(held)
    }

    /// Makes the connector of a row, or takes the one made before.
    pub fn connect(&self, record: &DestinationRecord) -> Result<Arc<dyn Connector>, Failure> {
        let ports = self.sandbox_ports(record);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(have) = known.get(&record.name)
            && have.record.config == record.config
            && have.ports == ports
        {
            return Ok(have.connector.clone());
        }
        let stored = stored(record)?;
        let text = toml::to_string(&stored.file).map_err(|e| Failure::internal(e.to_string()))?;
        let learned = Learned { files_sent_itself: stored.files_sent_itself, sandbox_ports: ports };
        let connector: Arc<dyn Connector> = connect(&parse(&text)?, &stored.base_dir, &learned)?.into();
        if connector.account() != record.account {
            return Err(Failure::integrity(format!("the account of {} is not the one it was added with", record.name)));
        }
        let entry = Known { record: record.clone(), ports, connector: connector.clone() };
        known.insert(record.name.clone(), entry);
        Ok(connector)
    }

    /// Where the embedded servers listen today; their files name the ports of the day they were made.
    fn sandbox_ports(&self, record: &DestinationRecord) -> Option<(u16, u16)> {
        if record.config.get("embedded") != Some(&serde_json::Value::Bool(true)) {
            return None;
        }
        let running = countersign_sandbox::Running::find(&self.home.sandbox()).ok().flatten()?;
        Some((running.smtp.port(), running.imap.port()))
    }
}

/// A secret whose form says that it is none is refused before anything is kept or sent.
fn usable(connector: &dyn Connector, secret: &LoginSecret) -> Result<(), Failure> {
    connector.takes_secret(secret.expose()).map_err(|why| Failure::bad_input("secret", why))
}

pub(crate) fn stored(record: &DestinationRecord) -> Result<StoredConfig, Failure> {
    serde_json::from_value(record.config.clone())
        .map_err(|_| Failure::integrity(format!("the configuration of {} cannot be read", record.name)))
}

/// As the file names it; empty where it names none.
pub(crate) fn user_name(record: &DestinationRecord) -> Result<String, Failure> {
    let file = stored(record)?.file;
    let table = file.get(&record.kind).and_then(|table| table.get("username"));
    Ok(table.and_then(toml::Value::as_str).unwrap_or_default().to_owned())
}
