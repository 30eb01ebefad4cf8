//! Phase: take in a proposal. Whole or not at all, every delivery recorded, never a second action for a key.

use crate::content::{self, Face, NewPayload, content_hash, face};
use crate::repeats::{self, Plan, Plans};
use crate::rows::{Action, Get};
use crate::script::say;
use crate::tx::{Durable, Write, statements};
use crate::types::{DestinationRecord, Received, ReceivedAction, SourceRecord, Waits};
use crate::{Ledger, LedgerError, apply, journal, news, whole};
use countersign_domain::proposal::ProposedAction;
use countersign_domain::{
    ActionKey, ConversationHash, DeliveryId, Disposition, Fact, LedgerSecret, PersonId, Proposal, Sealed, Standing,
    State, Timestamp,
};
use serde_json::json;

statements! {
    PUT_DELIVERY = "INSERT INTO deliveries (source, environment, event_id, request_id, source_version, content_hash, at, \
        disposition, reason, first, run_id, model, draft_reason) \
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) RETURNING n";
    PUT_EVENT = "INSERT INTO events (source, event_id, delivery, content_hash) VALUES ($1, $2, $3, $4)";
    PUT_DELIVERY_ACTION = "INSERT INTO delivery_actions (delivery, position, step, action, disposition, reason, \
        payload_version) VALUES ($1, $2, $3, $4, $5, $6, $7)";
}

/// What the sentence about a whole delivery is: the weightiest of its actions' dispositions.
const WEIGHT: [Disposition; 9] = [
    Disposition::Conflict,
    Disposition::NotPermitted,
    Disposition::NotTaken,
    Disposition::NeedsReview,
    Disposition::Created,
    Disposition::DraftReplaced,
    Disposition::LateDraft,
    Disposition::Stale,
    Disposition::Duplicate,
];

struct Intake<'a> {
    p: &'a Proposal,
    s: &'a SourceRecord,
    secret: &'a LedgerSecret,
    owner: &'a PersonId,
    now: Timestamp,
    delivery: i64,
    /// Of the whole delivery, as stored.
    disposition: Disposition,
    reason: Option<String>,
    conversation: Option<ConversationHash>,
}

impl Ledger {
    /// Takes in a proposal. Conflicts, refusals and repeats are answers, not errors: each is recorded.
    pub async fn receive(
        &self,
        p: &Proposal,
        s: &SourceRecord,
        secret: &LedgerSecret,
        owner: &PersonId,
        now: Timestamp,
    ) -> Result<Received, LedgerError> {
        let mut w = self.pools().write("taking in a proposal", Durable::Full).await?;
        let plans = repeats::plan(&mut w, p, s).await?;
        let (delivery, disposition, reason) = put_delivery(&mut w, p, s, &plans, now).await?;
        let mut intake = Intake { p, s, secret, owner, now, delivery, disposition, reason, conversation: None };
        let taken = !plans.actions.iter().any(|a| {
            matches!(a.disposition(), Disposition::Conflict | Disposition::NotPermitted | Disposition::NotTaken)
        });
        if taken {
            intake.keep_conversation(&mut w, &plans);
        }
        let actions = intake.take(&mut w, &plans).await?;
        intake.record(&mut w, &plans, &actions, taken).await?;
        w.commit("taking in a proposal").await?;
        Ok(Received { delivery: DeliveryId(delivery), actions })
    }
}

async fn put_delivery(
    w: &mut Write,
    p: &Proposal,
    s: &SourceRecord,
    plans: &Plans,
    now: Timestamp,
) -> Result<(i64, Disposition, Option<String>), LedgerError> {
    let whole = WEIGHT
        .into_iter()
        .find(|d| plans.actions.iter().any(|a| a.disposition() == *d))
        .unwrap_or(Disposition::NotTaken);
    let reason = plans.actions.iter().find(|a| a.disposition() == whole).and_then(|a| match a {
        Plan::New { reason, .. } | Plan::Record { reason, .. } => reason.clone(),
        Plan::Redraft { .. } => None,
    });
    let doing = "recording a delivery";
    let put = say!(
        doing,
        PUT_DELIVERY,
        &s.name,
        &s.environment,
        p.event_id.clone().filter(|t| !t.is_empty()),
        p.request_id.clone().filter(|t| !t.is_empty()),
        p.source_version.map(|v| v as i64),
        &p.content_hash,
        now.millis(),
        whole.name(),
        &reason,
        plans.first,
        &p.draft.run_id,
        &p.draft.model,
        &p.draft.reason,
    );
    let [put] = w.ask([put]).await?;
    Ok((put.one(doing)?.int("n")?, whole, reason))
}

impl Intake<'_> {
    fn by(&self) -> String {
        format!("source {}", self.s.name)
    }

    fn keep_conversation(&mut self, w: &mut Write, plans: &Plans) {
        let Some(conversation) = &self.p.conversation else { return };
        let takes =
            |plan: &Plan| matches!(plan, Plan::New { .. } | Plan::Redraft { .. } | Plan::Record { news: true, .. });
        if !plans.actions.iter().any(takes) {
            return;
        }
        self.conversation = Some(content::put_conversation(w, conversation));
        if let Some(from) = &conversation.from {
            content::know(w, &self.s.environment, &from.email, 0);
        }
    }

    /// Carries the plans out, each action after the one it waits for.
    async fn take(&self, w: &mut Write, plans: &Plans) -> Result<Vec<ReceivedAction>, LedgerError> {
        let mut done: Vec<Option<ReceivedAction>> = vec![None; plans.actions.len()];
        while done.iter().any(Option::is_none) {
            let before = done.iter().flatten().count();
            for (position, plan) in plans.actions.iter().enumerate() {
                if done[position].is_some() {
                    continue;
                }
                let proposed = &self.p.actions[position];
                let waits_for = match (&proposed.after, plan) {
                    (Some(step), Plan::New { .. } | Plan::Redraft { reorders: true, .. }) => {
                        match self.p.actions.iter().position(|a| a.step == *step).map(|i| &done[i]) {
                            Some(Some(other)) => other.action,
                            Some(None) => continue,
                            None => return Err(LedgerError::not_found("step", step)),
                        }
                    }
                    _ => None,
                };
                let there = plans.destinations[position].as_ref();
                done[position] = Some(self.take_one(w, proposed, there, plan, waits_for.map(|a| a.0)).await?);
            }
            if done.iter().flatten().count() == before {
                return Err(LedgerError::not_found("step that another may follow", "in this proposal"));
            }
        }
        Ok(done.into_iter().flatten().collect())
    }

    async fn take_one(
        &self,
        w: &mut Write,
        proposed: &ProposedAction,
        there: Option<&DestinationRecord>,
        plan: &Plan,
        after: Option<i64>,
    ) -> Result<ReceivedAction, LedgerError> {
        let face = || face(there.map(|d| &d.account), &proposed.payload);
        let (action, reason) = match plan {
            Plan::New { key, reason } => {
                (Some(self.create(w, proposed, face(), key.clone(), reason.clone(), after).await?), reason.clone())
            }
            Plan::Redraft { current, reorders } => {
                (Some(self.redraft(w, proposed, face(), current, reorders.then_some(after)).await?), None)
            }
            Plan::Record { disposition, action, reason, news } => {
                let mut action = action.as_deref().cloned();
                if *disposition == Disposition::Duplicate
                    && let Some(known) = &action
                    && self.p.source_version > known.source_version
                    && known.key.is_some()
                {
                    // What is known is now known to be this new, so that something older cannot replace it.
                    let version = self.p.source_version;
                    let set = |a: &mut Action| a.source_version = version;
                    let details = json!({ "source_version": version, "delivery": self.delivery });
                    action = Some(apply::touch(w, known, "seen_again", set, details, &self.by(), self.now).await?);
                }
                if *news && let Some(known) = &action {
                    action = Some(self.wrote_again(w, known).await?);
                }
                (action, reason.clone())
            }
        };
        Ok(ReceivedAction {
            step: proposed.step.clone(),
            action: action.as_ref().map(Action::id),
            key: action.as_ref().and_then(|a| a.key.clone()),
            idempotency_key: action.as_ref().and_then(|a| a.idempotency_key.clone()),
            disposition: plan.disposition(),
            state: action.as_ref().map(|a| a.standing.state),
            payload_hash: action.as_ref().and_then(|a| a.payload_hash),
            payload_version: action.as_ref().map(|a| a.payload_version),
            reason,
        })
    }

    async fn create(
        &self,
        w: &mut Write,
        proposed: &ProposedAction,
        face: Face,
        key: Option<ActionKey>,
        reason: Option<String>,
        after: Option<i64>,
    ) -> Result<Action, LedgerError> {
        let sealed = key.as_ref().map(|k| Sealed::seal(k.clone(), 1, proposed.payload.clone()));
        let hash = sealed.as_ref().map(Sealed::hash);
        let people = face.people.clone();
        let content = content_hash(&proposed.payload);
        let mut action = Action {
            n: 0,
            idempotency_key: key.as_ref().map(|k| k.idempotency_key(self.secret)),
            environment: self.s.environment.clone(),
            destination: proposed.destination.clone(),
            effect: proposed.effect.clone(),
            source: self.s.name.clone(),
            request_id: self.p.request_id.clone().filter(|t| !t.is_empty()),
            step: proposed.step.clone(),
            revision: ActionKey::FIRST_REVISION,
            standing: Standing::proposed(key.is_some()),
            attempt: None,
            worker: None,
            not_before: self.now,
            waits: Waits::Nothing,
            after,
            payload_version: 1,
            payload_hash: hash,
            wire_hash: None,
            conversation: self.conversation,
            record_key: face.record_key.clone(),
            newest_sequence: 0,
            ended_sequence: 0,
            expires_at: None,
            reason,
            receipt: None,
            accepted_at: None,
            by_word_of: None,
            unknown_since: None,
            looks: 0,
            next_look: None,
            first_crossed: None,
            last_crossed: None,
            revises: None,
            revised_by: None,
            owner: self.owner.0.clone(),
            delivery: self.delivery,
            event_id: self.p.event_id.clone().filter(|t| !t.is_empty()),
            source_version: self.p.source_version,
            draft_content: content.clone(),
            run_id: self.p.draft.run_id.clone(),
            model: self.p.draft.model.clone(),
            draft_reason: self.p.draft.reason.clone(),
            who: String::new(),
            email: String::new(),
            subject: String::new(),
            thread: None,
            created_at: self.now,
            changed_at: self.now,
            row_version: 1,
            key,
        };
        face.put_on(&mut action);
        let by = self.by();
        let details = json!({
            "delivery": self.delivery, "after": after,
            "payload": { "version": 1, "hash": hash, "content": content },
        });
        let action = apply::insert(w, action, details, &by, self.now).await?;
        let new = NewPayload { action: action.n, version: 1, payload: &proposed.payload, hash, by: &by };
        content::put_payload(w, new, self.now);
        content::put_people(w, action.n, &people);
        Ok(action)
    }

    /// The customer wrote again and the draft is what it was: the action gets the newer conversation, and whoever approved
    /// it has to read that first. What is under way or in doubt gets it when that has ended ([`news`]).
    async fn wrote_again(&self, w: &mut Write, current: &Action) -> Result<Action, LedgerError> {
        let (by, conversation) = (self.by(), self.conversation);
        let mut details = json!({ "delivery": self.delivery, "news": true });
        let set = |a: &mut Action| a.conversation = conversation;
        match current.standing.state {
            State::Approved => {
                let why = "the customer wrote again after this was approved; read it, then decide anew";
                details["reason"] = json!(why);
                let change = |a: &mut Action| {
                    set(a);
                    a.reason = Some(why.to_owned());
                };
                apply::apply(w, current, &Fact::SituationChanged, change, details, &by, self.now).await
            }
            // Ends a first approval of two.
            State::Prepared if !current.standing.crossed_once => {
                apply::apply(w, current, &Fact::Redrafted, set, details, &by, self.now).await
            }
            // What its approval was signed with stays as long as somebody may ask what became of it.
            state if news::is_held(state) => {
                details["conversation"] = json!(conversation);
                apply::touch(w, current, "wrote_again", |_| {}, details, &by, self.now).await
            }
            _ => {
                let set = |a: &mut Action| {
                    set(a);
                    // So does a first approval of two of the stored wire.
                    if a.standing.signed > 0 {
                        a.ended_sequence = a.newest_sequence;
                    }
                };
                apply::touch(w, current, "wrote_again", set, details, &by, self.now).await
            }
        }
    }

    /// R07: a newer draft for an action that nobody has approved becomes its next version. `order`: what it waits for now,
    /// where the draft changes that.
    async fn redraft(
        &self,
        w: &mut Write,
        proposed: &ProposedAction,
        face: Face,
        current: &Action,
        order: Option<Option<i64>>,
    ) -> Result<Action, LedgerError> {
        let version = current.payload_version + 1;
        let sealed = Sealed::seal(current.need_key()?.clone(), version, proposed.payload.clone());
        let (hash, content) = (sealed.hash(), content_hash(&proposed.payload));
        let by = self.by();
        let new = NewPayload { action: current.n, version, payload: &proposed.payload, hash: Some(hash), by: &by };
        content::put_payload(w, new, self.now);
        content::change_people(w, current.n, &face.people);
        let mut details = json!({
            "delivery": self.delivery,
            "payload": { "version": version, "hash": hash, "content": content },
        });
        if let Some(after) = order {
            details["after"] = json!(after);
        }
        let (source_version, draft) = (self.p.source_version, &self.p.draft);
        let conversation = self.conversation;
        let change = |a: &mut Action| {
            a.payload_version = version;
            a.payload_hash = Some(hash);
            a.source_version = source_version.or(a.source_version);
            a.draft_content = content.clone();
            (a.run_id, a.model, a.draft_reason) = (draft.run_id.clone(), draft.model.clone(), draft.reason.clone());
            if conversation.is_some() {
                a.conversation = conversation;
            }
            a.after = order.unwrap_or(a.after);
            face.put_on(a);
        };
        apply::apply(w, current, &Fact::Redrafted, change, details, &by, self.now).await
    }

    /// The delivery's rows beside it, the event it used up, and its journal row.
    async fn record(
        &self,
        w: &mut Write,
        plans: &Plans,
        actions: &[ReceivedAction],
        taken: bool,
    ) -> Result<(), LedgerError> {
        for (position, a) in actions.iter().enumerate() {
            w.later(say!(
                "recording a delivery's actions",
                PUT_DELIVERY_ACTION,
                self.delivery,
                position as i64,
                &a.step,
                a.action.map(|id| id.0),
                a.disposition.name(),
                &a.reason,
                a.payload_version.map(i64::from),
            ));
        }
        let event = self.p.event_id.as_deref().filter(|t| !t.is_empty());
        let takes_event = event.is_some() && plans.first.is_none() && taken;
        if let (Some(event), true) = (event, takes_event) {
            w.later(say!("recording an event", PUT_EVENT, &self.s.name, event, self.delivery, &self.p.content_hash,));
        }
        let list: Vec<_> = actions
            .iter()
            .map(|a| json!({ "step": a.step, "action": a.action, "disposition": a.disposition.name() }))
            .collect();
        let fact = json!({ "fact": "delivered", "details": {
            "delivery": self.delivery, "source": self.s.name, "content_hash": self.p.content_hash,
            "first": plans.first, "actions": list, "takes_event": takes_event,
            "digest": self.digest(plans, actions),
        }});
        journal::append(w, self.now, None, fact, &self.by()).await?;
        Ok(())
    }

    /// What the journal commits to: every column of the delivery's row and of the rows beside it.
    fn digest(&self, plans: &Plans, actions: &[ReceivedAction]) -> String {
        let (p, some) = (self.p, |t: &Option<String>| t.clone().filter(|t| !t.is_empty()));
        let row = json!([
            self.delivery,
            self.s.name,
            self.s.environment,
            some(&p.event_id),
            some(&p.request_id),
            p.source_version.map(|v| v as i64),
            p.content_hash,
            self.now.millis(),
            self.disposition.name(),
            self.reason,
            plans.first,
            p.draft.run_id,
            p.draft.model,
            p.draft.reason,
        ]);
        let one = |(position, a): (usize, &ReceivedAction)| {
            json!([position, a.step, a.action.map(|id| id.0), a.disposition.name(), a.reason, a.payload_version])
        };
        whole::delivery_digest(&row, actions.iter().enumerate().map(one).collect())
    }
}
