//! Payload → request. Pure: the record was looked up before, and what was seen comes as an argument.

use super::config::KEY_PROPERTY;
use super::{HubSpot, wire};
use crate::Unrenderable;
use crate::survey::{Record, Survey};
use crate::transport::http::Request;
use countersign_domain::{IdempotencyKey, MatchBy, RecordRef, Sealed, Timestamp, Wire};
use serde_json::{Map, Value, json};

pub(super) const OBJECTS: &str = "/crm/objects/2026-03";
/// Longest text of an engagement, in characters (legacy engagement documentation).
const TEXT_MAX: usize = 65_536;

/// HubSpot's own association types from an engagement to a record, by object: note, task, email. Source: the table of
/// developers.hubspot.com/docs/api-reference/latest/crm/associations/overview.
const ASSOCIATIONS: [(&str, [u64; 3]); 4] = [
    ("contacts", [202, 204, 198]),
    ("companies", [190, 192, 186]),
    ("deals", [214, 216, 210]),
    ("tickets", [228, 230, 224]),
];

/// A record's type and HubSpot's plural of it.
const KINDS: [(&str, &str); 4] =
    [("contact", "contacts"), ("company", "companies"), ("deal", "deals"), ("ticket", "tickets")];

pub(super) fn object_of(kind: &str) -> Option<&'static str> {
    KINDS.iter().find(|(one, _)| *one == kind).map(|(_, object)| *object)
}

pub(super) fn kind_of(object: &str) -> Option<&'static str> {
    KINDS.iter().find(|(_, many)| *many == object).map(|(kind, _)| *kind)
}

pub(super) fn object_of_association(id: u64) -> Option<&'static str> {
    ASSOCIATIONS.iter().find(|(_, ids)| ids.contains(&id)).map(|(object, _)| *object)
}

/// A field's value as HubSpot takes and returns it: texts only, empty for none.
pub(super) fn as_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn no(field: &str, reason: impl Into<String>) -> Unrenderable {
    Unrenderable::new(field, reason)
}

/// The record of a payload, if it names one that HubSpot has.
pub(super) fn named(sealed: &Sealed) -> Result<Option<(&'static str, RecordRef)>, Unrenderable> {
    let Some(record) = sealed.payload().record() else { return Ok(None) };
    let object =
        object_of(&record.kind).ok_or_else(|| no("record.type", "is none of contact, company, deal, ticket"))?;
    Ok(Some((object, record)))
}

pub(super) fn render(
    place: &HubSpot,
    sealed: &Sealed,
    key: &IdempotencyKey,
    at: Timestamp,
    survey: &Survey,
) -> Result<Wire, Unrenderable> {
    let value = sealed.payload().value();
    names_are_names(value)?;
    let named = named(sealed)?;
    let effect = sealed.payload().effect();
    match effect {
        "crm.contact.upsert" => contact(place, value, key, named, survey),
        "crm.deal.update" => {
            let (object, record) = named.ok_or_else(|| no("record", "is missing"))?;
            if object != "deals" {
                return Err(no("record.type", "is not deal"));
            }
            let id = number(&record, survey)?;
            Ok(patch(object, &id, &fields(&value["fields"])?, survey.record()))
        }
        "crm.note" | "crm.task" | "crm.email.log" => {
            let properties = engagement(effect, value, key, at)?;
            let mut body = json!({ "properties": properties });
            if let Some((object, record)) = named {
                let id = number(&record, survey)?;
                let kind = ["crm.note", "crm.task", "crm.email.log"].iter().position(|e| *e == effect).unwrap_or(0);
                let types = ASSOCIATIONS.iter().find(|(o, _)| *o == object).map_or(0, |(_, ids)| ids[kind]);
                body["associations"] = json!([{ "to": { "id": id }, "types": [
                    { "associationCategory": "HUBSPOT_DEFINED", "associationTypeId": types }
                ] }]);
            }
            let path = format!("{OBJECTS}/{}", object_of_effect(effect));
            Ok(wire::seal(survey.record(), &Request::json("POST", path, &body)))
        }
        other => Err(no("effect", format!("{other} is nothing that HubSpot takes"))),
    }
}

pub(super) fn object_of_effect(effect: &str) -> &'static str {
    match effect {
        "crm.task" => "tasks",
        "crm.email.log" => "emails",
        _ => "notes",
    }
}

/// A number as HubSpot writes it: 04711 is 4711. None: it is none.
pub(super) fn plain_number(text: &str) -> Option<&str> {
    let number = text.trim_start_matches('0');
    (!number.is_empty() && number.len() <= 20 && number.bytes().all(|b| b.is_ascii_digit())).then_some(number)
}

/// The record's number: as it was seen, or as the payload itself has it.
fn number(record: &RecordRef, survey: &Survey) -> Result<String, Unrenderable> {
    let by = |id: &str| {
        let number = plain_number(id).map(str::to_owned);
        number.ok_or_else(|| no("record.match.id", "is not a number of HubSpot"))
    };
    match survey {
        Survey::Found(seen) => by(&seen.id),
        Survey::Missing => Err(no("record", "HubSpot has no such record yet; approve this once it is there")),
        Survey::CannotAsk { why, .. } if record.by != MatchBy::Id => {
            Err(no("record", format!("HubSpot cannot be asked for the record now ({why}); approve this later")))
        }
        Survey::NothingToAsk if record.by != MatchBy::Id => Err(no("record", "the record was not looked up yet")),
        Survey::CannotAsk { .. } | Survey::NothingToAsk => by(&record.value),
    }
}

/// Whether it can be a property's internal name: it stands in bodies and in a query.
pub(super) fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

/// Every property that a payload names, written or expected.
fn names_are_names(value: &Value) -> Result<(), Unrenderable> {
    for list in ["fields", "expected"] {
        for (name, _) in value[list].as_object().into_iter().flatten() {
            if !is_name(name) {
                let why = "is no internal name of a property: a-z, 0-9 and _ are expected";
                return Err(no(&format!("{list}.{name}"), why));
            }
        }
    }
    Ok(())
}

fn fields(value: &Value) -> Result<Map<String, Value>, Unrenderable> {
    let mut properties = Map::new();
    for (name, value) in value.as_object().into_iter().flatten() {
        // Another action's key on the record would make that one look as if it never happened.
        if name == KEY_PROPERTY {
            return Err(no(&format!("fields.{name}"), "belongs to Countersign and is set by it alone"));
        }
        properties.insert(name.clone(), as_text(value).into());
    }
    Ok(properties)
}

fn patch(object: &str, id: &str, properties: &Map<String, Value>, seen: Option<&Record>) -> Wire {
    let body = json!({ "properties": properties });
    wire::seal(seen, &Request::json("PATCH", format!("{OBJECTS}/{object}/{id}"), &body))
}

/// Create-only where there is no such contact; a change of the one that was seen where there is. Never an upsert, which
/// would write over whatever came since.
fn contact(
    place: &HubSpot,
    value: &Value,
    key: &IdempotencyKey,
    named: Option<(&str, RecordRef)>,
    survey: &Survey,
) -> Result<Wire, Unrenderable> {
    let (_, record) = named.ok_or_else(|| no("match", "is missing"))?;
    let mut properties = fields(&value["fields"])?;
    let mode = value["mode"].as_str().unwrap_or_default();
    if let Survey::Found(seen) = survey {
        if mode == "create_only" {
            return Err(no("mode", format!("contact {} is there already, and only a new one was proposed", seen.id)));
        }
        if properties.is_empty() {
            return Err(no("fields", "has no field to change"));
        }
        return Ok(patch("contacts", &seen.id, &properties, Some(seen)));
    }
    if mode == "update_only" || (mode == "upsert" && *survey != Survey::Missing) {
        let id = number(&record, survey)?;
        return Ok(patch("contacts", &id, &properties, None));
    }
    // What a person approved is not replaced by what the record is found by.
    let found_by = match record.by {
        MatchBy::Email => Some("email"),
        MatchBy::ExternalId => place.config.external_id_property.as_deref(),
        MatchBy::Id => None,
    };
    if let Some(name) = found_by.filter(|name| {
        properties.get(*name).is_some_and(|v| !v.as_str().is_some_and(|v| v.eq_ignore_ascii_case(&record.value)))
    }) {
        return Err(no(&format!("fields.{name}"), "differs from what the contact is found by"));
    }
    match record.by {
        MatchBy::Email => properties.insert("email".into(), record.value.into()),
        MatchBy::ExternalId => match &place.config.external_id_property {
            Some(name) => properties.insert(name.clone(), record.value.into()),
            None => return Err(no("match.external_id", "this destination names no external_id_property")),
        },
        MatchBy::Id => {
            return Err(no("match.id", "HubSpot has no such contact, and gives new ones their numbers itself"));
        }
    };
    properties.insert(KEY_PROPERTY.into(), key.as_str().into());
    let body = json!({ "properties": properties });
    Ok(wire::seal(None, &Request::json("POST", format!("{OBJECTS}/contacts"), &body)))
}

/// A plain text as HubSpot shows it, with our tag as its footer.
fn with_tag(field: &str, text: String, key: &IdempotencyKey) -> Result<String, Unrenderable> {
    let gap = if text.is_empty() { "" } else { "<br><br>" };
    let tagged = format!("{text}{gap}[{}]", key.tag());
    match tagged.chars().count() <= TEXT_MAX {
        true => Ok(tagged),
        false => Err(no(field, format!("is longer than HubSpot takes ({TEXT_MAX} characters with our tag)"))),
    }
}

/// Bodies of notes and tasks are rich text: what a plain one says must not become markup.
fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace("\r\n", "\n").replace('\n', "<br>")
}

fn engagement(
    effect: &str,
    value: &Value,
    key: &IdempotencyKey,
    at: Timestamp,
) -> Result<Map<String, Value>, Unrenderable> {
    let text = |name: &str| value[name].as_str().filter(|t| !t.is_empty());
    let plain = text("text").unwrap_or_default();
    let mut properties = Map::new();
    let mut put = |name: &str, value: String| properties.insert(name.to_owned(), value.into());
    put("hs_timestamp", at.to_string());
    match effect {
        "crm.note" => {
            let body = text("html").map_or_else(|| escaped(plain), str::to_owned);
            put("hs_note_body", with_tag("text", body, key)?);
        }
        "crm.task" => {
            put("hs_task_subject", text("title").unwrap_or_default().to_owned());
            put("hs_task_body", with_tag("text", escaped(plain), key)?);
            put("hs_task_status", "NOT_STARTED".to_owned());
            if let Some(due) = text("due_at") {
                // A day without a time is noon in UTC, which is the same day in nearly every office.
                let due = if due.len() == 10 { format!("{due}T12:00:00Z") } else { due.to_owned() };
                put("hs_timestamp", due);
            }
            if let Some(owner) = text("assignee") {
                if !owner.bytes().all(|b| b.is_ascii_digit()) {
                    return Err(no("assignee", "must be the number of an owner at HubSpot"));
                }
                put("hubspot_owner_id", owner.to_owned());
            }
        }
        _ => {
            put("hs_email_direction", "EMAIL".to_owned());
            put("hs_email_status", "SENT".to_owned());
            put("hs_email_subject", text("subject").unwrap_or_default().to_owned());
            // The plain part of an email stays plain.
            let gap = if plain.is_empty() { "" } else { "\n\n" };
            let tagged = format!("{plain}{gap}[{}]", key.tag());
            if tagged.chars().count() > TEXT_MAX {
                return Err(no("text", format!("is longer than HubSpot takes ({TEXT_MAX} characters with our tag)")));
            }
            put("hs_email_text", tagged);
        }
    }
    Ok(properties)
}
