//! Reading: `list`, `search`, `show`.

use crate::args::{List, One, Search};
use crate::output::Ended;
use crate::session::{Needs, Session};
use countersign_engine::view::SearchFilters;

pub async fn list(s: &Session, a: List) -> Ended {
    let desk = s.desk(Needs::Nothing).await?;
    s.out.answer(&desk.page(a.environment.as_deref(), a.state, a.after.as_deref(), a.limit).await?)
}

pub async fn search(s: &Session, a: Search) -> Ended {
    let desk = s.desk(Needs::Nothing).await?;
    let filters = SearchFilters::default();
    s.out.answer(&desk.search(&a.text, &filters, a.after.as_deref(), a.limit).await?)
}

pub async fn show(s: &Session, a: One) -> Ended {
    // A canonical key can be looked up only through the ledger secret; a number or idempotency key needs none.
    let needs = if a.id.starts_with('[') { Needs::Secrets } else { Needs::Nothing };
    let desk = s.desk(needs).await?;
    let id = desk.resolve_id(&a.id).await?;
    s.out.answer(&desk.action(id).await?)
}
