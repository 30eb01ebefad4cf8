//! The pure rules of Countersign. No I/O, no clock, no randomness: everything here is a function of its arguments.
//!
//! | file | what lives there |
//! |---|---|
//! | `ids`, `time` | typed ids; a time in UTC milliseconds |
//! | `json`, `canonical` | strict JSON (no duplicate keys, 53-bit integers) and RFC 8785 bytes under a domain tag |
//! | `action_key` | the action key, its canonical text, the idempotency key, the Message-ID |
//! | `address`, `email`, `records` | strict addresses and message ids; the fields of each effect; threading |
//! | `payload`, `sealed`, `wire` | what a person sees; the same with key and hash; the bytes rendered at approval |
//! | `send_at` | a time on a wall and its zone |
//! | `proposal` | what a source hands in |
//! | `approval`, `countersigned` | who signed what; the only door to a connector |
//! | `state` | `advance()`: what may follow what |
//! | `outcome`, `contract`, `policy` | what a destination said, what that means, what comes next |
//! | `echo` | what of its words may be kept |
//! | `risk`, `explain`, `chain` | findings, sentences, the journal's hash chain |

pub mod action_key;
pub mod address;
pub mod approval;
pub mod canonical;
pub mod chain;
pub mod contract;
pub mod countersigned;
pub mod echo;
pub mod email;
pub mod explain;
mod fields;
pub mod ids;
pub mod json;
pub mod outcome;
pub mod payload;
pub mod policy;
pub mod proposal;
pub mod records;
pub mod risk;
pub mod sealed;
pub mod send_at;
pub mod size;
pub mod state;
pub mod time;
pub mod wire;

pub use action_key::{ActionKey, IdempotencyKey, LedgerSecret};
pub use address::Mailbox;
pub use approval::{Approval, ApprovalError, DeviceCert, DeviceKey, OwnerKey, Roster, Signable};
pub use canonical::{AccountFingerprint, ConversationHash, PayloadHash, WireHash};
pub use contract::{Contract, classify};
pub use countersigned::{Countersigned, NotCountersigned};
pub use echo::Echo;
pub use ids::*;
pub use outcome::{
    Answer, AnswerCode, Doubt, NotSent, Outcome, Receipt, ReceiptKind, Refusal, Sighting, Strength, Verdict,
};
pub use payload::{Attachment, Payload};
pub use proposal::{Conversation, Disposition, Proposal};
pub use records::{MatchBy, RecordRef};
pub use sealed::Sealed;
pub use state::{Fact, Illegal, Standing, State, advance};
pub use time::Timestamp;
pub use wire::Wire;
