//! The last thing of a test message, which is nobody's action: no approval, no ledger, sent once and not looked after.

use super::poised::{Crossed, Poised};
use super::reply::{Reply, answer};
use crate::boot::BootTime;
use countersign_domain::Answer;
use std::time::Duration;

/// Sends it. The server's whole reply, or why there is none.
pub(crate) async fn deliver(poised: Poised, limit: Duration) -> Result<Reply, Answer> {
    match poised.cross(BootTime::now(), limit).await {
        Crossed::Answered(reply) => Ok(reply),
        Crossed::Pending(late) => Err(answer(late.doubt().code, late.doubt().words)),
        Crossed::Broken(doubt) => Err(answer(doubt.code, doubt.words)),
        Crossed::Unsent(answer) => Err(answer),
    }
}
