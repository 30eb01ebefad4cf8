//! A sign-in server (RFC 6749, RFC 7662): it exchanges refresh tokens, and says to servers whose token they were shown.
//!
//! `POST /token` with grant `refresh_token`; `POST /introspect`. Each exchange may give a new refresh token and end the old
//! one; whoever shows an ended one loses the sign-in, as providers do that take it for stolen (RFC 9700, 4.14.2).

use crate::api::{ApiAnswer, ApiRequest, ApiWorld, App, form_value};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Access tokens that are good now, with the user each is of. Shared with the servers that take them.
#[derive(Clone, Debug, Default)]
pub struct Tokens(Arc<Mutex<BTreeMap<String, String>>>);

impl Tokens {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Whose it is.
    pub fn user(&self, token: &str) -> Option<String> {
        self.lock().get(token).cloned()
    }
    /// None of those that were given out is good any more.
    pub fn end_all(&self) {
        self.lock().clear();
    }
}

/// The server, for one client and one user.
#[derive(Debug)]
pub struct SignIn {
    tokens: Tokens,
    user: String,
    client: (String, Option<String>),
    /// The refresh token that is good; empty: the sign-in is lost.
    refresh: String,
    ended: Vec<String>,
    exchanges: u64,
    /// Whether each exchange gives a new refresh token.
    pub rotates: bool,
    /// `expires_in` of what is given out; None: it is not said.
    pub lifetime: Option<u64>,
    /// Whether the client shows its secret as basic.
    pub basic: bool,
}

impl SignIn {
    pub fn new(user: &str, client_id: &str, client_secret: Option<&str>, refresh_token: &str) -> SignIn {
        SignIn {
            tokens: Tokens::default(),
            user: user.to_owned(),
            client: (client_id.to_owned(), client_secret.map(str::to_owned)),
            refresh: refresh_token.to_owned(),
            ended: Vec::new(),
            exchanges: 0,
            rotates: true,
            lifetime: Some(3600),
            basic: false,
        }
    }

    pub fn tokens(&self) -> Tokens {
        self.tokens.clone()
    }
    /// How many refresh tokens were exchanged.
    pub fn exchanges(&self) -> u64 {
        self.exchanges
    }
    /// The refresh token that is good now.
    pub fn refresh_token(&self) -> &str {
        &self.refresh
    }
    /// The user takes the program's right away, or signs in again: only this refresh token is good from now on.
    pub fn sign_in_again(&mut self, refresh_token: &str) {
        self.tokens.end_all();
        refresh_token.clone_into(&mut self.refresh);
    }

    fn token(&mut self, request: &ApiRequest) -> ApiAnswer {
        let value = |name: &str| form_value(&request.body, name);
        let basic = request.header("authorization").and_then(|h| h.strip_prefix("Basic ")).and_then(|b| {
            let text = String::from_utf8(STANDARD.decode(b).ok()?).ok()?;
            let (id, secret) = text.split_once(':')?;
            let decoded = |text: &str| form_value(format!("x={text}").as_bytes(), "x");
            Some((decoded(id)?, decoded(secret)))
        });
        let shown = if self.basic { basic } else { value("client_id").map(|id| (id, value("client_secret"))) };
        if shown.as_ref() != Some(&self.client) {
            return ApiAnswer::json(401, &json!({ "error": "invalid_client" }));
        }
        if value("grant_type").as_deref() != Some("refresh_token") {
            return ApiAnswer::json(400, &json!({ "error": "unsupported_grant_type" }));
        }
        let refresh = value("refresh_token").unwrap_or_default();
        if self.ended.contains(&refresh) {
            self.sign_in_again("");
        }
        if refresh.is_empty() || refresh != self.refresh {
            let words = format!("Token {refresh} of {} has been expired or revoked.", self.user);
            return ApiAnswer::json(400, &json!({ "error": "invalid_grant", "error_description": words }));
        }
        self.exchanges += 1;
        let access = format!("canary-access-{}-{}", self.user.len(), self.exchanges);
        self.tokens.lock().insert(access.clone(), self.user.clone());
        let mut body = json!({ "access_token": access, "token_type": "Bearer" });
        if let Some(seconds) = self.lifetime {
            body["expires_in"] = seconds.into();
        }
        if self.rotates {
            let next = format!("canary-refresh-{}-{}", self.user.len(), self.exchanges);
            self.ended.push(std::mem::replace(&mut self.refresh, next.clone()));
            body["refresh_token"] = next.into();
        }
        ApiAnswer::json(200, &body).with("cache-control", "no-store")
    }
}

impl App for SignIn {
    fn handle(&mut self, request: &ApiRequest, _world: &mut ApiWorld) -> ApiAnswer {
        match (request.method.as_str(), request.path()) {
            ("POST", "/token") => self.token(request),
            ("POST", "/introspect") => {
                let user = form_value(&request.body, "token").and_then(|token| self.tokens.user(&token));
                ApiAnswer::json(200, &json!({ "active": user.is_some(), "username": user }))
            }
            _ => ApiAnswer::empty(404),
        }
    }

    fn refusal(&self, status: u16) -> ApiAnswer {
        ApiAnswer::json(status, &json!({ "error": "temporarily_unavailable" }))
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}
