//! Facts to sentences (R29): what is known about an action, why a repeat was suppressed, why two actions count as
//! different. Says what is certain and what is not, and never more than was seen.

use crate::action_key::ActionKey;
use crate::state::{Standing, State};
use crate::time::Timestamp;

/// What `explain` needs beside the standing.
#[derive(Clone, Debug, Default)]
pub struct Story {
    pub destination: String,
    /// Who said that it did not happen.
    pub by_word_of: Option<String>,
    /// Deliveries that asked for this action again.
    pub duplicates: u32,
    pub receipt: Option<String>,
    /// Whose word the receipt is, where it is not the destination's.
    pub accepted_by: Option<String>,
    /// When it was handed over again although the outcome was not known, oldest first.
    pub repeated: Vec<Timestamp>,
    /// Until when the destination promised to recognise a repeat.
    pub recognised_until: Option<Timestamp>,
    pub revises: Option<String>,
    pub revised_by: Option<String>,
    /// The ledger was taken over after a restore or a move: its other copy may have sent this, and nothing here knows.
    pub adopted: bool,
    /// Why it needs review, was refused or was rejected, in words.
    pub reason: Option<String>,
}

/// The explanation of interfaces.md's action document.
pub fn explain(standing: &Standing, story: &Story) -> String {
    let mut sentences = outcome(standing, story);
    if story.adopted && standing.state != State::Accepted {
        sentences.push("It may have been sent from another copy of this ledger.".to_owned());
    }
    if standing.says_by_word() {
        sentences.push(by_word(story));
    }
    sentences.extend(repeats(standing, story));
    sentences.extend(relatives(standing, story));
    sentences.join(" ")
}

impl Standing {
    /// Whether "nothing was sent" is here a person's word and not certain.
    pub const fn says_by_word(&self) -> bool {
        self.by_word && self.state.says_nothing_sent()
    }
}

fn by_word(story: &Story) -> String {
    match &story.by_word_of {
        Some(name) => format!("Not sent, by {name}'s word."),
        None => "Not sent, by a person's signed word.".to_owned(),
    }
}

/// What was told, as a sentence: with a capital, and its end.
pub fn sentence(text: &str) -> String {
    let text = text.trim();
    let end = if text.ends_with(['.', '!', '?', '…']) { "" } else { "." };
    let mut letters = text.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    format!("{first}{}{end}", letters.as_str())
}

fn tries(n: u8) -> String {
    if n == 1 { "1 try".to_owned() } else { format!("{n} tries") }
}

fn outcome(s: &Standing, story: &Story) -> Vec<String> {
    let destination = if story.destination.is_empty() { "the destination" } else { &story.destination };
    let reason = story.reason.as_deref().filter(|r| !r.trim().is_empty());
    let certain = !s.by_word && !story.adopted;
    let mut out = Vec::new();
    match s.state {
        State::Prepared if story.adopted => out.push(match s.signed {
            0 => "A draft is ready to be read.".into(),
            _ => "One person approved. A second person has to approve the same fingerprint.".into(),
        }),
        State::Prepared if s.signed > 0 => {
            out.push(
                "One person approved. Nothing leaves until a second person has approved the same fingerprint.".into(),
            );
        }
        State::Prepared => out.push("A draft is ready. Nothing leaves until a person approves it.".into()),
        State::NeedsReview => {
            out.push("Something has to be cleared up before this can be approved.".into());
            out.extend(reason.map(sentence));
            if s.crossed_once && certain {
                out.push(
                    "An earlier try was certainly not taken. Only the same message can be approved again; a change is a \
                     new action."
                        .into(),
                );
            } else if certain {
                out.push("Nothing was sent.".into());
            }
        }
        State::Approved if s.crossed_once => {
            if certain {
                out.push(format!("Approved. {} certainly not taken, so nothing has been sent.", so_far(s.attempts)));
            } else {
                out.push("Approved.".into());
            }
            out.push("The same bytes go again under the same key.".into());
        }
        State::Approved if s.attempts > 0 && certain => {
            out.push(format!("Approved. {} certainly not taken. Nothing has left.", so_far(s.attempts)));
        }
        State::Approved if story.adopted => out.push("Approved.".into()),
        State::Approved => out.push("Approved. Nothing has left yet.".into()),
        State::InProgress if s.in_doubt => out.push(format!(
            "Being handed over again under the same key. It stays unknown unless {destination} confirms it."
        )),
        State::InProgress => out.push(format!("Being handed over to {destination}. This can't be undone any more.")),
        State::Accepted => {
            // The receipt's own text says where the proof came from: the answer, a look-up or a person's word.
            out.push(match &story.accepted_by {
                Some(name) => format!("Accepted, on {name}'s word."),
                None => "Accepted.".into(),
            });
            out.extend(story.receipt.as_deref().map(sentence));
            out.push(match story.accepted_by {
                Some(_) => format!("{} has not confirmed it.", destination),
                None => "Accepted means that it was taken over, not that anybody has it or read it.".into(),
            });
        }
        State::Unknown => {
            out.push(format!("We don't know whether {destination} took it."));
            out.extend(reason.map(sentence));
            out.push(match repeated(destination, story) {
                Some(again) => again,
                None if story.adopted => "It was not handed over again from here.".into(),
                None => "Nothing was sent again.".into(),
            });
        }
        State::ClosedUnknown => {
            out.push("A person stopped the asking. It may or may not have happened; the outcome is not known.".into());
            out.extend(repeated(destination, story));
        }
        State::Refused => {
            out.push(match reason {
                Some(words) => format!("{destination} said no: {}", sentence(words)),
                None => format!("{destination} said no."),
            });
            if certain {
                out.push("This is certain: nothing was sent.".into());
            }
        }
        State::GaveUp => {
            out.push(format!("{}, none of them taken.", tries(s.attempts)));
            out.extend(reason.map(sentence));
            if certain {
                out.push("This is certain: nothing was sent.".into());
            }
        }
        State::Rejected => {
            out.push("A person declined it.".into());
            out.extend(reason.map(sentence));
            if certain {
                out.push("Nothing was sent.".into());
            }
        }
        State::Superseded => {
            out.push(match &story.revised_by {
                Some(next) if certain => format!("Replaced by {next} before anything was sent."),
                Some(next) => format!("Replaced by {next}."),
                None if certain => "Replaced by a later revision before anything was sent.".into(),
                None => "Replaced by a later revision.".into(),
            });
        }
    }
    out
}

/// What was handed over again in doubt: it is never said that nothing was.
fn repeated(destination: &str, story: &Story) -> Option<String> {
    let times: Vec<String> = story.repeated.iter().map(Timestamp::to_string).collect();
    let (last, before) = times.split_last()?;
    let count = if before.is_empty() { "once".to_owned() } else { format!("{} times", times.len()) };
    let at = if before.is_empty() { last.clone() } else { format!("{} and {last}", before.join(", ")) };
    let until = match story.recognised_until {
        Some(until) => format!(" {} recognises repeats until {until}.", destination),
        None => String::new(),
    };
    Some(format!("It was repeated under the same key {count}, at {at}, always with the same bytes.{until}"))
}

fn so_far(attempts: u8) -> String {
    match attempts {
        0 | 1 => "The first try was".into(),
        n => format!("{n} tries were"),
    }
}

/// Why a repeated request led to nothing new.
fn repeats(s: &Standing, story: &Story) -> Option<String> {
    if story.duplicates == 0 {
        return None;
    }
    let asked = match story.duplicates {
        1 => "It was asked for once more".to_owned(),
        n => format!("It was asked for {n} more times"),
    };
    let why = match s.state {
        _ if story.adopted && s.state != State::Accepted => "it may have happened already, so no second one was made",
        State::Accepted => "it was already accepted, so nothing was sent a second time",
        State::Unknown | State::ClosedUnknown => "it may have happened already, so nothing was sent a second time",
        State::InProgress => "it was already on its way, so nothing was sent a second time",
        State::Prepared | State::NeedsReview | State::Approved => "it waits already, so no second one was made",
        State::Refused | State::GaveUp | State::Rejected | State::Superseded => {
            "it was already decided, so no second one was made"
        }
    };
    Some(format!("{asked} with the same source, request and step: the same action. {}.", capital(why)))
}

fn relatives(s: &Standing, story: &Story) -> Vec<String> {
    let mut out = Vec::new();
    if let Some(earlier) = &story.revises {
        out.push(format!(
            "It revises {earlier}: a deliberate new action with its own key and its own approval, so the two count as different."
        ));
    }
    if let Some(later) = &story.revised_by
        && s.state != State::Superseded
    {
        out.push(format!("{later} follows it, so this one never goes again."));
    }
    out
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().collect::<String>() + chars.as_str())
}

/// Why two actions count as different, in one sentence; None if their keys are the same.
pub fn difference(one: &ActionKey, other: &ActionKey) -> Option<String> {
    let ActionKey { environment, destination, effect, source, request_id, step, revision } = one;
    let mut parts = Vec::new();
    for (what, a, b) in [
        ("environment", environment, &other.environment),
        ("destination", destination, &other.destination),
        ("effect", effect, &other.effect),
        ("source", source, &other.source),
        ("request", request_id, &other.request_id),
        ("step", step, &other.step),
    ] {
        if a != b {
            parts.push(format!("the {what} (`{a}` and `{b}`)"));
        }
    }
    if *revision != other.revision {
        parts.push(format!("the revision ({revision} and {})", other.revision));
    }
    let last = parts.pop()?;
    let list = if parts.is_empty() { last } else { format!("{} and {last}", parts.join(", ")) };
    Some(format!("They count as different, because they differ in {list}."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unknown() -> Standing {
        Standing { state: State::Unknown, crossed_once: true, attempts: 1, ..Standing::proposed(true) }
    }

    #[test]
    fn r29_nothing_was_sent_again_is_said_only_where_that_is_true() {
        let at = |seconds: i64| Timestamp::from_millis(seconds * 1000);
        let story = Story { destination: "resend".into(), ..Story::default() };
        assert!(explain(&unknown(), &story).contains("Nothing was sent again."));
        let once = Story { repeated: vec![at(60)], recognised_until: Some(at(86_400)), ..story.clone() };
        // However the attempts were counted: what was repeated was repeated.
        for attempts in [1, 2] {
            let told = explain(&Standing { attempts, ..unknown() }, &once);
            assert!(!told.contains("Nothing was sent again"), "{told}");
            let says = "repeated under the same key once, at 1970-01-01T00:01:00Z, always with the same bytes. resend recognises \
                        repeats until 1970-01-02T00:00:00Z.";
            assert!(told.contains(says), "{told}");
        }
        let more = Story { repeated: vec![at(60), at(120), at(180)], ..story.clone() };
        for state in [State::Unknown, State::ClosedUnknown] {
            let told = explain(&Standing { state, ..unknown() }, &more);
            let times = "3 times, at 1970-01-01T00:01:00Z, 1970-01-01T00:02:00Z and 1970-01-01T00:03:00Z";
            assert!(told.contains(times) && !told.contains("until"), "{told}");
        }
        // Two tries of which the first was certainly not taken: the second one is in doubt, and nothing came after it.
        let told = explain(&Standing { attempts: 2, ..unknown() }, &story);
        assert!(told.contains("Nothing was sent again."), "{told}");
    }

    #[test]
    fn r25_a_persons_word_is_never_told_as_the_destinations() {
        let accepted = Standing { state: State::Accepted, ..unknown() };
        let story = Story { destination: "crm".into(), receipt: Some("Robin has it".into()), ..Story::default() };
        assert!(explain(&accepted, &story).starts_with("Accepted. Robin has it. Accepted means"));
        let word = Story { accepted_by: Some("Noor".into()), ..story };
        assert_eq!(explain(&accepted, &word), "Accepted, on Noor's word. Robin has it. crm has not confirmed it.");
    }
}
