//! `recovery export|import`: the secrets of a home for another machine, or for the day its store is lost.

use crate::args::{FileName, Recovery};
use crate::output::{Ended, document};
use crate::session::{Needs, Session};
use countersign_engine::{Failure, Keychain, LIVE, copies};
use serde_json::json;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

/// It holds a few keys.
const FILE_LIMIT: usize = 1024 * 1024;

pub async fn run(s: &Session, command: Recovery) -> Ended {
    match command {
        Recovery::Export(a) => export(s, a).await,
        Recovery::Import(a) => import(s, a).await,
    }
}

async fn export(s: &Session, a: FileName) -> Ended {
    let desk = s.desk(Needs::Secrets).await?;
    s.unlock(&desk, LIVE).await?;
    if desk.presence().is_none() {
        // Says why there is none: locked, or made without a passphrase.
        desk.unlock(None).await?;
    }
    let (Some(presence), Some(passphrase)) = (desk.presence(), s.passphrase(true)?) else {
        return Err(Failure::locked("the secrets are written out only with the passphrase"));
    };
    let exported = desk.core().keychain.export(&presence, Some(&passphrase)).await?;
    write_new(&a.file, &exported)?;
    s.out.answer(&json!({
        "file": a.file,
        "text": "Keep it apart from the backups. The passphrase opens it; passwords and tokens of destinations are not in it.",
    }))
}

async fn import(s: &Session, a: FileName) -> Ended {
    let exported = document("file", &a.file, FILE_LIMIT)?;
    let config = s.home.config()?;
    let Some(choice) = config.secrets.clone().or(s.secrets()?) else {
        return Err(Failure::bad_input("secrets", "name the store that is to hold this ledger's secrets"));
    };
    if let Ok(true) = copies::secrets_at_hand(&choice, &config.ledger_id).await {
        return Err(Failure::conflict("the secrets store of this home has its secrets; nothing was taken"));
    }
    let passphrase = s.passphrase(true)?.ok_or_else(|| {
        Failure::locked("the file opens with the passphrase; give it on the terminal or with --passphrase-fd")
    })?;
    Keychain::import(&choice, &config.ledger_id, &exported, &passphrase).await?;
    s.out.answer(&json!({
        "home": s.home.dir(),
        "secrets": choice.to_string(),
        "text": "Dispatch stays frozen until `countersign unfreeze --adopt`. Each destination needs its password or token \
                 again: `countersign destination login NAME`.",
    }))
}

/// Readable by this user only, and never in the place of another file.
fn write_new(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(path).and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()));
    written.map_err(|e| Failure::bad_input("file", format!("{} cannot be written: {}", path.display(), e.kind())))
}
