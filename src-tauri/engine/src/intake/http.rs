//! The loopback door: `POST /v1/proposals`, two ways to ask, and the description these are tested against.
//!
//! It holds an [`Intake`] and nothing else, so no request can approve, send or settle anything, and no GET changes anything.

mod gate;
mod openapi;
mod repeat;

pub use openapi::document as openapi_document;

use super::signed::{Missing, Signature, TOLERANCE};
use super::{Intake, PER_MINUTE, Permitted};
use crate::failure::{Code, Failure};
use crate::view::{ErrorDoc, ProposalAnswer, SourceAction};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Query, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use countersign_domain::email::ATTACHED_MAX;
use countersign_domain::size::size_in_words;
use repeat::{Kept, Repeats, Seen, Ticket};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::future::Future;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use tokio::net::TcpListener;

/// Largest body taken, in bytes.
pub const BODY_LIMIT: usize = 35 * 1024 * 1024;
/// The call an `Idempotency-Key` belongs to.
const PROPOSE: &str = "POST /v1/proposals";

/// Binds the door. `listen` is `ADDRESS:PORT` with a loopback address; port 0 lets the system choose.
///
/// # Errors
/// Bad input for anything that is reachable from outside this computer: without TLS a wider door stays shut.
pub async fn bind(listen: &str) -> Result<TcpListener, Failure> {
    let bad = |why: String| Failure::bad_input("listen", why);
    let (host, port) = listen.rsplit_once(':').ok_or_else(|| bad(format!("`{listen}` is not ADDRESS:PORT")))?;
    let port: u16 = port.parse().map_err(|_| bad(format!("`{port}` is not a port")))?;
    let address: IpAddr = match host {
        "localhost" => Ipv4Addr::LOCALHOST.into(),
        "[::1]" => Ipv6Addr::LOCALHOST.into(),
        other => other.parse().map_err(|_| bad(format!("`{other}` is not an address; use 127.0.0.1")))?,
    };
    let ours = [IpAddr::from(Ipv4Addr::LOCALHOST), Ipv6Addr::LOCALHOST.into()];
    if !ours.contains(&address) {
        return Err(bad(format!(
            "{address} can be reached from outside this computer, and this door has no TLS; use 127.0.0.1"
        )));
    }
    TcpListener::bind(SocketAddr::new(address, port))
        .await
        .map_err(|e| bad(format!("cannot listen on {listen}: {}", e.kind())))
}

/// Answers until `until` is ready, then finishes what it has begun.
pub async fn serve(
    listener: TcpListener,
    intake: Arc<Intake>,
    until: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    let port = listener.local_addr()?.port();
    axum::serve(listener, router(intake, port)).with_graceful_shutdown(until).await
}

/// The routes behind the gate, for the port they are reached under.
pub fn router(intake: Arc<Intake>, port: u16) -> Router {
    let door = Door { repeats: Repeats::new(intake.ledger.clone()), intake };
    let routes = Router::new()
        .route("/v1/proposals", post(propose))
        .route("/v1/actions", get(find))
        .route("/v1/actions/{id}", get(ask))
        .route("/v1/openapi.json", get(describe))
        .fallback(|| async { refuse(StatusCode::NOT_FOUND, "not_found", "there is no such call here", None) })
        .method_not_allowed_fallback(|| async {
            refuse(StatusCode::METHOD_NOT_ALLOWED, "bad_input", "this call takes another method", None)
        })
        .with_state(door);
    // The gate stands before routing, so that a stranger cannot even learn which calls exist.
    Router::new()
        .fallback_service(routes)
        .layer(axum::middleware::from_fn_with_state(gate::Names::of(port), gate::check))
}

#[derive(Clone)]
struct Door {
    intake: Arc<Intake>,
    repeats: Repeats,
}

/// An error of this door. `status` is what interfaces.md says for it.
struct Refusal {
    status: StatusCode,
    doc: ErrorDoc,
    retry_after: Option<u64>,
}

type Answer = Result<Response, Box<Refusal>>;

fn no(status: StatusCode, code: &str, message: impl Into<String>, field: Option<&str>) -> Box<Refusal> {
    let doc = ErrorDoc { code: code.into(), message: message.into(), field: field.map(str::to_owned), action: None };
    Box::new(Refusal { status, doc, retry_after: None })
}

fn refuse(status: StatusCode, code: &str, message: &str, field: Option<&str>) -> Response {
    no(status, code, message, field).into_response()
}

impl IntoResponse for Box<Refusal> {
    fn into_response(self) -> Response {
        let mut response = document(self.status, &json!({ "error": self.doc }));
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

impl From<Failure> for Box<Refusal> {
    fn from(failure: Failure) -> Self {
        let status = match failure.code {
            Code::BadInput => StatusCode::UNPROCESSABLE_ENTITY,
            Code::Conflict => StatusCode::CONFLICT,
            Code::NotPermitted | Code::Locked => StatusCode::FORBIDDEN,
            Code::NotFound => StatusCode::NOT_FOUND,
            Code::Frozen => StatusCode::SERVICE_UNAVAILABLE,
            Code::Internal | Code::Unknown | Code::Refused | Code::GaveUp | Code::Integrity => {
                StatusCode::INTERNAL_SERVER_ERROR
            }
        };
        Box::new(Refusal { status, doc: failure.doc(), retry_after: None })
    }
}

fn document<T: Serialize>(status: StatusCode, value: &T) -> Response {
    match serde_json::to_vec(value) {
        Ok(body) => bytes(status, body),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

fn bytes(status: StatusCode, body: Vec<u8>) -> Response {
    let json = [
        (header::CONTENT_TYPE, "application/json"),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (status, json, body).into_response()
}

/// Hand in a proposal. It is taken whole or not at all.
#[utoipa::path(
    post,
    path = "/v1/proposals",
    request_body(content = Object, description = "Intake document, version 1", example = json!(openapi::example())),
    params(("Idempotency-Key" = Option<String>, Header, description = "Optional: the same key and body get the first answer again for 24 hours. A string of RFC 8941 (1 to 255 characters; parameters are ignored), or the bare value without spaces and quotes")),
    responses(
        (status = 201, description = "Created, or waiting for review", body = ProposalAnswer),
        (status = 200, description = "Duplicate, draft replaced, late draft or stale", body = ProposalAnswer),
        (status = 409, description = "Conflict: nothing of it was taken; or the same Idempotency-Key is being answered", body = ProposalAnswer),
        (status = 403, description = "Not permitted: nothing of it was taken; or Host or Origin name somebody else", body = ProposalAnswer),
        (status = 400, description = "The Idempotency-Key cannot be read", body = openapi::ErrorBody),
        (status = 401, description = "No source has this token or signature", body = openapi::ErrorBody),
        (status = 413, description = "Larger than 35 MiB", body = openapi::ErrorBody),
        (status = 422, description = "Malformed; the field is named", body = openapi::ErrorBody),
        (status = 429, description = "More than 120 a minute; Retry-After says how long", body = openapi::ErrorBody),
    ),
    security(("token" = []), ("signed" = []))
)]
async fn propose(State(door): State<Door>, request: Request) -> Response {
    door.propose(request).await.unwrap_or_else(IntoResponse::into_response)
}

/// Have I already completed this exact business action?
#[utoipa::path(
    get,
    path = "/v1/actions/{id}",
    params(("id" = String, Path, description = "Action number or idempotency key")),
    responses(
        (status = 200, description = "The source's own action", body = SourceAction),
        (status = 401, description = "No source has this token", body = openapi::ErrorBody),
        (status = 403, description = "Host or Origin name somebody else", body = openapi::ErrorBody),
        (status = 404, description = "This source has no such action", body = openapi::ErrorBody),
    ),
    security(("token" = []))
)]
async fn ask(State(door): State<Door>, id: Result<Path<String>, PathRejection>, headers: HeaderMap) -> Response {
    let answer = async {
        let source = door.bearer(&headers).await?.ok_or_else(unauthorised)?;
        // Bytes that are no text name nothing.
        let id = id.map(|Path(id)| id).unwrap_or_default();
        match door.intake.get(&source, &id).await? {
            Some(action) => Ok(document(StatusCode::OK, &action)),
            None => Err(no(StatusCode::NOT_FOUND, "not_found", "this source has no such action", Some("id"))),
        }
    };
    answer.await.unwrap_or_else(|e: Box<Refusal>| e.into_response())
}

#[derive(Deserialize)]
struct Find {
    request_id: Option<String>,
    step: Option<String>,
}

/// The source's own actions for a request.
#[utoipa::path(
    get,
    path = "/v1/actions",
    params(("request_id" = String, Query, description = "The business record"), ("step" = Option<String>, Query, description = "Only this step")),
    responses(
        (status = 200, description = "None, one or several revisions and steps", body = openapi::SourceActions),
        (status = 401, description = "No source has this token", body = openapi::ErrorBody),
        (status = 403, description = "Host or Origin name somebody else", body = openapi::ErrorBody),
        (status = 422, description = "`request_id` is missing", body = openapi::ErrorBody),
    ),
    security(("token" = []))
)]
async fn find(
    State(door): State<Door>,
    query: Result<Query<Find>, axum::extract::rejection::QueryRejection>,
    headers: HeaderMap,
) -> Response {
    let answer = async {
        let source = door.bearer(&headers).await?.ok_or_else(unauthorised)?;
        let malformed = |field, why: &str| no(StatusCode::UNPROCESSABLE_ENTITY, "bad_input", why, Some(field));
        let Query(find) = query.map_err(|e| malformed("request_id", &e.body_text()))?;
        let request_id = find
            .request_id
            .filter(|r| !r.is_empty())
            .ok_or_else(|| malformed("request_id", "which request? `?request_id=…` is missing"))?;
        let actions = door.intake.find(&source, &request_id, find.step.as_deref()).await?;
        Ok(document(StatusCode::OK, &json!({ "actions": actions })))
    };
    answer.await.unwrap_or_else(|e: Box<Refusal>| e.into_response())
}

/// This description.
#[utoipa::path(
    get,
    path = "/v1/openapi.json",
    responses(
        (status = 200, description = "OpenAPI 3.1", body = Object),
        (status = 403, description = "Host or Origin name somebody else", body = openapi::ErrorBody),
    )
)]
async fn describe() -> Response {
    document(StatusCode::OK, &openapi::document())
}

/// The same for each, so that nobody learns which tokens there are.
const NO_SOURCE: &str =
    "no source has this token; it is sent as `Authorization: Bearer TOKEN`, and a revoked one counts no more";

fn unauthorised() -> Box<Refusal> {
    no(StatusCode::UNAUTHORIZED, "not_permitted", NO_SOURCE, Some("Authorization"))
}

impl Door {
    async fn bearer(&self, headers: &HeaderMap) -> Result<Option<Permitted>, Box<Refusal>> {
        let mut all = headers.get_all(header::AUTHORIZATION).iter();
        let (Some(value), None) = (all.next(), all.next()) else { return Ok(None) };
        let Some((scheme, token)) = value.to_str().ok().and_then(|v| v.split_once(' ')) else { return Ok(None) };
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Ok(None);
        }
        Ok(self.intake.by_token(token.trim()).await?)
    }

    /// Who hands this in, and the body: by token before the body is read, or by signature over the body.
    async fn admit(&self, headers: &HeaderMap, body: Body) -> Result<(Permitted, Bytes), Box<Refusal>> {
        if headers.contains_key(header::AUTHORIZATION) {
            let source = self.bearer(headers).await?.ok_or_else(unauthorised)?;
            self.within_rate(&source)?;
            return Ok((source, read(headers, body).await?));
        }
        let unsigned = |field, why: &str| no(StatusCode::UNAUTHORIZED, "not_permitted", why, Some(field));
        let signature = match Signature::read(headers) {
            None => return Err(unauthorised()),
            Some(Err(Missing(name))) => return Err(unsigned(name, "this header is missing or unreadable")),
            Some(Ok(signature)) => signature,
        };
        if !signature.is_timely(self.intake.now(), TOLERANCE) {
            let why = "signed more than five minutes ago or ahead: a recording, or a clock that is off";
            return Err(unsigned("webhook-timestamp", why));
        }
        let body = read(headers, body).await?;
        let source = self.intake.by_signature(|secret| signature.holds(secret, &body)).await?;
        let source = source.ok_or_else(|| unsigned("webhook-signature", "no source has signed this"))?;
        self.within_rate(&source)?;
        Ok((source, body))
    }

    fn within_rate(&self, source: &Permitted) -> Result<(), Box<Refusal>> {
        self.intake.within_rate(source).map_err(|wait| {
            let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
            let why = format!("{PER_MINUTE} proposals a minute are taken from one source");
            let mut refusal = no(StatusCode::TOO_MANY_REQUESTS, "not_permitted", why, None);
            refusal.retry_after = Some(seconds.max(1));
            refusal
        })
    }

    async fn propose(&self, request: Request) -> Answer {
        let (parts, body) = request.into_parts();
        let (source, body) = self.admit(&parts.headers, body).await?;
        let ticket = match repeat::key_of(&parts.headers) {
            None => None,
            Some(Err(why)) => {
                return Err(no(StatusCode::BAD_REQUEST, "bad_input", why, Some("Idempotency-Key")));
            }
            Some(Ok(key)) => match self.seen(&source, key, &body).await? {
                Seen::New(ticket) => Some(ticket),
                Seen::Before(kept) => {
                    let status = StatusCode::from_u16(kept.status).unwrap_or(StatusCode::OK);
                    return Ok(bytes(status, kept.body.into_bytes()));
                }
                Seen::Running => {
                    let why = "the first request under this key is still being answered";
                    return Err(no(StatusCode::CONFLICT, "conflict", why, Some("Idempotency-Key")));
                }
                Seen::Reused { first, now } => {
                    let why = format!("this key came with other content: {first} first, {now} now (SHA-256)");
                    return Err(no(StatusCode::UNPROCESSABLE_ENTITY, "bad_input", why, Some("Idempotency-Key")));
                }
            },
        };
        // In a task of its own: a caller that hangs up does not cut the ledger's work in two.
        let door = self.clone();
        let work = tokio::spawn(async move { door.take(&source, &body, ticket).await });
        work.await.unwrap_or_else(|_| {
            Err(no(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the proposal could not be handled", None))
        })
    }

    async fn seen(&self, source: &Permitted, key: String, body: &[u8]) -> Result<Seen, Box<Refusal>> {
        let seen = self.repeats.see(source.name(), PROPOSE, key, body, self.intake.now()).await;
        Ok(seen.map_err(Failure::from)?)
    }

    async fn take(&self, source: &Permitted, body: &[u8], ticket: Option<Ticket>) -> Answer {
        let answer = self.intake.propose(source, body).await?;
        let status = status_of(&answer);
        let text = serde_json::to_string(&answer)
            .map_err(|_| no(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the answer could not be written", None))?;
        if let (Some(ticket), true) = (ticket, status.is_success()) {
            let kept = ticket.keep(Kept { status: status.as_u16(), body: text.clone() }, self.intake.now()).await;
            kept.map_err(Failure::from)?;
        }
        Ok(bytes(status, text.into_bytes()))
    }
}

/// 409 and 403 first, since nothing of such a delivery was taken; 201 when something is new.
fn status_of(answer: &ProposalAnswer) -> StatusCode {
    let any = |wanted: &[&str]| answer.actions.iter().any(|a| wanted.contains(&a.disposition.as_str()));
    if any(&["conflict"]) {
        StatusCode::CONFLICT
    } else if any(&["not_permitted"]) {
        StatusCode::FORBIDDEN
    } else if any(&["created", "needs_review"]) {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    }
}

/// Why a proposal of more than [`BODY_LIMIT`] is not taken.
pub fn too_large_in_words() -> String {
    let (whole, files) = (size_in_words(BODY_LIMIT as u64), size_in_words(ATTACHED_MAX as u64));
    format!(
        "a proposal may have {whole} at most, and its files {files} together, as base64 makes them a third larger. Leave a \
         file out, or send a link to it"
    )
}

async fn read(headers: &HeaderMap, body: Body) -> Result<Bytes, Box<Refusal>> {
    let too_large = || {
        let why = too_large_in_words();
        no(StatusCode::PAYLOAD_TOO_LARGE, "bad_input", why, None)
    };
    let announced =
        headers.get(header::CONTENT_LENGTH).and_then(|v| v.to_str().ok()).and_then(|v| v.parse::<u64>().ok());
    if announced.is_some_and(|n| n > BODY_LIMIT as u64) {
        return Err(too_large());
    }
    // The limit is the one reason for which reading a whole body fails with a peer that is still there.
    axum::body::to_bytes(body, BODY_LIMIT).await.map_err(|_| too_large())
}
