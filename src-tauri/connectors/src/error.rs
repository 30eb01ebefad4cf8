//! Refusals of a connector before anything was said for good. None of them holds a secret, an address or message text.

use countersign_domain::Answer;
use countersign_domain::json::FieldError;

/// The attempt ended before its point of no return. `classify` by the contract makes the outcome.
#[derive(Clone, Debug, PartialEq)]
pub struct Halted {
    pub answer: Answer,
}

/// The payload cannot be made into a request of this destination.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {reason}")]
pub struct Unrenderable {
    /// Path in the payload: `payload.from.email`.
    pub field: String,
    pub reason: String,
}

impl Unrenderable {
    pub fn new(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Unrenderable { field: field.into(), reason: reason.into() }
    }
}

impl From<Unrenderable> for FieldError {
    fn from(u: Unrenderable) -> Self {
        FieldError::new(u.field, u.reason)
    }
}

/// Why a connection test failed, in the one word somebody acts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetupCode {
    /// No such host, nobody listens, no network.
    Unreachable,
    /// The certificate does not hold, or the server offers no encryption.
    Tls,
    /// The login was refused.
    Login,
    /// The server answered something unexpected.
    Protocol,
    /// The server took its time.
    Timeout,
    /// A test message may have gone: it was handed over, and no answer says what came of it.
    Unclear,
    /// What was asked cannot be done with this destination as it is configured.
    NotPossible,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct SetupError {
    pub code: SetupCode,
    /// The step of the test: see [`crate::Probe::step`].
    pub step: &'static str,
    /// What happened and what to do, for people.
    pub text: String,
}
