//! What the parts of the engine share: the open ledger, its secrets, the clock and the destinations.

use crate::clock::Clock;
use crate::destinations::Destinations;
use crate::failure::{Code, Failure};
use crate::home::{Config, Home, LIVE, LedgerLock};
use crate::keychain::{Keychain, Passphrase, Pinned, Presence, SecretsChoice, Signer};
use crate::latest::Latest;
use crate::notify::LastBubble;
use crate::settings::Settings;
use countersign_domain::{DeviceCert, LedgerSecret, PersonId, Roster};
use countersign_ledger::{Ledger, OpenOptions};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::OnceCell;

/// Where a person sits. It decides whether a home without a passphrase takes their word in live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surface {
    /// Anybody with a shell can run it, an agent too.
    CommandLine,
    Window,
}

/// How an engine is opened.
#[derive(Clone, Debug)]
pub struct OpenArgs {
    pub home: Home,
    /// None: the store the home was made with. Another one is refused.
    pub secrets: Option<SecretsChoice>,
    pub passphrase: Option<Passphrase>,
    pub clock: Clock,
    pub surface: Surface,
}

impl OpenArgs {
    pub fn new(home: Home) -> OpenArgs {
        OpenArgs { home, secrets: None, passphrase: None, clock: Clock::System, surface: Surface::CommandLine }
    }
}

/// Certificates, and the roster that was made of them.
type Read = (Vec<DeviceCert>, Roster);

/// Shared by desk, dispatcher and feed. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Core {
    pub home: Home,
    pub config: Config,
    pub ledger: Ledger,
    pub keychain: Keychain,
    pub clock: Clock,
    pub settings: Settings,
    pub destinations: Destinations,
    /// The person at this device.
    pub owner: PersonId,
    /// What became of the last notification.
    pub last_bubble: LastBubble,
    pub(crate) latest: Latest,
    surface: Surface,
    pinned: Arc<OnceCell<Pinned>>,
    /// The roster made last, with the certificates it was made of.
    rosters: Arc<Mutex<Option<Read>>>,
    in_use: Arc<LedgerLock>,
}

impl Core {
    pub async fn open(args: OpenArgs) -> Result<Core, Failure> {
        let config = args.home.config()?;
        let choice = match (&config.secrets, args.secrets) {
            (Some(made), None) => made.clone(),
            (Some(made), Some(given)) if *made == given => given,
            (None, Some(given @ SecretsChoice::Memory(_))) => given,
            (Some(made), Some(_)) => {
                return Err(Failure::bad_input("secrets", format!("this home was made with {made}, and keeps to it")));
            }
            (None, _) => {
                return Err(Failure::bad_input("secrets", "this home's secrets lived in a process that is gone"));
            }
        };
        let keychain = Keychain::open(&choice, &config.ledger_id, args.passphrase.as_ref()).await?;
        let in_use = Arc::new(args.home.using_ledger()?);
        let ledger = Ledger::open(&args.home.ledger(), OpenOptions::default()).await?;
        if ledger.id() != config.ledger_id {
            return Err(Failure::frozen(
                "the ledger in this home is not the one its config names; nothing was changed",
            ));
        }
        let settings = Settings::new(ledger.clone());
        if args.clock.is_manual() && settings.was_ever_on(LIVE).await? {
            return Err(Failure::not_permitted("--now is refused once sending was on in live: times there are real"));
        }
        let destinations = Destinations::new(ledger.clone(), keychain.clone(), args.home.clone(), args.clock.clone());
        Ok(Core {
            owner: config.owner.clone(),
            home: args.home,
            config,
            ledger,
            keychain,
            clock: args.clock,
            settings,
            destinations,
            last_bubble: LastBubble::default(),
            latest: Latest::default(),
            surface: args.surface,
            pinned: Arc::default(),
            rosters: Arc::default(),
            in_use,
        })
    }

    /// Before the program ends: waits until what must not be cut off is done, a minute at most.
    pub async fn settled(&self) {
        self.destinations.settled().await;
    }

    /// Closes the ledger for everything that shares this core. From then on another ledger may take its place.
    pub async fn close(&self) {
        self.ledger.close().await;
        self.in_use.free();
    }

    /// Read from the store once.
    pub async fn ledger_secret(&self) -> Result<LedgerSecret, Failure> {
        Ok(self.pinned().await?.secret.clone())
    }

    /// Who may approve, as of now.
    pub async fn roster(&self) -> Result<Roster, Failure> {
        self.roster_of(&self.ledger.device_certs().await?).await
    }

    /// Those of these devices whose certificates verify. Verifying is the costly part, and they seldom change.
    pub(crate) async fn roster_of(&self, certs: &[DeviceCert]) -> Result<Roster, Failure> {
        let last = self.rosters.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((_, roster)) = last.filter(|(known, _)| known == certs) {
            return Ok(roster);
        }
        let roster = self.pinned().await?.roster(certs);
        *self.rosters.lock().unwrap_or_else(PoisonError::into_inner) = Some((certs.to_vec(), roster.clone()));
        Ok(roster)
    }

    async fn pinned(&self) -> Result<&Pinned, Failure> {
        self.pinned.get_or_try_init(|| self.keychain.pinned()).await
    }

    /// Proof that a person is there. Without a passphrase it is given in the window, if the home was made that way.
    pub async fn unlock(&self, passphrase: Option<&Passphrase>) -> Result<Presence, Failure> {
        match passphrase {
            Some(_) => self.keychain.unlock(passphrase).await,
            None if self.config.passphrase => {
                Err(Failure::locked("this needs the passphrase; give it on the terminal or with --passphrase-fd"))
            }
            None if self.surface == Surface::Window => self.keychain.unlock(None).await,
            None => Err(Failure::new(
                Code::NotPermitted,
                "this home was made without a passphrase: decisions in live are made in its window",
            )),
        }
    }

    /// Who signs a decision in an environment.
    pub async fn signer(&self, environment: &str, presence: Option<&Presence>) -> Result<Signer, Failure> {
        self.keychain.signer(&self.owner, environment, presence).await
    }
}
