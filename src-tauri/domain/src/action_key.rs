//! The action key: built from facts only (R02), and what is derived from it (R05).

use crate::canonical::{canonical, sha256};
use hmac::{Hmac, Mac};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::Sha256;
use std::fmt;
use std::str::FromStr;

/// What makes two actions the same one. Never built from text, wording, a time or a random number.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ActionKey {
    pub environment: String,
    pub destination: String,
    pub effect: String,
    pub source: String,
    pub request_id: String,
    pub step: String,
    /// 1 for the first action of a request and step; one more for each deliberate revision.
    pub revision: u32,
}

impl ActionKey {
    pub const FIRST_REVISION: u32 = 1;

    /// The array that stands in the canonical text and in the payload hash.
    pub fn array(&self) -> serde_json::Value {
        json!([
            "v1",
            self.environment,
            self.destination,
            self.effect,
            self.source,
            self.request_id,
            self.step,
            self.revision
        ])
    }

    /// Frozen text (interfaces.md): RFC 8785 of `["v1", environment, destination, effect, source, request_id, step, revision]`.
    pub fn canonical(&self) -> String {
        canonical(&self.array())
    }

    /// Bytes 0–15 of HMAC-SHA256(ledger secret, canonical text), laid out as a version 4 UUID.
    pub fn idempotency_key(&self, secret: &LedgerSecret) -> IdempotencyKey {
        let mut mac = Hmac::<Sha256>::new_from_slice(&secret.0).expect("HMAC takes a key of any length");
        mac.update(self.canonical().as_bytes());
        let digest = mac.finalize().into_bytes();
        let mut b: [u8; 16] = digest[..16].try_into().expect("a SHA-256 has 32 bytes");
        b[6] = (b[6] & 0x0f) | 0x40;
        b[8] = (b[8] & 0x3f) | 0x80;
        let h = hex::encode(b);
        IdempotencyKey(format!("{}-{}-{}-{}-{}", &h[..8], &h[8..12], &h[12..16], &h[16..20], &h[20..]))
    }
}

/// 32 random bytes made once per ledger and kept in the keychain. Without it nobody can tell which key a request has.
#[derive(Clone, PartialEq, Eq)]
pub struct LedgerSecret(pub [u8; 32]);

impl fmt::Debug for LedgerSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LedgerSecret(…)")
    }
}

/// The key that leaves the machine: a UUID, lower case, 36 characters, not reversible to the action key.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct IdempotencyKey(String);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an idempotency key: a lower-case UUID of 36 characters is expected")]
pub struct BadKey;

impl IdempotencyKey {
    pub fn as_str(&self) -> &str {
        &self.0
    }
    /// `<key@sender's domain>`, with the angle brackets.
    pub fn message_id(&self, sender_domain: &str) -> String {
        format!("<{}@{}>", self.0, sender_domain)
    }
    /// The short form for a text or a search field: `cs-` and 24 characters of `a-z2-7` (base32 of SHA-256, 120 bits).
    pub fn tag(&self) -> String {
        const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
        let digest = sha256(self.0.as_bytes());
        let letters = digest.chunks(5).take(3).flat_map(|five| {
            let bits = five.iter().fold(0u64, |bits, byte| (bits << 8) | u64::from(*byte));
            (0..8).rev().map(move |n| char::from(ALPHABET[(bits >> (5 * n)) as usize & 31]))
        });
        format!("cs-{}", letters.collect::<String>())
    }
}

impl fmt::Display for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for IdempotencyKey {
    type Err = BadKey;
    fn from_str(text: &str) -> Result<Self, BadKey> {
        let shape = text.len() == 36
            && text.bytes().enumerate().all(|(i, b)| match i {
                8 | 13 | 18 | 23 => b == b'-',
                _ => b.is_ascii_digit() || (b'a'..=b'f').contains(&b),
            });
        if shape { Ok(IdempotencyKey(text.to_owned())) } else { Err(BadKey) }
    }
}

impl<'de> Deserialize<'de> for IdempotencyKey {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(d)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
