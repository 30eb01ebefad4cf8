//! MCP server on stdio: what an agent may do, which is to propose and to ask (R09, R10).
//!
//! It holds an [`Intake`] and nothing else, so no tool, and no tool that somebody adds here later, can approve, send, edit
//! or settle anything. What is tried beyond that is refused with its reason and written into the journal.

mod recorded;
mod stdio;
mod strict;
mod tools;

use crate::args::Mcp;
use crate::output::{Ended, first_line};
use crate::session::Session;
use countersign_engine::intake::{
    Asked, Intake, Permitted,
    http::{BODY_LIMIT, too_large_in_words},
};
use countersign_engine::view::SourceAction;
use countersign_engine::{Code, Failure};
use recorded::Recorded;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, Implementation, JsonObject, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde_json::{Value, json};
use stdio::Pipes;
use tokio::io::DuplexStream;

/// The journal's word for this door.
const DOOR: &str = "mcp";
/// Where a token may come from beside a descriptor.
const TOKEN: &str = "COUNTERSIGN_TOKEN";

/// Serves until the client hangs up.
///
/// # Errors
/// Not permitted (4) without the source's token; such a try is in the journal.
pub async fn serve(s: &Session, a: Mcp) -> Ended {
    let token = match a.token_fd {
        Some(fd) => first_line("token-fd", fd)?,
        None => std::env::var(TOKEN).unwrap_or_default(),
    };
    let intake = s.intake().await?;
    // Not a door without a key: whoever starts it must hold the token that `source add` printed.
    intake.by_credentials(&a.source, &token).await?;
    let (stdin, stdout) = rmcp::transport::io::stdio_pipes();
    let (reads, writes, pipes) = Pipes::between(stdin, stdout, intake.clone(), a.source.clone());
    // A base64 text is a third longer than what it stands for, and the body's limit holds for the document.
    let transport = AsyncRwTransport::new_server(reads, writes).with_max_line_length(2 * BODY_LIMIT);
    let ended = run(Recorded(Agent { intake, source: a.source, token }), transport).await;
    pipes.end().await;
    ended
}

async fn run(agent: Recorded, transport: AsyncRwTransport<RoleServer, DuplexStream, DuplexStream>) -> Ended {
    let broke = |what: &str| Failure::internal(format!("the connection to the client broke: {what}"));
    let service = match agent.serve(transport).await {
        Ok(service) => service,
        // A client that goes before it has said anything is no defect.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => return Ok(0),
        Err(_) => return Err(broke("it did not begin as MCP does")),
    };
    service.waiting().await.map_err(|_| broke("its task ended"))?;
    Ok(0)
}

/// One agent, known by its source's token. The token is looked up for every call, so a revoked one stops at once.
struct Agent {
    intake: Intake,
    source: String,
    token: String,
}

impl Agent {
    async fn permitted(&self) -> Result<Permitted, Failure> {
        self.intake.by_credentials(&self.source, &self.token).await
    }

    async fn propose(&self, arguments: JsonObject) -> Result<CallToolResult, Failure> {
        let source = self.permitted().await?;
        self.intake.within_rate(&source).map_err(|wait| {
            Failure::not_permitted(format!("too many proposals; the next one is taken in {} s", wait.as_secs() + 1))
        })?;
        strict::as_it_came(&arguments)?;
        let document = serde_json::to_vec(&arguments).map_err(|e| Failure::internal(e.to_string()))?;
        if document.len() > BODY_LIMIT {
            return Err(Failure::bad_input("document", too_large_in_words()));
        }
        let answer = self.intake.propose(&source, &document).await?;
        let taken = !answer.actions.iter().any(|a| ["conflict", "not_permitted"].contains(&a.disposition.as_str()));
        let told = serde_json::to_value(&answer).map_err(|e| Failure::internal(e.to_string()))?;
        Ok(if taken { CallToolResult::structured(told) } else { CallToolResult::structured_error(told) })
    }

    async fn get(&self, arguments: JsonObject) -> Result<CallToolResult, Failure> {
        let source = self.permitted().await?;
        let [id] = texts(&arguments, ["id"])?;
        let id = id.ok_or_else(|| Failure::bad_input("id", "which action? its number or idempotency key"))?;
        match self.intake.ask(&source, &id).await? {
            Asked::Own(action) => Ok(CallToolResult::structured(told(&action)?)),
            // To the agent one is as good as the other: it learns nothing of what is not its own.
            Asked::Foreign => {
                self.refused(&source, "get_action", "the action belongs to another source").await?;
                Err(not_own())
            }
            Asked::Nothing => Err(not_own()),
        }
    }

    async fn find(&self, arguments: JsonObject) -> Result<CallToolResult, Failure> {
        let source = self.permitted().await?;
        let [request_id, step] = texts(&arguments, ["request_id", "step"])?;
        let request_id = request_id.filter(|r| !r.is_empty());
        let request_id = request_id.ok_or_else(|| Failure::bad_input("request_id", "which request?"))?;
        let found = self.intake.find(&source, &request_id, step.as_deref()).await?;
        let actions = found.iter().map(told).collect::<Result<Vec<_>, _>>()?;
        Ok(CallToolResult::structured(json!({ "actions": actions })))
    }

    async fn destinations(&self, arguments: JsonObject) -> Result<CallToolResult, Failure> {
        let source = self.permitted().await?;
        let [] = texts(&arguments, [])?;
        let all = self.intake.list_destinations(&source).await?;
        Ok(CallToolResult::structured(json!({ "destinations": all })))
    }

    async fn call(&self, tool: &str, arguments: JsonObject) -> Result<CallToolResult, Failure> {
        match tool {
            tools::PROPOSE => self.propose(arguments).await,
            tools::GET => self.get(arguments).await,
            tools::FIND => self.find(arguments).await,
            tools::DESTINATIONS => self.destinations(arguments).await,
            _ => Err(Failure::not_found(NO_SUCH_TOOL)),
        }
    }

    async fn refused(&self, source: &Permitted, what: &str, why: &str) -> Result<(), Failure> {
        self.intake.record_refusal(source.name(), DOOR, what, why).await
    }

    async fn record(&self, tried: &str, why: &str) {
        record(&self.intake, &self.source, tried, why).await;
    }
}

/// The try is refused all the same; that it left no trace is said where the operator looks.
async fn record(intake: &Intake, source: &str, tried: &str, why: &str) {
    if let Err(lost) = intake.record_refusal(source, DOOR, &format!("{tried:.64}"), why).await {
        tracing::error!(code = lost.code.word(), "a refused try could not be recorded");
    }
}

const NO_SUCH_TOOL: &str =
    "there is no such tool. A source proposes and asks; approving, sending, editing and settling is a person's";

fn not_own() -> Failure {
    Failure::not_found("this source has no such action").at("id")
}

/// An action as the agent gets it, with the warning where it must not act on its own.
fn told(action: &SourceAction) -> Result<Value, Failure> {
    let mut doc = serde_json::to_value(action).map_err(|e| Failure::internal(e.to_string()))?;
    if ["unknown", "closed_unknown"].contains(&action.state.as_str()) {
        doc["warning"] = tools::UNKNOWN_OUTCOME.into();
    }
    Ok(doc)
}

/// The arguments of a question: texts, and nothing beside these.
fn texts<const N: usize>(arguments: &JsonObject, names: [&str; N]) -> Result<[Option<String>; N], Failure> {
    strict::as_it_came(arguments)?;
    if let Some(other) = arguments.keys().find(|key| !names.contains(&key.as_str())) {
        return Err(Failure::bad_input(other.clone(), "this tool has no such argument"));
    }
    let mut found = names.map(|_| None);
    for (place, name) in found.iter_mut().zip(names) {
        *place = match arguments.get(name) {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text.clone()),
            Some(_) => return Err(Failure::bad_input(name, "a text is expected")),
        };
    }
    Ok(found)
}

impl ServerHandler for Agent {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("countersign", env!("CARGO_PKG_VERSION")))
            .with_instructions(tools::INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::all()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let failure = match self.call(&request.name, request.arguments.unwrap_or_default()).await {
            Ok(result) => return Ok(result.into()),
            Err(failure) => failure,
        };
        let known = tools::NAMES.contains(&request.name.as_ref());
        // What was refused for want of a right, or was no proposal, is told to the owner too. Not every miss is a try.
        if !known || matches!(failure.code, Code::BadInput) {
            let why = match &failure.field {
                Some(field) => format!("{field}: {}", failure.message),
                None => failure.message.clone(),
            };
            self.record(&request.name, &why).await;
        }
        if !known {
            return Err(ErrorData::invalid_params(failure.message, None));
        }
        Ok(CallToolResult::structured_error(json!({ "error": failure.doc() })).into())
    }
}
