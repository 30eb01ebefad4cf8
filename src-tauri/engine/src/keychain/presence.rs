//! Proof that a person gave the passphrase. In `live` no decision is made without one.

use super::{KeyPart, Keychain, SANDBOX};
use crate::failure::Failure;
use countersign_domain::{DeviceCert, DeviceKey, OwnerKey, PersonId};

/// The unlocked keys. Made only by [`Keychain::unlock`]; dropping it locks again.
#[derive(Clone, Debug)]
pub struct Presence {
    device: DeviceKey,
    owner: OwnerKey,
    parts: Parts,
}

#[derive(Clone)]
struct Parts(KeyPart);

impl std::fmt::Debug for Parts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("…")
    }
}

impl Presence {
    pub(super) fn new(device: DeviceKey, owner: OwnerKey, part: KeyPart) -> Presence {
        Presence { device, owner, parts: Parts(part) }
    }
    pub(super) fn parts(&self) -> KeyPart {
        self.parts.0.clone()
    }
    /// The owner vouches for another device.
    pub fn admit(&self, person: &PersonId, device_public: &str) -> Option<DeviceCert> {
        self.owner.admit(person, device_public)
    }
}

/// Who signs a decision, and with what.
#[derive(Clone, Debug)]
pub struct Signer {
    pub person: PersonId,
    pub device: DeviceKey,
}

impl Keychain {
    /// The key that signs decisions of an environment: the unlocked one in live, the bare one in the sandbox.
    pub async fn signer(
        &self,
        person: &PersonId,
        environment: &str,
        presence: Option<&Presence>,
    ) -> Result<Signer, Failure> {
        let device = match presence {
            _ if environment == SANDBOX => self.sandbox_device().await?,
            Some(presence) => presence.device.clone(),
            None => {
                return Err(Failure::locked(
                    "a decision in live needs the passphrase; give it on the terminal or with --passphrase-fd",
                ));
            }
        };
        Ok(Signer { person: person.clone(), device })
    }
}
