//! Questions to HubSpot. None of them changes anything.

use super::config::KEY_PROPERTY;
use super::render::{OBJECTS, as_text, named, object_of_effect};
use super::wire::{self, Sealed as SealedWire};
use super::{HubSpot, read};
use crate::conversation::Situation;
use crate::survey::{Record, Survey};
use crate::transport::http::{Credentials, NoAnswer, Request};
use crate::{HttpReply, Login};
use countersign_domain::{Countersigned, IdempotencyKey, MatchBy, Receipt, ReceiptKind, Sealed, Sighting, Strength};
use serde_json::{Value, json};

/// Records read with one question, and the most that are read about one parent.
const BATCH: usize = 100;
const CHILDREN_MAX: usize = 5_000;
/// What makes a record's name, by object.
const TITLES: [(&str, &[&str]); 4] = [
    ("contacts", &["firstname", "lastname", "email"]),
    ("companies", &["name"]),
    ("deals", &["dealname"]),
    ("tickets", &["subject"]),
];

/// Why a question has no answer.
pub(super) struct Unasked {
    pub why: String,
    /// Nobody answered, or it was not HubSpot.
    pub unreached: bool,
    pub signed_out: bool,
}

impl From<NoAnswer> for Unasked {
    fn from(no: NoAnswer) -> Unasked {
        Unasked { why: no.text(), unreached: true, signed_out: false }
    }
}

impl Unasked {
    /// An answer that is none to the question.
    pub fn of(reply: &HttpReply) -> Unasked {
        let answer = read(reply);
        let unreached = answer.codes.iter().any(|code| code.0.ends_with(":foreign"));
        Unasked { why: answer.words, unreached, signed_out: !unreached && reply.status == 401 }
    }

    pub fn sighting(self) -> Sighting {
        Sighting::CannotTell { why: self.why, signed_out: self.signed_out }
    }
}

impl HubSpot {
    pub(super) async fn question(&self, request: &Request, login: &Login) -> Result<HttpReply, Unasked> {
        Ok(self.site.ask(request, &Credentials::bearer(&login.secret)).await?)
    }

    fn path(&self, rest: &str) -> String {
        self.site.base().join(rest)
    }

    /// A record by its number, or by a unique property. The answer's number may be another one where it was merged.
    async fn find(
        &self,
        object: &str,
        property: Option<&str>,
        value: &str,
        wanted: &[String],
        login: &Login,
    ) -> Result<Option<Value>, Unasked> {
        let request = match property {
            None => {
                let wanted = wanted.join(",");
                let query = if wanted.is_empty() { String::new() } else { format!("?properties={wanted}") };
                Request::get(self.path(&format!("{OBJECTS}/{object}/{value}{query}")))
            }
            Some(name) => {
                let body = json!({ "idProperty": name, "properties": wanted, "inputs": [{ "id": value }] });
                Request::json("POST", self.path(&format!("{OBJECTS}/{object}/batch/read")), &body)
            }
        };
        let reply = self.question(&request, login).await?;
        let body = reply.json();
        let not_there =
            |b: &Value| b["category"] == "OBJECT_NOT_FOUND" || b["errors"][0]["category"] == "OBJECT_NOT_FOUND";
        match (reply.status, body) {
            (200, Some(body)) if property.is_none() && body["id"].is_string() => Ok(Some(body)),
            (200 | 207, Some(body)) if property.is_some() && body["results"].is_array() => match &body["results"][0] {
                found @ Value::Object(_) => Ok(Some(found.clone())),
                _ if (reply.status == 200 && body["status"] == "COMPLETE") || not_there(&body) => Ok(None),
                _ => Err(Unasked::of(&reply)),
            },
            (404, Some(body)) if not_there(&body) => Ok(None),
            _ => Err(Unasked::of(&reply)),
        }
    }

    /// The record that a payload names, with the fields it writes or expects.
    pub(super) async fn survey(&self, sealed: &Sealed, login: &Login) -> Survey {
        let Ok(Some((object, record))) = named(sealed) else { return Survey::NothingToAsk };
        let value = sealed.payload().value();
        let fields = ["fields", "expected"].iter().flat_map(|name| value[*name].as_object().into_iter().flatten());
        let mut fields: Vec<String> = fields.map(|(name, _)| name.clone()).collect();
        fields.sort();
        fields.dedup();
        let titles = TITLES.iter().find(|(o, _)| *o == object).map_or(&[][..], |(_, names)| *names);
        let mut wanted = fields.clone();
        wanted.extend(titles.iter().map(|name| (*name).to_owned()));
        let property = match record.by {
            MatchBy::Id => None,
            MatchBy::Email => Some("email"),
            MatchBy::ExternalId => match &self.config.external_id_property {
                Some(name) => Some(name.as_str()),
                None => return Survey::CannotAsk { why: "this destination names no external_id_property".into() },
            },
        };
        let is_number = record.value.bytes().all(|b| b.is_ascii_digit());
        if property.is_none() && !is_number {
            return Survey::Missing;
        }
        match self.find(object, property, &record.value, &wanted, login).await {
            Ok(Some(found)) => Survey::Found(as_record(&found, &fields, titles)),
            Ok(None) => Survey::Missing,
            Err(no) => Survey::CannotAsk { why: no.why },
        }
    }

    /// Whether the record is still what the person saw.
    pub(super) async fn moved(&self, order: &Countersigned, login: &Login) -> Situation {
        let Some(wire) = wire::open(order.wire()) else { return Situation::Unchanged };
        let asked = match wire.target() {
            Some((object, id)) => self.record_moved(order, &wire, &object, &id, login).await,
            None if order.key().effect == "crm.contact.upsert" => self.contact_appeared(order, &wire, login).await,
            None => return Situation::NothingToAsk,
        };
        match asked {
            Ok(None) => Situation::Unchanged,
            Ok(Some((code, text))) => Situation::Changed { code, text },
            Err(no) => {
                Situation::CannotAsk { why: no.why, pauses: no.unreached || no.signed_out, signed_out: no.signed_out }
            }
        }
    }

    async fn record_moved(
        &self,
        order: &Countersigned,
        wire: &SealedWire,
        object: &str,
        id: &str,
        login: &Login,
    ) -> Result<Option<(&'static str, String)>, Unasked> {
        let payload = order.sealed().payload().value();
        let expected = payload["expected"].as_object().into_iter().flatten();
        let expected: Vec<(String, String)> = expected.map(|(name, v)| (name.clone(), as_text(v))).collect();
        let seen = wire.record.iter().flat_map(|r| r.values.iter()).map(|(n, v)| (n.clone(), v.clone()));
        let must: Vec<(String, String)> = expected.into_iter().chain(seen).collect();
        let wanted: Vec<String> = must.iter().map(|(name, _)| name.clone()).collect();
        let Some(found) = self.find(object, None, id, &wanted, login).await? else {
            return Ok(Some(("record_gone", format!("HubSpot has no record {id} any more."))));
        };
        let now = as_record(&found, &wanted, &[]);
        if now.id != id {
            let text = format!("Record {id} was merged into {}. Read that one before you approve again.", now.id);
            return Ok(Some(("record_merged", text)));
        }
        let version = now.version.unwrap_or_default();
        let mut other: Vec<&str> =
            must.iter().filter(|(n, v)| now.values.get(n) != Some(v)).map(|(n, _)| n.as_str()).collect();
        other.sort_unstable();
        other.dedup();
        if !other.is_empty() {
            let text = format!("Record {id} has other values now: {} (version of {version}).", other.join(", "));
            return Ok(Some(("record_changed", text)));
        }
        let wanted = &payload["expected_version"];
        if !wanted.is_null() && as_text(wanted) != version {
            return Ok(Some(("record_changed", format!("Record {id} has another version now: {version}."))));
        }
        Ok(None)
    }

    /// A contact was to be made, and somebody else made it meanwhile (F52).
    async fn contact_appeared(
        &self,
        order: &Countersigned,
        wire: &SealedWire,
        login: &Login,
    ) -> Result<Option<(&'static str, String)>, Unasked> {
        let Some(record) = order.sealed().payload().record() else { return Ok(None) };
        let property = match (record.by, &self.config.external_id_property) {
            (MatchBy::Email, _) => "email",
            (MatchBy::ExternalId, Some(name)) => name.as_str(),
            _ => return Ok(None),
        };
        let wanted = [KEY_PROPERTY.to_owned()];
        let Some(found) = self.find("contacts", Some(property), &record.value, &wanted, login).await? else {
            return Ok(None);
        };
        let ours = wire.body()["properties"][KEY_PROPERTY] == found["properties"][KEY_PROPERTY];
        let id = found["id"].as_str().unwrap_or_default();
        let text =
            format!("HubSpot has contact {id} under this address already. Nothing was made; change that one instead.");
        Ok((!ours).then_some(("record_exists", text)))
    }

    pub(super) async fn seen(&self, order: &Countersigned, login: &Login, noted: &[Value]) -> Sighting {
        let Some(wire) = wire::open(order.wire()) else {
            return Sighting::cannot_tell("the stored request cannot be read");
        };
        let effect = order.key().effect.as_str();
        let key = order.idempotency_key();
        let asked = match (effect, wire.request.method.as_str()) {
            (_, "PATCH") => self.written(&wire, login, noted).await,
            ("crm.contact.upsert", _) => self.made(key, login).await,
            _ => self.hanging(effect, &wire, key, login).await,
        };
        asked.unwrap_or_else(Unasked::sighting)
    }

    async fn made(&self, key: &IdempotencyKey, login: &Login) -> Result<Sighting, Unasked> {
        let found = self.find("contacts", Some(KEY_PROPERTY), key.as_str(), &[KEY_PROPERTY.to_owned()], login).await?;
        let Some(found) = found else {
            return Ok(Sighting::NotSeen { looked: "A contact with our key.".into() });
        };
        let id = found["id"].as_str().unwrap_or_default();
        Ok(Sighting::Found(receipt(id, format!("Contact {id} carries our key."), Strength::Proof)))
    }

    /// Before anything was handed over, equal values say nothing: somebody else may have written the same.
    async fn written(&self, wire: &SealedWire, login: &Login, noted: &[Value]) -> Result<Sighting, Unasked> {
        let Some((object, id)) = wire.target() else { return Ok(Sighting::cannot_tell("it names no record")) };
        let looked = || Sighting::NotSeen { looked: format!("Record {id} for the approved values.") };
        if noted.is_empty() {
            return Ok(looked());
        }
        let properties = wire.properties();
        let wanted: Vec<String> = properties.iter().map(|(name, _)| name.clone()).collect();
        let Some(found) = self.find(&object, None, &id, &wanted, login).await? else { return Ok(looked()) };
        let now = as_record(&found, &wanted, &[]);
        if properties.iter().any(|(name, value)| now.values.get(name) != Some(value)) {
            return Ok(looked());
        }
        let differed = wire.record.as_ref().is_some_and(|seen| {
            properties.iter().any(|(name, value)| seen.values.get(name).is_some_and(|before| before != value))
        });
        // Where they were the same before, or nobody looked, they prove nothing.
        let strength = if differed { Strength::Strong } else { Strength::Weak };
        Ok(Sighting::Found(receipt(&now.id, format!("Record {} has the approved values.", now.id), strength)))
    }

    /// What hangs on the record and carries our tag. A merged record is followed to the one that answers for it.
    async fn hanging(
        &self,
        effect: &str,
        wire: &SealedWire,
        key: &IdempotencyKey,
        login: &Login,
    ) -> Result<Sighting, Unasked> {
        let object = object_of_effect(effect);
        let body = match object {
            "tasks" => "hs_task_body",
            "emails" => "hs_email_text",
            _ => "hs_note_body",
        };
        let (ids, whole, where_) = match wire.target() {
            Some((parent, id)) => {
                let Some(found) = self.find(&parent, None, &id, &[], login).await? else {
                    return Ok(Sighting::NotSeen { looked: format!("Record {id}, which is gone.") });
                };
                let id = found["id"].as_str().unwrap_or(&id).to_owned();
                let (ids, whole) = self.children(&parent, &id, object, login).await?;
                (ids, whole, format!("under record {id}"))
            }
            None => (self.tagged(object, body, &key.tag(), login).await?, true, "by search".to_owned()),
        };
        let footer = format!("[{}]", key.tag());
        let mut hits = Vec::new();
        for some in ids.chunks(BATCH) {
            let inputs: Vec<Value> = some.iter().map(|id| json!({ "id": id })).collect();
            let question = json!({ "properties": [body], "inputs": inputs });
            let path = self.path(&format!("{OBJECTS}/{object}/batch/read"));
            let reply = self.question(&Request::json("POST", path, &question), login).await?;
            let all = reply.json().filter(|b| reply.status < 300 && b["results"].is_array());
            let all = all.ok_or_else(|| Unasked::of(&reply))?;
            for one in all["results"].as_array().into_iter().flatten() {
                if one["properties"][body].as_str().is_some_and(|text| text.contains(&footer)) {
                    hits.extend(one["id"].as_str().map(str::to_owned));
                }
            }
        }
        let Some(first) = hits.first() else {
            let part = if whole { "" } else { "the first 5000 of them, " };
            return Ok(Sighting::NotSeen {
                looked: format!("{} of the {object}, {part}{where_}, for our tag.", ids.len()),
            });
        };
        let text = match hits.len() {
            1 => format!("Number {first} of the {object} carries our tag, {where_}."),
            n => format!("{n} of the {object} carry our tag, {where_}: {}. There should be one.", hits.join(", ")),
        };
        Ok(Sighting::Found(receipt(first, text, Strength::Strong)))
    }

    async fn children(
        &self,
        parent: &str,
        id: &str,
        object: &str,
        login: &Login,
    ) -> Result<(Vec<String>, bool), Unasked> {
        let (mut ids, mut after) = (Vec::new(), String::new());
        loop {
            let path = self.path(&format!("/crm/v4/objects/{parent}/{id}/associations/{object}?limit=500{after}"));
            let reply = self.question(&Request::get(path), login).await?;
            let page = reply.json().filter(|b| reply.status == 200 && b["results"].is_array());
            let page = page.ok_or_else(|| Unasked::of(&reply))?;
            let found = page["results"].as_array().into_iter().flatten();
            ids.extend(found.map(|r| as_text(&r["toObjectId"])).filter(|id| !id.is_empty()));
            match page["paging"]["next"]["after"].as_str() {
                Some(_) if ids.len() >= CHILDREN_MAX => return Ok((ids, false)),
                Some(next) if next.bytes().all(|b| b.is_ascii_alphanumeric()) => after = format!("&after={next}"),
                _ => return Ok((ids, true)),
            }
        }
    }

    /// By the search index, where a task hangs on no record.
    async fn tagged(&self, object: &str, body: &str, tag: &str, login: &Login) -> Result<Vec<String>, Unasked> {
        let filter = json!({ "propertyName": body, "operator": "CONTAINS_TOKEN", "value": tag });
        let question = json!({ "filterGroups": [{ "filters": [filter] }], "properties": [body], "limit": 100 });
        let request = Request::json("POST", self.path(&format!("{OBJECTS}/{object}/search")), &question);
        let reply = self.question(&request, login).await?;
        let found = reply.json().filter(|b| reply.status == 200 && b["results"].is_array());
        let found = found.ok_or_else(|| Unasked::of(&reply))?;
        Ok(found["results"].as_array().into_iter().flatten().map(|r| as_text(&r["id"])).collect())
    }
}

fn receipt(id: &str, text: String, strength: Strength) -> Receipt {
    Receipt { kind: ReceiptKind::Lookup, reference: Some(id.to_owned()), text, strength, by: None }
}

fn as_record(found: &Value, fields: &[String], titles: &[&str]) -> Record {
    let value = |name: &str| as_text(&found["properties"][name]);
    let titles: Vec<String> = titles.iter().map(|name| value(name)).filter(|t| !t.is_empty()).collect();
    Record {
        id: found["id"].as_str().unwrap_or_default().to_owned(),
        title: titles.join(" "),
        values: fields.iter().map(|name| (name.clone(), value(name))).collect(),
        version: found["updatedAt"].as_str().map(str::to_owned),
    }
}
