//! One file per group of subcommands.

mod actions;
mod decisions;
mod demo;
mod destination;
mod doctor;
mod init;
mod keep;
mod propose;
mod recovery;
mod run;
mod source;

use crate::args::Command;
use crate::output::Ended;
use crate::session::Session;

pub async fn run(s: &Session, command: Command) -> Ended {
    match command {
        Command::Init(a) => init::init(s, a).await,
        Command::Sending(a) => init::sending(s, a).await,
        Command::Destination(a) => destination::run(s, a).await,
        Command::Source(a) => source::run(s, a).await,
        Command::Propose(a) => propose::propose(s, a).await,
        Command::List(a) => actions::list(s, a).await,
        Command::Search(a) => actions::search(s, a).await,
        Command::Show(a) => actions::show(s, a).await,
        Command::Edit(a) => decisions::edit(s, a).await,
        Command::Confirm(a) => decisions::confirm(s, a).await,
        Command::Release(a) => decisions::release(s, a).await,
        Command::Approve(a) => decisions::approve(s, a).await,
        Command::Reject(a) => decisions::reject(s, a).await,
        Command::Undo(a) => decisions::undo(s, a).await,
        Command::Resolve(a) => decisions::resolve(s, a).await,
        Command::Revise(a) => decisions::revise(s, a).await,
        Command::Dispatch(a) => run::dispatch(s, a).await,
        Command::Reconcile(a) => run::reconcile(s, a).await,
        Command::Finish(a) => run::finish(s, a).await,
        Command::Serve(a) => run::serve(s, a).await,
        Command::Mcp(a) => crate::mcp::serve(s, a).await,
        Command::Verify => keep::verify(s).await,
        Command::Export(a) => keep::export(s, a).await,
        Command::Backup(a) => keep::backup(s, a).await,
        Command::Restore(a) => keep::restore(s, a).await,
        Command::Recovery(a) => recovery::run(s, a).await,
        Command::Purge(a) => keep::purge(s, a).await,
        Command::Freeze => keep::freeze(s).await,
        Command::Unfreeze(a) => keep::unfreeze(s, a).await,
        Command::Doctor(a) => doctor::doctor(s, a.test_notification).await,
        Command::Demo => Box::pin(demo::demo(s)).await,
    }
}
