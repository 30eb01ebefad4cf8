//! The values of copied actions: names, texts, keys and hashes by the product's own rules, and the journal's chain.

use crate::fill::ONE_WAITS_IN;
use crate::words::{SEED, Words};
use countersign_domain::canonical::{JournalHash, canonical, sha256};
use countersign_domain::chain::{Entry, link};
use countersign_domain::sealed::payload_hash;
use countersign_domain::{ActionId, ActionKey, LedgerSecret, Payload};
use serde_json::{Value, json};
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

/// Between two actions, so that a long history lies behind the ledger.
const APART_MS: i64 = 30_000;
/// Each customer gets so many messages, as a mean; they have their addresses at so many domains.
const PER_CUSTOMER: u64 = 4;
const DOMAINS: u64 = 2_000;

/// Rows of the tables that differ from copy to copy, each a JSON array of arrays.
pub struct Batch {
    pub actions: String,
    pub payloads: String,
    pub docs: String,
    pub journal: String,
}

/// One journal row of a template.
#[derive(Clone)]
struct Told {
    /// After the template was made.
    after_ms: i64,
    of_action: bool,
    kind: String,
    fact: Value,
    by: String,
}

struct Template {
    n: i64,
    created_at: i64,
    key: ActionKey,
    payload: Value,
    journal: Vec<Told>,
}

pub struct Copies {
    accepted: Template,
    waiting: Template,
    words: Words,
    count: i64,
    customers: u64,
    seq: i64,
    hash: JournalHash,
}

impl Copies {
    /// Reads the templates, actions 1 and 2. The copies follow the journal's head.
    pub async fn read(db: &mut SqliteConnection, count: i64) -> anyhow::Result<Copies> {
        let head = sqlx::query("SELECT seq, hash FROM ledger_head").fetch_one(&mut *db).await?;
        let hash = head.get::<String, _>(1).parse().map_err(|_| anyhow::anyhow!("the head is no hash"))?;
        Ok(Copies {
            accepted: template(db, 1).await?,
            waiting: template(db, 2).await?,
            words: Words::new(SEED),
            count,
            customers: 1 + count as u64 / PER_CUSTOMER,
            seq: head.get(0),
            hash,
        })
    }

    /// The journal's head after what was made so far.
    pub fn head(&self) -> (i64, String) {
        (self.seq, self.hash.to_string())
    }

    /// The copies numbered `from` to `to`, in that order; each number once.
    pub fn batch(&mut self, from: i64, to: i64) -> Batch {
        let (mut actions, mut payloads, mut docs, mut journal) = (vec![], vec![], vec![], vec![]);
        // Only makes keys that look like keys; the copies' are nobody's.
        let secret = LedgerSecret([7; 32]);
        for n in from..=to {
            let template = if n % ONE_WAITS_IN == 0 { &self.waiting } else { &self.accepted };
            let earlier = (self.count - n + 1) * APART_MS;
            let customer = self.words.between(1, self.customers);
            let who = Words::word(customer);
            let email = format!("{who}@{}.example", Words::word(customer % DOMAINS));
            let subject = self.words.text(6);
            let text = self.words.text(110);
            let mut value = template.payload.clone();
            value["to"] = json!([{ "name": who, "email": email }]);
            value["subject"] = json!(subject);
            value["text"] = json!(text);
            let payload =
                Payload::parse(&template.key.effect, value, &[]).expect("the template's payload with other texts");
            let key = ActionKey { request_id: format!("copy-{n}"), ..template.key.clone() };
            let text_of_payload = canonical(payload.value());
            let content = hex::encode(sha256(text_of_payload.as_bytes()));
            let hash = payload_hash(&key, &payload).to_string();
            actions.push(json!([
                n,
                template.n,
                key.canonical(),
                key.idempotency_key(&secret).as_str(),
                key.request_id,
                hash,
                content,
                who,
                email,
                subject,
                earlier,
            ]));
            payloads.push(json!([n, text_of_payload]));
            docs.push(json!([n, template.n, format!("{} {} {}\n{text}\n", key.request_id, key.source, key.step)]));
            for told in &template.journal {
                self.seq += 1;
                let mut entry = Entry {
                    seq: self.seq,
                    at: template.created_at - earlier + told.after_ms,
                    action: told.of_action.then_some(n),
                    fact: told.fact.clone(),
                    by: told.by.clone(),
                };
                renumber(&mut entry.fact["details"], n, &hash, &content);
                let previous = self.hash;
                self.hash = link(previous, &entry);
                journal.push(json!([
                    entry.seq,
                    entry.at,
                    entry.action,
                    told.kind,
                    canonical(&entry.fact),
                    entry.by,
                    previous.to_string(),
                    self.hash.to_string(),
                ]));
            }
        }
        let text = |rows: Vec<Value>| Value::Array(rows).to_string();
        Batch { actions: text(actions), payloads: text(payloads), docs: text(docs), journal: text(journal) }
    }
}

/// Puts a copy's number and hashes where the template's were.
fn renumber(details: &mut Value, n: i64, hash: &str, content: &str) {
    let Some(details) = details.as_object_mut() else { return };
    for (name, value) in details {
        match name.as_str() {
            "delivery" | "approval" | "attempt" => *value = json!(n),
            "payload_hash" => *value = json!(hash),
            "payload" => {
                value["hash"] = json!(hash);
                value["content"] = json!(content);
            }
            "actions" => value[0]["action"] = json!(ActionId(n).to_string()),
            _ => {}
        }
    }
}

async fn template(db: &mut SqliteConnection, n: i64) -> anyhow::Result<Template> {
    let action = sqlx::query(
        "SELECT a.created_at, a.environment, a.destination, a.effect, a.source, a.request_id, a.step, p.value \
         FROM actions a JOIN payloads p ON p.action = a.n WHERE a.n = $1",
    )
    .bind(n)
    .fetch_one(&mut *db)
    .await?;
    let created_at: i64 = action.get("created_at");
    let rows = sqlx::query(
        "SELECT at, action, kind, fact, by_whom FROM journal WHERE action = $1 \
         OR (kind = 'delivered' AND fact ->> '$.details.delivery' = $1) ORDER BY seq",
    )
    .bind(n)
    .fetch_all(&mut *db)
    .await?;
    let journal = rows
        .iter()
        .map(|row| {
            Ok(Told {
                after_ms: row.get::<i64, _>("at") - created_at,
                of_action: row.get::<Option<i64>, _>("action").is_some(),
                kind: row.get("kind"),
                fact: serde_json::from_str(row.get("fact"))?,
                by: row.get("by_whom"),
            })
        })
        .collect::<anyhow::Result<Vec<_>>>()?;
    anyhow::ensure!(journal.iter().any(|told| !told.of_action), "the journal does not tell of the delivery");
    Ok(Template {
        n,
        created_at,
        key: ActionKey {
            environment: action.get("environment"),
            destination: action.get("destination"),
            effect: action.get("effect"),
            source: action.get("source"),
            request_id: action.get("request_id"),
            step: action.get("step"),
            revision: ActionKey::FIRST_REVISION,
        },
        payload: serde_json::from_str(action.get("value"))?,
        journal,
    })
}
