//! Phase: what a person decides about an action before it goes.

use crate::content::{self, NewPayload, content_hash, face_at};
use crate::dossier::Dossier;
use crate::rows::{Action, Get};
use crate::script::{Said, say};
use crate::tx::{Conn, Durable, Write, failed, statements};
use crate::types::{Cleared, Signing, Waits};
use crate::{Conflict, Ledger, LedgerError, apply, proof, read};
use countersign_domain::{
    ActionId, Approval, Fact, LedgerSecret, Payload, PersonId, RecordRef, Sealed, Standing, State, Timestamp, Wire,
};
use serde_json::json;
use sqlx::any::AnyRow;

statements! {
    PUT_APPROVAL = "INSERT INTO approvals (action, sequence, payload_version, payload_hash, wire_hash, account, \
        conversation, by_whom, device, at, expires_at, signature) \
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) RETURNING n";
    EXPIRING = "SELECT n FROM actions WHERE state = 'approved' AND expires_at <= $1 ORDER BY expires_at LIMIT 200";
    CLEAR = "INSERT INTO cleared (action, version, code, field, by_whom, at) VALUES ($1, $2, $3, $4, $5, $6) \
        ON CONFLICT DO NOTHING";
    CLEARED = "SELECT version, code, field, by_whom, at FROM cleared WHERE action = $1 ORDER BY at, code, field";
    KEEP_TEXT = "INSERT INTO kept_texts (action, by_whom, text, at) VALUES ($1, $2, $3, $4) \
        ON CONFLICT (action, by_whom) DO UPDATE SET text = excluded.text, at = excluded.at";
    KEPT_TEXT = "SELECT text FROM kept_texts WHERE action = $1 AND by_whom = $2";
    FORGET_TEXT = "DELETE FROM kept_texts WHERE action = $1 AND by_whom = $2";
}

impl Ledger {
    /// The next payload version, if `replaces` is the current one. Ends every earlier approval. Returns the new version.
    pub async fn edit(
        &self,
        action: ActionId,
        replaces: u32,
        payload: &Payload,
        by: &PersonId,
        now: Timestamp,
    ) -> Result<u32, LedgerError> {
        let doing = "storing an edit";
        let mut w = self.pools().write(doing, Durable::Full).await?;
        let current = Action::take(&mut w, action).await?;
        // Says why first: an approved action has to be undone, whatever the version.
        countersign_domain::advance(&current.standing, &Fact::Redrafted)?;
        if current.payload_version != replaces {
            return Err(Conflict::VersionMoved { current: current.payload_version }.into());
        }
        let version = current.payload_version + 1;
        let sealed = Sealed::seal(current.need_key()?.clone(), version, payload.clone());
        let hash = sealed.hash();
        let new = NewPayload { action: action.0, version, payload, hash: Some(hash), by: &by.0 };
        content::put_payload(&mut w, new, now);
        let face = face_at(w.conn().await?, &current.destination, payload).await?;
        content::change_people(&mut w, action.0, &face.people);
        let details = json!({ "payload": { "version": version, "hash": hash, "content": content_hash(payload) } });
        let change = |a: &mut Action| {
            a.payload_version = version;
            a.payload_hash = Some(hash);
            face.put_on(a);
        };
        apply::apply(&mut w, &current, &Fact::Redrafted, change, details, &by.0, now).await?;
        w.commit(doing).await?;
        Ok(version)
    }

    /// Everything an approval must cover, but for the wire that a provider still has to render; and the action as it stands
    /// with its history, in the same view. The action's journal is proven first.
    pub async fn signable(&self, action: ActionId, secret: &LedgerSecret) -> Result<Signing, LedgerError> {
        let (rows, mut conn) = self.dossier(action, "reading what is to be signed").await?;
        let current = rows.action()?;
        // Nobody signs what was altered, an order or an attempt count included, which the signature does not cover.
        let told = proof::journal_of(&rows, &current)?;
        let detail = read::detail(&mut conn, &rows, current.clone(), told.into_rows()).await?;
        let sealed = content::sealed_of(&current, &detail.payloads)?;
        let destination =
            rows.destination()?.ok_or_else(|| LedgerError::not_found("destination", &current.destination))?;
        let stored_wire = rows.wire(&current)?;
        if current.conversation.is_some() && detail.conversation.is_none() {
            return Err(Conflict::Purged.into());
        }
        Ok(Signing {
            action,
            idempotency_key: sealed.key().idempotency_key(secret),
            sealed,
            destination,
            sequence: current.newest_sequence + 1,
            stored_wire,
            standing: current.standing,
            signers: detail.approvals.iter().filter(|a| a.counts).map(|a| a.approval.by.clone()).collect(),
            detail,
        })
    }

    /// Stores a signed approval with its wire. `not_before` is the end of the undo window; `frees_key` is the contract's
    /// word that a refusal frees the key. The fields are compared with the stored action once more; the signature is
    /// verified by every claim.
    #[allow(clippy::too_many_arguments)]
    pub async fn approve(
        &self,
        action: ActionId,
        approval: &Approval,
        wire: &Wire,
        approvers_needed: u8,
        not_before: Timestamp,
        frees_key: bool,
        now: Timestamp,
    ) -> Result<Standing, LedgerError> {
        self.approve_on(action, approval, wire, None, approvers_needed, not_before, frees_key, now).await
    }

    /// The same where the destination has a name of its own for the record that the wire touches. From then on that is the
    /// action's record: two spellings of one are one.
    #[allow(clippy::too_many_arguments)]
    pub async fn approve_on(
        &self,
        action: ActionId,
        approval: &Approval,
        wire: &Wire,
        record: Option<&RecordRef>,
        approvers_needed: u8,
        not_before: Timestamp,
        frees_key: bool,
        now: Timestamp,
    ) -> Result<Standing, LedgerError> {
        let doing = "storing an approval";
        let mut w = self.pools().write(doing, Durable::Full).await?;
        let rows = Dossier::of(action, w.ask_all(Dossier::said(action).into()).await?);
        let current = rows.action()?;
        proof::journal_of(&rows, &current)?;
        w.head = Some(rows.head()?);
        w.intact = Some((current.n, current.row_version));
        // What is not possible at all is said before what does not fit.
        countersign_domain::advance(&current.standing, &Fact::Approved { complete: true, frees_key })?;
        fits(&mut w, &rows, &current, approval, wire).await?;
        let mut earlier = signers(&rows, &current)?;
        let first_of_two_counts = current.standing.signed > 0 && current.expires_at.is_none_or(|at| at > now);
        let mut ended = current.ended_sequence;
        if !first_of_two_counts || approvers_needed <= 1 {
            // An approval of an earlier round, or one that grew too old, does not add up with this one; and where one is
            // enough again, whoever gave the first of two may give it.
            earlier.clear();
            ended = current.newest_sequence;
        }
        if earlier.contains(&approval.by) {
            return Err(Conflict::SameApprover { by: approval.by.0.clone() }.into());
        }
        let [_, stored] = w.ask([content::put_wire(action.0, wire, now), put_approval(action, approval)]).await?;
        let number = stored.one(doing)?.int("n")?;
        let complete = earlier.len() + 1 >= usize::from(approvers_needed.max(1));
        let details = json!({
            "approval": number, "sequence": approval.sequence, "digest": proof::approval_digest(approval),
            "payload_version": approval.payload_version, "payload_hash": approval.payload_hash,
            "wire_hash": approval.wire_hash,
        });
        let before = current.expires_at.filter(|_| !earlier.is_empty());
        let change = |a: &mut Action| {
            a.newest_sequence = approval.sequence;
            a.ended_sequence = ended;
            a.expires_at = Some(before.map_or(approval.expires_at, |b| b.min(approval.expires_at)));
            a.wire_hash = Some(approval.wire_hash);
            if let Some(record) = record {
                a.record_key = Some(record.key(&approval.account));
            }
            if complete {
                a.not_before = not_before;
                a.waits = if not_before > now { Waits::UndoWindow } else { Waits::Nothing };
            }
        };
        let fact = Fact::Approved { complete, frees_key };
        let next = apply::apply(&mut w, &current, &fact, change, details, &approval.by.0, now).await?;
        w.commit(doing).await?;
        Ok(next.standing)
    }

    /// Takes an approval back while nobody has claimed the action.
    pub async fn undo(&self, action: ActionId, by: &PersonId, now: Timestamp) -> Result<Standing, LedgerError> {
        self.simple(action, Fact::Undone, Some("undone".to_owned()), by, now).await
    }

    pub async fn reject(
        &self,
        action: ActionId,
        reason: &str,
        by: &PersonId,
        now: Timestamp,
    ) -> Result<Standing, LedgerError> {
        self.simple(action, Fact::Rejected, Some(reason.to_owned()), by, now).await
    }

    async fn simple(
        &self,
        action: ActionId,
        fact: Fact,
        reason: Option<String>,
        by: &PersonId,
        now: Timestamp,
    ) -> Result<Standing, LedgerError> {
        let doing = "storing a decision";
        let mut w = self.pools().write(doing, Durable::Full).await?;
        let current = Action::take(&mut w, action).await?;
        let details = json!({ "reason": reason });
        let change = |a: &mut Action| {
            // An undone draft is an ordinary draft again; elsewhere the reason says why it is where it is.
            a.reason = reason.filter(|_| a.standing.state != State::Prepared);
        };
        let next = apply::apply(&mut w, &current, &fact, change, details, &by.0, now).await?;
        w.commit(doing).await?;
        Ok(next.standing)
    }

    /// Lets an approved action go without the one it waits for, once that one ended without acceptance.
    pub async fn release(&self, action: ActionId, by: &PersonId, now: Timestamp) -> Result<Standing, LedgerError> {
        let doing = "releasing an action from its order";
        let mut w = self.pools().write(doing, Durable::Full).await?;
        let current = Action::take(&mut w, action).await?;
        countersign_domain::advance(&current.standing, &Fact::Released)?;
        let waits_for = current.after.ok_or(Conflict::NoOrder)?;
        let other = Action::get(w.conn().await?, ActionId(waits_for)).await?;
        let ended = match other.standing.state {
            State::Refused | State::GaveUp | State::Rejected | State::Superseded | State::ClosedUnknown => true,
            State::Prepared
            | State::NeedsReview
            | State::Approved
            | State::InProgress
            | State::Accepted
            | State::Unknown => false,
        };
        if !ended {
            return Err(Conflict::OrderStands { action: other.id() }.into());
        }
        let details = json!({ "without": other.id() });
        let next = apply::apply(&mut w, &current, &Fact::Released, |a| a.after = None, details, &by.0, now).await?;
        w.commit(doing).await?;
        Ok(next.standing)
    }

    /// Ends the undo window. A backoff is not shortened: the destination asked for it.
    pub async fn send_now(&self, action: ActionId, by: &PersonId, now: Timestamp) -> Result<Standing, LedgerError> {
        let doing = "ending an undo window";
        let mut w = self.pools().write(doing, Durable::Full).await?;
        let current = Action::take(&mut w, action).await?;
        if current.standing.state != State::Approved || current.waits == Waits::Backoff {
            return Err(Conflict::NotInUndoWindow.into());
        }
        let change = |a: &mut Action| {
            a.not_before = now;
            a.waits = Waits::Nothing;
        };
        let next = apply::touch(&mut w, &current, "undo_window_ended", change, json!({}), &by.0, now).await?;
        w.commit(doing).await?;
        Ok(next.standing)
    }

    /// Sends approved actions whose approval grew too old to needs review. [`crate::Rules`] tell whether there are any.
    pub async fn expire_due(&self, now: Timestamp) -> Result<Vec<ActionId>, LedgerError> {
        let doing = "ending approvals that grew too old";
        let mut w = self.pools().write(doing, Durable::Full).await?;
        let rows =
            sqlx::query(EXPIRING).bind(now.millis()).fetch_all(w.conn().await?).await.map_err(|e| failed(doing, e))?;
        let mut done = Vec::new();
        for row in rows {
            let Some(current) = Action::take_if_intact(&mut w, ActionId(row.int("n")?)).await? else { continue };
            let change = |a: &mut Action| a.reason = Some("the approval expired before it was used".to_owned());
            apply::apply(&mut w, &current, &Fact::Expired, change, json!({}), "countersign", now).await?;
            done.push(current.id());
        }
        w.commit(doing).await?;
        Ok(done)
    }

    /// Remembers that a person looked at a finding of this payload version.
    pub async fn clear_finding(
        &self,
        action: ActionId,
        version: u32,
        code: &str,
        field: &str,
        by: &PersonId,
        now: Timestamp,
    ) -> Result<(), LedgerError> {
        let doing = "clearing a finding";
        let mut w = self.pools().write(doing, Durable::Full).await?;
        let current = Action::take(&mut w, action).await?;
        if current.payload_version != version {
            return Err(Conflict::VersionMoved { current: current.payload_version }.into());
        }
        sqlx::query(CLEAR)
            .bind(action.0)
            .bind(i64::from(version))
            .bind(code.to_owned())
            .bind(field.to_owned())
            .bind(by.0.clone())
            .bind(now.millis())
            .execute(w.conn().await?)
            .await
            .map_err(|e| failed(doing, e))?;
        let details = json!({ "version": version, "code": code, "field": field });
        apply::touch(&mut w, &current, "finding_cleared", |_| {}, details, &by.0, now).await?;
        w.commit(doing).await
    }

    pub async fn cleared(&self, action: ActionId) -> Result<Vec<Cleared>, LedgerError> {
        let mut tx = self.pools().bare("reading cleared findings").await?;
        cleared(&mut tx, action.0).await
    }

    /// Keeps what a person is typing. Not part of any decision, so not in the journal.
    pub async fn keep_text(
        &self,
        action: ActionId,
        by: &PersonId,
        text: &str,
        now: Timestamp,
    ) -> Result<(), LedgerError> {
        let doing = "keeping what was typed";
        let mut w = self.pools().write(doing, Durable::Rides).await?;
        sqlx::query(KEEP_TEXT)
            .bind(action.0)
            .bind(by.0.clone())
            .bind(text.to_owned())
            .bind(now.millis())
            .execute(w.conn().await?)
            .await
            .map_err(|e| failed(doing, e))?;
        w.commit(doing).await
    }

    pub async fn kept_text(&self, action: ActionId, by: &PersonId) -> Result<Option<String>, LedgerError> {
        let mut tx = self.pools().bare("reading what was typed").await?;
        let row = sqlx::query(KEPT_TEXT)
            .bind(action.0)
            .bind(by.0.clone())
            .fetch_optional(&mut *tx)
            .await
            .map_err(|e| failed("reading what was typed", e))?;
        row.map(|r| r.text("text")).transpose()
    }

    pub async fn forget_text(&self, action: ActionId, by: &PersonId) -> Result<(), LedgerError> {
        let doing = "forgetting what was typed";
        let mut w = self.pools().write(doing, Durable::Rides).await?;
        sqlx::query(FORGET_TEXT)
            .bind(action.0)
            .bind(by.0.clone())
            .execute(w.conn().await?)
            .await
            .map_err(|e| failed(doing, e))?;
        w.commit(doing).await
    }
}

/// Compares every field of an approval with the action as it stands.
async fn fits(
    w: &mut Write,
    rows: &Dossier,
    current: &Action,
    approval: &Approval,
    wire: &Wire,
) -> Result<(), LedgerError> {
    let differs = |field: &'static str| Err(LedgerError::from(Conflict::ApprovalDiffers { field }));
    let sealed = rows.sealed(w.conn().await?, current).await?;
    if approval.key != *sealed.key() {
        return differs("action key");
    }
    if approval.payload_hash != sealed.hash() || approval.payload_version != sealed.version() {
        return Err(Conflict::HashNotCurrent { current: sealed.hash() }.into());
    }
    if approval.wire_hash != wire.hash() {
        return differs("wire hash");
    }
    // After a crossing, and for the second of two, there is one wire only.
    if current.wire_hash.is_some_and(|stored| stored != wire.hash())
        && (current.standing.crossed_once || current.standing.signed > 0)
    {
        return Err(Conflict::WireDiffers.into());
    }
    if approval.conversation != current.conversation {
        return differs("conversation");
    }
    match rows.destination()? {
        Some(d) if d.removed_at.is_none() && d.account == approval.account => {}
        _ => return differs("account"),
    }
    if approval.sequence != current.newest_sequence + 1 {
        return differs("sequence");
    }
    Ok(())
}

fn put_approval(action: ActionId, a: &Approval) -> Said {
    say!(
        "storing an approval",
        PUT_APPROVAL,
        action.0,
        a.sequence,
        a.payload_version,
        a.payload_hash.to_string(),
        a.wire_hash.to_string(),
        a.account.to_string(),
        a.conversation.map(|h| h.to_string()),
        &a.by.0,
        &a.device.0,
        a.at.millis(),
        a.expires_at.millis(),
        &a.signature,
    )
}

/// Who signed the approvals that count, oldest first.
fn signers(rows: &Dossier, action: &Action) -> Result<Vec<PersonId>, LedgerError> {
    if action.standing.signed == 0 {
        return Ok(Vec::new());
    }
    let mut signed = Vec::new();
    for row in &rows.approvals.rows {
        if row.num::<u32>("sequence")? > action.ended_sequence {
            signed.push(PersonId(row.text("by_whom")?));
        }
    }
    Ok(signed)
}

pub(crate) async fn cleared(conn: &mut Conn, action: i64) -> Result<Vec<Cleared>, LedgerError> {
    let rows =
        sqlx::query(CLEARED).bind(action).fetch_all(conn).await.map_err(|e| failed("reading cleared findings", e))?;
    read_cleared(&rows)
}

pub(crate) fn read_cleared(rows: &[AnyRow]) -> Result<Vec<Cleared>, LedgerError> {
    rows.iter()
        .map(|r| {
            Ok(Cleared {
                version: r.num("version")?,
                code: r.text("code")?,
                field: r.text("field")?,
                by: PersonId(r.text("by_whom")?),
                at: r.time("at")?,
            })
        })
        .collect()
}
