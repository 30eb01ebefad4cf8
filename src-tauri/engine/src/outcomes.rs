//! Telling a source what became of its actions: accepted, unknown, refused, gave up. Never a decision of a person.
//!
//! The ledger queues an outcome in the transaction that makes it; this sends what is queued, from the process that
//! dispatches, signed the Standard Webhooks way. At least once: a try whose answer is lost is made again with the same
//! `webhook-id` and the same body. Tries that fail change nothing but their own row.

use crate::core::Core;
use crate::failure::Failure;
use crate::intake::sign;
use countersign_connectors::notice::Listener;
use countersign_ledger::OutcomeCall;
use std::collections::BTreeSet;
use std::time::Duration;
use tokio::task::JoinSet;

/// Outcomes told to one source in one pass at most.
const PER_PASS: u32 = 20;
/// How long a listener may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// Waits after the first failures; the last one repeats.
const BACKOFF: [Duration; 6] = [
    Duration::from_secs(5),
    Duration::from_secs(30),
    Duration::from_secs(2 * 60),
    Duration::from_secs(10 * 60),
    Duration::from_secs(60 * 60),
    Duration::from_secs(6 * 60 * 60),
];
/// Tries of one outcome; with the waits between them, about two and a half days.
pub const TRIES: u32 = 15;
/// How long the delivery log keeps what ended.
const LOGGED: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// What one try came to.
enum Told {
    Heard,
    /// It answers that nobody listens there any more.
    Gone,
    Again,
}

impl Core {
    /// Tells what is due, each source by itself. A listener that does not answer, or of which something cannot be read,
    /// holds up its own source only, and for one pass.
    pub(crate) async fn tell_outcomes(&self) -> Result<(), Failure> {
        let mut deaf = BTreeSet::new();
        let mut first_failure = None;
        for _ in 0..PER_PASS {
            let mut telling = JoinSet::new();
            for call in self.ledger.outcomes_due(self.clock.now()).await? {
                if !deaf.contains(&call.source) {
                    let core = self.clone();
                    telling.spawn(async move { (core.tell_one(&call).await, call.source) });
                }
            }
            if telling.is_empty() {
                break;
            }
            for (heard, source) in telling.join_all().await {
                if !matches!(heard, Ok(true)) {
                    deaf.insert(source);
                }
                first_failure = first_failure.or(heard.err());
            }
        }
        first_failure.map_or(Ok(()), Err)
    }

    /// One try; whether it was heard.
    async fn tell_one(&self, call: &OutcomeCall) -> Result<bool, Failure> {
        let (told, last) = self.tell(call).await.unwrap_or_else(|failure| {
            tracing::warn!(
                code = failure.code.word(),
                source = call.source,
                "an outcome cannot be told now: {failure}"
            );
            (Told::Again, "its address or signing secret cannot be read now".into())
        });
        let now = self.clock.now();
        let tries = call.tries + 1;
        let (state, next) = match told {
            Told::Heard => ("delivered", None),
            Told::Gone => ("stopped", None),
            Told::Again if tries >= TRIES => ("stopped", None),
            Told::Again => ("waiting", Some(now.plus(wait_after(tries)))),
        };
        self.ledger.outcome_tried(call, state, &last, next, now.minus(LOGGED), now).await?;
        Ok(state == "delivered")
    }

    async fn tell(&self, call: &OutcomeCall) -> Result<(Told, String), Failure> {
        let hook = self.ledger.outcome_hook(&call.source).await?;
        let Some(hook) = hook else {
            return Ok((Told::Gone, "there is no outcome webhook any more".into()));
        };
        let Some(secret) = self.keychain.outcome_secret(&call.source, hook.added_at).await? else {
            return Ok((Told::Gone, "there is no signing secret any more".into()));
        };
        let listener = match Listener::at(&hook.url, self.config.outcome_ca_file.as_deref()) {
            Ok(listener) => listener,
            Err(why) => return Ok((Told::Again, why)),
        };
        let at = self.clock.now().millis().div_euclid(1000).to_string();
        let Some(signature) = sign(secret.expose(), &call.message_id, &at, call.body.as_bytes()) else {
            return Ok((Told::Gone, "the signing secret cannot be read".into()));
        };
        let headers =
            [("webhook-id", call.message_id.clone()), ("webhook-timestamp", at), ("webhook-signature", signature)];
        Ok(match listener.tell(&headers, &call.body, PATIENCE).await {
            Ok(status @ 200..=299) => (Told::Heard, format!("answered {status}")),
            Ok(410) => (Told::Gone, "answered 410: it wants no more".into()),
            Ok(status) => (Told::Again, format!("answered {status}")),
            Err(why) => (Told::Again, why),
        })
    }
}

fn wait_after(tries: u32) -> Duration {
    let nth = usize::try_from(tries).unwrap_or(usize::MAX).saturating_sub(1);
    BACKOFF[nth.min(BACKOFF.len() - 1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r09_waits_grow_to_a_cap() {
        let waits: Vec<u64> = (1..=8).map(|tries| wait_after(tries).as_secs()).collect();
        assert_eq!(waits, [5, 30, 120, 600, 3600, 21_600, 21_600, 21_600]);
    }
}
