//! `init` and `sending`.

use crate::args::{Init, Sending, Switch};
use crate::output::{Ended, prompt};
use crate::session::{Needs, Session};
use countersign_engine::{Desk, Failure, InitArgs, LIVE, Passphrase, SANDBOX, SecretsChoice, sandbox_home};
use serde_json::json;

/// Undo window of the embedded destination, in seconds.
const SANDBOX_UNDO: u32 = 10;

pub async fn init(s: &Session, a: Init) -> Ended {
    let secrets = s.secrets()?.unwrap_or(SecretsChoice::Keychain);
    let in_file = matches!(secrets, SecretsChoice::File(_));
    if in_file && a.no_passphrase {
        return Err(Failure::bad_input(
            "no-passphrase",
            "a secrets file is always encrypted: --no-passphrase cannot be used with file:",
        ));
    }
    // Before anything is typed twice.
    if s.home.exists() {
        if let Some(desk) = begun(s, &a).await? {
            return finish(s, &desk).await;
        }
        return Err(Failure::conflict(format!("{} already holds a home", s.home.dir().display())));
    }
    if let SecretsChoice::File(path) = &secrets
        && let Some(folder) = path.parent().filter(|dir| !dir.as_os_str().is_empty() && !dir.is_dir())
    {
        return Err(Failure::bad_input("secrets", format!("there is no folder {}", folder.display())));
    }
    let passphrase = if a.no_passphrase { None } else { Some(new_passphrase(s)?) };
    if let Some(passphrase) = &passphrase {
        s.know(passphrase);
    }
    let args = InitArgs { owner: a.owner, sandbox: a.sandbox, secrets, passphrase };
    s.home.init(args, &s.clock()).await?;
    finish(s, &s.desk(Needs::Secrets).await?).await
}

/// A home whose making broke off before its sandbox was set up, of the same owner: the same command completes it.
async fn begun(s: &Session, a: &Init) -> Result<Option<Desk>, Failure> {
    let config = s.home.config()?;
    if !config.sandbox || !a.sandbox || config.owner.0 != a.owner.trim() {
        return Ok(None);
    }
    let desk = s.desk(Needs::Secrets).await?;
    Ok(if sandbox_home::is_furnished(desk.core()).await? { None } else { Some(desk) })
}

async fn finish(s: &Session, desk: &Desk) -> Ended {
    sandbox_home::furnish(desk, SANDBOX_UNDO).await.map_err(|failure| Failure {
        message: format!(
            "the home was made and its sandbox was not: {}. Say the same command once more to complete it",
            failure.message.trim_end_matches('.')
        ),
        ..failure
    })?;
    let config = &desk.core().config;
    let mut environments = vec![json!({ "name": LIVE, "sending": false })];
    if config.sandbox {
        environments.push(json!({ "name": SANDBOX, "sending": true }));
    }
    s.out.answer(&json!({
        "home": s.home.dir(),
        "ledger": config.ledger_id,
        "owner": config.owner,
        "secrets": config.secrets.as_ref().map(|c| c.to_string()),
        "passphrase": config.passphrase,
        "environments": environments,
    }))
}

fn new_passphrase(s: &Session) -> Result<Passphrase, Failure> {
    if s.global.passphrase_fd.is_some() {
        return s.passphrase(false)?.ok_or_else(missing);
    }
    let first = prompt("New passphrase")?.ok_or_else(missing)?;
    let again = prompt("The same again")?.ok_or_else(missing)?;
    if first != again {
        return Err(Failure::bad_input("passphrase", "the two differ; nothing was made"));
    }
    Passphrase::new(&first)
}

fn missing() -> Failure {
    Failure::bad_input(
        "passphrase-fd",
        "a passphrase is needed: on the terminal, with --passphrase-fd N, or say --no-passphrase (the command line can then \
         not approve in live)",
    )
}

pub async fn sending(s: &Session, a: Sending) -> Ended {
    let on = matches!(a.switch, Switch::On);
    let desk = s.desk(if on { Needs::Secrets } else { Needs::Nothing }).await?;
    desk.environment_exists(&a.environment)?;
    if on {
        s.unlock(&desk, &a.environment).await?;
    }
    desk.set_sending(&a.environment, on).await?;
    s.out.answer(&json!({ "environment": a.environment, "sending": on }))
}
