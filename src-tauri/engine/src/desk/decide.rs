//! Decisions. Each is one transaction of the ledger; none speaks to a destination.

use super::Desk;
use super::records::RECORD_MISSING;
use super::risks::{AUTOMATIC, DAILY_LIMIT};
use crate::failure::{Code, Failure};
use crate::view::{ActionDoc, ApproveOne, ApprovedOne, FindingDoc};
use countersign_connectors::Survey;
use countersign_domain::approval::SignedVerdict;
use countersign_domain::json::FieldError;
use countersign_domain::{
    ActionId, Approval, Attachment, Conversation, Fact, Payload, PayloadHash, Signable, State, Timestamp, Verdict,
    Wire, advance,
};
use countersign_ledger::{Detail, Signing};
use serde_json::Value;
use std::collections::BTreeSet;
use std::time::Duration;

/// Longest text kept while it is being typed, in bytes.
const KEPT_TEXT_LIMIT: usize = 4 * 1024 * 1024;
/// So many actions are approved with one gesture at most.
const APPROVED_AT_ONCE: usize = 100;
/// Longest reason or evidence, in characters.
const WORDS_LIMIT: usize = 10_000;

impl Desk {
    /// Stores the next payload version. `replaces`: the version that was on the screen; None: the current one.
    pub async fn edit(&self, id: ActionId, replaces: Option<u32>, payload: Value) -> Result<ActionDoc, Failure> {
        let detail = self.ledger().detail(id).await?;
        let record = &detail.record;
        match record.state() {
            State::Prepared => {}
            State::Approved => {
                return Err(Failure::conflict(
                    "it is approved; undo first, then edit. The edit needs an approval of its own",
                )
                .on(id));
            }
            state @ (State::NeedsReview
            | State::InProgress
            | State::Accepted
            | State::Unknown
            | State::Refused
            | State::GaveUp
            | State::Rejected
            | State::Superseded
            | State::ClosedUnknown) => {
                return Err(Failure::conflict(format!("only what is prepared can be edited; this is {state}")).on(id));
            }
        }
        let payload = written(&record.row.effect, payload, &self.files_of(&detail)).map_err(|e| e.on(id))?;
        let replaces = replaces.unwrap_or(record.row.payload_version);
        self.ledger()
            .edit(id, replaces, &payload, &self.core.owner, self.now())
            .await
            .map_err(|e| Failure::from(e).on(id))?;
        self.ledger().forget_text(id, &self.core.owner).await?;
        self.attached.forget(id);
        self.action(id).await
    }

    /// Countersigns exactly the payload whose hash was on the screen. `looked`: checks, as `CODE` and `FIELD`, that the
    /// person has looked at just now.
    ///
    /// # Errors
    /// Conflict if the hash is no longer current or the state does not allow it; bad input for a check that does not
    /// exist; not permitted while a check that holds was not looked at; locked without the passphrase in live. Nothing
    /// changes then.
    pub async fn approve(&self, id: ActionId, shown: &str, looked: &[(String, String)]) -> Result<ActionDoc, Failure> {
        let shown: PayloadHash = shown.parse().map_err(|e: countersign_domain::canonical::BadHash| {
            Failure::bad_input("payload_hash", e.to_string()).on(id)
        })?;
        match self.approve_shown(id, shown, looked).await {
            // The same decision, made twice at once: one of them was second somewhere between reading and writing.
            Err(failure) if failure.code == Code::Conflict => {
                let detail = self.ledger().detail(id).await?;
                if self.is_approved_already(&detail, shown) { self.document(&detail).await } else { Err(failure) }
            }
            done => done,
        }
    }

    async fn approve_shown(
        &self,
        id: ActionId,
        shown: PayloadHash,
        looked: &[(String, String)],
    ) -> Result<ActionDoc, Failure> {
        let secret = self.core.ledger_secret().await?;
        let signing = self.ledger().signable(id, &secret).await.map_err(|e| Failure::from(e).on(id))?;
        let detail = &signing.detail;
        if self.is_approved_already(detail, shown) {
            return self.document(detail).await;
        }
        if signing.sealed.hash() != shown {
            let current = signing.sealed.hash();
            return Err(Failure::from(countersign_domain::ApprovalError::ShownIsStale { current }).on(id));
        }
        let row = &detail.record.row;
        let destination = &signing.destination;
        if destination.removed_at.is_some() {
            return Err(Failure::not_found(format!("there is no destination {}", row.destination)).on(id));
        }
        let connector = self.core.destinations.connect(destination).map_err(|e| e.on(id))?;
        let frees_key = connector.contract(&row.effect).is_some_and(|c| c.refusal_frees_key);
        advance(&signing.standing, &Fact::Approved { complete: true, frees_key })
            .map_err(|e| Failure::from(e).on(id))?;
        // Somebody is there, before anything is written in their name.
        let signer = self.signer(&row.environment).await.map_err(|e| e.on(id))?;
        self.check_parent_in_time(detail).await?;
        let survey = match &signing.stored_wire {
            Some(_) => Survey::NothingToAsk,
            None => self.survey_again(id, &signing.sealed).await?,
        };
        let looked_at = self.held_back(&signing, looked).await?;

        let now = self.now();
        // Read once, here: rules of a zone that change later do not move what was approved.
        let due = signing.sealed.payload().due().map_err(|e| Failure::from(e.within("payload")).on(id))?;
        let due = due.map_or(now, |due| due.at.max(now));
        let wire = match &signing.stored_wire {
            Some(wire) => wire.clone(),
            // Dated by the time that was approved for it.
            None => render(connector.as_ref(), &signing, due, &survey).map_err(|e| e.on(id))?,
        };
        let approval = Approval::sign(
            &Signable {
                key: signing.sealed.key().clone(),
                payload_version: signing.sealed.version(),
                payload_hash: signing.sealed.hash(),
                wire_hash: wire.hash(),
                account: signing.destination.account,
                conversation: detail.conversation.as_ref().map(Conversation::hash),
            },
            shown,
            &signer.person,
            &signer.device,
            signing.sequence,
            now,
            // Counted from the time it was approved for, and from that of what it waits for: until then it waits as it was
            // meant to.
            self.ready(detail, due).await?.plus(self.core.settings.expiry().await?),
        )
        .map_err(|e| Failure::from(e).on(id))?;
        // A signature that no claim would take is none: this device may have been withdrawn, or the name changed.
        let rules = self.ledger().rules(now).await?;
        if !approval.is_signed(&self.core.roster_of(&rules.certs).await?) {
            return Err(not_an_approver(id));
        }
        self.clear(id, signing.sealed.version(), &looked_at).await?;
        let touched = connector.touches(&wire);
        let needed = rules.approvers_needed().get(&row.environment).copied().unwrap_or(1);
        let not_before = due.max(now.plus(Duration::from_secs(u64::from(destination.undo_seconds))));
        self.ledger()
            .approve_on(id, &approval, &wire, touched.as_ref(), needed, not_before, frees_key, now)
            .await
            .map_err(|e| Failure::from(e).on(id))?;
        self.action(id).await
    }

    /// Countersigns several actions of what was on the screen, in the order given. Each is a decision of its own, with its
    /// own hash and signature: one that cannot be approved says why and changes nothing about the others.
    pub async fn approve_each(&self, wanted: &[ApproveOne]) -> Result<Vec<ApprovedOne>, Failure> {
        if wanted.is_empty() || wanted.len() > APPROVED_AT_ONCE {
            return Err(Failure::bad_input("actions", format!("1 to {APPROVED_AT_ONCE} actions are expected")));
        }
        let mut done = Vec::with_capacity(wanted.len());
        for one in wanted {
            let outcome = match self.resolve_id(&one.id).await {
                Ok(id) if wanted.len() > 1 && self.alone(id).await? => Err(Failure::not_permitted(
                    "it answers a message that nobody wrote, so it is approved by itself and with no others",
                )
                .on(id)),
                Ok(id) => self.approve(id, &one.payload_hash, &one.looked).await,
                Err(failure) => Err(failure),
            };
            let (action, error) = match outcome {
                Ok(action) => (Some(action), None),
                Err(failure) => (None, Some(failure.doc())),
            };
            done.push(ApprovedOne { id: one.id.clone(), action, error });
        }
        Ok(done)
    }

    /// When it can go at the earliest: `due`, or later where what it waits for is meant to go later.
    async fn ready(&self, detail: &Detail, due: Timestamp) -> Result<Timestamp, Failure> {
        let (mut ready, mut after) = (due, detail.record.row.after);
        let mut seen = BTreeSet::new();
        while let Some(id) = after.filter(|id| seen.insert(*id)) {
            let other = self.record(id).await?;
            if other.state() == State::Accepted {
                break;
            }
            if other.state() == State::Approved {
                ready = ready.max(other.row.not_before);
            }
            // Not approved yet, or a purged one, of which nobody knows its time any more.
            let meant = self.ledger().current(id).await.ok().and_then(|(payload, _)| payload.due().ok().flatten());
            ready = ready.max(meant.map_or(ready, |meant| meant.at));
            after = other.row.after;
        }
        Ok(ready)
    }

    /// Whether it takes a decision of its own, whatever was cleared before (F41).
    async fn alone(&self, id: ActionId) -> Result<bool, Failure> {
        let doc = self.action(id).await?;
        Ok(doc.state == "prepared" && doc.findings.iter().any(|f| f.code == AUTOMATIC))
    }

    /// The same decision again (a second click, an answer that got lost): the first one stands and is shown (F18).
    fn is_approved_already(&self, detail: &Detail, shown: PayloadHash) -> bool {
        detail.record.state() == State::Approved
            && detail.record.row.payload_hash == Some(shown)
            && detail
                .approvals
                .iter()
                .any(|a| a.counts && a.approval.payload_hash == shown && a.approval.by == self.core.owner)
    }

    /// Refuses while a check that holds is open. Returns the open ones the person has just looked at.
    async fn held_back(&self, signing: &Signing, looked: &[(String, String)]) -> Result<Vec<FindingDoc>, Failure> {
        let id = signing.action;
        let (detail, payload) = (&signing.detail, signing.sealed.payload());
        let around = self.around(detail, Some(payload)).await?;
        let mut found = self.findings_of(detail, payload, signing.sealed.version(), &around).await?;
        // Looking at these helps nothing: what they say has to change first.
        if let Some(bar) = found.iter().find(|f| f.code == DAILY_LIMIT || f.code == RECORD_MISSING) {
            let at = format!("{}:{}", bar.code, bar.field);
            return Err(Failure::not_permitted(bar.text.clone()).at(at).on(id));
        }
        // Nobody looked at what is not there: a slip of the pen must not pass for a check that was made.
        if let Some((code, field)) = looked.iter().find(|(c, at)| !found.iter().any(|f| f.code == *c && f.field == *at))
        {
            let text = format!("there is no check {code}:{field} to look at; `show` names those that are open");
            return Err(Failure::bad_input("checked", text).on(id));
        }
        found.retain(|f| f.cleared.is_none());
        let is = |f: &FindingDoc| looked.iter().any(|(code, field)| *code == f.code && *field == f.field);
        let left: Vec<&FindingDoc> = found.iter().filter(|f| f.holds && !is(f)).collect();
        if let Some(first) = left.first() {
            let all = left.iter().map(|f| format!("{}:{}", f.code, f.field)).collect::<Vec<_>>().join(", ");
            let checks = if left.len() == 1 { "1 check is".to_owned() } else { format!("{} checks are", left.len()) };
            return Err(Failure::not_permitted(format!(
                "{checks} left before this can be approved: {all}. Look at each, then say so (--checked CODE:FIELD)"
            ))
            .at(format!("{}:{}", first.code, first.field))
            .on(id));
        }
        found.retain(is);
        Ok(found)
    }

    async fn clear(&self, id: ActionId, version: u32, findings: &[FindingDoc]) -> Result<(), Failure> {
        for finding in findings {
            self.ledger()
                .clear_finding(id, version, &finding.code, &finding.field, &self.core.owner, self.now())
                .await
                .map_err(|e| Failure::from(e).on(id))?;
        }
        Ok(())
    }

    /// The person has looked at a check of the current version. Every one of them is a person's word and, in live, needs
    /// that the person is there: whoever can only write to this home clears nothing.
    pub async fn clear_finding(&self, id: ActionId, code: &str, field: &str) -> Result<ActionDoc, Failure> {
        let doc = self.action(id).await?;
        self.signer(&doc.environment).await.map_err(|e| e.on(id))?;
        let Some(finding) = doc.findings.iter().find(|f| f.code == code && f.field == field) else {
            return Err(Failure::not_found(format!("there is no check {code}:{field}")).at("field").on(id));
        };
        self.clear(id, doc.payload_version, std::slice::from_ref(finding)).await?;
        self.action(id).await
    }

    pub async fn reject(&self, id: ActionId, reason: &str) -> Result<ActionDoc, Failure> {
        let reason = some_words("reason", reason)?;
        self.ledger().reject(id, reason, &self.core.owner, self.now()).await.map_err(|e| Failure::from(e).on(id))?;
        self.ledger().forget_text(id, &self.core.owner).await?;
        self.action(id).await
    }

    /// Puts an approved action back; once it has crossed it needs review and only the stored bytes can be approved.
    pub async fn undo(&self, id: ActionId) -> Result<ActionDoc, Failure> {
        self.ledger().undo(id, &self.core.owner, self.now()).await.map_err(|e| Failure::from(e).on(id))?;
        self.action(id).await
    }

    /// Ends the undo window. What was approved for a time does not go before it.
    pub async fn send_now(&self, id: ActionId) -> Result<ActionDoc, Failure> {
        let detail = self.ledger().detail(id).await?;
        if self.scheduled(&detail).is_some() {
            return Err(Failure::conflict(
                "it was approved for a time that has not come; put it back and change the time",
            )
            .on(id));
        }
        self.deciding(&detail.record.row.environment, id).await?;
        self.ledger().send_now(id, &self.core.owner, self.now()).await.map_err(|e| Failure::from(e).on(id))?;
        self.action(id).await
    }

    /// Lets it go without the action it waits for, once that ended without acceptance.
    pub async fn release(&self, id: ActionId) -> Result<ActionDoc, Failure> {
        self.deciding(&self.environment_of(id).await?, id).await?;
        self.ledger().release(id, &self.core.owner, self.now()).await.map_err(|e| Failure::from(e).on(id))?;
        self.action(id).await
    }

    /// Completes what needs review. Never leads to approved.
    pub async fn confirm(
        &self,
        id: ActionId,
        request_id: Option<&str>,
        event_id: Option<&str>,
    ) -> Result<ActionDoc, Failure> {
        for (field, value) in [("request_id", request_id), ("event_id", event_id)] {
            if value.is_some_and(|v| v.is_empty() || v.chars().count() > 200 || v.chars().any(char::is_control)) {
                return Err(
                    Failure::bad_input(field, "1 to 200 characters are expected, none of them a control").on(id)
                );
            }
        }
        let secret = self.core.ledger_secret().await?;
        self.ledger()
            .confirm(id, request_id, event_id, &secret, &self.core.owner, self.now())
            .await
            .map_err(|e| Failure::from(e).on(id))?;
        self.action(id).await
    }

    /// A person's signed word on an unknown action.
    pub async fn resolve(&self, id: ActionId, verdict: Verdict, evidence: &str) -> Result<ActionDoc, Failure> {
        let record = self.record(id).await?;
        let fact = match verdict {
            Verdict::Happened => Fact::SaidHappened,
            Verdict::DidNotHappen => Fact::SaidDidNotHappen,
            Verdict::Leave => Fact::Left,
        };
        advance(record.standing(), &fact).map_err(|e| Failure::from(e).on(id))?;
        let evidence = match verdict {
            Verdict::Leave if evidence.trim().is_empty() => "",
            Verdict::Leave | Verdict::Happened | Verdict::DidNotHappen => {
                some_words("evidence", evidence).map_err(|e| e.on(id))?
            }
        };
        let now = self.now();
        if verdict == Verdict::DidNotHappen {
            self.core.may_say_did_not_happen(id).await?;
        }
        let key = record.key.clone().ok_or_else(|| Failure::conflict("it has no key yet").on(id))?;
        let signer = self.signer(&record.row.environment).await.map_err(|e| e.on(id))?;
        let word = SignedVerdict::sign(&key, verdict, evidence, &signer.person, &signer.device, now);
        if !word.is_signed(&self.core.roster().await?) {
            return Err(not_an_approver(id));
        }
        // As it stood when the waiting time was looked at: a repeat may have crossed since.
        self.ledger().settle(id, &word, record.last_crossed, now).await.map_err(|e| Failure::from(e).on(id))?;
        self.action(id).await
    }

    /// A new action, next revision, for the same request and step; the old one never goes again.
    pub async fn revise(&self, id: ActionId, payload: Option<Value>) -> Result<ActionDoc, Failure> {
        let detail = self.ledger().detail(id).await?;
        let payload = payload
            .map(|value| written(&detail.record.row.effect, value, &detail.attachments))
            .transpose()
            .map_err(|e| e.on(id))?;
        let secret = self.core.ledger_secret().await?;
        let new = self
            .ledger()
            .revise(id, payload.as_ref(), &secret, &self.core.owner, self.now())
            .await
            .map_err(|e| Failure::from(e).on(id))?;
        self.action(new).await
    }

    /// Keeps what is being typed, per keystroke (F16). Not journaled, never sent.
    pub async fn keep_text(&self, id: ActionId, text: &str) -> Result<(), Failure> {
        if text.len() > KEPT_TEXT_LIMIT {
            return Err(Failure::bad_input("text", "too long to be kept while it is being typed").on(id));
        }
        if text.is_empty() {
            return Ok(self.ledger().forget_text(id, &self.core.owner).await?);
        }
        Ok(self.ledger().keep_text(id, &self.core.owner, text, self.now()).await?)
    }

    pub async fn kept_text(&self, id: ActionId) -> Result<Option<String>, Failure> {
        Ok(self.ledger().kept_text(id, &self.core.owner).await?)
    }
}

/// The wire, by the provider's pure function. What cannot be rendered names the field.
pub(super) fn render(
    connector: &dyn countersign_connectors::Connector,
    signing: &Signing,
    now: countersign_domain::Timestamp,
    survey: &Survey,
) -> Result<Wire, Failure> {
    connector
        .render_on(&signing.sealed, &signing.idempotency_key, signing.detail.conversation.as_ref(), now, survey)
        .map_err(|e| FieldError::from(e).into())
}

/// A payload as a person wrote it. A time that its zone does not have, or has twice, is refused with its field.
fn written(effect: &str, value: Value, known: &[Attachment]) -> Result<Payload, Failure> {
    let payload = Payload::parse(effect, value, known).map_err(|e| e.within("payload"))?;
    payload.due().map_err(|e| e.within("payload"))?;
    Ok(payload)
}

fn not_an_approver(id: ActionId) -> Failure {
    Failure::not_permitted("this device does not count as an approver of this ledger; nothing was signed").on(id)
}

fn some_words<'t>(field: &str, text: &'t str) -> Result<&'t str, Failure> {
    let text = text.trim();
    if text.is_empty() {
        return Err(Failure::bad_input(field, "a few words are needed; they are kept as evidence"));
    }
    if text.chars().count() > WORDS_LIMIT {
        return Err(Failure::bad_input(field, format!("at most {WORDS_LIMIT} characters are kept")));
    }
    Ok(text)
}
