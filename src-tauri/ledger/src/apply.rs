//! The only write path for state: read, `advance()`, compare-and-set, append to the journal. All in one transaction.

use crate::rows::{Action, to_json, waits_name};
use crate::tx::{Conn, Write, failed, is_unique, statements};
use crate::types::Waits;
use crate::{Conflict, LedgerError};
use crate::{doors, journal, news};
use countersign_domain::{Fact, State, Timestamp, advance};
use serde_json::{Value, json};

statements! {
    INSERT_ACTION = "INSERT INTO actions (action_key, idempotency_key, environment, destination, effect, source, request_id, step, revision, \
        state, attempts, allowed, crossed_once, crossing, in_doubt, revised, by_word, signed, stale_claims, \
        attempt, worker, not_before, waits, after_action, payload_version, payload_hash, wire_hash, \
        conversation, record_key, newest_sequence, ended_sequence, expires_at, reason, receipt, \
        accepted_at, by_word_of, unknown_since, looks, next_look, first_crossed, last_crossed, revises, \
        revised_by, owner, delivery, event_id, source_version, draft_content, run_id, model, draft_reason, \
        who, email, subject, thread, created_at, changed_at, row_version) \
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, \
        $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35, $36, $37, $38, $39, $40, $41, \
        $42, $43, $44, $45, $46, $47, $48, $49, $50, $51, $52, $53, $54, $55, $56, $57, $58) RETURNING n";
    MOVE_ACTION = "UPDATE actions SET state = $3, attempts = $4, allowed = $5, crossed_once = $6, crossing = $7, in_doubt = $8, \
        revised = $9, by_word = $10, signed = $11, stale_claims = $12, attempt = $13, worker = $14, \
        not_before = $15, waits = $16, payload_version = $17, payload_hash = $18, wire_hash = $19, \
        newest_sequence = $20, ended_sequence = $21, expires_at = $22, reason = $23, receipt = $24, \
        accepted_at = $25, by_word_of = $26, unknown_since = $27, looks = $28, next_look = $29, \
        first_crossed = $30, last_crossed = $31, revised_by = $32, source_version = $33, \
        draft_content = $34, run_id = $35, model = $36, draft_reason = $37, who = $38, email = $39, \
        subject = $40, changed_at = $41, row_version = $42 \
        WHERE n = $1 AND row_version = $2";
    IDENTIFY_ACTION = "UPDATE actions SET action_key = $3, idempotency_key = $4, request_id = $5, event_id = $6, \
        after_action = $7, thread = $8, payload_version = $9, payload_hash = $10, \
        record_key = $11, conversation = $12 WHERE n = $1 AND row_version = $2";
}

/// Lets `fact` happen to `action`: `advance()` decides, `change` fills in what goes with it, and what the customer wrote while
/// it was under way follows. Returns the row as it stands.
pub(crate) async fn apply(
    w: &mut Write,
    action: &Action,
    fact: &Fact,
    change: impl FnOnce(&mut Action),
    details: Value,
    by: &str,
    now: Timestamp,
) -> Result<Action, LedgerError> {
    let next = step(w, action, fact, change, details, by, now).await?;
    news::follow(w, action, next, now).await
}

/// The same without what follows.
pub(crate) async fn step(
    w: &mut Write,
    action: &Action,
    fact: &Fact,
    change: impl FnOnce(&mut Action),
    details: Value,
    by: &str,
    now: Timestamp,
) -> Result<Action, LedgerError> {
    let mut next = action.clone();
    next.standing = advance(&action.standing, fact)?;
    consequences(action, &mut next, fact, now);
    change(&mut next);
    let fact = serde_json::to_value(fact).expect("a fact is a flat object");
    store(w, action, next, fact, details, by, now).await
}

/// Changes what goes with an action without changing its standing; `kind` names the journal row.
pub(crate) async fn touch(
    w: &mut Write,
    action: &Action,
    kind: &'static str,
    change: impl FnOnce(&mut Action),
    details: Value,
    by: &str,
    now: Timestamp,
) -> Result<Action, LedgerError> {
    let mut next = action.clone();
    change(&mut next);
    debug_assert_eq!(next.standing, action.standing, "only apply() moves a standing");
    store(w, action, next, json!({ "fact": kind }), details, by, now).await
}

/// A new action. Its number is given by the database.
pub(crate) async fn insert(
    w: &mut Write,
    mut action: Action,
    details: Value,
    by: &str,
    now: Timestamp,
) -> Result<Action, LedgerError> {
    let a = &action;
    let s = &a.standing;
    let row = sqlx::query(INSERT_ACTION)
        .bind(a.key.as_ref().map(|k| k.canonical()))
        .bind(a.idempotency_key.as_ref().map(|k| k.as_str().to_owned()))
        .bind(a.environment.clone())
        .bind(a.destination.clone())
        .bind(a.effect.clone())
        .bind(a.source.clone())
        .bind(a.request_id.clone())
        .bind(a.step.clone())
        .bind(i64::from(a.revision))
        .bind(s.state.name())
        .bind(i64::from(s.attempts))
        .bind(i64::from(s.allowed))
        .bind(i64::from(s.crossed_once))
        .bind(i64::from(s.crossing))
        .bind(i64::from(s.in_doubt))
        .bind(i64::from(s.revised))
        .bind(i64::from(s.by_word))
        .bind(i64::from(s.signed))
        .bind(i64::from(s.stale_claims))
        .bind(a.attempt)
        .bind(a.worker.clone())
        .bind(a.not_before.millis())
        .bind(waits_name(a.waits))
        .bind(a.after)
        .bind(i64::from(a.payload_version))
        .bind(a.payload_hash.map(|h| h.to_string()))
        .bind(a.wire_hash.map(|h| h.to_string()))
        .bind(a.conversation.map(|h| h.to_string()))
        .bind(a.record_key.clone())
        .bind(i64::from(a.newest_sequence))
        .bind(i64::from(a.ended_sequence))
        .bind(a.expires_at.map(Timestamp::millis))
        .bind(a.reason.clone())
        .bind(a.receipt.as_ref().map(to_json))
        .bind(a.accepted_at.map(Timestamp::millis))
        .bind(a.by_word_of.clone())
        .bind(a.unknown_since.map(Timestamp::millis))
        .bind(i64::from(a.looks))
        .bind(a.next_look.map(Timestamp::millis))
        .bind(a.first_crossed.map(Timestamp::millis))
        .bind(a.last_crossed.map(Timestamp::millis))
        .bind(a.revises)
        .bind(a.revised_by)
        .bind(a.owner.clone())
        .bind(a.delivery)
        .bind(a.event_id.clone())
        .bind(a.source_version.map(|v| v as i64))
        .bind(a.draft_content.clone())
        .bind(a.run_id.clone())
        .bind(a.model.clone())
        .bind(a.draft_reason.clone())
        .bind(a.who.clone())
        .bind(a.email.clone())
        .bind(a.subject.clone())
        .bind(a.thread.clone())
        .bind(a.created_at.millis())
        .bind(a.changed_at.millis())
        .bind(a.row_version)
        .fetch_one(w.conn())
        .await
        .map_err(|e| match is_unique(&e) {
            // Nobody else writes between our look and this insert; only altered rows lead here.
            true => LedgerError::corrupt("action", a.step.clone(), "its key already belongs to another row"),
            false => failed("storing a new action", e),
        })?;
    action.n = crate::rows::Get::int(&row, "n")?;
    let complete = action.standing.state == State::Prepared;
    let details = with_row(details, &action);
    let fact = json!({ "fact": "proposed", "complete": complete, "details": details });
    journal::append(w, now, Some(action.n), fact, by).await?;
    Ok(action)
}

/// What follows from a transition by itself.
fn consequences(before: &Action, next: &mut Action, fact: &Fact, now: Timestamp) {
    let state = next.standing.state;
    if state != State::InProgress {
        next.attempt = None;
        next.worker = None;
    }
    if state != before.standing.state {
        next.reason = None;
        next.not_before = now;
        next.waits = Waits::Nothing;
    }
    if state != State::Accepted {
        next.receipt = None;
        next.accepted_at = None;
    } else if before.standing.state != State::Accepted {
        next.accepted_at = Some(now);
    }
    if !next.standing.by_word {
        next.by_word_of = None;
    }
    if *fact == Fact::Crossed {
        next.first_crossed = next.first_crossed.or(Some(now));
        next.last_crossed = Some(now);
    }
    let doubtful = match state {
        State::Unknown | State::ClosedUnknown => true,
        State::InProgress => next.standing.in_doubt,
        State::Prepared
        | State::NeedsReview
        | State::Approved
        | State::Accepted
        | State::Refused
        | State::GaveUp
        | State::Rejected
        | State::Superseded => false,
    };
    if !doubtful {
        next.unknown_since = None;
        next.next_look = None;
    } else if next.unknown_since.is_none() {
        next.unknown_since = Some(now);
        next.looks = 0;
        next.next_look = Some(now);
    }
    if state == State::ClosedUnknown {
        next.next_look = None;
    }
    let first_of_two = matches!(fact, Fact::Approved { complete: false, .. });
    let ends_approvals = match state {
        State::Prepared | State::NeedsReview | State::Rejected | State::Superseded => !first_of_two,
        State::Approved
        | State::InProgress
        | State::Accepted
        | State::Unknown
        | State::Refused
        | State::GaveUp
        | State::ClosedUnknown => false,
    };
    if ends_approvals {
        next.ended_sequence = next.newest_sequence;
        next.expires_at = None;
        if !next.standing.crossed_once {
            next.wire_hash = None;
        }
    }
}

fn with_row(mut details: Value, action: &Action) -> Value {
    if details.is_null() {
        details = json!({});
    }
    details["row"] = Value::String(action.digest());
    details
}

/// A row that differs from what the journal wrote down last is not built upon: the next digest would make the alteration
/// look like ours.
pub(crate) async fn unaltered(conn: &mut Conn, action: &Action) -> Result<(), LedgerError> {
    let last = journal::last_of_action(conn, action.n).await?;
    told_last(action, last)
}

/// Compares a row with the last thing the journal tells of it.
pub(crate) fn told_last(action: &Action, last: Option<journal::Stored>) -> Result<(), LedgerError> {
    let broken = |why: &str| LedgerError::corrupt("state", action.id(), why);
    let last = last.ok_or_else(|| broken("the journal knows nothing of it"))?;
    if !last.holds() {
        return Err(LedgerError::corrupt("journal", last.row.entry.seq, "its hash does not fit its content"));
    }
    match last.row.entry.fact["details"]["row"].as_str() {
        Some(digest) if digest == action.digest() => Ok(()),
        _ => Err(broken("a column differs from what the journal wrote down")),
    }
}

/// `before` is the row as it was read in this transaction.
async fn store(
    w: &mut Write,
    before: &Action,
    mut next: Action,
    mut fact: Value,
    details: Value,
    by: &str,
    now: Timestamp,
) -> Result<Action, LedgerError> {
    if w.intact != Some((before.n, before.row_version)) {
        unaltered(w.conn(), before).await?;
    }
    next.changed_at = now;
    next.row_version = before.row_version + 1;
    let identity = |a: &Action| {
        (
            a.key.clone(),
            a.request_id.clone(),
            a.event_id.clone(),
            a.after,
            a.thread.clone(),
            a.record_key.clone(),
            a.conversation,
        )
    };
    let mut hit = 1;
    if identity(before) != identity(&next) {
        let a = &next;
        hit = sqlx::query(IDENTIFY_ACTION)
            .bind(a.n)
            .bind(before.row_version)
            .bind(a.key.as_ref().map(|k| k.canonical()))
            .bind(a.idempotency_key.as_ref().map(|k| k.as_str().to_owned()))
            .bind(a.request_id.clone())
            .bind(a.event_id.clone())
            .bind(a.after)
            .bind(a.thread.clone())
            .bind(i64::from(a.payload_version))
            .bind(a.payload_hash.map(|h| h.to_string()))
            .bind(a.record_key.clone())
            .bind(a.conversation.map(|h| h.to_string()))
            .execute(w.conn())
            .await
            .map_err(|e| failed("identifying an action", e))?
            .rows_affected();
    }
    let a = &next;
    let s = &a.standing;
    hit = hit.min(
        sqlx::query(MOVE_ACTION)
            .bind(a.n)
            .bind(before.row_version)
            .bind(s.state.name())
            .bind(i64::from(s.attempts))
            .bind(i64::from(s.allowed))
            .bind(i64::from(s.crossed_once))
            .bind(i64::from(s.crossing))
            .bind(i64::from(s.in_doubt))
            .bind(i64::from(s.revised))
            .bind(i64::from(s.by_word))
            .bind(i64::from(s.signed))
            .bind(i64::from(s.stale_claims))
            .bind(a.attempt)
            .bind(a.worker.clone())
            .bind(a.not_before.millis())
            .bind(waits_name(a.waits))
            .bind(i64::from(a.payload_version))
            .bind(a.payload_hash.map(|h| h.to_string()))
            .bind(a.wire_hash.map(|h| h.to_string()))
            .bind(i64::from(a.newest_sequence))
            .bind(i64::from(a.ended_sequence))
            .bind(a.expires_at.map(Timestamp::millis))
            .bind(a.reason.clone())
            .bind(a.receipt.as_ref().map(to_json))
            .bind(a.accepted_at.map(Timestamp::millis))
            .bind(a.by_word_of.clone())
            .bind(a.unknown_since.map(Timestamp::millis))
            .bind(i64::from(a.looks))
            .bind(a.next_look.map(Timestamp::millis))
            .bind(a.first_crossed.map(Timestamp::millis))
            .bind(a.last_crossed.map(Timestamp::millis))
            .bind(a.revised_by)
            .bind(a.source_version.map(|v| v as i64))
            .bind(a.draft_content.clone())
            .bind(a.run_id.clone())
            .bind(a.model.clone())
            .bind(a.draft_reason.clone())
            .bind(a.who.clone())
            .bind(a.email.clone())
            .bind(a.subject.clone())
            .bind(a.changed_at.millis())
            .bind(a.row_version)
            .execute(w.conn())
            .await
            .map_err(|e| failed("moving an action", e))?
            .rows_affected(),
    );
    if hit == 0 {
        // The compare-and-set found another version: somebody was first. Nothing of ours is kept.
        let current = Action::get(w.conn(), before.id()).await?;
        return Err(Conflict::VersionMoved { current: current.payload_version }.into());
    }
    fact["details"] = with_row(details, &next);
    let told = journal::append(w, now, Some(next.n), fact, by).await?;
    doors::queue(w, before, &next, told, now).await?;
    w.intact = Some((next.n, next.row_version));
    Ok(next)
}
