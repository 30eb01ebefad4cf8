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
    #[error("this is not the hash of the draft as it is now: it changed while you were reading, or the hash was mistyped. Its fingerprint is now {}", current.fingerprint())]
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
        roster.holds(&self.key.environment, &self.by, &self.device, &self.signed_bytes(), &self.signature)
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
        roster.holds(&self.key.environment, &self.by, &self.device, &self.signed_bytes(), &self.signature)
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

/// Who may approve: the devices that verify under the pinned owner keys.
#[derive(Clone, Debug)]
pub struct Roster {
    devices: Vec<Admitted>,
}

#[derive(Clone, Debug)]
struct Admitted {
    person: PersonId,
    device: DeviceId,
    key: VerifyingKey,
    counts_in: Scope,
}

#[derive(Clone, Debug)]
enum Scope {
    /// Every environment but these.
    AllBut(Vec<String>),
    Only(String),
}

impl Scope {
    fn covers(&self, environment: &str) -> bool {
        match self {
            Scope::AllBut(others) => !others.iter().any(|e| e == environment),
            Scope::Only(one) => one == environment,
        }
    }
}

impl Roster {
    /// Keeps the devices whose certificate verifies; the others are as good as absent.
    pub fn new(owner_public: &str, certs: &[DeviceCert]) -> Roster {
        Roster::pinned(owner_public, &[], certs)
    }

    /// As [`Roster::new`], with environments (the sandbox) that have an owner key of their own: its devices count there
    /// only, and the other owner's devices count everywhere else only.
    pub fn pinned(owner_public: &str, apart: &[(&str, &str)], certs: &[DeviceCert]) -> Roster {
        let elsewhere = Scope::AllBut(apart.iter().map(|(environment, _)| (*environment).to_owned()).collect());
        let mut owners = vec![(owner_public, elsewhere)];
        owners.extend(apart.iter().map(|(environment, owner)| (*owner, Scope::Only((*environment).to_owned()))));
        let mut devices = Vec::new();
        for (owner, counts_in) in owners {
            let Some(owner) = verifying_key(owner) else { continue };
            devices.extend(certs.iter().filter_map(|cert| {
                let key = verifying_key(&cert.public)?;
                let signature = signature(&cert.signature)?;
                owner.verify_strict(&cert.signed_bytes(), &signature).ok()?;
                (cert.device == device_id(&key)).then(|| Admitted {
                    person: cert.person.clone(),
                    device: cert.device.clone(),
                    key,
                    counts_in: counts_in.clone(),
                })
            }));
        }
        Roster { devices }
    }

    pub fn knows(&self, person: &PersonId, device: &DeviceId) -> bool {
        self.devices.iter().any(|d| d.person == *person && d.device == *device)
    }

    fn holds(&self, environment: &str, person: &PersonId, device: &DeviceId, bytes: &[u8], signed: &str) -> bool {
        let Some(signature) = signature(signed) else { return false };
        self.devices
            .iter()
            .filter(|d| d.person == *person && d.device == *device && d.counts_in.covers(environment))
            .any(|d| d.key.verify_strict(bytes, &signature).is_ok())
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

#[cfg(test)]
mod roster_tests {
    use super::*;

    fn signed(environment: &str, device: &DeviceKey) -> Approval {
        let key = ActionKey {
            environment: environment.to_owned(),
            destination: "d".into(),
            effect: "email.send".into(),
            source: "s".into(),
            request_id: "r".into(),
            step: "t".into(),
            revision: 1,
        };
        let what = Signable {
            key,
            payload_version: 1,
            payload_hash: PayloadHash([1; 32]),
            wire_hash: WireHash([2; 32]),
            account: AccountFingerprint([3; 32]),
            conversation: None,
        };
        let at = Timestamp::from_millis(0);
        Approval::sign(&what, PayloadHash([1; 32]), &"Noor".into(), device, 1, at, at).expect("the hash is current")
    }

    #[test]
    fn a_device_admitted_for_the_sandbox_approves_nothing_in_live() {
        let (main, sandbox) = (OwnerKey::from_seed(&[1; 32]), OwnerKey::from_seed(&[2; 32]));
        let (live_device, sandbox_device) = (DeviceKey::from_seed(&[3; 32]), DeviceKey::from_seed(&[4; 32]));
        let certs = [
            main.admit(&"Noor".into(), &live_device.public()).expect("a key"),
            sandbox.admit(&"Noor".into(), &sandbox_device.public()).expect("a key"),
        ];
        let roster = Roster::pinned(&main.public(), &[("sandbox", &sandbox.public())], &certs);
        assert!(signed("live", &live_device).is_signed(&roster));
        assert!(signed("sandbox", &sandbox_device).is_signed(&roster));
        assert!(!signed("live", &sandbox_device).is_signed(&roster));
        assert!(!signed("sandbox", &live_device).is_signed(&roster));
    }
}
