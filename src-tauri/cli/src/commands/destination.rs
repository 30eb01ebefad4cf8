//! `destination add|list|test|prepare|login|contract|repeat|remove`.

use crate::args::{Destination, DestinationAdd, DestinationLogin, DestinationTest, Switch};
use crate::output::{Ended, document, lines, prompt};
use crate::session::{Needs, Session};
use countersign_domain::address::check_address;
use countersign_engine::{Failure, LoginSecret};
use serde_json::json;
use std::path::Path;

/// A destination file is a page of text at most.
const FILE_LIMIT: usize = 256 * 1024;

pub async fn run(s: &Session, command: Destination) -> Ended {
    match command {
        Destination::Add(a) => add(s, a).await,
        Destination::List => {
            let desk = s.desk(Needs::Nothing).await?;
            let all = json!({ "destinations": desk.destinations(None).await? });
            s.out.answer_or(&all, "No destinations yet. `countersign destination add FILE.toml` adds one.")
        }
        Destination::Test(a) => test(s, a).await,
        Destination::Prepare(a) => {
            let desk = s.desk(Needs::Secrets).await?;
            let environment = environment(&desk, &a.name).await?;
            s.unlock(&desk, &environment).await?;
            let steps = desk.prepare_destination(&a.name, &|_| {}).await?;
            s.out.answer(&json!({ "name": a.name, "steps": steps }))
        }
        Destination::Login(a) => login(s, a).await,
        Destination::Contract(a) => {
            let desk = s.desk(Needs::Nothing).await?;
            s.out.answer(&json!({ "destination": a.name, "contracts": desk.contract(&a.name).await? }))
        }
        Destination::Repeat(a) => {
            let desk = s.desk(Needs::Secrets).await?;
            let environment = environment(&desk, &a.name).await?;
            s.unlock(&desk, &environment).await?;
            s.out.answer(&desk.set_repeats(&a.name, matches!(a.to, Switch::On)).await?)
        }
        Destination::Remove(a) => {
            let desk = s.desk(Needs::Secrets).await?;
            let environment = environment(&desk, &a.name).await?;
            s.unlock(&desk, &environment).await?;
            desk.remove_destination(&a.name).await?;
            s.out.answer(&json!({ "name": a.name, "removed": true }))
        }
    }
}

async fn environment(desk: &countersign_engine::Desk, name: &str) -> Result<String, Failure> {
    let all = desk.destinations(None).await?;
    let found = all.into_iter().find(|d| d.name == name);
    found.map(|d| d.environment).ok_or_else(|| Failure::not_found(format!("there is no destination {name}")).at("name"))
}

async fn add(s: &Session, a: DestinationAdd) -> Ended {
    let bytes = document("file", &a.file, FILE_LIMIT)?;
    let text = String::from_utf8(bytes).map_err(|_| Failure::bad_input("file", "is not valid UTF-8"))?;
    let desk = s.desk(Needs::Secrets).await?;
    let base_dir = a.file.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Everything the file says is checked before anybody is asked for a password.
    let (config, described) = desk.core().destinations.describe(&text, base_dir)?;
    desk.environment_exists(&config.environment)?;
    s.unlock(&desk, &config.environment).await?;
    let secret = secret(a.secret_fd, desk.signs_in_by_oauth(&described)?)?;
    s.out.answer(&desk.add_destination(&text, base_dir, &secret).await?)
}

/// The password or token; of a sign-in by OAuth the refresh token and, below it, the client's secret.
fn secret(fd: Option<u32>, oauth: bool) -> Result<LoginSecret, Failure> {
    let handed = match fd {
        Some(fd) => lines("secret-fd", fd)?.into_iter().take(if oauth { 2 } else { 1 }).collect::<Vec<_>>(),
        None if oauth => {
            let refresh = prompt("Refresh token")?;
            let client = if refresh.is_some() {
                prompt("Client secret (empty if there is none, or it is the same)")?
            } else {
                None
            };
            refresh.into_iter().chain(client).collect()
        }
        None => prompt("Password or token")?.into_iter().collect(),
    };
    match handed.first() {
        Some(first) if !first.is_empty() => Ok(LoginSecret::new(handed.join("\n"))),
        _ => Err(Failure::bad_input(
            "secret-fd",
            "the password or token is missing: hand it over on a descriptor or type it",
        )),
    }
}

async fn login(s: &Session, a: DestinationLogin) -> Ended {
    let desk = s.desk(Needs::Secrets).await?;
    let environment = environment(&desk, &a.name).await?;
    s.unlock(&desk, &environment).await?;
    let (record, _) = desk.core().destinations.connector(&a.name).await?;
    let secret = secret(a.secret_fd, desk.signs_in_by_oauth(&record)?)?;
    let embedded = countersign_engine::sandbox_home::Embedded::start(desk.core()).await?;
    let result = desk.sign_in(&a.name, &secret, &|_| {}).await;
    if let Some(embedded) = embedded {
        embedded.stop().await;
    }
    s.out.answer(&result?)
}

async fn test(s: &Session, a: DestinationTest) -> Ended {
    if let Some(to) = &a.send_to {
        check_address(to).map_err(|why| Failure::bad_input("send-to", why.to_string()))?;
    }
    let desk = s.desk(Needs::Secrets).await?;
    let environment = environment(&desk, &a.name).await?;
    if a.send_to.is_some() {
        s.unlock(&desk, &environment).await?;
    }
    let out = s.out;
    let embedded = countersign_engine::sandbox_home::Embedded::start(desk.core()).await?;
    let result = desk
        .test_destination(&a.name, a.send_to.as_deref(), &move |step| {
            // Progress is for the eye; the answer below has every step.
            let _ = out.say(&format!("{:<16} {:<8} {}", step.step, step.state, step.text));
        })
        .await;
    if let Some(embedded) = embedded {
        embedded.stop().await;
    }
    s.out.answer(&result?)
}
