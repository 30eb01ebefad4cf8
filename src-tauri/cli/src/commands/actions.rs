//! Reading: `list`, `search`, `show`.

use crate::args::{List, One, Search};
use crate::output::Ended;
use crate::session::{Needs, Session};
use countersign_domain::ActionId;
use countersign_engine::Desk;
use countersign_engine::view::SearchFilters;
use std::time::Duration;

/// A destination that takes longer is one that cannot be asked now.
const ASKED_WITHIN: Duration = Duration::from_secs(10);

pub async fn list(s: &Session, a: List) -> Ended {
    let desk = s.desk(Needs::Nothing).await?;
    let page = desk.page(a.environment.as_deref(), a.state, a.after.as_deref(), a.limit).await?;
    let empty = match (a.state, &a.environment) {
        (None, None) => {
            "No actions yet. A source hands them in: `countersign propose FILE.json --source NAME`, or over HTTP."
        }
        _ => "No action is in this state or environment. `countersign list` shows all.",
    };
    s.out.answer_or(&page, empty)
}

pub async fn search(s: &Session, a: Search) -> Ended {
    let desk = s.desk(Needs::Nothing).await?;
    let filters = SearchFilters::default();
    let found = desk.search(&a.text, &filters, a.after.as_deref(), a.limit).await?;
    s.out.answer_or(
        &found,
        "Nothing was found. Whole words and their beginnings are looked for; `countersign list` shows all.",
    )
}

pub async fn show(s: &Session, a: One) -> Ended {
    // A canonical key can be looked up only through the ledger secret; a number or idempotency key needs none.
    let needs = if a.id.starts_with('[') { Needs::Secrets } else { Needs::Nothing };
    let desk = s.desk(needs).await?;
    let id = desk.resolve_id(&a.id).await?;
    look(&desk, id).await;
    s.out.answer(&desk.action(id).await?)
}

/// As the window does when it opens one: the customer's message and the record are asked for before a person decides, so
/// that no check turns up only once an approval was refused. Whatever cannot be asked now is shown as not checked.
async fn look(desk: &Desk, id: ActionId) {
    // Without its secrets nobody is asked, and nothing is noted about that.
    if desk.core().ledger_secret().await.is_err() {
        return;
    }
    if let Ok(Err(failure)) = tokio::time::timeout(ASKED_WITHIN, desk.check_parent(id)).await {
        tracing::debug!(code = failure.code.word(), "what lies at the destination could not be noted");
    }
}
