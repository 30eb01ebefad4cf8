//! What a tick did, and what a run until idle handled.

use crate::anchor::Frozen;
use crate::failure::{Code, Failure};
use countersign_domain::{ActionId, State};
use std::collections::HashMap;

/// What a tick did.
#[derive(Debug, Default)]
pub struct TickReport {
    /// Claims of a worker that is gone, and what became of their actions.
    pub recovered: Vec<(ActionId, State)>,
    pub expired: Vec<ActionId>,
    pub attempted: Vec<(ActionId, State)>,
    pub looked: Vec<(ActionId, State)>,
    pub filed: Vec<ActionId>,
    /// Claims that did not verify; nothing of them moved.
    pub refused: Vec<(ActionId, Failure)>,
    pub failures: Vec<Failure>,
    pub indexed: usize,
    /// An outcome is to be told to its source.
    pub(crate) to_tell: bool,
    pub frozen: Option<Frozen>,
    /// Environments whose sending is off although something in them is approved.
    pub held_back: Vec<String>,
}

impl TickReport {
    /// Whether nothing was left to do.
    pub fn is_idle(&self) -> bool {
        self.recovered.is_empty()
            && self.expired.is_empty()
            && self.attempted.is_empty()
            && self.looked.is_empty()
            && self.filed.is_empty()
            && self.indexed == 0
    }
}

/// What `until_idle` handled, in total.
#[derive(Debug, Default)]
pub struct Handled {
    /// Last state of each action that was attempted, recovered or looked for.
    pub states: HashMap<ActionId, State>,
    pub refused: Vec<(ActionId, Failure)>,
    pub failures: Vec<Failure>,
    /// Why nothing more goes out.
    pub frozen: Option<Frozen>,
    /// Environments whose sending is off although something in them is approved.
    pub held_back: Vec<String>,
}

impl Handled {
    /// 6 before 7 before 0 (interfaces.md, `dispatch --until-idle`); integrity first of all. That no more could be done
    /// counts only where nothing worse came of what was.
    pub fn code(&self) -> Option<Code> {
        let any = |wanted: &[State]| self.states.values().any(|s| wanted.contains(s));
        if self.refused.iter().any(|(_, f)| f.code == Code::Integrity) {
            return Some(Code::Integrity);
        }
        if any(&[State::Unknown]) {
            return Some(Code::Unknown);
        }
        if any(&[State::Refused]) {
            return Some(Code::Refused);
        }
        if any(&[State::GaveUp]) {
            return Some(Code::GaveUp);
        }
        if self.stopped().is_some() {
            return Some(Code::Frozen);
        }
        self.failures.first().map(|f| f.code)
    }

    /// What kept it from doing more.
    pub fn stopped(&self) -> Option<Failure> {
        match self.frozen {
            Some(why) => Some(Failure::frozen(why.text())),
            None if self.held_back.is_empty() => None,
            None => Some(Failure::frozen(format!(
                "sending is off in {}; switch it on with `countersign sending on`",
                self.held_back.join(", ")
            ))),
        }
    }
}
