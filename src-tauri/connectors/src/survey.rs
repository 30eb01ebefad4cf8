//! The record that an action touches, as the destination has it before a person approves.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a look at the record showed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "survey", rename_all = "snake_case")]
pub enum Survey {
    Found(Record),
    /// There is none: a create makes it, anything else has nothing to touch.
    Missing,
    CannotAsk {
        why: String,
        /// The login was refused.
        #[serde(default)]
        signed_out: bool,
    },
    /// The effect touches no record that was there before, or the destination has none.
    NothingToAsk,
}

/// A record. Its values are what a person decides on; they are compared again before anything is changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The destination's own number.
    pub id: String,
    /// What people call it; empty where it has no name.
    pub title: String,
    /// The fields that the action writes or expects, as they are now; empty for a field without a value.
    pub values: BTreeMap<String, String>,
    /// What the destination calls this version of it, if it does.
    pub version: Option<String>,
}

impl Survey {
    pub fn record(&self) -> Option<&Record> {
        match self {
            Survey::Found(record) => Some(record),
            Survey::Missing | Survey::CannotAsk { .. } | Survey::NothingToAsk => None,
        }
    }
}
