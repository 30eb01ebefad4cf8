//! What an agent is told: four tools, their arguments, and the rule about unknown outcomes.

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};
use std::sync::Arc;

pub(super) const PROPOSE: &str = "propose_action";
pub(super) const GET: &str = "get_action";
pub(super) const FIND: &str = "find_action";
pub(super) const DESTINATIONS: &str = "list_destinations";
pub(super) const NAMES: [&str; 4] = [PROPOSE, GET, FIND, DESTINATIONS];

pub(super) const UNKNOWN_OUTCOME: &str = "The outcome is unknown: it may have happened. Never propose it again, not under \
    another event_id, request_id or step either; that could make it happen twice. Countersign asks the destination, and a \
    person decides.";

pub(super) const INSTRUCTIONS: &str = "Countersign holds drafts until a person has read and approved exactly that text; then \
    it goes out once. Nothing you call here approves, sends, edits or settles anything, and there is no way to make it do \
    so. Propose with stable ids taken from the business record, so that a repeat is recognised. Before you propose, ask \
    with find_action whether the same business action exists. An action whose state is `unknown` or `closed_unknown` may \
    have happened: never propose it again in any form; tell your user and wait.";

fn schema(value: Value) -> Arc<JsonObject> {
    match value {
        Value::Object(map) => Arc::new(map),
        _ => Arc::default(),
    }
}

fn question(name: &'static str, title: &str, description: impl Into<String>, arguments: Value) -> Tool {
    let notes = ToolAnnotations::with_title(title).read_only(true).open_world(false);
    Tool::new(name, description.into(), schema(arguments)).with_annotations(notes)
}

pub(super) fn all() -> Vec<Tool> {
    vec![propose(), get(), find(), destinations()]
}

fn propose() -> Tool {
    let text = json!({ "type": "string" });
    let arguments = json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["event_id", "request_id", "actions"],
        "properties": {
            "event_id": { "type": "string", "description": "This delivery's id at the source. The same one again with the same content is recognised as a repeat." },
            "request_id": { "type": "string", "description": "The business record behind it, such as a ticket or inquiry number. Never made up, never a time stamp." },
            "source_version": { "type": "integer", "minimum": 0, "description": "Rises when the record changes; an older one never overwrites a newer draft." },
            "conversation": { "type": "object", "description": "The customer's message: from, reply_to, to, cc, subject, received_at, message_id, in_reply_to, references, text, html, headers (an object of its mail headers: by Auto-Submitted, Precedence, List-* and Return-Path automatic mail is known)." },
            "actions": {
                "type": "array", "minItems": 1,
                "items": {
                    "type": "object",
                    "additionalProperties": false,
                    "required": ["step", "effect", "destination", "payload"],
                    "properties": {
                        "step": { "type": "string", "description": "Which of the request's effects this is, such as first-reply." },
                        "after": { "type": "string", "description": "The step that must be accepted before this one goes." },
                        "effect": { "type": "string", "description": "One of those list_destinations shows, such as email.reply." },
                        "destination": { "type": "string", "description": "A name that list_destinations shows." },
                        "payload": { "type": "object", "description": "What the person reads and approves. For email: from, to, cc, bcc, reply_to, subject, text, html, in_reply_to, references, attachments; send_at as {local, zone, offset?} where it is to go at a time, such as {\"local\": \"2027-03-28T10:30\", \"zone\": \"Europe/Berlin\"}." }
                    }
                }
            },
            "draft": { "type": "object", "properties": { "run_id": text, "model": text, "reason": text } }
        }
    });
    let description = format!(
        "Hand in a draft for a person to approve. It is taken whole or not at all, and nothing is sent by this. The answer \
         says for each action what became of it: created; duplicate (the existing action with its state); draft_replaced; \
         late_draft; stale; conflict; needs_review; not_permitted; not_taken. Only ask again with the same ids if you lost \
         the answer. {UNKNOWN_OUTCOME}"
    );
    let notes = ToolAnnotations::with_title("Propose an action")
        .read_only(false)
        .destructive(false)
        .idempotent(true)
        .open_world(false);
    Tool::new(PROPOSE, description, schema(arguments)).with_annotations(notes)
}

fn get() -> Tool {
    let description = format!(
        "Ask for one of your own actions: state, receipt, what comes next, in words. Use it to learn whether this exact \
         business action was done. {UNKNOWN_OUTCOME}"
    );
    let arguments = json!({
        "type": "object", "additionalProperties": false, "required": ["id"],
        "properties": { "id": { "type": "string", "description": "Number (A-17) or idempotency key from a proposal's answer." } }
    });
    question(GET, "One of your actions", description, arguments)
}

fn find() -> Tool {
    let description = format!(
        "Find your own actions of a business request, all steps and revisions. Ask this before you propose. {UNKNOWN_OUTCOME}"
    );
    let arguments = json!({
        "type": "object", "additionalProperties": false, "required": ["request_id"],
        "properties": { "request_id": { "type": "string" }, "step": { "type": "string", "description": "Only this step." } }
    });
    question(FIND, "Your actions of a request", description, arguments)
}

fn destinations() -> Tool {
    let description = "Where you may propose to and which effects, each with its contract in words: if_answer_lost (what happens \
                       when the answer is lost), recognises_repeat (whether it recognises a repeat, and for how long), \
                       can_be_looked_up (whether it can be asked what happened).";
    question(
        DESTINATIONS,
        "Where you may propose to",
        description,
        json!({ "type": "object", "additionalProperties": false, "properties": {} }),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r10_every_tool_that_meets_an_action_warns_of_unknown_outcomes_and_none_decides() {
        let all = all();
        let names: Vec<&str> = all.iter().map(|t| t.name.as_ref()).collect();
        assert_eq!(names, NAMES);
        for tool in &all[..3] {
            let text = tool.description.as_deref().unwrap_or_default();
            assert!(text.contains("Never propose it again"), "{}", tool.name);
        }
        assert!(INSTRUCTIONS.contains("never propose it again"));
    }
}
