//! Typed ids. A row's number with a letter in front, so that an attempt can never be passed for an action.

use std::fmt;
use std::str::FromStr;

macro_rules! numbered_id {
    ($(#[$doc:meta])* $name:ident, $letter:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub i64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($letter, "-{}"), self.0)
            }
        }

        impl FromStr for $name {
            type Err = BadId;
            fn from_str(text: &str) -> Result<Self, BadId> {
                text.strip_prefix(concat!($letter, "-"))
                    .and_then(|n| n.parse::<i64>().ok())
                    .filter(|n| *n > 0)
                    .map($name)
                    .ok_or_else(|| BadId { text: text.to_owned(), form: concat!($letter, "-NUMBER") })
            }
        }

        impl serde::Serialize for $name {
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

/// A text that is not an id of the wanted kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not an id of the form {form}")]
pub struct BadId {
    pub text: String,
    pub form: &'static str,
}

numbered_id!(/// One intended effect at one destination.
    ActionId, "A");
numbered_id!(/// One arrival of a proposal.
    DeliveryId, "D");
numbered_id!(/// One execution under a claim.
    AttemptId, "T");
numbered_id!(/// One signed decision.
    ApprovalId, "P");

macro_rules! named_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                $name(text.to_owned())
            }
        }
    };
}

named_id!(/// A person who may approve. The name they were entered with.
    PersonId);
named_id!(/// A device of a person: the first 16 hex digits of SHA-256 of its public key.
    DeviceId);
named_id!(/// One dispatcher: a process with a random part, so that a reused process number is somebody else.
    WorkerId);
