//! What comes next: backoff, the look-up schedule, and whether doubt is cleared by repeating, looking or asking a person.

use crate::contract::Contract;
use crate::time::Timestamp;
use std::time::Duration;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// What was approved for a time and could not go until so much later waits for a person: a message that was meant for the
/// morning says something else in the evening. Longer than a restart, a backoff or a short outage takes.
pub const SCHEDULED_LATE_AFTER: Duration = Duration::from_secs(15 * MINUTE);

/// Waits between attempts that were certainly not sent: 1 min, 10 min. A destination's Retry-After wins.
pub fn backoff(attempts: u8, retry_after: Option<Duration>) -> Duration {
    retry_after.unwrap_or(Duration::from_secs(if attempts <= 1 { MINUTE } else { 10 * MINUTE }))
}

/// Seconds after an action became unknown at which it is looked for the (`n` + 1)th time: at once, 30 s, 2 min, 10 min,
/// 1 h, 6 h, 24 h, then daily for 14 days.
fn schedule(n: u32) -> Option<u64> {
    const FIRST: [u64; 7] = [0, 30, 2 * MINUTE, 10 * MINUTE, HOUR, 6 * HOUR, DAY];
    const LAST_DAY: u64 = 14;
    match FIRST.get(n as usize) {
        Some(seconds) => Some(*seconds),
        None => {
            let day = u64::from(n) - FIRST.len() as u64 + 2;
            (day <= LAST_DAY).then_some(day * DAY)
        }
    }
}

/// When the next look is due; None once it is only looked for when asked. `since` is when the action became unknown,
/// `looks` how often it was looked for.
pub fn next_look(since: Timestamp, looks: u32) -> Option<Timestamp> {
    schedule(looks).map(|seconds| since.plus(Duration::from_secs(seconds)))
}

/// As [`next_look`], stretched for a destination whose absence is proof: one more look, as soon as its look-up delay has
/// passed, so that the proof is neither drawn early nor left waiting for the next step.
pub fn next_look_at(contract: &Contract, since: Timestamp, looks: u32) -> Option<Timestamp> {
    let delay = contract.lookup_delay().as_secs();
    let extra = contract.absence_conclusive && !(0..).map_while(schedule).any(|step| step == delay);
    let before = (0..).map_while(schedule).take_while(|step| *step < delay).count();
    let seconds = match (looks as usize).cmp(&before) {
        _ if !extra => schedule(looks)?,
        std::cmp::Ordering::Less => schedule(looks)?,
        std::cmp::Ordering::Equal => delay,
        std::cmp::Ordering::Greater => schedule(looks - 1)?,
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
    match next_look_at(contract, since, looks) {
        Some(at) if contract.can_look() => Plan::Look { at },
        _ => Plan::AskPerson,
    }
}

/// By itself only for native-key contracts and in the first half of the key's window.
pub fn may_repeat_by_itself(contract: &Contract, first_crossed: Timestamp, now: Timestamp) -> bool {
    contract.has_native_key() && contract.retention().is_some_and(|window| within(first_crossed, window / 2, now))
}

/// By a person inside the whole window.
pub fn person_may_repeat(contract: &Contract, first_crossed: Timestamp, now: Timestamp) -> bool {
    contract.recognises_repeat() && contract.retention().is_some_and(|window| within(first_crossed, window, now))
}

/// Clocks are corrected by less than this all the time; by more, somebody set them.
const CORRECTED: Duration = Duration::from_secs(60);

/// The time that a key's window is judged by. `latest`: the latest time that is known to have been. None: the clock stands
/// before it, so it was set back, nobody knows how much time has gone by, and every window counts as over.
pub fn window_time(now: Timestamp, latest: Timestamp) -> Option<Timestamp> {
    (latest <= now.plus(CORRECTED)).then(|| now.max(latest))
}

/// Whether `now` lies in the window. A clock that stands before its beginning was set back, and then nobody knows how
/// much of the window is left: that counts as outside.
fn within(begin: Timestamp, window: Duration, now: Timestamp) -> bool {
    begin <= now && now < begin.plus(window)
}

/// Whether a look that saw nothing proves that nothing happened.
pub fn absence_proves(contract: &Contract, last_crossed: Timestamp, looked: Timestamp) -> bool {
    contract.absence_conclusive && looked >= last_crossed.plus(contract.lookup_delay())
}

/// From when a person may sign that it did not happen: a late answer and a copy that shows up late must have had their
/// time. The socket of an attempt must be closed besides.
pub fn did_not_happen_from(contract: &Contract, last_crossed: Timestamp, answer_timeout: Duration) -> Timestamp {
    last_crossed.plus(answer_timeout.max(contract.lookup_delay()))
}
