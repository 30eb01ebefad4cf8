//! The only door to a connector. A [`Countersigned`] exists only where signature, payload hash, wire hash, account and
//! time were just verified; a connector accepts nothing else, so "no approval, no send" is a type error, not a habit.

use crate::action_key::{ActionKey, IdempotencyKey, LedgerSecret};
use crate::approval::{Approval, Roster};
use crate::canonical::{AccountFingerprint, ConversationHash};
use crate::ids::ActionId;
use crate::proposal::Conversation;
use crate::sealed::Sealed;
use crate::time::Timestamp;
use crate::wire::Wire;

/// An action with everything that its approvals must match.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub action: ActionId,
    /// Sealed again from the stored payload: its hash is computed, not read.
    pub sealed: Sealed,
    pub wire: Wire,
    /// The destination's account as it is configured now.
    pub account: AccountFingerprint,
    pub conversation: Option<Conversation>,
    /// Approvals that still count, newest sequence last.
    pub approvals: Vec<Approval>,
    /// Sequence of the newest approval the journal knows; an older one no longer counts.
    pub newest_sequence: u32,
    /// 1, or 2 where two different approvers are needed.
    pub approvers_needed: u8,
}

/// A wire whose approval has just been verified. All that may be sent.
#[derive(Clone, Debug)]
pub struct Countersigned {
    action: ActionId,
    idempotency_key: IdempotencyKey,
    sealed: Sealed,
    wire: Wire,
    account: AccountFingerprint,
    conversation: Option<Conversation>,
    approved_at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotCountersigned {
    #[error("no approval is stored for this action")]
    NoApproval,
    #[error("the approval's signature does not verify")]
    BadSignature,
    #[error("the approval names another action")]
    OtherAction,
    #[error("the payload differs from the one that was approved")]
    PayloadChanged,
    #[error("the wire differs from the one that was approved")]
    WireChanged,
    #[error("the customer's message differs from the one that was approved with it")]
    ConversationChanged,
    #[error("the destination's account is not the one it was approved for")]
    AccountChanged,
    #[error("the approval is not the newest one")]
    Ended,
    #[error("the approval has expired")]
    Expired,
    #[error("a second approver is needed")]
    NeedsAnother,
}

impl NotCountersigned {
    /// Whether something was altered, as against an approval that merely no longer counts.
    pub fn is_integrity(&self) -> bool {
        match self {
            NotCountersigned::NoApproval
            | NotCountersigned::BadSignature
            | NotCountersigned::OtherAction
            | NotCountersigned::PayloadChanged
            | NotCountersigned::WireChanged
            | NotCountersigned::ConversationChanged
            | NotCountersigned::Ended => true,
            NotCountersigned::AccountChanged | NotCountersigned::Expired | NotCountersigned::NeedsAnother => false,
        }
    }
}

impl Countersigned {
    /// Verifies everything. `expiry_counts` is false only for a same-key repeat, which an expired approval does not bar.
    pub fn verify(
        candidate: Candidate,
        roster: &Roster,
        secret: &LedgerSecret,
        now: Timestamp,
        expiry_counts: bool,
    ) -> Result<Countersigned, NotCountersigned> {
        use NotCountersigned as No;
        let Candidate { action, sealed, wire, account, conversation, approvals, newest_sequence, approvers_needed } =
            candidate;
        let newest = approvals.last().ok_or(No::NoApproval)?;
        let conversation_hash: Option<ConversationHash> = conversation.as_ref().map(Conversation::hash);
        let mut people = Vec::new();
        for approval in &approvals {
            if !approval.is_signed(roster) {
                return Err(No::BadSignature);
            }
            if approval.key != *sealed.key() {
                return Err(No::OtherAction);
            }
            if approval.payload_hash != sealed.hash() || approval.payload_version != sealed.version() {
                return Err(No::PayloadChanged);
            }
            if approval.wire_hash != wire.hash() {
                return Err(No::WireChanged);
            }
            if approval.conversation != conversation_hash {
                return Err(No::ConversationChanged);
            }
            if approval.account != account {
                return Err(No::AccountChanged);
            }
            if expiry_counts && approval.expires_at <= now {
                return Err(No::Expired);
            }
            if !people.contains(&&approval.by) {
                people.push(&approval.by);
            }
        }
        if newest.sequence != newest_sequence {
            return Err(No::Ended);
        }
        // Two devices of one person are one approver.
        if people.len() < usize::from(approvers_needed) {
            return Err(No::NeedsAnother);
        }
        let approved_at = newest.at;
        let idempotency_key = sealed.key().idempotency_key(secret);
        Ok(Countersigned { action, idempotency_key, sealed, wire, account, conversation, approved_at })
    }

    pub fn action(&self) -> ActionId {
        self.action
    }
    pub fn key(&self) -> &ActionKey {
        self.sealed.key()
    }
    pub fn idempotency_key(&self) -> &IdempotencyKey {
        &self.idempotency_key
    }
    pub fn sealed(&self) -> &Sealed {
        &self.sealed
    }
    pub fn wire(&self) -> &Wire {
        &self.wire
    }
    pub fn account(&self) -> AccountFingerprint {
        self.account
    }
    pub fn conversation(&self) -> Option<&Conversation> {
        self.conversation.as_ref()
    }
    pub fn approved_at(&self) -> Timestamp {
        self.approved_at
    }
}
