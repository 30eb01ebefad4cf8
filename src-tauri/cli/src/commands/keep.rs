//! Evidence and upkeep: `verify`, `export`, `backup`, `restore`, `purge`, `freeze`, `unfreeze`.

use crate::args::{Export, FileName, Format, Purge, Unfreeze};
use crate::output::Ended;
use crate::session::{Needs, Session};
use countersign_engine::desk::{Export as Which, Format as Written};
use countersign_engine::{Code, Config, Desk, Failure, Frozen, Keychain, LIVE, SecretsChoice, copies};
use serde_json::json;

pub async fn verify(s: &Session) -> Ended {
    let core = s.core(Needs::Secrets).await?;
    let roster = core.roster().await?;
    let secret = core.ledger_secret().await?;
    let broken = core.ledger.verify(&roster, Some(&secret), &mut |_, _| {}).await?;
    let list: Vec<_> = broken.iter().map(|b| json!({ "what": b.what, "id": b.id, "why": b.why })).collect();
    let head = core.ledger.head().await?;
    s.out.answer(&json!({ "broken": list, "seq": head.seq, "head": head.hash }))?;
    Ok(if broken.is_empty() { 0 } else { Code::Integrity.exit() })
}

pub async fn export(s: &Session, a: Export) -> Ended {
    let desk = s.desk(Needs::Nothing).await?;
    let which = Which { from: a.from, to: a.to, state: a.state, environment: None };
    match a.format {
        Format::Json => s.out.text(&desk.export(Written::Json, &which).await?),
        Format::Csv => {
            let text = desk.export(Written::Csv, &which).await?;
            // One JSON document was asked for, so the text goes into one.
            if s.out.json { s.out.answer(&json!({ "csv": text })) } else { s.out.text(&text) }
        }
    }
}

pub async fn backup(s: &Session, a: FileName) -> Ended {
    let core = s.core(Needs::Nothing).await?;
    let head = core.backup(&a.file).await?;
    s.out.answer(&json!({ "file": a.file, "seq": head.seq, "head": head.hash }))
}

/// Presence first, then everything in the copy is proved; until then nothing is touched.
pub async fn restore(s: &Session, a: FileName) -> Ended {
    if !a.file.is_file() {
        return Err(Failure::bad_input("file", format!("{} is not a file", a.file.display())));
    }
    let choice = s.secrets()?.unwrap_or(SecretsChoice::Keychain);
    let config = copies::config_of(&s.home, &a.file, Some(&choice)).await?;
    let keychain = prove(s, &config).await?;
    copies::restore(&s.home, &a.file, &config, &keychain).await?;
    s.out.answer(&json!({
        "home": s.home.dir(),
        "frozen": Frozen::Restored.word(),
        "text": Frozen::Restored.text(),
    }))
}

/// The unlocked secrets of a ledger, as proof that a person is there, without opening the ledger, which may be what is broken.
async fn prove(s: &Session, config: &Config) -> Result<Keychain, Failure> {
    if !config.passphrase {
        return Err(Failure::not_permitted(
            "this home was made without a passphrase; the command line cannot restore into it",
        ));
    }
    let choice = match (&config.secrets, s.secrets()?) {
        (Some(made), _) => made.clone(),
        (None, Some(given)) => given,
        (None, None) => return Err(Failure::bad_input("secrets", "name the store that holds this ledger's secrets")),
    };
    let passphrase = s.passphrase(true)?.ok_or_else(|| {
        Failure::locked("restoring needs the passphrase; give it on the terminal or with --passphrase-fd")
    })?;
    let keychain = Keychain::open(&choice, &config.ledger_id, Some(&passphrase)).await?;
    keychain.unlock(Some(&passphrase)).await?;
    Ok(keychain)
}

pub async fn purge(s: &Session, a: Purge) -> Ended {
    let desk = present(s).await?;
    let core = desk.core();
    let now = core.clock.now();
    let purged = core.ledger.purge(now.minus(a.older_than), &core.owner, now).await?;
    s.out.answer(&json!({ "actions": purged.actions, "attachments": purged.attachments }))
}

pub async fn freeze(s: &Session) -> Ended {
    let core = s.core(Needs::Nothing).await?;
    core.freeze(Frozen::ByHand, &core.owner.0).await?;
    s.out.answer(&json!({ "frozen": Frozen::ByHand.word(), "text": Frozen::ByHand.text() }))
}

pub async fn unfreeze(s: &Session, a: Unfreeze) -> Ended {
    let desk = present(s).await?;
    let core = desk.core();
    let presence = desk.presence().ok_or_else(|| {
        Failure::locked("lifting a freeze needs the passphrase; give it on the terminal or with --passphrase-fd")
    })?;
    let adopted = core.unfreeze(a.adopt, &core.owner, &presence).await?;
    s.out.answer(&json!({ "frozen": null, "adopted": adopted }))
}

/// A desk with proof that a person is there.
async fn present(s: &Session) -> Result<Desk, Failure> {
    let desk = s.desk(Needs::Secrets).await?;
    s.unlock(&desk, LIVE).await?;
    if desk.presence().is_none() {
        // Says why there is none: locked, or made without a passphrase.
        desk.unlock(None).await?;
    }
    Ok(desk)
}
