//! Words of the desk (design sections 13 to 15): offers, what comes next, a contract in three answers, journal lines.

use crate::view::{ContractDoc, NextDoc, OfferDoc};
use countersign_connectors::Connector;
use countersign_domain::contract::Family;
use countersign_domain::policy::{did_not_happen_from, next_look, person_may_repeat};
use countersign_domain::{Contract, State, Timestamp};
use countersign_ledger::{ActionRecord, DestinationRecord, Filing, Paused, Waits};
use std::time::Duration;

/// What the sentences about one action need beside its row.
pub(super) struct Scene<'a> {
    pub(super) record: &'a ActionRecord,
    pub(super) contract: Option<&'a Contract>,
    pub(super) answer_timeout: Duration,
    /// The action it waits for.
    pub(super) after: Option<&'a ActionRecord>,
    /// Another action on the same record, under way or in doubt.
    pub(super) beside: Option<countersign_domain::ActionId>,
    pub(super) filing: Option<&'a Filing>,
    /// Why and until when nothing is handed to the destination.
    pub(super) paused: Option<&'a Paused>,
    /// Another copy of this ledger may have sent it, so nothing here says that nothing has left.
    pub(super) adopted: bool,
    /// A worker holds an attempt that is still open.
    pub(super) attempt_open: bool,
    /// The time it was approved for, on the wall and in UTC, if that is still to come.
    pub(super) scheduled: Option<String>,
    pub(super) now: Timestamp,
}

impl Scene<'_> {
    /// Until when the destination promised to recognise a repeat of it.
    pub(super) fn recognised_until(&self) -> Option<Timestamp> {
        self.contract.and_then(|contract| recognised_until(contract, self.record.first_crossed))
    }

    /// What may be said of an approved action that has not crossed from here.
    fn left(&self) -> &'static str {
        if self.adopted { "" } else { "Nothing has left yet." }
    }
}

fn joined(first: &str, second: &str) -> String {
    format!("{first} {second}").trim().to_owned()
}

fn offer(what: &str, suggested: bool, text: impl Into<String>) -> OfferDoc {
    OfferDoc { what: what.to_owned(), offered: true, suggested, text: text.into() }
}

fn barred(what: &str, text: impl Into<String>) -> OfferDoc {
    OfferDoc { what: what.to_owned(), offered: false, suggested: false, text: text.into() }
}

const FROZEN_WIRE: &str = "Same bytes, same key. A change is a new action.";

/// What may be done now, in a fixed order, and why the rest may not.
pub(super) fn offers(s: &Scene<'_>) -> Vec<OfferDoc> {
    let standing = s.record.standing();
    let to = &s.record.row.destination;
    match standing.state {
        State::Prepared => vec![
            offer("approve", true, "Signs exactly this. It is held for a moment, then handed over once."),
            if standing.crossed_once {
                barred("edit", FROZEN_WIRE)
            } else {
                offer("edit", false, "The next version; it needs an approval of its own.")
            },
            offer("reject", false, "Nothing will be sent. You can still revise it as a new action."),
        ],
        State::NeedsReview if standing.crossed_once => vec![
            if standing.revised {
                barred("approve", follows(s))
            } else {
                offer("approve", true, format!("Approve again, unchanged. {FROZEN_WIRE}"))
            },
            offer("reject", false, "Nothing more will be sent."),
        ],
        State::NeedsReview => vec![
            offer("confirm", true, "Clear it up; then it can be read and approved."),
            barred("approve", "Something has to be cleared up before this can be approved."),
            offer("reject", false, "Nothing will be sent. You can still revise it as a new action."),
        ],
        State::Approved => {
            let mut all = vec![if standing.crossed_once {
                offer(
                    "undo",
                    false,
                    "Put it back. It was handed over once, so only the same message can be approved again.",
                )
            } else {
                offer("undo", s.record.row.waits == Waits::UndoWindow, joined("Puts it back in Awaiting.", s.left()))
            }];
            if s.record.row.waits == Waits::UndoWindow && s.record.row.not_before > s.now && s.scheduled.is_none() {
                all.push(offer("send_now", false, "Ends the hold now."));
            }
            if let Some(after) = s.after {
                all.push(match after.state() {
                    State::Accepted => barred("release", "The action it waits for was accepted."),
                    state if ended_without(state) => {
                        offer("release", true, format!("{} ended as {state}. Let this one go without it.", after.id()))
                    }
                    _ => barred("release", format!("{} has not ended yet.", after.id())),
                });
            }
            all
        }
        State::InProgress => vec![barred("undo", format!("It is being handed to {to}. It can’t be called back."))],
        State::Unknown => unknown_offers(s),
        State::ClosedUnknown => {
            vec![ask(s, false), revise(s, "We keep asking about the first one; it never goes again.")]
        }
        State::Refused => {
            let frees = s.contract.is_some_and(|c| c.refusal_frees_key);
            vec![
                match () {
                    () if standing.revised => barred("approve", follows(s)),
                    () if frees => offer("approve", true, format!("Approve again, unchanged. {FROZEN_WIRE}")),
                    () => barred("approve", format!("{to} does not say that a refusal frees the key.")),
                },
                revise(s, "Other words, other recipients: a new action with its own approval."),
            ]
        }
        State::GaveUp => vec![
            if standing.revised {
                barred("approve", follows(s))
            } else {
                offer("approve", true, format!("Approve again, unchanged. {FROZEN_WIRE}"))
            },
            revise(s, "A new action with its own approval."),
        ],
        State::Accepted => {
            let mut all = vec![revise(
                s,
                "This sends a second message. It does not change the first, which can’t be called back.",
            )];
            if let Some(filing) = s.filing.filter(|f| f.state == "failed" || f.state == "waiting") {
                all.push(offer(
                    "file_copy",
                    filing.state == "failed",
                    "Files the copy in Sent from the same bytes. The message itself was accepted and is not touched.",
                ));
            }
            all
        }
        State::Rejected | State::Superseded => vec![revise(s, "A new action with its own approval.")],
    }
}

fn ended_without(state: State) -> bool {
    match state {
        State::Refused | State::GaveUp | State::Rejected | State::Superseded | State::ClosedUnknown => true,
        State::Prepared
        | State::NeedsReview
        | State::Approved
        | State::InProgress
        | State::Accepted
        | State::Unknown => false,
    }
}

fn follows(s: &Scene<'_>) -> String {
    match s.record.revised_by {
        Some(id) => format!("{id} follows it, so this one never goes again."),
        None => "A later revision follows it, so this one never goes again.".to_owned(),
    }
}

fn ask(s: &Scene<'_>, suggested: bool) -> OfferDoc {
    if s.contract.is_some_and(Contract::can_look) {
        let next = s.record.row.next_look.map_or(String::new(), |at| format!(" Next by itself at {at}."));
        offer("ask", suggested, format!("Looks again now; reads only.{next}"))
    } else {
        barred("ask", "This destination can’t be asked.")
    }
}

fn revise(s: &Scene<'_>, text: &str) -> OfferDoc {
    if s.record.standing().revised { barred("revise", follows(s)) } else { offer("revise", false, text) }
}

fn unknown_offers(s: &Scene<'_>) -> Vec<OfferDoc> {
    let standing = s.record.standing();
    let to = &s.record.row.destination;
    let who = if s.record.row.who.is_empty() { "the recipient" } else { &s.record.row.who };
    let can_look = s.contract.is_some_and(Contract::can_look);
    let repeats = s.contract.is_some_and(Contract::recognises_repeat);
    let until = s.contract.and_then(Contract::retention).zip(s.record.first_crossed).map(|(d, at)| at.plus(d));
    let may_repeat = match (s.contract, s.record.first_crossed) {
        (Some(contract), Some(first)) => person_may_repeat(contract, first, s.now),
        _ => false,
    };
    let finish = match until {
        _ if standing.revised => barred("finish", follows(s)),
        Some(_) if repeats && standing.attempts >= standing.allowed => {
            barred("finish", format!("Not offered any more. We tried {} times.", standing.attempts))
        }
        Some(until) if repeats && may_repeat => offer(
            "finish",
            true,
            format!(
                "{to} answers a repeat with the first result until {until}. If the first one got through you get its receipt."
            ),
        ),
        Some(until) if repeats => barred("finish", format!("Not offered any more. {to} kept the key until {until}.")),
        _ => barred("finish", format!("{to} can’t recognise a repeat, so {who} could get it twice.")),
    };
    let verdict_at = s.contract.zip(s.record.last_crossed).map(|(c, at)| did_not_happen_from(c, at, s.answer_timeout));
    let did_not = match verdict_at {
        _ if s.attempt_open => barred("did_not_happen", "An attempt is still open; its answer may still come."),
        Some(at) if at > s.now => {
            barred("did_not_happen", format!("Not before {at}: until then its answer may still come."))
        }
        _ if standing.revised => {
            offer("did_not_happen", false, "You sign this. A revision follows it, so it ends as Superseded.")
        }
        _ if repeats => {
            offer("did_not_happen", false, "You sign this. The same message goes again under the same key.")
        }
        _ => offer(
            "did_not_happen",
            false,
            format!(
                "You sign this. The same message goes again under the same key. {who} may get it twice if you are wrong."
            ),
        ),
    };
    vec![
        ask(s, can_look && !(repeats && may_repeat)),
        finish,
        offer(
            "happened",
            !can_look && !repeats,
            "The outcome becomes “Accepted, on your word”, with what you add here.",
        ),
        did_not,
        revise(s, "They may get two messages: this one, and the one we don’t know about, which never goes again."),
        offer("leave", false, "Stops asking. History keeps showing it as unknown."),
    ]
}

/// What comes next by itself.
pub(super) fn next(s: &Scene<'_>, sending: bool) -> Option<NextDoc> {
    let row = &s.record.row;
    let doc = |what: &str, at: Option<Timestamp>, text: String| {
        Some(NextDoc { what: what.to_owned(), at: at.map(|t| t.to_string()), text })
    };
    match row.standing.state {
        State::Approved if row.waits == Waits::UndoWindow && row.not_before > s.now && s.scheduled.is_some() => {
            let when = s.scheduled.as_deref().unwrap_or_default();
            doc("scheduled", Some(row.not_before), joined(&format!("Goes at {when}."), "Undo puts it back."))
        }
        State::Approved if row.waits == Waits::UndoWindow && row.not_before > s.now => {
            doc("undo_ends", Some(row.not_before), joined(s.left(), "Undo puts it back."))
        }
        State::Approved if s.after.is_some_and(|a| a.state() != State::Accepted) => {
            let text = s.after.map(|after| match after.state() {
                state if ended_without(state) => {
                    format!("{} ended as {state}, so this waits until a person releases it.", after.id())
                }
                State::Approved if after.row.waits == Waits::UndoWindow && after.row.not_before > s.now => {
                    format!("Leaves once {} was accepted, and that goes at {}.", after.id(), after.row.not_before)
                }
                _ => format!("Leaves once {} was accepted.", after.id()),
            });
            doc("waits_for", None, text.unwrap_or_default())
        }
        State::Approved if !sending => {
            doc("waits_for", None, "Sending is off for this workspace. It waits until you switch it on.".into())
        }
        State::Approved if s.paused.is_some() => {
            let text = s.paused.map(|p| paused(&row.destination, p)).unwrap_or_default();
            doc("paused", s.paused.and_then(|p| p.until), joined(s.left(), &text))
        }
        State::Approved if s.beside.is_some() => {
            let other = s.beside.map(|id| id.to_string()).unwrap_or_default();
            let text = format!("{other} touches the same record and is not settled. One at a time.");
            doc("waits_for", None, joined(&text, s.left()))
        }
        State::Approved if row.not_before > s.now => {
            let text = format!("Try {} by itself.", row.standing.attempts + 1);
            doc("attempt", Some(row.not_before), joined(&text, s.left()))
        }
        State::Approved => doc("attempt", Some(s.now), joined(&format!("Waiting for {}.", row.destination), s.left())),
        State::Unknown if s.contract.is_some_and(|c| !c.can_look() && !c.recognises_repeat()) => {
            doc("person", None, "This destination can’t be asked. It stays unknown until you settle it.".into())
        }
        State::Unknown if s.paused.is_some_and(|p| s.contract.is_some_and(|c| holds_up(c, p))) => {
            let text = s.paused.map(|p| paused(&row.destination, p)).unwrap_or_default();
            let again = match s
                .contract
                .filter(|c| c.has_native_key() && row.next_look.is_some())
                .and_then(Contract::retention)
            {
                Some(window) => s.record.first_crossed.map(|at| {
                    format!(
                        "Until {} it is then finished under its key by itself; later you decide.",
                        at.plus(window / 2)
                    )
                }),
                None => None,
            };
            doc("paused", s.paused.and_then(|p| p.until), joined(&text, &again.unwrap_or_default()))
        }
        State::ClosedUnknown if s.contract.is_some_and(|c| !c.can_look()) => None,
        State::Unknown | State::ClosedUnknown => match row.next_look {
            Some(at) => doc("look", Some(at), asked(row.looks)),
            None => match (row.standing.state, row.unknown_since) {
                (State::Unknown, Some(since)) if row.looks == 0 && s.contract.is_some_and(Contract::can_look) => {
                    doc("look", next_look(since, 0), asked(0))
                }
                _ => doc("person", None, "It stays unknown until you settle it.".into()),
            },
        },
        State::Accepted => match s.filing {
            Some(filing) if filing.state == "waiting" => {
                doc("filing", filing.next_at, "The copy in Sent is looked for, and filed if it is not there.".into())
            }
            _ => None,
        },
        State::Prepared
        | State::NeedsReview
        | State::InProgress
        | State::Refused
        | State::GaveUp
        | State::Rejected
        | State::Superseded => None,
    }
}

/// Until when a destination promised to recognise a repeat of what crossed first at `first_crossed`.
pub(crate) fn recognised_until(contract: &Contract, first_crossed: Option<Timestamp>) -> Option<Timestamp> {
    let window = contract.retention().filter(|_| contract.recognises_repeat());
    window.zip(first_crossed).map(|(window, at)| at.plus(window))
}

/// Whether a pause keeps an unknown outcome from being cleared up: no repeat is made, and without a login no look tells.
pub(crate) fn holds_up(contract: &Contract, paused: &Paused) -> bool {
    let signed_out = paused.until.is_none() && !paused.by_hand();
    if contract.can_look() { signed_out } else { contract.recognises_repeat() }
}

/// Why nothing happens at a destination, since when, and what ends that.
pub(super) fn paused(destination: &str, paused: &Paused) -> String {
    let (why, since) = (paused.why.trim_end_matches('.'), paused.since);
    let then = match paused.until {
        Some(until) => format!("It is tried again by itself at {until}."),
        None if paused.by_hand() => {
            return format!(
                "{destination} is paused since {since}: you paused it. It goes on when you let it (Destinations)."
            );
        }
        None => format!(
            "Sign in to it anew: Destinations, or `countersign destination login {destination}`. If it was a mistake of its \
             own, `countersign destination test {destination}` is enough."
        ),
    };
    format!("{destination} is paused since {since}: {why}. {then}")
}

fn asked(looks: u32) -> String {
    match looks {
        0 => "Not asked yet.".to_owned(),
        1 => "Asked once.".to_owned(),
        n => format!("Asked {n} times."),
    }
}

/// The three questions about a destination (section 15).
pub(crate) fn contract_in_words(destination: &str, kind: &str, effect: &str, contract: &Contract) -> ContractDoc {
    let hours = |h: u32| if h.is_multiple_of(24) && h > 24 { format!("{} days", h / 24) } else { format!("{h} hours") };
    let after = match contract.lookup_delay_seconds {
        0 => "Not finding it is proof.".to_owned(),
        s if s < 120 => format!("Not finding it after {s} seconds is proof."),
        s => format!("Not finding it after {} minutes is proof.", s.div_ceil(60)),
    };
    let absence = if contract.absence_conclusive { after } else { "Not finding it proves nothing.".to_owned() };
    let if_answer_lost = match () {
        () if contract.recognises_repeat() => {
            "We finish under the same key. If the first one got through we get its receipt, if not this is the first."
        }
        () if contract.can_look() && contract.absence_conclusive => {
            "We look it up. If it certainly isn’t there it goes again under the same approval and key."
        }
        () if contract.can_look() => "We look it up, then you decide. Nothing is sent again by itself.",
        () => "We mark it Unknown. Nothing is sent again, and only you can settle it.",
    };
    let again_after_absence = contract.can_look() && contract.absence_conclusive;
    let recognises_repeat = match (contract.family, contract.retention_hours) {
        (Family::LookUpOnly | Family::None, _) if again_after_absence => {
            "No. A second one would be done again, so it goes only once it is certain that there is none.".to_owned()
        }
        (Family::LookUpOnly | Family::None, _) => {
            "No. A second one would be done again, so we never send one by ourselves.".to_owned()
        }
        (Family::Refuse | Family::ConditionalCreate | Family::OneShot, None) => {
            "A second one is refused, and nothing is written. For how long is not promised, so we look first."
                .to_owned()
        }
        (Family::Replay | Family::Resume, None) => "For how long is not promised, so we look first.".to_owned(),
        (Family::Replay | Family::Resume, Some(h)) => {
            format!("For {}. The same key with other content does nothing.", hours(h))
        }
        (Family::Refuse | Family::ConditionalCreate | Family::OneShot, Some(h)) => {
            format!("A second one fails, by its reference, for {}. Nothing is written then.", hours(h))
        }
    };
    let can_be_looked_up = if contract.can_look() {
        format!("{}{} {absence}", contract.lookup, if contract.lookup.ends_with('.') { "" } else { "." })
    } else {
        "No.".to_owned()
    };
    let certainty = match () {
        () if contract.recognises_repeat() || (contract.can_look() && contract.absence_conclusive) => 3,
        () if contract.can_look() => 2,
        () => 1,
    };
    ContractDoc {
        destination: destination.to_owned(),
        kind: kind.to_owned(),
        effect: effect.to_owned(),
        case: None,
        if_answer_lost: if_answer_lost.to_owned(),
        recognises_repeat,
        can_be_looked_up,
        certainty,
        sources: contract.sources.clone(),
    }
}

/// All that a destination promises for an effect, each case by itself.
pub(crate) fn contracts_in_words(
    record: &DestinationRecord,
    connector: &dyn Connector,
    effect: &str,
) -> Vec<ContractDoc> {
    let in_words = |(case, contract): (Option<&str>, &Contract)| {
        let doc = contract_in_words(&record.name, &record.kind, effect, contract);
        ContractDoc { case: case.map(str::to_owned), ..doc }
    };
    connector.contracts(effect).into_iter().map(in_words).collect()
}

/// One journal line for people. `kind` is the fact's name.
pub(super) fn journal_line(kind: &str) -> &'static str {
    match kind {
        "proposed" | "created" | "received" => "Proposed",
        "redrafted" => "A new version of the draft",
        "wrote_again" => "The customer wrote again",
        "approved" => "Approved",
        "rejected" => "Declined",
        "undone" => "Put back",
        "expired" => "The approval grew too old",
        "account_changed" => "The destination’s account changed",
        "released" => "Let go without the one it waited for",
        "claimed" => "Taken up by the worker",
        "crossed" => "About to be handed over",
        "situation_changed" => "The situation changed; nothing was sent",
        "accepted" => "Accepted",
        "not_sent" => "Certainly not sent",
        "refused" => "Refused",
        "unclear" => "No clear answer",
        "stale" => "The worker that held it was gone",
        "repeated" => "Handed over again under the same key",
        "found" => "Proof of acceptance found",
        "absent" => "Certainly not there",
        "said_happened" => "A person: it happened",
        "said_did_not_happen" => "A person: it did not happen",
        "left" => "Left unknown",
        "completed" => "Cleared up",
        "revised" => "Revised as a new action",
        _ => "Recorded",
    }
}
