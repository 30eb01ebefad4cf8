//! Signatures that other crates build against while the phases are being filled in.
#![allow(unused_variables, clippy::too_many_arguments)]
use crate::*;
use countersign_domain::*;
use serde_json::Value;
use std::path::Path;

type Result<T> = std::result::Result<T, LedgerError>;
fn not_yet<T>() -> Result<T> {
    Err(LedgerError::Place { why: "this build of the ledger is not finished".into() })
}

impl Ledger {
    /// Makes a new ledger file; refuses one that exists. `id` is random text the caller brings.
    pub async fn create(path: &Path, id: &str, now: Timestamp) -> Result<Ledger> {
        not_yet()
    }
    pub async fn open(path: &Path, options: OpenOptions) -> Result<Ledger> {
        not_yet()
    }
    pub fn id(&self) -> &str {
        ""
    }
    pub async fn close(&self) {}

    // directory and settings
    pub async fn put_person(&self, person: &PersonId, cert: &DeviceCert, now: Timestamp) -> Result<()> {
        not_yet()
    }
    pub async fn device_certs(&self) -> Result<Vec<DeviceCert>> {
        not_yet()
    }
    pub async fn withdraw_device(&self, device: &DeviceId, by: &PersonId, now: Timestamp) -> Result<()> {
        not_yet()
    }
    pub async fn add_destination(&self, d: &DestinationRecord, by: &PersonId, now: Timestamp) -> Result<()> {
        not_yet()
    }
    /// Removed ones are left out.
    pub async fn destinations(&self, environment: Option<&str>) -> Result<Vec<DestinationRecord>> {
        not_yet()
    }
    /// Also a removed one.
    pub async fn destination(&self, name: &str) -> Result<Option<DestinationRecord>> {
        not_yet()
    }
    pub async fn remove_destination(&self, name: &str, by: &PersonId, now: Timestamp) -> Result<()> {
        not_yet()
    }
    /// Same name; returns the actions that a new account sent back to needs review.
    pub async fn update_destination(
        &self,
        d: &DestinationRecord,
        by: &PersonId,
        now: Timestamp,
    ) -> Result<Vec<ActionId>> {
        not_yet()
    }
    pub async fn pause_destination(
        &self,
        name: &str,
        why: &str,
        until: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<()> {
        not_yet()
    }
    pub async fn resume_destination(&self, name: &str, now: Timestamp) -> Result<()> {
        not_yet()
    }
    pub async fn add_source(&self, s: &SourceRecord, by: &PersonId, now: Timestamp) -> Result<()> {
        not_yet()
    }
    pub async fn sources(&self) -> Result<Vec<SourceRecord>> {
        not_yet()
    }
    pub async fn source(&self, name: &str) -> Result<Option<SourceRecord>> {
        not_yet()
    }
    /// Revoked ones are not found.
    pub async fn source_by_token_hash(&self, hash: &str) -> Result<Option<SourceRecord>> {
        not_yet()
    }
    pub async fn revoke_source(&self, name: &str, by: &PersonId, now: Timestamp) -> Result<()> {
        not_yet()
    }
    pub async fn setting(&self, key: &str) -> Result<Option<String>> {
        not_yet()
    }
    pub async fn settings(&self) -> Result<Vec<(String, String)>> {
        not_yet()
    }
    pub async fn set_setting(&self, key: &str, value: &str, by: &str, now: Timestamp) -> Result<()> {
        not_yet()
    }

    // receive
    pub async fn receive(
        &self,
        p: &Proposal,
        s: &SourceRecord,
        secret: &LedgerSecret,
        owner: &PersonId,
        now: Timestamp,
    ) -> Result<Received> {
        not_yet()
    }

    // decide
    pub async fn edit(
        &self,
        action: ActionId,
        replaces: u32,
        payload: &Payload,
        by: &PersonId,
        now: Timestamp,
    ) -> Result<u32> {
        not_yet()
    }
    pub async fn signable(&self, action: ActionId, secret: &LedgerSecret) -> Result<Signing> {
        not_yet()
    }
    pub async fn approve(
        &self,
        action: ActionId,
        approval: &Approval,
        wire: &Wire,
        approvers_needed: u8,
        not_before: Timestamp,
        frees_key: bool,
        now: Timestamp,
    ) -> Result<Standing> {
        not_yet()
    }
    pub async fn undo(&self, action: ActionId, by: &PersonId, now: Timestamp) -> Result<Standing> {
        not_yet()
    }
    pub async fn reject(&self, action: ActionId, reason: &str, by: &PersonId, now: Timestamp) -> Result<Standing> {
        not_yet()
    }
    pub async fn release(&self, action: ActionId, by: &PersonId, now: Timestamp) -> Result<Standing> {
        not_yet()
    }
    pub async fn confirm(
        &self,
        action: ActionId,
        request_id: Option<&str>,
        event_id: Option<&str>,
        secret: &LedgerSecret,
        by: &PersonId,
        now: Timestamp,
    ) -> Result<Standing> {
        not_yet()
    }
    pub async fn send_now(&self, action: ActionId, by: &PersonId, now: Timestamp) -> Result<Standing> {
        not_yet()
    }
    pub async fn expire_due(&self, now: Timestamp) -> Result<Vec<ActionId>> {
        not_yet()
    }
    pub async fn revise(
        &self,
        action: ActionId,
        payload: Option<&Payload>,
        secret: &LedgerSecret,
        by: &PersonId,
        now: Timestamp,
    ) -> Result<ActionId> {
        not_yet()
    }
    pub async fn clear_finding(
        &self,
        action: ActionId,
        version: u32,
        code: &str,
        field: &str,
        by: &PersonId,
        now: Timestamp,
    ) -> Result<()> {
        not_yet()
    }
    pub async fn cleared(&self, action: ActionId) -> Result<Vec<Cleared>> {
        not_yet()
    }
    /// Text a person is typing; not journaled, never sent.
    pub async fn keep_text(&self, action: ActionId, by: &PersonId, text: &str, now: Timestamp) -> Result<()> {
        not_yet()
    }
    pub async fn kept_text(&self, action: ActionId, by: &PersonId) -> Result<Option<String>> {
        not_yet()
    }
    pub async fn forget_text(&self, action: ActionId, by: &PersonId) -> Result<()> {
        not_yet()
    }

    // claim
    pub async fn claim(&self, request: &ClaimRequest<'_>) -> Result<Claimed> {
        not_yet()
    }
    /// unknown -> in progress in doubt. `only` names the action.
    pub async fn claim_repeat(&self, action: ActionId, request: &ClaimRequest<'_>) -> Result<Claimed> {
        not_yet()
    }
    pub async fn record_crossing(&self, claim: &Claim, noted: &Value, now: Timestamp) -> Result<Standing> {
        not_yet()
    }
    pub async fn note_before(&self, claim: &Claim, noted: &Value) -> Result<()> {
        not_yet()
    }
    pub async fn situation_changed(&self, claim: &Claim, why: &str, now: Timestamp) -> Result<Standing> {
        not_yet()
    }
    pub async fn found_before_crossing(&self, claim: &Claim, receipt: &Receipt, now: Timestamp) -> Result<Standing> {
        not_yet()
    }
    /// Closes every open attempt of another worker than `alive`.
    pub async fn recover_stale(&self, alive: &WorkerId, now: Timestamp) -> Result<Vec<(ActionId, Standing)>> {
        not_yet()
    }
    pub async fn open_attempts(&self) -> Result<Vec<OpenAttempt>> {
        not_yet()
    }

    // close
    pub async fn close_attempt(
        &self,
        claim: &Claim,
        outcome: &Outcome,
        evidence: &Value,
        not_before: Timestamp,
        now: Timestamp,
    ) -> Result<Standing> {
        not_yet()
    }
    pub async fn late_answer(
        &self,
        attempt: AttemptId,
        outcome: &Outcome,
        evidence: &Value,
        now: Timestamp,
    ) -> Result<Standing> {
        not_yet()
    }

    // reconcile
    pub async fn record_sighting(
        &self,
        action: ActionId,
        sighting: &Sighting,
        conclusive_absence: bool,
        next_look: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<Standing> {
        not_yet()
    }
    pub async fn settle(
        &self,
        action: ActionId,
        verdict: &approval::SignedVerdict,
        now: Timestamp,
    ) -> Result<Standing> {
        not_yet()
    }
    pub async fn unknown_due(&self, now: Timestamp) -> Result<Vec<UnknownItem>> {
        not_yet()
    }
    pub async fn unknown_item(&self, action: ActionId) -> Result<Option<UnknownItem>> {
        not_yet()
    }
    /// Verified like a claim, but without expiry; for looking and filing.
    pub async fn order_for_look(
        &self,
        action: ActionId,
        roster: &Roster,
        secret: &LedgerSecret,
    ) -> Result<std::result::Result<Countersigned, RefusedClaim>> {
        not_yet()
    }

    // follow-ups
    pub async fn put_filing(
        &self,
        action: ActionId,
        state: &str,
        text: &str,
        next_at: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<()> {
        not_yet()
    }
    pub async fn filing(&self, action: ActionId) -> Result<Option<Filing>> {
        not_yet()
    }
    pub async fn filings_due(&self, now: Timestamp) -> Result<Vec<Filing>> {
        not_yet()
    }

    // reading
    pub async fn action(&self, id: ActionId) -> Result<Option<ActionRecord>> {
        not_yet()
    }
    pub async fn action_by_key(&self, key: &IdempotencyKey) -> Result<Option<ActionRecord>> {
        not_yet()
    }
    /// Ordered by step's arrival; every revision.
    pub async fn actions_of_request(
        &self,
        source: &str,
        request_id: &str,
        step: Option<&str>,
    ) -> Result<Vec<ActionRecord>> {
        not_yet()
    }
    pub async fn detail(&self, id: ActionId) -> Result<Detail> {
        not_yet()
    }
    /// The current payload, sealed again (None while an identity is missing) and the conversation.
    pub async fn current(&self, id: ActionId) -> Result<(Payload, Option<Conversation>)> {
        not_yet()
    }
    pub async fn page(&self, filter: &PageFilter, after: Option<Cursor>, limit: u32) -> Result<Page<RowRecord>> {
        not_yet()
    }
    pub async fn counts(&self, environment: &str) -> Result<StateCounts> {
        not_yet()
    }
    pub async fn not_taken(&self, limit: u32) -> Result<Vec<NotTaken>> {
        not_yet()
    }
    pub async fn search(
        &self,
        text: &str,
        filter: &SearchFilter,
        after: Option<Cursor>,
        limit: u32,
    ) -> Result<Page<RowRecord>> {
        not_yet()
    }
    /// Indexes up to `max` changed actions; merges the index when nothing waits. Returns how many it did.
    pub async fn feed_search_index(&self, max: u32) -> Result<usize> {
        not_yet()
    }
    pub async fn index_pending(&self) -> Result<i64> {
        not_yet()
    }
    pub async fn journal_after(&self, seq: i64, limit: u32) -> Result<Vec<JournalRow>> {
        not_yet()
    }
    pub async fn head(&self) -> Result<Head> {
        not_yet()
    }
    /// The journal's hash at `seq`, for comparing with an anchor.
    pub async fn hash_at(&self, seq: i64) -> Result<Option<canonical::JournalHash>> {
        not_yet()
    }
    pub async fn known_people(&self, environment: &str) -> Result<risk::Known> {
        not_yet()
    }
    pub async fn related(&self, action: ActionId) -> Result<Vec<Related>> {
        not_yet()
    }
    /// A fact about the ledger itself (frozen, restored, adopted …).
    pub async fn note(&self, kind: &str, details: Value, by: &str, now: Timestamp) -> Result<()> {
        not_yet()
    }

    // proof and upkeep
    pub async fn verify(
        &self,
        roster: &Roster,
        secret: Option<&LedgerSecret>,
        progress: &mut (dyn FnMut(i64, i64) + Send),
    ) -> Result<Vec<Broken>> {
        not_yet()
    }
    pub async fn backup(&self, to: &Path, now: Timestamp) -> Result<Head> {
        not_yet()
    }
    /// Whether this file was made by `backup`.
    pub async fn is_backup(&self) -> Result<bool> {
        not_yet()
    }
    pub async fn purge(&self, older_than: Timestamp, by: &PersonId, now: Timestamp) -> Result<Purged> {
        not_yet()
    }
}
