//! The only write path for state: read, `advance()`, compare-and-set, append to the journal. All in one transaction.

use crate::rows::{Action, to_json, waits_name};
use crate::script::say;
use crate::tx::{Conn, Write, statements};
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
    // Turned down by that table's own check where the action is not at this version any more, and with it the transaction.
    STILL_THERE = "INSERT INTO ledger_head (one, seq, hash) SELECT 0, 0, '' \
        WHERE NOT EXISTS (SELECT 1 FROM actions WHERE n = $1 AND row_version = $2)";
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
    let said = say!(
        "storing a new action",
        INSERT_ACTION,
        a.key.as_ref().map(|k| k.canonical()),
        a.idempotency_key.as_ref().map(|k| k.as_str().to_owned()),
        &a.environment,
        &a.destination,
        &a.effect,
        &a.source,
        &a.request_id,
        &a.step,
        a.revision,
        s.state.name(),
        s.attempts,
        s.allowed,
        s.crossed_once,
        s.crossing,
        s.in_doubt,
        s.revised,
        s.by_word,
        s.signed,
        s.stale_claims,
        a.attempt,
        &a.worker,
        a.not_before.millis(),
        waits_name(a.waits),
        a.after,
        a.payload_version,
        a.payload_hash.map(|h| h.to_string()),
        a.wire_hash.map(|h| h.to_string()),
        a.conversation.map(|h| h.to_string()),
        &a.record_key,
        a.newest_sequence,
        a.ended_sequence,
        a.expires_at.map(Timestamp::millis),
        &a.reason,
        a.receipt.as_ref().map(to_json),
        a.accepted_at.map(Timestamp::millis),
        &a.by_word_of,
        a.unknown_since.map(Timestamp::millis),
        a.looks,
        a.next_look.map(Timestamp::millis),
        a.first_crossed.map(Timestamp::millis),
        a.last_crossed.map(Timestamp::millis),
        a.revises,
        a.revised_by,
        &a.owner,
        a.delivery,
        &a.event_id,
        a.source_version.map(|v| v as i64),
        &a.draft_content,
        &a.run_id,
        &a.model,
        &a.draft_reason,
        &a.who,
        &a.email,
        &a.subject,
        &a.thread,
        a.created_at.millis(),
        a.changed_at.millis(),
        a.row_version,
    );
    // Nobody else writes between our look and this insert; only altered rows lead here.
    let clash = LedgerError::corrupt("action", &a.step, "its key already belongs to another row");
    let [answer] = w.ask([said.clashing(clash)]).await?;
    let row = answer.one("storing a new action")?;
    action.n = crate::rows::Get::int(row, "n")?;
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
        unaltered(w.conn().await?, before).await?;
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
    // Under the write lock nobody else was first; where the row is another one all the same, nothing of ours is kept.
    let moved = || Conflict::VersionMoved { current: before.payload_version };
    w.later(say!("moving an action", STILL_THERE, before.n, before.row_version).clashing(moved()));
    let a = &next;
    if identity(before) != identity(&next) {
        w.later(say!(
            "identifying an action",
            IDENTIFY_ACTION,
            a.n,
            before.row_version,
            a.key.as_ref().map(|k| k.canonical()),
            a.idempotency_key.as_ref().map(|k| k.as_str().to_owned()),
            &a.request_id,
            &a.event_id,
            a.after,
            &a.thread,
            a.payload_version,
            a.payload_hash.map(|h| h.to_string()),
            &a.record_key,
            a.conversation.map(|h| h.to_string()),
        ));
    }
    let s = &a.standing;
    w.later(say!(
        "moving an action",
        MOVE_ACTION,
        a.n,
        before.row_version,
        s.state.name(),
        s.attempts,
        s.allowed,
        s.crossed_once,
        s.crossing,
        s.in_doubt,
        s.revised,
        s.by_word,
        s.signed,
        s.stale_claims,
        a.attempt,
        &a.worker,
        a.not_before.millis(),
        waits_name(a.waits),
        a.payload_version,
        a.payload_hash.map(|h| h.to_string()),
        a.wire_hash.map(|h| h.to_string()),
        a.newest_sequence,
        a.ended_sequence,
        a.expires_at.map(Timestamp::millis),
        &a.reason,
        a.receipt.as_ref().map(to_json),
        a.accepted_at.map(Timestamp::millis),
        &a.by_word_of,
        a.unknown_since.map(Timestamp::millis),
        a.looks,
        a.next_look.map(Timestamp::millis),
        a.first_crossed.map(Timestamp::millis),
        a.last_crossed.map(Timestamp::millis),
        a.revised_by,
        a.source_version.map(|v| v as i64),
        &a.draft_content,
        &a.run_id,
        &a.model,
        &a.draft_reason,
        &a.who,
        &a.email,
        &a.subject,
        a.changed_at.millis(),
        a.row_version,
    ));
    fact["details"] = with_row(details, &next);
    let told = journal::append(w, now, Some(next.n), fact, by).await?;
    doors::queue(w, before, &next, told, now);
    w.intact = Some((next.n, next.row_version));
    Ok(next)
}
