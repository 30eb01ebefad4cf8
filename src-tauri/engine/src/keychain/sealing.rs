//! Encryption with the passphrase, in the `age` format.

use crate::failure::Failure;
use age::secrecy::{ExposeSecret, SecretString};
use std::fmt;
use zeroize::Zeroizing;

/// 2^14 scrypt steps: unlocking stays well under 0.3 s, in debug builds and on a busy machine too (scrypt is always built
/// optimised).
const WORK_FACTOR: u8 = 14;
/// More than we ever write, and little enough that a planted file cannot stall us.
const WORK_FACTOR_MAX: u8 = 18;
const AGE: &[u8] = b"age-encryption.org/";

/// What the person typed. Never shown.
#[derive(Clone)]
pub struct Passphrase(SecretString);

impl Passphrase {
    /// The first line of what was given; empty is refused.
    pub fn new(text: &str) -> Result<Passphrase, Failure> {
        let line = text.split(['\r', '\n']).next().unwrap_or_default();
        if line.is_empty() {
            return Err(Failure::bad_input("passphrase", "the passphrase is empty"));
        }
        Ok(Passphrase(SecretString::from(line.to_owned())))
    }

    pub(super) fn is(&self, other: &Passphrase) -> bool {
        let (a, b) = (self.0.expose_secret().as_bytes(), other.0.expose_secret().as_bytes());
        // Constant time over the longer of both: how far two passphrases agree is nobody's business.
        let mut differ = a.len() ^ b.len();
        for i in 0..a.len().max(b.len()) {
            differ |= usize::from(a.get(i).copied().unwrap_or(0) ^ b.get(i).copied().unwrap_or(0));
        }
        differ == 0
    }
}

impl fmt::Debug for Passphrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Passphrase(…)")
    }
}

pub(super) fn is_wrapped(bytes: &[u8]) -> bool {
    bytes.starts_with(AGE)
}

pub(super) fn wrap(bare: &[u8], passphrase: &Passphrase) -> Result<Vec<u8>, Failure> {
    let mut recipient = age::scrypt::Recipient::new(passphrase.0.clone());
    recipient.set_work_factor(WORK_FACTOR);
    age::encrypt(&recipient, bare).map_err(|e| Failure::internal(format!("encrypting failed: {e}")))
}

pub(super) fn unwrap(wrapped: &[u8], passphrase: &Passphrase) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let mut identity = age::scrypt::Identity::new(passphrase.0.clone());
    identity.set_max_work_factor(WORK_FACTOR_MAX);
    age::decrypt(&identity, wrapped).map(Zeroizing::new).map_err(|e| match e {
        age::DecryptError::DecryptionFailed
        | age::DecryptError::KeyDecryptionFailed
        | age::DecryptError::NoMatchingKeys => Failure::locked("that is not the passphrase"),
        age::DecryptError::ExcessiveWork { .. } => Failure::integrity("the secrets were not sealed by this program"),
        _ => Failure::integrity("the sealed secrets were altered or damaged"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How long that takes is measured by `cargo xtask bench lifecycle`; here only that nobody raises it unseen.
    #[test]
    fn r39_unlocking_costs_the_work_that_was_chosen_and_the_wrong_passphrase_is_locked() {
        let word = Passphrase::new("correct horse\n").unwrap();
        let sealed = wrap(b"bare", &word).unwrap();
        assert!(!sealed.windows(4).any(|w| w == b"bare"));
        // The age format names the work in the open: `-> scrypt SALT LOG2_N`.
        let header = String::from_utf8_lossy(&sealed);
        let stanza = header.lines().find(|line| line.starts_with("-> scrypt ")).unwrap();
        assert_eq!(stanza.rsplit(' ').next(), Some("14"));
        assert_eq!(*unwrap(&sealed, &word).unwrap(), b"bare");
        let wrong = Passphrase::new("correct horsf").unwrap();
        assert_eq!(unwrap(&sealed, &wrong).unwrap_err().code, crate::failure::Code::Locked);
    }
}
