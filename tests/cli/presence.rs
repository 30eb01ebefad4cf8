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

const ANOTHER: &str = "name = \"another\"\nkind = \"mailbox\"\nenvironment = \"live\"\n[mailbox]\n\
    from = [\"second@shop.example\"]\nsmtp = \"smtp+plain://127.0.0.1:2525\"\nusername = \"second@shop.example\"\n";

/// What was tried while nobody was there, and how it was not refused as it should be.
struct Tries<'d> {
    desk: &'d Desk,
    head: Head,
    wrong: Vec<String>,
}

impl Tries<'_> {
    /// It is refused for want of a person, and the journal stands where it stood.
    async fn refused<T>(&mut self, what: &str, call: impl Future<Output = Result<T, Failure>>) {
        self.refused_as(&[Code::Locked], what, call).await;
    }

    async fn refused_as<T>(&mut self, codes: &[Code], what: &str, call: impl Future<Output = Result<T, Failure>>) {
        match call.await {
            Err(failure) if codes.contains(&failure.code) => {}
            Err(failure) => self.wrong.push(format!("{what}: {failure}")),
            Ok(_) => self.wrong.push(format!("{what} was done")),
        }
        let head = self.desk.core().ledger.head().await.expect("a head");
        if head != self.head {
            self.wrong.push(format!("{what} wrote to the journal"));
            self.head = head;
        }
    }
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
    let head = desk.core().ledger.head().await.expect("a head");
    let mut tries = Tries { desk: &desk, head, wrong: Vec::new() };
    let (none, dir) = (&|_: &_| {}, Path::new("/"));
    let secret = LoginSecret::new("another password");
    let (effects, places) = (["email.send".to_owned()], [PLACE.to_owned()]);
    tries.refused("approve", desk.approve(waiting, &hash, &[])).await;
    tries.refused("resolve", desk.resolve(unknown, Verdict::Happened, "they called")).await;
    tries.refused("resolve, left", desk.resolve(unknown, Verdict::Leave, "")).await;
    // That it did not happen may be said only later, too.
    let early = [Code::Locked, Code::Conflict];
    tries.refused_as(&early, "resolve, not", desk.resolve(unknown, Verdict::DidNotHappen, "they called")).await;
    tries.refused("sending on", desk.set_sending(LIVE, true)).await;
    tries.refused("destination add", desk.add_destination(ANOTHER, dir, &secret)).await;
    tries.refused("destination sign-in", desk.sign_in(PLACE, &secret, none)).await;
    tries.refused("destination test message", desk.test_destination(PLACE, Some("kim@third.example"), none)).await;
    tries.refused("destination prepare", desk.prepare_destination(PLACE, none)).await;
    tries.refused("destination goes on", desk.pause(PLACE, false)).await;
    tries.refused("undo window of a destination", desk.set_hold(PLACE, 0)).await;
    tries.refused("destination remove", desk.remove_destination(PLACE)).await;
    tries.refused("source add", desk.add_source("second", LIVE, &effects, &places, true)).await;
    tries.refused("outcome webhook", desk.set_outcome_hook("bot", "http://127.0.0.1:9/told")).await;
    tries.refused("undo window", desk.set_undo_seconds(0)).await;
    tries.refused("expiry", desk.set_expiry_hours(1)).await;
    tries.refused("unfreeze", desk.unfreeze(true)).await;
    tries.refused("purge", desk.purge(30)).await;
    assert_eq!(tries.wrong, [""; 0], "nobody was there");
    // No more is left of it in the store.
    let keychain = &desk.core().keychain;
    assert!(keychain.login("another").await.expect("readable").is_none());
    assert!(keychain.source_secret("second").await.expect("readable").is_none());
    assert_eq!(keychain.login(PLACE).await.expect("readable").expect("there").expose(), PASSWORD);
    assert_eq!(sandbox.effects().len(), 1);

    // With the person there, each of them is done: nothing but their absence was in the way.
    desk.unlock(Some(&passphrase)).await.expect("the right one");
    desk.add_destination(ANOTHER, dir, &secret).await.expect("added");
    desk.remove_destination("another").await.expect("removed");
    desk.set_hold(PLACE, 0).await.expect("changed");
    desk.pause(PLACE, false).await.expect("it goes on");
    assert_eq!(desk.prepare_destination(PLACE, none).await.expect_err("a mailbox needs nothing").code, Code::BadInput);
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
