//! Restored, copied, rolled back: such a ledger never sends by itself (R27, F10).

use crate::office::Office;
use countersign_domain::{ActionId, State};
use countersign_engine::anchor::MAY_HAVE_BEEN_SENT;
use countersign_engine::copies::restore;
use countersign_engine::keychain::Anchor;
use countersign_engine::{
    Code, Core, Desk, Dispatcher, Frozen, Keychain, MemoryStore, OpenArgs, SecretsChoice, Surface,
};
use countersign_sandbox::Protocol;
use std::path::{Path, PathBuf};

/// Copies the ledger with its side files, as a file manager would.
pub(crate) fn copy_ledger(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().unwrap().to_string_lossy().starts_with("ledger.db") {
            std::fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
        }
    }
}

pub(crate) fn put_back(from: &Path, to: &Path) {
    for suffix in ["", "-wal", "-shm"] {
        let name = format!("ledger.db{suffix}");
        let _ = std::fs::remove_file(to.join(&name));
        if from.join(&name).exists() {
            std::fs::copy(from.join(&name), to.join(&name)).unwrap();
        }
    }
}

pub(crate) async fn adopt(core: &Core) {
    Desk::new(core.clone()).unfreeze(true).await.expect("it is adopted, in the window of a home without a passphrase");
}

/// Sends it, and files the copy once the provider had its time to do so.
async fn send_and_file(office: &Office, id: ActionId) {
    let dispatcher = office.dispatcher().await;
    dispatcher.tick().await;
    office.later(std::time::Duration::from_secs(60));
    dispatcher.tick().await;
    assert_eq!(office.effects(id).await, 1);
    assert_eq!(office.copies(id).await, 1);
}

/// An office whose ledger was rolled back to before `id` was sent.
async fn rolled_back() -> (Office, ActionId, Core) {
    let office = Office::new().await;
    let id = office.approved("r1").await;
    let aside = office.dir.path().join("aside");
    copy_ledger(office.home().dir(), &aside);
    send_and_file(&office, id).await;
    office.core.ledger.close().await;
    put_back(&aside, office.home().dir());
    let core = office.again().await;
    (office, id, core)
}

async fn state(core: &Core, id: ActionId) -> State {
    core.ledger.action(id).await.unwrap().unwrap().state()
}

#[tokio::test(flavor = "multi_thread")]
async fn f10_a_rolled_back_ledger_freezes_and_sends_nothing() {
    let (office, id, core) = rolled_back().await;
    assert_eq!(state(&core, id).await, State::Approved, "the old file knows nothing of the send");
    let dispatcher = Dispatcher::start(core.clone()).await.expect("it starts, frozen");
    assert_eq!(dispatcher.until_idle().await.code(), Some(Code::Frozen));
    assert_eq!(core.frozen().await.unwrap(), Some(Frozen::RolledBack));
    assert_eq!(office.sandbox.connections(Protocol::Smtp), 1, "only the first send");
    // A freeze is not lifted without saying what it is.
    let presence = core.unlock(None).await.unwrap();
    assert_eq!(core.unfreeze(false, &core.owner, &presence).await.unwrap_err().code, Code::Conflict);
    // Nor by starting again.
    drop(dispatcher);
    let again = Dispatcher::start(office.again().await).await.unwrap();
    again.tick().await;
    assert_eq!(office.sandbox.connections(Protocol::Smtp), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn r27_after_adoption_what_was_sent_is_found_before_it_goes_again() {
    let (office, id, core) = rolled_back().await;
    Dispatcher::start(core.clone()).await.unwrap().tick().await;
    adopt(&core).await;
    let dispatcher = Dispatcher::start(core.clone()).await.unwrap();
    dispatcher.tick().await;
    // Our own filed copy is in Sent: the first attempt starts with a look-up and finds it.
    assert_eq!(state(&core, id).await, State::Accepted);
    assert_eq!(core.frozen().await.unwrap(), None);
    assert_eq!(office.sandbox.effects().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn r27_after_adoption_where_absence_proves_nothing_a_person_signs() {
    let (office, id, core) = rolled_back().await;
    Dispatcher::start(core.clone()).await.unwrap().tick().await;
    // Somebody emptied Sent: not finding it proves nothing.
    let key = core.ledger.action(id).await.unwrap().unwrap().idempotency_key.unwrap();
    office.sandbox.remove(crate::office::SUPPORT, "Sent", "X-Countersign-Key", key.as_str());
    adopt(&core).await;
    let dispatcher = Dispatcher::start(core.clone()).await.unwrap();
    dispatcher.tick().await;
    assert_eq!(state(&core, id).await, State::NeedsReview);
    assert_eq!(office.sandbox.effects().len(), 1, "nothing went out by itself");
    // Approving again is not enough: that it was not sent must be said.
    let desk = countersign_engine::Desk::new(core.clone());
    desk.confirm(id, None, None).await.expect("it can be confirmed");
    let doc = desk.action(id).await.unwrap();
    assert!(doc.findings.iter().any(|f| f.code == MAY_HAVE_BEEN_SENT && f.weight == "stop"), "{:?}", doc.findings);
    desk.approve(id, &doc.payload_hash, &[]).await.expect("it can be approved");
    dispatcher.tick().await;
    assert_eq!(state(&core, id).await, State::NeedsReview);
    assert_eq!(office.sandbox.effects().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn r27_a_copied_home_freezes_while_the_first_one_goes_on() {
    let office = Office::new().await;
    let id = office.approved("r1").await;
    let copied = office.dir.path().join("copied");
    copy_ledger(office.home().dir(), &copied);
    std::fs::copy(office.home().dir().join("config.toml"), copied.join("config.toml")).unwrap();
    let core = office.elsewhere(&copied).await;
    let dispatcher = Dispatcher::start(core.clone()).await.unwrap();
    assert_eq!(dispatcher.until_idle().await.code(), Some(Code::Frozen));
    assert_eq!(core.frozen().await.unwrap(), Some(Frozen::Copied));
    assert_eq!(office.sandbox.connections(Protocol::Smtp), 0);
    office.dispatcher().await.tick().await;
    assert_eq!(office.effects(id).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn r27_a_restored_backup_is_left_frozen() {
    let office = Office::new().await;
    let id = office.approved("r1").await;
    let backup: PathBuf = office.dir.path().join("backup.db");
    office.core.backup(&backup).await.expect("it is written");
    assert_eq!(office.core.backup(&backup).await.unwrap_err().code, Code::BadInput, "never over another file");
    send_and_file(&office, id).await;
    let open = restore(&office.home(), &backup, &office.core.config, &office.core.keychain).await.unwrap_err();
    assert!(open.code == Code::Frozen && open.message.contains("close it"), "what is open would write on: {open:?}");
    office.core.close().await;
    restore(&office.home(), &backup, &office.core.config, &office.core.keychain).await.expect("it is restored");
    let core = office.again().await;
    let dispatcher = Dispatcher::start(core.clone()).await.unwrap();
    assert_eq!(dispatcher.until_idle().await.code(), Some(Code::Frozen));
    assert_eq!(core.frozen().await.unwrap(), Some(Frozen::Restored));
    assert_eq!(office.sandbox.effects().len(), 1);
    drop(dispatcher);
    adopt(&core).await;
    Dispatcher::start(core.clone()).await.unwrap().tick().await;
    assert_eq!(state(&core, id).await, State::Accepted);
    assert_eq!(office.sandbox.effects().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn r27_a_plain_copy_is_not_taken_for_a_backup() {
    let office = Office::new().await;
    let copied = office.dir.path().join("plain");
    copy_ledger(office.home().dir(), &copied);
    office.core.close().await;
    let (config, keychain) = (&office.core.config, &office.core.keychain);
    let refused = restore(&office.home(), &copied.join("ledger.db"), config, keychain).await.unwrap_err();
    assert_eq!(refused.code, Code::BadInput);
}

#[tokio::test(flavor = "multi_thread")]
async fn finding_our_key_before_any_crossing_of_ours_accepts_it_and_freezes_dispatch() {
    let office = Office::new().await;
    let id = office.approved("r1").await;
    let other = office.propose_to("r2", &["sam@other.example"]).await;
    office.approve(other).await;
    // Another copy of this ledger sent it: the same bytes are in Sent, and our ledger never crossed.
    let key = office.key(id).await;
    let theirs = format!(
        "From: <{from}>\r\nTo: <{to}>\r\nMessage-ID: {message_id}\r\nX-Countersign-Key: {key}\r\nSubject: Re: Delivery slot\r\n\r\nOf course.\r\n",
        from = crate::office::SUPPORT,
        to = crate::office::ROBIN,
        message_id = key.message_id("shop.example"),
    );
    office.sandbox.file(crate::office::SUPPORT, "Sent", theirs.as_bytes()).expect("there is such a folder");
    let dispatcher = office.dispatcher().await;
    dispatcher.tick().await;
    dispatcher.tick().await;
    assert_eq!(office.state(id).await, State::Accepted);
    assert_eq!(office.core.frozen().await.unwrap(), Some(Frozen::FoundElsewhere));
    assert_eq!(office.state(other).await, State::Approved, "nothing else goes out");
    assert_eq!(office.sandbox.effects().len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn r27_a_ledger_from_before_an_undo_does_not_bring_the_approval_back() {
    let office = Office::with(crate::office::Setup { undo_seconds: 600, ..Default::default() }).await;
    let id = office.approved("r1").await;
    let aside = office.dir.path().join("aside");
    copy_ledger(office.home().dir(), &aside);
    let dispatcher = office.dispatcher().await;
    office.desk.undo(id).await.expect("it can be undone");
    dispatcher.tick().await;
    drop(dispatcher);
    office.core.ledger.close().await;
    put_back(&aside, office.home().dir());
    let core = office.again().await;
    assert_eq!(state(&core, id).await, State::Approved);
    office.later(std::time::Duration::from_secs(700));
    let held = Dispatcher::start(core.clone()).await.unwrap().until_idle().await;
    assert_eq!(held.code(), Some(Code::Frozen));
    assert_eq!(office.sandbox.effects().len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn f10_the_same_folder_on_another_machine_freezes_as_a_copy() {
    use sha2::Digest as _;
    let office = Office::new().await;
    let id = office.approved("r1").await;
    let keychain = &office.core.keychain;
    let anchor = keychain.anchor().await.expect("readable").expect("a home has one");
    // What a computer of another machine id would have written for this folder.
    let folder = office.home().dir().canonicalize().expect("it is there");
    let place = format!("countersign/place/v1\n{}\n{}", "0123456789abcdef0123456789abcdef", folder.display());
    let place = hex::encode(sha2::Sha256::digest(place));
    keychain.set_anchor(&Anchor { place, ..anchor }).await.expect("written");
    let dispatcher = office.dispatcher().await;
    assert_eq!(dispatcher.until_idle().await.code(), Some(Code::Frozen));
    assert_eq!(office.core.frozen().await.expect("readable"), Some(Frozen::Copied));
    assert_eq!((office.state(id).await, office.sandbox.connections(Protocol::Smtp)), (State::Approved, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn r27_without_the_ledgers_own_secret_nothing_is_adopted() {
    let office = Office::new().await;
    let id = office.approved("r1").await;
    let anchor = office.core.keychain.anchor().await.expect("readable").expect("a home has one");
    // A store that knows the ledger's place and head, and has secrets that its keys were not made with.
    let secrets = SecretsChoice::Memory(MemoryStore::default());
    let owner = &office.core.owner;
    let made = Keychain::create(&secrets, office.core.ledger.id(), owner, None).await.expect("other secrets");
    made.keychain.set_anchor(&anchor).await.expect("written");
    let (clock, surface) = (office.clock.clone(), Surface::Window);
    let open = OpenArgs { secrets: Some(secrets), clock, surface, ..OpenArgs::new(office.home()) };
    let core = Core::open(open).await.expect("it opens");
    core.freeze(Frozen::RolledBack, "worker").await.expect("it freezes");
    let head = core.ledger.head().await.expect("a head");
    let refused = Desk::new(core.clone()).unfreeze(true).await.expect_err("it is another secret");
    assert_eq!((refused.code, refused.code.exit()), (Code::Frozen, 8), "{refused}");
    assert!(refused.message.contains("recovery export"), "{refused}");
    assert_eq!(core.frozen().await.expect("readable"), Some(Frozen::RolledBack));
    assert_eq!(core.ledger.head().await.expect("a head"), head, "nothing was written");
    assert_eq!(core.ledger.setting("adopted").await.expect("readable"), None);
    assert_eq!(core.keychain.anchor().await.expect("readable"), Some(anchor));
    assert_eq!(Dispatcher::start(core).await.expect("it starts, frozen").until_idle().await.code(), Some(Code::Frozen));
    assert_eq!((office.state(id).await, office.sandbox.connections(Protocol::Smtp)), (State::Approved, 0));
    // With its own secrets it is.
    adopt(&office.core).await;
    assert_eq!(office.core.frozen().await.expect("readable"), None);
}
