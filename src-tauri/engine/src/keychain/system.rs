//! The system keychain, through `keyring`. Blocking: it may ask the person to unlock it.

use crate::failure::{Code, Failure};
use zeroize::Zeroizing;

const SERVICE: &str = "countersign";

/// Entries of one ledger in the system keychain.
#[derive(Clone, Debug)]
pub struct SystemStore {
    ledger_id: String,
}

impl SystemStore {
    pub(super) fn new(ledger_id: &str) -> SystemStore {
        SystemStore { ledger_id: ledger_id.to_owned() }
    }

    fn entry(&self, name: &str) -> Result<keyring::Entry, Failure> {
        keyring::Entry::new(SERVICE, &format!("{}/{name}", self.ledger_id)).map_err(|e| failure(&e))
    }

    pub(super) fn get(&self, name: &str) -> Result<Option<Zeroizing<Vec<u8>>>, Failure> {
        match self.entry(name)?.get_secret() {
            Ok(bytes) => Ok(Some(Zeroizing::new(bytes))),
            Err(keyring::Error::NoEntry) => Ok(None),
            Err(e) => Err(failure(&e)),
        }
    }

    pub(super) fn set(&self, name: &str, bytes: &[u8]) -> Result<(), Failure> {
        self.entry(name)?.set_secret(bytes).map_err(|e| failure(&e))
    }

    pub(super) fn delete(&self, name: &str) -> Result<(), Failure> {
        match self.entry(name)?.delete_credential() {
            Ok(()) | Err(keyring::Error::NoEntry) => Ok(()),
            Err(e) => Err(failure(&e)),
        }
    }
}

/// Says what is the matter and what can be done. Never falls back by itself.
fn failure(e: &keyring::Error) -> Failure {
    let alternative =
        "or choose the encrypted file: --secrets file:PATH with --passphrase-fd (a new home remembers it)";
    let message = match e {
        keyring::Error::NoStorageAccess(_) => format!(
            "the system keychain is locked or has no default collection; unlock it (sign in to the desktop), {alternative}"
        ),
        keyring::Error::PlatformFailure(_) | keyring::Error::NoDefaultStore => format!(
            "there is no system keychain here (no Secret Service answered on the session bus); start one, {alternative}"
        ),
        // Its text names the entry, which is a ledger id and a name, but may quote more on some platforms.
        _ => format!("the system keychain did not do what it was asked; check it, {alternative}"),
    };
    Failure::new(Code::NotPermitted, message).at("secrets")
}
