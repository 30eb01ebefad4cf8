//! What a delivery means for each of its actions, before anything is written: new, known, newer, older, not allowed.

use crate::content::{self, content_hash};
use crate::rows::{Action, Get, action_columns};
use crate::script::say;
use crate::tx::{Conn, Write, failed, statements};
use crate::types::{DestinationRecord, SourceRecord};
use crate::{LedgerError, directory, journal, news};
use countersign_domain::proposal::ProposedAction;
use countersign_domain::{ActionId, ActionKey, Disposition, Proposal, State};
use sqlx::any::AnyRow;

statements! {
    EVENT = "SELECT delivery, content_hash FROM events WHERE source = $1 AND event_id = $2";
    TAKEN_OF_DELIVERY = "SELECT position, action FROM delivery_actions WHERE delivery = $1 ORDER BY position";
    // Rows that wait for an identity and came from exactly this document.
    WAITING = "SELECT da.position, da.action, d.n AS delivery FROM deliveries d \
        JOIN delivery_actions da ON da.delivery = d.n JOIN actions a ON a.n = da.action \
        WHERE d.source = $1 AND d.content_hash = $2 AND d.event_id IS NULL AND d.first IS NULL \
        AND a.state = 'needs_review' AND a.action_key IS NULL ORDER BY d.n DESC, da.position";
    NEWEST_REVISION = concat!("SELECT ", action_columns!(), " FROM actions WHERE source = $1 AND request_id = $2 \
        AND step = $3 AND environment = $4 AND destination = $5 AND effect = $6 AND action_key IS NOT NULL \
        ORDER BY revision DESC LIMIT 1");
}

/// What is to be done about one proposed action.
#[derive(Clone, Debug)]
pub(crate) enum Plan {
    /// A new action. Without a key while an identity is missing.
    New { key: Option<ActionKey>, reason: Option<String> },
    /// Next payload version of the same action. `reorders`: what it waits for is what this proposal says, too.
    Redraft { current: Box<Action>, reorders: bool },
    /// Recorded; the draft stays as it is. `news`: the customer wrote again since the action got its conversation.
    Record { disposition: Disposition, action: Option<Box<Action>>, reason: Option<String>, news: bool },
}

impl Plan {
    fn record(disposition: Disposition, action: Option<Action>, reason: impl Into<String>) -> Plan {
        Plan::Record { disposition, action: action.map(Box::new), reason: Some(reason.into()), news: false }
    }
    pub(crate) fn disposition(&self) -> Disposition {
        match self {
            Plan::New { key: Some(_), .. } => Disposition::Created,
            Plan::New { key: None, .. } => Disposition::NeedsReview,
            Plan::Redraft { .. } => Disposition::DraftReplaced,
            Plan::Record { disposition, .. } => *disposition,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Plans {
    pub actions: Vec<Plan>,
    /// Where each of them is to go, if there is such a destination.
    pub destinations: Vec<Option<DestinationRecord>>,
    /// The delivery this one repeats.
    pub first: Option<i64>,
}

fn present(id: &Option<String>) -> Option<&str> {
    id.as_deref().filter(|t| !t.is_empty())
}

pub(crate) fn key_of(p: &Proposal, s: &SourceRecord, a: &ProposedAction) -> Option<ActionKey> {
    present(&p.event_id)?;
    Some(ActionKey {
        environment: s.environment.clone(),
        destination: a.destination.clone(),
        effect: a.effect.clone(),
        source: s.name.clone(),
        request_id: present(&p.request_id)?.to_owned(),
        step: a.step.clone(),
        revision: ActionKey::FIRST_REVISION,
    })
}

/// Decides for every action; writes nothing.
pub(crate) async fn plan(w: &mut Write, p: &Proposal, s: &SourceRecord) -> Result<Plans, LedgerError> {
    // Asked at once: the journal's head, the event, and of each action its destination and what its key has already.
    let event = present(&p.event_id).unwrap_or_default();
    let mut script =
        vec![say!("reading the journal's head", journal::HEAD), say!("looking for the event", EVENT, &s.name, event)];
    for action in &p.actions {
        let request = present(&p.request_id).unwrap_or_default();
        script.push(say!("reading a destination", directory::DESTINATION, &action.destination));
        script.push(say!(
            "looking for the action",
            NEWEST_REVISION,
            &s.name,
            request,
            &action.step,
            &s.environment,
            &action.destination,
            &action.effect,
        ));
    }
    let mut answers = w.ask_all(script).await?.into_iter();
    let mut next = || answers.next().unwrap_or_default();
    w.head = Some(journal::read_head(next().one("reading the journal's head")?)?);
    let known = next();
    let asked: Vec<_> = p.actions.iter().map(|action| (action, next(), next())).collect();
    let conn = w.conn().await?;
    if let Some(row) = known.first().filter(|_| !event.is_empty()) {
        return repeated_event(conn, p, row.int("delivery")?, row.text("content_hash")?).await;
    }
    let mut plans = Plans { actions: Vec::new(), destinations: Vec::new(), first: None };
    for (action, there, newest) in asked {
        let there = there.first().map(directory::read_destination).transpose()?;
        let next = match permitted(s, &action.effect, &action.destination, there.as_ref()) {
            Some(why) => Plan::record(Disposition::NotPermitted, None, why),
            None => match key_of(p, s, action) {
                Some(key) => known_request(conn, p, action, key, newest.first()).await?,
                None => Plan::New { key: None, reason: Some(missing(p)) },
            },
        };
        plans.actions.push(next);
        plans.destinations.push(there);
    }
    if present(&p.event_id).is_none() {
        join_waiting(conn, p, s, &mut plans).await?;
    }
    for position in 0..plans.actions.len() {
        if waits_in_a_circle(conn, p, &plans, position).await? {
            let Plan::Redraft { current, .. } = &plans.actions[position] else { continue };
            let why = "it would wait for an action that waits for it";
            plans.actions[position] = Plan::record(Disposition::Conflict, Some(current.as_ref().clone()), why);
        }
    }
    for plan in &mut plans.actions {
        let Plan::Record { disposition: Disposition::Duplicate | Disposition::LateDraft, action, news, .. } = plan
        else {
            continue;
        };
        if let Some(current) = action {
            *news = wrote_again(conn, p, current).await?;
        }
    }
    let refused = |plan: &Plan| matches!(plan.disposition(), Disposition::NotPermitted | Disposition::Conflict);
    if plans.actions.iter().any(refused) {
        // Whole or not at all.
        for plan in plans.actions.iter_mut().filter(|p| !refused(p)) {
            *plan = Plan::record(Disposition::NotTaken, None, "another action of the same proposal was not taken");
        }
    }
    Ok(plans)
}

fn missing(p: &Proposal) -> String {
    match (present(&p.event_id), present(&p.request_id)) {
        (None, None) => "event_id and request_id are missing",
        (None, Some(_)) => "event_id is missing",
        (Some(_), _) => "request_id is missing",
    }
    .to_owned()
}

/// Why the source may not propose this effect at this destination; None if it may.
pub(crate) fn permitted(
    s: &SourceRecord,
    effect: &str,
    destination: &str,
    there: Option<&DestinationRecord>,
) -> Option<String> {
    if s.revoked_at.is_some() {
        return Some(format!("the source {} was revoked", s.name));
    }
    if !s.effects.iter().any(|e| e == effect) {
        return Some(format!("the source {} may not propose {effect}", s.name));
    }
    if !s.destinations.iter().any(|d| d == destination) {
        return Some(format!("the source {} may not use the destination {destination}", s.name));
    }
    match there {
        Some(d) if d.removed_at.is_some() => Some(format!("the destination {destination} was removed")),
        Some(d) if d.environment != s.environment => {
            Some(format!("the destination {destination} is not in the environment {}", s.environment))
        }
        Some(_) => None,
        None => Some(format!("there is no destination {destination}")),
    }
}

/// The same event again: what the first delivery led to, or a conflict.
async fn repeated_event(conn: &mut Conn, p: &Proposal, first: i64, content: String) -> Result<Plans, LedgerError> {
    let taken = sqlx::query(TAKEN_OF_DELIVERY)
        .bind(first)
        .fetch_all(&mut *conn)
        .await
        .map_err(|e| failed("reading the first delivery", e))?;
    let mut actions = Vec::new();
    for (position, _) in p.actions.iter().enumerate() {
        let known = taken.iter().find(|r| r.int("position").is_ok_and(|n| n == position as i64));
        let action = match known.map(|r| r.int_or_null("action")).transpose()?.flatten() {
            Some(n) => Some(newest_of(conn, n).await?),
            None => None,
        };
        actions.push(if content == p.content_hash {
            Plan::record(Disposition::Duplicate, action, "this event was delivered before")
        } else {
            Plan::record(Disposition::Conflict, action, "this event_id was used with other content")
        });
    }
    let destinations = vec![None; actions.len()];
    Ok(Plans { actions, destinations, first: (content == p.content_hash).then_some(first) })
}

/// The last revision that follows an action.
async fn newest_of(conn: &mut Conn, n: i64) -> Result<Action, LedgerError> {
    let mut action = Action::get(conn, ActionId(n)).await?;
    while let Some(next) = action.revised_by {
        action = Action::get(conn, ActionId(next)).await?;
    }
    Ok(action)
}

/// Another event for a request and step, whose `newest` action that is: new, the same draft, a newer one, a late or a stale one.
async fn known_request(
    conn: &mut Conn,
    p: &Proposal,
    proposed: &ProposedAction,
    key: ActionKey,
    newest: Option<&AnyRow>,
) -> Result<Plan, LedgerError> {
    let Some(row) = newest else { return Ok(Plan::New { key: Some(key), reason: None }) };
    let current = Action::read(row)?;
    let content = content_hash(&proposed.payload);
    let shown = crate::content::payload(conn, current.n, current.payload_version).await?;
    let may_change = current.standing.state == State::Prepared && !current.standing.crossed_once;
    let reorders = may_change && other_order(conn, p, proposed, &current).await?;
    if !reorders && (content == current.draft_content || content == shown.content) {
        return Ok(Plan::record(Disposition::Duplicate, Some(current), "the same draft is known already"));
    }
    if let (Some(theirs), Some(ours)) = (p.source_version, current.source_version)
        && theirs < ours
    {
        let why = format!("source version {theirs} is older than {ours}, which is known already");
        return Ok(Plan::record(Disposition::Stale, Some(current), why));
    }
    if may_change {
        return Ok(Plan::Redraft { current: Box::new(current), reorders });
    }
    let why = format!("the action is {} already; the draft was recorded and changes nothing", current.standing.state);
    Ok(Plan::record(Disposition::LateDraft, Some(current), why))
}

/// Whether this proposal lets the action wait for another one than it does. One that does not even name the action it waits
/// for says nothing about its order.
async fn other_order(
    conn: &mut Conn,
    p: &Proposal,
    proposed: &ProposedAction,
    current: &Action,
) -> Result<bool, LedgerError> {
    let waits_for = match current.after {
        Some(n) => Some(Action::get(conn, ActionId(n)).await?.step),
        None => None,
    };
    Ok(match (&proposed.after, waits_for) {
        (Some(wanted), Some(step)) => *wanted != step,
        (Some(_), None) => true,
        (None, Some(step)) => p.actions.iter().any(|a| a.step == step),
        (None, None) => false,
    })
}

/// Whether the new order of one action leads over what stands already back to that action: both would wait for ever.
async fn waits_in_a_circle(conn: &mut Conn, p: &Proposal, plans: &Plans, start: usize) -> Result<bool, LedgerError> {
    let Plan::Redraft { current, reorders: true } = &plans.actions[start] else { return Ok(false) };
    let mut position = start;
    // A proposal whose own steps go in a circle was refused when it was read.
    for _ in 0..p.actions.len() {
        let Some(step) = &p.actions[position].after else { return Ok(false) };
        let Some(next) = p.actions.iter().position(|a| a.step == *step) else { return Ok(false) };
        let stands = match &plans.actions[next] {
            Plan::New { .. } | Plan::Redraft { reorders: true, .. } => {
                position = next;
                continue;
            }
            Plan::Redraft { current, reorders: false } => current,
            Plan::Record { action: Some(action), .. } => action,
            Plan::Record { action: None, .. } => return Ok(false),
        };
        let mut after = stands.after;
        while let Some(n) = after.filter(|n| *n != current.n) {
            after = Action::get(conn, ActionId(n)).await?.after;
        }
        return Ok(after.is_some());
    }
    Ok(false)
}

/// Whether this delivery brings another conversation than the one that an action which can still go was drafted and is read
/// with. What is older than that, by the source's own word, is no news.
async fn wrote_again(conn: &mut Conn, p: &Proposal, current: &Action) -> Result<bool, LedgerError> {
    let can_go = match current.standing.state {
        State::Prepared
        | State::NeedsReview
        | State::Approved
        | State::InProgress
        | State::Unknown
        | State::ClosedUnknown
        | State::Refused
        | State::GaveUp => true,
        State::Accepted | State::Rejected | State::Superseded => false,
    };
    if !can_go {
        return Ok(false);
    }
    let newest = news::waiting(conn, current).await?.or(current.conversation);
    let Some(told) = p.conversation.as_ref().filter(|c| Some(c.hash()) != newest) else {
        return Ok(false);
    };
    if matches!((p.source_version, current.source_version), (Some(theirs), Some(ours)) if theirs < ours) {
        return Ok(false);
    }
    let known = match newest {
        Some(hash) => content::conversation_at(conn, current.id(), hash).await?.and_then(|known| known.received_at),
        None => None,
    };
    Ok(!matches!((told.received_at, known), (Some(theirs), Some(ours)) if theirs < ours))
}

/// Repeats without an event id and with the same content join the rows that still wait for their identity.
async fn join_waiting(conn: &mut Conn, p: &Proposal, s: &SourceRecord, plans: &mut Plans) -> Result<(), LedgerError> {
    let rows = sqlx::query(WAITING)
        .bind(s.name.clone())
        .bind(p.content_hash.clone())
        .fetch_all(&mut *conn)
        .await
        .map_err(|e| failed("looking for waiting rows", e))?;
    for (position, plan) in plans.actions.iter_mut().enumerate() {
        if !matches!(plan, Plan::New { key: None, .. }) {
            continue;
        }
        let Some(row) = rows.iter().find(|r| r.int("position").is_ok_and(|n| n == position as i64)) else { continue };
        let waiting = Action::get(conn, ActionId(row.int("action")?)).await?;
        plans.first = Some(row.int("delivery")?);
        *plan = Plan::record(Disposition::Duplicate, Some(waiting), "the same proposal waits for its identity already");
    }
    Ok(())
}
