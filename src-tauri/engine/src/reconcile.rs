//! Doubt into knowledge: repeat, look on the schedule, or ask a person. Which one is the contract's word.

use crate::core::Core;
use crate::dispatch::Worker;
use crate::failure::{Code, Failure};
use crate::late::socket_is_open;
use countersign_domain::policy::{self, Plan};
use countersign_domain::{ActionId, Contract, Sighting, Standing, State, Strength, Timestamp};
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
                let why = "the destination was removed".to_owned();
                return self.record(item, Sighting::CannotTell { why }, None).await.map(Reconciled::Looked);
            }
            Err(other) => return Err(other),
        };
        let Some(contract) = connector.contract(&item.effect) else { return Ok(Reconciled::Nothing) };
        let by_itself = self.core.settings.repeats_by_itself(&item.destination).await?;
        let may_repeat = item.attempts_left && !item.revised && item.state == State::Unknown;
        match policy::plan(contract, item.first_crossed, item.since, item.looks, may_repeat, by_itself, now) {
            Plan::Repeat => Ok(Reconciled::Repeat),
            Plan::Look { at } if at <= now => self.look(item, contract).await.map(Reconciled::Looked),
            Plan::Look { .. } | Plan::AskPerson => Ok(Reconciled::Nothing),
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
        let sighting = match self.core.destinations.reach(&item.destination).await? {
            Some(reached) => reached.connector.look(&order, &reached.login, &item.noted).await,
            None => Sighting::CannotTell { why: "this device holds no login for the destination".into() },
        };
        self.record(item, sighting, Some(contract)).await
    }

    async fn record(
        &self,
        item: &UnknownItem,
        sighting: Sighting,
        contract: Option<&Contract>,
    ) -> Result<Standing, Failure> {
        let now = self.core.clock.now();
        let conclusive = matches!(sighting, Sighting::NotSeen { .. })
            && contract.is_some_and(|c| policy::absence_proves(c, item.last_crossed, now));
        let next = contract.and_then(|c| next_look(c, item, now));
        let found = matches!(&sighting, Sighting::Found(r) if r.strength >= Strength::Strong);
        let crossed = item.last_crossed;
        let standing = self.core.ledger.record_sighting(item.action, &sighting, conclusive, crossed, next, now).await?;
        if found && standing.state == State::Accepted {
            self.core.begin_filing(item.action).await?;
        }
        Ok(standing)
    }
}

/// The schedule's next look after this one; those that fell due while nobody ran are not made up for.
fn next_look(contract: &Contract, item: &UnknownItem, now: Timestamp) -> Option<Timestamp> {
    policy::next_look_at(contract, item.since, item.looks + 1).map(|at| at.max(now))
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
        let (_, connector) = match self.destinations.connector(&item.destination).await {
            Ok(found) => found,
            Err(gone) if gone.code == Code::NotFound => return Ok(()),
            Err(other) => return Err(other),
        };
        let Some(contract) = connector.contract(&item.effect) else { return Ok(()) };
        let from = policy::did_not_happen_from(contract, item.last_crossed, connector.answer_timeout());
        if self.clock.now() < from {
            return Err(Failure::conflict(format!(
                "an answer or a copy may still turn up; this can be signed from {from}"
            ))
            .on(action));
        }
        Ok(())
    }
}
