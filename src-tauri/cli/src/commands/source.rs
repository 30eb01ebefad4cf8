//! `source add|list|revoke|refusals|outcome`.

use crate::args::{Source, SourceAdd, SourceOutcome};
use crate::output::Ended;
use crate::session::{Needs, Session};
use serde_json::json;

pub async fn run(s: &Session, command: Source) -> Ended {
    match command {
        Source::Add(a) => add(s, a).await,
        Source::List => {
            let desk = s.desk(Needs::Nothing).await?;
            let all = json!({ "sources": desk.sources().await? });
            let how = "No sources yet. `countersign source add NAME --environment E --effects E,… --destinations D,…` allows one.";
            s.out.answer_or(&all, how)
        }
        Source::Outcome(a) => outcome(s, a).await,
        Source::Refusals(a) => {
            let desk = s.desk(Needs::Nothing).await?;
            let (refusals, not_taken) = (desk.refusals(&a.name).await?, desk.not_taken_from(&a.name).await?);
            s.out.answer(&json!({ "source": a.name, "refusals": refusals, "not_taken": not_taken }))
        }
        Source::Revoke(a) => {
            let desk = s.desk(Needs::Secrets).await?;
            desk.revoke_source(&a.name).await?;
            s.out.answer(&json!({ "name": a.name, "revoked": true }))
        }
    }
}

async fn add(s: &Session, a: SourceAdd) -> Ended {
    let desk = s.desk(Needs::Secrets).await?;
    desk.environment_exists(&a.environment)?;
    s.unlock(&desk, &a.environment).await?;
    let list =
        |all: Vec<String>| all.into_iter().map(|t| t.trim().to_owned()).filter(|t| !t.is_empty()).collect::<Vec<_>>();
    let made = desk.add_source(&a.name, &a.environment, &list(a.effects), &list(a.destinations), a.signed).await?;
    s.out.answer(&made)
}

async fn outcome(s: &Session, a: SourceOutcome) -> Ended {
    let needs = if a.url.is_some() || a.remove { Needs::Secrets } else { Needs::Nothing };
    let desk = s.desk(needs).await?;
    match a.url {
        Some(url) => {
            let environment = desk.environment_of_source(&a.name).await?;
            s.unlock(&desk, &environment).await?;
            s.out.answer(&desk.set_outcome_hook(&a.name, &url).await?)
        }
        None if a.remove => {
            desk.remove_outcome_hook(&a.name).await?;
            s.out.answer(&json!({ "source": a.name, "removed": true }))
        }
        None => s.out.answer(&desk.outcome_hook(&a.name).await?),
    }
}
