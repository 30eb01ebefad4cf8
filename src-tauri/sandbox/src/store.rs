//! Mail on disk, so that a reply sent yesterday is still in Sent today: one `.eml` file per message and one small index
//! per folder. The message is written first and the index renamed into place, so that a killed process leaves at worst
//! a file without an entry. Nothing is synced to the platter: what is kept here is pretend mail.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::world::{Effect, Folder, Mailboxes, Stored};

/// What the index of a folder says.
#[derive(Serialize, Deserialize)]
struct Index {
    name: String,
    special_use: Option<String>,
    uid_validity: u32,
    uid_next: u32,
    messages: Vec<Entry>,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    file: u64,
    /// 0 while a slow index hides the message.
    uid: u32,
    flags: Vec<String>,
    internal_date: i64,
    modseq: u64,
}

/// The sandbox's directory, held by one process.
pub(crate) struct Store {
    directory: PathBuf,
    /// Kept open: the lock goes with it.
    _lock: File,
}

fn plain(name: &str) -> String {
    // Every byte that could mean something to a file system is written as %XX; upper case too, since some file systems
    // do not tell it from lower case.
    let mut out = String::new();
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'@' | b'-' | b'_' => out.push(byte as char),
            b'.' if !out.is_empty() => out.push('.'),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let fresh = path.with_extension("new");
    fs::write(&fresh, bytes)?;
    fs::rename(&fresh, path)
}

impl Store {
    /// Takes the directory. `None` when another process has it.
    pub(crate) fn open(directory: &Path) -> io::Result<Option<Store>> {
        fs::create_dir_all(directory.join("mail"))?;
        fs::create_dir_all(directory.join("effects"))?;
        let lock = OpenOptions::new().create(true).truncate(false).write(true).open(directory.join("lock"))?;
        match lock.try_lock() {
            Ok(()) => Ok(Some(Store { directory: directory.to_owned(), _lock: lock })),
            Err(fs::TryLockError::WouldBlock) => Ok(None),
            Err(fs::TryLockError::Error(error)) => Err(error),
        }
    }

    fn folder_path(&self, address: &str, folder: &str) -> PathBuf {
        self.directory.join("mail").join(plain(address)).join(plain(folder))
    }

    pub(crate) fn save_message(&self, address: &str, folder: &str, stored: &Stored) -> io::Result<()> {
        let path = self.folder_path(address, folder);
        fs::create_dir_all(&path)?;
        fs::write(path.join(format!("{}.eml", stored.file)), &stored.bytes)
    }

    pub(crate) fn remove_message(&self, address: &str, folder: &str, file: u64) -> io::Result<()> {
        fs::remove_file(self.folder_path(address, folder).join(format!("{file}.eml")))
    }

    pub(crate) fn save_index(&self, address: &str, name: &str, folder: &Folder) -> io::Result<()> {
        let path = self.folder_path(address, name);
        fs::create_dir_all(&path)?;
        fs::write(path.join("address"), address)?;
        let entry = |stored: &Stored| Entry {
            file: stored.file,
            uid: stored.uid,
            flags: stored.flags.clone(),
            internal_date: stored.internal_date,
            modseq: stored.modseq,
        };
        let index = Index {
            name: name.to_owned(),
            special_use: folder.special_use.clone(),
            uid_validity: folder.uid_validity,
            uid_next: folder.uid_next,
            messages: folder.messages.iter().chain(&folder.hidden).map(entry).collect(),
        };
        replace(&path.join("index.json"), &serde_json::to_vec_pretty(&index)?)
    }

    /// Everything kept, and the highest file number in use. A message that a slow index still hid has appeared
    /// meanwhile: the index caught up while nobody looked.
    pub(crate) fn load(&self) -> io::Result<(Mailboxes, u64)> {
        let mut mailboxes = Mailboxes::new();
        let mut highest = 0;
        for address_entry in fs::read_dir(self.directory.join("mail"))? {
            for folder_entry in fs::read_dir(address_entry?.path())? {
                let path = folder_entry?.path();
                let Ok(text) = fs::read(path.join("index.json")) else { continue };
                let address = fs::read_to_string(path.join("address"))?;
                let index: Index = serde_json::from_slice(&text)?;
                let folder = load_folder(&path, &index, &mut highest)?;
                mailboxes.entry(address).or_default().insert(index.name, folder);
            }
        }
        Ok((mailboxes, highest))
    }

    pub(crate) fn save_effect(&self, number: usize, effect: &Effect) -> io::Result<()> {
        let effects = self.directory.join("effects");
        replace(&effects.join(format!("{number:06}.json")), &serde_json::to_vec(effect)?)
    }

    pub(crate) fn load_effects(&self) -> io::Result<Vec<Effect>> {
        let mut paths: Vec<PathBuf> = fs::read_dir(self.directory.join("effects"))?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<io::Result<_>>()?;
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
        paths.sort();
        paths.iter().map(|path| Ok(serde_json::from_slice(&fs::read(path)?)?)).collect()
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }
}

fn load_folder(path: &Path, index: &Index, highest: &mut u64) -> io::Result<Folder> {
    let mut folder = Folder::new(index.special_use.clone(), index.uid_validity);
    folder.uid_next = index.uid_next;
    for entry in &index.messages {
        let Ok(bytes) = fs::read(path.join(format!("{}.eml", entry.file))) else {
            tracing::warn!(file = entry.file, "a sandbox message is in the index but not on disk");
            continue;
        };
        *highest = (*highest).max(entry.file);
        let stored = Stored {
            file: entry.file,
            uid: entry.uid,
            flags: entry.flags.clone(),
            internal_date: entry.internal_date,
            modseq: entry.modseq,
            bytes: bytes.into(),
        };
        if stored.uid == 0 { folder.hidden.push(stored) } else { folder.messages.push(stored) }
    }
    folder.reveal();
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn no_address_or_folder_name_can_leave_its_place() {
        assert_eq!(plain("support@shop.example"), "support@shop.example");
        assert_eq!(plain(".."), "%2E.");
        assert_eq!(plain("a/../b\\c"), "a%2F..%2Fb%5Cc");
        assert_eq!(plain("Sent"), "%53ent");
        assert_ne!(plain("A"), plain("a"));
    }
}
