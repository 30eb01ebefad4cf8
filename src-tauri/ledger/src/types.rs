//! Plain records that go in and out of the ledger.

use countersign_domain::canonical::JournalHash;
use countersign_domain::chain::Entry;
use countersign_domain::risk::Known;
use countersign_domain::{
    AccountFingerprint, ActionId, ActionKey, Approval, ApprovalId, Attachment, AttemptId, Conversation,
    ConversationHash, Countersigned, DeliveryId, Disposition, IdempotencyKey, LedgerSecret, NotCountersigned,
    PayloadHash, PersonId, Receipt, Roster, Sealed, Sighting, Standing, State, Timestamp, Wire, WireHash, WorkerId,
};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};

#[derive(Clone, Copy, Debug, Default)]
pub struct OpenOptions {
    /// Every write answers [`crate::LedgerError::ReadOnly`].
    pub read_only: bool,
}

/// Last journal row: its number and hash. Zero and the genesis hash in an empty ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    pub seq: i64,
    pub hash: JournalHash,
}

/// A configured place to send. Holds no secret.
#[derive(Clone, Debug, PartialEq)]
pub struct DestinationRecord {
    pub name: String,
    pub kind: String,
    pub environment: String,
    pub account: AccountFingerprint,
    /// How people recognise the account.
    pub account_label: String,
    /// The destination file as JSON, without secrets.
    pub config: Value,
    pub undo_seconds: u32,
    pub created_at: Timestamp,
    pub removed_at: Option<Timestamp>,
    pub paused: Option<Paused>,
}

/// Why a destination is paused that a person paused. Only a person takes it up again.
pub const PAUSED_BY_HAND: &str = "Paused by a person.";

#[derive(Clone, Debug, PartialEq)]
pub struct Paused {
    pub why: String,
    pub since: Timestamp,
    /// None: until a person or a successful login resumes it.
    pub until: Option<Timestamp>,
}

impl Paused {
    pub fn by_hand(&self) -> bool {
        self.why == PAUSED_BY_HAND
    }
    /// Whether it is still so.
    pub fn lasts(&self, now: Timestamp) -> bool {
        self.until.is_none_or(|until| now < until)
    }
}

/// Who may propose what.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceRecord {
    pub name: String,
    pub environment: String,
    pub effects: Vec<String>,
    pub destinations: Vec<String>,
    /// SHA-256 of the token, 64 hex digits. The token itself is never stored.
    pub token_hash: String,
    /// Whether it signs its requests by the Standard Webhooks headers.
    pub signed: bool,
    pub created_at: Timestamp,
    pub revoked_at: Option<Timestamp>,
}

/// What became of one delivery.
#[derive(Clone, Debug, PartialEq)]
pub struct Received {
    pub delivery: DeliveryId,
    pub actions: Vec<ReceivedAction>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ReceivedAction {
    pub step: String,
    pub action: Option<ActionId>,
    pub key: Option<ActionKey>,
    pub idempotency_key: Option<IdempotencyKey>,
    pub disposition: Disposition,
    pub state: Option<State>,
    /// None while an identity is missing: the hash covers the key.
    pub payload_hash: Option<PayloadHash>,
    pub payload_version: Option<u32>,
    pub reason: Option<String>,
}

/// What a person is about to sign, without the wire that the provider still renders.
#[derive(Clone, Debug)]
pub struct Signing {
    pub action: ActionId,
    pub sealed: Sealed,
    pub idempotency_key: IdempotencyKey,
    /// The action with everything that happened to it.
    pub detail: Detail,
    /// The destination as configured now.
    pub destination: DestinationRecord,
    /// The sequence the next approval must carry.
    pub sequence: u32,
    /// Set once it crossed, or once a first approver signed: the only wire that may be approved.
    pub stored_wire: Option<Wire>,
    pub standing: Standing,
    /// Who signed already (the first of two).
    pub signers: Vec<PersonId>,
}

/// A finding a person has looked at, for one payload version.
#[derive(Clone, Debug, PartialEq)]
pub struct Cleared {
    pub version: u32,
    pub code: String,
    pub field: String,
    pub by: PersonId,
    pub at: Timestamp,
}

/// What a worker can do now.
#[derive(Clone, Debug)]
pub struct ClaimRequest<'a> {
    pub worker: &'a WorkerId,
    /// Destinations this device holds logins for and that are not paused.
    pub reach: &'a [String],
    pub roster: &'a Roster,
    pub secret: &'a LedgerSecret,
    /// Environment to approvers needed; 1 where it is missing.
    pub approvers_needed: &'a HashMap<String, u8>,
    /// Destination to its account as configured now; read from the ledger's destinations where it is missing.
    pub accounts: &'a HashMap<String, AccountFingerprint>,
    /// Only this action.
    pub only: Option<ActionId>,
    /// Actions not to try again in this round (refused before).
    pub skip: &'a [ActionId],
    pub now: Timestamp,
}

#[derive(Debug)]
pub enum Claimed {
    /// Nothing is due.
    None,
    Claimed(Box<Claim>),
    /// It was due and something does not hold. Nothing moved.
    Refused {
        action: ActionId,
        why: RefusedClaim,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RefusedClaim {
    #[error(transparent)]
    NotCountersigned(#[from] NotCountersigned),
    #[error("{what} {id} does not hold: {why}")]
    Integrity { what: String, id: String, why: String },
}

impl RefusedClaim {
    /// Whether something was altered, as against an approval that merely no longer counts.
    pub fn is_integrity(&self) -> bool {
        match self {
            RefusedClaim::NotCountersigned(why) => why.is_integrity(),
            RefusedClaim::Integrity { .. } => true,
        }
    }
}

/// The right to attempt, held by one worker.
#[derive(Clone, Debug)]
pub struct Claim {
    pub action: ActionId,
    pub attempt: AttemptId,
    /// The how-manieth attempt of this action, from 1.
    pub number: u32,
    pub order: Countersigned,
    pub worker: WorkerId,
    pub standing: Standing,
    /// The action's row as the claim left it.
    pub row_version: i64,
    /// What earlier attempts of this action noted beforehand (UIDNEXT of Sent …), oldest first.
    pub noted: Vec<Value>,
    /// The journal's head with this claim in it.
    pub head: Head,
    /// Where it goes: the row that was proven with it.
    pub destination: DestinationRecord,
}

#[derive(Clone, Debug, PartialEq)]
pub struct OpenAttempt {
    pub attempt: AttemptId,
    pub action: ActionId,
    pub worker: WorkerId,
    pub claimed_at: Timestamp,
    pub crossed_at: Option<Timestamp>,
    pub in_doubt: bool,
}

/// An unknown action with what `policy::plan` needs.
#[derive(Clone, Debug, PartialEq)]
pub struct UnknownItem {
    pub action: ActionId,
    pub environment: String,
    pub destination: String,
    pub effect: String,
    pub state: State,
    pub since: Timestamp,
    pub looks: u32,
    pub next_look: Option<Timestamp>,
    pub first_crossed: Timestamp,
    pub last_crossed: Timestamp,
    pub noted: Vec<Value>,
    pub attempts_left: bool,
    pub revised: bool,
    /// When the last attempt was closed.
    pub last_closed: Option<Timestamp>,
    /// Before that it is not repeated: a repeat was turned away, and the destination or the backoff says until when.
    pub not_before: Timestamp,
}

/// A line of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct RowRecord {
    pub id: ActionId,
    pub environment: String,
    pub source: String,
    pub request_id: Option<String>,
    pub step: String,
    pub effect: String,
    pub destination: String,
    pub standing: Standing,
    pub reason: Option<String>,
    pub who: String,
    pub email: String,
    pub subject: String,
    pub created_at: Timestamp,
    pub changed_at: Timestamp,
    pub payload_hash: Option<PayloadHash>,
    pub payload_version: u32,
    pub not_before: Timestamp,
    pub waits: Waits,
    pub after: Option<ActionId>,
    pub expires_at: Option<Timestamp>,
    pub looks: u32,
    pub next_look: Option<Timestamp>,
    pub unknown_since: Option<Timestamp>,
    pub receipt: Option<Receipt>,
}

/// What `not_before` stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    Nothing,
    UndoWindow,
    Backoff,
}

/// One action as it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct ActionRecord {
    pub row: RowRecord,
    /// None while an identity is missing.
    pub key: Option<ActionKey>,
    pub idempotency_key: Option<IdempotencyKey>,
    pub revision: u32,
    pub revises: Option<ActionId>,
    pub revised_by: Option<ActionId>,
    pub wire_hash: Option<WireHash>,
    pub conversation: Option<ConversationHash>,
    pub owner: PersonId,
    pub delivery: DeliveryId,
    pub event_id: Option<String>,
    pub source_version: Option<u64>,
    pub run_id: Option<String>,
    pub model: Option<String>,
    pub draft_reason: Option<String>,
    pub by_word_of: Option<String>,
    pub accepted_at: Option<Timestamp>,
    pub newest_sequence: u32,
    pub first_crossed: Option<Timestamp>,
    pub last_crossed: Option<Timestamp>,
    /// Grows with every change of the row.
    pub row_version: i64,
}

impl ActionRecord {
    pub fn id(&self) -> ActionId {
        self.row.id
    }
    pub fn standing(&self) -> &Standing {
        &self.row.standing
    }
    pub fn state(&self) -> State {
        self.row.standing.state
    }
}

/// One action with its whole history.
#[derive(Clone, Debug)]
pub struct Detail {
    pub record: ActionRecord,
    pub payloads: Vec<PayloadVersion>,
    pub approvals: Vec<StoredApproval>,
    pub attempts: Vec<AttemptRecord>,
    pub sightings: Vec<SightingRecord>,
    pub deliveries: Vec<DeliveryRecord>,
    pub journal: Vec<JournalRow>,
    pub filing: Option<Filing>,
    pub conversation: Option<Conversation>,
    pub cleared: Vec<Cleared>,
    /// Bytes of the attachments that any version names, as far as they were not purged.
    pub attachments: Vec<Attachment>,
}

#[derive(Clone, Debug)]
pub struct PayloadVersion {
    pub version: u32,
    /// None once purged: the hash stays.
    pub payload: Option<countersign_domain::Payload>,
    pub hash: Option<PayloadHash>,
    pub by: String,
    pub at: Timestamp,
}

#[derive(Clone, Debug)]
pub struct StoredApproval {
    pub id: ApprovalId,
    pub approval: Approval,
    /// False once an undo, an edit, a rejection or a newer decision ended it.
    pub counts: bool,
}

#[derive(Clone, Debug)]
pub struct AttemptRecord {
    pub id: AttemptId,
    pub number: u32,
    pub worker: WorkerId,
    pub claimed_at: Timestamp,
    pub crossed_at: Option<Timestamp>,
    pub closed_at: Option<Timestamp>,
    pub in_doubt: bool,
    /// `open`, `accepted`, `refused`, `not_sent` or `unclear`.
    pub outcome: String,
    /// `{"outcome": …, "noted": …, "evidence": …, "late": […]}`, absent parts left out.
    pub evidence: Value,
}

#[derive(Clone, Debug, PartialEq)]
pub struct SightingRecord {
    pub at: Timestamp,
    pub sighting: Sighting,
    pub conclusive_absence: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct DeliveryRecord {
    pub id: DeliveryId,
    pub source: String,
    pub event_id: Option<String>,
    pub request_id: Option<String>,
    pub at: Timestamp,
    /// Disposition of this action in that delivery.
    pub disposition: String,
    pub reason: Option<String>,
    /// The delivery it repeats.
    pub first: Option<DeliveryId>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct JournalRow {
    pub entry: Entry,
    /// The fact's name.
    pub kind: String,
    pub hash: JournalHash,
}

/// The follow-up that files the Sent copy.
#[derive(Clone, Debug, PartialEq)]
pub struct Filing {
    pub action: ActionId,
    /// `not_needed`, `waiting`, `already_present`, `filed` or `failed`.
    pub state: String,
    pub text: String,
    pub next_at: Option<Timestamp>,
    pub tries: u32,
    pub changed_at: Timestamp,
}

/// Which lines a page holds, newest first unless told otherwise.
#[derive(Clone, Debug, Default)]
pub struct PageFilter {
    pub environment: Option<String>,
    /// Empty: every state.
    pub states: Vec<State>,
    pub oldest_first: bool,
}

/// Opaque to callers: the last action number of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor(pub i64);

impl std::fmt::Display for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "c{}", self.0)
    }
}

impl std::str::FromStr for Cursor {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        text.strip_prefix('c')
            .and_then(|n| n.parse().ok())
            .map(Cursor)
            .ok_or_else(|| format!("`{text}` is not a cursor from an earlier page"))
    }
}

#[derive(Clone, Debug)]
pub struct Page<T> {
    pub rows: Vec<T>,
    pub next: Option<Cursor>,
}

#[derive(Clone, Debug, Default)]
pub struct SearchFilter {
    pub environment: Option<String>,
    pub state: Option<State>,
    pub destination: Option<String>,
    pub effect: Option<String>,
    pub from: Option<Timestamp>,
    pub to: Option<Timestamp>,
}

/// Requests with at least one action in the view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateCounts {
    pub awaiting: Many,
    pub on_the_way: Many,
    pub unknown: Many,
    pub needs_review: Many,
}

/// A number of requests. Past a thousand actions it is not counted on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Many {
    pub n: u32,
    /// There are more than were counted.
    pub more: bool,
}

impl Many {
    /// So many actions are counted at most.
    const COUNTED: u32 = 1000;

    /// `requests` among the first `actions`, of which one more is looked at than is counted.
    pub(crate) fn of(requests: u32, actions: u32) -> Many {
        Many { n: requests.min(Many::COUNTED), more: actions > Many::COUNTED }
    }

    pub(crate) fn and(self, other: Many) -> Many {
        Many { n: self.n + other.n, more: self.more || other.more }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct NotTaken {
    pub delivery: DeliveryId,
    pub source: String,
    pub at: Timestamp,
    pub disposition: String,
    pub reason: String,
}

/// An action that touches the same thread or person with the same effect.
#[derive(Clone, Debug, PartialEq)]
pub struct Related {
    pub action: ActionId,
    pub state: State,
    pub effect: String,
    pub destination: String,
    pub same_thread: bool,
    /// The record at the destination that both touch.
    pub same_record: bool,
    /// The same step of the same request of the same source, whatever became of destination and effect.
    pub same_step: bool,
    /// The same key but for the revision: one of them follows the other on purpose.
    pub revision: bool,
    /// The source drafted both with exactly the same content.
    pub same_draft: bool,
    /// The attempt that is under way.
    pub attempt: Option<AttemptId>,
    /// Proposed together: whoever read one of them had the other one before them.
    pub same_delivery: bool,
    /// The shared recipient, if that is what relates them.
    pub recipient: Option<String>,
    /// When it was handed over last, or else was found to be accepted. None while it never was.
    pub went_at: Option<Timestamp>,
}

/// The first state of an accepted action's copy; see [`crate::Ledger::put_filing`].
#[derive(Clone, Copy, Debug)]
pub struct FirstFiling<'a> {
    pub state: &'a str,
    pub text: &'a str,
    pub next_at: Option<Timestamp>,
}

/// What is asked around an action.
#[derive(Clone, Copy, Debug)]
pub struct AroundWhat<'a> {
    pub environment: &'a str,
    /// Lower case.
    pub addresses: &'a BTreeSet<String>,
    pub settings: &'a [&'a str],
}

/// What the ledger knows around an action.
#[derive(Clone, Debug)]
pub struct Around {
    /// Of the addresses that were asked for, and of all domains. The owner's own domains are the caller's.
    pub known: Known,
    /// Of its environment, those in use.
    pub destinations: Vec<DestinationRecord>,
    /// See [`crate::Ledger::related`].
    pub related: Vec<Related>,
    /// The first on the same record that is under way or in doubt.
    pub beside: Option<ActionId>,
    /// Those that were asked for and are set.
    pub settings: BTreeMap<String, String>,
}

/// Something `verify` found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// `journal`, `payload`, `attachment`, `wire`, `approval`, `state`, `action`, `attempt`, `conversation`, `delivery` …
    pub what: String,
    pub id: String,
    pub why: String,
}

/// What a purge took away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Purged {
    pub actions: u32,
    pub attachments: u32,
}

/// A finished answer, to be given again under the same Idempotency-Key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptAnswer {
    /// 64 hex digits of the request body's SHA-256.
    pub body: String,
    pub status: u16,
    /// The answer's body.
    pub answer: String,
}

/// Where a source is told of outcomes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutcomeHook {
    pub source: String,
    pub url: String,
    pub added_at: Timestamp,
}

/// One outcome fact, and how telling it went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutcomeCall {
    /// The journal row that tells of it.
    pub seq: i64,
    pub source: String,
    pub action: ActionId,
    /// The same for every try of one fact.
    pub message_id: String,
    pub body: String,
    pub queued_at: Timestamp,
    /// `waiting`, `delivered` or `stopped`.
    pub state: String,
    pub tries: u32,
    pub last: Option<String>,
    pub changed_at: Timestamp,
    pub next_at: Option<Timestamp>,
}
