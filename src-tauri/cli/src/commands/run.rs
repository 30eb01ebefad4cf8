//! What dispatches: `dispatch`, `reconcile`, `serve`. One process at a time, by the home's lock.

use crate::args::{Dispatch, One, Reconcile, Serve};
use crate::output::Ended;
use crate::session::{Needs, Session};
use countersign_domain::{ActionId, State};
use countersign_engine::intake::folder::Folder;
use countersign_engine::intake::http;
use countersign_engine::intake::mail::WatchedMailbox;
use countersign_engine::sandbox_home::Embedded;
use countersign_engine::{Code, Core, Desk, Dispatcher, Failure, Frozen, Handled, Intake};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// How long `dispatch --until-idle` waits for answers after their time-out.
const LATE_ANSWERS: Duration = Duration::from_secs(10);

pub async fn dispatch(s: &Session, a: Dispatch) -> Ended {
    let core = s.core(Needs::Secrets).await?;
    let dispatcher = Dispatcher::start(core.clone()).await?;
    let embedded = Embedded::start(&core).await?;
    if a.until_idle {
        let mut handled = dispatcher.until_idle().await;
        // An answer that is only late is taken while its socket can still be read: it dies with this process.
        if handled.states.values().any(|state| *state == State::Unknown)
            && tokio::time::timeout(LATE_ANSWERS, dispatcher.late_answers()).await.is_ok()
        {
            dispatcher.settled_since(&mut handled).await;
        }
        leave(embedded).await;
        return summary(s, &handled, &paused(&core).await?);
    }
    s.out.event(&json!({ "dispatching": s.home.dir() }), &format!("dispatching from {}", s.home.dir().display()))?;
    dispatcher.run(until_signal()?).await;
    leave(embedded).await;
    Ok(0)
}

async fn leave(embedded: Option<Embedded>) {
    if let Some(embedded) = embedded {
        embedded.stop().await;
    }
}

/// Destinations nothing is handed to for now. What waits for them is not due, so the run ends without it.
async fn paused(core: &Core) -> Result<Vec<Value>, Failure> {
    let now = core.clock.now();
    let all = core.ledger.destinations(None).await?.into_iter();
    let told = all.filter_map(|d| d.paused.filter(|p| p.lasts(now)).map(|p| (d.name, p)));
    Ok(told.map(|(name, p)| json!({ "destination": name, "why": p.why, "until": p.until })).collect())
}

/// What was handled, on stdout; what a person must know, on stderr and in the exit code.
fn summary(s: &Session, handled: &Handled, paused: &[Value]) -> Ended {
    let mut states: Vec<_> = handled.states.iter().collect();
    states.sort_by_key(|(action, _)| action.0);
    let actions: Vec<Value> = states.iter().map(|(id, state)| json!({ "id": id, "state": state.name() })).collect();
    let refused: Vec<Value> = handled.refused.iter().map(|(_, failure)| json!(failure.doc())).collect();
    let failures: Vec<Value> = handled.failures.iter().map(|failure| json!(failure.doc())).collect();
    let all = json!({
        "actions": actions,
        "refused": refused,
        "failures": failures,
        "paused": paused,
        "held_back": handled.held_back,
        "frozen": handled.frozen.map(Frozen::word),
    });
    s.out.answer_or(&all, "Nothing was due. `countersign list` shows what waits, and for what.")?;
    let Some(code) = handled.code() else { return Ok(0) };
    let stopped = handled.stopped();
    let told = handled.refused.iter().map(|(_, f)| f).chain(&stopped).chain(&handled.failures);
    let failure = match told.into_iter().find(|f| f.code == code) {
        Some(failure) => failure.clone(),
        None => {
            let first = states.iter().find(|(_, state)| code_of(**state) == Some(code)).map(|(id, _)| **id);
            let failure = Failure::new(code, sentence(code));
            first.map_or(failure.clone(), |id| failure.on(id))
        }
    };
    Ok(s.out.failure(&failure))
}

fn code_of(state: State) -> Option<Code> {
    match state {
        State::Unknown => Some(Code::Unknown),
        State::Refused => Some(Code::Refused),
        State::GaveUp => Some(Code::GaveUp),
        State::Prepared
        | State::NeedsReview
        | State::Approved
        | State::InProgress
        | State::Accepted
        | State::Rejected
        | State::Superseded
        | State::ClosedUnknown => None,
    }
}

fn sentence(code: Code) -> &'static str {
    match code {
        Code::Unknown => "the outcome of an action is not known; `show` says what was tried and what comes next",
        Code::Refused => "a destination said no; nothing was sent",
        Code::GaveUp => "the attempts ran out, each certainly not sent",
        _ => "something was left undone",
    }
}

pub async fn reconcile(s: &Session, a: Reconcile) -> Ended {
    let core = s.core(Needs::Secrets).await?;
    let desk = Desk::new(core.clone());
    let only = match &a.id {
        Some(id) => Some(desk.resolve_id(id).await?),
        None => None,
    };
    let dispatcher = Dispatcher::start(core.clone()).await?;
    let embedded = Embedded::start(&core).await?;
    let asked = ask(&desk, &dispatcher, only).await;
    leave(embedded).await;
    let asked = asked?;
    let note = |not: &Failure| json!({ "action": not.action, "text": not.message });
    match only {
        Some(id) => {
            let mut doc = serde_json::to_value(desk.action(id).await?).map_err(|e| Failure::internal(e.to_string()))?;
            if let Some(not) = asked.not_asked.first() {
                doc["note"] = json!(not.message);
            }
            s.out.answer(&doc)?
        }
        None => {
            let list: Vec<Value> =
                asked.states.iter().map(|(id, state)| json!({ "id": id, "state": state.name() })).collect();
            let notes: Vec<Value> = asked.not_asked.iter().map(note).collect();
            s.out.answer_or(&json!({ "actions": list, "notes": notes }), "No action is unknown.")?
        }
    };
    // Something that is broken weighs more than what stays unknown.
    if let Some(broken) = asked.not_asked.iter().find(|f| f.code == Code::Integrity) {
        return Ok(s.out.failure(broken));
    }
    let unknown = |state: &State| matches!(state, State::Unknown | State::ClosedUnknown);
    Ok(match asked.states.iter().find(|(_, state)| unknown(state)) {
        Some((id, _)) => s.out.failure(&Failure::new(Code::Unknown, sentence(Code::Unknown)).on(*id)),
        None => 0,
    })
}

/// A person has one unknown action finished: the same bytes under the same key, inside the key's window.
pub async fn finish(s: &Session, a: One) -> Ended {
    let (desk, id) = s.deciding(&a.id).await?;
    let dispatcher = Dispatcher::start(desk.core().clone()).await?;
    let embedded = Embedded::start(desk.core()).await?;
    let finished = desk.finish(&dispatcher, id).await;
    leave(embedded).await;
    let doc = finished?;
    s.out.answer(&doc)?;
    let state = desk.state_of(id).await?;
    Ok(code_of(state).map_or(0, |code| s.out.failure(&Failure::new(code, sentence(code)).on(id))))
}

struct Asked {
    states: Vec<(ActionId, State)>,
    /// Why an action could not be asked about. It stays what it was.
    not_asked: Vec<Failure>,
}

/// Asks about each one: that one cannot be asked about keeps nobody from asking about the others.
async fn ask(desk: &Desk, dispatcher: &Dispatcher, only: Option<ActionId>) -> Result<Asked, Failure> {
    let ids = match only {
        Some(id) => vec![id],
        None => desk.unknown().await?,
    };
    let mut asked = Asked { states: Vec::new(), not_asked: Vec::new() };
    for id in ids {
        match dispatcher.ask_now(id).await {
            Ok(standing) => asked.states.push((id, standing.state)),
            Err(failure) => {
                let state = desk.state_of(id).await?;
                if !matches!(state, State::Unknown | State::ClosedUnknown) {
                    // Nothing to ask about: either it was never unknown, or its answer came meanwhile.
                    match only {
                        Some(_) => return Err(failure),
                        None => asked.states.push((id, state)),
                    }
                    continue;
                }
                asked.states.push((id, state));
                asked.not_asked.push(failure.on(id));
            }
        }
    }
    Ok(asked)
}

pub async fn serve(s: &Session, a: Serve) -> Ended {
    let core = s.core(Needs::Secrets).await?;
    let listener = http::bind(&a.listen).await?;
    let dispatcher = Dispatcher::start(core.clone()).await?;
    let embedded = Embedded::start(&core).await?;
    let intake = Intake::open(&core).await?;
    let folder = a.watch.as_deref().map(|dir| Folder::open(dir, intake.clone())).transpose()?;
    let mut mailboxes = Vec::new();
    for which in &a.watch_mailbox {
        mailboxes.push(WatchedMailbox::open(which, intake.clone()).await?);
    }
    let intake = Arc::new(intake);
    let address = listener.local_addr().map_err(|e| Failure::internal(e.to_string()))?;
    let stop = until_signal()?;
    // A document of its own with and without --json: whoever starts it reads the port from the first line.
    s.out.first(&json!({ "listening": address.to_string() }))?;
    let door = http::serve(listener, intake, stop.clone().cancelled_owned());
    let watch = async {
        if let Some(folder) = folder {
            folder.watch(stop.clone()).await;
        }
    };
    let every = Duration::from_secs(a.watch_mailbox_every);
    // Tasks of their own: a server's large message is read beside the worker, not in its turn.
    let mut mail = JoinSet::new();
    for mailbox in mailboxes {
        mail.spawn(mailbox.watch(every, stop.clone()));
    }
    let mail = async {
        while let Some(ended) = mail.join_next().await {
            if ended.is_err() {
                tracing::error!("the watch of a mailbox broke off inside the program; start again to go on with it");
            }
        }
    };
    let (served, (), (), ()) = tokio::join!(door, dispatcher.run(stop.clone()), watch, mail);
    leave(embedded).await;
    served.map_err(|e| Failure::internal(format!("the door broke: {}", e.kind())))?;
    Ok(0)
}

/// A token that is cancelled by Ctrl+C or SIGTERM.
fn until_signal() -> Result<CancellationToken, Failure> {
    let stop = CancellationToken::new();
    let told = stop.clone();
    #[cfg(unix)]
    let mut term = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())
        .map_err(|e| Failure::internal(format!("signals cannot be received: {}", e.kind())))?;
    tokio::spawn(async move {
        #[cfg(unix)]
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = term.recv() => {}
        }
        #[cfg(not(unix))]
        let _ = tokio::signal::ctrl_c().await;
        told.cancel();
    });
    Ok(stop)
}
