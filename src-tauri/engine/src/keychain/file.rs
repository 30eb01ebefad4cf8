//! The explicit alternative: one file, encrypted with the passphrase, outside the home.
//!
//! `{"countersign":"secrets/1","homes":{LEDGER_ID:{"sealed":BASE64 age,"anchor":{…},"mac":HEX}}}`. The anchor stands beside the
//! sealed part, authenticated by a key that lies inside it: raising it needs no work of the passphrase.

use super::sealing::{self, Passphrase};
use super::{Anchor, damaged, json, locked, parse, random};
use crate::failure::{Failure, disk};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use zeroize::Zeroizing;

/// Secrets of one ledger in a file.
#[derive(Clone)]
pub struct FileStore {
    path: PathBuf,
    ledger_id: String,
    unlocked: Arc<Mutex<Option<Unlocked>>>,
}

struct Unlocked {
    passphrase: Passphrase,
    /// The sealed text the entries came from.
    sealed: String,
    entries: BTreeMap<String, Vec<u8>>,
}

#[derive(Serialize, Deserialize)]
struct Document {
    countersign: String,
    homes: BTreeMap<String, Section>,
}

#[derive(Serialize, Deserialize, Clone)]
struct Section {
    sealed: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    anchor: Option<Anchor>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mac: Option<String>,
}

const FORMAT: &str = "secrets/1";
const ANCHOR_KEY: &str = "anchor-key";

impl fmt::Debug for FileStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FileStore({})", self.path.display())
    }
}

impl FileStore {
    pub(super) fn new(path: PathBuf, ledger_id: &str) -> FileStore {
        FileStore { path, ledger_id: ledger_id.to_owned(), unlocked: Arc::default() }
    }

    /// Makes this ledger's section. Other homes may have theirs in the same file.
    pub(super) fn create(&self, passphrase: &Passphrase) -> Result<(), Failure> {
        let entries = BTreeMap::from([(ANCHOR_KEY.to_owned(), random::<32>()?.to_vec())]);
        let sealed = seal(&entries, passphrase)?;
        let made = sealed.clone();
        self.rewrite(|document| {
            if document.homes.contains_key(&self.ledger_id) {
                return Err(Failure::conflict("the secrets file already holds this ledger's secrets"));
            }
            document.homes.insert(self.ledger_id.clone(), Section { sealed, anchor: None, mac: None });
            Ok(())
        })?;
        *self.lock() = Some(Unlocked { passphrase: passphrase.clone(), sealed: made, entries });
        Ok(())
    }

    /// Opens the file with the passphrase; at once where the same one already opened it.
    pub(super) fn unlock(&self, passphrase: &Passphrase) -> Result<(), Failure> {
        if let Some(open) = &*self.lock() {
            if open.passphrase.is(passphrase) {
                return Ok(());
            }
            return Err(Failure::locked("that is not the passphrase"));
        }
        let sealed = self.section(&self.read()?)?.sealed;
        let entries = unseal(&sealed, passphrase)?;
        *self.lock() = Some(Unlocked { passphrase: passphrase.clone(), sealed, entries });
        Ok(())
    }

    pub(super) fn get(&self, name: &str) -> Result<Option<Zeroizing<Vec<u8>>>, Failure> {
        let mut open = self.lock();
        let open = open.as_mut().ok_or_else(locked)?;
        // Another process may have added a login since: whoever serves for days must see it.
        let sealed = self.section(&self.read()?)?.sealed;
        if sealed != open.sealed {
            open.entries = unseal(&sealed, &open.passphrase)?;
            open.sealed = sealed;
        }
        Ok(open.entries.get(name).cloned().map(Zeroizing::new))
    }

    /// Changes entries. The file is read again first, so that what another process wrote is kept.
    pub(super) fn change(&self, edit: impl FnOnce(&mut BTreeMap<String, Vec<u8>>)) -> Result<(), Failure> {
        let passphrase = self.lock().as_ref().map(|open| open.passphrase.clone()).ok_or_else(locked)?;
        let (mut entries, mut sealed) = (BTreeMap::new(), String::new());
        self.rewrite(|document| {
            let section = document.homes.get_mut(&self.ledger_id).ok_or_else(absent)?;
            entries = unseal(&section.sealed, &passphrase)?;
            edit(&mut entries);
            section.sealed = seal(&entries, &passphrase)?;
            sealed.clone_from(&section.sealed);
            Ok(())
        })?;
        if let Some(open) = &mut *self.lock() {
            open.entries = entries;
            open.sealed = sealed;
        }
        Ok(())
    }

    pub(super) fn forget(&self) -> Result<(), Failure> {
        self.rewrite(|document| {
            document.homes.remove(&self.ledger_id);
            Ok(())
        })?;
        *self.lock() = None;
        Ok(())
    }

    pub(super) fn anchor(&self) -> Result<Option<Anchor>, Failure> {
        let key = self.anchor_key()?;
        checked(&self.section(&self.read()?)?, &key)
    }

    /// Compares and writes under the file's lock; answers the one there if that is not to be raised.
    pub(super) fn raise_anchor(&self, anchor: &Anchor) -> Result<Option<Anchor>, Failure> {
        let key = self.anchor_key()?;
        let mac = tag(&key, anchor)?;
        let mut kept = None;
        self.rewrite(|document| {
            let section = document.homes.get_mut(&self.ledger_id).ok_or_else(absent)?;
            if let Some(there) = checked(section, &key)?.filter(|there| !there.may_rise_to(anchor)) {
                kept = Some(there);
                return Ok(());
            }
            section.anchor = Some(anchor.clone());
            section.mac = Some(mac);
            Ok(())
        })?;
        Ok(kept)
    }

    pub(super) fn set_anchor(&self, anchor: &Anchor) -> Result<(), Failure> {
        let mac = tag(&self.anchor_key()?, anchor)?;
        self.rewrite(|document| {
            let section = document.homes.get_mut(&self.ledger_id).ok_or_else(absent)?;
            section.anchor = Some(anchor.clone());
            section.mac = Some(mac);
            Ok(())
        })
    }

    fn anchor_key(&self) -> Result<Zeroizing<Vec<u8>>, Failure> {
        self.get(ANCHOR_KEY)?.ok_or_else(damaged)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Unlocked>> {
        self.unlocked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn section(&self, document: &Document) -> Result<Section, Failure> {
        document.homes.get(&self.ledger_id).cloned().ok_or_else(absent)
    }

    fn read(&self) -> Result<Document, Failure> {
        let bytes = match std::fs::read(&self.path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Err(absent()),
            Err(e) => return Err(disk("read the secrets file", &self.path, &e)),
        };
        let document: Document = parse(&bytes)?;
        if document.countersign != FORMAT {
            return Err(Failure::new(
                crate::failure::Code::Frozen,
                "the secrets file was made by a newer version of this program",
            ));
        }
        Ok(document)
    }

    /// Read, change, replace: under a lock of its own, and whole or not at all.
    fn rewrite(&self, edit: impl FnOnce(&mut Document) -> Result<(), Failure>) -> Result<(), Failure> {
        let guard = with_suffix(&self.path, ".lock");
        let held = private(&guard).map_err(|e| disk("lock", &guard, &e))?;
        held.lock().map_err(|e| disk("lock", &guard, &e))?;
        let mut document = if self.path.exists() {
            self.read()?
        } else {
            Document { countersign: FORMAT.to_owned(), homes: BTreeMap::new() }
        };
        edit(&mut document)?;
        replace(&self.path, &json(&document)?)
    }
}

/// The anchor of a section, if its tag holds.
fn checked(section: &Section, key: &[u8]) -> Result<Option<Anchor>, Failure> {
    match (&section.anchor, &section.mac) {
        (None, None) => Ok(None),
        (Some(anchor), Some(mac)) if tag(key, anchor)? == *mac => Ok(Some(anchor.clone())),
        _ => Err(Failure::integrity("the ledger's anchor in the secrets file was altered")),
    }
}

/// Writes beside, syncs, renames over, syncs the folder: a power cut leaves the old file or the new one.
fn replace(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let beside = with_suffix(path, ".new");
    let write = || -> std::io::Result<()> {
        let mut file = private(&beside)?;
        file.set_len(0)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        std::fs::rename(&beside, path)?;
        #[cfg(unix)]
        if let Some(folder) = path.parent() {
            File::open(folder)?.sync_all()?;
        }
        Ok(())
    };
    write().map_err(|e| disk("write the secrets file", path, &e))
}

/// Opens or makes a file that only its owner can read.
fn private(path: &Path) -> std::io::Result<File> {
    let mut options = File::options();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
        options.mode(0o600);
        let file = options.open(path)?;
        file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
        Ok(file)
    }
    #[cfg(not(unix))]
    options.open(path)
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn seal(entries: &BTreeMap<String, Vec<u8>>, passphrase: &Passphrase) -> Result<String, Failure> {
    let text: BTreeMap<&String, String> = entries.iter().map(|(k, v)| (k, STANDARD.encode(v))).collect();
    Ok(STANDARD.encode(sealing::wrap(&json(&text)?, passphrase)?))
}

fn unseal(sealed: &str, passphrase: &Passphrase) -> Result<BTreeMap<String, Vec<u8>>, Failure> {
    let wrapped = STANDARD.decode(sealed).map_err(|_| damaged())?;
    let text: BTreeMap<String, String> = parse(&sealing::unwrap(&wrapped, passphrase)?)?;
    text.into_iter().map(|(k, v)| Ok((k, STANDARD.decode(v).map_err(|_| damaged())?))).collect()
}

fn tag(key: &[u8], anchor: &Anchor) -> Result<String, Failure> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).map_err(|_| damaged())?;
    mac.update(b"countersign/anchor/v1\n");
    mac.update(&json(anchor)?);
    Ok(hex::encode(mac.finalize().into_bytes()))
}

fn absent() -> Failure {
    Failure::frozen(
        "the secrets file of this home is missing or does not hold this ledger; put it back, or say `countersign recovery \
         import FILE` with what `recovery export` wrote",
    )
}
