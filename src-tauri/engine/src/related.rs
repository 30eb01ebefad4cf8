//! Whether another action of ours makes this one a second one: the same rule before an approval and before a crossing, so
//! that whatever stops a dispatch can be looked at and wanted.

use countersign_domain::risk::{Finding, Weight};
use countersign_domain::{ActionId, State, Timestamp};
use countersign_ledger::{Cleared, Related};
use std::time::Duration;

/// Another message of ours to the same thread or person.
const SPLIT_REPLY: &str = "split_reply";
/// The same step of the same request, at another destination or as another effect.
const REPEATED_STEP: &str = "repeated_step";
/// Another change of ours at the same record or person.
const REPEATED_RECORD: &str = "repeated_record";

/// After so long another accepted one, in another thread, is no repeat any more.
const REPEAT_WITHIN: Duration = Duration::from_secs(14 * 24 * 3600);

/// What another action means to one that is about to be approved or to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Means {
    Nothing,
    /// It is pointed out.
    Noted,
    /// A person must have had it before them.
    Holds,
}

/// Whether people are written to. What only changes records may well happen twice to one of them.
fn is_message(effect: &str) -> bool {
    effect.starts_with("email.") || effect.starts_with("ticket.")
}

/// A ticket is a conversation, as a thread is.
fn same_thread(other: &Related) -> bool {
    other.same_thread || (other.same_record && other.effect == "ticket.reply")
}

pub(crate) fn means(other: &Related, now: Timestamp) -> Means {
    // It follows the other one on purpose; `follows` says so.
    if other.revision {
        return Means::Nothing;
    }
    let lately = other.went_at.is_none_or(|at| now.since(at) < REPEAT_WITHIN);
    match other.state {
        State::Accepted if !(lately || other.same_step || same_thread(other)) => Means::Nothing,
        // What was proposed together is read together, and held back only once the other one went.
        State::Approved | State::InProgress if other.same_delivery => Means::Noted,
        State::Accepted | State::Unknown | State::ClosedUnknown | State::Approved | State::InProgress => {
            match other.same_step || other.same_draft || is_message(&other.effect) {
                true => Means::Holds,
                false => Means::Noted,
            }
        }
        State::Prepared | State::NeedsReview | State::Refused | State::GaveUp | State::Rejected | State::Superseded => {
            Means::Nothing
        }
    }
}

/// Findings of protocol.md's "split or repeated replies", one for each other action.
pub(crate) fn findings(related: &[Related], now: Timestamp) -> Vec<Finding> {
    related.iter().filter_map(|other| finding(other, now)).collect()
}

fn finding(other: &Related, now: Timestamp) -> Option<Finding> {
    let (weight, holds) = match means(other, now) {
        Means::Nothing => return None,
        Means::Noted => (Weight::Note, false),
        Means::Holds => (Weight::Stop, true),
    };
    let what = match other.state {
        State::Accepted => "was accepted",
        State::Unknown | State::ClosedUnknown => "may have been sent",
        _ => "is on its way",
    };
    let whom = match other {
        Related { same_thread: true, .. } => "the same thread",
        Related { same_record: true, .. } => "the same record",
        _ => "the same person",
    };
    let Related { action, effect, destination, .. } = other;
    let (code, text) = if other.same_step {
        let text = format!(
            "{action} ({effect}, {destination}) is the same step of the same request and {what}. Read it first: this would \
             be a second one."
        );
        (REPEATED_STEP, text)
    } else if is_message(effect) {
        (SPLIT_REPLY, format!("{action} to {whom} {what}. Nothing is merged: read it first."))
    } else if other.same_draft {
        (REPEATED_RECORD, format!("{action} is exactly the same, for {whom}, and {what}. Read it first."))
    } else {
        (REPEATED_RECORD, format!("{action} ({effect}) for {whom} {what}."))
    };
    Some(Finding { code, field: action.to_string(), weight, holds, text })
}

/// Whether a person who looked at this version of the payload was shown this other action beside it.
pub(crate) fn was_shown(cleared: &[Cleared], version: u32, other: ActionId) -> bool {
    let field = other.to_string();
    let shows = |code: &str| [SPLIT_REPLY, REPEATED_STEP, REPEATED_RECORD].contains(&code);
    cleared.iter().any(|c| shows(&c.code) && c.version == version && c.field == field)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn related(state: State, same_thread: bool, days_ago: u64) -> Related {
        Related {
            action: ActionId(7),
            state,
            effect: "email.reply".into(),
            destination: "support-mailbox".into(),
            same_thread,
            same_record: false,
            same_step: false,
            revision: false,
            same_draft: false,
            attempt: None,
            same_delivery: false,
            recipient: None,
            went_at: Some(now().minus(Duration::from_secs(days_ago * 86_400))),
        }
    }
    fn now() -> Timestamp {
        Timestamp::from_millis(1_793_610_900_000)
    }

    const WENT_OR_GOES: [State; 5] =
        [State::Accepted, State::Unknown, State::ClosedUnknown, State::Approved, State::InProgress];

    #[test]
    fn r17_a_second_reply_to_a_thread_or_person_holds_the_approval_and_names_the_other() {
        for state in WENT_OR_GOES {
            let found = findings(&[related(state, true, 40)], now());
            assert!(found[0].holds && found[0].text.contains("A-7"), "{state}");
        }
        for state in [State::Prepared, State::Rejected, State::Refused, State::GaveUp, State::Superseded] {
            assert!(findings(&[related(state, true, 0)], now()).is_empty(), "{state}: nothing was sent");
        }
        assert!(findings(&[related(State::Accepted, false, 15)], now()).is_empty(), "long ago, another thread");
        let together = |state| Related { same_delivery: true, ..related(state, true, 0) };
        assert!(!findings(&[together(State::Approved)], now())[0].holds, "proposed together, read together");
        for went in [State::Accepted, State::Unknown, State::ClosedUnknown] {
            assert!(findings(&[together(went)], now())[0].holds, "{went}: a second one to the same person");
        }
    }

    #[test]
    fn r17_the_same_step_of_a_request_holds_however_long_ago_and_only_its_own_revision_does_not() {
        for effect in ["email.send", "crm.note", "webhook.post"] {
            for state in WENT_OR_GOES {
                let same_step = Related { same_step: true, effect: effect.into(), ..related(state, false, 400) };
                let found = findings(std::slice::from_ref(&same_step), now());
                assert!(found[0].holds && found[0].code == REPEATED_STEP, "{effect} {state}");
                assert!(found[0].text.contains("support-mailbox"), "{}", found[0].text);
                assert!(findings(&[Related { revision: true, ..same_step }], now()).is_empty(), "{effect} {state}");
            }
        }
    }

    #[test]
    fn r17_two_notes_on_one_contact_are_pointed_out_and_the_same_one_twice_is_held() {
        for effect in ["crm.note", "crm.task", "crm.contact.upsert", "crm.deal.update", "crm.email.log"] {
            let note = Related { effect: effect.into(), ..related(State::Accepted, false, 1) };
            let found = findings(std::slice::from_ref(&note), now());
            assert!(!found[0].holds && found[0].weight == Weight::Note, "{effect}");
            let twice = Related { same_draft: true, ..note };
            assert!(findings(std::slice::from_ref(&twice), now())[0].holds, "{effect}");
            let long_ago = Related { went_at: Some(now().minus(REPEAT_WITHIN)), ..twice };
            assert!(findings(&[long_ago], now()).is_empty(), "{effect}");
        }
        let ticket =
            Related { effect: "ticket.reply".into(), same_record: true, ..related(State::Accepted, false, 40) };
        assert!(findings(&[ticket], now())[0].holds, "a ticket is a conversation");
    }

    #[test]
    fn a_word_on_one_reply_says_nothing_about_another_one_nor_about_another_version() {
        let cleared = |code: &str, version| Cleared {
            version,
            code: code.into(),
            field: ActionId(3).to_string(),
            by: "Noor".into(),
            at: Timestamp::from_millis(0),
        };
        for code in [SPLIT_REPLY, REPEATED_STEP, REPEATED_RECORD] {
            assert!(was_shown(&[cleared(code, 2)], 2, ActionId(3)));
            assert!(!was_shown(&[cleared(code, 2)], 2, ActionId(4)));
            assert!(!was_shown(&[cleared(code, 1)], 2, ActionId(3)));
        }
        assert!(!was_shown(&[cleared("new_recipient", 2)], 2, ActionId(3)));
    }
}
