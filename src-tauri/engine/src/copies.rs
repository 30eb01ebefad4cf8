//! Backup and restore. A restored ledger never sends by itself: it is left frozen until a person adopts it (R27).

use crate::anchor::Frozen;
use crate::core::Core;
use crate::failure::{Failure, disk};
use crate::home::{Config, Home};
use crate::keychain::{Keychain, SecretsChoice};
use countersign_domain::PersonId;
use countersign_ledger::{Head, Ledger, OpenOptions};
use std::path::Path;

impl Core {
    /// Writes a checked copy that knows it is one. The file must not exist.
    pub async fn backup(&self, to: &Path) -> Result<Head, Failure> {
        if to.exists() {
            return Err(Failure::bad_input("file", format!("{} exists; a backup never overwrites", to.display())));
        }
        Ok(self.ledger.backup(to, self.clock.now()).await?)
    }
}

/// Puts a backup in place of the home's ledger and leaves dispatch frozen. The old ledger is kept beside it.
///
/// Where the home is new, `choice` names the store that holds the ledger's secrets (or took them from the recovery export).
pub async fn restore(
    home: &Home,
    backup: &Path,
    choice: Option<&SecretsChoice>,
    owner: Option<&str>,
) -> Result<(), Failure> {
    let _lock = if home.dir().is_dir() { Some(home.dispatcher_lock()?) } else { None };
    let ledger_id = {
        let copy = Ledger::open(backup, OpenOptions { read_only: true }).await?;
        if !copy.is_backup().await? {
            return Err(Failure::bad_input(
                "file",
                "this is not a file made by `countersign backup`; a plain copy of a ledger may lack its newest rows",
            ));
        }
        let id = copy.id().to_owned();
        copy.close().await;
        id
    };
    let config = match (home.exists(), choice) {
        (true, _) => {
            let config = home.config()?;
            if config.ledger_id != ledger_id {
                return Err(Failure::conflict(
                    "this backup belongs to another home; restore it into a folder of its own",
                ));
            }
            config
        }
        (false, Some(choice)) => Config {
            ledger_id: ledger_id.clone(),
            owner: PersonId(owner.unwrap_or("owner").to_owned()),
            secrets: Some(choice.clone()),
            passphrase: true,
            sandbox: false,
        },
        (false, None) => return Err(Failure::bad_input("secrets", "name the store that holds this ledger's secrets")),
    };
    std::fs::create_dir_all(home.dir()).map_err(|e| disk("make the folder", home.dir(), &e))?;
    put_aside(home)?;
    let ledger = home.ledger();
    let copy = || -> std::io::Result<()> {
        let beside = ledger.with_extension("db.new");
        std::fs::copy(backup, &beside)?;
        std::fs::File::open(&beside)?.sync_all()?;
        std::fs::rename(&beside, &ledger)
    };
    copy().map_err(|e| disk("restore into", &ledger, &e))?;
    if !home.exists() {
        home.write_config(&config)?;
    }
    let restored = Ledger::open(&ledger, OpenOptions::default()).await?;
    let now = crate::clock::Clock::System.now();
    restored.set_setting(crate::anchor::FROZEN, Frozen::Restored.word(), "restore", now).await?;
    restored.close().await;
    Ok(())
}

/// Moves the present ledger and its side files out of the way, under a name that is free.
fn put_aside(home: &Home) -> Result<(), Failure> {
    let ledger = home.ledger();
    if !ledger.exists() {
        return Ok(());
    }
    let free = (1..).map(|n| home.dir().join(format!("before-restore-{n}"))).find(|p| !p.exists());
    let Some(aside) = free else { return Err(Failure::internal("no free name to keep the old ledger under")) };
    std::fs::create_dir(&aside).map_err(|e| disk("make the folder", &aside, &e))?;
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
