//! Does an action hold? Every claim asks before it moves anything, and `verify` asks for all of them: the journal rows
//! with their links, the replay against the columns, payloads, wire, conversation, approvals, attempts, looks, verdicts.

use crate::content::{self, StoredPayload};
use crate::dossier::Dossier;
use crate::journal::Stored;
use crate::rows::{Action, Get, hex, read_json};
use crate::tx::{Conn, statements};
use crate::types::Head;
use crate::{Conflict, LedgerError};
use countersign_domain::approval::SignedVerdict;
use countersign_domain::canonical::{JournalHash, sha256};
use countersign_domain::chain::GENESIS;
use countersign_domain::{
    ActionId, Approval, AttemptId, Conversation, DeviceId, Fact, Payload, PersonId, Roster, Sealed, Standing, State,
    Wire, advance,
};
use serde_json::{Value, json};
use sqlx::any::AnyRow;
use std::collections::BTreeMap;

statements! {
    CHAIN_OF_ACTION = "SELECT j.seq, j.at, j.action, j.kind, j.fact, j.by_whom, j.previous, j.hash, \
        p.hash AS hash_before, f.previous AS previous_after FROM journal j \
        LEFT JOIN journal p ON p.seq = j.seq - 1 LEFT JOIN journal f ON f.seq = j.seq + 1 \
        WHERE j.action = $1 ORDER BY j.seq";
    APPROVALS = "SELECT n, action, sequence, payload_version, payload_hash, wire_hash, account, conversation, by_whom, \
        device, at, expires_at, signature FROM approvals WHERE action = $1 ORDER BY sequence";
    ATTEMPTS = "SELECT n, action, number, worker, claimed_at, in_doubt, noted, crossed_at, closed_at, outcome, evidence, \
        receipt, late FROM attempts WHERE action = $1 ORDER BY n";
    SIGHTINGS = "SELECT n, at, sighting, conclusive FROM sightings WHERE action = $1 ORDER BY n";
    VERDICTS = "SELECT n, word FROM verdicts WHERE action = $1 ORDER BY n";
}

/// Facts of an action that move no standing.
pub(crate) const NOTES: [&str; 9] = [
    "finding_cleared",
    "looked",
    "undo_window_ended",
    "order_moved",
    "seen_again",
    "wrote_again",
    "late_evidence",
    "filing",
    "purged",
];

/// What was proven of one action.
pub(crate) struct Proven {
    pub sealed: Sealed,
    pub wire: Wire,
    pub conversation: Option<Conversation>,
    /// Those that count, oldest first.
    pub approvals: Vec<Approval>,
    pub told: Told,
}

/// Proves an action that is about to be sent or looked for: the first thing that does not hold is the error.
pub(crate) async fn prove(
    conn: &mut Conn,
    rows: &Dossier,
    action: &Action,
    roster: &Roster,
) -> Result<Proven, LedgerError> {
    let told = journal_of(rows, action)?;
    let sealed = payloads_of(conn, rows, action, &told, true)
        .await?
        .into_iter()
        .find_map(|(stored, payload)| payload.filter(|_| stored.version == action.payload_version))
        .map(|payload| -> Result<Sealed, LedgerError> {
            Ok(Sealed::seal(action.need_key()?.clone(), action.payload_version, payload))
        })
        .transpose()?
        .filter(|sealed| Some(sealed.hash()) == action.payload_hash)
        .ok_or_else(|| LedgerError::corrupt("payload", action.id(), "the current one has another hash"))?;
    let wire = rows.wire(action)?.ok_or_else(|| LedgerError::corrupt("wire", action.id(), "there is none"))?;
    let conversation = rows.conversation(action)?;
    let approvals =
        approvals_of(rows, action, &told, roster)?.into_iter().filter(|a| a.sequence > action.ended_sequence).collect();
    // Before the first claim there is nothing of these that a send could rest on.
    if action.standing.crossed_once || told.rows.iter().any(|s| s.row.kind == "claimed") {
        attempts_of(rows, action, &told)?;
        words_of(rows, action, &told, roster)?;
    }
    Ok(Proven { sealed, wire, conversation, approvals, told })
}

/// What the journal tells of an action's other rows.
#[derive(Default)]
pub(crate) struct Told {
    rows: Vec<Stored>,
}

impl Told {
    pub(crate) fn into_rows(self) -> Vec<Stored> {
        self.rows
    }

    pub(crate) fn details(&self) -> impl Iterator<Item = (&Stored, &Value)> {
        self.rows.iter().map(|s| (s, &s.row.entry.fact["details"]))
    }
}

/// The action's journal rows: each one's hash, its links to both neighbours, and the replay against the columns.
pub(crate) fn journal_of(rows: &Dossier, action: &Action) -> Result<Told, LedgerError> {
    let head = rows.head()?;
    let mut told = Told::default();
    for row in &rows.journal.rows {
        let stored = Stored::read(row)?;
        linked(head, row, &stored)?;
        told.rows.push(stored);
    }
    replay(action, &told)?;
    Ok(told)
}

/// A journal row against its own hash and both its neighbours, which came with it as `hash_before` and `previous_after`.
pub(crate) fn linked(head: Head, row: &AnyRow, stored: &Stored) -> Result<(), LedgerError> {
    let seq = stored.row.entry.seq;
    let broken = |why: &str| LedgerError::corrupt("journal", seq, why);
    if !stored.holds() {
        return Err(broken("its hash does not fit its content"));
    }
    let before: Option<JournalHash> = row.parsed_or_null("hash_before")?;
    if stored.previous != before.unwrap_or(GENESIS) || (before.is_none() && seq != 1) {
        return Err(broken("the row before it is another one"));
    }
    match row.parsed_or_null::<JournalHash>("previous_after")? {
        Some(after) if after == stored.row.hash => Ok(()),
        Some(_) => Err(broken("the row after it follows another one")),
        None if head.seq == seq && head.hash == stored.row.hash => Ok(()),
        None => Err(broken("it is the last row, but the head names another one")),
    }
}

/// Invariant 5: the journal determines the state.
fn replay(action: &Action, told: &Told) -> Result<(), LedgerError> {
    let broken = |why: String| LedgerError::corrupt("state", action.id(), why);
    let mut standing: Option<Standing> = None;
    let mut digest = None;
    for (stored, details) in told.details() {
        let kind = stored.row.kind.as_str();
        standing = match (standing, kind) {
            (None, "proposed") => {
                Some(Standing::proposed(stored.row.entry.fact["complete"].as_bool().unwrap_or(false)))
            }
            (Some(before), note) if NOTES.contains(&note) => Some(before),
            (Some(before), _) => {
                let mut flat = stored.row.entry.fact.clone();
                if let Some(object) = flat.as_object_mut() {
                    object.remove("details");
                }
                let fact: Fact = serde_json::from_value(flat)
                    .map_err(|_| broken(format!("the journal has a fact `{kind}` that nobody knows")))?;
                Some(advance(&before, &fact).map_err(|e| broken(format!("the journal tells the impossible: {e}")))?)
            }
            (None, _) => return Err(broken("the journal does not begin with its proposal".to_owned())),
        };
        digest = details["row"].as_str();
    }
    match standing {
        None => Err(broken("the journal knows nothing of it".to_owned())),
        Some(told) if told != action.standing => {
            Err(broken(format!("the row says {}, the journal says {}", describe(&action.standing), describe(&told))))
        }
        Some(_) if digest != Some(action.digest().as_str()) => {
            Err(broken("a column differs from what the journal wrote down".to_owned()))
        }
        Some(_) => Ok(()),
    }
}

fn describe(s: &Standing) -> String {
    format!("{} after {} of {} attempts", s.state, s.attempts, s.allowed)
}

/// Payload versions against their own hashes and against the journal. `open`: a purged body is an error.
pub(crate) async fn payloads_of(
    conn: &mut Conn,
    rows: &Dossier,
    action: &Action,
    told: &Told,
    open: bool,
) -> Result<Vec<(StoredPayload, Option<Payload>)>, LedgerError> {
    let mut written: BTreeMap<u64, (&Stored, &Value)> = BTreeMap::new();
    for (stored, details) in told.details() {
        let p = &details["payload"];
        if let Some(version) = p["version"].as_u64() {
            written.insert(version, (stored, p));
        }
    }
    let mut all = Vec::new();
    for row in rows.payloads()? {
        let broken =
            |why: &str| LedgerError::corrupt("payload", format!("{} version {}", action.id(), row.version), why);
        let (fact, p) =
            written.remove(&u64::from(row.version)).ok_or_else(|| broken("the journal knows nothing of it"))?;
        if p["hash"].as_str().map(str::to_owned) != row.hash.map(|h| h.to_string())
            || p["content"].as_str() != Some(row.content.as_str())
        {
            return Err(broken("its hash is not the one in the journal"));
        }
        if fact.row.entry.by != row.by || fact.row.entry.at != row.at.millis() {
            return Err(broken("its author or time is not the one in the journal"));
        }
        if row.value.is_none() && !open {
            all.push((row, None));
            continue;
        }
        let payload = content::open_payload(conn, action.n, &action.effect, &row, &rows.attachments).await?;
        if let (Some(stored), Some(key)) = (row.hash, &action.key)
            && Sealed::seal(key.clone(), row.version, payload.clone()).hash() != stored
        {
            return Err(broken("its hash is not the stored one"));
        }
        all.push((row, Some(payload)));
    }
    match written.keys().next() {
        Some(version) => {
            Err(LedgerError::corrupt("payload", format!("{} version {version}", action.id()), "its row is missing"))
        }
        None => Ok(all),
    }
}

/// Digest of an approval with its signature, as the journal keeps it.
pub(crate) fn approval_digest(a: &Approval) -> String {
    let mut bytes = a.signed_bytes();
    bytes.extend_from_slice(a.signature.as_bytes());
    hex(&sha256(&bytes))
}

pub(crate) fn read_approval(row: &AnyRow, action: &Action) -> Result<Approval, LedgerError> {
    Ok(Approval {
        key: action.need_key()?.clone(),
        payload_version: row.num("payload_version")?,
        payload_hash: row.parsed("payload_hash")?,
        wire_hash: row.parsed("wire_hash")?,
        account: row.parsed("account")?,
        conversation: row.parsed_or_null("conversation")?,
        by: PersonId(row.text("by_whom")?),
        device: DeviceId(row.text("device")?),
        at: row.time("at")?,
        expires_at: row.time("expires_at")?,
        sequence: row.num("sequence")?,
        signature: row.text("signature")?,
    })
}

/// Every approval against its signature and against the journal, ended ones too.
pub(crate) fn approvals_of(
    rows: &Dossier,
    action: &Action,
    told: &Told,
    roster: &Roster,
) -> Result<Vec<Approval>, LedgerError> {
    let mut written: BTreeMap<u64, (i64, &str)> = told
        .details()
        .filter(|(s, _)| s.row.kind == "approved")
        .filter_map(|(_, d)| Some((d["sequence"].as_u64()?, (d["approval"].as_i64()?, d["digest"].as_str()?))))
        .collect();
    let mut approvals = Vec::new();
    for row in &rows.approvals.rows {
        let id = countersign_domain::ApprovalId(row.int("n")?);
        let approval = read_approval(row, action)
            .map_err(|_| LedgerError::corrupt("approval", id, "a field of it cannot be read"))?;
        let broken = |why: &str| LedgerError::corrupt("approval", id, why);
        if !approval.is_signed(roster) {
            return Err(broken("its signature does not verify"));
        }
        match written.remove(&u64::from(approval.sequence)) {
            Some((n, digest)) if n == id.0 && digest == approval_digest(&approval) => approvals.push(approval),
            Some(_) => return Err(broken("it is not the one in the journal")),
            None => return Err(broken("the journal knows nothing of it")),
        }
    }
    match written.keys().next() {
        Some(sequence) => {
            Err(LedgerError::corrupt("approval", format!("{} sequence {sequence}", action.id()), "its row is missing"))
        }
        None => Ok(approvals),
    }
}

/// Digest of an attempt's evidence, as the journal keeps it.
pub(crate) fn evidence_digest(text: &str) -> String {
    hex(&sha256(text.as_bytes()))
}

/// Digest of what else a closed attempt keeps: its receipt, and what it noted for a later look.
pub(crate) fn kept_digest(receipt: Option<&str>, noted: Option<&str>) -> String {
    evidence_digest(&json!([receipt, noted]).to_string())
}

/// Digest of a look: when, what it showed, and whether not seeing it proved anything.
pub(crate) fn look_digest(at: i64, sighting: &str, conclusive: bool) -> String {
    evidence_digest(&json!([at, sighting, conclusive]).to_string())
}

/// Attempts against the journal: who claimed when, the crossing, how it was closed with which evidence.
pub(crate) fn attempts_of(rows: &Dossier, action: &Action, told: &Told) -> Result<(), LedgerError> {
    for row in &rows.attempts.rows {
        let n = row.int("n")?;
        let broken = |why: &str| LedgerError::corrupt("attempt", AttemptId(n), why);
        let mine: Vec<_> = told.details().filter(|(_, d)| d["attempt"].as_i64() == Some(n)).collect();
        let at = |kinds: &[&str]| mine.iter().find(|(s, _)| kinds.contains(&s.row.kind.as_str()));
        let claimed = at(&["claimed", "repeated"]).ok_or_else(|| broken("the journal knows nothing of it"))?;
        let (fact, details) = claimed;
        if fact.row.entry.at != row.int("claimed_at")?
            || details["number"].as_i64() != Some(row.int("number")?)
            || details["worker"].as_str() != Some(row.text("worker")?.as_str())
            || (fact.row.kind == "repeated") != row.flag("in_doubt")?
        {
            return Err(broken("its claim is not the one in the journal"));
        }
        let crossed = at(&["crossed"]);
        if crossed.map(|(s, _)| s.row.entry.at) != row.int_or_null("crossed_at")? {
            return Err(broken("its crossing is not the one in the journal"));
        }
        if let Some((_, details)) = crossed
            && read_json::<Value>(row, "noted")?.unwrap_or(Value::Null) != details["noted"]
        {
            return Err(broken("what it noted before crossing is not what the journal says"));
        }
        let closed = mine.iter().find(|(_, d)| d["closed"].as_bool() == Some(true));
        if closed.map(|(s, _)| s.row.entry.at) != row.int_or_null("closed_at")? {
            return Err(broken("its end is not the one in the journal"));
        }
        if let Some((_, details)) = closed {
            let evidence = row.text_or_null("evidence")?.unwrap_or_default();
            if details["outcome"].as_str() != row.text_or_null("outcome")?.as_deref()
                || details["evidence"].as_str() != Some(evidence_digest(&evidence).as_str())
            {
                return Err(broken("its outcome or evidence is not the one in the journal"));
            }
            let (receipt, noted) = (row.text_or_null("receipt")?, row.text_or_null("noted")?);
            if details["kept"].as_str() != Some(kept_digest(receipt.as_deref(), noted.as_deref()).as_str()) {
                return Err(broken("its receipt or what it noted is not the one in the journal"));
            }
        }
        let late = mine.iter().rfind(|(_, d)| d["late"].is_string());
        let stored = row.text_or_null("late")?;
        if late.map(|(_, d)| d["late"].as_str().unwrap_or("").to_owned()) != stored.as_deref().map(evidence_digest) {
            return Err(broken("its late evidence is not the one in the journal"));
        }
    }
    let started = told.details().filter(|(s, _)| matches!(s.row.kind.as_str(), "claimed" | "repeated")).count();
    if started != rows.attempts.rows.len() {
        return Err(LedgerError::corrupt("attempt", action.id(), "the journal tells of another number of attempts"));
    }
    Ok(())
}

/// Looks and signed verdicts against the journal, and verdicts against their signatures.
pub(crate) fn words_of(rows: &Dossier, action: &Action, told: &Told, roster: &Roster) -> Result<(), LedgerError> {
    let looks = &rows.sightings.rows;
    let written: BTreeMap<i64, &str> =
        told.details().filter_map(|(_, d)| Some((d["sighting"].as_i64()?, d["digest"].as_str()?))).collect();
    for row in looks {
        let digest = look_digest(row.int("at")?, &row.text("sighting")?, row.flag("conclusive")?);
        if written.get(&row.int("n")?).copied() != Some(digest.as_str()) {
            return Err(LedgerError::corrupt("look", action.id(), "it is not the one in the journal"));
        }
    }
    if written.len() != looks.len() {
        return Err(LedgerError::corrupt("look", action.id(), "a row is missing"));
    }
    let verdicts = &rows.verdicts.rows;
    let written: BTreeMap<i64, &str> =
        told.details().filter_map(|(_, d)| Some((d["verdict"].as_i64()?, d["digest"].as_str()?))).collect();
    for row in verdicts {
        let broken = |why: &str| LedgerError::corrupt("verdict", action.id(), why);
        let text = row.text("word")?;
        if written.get(&row.int("n")?).copied() != Some(evidence_digest(&text).as_str()) {
            return Err(broken("it is not the one in the journal"));
        }
        let word: SignedVerdict = serde_json::from_str(&text).map_err(|_| broken("it cannot be read"))?;
        if Some(&word.key) != action.key.as_ref() || !word.is_signed(roster) {
            return Err(broken("its signature does not verify"));
        }
    }
    if written.len() != verdicts.len() {
        return Err(LedgerError::corrupt("verdict", action.id(), "a row is missing"));
    }
    Ok(())
}

/// Whether an action may still go out, so that its bodies must be there.
pub(crate) fn is_open(state: State) -> bool {
    match state {
        State::Prepared
        | State::NeedsReview
        | State::Approved
        | State::InProgress
        | State::Unknown
        | State::ClosedUnknown => true,
        State::Accepted | State::Refused | State::GaveUp | State::Rejected | State::Superseded => false,
    }
}

/// Turns what does not hold into its parts; anything else stays an error of ours.
pub(crate) fn broken_part(error: LedgerError, action: ActionId) -> Result<(String, String, String), LedgerError> {
    match error {
        // A column of another type than it had: the row is named by its action.
        LedgerError::Corrupt { what: "column", id, why } => {
            Ok(("action".to_owned(), action.to_string(), format!("{id}: {why}")))
        }
        LedgerError::Corrupt { what, id, why } => Ok((what.to_owned(), id, why)),
        LedgerError::Conflict(Conflict::Purged) => {
            Ok(("payload".to_owned(), action.to_string(), "its body was purged".to_owned()))
        }
        other => Err(other),
    }
}
