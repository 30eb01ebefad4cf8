//! The record as a file.

use super::Desk;
use super::document::kind_name;
use super::lists::PAGE;
use crate::failure::Failure;
use countersign_domain::{State, Timestamp};
use countersign_ledger::{PageFilter, RowRecord};
use serde::Serialize;
use std::str::FromStr;

/// How the record is written out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Csv,
    Json,
}

impl FromStr for Format {
    type Err = Failure;
    fn from_str(text: &str) -> Result<Format, Failure> {
        match text {
            "csv" => Ok(Format::Csv),
            "json" => Ok(Format::Json),
            _ => Err(Failure::bad_input("format", format!("`{text}` is neither csv nor json"))),
        }
    }
}

/// Which part of the record.
#[derive(Clone, Debug, Default)]
pub struct Export {
    /// Changed at or after.
    pub from: Option<Timestamp>,
    /// Changed before.
    pub to: Option<Timestamp>,
    pub state: Option<State>,
    pub environment: Option<String>,
}

#[derive(Serialize)]
struct Exported {
    id: String,
    environment: String,
    destination: String,
    effect: String,
    source: String,
    request_id: Option<String>,
    step: String,
    revision: u32,
    idempotency_key: Option<String>,
    state: String,
    reason: Option<String>,
    by_word_of: Option<String>,
    who: String,
    email: String,
    subject: String,
    payload_version: u32,
    payload_hash: Option<String>,
    wire_hash: Option<String>,
    revises: Option<String>,
    revised_by: Option<String>,
    receipt: Option<String>,
    /// `answer`, `lookup`, `late_answer` or `dsn`: the destination's; `person`: somebody's word.
    receipt_kind: Option<&'static str>,
    receipt_by: Option<String>,
    created_at: String,
    changed_at: String,
    accepted_at: Option<String>,
}

/// The columns of the CSV, in order.
const COLUMNS: [&str; 26] = [
    "id",
    "environment",
    "destination",
    "effect",
    "source",
    "request_id",
    "step",
    "revision",
    "idempotency_key",
    "state",
    "reason",
    "by_word_of",
    "who",
    "email",
    "subject",
    "payload_version",
    "payload_hash",
    "wire_hash",
    "revises",
    "revised_by",
    "receipt",
    "receipt_kind",
    "receipt_by",
    "created_at",
    "changed_at",
    "accepted_at",
];

impl Desk {
    /// The record as a text: one line per action, without message bodies.
    pub async fn export(&self, format: Format, which: &Export) -> Result<String, Failure> {
        let filter = PageFilter {
            environment: which.environment.clone(),
            states: which.state.into_iter().collect(),
            oldest_first: true,
        };
        let mut rows = Vec::new();
        let mut after = None;
        loop {
            let page = self.ledger().page(&filter, after, PAGE).await?;
            for row in page.rows {
                let inside = which.from.is_none_or(|from| row.changed_at >= from)
                    && which.to.is_none_or(|to| row.changed_at < to);
                if inside {
                    rows.push(self.exported(row).await?);
                }
            }
            match page.next {
                Some(next) => after = Some(next),
                None => break,
            }
        }
        let internal = |e: serde_json::Error| Failure::internal(e.to_string());
        match format {
            Format::Json => serde_json::to_string(&serde_json::json!({ "actions": rows })).map_err(internal),
            Format::Csv => {
                let rows = rows.iter().map(serde_json::to_value).collect::<Result<Vec<_>, _>>().map_err(internal)?;
                Ok(csv(&rows))
            }
        }
    }

    async fn exported(&self, row: RowRecord) -> Result<Exported, Failure> {
        let record = self.record(row.id).await?;
        Ok(Exported {
            id: row.id.to_string(),
            environment: row.environment,
            destination: row.destination,
            effect: row.effect,
            source: row.source,
            request_id: row.request_id,
            step: row.step,
            revision: record.revision,
            idempotency_key: record.idempotency_key.as_ref().map(|k| k.to_string()),
            state: row.standing.state.name().to_owned(),
            reason: row.reason,
            by_word_of: record.by_word_of,
            who: row.who,
            email: row.email,
            subject: row.subject,
            payload_version: row.payload_version,
            payload_hash: row.payload_hash.map(|h| h.to_string()),
            wire_hash: record.wire_hash.map(|h| h.to_string()),
            revises: record.revises.map(|id| id.to_string()),
            revised_by: record.revised_by.map(|id| id.to_string()),
            receipt_kind: row.receipt.as_ref().map(|r| kind_name(r.kind)),
            receipt_by: row.receipt.as_ref().and_then(|r| r.by.clone()),
            receipt: row.receipt.map(|r| r.text),
            created_at: row.created_at.to_string(),
            changed_at: row.changed_at.to_string(),
            accepted_at: record.accepted_at.map(|t| t.to_string()),
        })
    }
}

/// RFC 4180. A cell that a spreadsheet would take for a formula gets an apostrophe in front.
fn csv(rows: &[serde_json::Value]) -> String {
    let mut text = COLUMNS.join(",") + "\r\n";
    for row in rows {
        let cells: Vec<String> = COLUMNS.iter().map(|name| cell(&row[*name])).collect();
        text.push_str(&cells.join(","));
        text.push_str("\r\n");
    }
    text
}

fn cell(value: &serde_json::Value) -> String {
    let mut text = match value {
        serde_json::Value::Null => return String::new(),
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        text.insert(0, '\'');
    }
    if text.contains(['"', ',', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn r29_a_cell_is_quoted_and_never_becomes_a_formula() {
        assert_eq!(cell(&json!("a \"b\", c")), "\"a \"\"b\"\", c\"");
        assert_eq!(cell(&json!("=HYPERLINK(\"x\")")), "\"'=HYPERLINK(\"\"x\"\")\"");
        assert_eq!(cell(&json!(null)), "");
        assert_eq!(cell(&json!(3)), "3");
    }
}
