//! Secrets: the ledger secret, owner and device keys, logins, source secrets, and the ledger's anchor (R39).
//!
//! They live in the system keychain, or, where a person chose so, in one file encrypted with the passphrase. There is no
//! fallback from one to the other: a home remembers which it was made with, and where that cannot be reached we say so.
//! Each home has a namespace of its own, its ledger id.
//!
//! Every call that may block (the keychain may ask the person) runs on a blocking thread.

mod file;
mod kinds;
mod presence;
mod sealing;
mod system;
#[cfg(test)]
mod tests;

pub use file::FileStore;
pub use kinds::{Anchor, LoginSecret, MemoryStore, Pinned, SecretsChoice};
pub use presence::{Presence, Signer};
pub use sealing::Passphrase;
pub use system::SystemStore;

use crate::failure::{Code, Failure};
use countersign_domain::{DeviceCert, DeviceKey, LedgerSecret, OwnerKey, PersonId, Roster, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use zeroize::Zeroizing;

/// The environment whose keys need no passphrase: nothing in it leaves the machine.
pub const SANDBOX: &str = "sandbox";

/// The secrets of one home.
#[derive(Clone, Debug)]
pub enum Keychain {
    System(SystemStore),
    File(FileStore),
    Memory(MemoryStore),
}

/// What every reader of the ledger needs. Made once per home.
#[derive(Serialize, Deserialize)]
struct LedgerPart {
    secret: String,
    owner_public: String,
    sandbox_owner_public: String,
}

/// Private halves. Wrapped with the passphrase where there is one.
#[derive(Serialize, Deserialize, Clone)]
struct KeyPart {
    device: String,
    owner: String,
}

const LEDGER: &str = "ledger";
const KEYS: &str = "keys";
const SANDBOX_KEYS: &str = "sandbox-keys";
const ANCHOR: &str = "anchor";

/// What `Keychain::create` made, for the rows that name it.
pub struct Made {
    pub keychain: Keychain,
    /// Certificates of the owner's device, for live and for the sandbox.
    pub certs: Vec<DeviceCert>,
}

impl Keychain {
    /// Opens the secrets of a ledger. For `file:` without a passphrase what needs a secret answers `locked`.
    pub async fn open(
        choice: &SecretsChoice,
        ledger_id: &str,
        passphrase: Option<&Passphrase>,
    ) -> Result<Keychain, Failure> {
        match choice {
            SecretsChoice::Keychain => Ok(Keychain::System(SystemStore::new(ledger_id))),
            SecretsChoice::File(path) => {
                let store = FileStore::new(path.clone(), ledger_id);
                if let Some(passphrase) = passphrase {
                    let (store, passphrase) = (store.clone(), passphrase.clone());
                    blocking(move || store.unlock(&passphrase)).await?;
                }
                Ok(Keychain::File(store))
            }
            SecretsChoice::Memory(memory) => Ok(Keychain::Memory(memory.clone())),
        }
    }

    /// Makes the secrets of a new ledger. With `passphrase` none, the keys lie bare in the keychain (never in a file).
    pub async fn create(
        choice: &SecretsChoice,
        ledger_id: &str,
        person: &PersonId,
        passphrase: Option<&Passphrase>,
    ) -> Result<Made, Failure> {
        let keychain = match (choice, passphrase) {
            (SecretsChoice::File(_), None) => {
                return Err(Failure::bad_input(
                    "passphrase",
                    "a secrets file is always encrypted: it needs a passphrase",
                ));
            }
            (SecretsChoice::File(path), Some(passphrase)) => {
                let store = FileStore::new(path.clone(), ledger_id);
                let (made, passphrase) = (store.clone(), passphrase.clone());
                blocking(move || made.create(&passphrase)).await?;
                Keychain::File(store)
            }
            _ => Keychain::open(choice, ledger_id, None).await?,
        };
        let (live, live_cert, owner_public) = new_keys(person)?;
        let (sandbox, sandbox_cert, sandbox_owner_public) = new_keys(person)?;
        let ledger = LedgerPart { secret: hex::encode(random::<32>()?), owner_public, sandbox_owner_public };
        let bare = json(&live)?;
        let wrapped = match (&keychain, passphrase) {
            // The file is encrypted as a whole; a second wrapping would only double the time to unlock it.
            (Keychain::File(_), _) | (_, None) => bare.to_vec(),
            (_, Some(passphrase)) => {
                let passphrase = passphrase.clone();
                blocking(move || sealing::wrap(&bare, &passphrase)).await?
            }
        };
        let mut all = BTreeMap::new();
        all.insert(LEDGER.to_owned(), json(&ledger)?.to_vec());
        all.insert(KEYS.to_owned(), wrapped);
        all.insert(SANDBOX_KEYS.to_owned(), json(&sandbox)?.to_vec());
        keychain.put_all(all).await?;
        Ok(Made { keychain, certs: vec![live_cert, sandbox_cert] })
    }

    /// What never changes in the life of a ledger: its secret and the pinned owner keys.
    pub async fn pinned(&self) -> Result<Pinned, Failure> {
        let part: LedgerPart = parse(&self.need(LEDGER).await?)?;
        Ok(Pinned {
            secret: LedgerSecret(seed(&part.secret)?),
            owner: part.owner_public,
            sandbox_owner: part.sandbox_owner_public,
        })
    }

    /// The ledger secret: without it nobody can tell which key a request has.
    pub async fn ledger_secret(&self) -> Result<LedgerSecret, Failure> {
        Ok(self.pinned().await?.secret)
    }

    /// Who may approve; see [`Pinned::roster`].
    pub async fn roster(&self, certs: &[DeviceCert]) -> Result<Roster, Failure> {
        Ok(self.pinned().await?.roster(certs))
    }

    /// Proves that the passphrase was given. `passphrase` none is right only for a home without one, and is left to
    /// [`crate::Engine`], which grants it to the window alone.
    pub async fn unlock(&self, passphrase: Option<&Passphrase>) -> Result<Presence, Failure> {
        if let Keychain::File(store) = self {
            let passphrase = passphrase.cloned().ok_or_else(locked)?;
            let store = store.clone();
            blocking(move || store.unlock(&passphrase)).await?;
        }
        let stored = self.need(KEYS).await?;
        let bare = match (self, passphrase) {
            (Keychain::File(_), _) | (_, None) => {
                if sealing::is_wrapped(&stored) {
                    return Err(locked());
                }
                stored
            }
            (_, Some(passphrase)) => {
                if !sealing::is_wrapped(&stored) {
                    return Err(Failure::not_permitted(
                        "this home was made without a passphrase: decisions in live are made in its window",
                    ));
                }
                let passphrase = passphrase.clone();
                blocking(move || sealing::unwrap(&stored, &passphrase)).await?
            }
        };
        let part: KeyPart = parse(&bare)?;
        Ok(Presence::new(DeviceKey::from_seed(&seed(&part.device)?), OwnerKey::from_seed(&seed(&part.owner)?), part))
    }

    /// The device key of the sandbox, which needs no presence.
    pub(crate) async fn sandbox_device(&self) -> Result<DeviceKey, Failure> {
        let part: KeyPart = parse(&self.need(SANDBOX_KEYS).await?)?;
        Ok(DeviceKey::from_seed(&seed(&part.device)?))
    }

    /// The login of a destination, if this device has one.
    pub async fn login(&self, destination: &str) -> Result<Option<LoginSecret>, Failure> {
        self.text(&format!("login/{destination}")).await
    }
    pub async fn put_login(&self, destination: &str, secret: &LoginSecret) -> Result<(), Failure> {
        self.put(&format!("login/{destination}"), secret.expose().as_bytes()).await
    }
    pub async fn remove_login(&self, destination: &str) -> Result<(), Failure> {
        self.remove(&format!("login/{destination}")).await
    }

    /// The signing secret of a source's webhooks.
    pub async fn source_secret(&self, source: &str) -> Result<Option<LoginSecret>, Failure> {
        self.text(&format!("source/{source}")).await
    }
    pub async fn put_source_secret(&self, source: &str, secret: &LoginSecret) -> Result<(), Failure> {
        self.put(&format!("source/{source}"), secret.expose().as_bytes()).await
    }
    pub async fn remove_source_secret(&self, source: &str) -> Result<(), Failure> {
        self.remove(&format!("source/{source}")).await
    }

    /// What outcomes are signed with. Each webhook of a source has a secret under a name of its own, told apart by when it
    /// was added, so that a new one never takes the place of one that is still in use.
    pub async fn outcome_secret(&self, source: &str, added_at: Timestamp) -> Result<Option<LoginSecret>, Failure> {
        self.text(&outcome_name(source, added_at)).await
    }
    pub async fn put_outcome_secret(
        &self,
        source: &str,
        added_at: Timestamp,
        secret: &LoginSecret,
    ) -> Result<(), Failure> {
        self.put(&outcome_name(source, added_at), secret.expose().as_bytes()).await
    }
    pub async fn remove_outcome_secret(&self, source: &str, added_at: Timestamp) -> Result<(), Failure> {
        self.remove(&outcome_name(source, added_at)).await
    }

    /// The anchored head. `file:` answers without a passphrase only that it is locked.
    pub async fn anchor(&self) -> Result<Option<Anchor>, Failure> {
        if let Keychain::File(store) = self {
            let store = store.clone();
            return blocking(move || store.anchor()).await;
        }
        self.get(ANCHOR).await?.map(|bytes| parse(&bytes)).transpose()
    }

    /// Writes the anchor. In a file this needs no work of the passphrase: the anchor has a section of its own,
    /// authenticated by a key from inside.
    pub async fn set_anchor(&self, anchor: &Anchor) -> Result<(), Failure> {
        if let Keychain::File(store) = self {
            let (store, anchor) = (store.clone(), anchor.clone());
            return blocking(move || store.set_anchor(&anchor)).await;
        }
        self.put(ANCHOR, &json(anchor)?).await
    }

    /// Writes the anchor if it is further on than the one there, and else answers that one: attempts run side by side, and
    /// the one that read the head first may come last.
    pub async fn raise_anchor(&self, anchor: &Anchor) -> Result<Option<Anchor>, Failure> {
        if let Keychain::File(store) = self {
            let (store, anchor) = (store.clone(), anchor.clone());
            return blocking(move || store.raise_anchor(&anchor)).await;
        }
        // These stores cannot compare and write in one; only the one dispatcher of a home raises its anchor.
        static RAISING: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());
        let _one_at_a_time = RAISING.lock().await;
        if let Some(there) = self.anchor().await?.filter(|there| !there.may_rise_to(anchor)) {
            return Ok(Some(there));
        }
        self.put(ANCHOR, &json(anchor)?).await?;
        Ok(None)
    }

    /// Everything a person needs to go on with this ledger on another machine, wrapped with the passphrase; or bare where
    /// the home has none. Keep it apart from the backup.
    pub async fn export(&self, presence: &Presence, passphrase: Option<&Passphrase>) -> Result<Vec<u8>, Failure> {
        let recovery = Recovery {
            ledger: parse(&self.need(LEDGER).await?)?,
            keys: presence.parts(),
            sandbox_keys: parse(&self.need(SANDBOX_KEYS).await?)?,
        };
        let bare = json(&recovery)?;
        match passphrase.cloned() {
            None => Ok(bare.to_vec()),
            Some(passphrase) => blocking(move || sealing::wrap(&bare, &passphrase)).await,
        }
    }

    /// Takes what [`Keychain::export`] gave into the store of another machine.
    pub async fn import(
        choice: &SecretsChoice,
        ledger_id: &str,
        exported: &[u8],
        passphrase: &Passphrase,
    ) -> Result<Keychain, Failure> {
        let (exported, word) = (exported.to_vec(), passphrase.clone());
        let recovery: Recovery = blocking(move || {
            let bare = if sealing::is_wrapped(&exported) {
                sealing::unwrap(&exported, &word)?
            } else {
                Zeroizing::new(exported)
            };
            parse(&bare)
        })
        .await?;
        let keychain = if let SecretsChoice::File(path) = choice {
            let store = FileStore::new(path.clone(), ledger_id);
            let (made, word) = (store.clone(), passphrase.clone());
            blocking(move || made.create(&word)).await?;
            Keychain::File(store)
        } else {
            Keychain::open(choice, ledger_id, None).await?
        };
        let keys = json(&recovery.keys)?;
        let keys = if matches!(keychain, Keychain::File(_)) {
            keys.to_vec()
        } else {
            let word = passphrase.clone();
            blocking(move || sealing::wrap(&keys, &word)).await?
        };
        let mut all = BTreeMap::new();
        all.insert(LEDGER.to_owned(), json(&recovery.ledger)?.to_vec());
        all.insert(KEYS.to_owned(), keys);
        all.insert(SANDBOX_KEYS.to_owned(), json(&recovery.sandbox_keys)?.to_vec());
        keychain.put_all(all).await?;
        Ok(keychain)
    }

    /// Takes away everything of this ledger. Only for a home whose making broke off.
    pub(crate) async fn forget(&self) -> Result<(), Failure> {
        if let Keychain::File(store) = self {
            let store = store.clone();
            return blocking(move || store.forget()).await;
        }
        for name in [LEDGER, KEYS, SANDBOX_KEYS, ANCHOR] {
            self.remove(name).await?;
        }
        Ok(())
    }

    /// Whether the store has this ledger's secret at all.
    pub async fn holds_ledger(&self) -> Result<bool, Failure> {
        Ok(self.get(LEDGER).await?.is_some())
    }

    async fn text(&self, name: &str) -> Result<Option<LoginSecret>, Failure> {
        let Some(bytes) = self.get(name).await? else { return Ok(None) };
        let text = String::from_utf8(bytes.to_vec()).map_err(|_| damaged())?;
        Ok(Some(LoginSecret::new(text)))
    }

    async fn need(&self, name: &str) -> Result<Zeroizing<Vec<u8>>, Failure> {
        self.get(name).await?.ok_or_else(|| {
            Failure::new(
                Code::Frozen,
                "the secrets of this ledger are not in the store it was made with; `countersign recovery import FILE` \
                 takes them back from what `recovery export` wrote",
            )
        })
    }

    async fn get(&self, name: &str) -> Result<Option<Zeroizing<Vec<u8>>>, Failure> {
        let name = name.to_owned();
        match self {
            Keychain::System(store) => {
                let store = store.clone();
                blocking(move || store.get(&name)).await
            }
            Keychain::File(store) => {
                let store = store.clone();
                blocking(move || store.get(&name)).await
            }
            Keychain::Memory(memory) => Ok(memory.map().get(&name).cloned().map(Zeroizing::new)),
        }
    }

    async fn put(&self, name: &str, bytes: &[u8]) -> Result<(), Failure> {
        self.put_all(BTreeMap::from([(name.to_owned(), bytes.to_vec())])).await
    }

    async fn put_all(&self, entries: BTreeMap<String, Vec<u8>>) -> Result<(), Failure> {
        match self {
            Keychain::System(store) => {
                let store = store.clone();
                blocking(move || entries.iter().try_for_each(|(name, bytes)| store.set(name, bytes))).await
            }
            Keychain::File(store) => {
                let store = store.clone();
                blocking(move || store.change(|all| all.extend(entries))).await
            }
            Keychain::Memory(memory) => {
                memory.map().extend(entries);
                Ok(())
            }
        }
    }

    async fn remove(&self, name: &str) -> Result<(), Failure> {
        let name = name.to_owned();
        match self {
            Keychain::System(store) => {
                let store = store.clone();
                blocking(move || store.delete(&name)).await
            }
            Keychain::File(store) => {
                let store = store.clone();
                blocking(move || {
                    store.change(|all| {
                        all.remove(&name);
                    })
                })
                .await
            }
            Keychain::Memory(memory) => {
                memory.map().remove(&name);
                Ok(())
            }
        }
    }
}

#[derive(Serialize, Deserialize)]
struct Recovery {
    ledger: LedgerPart,
    keys: KeyPart,
    sandbox_keys: KeyPart,
}

fn new_keys(person: &PersonId) -> Result<(KeyPart, DeviceCert, String), Failure> {
    let (device, owner) = (random::<32>()?, random::<32>()?);
    let (device_key, owner_key) = (DeviceKey::from_seed(&device), OwnerKey::from_seed(&owner));
    let cert = owner_key
        .admit(person, &device_key.public())
        .ok_or_else(|| Failure::internal("a fresh device key was not taken by the owner key"))?;
    Ok((KeyPart { device: hex::encode(device), owner: hex::encode(owner) }, cert, owner_key.public()))
}

/// Refuses a secrets file inside the home: whoever copies the home would copy the anchor with it.
pub(crate) fn outside_home(file: &Path, home: &Path) -> Result<(), Failure> {
    let real = |p: &Path| {
        // The file may not exist yet; its folder must.
        let parent = p.parent().and_then(|d| d.canonicalize().ok());
        parent.map_or_else(|| p.to_path_buf(), |d| d.join(p.file_name().unwrap_or_default()))
    };
    let home = home.canonicalize().unwrap_or_else(|_| home.to_path_buf());
    if real(file).starts_with(&home) {
        return Err(Failure::bad_input(
            "secrets",
            "the secrets file must lie outside the home: it holds the mark by which a copied or restored home is noticed",
        ));
    }
    Ok(())
}

pub(crate) fn random<const N: usize>() -> Result<[u8; N], Failure> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|e| Failure::internal(format!("the system gave no random bytes: {e}")))?;
    Ok(bytes)
}

fn outcome_name(source: &str, added_at: Timestamp) -> String {
    format!("outcome/{source}/{}", added_at.millis())
}

fn seed(text: &str) -> Result<[u8; 32], Failure> {
    let mut bytes = [0; 32];
    hex::decode_to_slice(text, &mut bytes).map_err(|_| damaged())?;
    Ok(bytes)
}

fn json<T: Serialize>(value: &T) -> Result<Zeroizing<Vec<u8>>, Failure> {
    serde_json::to_vec(value).map(Zeroizing::new).map_err(|e| Failure::internal(e.to_string()))
}

fn parse<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Result<T, Failure> {
    // The error of the parser could quote what it read, so it is not passed on.
    serde_json::from_slice(bytes).map_err(|_| damaged())
}

fn damaged() -> Failure {
    Failure::integrity("an entry of the secrets store cannot be read; it was altered or damaged")
}

fn locked() -> Failure {
    Failure::locked("this needs the passphrase; give it on the terminal or with --passphrase-fd")
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, Failure> + Send + 'static) -> Result<T, Failure> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(_) => Err(Failure::internal("reading the secrets store broke off")),
    }
}
