//! Destinations with an HTTP API, through the whole of dispatch and reconcile.

use crate::office::{Office, ROBIN, SUPPORT};
use countersign_domain::{ActionId, State, Verdict};
use countersign_engine::{Code, Dispatcher, LoginSecret, SANDBOX};
use countersign_sandbox::api::{Acts, Api, ApiFault, ApiRequest, ApiSays, App, On};
use countersign_sandbox::apps::{receiver::Receiver, resend::Resend};
use countersign_sandbox::{Point, Times};
use serde_json::{Value, json};
use std::time::Duration;

pub(crate) const MINUTE: Duration = Duration::from_secs(60);
pub(crate) const HOUR: Duration = Duration::from_secs(3600);
pub(crate) const WHSEC: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// An office with one more destination, behind a double.
pub(crate) struct Branch {
    pub(crate) office: Office,
    pub(crate) api: Api,
    pub(crate) dispatcher: Dispatcher,
    effect: &'static str,
}

impl Branch {
    pub(crate) async fn of(kind: &'static str, table: &str, secret: &str, app: Box<dyn App>) -> Branch {
        let office = Office::new().await;
        let now = office.clock.now().millis().div_euclid(1000);
        let api = Api::start(app, now).await.expect("the double starts");
        let path = if kind == "webhook" { "/in" } else { "" };
        let file = format!(
            "name = \"place\"\nkind = \"{kind}\"\nenvironment = \"{SANDBOX}\"\nundo_seconds = 0\n[{kind}]\n\
             base_url = \"{}{path}\"\nanswer_timeout_seconds = 3\n{table}",
            api.base_url()
        );
        let added = office.desk.add_destination(&file, office.dir.path(), &LoginSecret::new(secret)).await;
        added.unwrap_or_else(|e| panic!("not added: {e}"));
        let effect = if kind == "webhook" { "webhook.post" } else { "email.reply" };
        let (effects, places) = ([effect.to_owned()], ["place".to_owned()]);
        office.desk.add_source("agent", SANDBOX, &effects, &places, false).await.expect("the source is added");
        let dispatcher = office.dispatcher().await;
        Branch { office, api, dispatcher, effect }
    }

    pub(crate) async fn resend() -> Branch {
        let senders = "from = [\"Shop Support <support@shop.example>\"]\n";
        Branch::of("resend", senders, "re_good_key", Box::new(Resend::new("re_good_key"))).await
    }

    pub(crate) async fn webhook(contract: &str, make: impl FnOnce(&mut Receiver)) -> Branch {
        let mut receiver = Receiver::new(WHSEC);
        make(&mut receiver);
        Branch::of("webhook", &format!("contract = \"{contract}\"\n"), WHSEC, Box::new(receiver)).await
    }

    /// What the source hands in for a request.
    pub(crate) fn document(&self, request: &str) -> Value {
        let payload = match self.effect {
            "webhook.post" => json!({ "body": { "slot": "Tuesday", "note": "Grüße" } }),
            _ => json!({
                "from": { "name": "Shop Support", "email": SUPPORT }, "to": [{ "name": "Vale, Robin", "email": ROBIN }],
                "subject": "Re: Grüße", "text": "Of course: Tuesday.\nGrüße, 例子\n", "html": null,
                "in_reply_to": format!("<{request}@customer.example>"),
            }),
        };
        json!({
            "event_id": format!("evt-{request}"), "request_id": request,
            "conversation": {
                "from": { "name": "Robin Vale", "email": ROBIN }, "subject": "Grüße",
                "message_id": format!("<{request}@customer.example>"), "references": [], "text": "May I?", "html": null
            },
            "actions": [{ "step": "first", "effect": self.effect, "destination": "place", "payload": payload }],
            "draft": { "run_id": "run-1", "model": "any", "reason": "as asked" }
        })
    }

    pub(crate) async fn approved(&self, request: &str) -> ActionId {
        let document = self.document(request);
        let source = self.office.intake.by_name("agent").await.expect("it is known");
        let answer = self.office.intake.propose(&source, document.to_string().as_bytes()).await.expect("it is taken");
        let answer = serde_json::to_value(&answer).expect("plain data");
        let id = answer["actions"][0]["id"].as_str().unwrap_or_else(|| panic!("no action: {answer}"));
        let id = id.parse().expect("an id");
        self.office.approve(id).await;
        id
    }

    pub(crate) async fn tick(&self) {
        let report = self.dispatcher.tick().await;
        assert!(report.failures.is_empty(), "{report:?}");
    }

    /// Both clocks go on.
    pub(crate) fn later(&self, by: Duration) {
        self.office.later(by);
        self.api.advance(by);
    }

    pub(crate) async fn state(&self, id: ActionId) -> State {
        self.office.state(id).await
    }

    pub(crate) fn effects(&self) -> usize {
        self.api.effects().len()
    }

    /// What is stored of a request, apart from what proves who we are and when.
    fn bytes(request: &ApiRequest) -> (String, String, Vec<(String, String)>, Vec<u8>) {
        let stored = ["content-type", "idempotency-key", "webhook-id"];
        let headers = request.headers.iter().filter(|(n, _)| stored.contains(&n.as_str())).cloned().collect();
        (request.method.clone(), request.target.clone(), headers, request.body.clone())
    }

    pub(crate) fn all_attempts_sent_identical_bytes(&self) {
        let writes: Vec<_> = self.api.writes().iter().map(Branch::bytes).collect();
        assert!(writes.windows(2).all(|w| w[0] == w[1]), "identical bytes in all {} attempts", writes.len());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r21_a_lost_answer_of_a_native_key_is_repeated_by_itself_with_identical_bytes() {
    for keeps in ["resend", "webhook"] {
        let b = if keeps == "resend" {
            Branch::resend().await
        } else {
            Branch::webhook("keeps_id", |r| r.keeps_id = true).await
        };
        b.api.fault_once(ApiFault::resets_after_acting());
        let id = b.approved("r1").await;
        for _ in 0..3 {
            b.tick().await;
        }
        assert_eq!(b.state(id).await, State::Accepted, "{keeps}: no person was asked");
        assert_eq!((b.effects(), b.api.writes().len()), (1, 2), "{keeps}");
        b.all_attempts_sent_identical_bytes();
        let doc = b.office.doc(id).await;
        assert_eq!(doc.attempts.len(), 2, "{keeps}");
        assert!(doc.attempts[1].in_doubt, "{keeps}");
        assert_eq!(doc.receipt.expect("a receipt").kind, "answer");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r22_a_provider_in_trouble_is_left_alone_between_repeats() {
    let b = Branch::resend().await;
    b.api.set_fault(ApiFault::portal(504), Times::Always);
    let id = b.approved("r1").await;
    for _ in 0..3 {
        b.tick().await;
    }
    assert_eq!(
        (b.state(id).await, b.api.writes().len()),
        (State::Unknown, 2),
        "a lost answer is repeated once at once"
    );
    b.later(9 * MINUTE);
    b.tick().await;
    assert_eq!((b.state(id).await, b.api.writes().len()), (State::Unknown, 2), "not before ten minutes have passed");
    b.api.clear_faults();
    b.later(2 * MINUTE);
    b.tick().await;
    assert_eq!((b.state(id).await, b.api.writes().len(), b.effects()), (State::Accepted, 3, 1));
    b.all_attempts_sent_identical_bytes();
}

#[tokio::test(flavor = "multi_thread")]
async fn r21_another_request_running_under_our_key_is_doubt_and_no_proof_that_nothing_was_sent() {
    for keeps in ["resend", "webhook"] {
        let b = if keeps == "resend" {
            Branch::resend().await
        } else {
            Branch::webhook("keeps_id", |r| r.keeps_id = true).await
        };
        let running = r#"{"statusCode":409,"name":"concurrent_idempotent_requests","message":"still running"}"#;
        // Something on the way sent our request twice: the one is told of the other, which then takes effect.
        let told = ApiSays::Json { status: 409, body: running.to_owned() };
        b.api.fault_once(ApiFault::new(Acts::Yes, told));
        let id = b.approved("r1").await;
        b.dispatcher.tick().await;
        b.later(11 * MINUTE);
        b.tick().await;
        assert_eq!((b.state(id).await, b.effects()), (State::Accepted, 1), "{keeps}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r22_absence_gives_no_more_attempts_than_the_cap_and_a_person_gives_one() {
    let b = Branch::webhook("look_up", |r| r.can_be_asked = true).await;
    b.api.set_fault(ApiFault::refuses(500), Times::Always);
    let id = b.approved("r1").await;
    for _ in 0..40 {
        b.tick().await;
        b.later(5 * MINUTE);
    }
    assert_eq!((b.state(id).await, b.api.writes().len(), b.effects()), (State::GaveUp, 3, 0));
    b.api.clear_faults();
    b.office.approve(id).await;
    b.tick().await;
    assert_eq!((b.state(id).await, b.api.writes().len(), b.effects()), (State::Accepted, 4, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn r24_an_answer_without_our_id_shows_what_happened_and_never_that_nothing_did() {
    for happened in [true, false] {
        let b = Branch::webhook("look_up", |r| (r.can_be_asked, r.names_the_id) = (true, false)).await;
        let fault = if happened { ApiFault::resets_after_acting() } else { ApiFault::resets_before_acting() };
        b.api.fault_once(fault);
        let id = b.approved("r1").await;
        for _ in 0..8 {
            b.tick().await;
            b.later(10 * MINUTE);
        }
        let ended = if happened { State::Accepted } else { State::Unknown };
        assert_eq!((b.state(id).await, b.api.writes().len()), (ended, 1), "a first attempt began, and no second one");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r21_a_rest_that_ends_by_itself_does_not_end_a_persons_pause() {
    let b = Branch::resend().await;
    let (ledger, now) = (&b.office.core.ledger, b.office.clock.now());
    ledger.pause_destination("place", "Paused by a person.", None, now).await.expect("paused");
    ledger.pause_destination("place", "no network", Some(now.plus(MINUTE)), now).await.expect("it is no error");
    let id = b.approved("r1").await;
    b.later(HOUR);
    b.tick().await;
    assert_eq!((b.state(id).await, b.api.writes().len()), (State::Approved, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn r21_past_half_of_the_window_nothing_is_repeated_by_itself() {
    let b = Branch::resend().await;
    b.office
        .core
        .settings
        .set_repeats_by_itself("place", false, &b.office.core.owner, b.office.clock.now())
        .await
        .unwrap();
    b.api.fault_once(ApiFault::resets_after_acting());
    let id = b.approved("r1").await;
    b.tick().await;
    b.tick().await;
    assert_eq!((b.state(id).await, b.api.writes().len()), (State::Unknown, 1), "switched off for this destination");
    b.later(12 * HOUR);
    b.office
        .core
        .settings
        .set_repeats_by_itself("place", true, &b.office.core.owner, b.office.clock.now())
        .await
        .unwrap();
    for _ in 0..3 {
        b.later(7 * HOUR);
        b.tick().await;
    }
    assert_eq!((b.state(id).await, b.api.writes().len(), b.effects()), (State::Unknown, 1, 1));
    let lookups = b.office.doc(id).await.lookups;
    assert!(!lookups.is_empty(), "it was looked for instead");
    let refused = b.dispatcher.finish(id).await.expect_err("after 24 hours the key is a new one");
    assert_eq!(refused.code, Code::Conflict);
}

#[tokio::test(flavor = "multi_thread")]
async fn r21_between_half_and_the_whole_window_a_person_may_finish_it() {
    let b = Branch::resend().await;
    b.api.set_fault(ApiFault::hangs_after_acting(), Times::Once);
    let id = b.approved("r1").await;
    b.office
        .core
        .settings
        .set_repeats_by_itself("place", false, &b.office.core.owner, b.office.clock.now())
        .await
        .unwrap();
    b.tick().await;
    assert_eq!(b.state(id).await, State::Unknown);
    b.later(20 * HOUR);
    b.dispatcher.finish(id).await.expect("the key still holds");
    assert_eq!((b.state(id).await, b.effects(), b.api.writes().len()), (State::Accepted, 1, 2));
    b.all_attempts_sent_identical_bytes();
}

impl Branch {
    pub(crate) async fn repeats_by_itself(&self, on: bool) {
        let (owner, now) = (&self.office.core.owner, self.office.clock.now());
        self.office.core.settings.set_repeats_by_itself("place", on, owner, now).await.expect("it is set");
    }

    /// An action whose answer was lost, and which is not repeated for now.
    async fn in_doubt() -> (Branch, ActionId) {
        let b = Branch::resend().await;
        b.repeats_by_itself(false).await;
        b.api.fault_once(ApiFault::resets_after_acting());
        let id = b.approved("r1").await;
        b.tick().await;
        assert_eq!((b.state(id).await, b.api.writes().len()), (State::Unknown, 1));
        (b, id)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn f40_a_clock_set_back_into_the_window_repeats_nothing() {
    let (b, id) = Branch::in_doubt().await;
    let crossed = b.office.clock.now();
    b.later(25 * HOUR);
    b.tick().await;
    b.repeats_by_itself(true).await;
    // The provider's time goes on: it has forgotten the key, and a repeat would be a second message.
    b.office.clock.set(crossed.plus(HOUR));
    for _ in 0..3 {
        b.tick().await;
        b.office.later(MINUTE);
    }
    let refused = b.dispatcher.finish(id).await.expect_err("nobody knows what is left of the window");
    assert_eq!(refused.code, Code::Conflict);
    // Another process knows it by the journal alone.
    drop(b.dispatcher);
    let again = Dispatcher::start(b.office.again().await).await.expect("it starts");
    again.tick().await;
    again.finish(id).await.expect_err("nor after a restart");
    assert_eq!((b.office.state(id).await, b.api.writes().len(), b.api.effects().len()), (State::Unknown, 1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn r20_a_key_is_not_repeated_with_a_token_that_may_be_of_another_account() {
    let (b, id) = Branch::in_doubt().await;
    b.api.with_app(|app| {
        app.as_any().downcast_mut::<Resend>().expect("it is Resend").other_account = Some("re_other".into())
    });
    let keychain = &b.office.core.keychain;
    keychain.put_login("place", &LoginSecret::new("re_other")).await.expect("somebody signs in anew");
    b.repeats_by_itself(true).await;
    for _ in 0..3 {
        b.later(2 * MINUTE);
        b.tick().await;
    }
    assert_eq!((b.state(id).await, b.effects()), (State::Unknown, 1), "the other account would send a second one");
    let attempt = b.office.doc(id).await.attempts.pop().expect("it was begun");
    assert!(attempt.crossed_at.is_none() && attempt.evidence.to_string().contains("signed in anew"), "{attempt:?}");
    b.dispatcher.finish(id).await.expect("it is tried");
    assert_eq!((b.state(id).await, b.effects()), (State::Unknown, 1), "nor by a person");
    keychain.put_login("place", &LoginSecret::new("re_good_key")).await.expect("the first one again");
    b.later(2 * MINUTE);
    b.tick().await;
    assert_eq!((b.state(id).await, b.effects(), b.api.writes().len()), (State::Accepted, 1, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn r21_the_window_of_a_key_is_judged_once_more_at_the_crossing() {
    for by_person in [false, true] {
        let (b, id) = Branch::in_doubt().await;
        let window = if by_person { 24 * HOUR } else { 12 * HOUR };
        b.later(window - MINUTE);
        b.repeats_by_itself(!by_person).await;
        // The look before the attempt takes its time, and the window closes.
        let slow = ApiFault::new(Acts::Yes, ApiSays::Held(Box::new(ApiSays::Normal)));
        b.api.fault_once(slow.on(On::Questions));
        let meanwhile = async {
            b.api.wait_for(Point::Held, 1).await.expect("it is asked");
            b.later(2 * MINUTE);
            b.api.release();
        };
        let repeat = async {
            match by_person {
                true => drop(b.dispatcher.finish(id).await),
                false => drop(b.dispatcher.tick().await),
            }
        };
        tokio::join!(repeat, meanwhile);
        assert_eq!((b.state(id).await, b.api.writes().len()), (State::Unknown, 1), "by a person: {by_person}");
        let attempt = b.office.doc(id).await.attempts.pop().expect("it was begun");
        assert!(attempt.in_doubt && attempt.crossed_at.is_none(), "{attempt:?}");
        assert!(attempt.evidence.to_string().contains("engine:key_window"), "{}", attempt.evidence);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r20_after_an_unclear_attempt_a_429_a_401_or_a_409_is_never_not_sent() {
    for status in [429, 401, 409] {
        for resend in [true, false] {
            let b =
                if resend { Branch::resend().await } else { Branch::webhook("keeps_id", |r| r.keeps_id = true).await };
            b.api.fault_once(ApiFault::resets_after_acting());
            b.api.set_fault(ApiFault::refuses(status), Times::Once);
            let id = b.approved("r1").await;
            b.tick().await;
            while b.api.writes().len() < 2 {
                b.later(Duration::from_secs(1));
                b.tick().await;
            }
            assert_eq!(b.state(id).await, State::Unknown, "{status}, resend: {resend}");
            assert_eq!((b.effects(), b.api.faults()), (1, 0), "{status}: it was repeated, and refused");
            if status == 401 {
                let row = b.office.core.ledger.destination("place").await.unwrap().expect("it is there");
                assert!(row.paused.is_some_and(|p| p.until.is_none()), "it waits for a person to sign in");
                b.office.core.ledger.resume_destination("place", b.office.clock.now()).await.unwrap();
            }
            b.later(11 * MINUTE);
            b.tick().await;
            assert_eq!((b.state(id).await, b.effects()), (State::Accepted, 1), "{status}, resend: {resend}");
            b.all_attempts_sent_identical_bytes();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r21_a_repeat_in_doubt_waits_as_long_as_the_destination_asks() {
    let b = Branch::resend().await;
    b.api.fault_once(ApiFault::resets_after_acting());
    b.api.fault_once(ApiFault::too_many("1800"));
    let id = b.approved("r1").await;
    b.tick().await;
    assert_eq!((b.state(id).await, b.api.writes().len()), (State::Unknown, 2));
    b.later(29 * MINUTE);
    b.tick().await;
    assert_eq!(b.api.writes().len(), 2, "not before its time");
    b.later(2 * MINUTE);
    b.tick().await;
    assert_eq!((b.state(id).await, b.api.writes().len(), b.effects()), (State::Accepted, 3, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn r20_what_promises_nothing_is_asked_about_at_a_person_and_never_repeated() {
    let b = Branch::webhook("none", |_| {}).await;
    b.api.fault_once(ApiFault::gateway_after_acting(504));
    let id = b.approved("r1").await;
    for _ in 0..5 {
        b.tick().await;
        b.later(HOUR);
    }
    assert_eq!((b.state(id).await, b.effects(), b.api.requests().len()), (State::Unknown, 1, 1));
    b.office.desk.resolve(id, Verdict::Happened, "it is in their system").await.expect("a person settles it");
    assert_eq!(b.state(id).await, State::Accepted);
}

#[tokio::test(flavor = "multi_thread")]
async fn r24_a_receiver_that_can_be_asked_settles_it_without_a_person() {
    for happened in [true, false] {
        let b = Branch::webhook("look_up", |r| r.can_be_asked = true).await;
        let fault = if happened { ApiFault::resets_after_acting() } else { ApiFault::resets_before_acting() };
        b.api.fault_once(fault);
        let id = b.approved("r1").await;
        b.tick().await;
        if !happened {
            assert_eq!(b.state(id).await, State::Unknown, "not seen at once is no proof");
        }
        for _ in 0..4 {
            b.later(MINUTE);
            b.tick().await;
        }
        assert_eq!((b.state(id).await, b.effects()), (State::Accepted, 1), "happened: {happened}");
        assert_eq!(b.api.writes().len(), if happened { 1 } else { 2 });
    }
}
