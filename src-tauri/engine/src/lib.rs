//! Everything that runs, minus the window.
//!
//! | file | what lives there |
//! |---|---|
//! | `home`, `core` | where a ledger lives; what the parts share once it is open |
//! | `keychain`, `anchor` | secrets; the ledger's head anchored outside it |
//! | `clock`, `settings`, `destinations` | the time; what can be set; from a row to its connector and login |
//! | `logins` | sign-ins that are renewed, one process for all |
//! | `dispatch`, `overdue`, `unwritten`, `late` | one attempt; what is too late for one; its ending until that is in the ledger; answers after it |
//! | `related` | what else of ours went the same way |
//! | `reconcile`, `followup`, `run` | doubt into knowledge; the Sent copy; the loop |
//! | `outcomes` | telling a source what became of its actions |
//! | `sandbox_home`, `copies` | the sandbox environment; backup and restore |
//! | `feed`, `notify` | the journal as news; which of it deserves a bubble |
//! | `desk`, `intake` | what a person does; what a source does |
//! | `failure`, `view` | errors at the border; plain shapes for the window and `--json` |

pub mod anchor;
pub mod clock;
mod clocks;
pub mod copies;
pub mod core;
pub mod desk;
pub mod destinations;
pub mod dispatch;
pub mod failure;
pub mod feed;
mod followup;
pub mod home;
pub mod intake;
pub mod keychain;
mod late;
mod latest;
mod logins;
pub mod notify;
mod outcomes;
mod overdue;
mod reconcile;
mod related;
mod repeat;
pub mod report;
pub mod run;
pub mod sandbox_home;
pub mod settings;
mod testpoint;
mod unwritten;
pub mod view;

pub use anchor::{Adopted, Frozen};
pub use clock::Clock;
pub use core::{Core, OpenArgs, Surface};
pub use desk::Desk;
pub use destinations::Destinations;
pub use failure::{Code, Failure};
pub use feed::{Feed, News, Notice};
pub use home::{Config, DispatcherLock, Home, InitArgs, LIVE};
pub use intake::Intake;
pub use keychain::{Keychain, LoginSecret, MemoryStore, Passphrase, Presence, SANDBOX, SecretsChoice, Signer};
pub use logins::NoLogin;
pub use notify::Notifier;
pub use report::{Handled, TickReport};
pub use run::Dispatcher;
pub use settings::Settings;
