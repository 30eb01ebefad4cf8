//! Proposals signed by the Standard Webhooks headers: over HTTP in place of a bearer token, by mail always.

use axum::http::HeaderMap;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use countersign_domain::Timestamp;
use hmac::{Hmac, Mac};
use sha2::Sha256;
use std::time::Duration;

/// How far the sender's clock may be off, either way; and how long a request may be under way.
pub(super) const TOLERANCE: Duration = Duration::from_secs(5 * 60);
/// The fields that make a signature.
pub(super) const NAMES: [&str; 3] = ["webhook-id", "webhook-timestamp", "webhook-signature"];
/// How a signing secret is written down.
pub const SECRET_PREFIX: &str = "whsec_";

/// The three headers, once all of them are there.
#[derive(Debug)]
pub(super) struct Signature<'h> {
    id: &'h str,
    timestamp: &'h str,
    signatures: &'h str,
    signed_at: Timestamp,
}

/// A header of the three is missing or not readable, while others are there.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Missing(pub(super) &'static str);

impl<'h> Signature<'h> {
    /// None when there is no such header at all.
    pub(super) fn read(headers: &'h HeaderMap) -> Option<Result<Signature<'h>, Missing>> {
        if NAMES.iter().all(|name| !headers.contains_key(*name)) {
            return None;
        }
        let one = |name: &'static str| {
            let mut all = headers.get_all(name).iter();
            match (all.next().and_then(|v| v.to_str().ok()), all.next()) {
                (Some(value), None) if !value.is_empty() => Ok(value),
                _ => Err(Missing(name)),
            }
        };
        Some((|| {
            let (id, timestamp, signatures) = (one(NAMES[0])?, one(NAMES[1])?, one(NAMES[2])?);
            let seconds: i64 = timestamp.parse().map_err(|_| Missing(NAMES[1]))?;
            let signed_at = Timestamp::from_millis(seconds.saturating_mul(1000));
            Ok(Signature { id, timestamp, signatures, signed_at })
        })())
    }

    /// Whether it was signed at most `age` before `at`, or no further after it than clocks differ. Anything else is a
    /// recording played back, or a clock that is off.
    pub(super) fn is_timely(&self, at: Timestamp, age: Duration) -> bool {
        at.since(self.signed_at) <= age && self.signed_at.since(at) <= TOLERANCE
    }

    /// Whether one of the signatures is that of `secret` over this body. Compared in constant time.
    pub(super) fn holds(&self, secret: &str, body: &[u8]) -> bool {
        let Some(mac) = mac(secret, self.id, self.timestamp, body) else { return false };
        self.signatures
            .split(' ')
            .filter_map(|one| one.strip_prefix("v1,"))
            .filter_map(|one| STANDARD.decode(one).ok())
            .any(|given| mac.clone().verify_slice(&given).is_ok())
    }
}

/// What is signed: `ID.TIMESTAMP.BODY`. None for a secret that is not base64.
fn mac(secret: &str, id: &str, timestamp: &str, body: &[u8]) -> Option<Hmac<Sha256>> {
    let key = STANDARD.decode(secret.strip_prefix(SECRET_PREFIX).unwrap_or(secret)).ok()?;
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).expect("HMAC takes a key of any length");
    for part in [id.as_bytes(), b".", timestamp.as_bytes(), b".", body] {
        mac.update(part);
    }
    Some(mac)
}

/// The value of `webhook-signature` for a message of ours.
pub(crate) fn sign(secret: &str, id: &str, timestamp: &str, body: &[u8]) -> Option<String> {
    let mac = mac(secret, id, timestamp, body)?;
    Some(format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    // The example of the Standard Webhooks specification's own libraries: secret, id, time, body and signature.
    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const ID: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
    const BODY: &[u8] = br#"{"test": 2432232314}"#;
    const SIGNED: &str = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
    const AT: i64 = 1_614_265_330;

    fn headers(id: &str, at: &str, signature: &str) -> HeaderMap {
        let mut map = HeaderMap::new();
        map.insert("webhook-id", id.parse().unwrap());
        map.insert("webhook-timestamp", at.parse().unwrap());
        map.insert("webhook-signature", signature.parse().unwrap());
        map
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1000)
    }

    #[test]
    fn r09_the_published_example_verifies_and_any_change_does_not() {
        let map = headers(ID, &AT.to_string(), SIGNED);
        let good = Signature::read(&map).unwrap().unwrap();
        assert!(good.holds(SECRET, BODY));
        assert_eq!(sign(SECRET, ID, &AT.to_string(), BODY).as_deref(), Some(SIGNED), "ours is the published one");
        assert!(!good.holds(SECRET, br#"{"test": 2432232315}"#), "another body");
        assert!(!good.holds("whsec_AAAA9r8GKYqrTwjUPD8ILPZIo2LaLaSw", BODY), "another secret");
        let map = headers("msg_other", &AT.to_string(), SIGNED);
        assert!(!Signature::read(&map).unwrap().unwrap().holds(SECRET, BODY), "another id");
        let both = format!("v2,zzz v1,bm90IGl0 {SIGNED}");
        let map = headers(ID, &AT.to_string(), &both);
        assert!(Signature::read(&map).unwrap().unwrap().holds(SECRET, BODY), "one of several, while keys rotate");
    }

    #[test]
    fn r09_a_signature_older_or_newer_than_five_minutes_is_refused() {
        let map = headers(ID, &AT.to_string(), SIGNED);
        for (now, fine) in [(AT + 300, true), (AT - 300, true), (AT + 301, false), (AT - 301, false)] {
            let signature = Signature::read(&map).unwrap().unwrap();
            assert_eq!(signature.is_timely(at(now), TOLERANCE), fine, "{}", now - AT);
        }
    }

    #[test]
    fn r09_a_missing_header_is_named() {
        let mut map = headers(ID, &AT.to_string(), SIGNED);
        map.remove("webhook-timestamp");
        assert_eq!(Signature::read(&map).unwrap().unwrap_err(), Missing("webhook-timestamp"));
        assert!(Signature::read(&HeaderMap::new()).is_none());
    }
}
