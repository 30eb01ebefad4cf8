//! What became of an order, asked of HubSpot: after doubt, and after a yes to a change, which counts only once the record was
//! read back. Nothing here changes anything.

use super::HubSpot;
use super::ask::{Key, Unasked, as_record};
use super::config::KEY_PROPERTY;
use super::render::{OBJECTS, as_text, object_of_effect};
use super::wire::{self, Sealed as SealedWire};
use crate::Login;
use crate::survey::Record;
use crate::transport::http::Request;
use crate::transport::reply::answer;
use countersign_domain::contract::answer_receipt;
use countersign_domain::{Answer, AnswerCode, Countersigned, IdempotencyKey, Receipt, ReceiptKind, Sighting, Strength};
use serde_json::{Value, json};

/// Records read with one question, and the most that are read about one parent.
const BATCH: usize = 100;
const CHILDREN_MAX: usize = 5_000;

impl HubSpot {
    pub(super) async fn seen(&self, order: &Countersigned, login: &Login, noted: &[Value]) -> Sighting {
        let Some(wire) = wire::open(order.wire()) else {
            return Sighting::cannot_tell("the stored request cannot be read");
        };
        let effect = order.key().effect.as_str();
        let key = order.idempotency_key();
        let asked = async {
            self.same_account(login).await?;
            match (effect, wire.request.method.as_str()) {
                (_, "PATCH") => self.written(&wire, login, noted).await,
                ("crm.contact.upsert", _) => self.made(key, login).await,
                _ => self.hanging(effect, &wire, key, login).await,
            }
        };
        asked.await.unwrap_or_else(Unasked::sighting)
    }

    /// Archived contacts are asked about too: one that was made and then archived is not one that was never made.
    async fn made(&self, key: &IdempotencyKey, login: &Login) -> Result<Sighting, Unasked> {
        let by = Key { object: "contacts", property: Some(KEY_PROPERTY), value: key.as_str() };
        let wanted = [KEY_PROPERTY.to_owned()];
        let (found, archived) = match self.find(by, &wanted, login).await? {
            Some(found) => (Some(found), ""),
            None => (self.find_archived(by, &wanted, login).await?, " It was archived since."),
        };
        let Some(found) = found else {
            return Ok(Sighting::NotSeen { looked: "A contact with our key, archived ones too.".into() });
        };
        let id = found["id"].as_str().unwrap_or_default();
        Ok(Sighting::Found(receipt(id, format!("Contact {id} carries our key.{archived}"), Strength::Proof)))
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
        let found = self.find(Key::number(&object, &id), &wanted, login).await?;
        let Some(found) = found else { return Ok(looked()) };
        let now = as_record(&found, &wanted, &[]);
        if !differing(&properties, &now).is_empty() {
            return Ok(looked());
        }
        if now.id != id {
            // Whose values the merge kept, nobody can tell.
            let text = format!("Record {id} was merged into {}, which has the approved values.", now.id);
            return Ok(Sighting::Found(receipt(&now.id, text, Strength::Weak)));
        }
        let differed = wire.record.as_ref().is_some_and(|seen| {
            properties.iter().any(|(name, value)| seen.values.get(name).is_some_and(|before| before != value))
        });
        // Where they were the same before, or nobody looked, they prove nothing.
        let strength = if differed { Strength::Strong } else { Strength::Weak };
        Ok(Sighting::Found(receipt(&now.id, format!("Record {} has the approved values.", now.id), strength)))
    }

    /// A yes to a change counts once the record was read back and has what was approved (crm.md 1.3). Anything else is a code
    /// that no contract lists, so the outcome is unknown and is looked for.
    pub(super) async fn read_back(&self, order: &Countersigned, said: Answer, login: &Login) -> Answer {
        if let Some(id) = existing(order, &said) {
            return self.what_exists(order, id, said, login).await;
        }
        let changes = wire::open(order.wire()).filter(|wire| wire.request.method == "PATCH");
        let Some(wire) = changes.filter(|_| said.receipt.is_some()) else { return said };
        let Some((object, id)) = wire.target() else { return said };
        let properties = wire.properties();
        let wanted: Vec<String> = properties.iter().map(|(name, _)| name.clone()).collect();
        let doubtful = |code: &str, why: String| answer(format!("http:200:{code}"), format!("it said yes, but {why}"));
        let found = match self.find(Key::number(&object, &id), &wanted, login).await {
            Err(no) => return doubtful("not_read_back", format!("the record could not be read back: {}", no.why)),
            Ok(None) => return doubtful("gone", format!("there is no record {id}")),
            Ok(Some(found)) => as_record(&found, &wanted, &[]),
        };
        if found.id != id {
            return doubtful("merged", format!("record {id} was merged into {}", found.id));
        }
        let other = differing(&properties, &found);
        if !other.is_empty() {
            return doubtful(
                "differs",
                format!("record {id} has other values than were approved: {}", other.join(", ")),
            );
        }
        let text = format!("HubSpot changed record {id}; read back, it has the approved values.");
        Answer {
            codes: vec![AnswerCode::new("http:200:read_back")],
            receipt: Some(answer_receipt(Some(id), text)),
            ..said
        }
    }

    /// A contact was not made since there is one already (F52). Ours, where something on the way repeated our request; else
    /// somebody else's, and making it again would be refused again. Where it cannot be read the answer stays unclear, and
    /// is looked for.
    async fn what_exists(&self, order: &Countersigned, id: String, said: Answer, login: &Login) -> Answer {
        let approved = wire::open(order.wire()).map(|wire| wire.properties()).unwrap_or_default();
        let wanted: Vec<String> = approved.iter().map(|(name, _)| name.clone()).collect();
        let Ok(Some(found)) = self.find(Key::number("contacts", &id), &wanted, login).await else { return said };
        if as_text(&found["properties"][KEY_PROPERTY]) == order.idempotency_key().as_str() {
            // Under our key and yet not what was approved: a person looks.
            if !differing(&approved, &as_record(&found, &wanted, &[])).is_empty() {
                return said;
            }
            let text = format!("HubSpot said that contact {id} exists; read back, it carries our key.");
            let codes = vec![AnswerCode::new("http:409:ours")];
            return Answer { codes, receipt: Some(answer_receipt(Some(id), text)), ..said };
        }
        let words =
            format!("HubSpot has contact {id} under this address already. Nothing was made; change that one instead.");
        answer("http:409:exists", words)
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
                let Some(found) = self.find(Key::number(&parent, &id), &[], login).await? else {
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
                None if page["paging"]["next"].is_null() => return Ok((ids, true)),
                Some(next) if ids.len() < CHILDREN_MAX && !next.is_empty() => {
                    after = format!("&after={}", in_query(next))
                }
                // There is more, and it is not asked for.
                Some(_) | None => return Ok((ids, false)),
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

/// The number of the contact that stands in the way of the one to be made. HubSpot tells it in a sentence only.
fn existing(order: &Countersigned, said: &Answer) -> Option<String> {
    let conflict = said.codes.iter().any(|code| code.0 == "http:409:api");
    let makes = order.key().effect == "crm.contact.upsert"
        && wire::open(order.wire()).is_some_and(|wire| wire.request.method == "POST");
    let (_, rest) = said.words.split_once("Existing ID: ").filter(|_| conflict && makes)?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    (!digits.is_empty()).then_some(digits)
}

/// A cursor as it may stand in a query. HubSpot's own samples have it with `=` as `%3D` already.
fn in_query(cursor: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~%".contains(&b);
    cursor.bytes().map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}

fn receipt(id: &str, text: String, strength: Strength) -> Receipt {
    Receipt { kind: ReceiptKind::Lookup, reference: Some(id.to_owned()), text, strength, by: None }
}

/// The names of those properties that a record has other values for.
fn differing<'a>(approved: &'a [(String, String)], now: &Record) -> Vec<&'a str> {
    let other = |(name, value): &&(String, String)| !now.values.get(name).is_some_and(|v| same_value(value, v));
    approved.iter().filter(other).map(|(name, _)| name.as_str()).collect()
}

/// Whether two texts are one value. HubSpot keeps a property in its own type's form: a date as the start of that day in UTC,
/// an address in lower case, a number without its last zeros, a text without blanks around it.
pub(super) fn same_value(one: &str, other: &str) -> bool {
    let (one, other) = (one.trim(), other.trim());
    let instant = |text: &str| {
        let day = text.len() == 10 && text.bytes().filter(|b| *b == b'-').count() == 2;
        let whole = if day { format!("{text}T00:00:00Z") } else { text.to_owned() };
        whole.parse::<countersign_domain::Timestamp>().ok()
    };
    let number = |text: &str| {
        // Of a long number the last digits are lost in a float.
        let plain = text.len() <= 15 && text.bytes().all(|b| b.is_ascii_digit() || b"-.".contains(&b));
        text.parse::<f64>().ok().filter(|_| plain && (!text.starts_with('0') || text.starts_with("0.") || text == "0"))
    };
    one == other
        || (one.contains('@') && one.eq_ignore_ascii_case(other))
        || instant(one).is_some_and(|at| instant(other) == Some(at))
        || number(one).is_some_and(|n| number(other) == Some(n))
}
