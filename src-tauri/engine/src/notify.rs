//! Desktop notifications (R38). They carry no message text, no subject and no address, and no name unless the owner allowed
//! names; they have no button that decides anything.
//!
//! The first one shows at once; what follows within 15 minutes is bundled into one. Unknown outcomes and their settling are
//! a pair and are shown at once.

mod service;

pub use service::{LastBubble, service, show_test};

use crate::core::Core;
use crate::failure::Failure;
use crate::feed::{News, Notice};
use countersign_domain::{ActionId, Timestamp};
use std::collections::HashSet;
use std::sync::mpsc;
use std::time::Duration;

/// At most one bundle in this time.
const BUNDLE: Duration = Duration::from_secs(15 * 60);
const LINE_MAX: usize = 60;

/// What a bubble says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bubble {
    pub title: String,
    pub body: String,
    /// The request a click opens; none for a bundle.
    pub open: Option<ActionId>,
}

/// Decides what is shown when. Pure but for what it remembers; the texts are made by [`Notifier::words`].
#[derive(Debug, Default)]
pub struct Bundler {
    last: Option<Timestamp>,
    waiting: Vec<Notice>,
    unknown: HashSet<ActionId>,
}

/// What is due now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Due {
    One(Notice),
    Many(Vec<Notice>),
}

impl Bundler {
    /// Takes news; answers with what is to be shown now.
    pub fn take(&mut self, notice: Notice, now: Timestamp) -> Option<Due> {
        match notice.what {
            News::Unknown => {
                // One per action: it is told again only once it was settled.
                self.unknown.insert(notice.action).then_some(Due::One(notice))
            }
            // A settling is told only where the doubt was.
            News::Settled => self.unknown.remove(&notice.action).then_some(Due::One(notice)),
            News::DraftWaiting
            | News::NeedsReview
            | News::Refused
            | News::GaveUp
            | News::SecondWanted
            | News::SignedOut => {
                if self.last.is_none_or(|last| now.since(last) >= BUNDLE) && self.waiting.is_empty() {
                    self.last = Some(now);
                    return Some(Due::One(notice));
                }
                self.waiting.push(notice);
                self.due(now)
            }
        }
    }

    /// Takes news while a person wants quiet: it is told afterwards, in one bundle. A doubt that settles meanwhile is told
    /// to nobody.
    pub fn keep(&mut self, notice: Notice) {
        match notice.what {
            News::Unknown if !self.unknown.insert(notice.action) => {}
            News::Settled if !self.unknown.remove(&notice.action) => {}
            News::Settled => {
                let before = self.waiting.len();
                self.waiting.retain(|n| n.action != notice.action || n.what != News::Unknown);
                if self.waiting.len() == before {
                    self.waiting.push(notice);
                }
            }
            _ => self.waiting.push(notice),
        }
    }

    /// The bundle, once its time has come.
    pub fn due(&mut self, now: Timestamp) -> Option<Due> {
        if self.waiting.is_empty() || self.last.is_some_and(|last| now.since(last) < BUNDLE) {
            return None;
        }
        self.last = Some(now);
        let mut all = std::mem::take(&mut self.waiting);
        Some(if all.len() == 1 { Due::One(all.remove(0)) } else { Due::Many(all) })
    }
}

/// Shows bubbles, from a thread of its own: a notification service may take its time.
pub struct Notifier {
    core: Core,
    bundler: Bundler,
    show: mpsc::Sender<Bubble>,
}

impl Notifier {
    /// `opened` is called with the action whose bubble was clicked. It may focus that request; it decides nothing.
    pub fn new(core: Core, opened: impl Fn(ActionId) + Send + Sync + Clone + 'static) -> Notifier {
        let (show, bubbles) = mpsc::channel::<Bubble>();
        let last = core.last_bubble.clone();
        std::thread::Builder::new()
            .name("notifications".into())
            .spawn(move || {
                for bubble in bubbles {
                    present(bubble, &last, opened.clone());
                }
            })
            .map_or_else(|e| tracing::warn!("notifications cannot be shown: {e}"), drop);
        Notifier { core, bundler: Bundler::default(), show }
    }

    /// Tells what deserves it. `None` notices: only what was bundled and is due.
    pub async fn tell(&mut self, notices: Vec<Notice>) -> Result<(), Failure> {
        if !self.core.settings.notifications().await? {
            return Ok(());
        }
        let now = self.core.clock.now();
        if self.core.settings.quiet(now).await? {
            for notice in notices {
                self.bundler.keep(notice);
            }
            return Ok(());
        }
        let mut due = Vec::new();
        for notice in notices {
            due.extend(self.bundler.take(notice, now));
        }
        due.extend(self.bundler.due(now));
        for one in due {
            let bubble = self.words(&one).await?;
            if self.show.send(bubble).is_err() {
                tracing::warn!("notifications cannot be shown");
            }
        }
        Ok(())
    }

    /// The words of a bubble (design section 13).
    pub async fn words(&self, due: &Due) -> Result<Bubble, Failure> {
        match due {
            Due::Many(all) => {
                let drafts = all.iter().filter(|n| n.what == News::DraftWaiting).count();
                let title = if drafts == all.len() {
                    format!("{drafts} drafts are waiting")
                } else {
                    format!("{} things are waiting", all.len())
                };
                Ok(Bubble { title, body: "Open Countersign to read them.".into(), open: None })
            }
            Due::One(notice) => {
                let about = self.about(notice.action).await?;
                let (title, body) = text(notice.what, &about);
                Ok(Bubble { title, body, open: Some(notice.action) })
            }
        }
    }

    /// How an action is called: the customer's name where names are allowed, else its number. Never an address.
    async fn about(&self, action: ActionId) -> Result<String, Failure> {
        if self.core.settings.notification_names().await?
            && let Some(record) = self.core.ledger.action(action).await?
        {
            let who = record.row.who.trim();
            if !who.is_empty() && !who.contains('@') {
                return Ok(plain(who));
            }
        }
        Ok(action.to_string())
    }
}

fn text(what: News, about: &str) -> (String, String) {
    let (title, body) = match what {
        News::DraftWaiting => (format!("A draft is waiting: {about}"), "It is ready for you to read."),
        News::NeedsReview => (format!("Needs review: {about}"), "It cannot go as it is."),
        News::Unknown => (format!("Not known yet: {about}"), "The answer got lost. We are asking."),
        News::Settled => (format!("Settled: {about}"), "We know now what happened."),
        News::Refused => (format!("Refused: {about}"), "The destination said no. Nothing was sent."),
        News::GaveUp => (format!("Gave up: {about}"), "None of the tries was taken. Nothing was sent."),
        News::SecondWanted => (format!("A second approval is wanted: {about}"), "The first one was given."),
        News::SignedOut => {
            (format!("Waiting for a sign-in: {about}"), "Its destination lets nobody in until you sign in again.")
        }
    };
    (title, body.to_owned())
}

/// A name as it may stand in a bubble: one short line, with nothing in it that a notification service could read as markup.
fn plain(name: &str) -> String {
    name.chars().filter(|c| !c.is_control() && !matches!(c, '<' | '>' | '&')).take(LINE_MAX).collect()
}

fn note(title: &str, body: &str) -> notify_rust::Notification {
    let mut note = notify_rust::Notification::new();
    note.appname("Countersign").summary(title).body(body);
    note
}

fn present(bubble: Bubble, last: &LastBubble, opened: impl Fn(ActionId) + Send + 'static) {
    let mut note = note(&bubble.title, &bubble.body);
    if bubble.open.is_some() {
        note.action("default", "Open");
    }
    let shown = note.show();
    let first = last.problem().is_none();
    last.was(shown.as_ref().err().and_then(|_| service::refused()));
    match shown {
        #[cfg(all(unix, not(target_os = "macos")))]
        Ok(handle) => {
            let Some(action) = bubble.open else { return };
            // Waits until the bubble is gone, so each gets a thread.
            let waiting = std::thread::Builder::new().name("notification".into()).spawn(move || {
                handle.wait_for_action(|what| {
                    if what == "default" {
                        opened(action);
                    }
                });
            });
            if let Err(e) = waiting {
                tracing::warn!("clicks on a notification are not heard: {e}");
            }
        }
        #[cfg(not(all(unix, not(target_os = "macos"))))]
        Ok(_) => drop(opened),
        // The desktop's own words name buses and services; what it comes to is this sentence, and once is enough.
        Err(_) if first => tracing::warn!("{}", service::refused().unwrap_or_default()),
        Err(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notice(n: i64, what: News) -> Notice {
        Notice { action: ActionId(n), what }
    }
    fn minute(n: i64) -> Timestamp {
        Timestamp::from_millis(n * 60_000)
    }

    #[test]
    fn r38_the_first_draft_shows_at_once_and_the_next_ones_are_bundled() {
        let mut bundler = Bundler::default();
        let first = bundler.take(notice(1, News::DraftWaiting), minute(0));
        assert_eq!(first, Some(Due::One(notice(1, News::DraftWaiting))));
        assert_eq!(bundler.take(notice(2, News::DraftWaiting), minute(1)), None);
        assert_eq!(bundler.take(notice(3, News::GaveUp), minute(2)), None);
        assert_eq!(bundler.due(minute(14)), None);
        let bundle = bundler.due(minute(15));
        assert_eq!(bundle, Some(Due::Many(vec![notice(2, News::DraftWaiting), notice(3, News::GaveUp)])));
        assert_eq!(bundler.due(minute(60)), None);
    }

    #[test]
    fn r38_an_unknown_outcome_and_its_settling_come_as_a_pair() {
        let mut bundler = Bundler::default();
        assert_eq!(bundler.take(notice(1, News::Settled), minute(0)), None, "nobody was told of a doubt");
        assert!(bundler.take(notice(1, News::Unknown), minute(1)).is_some());
        assert_eq!(bundler.take(notice(1, News::Unknown), minute(2)), None);
        assert!(bundler.take(notice(1, News::Settled), minute(3)).is_some());
    }

    #[test]
    fn r38_what_came_in_quiet_hours_is_told_afterwards_in_one_bundle() {
        let mut bundler = Bundler::default();
        assert!(bundler.take(notice(1, News::Unknown), minute(0)).is_some());
        for news in [notice(1, News::Settled), notice(2, News::DraftWaiting), notice(3, News::Unknown)] {
            bundler.keep(news);
        }
        bundler.keep(notice(3, News::Settled));
        let bundle = bundler.due(minute(1));
        assert_eq!(bundle, Some(Due::Many(vec![notice(1, News::Settled), notice(2, News::DraftWaiting)])));
    }

    #[test]
    fn r38_a_name_cannot_bring_markup_into_a_bubble() {
        assert_eq!(plain("<b>Mar\u{7}ta</b> & co"), "bMarta/b  co");
        assert!(plain(&"x".repeat(500)).len() <= LINE_MAX);
    }
}
