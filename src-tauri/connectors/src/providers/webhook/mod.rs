//! A signed POST to an endpoint: Standard Webhooks headers and `Idempotency-Key`. Which contract holds is in its file, for
//! only its owner knows what it promises.
//!
//! A receiver that can be asked answers `GET {endpoint}/{id}`: 200 with JSON for what it took, 404 with JSON for what it
//! never saw, 409 or 425 for what it is still busy with (shared/contracts/crm.md 2.24). It should repeat the id as
//! `webhook-id`: a 200 that does not is believed only where an id that nobody ever used is answered with 404, and a 404 that
//! does not is no absence once something was handed over, as any framework says it of a path that it lacks. The question carries no signature, as a signature has a time and a question is
//! asked for weeks; the id is 122 random bits that only the receiver and we know.

use crate::mail_api::{Steps, reach};
use crate::registry::{FormField, Kind, Learned, Provider, Settings};
use crate::site::SiteConfig;
use crate::transport::http::{Credentials, Request, Site};
use crate::transport::reply::{answer, is_foreign};
use crate::{Connector, Halted, HttpReply, Login, Poised, Probe, Reply, SetupCode, SetupError, Unrenderable, Whoami};
use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use countersign_domain::canonical::canonical;
use countersign_domain::contract::answer_receipt;
use countersign_domain::explain::sentence;
use countersign_domain::json::FieldError;
use countersign_domain::{
    AccountFingerprint, Answer, AnswerCode, Contract, Conversation, Countersigned, IdempotencyKey, ReceiptKind, Sealed,
    Sighting, Timestamp, Wire,
};
use hmac::{Hmac, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;
use std::path::Path;
use std::time::Duration;
use toml::Table;

const KIND: &str = "webhook";
const EFFECT: &str = "webhook.post";
const CONTRACTS: [&str; 4] = ["none", "keeps_id", "look_up", "keeps_id_and_look_up"];
/// Standard Webhooks asks for at least this many random bytes.
const SECRET_MIN: usize = 24;

pub(crate) const PROVIDER: Provider = Provider {
    kind: || {
        let field = |key, label, kind, default, choices, help| FormField {
            key,
            label,
            kind,
            required: false,
            default,
            choices,
            help,
        };
        let mut fields = SiteConfig::fields("", false);
        fields.extend([
            field(
                "contract",
                "What the receiver promises",
                "choice",
                "none",
                &CONTRACTS[..],
                "keeps_id: a repeat under the same id does nothing more. look_up: GET ADDRESS/ID answers 200 for what it took, 404 \
                 for what it never saw, with JSON that repeats the id as webhook-id",
            ),
            field("keeps_id_hours", "It keeps an id for", "number", "168", &[], "Hours; with keeps_id"),
        ]);
        Kind {
            name: KIND, title: "Signed webhook", effects: vec![EFFECT], fields, secret: "signing secret (whsec_…)"
        }
    },
    read: |table, loopback_only| Ok(Box::new(Config::read(table, loopback_only)?)),
};

#[derive(Clone, Debug)]
struct Config {
    site: SiteConfig,
    contract: Contract,
    looks_up: bool,
}

impl Config {
    fn read(table: &Table, loopback_only: bool) -> Result<Config, FieldError> {
        let site = SiteConfig::read(table, loopback_only, None, false)?;
        let chosen = match table.get("contract") {
            None => "none",
            Some(toml::Value::String(s)) if CONTRACTS.contains(&s.as_str()) => s,
            Some(_) => return Err(FieldError::new("contract", format!("must be one of {}", CONTRACTS.join(", ")))),
        };
        let mut contract = contract(chosen);
        match table.get("keeps_id_hours") {
            None => {}
            Some(_) if contract.retention_hours.is_none() => {
                return Err(FieldError::new("keeps_id_hours", "has a meaning only with a contract that keeps the id"));
            }
            Some(toml::Value::Integer(n)) if (1..=24 * 365).contains(n) => {
                contract.retention_hours = u32::try_from(*n).ok()
            }
            Some(_) => return Err(FieldError::new("keeps_id_hours", "must be a whole number from 1 to 8760")),
        }
        Ok(Config { site, looks_up: contract.can_look(), contract })
    }
}

/// The file's entries are given by what they add to the first one; the last one is both of the others.
fn contract(chosen: &str) -> Contract {
    let read = || -> Result<Contract, String> {
        let file: Table = include_str!("contract.toml").parse().map_err(|e: toml::de::Error| e.to_string())?;
        let table =
            |name: &str| file.get(name).and_then(toml::Value::as_table).cloned().ok_or(format!("[{name}] is missing"));
        let mut all = table("none")?;
        let parts: &[&str] = match chosen {
            "keeps_id_and_look_up" => &["look_up", "keeps_id", "keeps_id_and_look_up"],
            other => &[other],
        };
        for part in parts {
            all.extend(table(part)?);
        }
        all.try_into().map_err(|e: toml::de::Error| e.to_string())
    };
    read().unwrap_or_else(|why| panic!("contract.toml is part of the program: {why}"))
}

impl Settings for Config {
    fn connect(&self, base_dir: &Path, _: &Learned) -> Result<Box<dyn Connector>, FieldError> {
        Ok(Box::new(Webhook { site: self.site.site(base_dir)?, config: self.clone() }))
    }
}

struct Webhook {
    site: Site,
    config: Config,
}

#[async_trait]
impl Connector for Webhook {
    fn kind(&self) -> &'static str {
        KIND
    }
    fn account(&self) -> AccountFingerprint {
        self.config.site.account(KIND)
    }
    fn account_text(&self) -> String {
        self.config.site.account_text("Webhook")
    }
    fn contract(&self, effect: &str) -> Option<&Contract> {
        (effect == EFFECT).then_some(&self.config.contract)
    }
    fn takes_secret(&self, secret: &str) -> Result<(), &'static str> {
        signing_key(secret).map(drop).ok_or("is not whsec_ and the base64 of at least 24 bytes; copy it again")
    }
    fn answer_timeout(&self) -> Duration {
        self.config.site.answer_timeout
    }

    fn render(
        &self,
        sealed: &Sealed,
        key: &IdempotencyKey,
        _conversation: Option<&Conversation>,
        _at: Timestamp,
    ) -> Result<Wire, Unrenderable> {
        let payload = sealed.payload();
        let body = payload.value().get("body").filter(|_| payload.effect() == EFFECT);
        let body =
            body.ok_or_else(|| Unrenderable::new("effect", format!("`{}` is not a webhook", payload.effect())))?;
        let request = Request {
            method: "POST".into(),
            path: self.config.site.base.join(""),
            headers: vec![
                ("content-type".into(), "application/json".into()),
                ("webhook-id".into(), key.as_str().into()),
                // The draft's value is a string of structured fields: quoted.
                ("idempotency-key".into(), format!("\"{key}\"")),
            ],
            body: canonical(body).into_bytes(),
        };
        Ok(request.seal())
    }

    fn read(&self, reply: &Reply) -> Answer {
        reply.read_as_http(read)
    }

    /// Nothing is said to it: a webhook has no question that is no message.
    async fn check(
        &self,
        login: &Login,
        at: Timestamp,
        progress: &(dyn Fn(Probe) + Send + Sync),
    ) -> Result<Whoami, SetupError> {
        let steps = Steps(progress);
        steps.begin("http_login", "Reading the signing secret");
        if signing_key(&login.secret).is_none() {
            return Err(steps.fail("http_login", SetupCode::Login, NO_SECRET));
        }
        steps.done("http_login", "It can be signed with");
        reach(&self.site, &steps).await?;
        let mut ahead_seconds = None;
        if self.config.looks_up {
            steps.begin("http_look_up", "Asking for an id that was never used");
            let no = |why: &str| steps.fail("http_look_up", SetupCode::NotPossible, sentence(why));
            let reply = self.site.ask_at(&self.about(SOME_ID), &Credentials::none(), at).await;
            let reply = reply.map_err(|why| no(&why.text()))?;
            match read(&reply) {
                _ if knows_nothing(&reply) => {}
                answer if is_foreign(&answer) => return Err(no(&answer.words)),
                _ => {
                    return Err(no(&format!(
                        "it answered {} and not 404 with JSON, as `contract` promises",
                        reply.status
                    )));
                }
            }
            steps.done("http_look_up", "It says that it never saw it");
            ahead_seconds = reply.ahead_seconds;
        }
        Ok(Whoami { account: self.account_text(), ahead_seconds, ..Whoami::default() })
    }

    async fn approach(&self, order: &Countersigned, login: &Login, at: Timestamp) -> Result<Poised, Halted> {
        let halted = |answer| Halted { answer };
        let request =
            Request::open(order.wire()).map_err(|no| halted(answer("http:wire:unreadable", no.to_string())))?;
        let key = signing_key(&login.secret).ok_or_else(|| halted(answer("http:login:unusable", NO_SECRET)))?;
        let seconds = at.millis().div_euclid(1000);
        let signature = sign(&key, order.idempotency_key().as_str(), seconds, &request.body);
        let credentials = Credentials::none()
            .with("webhook-timestamp", seconds.to_string())
            .with("webhook-signature", format!("v1,{signature}"));
        let poised = self.site.approach(request, &credentials, at, json!({ "handed_over": true })).await;
        poised.map(Poised::Http).map_err(halted)
    }

    async fn look(&self, order: &Countersigned, _login: &Login, noted: &[Value]) -> Sighting {
        if !self.config.looks_up {
            return Sighting::cannot_tell("this receiver cannot be asked");
        }
        let key = order.idempotency_key();
        let reply = match self.ask_for(key.as_str()).await {
            Ok(reply) => reply,
            Err(why) => return Sighting::cannot_tell(why),
        };
        let body = reply.json();
        let named = body.as_ref().and_then(|body| body["webhook-id"].as_str());
        if named.is_some_and(|id| id != key.as_str()) {
            return Sighting::cannot_tell("the receiver spoke of another id");
        }
        match (reply.status, &body) {
            (200, Some(body)) if !says_error(body) => {
                // One that names no id might say so of any: it is asked for one that nobody ever used.
                let other = never_used(key.as_str());
                if named.is_none() && !self.ask_for(&other).await.is_ok_and(|reply| knows_nothing(&reply)) {
                    return Sighting::cannot_tell("the receiver says that it has what was never sent, too");
                }
                let text = "The receiver was asked and says that it has it.";
                let mut receipt = answer_receipt(reference(body), text);
                receipt.kind = ReceiptKind::Lookup;
                Sighting::Found(receipt)
            }
            // Any framework says 404 of a path that it does not know. Before anything was handed over that does no harm.
            _ if knows_nothing(&reply) && named.is_none() && !noted.is_empty() => {
                Sighting::cannot_tell("the receiver answered 404 without repeating our id, which proves nothing")
            }
            _ if knows_nothing(&reply) => {
                Sighting::NotSeen { looked: "The receiver was asked and says that it never saw it.".into() }
            }
            (409 | 425, _) => Sighting::cannot_tell("the receiver is still busy with it"),
            _ => Sighting::cannot_tell(read(&reply).words),
        }
    }
}

impl Webhook {
    /// What became of an id; why it could not be asked.
    async fn ask_for(&self, id: &str) -> Result<HttpReply, String> {
        self.site.ask(&self.about(id), &Credentials::none()).await.map_err(|no| no.text())
    }

    fn about(&self, id: &str) -> Request {
        Request::get(self.config.site.base.join(&format!("/{id}")))
    }
}

/// For the connection test, which has no key at hand.
const SOME_ID: &str = "7c9e6679-7425-40de-944b-e07fc1f90ae7";

/// An id of the same form that nobody ever used: one digit of a key is another one.
fn never_used(key: &str) -> String {
    let mut id = key.to_owned();
    let last = id.pop();
    id.push(if last == Some('0') { '1' } else { '0' });
    id
}

/// 404 in the receiver's own words, or in none. A page is somebody else's.
fn knows_nothing(reply: &HttpReply) -> bool {
    reply.status == 404 && (reply.json().is_some() || (reply.body.is_empty() && reply.content_type().is_empty()))
}

const NO_SECRET: &str = "the signing secret is not whsec_ and the base64 of at least 24 bytes; copy it again";

fn signing_key(secret: &str) -> Option<Vec<u8>> {
    let bytes = STANDARD.decode(secret.trim().strip_prefix("whsec_")?).ok()?;
    (bytes.len() >= SECRET_MIN).then_some(bytes)
}

/// Base64 of HMAC-SHA256 over `id.timestamp.body`.
fn sign(key: &[u8], id: &str, seconds: i64, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes a key of any length");
    mac.update(format!("{id}.{seconds}.").as_bytes());
    mac.update(body);
    STANDARD.encode(mac.finalize().into_bytes())
}

fn reference(body: &Value) -> Option<String> {
    match &body["id"] {
        // No address: anybody can write a receiver.
        Value::String(id) if !id.contains('@') => Some(id.clone()),
        // Only whole ones: any other was rounded when it was read.
        Value::Number(id) if id.is_u64() || id.is_i64() => Some(id.to_string()),
        _ => None,
    }
}

/// Seen on real servers: 200 with the failure inside.
fn says_error(body: &Value) -> bool {
    let told = |name: &str| match &body[name] {
        Value::Null | Value::Bool(false) => false,
        Value::Array(list) => !list.is_empty(),
        Value::String(text) => !text.is_empty(),
        _ => true,
    };
    told("error") || told("errors") || body["success"] == Value::Bool(false) || body["ok"] == Value::Bool(false)
}

/// The draft answers 422 where a key comes with other content, and so do many frameworks for content they do not like. Only
/// the first speaks of the key.
fn names_the_key(reply: &HttpReply) -> bool {
    let said = String::from_utf8_lossy(&reply.body).to_ascii_lowercase();
    said.contains("idempoten") || said.contains("webhook-id")
}

fn read(reply: &HttpReply) -> Answer {
    let status = reply.status;
    let body = reply.json();
    let kind = reply.content_type();
    // A receiver of one's own answers with JSON, with a plain word or with nothing; a page is somebody else's. A yes that
    // announces a body and has none was lost on its way; 204 cannot have one.
    let lost = (200..300).contains(&status) && status != 204 && !kind.is_empty();
    let own = body.is_some()
        || (kind == "text/plain" && status >= 400)
        || (reply.body.is_empty() && kind != "text/html" && !lost);
    if !own {
        return reply.foreign("the receiver");
    }
    let said = |name: &str| body.as_ref().and_then(|b| b[name].as_str()).unwrap_or_default();
    let words = reply.words(
        ["message", "detail", "title", "error"].map(said).into_iter().find(|t| !t.is_empty()).unwrap_or_default(),
    );
    let error = body.as_ref().is_some_and(says_error);
    let (code, receipt) = match status {
        422 if names_the_key(reply) => ("http:422:key_reused".to_owned(), None),
        200..300 if error => (format!("http:{status}:error_inside"), None),
        200..300 => {
            let receipt = answer_receipt(body.as_ref().and_then(reference), format!("The receiver answered {status}."));
            (format!("http:{status}:accepted"), Some(receipt))
        }
        401 => (format!("http:login:{status}:own"), None),
        _ => (format!("http:{status}:own"), None),
    };
    Answer { codes: vec![AnswerCode::new(code)], receipt, retry_after: reply.retry_after(), words }
}

#[cfg(test)]
#[path = "webhook_test.rs"]
mod tests;
