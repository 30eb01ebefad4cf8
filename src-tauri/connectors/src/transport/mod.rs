//! What every provider shares: one fresh connection per attempt, and the crossing.

pub mod http;
pub mod oauth;
pub mod poised;
pub mod reply;
pub mod smtp;
mod talk;
pub mod tls;
pub(crate) mod trial;

pub use poised::{Crossed, LateReader, Poised};
pub use reply::{HttpReply, Reply, SmtpReply, Step};
