//! Renews a sign-in: the refresh token of OAuth 2.0 is exchanged for an access token (RFC 6749, 6; RFC 6750).
//!
//! One question, on the transport that every HTTP kind has; no memory and no repeat. A client library was looked at and left
//! out: `oauth2` keeps neither status nor `Retry-After`, which decide whether a person must act or the endpoint is only away,
//! and it drops a whole answer whose `expires_in` is a text, and with it a refresh token that was exchanged already.
//!
//! Nobody but the engine asks: it holds the lock, and saves what is granted before anybody uses it.

use super::http::{BaseUrl, Credentials, NoAnswer, Request, Site};
use super::reply::{HttpReply, without_addresses};
use super::tls::Trust;
use crate::registry::{FormField, text};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use countersign_domain::Timestamp;
use countersign_domain::json::FieldError;
use serde_json::Value;
use std::fmt;
use std::time::Duration;
use toml::Table;

/// Longest life of an access token that is believed.
const LIFE_MAX: u64 = 10 * 365 * 24 * 3600;

/// What a destination file says of its sign-in. The tokens and the client's secret are never in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OAuthConfig {
    endpoint: BaseUrl,
    client_id: String,
    basic: bool,
}

impl OAuthConfig {
    /// Reads it. None: the destination signs in with what was typed.
    pub fn read(table: &Table, loopback_only: bool) -> Result<Option<OAuthConfig>, FieldError> {
        let word = |key: &str| if table.contains_key(key) { text(table, key).map(Some) } else { Ok(None) };
        if word("auth")?.as_deref() != Some("oauth") {
            for key in ["token_endpoint", "client_id"] {
                if table.contains_key(key) {
                    return Err(FieldError::new(key, "belongs to auth = \"oauth\""));
                }
            }
            return Ok(None);
        }
        let endpoint = BaseUrl::read(&text(table, "token_endpoint")?, loopback_only);
        let basic = match word("client_auth")?.as_deref() {
            None | Some("body") => false,
            Some("basic") => true,
            Some(_) => return Err(FieldError::new("client_auth", "must be \"body\" or \"basic\"")),
        };
        Ok(Some(OAuthConfig {
            endpoint: endpoint.map_err(|why| FieldError::new("token_endpoint", why))?,
            client_id: text(table, "client_id")?,
            basic,
        }))
    }

    /// Whether `auth` is one of these words, or not said.
    pub(crate) fn checked(table: &Table, choices: &[&str]) -> Result<(), FieldError> {
        match table.get("auth") {
            None => Ok(()),
            Some(said) if said.as_str().is_some_and(|said| choices.contains(&said)) => Ok(()),
            Some(_) => {
                let words: Vec<String> = choices.iter().map(|word| format!("\"{word}\"")).collect();
                Err(FieldError::new("auth", format!("must be {}", words.join(" or "))))
            }
        }
    }

    /// The form's fields for it. `choices`: how one can sign in, the usual way first.
    pub(crate) fn fields(choices: &'static [&'static str]) -> Vec<FormField> {
        let field =
            |key, label, kind, help| FormField { key, label, kind, required: false, default: "", choices: &[], help };
        vec![
            FormField {
                default: choices[0],
                choices,
                ..field("auth", "Sign in with", "choice", "oauth: the secret is a refresh token, renewed by itself")
            },
            field(
                "token_endpoint",
                "Token endpoint",
                "url",
                "With oauth: where a refresh token is exchanged, https://",
            ),
            field("client_id", "Client id", "text", "With oauth: the program's name at the provider"),
            field(
                "client_secret",
                "Client secret",
                "secret",
                "With oauth, where the provider gave one; kept in the keychain",
            ),
            FormField {
                default: "body",
                choices: &["body", "basic"],
                ..field("client_auth", "Client secret goes", "choice", "With oauth: in the request's body, or as basic")
            },
        ]
    }

    pub(crate) fn client(&self, trust: Trust) -> OAuth {
        OAuth { site: Site::new(self.endpoint.clone(), trust), config: self.clone() }
    }
}

/// Where a sign-in is renewed.
#[derive(Clone)]
pub struct OAuth {
    site: Site,
    config: OAuthConfig,
}

/// What was granted. Never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Granted {
    pub access_token: String,
    /// A new one, which takes the place of the one that was given in; None: that one stays good.
    pub refresh_token: Option<String>,
    /// How long the access token is good for; None: not said.
    pub lifetime: Option<Duration>,
}

impl fmt::Debug for Granted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Granted(…)")
    }
}

/// Why nothing was granted. Words for people, without secrets and addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotGranted {
    /// The endpoint said no for good: a person must sign in again.
    SignIn { why: String },
    /// It could not be asked, or not now.
    Later { why: String, retry_after: Option<Duration> },
    /// It was asked, and its answer was lost: it may have granted something, and ended what it was shown.
    Unheard { why: String },
}

impl OAuth {
    /// Where it is renewed and for which client: one text for what is asked alike, but for the secrets.
    pub fn client(&self) -> String {
        let OAuthConfig { endpoint, client_id, basic } = &self.config;
        format!("{endpoint:?} {client_id:?} {basic}")
    }

    /// Exchanges the refresh token. `at`: to notice a clock that is wrong.
    pub async fn renew(
        &self,
        refresh_token: &str,
        client_secret: Option<&str>,
        at: Timestamp,
    ) -> Result<Granted, NotGranted> {
        let (request, credentials) = self.request(refresh_token, client_secret);
        let reply = self.site.ask_at(&request, &credentials, at).await.map_err(|no| match no {
            NoAnswer::Unusable => {
                NotGranted::SignIn { why: "the client id or secret cannot be sent; copy it again".into() }
            }
            NoAnswer::Unreached(_) => NotGranted::Later { why: not_renewed(&no), retry_after: None },
            NoAnswer::Timeout | NoAnswer::Broken(_) => NotGranted::Unheard { why: not_renewed(&no) },
        })?;
        read(&reply, &[Some(refresh_token), client_secret])
    }

    fn request(&self, refresh_token: &str, client_secret: Option<&str>) -> (Request, Credentials) {
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.append_pair("grant_type", "refresh_token").append_pair("refresh_token", refresh_token);
        let mut credentials = Credentials::none();
        match client_secret.filter(|_| self.config.basic) {
            // Both are encoded as a form's values before they are put together (RFC 6749, 2.3.1).
            Some(secret) => {
                let encoded = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
                let both = format!("{}:{}", encoded(&self.config.client_id), encoded(secret));
                credentials = credentials.with("authorization", format!("Basic {}", STANDARD.encode(both)));
            }
            None => {
                form.append_pair("client_id", &self.config.client_id);
                if let Some(secret) = client_secret {
                    form.append_pair("client_secret", secret);
                }
            }
        }
        let request = Request {
            method: "POST".into(),
            path: self.config.endpoint.join(""),
            headers: vec![("content-type".into(), "application/x-www-form-urlencoded".into())],
            body: form.finish().into_bytes(),
        };
        (request, credentials)
    }
}

fn not_renewed(no: &NoAnswer) -> String {
    format!("the sign-in could not be renewed: {}", no.text())
}

/// RFC 6749, 5.1 and 5.2. Whatever is not the endpoint's own word is no reason to call a sign-in lost.
fn read(reply: &HttpReply, secrets: &[Option<&str>]) -> Result<Granted, NotGranted> {
    let body = reply.json().filter(Value::is_object);
    let later = |why: String| NotGranted::Later { why, retry_after: reply.retry_after() };
    let error = body.as_ref().and_then(|b| b["error"].as_str()).unwrap_or_default();
    match (&body, reply.status) {
        (Some(body), 200) if error.is_empty() => match granted(body) {
            Some(granted) => Ok(granted),
            None => Err(later("the sign-in could not be renewed: the answer holds no token that can be used".into())),
        },
        (Some(_), 200 | 400..=428 | 430..=499) if matches!(error, "temporarily_unavailable" | "server_error") => {
            Err(later(format!("the sign-in could not be renewed now: {}", said(reply, secrets))))
        }
        (Some(body), status) if says_no(status, body) => {
            Err(NotGranted::SignIn { why: sign_in(error, &said(reply, secrets)) })
        }
        // What is neither a token nor an error of the standard came from something on the way.
        (_, 200..=428) => {
            Err(later(format!("the sign-in could not be renewed: {}", reply.not_of("the token endpoint"))))
        }
        _ => Err(later(format!("the sign-in could not be renewed now: {}", reply.words("")))),
    }
}

/// Errors that say for good that nothing is granted (RFC 6749, 5.2; OpenID Connect Core, 3.1.2.6).
const NOES: [&str; 10] = [
    "invalid_request",
    "invalid_client",
    "invalid_grant",
    "unauthorized_client",
    "unsupported_grant_type",
    "invalid_scope",
    "interaction_required",
    "login_required",
    "account_selection_required",
    "consent_required",
];

/// Whether the endpoint itself said no for good. Under 400, the standard's own status, a provider may have errors of its
/// own; HubSpot names them in another member. A gateway answers 401 and 403 by itself, with JSON of any form.
fn says_no(status: u16, body: &Value) -> bool {
    let error = body["error"].as_str().unwrap_or_default();
    let named = !error.is_empty() && error.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    let hubspots = body["status"].as_str().is_some_and(|status| status.starts_with("BAD_"));
    match status {
        200 | 400 => named || hubspots,
        401 | 403 => NOES.contains(&error) || hubspots,
        _ => false,
    }
}

fn sign_in(error: &str, said: &str) -> String {
    match error {
        "invalid_client" | "unauthorized_client" => {
            format!("the provider does not take the client id or its secret; check them and sign in again ({said})")
        }
        _ => format!("the sign-in is not valid any more; sign in again ({said})"),
    }
}

/// The endpoint's words, without what was said to it.
fn said(reply: &HttpReply, secrets: &[Option<&str>]) -> String {
    let body = reply.json().unwrap_or_default();
    let word = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
    let parts = [word("error"), word("error_description"), word("status"), word("message")];
    let mut text = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
    for secret in secrets.iter().flatten().filter(|secret| !secret.is_empty()) {
        text = text.replace(secret, "…");
    }
    without_addresses(&reply.words(&text))
}

fn granted(body: &Value) -> Option<Granted> {
    let token = |name: &str| body[name].as_str().filter(|token| !token.is_empty()).map(str::to_owned);
    let access_token = token("access_token").filter(|token| is_token(token))?;
    let is_bearer = body["token_type"].as_str().is_none_or(|kind| kind.eq_ignore_ascii_case("bearer"));
    let seconds = match &body["expires_in"] {
        Value::Number(n) => n.as_u64().or_else(|| n.as_f64().map(|n| n.max(0.0) as u64)),
        // Some endpoints write the number as a text.
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    let lifetime = seconds.map(|seconds| Duration::from_secs(seconds.min(LIFE_MAX)));
    is_bearer.then(|| Granted { access_token, refresh_token: token("refresh_token"), lifetime })
}

/// Whether it can stand in a header and in a login (RFC 6749, A.12: visible ASCII).
fn is_token(text: &str) -> bool {
    text.bytes().all(|b| (b'!'..=b'~').contains(&b))
}

#[cfg(test)]
#[path = "oauth_test.rs"]
mod tests;
