//! Plain-data shapes for the window and `--json`. Everything a person or a script sees of the product has its shape here.
//!
//! `ts-rs` writes them to `ui/src/bindings` when the engine's tests run; the generated files are committed.
//! The action document ([`ActionDoc`]) is the one of interfaces.md; its names are fixed, additions are welcome.

use serde::{Deserialize, Serialize};
use ts_rs::TS;
use utoipa::ToSchema;

mod insights;
mod window;

pub use insights::{CheckCount, InsightsDoc, SettledDoc, SourceShareDoc, TallyBin, TallyDoc, WireDoc};
pub use window::{
    DesktopDoc, DestinationForm, FileDoc, FormFieldDoc, HeldRow, KindDoc, Preferences, PurgedDoc, SnippetDoc,
    SnippetField,
};

/// Times are RFC 3339 in UTC (`2026-11-02T09:15:00Z`), ids are texts such as `A-17`.
pub type Time = String;

/// The action key in parts (interfaces.md).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS, ToSchema)]
#[ts(export)]
pub struct KeyDoc {
    pub environment: String,
    pub destination: String,
    pub effect: String,
    pub source: String,
    pub request_id: String,
    pub step: String,
    pub revision: u32,
}

/// One finding of the recipient and content checks (R17).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct FindingDoc {
    /// Stable name, for example `look_alike_domain`.
    pub code: String,
    /// Path in the payload, for example `cc[0].email`.
    pub field: String,
    /// `fact`, `note`, `look` or `stop`.
    pub weight: String,
    pub text: String,
    /// Whether it holds the approve button back until a person has looked.
    pub holds: bool,
    /// Who cleared it and when, once cleared.
    pub cleared: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct ApprovalDoc {
    pub id: String,
    pub by: String,
    pub device: String,
    pub at: Time,
    pub payload_version: u32,
    pub payload_hash: String,
    pub wire_hash: String,
    pub expires_at: Time,
    /// Whether it still counts (an undo, an edit or a rejection ends it).
    pub counts: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct AttemptDoc {
    pub id: String,
    pub number: u32,
    pub started_at: Time,
    /// `claimed`, `crossed` or `closed`.
    pub phase: String,
    pub crossed_at: Option<Time>,
    pub closed_at: Option<Time>,
    pub in_doubt: bool,
    /// `open`, `accepted`, `refused`, `not_sent` or `unclear`.
    pub outcome: String,
    /// Redacted facts: codes, stage, bytes, times, queue id.
    #[ts(type = "unknown")]
    pub evidence: serde_json::Value,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct LookupDoc {
    pub at: Time,
    /// `found`, `not_seen` or `cannot_tell`.
    pub sighting: String,
    /// `proof`, `strong`, `weak` or `none`.
    pub strength: String,
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS, ToSchema)]
#[ts(export)]
pub struct ReceiptDoc {
    /// `answer`, `lookup`, `late_answer`, `dsn` or `person`.
    pub kind: String,
    pub at: Time,
    /// The destination's own reference, for example a queue id.
    pub reference: Option<String>,
    pub text: String,
    /// Set where a person's word stands in for the destination's.
    pub by: Option<String>,
}

/// The follow-up that files the copy in Sent. Never says anything about the send itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS, ToSchema)]
#[ts(export)]
pub struct FilingDoc {
    /// `not_needed`, `waiting`, `already_present`, `filed` or `failed`.
    pub state: String,
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct DeliveryDoc {
    pub id: String,
    pub event_id: Option<String>,
    pub at: Time,
    pub disposition: String,
    pub reason: Option<String>,
}

/// What comes next by itself: `undo_ends`, `scheduled`, `attempt`, `look`, `expires`, `waits_for`, `filing` …
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS, ToSchema)]
#[ts(export)]
pub struct NextDoc {
    pub what: String,
    pub at: Option<Time>,
    pub text: String,
}

/// A thing a person may do now, or may not, with the reason (design section 14).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct OfferDoc {
    /// `approve`, `edit`, `reject`, `undo`, `confirm`, `release`, `ask`, `finish`, `happened`, `did_not_happen`, `leave`, `revise`, `file_copy`.
    pub what: String,
    pub offered: bool,
    pub suggested: bool,
    /// What it will do, or why it is not offered.
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct JournalDoc {
    pub seq: i64,
    pub at: Time,
    pub fact: String,
    /// Who did it: a person's name, `source NAME`, `worker` or `destination`.
    pub by: String,
    pub text: String,
}

/// The customer's message as the source told it, and whether we could check it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct ConversationDoc {
    pub from_name: Option<String>,
    pub from_email: Option<String>,
    pub subject: Option<String>,
    pub received_at: Option<Time>,
    pub message_id: Option<String>,
    pub text: Option<String>,
    /// Sanitised: no scripts, no remote content. Safe to put in a sandboxed frame.
    pub html: Option<String>,
    /// `not_checked`, `matches`, `differs` or `missing`.
    pub checked: String,
}

/// Where the draft came from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct DraftDoc {
    pub source: String,
    pub run_id: Option<String>,
    pub model: Option<String>,
    pub reason: Option<String>,
    pub at: Time,
}

/// Answers to the three questions about a destination, in plain words (design section 15).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct ContractDoc {
    pub destination: String,
    pub kind: String,
    pub effect: String,
    /// Which case of the effect it holds for, where there are several: `a contact that is changed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub case: Option<String>,
    pub if_answer_lost: String,
    pub recognises_repeat: String,
    pub can_be_looked_up: String,
    /// 1 we may never know, 2 we can find it, 3 it can settle by itself.
    pub certainty: u8,
    pub sources: Vec<String>,
}

/// The action document of interfaces.md.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct ActionDoc {
    pub id: String,
    /// None while an identity is missing (needs review, no key yet).
    pub key: Option<KeyDoc>,
    pub idempotency_key: Option<String>,
    /// A protocol state in snake case: `prepared`, `needs_review`, `approved`, `in_progress`, `accepted`, `unknown`,
    /// `refused`, `gave_up`, `rejected`, `superseded`, `closed_unknown`.
    pub state: String,
    pub reason: Option<String>,
    pub revises: Option<String>,
    pub revised_by: Option<String>,
    pub owner: String,
    pub payload_version: u32,
    #[ts(type = "unknown")]
    pub payload: serde_json::Value,
    pub payload_hash: String,
    pub wire_hash: Option<String>,
    pub findings: Vec<FindingDoc>,
    pub approvals: Vec<ApprovalDoc>,
    pub attempts: Vec<AttemptDoc>,
    pub lookups: Vec<LookupDoc>,
    pub receipt: Option<ReceiptDoc>,
    pub filing: Option<FilingDoc>,
    pub deliveries: Vec<DeliveryDoc>,
    #[ts(type = "Array<unknown>")]
    pub delivery_events: Vec<serde_json::Value>,
    pub next: Option<NextDoc>,
    pub explanation: String,
    // Additions for the window.
    pub environment: String,
    pub destination: String,
    pub effect: String,
    pub source: String,
    pub request_id: Option<String>,
    pub step: String,
    /// The step this action waits for, if any.
    pub after: Option<String>,
    pub crossed_once: bool,
    pub revised: bool,
    /// Set where "not sent" rests on a person's word: the name.
    pub by_word_of: Option<String>,
    pub created_at: Time,
    pub changed_at: Time,
    pub conversation: Option<ConversationDoc>,
    pub draft: DraftDoc,
    /// The AI's first draft, when the shown payload differs from it (for the changes view).
    #[ts(type = "unknown")]
    pub first_payload: Option<serde_json::Value>,
    /// The version before the shown one, where it isn't the AI's draft (for the changes view).
    #[ts(type = "unknown")]
    pub previous_payload: Option<serde_json::Value>,
    pub contract: Option<ContractDoc>,
    pub offers: Vec<OfferDoc>,
    pub journal: Vec<JournalDoc>,
}

/// One line of a list: an action with what a person needs to recognise it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct ActionRow {
    pub id: String,
    pub environment: String,
    pub source: String,
    pub request_id: Option<String>,
    pub step: String,
    pub effect: String,
    pub destination: String,
    pub state: String,
    pub reason: Option<String>,
    pub in_doubt: bool,
    pub crossed_once: bool,
    pub who: String,
    pub email: String,
    pub subject: String,
    /// When it arrived (Awaiting) or last changed (elsewhere).
    pub at: Time,
    pub payload_hash: String,
    pub payload_version: u32,
    /// The heaviest finding's code and weight, if any weighs `look` or `stop`.
    pub finding: Option<FindingDoc>,
    pub findings_open: u32,
    pub next: Option<NextDoc>,
    /// How often the destination was asked.
    pub asked: u32,
    pub receipt: Option<String>,
}

/// A page of actions. `next` is an opaque cursor, or null at the end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct ActionPage {
    pub actions: Vec<ActionRow>,
    pub next: Option<String>,
}

/// A proposal that was recorded but not taken (conflict, not permitted): shown under Needs review.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct NotTakenRow {
    pub delivery: String,
    pub source: String,
    pub at: Time,
    pub disposition: String,
    pub reason: String,
}

/// What a search may be narrowed to. Times are RFC 3339.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(default)]
#[ts(export)]
pub struct SearchFilters {
    #[ts(optional)]
    pub environment: Option<String>,
    #[ts(optional)]
    pub state: Option<String>,
    #[ts(optional)]
    pub destination: Option<String>,
    #[ts(optional)]
    pub from: Option<String>,
    #[ts(optional)]
    pub to: Option<String>,
}

/// Counts of requests for the sidebar (design section 3).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct Counts {
    pub awaiting: u32,
    pub on_the_way: u32,
    pub unknown: u32,
    pub needs_review: u32,
    /// Which of these are more than their number: past a thousand actions it is not counted on.
    pub more: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct DestinationRow {
    pub name: String,
    pub kind: String,
    pub environment: String,
    pub account: String,
    pub undo_seconds: u32,
    /// `reachable`, `paused`, `signed_out`, `held` (by a person) or `not_tried`.
    pub health: String,
    pub health_text: String,
    /// Whether it finishes under the same key by itself; None where it recognises no repeat.
    pub repeats_by_itself: Option<bool>,
    pub contracts: Vec<ContractDoc>,
}

/// Everything around the lists: who, where, what stands in the way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct Overview {
    /// False at the very first start: show first run.
    pub home_exists: bool,
    pub owner: String,
    pub environment: String,
    pub environments: Vec<String>,
    pub counts: Counts,
    /// Whether sending is switched on in this environment.
    pub sending: bool,
    /// Set when dispatch is frozen: `restored`, `copied`, `rolled_back`, `integrity` …
    pub frozen: Option<String>,
    pub frozen_text: Option<String>,
    /// Another process dispatches from this ledger.
    pub another_dispatcher: bool,
    /// Whether a decision in this environment needs the key unlocked first.
    pub locked: bool,
    /// Set when there is no keychain: what to do.
    pub no_keychain: Option<String>,
    /// Whether notifications are quiet now.
    pub quiet: bool,
    pub destinations: Vec<DestinationRow>,
    /// Last journal number this overview includes.
    pub seq: i64,
    pub now: Time,
}

/// One step of a connection test, as it happens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct ProbeStep {
    /// `smtp_connect`, `smtp_tls`, `smtp_login`, `smtp_features`, `imap_connect`, `imap_login`, `sent_folder`, `files_sent`.
    pub step: String,
    /// `running`, `done`, `question` or `stopped`.
    pub state: String,
    pub text: String,
    /// Milliseconds the step took, once it ended.
    pub took_ms: Option<u32>,
}

/// The journal moved: what the window should read again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct FeedEvent {
    pub seq: i64,
    pub actions: Vec<String>,
    /// What of it deserves to be said aloud; the window has the words, in its language.
    pub news: Vec<NewsDoc>,
}

/// One thing that became of an action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct NewsDoc {
    pub action: String,
    /// `draft_waiting`, `needs_review`, `unknown`, `settled`, `refused`, `gave_up`, `second_wanted`, `signed_out` or
    /// `accepted`.
    pub what: String,
}

/// Errors at every border. `code` is one of the command line's words (interfaces.md).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS, ToSchema)]
#[ts(export)]
pub struct ErrorDoc {
    /// `internal`, `bad_input`, `conflict`, `not_permitted`, `locked`, `not_found`, `unknown`, `refused`, `gave_up`,
    /// `frozen`, `integrity`.
    pub code: String,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub field: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub action: Option<String>,
}

/// What became of one action of a proposal (interfaces.md).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS, ToSchema)]
#[ts(export)]
pub struct ProposalActionAnswer {
    pub step: String,
    /// None where no action exists (not permitted, conflict, not taken).
    pub id: Option<String>,
    pub key: Option<KeyDoc>,
    pub idempotency_key: Option<String>,
    /// `created`, `duplicate`, `draft_replaced`, `late_draft`, `stale`, `conflict`, `needs_review`, `not_permitted` or
    /// `not_taken`.
    pub disposition: String,
    pub state: Option<String>,
    pub payload_hash: Option<String>,
    pub payload_version: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub reason: Option<String>,
}

/// One of several actions that a person approves with one gesture: its own hash, its own checks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct ApproveOne {
    pub id: String,
    /// The hash that was on the screen.
    pub payload_hash: String,
    /// Checks, as code and field, that the person has just looked at.
    #[serde(default)]
    pub looked: Vec<(String, String)>,
}

/// What became of one of them: the action as it is now, or why it was not approved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct ApprovedOne {
    pub id: String,
    pub action: Option<ActionDoc>,
    pub error: Option<ErrorDoc>,
}

/// The answer to a proposal, also when it was refused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS, ToSchema)]
#[ts(export)]
pub struct ProposalAnswer {
    pub delivery: String,
    pub actions: Vec<ProposalActionAnswer>,
}

/// What a source is told about an action of its own: enough to know whether the business action is done, without what a
/// person edited.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS, ToSchema)]
#[ts(export)]
pub struct SourceAction {
    pub id: String,
    pub key: Option<KeyDoc>,
    pub idempotency_key: Option<String>,
    pub request_id: Option<String>,
    pub step: String,
    pub state: String,
    pub reason: Option<String>,
    pub payload_version: u32,
    /// None while an identity is missing.
    pub payload_hash: Option<String>,
    pub revises: Option<String>,
    pub revised_by: Option<String>,
    pub receipt: Option<ReceiptDoc>,
    pub filing: Option<FilingDoc>,
    pub next: Option<NextDoc>,
    pub explanation: String,
    pub created_at: Time,
    pub changed_at: Time,
}

/// A source as it is listed. Its token is shown once, when it is added, and never again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct SourceRow {
    pub name: String,
    pub environment: String,
    pub effects: Vec<String>,
    pub destinations: Vec<String>,
    pub signed: bool,
    pub created_at: Time,
    pub revoked_at: Option<Time>,
}

/// What a connection test showed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct DestinationTest {
    pub name: String,
    pub account: String,
    pub steps: Vec<ProbeStep>,
    pub sent_folder: Option<String>,
    pub size_limit: Option<u64>,
    /// Set when a test message was sent: the destination's answer.
    pub sent: Option<String>,
    /// Learnt from the test message: whether the copy turned up in Sent by itself.
    pub files_sent_itself: Option<bool>,
}
