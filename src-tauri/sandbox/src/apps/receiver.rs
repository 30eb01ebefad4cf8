//! An endpoint of somebody's own, as shared/contracts/crm.md 2.24 describes it: it checks the signature of Standard
//! Webhooks and its time (five minutes by its own clock), may keep ids, and may be asked for them.

use crate::api::{ApiAnswer, ApiRequest, ApiWorld, App};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;
use std::any::Any;
use std::collections::HashMap;

/// The endpoint.
pub struct Receiver {
    secret: String,
    /// Whether a second request under an id does nothing more.
    pub keeps_id: bool,
    /// Whether `GET {path}/{id}` is answered.
    pub can_be_asked: bool,
    /// Whether what it answers to a question names the id.
    pub names_the_id: bool,
    /// How long an id is kept, in seconds.
    pub kept_seconds: i64,
    kept: HashMap<String, (i64, Vec<u8>, Option<ApiAnswer>)>,
}

const TOLERANCE: i64 = 300;
const PATH: &str = "/in";

impl Receiver {
    /// `secret`: `whsec_` and base64.
    pub fn new(secret: &str) -> Receiver {
        Receiver {
            secret: secret.to_owned(),
            keeps_id: false,
            can_be_asked: false,
            names_the_id: true,
            kept_seconds: 168 * 3600,
            kept: HashMap::new(),
        }
    }

    /// The secret that was given out is worth nothing any more.
    pub fn revoke(&mut self) {
        self.secret.clear();
    }

    fn signed(&self, request: &ApiRequest, now: i64) -> Result<(), &'static str> {
        let of = |name: &str| request.header(name).ok_or("a header of the signature is missing");
        let (id, time, signature) = (of("webhook-id")?, of("webhook-timestamp")?, of("webhook-signature")?);
        let seconds: i64 = time.parse().map_err(|_| "the timestamp is no number")?;
        if (seconds - now).abs() > TOLERANCE {
            return Err("the timestamp is outside the tolerance");
        }
        let key = self.secret.strip_prefix("whsec_").and_then(|s| STANDARD.decode(s).ok()).ok_or("no secret")?;
        let mut mac = Hmac::<Sha256>::new_from_slice(&key).map_err(|_| "no secret")?;
        mac.update(format!("{id}.{seconds}.").as_bytes());
        mac.update(&request.body);
        let given = signature.split(' ').filter_map(|s| s.strip_prefix("v1,")).filter_map(|s| STANDARD.decode(s).ok());
        for signature in given {
            if mac.clone().verify_slice(&signature).is_ok() {
                return Ok(());
            }
        }
        Err("the signature does not hold")
    }
}

fn problem(status: u16, title: &str) -> ApiAnswer {
    let answer = ApiAnswer::json(status, &json!({ "title": title, "status": status }));
    ApiAnswer { content_type: "application/problem+json".into(), ..answer }
}

impl App for Receiver {
    fn handle(&mut self, request: &ApiRequest, world: &mut ApiWorld) -> ApiAnswer {
        self.answer(request, world)
    }

    fn refusal(&self, status: u16) -> ApiAnswer {
        problem(status, "refused")
    }

    fn begin(&mut self, request: &ApiRequest, world: &mut ApiWorld) {
        if let Some(id) = request.header("webhook-id") {
            self.kept.insert(id.to_owned(), (world.now(), request.body.clone(), None));
        }
    }

    fn finish(&mut self, request: &ApiRequest, world: &mut ApiWorld) -> ApiAnswer {
        if let Some(id) = request.header("webhook-id") {
            self.kept.remove(id);
        }
        self.handle(request, world)
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

impl Receiver {
    fn about(&self, id: &str, mut body: Value) -> Value {
        if self.names_the_id {
            body["webhook-id"] = json!(id);
        }
        body
    }

    fn answer(&mut self, request: &ApiRequest, world: &mut ApiWorld) -> ApiAnswer {
        let now = world.now();
        if request.method == "GET" {
            let id = request.path().strip_prefix(PATH).and_then(|rest| rest.strip_prefix('/')).unwrap_or_default();
            return match self.kept.get(id).filter(|_| self.can_be_asked && !world.hides()) {
                Some((_, _, Some(answer))) => {
                    let number = serde_json::from_slice::<Value>(&answer.body).unwrap_or_default()["id"].clone();
                    ApiAnswer::json(200, &self.about(id, json!({ "id": number })))
                }
                Some((_, _, None)) => problem(409, "still running"),
                None => ApiAnswer::json(404, &self.about(id, json!({ "title": "never seen" }))),
            };
        }
        if request.method != "POST" || request.path() != PATH {
            return problem(404, "no such path");
        }
        if let Err(why) = self.signed(request, now) {
            return problem(401, why);
        }
        let Some(id) = request.header("webhook-id").map(str::to_owned) else { return problem(400, "no id") };
        if request.header("idempotency-key") != Some(format!("\"{id}\"").as_str()) {
            return problem(400, "the key is not the id, quoted");
        }
        if !request.json().is_object() {
            return problem(400, "no JSON object");
        }
        let known = self.kept.get(&id).filter(|(at, _, _)| self.keeps_id && now < at + self.kept_seconds);
        match known {
            Some((_, body, _)) if *body != request.body => return problem(422, "Idempotency-Key is already used"),
            Some((_, _, Some(answer))) => return answer.clone(),
            Some((_, _, None)) => return problem(409, "the first one is still running"),
            None => {}
        }
        let number = format!("evt-{}", world.number());
        world.effect(Some(&id), &number, request.json());
        let answer = ApiAnswer::json(202, &json!({ "id": number }));
        self.kept.insert(id, (now, request.body.clone(), Some(answer.clone())));
        answer
    }
}
