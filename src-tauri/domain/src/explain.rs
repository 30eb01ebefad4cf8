//! Facts to sentences (R29): what is known about an action, and why a repeat was suppressed.

use crate::state::Standing;

/// What `explain` needs beside the standing.
#[derive(Clone, Debug, Default)]
pub struct Story {
    pub destination: String,
    pub by_word_of: Option<String>,
    pub duplicates: u32,
    pub receipt: Option<String>,
    pub revises: Option<String>,
    pub revised_by: Option<String>,
    pub reason: Option<String>,
}

/// The explanation of interfaces.md's action document.
pub fn explain(standing: &Standing, story: &Story) -> String {
    let _ = story;
    standing.state.name().to_owned()
}
