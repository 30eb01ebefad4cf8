//! What the window's commands share: the home once it is open, the one worker of it, and the page's word that it is on
//! the screen.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};

use countersign_engine::sandbox_home::{self, Embedded};
use countersign_engine::view::{ActionDoc, Overview};
use countersign_engine::{
    Clock, Code, Core, Desk, Dispatcher, Failure, Home, InitArgs, Intake, OpenArgs, Passphrase, SecretsChoice, Surface,
};
use tauri::{AppHandle, Manager};
use tokio::sync::{Mutex as AsyncMutex, OnceCell};
use tokio_util::sync::CancellationToken;

use crate::start::Options;
use crate::{events, tray, worker};

/// How long a person may take an approval in the sandbox back.
const SANDBOX_UNDO_SECONDS: u32 = 10;

/// Managed by Tauri; one per process.
pub(crate) struct Shell {
    home: Home,
    secrets: Option<SecretsChoice>,
    try_as: Option<String>,
    /// What a start at login is given.
    again: Vec<String>,
    app: AppHandle,
    open: AsyncMutex<Option<Arc<Open>>>,
    painted: Mutex<Option<Sender<()>>>,
    /// Set once a person can see the window: not before may anything be sent (F48).
    pub(crate) visible: CancellationToken,
    pub(crate) stop: CancellationToken,
    /// Held while the worker runs.
    pub(crate) working: AsyncMutex<()>,
}

/// An open home.
pub(crate) struct Open {
    pub(crate) core: Core,
    pub(crate) desk: Desk,
    pub(crate) intake: Arc<Intake>,
    pub(crate) embedded: Option<Embedded>,
    /// Set while this process is the one that dispatches.
    pub(crate) dispatcher: OnceCell<Arc<Dispatcher>>,
    /// Whether something approved was still held when we last looked.
    pub(crate) holding: AtomicBool,
}

/// Opens the home beside the page's loading, so that it is there when the page asks. What goes wrong is told then.
pub(crate) fn open_early(app: &AppHandle) {
    let app = app.clone();
    tauri::async_runtime::spawn(async move {
        let shell = app.state::<Shell>();
        if shell.home.exists() {
            let _ = shell.open(None).await;
        }
    });
}

impl Shell {
    pub(crate) fn new(app: &AppHandle, options: &Options, painted: Sender<()>) -> Result<Shell, Failure> {
        Ok(Shell {
            home: Home::resolve(options.home.as_deref())?,
            secrets: options.secrets.as_deref().map(str::parse).transpose()?,
            try_as: options.try_as.clone(),
            again: options.to_start_again(),
            app: app.clone(),
            open: AsyncMutex::default(),
            painted: Mutex::new(Some(painted)),
            visible: CancellationToken::new(),
            stop: CancellationToken::new(),
            working: AsyncMutex::new(()),
        })
    }

    /// The desk of the open home. The first call opens it.
    pub(crate) async fn desk(&self) -> Result<Desk, Failure> {
        Ok(self.open(None).await?.desk.clone())
    }

    /// Whether the open home has this action.
    pub(crate) async fn knows(&self, id: &str) -> bool {
        let open = if self.home.exists() { self.desk().await.ok() } else { None };
        match open {
            Some(desk) => desk.resolve_id(id).await.is_ok(),
            None => false,
        }
    }

    /// Whether the desktop can be told to start this at login: what it keeps is one line of words between blanks, in
    /// which some characters mean something else (Desktop Entry Specification, "The Exec key").
    pub(crate) fn start_words(&self) -> Result<(), Failure> {
        let program =
            std::env::current_exe().map_err(|why| Failure::internal(format!("no program: {}", why.kind())))?;
        let plain = |word: &str| word.chars().all(|c| c.is_alphanumeric() || "/._-+@:,=".contains(c));
        let mut words = std::iter::once(program.to_string_lossy().into_owned()).chain(self.again.iter().cloned());
        match words.find(|word| !plain(word)) {
            Some(word) => Err(Failure::bad_input(
                "start_at_login",
                format!("{word} has a blank or another character that a start at login cannot hold. Move it first."),
            )),
            None => Ok(()),
        }
    }

    async fn open(&self, passphrase: Option<Passphrase>) -> Result<Arc<Open>, Failure> {
        // Held across the opening on purpose: two commands of the page must not open the home twice.
        let mut open = self.open.lock().await;
        if let Some(open) = open.as_ref() {
            return Ok(Arc::clone(open));
        }
        let mut args = OpenArgs::new(self.home.clone());
        args.secrets.clone_from(&self.secrets);
        args.passphrase = passphrase;
        args.surface = Surface::Window;
        let core = Core::open(args).await?;
        // A first start that broke off is completed by the next one.
        if !sandbox_home::is_furnished(&core).await? {
            sandbox_home::furnish(&Desk::new(core.clone()), SANDBOX_UNDO_SECONDS).await?;
        }
        let fresh = Open {
            desk: Desk::new(core.clone()),
            intake: Arc::new(Intake::open(&core).await?),
            embedded: Embedded::start(&core).await?,
            dispatcher: OnceCell::new(),
            holding: AtomicBool::new(false),
            core,
        };
        let fresh = Arc::new(fresh);
        *open = Some(Arc::clone(&fresh));
        events::follow(&self.app, &fresh);
        worker::start(&self.app, &fresh);
        Ok(fresh)
    }

    pub(crate) async fn overview(&self) -> Result<Overview, Failure> {
        if !self.home.exists() {
            return match &self.try_as {
                Some(owner) => self.first_run(owner, true, None).await,
                None => Ok(no_home(None)),
            };
        }
        match self.desk().await {
            Ok(desk) => desk.overview().await,
            // The secrets cannot be read yet: in a file that the passphrase opens, or in a keychain that is not there. The
            // window says so and offers what can be done.
            Err(failure) if failure.code == Code::Locked || failure.field.as_deref() == Some("secrets") => {
                Ok(Overview { home_exists: true, locked: failure.code == Code::Locked, ..no_home(Some(&failure)) })
            }
            Err(failure) => Err(failure),
        }
    }

    /// Beside the home, never in it: it holds the mark by which a copied home is noticed.
    pub(crate) fn secrets_file(&self) -> PathBuf {
        match &self.secrets {
            Some(SecretsChoice::File(path)) => path.clone(),
            _ => {
                let mut name = self.home.dir().file_name().unwrap_or_default().to_owned();
                name.push(".secrets");
                self.home.dir().with_file_name(name)
            }
        }
    }

    /// Makes the home. With a passphrase the person has chosen the encrypted file; without, the system's key store, and if
    /// there is none nothing is made.
    pub(crate) async fn first_run(
        &self,
        owner: &str,
        sandbox: bool,
        passphrase: Option<&str>,
    ) -> Result<Overview, Failure> {
        let passphrase = passphrase.map(Passphrase::new).transpose()?;
        let secrets = match &passphrase {
            Some(_) => SecretsChoice::File(self.secrets_file()),
            None => self.secrets.clone().unwrap_or(SecretsChoice::Keychain),
        };
        let args = InitArgs { owner: owner.to_owned(), sandbox, secrets, passphrase: passphrase.clone() };
        self.home.init(args, &Clock::System).await?;
        let open = self.open(passphrase.clone()).await?;
        if passphrase.is_some() {
            open.desk.unlock(passphrase.as_ref()).await?;
        }
        if let Some(embedded) = &open.embedded {
            sandbox_home::tell_story(&open.core, &open.intake, embedded).await?;
        }
        open.desk.overview().await
    }

    pub(crate) async fn unlock(&self, passphrase: &str) -> Result<Overview, Failure> {
        let passphrase = Passphrase::new(passphrase)?;
        let desk = self.open(Some(passphrase.clone())).await?.desk.clone();
        desk.unlock(Some(&passphrase)).await?;
        desk.overview().await
    }

    pub(crate) async fn ask_now(&self, id: &str) -> Result<ActionDoc, Failure> {
        let open = self.open(None).await?;
        let id = open.desk.resolve_id(id).await?;
        open.desk.ask_now(&*dispatcher(&open).await?, id).await
    }

    pub(crate) async fn finish(&self, id: &str) -> Result<ActionDoc, Failure> {
        let open = self.open(None).await?;
        let id = open.desk.resolve_id(id).await?;
        open.desk.finish(&*dispatcher(&open).await?, id).await
    }

    pub(crate) async fn file_copy(&self, id: &str) -> Result<ActionDoc, Failure> {
        let open = self.open(None).await?;
        let id = open.desk.resolve_id(id).await?;
        open.core.file_copy(id).await?;
        open.desk.action(id).await
    }

    /// How many approved actions are still held, and how many are to go at a time of their own within a day; none of a home
    /// that was never opened.
    pub(crate) async fn held(&self) -> (usize, usize) {
        let open = self.open.lock().await.clone();
        match open {
            Some(open) => {
                (open.desk.held().await.map_or(0, |held| held.len()), open.desk.scheduled_soon().await.unwrap_or(0))
            }
            None => (0, 0),
        }
    }

    /// Waits for what must not be cut off by the end of the program.
    pub(crate) async fn settled(&self) {
        let open = self.open.lock().await.clone();
        if let Some(open) = open {
            open.core.settled().await;
        }
    }

    /// The page says that it is on the screen.
    pub(crate) fn painted(&self) {
        if let Some(tell) = self.painted.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // Nobody listens any more when the watch was over already.
            let _ = tell.send(());
        }
    }
}

/// The one that works here. Another process dispatches, or nobody does yet: the lock tells which.
async fn dispatcher(open: &Open) -> Result<Arc<Dispatcher>, Failure> {
    match open.dispatcher.get() {
        Some(dispatcher) => Ok(Arc::clone(dispatcher)),
        None => Dispatcher::start(open.core.clone()).await.map(Arc::new),
    }
}

fn no_home(why: Option<&Failure>) -> Overview {
    countersign_engine::desk::no_home(&Clock::System, why.map(Failure::doc).as_ref())
}

/// The kill switch of the tray. Off needs nobody's presence.
pub(crate) fn stop_sending(app: &AppHandle) {
    from_tray(app, "sending was not switched off", |desk| async move { desk.sending(false).await.map(drop) });
}

/// Takes back the last approval that is still held.
pub(crate) fn undo_last(app: &AppHandle) {
    from_tray(app, "nothing was put back", |desk| async move {
        let held = desk.held().await?;
        desk.put_back_all(held.get(..1).unwrap_or_default()).await
    });
}

/// Notifications are quiet until tomorrow, or tell again.
pub(crate) fn toggle_quiet(app: &AppHandle) {
    from_tray(app, "notifications stay as they are", |desk| async move {
        let on = desk.preferences().await?.quiet_until.is_none();
        desk.quiet_until_tomorrow(on).await
    });
}

fn from_tray<W, F>(app: &AppHandle, otherwise: &'static str, work: W)
where
    W: FnOnce(Desk) -> F + Send + 'static,
    F: Future<Output = Result<(), Failure>> + Send,
{
    let app = app.clone();
    tauri::async_runtime::spawn(async move {
        let done = async {
            let desk = app.state::<Shell>().desk().await?;
            work(desk.clone()).await?;
            tray::show(&app, &desk.overview().await?);
            tray::hold(&app, &desk.held().await?, desk.core().clock.now());
            Ok::<_, Failure>(())
        };
        if let Err(failure) = done.await {
            tracing::error!("{otherwise}: {failure}");
        }
    });
}
