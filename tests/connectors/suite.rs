//! One suite for every kind with an HTTP API. Which trials there are, and what must come of doubt, is chosen from the
//! contract of the destination and effect; how often something happened is counted at the double.

use std::time::Duration;

use countersign_connectors::{BootTime, Connector, kinds};
use countersign_domain::policy::{self, Plan};
use countersign_domain::state::{Fact, Standing, State, advance};
use countersign_domain::{Contract, Countersigned, Outcome, Sighting, Strength};
use countersign_sandbox::api::{Acts, ApiFault, On};
use countersign_sandbox::{Point, Times};

use crate::doubles::{Double, Stand, all};
use crate::rig::{Attempt, BRIEF, NOW, PATIENT, Tried, attempt_on, judge, order_for};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Want {
    Accepted,
    Refused,
    NotSent,
    /// Certainly nothing happened, and the destination waits.
    Paused,
    Unclear,
}

fn came_to(outcome: &Outcome) -> Want {
    match outcome {
        Outcome::Accepted(_) => Want::Accepted,
        Outcome::Refused(_) => Want::Refused,
        Outcome::NotSent(no) if no.pauses => Want::Paused,
        Outcome::NotSent(_) => Want::NotSent,
        Outcome::Unclear(_) => Want::Unclear,
    }
}

struct Trial {
    name: &'static str,
    /// None: nothing is wrong.
    trouble: Option<ApiFault>,
    want: Want,
    effects: usize,
    limit: Duration,
}

/// What can go wrong at any HTTP API.
fn trials(double: &Double) -> Vec<Trial> {
    use Want::{Accepted, NotSent, Paused, Refused, Unclear};
    let trial = |name, trouble, want, effects| Trial { name, trouble, want, effects, limit: PATIENT };
    let silent = |name, trouble, effects| Trial { name, trouble: Some(trouble), want: Unclear, effects, limit: BRIEF };
    let mut trials = vec![
        trial("accepts", None, Accepted, 1),
        trial("refuses", Some(ApiFault::refuses(double.refuses_with)), Refused, 0),
        trial("refuses the login", Some(ApiFault::refuses(401)), Paused, 0),
        trial("is asked too often", Some(ApiFault::too_many("7")), NotSent, 0),
        silent("hangs before acting", ApiFault::hangs_before_acting(), 0),
        silent("hangs after acting", ApiFault::hangs_after_acting(), 1),
        trial("resets before acting", Some(ApiFault::resets_before_acting()), Unclear, 0),
        trial("resets after acting", Some(ApiFault::resets_after_acting()), Unclear, 1),
        trial("hangs up after acting", Some(ApiFault::closes_after_acting()), Unclear, 1),
        trial("fails after acting", Some(ApiFault::fails_after_acting(500)), Unclear, 1),
        trial("is unavailable after acting", Some(ApiFault::fails_after_acting(503)), Unclear, 1),
        trial("gateway 502 after acting", Some(ApiFault::gateway_after_acting(502)), Unclear, 1),
        trial("gateway 504 after acting", Some(ApiFault::gateway_after_acting(504)), Unclear, 1),
        trial("gateway 408 after acting", Some(ApiFault::gateway_after_acting(408)), Unclear, 1),
        trial("captive portal, 200", Some(ApiFault::portal(200)), Unclear, 0),
        trial("captive portal, 302", Some(ApiFault::portal(302)), Unclear, 0),
        trial("captive portal, 401", Some(ApiFault::portal(401)), Unclear, 0),
        trial("captive portal, 511", Some(ApiFault::portal(511)), Unclear, 0),
        trial("answers twice, 429 first", Some(ApiFault::answers_twice(429)), Unclear, 1),
        trial("answers twice, a refusal first", Some(ApiFault::answers_twice(double.refuses_with)), Unclear, 1),
        trial("truncates its answer", Some(ApiFault::truncated_after_acting()), Unclear, 1),
        trial("answers without end", Some(ApiFault::endless_after_acting()), Unclear, 1),
        trial("talks nonsense", Some(ApiFault::nonsense_after_acting()), Unclear, 1),
        trial("error inside 200", Some(ApiFault::says_ok_but(Acts::No, r#"{"error":{"message":"no"}}"#)), Unclear, 0),
        trial("error list inside 200", Some(ApiFault::says_ok_but(Acts::No, r#"{"errors":["no"]}"#)), Unclear, 0),
    ];
    if double.names_its_receipt {
        trials.push(trial("success without its reference", Some(ApiFault::forgets_the_reference()), Unclear, 1));
    }
    trials
}

/// One trial with its own double, destination and order.
struct Run {
    stand: Stand,
    order: Countersigned,
    case: String,
}

impl Run {
    async fn new(double: &Double, effect: &str, name: &str) -> Result<Run, Box<dyn std::error::Error>> {
        let stand = double.stand().await?;
        let order = order_for(&*stand.connector, effect, name, (double.payload)(effect), Double::about(effect));
        Ok(Run { stand, order, case: format!("{} {effect}: {name}", double.name()) })
    }

    fn contract(&self) -> &Contract {
        self.stand.connector.contract_of(&self.order).expect("a contract")
    }
    async fn attempt(&self, limit: Duration) -> Attempt {
        attempt_on(&*self.stand.connector, &self.stand.login, &self.order, limit).await
    }
    async fn look(&self, noted: &[serde_json::Value]) -> Sighting {
        self.stand.connector.look(&self.order, &self.stand.login, noted).await
    }
    fn effects(&self) -> usize {
        self.stand.api.effects().len()
    }

    /// Every request that was made to change something is the stored one, byte for byte.
    fn all_are_the_stored_bytes(&self) {
        let writes = self.stand.api.writes();
        for write in &writes {
            let mut bytes = format!("{} {}\n", write.method, write.target);
            let stored = String::from_utf8_lossy(self.order.wire().bytes()).into_owned();
            let head = stored.split("\n\n").next().unwrap_or_default();
            for (name, value) in write.headers.iter().filter(|(n, _)| head.contains(&format!("\n{n}: "))) {
                bytes.push_str(&format!("{name}: {value}\n"));
            }
            bytes.push('\n');
            let mut sent = bytes.into_bytes();
            sent.extend_from_slice(&write.body);
            assert_eq!(sent, self.order.wire().bytes(), "{}: identical bytes", self.case);
        }
    }

    /// After doubt the contract says what helps: a repeat, a look, a person.
    async fn doubt_is_cleared(&self, noted: &[serde_json::Value], happened: usize) {
        let (case, contract) = (&self.case, self.contract());
        let later = NOW.plus(Duration::from_secs(1));
        let plan = policy::plan(contract, NOW, NOW, 0, true, true, later);
        if contract.has_native_key() {
            assert_eq!(plan, Plan::Repeat, "{case}");
            self.a_no_in_doubt_stays_unknown().await;
            let again = self.attempt(PATIENT).await;
            assert_eq!(came_to(&again.outcome), Want::Accepted, "{case}, again: {:?}", again.outcome);
            assert_eq!(self.effects(), 1, "{case}: repeated under its key");
            self.all_are_the_stored_bytes();
            return;
        }
        assert_ne!(plan, Plan::Repeat, "{case}");
        let writes = self.stand.api.writes().len();
        if !contract.can_look() {
            assert_eq!(plan, Plan::AskPerson, "{case}");
            assert_eq!(self.effects(), happened, "{case}");
            return;
        }
        let sighting = self.look(noted).await;
        assert_eq!(self.stand.api.writes().len(), writes, "{case}: looking changes nothing");
        let after_the_delay = NOW.plus(contract.lookup_delay() + Duration::from_secs(1));
        match (&sighting, happened) {
            (Sighting::Found(receipt), 1) => assert!(receipt.strength >= Strength::Weak, "{case}"),
            (Sighting::NotSeen { .. }, 0) => {
                assert!(
                    !policy::absence_proves(contract, NOW, NOW) || contract.lookup_delay().is_zero(),
                    "{case}: not at once"
                );
                if policy::absence_proves(contract, NOW, after_the_delay) {
                    let again = self.attempt(PATIENT).await;
                    assert_eq!(came_to(&again.outcome), Want::Accepted, "{case}, again: {:?}", again.outcome);
                    assert_eq!(self.effects(), 1, "{case}, again");
                    self.all_are_the_stored_bytes();
                }
            }
            _ => panic!("{case}: {happened} happened, and the look says {sighting:?}"),
        }
        assert!(self.effects() <= 1, "{case}: no second one");
    }

    /// A 429, 401 or 409 that a repeat gets proves nothing about the first request.
    async fn a_no_in_doubt_stays_unknown(&self) {
        for status in [429, 401, 409] {
            self.stand.api.fault_once(ApiFault::refuses(status));
            let again = self.attempt(PATIENT).await;
            let doubted = Standing {
                state: State::InProgress,
                attempts: 1,
                crossed_once: true,
                crossing: true,
                in_doubt: true,
                ..Standing::proposed(true)
            };
            let after = match &again.outcome {
                Outcome::NotSent(no) => advance(&doubted, &Fact::NotSent { counts: no.counts }),
                Outcome::Refused(_) => advance(&doubted, &Fact::Refused),
                Outcome::Unclear(_) => advance(&doubted, &Fact::Unclear),
                Outcome::Accepted(_) => panic!("{}: {status} is no yes", self.case),
            };
            assert_eq!(after.map(|s| s.state), Ok(State::Unknown), "{}: {status} in doubt", self.case);
        }
    }
}

async fn run(double: &Double, effect: &str, trial: &Trial) -> Tried {
    let run = Run::new(double, effect, trial.name).await?;
    if let Some(fault) = &trial.trouble {
        run.stand.api.fault_once(fault.clone());
    }
    let attempt = run.attempt(trial.limit).await;
    let case = &run.case;
    assert_eq!(came_to(&attempt.outcome), trial.want, "{case}: {:?}", attempt.outcome);
    assert_eq!(run.effects(), trial.effects, "{case}");
    assert_eq!(run.stand.api.faults(), 0, "{case}: the trouble took place");
    let api = &run.stand.api;
    let questions = api.requests().len() - api.writes().len();
    assert_eq!(api.connections() - questions, 1, "{case}: one connection, one request");
    match trial.want {
        Want::NotSent | Want::Paused => {
            if let (Outcome::NotSent(no), "is asked too often") = (&attempt.outcome, trial.name) {
                assert_eq!(no.retry_after, Some(Duration::from_secs(7)), "{case}");
            }
            let again = run.attempt(PATIENT).await;
            assert_eq!(came_to(&again.outcome), Want::Accepted, "{case}, again: {:?}", again.outcome);
            assert_eq!(run.effects(), 1, "{case}, again");
        }
        Want::Unclear => run.doubt_is_cleared(&attempt.noted, trial.effects).await,
        Want::Accepted | Want::Refused => {}
    }
    run.all_are_the_stored_bytes();
    Ok(())
}

/// Nobody listens: the destination waits, and then it goes.
async fn down(double: &Double, effect: &str) -> Tried {
    let run = Run::new(double, effect, "cannot be reached").await?;
    run.stand.api.go_down().await;
    let attempt = run.attempt(PATIENT).await;
    assert_eq!(came_to(&attempt.outcome), Want::Paused, "{}: {:?}", run.case, attempt.outcome);
    run.stand.api.come_back().await?;
    assert_eq!(came_to(&run.attempt(PATIENT).await.outcome), Want::Accepted, "{}", run.case);
    assert_eq!(run.effects(), 1, "{}", run.case);
    Ok(())
}

/// The server hangs up before a word was said: nothing was sent, and it goes again.
async fn hangs_up(double: &Double, effect: &str) -> Tried {
    let run = Run::new(double, effect, "hangs up before a word").await?;
    run.stand.api.fault_once(ApiFault::hangs_up_at_once());
    let connector = &*run.stand.connector;
    let poised = connector.approach(&run.order, &run.stand.login, NOW).await.map_err(|h| format!("{h:?}"))?;
    // A question on the way was another connection.
    let all = u64::try_from(run.stand.api.connections().max(1)).expect("a small number");
    run.stand.api.wait_for(Point::Disconnected, all).await?;
    let (outcome, _) =
        judge(connector, &run.stand.login, &run.order, poised.cross(BootTime::now(), PATIENT).await).await;
    assert_eq!(came_to(&outcome), Want::NotSent, "{}: {outcome:?}", run.case);
    assert_eq!(came_to(&run.attempt(PATIENT).await.outcome), Want::Accepted, "{}", run.case);
    assert_eq!(run.effects(), 1, "{}", run.case);
    Ok(())
}

/// The token was revoked: not sent, and the destination waits for a person.
async fn revoked(double: &Double, effect: &str) -> Tried {
    let run = Run::new(double, effect, "revoked token").await?;
    run.stand.api.with_app(double.revoke);
    let attempt = run.attempt(PATIENT).await;
    let Outcome::NotSent(no) = &attempt.outcome else { panic!("{}: {:?}", run.case, attempt.outcome) };
    assert!(no.pauses && !no.counts && no.code.contains(":login:"), "{}: {no:?}", run.case);
    assert!(
        !no.words.contains(&double.secret) && !no.code.contains(&double.secret),
        "{}: no secret in words",
        run.case
    );
    assert_eq!(run.effects(), 0, "{}", run.case);
    Ok(())
}

/// The answer comes after the wait is over, on the same connection.
async fn late(double: &Double, effect: &str) -> Tried {
    let run = Run::new(double, effect, "answers late").await?;
    run.stand.api.fault_once(ApiFault::answers_late());
    let attempt = run.attempt(BRIEF).await;
    let late = attempt.late.expect("the connection is kept");
    run.stand.api.release();
    let (outcome, _) = judge(&*run.stand.connector, &run.stand.login, &run.order, late.read_on(PATIENT).await).await;
    assert_eq!(came_to(&outcome), Want::Accepted, "{}: {outcome:?}", run.case);
    assert_eq!((run.effects(), run.stand.api.writes().len()), (1, 1), "{}", run.case);
    Ok(())
}

/// The same key with other content: nothing happens under it, and nobody may say that nothing ever did.
async fn other_content(double: &Double, effect: &str) -> Tried {
    let run = Run::new(double, effect, "other content").await?;
    assert_eq!(came_to(&run.attempt(PATIENT).await.outcome), Want::Accepted, "{}", run.case);
    let other = (double.other_content)(effect);
    let other = order_for(&*run.stand.connector, effect, "other content", other, Double::about(effect));
    assert_eq!(other.idempotency_key(), run.order.idempotency_key(), "the key does not depend on the content");
    let attempt = attempt_on(&*run.stand.connector, &run.stand.login, &other, PATIENT).await;
    assert_eq!(came_to(&attempt.outcome), Want::Unclear, "{}: {:?}", run.case, attempt.outcome);
    assert_eq!(run.effects(), 1, "{}", run.case);
    Ok(())
}

/// The same key while the first request is running.
async fn at_once(double: &Double, effect: &str) -> Tried {
    let run = Run::new(double, effect, "the same key at once").await?;
    run.stand.api.fault_once(ApiFault::takes_its_time());
    let second = async {
        run.stand.api.wait_for(Point::Held, 1).await.expect("the first one is running");
        let second = run.attempt(PATIENT).await;
        assert_ne!(came_to(&second.outcome), Want::Accepted, "{}: {:?}", run.case, second.outcome);
        assert_eq!(run.effects(), 0, "{}: nothing yet", run.case);
        run.stand.api.release();
    };
    let (first, ()) = tokio::join!(run.attempt(PATIENT), second);
    assert_eq!(came_to(&first.outcome), Want::Accepted, "{}: {:?}", run.case, first.outcome);
    assert_eq!(came_to(&run.attempt(PATIENT).await.outcome), Want::Accepted, "{}: replayed", run.case);
    assert_eq!(run.effects(), 1, "{}", run.case);
    Ok(())
}

/// Past half of the key's time nothing is repeated by itself, past all of it nothing at all; and why: the double has
/// forgotten the key and would act again.
async fn expired(double: &Double, effect: &str) -> Tried {
    let run = Run::new(double, effect, "expired key").await?;
    run.stand.api.fault_once(ApiFault::hangs_after_acting());
    assert_eq!(came_to(&run.attempt(BRIEF).await.outcome), Want::Unclear, "{}", run.case);
    let contract = run.contract();
    let window = contract.retention().expect("a native key has a window");
    let plan = |at| policy::plan(contract, NOW, NOW, 0, true, true, NOW.plus(at));
    assert_eq!(plan(window / 2 - Duration::from_secs(1)), Plan::Repeat, "{}", run.case);
    assert_ne!(plan(window / 2), Plan::Repeat, "{}", run.case);
    assert!(!policy::person_may_repeat(contract, NOW, NOW.plus(window)), "{}", run.case);
    assert_ne!(plan(window), Plan::Repeat, "{}", run.case);
    Ok(())
}

/// What an index hides is not there yet, and is found when it has caught up.
async fn index_lag(double: &Double, effect: &str) -> Tried {
    let run = Run::new(double, effect, "index lag").await?;
    run.stand.api.hide_what_is_new(true);
    run.stand.api.fault_once(ApiFault::hangs_after_acting());
    let attempt = run.attempt(BRIEF).await;
    assert_eq!(came_to(&attempt.outcome), Want::Unclear, "{}", run.case);
    let contract = run.contract();
    let look = run.look(&attempt.noted).await;
    if let Sighting::NotSeen { .. } = look {
        assert!(!policy::absence_proves(contract, NOW, NOW), "{}: absence at once proves nothing", run.case);
    }
    run.stand.api.hide_what_is_new(false);
    let look = run.look(&attempt.noted).await;
    assert!(matches!(look, Sighting::Found(_)), "{}: {look:?}", run.case);
    assert_eq!(run.effects(), 1, "{}", run.case);
    Ok(())
}

/// The destination cannot be asked: that is no absence.
async fn cannot_ask(double: &Double, effect: &str) -> Tried {
    for fault in
        [ApiFault::portal(200), ApiFault::portal(404), ApiFault::refuses(500), ApiFault::resets_before_acting()]
    {
        let run = Run::new(double, effect, "cannot be asked").await?;
        let fault = ApiFault::new(fault.acts, fault.says).on(On::Questions);
        run.stand.api.fault_once(ApiFault::resets_after_acting());
        let attempt = run.attempt(PATIENT).await;
        run.stand.api.set_fault(fault.clone(), Times::Always);
        let look = run.look(&attempt.noted).await;
        assert!(matches!(look, Sighting::CannotTell { .. }), "{}, {fault:?}: {look:?}", run.case);
    }
    Ok(())
}

/// One of two recipients is refused: nobody gets it.
async fn partial(double: &Double, effect: &str, refuse: fn(&mut dyn countersign_sandbox::api::App)) -> Tried {
    let stand = double.stand().await?;
    let mut payload = (double.payload)(effect);
    payload["cc"] = serde_json::json!([{ "email": "gone@customer.example" }]);
    let order = order_for(&*stand.connector, effect, "partial", payload, Double::about(effect));
    stand.api.with_app(refuse);
    let attempt = attempt_on(&*stand.connector, &stand.login, &order, PATIENT).await;
    assert_eq!(came_to(&attempt.outcome), Want::Refused, "{} {effect}: {:?}", double.name(), attempt.outcome);
    assert_eq!(stand.api.effects().len(), 0, "{} {effect}: nobody got it", double.name());
    Ok(())
}

#[tokio::test]
async fn every_kind_with_an_http_api_has_a_double_for_all_of_its_effects() -> Tried {
    let doubles = all();
    for kind in kinds().into_iter().filter(|kind| kind.name != "mailbox") {
        let of_kind: Vec<&Double> = doubles.iter().filter(|d| d.kind == kind.name).collect();
        assert!(!of_kind.is_empty(), "{} has no double, so nothing is known of it", kind.name);
        for double in of_kind {
            let stand = double.stand().await?;
            for effect in &kind.effects {
                assert!(stand.connector.contract(effect).is_some(), "{} {effect} has no contract", double.name());
            }
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r20_no_trial_of_an_http_api_ends_with_two_effects_or_with_more_than_can_be_known() -> Tried {
    for double in all() {
        let kind = kinds().into_iter().find(|k| k.name == double.kind).expect("it is registered");
        for effect in kind.effects {
            let mut count = 0;
            for trial in trials(&double) {
                run(&double, effect, &trial).await?;
                count += 1;
            }
            down(&double, effect).await?;
            revoked(&double, effect).await?;
            hangs_up(&double, effect).await?;
            late(&double, effect).await?;
            count += 4;
            let stand = double.stand().await?;
            let contract = stand.connector.contract(effect).expect("a contract");
            if contract.has_native_key() {
                other_content(&double, effect).await?;
                at_once(&double, effect).await?;
                expired(&double, effect).await?;
                count += 3;
            }
            if contract.can_look() {
                cannot_ask(&double, effect).await?;
                index_lag(&double, effect).await?;
                count += 2;
            }
            if let Some(refuse) = double.refuse_one {
                partial(&double, effect, refuse).await?;
                count += 1;
            }
            println!("{} {effect}: {count} trials", double.name());
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_poised_request_that_is_dropped_says_nothing() -> Tried {
    for double in all() {
        let effect = kinds().into_iter().find(|k| k.name == double.kind).expect("it is registered").effects[0];
        let run = Run::new(&double, effect, "dropped").await?;
        let connector: &dyn Connector = &*run.stand.connector;
        drop(connector.approach(&run.order, &run.stand.login, NOW).await.map_err(|h| format!("{h:?}"))?);
        run.stand.api.wait_for(Point::Disconnected, 1).await?;
        assert_eq!((run.stand.api.writes().len(), run.effects()), (0, 0), "{}", run.case);
    }
    Ok(())
}
