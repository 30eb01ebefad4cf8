//! What comes next: backoff, the look-up schedule, and whether doubt is cleared by repeating, looking or asking a person.

use crate::contract::Contract;
use crate::time::Timestamp;
use std::time::Duration;

/// Waits between attempts that were certainly not sent: 1 min, 10 min. A destination's Retry-After wins.
pub fn backoff(attempts: u8, retry_after: Option<Duration>) -> Duration {
    retry_after.unwrap_or(Duration::from_secs(if attempts <= 1 { 60 } else { 600 }))
}

/// When the next look is due: at once, 30 s, 2 min, 10 min, 1 h, 6 h, 24 h, then daily for 14 days; None after that.
/// `since` is when the action became unknown, `looks` how often it was looked for.
pub fn next_look(since: Timestamp, looks: u32) -> Option<Timestamp> {
    const STEPS: [u64; 7] = [0, 30, 120, 600, 3600, 6 * 3600, 24 * 3600];
    let seconds = match STEPS.get(looks as usize) {
        Some(s) => *s,
        None => {
            let day = u64::from(looks) - STEPS.len() as u64 + 2;
            if day > 14 {
                return None;
            }
            day * 24 * 3600
        }
    };
    Some(since.plus(Duration::from_secs(seconds)))
}

/// What to do about an unknown action now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    /// Repeat under the same key.
    Repeat,
    /// Look at the given time.
    Look { at: Timestamp },
    /// Nothing by itself any more; a person decides.
    AskPerson,
}

/// Decides from the contract alone. `first_crossed` starts the key's window.
pub fn plan(
    contract: &Contract,
    first_crossed: Timestamp,
    since: Timestamp,
    looks: u32,
    attempts_left: bool,
    repeat_by_itself: bool,
    now: Timestamp,
) -> Plan {
    if repeat_by_itself && attempts_left && may_repeat_by_itself(contract, first_crossed, now) {
        return Plan::Repeat;
    }
    match next_look(since, looks) {
        Some(at) if contract.can_look() => Plan::Look { at },
        _ => Plan::AskPerson,
    }
}

/// By itself only for native-key contracts and in the first half of the key's window.
pub fn may_repeat_by_itself(contract: &Contract, first_crossed: Timestamp, now: Timestamp) -> bool {
    contract.recognises_repeat() && contract.retention().is_some_and(|window| now < first_crossed.plus(window / 2))
}

/// By a person inside the whole window.
pub fn person_may_repeat(contract: &Contract, first_crossed: Timestamp, now: Timestamp) -> bool {
    contract.recognises_repeat() && contract.retention().is_some_and(|window| now < first_crossed.plus(window))
}

/// Whether a look that saw nothing proves that nothing happened.
pub fn absence_proves(contract: &Contract, last_crossed: Timestamp, looked: Timestamp) -> bool {
    contract.absence_conclusive && looked >= last_crossed.plus(contract.lookup_delay())
}
