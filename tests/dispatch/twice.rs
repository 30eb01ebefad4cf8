//! The same thing proposed twice under two keys: a person sees the other one before it can be approved, wherever it went.

use crate::crm::Crm;
use crate::office::{MAILBOX, Office, ROBIN, SUPPORT, customers_message, proposal, start_of_day};
use countersign_domain::{ActionId, Approval, Conversation, Signable, State};
use countersign_engine::view::FindingDoc;
use countersign_engine::{Code, LoginSecret, SANDBOX};
use countersign_sandbox::api::Api;
use countersign_sandbox::apps::resend::Resend;
use countersign_sandbox::{Fault, Times};
use serde_json::{Value, json};
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);
const KEY: &str = "re_good_key";

/// A mailbox and a mail service, and one source that may use both.
struct Two {
    office: Office,
    api: Api,
}

impl Two {
    async fn new() -> Two {
        let office = Office::new().await;
        let api = Api::start(Box::new(Resend::new(KEY)), start_of_day().millis() / 1000).await.expect("it starts");
        let file = format!(
            "name = \"rs\"\nkind = \"resend\"\nenvironment = \"{SANDBOX}\"\nundo_seconds = 0\n[resend]\n\
             from = [\"Shop Support <{SUPPORT}>\"]\nbase_url = \"{}\"\nanswer_timeout_seconds = 1\n",
            api.base_url()
        );
        let added = office.desk.add_destination(&file, office.dir.path(), &LoginSecret::new(KEY)).await;
        added.unwrap_or_else(|e| panic!("not added: {e}"));
        let effects = ["email.reply", "email.send"].map(str::to_owned);
        let places = [MAILBOX, "rs"].map(str::to_owned);
        office.desk.add_source("both", SANDBOX, &effects, &places, false).await.expect("the source is added");
        office.sandbox.deliver(SUPPORT, customers_message("r20", &[ROBIN]).as_bytes());
        Two { office, api }
    }

    async fn take(&self, event: &str, effect: &str, destination: &str) -> ActionId {
        let mut document = proposal("r20", &[ROBIN]);
        document["event_id"] = json!(event);
        let action = &mut document["actions"][0];
        (action["effect"], action["destination"]) = (json!(effect), json!(destination));
        if effect == "email.send" {
            let payload = action["payload"].as_object_mut().expect("fields");
            payload.remove("in_reply_to");
            payload.remove("references");
            // Not even the person is the same: the step alone says that it is a second one.
            payload["to"][0]["email"] = json!("robin@home.example");
        }
        let source = self.office.intake.by_name("both").await.expect("it is known");
        let answer = self.office.intake.propose(&source, document.to_string().as_bytes()).await.expect("it is taken");
        assert_eq!(answer.actions[0].disposition, "created");
        answer.actions[0].id.as_deref().expect("an action").parse().expect("an id")
    }

    fn effects(&self) -> usize {
        self.office.sandbox.effects().len() + self.api.effects().len()
    }
}

async fn approve_unseen(office: &Office, id: ActionId) -> Result<(), Code> {
    let hash = office.doc(id).await.payload_hash;
    office.desk.approve(id, &hash, &[]).await.map(drop).map_err(|e| e.code)
}

async fn held(office: &Office, id: ActionId, code: &str) -> Vec<FindingDoc> {
    let mut findings = office.doc(id).await.findings;
    findings.retain(|f| f.code == code && f.holds && f.cleared.is_none());
    findings
}

#[tokio::test(flavor = "multi_thread")]
async fn r17_the_same_step_at_another_destination_or_as_another_mail_is_held_whatever_became_of_the_first() {
    for (effect, destination) in [("email.reply", "rs"), ("email.send", MAILBOX)] {
        for became in [State::Approved, State::Unknown, State::Accepted] {
            let two = Two::new().await;
            let office = &two.office;
            let first = two.take("evt-1", "email.reply", MAILBOX).await;
            office.approve(first).await;
            let dispatcher = office.dispatcher().await;
            if became == State::Unknown {
                office.sandbox.set_fault(Fault::reset_after_acting(), Times::Once);
            }
            if became != State::Approved {
                dispatcher.tick().await;
            }
            assert_eq!(office.state(first).await, became);
            let before = two.effects();
            let second = two.take("evt-2", effect, destination).await;
            assert_eq!(approve_unseen(office, second).await, Err(Code::NotPermitted), "{effect} {became}");
            let found = held(office, second, "repeated_step").await;
            assert_eq!(found.len(), 1, "{effect} {became}");
            assert_eq!((found[0].field.clone(), found[0].weight.as_str()), (first.to_string(), "stop"));
            if became == State::Accepted {
                office.later(MINUTE);
                dispatcher.tick().await;
                assert_eq!((office.state(second).await, two.effects()), (State::Prepared, before));
                office.approve(second).await;
                dispatcher.tick().await;
                assert_eq!((office.state(second).await, two.effects()), (State::Accepted, 2), "a person wanted both");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r17_a_revision_is_no_repetition_of_the_step_that_it_revises() {
    let two = Two::new().await;
    let office = &two.office;
    let first = two.take("evt-1", "email.reply", MAILBOX).await;
    office.approve(first).await;
    office.dispatcher().await.tick().await;
    let revised = office.desk.revise(first, None).await.expect("it can be revised");
    let id: ActionId = revised.id.parse().expect("an id");
    assert!(held(office, id, "repeated_step").await.is_empty(), "whoever revised it had the first one before them");
    assert!(office.doc(id).await.findings.iter().any(|f| f.code == "follows"));
    // A third one elsewhere is one beside both of them.
    let third = two.take("evt-3", "email.reply", "rs").await;
    assert_eq!(held(office, third, "repeated_step").await.len(), 1);
    approve_unseen(office, id).await.expect("nothing else holds it");
    assert_eq!(held(office, third, "repeated_step").await.len(), 2);
}

/// Stores an approval as somebody at another window gives it, who looked before the other decision was stored.
async fn approve_at_another_window(office: &Office, id: ActionId) {
    let core = &office.core;
    let secret = core.ledger_secret().await.expect("a secret");
    let s = core.ledger.signable(id, &secret).await.expect("it can be signed");
    let (_, connector) = core.destinations.connector(&s.sealed.key().destination).await.expect("it is there");
    let (told, now) = (s.detail.conversation.as_ref(), office.clock.now());
    let wire = connector.render(&s.sealed, &s.idempotency_key, told, now).expect("it can be sent");
    let what = Signable {
        key: s.sealed.key().clone(),
        payload_version: s.sealed.version(),
        payload_hash: s.sealed.hash(),
        wire_hash: wire.hash(),
        account: s.destination.account,
        conversation: told.map(Conversation::hash),
    };
    let signer = core.signer(SANDBOX, None).await.expect("a key");
    let until = now.plus(60 * MINUTE);
    let approval = Approval::sign(&what, what.payload_hash, &signer.person, &signer.device, s.sequence, now, until);
    let approval = approval.expect("it is the current one");
    core.ledger.approve(id, &approval, &wire, 1, now, false, now).await.expect("it is stored");
}

#[tokio::test(flavor = "multi_thread")]
async fn r16_of_two_that_go_at_the_same_moment_to_two_places_one_waits_and_then_asks_a_person() {
    for _ in 0..3 {
        let two = Two::new().await;
        let office = &two.office;
        let first = two.take("evt-1", "email.reply", MAILBOX).await;
        let second = two.take("evt-2", "email.reply", "rs").await;
        approve_at_another_window(office, first).await;
        approve_at_another_window(office, second).await;
        office.later(Duration::from_secs(1));
        let dispatcher = office.dispatcher().await;
        dispatcher.tick().await;
        for _ in 0..3 {
            office.later(2 * MINUTE);
            dispatcher.tick().await;
        }
        assert_eq!(two.effects(), 1, "nobody wanted two");
        let mut states = [office.state(first).await, office.state(second).await];
        states.sort_by_key(|s| s.name());
        assert_eq!(states, [State::Accepted, State::NeedsReview]);
    }
}

fn task() -> Value {
    json!({ "record": { "type": "contact", "match": { "email": ROBIN } }, "title": "Call Robin", "due_at": "2026-11-05" })
}

#[tokio::test(flavor = "multi_thread")]
async fn r17_two_identical_tasks_for_one_contact_are_seen_before_and_wanted_after() {
    let crm = Crm::new().await;
    let dispatcher = crm.office.dispatcher().await;
    let first = crm.one("r1", "crm.task", task()).await;
    crm.approve(&[first]).await;
    let second = crm.one("r2", "crm.task", task()).await;
    assert_eq!(approve_unseen(&crm.office, second).await, Err(Code::NotPermitted));
    assert_eq!(held(&crm.office, second, "repeated_record").await[0].field, first.to_string());
    crm.go_on(&dispatcher, 2, MINUTE).await;
    assert_eq!((crm.states([first, second]).await, crm.effects(first).await), ([State::Accepted, State::Prepared], 1));
    crm.approve(&[second]).await;
    crm.go_on(&dispatcher, 2, MINUTE).await;
    assert_eq!((crm.office.state(second).await, crm.effects(second).await), (State::Accepted, 1), "it was wanted");
}

#[tokio::test(flavor = "multi_thread")]
async fn r17_two_notes_on_one_contact_are_pointed_out_and_both_go() {
    let crm = Crm::new().await;
    let dispatcher = crm.office.dispatcher().await;
    let record = json!({ "type": "contact", "match": { "id": "101" } });
    let note = |text: &str| json!({ "record": record, "text": text });
    let first = crm.one("r1", "crm.note", note("Moved to Tuesday")).await;
    let second = crm.one("r2", "crm.note", note("Wants a blue chair")).await;
    approve_unseen(&crm.office, first).await.expect("nothing holds it");
    let doc = crm.office.doc(second).await;
    let noted = doc.findings.iter().find(|f| f.code == "repeated_record").expect("it is pointed out");
    assert_eq!((noted.holds, noted.weight.as_str(), noted.field.clone()), (false, "note", first.to_string()));
    approve_unseen(&crm.office, second).await.expect("two notes are no repeat");
    crm.go_on(&dispatcher, 3, 3 * MINUTE).await;
    assert_eq!(crm.states([first, second]).await, [State::Accepted; 2], "the second one is not stopped behind it");
    assert_eq!((crm.effects(first).await, crm.effects(second).await), (1, 1));
}
