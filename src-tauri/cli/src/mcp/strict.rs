//! What an agent hands in is judged as it was written (F54).
//!
//! The SDK reads JSON as most parsers do and keeps the last of two equal names, so a text could pass that nobody wrote.
//! Each line is read strictly before the SDK sees it; where that fails for the arguments of a call, they are replaced by the
//! reason, and the tool refuses with it.

use countersign_domain::json::{FieldError, parse};
use countersign_engine::Failure;
use rmcp::model::JsonObject;
use serde_json::{Value, json};
use std::io;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWriteExt, BufReader, DuplexStream};

/// Cannot come from outside unnoticed: a caller who writes it refuses himself.
const MALFORMED: &str = "\u{1}malformed";
const WHY: &str = "why";
const FIELD: &str = "field";
/// What is on its way between the two readers.
const BUFFER: usize = 64 * 1024;
/// Where a call keeps its arguments.
const ARGUMENTS: &str = "params.arguments";

/// The same lines, with arguments that cannot be taken as written replaced by the reason.
pub(super) fn lines(from: impl AsyncRead + Send + Unpin + 'static) -> DuplexStream {
    let (ours, theirs) = tokio::io::duplex(BUFFER);
    tokio::spawn(async move {
        let (mut from, mut to) = (BufReader::new(from), ours);
        // Either side that ends, ends both: dropping `to` is the end of the SDK's input.
        while let Ok(Some(line)) = next(&mut from).await {
            if to.write_all(&checked(line)).await.is_err() {
                return;
            }
        }
    });
    theirs
}

async fn next(from: &mut (impl tokio::io::AsyncBufRead + Unpin)) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    Ok((from.read_until(b'\n', &mut line).await? > 0).then_some(line))
}

fn checked(line: Vec<u8>) -> Vec<u8> {
    let Err(why) = parse(&line) else { return line };
    // What is no JSON at all is for the SDK to answer.
    let Ok(mut message) = serde_json::from_slice::<Value>(&line) else { return line };
    let FieldError { field, reason } = why;
    let Some(arguments) = message.pointer_mut("/params/arguments") else { return line };
    let within = field.strip_prefix(ARGUMENTS).map_or(field.as_str(), |rest| rest.trim_start_matches('.'));
    *arguments = json!({ MALFORMED: { FIELD: within, WHY: reason } });
    let mut text = message.to_string().into_bytes();
    text.push(b'\n');
    text
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

    fn refused(line: &str) -> Option<String> {
        let message: Value = serde_json::from_slice(&checked(line.as_bytes().to_vec())).unwrap();
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
    }
}
