//! What an agent hands in is judged as it was written (F54).
//!
//! The SDK reads JSON as most parsers do and keeps the last of two equal names, so a text could pass that nobody wrote.
//! Each line is read strictly before the SDK sees it; where that fails for the arguments of a call, they are replaced by the
//! reason, and the tool refuses with it.

use countersign_domain::json::{FieldError, parse};
use countersign_engine::Failure;
use countersign_engine::intake::http::BODY_LIMIT;
use rmcp::model::{ErrorCode, JsonObject};
use serde_json::{Value, json};
use std::io;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};

/// Cannot come from outside unnoticed: a caller who writes it refuses himself.
const MALFORMED: &str = "\u{1}malformed";
const WHY: &str = "why";
const FIELD: &str = "field";
/// Longest line that is read: a proposal of the largest size, and what stands around it.
const LINE_MAX: u64 = BODY_LIMIT as u64 + 64 * 1024;
/// What is read at once of a line that is too long to be kept.
const REST: u64 = 64 * 1024;
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";
const NO_JSON: &str = "this line is no JSON; MCP takes one JSON-RPC message a line";
const NO_MESSAGE: &str = "this is no JSON-RPC 2.0 message; MCP takes one message a line, and no batches";
/// Where a call keeps its arguments.
const ARGUMENTS: &str = "params.arguments";

/// A line, or as much of it as is read.
pub(super) async fn next(from: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    (&mut *from).take(LINE_MAX).read_until(b'\n', &mut line).await?;
    let mut ended = line.ends_with(b"\n");
    while line.len() as u64 == LINE_MAX && !ended {
        let mut rest = Vec::new();
        let read = (&mut *from).take(REST).read_until(b'\n', &mut rest).await?;
        ended = read == 0 || rest.ends_with(b"\n");
    }
    Ok((!line.is_empty()).then_some(line))
}

/// What a line is worth.
pub(super) enum Checked {
    /// For the SDK, as it came or with the reason in place of its arguments.
    Message(Vec<u8>),
    /// No message at all: the answer, and the reason for the record.
    Refused { answer: Vec<u8>, why: String },
    /// A line between two messages.
    Blank,
}

/// Reads a line before the SDK does. Where it is no message, JSON-RPC 2.0 section 5.1 wants an answer with the id `null`;
/// the SDK drops what is no JSON without a word, and leaves the id out elsewhere.
pub(super) fn checked(line: Vec<u8>) -> Checked {
    let text = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&line);
    if text.iter().all(u8::is_ascii_whitespace) {
        return Checked::Blank;
    }
    let parsed = serde_json::from_slice::<Value>(text);
    let (why, message) = match (parse(text), parsed) {
        (Ok(good), _) if !is_message(&good) => return refused(ErrorCode::INVALID_REQUEST, NO_MESSAGE),
        (Ok(good), _) => match good.pointer("/params/arguments") {
            None | Some(Value::Object(_) | Value::Null) => return Checked::Message(line),
            Some(_) => (FieldError::new(ARGUMENTS, "must be an object"), good),
        },
        (Err(_), Ok(message)) if !is_message(&message) => return refused(ErrorCode::INVALID_REQUEST, NO_MESSAGE),
        (Err(why), Ok(message)) => (why, message),
        (Err(why), Err(_)) => match unreadable_call(text) {
            Some(call) => (why, call),
            None => return refused(ErrorCode::PARSE_ERROR, NO_JSON),
        },
    };
    let mut message = message;
    let FieldError { field, reason } = why;
    let Some(arguments) = message.pointer_mut("/params/arguments") else { return Checked::Message(line) };
    let within = field.strip_prefix(ARGUMENTS).map_or(field.as_str(), |rest| rest.trim_start_matches('.'));
    *arguments = json!({ MALFORMED: { FIELD: within, WHY: reason } });
    Checked::Message(written(&message))
}

/// A request, a notification or an answer of JSON-RPC 2.0. MCP takes one a line, no batches.
fn is_message(value: &Value) -> bool {
    let named = value.get("id").is_none_or(|id| id.is_string() || id.is_number() || value["error"].is_object());
    named
        && value["jsonrpc"] == "2.0"
        && (value["method"].is_string() || value.get("result").is_some() || value["error"].is_object())
}

fn refused(code: ErrorCode, why: &str) -> Checked {
    let answer = json!({ "jsonrpc": "2.0", "id": null, "error": { "code": code.0, "message": why } });
    Checked::Refused { answer: written(&answer), why: why.to_owned() }
}

fn written(message: &Value) -> Vec<u8> {
    let mut text = message.to_string().into_bytes();
    text.push(b'\n');
    text
}

/// A call of a tool whose line is no JSON, as far as it can be made out: whom to answer, and which tool. A name counts only
/// where it stands in the message itself: the arguments may have an `id`, too.
fn unreadable_call(line: &[u8]) -> Option<Value> {
    let text = String::from_utf8_lossy(line);
    let after = |name: &str, depth: usize| {
        let rest = behind(&text, name, depth)?;
        serde_json::Deserializer::from_str(rest).into_iter::<Value>().next()?.ok()
    };
    let id = after("id", 1).filter(|id| id.is_number() || id.is_string())?;
    let name = after("name", 2).filter(Value::is_string)?;
    (after("method", 1)? == "tools/call").then(
        || json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": name, "arguments": {} } }),
    )
}

/// What stands behind the first `"name":` that lies `depth` braces deep.
fn behind<'t>(text: &'t str, name: &str, depth: usize) -> Option<&'t str> {
    let (mut deep, mut at, bytes) = (0_usize, 0, text.as_bytes());
    while at < bytes.len() {
        match bytes[at] {
            b'{' | b'[' => deep += 1,
            b'}' | b']' => deep = deep.saturating_sub(1),
            b'"' => {
                let from = at + 1;
                at = from;
                while at < bytes.len() && bytes[at] != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                let rest = text.get(at + 1..).unwrap_or_default().trim_start();
                if deep == depth && text.get(from..at) == Some(name) && rest.starts_with(':') {
                    return Some(&rest[1..]);
                }
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// # Errors
/// The field and the reason, where the arguments could not be taken as they were written.
pub(super) fn as_it_came(arguments: &JsonObject) -> Result<(), Failure> {
    match arguments.get(MALFORMED) {
        None => Ok(()),
        Some(why) => {
            let text = |name: &str| why[name].as_str().unwrap_or_default().to_owned();
            let field = Some(text(FIELD)).filter(|f| !f.is_empty()).unwrap_or_else(|| "arguments".into());
            Err(Failure::bad_input(field, text(WHY)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::BufReader;

    fn message(line: impl Into<Vec<u8>>) -> Value {
        let Checked::Message(line) = checked(line.into()) else { panic!("it is a message") };
        serde_json::from_slice(&line).unwrap()
    }

    fn refused(line: &str) -> Option<String> {
        let message = message(line);
        let arguments = message["params"]["arguments"].as_object().unwrap();
        as_it_came(arguments).err().and_then(|f| f.field)
    }

    #[test]
    fn f54_a_name_that_occurs_twice_and_a_number_too_large_are_refused_by_their_path() {
        let call = |arguments: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"x","arguments":{arguments}}}}}"#
            )
        };
        assert_eq!(refused(&call(r#"{"id":"A-1"}"#)), None);
        assert_eq!(refused(&call(r#"{"id":"A-1","id":"A-2"}"#)), Some("id".into()));
        assert_eq!(refused(&call(r#"{"a":[{"to":1,"to":2}]}"#)), Some("a[0].to".into()));
        assert_eq!(refused(&call(r#"{"n":9007199254740993}"#)), Some("n".into()));
        assert_eq!(refused(&call("[1]")), Some("arguments".into()));
    }

    #[test]
    fn a_call_that_is_no_json_is_refused_and_answered() {
        let call = |arguments: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"find_action","arguments":{arguments}}}}}"#
            )
        };
        let deep = "[".repeat(200) + &"]".repeat(200);
        for bad in [r#"{"text":"\ud800"}"#.to_owned(), format!(r#"{{"a":{deep}}}"#), r#"{"a":"#.to_owned()] {
            let message = message(call(&bad));
            assert_eq!((&message["id"], &message["params"]["name"]), (&json!(7), &json!("find_action")), "{bad:.40}");
            assert!(as_it_came(message["params"]["arguments"].as_object().unwrap()).is_err(), "{bad:.40}");
        }
        // The order in which another SDK writes, with an id among the arguments.
        let other = r#"{"method":"tools/call","params":{"name":"find_action","arguments":{"match":{"id":"9","name":"x"},
            "text":"\ud800"}},"jsonrpc":"2.0","id":7}"#;
        let read = message(other);
        assert_eq!((&read["id"], &read["params"]["name"]), (&json!(7), &json!("find_action")));
        let mut not_text = call(r#"{"text":"?"}"#).into_bytes();
        let at = not_text.iter().position(|b| *b == b'?').unwrap();
        not_text[at] = 0xff;
        let message = message(not_text);
        assert!(as_it_came(message["params"]["arguments"].as_object().unwrap()).is_err());
    }

    #[test]
    fn what_is_no_message_is_answered_by_json_rpc_under_the_id_null() {
        let answered = |line: &str| {
            let Checked::Refused { answer, why } = checked(line.as_bytes().to_vec()) else { panic!("{line}") };
            let answer: Value = serde_json::from_slice(&answer).unwrap();
            assert_eq!(answer.get("id"), Some(&Value::Null), "{line}");
            assert_eq!(answer["error"]["message"], why.as_str());
            answer["error"]["code"].as_i64().unwrap()
        };
        for line in ["approve A-1\n", "{", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"", "\u{feff}{"] {
            assert_eq!(answered(line), -32700, "{line}");
        }
        for line in [
            "[]",
            "7",
            "\"approve\"",
            "{}",
            "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}",
            "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]",
        ] {
            assert_eq!(answered(line), -32600, "{line}");
        }
        assert!(matches!(checked(b" \r\n".to_vec()), Checked::Blank));
        for line in
            ["{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r\n", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"]
        {
            assert!(matches!(checked(line.as_bytes().to_vec()), Checked::Message(_)), "{line}");
        }
    }

    #[tokio::test]
    async fn a_line_without_end_is_not_kept_in_memory() {
        let endless = tokio::io::AsyncReadExt::take(tokio::io::repeat(b'x'), 3 * LINE_MAX);
        let mut all = BufReader::new(endless.chain(&b"\nping\n"[..]));
        assert_eq!(next(&mut all).await.unwrap().unwrap().len() as u64, LINE_MAX);
        assert_eq!(next(&mut all).await.unwrap().unwrap(), b"ping\n");
    }
}
