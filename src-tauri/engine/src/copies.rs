//! Backup and restore. A restored ledger never sends by itself: it is left frozen until a person adopts it (R27).

use crate::anchor::Frozen;
use crate::core::Core;
use crate::failure::{Failure, disk};
use crate::home::{Config, Home, private_folders};
use crate::keychain::{Keychain, SecretsChoice};
use countersign_domain::PersonId;
use countersign_ledger::{Head, Ledger, LedgerError, OpenOptions};
use std::io::ErrorKind;
use std::path::Path;

impl Core {
    /// Writes a checked copy that knows it is one. The file must not exist.
    pub async fn backup(&self, to: &Path) -> Result<Head, Failure> {
        if to.exists() {
            return Err(Failure::bad_input("file", format!("{} exists; a backup never overwrites", to.display())));
        }
        // The database would say only that something failed: whether the file can be made is found out beforehand.
        std::fs::File::create_new(to).and_then(|_| std::fs::remove_file(to)).map_err(|e| match e.kind() {
            ErrorKind::StorageFull | ErrorKind::ReadOnlyFilesystem => disk("write", to, &e),
            _ => Failure::bad_input("file", format!("{} cannot be written: {e}", to.display())),
        })?;
        Ok(self.ledger.backup(to, self.clock.now()).await?)
    }
}

/// What the home will be once `backup` is restored into it: its own config where it exists, else one for a new home, whose
/// secrets are in `choice` (or were taken there from the recovery export). Changes nothing.
///
/// # Errors
/// Bad input for a file that is no backup; conflict for a backup of another ledger.
pub async fn config_of(
    home: &Home,
    backup: &Path,
    choice: Option<&SecretsChoice>,
    owner: Option<&str>,
) -> Result<Config, Failure> {
    let copy = open(backup).await?;
    let ledger_id = copy.id().to_owned();
    copy.close().await;
    match (home.exists(), choice) {
        (true, _) => {
            let config = home.config()?;
            if config.ledger_id != ledger_id {
                return Err(Failure::conflict(
                    "this backup belongs to another home; restore it into a folder of its own",
                ));
            }
            Ok(config)
        }
        (false, Some(choice)) => Ok(Config {
            ledger_id,
            owner: PersonId(owner.unwrap_or("owner").to_owned()),
            secrets: Some(choice.clone()),
            passphrase: true,
            sandbox: false,
        }),
        (false, None) => Err(Failure::bad_input("secrets", "name the store that holds this ledger's secrets")),
    }
}

/// Puts a backup in place of the home's ledger and leaves dispatch frozen. The old ledger is kept beside it.
///
/// `config` is what [`config_of`] said, `keychain` holds the secrets of that ledger. Everything in the copy is proved before
/// anything of the home is touched.
///
/// # Errors
/// Integrity for a copy that was altered; bad input for a file that is no backup.
pub async fn restore(home: &Home, backup: &Path, config: &Config, keychain: &Keychain) -> Result<(), Failure> {
    let _lock = if home.dir().is_dir() { Some(home.dispatcher_lock()?) } else { None };
    proved(backup, keychain).await?;
    let folders = home.make_folders()?;
    put_aside(home)?;
    let ledger = home.ledger();
    let copy = || -> std::io::Result<()> {
        let beside = ledger.with_extension("db.new");
        std::fs::copy(backup, &beside)?;
        std::fs::File::open(&beside)?.sync_all()?;
        std::fs::rename(&beside, &ledger)
    };
    copy().map_err(|e| disk("restore into", &ledger, &e))?;
    folders.keep();
    if !home.exists() {
        home.write_config(config)?;
    }
    let restored = Ledger::open(&ledger, OpenOptions::default()).await?;
    let now = crate::clock::Clock::System.now();
    restored.set_setting(crate::anchor::FROZEN, Frozen::Restored.word(), "restore", now).await?;
    restored.close().await;
    Ok(())
}

/// The copy, to be read only.
async fn open(backup: &Path) -> Result<Ledger, Failure> {
    let copy = Ledger::open(backup, OpenOptions { read_only: true }).await.map_err(|e| match e {
        LedgerError::Database { .. } => Failure::bad_input("file", "this is not a ledger, or it cannot be read"),
        other => other.into(),
    })?;
    if !copy.is_backup().await? {
        return Err(Failure::bad_input(
            "file",
            "this is not a file made by `countersign backup`; a plain copy of a ledger may lack its newest rows",
        ));
    }
    Ok(copy)
}

async fn proved(backup: &Path, keychain: &Keychain) -> Result<(), Failure> {
    let copy = open(backup).await?;
    let pinned = keychain.pinned().await?;
    let roster = pinned.roster(&copy.device_certs().await?);
    let broken = copy.verify(&roster, Some(&pinned.secret), &mut |_, _| {}).await?;
    copy.close().await;
    match broken.first() {
        None => Ok(()),
        Some(first) => Err(Failure::integrity(format!(
            "this backup was altered or damaged, so it is not restored: {} {} {}",
            first.what, first.id, first.why
        ))
        .at("file")),
    }
}

/// Moves the present ledger and its side files out of the way, under a name that is free.
fn put_aside(home: &Home) -> Result<(), Failure> {
    let ledger = home.ledger();
    if !ledger.exists() {
        return Ok(());
    }
    let free = (1..).map(|n| home.dir().join(format!("before-restore-{n}"))).find(|p| !p.exists());
    let Some(aside) = free else { return Err(Failure::internal("no free name to keep the old ledger under")) };
    private_folders().create(&aside).map_err(|e| disk("make the folder", &aside, &e))?;
    for suffix in ["", "-wal", "-shm"] {
        let name = format!("ledger.db{suffix}");
        let from = home.dir().join(&name);
        if from.exists() {
            std::fs::rename(&from, aside.join(&name)).map_err(|e| disk("move", &from, &e))?;
        }
    }
    Ok(())
}

/// Whether the secrets of a ledger are where they are said to be; for `doctor` and `restore`.
pub async fn secrets_at_hand(choice: &SecretsChoice, ledger_id: &str) -> Result<bool, Failure> {
    Keychain::open(choice, ledger_id, None).await?.holds_ledger().await
}
