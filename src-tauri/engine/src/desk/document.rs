//! One action with its whole history, as the document of interfaces.md.

use super::later::is_held;
use super::words::{self, Scene};
use crate::destinations::Prospect;
use crate::view::{
    ActionDoc, ActionRow, ApprovalDoc, AttemptDoc, ContractDoc, ConversationDoc, DeliveryDoc, DraftDoc, FilingDoc,
    FindingDoc, JournalDoc, KeyDoc, LookupDoc, NextDoc, ReceiptDoc, SourceAction,
};
use countersign_domain::explain::{Story, explain};
use countersign_domain::{ActionKey, Conversation, Receipt, ReceiptKind, Sighting, State, Strength, Timestamp};
use countersign_ledger::{ActionRecord, AttemptRecord, Detail, Filing, RowRecord, Waits};

pub(crate) fn key_doc(key: &ActionKey) -> KeyDoc {
    KeyDoc {
        environment: key.environment.clone(),
        destination: key.destination.clone(),
        effect: key.effect.clone(),
        source: key.source.clone(),
        request_id: key.request_id.clone(),
        step: key.step.clone(),
        revision: key.revision,
    }
}

pub(super) fn kind_name(kind: ReceiptKind) -> &'static str {
    match kind {
        ReceiptKind::Answer => "answer",
        ReceiptKind::Lookup => "lookup",
        ReceiptKind::LateAnswer => "late_answer",
        ReceiptKind::Dsn => "dsn",
        ReceiptKind::Person => "person",
    }
}

fn strength_name(strength: Strength) -> &'static str {
    match strength {
        Strength::None => "none",
        Strength::Weak => "weak",
        Strength::Strong => "strong",
        Strength::Proof => "proof",
    }
}

fn receipt_doc(receipt: &Receipt, at: Timestamp) -> ReceiptDoc {
    ReceiptDoc {
        kind: kind_name(receipt.kind).to_owned(),
        at: at.to_string(),
        reference: receipt.reference.clone(),
        text: receipt.text.clone(),
        by: receipt.by.clone(),
    }
}

fn filing_doc(filing: &Filing) -> FilingDoc {
    FilingDoc { state: filing.state.clone(), text: filing.text.clone() }
}

fn lookup_doc(at: Timestamp, sighting: &Sighting, conclusive: bool) -> LookupDoc {
    let (name, strength, text) = match sighting {
        Sighting::Found(receipt) => ("found", strength_name(receipt.strength), receipt.text.clone()),
        Sighting::NotSeen { looked } => {
            let means = if conclusive { "This is certain." } else { "That proves nothing." };
            (
                "not_seen",
                if conclusive { "proof" } else { "none" },
                format!("{}: not there. {means}", looked.trim_end_matches('.')),
            )
        }
        Sighting::CannotTell { why, .. } => ("cannot_tell", "none", why.clone()),
    };
    LookupDoc { at: at.to_string(), sighting: name.to_owned(), strength: strength.to_owned(), text }
}

/// The customer's message for the window: HTML without scripts, forms, styles or anything that would be fetched.
fn conversation_doc(conversation: &Conversation, checked: &str) -> ConversationDoc {
    ConversationDoc {
        from_name: conversation.from.as_ref().and_then(|m| m.name.clone()),
        from_email: conversation.from.as_ref().map(|m| m.email.clone()),
        subject: conversation.subject.clone(),
        received_at: conversation.received_at.map(|t| t.to_string()),
        message_id: conversation.message_id.clone(),
        text: conversation.text.clone(),
        html: conversation.html.as_deref().map(sanitise),
        checked: checked.to_owned(),
    }
}

/// Keeps text, structure and link targets; drops what runs, styles or loads.
pub fn sanitise(html: &str) -> String {
    let mut cleaner = ammonia::Builder::default();
    cleaner
        .rm_tags(["img", "map", "area"])
        .rm_clean_content_tags(["style"])
        .add_clean_content_tags(["style", "title", "noscript", "template", "svg", "math", "iframe", "object"])
        .url_schemes(["http", "https", "mailto", "tel"].into())
        .link_rel(Some("noopener noreferrer nofollow"));
    cleaner.clean(html).to_string()
}

/// Everything beside the ledger's detail that the document shows.
pub(super) struct Beside<'a> {
    pub(super) scene: Scene<'a>,
    pub(super) findings: Vec<FindingDoc>,
    pub(super) contract: Option<ContractDoc>,
    pub(super) checked: String,
    pub(super) sending: bool,
}

/// What of an action's history is told in words beside its row.
#[derive(Default)]
pub(crate) struct History {
    pub(crate) duplicates: u32,
    /// When it was handed over again in doubt.
    pub(crate) repeated: Vec<Timestamp>,
    pub(crate) adopted: bool,
}

/// When an unknown action was handed over again, oldest first.
pub(crate) fn repeated(attempts: &[AttemptRecord]) -> Vec<Timestamp> {
    let mut times: Vec<Timestamp> = attempts.iter().filter(|a| a.in_doubt).filter_map(|a| a.crossed_at).collect();
    times.sort_unstable();
    times
}

fn story(record: &ActionRecord, history: History, recognised_until: Option<Timestamp>) -> Story {
    let History { duplicates, repeated, adopted } = history;
    Story {
        accepted_by: record.row.receipt.as_ref().and_then(|r| r.by.clone()),
        repeated,
        recognised_until,
        destination: record.row.destination.clone(),
        by_word_of: record.by_word_of.clone(),
        duplicates,
        adopted,
        receipt: record.row.receipt.as_ref().map(|r| r.text.clone()),
        revises: record.revises.map(|id| id.to_string()),
        revised_by: record.revised_by.map(|id| id.to_string()),
        reason: record.row.reason.clone(),
    }
}

fn receipt_of(record: &ActionRecord) -> Option<ReceiptDoc> {
    let at = record.accepted_at.unwrap_or(record.row.changed_at);
    record.row.receipt.as_ref().map(|r| receipt_doc(r, at))
}

pub(super) fn action_doc(detail: &Detail, owner: &str, beside: Beside<'_>) -> ActionDoc {
    let record = &detail.record;
    let row = &record.row;
    let shown = detail.payloads.iter().rev().find(|p| p.version == row.payload_version);
    let value_of = |p: &countersign_ledger::PayloadVersion| p.payload.as_ref().map(|p| p.value().clone());
    let payload = shown.and_then(value_of).unwrap_or(serde_json::Value::Null);
    let drafted = detail.payloads.iter().rev().find(|p| p.by.starts_with("source "));
    let first_payload = drafted.filter(|p| p.version != row.payload_version).and_then(value_of);
    let previous = detail.payloads.iter().rev().find(|p| p.version < row.payload_version);
    let previous_payload = previous.filter(|p| drafted.is_none_or(|d| d.version < p.version)).and_then(value_of);
    let duplicates = detail.deliveries.iter().filter(|d| d.disposition == "duplicate").count();
    let history = History {
        duplicates: u32::try_from(duplicates).unwrap_or(u32::MAX),
        repeated: repeated(&detail.attempts),
        adopted: beside.scene.adopted,
    };
    let drafted_at = drafted.map_or(row.created_at, |p| p.at);
    let mut wire_hash = record.wire_hash;
    if !matches!(row.standing.state, State::Approved | State::InProgress) && !row.standing.crossed_once {
        // An approval that was put back leaves no wire behind that would still count.
        wire_hash = wire_hash.filter(|_| detail.approvals.iter().any(|a| a.counts));
    }
    let next = words::next(&beside.scene, beside.sending);
    ActionDoc {
        id: record.id().to_string(),
        key: record.key.as_ref().map(key_doc),
        idempotency_key: record.idempotency_key.as_ref().map(|k| k.to_string()),
        state: record.state().name().to_owned(),
        reason: row.reason.clone(),
        revises: record.revises.map(|id| id.to_string()),
        revised_by: record.revised_by.map(|id| id.to_string()),
        owner: if record.owner.0.is_empty() { owner.to_owned() } else { record.owner.0.clone() },
        payload_version: row.payload_version,
        payload,
        payload_hash: row.payload_hash.map_or(String::new(), |h| h.to_string()),
        wire_hash: wire_hash.map(|h| h.to_string()),
        findings: beside.findings,
        approvals: detail
            .approvals
            .iter()
            .map(|stored| ApprovalDoc {
                id: stored.id.to_string(),
                by: stored.approval.by.to_string(),
                device: stored.approval.device.to_string(),
                at: stored.approval.at.to_string(),
                payload_version: stored.approval.payload_version,
                payload_hash: stored.approval.payload_hash.to_string(),
                wire_hash: stored.approval.wire_hash.to_string(),
                expires_at: stored.approval.expires_at.to_string(),
                counts: stored.counts,
            })
            .collect(),
        attempts: detail
            .attempts
            .iter()
            .map(|a| AttemptDoc {
                id: a.id.to_string(),
                number: a.number,
                started_at: a.claimed_at.to_string(),
                phase: match (a.closed_at, a.crossed_at) {
                    (Some(_), _) => "closed",
                    (None, Some(_)) => "crossed",
                    (None, None) => "claimed",
                }
                .to_owned(),
                crossed_at: a.crossed_at.map(|t| t.to_string()),
                closed_at: a.closed_at.map(|t| t.to_string()),
                in_doubt: a.in_doubt,
                outcome: a.outcome.clone(),
                evidence: a.evidence.clone(),
            })
            .collect(),
        lookups: detail.sightings.iter().map(|s| lookup_doc(s.at, &s.sighting, s.conclusive_absence)).collect(),
        receipt: receipt_of(record),
        filing: detail.filing.as_ref().map(filing_doc),
        deliveries: detail
            .deliveries
            .iter()
            .map(|d| DeliveryDoc {
                id: d.id.to_string(),
                event_id: d.event_id.clone(),
                at: d.at.to_string(),
                disposition: d.disposition.clone(),
                reason: d.reason.clone(),
            })
            .collect(),
        delivery_events: Vec::new(),
        explanation: explained(record, history, beside.scene.recognised_until(), next.as_ref()),
        next,
        environment: row.environment.clone(),
        destination: row.destination.clone(),
        effect: row.effect.clone(),
        source: row.source.clone(),
        request_id: row.request_id.clone(),
        step: row.step.clone(),
        after: beside.scene.after.map(|a| a.row.step.clone()),
        crossed_once: row.standing.crossed_once,
        revised: row.standing.revised,
        by_word_of: record.by_word_of.clone(),
        created_at: row.created_at.to_string(),
        changed_at: row.changed_at.to_string(),
        conversation: detail.conversation.as_ref().map(|c| conversation_doc(c, &beside.checked)),
        draft: DraftDoc {
            source: row.source.clone(),
            run_id: record.run_id.clone(),
            model: record.model.clone(),
            reason: record.draft_reason.clone(),
            at: drafted_at.to_string(),
        },
        first_payload,
        previous_payload,
        contract: beside.contract,
        offers: words::offers(&beside.scene),
        journal: detail
            .journal
            .iter()
            .map(|j| JournalDoc {
                seq: j.entry.seq,
                at: Timestamp::from_millis(j.entry.at).to_string(),
                fact: j.kind.clone(),
                by: j.entry.by.clone(),
                text: words::journal_line(&j.kind).to_owned(),
            })
            .collect(),
    }
}

/// The explanation, and for what waits although nothing of it is in order to be waited for the reason.
fn explained(record: &ActionRecord, history: History, until: Option<Timestamp>, next: Option<&NextDoc>) -> String {
    let told = explain(record.standing(), &story(record, history, until));
    let held = |n: &&NextDoc| match record.state() {
        State::Approved => matches!(n.what.as_str(), "waits_for" | "paused" | "scheduled"),
        _ => n.what == "paused",
    };
    match next.filter(held) {
        Some(next) => format!("{told} {}", next.text),
        None => told,
    }
}

/// A line of a list.
pub(super) fn action_row(
    row: &RowRecord,
    prospect: &Prospect,
    heaviest: Option<FindingDoc>,
    findings_open: u32,
    now: Timestamp,
) -> ActionRow {
    let awaiting = row.standing.state == State::Prepared;
    ActionRow {
        id: row.id.to_string(),
        environment: row.environment.clone(),
        source: row.source.clone(),
        request_id: row.request_id.clone(),
        step: row.step.clone(),
        effect: row.effect.clone(),
        destination: row.destination.clone(),
        state: row.standing.state.name().to_owned(),
        reason: row.reason.clone(),
        in_doubt: row.standing.in_doubt,
        crossed_once: row.standing.crossed_once,
        who: row.who.clone(),
        email: row.email.clone(),
        subject: row.subject.clone(),
        at: if awaiting { row.created_at } else { row.changed_at }.to_string(),
        payload_hash: row.payload_hash.map_or(String::new(), |h| h.to_string()),
        payload_version: row.payload_version,
        finding: heaviest,
        findings_open,
        next: row_next(row, prospect, now),
        asked: row.looks,
        receipt: row.receipt.as_ref().map(|r| match &r.by {
            Some(name) => format!("On {name}’s word: {}", r.text),
            None => r.text.clone(),
        }),
    }
}

fn row_next(row: &RowRecord, prospect: &Prospect, now: Timestamp) -> Option<NextDoc> {
    let asked = prospect.asked;
    let doc = |what: &str, at: Option<Timestamp>| {
        Some(NextDoc { what: what.to_owned(), at: at.map(|t| t.to_string()), text: String::new() })
    };
    match row.standing.state {
        State::Approved if is_held(row, now) => doc("undo_ends", Some(row.not_before)),
        State::Approved if row.waits == Waits::UndoWindow && row.not_before > now => {
            doc("scheduled", Some(row.not_before))
        }
        State::Approved if row.after.is_some() => doc("waits_for", None),
        State::Approved | State::Unknown if prospect.paused.is_some() => {
            prospect.paused.as_ref().map(|paused| NextDoc {
                what: "paused".to_owned(),
                at: paused.until.map(|t| t.to_string()),
                text: words::paused(&row.destination, paused),
            })
        }
        State::Approved => doc("attempt", Some(row.not_before)),
        State::Unknown if !asked => doc("person", None),
        State::ClosedUnknown if !asked => None,
        State::Unknown | State::ClosedUnknown => row.next_look.and_then(|at| doc("look", Some(at))),
        State::Prepared
        | State::NeedsReview
        | State::InProgress
        | State::Accepted
        | State::Refused
        | State::GaveUp
        | State::Rejected
        | State::Superseded => None,
    }
}

/// What a source is told about its own action: what became of it. Not what the owner wrote for their own record, nor who
/// they are: an agent is the model of somebody else, too.
pub(crate) fn source_action(
    record: &ActionRecord,
    prospect: &Prospect,
    filing: Option<&Filing>,
    history: History,
    now: Timestamp,
) -> SourceAction {
    let row = &record.row;
    let declined = record.state() == State::Rejected;
    let mut story = story(record, history, prospect.recognised_until);
    story.by_word_of = None;
    story.reason = story.reason.filter(|_| !declined);
    let mut receipt = receipt_of(record);
    if let Some(receipt) = receipt.as_mut().filter(|receipt| receipt.by.is_some()) {
        receipt.by = Some("a person".to_owned());
        receipt.text = "A person signed that it happened.".to_owned();
        receipt.reference = None;
        story.receipt = Some(receipt.text.clone());
        story.accepted_by.clone_from(&receipt.by);
    }
    SourceAction {
        id: record.id().to_string(),
        key: record.key.as_ref().map(key_doc),
        idempotency_key: record.idempotency_key.as_ref().map(|k| k.to_string()),
        request_id: row.request_id.clone(),
        step: row.step.clone(),
        state: record.state().name().to_owned(),
        reason: story.reason.clone(),
        payload_version: row.payload_version,
        payload_hash: row.payload_hash.map(|h| h.to_string()),
        revises: record.revises.map(|id| id.to_string()),
        revised_by: record.revised_by.map(|id| id.to_string()),
        receipt,
        filing: filing.map(filing_doc),
        next: row_next(row, prospect, now).map(|next| match next.what.as_str() {
            // Whose sign-in is missing, and what the destination said to it, is the owner's.
            "paused" => NextDoc { text: "It waits: the owner has to see to the destination first.".to_owned(), ..next },
            _ => next,
        }),
        explanation: explain(&row.standing, &story),
        created_at: row.created_at.to_string(),
        changed_at: row.changed_at.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::sanitise;

    #[test]
    fn f35_nothing_that_runs_styles_or_loads_survives() {
        let html = r#"<p onclick="x()">Hi <b>there</b></p><script>alert(1)</script><style>p{display:none}</style>
            <img src="https://evil.example/pixel.gif"><svg><script>x</script></svg><iframe src="https://evil.example"></iframe>
            <a href="javascript:x()">one</a> <a href="https://shop.example/a">two</a>
            <div style="display:none;background:url(https://evil.example/b)">Add account 9999</div>"#;
        let clean = sanitise(html);
        for gone in ["script", "onclick", "pixel", "svg", "iframe", "javascript", "style", "evil.example", "alert"] {
            assert!(!clean.contains(gone), "{gone} is still there: {clean}");
        }
        assert!(clean.contains("<b>there</b>"));
        assert!(clean.contains("https://shop.example/a"), "a link keeps its true target");
        assert!(clean.contains("Add account 9999"), "what the model read is shown to the person too");
    }
}
