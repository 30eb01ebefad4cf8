//! Ledgers that a person took over: another copy of them may have sent everything they hold (R27).

use crate::frozen::{adopt, copy_ledger, put_back};
use crate::http::{Branch, WHSEC};
use crate::office::Office;
use countersign_domain::{ActionId, State};
use countersign_engine::{Core, Desk, Dispatcher};
use countersign_sandbox::Times;
use countersign_sandbox::api::{Api, ApiFault, On};
use countersign_sandbox::apps::receiver::Receiver;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

/// A receiver that keeps ids for an hour and can be asked, and a ledger that was put back to before the action was
/// approved and sent, and then taken over.
async fn sent_by_another_copy() -> (Office, Api, ActionId, Core) {
    let mut receiver = Receiver::new(WHSEC);
    (receiver.keeps_id, receiver.can_be_asked, receiver.kept_seconds) = (true, true, 3600);
    let table = "contract = \"keeps_id_and_look_up\"\nkeeps_id_hours = 1\n";
    let b = Branch::of("webhook", table, WHSEC, Box::new(receiver)).await;
    let id = b.approved("r1").await;
    b.office.desk.undo(id).await.expect("it can be undone");
    let aside = b.office.dir.path().join("aside");
    copy_ledger(b.office.home().dir(), &aside);
    b.office.approve(id).await;
    b.tick().await;
    assert_eq!((b.state(id).await, b.effects()), (State::Accepted, 1));
    b.office.core.ledger.close().await;
    put_back(&aside, b.office.home().dir());
    let core = b.office.again().await;
    adopt(&core).await;
    b.later(11 * 24 * HOUR);
    let Branch { office, api, dispatcher, .. } = b;
    drop(dispatcher);
    (office, api, id, core)
}

async fn state(core: &Core, id: ActionId) -> State {
    core.ledger.action(id).await.expect("it can be read").expect("it is there").state()
}

async fn approve(core: &Core, id: ActionId) {
    let desk = Desk::new(core.clone());
    let hash = desk.action(id).await.expect("it can be read").payload_hash;
    desk.approve(id, &hash, &[]).await.unwrap_or_else(|e| panic!("not approved: {e}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn r27_after_adoption_a_look_that_failed_proves_no_absence_even_where_the_key_is_native() {
    let (office, api, id, core) = sent_by_another_copy().await;
    api.set_fault(ApiFault::refuses(503).on(On::Questions), Times::Always);
    approve(&core, id).await;
    let dispatcher = Dispatcher::start(core.clone()).await.expect("the first one is gone");
    for _ in 0..3 {
        dispatcher.tick().await;
        office.later(HOUR / 4);
    }
    assert_eq!((state(&core, id).await, api.writes().len(), api.effects().len()), (State::Approved, 1, 1), "it waits");
    api.clear_faults();
    dispatcher.tick().await;
    assert_eq!(
        (state(&core, id).await, api.writes().len(), api.effects().len()),
        (State::Accepted, 1, 1),
        "it was found"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn r27_after_adoption_nothing_says_that_it_is_certain_that_nothing_was_sent() {
    let office = Office::new().await;
    let source = office.intake.by_name("inbox-agent").await.expect("the source is known");
    let id = office.propose("r1").await;
    assert!(office.doc(id).await.explanation.contains("Nothing leaves"), "nobody took anything over yet");
    office.restored_and_adopted().await;
    let told = async |state: &str| {
        let doc = office.doc(id).await;
        let own = office.intake.get(&source, &id.to_string()).await.expect("it may ask").expect("its own");
        assert_eq!(doc.state, state);
        let next = doc.next.map(|n| n.text).unwrap_or_default();
        let offers = doc.offers.into_iter().map(|o| o.text).collect::<Vec<_>>().join(" ");
        for text in [&doc.explanation, &own.explanation, &next, &offers] {
            for never in ["othing leaves", "othing has left", "othing was sent", "certain"] {
                assert!(!text.contains(never), "{state}: {never}: {text}");
            }
        }
        assert!(own.explanation.contains("may have been sent from another copy"), "{}", own.explanation);
    };
    told("prepared").await;
    office.approve(id).await;
    told("approved").await;
    office.desk.undo(id).await.expect("it can be undone");
    office.desk.reject(id, "they were called").await.expect("it can be rejected");
    told("rejected").await;
}
