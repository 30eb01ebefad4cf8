//! Who signed what. An approval binds one person's word to one action, one payload hash, one wire hash and one account.
//!
//! A device counts as an approver only if the owner key signed it; the public half of the owner key is pinned in the
//! keychain, so rows in the ledger file alone make nobody an approver.

use crate::action_key::ActionKey;
use crate::canonical::{AccountFingerprint, ConversationHash, PayloadHash, WireHash, canonical, sha256};
use crate::ids::{DeviceId, PersonId};
use crate::time::Timestamp;
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::fmt;

const APPROVAL_TAG: &str = "countersign/approval/v1";
const DEVICE_TAG: &str = "countersign/device/v1";
const VERDICT_TAG: &str = "countersign/verdict/v1";

fn tagged(tag: &str, value: &serde_json::Value) -> Vec<u8> {
    format!("{tag}\n{}", canonical(value)).into_bytes()
}

/// What an approval covers, gathered from the action as it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Signable {
    pub key: ActionKey,
    pub payload_version: u32,
    pub payload_hash: PayloadHash,
    pub wire_hash: WireHash,
    pub account: AccountFingerprint,
    /// The customer's message the draft answers, if the source told one.
    pub conversation: Option<ConversationHash>,
}

/// One person's signed decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Approval {
    pub key: ActionKey,
    pub payload_version: u32,
    pub payload_hash: PayloadHash,
    pub wire_hash: WireHash,
    pub account: AccountFingerprint,
    pub conversation: Option<ConversationHash>,
    pub by: PersonId,
    pub device: DeviceId,
    pub at: Timestamp,
    pub expires_at: Timestamp,
    /// Grows with each approval of the same action, so that an ended one can never be put back in place of a newer one.
    pub sequence: u32,
    /// 128 lower-case hex digits.
    pub signature: String,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApprovalError {
    /// The hash on the screen is not the current one.
    #[error("the draft changed while you were reading; its fingerprint is now {}", current.fingerprint())]
    ShownIsStale { current: PayloadHash },
}

impl Approval {
    /// Signs, if `shown` (the hash that was on the screen) is the current one.
    pub fn sign(
        what: &Signable,
        shown: PayloadHash,
        by: &PersonId,
        device: &DeviceKey,
        sequence: u32,
        at: Timestamp,
        expires_at: Timestamp,
    ) -> Result<Approval, ApprovalError> {
        if shown != what.payload_hash {
            return Err(ApprovalError::ShownIsStale { current: what.payload_hash });
        }
        let mut approval = Approval {
            key: what.key.clone(),
            payload_version: what.payload_version,
            payload_hash: what.payload_hash,
            wire_hash: what.wire_hash,
            account: what.account,
            conversation: what.conversation,
            by: by.clone(),
            device: device.id(),
            at,
            expires_at,
            sequence,
            signature: String::new(),
        };
        approval.signature = device.sign(&approval.signed_bytes());
        Ok(approval)
    }

    /// Frozen: the bytes under the signature.
    pub fn signed_bytes(&self) -> Vec<u8> {
        tagged(
            APPROVAL_TAG,
            &json!({
                "action_key": self.key.array(),
                "payload_version": self.payload_version,
                "payload_hash": self.payload_hash,
                "wire_hash": self.wire_hash,
                "account": self.account,
                "conversation": self.conversation,
                "by": self.by,
                "device": self.device,
                "at": self.at.millis(),
                "expires_at": self.expires_at.millis(),
                "sequence": self.sequence,
            }),
        )
    }

    /// Whether a device that the owner key vouches for made this signature, for the person the device belongs to.
    pub fn is_signed(&self, roster: &Roster) -> bool {
        roster.holds(&self.by, &self.device, &self.signed_bytes(), &self.signature)
    }
}

/// A person's signed word on an unknown action ("it happened", "it did not happen").
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SignedVerdict {
    pub key: ActionKey,
    pub verdict: crate::outcome::Verdict,
    pub evidence: String,
    pub by: PersonId,
    pub device: DeviceId,
    pub at: Timestamp,
    pub signature: String,
}

impl SignedVerdict {
    pub fn sign(
        key: &ActionKey,
        verdict: crate::outcome::Verdict,
        evidence: &str,
        by: &PersonId,
        device: &DeviceKey,
        at: Timestamp,
    ) -> SignedVerdict {
        let mut word = SignedVerdict {
            key: key.clone(),
            verdict,
            evidence: evidence.to_owned(),
            by: by.clone(),
            device: device.id(),
            at,
            signature: String::new(),
        };
        word.signature = device.sign(&word.signed_bytes());
        word
    }

    fn signed_bytes(&self) -> Vec<u8> {
        tagged(
            VERDICT_TAG,
            &json!({
                "action_key": self.key.array(),
                "verdict": self.verdict,
                "evidence": self.evidence,
                "by": self.by,
                "device": self.device,
                "at": self.at.millis(),
            }),
        )
    }

    pub fn is_signed(&self, roster: &Roster) -> bool {
        roster.holds(&self.by, &self.device, &self.signed_bytes(), &self.signature)
    }
}

/// A device's private key. Made from 32 random bytes the caller brings.
#[derive(Clone)]
pub struct DeviceKey(SigningKey);

impl DeviceKey {
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        DeviceKey(SigningKey::from_bytes(seed))
    }
    pub fn id(&self) -> DeviceId {
        device_id(&self.0.verifying_key())
    }
    /// 64 lower-case hex digits.
    pub fn public(&self) -> String {
        hex::encode(self.0.verifying_key().as_bytes())
    }
    fn sign(&self, bytes: &[u8]) -> String {
        hex::encode(self.0.sign(bytes).to_bytes())
    }
}

impl fmt::Debug for DeviceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceKey({})", self.id())
    }
}

fn device_id(public: &VerifyingKey) -> DeviceId {
    DeviceId(hex::encode(&sha256(public.as_bytes())[..8]))
}

/// The key that says which devices may approve.
#[derive(Clone)]
pub struct OwnerKey(SigningKey);

impl OwnerKey {
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        OwnerKey(SigningKey::from_bytes(seed))
    }
    pub fn public(&self) -> String {
        hex::encode(self.0.verifying_key().as_bytes())
    }
    /// Vouches for a device of a person.
    pub fn admit(&self, person: &PersonId, device_public: &str) -> Option<DeviceCert> {
        let key = verifying_key(device_public)?;
        let mut cert = DeviceCert {
            person: person.clone(),
            device: device_id(&key),
            public: device_public.to_owned(),
            signature: String::new(),
        };
        cert.signature = hex::encode(self.0.sign(&cert.signed_bytes()).to_bytes());
        Some(cert)
    }
}

impl fmt::Debug for OwnerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OwnerKey(…)")
    }
}

/// The owner's word that a device belongs to a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceCert {
    pub person: PersonId,
    pub device: DeviceId,
    pub public: String,
    pub signature: String,
}

impl DeviceCert {
    fn signed_bytes(&self) -> Vec<u8> {
        tagged(DEVICE_TAG, &json!({ "person": self.person, "device": self.device, "public": self.public }))
    }
}

/// Who may approve: the devices that verify under the pinned owner key.
#[derive(Clone, Debug)]
pub struct Roster {
    devices: Vec<(PersonId, DeviceId, VerifyingKey)>,
}

impl Roster {
    /// Keeps the devices whose certificate verifies; the others are as good as absent.
    pub fn new(owner_public: &str, certs: &[DeviceCert]) -> Roster {
        let Some(owner) = verifying_key(owner_public) else { return Roster { devices: Vec::new() } };
        let devices = certs
            .iter()
            .filter_map(|cert| {
                let key = verifying_key(&cert.public)?;
                let signature = signature(&cert.signature)?;
                owner.verify_strict(&cert.signed_bytes(), &signature).ok()?;
                (cert.device == device_id(&key)).then(|| (cert.person.clone(), cert.device.clone(), key))
            })
            .collect();
        Roster { devices }
    }

    pub fn knows(&self, person: &PersonId, device: &DeviceId) -> bool {
        self.devices.iter().any(|(p, d, _)| p == person && d == device)
    }

    fn holds(&self, person: &PersonId, device: &DeviceId, bytes: &[u8], signed: &str) -> bool {
        let Some(signature) = signature(signed) else { return false };
        self.devices
            .iter()
            .filter(|(p, d, _)| p == person && d == device)
            .any(|(_, _, key)| key.verify_strict(bytes, &signature).is_ok())
    }
}

fn verifying_key(public: &str) -> Option<VerifyingKey> {
    let mut bytes = [0; 32];
    hex::decode_to_slice(public, &mut bytes).ok()?;
    VerifyingKey::from_bytes(&bytes).ok()
}

fn signature(text: &str) -> Option<Signature> {
    let mut bytes = [0; 64];
    hex::decode_to_slice(text, &mut bytes).ok()?;
    Some(Signature::from_bytes(&bytes))
}
