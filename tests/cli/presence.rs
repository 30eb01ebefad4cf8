//! Presence in live (protocol.md): what needs it is refused while nobody is there, and writes nothing. The store of these
//! homes can be read by whoever runs the program and only the key is wrapped, so that no locked store does the refusing.

use crate::holds::{live_at, propose, to_live};
use countersign_domain::{PersonId, Verdict};
use countersign_engine::{Code, Desk, Dispatcher, Failure, Frozen, LIVE, LoginSecret};
use countersign_ledger::Head;
use countersign_sandbox::{Config, Fault, Sandbox};
use std::path::Path;
use testkit::Scratch;

const ADDRESS: &str = "support@shop.example";
const PASSWORD: &str = "its password";
const PLACE: &str = "live-mailbox";

fn another_mailbox() -> String {
    format!(
        "name = \"another\"\nkind = \"mailbox\"\nenvironment = \"live\"\n[mailbox]\nfrom = [\"second@shop.example\"]\n\
         smtp = \"smtp+plain://127.0.0.1:2525\"\nusername = \"second@shop.example\"\n"
    )
}

/// Asserts that this was refused for want of a person, and that the journal stands where it stood.
async fn refused<T>(desk: &Desk, head: &Head, what: &str, call: impl Future<Output = Result<T, Failure>>) {
    match call.await {
        Err(failure) => assert_eq!(failure.code, Code::Locked, "{what}: {failure}"),
        Ok(_) => panic!("{what} was done although nobody was there"),
    }
    assert_eq!(desk.core().ledger.head().await.expect("a head"), *head, "{what} wrote something");
}

#[tokio::test(flavor = "multi_thread")]
async fn r12_in_live_nothing_on_the_list_of_the_protocol_is_done_without_the_person() {
    let scratch = Scratch::new("");
    let sandbox = Sandbox::start(Config::in_memory(&[(ADDRESS, PASSWORD)])).await.expect("it starts");
    let (desk, intake, passphrase) = live_at(&scratch, &sandbox.smtp_addr().to_string()).await;
    let unknown = propose(&intake, "bot", &to_live("r-1")).await;
    let hash = desk.action(unknown).await.expect("a document").payload_hash;
    desk.approve(unknown, &hash, &[]).await.expect("approved");
    desk.set_sending(LIVE, true).await.expect("it is on");
    desk.core().clock.advance(std::time::Duration::from_secs(60));
    sandbox.fault_once(Fault::reset_after_acting());
    let dispatcher = Dispatcher::start(desk.core().clone()).await.expect("nobody else dispatches");
    dispatcher.tick().await;
    assert_eq!(desk.action(unknown).await.expect("a document").state, "unknown");
    let mut another = to_live("r-2");
    another["actions"][0]["payload"]["to"] = serde_json::json!([{ "email": "kim@third.example" }]);
    let waiting = propose(&intake, "bot", &another).await;
    let hash = desk.action(waiting).await.expect("a document").payload_hash;
    desk.pause(PLACE, true).await.expect("pausing needs nobody");
    desk.core().freeze(Frozen::ByHand, "Noor").await.expect("nor does freezing");

    desk.lock();
    let (d, at) = (&desk, &desk.core().ledger.head().await.expect("a head"));
    let (none, dir) = (&|_: &_| {}, Path::new("/"));
    let secret = LoginSecret::new("another password");
    let (effects, places) = (["email.send".to_owned()], [PLACE.to_owned()]);
    refused(d, at, "approve", desk.approve(waiting, &hash, &[])).await;
    for verdict in [Verdict::Happened, Verdict::DidNotHappen, Verdict::Leave] {
        refused_or_too_early(d, at, verdict, desk.resolve(unknown, verdict, "they called")).await;
    }
    refused(d, at, "sending on", desk.set_sending(LIVE, true)).await;
    refused(d, at, "destination add", desk.add_destination(&another_mailbox(), dir, &secret)).await;
    refused(d, at, "destination remove", desk.remove_destination(PLACE)).await;
    refused(d, at, "destination change", desk.set_hold(PLACE, 0)).await;
    refused(d, at, "destination sign-in", desk.sign_in(PLACE, &secret, none)).await;
    refused(d, at, "destination test message", desk.test_destination(PLACE, Some("kim@third.example"), none)).await;
    refused(d, at, "destination prepare", desk.prepare_destination(PLACE, none)).await;
    refused(d, at, "destination goes on", desk.pause(PLACE, false)).await;
    refused(d, at, "source add", desk.add_source("second", LIVE, &effects, &places, true)).await;
    refused(d, at, "outcome webhook", desk.set_outcome_hook("bot", "http://127.0.0.1:9/told")).await;
    refused(d, at, "undo window", desk.set_undo_seconds(0)).await;
    refused(d, at, "expiry", desk.set_expiry_hours(1)).await;
    refused(d, at, "unfreeze", desk.unfreeze(true)).await;
    refused(d, at, "purge", desk.purge(30)).await;
    // No more is left of it in the store.
    let keychain = &desk.core().keychain;
    assert!(keychain.login("another").await.expect("readable").is_none());
    assert!(keychain.source_secret("second").await.expect("readable").is_none());
    assert_eq!(keychain.login(PLACE).await.expect("readable").expect("there").expose(), PASSWORD);
    assert_eq!(sandbox.effects().len(), 1);

    // With the person there, each of them is done: nothing but their absence was in the way.
    desk.unlock(Some(&passphrase)).await.expect("the right one");
    desk.add_destination(&another_mailbox(), dir, &secret).await.expect("added");
    desk.remove_destination("another").await.expect("removed");
    desk.set_hold(PLACE, 0).await.expect("changed");
    desk.pause(PLACE, false).await.expect("it goes on");
    desk.prepare_destination(PLACE, none).await.expect("prepared");
    desk.add_source("second", LIVE, &effects, &places, true).await.expect("allowed");
    desk.set_outcome_hook("bot", "http://127.0.0.1:9/told").await.expect("told");
    desk.set_undo_seconds(0).await.expect("set");
    desk.set_expiry_hours(1).await.expect("set");
    let (noor, now) = (PersonId("Noor".into()), desk.core().clock.now());
    let presence = desk.presence().expect("unlocked");
    desk.core().settings.set_approvers_needed(LIVE, 1, &noor, &presence, now).await.expect("a type asks for it");
    desk.unfreeze(false).await.expect("lifted");
    desk.purge(30).await.expect("purged");
    desk.resolve(unknown, Verdict::Leave, "").await.expect("left");
    assert_eq!(desk.approve(waiting, &hash, &[]).await.expect("approved").state, "approved");
}

/// That it did not happen may be said only later; whichever it is, nothing is written.
async fn refused_or_too_early<T>(
    desk: &Desk,
    head: &Head,
    verdict: Verdict,
    call: impl Future<Output = Result<T, Failure>>,
) {
    if verdict != Verdict::DidNotHappen {
        return refused(desk, head, "resolve", call).await;
    }
    let failure = call.await.err().expect("nobody is there");
    assert!([Code::Locked, Code::Conflict].contains(&failure.code), "{failure}");
    assert_eq!(desk.core().ledger.head().await.expect("a head"), *head, "a verdict was written");
}
