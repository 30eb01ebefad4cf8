//! Real services for the tests: mail servers, a fault proxy, a keychain, a display, the command line and the window.
//!
//! Every fixture is started by the test that needs it, on loopback and in a scratch folder, and is stopped when it is
//! dropped *or when the test process dies*, even by SIGKILL (see [`scratch`]). Nothing here shares code with the crates
//! under test, so what a fixture counts is a second opinion.

pub mod cli;
pub mod display;
pub mod mail;
pub mod office;
pub mod peers;
pub mod ports;
pub mod proxy;
pub mod scratch;
pub mod session;
pub mod tls;
pub mod trace;
pub mod wait;
pub mod window;

pub use cli::{Answer, Cli};
pub use display::Display;
pub use mail::MailServers;
pub use office::Office;
pub use proxy::{Act, Fault, FaultProxy, Point};
pub use scratch::Scratch;
pub use session::Session;
pub use window::Window;
