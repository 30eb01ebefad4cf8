//! Does a message fit a search key? Text is compared as a part of the whole and without regard to case, as real servers
//! do: who looks for `abc-123` also finds `<xabc-1234@t>` and has to compare exactly afterwards.

use super::parse::Key;
use crate::date::{day_of, mail_day};
use crate::message::{contains_ignoring_case, first_header, header_values};
use crate::world::Stored;

/// What the numbers of a search mean in this folder at this moment.
pub(super) struct Bounds {
    pub(super) highest_sequence: u32,
    pub(super) highest_uid: u32,
}

pub(super) fn fits(key: &Key, stored: &Stored, sequence: u32, bounds: &Bounds) -> bool {
    let sent = || mail_day(&first_header(&stored.bytes, "date"));
    let arrived = day_of(stored.internal_date);
    match key {
        Key::All => true,
        Key::Sequence(set) => set.holds(sequence, bounds.highest_sequence),
        Key::Uid(set) => set.holds(stored.uid, bounds.highest_uid),
        Key::Header(name, value) => {
            header_values(&stored.bytes, name).iter().any(|found| contains_ignoring_case(found, value))
        }
        Key::Text(text) => contains_ignoring_case(&String::from_utf8_lossy(&stored.bytes), text),
        Key::Body(text) => {
            contains_ignoring_case(&String::from_utf8_lossy(crate::message::split(&stored.bytes).1), text)
        }
        Key::Since(day) => arrived >= *day,
        Key::Before(day) => arrived < *day,
        Key::On(day) => arrived == *day,
        Key::SentSince(day) => sent().is_some_and(|sent| sent >= *day),
        Key::SentBefore(day) => sent().is_some_and(|sent| sent < *day),
        Key::SentOn(day) => sent() == Some(*day),
        Key::Flag(flag) => stored.flags.iter().any(|has| has.eq_ignore_ascii_case(flag)),
        Key::Larger(size) => stored.bytes.len() > *size,
        Key::Smaller(size) => stored.bytes.len() < *size,
        Key::ModSeq(least) => stored.modseq >= *least,
        Key::Not(key) => !fits(key, stored, sequence, bounds),
        Key::Or(left, right) => fits(left, stored, sequence, bounds) || fits(right, stored, sequence, bounds),
        Key::And(keys) => keys.iter().all(|key| fits(key, stored, sequence, bounds)),
    }
}
