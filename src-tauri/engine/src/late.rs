//! Answers that come after an attempt was closed as unclear. The socket is kept and read on; a late yes settles the case.
//!
//! While such a socket is open nobody may sign "it did not happen". Other processes see it by a lock on a file under
//! `open/`, which the operating system frees with the process. Each attempt has a file of its own: a repeat under the same
//! key may be overdue too while the first answer is still waited for.

use crate::core::Core;
use crate::destinations::Reached;
use crate::failure::{Failure, disk};
use crate::home::Home;
use crate::unwritten::Endings;
use countersign_connectors::{Crossed, LateReader};
use countersign_domain::{ActionId, Echo, Outcome, ReceiptKind, classify};
use countersign_ledger::Claim;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::task::JoinSet;

/// RFC 5321 asks to wait ten minutes for the answer; some servers take longer to come to one.
pub(crate) const READ_ON: Duration = Duration::from_secs(600);

/// The open sockets of one dispatcher.
#[derive(Clone)]
pub(crate) struct Late {
    home: Home,
    endings: Endings,
    tasks: Arc<Mutex<JoinSet<()>>>,
}

/// A socket of this action is open. Dropped when it is closed.
pub(crate) struct OpenSocket {
    file: File,
    path: PathBuf,
}

impl Drop for OpenSocket {
    fn drop(&mut self) {
        // Removed while still locked: whoever opens it afterwards makes a new one that nobody holds.
        let _ = std::fs::remove_file(&self.path);
        let _ = self.file.unlock();
    }
}

fn folder(home: &Home) -> PathBuf {
    home.dir().join("open")
}

/// Whether any process still reads on for an answer to an attempt of this action.
pub(crate) fn socket_is_open(home: &Home, action: ActionId) -> bool {
    let Ok(entries) = std::fs::read_dir(folder(home)) else { return false };
    let first = format!("{action}.");
    entries
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(&first))
        .filter_map(|entry| File::options().write(true).open(entry.path()).ok())
        .any(|file| file.try_lock().is_err())
}

impl Late {
    pub(crate) fn new(home: Home, endings: Endings) -> Late {
        Late { home, endings, tasks: Arc::default() }
    }

    /// Says to every process that the socket of this attempt is open. Never waits: it runs beside every other action.
    pub(crate) fn hold(&self, claim: &Claim) -> Result<OpenSocket, Failure> {
        let folder = folder(&self.home);
        let path = folder.join(format!("{}.{}", claim.action, claim.attempt));
        let hold = || -> std::io::Result<File> {
            std::fs::create_dir_all(&folder)?;
            let file = File::options().write(true).create(true).truncate(false).open(&path)?;
            file.try_lock()?;
            Ok(file)
        };
        hold()
            .map(|file| OpenSocket { file, path: path.clone() })
            .map_err(|e| disk("mark an open socket in", &path, &e))
    }

    /// Reads on in the background, whether or not other processes could be told of it.
    pub(crate) async fn read_on(
        &self,
        core: Core,
        claim: &Claim,
        reached: &Reached,
        reader: LateReader,
        open: Result<OpenSocket, Failure>,
    ) {
        let (attempt, action, order) = (claim.attempt, claim.action, claim.order.clone());
        let (connector, login) = (reached.connector.clone(), reached.login.clone());
        if let Err(failure) = &open {
            tracing::error!(%action, code = failure.code.word(), "an open socket could not be marked: {failure}");
        }
        let endings = self.endings.clone();
        let mut tasks = self.tasks.lock().await;
        while tasks.try_join_next().is_some() {}
        tasks.spawn(async move {
            let outcome = match reader.read_on(READ_ON).await {
                Crossed::Answered(reply) => {
                    core.saw_clock(&order.key().destination, reply.ahead_seconds());
                    let Some(contract) = connector.contract_of(&order) else { return };
                    classify(contract, &connector.confirm(&order, connector.read(&reply), &login).await)
                }
                Crossed::Broken(doubt) => Outcome::Unclear(doubt),
                Crossed::Pending(_) | Crossed::Unsent(_) => return,
            };
            let outcome = match outcome.without(&Echo::of(order.sealed().payload())) {
                Outcome::Accepted(mut receipt) => {
                    receipt.kind = ReceiptKind::LateAnswer;
                    Outcome::Accepted(receipt)
                }
                other => other,
            };
            if let Err(failure) = endings.late(&core, attempt, action, outcome).await {
                tracing::error!(%action, code = failure.code.word(), "a late answer could not be kept: {failure}");
            }
            drop(open);
        });
    }

    /// Waits until every open socket was answered or closed.
    pub(crate) async fn all_read(&self) {
        let mut tasks = self.tasks.lock().await;
        while tasks.join_next().await.is_some() {}
    }
}
