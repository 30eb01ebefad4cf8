//! Doubt into knowledge: repeat, look on the schedule, or ask a person. Which one is the contract's word.

use crate::core::Core;
use crate::dispatch::Worker;
use crate::failure::{Code, Failure};
use crate::late::{READ_ON, socket_is_open};
use crate::unwritten::OFFLINE_PAUSE;
use countersign_domain::policy::{self, Plan};
use countersign_domain::{ActionId, Contract, Echo, Sighting, Standing, State, Strength, Timestamp};
use countersign_ledger::UnknownItem;

/// What one round of reconciling came to for an action.
pub(crate) enum Reconciled {
    /// The destination was asked.
    Looked(Standing),
    /// The contract makes a repeat under the same key safe: it is to be claimed.
    Repeat,
    /// Nothing is due.
    Nothing,
}

impl Worker {
    /// Does what is due for one unknown action.
    pub(crate) async fn reconcile(&self, item: &UnknownItem) -> Result<Reconciled, Failure> {
        let now = self.core.clock.now();
        let (_, connector) = match self.core.destinations.connector(&item.destination).await {
            Ok(found) => found,
            // The destination was removed: nobody is left to ask.
            Err(gone) if gone.code == Code::NotFound => {
                let gone = Sighting::cannot_tell("the destination was removed");
                return self.record(item, gone, None, now).await.map(Reconciled::Looked);
            }
            Err(other) => return Err(other),
        };
        let Some(contract) = connector.contract(&item.effect) else { return Ok(Reconciled::Nothing) };
        let by_itself = self.core.settings.repeats_by_itself(&item.destination).await?;
        let mut may_repeat = item.attempts_left && !item.revised && item.state == State::Unknown;
        // It may not have happened yet, and the customer may have said "stop" since: a person repeats it, or nobody does.
        if may_repeat && contract.has_native_key() {
            may_repeat = !self.core.ledger.wrote_again_since_approval(item.action).await?;
        }
        // A clock that was set back opens no window again.
        let time = if by_itself && contract.has_native_key() { self.core.window_time().await? } else { Some(now) };
        let (by_itself, time) = (by_itself && time.is_some(), time.unwrap_or(now));
        match policy::plan(contract, item.first_crossed, item.since, item.looks, may_repeat, by_itself, time) {
            Plan::Repeat if now >= item.not_before && !repeated_lately(item, now) => Ok(Reconciled::Repeat),
            // Not yet. Meanwhile it is asked for as any other.
            Plan::Repeat if !contract.can_look() => Ok(Reconciled::Nothing),
            Plan::Repeat => self.look(item, contract).await.map(Reconciled::Looked),
            // The schedule says when, and it is due.
            Plan::Look { .. } | Plan::AskPerson if contract.can_look() => {
                self.look(item, contract).await.map(Reconciled::Looked)
            }
            // Written down once, so that it is not due for ever.
            Plan::Look { .. } | Plan::AskPerson => {
                let nobody = Sighting::cannot_tell("this destination cannot be asked; a person decides");
                self.record(item, nobody, None, now).await.map(Reconciled::Looked)
            }
        }
    }

    /// Asks the destination now, because a person wants to know.
    pub(crate) async fn ask(&self, action: ActionId) -> Result<Standing, Failure> {
        let item = self.core.ledger.unknown_item(action).await?.ok_or_else(|| {
            Failure::conflict("only an action whose outcome is unknown can be asked about").on(action)
        })?;
        let (_, connector) = self.core.destinations.connector(&item.destination).await?;
        let contract = connector
            .contract(&item.effect)
            .filter(|c| c.can_look())
            .ok_or_else(|| Failure::conflict("this destination cannot be asked what became of an action").on(action))?;
        self.look(&item, contract).await
    }

    async fn look(&self, item: &UnknownItem, contract: &Contract) -> Result<Standing, Failure> {
        let (roster, secret) = (self.core.roster().await?, self.core.ledger_secret().await?);
        let order = match self.core.ledger.order_for_look(item.action, &roster, &secret).await? {
            Ok(order) => order,
            Err(refused) => {
                let code = if refused.is_integrity() { Code::Integrity } else { Code::Conflict };
                return Err(Failure::new(code, refused.to_string()).on(item.action));
            }
        };
        let reached = match self.core.destinations.reach(&item.destination).await? {
            Ok(reached) => reached,
            Err(none) => return self.record(item, none.sighting(), Some(contract), self.core.clock.now()).await,
        };
        let mut asked = self.core.clock.now();
        let mut sighting = reached.connector.look(&order, &reached.login, &item.noted).await;
        if matches!(sighting, Sighting::CannotTell { signed_out: true, .. })
            && let Some(anew) = self.core.destinations.reach_anew(&reached).await?
        {
            asked = self.core.clock.now();
            sighting = match anew {
                Ok(anew) => anew.connector.look(&order, &anew.login, &item.noted).await,
                Err(none) => none.sighting(),
            };
        }
        let sighting = sighting.without(&Echo::of(order.sealed().payload()));
        let contract = reached.connector.contract_of(&order).unwrap_or(contract);
        self.record(item, sighting, Some(contract), asked).await
    }

    async fn record(
        &self,
        item: &UnknownItem,
        sighting: Sighting,
        contract: Option<&Contract>,
        asked: Timestamp,
    ) -> Result<Standing, Failure> {
        let now = self.core.clock.now();
        // What is still on its way over an open socket may arrive after the question was answered.
        let conclusive = matches!(sighting, Sighting::NotSeen { .. })
            && !socket_is_open(&self.core.home, item.action)
            && contract.is_some_and(|c| policy::absence_proves(c, item.last_crossed, asked));
        let next = contract.and_then(|c| next_look(c, item, now));
        let found = matches!(&sighting, Sighting::Found(r) if r.strength >= Strength::Strong);
        let crossed = item.last_crossed;
        let standing = self.core.ledger.record_sighting(item.action, &sighting, conclusive, crossed, next, now).await?;
        if found && standing.state == State::Accepted {
            self.core.begin_filing(item.action, &item.destination).await?;
        }
        Ok(standing)
    }
}

/// The schedule's next look after this one, by the time alone: those that fell due while nobody ran are not made up for,
/// and those that a person asked for in between use none up. A repeat that waits for its backoff is not slept over.
fn next_look(contract: &Contract, item: &UnknownItem, now: Timestamp) -> Option<Timestamp> {
    let waits = if repeated_lately(item, now) { item.last_closed.map(|at| at.plus(OFFLINE_PAUSE)) } else { None };
    let repeat = waits.or(Some(item.not_before));
    let repeat = repeat.filter(|at| now < *at && contract.has_native_key() && item.attempts_left);
    let look = (0..).map_while(|n| policy::next_look_at(contract, item.since, n)).find(|at| *at > now);
    look.into_iter().chain(repeat).min()
}

/// A repeat that came to nothing and counted as no attempt (offline, a person must sign first) is not made again at once.
fn repeated_lately(item: &UnknownItem, now: Timestamp) -> bool {
    let since = item.last_closed.filter(|closed| *closed > item.since);
    since.is_some_and(|closed| closed <= now && now < closed.plus(OFFLINE_PAUSE))
}

impl Core {
    /// Whether a person may sign "it did not happen": no socket of an attempt is open, its answer time-out and the look-up
    /// delay have passed.
    pub async fn may_say_did_not_happen(&self, action: ActionId) -> Result<(), Failure> {
        let item = self.ledger.unknown_item(action).await?.ok_or_else(|| {
            Failure::conflict("only the outcome of an unknown action can be settled by a person").on(action)
        })?;
        if socket_is_open(&self.home, action) {
            return Err(Failure::conflict(
                "the connection of the attempt is still open and an answer may still come; ask again when it is closed",
            )
            .on(action));
        }
        // Removed or not: what was under way when it was removed may still arrive.
        let record = self.ledger.destination(&item.destination).await?;
        let connector = record.as_ref().map(|record| self.destinations.connect(record)).transpose();
        let from = match &connector {
            Ok(Some(connector)) => match connector.contract(&item.effect) {
                Some(contract) => policy::did_not_happen_from(contract, item.last_crossed, connector.answer_timeout()),
                None => item.last_crossed.plus(connector.answer_timeout()),
            },
            // What it promised cannot be read any more (its certificate file is gone).
            Ok(None) | Err(_) => item.last_crossed.plus(READ_ON),
        };
        if self.clock.now() < from {
            return Err(Failure::conflict(format!(
                "an answer or a copy may still turn up; this can be signed from {from}"
            ))
            .on(action));
        }
        Ok(())
    }
}
