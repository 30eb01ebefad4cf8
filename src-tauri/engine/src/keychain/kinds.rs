//! What goes in and out of the secrets store.

use super::SANDBOX;
use crate::failure::Failure;
use countersign_domain::{DeviceCert, LedgerSecret, Roster};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::{Arc, Mutex};
use zeroize::Zeroizing;

/// Which store a home was made with. As text: `keychain` or `file:PATH`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretsChoice {
    Keychain,
    File(PathBuf),
    /// This process only: tests, drills and the throw-away home of `demo`. Has no text form.
    Memory(MemoryStore),
}

impl FromStr for SecretsChoice {
    type Err = Failure;
    fn from_str(text: &str) -> Result<Self, Failure> {
        match text.split_once(':') {
            None if text == "keychain" => Ok(SecretsChoice::Keychain),
            Some(("file", path)) if !path.is_empty() => std::path::absolute(path)
                .map(SecretsChoice::File)
                .map_err(|e| Failure::bad_input("secrets", format!("`{path}` cannot be used: {e}"))),
            _ => Err(Failure::bad_input("secrets", format!("`{text}` is neither `keychain` nor `file:PATH`"))),
        }
    }
}

impl fmt::Display for SecretsChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SecretsChoice::Keychain => f.write_str("keychain"),
            SecretsChoice::File(path) => write!(f, "file:{}", path.display()),
            SecretsChoice::Memory(_) => f.write_str("memory"),
        }
    }
}

/// Secrets of one process, shared by whoever holds a clone.
#[derive(Clone, Default)]
pub struct MemoryStore(Arc<Mutex<BTreeMap<String, Vec<u8>>>>);

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MemoryStore(…)")
    }
}
impl PartialEq for MemoryStore {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
impl Eq for MemoryStore {}

impl MemoryStore {
    pub(super) fn map(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Vec<u8>>> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// The ledger's head as it was last known outside the ledger (R27).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anchor {
    pub ledger_id: String,
    pub seq: i64,
    /// 64 lower-case hex digits: the hash of that journal row.
    pub hash: String,
    /// Digest of this machine and the home's folder: a copied or moved home shows.
    pub place: String,
}

impl Anchor {
    /// Whether this one may be replaced by raising it to `other`: the same ledger in the same place, further on.
    pub(super) fn may_rise_to(&self, other: &Anchor) -> bool {
        self.ledger_id == other.ledger_id && self.place == other.place && self.seq < other.seq
    }
}

/// What is read from the store once per process.
#[derive(Clone, Debug)]
pub struct Pinned {
    pub secret: LedgerSecret,
    pub(super) owner: String,
    pub(super) sandbox_owner: String,
}

impl Pinned {
    /// Who may approve, by the pinned owner keys: one for the sandbox, another for everything else, so that the sandbox's
    /// bare key is worth nothing in live.
    pub fn roster(&self, certs: &[DeviceCert]) -> Roster {
        Roster::pinned(&self.owner, &[(SANDBOX, &self.sandbox_owner)], certs)
    }
}

/// A login's secret as it was typed: a password or token. Never shown.
#[derive(Clone)]
pub struct LoginSecret(Zeroizing<String>);

impl LoginSecret {
    pub fn new(text: impl Into<String>) -> LoginSecret {
        LoginSecret(Zeroizing::new(text.into()))
    }
    pub fn expose(&self) -> &str {
        &self.0
    }
}
impl fmt::Debug for LoginSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LoginSecret(…)")
    }
}
