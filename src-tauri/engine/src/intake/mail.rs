//! The door for mail: one folder of a mailbox that is a destination already, looked at regularly.
//!
//! Anybody can write to an address, and who a message says it is from proves nothing. So what counts is the document alone:
//! the one JSON part of the message, signed in the message's header by the secret of a source (Standard Webhooks). Whatever
//! lies in the folder is meant for it: each message is moved to `accepted` or `refused` below it, and no other folder is
//! touched. What is ours to mend leaves it where it is. Taken and not yet moved when the process ended, it is taken again,
//! and is a duplicate; so is any copy of it, since what a source handed in under an event id is remembered for ever.

use super::http::BODY_LIMIT;
use super::signed::{Missing, NAMES, Signature};
use super::{Intake, PER_MINUTE, is_ours, turned_down};
use crate::failure::Failure;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use countersign_connectors::Login;
use countersign_connectors::mailbox::{MailboxError, OpenLetterbox, Post, Shelf};
use countersign_domain::Timestamp;
use std::collections::HashMap;
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The folder where none is named.
pub const FOLDER: &str = "Countersign";
/// The option's name, for errors.
const FIELD: &str = "watch-mailbox";
/// Messages taken in one round; the others come in the next one.
const AT_ONCE: usize = 50;
/// How long a message may be under way, from its signature to its arrival. Mail is slow where HTTP is not: a server that is
/// down or turns strangers away at first is tried again for hours. A day leaves room for that, and makes a copy that
/// somebody kept back worthless the day after. It ends with the arrival, so that a computer that was off loses nothing.
const UNDER_WAY: Duration = Duration::from_secs(24 * 3600);
/// Longest time between two tries to log in: where the login was refused, since too many lock an account; and elsewhere.
const REST_AFTER_REFUSAL: Duration = Duration::from_secs(3600);
const REST: Duration = Duration::from_secs(300);

/// What one round did.
#[derive(Debug, Default, PartialEq)]
pub struct Round {
    pub accepted: usize,
    pub refused: usize,
    /// What kept a message, or all of them, where they are; it is tried again.
    pub failures: Vec<Failure>,
}

/// A watched folder of a mailbox.
#[derive(Debug)]
pub struct WatchedMailbox {
    destination: String,
    folder: String,
    intake: Intake,
    /// Kept from round to round, until something fails.
    open: Option<OpenLetterbox>,
    rest: Option<Rest>,
    /// Messages that were handled and could not be moved, by UIDVALIDITY and UID: only that is tried again.
    handled: HashMap<(u32, u32), Shelf>,
    /// The last one that stayed. The next round begins behind it, so that it keeps no other waiting.
    behind: u32,
}

/// After a try to log in that failed.
#[derive(Debug)]
struct Rest {
    login: Login,
    until: Instant,
    tries: u32,
    failure: Failure,
}

/// Why a message stays where it is.
enum Stays {
    /// The connection is of no more use.
    Lost(Failure),
    /// Ours to mend; no other message would fare better.
    Ours(Failure),
    /// Its turn comes later.
    Later(Failure),
}

impl WatchedMailbox {
    /// `which` is `NAME` or `NAME:FOLDER`: a destination, and the folder as its server writes it.
    ///
    /// # Errors
    /// Not found for a destination there is not; bad input for one without a mailbox, and for the Inbox.
    pub async fn open(which: &str, intake: Intake) -> Result<WatchedMailbox, Failure> {
        let bad = |why: String| Failure::bad_input(FIELD, why);
        let (destination, folder) = which.split_once(':').unwrap_or((which, FOLDER));
        let plain = folder.bytes().all(|b| (b' '..=b'~').contains(&b) && !b"*%\"\\".contains(&b));
        if folder.trim().is_empty() || folder.len() > 200 || !plain {
            return Err(bad("the folder must be named as the server lists it, in ASCII".into()));
        }
        if folder.eq_ignore_ascii_case("INBOX") {
            return Err(bad("every message is moved out of the folder, so the Inbox is none".into()));
        }
        let (_, connector) = intake.destinations.connector(destination).await.map_err(|e| e.at(FIELD))?;
        if connector.letterbox(folder).is_none() {
            return Err(bad(format!("the destination {destination} has no mailbox to look into")));
        }
        Ok(WatchedMailbox {
            destination: destination.to_owned(),
            folder: folder.to_owned(),
            intake,
            open: None,
            rest: None,
            handled: HashMap::new(),
            behind: 0,
        })
    }

    /// Looks again and again until told to stop. Failures are logged once, not every round.
    pub async fn watch(mut self, every: Duration, stop: CancellationToken) {
        let mut told: Vec<Failure> = Vec::new();
        loop {
            // A server that hangs holds up nobody: what was handed in meanwhile is finished in a task of its own.
            let round = tokio::select! {
                () = stop.cancelled() => break,
                round = self.round(every) => round,
            };
            for failure in round.failures.iter().filter(|f| !told.contains(f)) {
                tracing::warn!(code = ?failure.code, mailbox = self.destination, "the watched mailbox: {}", failure.message);
            }
            told = round.failures;
            tokio::select! {
                () = stop.cancelled() => break,
                () = tokio::time::sleep(every) => {}
            }
        }
        if let Some(letters) = self.open {
            letters.leave().await;
        }
    }

    /// One look. `every`: what a rest after a failed login begins with.
    pub async fn round(&mut self, every: Duration) -> Round {
        let mut done = Round::default();
        // Only what went well is kept open.
        let open = self.open.take();
        match self.go_through(open, every, &mut done).await {
            Ok(letters) => self.open = Some(letters),
            Err(failure) => done.failures.push(failure),
        }
        done
    }

    async fn go_through(
        &mut self,
        open: Option<OpenLetterbox>,
        every: Duration,
        done: &mut Round,
    ) -> Result<OpenLetterbox, Failure> {
        if let Some(why) = self.intake.frozen().await? {
            return Err(Failure::frozen(why.text()));
        }
        let mut letters = match open {
            Some(letters) => letters,
            None => self.log_in(every).await?,
        };
        let waiting = letters.waiting().await.map_err(lost)?;
        self.handled.retain(|(validity, uid), _| *validity == letters.uid_validity && waiting.contains(uid));
        let (before, after) = waiting.split_at(waiting.partition_point(|uid| *uid <= self.behind));
        let in_turn: Vec<u32> = after.iter().chain(before).copied().take(AT_ONCE).collect();
        for uid in in_turn {
            let stays = match self.take(&mut letters, uid).await {
                Ok(Shelf::Accepted) => {
                    done.accepted += 1;
                    continue;
                }
                Ok(Shelf::Refused) => {
                    done.refused += 1;
                    continue;
                }
                Err(stays) => stays,
            };
            self.behind = uid;
            match stays {
                Stays::Lost(failure) => return Err(failure),
                Stays::Ours(failure) => {
                    done.failures.push(failure);
                    break;
                }
                Stays::Later(failure) if done.failures.contains(&failure) => {}
                Stays::Later(failure) => done.failures.push(failure),
            }
        }
        Ok(letters)
    }

    /// A new connection, unless the last one with the same login failed a moment ago.
    async fn log_in(&mut self, every: Duration) -> Result<OpenLetterbox, Failure> {
        let mut reached = match self.intake.destinations.reach(&self.destination).await? {
            Ok(reached) => reached,
            Err(none) if none.is_missing() => {
                return Err(Failure::locked(format!("this device holds no login for {}", self.destination)));
            }
            Err(none) => return Err(none.into()),
        };
        let mut tries = 0;
        if let Some(rest) = self.rest.as_ref().filter(|rest| rest.login == reached.login) {
            if Instant::now() < rest.until {
                return Err(rest.failure.clone());
            }
            tries = rest.tries;
        }
        let connector = reached.connector.clone();
        let Some(letterbox) = connector.letterbox(&self.folder) else {
            return Err(Failure::bad_input(FIELD, format!("{} has no mailbox any more", self.destination)));
        };
        let mut opened = letterbox.open(&reached.login).await;
        if opened.as_ref().is_err_and(MailboxError::is_login) {
            match self.intake.destinations.reach_anew(&reached).await? {
                Some(Ok(anew)) => {
                    reached = anew;
                    opened = letterbox.open(&reached.login).await;
                }
                // The mailbox said no and there is nothing else to log in with: it rests as after any other no.
                Some(Err(none)) => {
                    let failure = Failure::from(none);
                    let until = Instant::now() + REST_AFTER_REFUSAL;
                    self.rest = Some(Rest { login: reached.login, until, tries: tries + 1, failure: failure.clone() });
                    return Err(failure);
                }
                None => {}
            }
        }
        match opened {
            Ok(letters) => {
                self.rest = None;
                Ok(letters)
            }
            Err(error) => {
                let longest = if error.is_login() { REST_AFTER_REFUSAL } else { REST };
                let until = Instant::now() + every.saturating_mul(2_u32.saturating_pow(tries)).min(longest);
                let failure = lost(error);
                self.rest = Some(Rest { login: reached.login, until, tries: tries + 1, failure: failure.clone() });
                Err(failure)
            }
        }
    }

    /// Hands one message in and moves it.
    async fn take(&mut self, letters: &mut OpenLetterbox, uid: u32) -> Result<Shelf, Stays> {
        let gone = |error| Stays::Lost(lost(error));
        let number = (letters.uid_validity, uid);
        let shelf = match self.handled.get(&number) {
            Some(shelf) => *shelf,
            None => {
                let post = letters.read(uid, &NAMES, BODY_LIMIT).await.map_err(gone)?;
                let (intake, mailbox) = (self.intake.clone(), self.destination.clone());
                // In a task of its own: being told to stop does not cut the ledger's work in two.
                let judged = tokio::spawn(async move { intake.judge(post, &mailbox).await }).await;
                let broke = |_| Stays::Ours(Failure::internal("a message could not be handled"));
                *self.handled.entry(number).or_insert(judged.map_err(broke)??)
            }
        };
        letters.put(uid, shelf).await.map_err(gone)?;
        self.handled.remove(&number);
        Ok(shelf)
    }
}

fn lost(error: MailboxError) -> Failure {
    Failure::internal(error.text())
}

/// What became of a message.
enum Judged {
    Accepted,
    /// Its delivery is recorded and says why nothing of it was taken.
    NotTaken,
    /// Nothing was recorded.
    Refused {
        /// Only a signature that holds tells of one.
        source: Option<String>,
        why: String,
    },
}

impl Judged {
    fn by_nobody(why: impl Into<String>) -> Judged {
        Judged::Refused { source: None, why: why.into() }
    }
}

impl Intake {
    /// Where a message goes. Where a source can be told it is told why, by its refusals; elsewhere the log tells. Nothing of
    /// the message is in either.
    async fn judge(&self, post: Post, mailbox: &str) -> Result<Shelf, Stays> {
        match self.hand_in(post).await? {
            Judged::Accepted => return Ok(Shelf::Accepted),
            Judged::NotTaken => tracing::warn!(mailbox, "nothing of a message was taken; `source refusals` tells why"),
            Judged::Refused { source: Some(source), why } => {
                self.record_refusal(&source, "mail", "proposal", &why).await.map_err(Stays::Ours)?;
                tracing::warn!(mailbox, source, "a message was refused; `source refusals` tells why");
            }
            Judged::Refused { source: None, why } => tracing::warn!(mailbox, "a message was refused: {why}"),
        }
        Ok(Shelf::Refused)
    }

    async fn hand_in(&self, post: Post) -> Result<Judged, Stays> {
        let handed = match post.handed {
            Ok(handed) => handed,
            Err(why) => return Ok(Judged::by_nobody(why.text())),
        };
        let fields = headers(&handed.fields);
        let signature = match Signature::read(&fields) {
            None => return Ok(Judged::by_nobody("it is not signed")),
            Some(Err(Missing(name))) => {
                return Ok(Judged::by_nobody(format!("its field {name} is missing, there twice or unreadable")));
            }
            Some(Ok(signature)) => signature,
        };
        let document = &handed.document;
        let signed = self.by_signature(|secret| signature.holds(secret, document)).await.map_err(Stays::Ours)?;
        let Some(source) = signed else { return Ok(Judged::by_nobody("no source has signed it")) };
        let refused = |why: String| Ok(Judged::Refused { source: Some(source.name().to_owned()), why });
        let arrived = post.arrived.map_or(self.now(), |s| Timestamp::from_millis(s.saturating_mul(1000)));
        if !signature.is_timely(arrived, UNDER_WAY) {
            return refused("signed more than 24 hours before it arrived, or more than five minutes after".into());
        }
        if self.within_rate(&source).is_err() {
            let why = format!("{PER_MINUTE} proposals a minute are taken from one source; the others wait");
            return Err(Stays::Later(Failure::not_permitted(why)));
        }
        match self.propose(&source, document).await {
            Ok(answer) if turned_down(&answer) => Ok(Judged::NotTaken),
            Ok(_) => Ok(Judged::Accepted),
            Err(failure) if is_ours(&failure) => Err(Stays::Ours(failure)),
            Err(Failure { field: Some(field), message, .. }) => refused(format!("{field}: {message}")),
            Err(Failure { message, .. }) => refused(message),
        }
    }
}

/// What cannot stand in a header is left out, and is then missing.
fn headers(fields: &[(String, String)]) -> HeaderMap {
    let mut map = HeaderMap::new();
    for (name, value) in fields {
        if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(value)) {
            map.append(name, value);
        }
    }
    map
}
