//! Signals: what has happened at the pretend servers so far, counted, so that a test waits for a point and never sleeps.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::watch;

/// How long `wait_for` waits before it gives up. Only a broken test ever waits this long.
pub const WAIT_LIMIT: Duration = Duration::from_secs(60);

/// A point in a dialogue. Each is counted when the server has reached it, before it answers unless stated otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Point {
    /// An SMTP connection was taken.
    Connected,
    /// EHLO or HELO was read.
    Greeted,
    /// An SMTP login succeeded.
    Authenticated,
    /// MAIL was read.
    Mail,
    /// RCPT was read.
    Rcpt,
    /// 354 was sent, or the first BDAT line was read.
    DataStarted,
    /// The whole message is in the server's hands: a BDAT chunk that is not the last, or everything up to the final dot.
    BodyReceived,
    /// The final dot or the last BDAT is complete. From here on only the server knows what becomes of the message.
    CommitReceived,
    /// The message was taken: it is an effect.
    Acted,
    /// The reply to the final dot or last BDAT was written.
    Answered,
    /// QUIT was read.
    Quit,
    /// An SMTP connection ended, from either side.
    Disconnected,
    /// An answer, SMTP or IMAP, waits for `release`.
    Held,
    /// A scripted fault took place.
    Misbehaved,
    /// An IMAP connection was taken.
    ImapConnected,
    /// An IMAP login succeeded.
    ImapLogin,
    /// SELECT or EXAMINE was read.
    Selected,
    /// SEARCH or UID SEARCH was read.
    SearchReceived,
    /// FETCH or UID FETCH was read.
    FetchReceived,
    /// APPEND was read with its whole literal.
    AppendReceived,
    /// An appended message was stored.
    Appended,
    /// IDLE is running: `+ idling` was sent.
    Idling,
    /// A server stopped listening.
    WentDown,
    /// A server listens again, on its old port.
    CameBack,
    /// A message became visible in a folder (delivered, filed, appended or released from a slow index).
    Filed,
}

/// Nothing reached the point in time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimedOut {
    /// What was waited for.
    pub point: Point,
    /// How many were wanted.
    pub wanted: u64,
    /// How many there were.
    pub seen: u64,
}

impl fmt::Display for TimedOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "waited for {:?} to be reached {} times, it was reached {} times", self.point, self.wanted, self.seen)
    }
}

impl std::error::Error for TimedOut {}

pub(crate) struct Signals {
    counts: watch::Sender<BTreeMap<Point, u64>>,
}

impl Signals {
    pub(crate) fn new() -> Signals {
        Signals { counts: watch::Sender::new(BTreeMap::new()) }
    }

    pub(crate) fn reached(&self, point: Point) {
        self.counts.send_modify(|counts| *counts.entry(point).or_default() += 1);
    }

    pub(crate) fn count(&self, point: Point) -> u64 {
        self.counts.borrow().get(&point).copied().unwrap_or(0)
    }

    pub(crate) async fn wait_for(&self, point: Point, wanted: u64, limit: Duration) -> Result<(), TimedOut> {
        let mut counts = self.counts.subscribe();
        let reached = counts.wait_for(|counts| counts.get(&point).copied().unwrap_or(0) >= wanted);
        match tokio::time::timeout(limit, reached).await {
            Ok(Ok(_)) => Ok(()),
            _ => Err(TimedOut { point, wanted, seen: self.count(point) }),
        }
    }
}
