//! Somebody else answers in the provider's place, or the clocks are apart: what people are told.

use std::time::Duration;

use countersign_connectors::{SetupError, Whoami, kinds};
use countersign_domain::{Outcome, Sighting};
use countersign_sandbox::Times;
use countersign_sandbox::api::{Acts, ApiFault, ApiSays, On};

use crate::doubles::{Double, Stand, all};
use crate::rig::{NOW, PATIENT, Tried, attempt_on, order_for};

const HOUR: Duration = Duration::from_secs(3600);

fn called(double: &Double) -> &'static str {
    match double.kind {
        "webhook" => "the receiver",
        kind => kinds().into_iter().find(|k| k.name == kind).expect("it is registered").title,
    }
}

fn says_so(told: &str, who: &str, case: &str) {
    let told = told.to_lowercase();
    for part in [&*format!("not {}", who.to_lowercase()), "nothing can be concluded", "check the destination's address"]
    {
        assert!(told.contains(part), "{case}: `{part}` is missing: {told}");
    }
    assert!(!told.contains("welcome to our network"), "{case}: nothing of the page is kept: {told}");
}

async fn check(stand: &Stand) -> Result<Whoami, SetupError> {
    stand.connector.check(&stand.login, NOW, &|_| {}).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r20_a_page_in_the_providers_place_is_said_to_be_somebody_elses_and_to_prove_nothing() -> Tried {
    for double in all() {
        let effect = kinds().into_iter().find(|k| k.name == double.kind).expect("it is registered").effects[0];
        let who = called(&double);
        for status in [200, 302, 401, 403, 404, 504, 511] {
            let case = format!("{} {status}", double.name());
            let stand = double.stand().await?;
            let order = order_for(&*stand.connector, effect, "portal", (double.payload)(effect), Double::about(effect));
            stand.api.fault_once(ApiFault::portal(status));
            let attempt = attempt_on(&*stand.connector, &stand.login, &order, PATIENT).await;
            let Outcome::Unclear(doubt) = &attempt.outcome else { panic!("{case}: {:?}", attempt.outcome) };
            assert!(doubt.words.starts_with("a web page answered"), "{case}: {}", doubt.words);
            says_so(&doubt.words, who, &case);
            assert_eq!(stand.api.effects().len(), 0, "{case}");

            stand.api.set_fault(ApiFault::portal(status).on(On::Questions), Times::Always);
            let asked = stand.api.requests().len();
            let checked = check(&stand).await;
            match checked {
                // A receiver that promises no answers is only reached.
                Ok(_) => assert_eq!(stand.api.requests().len(), asked, "{case}: a page is no success"),
                Err(no) => says_so(&no.text, who, &case),
            }
            if stand.connector.contract(effect).expect("a contract").can_look() {
                match stand.connector.look(&order, &stand.login, &attempt.noted).await {
                    Sighting::CannotTell { why, signed_out } => {
                        says_so(&why, who, &case);
                        assert!(!signed_out, "{case}: nobody refused a login");
                    }
                    other => panic!("{case}: {other:?}"),
                }
            }
        }
    }
    Ok(())
}

#[tokio::test]
async fn r20_json_of_somebody_else_is_said_to_be_no_answer_of_the_provider() -> Tried {
    for double in all().into_iter().filter(|d| d.kind != "webhook") {
        let effect = kinds().into_iter().find(|k| k.name == double.kind).expect("it is registered").effects[0];
        let stand = double.stand().await?;
        let order = order_for(&*stand.connector, effect, "gateway", (double.payload)(effect), Double::about(effect));
        let says = ApiSays::Json { status: 503, body: r#"{"fault":{"code":"upstream"}}"#.to_owned() };
        stand.api.fault_once(ApiFault::new(Acts::Yes, says));
        let attempt = attempt_on(&*stand.connector, &stand.login, &order, PATIENT).await;
        let Outcome::Unclear(doubt) = &attempt.outcome else { panic!("{}: {:?}", double.name(), attempt.outcome) };
        says_so(&doubt.words, called(&double), &double.name());
    }
    Ok(())
}

#[tokio::test]
async fn f40_a_connection_test_learns_how_far_the_clocks_are_apart() -> Tried {
    for double in all() {
        let stand = double.stand().await?;
        stand.api.advance(HOUR);
        let whoami = check(&stand).await.map_err(|no| format!("{}: {}", double.name(), no.text))?;
        match whoami.ahead_seconds {
            Some(ahead) => assert!((3590..=3610).contains(&ahead), "{}: {ahead}", double.name()),
            None => assert_eq!(stand.api.requests().len(), 0, "{}: it answered, and told its time", double.name()),
        }
    }
    Ok(())
}
