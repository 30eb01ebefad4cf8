//! The journal as news: what the window reads again, and what deserves to be said aloud.
//!
//! Whoever wants to know reads `journal_after(seq)`. That also carries what the command line and other processes wrote.

use crate::core::Core;
use crate::failure::Failure;
use crate::run::PEEK;
use crate::view::{FeedEvent, NewsDoc};
use countersign_domain::{ActionId, State};
use countersign_ledger::{JournalRow, PAUSED_BY_HAND, PageFilter};
use std::collections::BTreeSet;
use tokio::sync::watch;

const PAGE: u32 = 500;

/// Something that happened, for whoever tells people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    pub action: ActionId,
    pub what: News,
}

/// What deserves telling. Accepted by itself does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum News {
    /// A draft is ready to be read.
    DraftWaiting,
    /// Something needs a person before it can be approved.
    NeedsReview,
    Unknown,
    /// An unknown outcome was settled.
    Settled,
    Refused,
    GaveUp,
    /// The first of two approvals was given.
    SecondWanted,
    /// Its destination lets nobody in until a person signs in again.
    SignedOut,
}

/// Follows the journal from where it was made.
#[derive(Clone, Debug)]
pub struct Feed {
    core: Core,
    seq: i64,
    moved: watch::Receiver<()>,
}

impl Feed {
    /// Starts after the journal's present head.
    pub async fn from_now(core: Core) -> Result<Feed, Failure> {
        let seq = core.ledger.head().await?.seq;
        Ok(Feed::after(core, seq))
    }

    pub fn after(core: Core, seq: i64) -> Feed {
        let moved = core.ledger.moved();
        Feed { core, seq, moved }
    }

    /// News since the last call; None when there is none.
    pub async fn poll(&mut self) -> Result<Option<(FeedEvent, Vec<Notice>)>, Failure> {
        // Before it is read: what is committed meanwhile ends the next wait at once.
        self.moved.mark_unchanged();
        if self.core.ledger.head().await?.seq <= self.seq {
            return Ok(None);
        }
        let rows = self.core.ledger.journal_after(self.seq, PAGE).await?;
        let Some(last) = rows.last() else { return Ok(None) };
        self.seq = last.entry.seq;
        let actions: BTreeSet<i64> = rows.iter().filter_map(|row| row.entry.action).collect();
        let mut notices = Vec::new();
        let mut news = Vec::new();
        for row in &rows {
            let notice = self.notice(row).await?;
            let said = match (&notice, row.entry.action) {
                (Some(notice), _) => Some((notice.action, word(notice.what))),
                // No notification is shown for what was accepted, but who cannot see the window is told.
                (None, Some(action)) if row.kind == "accepted" => Some((ActionId(action), "accepted")),
                _ => None,
            };
            news.extend(said.map(|(action, what)| NewsDoc { action: action.to_string(), what: what.to_owned() }));
            notices.extend(notice);
        }
        let actions = actions.into_iter().map(|n| ActionId(n).to_string()).collect();
        Ok(Some((FeedEvent { seq: self.seq, actions, news }, notices)))
    }

    /// Waits for news.
    pub async fn next(&mut self) -> Result<(FeedEvent, Vec<Notice>), Failure> {
        loop {
            if let Some(news) = self.poll().await? {
                return Ok(news);
            }
            self.wait().await;
        }
    }

    /// Until there may be news: this process committed something, or it is time to look for another one's commits.
    pub async fn wait(&mut self) {
        tokio::select! {
            _ = self.moved.changed() => {}
            () = tokio::time::sleep(PEEK) => {}
        }
    }

    async fn notice(&self, row: &JournalRow) -> Result<Option<Notice>, Failure> {
        let Some(action) = row.entry.action.map(ActionId) else { return self.signed_out(row).await };
        let state_is = async |wanted: State| -> Result<bool, Failure> {
            Ok(self.core.ledger.action(action).await?.is_some_and(|record| record.state() == wanted))
        };
        let what = match row.kind.as_str() {
            "proposed" if row.entry.fact["complete"] == serde_json::json!(false) => Some(News::NeedsReview),
            "proposed" => Some(News::DraftWaiting),
            "situation_changed" | "expired" | "account_changed" => Some(News::NeedsReview),
            "unclear" => state_is(State::Unknown).await?.then_some(News::Unknown),
            "stale" if state_is(State::Unknown).await? => Some(News::Unknown),
            "stale" => state_is(State::NeedsReview).await?.then_some(News::NeedsReview),
            "found" | "said_happened" => Some(News::Settled),
            "absent" => Some(News::Settled),
            "refused" => state_is(State::Refused).await?.then_some(News::Refused),
            "not_sent" => state_is(State::GaveUp).await?.then_some(News::GaveUp),
            "approved" if row.entry.fact["complete"] == serde_json::json!(false) => Some(News::SecondWanted),
            _ => None,
        };
        Ok(what.map(|what| Notice { action, what }))
    }

    /// A destination that a person must help, told of by the oldest action that waits for it. One that rests goes on by
    /// itself, and whoever paused it by hand knows.
    async fn signed_out(&self, row: &JournalRow) -> Result<Option<Notice>, Failure> {
        let details = &row.entry.fact["details"];
        let lost = row.kind == "destination_paused" && details["until"].is_null() && details["why"] != PAUSED_BY_HAND;
        let Some(destination) = details["name"].as_str().filter(|_| lost) else { return Ok(None) };
        let filter = PageFilter { environment: None, states: vec![State::Approved], oldest_first: true };
        let mut after = None;
        loop {
            let page = self.core.ledger.page(&filter, after, PAGE).await?;
            if let Some(waits) = page.rows.iter().find(|row| row.destination == destination) {
                return Ok(Some(Notice { action: waits.id, what: News::SignedOut }));
            }
            match page.next {
                Some(next) => after = Some(next),
                None => return Ok(None),
            }
        }
    }
}

/// The word for it that the window knows.
fn word(news: News) -> &'static str {
    match news {
        News::DraftWaiting => "draft_waiting",
        News::NeedsReview => "needs_review",
        News::Unknown => "unknown",
        News::Settled => "settled",
        News::Refused => "refused",
        News::GaveUp => "gave_up",
        News::SecondWanted => "second_wanted",
        News::SignedOut => "signed_out",
    }
}
