//! The optional `Idempotency-Key` header, as the IETF draft describes it (F21).
//!
//! It only saves a caller from guessing after a lost answer; that nothing happens twice is the ledger's work and holds
//! without it. Keys are kept per source and call for 24 hours, in the ledger, so that a restart forgets none; only the
//! answers of accepted work are kept, so that a mended body may come under the same key. What is being answered at this
//! moment is known to this process alone: it is the only one that answers for a home, and what it had not finished when it
//! died was either taken by the ledger, which says so to the repeat, or it was not.

use axum::http::HeaderMap;
use countersign_domain::Timestamp;
use countersign_domain::canonical::sha256;
use countersign_ledger::{KeptAnswer, Ledger, LedgerError};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long a key is remembered.
pub(super) const KEPT: Duration = Duration::from_secs(24 * 60 * 60);
const LONGEST: usize = 255;
const NO_KEY: &str = "1 to 255 printable ASCII characters are expected: in double quotes, or without spaces and quotes";
const NO_STRING: &str = "what begins with a double quote must be a string of RFC 8941: closed, printable ASCII, with a \
    backslash before each double quote and backslash, and nothing but parameters behind it";

/// A finished answer, to be given again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Kept {
    pub(super) status: u16,
    pub(super) body: String,
}

type Scope = (String, &'static str, String);

/// Digest of the body that is being answered under each key.
type Running = Arc<Mutex<HashMap<Scope, String>>>;

#[derive(Clone, Debug)]
pub(super) struct Repeats {
    ledger: Ledger,
    running: Running,
}

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
    body: String,
}

impl Ticket {
    /// The key stays taken until the answer is on disk.
    pub(super) async fn keep(self, answer: Kept, now: Timestamp) -> Result<(), LedgerError> {
        let kept = KeptAnswer { body: self.body.clone(), status: answer.status, answer: answer.body };
        let (source, route, key) = &self.scope;
        self.repeats.ledger.keep_answer(source, route, key, &kept, now.minus(KEPT), now).await
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.repeats.running().remove(&self.scope);
    }
}

impl Repeats {
    pub(super) fn new(ledger: Ledger) -> Repeats {
        Repeats { ledger, running: Running::default() }
    }

    fn running(&self) -> std::sync::MutexGuard<'_, HashMap<Scope, String>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Scope is the source, the call and the key: one source's keys never meet another's.
    pub(super) async fn see(
        &self,
        source: &str,
        call: &'static str,
        key: String,
        body: &[u8],
        now: Timestamp,
    ) -> Result<Seen, LedgerError> {
        let digest = hex::encode(sha256(body));
        let scope = (source.to_owned(), call, key);
        // First the right to answer, then the look at what was answered: between the two nobody else can finish.
        let ticket = {
            let mut running = self.running();
            match running.get(&scope) {
                Some(first) if *first != digest => return Ok(Seen::Reused { first: first.clone(), now: digest }),
                Some(_) => return Ok(Seen::Running),
                None => running.insert(scope.clone(), digest.clone()),
            };
            Ticket { repeats: self.clone(), scope, body: digest.clone() }
        };
        let (_, _, key) = &ticket.scope;
        Ok(match self.ledger.kept_answer(source, call, key, now.minus(KEPT)).await? {
            Some(kept) if kept.body != digest => Seen::Reused { first: kept.body, now: digest },
            Some(kept) => Seen::Before(Kept { status: kept.status, body: kept.answer }),
            None => Seen::New(ticket),
        })
    }
}

/// The key of a request. The draft wants a string of RFC 8941 (an `sf-item`), whose parameters mean nothing to us and are
/// ignored as section 2 of the RFC tells; most clients send the bare value, which is taken as it is.
pub(super) fn key_of(headers: &HeaderMap) -> Option<Result<String, &'static str>> {
    let mut all = headers.get_all("idempotency-key").iter();
    let first = all.next()?;
    if all.next().is_some() {
        return Some(Err("the header occurs twice"));
    }
    let value = first.as_bytes().trim_ascii();
    let key = if value.starts_with(b"\"") {
        match sfv::Parser::new(value).parse::<sfv::Item>() {
            Ok(item) => item.bare_item.as_string().map(|text| text.as_str().to_owned()),
            Err(_) => return Some(Err(NO_STRING)),
        }
    } else {
        let plain = |b: &u8| (0x21..=0x7e).contains(b) && *b != b'"';
        std::str::from_utf8(value).ok().filter(|text| text.as_bytes().iter().all(plain)).map(str::to_owned)
    };
    Some(key.filter(|key| (1..=LONGEST).contains(&key.len())).ok_or(NO_KEY))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALL: &str = "POST /v1/proposals";

    struct Place(Repeats, std::path::PathBuf);

    impl Drop for Place {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.1);
        }
    }

    async fn place() -> Place {
        let name = hex::encode(crate::keychain::random::<8>().unwrap());
        let dir = std::env::temp_dir().join(format!("cs-repeat-{name}"));
        std::fs::create_dir_all(&dir).unwrap();
        let ledger = Ledger::create(&dir.join("ledger.db"), &name, at(0)).await.unwrap();
        Place(Repeats::new(ledger), dir)
    }
    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(1_700_000_000_000 + seconds * 1000)
    }
    fn kept() -> Kept {
        Kept { status: 201, body: "{}".into() }
    }
    async fn see(r: &Repeats, source: &str, key: &str, body: &str, now: i64) -> Seen {
        r.see(source, CALL, key.to_owned(), body.as_bytes(), at(now)).await.unwrap()
    }

    #[tokio::test]
    async fn f21_a_finished_answer_is_given_again_after_a_restart_and_another_body_is_told_with_both_digests() {
        let place = place().await;
        let r = &place.0;
        let Seen::New(ticket) = see(r, "shopbot", "k1", "a", 0).await else { panic!("the first is new") };
        assert!(matches!(see(r, "shopbot", "k1", "a", 0).await, Seen::Running));
        assert!(matches!(see(r, "shopbot", "k1", "b", 0).await, Seen::Reused { .. }), "other content, still running");
        ticket.keep(kept(), at(0)).await.unwrap();
        // What a process that starts anew knows is what the ledger kept.
        let again = Repeats::new(r.ledger.clone());
        assert!(matches!(see(&again, "shopbot", "k1", "a", 1).await, Seen::Before(answer) if answer == kept()));
        let Seen::Reused { first, now } = see(&again, "shopbot", "k1", "b", 1).await else { panic!("other content") };
        assert_ne!(first, now);
    }

    #[tokio::test]
    async fn f21_keys_of_two_sources_and_of_two_calls_never_meet() {
        let place = place().await;
        let r = &place.0;
        let Seen::New(one) = see(r, "shopbot", "k1", "a", 0).await else { panic!() };
        one.keep(kept(), at(0)).await.unwrap();
        assert!(matches!(see(r, "other", "k1", "b", 0).await, Seen::New(_)));
        let elsewhere = r.see("shopbot", "POST /v1/other", "k1".into(), b"b", at(0)).await.unwrap();
        assert!(matches!(elsewhere, Seen::New(_)));
    }

    #[tokio::test]
    async fn f21_work_that_was_not_accepted_leaves_the_key_free() {
        let place = place().await;
        let r = &place.0;
        let Seen::New(ticket) = see(r, "shopbot", "k2", "without a recipient", 0).await else { panic!() };
        drop(ticket);
        assert!(matches!(see(r, "shopbot", "k2", "with one", 0).await, Seen::New(_)));
    }

    #[tokio::test]
    async fn f21_a_key_is_forgotten_after_a_day() {
        let place = place().await;
        let r = &place.0;
        let Seen::New(ticket) = see(r, "shopbot", "k3", "a", 0).await else { panic!() };
        ticket.keep(kept(), at(0)).await.unwrap();
        assert!(matches!(see(r, "shopbot", "k3", "b", 24 * 3600 - 1).await, Seen::Reused { .. }));
        let Seen::New(ticket) = see(r, "shopbot", "k3", "b", 24 * 3600).await else { panic!("a day is over") };
        ticket.keep(kept(), at(24 * 3600)).await.unwrap();
        assert!(matches!(see(r, "shopbot", "k3", "b", 24 * 3600 + 1).await, Seen::Before(_)), "the new one counts");
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
        // RFC 8941, sections 3.3 and 3.3.3: blanks and escapes are part of a string, parameters are not.
        for (value, key) in [
            ("\"order 17, second part\"", "order 17, second part"),
            (r#""a \"b\" \\ c""#, r#"a "b" \ c"#),
            ("\"k1\";v=1;who=\"shop;bot\";x", "k1"),
            ("  \"k1\" ", "k1"),
            ("\" \"", " "),
        ] {
            assert_eq!(read(value), Ok(key.to_owned()), "{value}");
        }
        assert_eq!(read(&format!("\"{}\"", "x".repeat(255))), Ok("x".repeat(255)));
        let long = format!("\"{}\"", "x".repeat(256));
        let wrong = [
            "\"\"",
            "\"open",
            "two words",
            "",
            "\"a\", \"b\"",
            "\"a\" b",
            r#""a\b""#,
            "\"a\tb\"",
            "a\"b",
            "\"a\";",
            &long,
        ];
        for bad in wrong {
            assert!(read(bad).is_err(), "{bad}");
        }
        assert!(key_of(&HeaderMap::new()).is_none());
    }
}
