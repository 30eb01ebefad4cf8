//! Backup and restore. A restored ledger never sends by itself: it is left frozen until a person adopts it (R27).

use crate::anchor::Frozen;
use crate::core::Core;
use crate::failure::{Failure, disk};
use crate::home::{Config, Home, private_folders};
use crate::keychain::{Keychain, SANDBOX, SecretsChoice};
use countersign_domain::PersonId;
use countersign_ledger::{Head, Ledger, LedgerError, OpenOptions};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

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
/// Bad input for a file that is no backup; integrity for a damaged one; conflict for a backup of another ledger.
pub async fn config_of(home: &Home, backup: &Path, choice: Option<&SecretsChoice>) -> Result<Config, Failure> {
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
            // Whose it is and whether it has a sandbox says the copy, once it is proved: `restore` fills it in.
            owner: PersonId(String::new()),
            secrets: Some(choice.clone()),
            passphrase: true,
            sandbox: false,
            outcome_ca_file: None,
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
/// Integrity for a copy that was altered; bad input for a file that is no backup; frozen while another process dispatches
/// from this home or has its ledger open.
pub async fn restore(home: &Home, backup: &Path, config: &Config, keychain: &Keychain) -> Result<(), Failure> {
    let _locks = match home.dir().is_dir() {
        true => Some((home.dispatcher_lock()?, home.replacing_ledger()?)),
        false => None,
    };
    let whose = proved(backup, keychain).await?;
    let owner = match home.exists() {
        true => None,
        false => Some(whose.owner.ok_or_else(|| {
            Failure::not_permitted(
                "the device whose keys are in this secrets store does not count in this backup's ledger",
            )
        })?),
    };
    let folders = home.make_folders()?;
    let ledger = home.ledger();
    let beside = ledger.with_extension("db.new");
    let copy = || -> std::io::Result<()> {
        std::fs::copy(backup, &beside)?;
        std::fs::File::open(&beside)?.sync_all()
    };
    let failed = |e: std::io::Error| {
        let _ = std::fs::remove_file(&beside);
        disk("restore into", &ledger, &e)
    };
    copy().map_err(failed)?;
    // The new one is on disk before the old one moves, so that a full disk leaves the home with its ledger.
    let aside = put_aside(home).inspect_err(|_| {
        let _ = std::fs::remove_file(&beside);
    })?;
    std::fs::rename(&beside, &ledger).map_err(|e| {
        aside.put_back();
        failed(e)
    })?;
    folders.keep();
    if let Some(owner) = owner {
        home.write_config(&Config { owner, sandbox: whose.sandbox, ..config.clone() })?;
    }
    let restored = Ledger::open(&ledger, OpenOptions::default()).await?;
    let now = crate::clock::Clock::System.now();
    restored.set_setting(crate::anchor::FROZEN, Frozen::Restored.word(), "restore", now).await?;
    restored.close().await;
    Ok(())
}

/// The copy, to be read only.
async fn open(backup: &Path) -> Result<Ledger, Failure> {
    if let Err(e) = std::fs::File::open(backup) {
        return Err(Failure::bad_input("file", format!("{} cannot be read: {e}", backup.display())));
    }
    let copy = Ledger::open(backup, OpenOptions { read_only: true }).await.map_err(unreadable)?;
    if !copy.is_backup().await.map_err(unreadable)? {
        return Err(Failure::bad_input(
            "file",
            "this is not a file made by `countersign backup`; a plain copy of a ledger may lack its newest rows",
        ));
    }
    Ok(copy)
}

/// Why a copy, which nobody writes to, cannot be read: it is something else, or damaged, whatever the database calls it.
fn unreadable(e: LedgerError) -> Failure {
    match e {
        LedgerError::Foreign { why, .. } => Failure::bad_input("file", format!("this is not a ledger: {why}")),
        LedgerError::Newer { .. }
        | LedgerError::Place { .. }
        | LedgerError::NotFound { .. }
        | LedgerError::Busy
        | LedgerError::Full
        | LedgerError::ReadOnly => e.into(),
        _ => Failure::integrity("this backup is damaged and cannot be read, so it is not restored").at("file"),
    }
}

/// What the home of a ledger has to know and the ledger itself tells.
struct Whose {
    /// The person whose key lies in the store, as the owner key vouches for it; nobody else can decide from here.
    owner: Option<PersonId>,
    sandbox: bool,
}

async fn proved(backup: &Path, keychain: &Keychain) -> Result<Whose, Failure> {
    let copy = open(backup).await?;
    let pinned = keychain.pinned().await?;
    let certs = copy.device_certs().await.map_err(unreadable)?;
    let roster = pinned.roster(&certs);
    let broken = copy.verify(&roster, Some(&pinned.secret), &mut |_, _| {}).await.map_err(unreadable)?;
    let sandbox = copy.setting(&crate::settings::sending_key(SANDBOX)).await.map_err(unreadable)?.is_some();
    copy.close().await;
    if let Some(first) = broken.first() {
        return Err(Failure::integrity(format!(
            "this backup was altered or damaged, so it is not restored: {} {} {}",
            first.what, first.id, first.why
        ))
        .at("file"));
    }
    let here = keychain.sandbox_device().await?.id();
    let mine = certs.into_iter().find(|cert| cert.device == here && roster.knows(&cert.person, &cert.device));
    Ok(Whose { owner: mine.map(|cert| cert.person), sandbox })
}

/// What was moved out of the way: from where, to where.
struct Aside(Vec<(PathBuf, PathBuf)>);

impl Aside {
    fn put_back(&self) {
        for (from, to) in &self.0 {
            let _ = std::fs::rename(to, from);
        }
    }
}

/// Moves the present ledger and its side files out of the way, under a name that is free.
fn put_aside(home: &Home) -> Result<Aside, Failure> {
    let ledger = home.ledger();
    let mut moved = Aside(Vec::new());
    if !ledger.exists() {
        return Ok(moved);
    }
    let free = (1..).map(|n| home.dir().join(format!("before-restore-{n}"))).find(|p| !p.exists());
    let Some(aside) = free else { return Err(Failure::internal("no free name to keep the old ledger under")) };
    private_folders().create(&aside).map_err(|e| disk("make the folder", &aside, &e))?;
    for suffix in ["", "-wal", "-shm"] {
        let name = format!("ledger.db{suffix}");
        let from = home.dir().join(&name);
        if from.exists() {
            let to = aside.join(&name);
            if let Err(e) = std::fs::rename(&from, &to) {
                moved.put_back();
                return Err(disk("move", &from, &e));
            }
            moved.0.push((from, to));
        }
    }
    Ok(moved)
}

/// Whether the secrets of a ledger are where they are said to be; for `doctor` and `restore`.
pub async fn secrets_at_hand(choice: &SecretsChoice, ledger_id: &str) -> Result<bool, Failure> {
    Keychain::open(choice, ledger_id, None).await?.holds_ledger().await
}
