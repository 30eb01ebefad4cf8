//! A payload with its key, version and hash, made together or not at all.

use crate::action_key::ActionKey;
use crate::canonical::{PayloadHash, tagged_hash};
use crate::payload::Payload;
use serde_json::json;

/// Domain tag of the payload hash. Frozen text (interfaces.md).
pub const PAYLOAD_TAG: &str = "countersign/payload/v1";

#[derive(Clone, Debug, PartialEq)]
pub struct Sealed {
    key: ActionKey,
    version: u32,
    payload: Payload,
    hash: PayloadHash,
}

impl Sealed {
    pub fn seal(key: ActionKey, version: u32, payload: Payload) -> Sealed {
        let hash = payload_hash(&key, &payload);
        Sealed { key, version, payload, hash }
    }
    pub fn key(&self) -> &ActionKey {
        &self.key
    }
    pub fn version(&self) -> u32 {
        self.version
    }
    pub fn payload(&self) -> &Payload {
        &self.payload
    }
    pub fn hash(&self) -> PayloadHash {
        self.hash
    }
}

/// SHA-256 over `countersign/payload/v1`, a newline and RFC 8785 of `{action_key, destination, payload}`; attachments
/// enter by their own SHA-256 and size.
pub fn payload_hash(key: &ActionKey, payload: &Payload) -> PayloadHash {
    PayloadHash(tagged_hash(
        PAYLOAD_TAG,
        &json!({ "action_key": key.array(), "destination": key.destination, "payload": payload.value() }),
    ))
}
