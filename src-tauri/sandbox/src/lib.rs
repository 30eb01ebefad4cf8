//! Destinations that can be told to misbehave: an SMTP and an IMAP server on loopback, embedded in the product, and
//! providers with an HTTP API.
//!
//! The first start, `demo`, drills and tests reach them through the ordinary mailbox provider, so what is learnt here is
//! learnt about the code that serves real customers. Nothing leaves the computer: every address of the sandbox's world
//! has an INBOX, and there is no way out of it. The crate shares no code with the connectors; a double that did would
//! repeat their mistakes and prove nothing.
//!
//! ```text
//! Config -> Sandbox::start          two servers and a control port on 127.0.0.1
//! set_fault, release, set_habits    how they behave                       (faults.rs)
//! wait_for(Point)                   what has happened, without sleeping    (signals.rs)
//! effects, appends, mailbox, said   "how many effects did you have?"       (world.rs)
//! Control::connect                  the same from another process          (control.rs)
//! story::conversations              what the first start shows             (story.rs)
//! api::Api::start(apps::…)          a provider with an HTTP API            (api.rs, apps/)
//! ```

pub mod api;
pub mod apps;
mod config;
mod control;
mod date;
mod delivery;
mod faults;
mod imap;
mod line;
mod listen;
mod message;
mod server;
mod signals;
mod smtp;
mod store;
pub mod story;
mod world;

pub use config::{Account, Config, FolderSetup, Habits, ImapFeatures, SmtpFeatures};
pub use control::{Control, ControlError, Release};
pub use date::Clock;
pub use faults::{Fault, ImapStage, Misbehaviour, SmtpStage, Times};
pub use message::header_values;
pub use server::{Running, Sandbox, StartError};
pub use signals::{Point, TimedOut, WAIT_LIMIT};
pub use world::{Appended, Effect, Envelope, Protocol, Said, Stored};
