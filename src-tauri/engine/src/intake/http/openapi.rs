//! The description of this door, made from the handlers and the shapes they answer with.

use crate::view::{
    ErrorDoc, FilingDoc, KeyDoc, NextDoc, ProposalActionAnswer, ProposalAnswer, ReceiptDoc, SourceAction,
};
use utoipa::openapi::security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{Modify, OpenApi, ToSchema};

/// `{"error": …}`, as every refusal has it.
#[derive(ToSchema)]
#[allow(dead_code)]
pub(super) struct ErrorBody {
    error: ErrorDoc,
}

/// `{"actions": […]}`.
#[derive(ToSchema)]
#[allow(dead_code)]
pub(super) struct SourceActions {
    actions: Vec<SourceAction>,
}

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Countersign intake",
        description = "Hand in proposals and ask about your own actions. Nothing here approves, sends or settles; an \
                       action whose outcome is unknown must never be proposed again under another key."
    ),
    paths(super::propose, super::find, super::ask, super::describe),
    components(schemas(
        ErrorBody,
        ErrorDoc,
        ProposalAnswer,
        ProposalActionAnswer,
        SourceAction,
        SourceActions,
        KeyDoc,
        NextDoc,
        ReceiptDoc,
        FilingDoc,
        OutcomeEvent,
        OutcomeData
    )),
    modifiers(&Schemes)
)]
struct Description;

/// What an outcome webhook is told.
#[derive(ToSchema)]
#[allow(dead_code)]
pub(super) struct OutcomeEvent {
    /// `action.accepted`, `action.unknown`, `action.refused` or `action.gave_up`.
    #[schema(example = "action.accepted")]
    r#type: String,
    /// When it became so.
    timestamp: String,
    data: OutcomeData,
}

/// No text and no addresses: what the source needs to find its own record again.
#[derive(ToSchema)]
#[allow(dead_code)]
pub(super) struct OutcomeData {
    id: String,
    key: Option<KeyDoc>,
    idempotency_key: Option<String>,
    /// `accepted`, `unknown`, `refused` or `gave_up`.
    state: String,
    /// What an acceptance rests on: `answer`, `lookup`, `late_answer` and `dsn` are the destination's proof, `person` is a
    /// person's signed word. Null for every other outcome.
    receipt_kind: Option<String>,
    /// Whether the outcome is a person's signed word: that it happened, or that it did not.
    by_persons_word: bool,
    /// The destination's own reference, if it gave one that is no address.
    receipt_id: Option<String>,
    at: String,
}

/// Told to the address of `source outcome NAME --url URL`, by the process that dispatches. At least once: a repeat has the
/// same `webhook-id` and the same body. Decisions are never told. Tried 15 times over two and a half days.
#[utoipa::path(
    post,
    path = "outcome",
    request_body = OutcomeEvent,
    params(
        ("webhook-id" = String, Header, description = "The same for every try of one outcome"),
        ("webhook-timestamp" = String, Header, description = "Seconds since 1970, of this try"),
        ("webhook-signature" = String, Header, description = "Standard Webhooks, `v1,…`, with the secret that was printed once"),
    ),
    responses(
        (status = "2XX", description = "Heard"),
        (status = 410, description = "Nothing more is wanted of this outcome"),
        (status = "default", description = "Told again later; a redirect is not followed"),
    )
)]
#[allow(dead_code)]
fn outcome() {}

#[derive(OpenApi)]
#[openapi(paths(outcome))]
struct Told;

struct Schemes;

impl Modify for Schemes {
    fn modify(&self, doc: &mut utoipa::openapi::OpenApi) {
        let components = doc.components.get_or_insert_default();
        let bearer = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some("The token `source add` printed once."))
            .build();
        components.add_security_scheme("token", SecurityScheme::Http(bearer));
        let signed = ApiKeyValue::with_description(
            "webhook-signature",
            "Standard Webhooks: with `webhook-id` and `webhook-timestamp` (at most five minutes off).",
        );
        components.add_security_scheme("signed", SecurityScheme::ApiKey(ApiKey::Header(signed)));
    }
}

/// The OpenAPI document.
pub fn document() -> utoipa::openapi::OpenApi {
    let mut document = Description::openapi();
    document.webhooks = Some(Told::openapi().paths);
    document
}

/// A proposal as in interfaces.md, for the description.
pub(super) fn example() -> serde_json::Value {
    serde_json::json!({
        "event_id": "evt-1001",
        "request_id": "inquiry-4417",
        "source_version": 3,
        "conversation": {
            "from": { "name": "Robin Vale", "email": "robin@customer.example" },
            "subject": "Delivery slot",
            "received_at": "2026-11-02T09:15:00Z",
            "message_id": "<m1@customer.example>",
            "references": [],
            "text": "Can I move my slot?",
            "html": null
        },
        "actions": [{
            "step": "first-reply",
            "effect": "email.reply",
            "destination": "support-mailbox",
            "payload": {
                "from": { "email": "support@shop.example" },
                "to": [{ "name": "Robin Vale", "email": "robin@customer.example" }],
                "subject": "Re: Delivery slot",
                "text": "Of course: …",
                "in_reply_to": "<m1@customer.example>"
            }
        }],
        "draft": { "run_id": "run-88", "model": "any", "reason": "moves the slot" }
    })
}
