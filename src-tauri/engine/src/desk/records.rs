//! The record that a CRM action touches, as the destination has it: shown before an approval, and asked for once more when
//! it is given. What the person saw goes into the wire; dispatch compares it again (R16).
//!
//! What was shown is kept beside the action and not in the journal: a record's values are somebody's data, and go with a
//! purge.

use super::Desk;
use super::risks::PARENT_WITHIN;
use crate::failure::Failure;
use countersign_connectors::{Record, Survey};
use countersign_domain::risk::{Finding, Weight, unfilled};
use countersign_domain::{ActionId, Payload, PersonId, Sealed, State};
use countersign_ledger::Detail;
use serde_json::Value;

/// In whose name it is kept. No person is called that: a name has no slash before it is asked.
const KEPT_BY: &str = "destination/record";
/// The record to be touched is not there. Nobody clears it but who makes the record.
pub(super) const RECORD_MISSING: &str = "record_missing";
const CONTACT: &str = "crm.contact.upsert";

impl Desk {
    fn kept_by() -> PersonId {
        PersonId(KEPT_BY.to_owned())
    }

    /// What was shown of the record, if it was asked for.
    pub(super) async fn shown(&self, id: ActionId) -> Result<Option<Survey>, Failure> {
        let kept = self.ledger().kept_text(id, &Desk::kept_by()).await?;
        Ok(kept.and_then(|text| serde_json::from_str(&text).ok()))
    }

    async fn show(&self, id: ActionId, survey: &Survey) -> Result<(), Failure> {
        let text = serde_json::to_string(survey).map_err(|e| Failure::internal(e.to_string()))?;
        Ok(self.ledger().keep_text(id, &Desk::kept_by(), &text, self.now()).await?)
    }

    /// The action of the same request that makes the record this one touches, while it has not ended without that.
    async fn maker(&self, detail: &Detail, payload: &Payload) -> Result<Option<ActionId>, Failure> {
        let (row, wanted) = (&detail.record.row, payload.record());
        let (Some(request), Some(wanted)) = (&row.request_id, wanted) else { return Ok(None) };
        for other in self.ledger().actions_of_request(&row.source, request, None).await? {
            let same_place = other.row.environment == row.environment && other.row.destination == row.destination;
            if other.id() == row.id || !same_place || other.row.effect != CONTACT || !is_to_come(other.state()) {
                continue;
            }
            let (theirs, _) = self.ledger().current(other.id()).await?;
            let same = theirs.record().is_some_and(|r| (r.by, r.value) == (wanted.by, wanted.value.clone()));
            if same && theirs.value()["mode"] != "update_only" {
                return Ok(Some(other.id()));
            }
        }
        Ok(None)
    }

    async fn ask_record(&self, sealed: &Sealed) -> Survey {
        if sealed.payload().record().is_none() {
            return Survey::NothingToAsk;
        }
        let asked = async {
            let place = self.reach(&sealed.key().destination).await?;
            let seen = place.connector.survey(sealed, &place.login).await;
            let refused = matches!(seen, Survey::CannotAsk { signed_out: true, .. });
            // A token that was refused although it looked good is renewed once, here as anywhere.
            let anew = if refused { self.core.destinations.reach_anew(&place).await? } else { None };
            match anew.transpose()? {
                Some(anew) => Ok::<_, Failure>(anew.connector.survey(sealed, &anew.login).await),
                None => Ok(seen),
            }
        };
        match tokio::time::timeout(PARENT_WITHIN, asked).await {
            Ok(Ok(survey)) => survey,
            Ok(Err(failure)) => Survey::CannotAsk { why: failure.message, signed_out: false },
            Err(_) => Survey::CannotAsk { why: "it did not answer in time".to_owned(), signed_out: false },
        }
    }

    /// Asks for the record of the current version and keeps what it showed. Says whether the findings may have changed.
    pub(super) async fn survey(&self, detail: &Detail) -> Result<bool, Failure> {
        let (record, row) = (&detail.record, &detail.record.row);
        let current = detail.payloads.iter().rev().find(|p| p.version == row.payload_version);
        let (Some(key), Some(payload)) = (&record.key, current.and_then(|p| p.payload.as_ref())) else {
            return Ok(false);
        };
        let sealed = Sealed::seal(key.clone(), row.payload_version, payload.clone());
        let (now, before) = (self.ask_record(&sealed).await, self.shown(record.id()).await?);
        // Not reached now is no news about a record that was seen.
        let unasked = matches!(now, Survey::CannotAsk { .. }) && before.is_some();
        if now == Survey::NothingToAsk || unasked || before.as_ref() == Some(&now) {
            return Ok(false);
        }
        self.show(record.id(), &now).await?;
        Ok(true)
    }

    /// The record as it is when an approval is given.
    ///
    /// # Errors
    /// Conflict where it is not what was shown; what it is now is shown from then on.
    pub(super) async fn survey_again(&self, id: ActionId, sealed: &Sealed) -> Result<Survey, Failure> {
        let now = self.ask_record(sealed).await;
        if now == Survey::NothingToAsk {
            return Ok(now);
        }
        let shown = self.shown(id).await?;
        match shown {
            Some(shown) if matches!(now, Survey::CannotAsk { .. }) => Ok(shown),
            Some(shown) if !is_the_same(&shown, &now) => {
                self.show(id, &now).await?;
                Err(Failure::conflict(
                    "the record at the destination is not what was shown any more; look at it again, then approve",
                )
                .on(id))
            }
            Some(_) | None => {
                self.show(id, &now).await?;
                Ok(now)
            }
        }
    }

    pub(super) async fn record_findings(&self, detail: &Detail, payload: &Payload) -> Result<Vec<Finding>, Failure> {
        let shown = self.shown(detail.record.id()).await?;
        let mut all = shown.map_or_else(Vec::new, |survey| findings(&survey, payload));
        if let Some(missing) = all.iter_mut().find(|f| f.code == RECORD_MISSING)
            && let Some(maker) = self.maker(detail, payload).await?
        {
            missing.text = format!(
                "There is no such record yet. {maker} of the same request makes it: approve {maker} first. Once that was \
                 accepted, look at this one again and approve it."
            );
        }
        let text = |field: &'static str| Some((field, payload.value()[field].as_str()?));
        let texts = ["subject", "title", "text"].into_iter().filter_map(text);
        all.extend(texts.filter_map(|(field, text)| unfilled(field, text)));
        Ok(all)
    }
}

/// Whether a person who saw the one has nothing to learn from the other: a version alone says nothing.
fn is_the_same(shown: &Survey, now: &Survey) -> bool {
    match (shown, now) {
        (Survey::Found(a), Survey::Found(b)) => {
            a.id == b.id && b.values.iter().all(|(name, value)| a.values.get(name) == Some(value))
        }
        (Survey::NothingToAsk, _) => true,
        (a, b) => a == b,
    }
}

/// Whether its effect may still come, or came a moment ago and is not shown yet.
fn is_to_come(state: State) -> bool {
    match state {
        State::Prepared
        | State::NeedsReview
        | State::Approved
        | State::InProgress
        | State::Accepted
        | State::Unknown
        | State::ClosedUnknown => true,
        State::Refused | State::GaveUp | State::Rejected | State::Superseded => false,
    }
}

fn finding(code: &'static str, field: &str, weight: Weight, holds: bool, text: String) -> Finding {
    Finding { code, field: field.to_owned(), weight, holds, text }
}

fn findings(survey: &Survey, payload: &Payload) -> Vec<Finding> {
    let value = payload.value();
    let makes = payload.effect() == CONTACT && value["mode"] != "update_only";
    let field = if value.get("match").is_some() { "match" } else { "record" };
    match survey {
        Survey::NothingToAsk => Vec::new(),
        Survey::CannotAsk { why, .. } => {
            let text = format!("The record could not be looked at: {why}.");
            vec![finding("record_unasked", field, Weight::Note, false, text)]
        }
        Survey::Missing if makes => {
            let text = "There is no such contact yet. This makes one.".to_owned();
            vec![finding("record_new", field, Weight::Note, false, text)]
        }
        Survey::Missing => {
            let text = "There is no such record. This can’t be approved before there is.".to_owned();
            vec![finding(RECORD_MISSING, field, Weight::Stop, true, text)]
        }
        Survey::Found(record) => found(record, value, field),
    }
}

fn found(record: &Record, value: &Value, field: &str) -> Vec<Finding> {
    let name = if record.title.is_empty() { String::new() } else { format!(", {}", record.title) };
    let mut all = vec![finding("record_found", field, Weight::Fact, false, format!("Record {}{name}.", record.id))];
    if value["mode"] == "create_only" {
        let text = format!("Contact {}{name} is there already, and only a new one was proposed.", record.id);
        all.push(finding("record_exists", "mode", Weight::Stop, true, text));
        return all;
    }
    let expected = value["expected"].as_object();
    for (name, wanted) in expected.into_iter().flatten() {
        let (wanted, now) = (as_text(wanted), record.values.get(name));
        if let Some(now) = now.filter(|now| **now != wanted) {
            let text = format!("It was to be “{wanted}” and is “{now}”. It is held back as long as that is so.");
            all.push(finding("record_differs", &format!("expected.{name}"), Weight::Stop, true, text));
        }
    }
    for (name, new) in value["fields"].as_object().into_iter().flatten() {
        let (new, now) = (as_text(new), record.values.get(name).map(String::as_str).unwrap_or_default());
        let path = format!("fields.{name}");
        if now == new {
            all.push(finding("record_unchanged", &path, Weight::Fact, false, "It has this value already.".into()));
        } else if !now.is_empty() {
            // Who named the value it should have had knew that it is written over.
            let knew = expected.is_some_and(|e| e.get(name).is_some_and(|v| as_text(v) == now));
            let weight = if knew { Weight::Note } else { Weight::Look };
            all.push(finding("record_overwrites", &path, weight, !knew, format!("Now “{now}”. This writes over it.")));
        }
    }
    all
}

/// A field's value as texts are compared; empty for none.
fn as_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(effect: &str, payload: Value, survey: &Survey) -> Vec<(&'static str, String, bool)> {
        let payload = Payload::parse(effect, payload, &[]).expect("a payload");
        findings(survey, &payload).into_iter().map(|f| (f.code, f.field, f.holds)).collect()
    }

    fn robin(values: &[(&str, &str)]) -> Survey {
        Survey::Found(Record {
            id: "4711".into(),
            title: "Robin Vale".into(),
            values: values.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect(),
            version: Some("2026-11-02T09:00:00Z".into()),
        })
    }

    #[test]
    fn r17_what_a_change_writes_over_is_shown_and_held_unless_the_source_knew_it() {
        let deal = |expected: Value| {
            json!({ "record": { "type": "deal", "match": { "id": 7 } },
            "fields": { "dealstage": "won", "amount": "10" }, "expected": expected })
        };
        let now = robin(&[("dealstage", "offer"), ("amount", "")]);
        let overwrites = |holds| ("record_overwrites", "fields.dealstage".to_owned(), holds);
        let all = of("crm.deal.update", deal(json!({})), &now);
        assert!(all.contains(&overwrites(true)), "{all:?}");
        let all = of("crm.deal.update", deal(json!({ "dealstage": "offer" })), &now);
        assert!(all.contains(&overwrites(false)) && !all.iter().any(|f| f.2), "{all:?}");
        let all = of("crm.deal.update", deal(json!({ "dealstage": "new" })), &now);
        assert!(all.contains(&("record_differs", "expected.dealstage".to_owned(), true)), "{all:?}");
    }

    #[test]
    fn r17_a_record_that_is_not_there_holds_all_but_what_makes_it() {
        let note = json!({ "record": { "type": "contact", "match": { "email": "r@x.example" } }, "text": "x" });
        assert_eq!(of("crm.note", note, &Survey::Missing), [("record_missing", "record".to_owned(), true)]);
        let contact = |mode: &str| json!({ "match": { "email": "r@x.example" }, "fields": {}, "mode": mode });
        let one =
            |mode: &str, survey: &Survey| of("crm.contact.upsert", contact(mode), survey).pop().map(|f| (f.0, f.2));
        assert_eq!(one("create_only", &Survey::Missing), Some(("record_new", false)));
        assert_eq!(one("update_only", &Survey::Missing), Some(("record_missing", true)));
        assert_eq!(one("create_only", &robin(&[])), Some(("record_exists", true)));
        assert_eq!(one("upsert", &robin(&[])), Some(("record_found", false)));
    }
}
