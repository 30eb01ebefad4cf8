//! The last thing of a test message, which is nobody's action: no approval, no ledger, sent once and not looked after.

use super::poised::{Crossed, Poised};
use super::reply::{Reply, answer};
use super::smtp::SmtpPoised;
use crate::boot::BootTime;
use countersign_domain::Answer;
use std::time::Duration;

/// Sends it. The server's yes in words, or what it said instead.
pub(crate) async fn deliver(poised: SmtpPoised, limit: Duration) -> Result<String, Answer> {
    match Poised::Smtp(poised).cross(BootTime::now(), limit).await {
        Crossed::Answered(Reply::Smtp(reply)) if reply.is(2) => Ok(reply.words()),
        Crossed::Answered(Reply::Smtp(reply)) => Err(answer(format!("smtp:final_dot:{}", reply.code), reply.words())),
        Crossed::Pending(late) => Err(answer(late.doubt().code, late.doubt().words)),
        Crossed::Broken(doubt) => Err(answer(doubt.code, doubt.words)),
        Crossed::Unsent(answer) => Err(answer),
    }
}
