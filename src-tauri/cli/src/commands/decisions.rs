//! A person's decisions. Each prints the action document; `revise` that of the new action.

use crate::args::{Approve, Confirm, Edit, One, Reject, Resolve, Revise};
use crate::output::{Ended, document};
use crate::session::{Needs, Session};
use countersign_domain::Verdict;
use countersign_engine::Failure;
use countersign_engine::intake::http::BODY_LIMIT;
use serde_json::Value;
use std::path::Path;

/// A payload as strictly read as a proposal.
fn payload(path: &Path) -> Result<Value, Failure> {
    let bytes = document("payload", path, BODY_LIMIT)?;
    countersign_domain::json::parse(&bytes).map_err(|e| Failure::from(e.within("payload")))
}

pub async fn edit(s: &Session, a: Edit) -> Ended {
    let payload = payload(&a.payload)?;
    let desk = s.desk(Needs::Nothing).await?;
    let id = desk.resolve_id(&a.id).await?;
    s.out.answer(&desk.edit(id, None, payload).await?)
}

pub async fn confirm(s: &Session, a: Confirm) -> Ended {
    let desk = s.desk(Needs::Secrets).await?;
    let id = desk.resolve_id(&a.id).await?;
    s.out.answer(&desk.confirm(id, a.request_id.as_deref(), a.event_id.as_deref()).await?)
}

pub async fn release(s: &Session, a: One) -> Ended {
    let (desk, id) = s.deciding(&a.id).await?;
    s.out.answer(&desk.release(id).await?)
}

pub async fn approve(s: &Session, a: Approve) -> Ended {
    let looked = a
        .checked
        .iter()
        .map(|text| match text.split_once(':') {
            Some((code, field)) if !code.is_empty() => Ok((code.to_owned(), field.to_owned())),
            _ => Err(Failure::bad_input("checked", format!("`{text}` is not CODE:FIELD"))),
        })
        .collect::<Result<Vec<_>, _>>()?;
    let (desk, id) = s.deciding(&a.id).await?;
    s.out.answer(&desk.approve(id, &a.payload_hash, &looked).await?)
}

pub async fn reject(s: &Session, a: Reject) -> Ended {
    let desk = s.desk(Needs::Nothing).await?;
    let id = desk.resolve_id(&a.id).await?;
    s.out.answer(&desk.reject(id, &a.reason).await?)
}

pub async fn undo(s: &Session, a: One) -> Ended {
    let desk = s.desk(Needs::Nothing).await?;
    let id = desk.resolve_id(&a.id).await?;
    s.out.answer(&desk.undo(id).await?)
}

pub async fn resolve(s: &Session, a: Resolve) -> Ended {
    let verdict = match (a.happened, a.did_not_happen, a.leave) {
        (true, false, false) => Verdict::Happened,
        (false, true, false) => Verdict::DidNotHappen,
        (false, false, true) => Verdict::Leave,
        _ => return Err(Failure::bad_input("verdict", "one of --happened, --did-not-happen and --leave is needed")),
    };
    let (desk, id) = s.deciding(&a.id).await?;
    s.out.answer(&desk.resolve(id, verdict, &a.evidence).await?)
}

pub async fn revise(s: &Session, a: Revise) -> Ended {
    let payload = a.payload.as_deref().map(payload).transpose()?;
    let desk = s.desk(Needs::Secrets).await?;
    let id = desk.resolve_id(&a.id).await?;
    s.out.answer(&desk.revise(id, payload).await?)
}
