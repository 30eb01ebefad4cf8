//! Where a ledger lives. One resolver for the window, the command line and the MCP helper, and an OS lock that lets one
//! dispatcher run.
//!
//! | in the home | what |
//! |---|---|
//! | `ledger.db` | the ledger |
//! | `config.toml` | which ledger, whose, and which secrets store it was made with; written last, so it marks a finished home |
//! | `dispatcher.lock` | held by the process that dispatches |
//! | `ledger.lock` | shared by all that have the ledger open; whoever puts another ledger in its place holds it alone |
//! | `logins/NAME.lock` | held by the process that renews a destination's sign-in |
//! | `logs/`, `sandbox/` | log files; what the embedded destinations keep |

use crate::clock::Clock;
use crate::failure::{Failure, disk};
use crate::keychain::{self, Keychain, Passphrase, SANDBOX, SecretsChoice};
use countersign_domain::PersonId;
use countersign_ledger::Ledger;
use serde::{Deserialize, Serialize};
use std::fs::{DirBuilder, File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The environment every home has.
pub const LIVE: &str = "live";

const FORMAT: u32 = 1;

/// A home's folder. It may not exist yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    dir: PathBuf,
}

/// What `config.toml` says. No secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    pub ledger_id: String,
    pub owner: PersonId,
    /// `Memory` cannot be remembered: such a home is opened with its store given.
    pub secrets: Option<SecretsChoice>,
    /// Whether decisions in live need a passphrase. Without one they are made in the window only.
    pub passphrase: bool,
    /// Whether the sandbox environment with its embedded destinations was made.
    pub sandbox: bool,
    /// An authority that is trusted beside the system's where outcomes are told to their source; written into `config.toml`
    /// by hand, relative to the home.
    pub outcome_ca_file: Option<PathBuf>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ConfigFile {
    format: u32,
    ledger_id: String,
    owner: String,
    secrets: String,
    passphrase: bool,
    sandbox: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    outcome_ca_file: Option<PathBuf>,
}

/// What `init` is told.
#[derive(Clone, Debug)]
pub struct InitArgs {
    pub owner: String,
    pub sandbox: bool,
    pub secrets: SecretsChoice,
    /// None: `--no-passphrase`.
    pub passphrase: Option<Passphrase>,
}

/// While it lives no other process dispatches from this home. The operating system frees it when the process ends.
#[derive(Debug)]
pub struct DispatcherLock(File);

impl Drop for DispatcherLock {
    fn drop(&mut self) {
        // Closing the file would do it too; said here so that the lock is free before the next line runs.
        let _ = self.0.unlock();
    }
}

/// Held while a process has the ledger open, or alone by the one that puts another ledger in its place.
#[derive(Debug)]
pub(crate) struct LedgerLock(File);

impl LedgerLock {
    pub(crate) fn free(&self) {
        let _ = self.0.unlock();
    }
}

impl Drop for LedgerLock {
    fn drop(&mut self) {
        self.free();
    }
}

impl Home {
    pub fn at(dir: impl Into<PathBuf>) -> Home {
        Home { dir: dir.into() }
    }

    /// `--home`, else `COUNTERSIGN_HOME`, else the platform's data folder.
    pub fn resolve(flag: Option<&Path>) -> Result<Home, Failure> {
        let named = flag
            .map(Path::to_path_buf)
            .or_else(|| std::env::var_os("COUNTERSIGN_HOME").filter(|v| !v.is_empty()).map(PathBuf::from));
        let dir = match named {
            Some(dir) => dir,
            None => data_folder().ok_or_else(|| {
                Failure::bad_input("home", "no data folder is known for this user; name one with --home DIR")
            })?,
        };
        let dir = std::path::absolute(&dir).map_err(|e| Failure::bad_input("home", e.to_string()))?;
        // What is there already must be a folder. A link that leads nowhere is there too.
        match (std::fs::symlink_metadata(&dir), dir.is_dir()) {
            (Ok(_), true) => Ok(Home::at(dir)),
            (Err(e), _) if e.kind() == ErrorKind::NotFound => Ok(Home::at(dir)),
            (Ok(_), false) => Err(no_home_there(&dir, "it is not a folder")),
            (Err(e), _) => Err(no_home_there(&dir, &e.to_string())),
        }
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }
    pub fn ledger(&self) -> PathBuf {
        self.dir.join("ledger.db")
    }
    pub fn logs(&self) -> PathBuf {
        self.dir.join("logs")
    }
    pub fn sandbox(&self) -> PathBuf {
        self.dir.join("sandbox")
    }
    /// Locks under which sign-ins are renewed.
    pub(crate) fn logins(&self) -> PathBuf {
        self.dir.join("logins")
    }
    /// How far clocks are apart, by destination.
    pub(crate) fn clocks(&self) -> PathBuf {
        self.dir.join("clocks")
    }
    fn config_path(&self) -> PathBuf {
        self.dir.join("config.toml")
    }
    fn lock_path(&self) -> PathBuf {
        self.dir.join("dispatcher.lock")
    }

    fn ledger_lock_path(&self) -> PathBuf {
        self.dir.join("ledger.lock")
    }

    /// Whether `init` finished here.
    pub fn exists(&self) -> bool {
        self.config_path().is_file()
    }

    pub fn config(&self) -> Result<Config, Failure> {
        let path = self.config_path();
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == ErrorKind::NotFound => {
                return Err(Failure::not_found(format!(
                    "there is no Countersign home in {}; make one with `countersign init --owner NAME`",
                    self.dir.display()
                )));
            }
            Err(e) => return Err(disk("read", &path, &e)),
        };
        let bad = |why: String| Failure::bad_input("config.toml", format!("{} cannot be read: {why}", path.display()));
        let file: ConfigFile = toml::from_str(&text).map_err(|e| bad(e.message().to_owned()))?;
        if file.format > FORMAT {
            return Err(Failure::frozen(format!(
                "this home has format {}, and this program knows format {FORMAT}; nothing was changed",
                file.format
            )));
        }
        let secrets = if file.secrets == "memory" { None } else { Some(file.secrets.parse()?) };
        Ok(Config {
            ledger_id: file.ledger_id,
            owner: PersonId(file.owner),
            secrets,
            passphrase: file.passphrase,
            sandbox: file.sandbox,
            outcome_ca_file: file.outcome_ca_file.map(|path| self.dir.join(path)),
        })
    }

    pub(crate) fn write_config(&self, config: &Config) -> Result<(), Failure> {
        let file = ConfigFile {
            format: FORMAT,
            ledger_id: config.ledger_id.clone(),
            owner: config.owner.0.clone(),
            secrets: config.secrets.as_ref().map_or_else(|| "memory".to_owned(), ToString::to_string),
            passphrase: config.passphrase,
            sandbox: config.sandbox,
            outcome_ca_file: config.outcome_ca_file.clone(),
        };
        let text = toml::to_string(&file).map_err(|e| Failure::internal(e.to_string()))?;
        let (path, beside) = (self.config_path(), self.dir.join("config.toml.new"));
        let write = || -> std::io::Result<()> {
            std::fs::write(&beside, text.as_bytes())?;
            File::open(&beside)?.sync_all()?;
            std::fs::rename(&beside, &path)?;
            #[cfg(unix)]
            File::open(&self.dir)?.sync_all()?;
            Ok(())
        };
        write().map_err(|e| disk("write", &path, &e))
    }

    /// Makes the home: secrets, ledger, the owner with the device's certificates, and last the config.
    pub async fn init(&self, args: InitArgs, clock: &Clock) -> Result<Config, Failure> {
        let owner = PersonId(checked_owner(&args.owner)?);
        if self.exists() {
            return Err(Failure::conflict(format!("{} already holds a home", self.dir.display())));
        }
        if self.ledger().exists() {
            return Err(Failure::conflict(format!(
                "{} holds a ledger without its config: an earlier init broke off, or the config was removed. Move the folder \
                 away or bring the config back",
                self.dir.display()
            )));
        }
        if let SecretsChoice::File(path) = &args.secrets {
            if args.passphrase.is_none() {
                return Err(Failure::bad_input(
                    "no-passphrase",
                    "a secrets file is always encrypted: --no-passphrase cannot be used with file:",
                ));
            }
            keychain::outside_home(path, &self.dir)?;
        }
        let folders = self.make_folders()?;
        let ledger_id = hex::encode(keychain::random::<16>()?);
        let made = Keychain::create(&args.secrets, &ledger_id, &owner, args.passphrase.as_ref()).await?;
        let config = Config {
            ledger_id,
            owner,
            secrets: match args.secrets {
                SecretsChoice::Memory(_) => None,
                other => Some(other),
            },
            passphrase: args.passphrase.is_some(),
            sandbox: args.sandbox,
            outcome_ca_file: None,
        };
        if let Err(failure) = self.fill(&config, &made, clock).await {
            // Nothing was in this folder before and nobody used it: what was begun is taken away again.
            made.keychain.forget().await?;
            for suffix in ["", "-wal", "-shm"] {
                let _ = std::fs::remove_file(self.dir.join(format!("ledger.db{suffix}")));
            }
            return Err(failure);
        }
        folders.keep();
        Ok(config)
    }

    async fn fill(&self, config: &Config, made: &keychain::Made, clock: &Clock) -> Result<(), Failure> {
        let now = clock.now();
        let ledger = Ledger::create(&self.ledger(), &config.ledger_id, now).await?;
        for cert in &made.certs {
            ledger.put_person(&config.owner, cert, now).await?;
        }
        if config.sandbox {
            ledger.set_setting(&crate::settings::sending_key(SANDBOX), "on", &config.owner.0, now).await?;
        }
        crate::anchor::first(&ledger, &made.keychain, self).await?;
        ledger.close().await;
        self.write_config(config)
    }

    /// Makes the home's folders, private to this user. Unless they are kept, those that were not there before go again.
    pub(crate) fn make_folders(&self) -> Result<Folders, Failure> {
        let mut made = Folders { made: Vec::new() };
        for dir in [self.dir.clone(), self.logs(), self.sandbox()] {
            let missing: Vec<_> = dir.ancestors().take_while(|d| !d.exists()).map(Path::to_path_buf).collect();
            made.made.extend(missing.into_iter().rev());
            private_folders().create(&dir).map_err(|e| match e.kind() {
                ErrorKind::StorageFull | ErrorKind::ReadOnlyFilesystem => disk("make the folder", &dir, &e),
                _ => no_home_there(&dir, &e.to_string()),
            })?;
        }
        Ok(made)
    }

    /// Takes the right to dispatch, or says that another process has it (exit code 8).
    pub fn dispatcher_lock(&self) -> Result<DispatcherLock, Failure> {
        let path = self.lock_path();
        let file = File::options()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(|e| disk("open", &path, &e))?;
        match file.try_lock() {
            Ok(()) => Ok(DispatcherLock(file)),
            Err(TryLockError::WouldBlock) => Err(Failure::frozen(
                "another process dispatches from this home (the window, `serve` or `dispatch`); nothing was sent by this one",
            )),
            Err(TryLockError::Error(e)) => Err(disk("lock", &path, &e)),
        }
    }

    /// Taken before the ledger is opened, and kept as long as it is open.
    pub(crate) fn using_ledger(&self) -> Result<LedgerLock, Failure> {
        let busy = "the ledger of this home is being replaced by a backup right now; try again when that is done";
        self.ledger_lock(File::try_lock_shared, busy)
    }

    /// Whoever has the ledger open would go on writing into the file that was moved away, and nobody would see it.
    pub(crate) fn replacing_ledger(&self) -> Result<LedgerLock, Failure> {
        let busy = "another program has the ledger of this home open (the window, `serve`, an agent's `mcp` or another \
                    command), and would go on writing into the old one; close it and try again. Nothing was changed";
        self.ledger_lock(File::try_lock, busy)
    }

    fn ledger_lock(
        &self,
        take: impl FnOnce(&File) -> Result<(), TryLockError>,
        busy: &str,
    ) -> Result<LedgerLock, Failure> {
        let path = self.ledger_lock_path();
        // One that is there is only read, so that it opens on a full disk too.
        let file = match File::open(&path) {
            Err(e) if e.kind() == ErrorKind::NotFound => {
                File::options().write(true).create(true).truncate(false).open(&path)
            }
            opened => opened,
        };
        let file = file.map_err(|e| disk("open", &path, &e))?;
        match take(&file) {
            Ok(()) => Ok(LedgerLock(file)),
            Err(TryLockError::WouldBlock) => Err(Failure::frozen(busy)),
            Err(TryLockError::Error(e)) => Err(disk("lock", &path, &e)),
        }
    }

    /// Whether somebody dispatches from this home right now.
    pub fn is_dispatching(&self) -> bool {
        self.exists() && self.dispatcher_lock().is_err()
    }
}

/// Folders that a command began to fill. What is empty when it fails is taken away again.
#[derive(Debug)]
pub(crate) struct Folders {
    made: Vec<PathBuf>,
}

impl Folders {
    pub(crate) fn keep(mut self) {
        self.made.clear();
    }
}

impl Drop for Folders {
    fn drop(&mut self) {
        for dir in self.made.iter().rev() {
            // One that is not empty holds what somebody else put there.
            let _ = std::fs::remove_dir(dir);
        }
    }
}

/// Nobody else on this computer may look into a home.
pub(crate) fn private_folders() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

fn no_home_there(dir: &Path, why: &str) -> Failure {
    Failure::bad_input("home", format!("{} cannot hold a home: {why}", dir.display()))
}

fn checked_owner(name: &str) -> Result<String, Failure> {
    let name = name.trim();
    if name.is_empty() || name.chars().count() > 100 || name.chars().any(char::is_control) {
        return Err(Failure::bad_input(
            "owner",
            "the owner's name must have 1 to 100 characters, none of them a control",
        ));
    }
    Ok(name.to_owned())
}

/// The platform's place for what a program keeps.
fn data_folder() -> Option<PathBuf> {
    let var = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    if cfg!(target_os = "macos") {
        return Some(var("HOME")?.join("Library/Application Support/Countersign"));
    }
    if cfg!(windows) {
        return Some(var("LOCALAPPDATA")?.join("Countersign"));
    }
    let base = var("XDG_DATA_HOME").filter(|p| p.is_absolute());
    Some(base.or_else(|| Some(var("HOME")?.join(".local/share")))?.join("countersign"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_dispatcher_at_a_time() {
        let dir = tempdir();
        let home = Home::at(&dir);
        std::fs::create_dir_all(&dir).unwrap();
        let held = home.dispatcher_lock().unwrap();
        let refused = home.dispatcher_lock().unwrap_err();
        assert_eq!(refused.code.exit(), 8);
        drop(held);
        assert!(home.dispatcher_lock().is_ok());
        std::fs::remove_dir_all(dir).unwrap();
    }

    fn tempdir() -> PathBuf {
        std::env::temp_dir().join(format!("cs-home-{}", hex::encode(keychain::random::<8>().unwrap())))
    }
}
