//! `propose`: the same intake as every other door.

use crate::args::Propose;
use crate::output::{Ended, document_or};
use crate::session::Session;
use countersign_engine::Code;
use countersign_engine::intake::http::BODY_LIMIT;

/// What to do about a document that is too large.
const TOO_LARGE: &str =
    ", the most that a proposal may have. Its files grow by a third as base64: leave one out, or send a link to it";

pub async fn propose(s: &Session, a: Propose) -> Ended {
    let bytes = document_or("file", &a.file, BODY_LIMIT, TOO_LARGE)?;
    let intake = s.intake().await?;
    let source = intake.by_name(&a.source).await?;
    let answer = intake.propose(&source, &bytes).await?;
    s.out.answer(&answer)?;
    let any = |wanted: &str| answer.actions.iter().any(|one| one.disposition == wanted);
    Ok(if any("conflict") {
        Code::Conflict.exit()
    } else if any("not_permitted") {
        Code::NotPermitted.exit()
    } else {
        0
    })
}
