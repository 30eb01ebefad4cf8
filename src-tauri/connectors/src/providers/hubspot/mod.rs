//! HubSpot: contacts made once under a unique property, records changed by number after their values were compared, notes,
//! tasks and logged emails found again by a tag in their text.
//!
//! | file | what lives there |
//! |---|---|
//! | `wire`, `render` | what was seen of the record and the request; payload → request |
//! | `ask` | finding a record; survey before approval, comparison before dispatch; whose the token is |
//! | `look` | look-ups after doubt, and the reading back of a change |
//! | `setup` | connection test, the unique property |

mod ask;
mod config;
mod contract;
mod look;
mod render;
mod setup;
mod wire;

use crate::registry::Provider;
use crate::survey::Survey;
use crate::transport;
use crate::transport::http::{Credentials, Site};
use crate::transport::reply::answer;
use crate::transport::tls::Trust;
use crate::{
    Connector, Halted, HttpReply, Login, OAuth, Poised, Preview, Probe, Reply, SetupError, Situation, Unrenderable,
    Whoami, preview,
};
use async_trait::async_trait;
use config::HubSpotConfig;
use countersign_domain::contract::answer_receipt;
use countersign_domain::json::FieldError;
use countersign_domain::{
    AccountFingerprint, Answer, AnswerCode, Contract, Conversation, Countersigned, IdempotencyKey, MatchBy, RecordRef,
    Sealed, Sighting, Timestamp, Wire,
};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

pub const KIND: &str = "hubspot";

pub(crate) const PROVIDER: Provider = Provider {
    kind: config::kind,
    read: |table, loopback_only| Ok(Box::new(HubSpotConfig::read(table, loopback_only)?)),
};

pub struct HubSpot {
    config: HubSpotConfig,
    site: Site,
    oauth: Option<OAuth>,
}

impl HubSpot {
    fn new(config: &HubSpotConfig, base_dir: &Path) -> Result<HubSpot, FieldError> {
        let trust = Trust::load(config.site.ca_file.as_deref(), base_dir)?;
        let oauth = config.oauth.as_ref().map(|oauth| oauth.client(trust));
        Ok(HubSpot { site: config.site.site(base_dir)?, oauth, config: config.clone() })
    }
}

#[async_trait]
impl Connector for HubSpot {
    fn kind(&self) -> &'static str {
        KIND
    }
    fn account(&self) -> AccountFingerprint {
        self.config.account()
    }
    fn account_text(&self) -> String {
        self.config.account_text()
    }
    fn contract(&self, effect: &str) -> Option<&Contract> {
        contract::of(effect)
    }
    fn contracts(&self, effect: &str) -> Vec<(Option<&'static str>, &Contract)> {
        contract::cases(effect)
    }
    fn takes_secret(&self, secret: &str) -> Result<(), &'static str> {
        transport::http::fits_a_header(secret)
    }
    fn contract_of(&self, order: &Countersigned) -> Option<&Contract> {
        contract::of_wire(&order.key().effect, wire::open(order.wire()).as_ref())
    }
    fn oauth(&self) -> Option<&OAuth> {
        self.oauth.as_ref()
    }
    fn answer_timeout(&self) -> Duration {
        self.config.site.answer_timeout
    }

    fn render(
        &self,
        sealed: &Sealed,
        key: &IdempotencyKey,
        _conversation: Option<&Conversation>,
        at: Timestamp,
    ) -> Result<Wire, Unrenderable> {
        render::render(self, sealed, key, at, &Survey::NothingToAsk)
    }
    fn render_on(
        &self,
        sealed: &Sealed,
        key: &IdempotencyKey,
        _conversation: Option<&Conversation>,
        at: Timestamp,
        survey: &Survey,
    ) -> Result<Wire, Unrenderable> {
        render::render(self, sealed, key, at, survey)
    }

    fn touches(&self, wire: &Wire) -> Option<RecordRef> {
        let (object, id) = wire::open(wire)?.target()?;
        Some(RecordRef { kind: render::kind_of(&object)?.to_owned(), by: MatchBy::Id, value: id })
    }

    fn preview(&self, wire: &Wire) -> Preview {
        match wire::open(wire) {
            Some(sealed) => preview::of_request(&sealed.request.seal()),
            None => Preview { unreadable: Some("the stored request cannot be read".into()), ..Preview::default() },
        }
    }

    fn read(&self, reply: &Reply) -> Answer {
        reply.read_as_http(read)
    }

    async fn check(
        &self,
        login: &Login,
        at: Timestamp,
        progress: &(dyn Fn(Probe) + Send + Sync),
    ) -> Result<Whoami, SetupError> {
        self.check_account(login, at, progress).await
    }

    async fn prepare(
        &self,
        login: &Login,
        at: Timestamp,
        progress: &(dyn Fn(Probe) + Send + Sync),
    ) -> Result<(), SetupError> {
        self.make_property(login, at, progress).await
    }

    async fn survey(&self, sealed: &Sealed, login: &Login) -> Survey {
        HubSpot::survey(self, sealed, login).await
    }

    async fn situation(&self, order: &Countersigned, login: &Login, _ours: &[String]) -> Situation {
        self.moved(order, login).await
    }

    async fn approach(&self, order: &Countersigned, login: &Login, at: Timestamp) -> Result<Poised, Halted> {
        let Some(sealed) = wire::open(order.wire()) else {
            let answer = answer("http:wire:unreadable", "the stored request is none of HubSpot's");
            return Err(Halted { answer });
        };
        let mut request = sealed.request;
        request.path = self.site.base().join(&request.path);
        // That something was handed over is what a look for a change needs to know.
        let noted = json!({ "record": sealed.record.map(|r| r.id) });
        let poised = self.site.approach(request, &Credentials::bearer(&login.secret), at, noted).await;
        let poised = poised.map_err(|answer| Halted { answer })?;
        self.same_account(login).await.map_err(|no| Halted { answer: no.halts() })?;
        Ok(Poised::Http(poised))
    }

    async fn confirm(&self, order: &Countersigned, answer: Answer, login: &Login) -> Answer {
        self.read_back(order, answer, login).await
    }

    async fn look(&self, order: &Countersigned, login: &Login, noted: &[Value]) -> Sighting {
        self.seen(order, login, noted).await
    }
}

/// Whether an error body is one of HubSpot's. All its members are optional (error-handling documentation), so either of
/// the two that every sample has will do.
fn is_own_error(body: &Value) -> bool {
    body["status"] == "error" || (body["category"].is_string() && body["message"].is_string())
}

/// Names and numbers of an answer: `http:201:api`, `foreign:502`, `http:login:401`.
fn read(reply: &HttpReply) -> Answer {
    let Some(body) = reply.json() else { return reply.foreign("HubSpot") };
    let own = match (is_own_error(&body), reply.status) {
        (true, 200..=299) => "error",
        (false, 200..=299) | (true, _) => "api",
        (false, _) => return reply.foreign("HubSpot"),
    };
    let text = |name: &str| body[name].as_str().unwrap_or_default();
    let id = Some(text("id")).filter(|id| !id.is_empty() && body["properties"].is_object());
    let receipt = id
        .filter(|_| own == "api" && matches!(reply.status, 200 | 201))
        .map(|id| answer_receipt(Some(id.to_owned()), format!("HubSpot answered with record {id}.")));
    Answer {
        codes: vec![AnswerCode::new(match (reply.status, own) {
            // A failed login pauses until a person signs in.
            (401, "api") => "http:login:401".to_owned(),
            (status, own) => format!("http:{status}:{own}"),
        })],
        receipt,
        retry_after: reply.retry_after(),
        words: reply.words(format!("{} {}", text("category"), text("message")).trim()),
    }
}

#[cfg(test)]
#[path = "hubspot_test.rs"]
mod tests;
