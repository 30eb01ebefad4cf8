//! The optional `Idempotency-Key` header, as the IETF draft describes it (F21).
//!
//! It only saves a caller from guessing after a lost answer; that nothing happens twice is the ledger's work and holds
//! without it. Keys are kept per source and call, for 24 hours, while this process runs; only the answers of accepted work
//! are kept, so that a mended body may come under the same key.

use axum::http::HeaderMap;
use countersign_domain::Timestamp;
use countersign_domain::canonical::sha256;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

const KEPT: Duration = Duration::from_secs(24 * 60 * 60);
/// So many keys are held at most; the oldest go first.
const MOST: usize = 10_000;
const LONGEST: usize = 255;

/// A finished answer, to be given again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Kept {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
}

#[derive(Debug)]
enum Held {
    Running { body: [u8; 32] },
    Finished { body: [u8; 32], answer: Kept, at: Timestamp },
}

type Scope = (String, &'static str, String);

#[derive(Clone, Debug, Default)]
pub(super) struct Repeats(Arc<Mutex<HashMap<Scope, Held>>>);

/// What the key says about a request.
#[derive(Debug)]
pub(super) enum Seen {
    New(Ticket),
    Before(Kept),
    Running,
    /// The same key with other content: digests of the first body and of this one.
    Reused {
        first: String,
        now: String,
    },
}

/// The right to answer under a key. Dropped without [`Ticket::keep`], the key is free again.
#[derive(Debug)]
pub(super) struct Ticket {
    repeats: Repeats,
    scope: Scope,
    body: [u8; 32],
}

impl Ticket {
    pub(super) fn keep(self, answer: Kept, now: Timestamp) {
        let mut held = self.repeats.lock();
        held.insert(self.scope.clone(), Held::Finished { body: self.body, answer, at: now });
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut held = self.repeats.lock();
        if let Some(Held::Running { .. }) = held.get(&self.scope) {
            held.remove(&self.scope);
        }
    }
}

impl Repeats {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Scope, Held>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Scope is the source, the call and the key: one source's keys never meet another's.
    pub(super) fn see(&self, source: &str, call: &'static str, key: String, body: &[u8], now: Timestamp) -> Seen {
        let digest = sha256(body);
        let scope = (source.to_owned(), call, key);
        let mut held = self.lock();
        held.retain(|_, h| match h {
            Held::Running { .. } => true,
            Held::Finished { at, .. } => now.since(*at) < KEPT,
        });
        match held.get(&scope) {
            Some(Held::Running { body } | Held::Finished { body, .. }) if *body != digest => {
                Seen::Reused { first: hex::encode(body), now: hex::encode(digest) }
            }
            Some(Held::Running { .. }) => Seen::Running,
            Some(Held::Finished { answer, .. }) => Seen::Before(answer.clone()),
            None => {
                if held.len() >= MOST {
                    forget_oldest(&mut held);
                }
                held.insert(scope.clone(), Held::Running { body: digest });
                Seen::New(Ticket { repeats: self.clone(), scope, body: digest })
            }
        }
    }
}

fn forget_oldest(held: &mut HashMap<Scope, Held>) {
    let oldest = held
        .iter()
        .filter_map(|(scope, h)| match h {
            Held::Running { .. } => None,
            Held::Finished { at, .. } => Some((*at, scope.clone())),
        })
        .min_by_key(|(at, _)| *at);
    if let Some((_, scope)) = oldest {
        held.remove(&scope);
    }
}

/// The key of a request: a quoted structured-field string, or the bare value that most clients send.
pub(super) fn key_of(headers: &HeaderMap) -> Option<Result<String, &'static str>> {
    let mut all = headers.get_all("idempotency-key").iter();
    let first = all.next()?;
    if all.next().is_some() {
        return Some(Err("the header occurs twice"));
    }
    let bare = first.to_str().unwrap_or_default().trim();
    let key = match bare.strip_prefix('"') {
        Some(rest) => rest.strip_suffix('"').unwrap_or_default(),
        None => bare,
    };
    let fine = !key.is_empty() && key.len() <= LONGEST && key.bytes().all(|b| (0x21..=0x7e).contains(&b) && b != b'"');
    Some(if fine { Ok(key.to_owned()) } else { Err("1 to 255 printable ASCII characters without spaces are expected") })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALL: &str = "POST /v1/proposals";

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1000)
    }
    fn kept() -> Kept {
        Kept { status: 201, body: b"{}".to_vec() }
    }
    fn see(r: &Repeats, source: &str, key: &str, body: &str, now: i64) -> Seen {
        r.see(source, CALL, key.to_owned(), body.as_bytes(), at(now))
    }

    #[test]
    fn f21_a_finished_answer_is_given_again_and_another_body_is_told_with_both_digests() {
        let r = Repeats::default();
        let Seen::New(ticket) = see(&r, "shopbot", "k1", "a", 0) else { panic!("the first is new") };
        assert!(matches!(see(&r, "shopbot", "k1", "a", 0), Seen::Running));
        ticket.keep(kept(), at(0));
        assert!(matches!(see(&r, "shopbot", "k1", "a", 1), Seen::Before(answer) if answer == kept()));
        let Seen::Reused { first, now } = see(&r, "shopbot", "k1", "b", 1) else { panic!("other content") };
        assert_ne!(first, now);
    }

    #[test]
    fn f21_keys_of_two_sources_and_of_two_calls_never_meet() {
        let r = Repeats::default();
        let Seen::New(one) = see(&r, "shopbot", "k1", "a", 0) else { panic!() };
        one.keep(kept(), at(0));
        assert!(matches!(see(&r, "other", "k1", "b", 0), Seen::New(_)));
        assert!(matches!(r.see("shopbot", "POST /v1/other", "k1".into(), b"b", at(0)), Seen::New(_)));
    }

    #[test]
    fn f21_work_that_was_not_accepted_leaves_the_key_free() {
        let r = Repeats::default();
        let Seen::New(ticket) = see(&r, "shopbot", "k2", "without a recipient", 0) else { panic!() };
        drop(ticket);
        assert!(matches!(see(&r, "shopbot", "k2", "with one", 0), Seen::New(_)));
    }

    #[test]
    fn f21_a_key_is_forgotten_after_a_day() {
        let r = Repeats::default();
        let Seen::New(ticket) = see(&r, "shopbot", "k3", "a", 0) else { panic!() };
        ticket.keep(kept(), at(0));
        assert!(matches!(see(&r, "shopbot", "k3", "b", 24 * 3600 - 1), Seen::Reused { .. }));
        assert!(matches!(see(&r, "shopbot", "k3", "b", 24 * 3600), Seen::New(_)));
    }

    #[test]
    fn f21_a_key_comes_quoted_or_bare() {
        let read = |value: &str| {
            let mut map = HeaderMap::new();
            map.insert("idempotency-key", value.parse().unwrap());
            key_of(&map).unwrap()
        };
        assert_eq!(read("\"8e03978e-40d5\""), Ok("8e03978e-40d5".to_owned()));
        assert_eq!(read("8e03978e-40d5"), Ok("8e03978e-40d5".to_owned()));
        for bad in ["\"\"", "\"open", "two words", ""] {
            assert!(read(bad).is_err(), "{bad}");
        }
        assert!(key_of(&HeaderMap::new()).is_none());
    }
}
