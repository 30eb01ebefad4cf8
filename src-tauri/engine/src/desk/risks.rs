//! What a person has to look at before approving: recipient and content risks (R17), replies that would be split or
//! repeated, and the customer's message as the mailbox has it.

use super::Desk;
use super::records::RECORD_MISSING;
use crate::anchor::{self, ADOPTED, Adopted, MAY_HAVE_BEEN_SENT};
use crate::failure::Failure;
use crate::related;
use crate::settings::sending_key;
use crate::view::FindingDoc;
use countersign_connectors::Parent;
use countersign_domain::canonical::sha256;
use countersign_domain::email::EmailView;
use countersign_domain::risk::automatic::{self, Automatic};
use countersign_domain::risk::{self, Finding, Weight};
use countersign_domain::send_at::SendAt;
use countersign_domain::{ActionId, Conversation, DeliveryId, Mailbox, Payload, Standing, State};
use countersign_ledger::{Around, AroundWhat, Cleared, DestinationRecord, Detail, JournalRow, Related};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::time::Duration;

/// How long an approval waits for the mailbox to show the customer's message. One that takes longer is one that cannot be
/// asked: the message stays the source's word, and is shown as such.
pub(super) const PARENT_WITHIN: Duration = Duration::from_secs(10);

/// Nobody wrote the message that is answered.
pub(super) const AUTOMATIC: &str = "automatic_message";
/// Its thread took as many messages as it takes in a day.
pub(super) const DAILY_LIMIT: &str = "daily_limit";
const A_DAY: Duration = Duration::from_secs(24 * 3600);

/// What the mailbox said about the customer's message. Addresses are kept as digests only: settings are journaled, and the
/// journal outlives a purge.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Checked {
    /// `matches`, `differs` or `missing`.
    pub(super) result: String,
    /// Hash of the conversation that was compared. A source may replace it with the next draft.
    #[serde(default)]
    conversation: String,
    /// `from`, `subject`, `text`.
    #[serde(default)]
    pub(super) fields: Vec<String>,
    /// Digests of everyone in the thread's message, lower case.
    #[serde(default)]
    people: BTreeSet<String>,
    /// Why no person wrote it, if its headers say so.
    #[serde(default)]
    automatic: Option<String>,
}

impl Checked {
    /// None where nothing could be asked: that holds nothing back.
    fn of(parent: &Parent, told: &Conversation) -> Option<Checked> {
        let (result, fields, people, automatic): (_, &[_], &[String], _) = match parent {
            Parent::Matches { people, automatic } => ("matches", &[], people, *automatic),
            Parent::Differs { fields, people, automatic } => ("differs", fields, people, *automatic),
            Parent::Missing => ("missing", &[], &[], None),
            Parent::CannotAsk { .. } | Parent::NothingToAsk => return None,
        };
        Some(Checked {
            result: result.to_owned(),
            conversation: told.hash().to_string(),
            fields: fields.iter().map(|f| (*f).to_owned()).collect(),
            people: people.iter().map(|p| digest(p)).collect(),
            automatic: automatic.map(|a| a.name().to_owned()),
        })
    }

    /// What stands in the setting, if it is about the conversation that the action has now.
    fn stored(text: Option<&str>, detail: &Detail) -> Option<Checked> {
        let told = detail.conversation.as_ref()?;
        let checked: Checked = serde_json::from_str(text?).ok()?;
        Some(checked).filter(|c| c.conversation == told.hash().to_string())
    }

    fn findings(&self, email: &EmailView, own_domains: &[String]) -> Vec<Finding> {
        let stop = |code, field: &str, text: String| Finding {
            code,
            field: field.to_owned(),
            weight: Weight::Stop,
            holds: true,
            text,
        };
        match self.result.as_str() {
            // A message of its own may well go out from another mailbox than the one the customer wrote to.
            "missing" => vec![Finding {
                holds: email.in_reply_to.is_some(),
                weight: if email.in_reply_to.is_some() { Weight::Stop } else { Weight::Look },
                ..stop(
                    "parent_missing",
                    "in_reply_to",
                    "The mailbox has no such message. What the source shows as the customer’s words can’t be checked."
                        .into(),
                )
            }],
            result => {
                let mut all = Vec::new();
                if result == "differs" {
                    let what = self.fields.join(", ");
                    all.push(stop(
                        "parent_differs",
                        "in_reply_to",
                        format!("The message in the mailbox differs from what the source shows: {what}."),
                    ));
                }
                all.extend(recipients(email).filter(|(_, address)| !self.knows(address, own_domains)).map(
                    |(field, _)| {
                        stop("outside_thread", &field, "Not part of the thread, as the mailbox has it.".into())
                    },
                ));
                all
            }
        }
    }

    fn knows(&self, address: &str, own_domains: &[String]) -> bool {
        let ours = address.rsplit_once('@').is_some_and(|(_, domain)| {
            let folded = |own: &String| Mailbox { name: None, email: format!("x@{own}") }.ascii_domain();
            own_domains.iter().any(|own| folded(own) == domain)
        });
        ours || self.people.contains(&digest(address))
    }
}

fn digest(address: &str) -> String {
    hex::encode(&sha256(address.to_lowercase().as_bytes())[..12])
}

/// Everyone who would get it, with the path of the field, in the form in which addresses are compared.
fn recipients(email: &EmailView) -> impl Iterator<Item = (String, String)> + '_ {
    let lists = [("to", &email.to), ("cc", &email.cc), ("bcc", &email.bcc)];
    lists
        .into_iter()
        .flat_map(|(name, list)| list.iter().enumerate().map(move |(i, m)| (format!("{name}[{i}].email"), m.folded())))
}

/// Two systems that answer each other are stopped at the latest here: the thread took what it takes in a day.
fn daily_limit(related: &[Related], now: countersign_domain::Timestamp) -> Option<Finding> {
    let in_thread = related.iter().filter(|other| other.same_thread);
    // What waits or may have gone counts as well; without a time it is of now.
    let mut lately: Vec<_> =
        in_thread.map(|other| other.went_at.unwrap_or(now)).filter(|at| now.since(*at) < A_DAY).collect();
    lately.sort();
    let free = lately.len().checked_sub(automatic::A_DAY)?;
    Some(Finding {
        code: DAILY_LIMIT,
        field: "conversation".to_owned(),
        weight: Weight::Stop,
        holds: true,
        text: format!(
            "{} messages went into this thread in 24 hours, and what it answers was written by no person. No more is approved \
             before {}.",
            lately.len(),
            lately[free].plus(A_DAY)
        ),
    })
}

/// A draft that was read too late: what is approved now goes now, and not at the time it was written for.
fn time_passed(when: &SendAt, now: countersign_domain::Timestamp) -> Option<Finding> {
    let due = when.resolve().ok().filter(|due| due.at <= now)?;
    let text = format!("Its time, {}, has passed: it goes as soon as you approve.", when.both(due));
    Some(Finding { code: "time_passed", field: "send_at".into(), weight: Weight::Stop, holds: true, text })
}

/// The customer wrote again since the source made this draft, and the source made no other one.
fn wrote_again(detail: &Detail) -> Option<Finding> {
    let told = |row: &&JournalRow| {
        let details = &row.entry.fact["details"];
        details["news"] == true || (row.kind == "redrafted" && row.entry.by.starts_with("source "))
    };
    let last = detail.journal.iter().rev().find(told)?;
    let details = &last.entry.fact["details"];
    let delivery = details["delivery"].as_i64().filter(|_| details["news"] == true)?;
    Some(Finding {
        code: "customer_wrote_again",
        // Each time is looked at by itself.
        field: DeliveryId(delivery).to_string(),
        weight: Weight::Stop,
        holds: true,
        text: "The customer wrote again after this was drafted. Read what they say now.".into(),
    })
}

/// The ledger was restored or moved, so this may have been sent from its other copy. The first attempt looks for it; where
/// not finding it proves nothing, it goes out only after this was cleared.
fn adopted_finding(why: &str) -> Finding {
    Finding {
        code: MAY_HAVE_BEEN_SENT,
        field: "action".to_owned(),
        weight: Weight::Stop,
        holds: false,
        text: format!(
            "This ledger was {why} and taken over, so this may have been sent before. It is looked up first; check with the \
             recipient or at the destination, then say that it was not.",
            why = why.replace('_', " ")
        ),
    }
}

pub(super) fn doc(finding: Finding, version: u32, cleared: &[Cleared]) -> FindingDoc {
    let by = cleared
        .iter()
        .find(|c| c.version == version && c.code == finding.code && c.field == finding.field)
        .map(|c| format!("{}, {}", c.by, c.at));
    FindingDoc {
        code: finding.code.to_owned(),
        field: finding.field,
        weight: finding.weight.name().to_owned(),
        text: finding.text,
        holds: finding.holds,
        cleared: by,
    }
}

/// Whether a person can still approve it: what else went to the same thread or person matters as long as that is so.
fn may_be_approved(standing: &Standing) -> bool {
    match standing.state {
        State::Prepared | State::NeedsReview => true,
        State::Refused | State::GaveUp => !standing.revised,
        State::Approved
        | State::InProgress
        | State::Accepted
        | State::Unknown
        | State::Rejected
        | State::Superseded
        | State::ClosedUnknown => false,
    }
}

/// Whether what a person says about it may let it go: they read first what the customer says now.
fn may_go_again(standing: &Standing) -> bool {
    matches!(standing.state, State::InProgress | State::Unknown | State::ClosedUnknown)
}

fn parent_key(action: ActionId) -> String {
    format!("parent/{action}")
}

impl Desk {
    /// What the ledger knows around an action that is shown with this payload.
    pub(super) async fn around(&self, detail: &Detail, payload: Option<&Payload>) -> Result<Around, Failure> {
        let (id, environment) = (detail.record.id(), detail.record.row.environment.as_str());
        let email = payload.and_then(Payload::email);
        let addresses = email.map(|email| risk::spellings(&email)).unwrap_or_default();
        let (parent, sending) = (parent_key(id), sending_key(environment));
        let what =
            AroundWhat { environment, addresses: &addresses, settings: &[ADOPTED, parent.as_str(), sending.as_str()] };
        Ok(self.ledger().around(id, &what, self.now()).await?)
    }

    /// All findings of a payload of this action, heaviest first, with what was cleared for its version.
    pub(super) async fn findings_of(
        &self,
        detail: &Detail,
        payload: &Payload,
        version: u32,
        around: &Around,
    ) -> Result<Vec<FindingDoc>, Failure> {
        let open = may_be_approved(&detail.record.row.standing);
        let mut all = if open { self.followed(detail).await? } else { Vec::new() };
        if open {
            all.extend(related::findings(&around.related, self.now()));
        }
        match payload.email() {
            Some(email) => all.extend(self.mail_findings(detail, &email, open, around)),
            None if open => all.extend(self.record_findings(detail, payload).await?),
            None => {}
        }
        all.extend(wrote_again(detail).filter(|_| open || may_go_again(&detail.record.row.standing)));
        let mut cleared = detail.cleared.clone();
        // Nobody clears these: time does, and the record that is made.
        cleared.retain(|c| c.code != DAILY_LIMIT && c.code != RECORD_MISSING);
        if open && let Some(adopted) = adopted_before(around, detail)? {
            all.push(adopted_finding(&adopted.why));
            // What was said before this adoption says nothing about it.
            if !adopted.word_since(detail) {
                cleared.retain(|c| c.code != MAY_HAVE_BEEN_SENT);
            }
        }
        all.sort_by_key(|f| std::cmp::Reverse(f.weight));
        Ok(all.into_iter().map(|f| doc(f, version, &cleared)).collect())
    }

    fn mail_findings(&self, detail: &Detail, email: &EmailView, open: bool, around: &Around) -> Vec<Finding> {
        let mut known = around.known.clone();
        known.own_domains = domains_of(&around.destinations);
        if known.draft_attachments.is_empty() {
            let first = detail.payloads.iter().find(|p| p.version == 1).and_then(|p| p.payload.as_ref());
            known.draft_attachments =
                first.map(|p| p.attachments().iter().map(|a| a.sha256.clone()).collect()).unwrap_or_default();
        }
        let mut all = risk::findings(email, detail.conversation.as_ref(), &known);
        if open && let Some(passed) = email.send_at.as_ref().and_then(|when| time_passed(when, self.now())) {
            all.retain(|f| f.code != "sent_later");
            all.push(passed);
        }
        if let Some(checked) = checked_of(around, detail) {
            all.extend(checked.findings(email, &known.own_domains));
            let by_mailbox = checked.automatic.as_deref().and_then(Automatic::named);
            // The source may have told the same.
            if !all.iter().any(|f| f.code == AUTOMATIC) {
                all.extend(by_mailbox.map(risk::automatic_message));
            }
        }
        if open && all.iter().any(|f| f.code == AUTOMATIC) {
            all.extend(daily_limit(&around.related, self.now()));
        }
        all
    }

    /// What the mailbox said about the conversation this action has now; None where that was not asked yet.
    async fn checked(&self, detail: &Detail) -> Result<Option<Checked>, Failure> {
        let stored = self.ledger().setting(&parent_key(detail.record.id())).await?;
        Ok(Checked::stored(stored.as_deref(), detail))
    }

    /// For whoever opens an action: asks its destination for the customer's message or for the record it touches, and
    /// keeps what it showed. Says whether the findings may have changed.
    ///
    /// # Errors
    /// The ledger's only: what cannot be asked stays unchecked.
    pub async fn check_parent(&self, id: ActionId) -> Result<bool, Failure> {
        let detail = self.ledger().detail(id).await?;
        match may_be_approved(&detail.record.row.standing) && self.survey(&detail).await? {
            true => Ok(true),
            false => self.check_message(&detail).await,
        }
    }

    /// Fetches the customer's message from the destination's mailbox, until it was found as told.
    async fn check_message(&self, detail: &Detail) -> Result<bool, Failure> {
        let id = detail.record.id();
        let open = may_be_approved(&detail.record.row.standing);
        let told = detail.conversation.as_ref().filter(|c| open && c.message_id.is_some());
        let Some(conversation) = told else { return Ok(false) };
        let before = self.checked(detail).await?;
        if before.as_ref().is_some_and(|c| c.result == "matches") {
            return Ok(false);
        }
        let Some(parent) = self.ask_parent(&detail.record.row.destination, conversation).await else {
            return Ok(false);
        };
        let checked = Checked::of(&parent, conversation).filter(|new| before.as_ref() != Some(new));
        let Some(checked) = checked else { return Ok(false) };
        let text = serde_json::to_string(&checked).map_err(|e| Failure::internal(e.to_string()))?;
        self.ledger().set_setting(&parent_key(id), &text, "worker", self.now()).await?;
        Ok(true)
    }

    /// The same before an approval, wherever it is given: a window that was opened has mostly asked already.
    pub(super) async fn check_parent_in_time(&self, detail: &Detail) -> Result<(), Failure> {
        match tokio::time::timeout(PARENT_WITHIN, self.check_message(detail)).await {
            Ok(asked) => asked.map(drop),
            Err(_) => Ok(()),
        }
    }

    async fn ask_parent(&self, destination: &str, conversation: &Conversation) -> Option<Parent> {
        let place = self.reach(destination).await.ok()?;
        Some(place.connector.parent(conversation, &place.login).await)
    }
}

/// What the mailbox said about the conversation this action has now.
pub(super) fn checked_of(around: &Around, detail: &Detail) -> Option<Checked> {
    Checked::stored(around.settings.get(&parent_key(detail.record.id())).map(String::as_str), detail)
}

/// Why the ledger was adopted, where the action may have been sent before that.
pub(super) fn adopted_before(around: &Around, detail: &Detail) -> Result<Option<Adopted>, Failure> {
    let stored = anchor::adopted(around.settings.get(ADOPTED).map(String::as_str))?;
    Ok(stored.and_then(|adopted| adopted.knew(detail)))
}

/// Domains of these destinations' senders, each once.
fn domains_of(destinations: &[DestinationRecord]) -> Vec<String> {
    let mut own: Vec<String> = destinations.iter().flat_map(|d| own_domains(&d.config["file"])).collect();
    own.sort();
    own.dedup();
    own
}

/// Domains of a destination's senders.
fn own_domains(config: &serde_json::Value) -> Vec<String> {
    let mut found = Vec::new();
    let tables = config.as_object().into_iter().flat_map(|o| o.values());
    for from in tables.filter_map(|t| t.get("from")) {
        let texts: Vec<&str> = match from {
            serde_json::Value::Array(all) => all.iter().filter_map(|v| v.as_str()).collect(),
            other => other.as_str().into_iter().collect(),
        };
        found.extend(texts.iter().filter_map(|t| {
            let address = t.rsplit_once('<').map_or(*t, |(_, a)| a).trim_end_matches('>').trim();
            address.rsplit_once('@').map(|(_, domain)| domain.to_lowercase())
        }));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r17_our_own_domains_come_from_the_senders() {
        let config =
            serde_json::json!({ "name": "m", "mailbox": { "from": ["Shop <Support@Shop.example>", "b@x.example"] } });
        assert_eq!(own_domains(&config), ["shop.example", "x.example"]);
    }
}
