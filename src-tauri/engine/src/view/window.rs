//! What only the window shows: what is held, files of an edit, what a person has set.

use super::Time;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use ts_rs::TS;

/// An approved action that is still held: what Undo would take back, and what a person is asked about before quitting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct HeldRow {
    pub id: String,
    pub effect: String,
    pub who: String,
    pub until: Time,
}

/// A file as a payload names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct FileDoc {
    pub filename: String,
    pub content_type: String,
    /// Bytes.
    pub size: u64,
    /// 64 lower-case hex digits.
    pub sha256: String,
}

/// What a person has set, with the defaults where they set nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct Preferences {
    /// The hold that a destination starts with.
    pub undo_seconds: u32,
    /// Hours an approval counts.
    pub expiry_hours: u32,
    pub notifications: bool,
    /// Whether a notification may carry a customer's name.
    pub notification_names: bool,
    /// Why no notifications are shown on this desktop, if so.
    pub notifications_problem: Option<String>,
    /// Set while notifications are quiet by choice: until when.
    pub quiet_until: Option<Time>,
    /// Every day, by this computer's clock, `HH:MM`; both or none.
    pub quiet_from: Option<String>,
    pub quiet_to: Option<String>,
    /// `keychain`, or `file:` and where.
    pub secrets: String,
    /// Whether the key is protected by a passphrase.
    pub passphrase: bool,
    pub home: String,
    /// A file for a backup that does not exist yet.
    pub backup_file: String,
    pub version: String,
}

/// What the desktop does with the program. The window's shell tells it; the engine has no part in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct DesktopDoc {
    pub start_at_login: bool,
    /// Whether this build has a key to check newer versions with. Without one nobody is asked.
    pub updates: bool,
    /// A newer version that was found just now.
    pub offered: Option<String>,
    /// A newer version that was just put in the place of this one: it is used from the next start on.
    pub installed: Option<String>,
}

/// A canned text of a workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct SnippetDoc {
    /// What it is found by; each once.
    pub name: String,
    /// With a `{name}` for each field.
    pub text: String,
    pub fields: Vec<SnippetField>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct SnippetField {
    pub name: String,
    /// `text`, `number`, `amount`, `date`, `email`.
    pub kind: String,
}

/// What retention has taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct PurgedDoc {
    pub actions: u32,
    pub attachments: u32,
}

/// A kind of destination with its form, from the registry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct KindDoc {
    pub name: String,
    pub title: String,
    pub effects: Vec<String>,
    pub fields: Vec<FormFieldDoc>,
    /// What the secret is called: `password`, `token`.
    pub secret: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct FormFieldDoc {
    pub key: String,
    pub label: String,
    /// `text`, `list`, `url`, `number`, `choice`, `file`, `secret`.
    pub kind: String,
    pub required: bool,
    pub default: String,
    pub choices: Vec<String>,
    pub help: String,
}

/// A destination as typed in the window; the same facts as a destination file.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct DestinationForm {
    pub name: String,
    pub kind: String,
    pub environment: String,
    pub undo_seconds: u32,
    /// By the keys of the kind's fields; what is empty is left out of the file. A list has one entry a line.
    pub values: BTreeMap<String, String>,
    /// Password or token. Goes to the secrets and nowhere else.
    pub secret: String,
}

impl std::fmt::Debug for DestinationForm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DestinationForm({}, {}, …)", self.name, self.kind)
    }
}
