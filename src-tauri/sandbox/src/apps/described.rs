//! A provider of mail whose ways are few enough to be written down as data: it takes a request, gives it a number, and may
//! be asked for a reference. Knows no key; each request it takes is an effect.

use crate::api::{ApiAnswer, ApiRequest, ApiWorld, App};
use serde::Deserialize;
use serde_json::{Value, json};
use std::any::Any;
use std::collections::BTreeMap;

/// What a provider's `double.json` says.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// Where these facts are written.
    pub source: String,
    /// Lines of the destination file's table.
    pub table: String,
    /// The token that is good.
    pub secret: String,
    /// The header it comes in, and what its value is; `{secret}` stands for the token.
    pub credential: (String, String),
    /// Method and path of a send.
    pub send: (String, String),
    /// Members that a send must have.
    pub required: Vec<String>,
    /// Members that hold recipients: texts with commas, or lists.
    pub recipients: Vec<String>,
    /// JSON pointer to what it may be found by. Null: no request has such a thing.
    pub reference: Option<String>,
    /// The status of a yes. 200 unless it is said.
    #[serde(default = "ok")]
    pub accepted_status: u16,
    /// Headers of a yes, names in lower case; `{id}` stands for its number.
    #[serde(default)]
    pub accepted_headers: BTreeMap<String, String>,
    /// The body of a yes; `{id}` stands for its number. Null: it has none.
    pub accepted: Value,
    /// The same without its number. Then the headers above are missing, too.
    pub accepted_without_id: Value,
    /// Bodies of a no, by status; `*` for all others.
    pub refusals: BTreeMap<String, Value>,
    /// The status of a no to a payload.
    pub refuses_with: u16,
    /// What it answers to other questions, by path: those that show that a token is good.
    #[serde(default)]
    pub answers: BTreeMap<String, Value>,
    /// How it is asked for a reference, if it can be.
    pub lookup: Option<Lookup>,
}

/// A question by reference.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lookup {
    pub path: String,
    /// The name in the query that holds the reference.
    pub query: String,
    /// Members that the query must have besides.
    pub required: Vec<String>,
    /// Where in the answer the list of what was found stands.
    pub list: String,
    /// The rest of the answer.
    pub answer: Value,
    /// One entry; `{id}` and `{reference}` stand for what they say.
    pub entry: Value,
}

/// The provider.
pub struct Described {
    is: Description,
    /// Parts of addresses that are refused.
    pub refuses: Vec<String>,
    found: Vec<(String, String)>,
}

impl Described {
    pub fn new(is: Description) -> Described {
        Described { is, refuses: Vec::new(), found: Vec::new() }
    }

    /// The token that was given out is worth nothing any more.
    pub fn revoke(&mut self) {
        self.is.secret = "nobody's".into();
    }

    fn refused(&self, status: u16) -> ApiAnswer {
        let body = self.is.refusals.get(&status.to_string()).or_else(|| self.is.refusals.get("*"));
        ApiAnswer::json(status, body.unwrap_or(&Value::Null))
    }

    fn send(&mut self, request: &ApiRequest, world: &mut ApiWorld) -> ApiAnswer {
        let body = request.json();
        let people = self.is.recipients.iter().map(|name| body[name].to_string()).collect::<String>();
        let whole = self.is.required.iter().all(|name| !body[name].is_null());
        if !whole || self.refuses.iter().any(|no| people.contains(no.as_str())) {
            return self.refused(self.is.refuses_with);
        }
        let id = format!("{:08x}-0000-4000-8000-000000000000", world.number());
        let reference = self.is.reference.as_ref().and_then(|at| body.pointer(at)?.as_str().map(str::to_owned));
        world.effect(reference.as_deref(), &id, body);
        if let Some(reference) = reference {
            self.found.push((reference, id.clone()));
        }
        let yes = said(self.is.accepted_status, &filled(&self.is.accepted, &[("{id}", &id)]));
        self.is.accepted_headers.iter().fold(yes, |yes, (name, value)| yes.with(name, value.replace("{id}", &id)))
    }

    fn look(&self, request: &ApiRequest, lookup: &Lookup, world: &ApiWorld) -> ApiAnswer {
        if lookup.required.iter().any(|name| request.query(name).is_none()) {
            return self.refused(self.is.refuses_with);
        }
        let wanted = request.query(&lookup.query);
        let hits = self.found.iter().filter(|(reference, _)| wanted.as_ref().is_none_or(|w| w == reference));
        let hits = hits.filter(|_| !world.hides());
        let entries: Vec<Value> =
            hits.map(|(reference, id)| filled(&lookup.entry, &[("{id}", id), ("{reference}", reference)])).collect();
        let mut answer = lookup.answer.clone();
        answer[&lookup.list] = json!(entries);
        ApiAnswer::json(200, &answer)
    }
}

fn ok() -> u16 {
    200
}

/// An answer with this body, or without one.
fn said(status: u16, body: &Value) -> ApiAnswer {
    if body.is_null() { ApiAnswer::empty(status) } else { ApiAnswer::json(status, body) }
}

/// The value with each word in its texts replaced.
fn filled(value: &Value, words: &[(&str, &String)]) -> Value {
    match value {
        Value::String(text) => {
            Value::String(words.iter().fold(text.clone(), |text, (word, with)| text.replace(word, with)))
        }
        Value::Array(list) => list.iter().map(|v| filled(v, words)).collect(),
        Value::Object(map) => Value::Object(map.iter().map(|(k, v)| (k.clone(), filled(v, words))).collect()),
        other => other.clone(),
    }
}

impl App for Described {
    fn handle(&mut self, request: &ApiRequest, world: &mut ApiWorld) -> ApiAnswer {
        let (header, value) = &self.is.credential;
        if request.header(header) != Some(value.replace("{secret}", &self.is.secret).as_str()) {
            return self.refused(401);
        }
        if (request.method.as_str(), request.path()) == (self.is.send.0.as_str(), self.is.send.1.as_str()) {
            return self.send(request, world);
        }
        if let Some(answer) = self.is.answers.get(request.path()).filter(|_| request.method == "GET") {
            return ApiAnswer::json(200, answer);
        }
        match self.is.lookup.clone().filter(|l| request.method == "GET" && request.path() == l.path) {
            Some(lookup) => self.look(request, &lookup, world),
            None => self.refused(404),
        }
    }

    fn refusal(&self, status: u16) -> ApiAnswer {
        self.refused(status)
    }

    fn without_reference(&self, answer: ApiAnswer) -> ApiAnswer {
        said(answer.status, &self.is.accepted_without_id)
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}
