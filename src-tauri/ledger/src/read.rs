//! One action, whole or in part.

use crate::content;
use crate::dossier::Dossier;
use crate::journal::Stored;
use crate::proof::read_approval;
use crate::rows::{Action, Get, action_columns, read_json};
use crate::script::Answer;
use crate::tx::{Conn, failed, statements};
use crate::types::{
    ActionRecord, AttemptRecord, DeliveryRecord, Detail, PayloadVersion, SightingRecord, StoredApproval,
};
use crate::{Ledger, LedgerError, decide, followup, news};
use countersign_domain::risk::{Domains, Known};
use countersign_domain::{
    ActionId, ApprovalId, Attachment, AttemptId, Conversation, DeliveryId, IdempotencyKey, Payload, State, Wire,
    WorkerId,
};
use serde_json::{Value, json};
use sqlx::any::AnyRow;
use std::collections::{BTreeMap, BTreeSet};

statements! {
    BY_IDEMPOTENCY_KEY = concat!("SELECT ", action_columns!(), " FROM actions WHERE idempotency_key = $1");
    OF_REQUEST = concat!("SELECT ", action_columns!(), " FROM actions WHERE source = $1 AND request_id = $2 \
        ORDER BY step, n LIMIT 500");
    OF_REQUEST_AND_STEP = concat!("SELECT ", action_columns!(), " FROM actions WHERE source = $1 AND request_id = $2 \
        AND step = $3 ORDER BY n LIMIT 500");
    DELIVERIES_OF = "SELECT d.n, d.source, d.event_id, d.request_id, d.at, da.disposition, da.reason, d.first \
        FROM delivery_actions da JOIN deliveries d ON d.n = da.delivery WHERE da.action = $1 ORDER BY d.n";
    KNOWN_PERSON = "SELECT times FROM known_people WHERE environment = $1 AND email = $2";
    // The head says how far was looked: what a later transaction changes has its number or a higher one.
    KNOWN_DOMAINS = "SELECT h.seq AS upto, d.domain, d.times FROM ledger_head h \
        LEFT JOIN known_domains d ON d.environment = $1 AND d.changed >= $2 WHERE h.one = 1";
    NOT_TAKEN_FROM = "SELECT n, source, event_id, request_id, at, disposition, reason, first FROM deliveries \
        WHERE source = $1 AND disposition IN ('conflict', 'not_permitted', 'not_taken') ORDER BY n DESC LIMIT 500";
}

/// Known domains by environment, and the change up to which they were read.
pub(crate) type KnownDomains = BTreeMap<String, (i64, Domains)>;

impl Ledger {
    pub async fn action(&self, id: ActionId) -> Result<Option<ActionRecord>, LedgerError> {
        let mut tx = self.pools().bare("reading an action").await?;
        Ok(Action::load(&mut tx, id).await?.map(Action::record))
    }

    pub async fn action_by_key(&self, key: &IdempotencyKey) -> Result<Option<ActionRecord>, LedgerError> {
        let mut tx = self.pools().bare("reading an action").await?;
        let row = sqlx::query(BY_IDEMPOTENCY_KEY)
            .bind(key.as_str().to_owned())
            .fetch_optional(&mut *tx)
            .await
            .map_err(|e| failed("reading an action", e))?;
        Ok(row.map(|r| Action::read(&r)).transpose()?.map(Action::record))
    }

    /// Every action of a request, all steps or one, all revisions, in order of step and number.
    pub async fn actions_of_request(
        &self,
        source: &str,
        request_id: &str,
        step: Option<&str>,
    ) -> Result<Vec<ActionRecord>, LedgerError> {
        let mut tx = self.pools().bare("reading a request").await?;
        let mut query = sqlx::query(if step.is_some() { OF_REQUEST_AND_STEP } else { OF_REQUEST })
            .bind(source.to_owned())
            .bind(request_id.to_owned());
        if let Some(step) = step {
            query = query.bind(step.to_owned());
        }
        let rows = query.fetch_all(&mut *tx).await.map_err(|e| failed("reading a request", e))?;
        rows.iter().map(|r| Ok(Action::read(r)?.record())).collect()
    }

    /// The payload as it is shown now, and the customer's message (None where there is none, or once purged).
    ///
    /// # Errors
    /// `Conflict::Purged` once the body is gone; `Corrupt` where it differs from its hash.
    pub async fn current(&self, id: ActionId) -> Result<(Payload, Option<Conversation>), LedgerError> {
        let mut tx = self.pools().read("reading a payload").await?;
        let action = Action::get(&mut tx, id).await?;
        let payload = match &action.key {
            Some(_) => content::sealed(&mut tx, &action).await?.payload().clone(),
            None => {
                let stored = content::payload(&mut tx, id.0, action.payload_version).await?;
                content::open_payload(&mut tx, id.0, &action.effect, &stored, &Answer::default()).await?
            }
        };
        Ok((payload, content::conversation(&mut tx, &action).await?))
    }

    /// The bytes an approval covers, where an action has them. Not those of an approval that was put back.
    pub async fn wire(&self, id: ActionId) -> Result<Option<Wire>, LedgerError> {
        let mut tx = self.pools().read("reading a wire").await?;
        let action = Action::get(&mut tx, id).await?;
        let standing = &action.standing;
        let put_back = matches!(standing.state, State::Prepared | State::NeedsReview) && !standing.crossed_once;
        match action.wire_hash.filter(|_| !put_back) {
            Some(hash) => Ok(Some(content::wire(&mut tx, id, hash).await?)),
            None => Ok(None),
        }
    }

    /// An action with everything that happened to it.
    pub async fn detail(&self, id: ActionId) -> Result<Detail, LedgerError> {
        let (rows, mut conn) = self.dossier(id, "reading an action's history").await?;
        let action = rows.action()?;
        let journal: Result<_, _> = rows.journal.rows.iter().map(Stored::read).collect();
        detail(&mut conn, &rows, action, journal?).await
    }

    /// What this environment's own history knows about `addresses` (lower case) and about domains. The owner's own domains
    /// are the caller's.
    pub async fn known_people(&self, environment: &str, addresses: &BTreeSet<String>) -> Result<Known, LedgerError> {
        let doing = "reading known people";
        let mut tx = self.pools().bare(doing).await?;
        let mut known = Known::default();
        for address in addresses {
            let row = sqlx::query(KNOWN_PERSON)
                .bind(environment.to_owned())
                .bind(address.clone())
                .fetch_optional(&mut *tx)
                .await
                .map_err(|e| failed(doing, e))?;
            let times: u32 = row.map(|r| r.num("times")).transpose()?.unwrap_or(0);
            if times > 0 {
                known.recipients.push((address.clone(), times));
            }
        }
        let mut kept = self.inner.domains.lock().await;
        let (upto, domains) = kept.entry(environment.to_owned()).or_default();
        let rows = sqlx::query(KNOWN_DOMAINS)
            .bind(environment.to_owned())
            .bind(*upto)
            .fetch_all(&mut *tx)
            .await
            .map_err(|e| failed(doing, e))?;
        learn_domains(&rows, upto, domains)?;
        known.domains = domains.clone();
        Ok(known)
    }

    /// Deliveries of a source of which nothing was taken, newest first.
    pub async fn not_taken_from(&self, source: &str) -> Result<Vec<DeliveryRecord>, LedgerError> {
        let doing = "reading what was not taken";
        let mut tx = self.pools().bare(doing).await?;
        let rows = sqlx::query(NOT_TAKEN_FROM).bind(source.to_owned()).fetch_all(&mut *tx).await;
        rows.map_err(|e| failed(doing, e))?.iter().map(delivery).collect()
    }
}

pub(crate) fn learn_domains(rows: &[AnyRow], upto: &mut i64, domains: &mut Domains) -> Result<(), LedgerError> {
    for row in rows {
        // Met in conversations only counts once, however many addresses a source tells of.
        if let Some(domain) = row.text_or_null("domain")? {
            domains.met(&domain, row.num::<u32>("times")?.max(1));
        }
        *upto = row.int("upto")?;
    }
    Ok(())
}

pub(crate) async fn detail(
    conn: &mut Conn,
    rows: &Dossier,
    action: Action,
    journal: Vec<Stored>,
) -> Result<Detail, LedgerError> {
    let (payloads, attachments) = payloads(conn, rows, &action).await?;
    // Whoever decides what is to become of it reads what the customer says now.
    let news = news::told(&action, &journal).filter(|_| news::is_held(action.standing.state));
    let conversation = match news {
        Some(hash) => content::conversation_at(conn, action.id(), hash).await?,
        None => rows.conversation(&action)?,
    };
    Ok(Detail {
        payloads,
        attachments,
        approvals: approvals(rows, &action)?,
        attempts: attempts(rows)?,
        sightings: sightings(rows, &action)?,
        deliveries: rows.deliveries.rows.iter().map(delivery).collect::<Result<_, _>>()?,
        journal: journal.into_iter().map(|s| s.row).collect(),
        filing: rows.filing.first().map(followup::read).transpose()?,
        conversation,
        cleared: decide::read_cleared(&rows.cleared.rows)?,
        record: action.record(),
    })
}

async fn payloads(
    conn: &mut Conn,
    rows: &Dossier,
    action: &Action,
) -> Result<(Vec<PayloadVersion>, Vec<Attachment>), LedgerError> {
    let mut versions = Vec::new();
    let mut attachments: Vec<Attachment> = Vec::new();
    for stored in rows.payloads()? {
        let payload = match stored.value {
            Some(_) => Some(content::open_payload(conn, action.n, &action.effect, &stored, &rows.attachments).await?),
            None => None,
        };
        for attachment in payload.iter().flat_map(|p| p.attachments()) {
            if !attachments.iter().any(|a| a.sha256 == attachment.sha256) {
                attachments.push(attachment.clone());
            }
        }
        versions.push(PayloadVersion {
            version: stored.version,
            payload,
            hash: stored.hash,
            by: stored.by,
            at: stored.at,
        });
    }
    Ok((versions, attachments))
}

fn approvals(rows: &Dossier, action: &Action) -> Result<Vec<StoredApproval>, LedgerError> {
    if action.key.is_none() {
        return Ok(Vec::new());
    }
    rows.approvals
        .rows
        .iter()
        .map(|row| {
            let approval = read_approval(row, action)?;
            Ok(StoredApproval {
                id: ApprovalId(row.int("n")?),
                counts: approval.sequence > action.ended_sequence,
                approval,
            })
        })
        .collect()
}

fn attempts(rows: &Dossier) -> Result<Vec<AttemptRecord>, LedgerError> {
    rows.attempts
        .rows
        .iter()
        .map(|row| {
            let mut evidence: Value = read_json(row, "evidence")?.unwrap_or_else(|| json!({}));
            if !evidence.is_object() {
                evidence = json!({ "evidence": evidence });
            }
            for part in ["noted", "late"] {
                if let Some(value) = read_json::<Value>(row, part)? {
                    evidence[part] = value;
                }
            }
            Ok(AttemptRecord {
                id: AttemptId(row.int("n")?),
                number: row.num("number")?,
                worker: WorkerId(row.text("worker")?),
                claimed_at: row.time("claimed_at")?,
                crossed_at: row.time_or_null("crossed_at")?,
                closed_at: row.time_or_null("closed_at")?,
                in_doubt: row.flag("in_doubt")?,
                outcome: row.text_or_null("outcome")?.unwrap_or_else(|| "open".to_owned()),
                evidence,
            })
        })
        .collect()
}

fn sightings(rows: &Dossier, action: &Action) -> Result<Vec<SightingRecord>, LedgerError> {
    rows.sightings
        .rows
        .iter()
        .map(|row| {
            Ok(SightingRecord {
                at: row.time("at")?,
                sighting: read_json(row, "sighting")?
                    .ok_or_else(|| LedgerError::corrupt("look", action.id(), "it says nothing"))?,
                conclusive_absence: row.flag("conclusive")?,
            })
        })
        .collect()
}

fn delivery(row: &AnyRow) -> Result<DeliveryRecord, LedgerError> {
    Ok(DeliveryRecord {
        id: DeliveryId(row.int("n")?),
        source: row.text("source")?,
        event_id: row.text_or_null("event_id")?,
        request_id: row.text_or_null("request_id")?,
        at: row.time("at")?,
        disposition: row.text("disposition")?,
        reason: row.text_or_null("reason")?,
        first: row.int_or_null("first")?.map(DeliveryId),
    })
}
