//! The crossing. [`Poised::cross`] is the only function in the product with an outside effect.

use super::http::{HttpPoised, LateHttp};
use super::reply::Reply;
use super::smtp::{LateSmtp, SmtpPoised};
use crate::boot::BootTime;
use countersign_domain::{Answer, Doubt};
use std::fmt;
use std::time::Duration;

/// More boot time than this between the mark and the first byte means that the machine slept.
pub(super) const SLEPT: Duration = Duration::from_secs(5);

/// A connection on which everything has been said but the last thing. Dropped, it has no effect.
pub enum Poised {
    Smtp(SmtpPoised),
    Http(HttpPoised),
}

/// What became of the last thing.
#[derive(Debug)]
pub enum Crossed {
    /// A whole reply that belongs to this step.
    Answered(Reply),
    /// No reply in time. The connection is kept open, because closing it can change the outcome: read on.
    Pending(LateReader),
    /// It may have happened, and nobody will tell on this connection.
    Broken(Doubt),
    /// Not a byte of it was said (the machine slept, or the connection was gone): certainly not sent.
    Unsent(Answer),
}

impl Poised {
    /// What was noted before the crossing, for later look-ups: folder, UIDNEXT, envelope id. Holds no address and no text.
    pub fn noted(&self) -> serde_json::Value {
        match self {
            Poised::Smtp(p) => p.noted(),
            Poised::Http(p) => p.noted(),
        }
    }

    /// Says the last thing and waits `limit` for the reply. `marked`: taken before the crossing was recorded; if more than
    /// 5 s have gone by since, the machine slept, and the connection is dropped unsent.
    pub async fn cross(self, marked: BootTime, limit: Duration) -> Crossed {
        match self {
            Poised::Smtp(p) => p.cross(marked, limit).await,
            Poised::Http(p) => p.cross(marked, limit).await,
        }
    }
}

impl fmt::Debug for Poised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Poised::Smtp(_) => f.write_str("Poised::Smtp"),
            Poised::Http(_) => f.write_str("Poised::Http"),
        }
    }
}

/// A connection whose answer is overdue.
pub struct LateReader(pub(super) Late);

/// By protocol.
pub(super) enum Late {
    Smtp(LateSmtp),
    Http(LateHttp),
}

impl LateReader {
    /// Why the attempt is unclear so far.
    pub fn doubt(&self) -> Doubt {
        match &self.0 {
            Late::Smtp(late) => late.doubt(),
            Late::Http(late) => late.doubt(),
        }
    }

    /// Reads on for up to `limit`. `Pending` again if nothing came; dropping the reader closes the connection.
    pub async fn read_on(self, limit: Duration) -> Crossed {
        match self.0 {
            Late::Smtp(late) => late.read_on(limit).await,
            Late::Http(late) => late.read_on(limit).await,
        }
    }
}

impl fmt::Debug for LateReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LateReader")
    }
}
