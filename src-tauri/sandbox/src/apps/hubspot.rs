//! HubSpot, as its contract file describes it (shared/contracts/crm.md 2.1): objects with properties, unique ones among
//! them; an email in use answers 409 and names the record in a sentence; notes, tasks and emails hang on records by
//! associations, which an index shows late; merged records answer under either number; archived ones answer only to who asks
//! for archived ones; a contact is found by an additional email as by its first. That a second record with the same
//! custom unique value is refused with 409 too is unverified there, and a choice here.

use crate::api::{ApiAnswer, ApiRequest, ApiWorld, App};
use crate::apps::oauth::Tokens;
use crate::date::rfc3339;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};

const OBJECTS: &str = "/crm/objects/2026-03/";
const ASSOCIATIONS: &str = "/crm/v4/objects/";
const PROPERTIES: &str = "/crm/v3/properties/";
/// Longest body of a note, in characters (legacy engagement documentation).
const NOTE_MAX: usize = 65_536;
/// Unique properties of one object.
const UNIQUE_MAX: usize = 10;

/// One record.
#[derive(Clone, Debug)]
pub struct Record {
    /// `contacts`, `companies`, `deals`, `tickets`, `notes`, `tasks`, `emails`.
    pub object: String,
    pub id: String,
    pub properties: BTreeMap<String, String>,
    /// What it hangs on, as object and number.
    pub hangs_on: Vec<(String, String)>,
    created: i64,
    updated: i64,
    merged_into: Option<String>,
    archived: bool,
    /// Made while the index lagged.
    hidden: bool,
}

/// The provider.
pub struct HubSpot {
    token: String,
    tokens: Option<Tokens>,
    /// The account that the token is of.
    pub portal: u64,
    records: Vec<Record>,
    /// Custom properties, by object; true: its values are unique.
    custom: BTreeMap<(String, String), bool>,
    /// A workflow of the account: once this property is written, it puts this value there.
    pub workflow: Option<(String, String)>,
    /// Owners: number and email.
    pub owners: Vec<(String, String)>,
}

impl HubSpot {
    pub fn new(token: &str) -> HubSpot {
        HubSpot {
            token: token.to_owned(),
            tokens: None,
            portal: 4_815_162,
            records: Vec::new(),
            custom: BTreeMap::new(),
            workflow: None,
            owners: Vec::new(),
        }
    }

    /// Takes what a sign-in server gives out, and nothing else.
    pub fn signed_in(tokens: Tokens) -> HubSpot {
        HubSpot { tokens: Some(tokens), ..HubSpot::new("") }
    }

    /// With the unique property that makes a contact's key one.
    pub fn prepared(mut self) -> HubSpot {
        self.custom.insert(("contacts".to_owned(), "countersign_key".to_owned()), true);
        self
    }

    /// With a record that was there before.
    pub fn with(mut self, object: &str, id: &str, properties: &[(&str, &str)]) -> HubSpot {
        self.put(object, id, properties);
        self
    }

    /// The token that was given out is worth nothing any more.
    pub fn revoke(&mut self) {
        self.token = String::new();
    }

    /// A record that was there before, or that somebody else makes.
    pub fn put(&mut self, object: &str, id: &str, properties: &[(&str, &str)]) {
        self.records.push(Record {
            object: object.to_owned(),
            id: id.to_owned(),
            properties: properties.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect(),
            hangs_on: Vec::new(),
            created: 0,
            updated: 0,
            merged_into: None,
            archived: false,
            hidden: false,
        });
    }

    /// Somebody hangs a note, a task or an email on a record.
    pub fn hang(&mut self, object: &str, id: &str, on: (&str, &str)) {
        self.put(object, id, &[]);
        if let Some(made) = self.records.last_mut() {
            made.hangs_on.push((on.0.to_owned(), on.1.to_owned()));
        }
    }

    /// Somebody else changes a record.
    pub fn change(&mut self, object: &str, id: &str, property: &str, value: &str) {
        if let Some(at) = self.find(object, id) {
            self.records[at].properties.insert(property.to_owned(), value.to_owned());
        }
    }

    /// Somebody archives a record.
    pub fn archive(&mut self, object: &str, id: &str) {
        if let Some(at) = self.find(object, id) {
            self.records[at].archived = true;
        }
    }

    /// Somebody merges two records: what hung on the first hangs on the second, which answers for both.
    pub fn merge(&mut self, object: &str, loser: &str, winner: &str) {
        for record in &mut self.records {
            if record.object == object && record.id == loser {
                record.merged_into = Some(winner.to_owned());
            }
            for (parent, id) in &mut record.hangs_on {
                if parent == object && id == loser {
                    winner.clone_into(id);
                }
            }
        }
    }

    /// The records of an object that were neither merged away nor archived, oldest first.
    pub fn all(&self, object: &str) -> Vec<Record> {
        self.records.iter().filter(|r| r.object == object && r.merged_into.is_none() && !r.archived).cloned().collect()
    }

    fn takes(&self, token: &str) -> bool {
        match &self.tokens {
            Some(tokens) => tokens.user(token).is_some(),
            None => token == self.token && !token.is_empty(),
        }
    }

    /// The one live record with this number, followed where it was merged. A number is one however it is written.
    fn find(&self, object: &str, id: &str) -> Option<usize> {
        self.find_in(object, id, false)
    }

    fn find_in(&self, object: &str, id: &str, archived: bool) -> Option<usize> {
        let id = id.trim_start_matches('0');
        let at = self.records.iter().position(|r| r.object == object && r.id == id)?;
        match &self.records[at].merged_into {
            Some(winner) => self.find_in(object, winner, archived),
            None => Some(at).filter(|at| self.records[*at].archived == archived),
        }
    }

    fn by_property(&self, object: &str, property: &str, value: &str) -> Option<usize> {
        self.by_property_in(object, property, value, false)
    }

    fn by_property_in(&self, object: &str, property: &str, value: &str, archived: bool) -> Option<usize> {
        let same = |v: &str| if property == "email" { v.eq_ignore_ascii_case(value) } else { v == value };
        let more = |r: &Record| {
            let more = r.properties.get("hs_additional_emails").filter(|_| property == "email");
            more.is_some_and(|all| all.split(';').any(same))
        };
        let hit = |r: &&Record| r.object == object && (r.properties.get(property).is_some_and(|v| same(v)) || more(r));
        self.records.iter().filter(hit).find_map(|r| self.find_in(object, &r.id, archived))
    }

    fn is_unique(&self, object: &str, property: &str) -> bool {
        (object == "contacts" && property == "email")
            || self.custom.get(&(object.to_owned(), property.to_owned())) == Some(&true)
    }

    /// By number, or by the unique property that is named.
    fn lookup(
        &self,
        object: &str,
        id: &str,
        property: Option<&str>,
        archived: bool,
    ) -> Result<Option<usize>, ApiAnswer> {
        match property {
            None | Some("hs_object_id") => Ok(self.find_in(object, id, archived)),
            Some(name) if self.is_unique(object, name) => Ok(self.by_property_in(object, name, id, archived)),
            Some(name) => Err(error(400, "VALIDATION_ERROR", &format!("{name} is not a unique property"))),
        }
    }

    fn shown(&self, at: usize, wanted: &[String]) -> Value {
        let r = &self.records[at];
        let mut properties = Map::new();
        properties.insert("hs_object_id".into(), json!(r.id));
        for name in wanted {
            properties.insert(name.clone(), r.properties.get(name).map_or(Value::Null, |v| json!(v)));
        }
        json!({
            "id": r.id, "properties": properties, "createdAt": rfc3339(r.created), "updatedAt": rfc3339(r.updated),
            "archived": r.archived,
        })
    }

    /// The properties of a body, checked; the answer where they cannot be taken.
    fn checked(&self, object: &str, body: &Value, own: Option<&str>) -> Result<BTreeMap<String, String>, ApiAnswer> {
        let given = body["properties"].as_object().cloned().unwrap_or_default();
        let mut properties = BTreeMap::new();
        for (name, value) in given {
            let Some(text) = value.as_str() else {
                return Err(error(400, "VALIDATION_ERROR", &format!("Property values were not valid: {name}")));
            };
            if name.starts_with("countersign_") && !self.custom.contains_key(&(object.to_owned(), name.clone())) {
                return Err(error(400, "VALIDATION_ERROR", &format!("Property \"{name}\" does not exist")));
            }
            if name == "hs_note_body" && text.chars().count() > NOTE_MAX {
                return Err(error(400, "VALIDATION_ERROR", "hs_note_body is too long"));
            }
            if self.is_unique(object, &name)
                && let Some(other) = self.by_property(object, &name, text)
                && own != Some(self.records[other].id.as_str())
            {
                let kind = if object == "contacts" { "Contact" } else { "Object" };
                let message = format!("{kind} already exists. Existing ID: {}", self.records[other].id);
                return Err(error(409, "CONFLICT", &message));
            }
            properties.insert(name, text.to_owned());
        }
        Ok(properties)
    }

    fn associations(&self, body: &Value) -> Result<Vec<(String, String)>, ApiAnswer> {
        let mut found = Vec::new();
        for one in body["associations"].as_array().into_iter().flatten() {
            let id =
                one["to"]["id"].as_str().map(str::to_owned).or_else(|| one["to"]["id"].as_u64().map(|n| n.to_string()));
            let object = match one["types"][0]["associationTypeId"].as_u64() {
                Some(202 | 204 | 198) => "contacts",
                Some(190 | 192 | 186) => "companies",
                Some(214 | 216 | 210) => "deals",
                Some(228 | 230 | 224) => "tickets",
                _ => return Err(error(400, "VALIDATION_ERROR", "associationTypeId is not known")),
            };
            let at = id.and_then(|id| self.find(object, &id));
            let at = at.ok_or_else(|| error(400, "VALIDATION_ERROR", "a record to associate with does not exist"))?;
            found.push((object.to_owned(), self.records[at].id.clone()));
        }
        Ok(found)
    }

    fn create(&mut self, object: &str, body: &Value, world: &mut ApiWorld) -> Result<Value, ApiAnswer> {
        let properties = self.checked(object, body, None)?;
        let hangs_on = self.associations(body)?;
        if matches!(object, "notes" | "tasks" | "emails") && !properties.contains_key("hs_timestamp") {
            return Err(error(400, "VALIDATION_ERROR", "hs_timestamp is required"));
        }
        let id = (900_000 + world.number()).to_string();
        world.effect(key_of(&properties).as_deref(), &id, json!({ "created": object, "properties": properties }));
        let wanted: Vec<String> = properties.keys().cloned().collect();
        self.records.push(Record {
            object: object.to_owned(),
            id,
            properties,
            hangs_on,
            created: world.now(),
            updated: world.now(),
            merged_into: None,
            archived: false,
            hidden: world.hides(),
        });
        Ok(self.shown(self.records.len() - 1, &wanted))
    }

    fn update(&mut self, object: &str, at: usize, body: &Value, world: &mut ApiWorld) -> Result<Value, ApiAnswer> {
        let own = self.records[at].id.clone();
        let properties = self.checked(object, body, Some(&own))?;
        world.effect(None, &own, json!({ "updated": object, "properties": properties }));
        let wanted: Vec<String> = properties.keys().cloned().collect();
        let record = &mut self.records[at];
        record.properties.extend(properties);
        record.updated = world.now();
        let said = self.shown(at, &wanted);
        if let Some((name, value)) = &self.workflow
            && wanted.contains(name)
        {
            self.records[at].properties.insert(name.clone(), value.clone());
        }
        Ok(said)
    }

    fn upsert(&mut self, object: &str, body: &Value, world: &mut ApiWorld) -> Result<Value, ApiAnswer> {
        let mut results = Vec::new();
        for input in body["inputs"].as_array().cloned().unwrap_or_default() {
            let id = input["id"].as_str().unwrap_or_default();
            let property = input["idProperty"].as_str();
            let (mut shown, new) = match self.lookup(object, id, property, false)? {
                Some(at) => (self.update(object, at, &input, world)?, false),
                None => {
                    let mut input = input.clone();
                    if let Some(property) = property {
                        input["properties"][property] = json!(id);
                    }
                    (self.create(object, &input, world)?, true)
                }
            };
            shown["new"] = json!(new);
            results.push(shown);
        }
        Ok(json!({ "status": "COMPLETE", "results": results }))
    }

    fn batch_read(&self, object: &str, request: &ApiRequest) -> Result<ApiAnswer, ApiAnswer> {
        let (body, archived) = (request.json(), asks_for_archived(request));
        let wanted = names(&body["properties"]);
        let (mut results, mut missing) = (Vec::new(), Vec::new());
        for input in body["inputs"].as_array().into_iter().flatten() {
            let id = input["id"].as_str().unwrap_or_default();
            match self.lookup(object, id, body["idProperty"].as_str(), archived)? {
                Some(at) => results.push(self.shown(at, &wanted)),
                None => missing.push(id.to_owned()),
            }
        }
        let mut answer = json!({ "status": "COMPLETE", "results": results });
        if missing.is_empty() {
            return Ok(ApiAnswer::json(200, &answer));
        }
        answer["numErrors"] = json!(1);
        answer["errors"] = json!([{ "status": "error", "category": "OBJECT_NOT_FOUND",
            "message": "Could not get some objects, they may be deleted or not exist.", "context": { "ids": missing } }]);
        Ok(ApiAnswer::json(207, &answer))
    }

    fn search(&self, object: &str, body: &Value, world: &ApiWorld) -> Value {
        let filter = &body["filterGroups"][0]["filters"][0];
        let (name, value) =
            (filter["propertyName"].as_str().unwrap_or_default(), filter["value"].as_str().unwrap_or_default());
        let hit = |r: &Record| {
            let text = r.properties.get(name).map(String::as_str).unwrap_or_default();
            let fits = match filter["operator"].as_str() {
                Some("CONTAINS_TOKEN") => text.contains(value.trim_matches('*')),
                _ => text == value,
            };
            r.object == object && r.merged_into.is_none() && !r.archived && !(r.hidden && world.hides()) && fits
        };
        let wanted = names(&body["properties"]);
        let found: Vec<usize> = (0..self.records.len()).filter(|at| hit(&self.records[*at])).collect();
        let results: Vec<Value> = found.iter().map(|at| self.shown(*at, &wanted)).collect();
        json!({ "total": results.len(), "results": results })
    }

    /// What of `to` hangs on a record, in pages. An index: it lags.
    fn hanging(&self, [object, id, to]: [&str; 3], request: &ApiRequest, world: &ApiWorld) -> Result<Value, ApiAnswer> {
        let at = self.find(object, id).ok_or_else(|| not_found(object))?;
        let parent = (object.to_owned(), self.records[at].id.clone());
        let all: Vec<&Record> = self
            .records
            .iter()
            .filter(|r| r.object == to && !r.archived && !(r.hidden && world.hides()) && r.hangs_on.contains(&parent))
            .collect();
        let limit = request.query("limit").and_then(|n| n.parse::<usize>().ok()).unwrap_or(500).min(500);
        let after = request.query("after").map_or(Some(0), |cursor| from_cursor(&cursor));
        let after = after.ok_or_else(|| error(400, "VALIDATION_ERROR", "The cursor is none of ours."))?;
        let page: Vec<Value> = all
            .iter()
            .skip(after)
            .take(limit)
            .map(|r| json!({ "toObjectId": r.id.parse::<u64>().unwrap_or_default(), "associationTypes": [] }))
            .collect();
        let mut answer = json!({ "results": page });
        if after + limit < all.len() {
            answer["paging"] = json!({ "next": { "after": cursor(after + limit) } });
        }
        Ok(answer)
    }

    fn property(&mut self, request: &ApiRequest, object: &str, name: Option<&str>) -> ApiAnswer {
        match (request.method.as_str(), name) {
            ("GET", Some(name)) => match self.custom.get(&(object.to_owned(), name.to_owned())) {
                Some(unique) => {
                    ApiAnswer::json(200, &json!({ "name": name, "hasUniqueValue": unique, "type": "string" }))
                }
                None => not_found("property"),
            },
            ("POST", None) => {
                let body = request.json();
                let name = body["name"].as_str().unwrap_or_default().to_owned();
                let unique = body["hasUniqueValue"] == json!(true);
                let so_far = self.custom.iter().filter(|((o, _), u)| o == object && **u).count();
                if self.custom.contains_key(&(object.to_owned(), name.clone())) {
                    return error(409, "OBJECT_ALREADY_EXISTS", "A property named that already exists.");
                }
                if name.is_empty() || (unique && so_far >= UNIQUE_MAX) {
                    return error(400, "VALIDATION_ERROR", "No more unique properties can be made.");
                }
                self.custom.insert((object.to_owned(), name.clone()), unique);
                ApiAnswer::json(201, &json!({ "name": name, "hasUniqueValue": unique }))
            }
            _ => error(405, "METHOD_NOT_ALLOWED", "not allowed"),
        }
    }

    fn object(&mut self, request: &ApiRequest, rest: &str, world: &mut ApiWorld) -> Result<ApiAnswer, ApiAnswer> {
        let body = request.json();
        let parts: Vec<&str> = rest.split('/').collect();
        match (request.method.as_str(), &parts[..]) {
            ("POST", [object]) => Ok(ApiAnswer::json(201, &self.create(object, &body, world)?)),
            ("POST", [object, "batch", "read"]) => self.batch_read(object, request),
            ("POST", [object, "batch", "upsert"]) => Ok(ApiAnswer::json(200, &self.upsert(object, &body, world)?)),
            ("POST", [object, "search"]) => Ok(ApiAnswer::json(200, &self.search(object, &body, world))),
            ("GET", [object]) => {
                let wanted = request.query("properties").unwrap_or_default();
                let wanted: Vec<String> = wanted.split(',').map(str::to_owned).collect();
                let found = (0..self.records.len()).filter(|at| self.records[*at].object == *object);
                let results: Vec<Value> = found.map(|at| self.shown(at, &wanted)).collect();
                Ok(ApiAnswer::json(200, &json!({ "results": results })))
            }
            ("GET", [object, id]) => {
                let property = request.query("idProperty");
                let at = self.lookup(object, &unescaped(id), property.as_deref(), asks_for_archived(request))?;
                let at = at.ok_or_else(|| not_found(object))?;
                let wanted = request.query("properties").unwrap_or_default();
                let wanted: Vec<String> = wanted.split(',').filter(|n| !n.is_empty()).map(str::to_owned).collect();
                Ok(ApiAnswer::json(200, &self.shown(at, &wanted)))
            }
            ("PATCH", [object, id]) => {
                let at = self.find(object, id).ok_or_else(|| not_found(object))?;
                Ok(ApiAnswer::json(200, &self.update(object, at, &body, world)?))
            }
            _ => Err(error(405, "METHOD_NOT_ALLOWED", "not allowed")),
        }
    }
}

fn asks_for_archived(request: &ApiRequest) -> bool {
    request.query("archived").as_deref() == Some("true")
}

/// Percent-decoded.
fn unescaped(text: &str) -> String {
    let request =
        ApiRequest { method: String::new(), target: format!("/?v={text}"), headers: Vec::new(), body: Vec::new() };
    request.query("v").unwrap_or_default()
}

fn names(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(|n| n.as_str().map(str::to_owned)).collect()
}

/// What a client would know its record by: a value of a `countersign_key`, or the bracketed footer of a text.
fn key_of(properties: &BTreeMap<String, String>) -> Option<String> {
    if let Some(key) = properties.get("countersign_key") {
        return Some(key.clone());
    }
    let text = ["hs_note_body", "hs_task_body", "hs_email_text"].iter().find_map(|name| properties.get(*name))?;
    let footer = text.trim_end().strip_suffix(']')?;
    footer.rsplit_once('[').map(|(_, tag)| tag.to_owned())
}

fn error(status: u16, category: &str, message: &str) -> ApiAnswer {
    let correlation = "aeb5f871-7f07-4993-9211-075dc63e7cbf";
    let body = json!({ "status": "error", "message": message, "correlationId": correlation, "category": category });
    ApiAnswer::json(status, &body)
}

/// Where the next page begins, in the form of the documentation's samples: base64, its `=` written for a query.
fn cursor(at: usize) -> String {
    STANDARD.encode(format!("{at}\n")).replace('=', "%3D")
}

fn from_cursor(cursor: &str) -> Option<usize> {
    String::from_utf8(STANDARD.decode(cursor).ok()?).ok()?.trim().parse().ok()
}

fn not_found(what: &str) -> ApiAnswer {
    error(404, "OBJECT_NOT_FOUND", &format!("resource not found: {what}"))
}

impl App for HubSpot {
    fn handle(&mut self, request: &ApiRequest, world: &mut ApiWorld) -> ApiAnswer {
        let token = request.header("authorization").and_then(|a| a.strip_prefix("Bearer "));
        if !token.is_some_and(|token| self.takes(token)) {
            return self.refusal(401);
        }
        let path = request.path().to_owned();
        if let Some(rest) = path.strip_prefix(OBJECTS) {
            return self.object(request, rest, world).unwrap_or_else(|refusal| refusal);
        }
        if let Some(rest) = path.strip_prefix(ASSOCIATIONS) {
            let parts: Vec<&str> = rest.split('/').collect();
            return match parts[..] {
                [object, id, "associations", to] => match self.hanging([object, id, to], request, world) {
                    Ok(found) => ApiAnswer::json(200, &found),
                    Err(refusal) => refusal,
                },
                _ => not_found("endpoint"),
            };
        }
        if let Some(rest) = path.strip_prefix(PROPERTIES) {
            let (object, name) = rest.split_once('/').map_or((rest, None), |(o, n)| (o, Some(n)));
            return self.property(request, object, name);
        }
        match path.as_str() {
            "/crm/v3/owners" | "/crm/v3/owners/" => {
                let wanted = request.query("email");
                let all = self.owners.iter().filter(|(_, email)| wanted.as_ref().is_none_or(|w| w == email));
                let results: Vec<Value> = all.map(|(id, email)| json!({ "id": id, "email": email })).collect();
                ApiAnswer::json(200, &json!({ "results": results }))
            }
            "/account-info/v3/details" => {
                ApiAnswer::json(200, &json!({ "portalId": self.portal, "accountType": "DEVELOPER_TEST" }))
            }
            _ => not_found("endpoint"),
        }
    }

    fn refusal(&self, status: u16) -> ApiAnswer {
        match status {
            400 => error(400, "VALIDATION_ERROR", "Property values were not valid"),
            401 => error(401, "INVALID_AUTHENTICATION", "Authentication credentials not found."),
            403 => error(403, "MISSING_SCOPES", "This app hasn't been granted all required scopes."),
            404 => not_found("object"),
            409 => error(409, "CONFLICT", "Contact already exists. Existing ID: 4711"),
            429 => error(429, "RATE_LIMITS", "You have reached your ten_secondly_rolling limit."),
            other => error(other, "INTERNAL_ERROR", "internal error"),
        }
    }

    fn only_asks(&self, request: &ApiRequest) -> bool {
        let path = request.path();
        request.method == "GET" || path.ends_with("/batch/read") || path.ends_with("/search")
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

impl HubSpot {
    /// The unique properties of an object that were made.
    pub fn unique_properties(&self, object: &str) -> BTreeSet<String> {
        self.custom.iter().filter(|((o, _), unique)| o == object && **unique).map(|((_, n), _)| n.clone()).collect()
    }
}
