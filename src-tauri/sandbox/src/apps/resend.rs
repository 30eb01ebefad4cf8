//! Resend, as its contract file describes it (shared/contracts/email.md 3.1): a key is honoured for 24 hours, the same
//! request under it gets the same answer, another one 409 `invalid_idempotent_request`, one that comes while the first is
//! running 409 `concurrent_idempotent_requests`. Validation failures are not kept under the key; that a server error is
//! not kept either is a choice here, for the documentation does not say.

use crate::api::{ApiAnswer, ApiRequest, ApiWorld, App};
use serde_json::{Value, json};
use std::any::Any;
use std::collections::HashMap;

/// What a key is remembered by.
#[derive(Clone)]
struct Kept {
    at: i64,
    body: Vec<u8>,
    /// None while the first request is running.
    answer: Option<ApiAnswer>,
}

/// The provider.
pub struct Resend {
    token: String,
    /// A key of another account, which has keys and messages of its own.
    pub other_account: Option<String>,
    /// A key that may send and not read.
    pub sends_only: bool,
    /// Addresses that are refused.
    pub refuses: Vec<String>,
    kept: HashMap<String, Kept>,
    kept_by_other: HashMap<String, Kept>,
    sent: Vec<Value>,
}

const HONOURED_SECONDS: i64 = 24 * 3600;
const BODY_MAX: usize = 40 << 20;

impl Resend {
    pub fn new(token: &str) -> Resend {
        Resend {
            token: token.to_owned(),
            other_account: None,
            sends_only: false,
            refuses: Vec::new(),
            kept: HashMap::new(),
            kept_by_other: HashMap::new(),
            sent: Vec::new(),
        }
    }

    /// The key that was given out is worth nothing any more.
    pub fn revoke(&mut self) {
        self.token = String::new();
    }

    fn send(&mut self, request: &ApiRequest, key: Option<&str>, world: &mut ApiWorld) -> ApiAnswer {
        if let Some(key) = key {
            if key.is_empty() || key.len() > 256 {
                return error(400, "invalid_idempotency_key", "The key must be between 1-256 chars.");
            }
            match self.kept.get(key).filter(|kept| world.now() < kept.at + HONOURED_SECONDS) {
                Some(kept) if kept.body != request.body => {
                    let why = "Same idempotency key used with a different request payload.";
                    return error(409, "invalid_idempotent_request", why);
                }
                Some(Kept { answer: Some(answer), .. }) => return answer.clone(),
                Some(Kept { answer: None, .. }) => {
                    let why = "Another request with the same idempotency key is in progress.";
                    return error(409, "concurrent_idempotent_requests", why);
                }
                None => {}
            }
        }
        let body = request.json();
        if let Err(why) = self.valid(request, &body) {
            return error(422, "validation_error", why);
        }
        let id = format!("49a3999c-0ce1-4ea6-ab68-{:012x}", world.number());
        world.effect(key, &id, body.clone());
        let created = crate::date::rfc3339(world.now());
        self.sent.push(json!({
            "object": "email", "id": id, "to": body["to"], "from": body["from"], "created_at": created,
            "subject": body["subject"], "bcc": body["bcc"], "cc": body["cc"], "reply_to": body["reply_to"],
            "last_event": "delivered",
        }));
        let answer = ApiAnswer::json(200, &json!({ "id": id }));
        if let Some(key) = key {
            let kept = Kept { at: world.now(), body: request.body.clone(), answer: Some(answer.clone()) };
            self.kept.insert(key.to_owned(), kept);
        }
        answer
    }

    fn valid(&self, request: &ApiRequest, body: &Value) -> Result<(), &'static str> {
        let addresses = ["to", "cc", "bcc"].iter().flat_map(|name| body[name].as_array().into_iter().flatten());
        let addresses: Vec<&str> = addresses.filter_map(Value::as_str).collect();
        if request.header("content-type") != Some("application/json") || !body.is_object() {
            return Err("The body is no JSON object.");
        }
        if request.body.len() > BODY_MAX {
            return Err("The email is larger than 40 MB.");
        }
        if body["from"].as_str().is_none_or(str::is_empty) || body["to"].as_array().is_none_or(Vec::is_empty) {
            return Err("Missing `from` or `to` field.");
        }
        if body["to"].as_array().is_some_and(|to| to.len() > 50) {
            return Err("Too many recipients.");
        }
        if body["text"].as_str().is_none() && body["html"].as_str().is_none() {
            return Err("Missing `html` or `text` field.");
        }
        if addresses.iter().any(|a| self.refuses.iter().any(|no| a.contains(no.as_str()))) {
            return Err("Invalid `to` field.");
        }
        Ok(())
    }
}

impl App for Resend {
    fn handle(&mut self, request: &ApiRequest, world: &mut ApiWorld) -> ApiAnswer {
        match request.header("authorization").and_then(|a| a.strip_prefix("Bearer ")) {
            None => return error(401, "missing_api_key", "Missing API key in the authorization header."),
            Some(token) if Some(token) == self.other_account.as_deref() => {
                let mut other = Resend::new(token);
                std::mem::swap(&mut other.kept, &mut self.kept_by_other);
                let answer = other.handle(request, world);
                std::mem::swap(&mut other.kept, &mut self.kept_by_other);
                return answer;
            }
            Some(token) if token != self.token || token.is_empty() => {
                return error(401, "invalid_api_key", "API key is invalid");
            }
            Some(_) => {}
        }
        match (request.method.as_str(), request.path()) {
            ("POST", "/emails") => {
                let key = request.header("idempotency-key").map(str::to_owned);
                self.send(request, key.as_deref(), world)
            }
            ("GET", _) if self.sends_only => {
                error(401, "restricted_api_key", "This API key is restricted to only send emails")
            }
            ("GET", "/emails") if world.hides() => {
                ApiAnswer::json(200, &json!({ "object": "list", "has_more": false, "data": [] }))
            }
            ("GET", "/emails") => {
                let newest: Vec<&Value> = self.sent.iter().rev().take(100).collect();
                ApiAnswer::json(200, &json!({ "object": "list", "has_more": false, "data": newest }))
            }
            ("POST", _) => error(405, "method_not_allowed", "Method is not allowed for the requested path."),
            _ => error(404, "not_found", "The requested endpoint does not exist."),
        }
    }

    fn refusal(&self, status: u16) -> ApiAnswer {
        match status {
            401 => error(401, "invalid_api_key", "API key is invalid"),
            403 => error(403, "validation_error", "The domain is not verified."),
            // The first request is still under way.
            409 => error(409, "concurrent_idempotent_requests", "Another request with this key is in progress."),
            422 => error(422, "validation_error", "Invalid `to` field."),
            429 => error(429, "rate_limit_exceeded", "Too many requests."),
            other => error(other, "application_error", "Something went wrong."),
        }
    }

    fn begin(&mut self, request: &ApiRequest, world: &mut ApiWorld) {
        if let Some(key) = request.header("idempotency-key") {
            let running = Kept { at: world.now(), body: request.body.clone(), answer: None };
            self.kept.insert(key.to_owned(), running);
        }
    }

    fn finish(&mut self, request: &ApiRequest, world: &mut ApiWorld) -> ApiAnswer {
        if let Some(key) = request.header("idempotency-key") {
            self.kept.remove(key);
        }
        self.handle(request, world)
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

fn error(status: u16, name: &str, message: &str) -> ApiAnswer {
    ApiAnswer::json(status, &json!({ "statusCode": status, "name": name, "message": message }))
}
