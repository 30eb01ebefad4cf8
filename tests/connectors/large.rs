//! What is too large is said before anybody approves it, and what fits arrives whole (F36).

use countersign_connectors::Unrenderable;
use countersign_domain::{ActionKey, LedgerSecret, Outcome, Payload, Sealed};
use serde_json::{Value, json};

use crate::doubles::{Double, all};
use crate::rig::{NOW, PATIENT, ROBIN, SUPPORT, Tried, attempt_on, order_for};

fn with_file(bytes: usize) -> Value {
    use base64::Engine as _;
    let content = base64::engine::general_purpose::STANDARD.encode(vec![b'x'; bytes]);
    json!({
        "from": { "email": SUPPORT }, "to": [{ "email": ROBIN }], "subject": "Größe", "text": "attached",
        "attachments": [{ "filename": "größe.bin", "content_type": "application/octet-stream", "base64": content }]
    })
}

fn double(kind: &str) -> Double {
    all().into_iter().find(|d| d.kind == kind).expect("it has a double")
}

async fn rendered(kind: &str, bytes: usize) -> Result<(), Unrenderable> {
    let stand = double(kind).stand().await.expect("it stands");
    let payload = Payload::parse("email.send", with_file(bytes), &[]).expect("it is a payload");
    let key = ActionKey {
        environment: "sandbox".into(),
        destination: "place".into(),
        effect: "email.send".into(),
        source: "agent".into(),
        request_id: "r1".into(),
        step: "first".into(),
        revision: ActionKey::FIRST_REVISION,
    };
    let idempotency_key = key.idempotency_key(&LedgerSecret([7; 32]));
    stand.connector.render(&Sealed::seal(key, 1, payload), &idempotency_key, None, NOW).map(drop)
}

#[tokio::test]
async fn f36_the_provider_s_limit_is_compared_with_the_encoded_size() {
    // 7.4 MB are 9.9 MB in base64, 7.6 MB are 10.1: Postmark takes ten.
    rendered("postmark", 7_400_000).await.expect("it fits");
    let no = rendered("postmark", 7_600_000).await.expect_err("it does not fit once it is encoded");
    assert_eq!(no.field, "attachments");
    for part in
        ["10.1 MB", "at most 10 MB", "base64 makes files a third larger", "`größe.bin` (7.6 MB)", "leave it out"]
    {
        assert!(no.reason.contains(part), "{part}: {}", no.reason);
    }
    rendered("resend", 25 << 20).await.expect("the largest payload fits Resend");
    // 35 MB are more than any payload may have; its source is told before anybody sees it.
    let no = Payload::parse("email.send", with_file(35_000_000), &[]).expect_err("it is too large");
    assert_eq!(no.field, "attachments");
    for part in ["35 MB", "`größe.bin`", "at most 26.2 MB", "grow by a third", "send a link"] {
        assert!(no.reason.contains(part), "{part}: {}", no.reason);
    }
}

#[tokio::test]
async fn f36_thirty_five_megabytes_on_the_wire_arrive_whole_and_once() -> Tried {
    let stand = double("resend").stand().await?;
    let order = order_for(&*stand.connector, "email.send", "large", with_file(25 << 20), None);
    assert!(order.wire().bytes().len() > 34_000_000);
    let attempt = attempt_on(&*stand.connector, &stand.login, &order, PATIENT).await;
    assert!(matches!(attempt.outcome, Outcome::Accepted(_)), "{:?}", attempt.outcome);
    assert_eq!(stand.api.effects().len(), 1);
    let sent = stand.api.writes();
    assert!(order.wire().bytes().ends_with(&sent[0].body), "byte for byte");
    Ok(())
}
