//! `advance()`: what may follow what. The only place in the product where a state changes.
//!
//! It is the table of protocol.md with its three amendments: doubt is cleared only by evidence, after the first crossing
//! the wire is frozen, a revised action never dispatches again.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Attempts an action gets before it gives up. A person's approval or verdict grants one more.
pub const CAP: u8 = 3;
/// So many claims in a row found stale without a crossing send an action to needs review.
pub const STALE_CLAIMS_MAX: u8 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Ready for a person. Nothing sent.
    Prepared,
    /// Cannot be approved as it is. Nothing sent (or a clean no, if it crossed before).
    NeedsReview,
    /// Signed; waits for the undo window, backoff, order or a worker. Nothing sent.
    Approved,
    /// One worker holds the claim.
    InProgress,
    /// The destination confirmed; a receipt is stored.
    Accepted,
    /// May have happened.
    Unknown,
    /// The destination said no to this payload. Nothing sent.
    Refused,
    /// Attempts ran out, every one certainly not sent.
    GaveUp,
    /// A person declined. Nothing sent.
    Rejected,
    /// Replaced by a later revision before anything was sent.
    Superseded,
    /// A person decided to leave it; the outcome is still not asserted.
    ClosedUnknown,
}

impl State {
    pub const ALL: [State; 11] = [
        State::Prepared,
        State::NeedsReview,
        State::Approved,
        State::InProgress,
        State::Accepted,
        State::Unknown,
        State::Refused,
        State::GaveUp,
        State::Rejected,
        State::Superseded,
        State::ClosedUnknown,
    ];

    /// The protocol's word, as stored and as shown in `--json`.
    pub const fn name(self) -> &'static str {
        match self {
            State::Prepared => "prepared",
            State::NeedsReview => "needs_review",
            State::Approved => "approved",
            State::InProgress => "in_progress",
            State::Accepted => "accepted",
            State::Unknown => "unknown",
            State::Refused => "refused",
            State::GaveUp => "gave_up",
            State::Rejected => "rejected",
            State::Superseded => "superseded",
            State::ClosedUnknown => "closed_unknown",
        }
    }

    /// Whether the state asserts that nothing was sent.
    pub const fn says_nothing_sent(self) -> bool {
        match self {
            State::Prepared
            | State::NeedsReview
            | State::Approved
            | State::Refused
            | State::GaveUp
            | State::Rejected
            | State::Superseded => true,
            State::InProgress | State::Accepted | State::Unknown | State::ClosedUnknown => false,
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a state")]
pub struct BadState(pub String);

impl FromStr for State {
    type Err = BadState;
    fn from_str(text: &str) -> Result<Self, BadState> {
        State::ALL.into_iter().find(|s| s.name() == text).ok_or_else(|| BadState(text.to_owned()))
    }
}

/// A state with what its guards need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Standing {
    pub state: State,
    /// Attempts that spoke to the destination.
    pub attempts: u8,
    /// Attempts allowed so far: [`CAP`], plus those that people granted.
    pub allowed: u8,
    /// Some attempt has crossed: the wire is frozen.
    pub crossed_once: bool,
    /// In progress only: the open attempt has crossed.
    pub crossing: bool,
    /// In progress only: the open attempt repeats an unknown one under the same key.
    pub in_doubt: bool,
    pub revised: bool,
    /// "Nothing sent" rests on a person's word.
    pub by_word: bool,
    /// Approvals stored of two that are needed (0 or 1).
    pub signed: u8,
    /// Claims in a row that were found stale without a crossing.
    pub stale_claims: u8,
}

impl Standing {
    /// The standing of an action that has just been proposed: prepared, or needs review while an identity is missing.
    pub const fn proposed(complete: bool) -> Standing {
        Standing {
            state: if complete { State::Prepared } else { State::NeedsReview },
            attempts: 0,
            allowed: CAP,
            crossed_once: false,
            crossing: false,
            in_doubt: false,
            revised: false,
            by_word: false,
            signed: 0,
            stale_claims: 0,
        }
    }
}

/// What happened to an action. Stored in the journal, replayed by `verify` and by every claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum Fact {
    /// A newer draft from the source, or the owner's edit: the next payload version.
    Redrafted,
    /// A person signed. `complete`: no further approver is needed. `frees_key`: the contract says a refusal frees the key.
    Approved {
        complete: bool,
        frees_key: bool,
    },
    Rejected,
    Undone,
    /// The approval grew too old before it was used.
    Expired,
    /// The destination's account changed under an approved action.
    AccountChanged,
    /// A person lets it go without the action it waits for.
    Released,
    Claimed,
    /// The durable mark: the open attempt is about to pass its point of no return.
    Crossed,
    /// The world moved on between approval and dispatch.
    SituationChanged,
    /// The destination accepted the open attempt.
    Accepted,
    /// The open attempt certainly did nothing. `counts`: it spoke to the destination.
    NotSent {
        counts: bool,
    },
    Refused,
    /// The open attempt crossed and no clear answer came.
    Unclear,
    /// The worker that held the claim is gone.
    Stale,
    /// A repeat under the same key begins.
    Repeated,
    /// Proof of acceptance by any attempt: look-up, late answer, DSN.
    Found,
    /// A look-up found nothing, and the contract says that absence is conclusive.
    Absent,
    /// A person: it happened.
    SaidHappened,
    /// A person: it did not happen.
    SaidDidNotHappen,
    /// A person: leave it unknown.
    Left,
    /// A person completed or confirmed what needed review.
    Completed,
    /// A new action follows this one.
    Revised,
}

impl Fact {
    pub const fn name(self) -> &'static str {
        match self {
            Fact::Redrafted => "redrafted",
            Fact::Approved { .. } => "approved",
            Fact::Rejected => "rejected",
            Fact::Undone => "undone",
            Fact::Expired => "expired",
            Fact::AccountChanged => "account_changed",
            Fact::Released => "released",
            Fact::Claimed => "claimed",
            Fact::Crossed => "crossed",
            Fact::SituationChanged => "situation_changed",
            Fact::Accepted => "accepted",
            Fact::NotSent { .. } => "not_sent",
            Fact::Refused => "refused",
            Fact::Unclear => "unclear",
            Fact::Stale => "stale",
            Fact::Repeated => "repeated",
            Fact::Found => "found",
            Fact::Absent => "absent",
            Fact::SaidHappened => "said_happened",
            Fact::SaidDidNotHappen => "said_did_not_happen",
            Fact::Left => "left",
            Fact::Completed => "completed",
            Fact::Revised => "revised",
        }
    }
}

/// A transition the table does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{fact} is not possible for an action that is {state}{}", why.clause())]
pub struct Illegal {
    pub state: State,
    pub fact: &'static str,
    pub why: Why,
}

/// The guard that said no.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// No row of the table.
    NoSuchRow,
    /// It crossed once: content is frozen.
    CrossedOnce,
    /// It never crossed.
    NeverCrossed,
    /// A later revision follows it.
    Revised,
    /// The open attempt has already crossed.
    HasCrossed,
    /// The open attempt has not crossed.
    HasNotCrossed,
    /// The attempt repeats an unknown one.
    InDoubt,
    /// No attempt is left.
    NoAttemptLeft,
    /// The contract does not say that a refusal frees the key.
    KeyNotFreed,
}

impl Why {
    const fn clause(self) -> &'static str {
        match self {
            Why::NoSuchRow => "",
            Why::CrossedOnce => ": it was handed over once, so its content is frozen; revise it as a new action",
            Why::NeverCrossed => ": it was never handed over",
            Why::Revised => ": a later revision follows it, so it never goes again",
            Why::HasCrossed => ": the attempt has already crossed",
            Why::HasNotCrossed => ": the attempt has not crossed",
            Why::InDoubt => ": the attempt repeats an unknown one, and only proof of acceptance leads out of doubt",
            Why::NoAttemptLeft => ": no attempt is left; a person's approval or verdict grants one",
            Why::KeyNotFreed => {
                ": the destination does not say that a refusal frees the key; revise it as a new action"
            }
        }
    }
}

/// The three amendments of the table. Production code cannot switch one off: the constructor with choices exists only
/// under the test feature `amendment-switches`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amendments {
    doubt_stays: bool,
    wire_frozen: bool,
    revised_barred: bool,
}

impl Amendments {
    pub const ALL: Amendments = Amendments { doubt_stays: true, wire_frozen: true, revised_barred: true };

    #[cfg(feature = "amendment-switches")]
    pub const fn choose(doubt_stays: bool, wire_frozen: bool, revised_barred: bool) -> Amendments {
        Amendments { doubt_stays, wire_frozen, revised_barred }
    }
}

/// What an action's standing becomes when `fact` happens; an impossible transition is an error, never ignored.
pub fn advance(standing: &Standing, fact: &Fact) -> Result<Standing, Illegal> {
    step(standing, fact, Amendments::ALL)
}

/// `advance()` with amendments switched off, for the model check that must find the holes again.
#[cfg(feature = "amendment-switches")]
pub fn advance_with(standing: &Standing, fact: &Fact, amendments: Amendments) -> Result<Standing, Illegal> {
    step(standing, fact, amendments)
}

fn step(s: &Standing, fact: &Fact, am: Amendments) -> Result<Standing, Illegal> {
    let no = |why: Why| Err(Illegal { state: s.state, fact: fact.name(), why });
    let frozen = s.crossed_once && am.wire_frozen;
    let barred = s.revised && am.revised_barred;
    let doubt = s.in_doubt && am.doubt_stays;
    // Every move out of in progress drops what belongs to the open attempt.
    let to = |state: State| Standing { state, crossing: false, in_doubt: false, signed: 0, ..*s };
    let counted = |n: Standing| Standing { attempts: s.attempts.saturating_add(1), stale_claims: 0, ..n };
    let granted = |n: Standing| Standing { allowed: n.allowed.max(n.attempts.saturating_add(1)), ..n };
    let home = |n: Standing| if barred { Standing { state: State::Superseded, ..n } } else { n };

    use Fact as F;
    use State as S;
    match (s.state, *fact) {
        (S::Prepared, F::Redrafted) if frozen => no(Why::CrossedOnce),
        (S::Prepared, F::Redrafted) => Ok(to(S::Prepared)),

        (S::Prepared | S::NeedsReview | S::GaveUp | S::Refused, F::Approved { .. }) if barred => no(Why::Revised),
        (S::NeedsReview, F::Approved { .. }) if !s.crossed_once => no(Why::NeverCrossed),
        (S::Refused, F::Approved { frees_key: false, .. }) => no(Why::KeyNotFreed),
        (S::Prepared | S::NeedsReview | S::GaveUp | S::Refused, F::Approved { complete: false, .. }) => {
            Ok(Standing { signed: 1, ..*s })
        }
        (S::Prepared | S::NeedsReview | S::GaveUp | S::Refused, F::Approved { complete: true, .. }) => {
            Ok(Standing { stale_claims: 0, ..granted(to(S::Approved)) })
        }

        (S::Prepared | S::NeedsReview, F::Rejected) => Ok(to(S::Rejected)),

        (S::Approved, F::Undone) if frozen => Ok(to(S::NeedsReview)),
        (S::Approved, F::Undone) => Ok(to(S::Prepared)),
        // What the claim would be told by the destination a source may tell before it: the customer wrote again (R16).
        (S::Approved, F::Expired | F::AccountChanged | F::SituationChanged) => Ok(to(S::NeedsReview)),
        (S::Approved, F::Released) => Ok(*s),
        (S::Approved, F::Claimed) if barred => no(Why::Revised),
        (S::Approved, F::Claimed) if s.attempts >= s.allowed => no(Why::NoAttemptLeft),
        (S::Approved, F::Claimed) => Ok(to(S::InProgress)),

        (S::InProgress, F::Crossed) if s.crossing => no(Why::HasCrossed),
        (S::InProgress, F::Crossed) => Ok(Standing { crossing: true, crossed_once: true, ..*s }),
        (S::InProgress, F::SituationChanged) if s.crossing => no(Why::HasCrossed),
        (S::InProgress, F::SituationChanged) if doubt => no(Why::InDoubt),
        (S::InProgress, F::SituationChanged) => Ok(to(S::NeedsReview)),
        (S::InProgress, F::Accepted) if !s.crossing => no(Why::HasNotCrossed),
        (S::InProgress, F::Accepted) => Ok(Standing { by_word: false, ..counted(to(S::Accepted)) }),
        (S::InProgress, F::NotSent { counts }) => {
            let next = if counts { counted(to(S::Approved)) } else { to(S::Approved) };
            Ok(match () {
                () if doubt => Standing { state: S::Unknown, ..next },
                () if next.attempts >= next.allowed => Standing { state: S::GaveUp, ..next },
                () => next,
            })
        }
        (S::InProgress, F::Refused) if doubt => Ok(counted(to(S::Unknown))),
        (S::InProgress, F::Refused) => Ok(counted(to(S::Refused))),
        (S::InProgress, F::Unclear) if !s.crossing && !s.in_doubt => no(Why::HasNotCrossed),
        (S::InProgress, F::Unclear) => Ok(counted(to(S::Unknown))),
        (S::InProgress, F::Stale) if s.crossing => Ok(counted(to(S::Unknown))),
        (S::InProgress, F::Stale) if doubt => Ok(to(S::Unknown)),
        (S::InProgress, F::Stale) => {
            let stale_claims = s.stale_claims.saturating_add(1);
            let state = if stale_claims >= STALE_CLAIMS_MAX { S::NeedsReview } else { S::Approved };
            Ok(Standing { stale_claims, ..to(state) })
        }

        (S::Unknown, F::Repeated) if barred => no(Why::Revised),
        (S::Unknown, F::Repeated) if s.attempts >= s.allowed => no(Why::NoAttemptLeft),
        (S::Unknown, F::Repeated) => Ok(Standing { in_doubt: true, ..to(S::InProgress) }),
        // Certainly absent every time, and nobody gave leave for another attempt: the end of it, as after "not sent".
        (S::Unknown, F::Absent) if s.attempts >= s.allowed && !barred => Ok(to(S::GaveUp)),
        (S::Unknown, F::Absent) => Ok(home(to(S::Approved))),
        (S::Unknown | S::ClosedUnknown, F::SaidHappened) => Ok(Standing { by_word: false, ..to(S::Accepted) }),
        (S::Unknown | S::ClosedUnknown, F::SaidDidNotHappen) => {
            Ok(Standing { by_word: true, ..home(granted(to(S::Approved))) })
        }
        (S::Unknown, F::Left) => Ok(to(S::ClosedUnknown)),

        (S::Accepted, F::Found) => no(Why::NoSuchRow),
        (
            S::Prepared
            | S::NeedsReview
            | S::Approved
            | S::InProgress
            | S::Unknown
            | S::Refused
            | S::GaveUp
            | S::Rejected
            | S::Superseded
            | S::ClosedUnknown,
            F::Found,
        ) => Ok(Standing { by_word: false, ..to(S::Accepted) }),

        (S::NeedsReview, F::Completed) if frozen => no(Why::CrossedOnce),
        (S::NeedsReview, F::Completed) => Ok(Standing { stale_claims: 0, ..to(S::Prepared) }),

        (
            S::Accepted | S::Unknown | S::Refused | S::GaveUp | S::Rejected | S::Superseded | S::ClosedUnknown,
            F::Revised,
        ) if s.revised => no(Why::Revised),
        (S::Refused | S::GaveUp | S::Rejected, F::Revised) => Ok(Standing { revised: true, ..to(S::Superseded) }),
        (S::Accepted | S::Unknown | S::Superseded | S::ClosedUnknown, F::Revised) => {
            Ok(Standing { revised: true, ..*s })
        }

        (
            S::Prepared
            | S::NeedsReview
            | S::Approved
            | S::InProgress
            | S::Accepted
            | S::Unknown
            | S::Refused
            | S::GaveUp
            | S::Rejected
            | S::Superseded
            | S::ClosedUnknown,
            _,
        ) => no(Why::NoSuchRow),
    }
}
