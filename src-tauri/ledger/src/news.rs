//! What the customer wrote while an action was under way or in doubt. Its approval was signed with the conversation before
//! that, and what became of it is proven with it, so the newer one is kept in the journal. As soon as the action could go
//! again it is taken back for a person to read it first.

use crate::journal::{self, Stored};
use crate::rows::Action;
use crate::tx::{Conn, Write};
use crate::{Ledger, LedgerError, apply, content};
use countersign_domain::{ActionId, ConversationHash, Fact, State, Timestamp};
use serde_json::json;

const WHY: &str = "the customer wrote again after this was approved; read it, then decide anew";

/// Whether an action rests on an approval that nobody can take back now.
pub(crate) fn is_held(state: State) -> bool {
    match state {
        State::InProgress | State::Unknown | State::ClosedUnknown => true,
        State::Prepared
        | State::NeedsReview
        | State::Approved
        | State::Accepted
        | State::Refused
        | State::GaveUp
        | State::Rejected
        | State::Superseded => false,
    }
}

/// The newest conversation that came since the last approval and that the action has not got yet, by its journal.
pub(crate) fn told(action: &Action, rows: &[Stored]) -> Option<ConversationHash> {
    let since = rows.iter().rev().take_while(|s| s.row.kind != "approved");
    let mut news = since.map(|s| &s.row.entry.fact["details"]).filter(|details| details["news"] == true);
    let hash = news.next()?["conversation"].as_str()?.parse().ok()?;
    (action.conversation != Some(hash)).then_some(hash)
}

pub(crate) async fn waiting(conn: &mut Conn, action: &Action) -> Result<Option<ConversationHash>, LedgerError> {
    if !is_held(action.standing.state) {
        return Ok(None);
    }
    let rows = journal::of_action(conn, action.n).await?;
    Ok(told(action, &rows))
}

/// What follows when an action was let go of: it gets the conversation that came meanwhile, and where it would go again it
/// needs review instead.
pub(crate) async fn follow(
    w: &mut Write,
    before: &Action,
    next: Action,
    now: Timestamp,
) -> Result<Action, LedgerError> {
    let goes_on = match next.standing.state {
        State::Approved | State::NeedsReview | State::Refused | State::GaveUp => is_held(before.standing.state),
        State::Prepared
        | State::InProgress
        | State::Accepted
        | State::Unknown
        | State::Rejected
        | State::Superseded
        | State::ClosedUnknown => false,
    };
    if !goes_on {
        return Ok(next);
    }
    let rows = journal::of_action(w.conn().await?, next.n).await?;
    let Some(hash) = told(&next, &rows) else { return Ok(next) };
    // A text that a purge took, or that somebody took away, can't be read: that it came still counts.
    let readable = matches!(content::conversation_at(w.conn().await?, next.id(), hash).await, Ok(Some(_)));
    let conversation = if readable { Some(hash) } else { next.conversation };
    if next.standing.state == State::Approved {
        let change = |a: &mut Action| {
            a.conversation = conversation;
            a.reason = Some(WHY.to_owned());
        };
        let details = json!({ "reason": WHY });
        return apply::step(w, &next, &Fact::SituationChanged, change, details, "countersign", now).await;
    }
    apply::touch(w, &next, "wrote_again", |a| a.conversation = conversation, json!({}), "countersign", now).await
}

impl Ledger {
    /// Whether the customer wrote again since an action that is under way or in doubt was approved.
    pub async fn wrote_again_since_approval(&self, action: ActionId) -> Result<bool, LedgerError> {
        let mut tx = self.pools().read("looking for what the customer wrote").await?;
        let current = Action::get(&mut tx, action).await?;
        Ok(waiting(&mut tx, &current).await?.is_some())
    }
}
