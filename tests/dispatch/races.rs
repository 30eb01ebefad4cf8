//! A person's hand beside a worker (invariant 6), as two programs on one home have them. Effects are counted at the mailbox.

use crate::office::{Office, Setup};
use countersign_domain::{ActionId, State, Verdict};
use countersign_engine::{Code, Desk};
use countersign_sandbox::{Fault, Release};
use serde_json::json;

const ROUNDS: usize = 6;

/// Both at once; each comes first in turn.
async fn at_once<A, B>(n: usize, a: impl Future<Output = A>, b: impl Future<Output = B>) -> (A, B) {
    if n.is_multiple_of(2) {
        return tokio::join!(biased; a, b);
    }
    let (b, a) = tokio::join!(biased; b, a);
    (a, b)
}

/// A draft to somebody that nobody else writes to, with every check looked at.
async fn looked_at(office: &Office, n: usize) -> (ActionId, String) {
    let id = office.propose_to(&format!("r{n}"), &[&format!("person{n}@customer{n}.example")]).await;
    let doc = office.doc(id).await;
    for finding in doc.findings.iter().filter(|f| f.holds) {
        office.desk.clear_finding(id, &finding.code, &finding.field).await.expect("it can be cleared");
    }
    (id, doc.payload_hash)
}

async fn holds(office: &Office) {
    let core = &office.core;
    let (roster, secret) = (core.roster().await.expect("a roster"), core.ledger_secret().await.expect("a secret"));
    let broken = core.ledger.verify(&roster, Some(&secret), &mut |_, _| {}).await.expect("verify runs");
    assert_eq!(broken, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn inv6_an_undo_beside_a_worker_takes_it_back_whole_or_not_at_all() {
    let office = Office::new().await;
    let dispatcher = office.dispatcher().await;
    let window = Desk::new(office.again().await);
    for n in 0..ROUNDS {
        let (id, hash) = looked_at(&office, n).await;
        office.desk.approve(id, &hash, &[]).await.expect("approved");
        let (undone, _) = at_once(n, window.undo(id), dispatcher.tick()).await;
        match (undone.map(|doc| doc.state), office.state(id).await, office.effects(id).await) {
            (Ok(state), State::Prepared, 0) => assert_eq!(state, "prepared"),
            (Err(late), State::Accepted, 1) => assert_eq!(late.code, Code::Conflict, "{late}"),
            other => panic!("{id}: {other:?}"),
        }
        dispatcher.tick().await;
        assert!(office.effects(id).await <= 1);
    }
    holds(&office).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn inv6_an_approval_beside_an_edit_sends_what_was_read_or_nothing() {
    let office = Office::new().await;
    let dispatcher = office.dispatcher().await;
    let window = Desk::new(office.again().await);
    for n in 0..ROUNDS {
        let (id, hash) = looked_at(&office, n).await;
        let mut payload = office.doc(id).await.payload;
        payload["text"] = json!("Of course: Thursday suits us.\n");
        let decided = at_once(n, office.desk.approve(id, &hash, &[]), window.edit(id, Some(1), payload));
        let (decided, _) = tokio::join!(decided, dispatcher.tick());
        dispatcher.tick().await;
        match (decided.0, decided.1, office.state(id).await) {
            (Ok(_), Err(late), State::Accepted) => {
                assert_eq!(late.code, Code::Conflict, "{late}");
                let key = office.key(id).await;
                let sent = office.sandbox.effects_with_header("X-Countersign-Key", key.as_str());
                assert_eq!(sent.len(), 1);
                assert!(String::from_utf8_lossy(&sent[0].bytes).contains("Tuesday suits us"));
            }
            (Err(late), Ok(_), State::Prepared) => {
                assert_eq!((late.code, office.effects(id).await), (Code::Conflict, 0), "{late}");
            }
            other => panic!("{id}: {other:?}"),
        }
    }
    holds(&office).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn inv6_a_word_of_a_person_beside_a_late_yes_ends_in_accepted_and_one_effect() {
    for (n, verdict) in [Verdict::Leave, Verdict::Happened, Verdict::DidNotHappen].into_iter().enumerate() {
        let office = Office::with(Setup { answer_timeout: 1, ..Setup::default() }).await;
        let dispatcher = office.dispatcher().await;
        office.sandbox.fault_once(Fault::late_answer());
        let id = office.approved("r1").await;
        dispatcher.tick().await;
        assert_eq!(office.state(id).await, State::Unknown);
        let late = async {
            office.sandbox.release(Release::Answers);
            dispatcher.late_answers().await;
        };
        let (settled, ()) = at_once(n, office.desk.resolve(id, verdict, "Robin called"), late).await;
        match settled {
            Ok(_) => assert_ne!(verdict, Verdict::DidNotHappen, "its socket was open, or it was accepted"),
            Err(late) => assert_eq!(late.code, Code::Conflict, "{late}"),
        }
        dispatcher.tick().await;
        assert_eq!((office.state(id).await, office.effects(id).await), (State::Accepted, 1), "{verdict:?}");
        holds(&office).await;
    }
}
