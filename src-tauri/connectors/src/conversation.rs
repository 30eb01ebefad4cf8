//! What a look at the conversation showed, before anything is sent.

use countersign_domain::risk::automatic::Automatic;
use serde::Serialize;

/// Whether the world moved on since the approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "situation", rename_all = "snake_case")]
pub enum Situation {
    Unchanged,
    Changed {
        /// `customer_wrote_again`, `somebody_answered`.
        code: &'static str,
        /// Names the newest message of each folder by its number, so the same text means that nothing came since it was
        /// told: whoever approved with it in view has taken it into account.
        text: String,
    },
    /// Not now: nothing is sent, no attempt counts.
    CannotAsk {
        why: String,
        /// The mailbox cannot be reached or refused the login, so the destination pauses.
        pauses: bool,
        /// It refused the login: the destination pauses until a person signs in.
        signed_out: bool,
    },
    /// Never: this destination has nothing that could be asked, and its contract says so. Sending goes on.
    NothingToAsk,
}

/// The customer's message at the destination, beside what the source told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "parent", rename_all = "snake_case")]
pub enum Parent {
    /// It is there and says the same. `people`: every address of its From, Reply-To, To and Cc, lower case. `automatic`:
    /// by its headers no person wrote it.
    Matches {
        people: Vec<String>,
        automatic: Option<Automatic>,
    },
    /// It is there and differs in these fields: `from`, `subject`, `text`.
    Differs {
        fields: Vec<&'static str>,
        people: Vec<String>,
        automatic: Option<Automatic>,
    },
    /// The mailbox was searched and has no such message.
    Missing,
    CannotAsk {
        why: String,
    },
    /// No mailbox, or the source told no Message-ID.
    NothingToAsk,
}
