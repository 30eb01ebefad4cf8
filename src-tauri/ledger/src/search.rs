//! Full text: FTS5 on SQLite, a text vector on PostgreSQL. Newest first by number, filters as words of the row, keyset
//! pages, never an offset, never a ranking over all hits.
//!
//! The index is fed outside the transactions of decisions: a change puts the action on a list (a trigger does), and
//! `feed_search_index` works the list off on a connection of its own and merges when nothing waits.

use crate::lines::{self, Bind};
use crate::page::page_of;
use crate::rows::{Get, action_columns, hex};
use crate::script::say;
use crate::tx::{Conn, Durable, Engine, Write, failed, statements};
use crate::types::{Cursor, Page, PageFilter, RowRecord, SearchFilter};
use crate::{Ledger, LedgerError};
use countersign_domain::{State, Timestamp};
use serde_json::Value;

statements! {
    TO_INDEX = "SELECT q.action AS waits, a.n, a.environment, a.destination, a.effect, a.state, a.source, a.request_id, \
        a.step, a.who, a.email, a.subject, p.value \
        FROM (SELECT action FROM index_queue ORDER BY action LIMIT CAST($1 AS bigint)) AS q \
        LEFT JOIN actions a ON a.n = q.action LEFT JOIN payloads p ON p.action = a.n AND p.version = a.payload_version";
    PEOPLE_TO_INDEX = "SELECT p.action, p.email \
        FROM (SELECT action FROM index_queue ORDER BY action LIMIT CAST($1 AS bigint)) AS q \
        JOIN action_people p ON p.action = q.action ORDER BY p.action, p.email";
    ANY_QUEUED = "SELECT action FROM index_queue LIMIT 1";
    UNQUEUE = "DELETE FROM index_queue WHERE action = $1";
    QUEUE_LENGTH = "SELECT COUNT(*) AS many FROM index_queue";
    PUT_DOC = "INSERT INTO search_docs (n, who, subject, body, tags) VALUES ($1, $2, $3, $4, $5) \
        ON CONFLICT (n) DO UPDATE SET who = excluded.who, subject = excluded.subject, body = excluded.body, \
        tags = excluded.tags";
    FIRST_SINCE = "SELECT n FROM actions WHERE created_at >= $1 ORDER BY created_at, n LIMIT 1";
}

/// $1 the query, $2 and $3 the numbers it lies between, $4 how many.
pub(crate) const FIND_SQLITE: &str = concat!(
    "SELECT ",
    action_columns!(),
    " FROM actions WHERE n IN (SELECT rowid FROM search_index WHERE search_index MATCH $1 AND rowid < $2 AND rowid > $3 \
     ORDER BY rowid DESC LIMIT CAST($4 AS bigint)) ORDER BY n DESC"
);
pub(crate) const FIND_POSTGRES: &str = concat!(
    "SELECT ",
    action_columns!(),
    " FROM actions WHERE n IN (SELECT n FROM search_docs WHERE words @@ to_tsquery('simple', $1) AND n < $2 AND n > $3 \
     ORDER BY n DESC LIMIT CAST($4 AS bigint)) ORDER BY n DESC"
);
/// Merges at most so many pages of the index at a time.
const MERGE_SQLITE: &str = "INSERT INTO search_index (search_index, rank) VALUES ('merge', 64)";

pub(crate) const SEAMS: &[(&str, &str, &str, &str)] = &[
    ("search", "find by words", FIND_SQLITE, FIND_POSTGRES),
    ("search", "merge the index when nothing waits", MERGE_SQLITE, ""),
];

/// Rows of one feeding transaction: small, so that a decision never waits long for the write lock.
const BATCH: u32 = 100;

impl Ledger {
    /// Finds actions by words of the people, the subject and the text, newest first. What is typed can never be query
    /// syntax. The last word counts as a beginning, unless a space follows it.
    pub async fn search(
        &self,
        text: &str,
        filter: &SearchFilter,
        after: Option<Cursor>,
        limit: u32,
    ) -> Result<Page<RowRecord>, LedgerError> {
        let limit = limit.clamp(1, 500);
        let words = words(text);
        if words.is_empty() && !text.trim().is_empty() {
            return Ok(Page { rows: Vec::new(), next: None });
        }
        let tags = tags_of(filter);
        let any_time = filter.from.is_none() && filter.to.is_none();
        if words.is_empty() && filter.destination.is_none() && filter.effect.is_none() && any_time {
            let states = filter.state.into_iter().collect();
            let plain = PageFilter { environment: filter.environment.clone(), states, oldest_first: false };
            return self.page(&plain, after, limit).await;
        }
        let engine = self.pools().engine;
        let (statement, query) = match engine {
            Engine::Sqlite => (FIND_SQLITE, fts5_query(&words, &tags)),
            Engine::Postgres => (FIND_POSTGRES, tsquery(&words, &tags)),
        };
        let mut tx = self.pools().read("searching").await?;
        let below = match filter.to {
            Some(to) => first_since(&mut tx, to).await?.unwrap_or(i64::MAX),
            None => i64::MAX,
        };
        let above = match filter.from {
            Some(from) => match first_since(&mut tx, from).await? {
                Some(first) => first - 1,
                None => return Ok(Page { rows: Vec::new(), next: None }),
            },
            None => 0,
        };
        if query.is_empty() {
            // A time range alone: a plain range of numbers.
            let plain = PageFilter { environment: filter.environment.clone(), ..PageFilter::default() };
            drop(tx);
            let mut page =
                self.page(&plain, Some(after.map_or(Cursor(below), |c| Cursor(c.0.min(below)))), limit).await?;
            page.rows.retain(|r| r.id.0 > above);
            page.next = page.next.filter(|_| page.rows.len() == limit as usize);
            return Ok(page);
        }
        let binds = [
            Bind::Text(query),
            Bind::Int(after.map_or(below, |c| c.0.min(below))),
            Bind::Int(above),
            Bind::Int(i64::from(limit) + 1),
        ];
        let (rows, many) = lines::select(&mut tx, engine, statement, &binds, "searching").await?;
        let mut page = page_of(rows, limit, many > limit as usize);
        // The index may lag behind a state by a moment; what is shown is what is.
        page.rows.retain(|r| filter.state.is_none_or(|s| r.standing.state == s));
        Ok(page)
    }

    /// Indexes up to `max` changed actions and returns how many; when none waits, merges a bounded piece of the index.
    pub async fn feed_search_index(&self, max: u32) -> Result<usize, LedgerError> {
        let mut done = 0;
        while done < max as usize {
            let batch = BATCH.min(max - done as u32);
            if !self.any_queued().await? {
                break;
            }
            let mut w = self.pools().write("feeding the search index", Durable::Rides).await?;
            let many = index_some(&mut w, batch).await?;
            w.commit("feeding the search index").await?;
            done += many;
            if many < batch as usize {
                break;
            }
        }
        if done == 0 {
            self.merge_index().await?;
        } else {
            self.inner.unmerged.store(true, std::sync::atomic::Ordering::Relaxed);
        }
        Ok(done)
    }

    /// Looked at without the write lock, since whoever searches feeds first.
    async fn any_queued(&self) -> Result<bool, LedgerError> {
        let doing = "reading what to index";
        let mut tx = self.pools().bare(doing).await?;
        let first = sqlx::query(ANY_QUEUED).fetch_optional(&mut *tx).await;
        Ok(first.map_err(|e| failed(doing, e))?.is_some())
    }

    /// How many actions the index is behind.
    pub async fn index_pending(&self) -> Result<i64, LedgerError> {
        let mut tx = self.pools().bare("reading what to index").await?;
        let row =
            sqlx::query(QUEUE_LENGTH).fetch_one(&mut *tx).await.map_err(|e| failed("reading what to index", e))?;
        row.int("many")
    }

    async fn merge_index(&self) -> Result<(), LedgerError> {
        use std::sync::atomic::Ordering::Relaxed;
        if self.pools().engine != Engine::Sqlite || !self.inner.unmerged.load(Relaxed) {
            return Ok(());
        }
        let doing = "merging the search index";
        let mut w = self.pools().write(doing, Durable::Rides).await?;
        let before = changes(&mut w).await?;
        sqlx::query(MERGE_SQLITE).execute(w.conn().await?).await.map_err(|e| failed(doing, e))?;
        // The command itself counts as one change; less than two means that there was nothing to merge.
        if changes(&mut w).await? - before < 2 {
            self.inner.unmerged.store(false, Relaxed);
        }
        w.commit(doing).await
    }
}

async fn changes(w: &mut Write) -> Result<i64, LedgerError> {
    let row = sqlx::query("SELECT total_changes() AS many")
        .fetch_one(w.conn().await?)
        .await
        .map_err(|e| failed("merging the search index", e))?;
    row.int("many")
}

pub(crate) async fn first_since(conn: &mut Conn, at: Timestamp) -> Result<Option<i64>, LedgerError> {
    let row = sqlx::query(FIRST_SINCE)
        .bind(at.millis())
        .fetch_optional(conn)
        .await
        .map_err(|e| failed("looking for a time", e))?;
    row.map(|r| r.int("n")).transpose()
}

/// Indexes the first `most` of those that wait. Answers how many that were.
async fn index_some(w: &mut Write, most: u32) -> Result<usize, LedgerError> {
    let doing = "feeding the search index";
    let most = i64::from(most);
    let [waiting, people] = w.ask([say!(doing, TO_INDEX, most), say!(doing, PEOPLE_TO_INDEX, most)]).await?;
    for row in &waiting.rows {
        let n = row.int("waits")?;
        if row.int_or_null("n")?.is_some() {
            let text = |column: &'static str| row.text_or_null(column).map(Option::unwrap_or_default);
            let body = row.text_or_null("value")?.as_deref().map(body_of).unwrap_or_default();
            let mut who = vec![text("who")?, text("email")?];
            for person in &people.rows {
                if person.int("action")? == n {
                    who.push(person.text("email")?);
                }
            }
            let about = format!("{} {} {}\n{body}", text("request_id")?, text("source")?, text("step")?);
            let tags = [
                tag("env", &text("environment")?),
                tag("state", &text("state")?),
                tag("dest", &text("destination")?),
                tag("effect", &text("effect")?),
            ];
            w.later(say!(doing, PUT_DOC, n, who.join(" "), text("subject")?, about, tags.join(" ")));
        }
        w.later(say!(doing, UNQUEUE, n));
    }
    Ok(waiting.rows.len())
}

/// The words of a payload: its texts, without markup. At most so much that one message cannot swell the index.
fn body_of(canonical: &str) -> String {
    const MOST: usize = 64 * 1024;
    let value: Value = serde_json::from_str(canonical).unwrap_or(Value::Null);
    let mut out = String::new();
    for field in ["text", "title", "body", "fields"] {
        collect(value.get(field).unwrap_or(&Value::Null), &mut out);
    }
    if out.trim().is_empty() {
        out.push_str(&without_tags(value.get("html").and_then(Value::as_str).unwrap_or("")));
    }
    let end = (0..=MOST.min(out.len())).rev().find(|i| out.is_char_boundary(*i)).unwrap_or(0);
    out.truncate(end);
    out
}

fn collect(value: &Value, out: &mut String) {
    match value {
        Value::String(text) => {
            out.push_str(text);
            out.push('\n');
        }
        Value::Array(items) => items.iter().for_each(|v| collect(v, out)),
        Value::Object(map) => map.values().for_each(|v| collect(v, out)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn without_tags(html: &str) -> String {
    let mut out = String::with_capacity(html.len());
    let mut inside = false;
    for c in html.chars() {
        match c {
            '<' => {
                inside = true;
                out.push(' ');
            }
            '>' => inside = false,
            c if !inside => out.push(c),
            _ => {}
        }
    }
    out
}

/// A filter as one word that no text contains by accident.
fn tag(kind: &str, value: &str) -> String {
    format!("q{kind}{}", hex(value.as_bytes()))
}

fn tags_of(filter: &SearchFilter) -> Vec<String> {
    let mut tags = Vec::new();
    tags.extend(filter.state.map(|s: State| tag("state", s.name())));
    tags.extend(filter.destination.as_deref().map(|d| tag("dest", d)));
    tags.extend(filter.effect.as_deref().map(|e| tag("effect", e)));
    tags.extend(filter.environment.as_deref().map(|e| tag("env", e)));
    tags
}

/// One typed word and whether it is a beginning only.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Word {
    text: String,
    beginning: bool,
}

/// Splits what was typed at spaces; what holds neither letter nor digit says nothing and is left out. At most sixteen.
fn words(text: &str) -> Vec<Word> {
    let text: String = text.chars().map(|c| if c == '\0' { ' ' } else { c }).collect();
    let mut words: Vec<Word> = text
        .split_whitespace()
        .filter(|w| w.chars().any(char::is_alphanumeric))
        .take(16)
        .map(|w| Word { text: w.chars().take(200).collect(), beginning: false })
        .collect();
    // Beginnings are indexed from two letters on. `who:x` ends in a word of one letter.
    let letters = text.chars().rev().take_while(|c| c.is_alphanumeric()).count();
    if let Some(last) = words.last_mut().filter(|_| letters >= 2) {
        last.beginning = true;
    }
    words
}

/// Every word quoted: inside quotes FTS5 knows no operators, and a quote is doubled.
fn fts5_query(words: &[Word], tags: &[String]) -> String {
    let quoted = |w: &Word| format!("\"{}\"{}", w.text.replace('"', "\"\""), if w.beginning { " *" } else { "" });
    let mut parts = Vec::new();
    if !words.is_empty() {
        let all: Vec<String> = words.iter().map(quoted).collect();
        parts.push(format!("{{who subject body}} : ({})", all.join(" AND ")));
    }
    if !tags.is_empty() {
        let all: Vec<String> = tags.iter().map(|t| format!("\"{t}\"")).collect();
        parts.push(format!("tags : ({})", all.join(" AND ")));
    }
    parts.join(" AND ")
}

fn tsquery(words: &[Word], tags: &[String]) -> String {
    let quoted = |text: &str| format!("'{}'", text.replace('\\', " ").replace('\'', "''"));
    words
        .iter()
        .map(|w| format!("{}{}", quoted(&w.text), if w.beginning { ":*" } else { "" }))
        .chain(tags.iter().map(|t| quoted(t)))
        .collect::<Vec<_>>()
        .join(" & ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r29_what_is_typed_is_never_query_syntax() {
        let q = |text: &str| fts5_query(&words(text), &[]);
        assert_eq!(q("fee\" OR who:x"), r#"{who subject body} : ("fee""" AND "OR" AND "who:x")"#);
        assert_eq!(q("delivery slo"), r#"{who subject body} : ("delivery" AND "slo" *)"#);
        assert_eq!(q("delivery "), r#"{who subject body} : ("delivery")"#);
        assert_eq!(q("-- * ) ("), "");
        assert_eq!(tsquery(&words("o'neil fe"), &[]), "'o''neil' & 'fe':*");
    }

    #[test]
    fn r29_markup_is_not_searched() {
        assert_eq!(without_tags("<p>Of <b>course</b></p>").split_whitespace().collect::<Vec<_>>(), ["Of", "course"]);
    }
}
