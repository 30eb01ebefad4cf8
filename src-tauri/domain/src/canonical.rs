//! RFC 8785 bytes and the hashes made of them. Frozen by `vectors/`: never change a tag or the shape under it.

use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fmt;
use std::str::FromStr;

/// RFC 8785 canonical text of a value that came through [`crate::json::parse`] or was built of texts and integers.
///
/// # Panics
/// Never for such values: the canonical form is undefined only for numbers which strict JSON has already refused.
pub fn canonical(value: &Value) -> String {
    serde_json_canonicalizer::to_string(value).expect("strict JSON always has a canonical form")
}

/// SHA-256 of `tag`, a newline and the canonical text.
pub fn tagged_hash(tag: &str, value: &Value) -> [u8; 32] {
    let mut hasher = Sha256::new();
    hasher.update(tag.as_bytes());
    hasher.update(b"\n");
    hasher.update(canonical(value).as_bytes());
    hasher.finalize().into()
}

/// Plain SHA-256, for attachments and wires.
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a hash: 64 lower-case hex digits are expected")]
pub struct BadHash;

macro_rules! hash_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub [u8; 32]);

        impl $name {
            /// The eight digits people see, in two groups: `28F1 9EC8`.
            pub fn fingerprint(&self) -> String {
                let digits = hex::encode_upper(&self.0[..4]);
                format!("{} {}", &digits[..4], &digits[4..])
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&hex::encode(self.0))
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.fingerprint())
            }
        }
        impl FromStr for $name {
            type Err = BadHash;
            fn from_str(text: &str) -> Result<Self, BadHash> {
                if text.len() != 64 || text.bytes().any(|b| b.is_ascii_uppercase()) {
                    return Err(BadHash);
                }
                let mut bytes = [0; 32];
                hex::decode_to_slice(text, &mut bytes).map_err(|_| BadHash)?;
                Ok($name(bytes))
            }
        }
        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(self)
            }
        }
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(d)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

hash_type!(/// Hash of what a person sees and approves: `countersign/payload/v1`.
    PayloadHash);
hash_type!(/// SHA-256 of the rendered request.
    WireHash);
hash_type!(/// Hash of a destination's kind, hosts, login and sender: `countersign/account/v1`.
    AccountFingerprint);
hash_type!(/// Hash of the customer's message as the source told it: `countersign/conversation/v1`.
    ConversationHash);
hash_type!(/// Hash of a journal row, chained to the one before: `countersign/journal/v1`.
    JournalHash);
