//! Every kind with an HTTP API over TLS with a private authority: what is not trusted hears not a byte.

use countersign_connectors::{Learned, NotGranted, ProbeStatus, SetupCode, connect, kinds, parse};
use countersign_domain::{Outcome, Sighting};
use countersign_sandbox::api::Api;
use countersign_sandbox::apps::oauth::SignIn;
use tempfile::tempdir;
use testkit::tls::Authority;

use crate::doubles::{Double, all};
use crate::rig::{NOW, PATIENT, Tried, attempt_on, order_for};

fn login(double: &Double) -> countersign_connectors::Login {
    countersign_connectors::Login::new("", double.secret.as_str())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r34_every_http_kind_is_sent_to_over_tls_with_a_private_authority() -> Tried {
    let (ca, dir) = (Authority::new(), tempdir()?);
    ca.write(&dir.path().join("ca.pem"))?;
    for double in all() {
        for effect in kinds().into_iter().find(|k| k.name == double.kind).expect("it is registered").effects {
            let api = Api::start((double.app)(), NOW.millis().div_euclid(1000)).await?;
            let front = ca.front("127.0.0.1", api.address()).await?;
            let connector =
                double.connect(&format!("https://{}", front.address), "ca_file = \"ca.pem\"\n", dir.path())?;
            let order = order_for(&*connector, effect, "tls", (double.payload)(effect), Double::about(effect));
            let case = format!("{} {effect}", double.name());
            let attempt = attempt_on(&*connector, &login(&double), &order, PATIENT).await;
            assert!(matches!(attempt.outcome, Outcome::Accepted(_)), "{case}: {:?}", attempt.outcome);
            assert_eq!(api.effects().len(), 1, "{case}");
            if connector.contract_of(&order).expect("a contract").can_look() {
                let seen = connector.look(&order, &login(&double), &attempt.noted).await;
                assert!(matches!(seen, Sighting::Found(_)), "{case}: {seen:?}");
            }
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r34_a_certificate_that_does_not_hold_means_not_sent_in_clear_words() -> Tried {
    let (ca, other, dir) = (Authority::new(), Authority::new(), tempdir()?);
    ca.write(&dir.path().join("ca.pem"))?;
    for double in all() {
        let effect = kinds().into_iter().find(|k| k.name == double.kind).expect("it is registered").effects[0];
        let api = Api::start((double.app)(), NOW.millis().div_euclid(1000)).await?;
        // Signed by somebody else; signed by ours for another name; and trusted by nobody but a file that is not named.
        let fronts = [
            (other.front("127.0.0.1", api.address()).await?, "ca_file = \"ca.pem\"\n"),
            (ca.front("elsewhere.example", api.address()).await?, "ca_file = \"ca.pem\"\n"),
            (ca.front("127.0.0.1", api.address()).await?, ""),
        ];
        let why = ["not signed by an authority", "for another server name", "certificate"];
        for ((front, ca_file), why) in fronts.iter().zip(why) {
            let case = format!("{}, {why}", double.name());
            let connector = double.connect(&format!("https://{}", front.address), ca_file, dir.path())?;
            let order = order_for(&*connector, effect, "tls", (double.payload)(effect), Double::about(effect));
            let attempt = attempt_on(&*connector, &login(&double), &order, PATIENT).await;
            let Outcome::NotSent(no) = &attempt.outcome else { panic!("{case}: {:?}", attempt.outcome) };
            assert!(no.pauses && !no.counts && no.code == "http:tls:failed", "{case}: {no:?}");
            assert!(no.words.contains("certificate") && no.words.contains(why), "{case}: {}", no.words);
            let told = std::sync::Mutex::new(Vec::new());
            let note = |probe: countersign_connectors::Probe| told.lock().expect("nobody panicked").push(probe);
            let refused = connector.check(&login(&double), NOW, &note).await.expect_err("it is not trusted");
            assert_eq!(refused.code, SetupCode::Tls, "{case}: {}", refused.text);
            assert!(refused.text.contains("certificate"), "{case}: {}", refused.text);
            assert_eq!(told.lock().expect("nobody panicked").last().map(|p| p.status), Some(ProbeStatus::Failed));
            assert_eq!((api.requests().len(), api.connections()), (0, 0), "{case}: it heard nothing");
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r34_the_authority_of_one_s_own_holds_for_where_a_sign_in_is_renewed_too() -> Tried {
    let (ca, dir) = (Authority::new(), tempdir()?);
    ca.write(&dir.path().join("ca.pem"))?;
    let id = SignIn::new("support@shop.example", "countersign", None, "refresh-1");
    let api = Api::start(Box::new(id), NOW.millis().div_euclid(1000)).await?;
    let front = ca.front("127.0.0.1", api.address()).await?;
    let sign_in = format!(
        "auth = \"oauth\"\ntoken_endpoint = \"https://{}/token\"\nclient_id = \"countersign\"\n",
        front.address
    );
    let mailbox = "from = [\"support@shop.example\"]\nsmtp = \"smtps://127.0.0.1:1\"\nusername = \"support\"\n";
    for (kind, table) in [("mailbox", mailbox), ("hubspot", "portal = 1\nbase_url = \"https://127.0.0.1:1\"\n")] {
        let made = |more: &str| {
            let file =
                format!("name = \"a\"\nkind = \"{kind}\"\nenvironment = \"sandbox\"\n[{kind}]\n{table}{sign_in}{more}");
            let told = |error: countersign_domain::json::FieldError| format!("{}: {}", error.field, error.reason);
            connect(&parse(&file).map_err(told)?, dir.path(), &Learned::default()).map_err(told)
        };
        let heard = api.requests().len();
        let untrusted = made("")?;
        match untrusted.oauth().ok_or("it signs in with OAuth")?.renew("refresh-1", None, NOW).await {
            Err(NotGranted::Later { why, .. }) => assert!(why.contains("certificate"), "{kind}: {why}"),
            other => panic!("{kind}: {other:?}"),
        }
        assert_eq!(api.requests().len(), heard, "{kind}: it heard nothing");
        let trusted = made("ca_file = \"ca.pem\"\n")?;
        let refresh = api.with_app(|app| app.as_any().downcast_mut::<SignIn>().map(|id| id.refresh_token().to_owned()));
        let refresh = refresh.ok_or("it is the sign-in server")?;
        let granted = trusted.oauth().ok_or("it signs in with OAuth")?.renew(&refresh, None, NOW).await;
        assert!(granted.is_ok(), "{kind}: {granted:?}");
    }
    Ok(())
}
