//! Starting, stopping and asking a sandbox.

use std::fmt;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::config::{Config, Habits, ImapFeatures, SmtpFeatures};
use crate::control::{self, Release};
use crate::faults::{Fault, Times};
use crate::listen::{bind, listen};
use crate::signals::{Point, TimedOut, WAIT_LIMIT};
use crate::store::Store;
use crate::world::{Appended, Effect, Protocol, Said, Stored, World, folder_name, lower};
use crate::{imap, smtp};

const RUNNING: &str = "running.json";

/// Where a running sandbox can be reached, and the token that lets another process script it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Running {
    /// SMTP submission, plain text.
    pub smtp: SocketAddr,
    /// IMAP, plain text.
    pub imap: SocketAddr,
    /// The control port; see [`crate::Control`].
    pub control: SocketAddr,
    /// What the control port wants to hear first.
    pub token: String,
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Running");
        shown
            .field("smtp", &self.smtp)
            .field("imap", &self.imap)
            .field("control", &self.control)
            .finish_non_exhaustive()
    }
}

impl Running {
    /// The sandbox that another process runs on this directory, if one does. A note left by a killed process is not
    /// taken for one: the lock tells.
    pub fn find(directory: &Path) -> io::Result<Option<Running>> {
        let lock = match fs::OpenOptions::new().write(true).open(directory.join("lock")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            lock => lock?,
        };
        if lock.try_lock().is_ok() {
            return Ok(None);
        }
        match fs::read(directory.join(RUNNING)) {
            Ok(text) => Ok(Some(serde_json::from_slice(&text)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Why a sandbox did not start.
#[derive(Debug)]
pub enum StartError {
    /// Another process runs a sandbox on this directory; where, if it has said so yet.
    InUse(Option<Running>),
    /// A port or the directory cannot be used.
    Io {
        /// What was tried.
        what: &'static str,
        /// What the system said.
        error: io::Error,
    },
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::InUse(_) => write!(f, "another process runs the sandbox of this directory"),
            StartError::Io { what, error } => write!(f, "the sandbox cannot {what}: {error}"),
        }
    }
}

impl std::error::Error for StartError {}

fn io_error(what: &'static str) -> impl Fn(io::Error) -> StartError {
    move |error| StartError::Io { what, error }
}

/// How often a directory is asked for, and how long between. Somebody who only looks whether it is taken holds the lock
/// for a moment, and who has just taken it needs a moment to say where it listens.
const TRIES: u32 = 25;
const BETWEEN: Duration = Duration::from_millis(20);

async fn take(directory: &Path) -> Result<Store, StartError> {
    for _ in 0..TRIES {
        if let Some(store) = Store::open(directory).map_err(io_error("open its directory"))? {
            // A killed process leaves its note; nobody may take it for ours.
            if let Err(error) = fs::remove_file(directory.join(RUNNING)) {
                tracing::debug!(%error, "no old note");
            }
            return Ok(store);
        }
        if let Some(running) = Running::find(directory).map_err(io_error("read its directory"))? {
            return Err(StartError::InUse(Some(running)));
        }
        tokio::time::sleep(BETWEEN).await;
    }
    Err(StartError::InUse(None))
}

/// A running sandbox. It stops when dropped; [`Sandbox::stop`] also waits until every socket is closed.
pub struct Sandbox {
    world: Arc<World>,
    running: Running,
    stop: watch::Sender<bool>,
    listening: [watch::Sender<bool>; 2],
    servers: Vec<JoinHandle<()>>,
    note: Option<PathBuf>,
}

impl fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Sandbox").field(&self.running).finish()
    }
}

impl Sandbox {
    /// Starts the servers on the current tokio runtime.
    ///
    /// # Errors
    /// `InUse` when another process has the directory, `Io` when a port or the directory cannot be used.
    pub async fn start(config: Config) -> Result<Sandbox, StartError> {
        let store = match &config.directory {
            None => None,
            Some(directory) => Some(take(directory).await?),
        };
        let (smtp_listener, smtp) = bind(config.smtp_port).await.map_err(io_error("listen for SMTP"))?;
        let (imap_listener, imap) = bind(config.imap_port).await.map_err(io_error("listen for IMAP"))?;
        let (control_listener, control) = bind(0).await.map_err(io_error("listen for its control port"))?;
        let world = Arc::new(World::new(config, store).map_err(io_error("read its directory"))?);
        let running = Running { smtp, imap, control, token: control::new_token() };
        let note = match &world.store {
            None => None,
            Some(store) => {
                let path = store.directory().join(RUNNING);
                write_note(&path, &running).map_err(io_error("write its directory"))?;
                Some(path)
            }
        };
        let (stop, stopped) = watch::channel(false);
        let token = running.token.clone();
        let listening = [watch::Sender::new(true), watch::Sender::new(true)];
        let [smtp_up, imap_up] = &listening;
        let always = watch::Sender::new(true);
        let servers = vec![
            listen(smtp_listener, world.clone(), stopped.clone(), smtp_up.subscribe(), smtp::serve),
            listen(imap_listener, world.clone(), stopped.clone(), imap_up.subscribe(), imap::serve),
            listen(control_listener, world.clone(), stopped, always.subscribe(), move |stream, world| {
                control::serve(stream, world, token.clone())
            }),
        ];
        Ok(Sandbox { world, running, stop, listening, servers, note })
    }

    /// Stops and waits until nothing is served any more.
    pub async fn stop(mut self) {
        self.stop.send_replace(true);
        for server in std::mem::take(&mut self.servers) {
            if let Err(error) = server.await {
                tracing::error!(%error, "a sandbox server did not end well");
            }
        }
    }

    /// Where everything is.
    pub fn running(&self) -> &Running {
        &self.running
    }

    /// SMTP submission: plain text, on loopback.
    pub fn smtp_addr(&self) -> SocketAddr {
        self.running.smtp
    }

    /// IMAP: plain text, on loopback.
    pub fn imap_addr(&self) -> SocketAddr {
        self.running.imap
    }

    /// The control port.
    pub fn control_addr(&self) -> SocketAddr {
        self.running.control
    }

    /// The control port's token.
    pub fn control_token(&self) -> &str {
        &self.running.token
    }

    /// Puts a fault at the end of the script.
    pub fn set_fault(&self, fault: Fault, times: Times) {
        self.world.script.add(fault, times);
    }

    /// The next time only.
    pub fn fault_once(&self, fault: Fault) {
        self.set_fault(fault, Times::Once);
    }

    /// What is still in the script.
    pub fn faults(&self) -> Vec<(Fault, Times)> {
        self.world.script.list()
    }

    /// Ends all misbehaviour but answers that are held already.
    pub fn clear_faults(&self) {
        self.world.script.clear();
    }

    /// Lets go of held answers, of what slow indexes hide, or of both.
    pub fn release(&self, what: Release) {
        self.world.release(what);
    }

    /// Closes the server's port: whoever connects is refused. Connections that are open stay open.
    ///
    /// # Errors
    /// When the port does not close in time.
    pub async fn go_down(&self, server: Protocol) -> Result<(), TimedOut> {
        self.listen_on(server, false, Point::WentDown).await
    }

    /// Opens the port again.
    ///
    /// # Errors
    /// When the port was taken by somebody else meanwhile.
    pub async fn come_back(&self, server: Protocol) -> Result<(), TimedOut> {
        self.listen_on(server, true, Point::CameBack).await
    }

    async fn listen_on(&self, server: Protocol, wanted: bool, point: Point) -> Result<(), TimedOut> {
        let seen = self.count(point);
        let switch = &self.listening[usize::from(server == Protocol::Imap)];
        if switch.send_replace(wanted) == wanted {
            return Ok(());
        }
        self.wait_for(point, seen + 1).await
    }

    /// Changes what the provider does unasked.
    pub fn set_habits(&self, habits: Habits) {
        self.world.lock().habits = habits;
    }

    /// Changes what SMTP announces, from the next connection on.
    pub fn set_smtp(&self, features: SmtpFeatures) {
        self.world.lock().smtp = features;
    }

    /// From now on both servers also take these access tokens (OAUTHBEARER and XOAUTH2).
    pub fn take_tokens(&self, tokens: crate::apps::oauth::Tokens) {
        *self.world.tokens.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(tokens);
    }

    /// Changes what IMAP announces, from the next connection on.
    pub fn set_imap(&self, features: ImapFeatures) {
        self.world.lock().imap = features;
    }

    /// Waits until the point was reached this often in all, at most [`WAIT_LIMIT`].
    ///
    /// # Errors
    /// [`TimedOut`] when it was not.
    pub async fn wait_for(&self, point: Point, count: u64) -> Result<(), TimedOut> {
        self.world.signals.wait_for(point, count, WAIT_LIMIT).await
    }

    /// The same with another limit.
    ///
    /// # Errors
    /// [`TimedOut`] when the point was not reached that often.
    pub async fn wait_at_most(&self, point: Point, count: u64, limit: Duration) -> Result<(), TimedOut> {
        self.world.signals.wait_for(point, count, limit).await
    }

    /// How often the point was reached.
    pub fn count(&self, point: Point) -> u64 {
        self.world.signals.count(point)
    }

    /// Every message the SMTP server took, in order; with a directory, also those of earlier starts.
    pub fn effects(&self) -> Vec<Effect> {
        self.world.lock().effects.clone()
    }

    /// The effects whose submitted message has a header of this name with exactly this value.
    pub fn effects_with_header(&self, name: &str, value: &str) -> Vec<Effect> {
        self.world.effects_with_header(name, value)
    }

    /// Every APPEND that was stored since the start.
    pub fn appends(&self) -> Vec<Appended> {
        self.world.lock().appends.clone()
    }

    /// The visible messages of any address's folder.
    pub fn mailbox(&self, address: &str, folder: &str) -> Vec<Stored> {
        self.world.mailbox(address, folder)
    }

    /// A message arrives from outside: the customer writes (again).
    pub fn deliver(&self, to: &str, message: &[u8]) {
        self.world.deliver(to, message);
    }

    /// Puts a message into a folder as if another client of the account had filed it; the UID.
    pub fn file(&self, address: &str, folder: &str, message: &[u8]) -> Option<u32> {
        let filing = crate::world::Filing::ByServer { seen: true };
        self.world.file(&mut self.world.lock(), address, folder_name(folder), message, filing)
    }

    /// Takes the messages with this header value out of a folder.
    pub fn remove(&self, address: &str, folder: &str, name: &str, value: &str) {
        let gone =
            |stored: &Stored| crate::message::header_values(&stored.bytes, name).iter().any(|found| found == value);
        self.world.expunge(&mut self.world.lock(), &lower(address), folder_name(folder), gone);
    }

    /// Gives a folder a new UIDVALIDITY and new UIDs.
    pub fn rebuild_folder(&self, address: &str, folder: &str) {
        self.world.rebuild_folder(address, folder);
    }

    /// What clients said, newest last, without credentials.
    pub fn said(&self) -> Vec<Said> {
        self.world.lock().said.iter().cloned().collect()
    }

    /// The lines of one server's clients that begin with this word (SMTP), or whose command is this word (IMAP).
    pub fn commands(&self, protocol: Protocol, verb: &str) -> Vec<Said> {
        let index = usize::from(protocol == Protocol::Imap);
        let is_it = |line: &str| line.split(' ').nth(index).is_some_and(|word| word.eq_ignore_ascii_case(verb));
        self.said().into_iter().filter(|said| said.protocol == protocol && is_it(&said.line)).collect()
    }

    /// How many connections this server took.
    pub fn connections(&self, protocol: Protocol) -> usize {
        self.world.lock().connections.iter().filter(|other| **other == protocol).count()
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        if let Some(note) = &self.note
            && let Err(error) = fs::remove_file(note)
        {
            tracing::debug!(%error, "no note to remove");
        }
    }
}

impl World {
    pub(crate) fn release(&self, what: Release) {
        if what != Release::Answers {
            self.release_index();
        }
        if what != Release::Index {
            self.released.send_modify(|times| *times += 1);
        }
    }

    pub(crate) fn effects_with_header(&self, name: &str, value: &str) -> Vec<Effect> {
        let inner = self.lock();
        inner.effects.iter().filter(|effect| effect.header(name).iter().any(|found| found == value)).cloned().collect()
    }

    pub(crate) fn mailbox(&self, address: &str, folder: &str) -> Vec<Stored> {
        let inner = self.lock();
        let folder = inner.mailboxes.get(&lower(address)).and_then(|folders| folders.get(folder_name(folder)));
        folder.map_or(Vec::new(), |folder| folder.messages.clone())
    }
}

fn write_note(path: &Path, running: &Running) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.create(true).truncate(true).write(true);
    // The token is a secret of this user.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let fresh = path.with_extension("new");
    io::Write::write_all(&mut options.open(&fresh)?, &serde_json::to_vec(running)?)?;
    fs::rename(fresh, path)
}
