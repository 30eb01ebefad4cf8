//! The watched folder: what becomes of a file, round by round, and through the running program (R09, R10).

use crate::wire::{Door, email};
use countersign_domain::Timestamp;
use countersign_engine::intake::folder::Folder;
use countersign_engine::{
    Clock, Code, Core, Desk, Home, InitArgs, Intake, LIVE, LoginSecret, MemoryStore, OpenArgs, Passphrase,
    SecretsChoice,
};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use testkit::{Scratch, wait};

const ADDRESS: &str = "support@shop.example";

/// A home in this process, its intake, and a watched folder with a sub-folder for the source `bot`.
struct Place {
    scratch: Scratch,
    desk: Desk,
    intake: Intake,
}

impl Place {
    async fn new() -> Place {
        let scratch = Scratch::new("");
        let passphrase = Passphrase::new("correct horse battery").expect("long enough");
        let home = Home::at(scratch.join("home"));
        let secrets = SecretsChoice::Memory(MemoryStore::default());
        let clock = Clock::manual(Timestamp::from_millis(1_793_610_900_000));
        let owner = "Noor".into();
        let args = InitArgs { owner, sandbox: false, secrets: secrets.clone(), passphrase: Some(passphrase.clone()) };
        home.init(args, &clock).await.expect("a home");
        let mut open = OpenArgs::new(home);
        (open.secrets, open.clock) = (Some(secrets), clock);
        let core = Core::open(open).await.expect("it opens");
        let desk = Desk::new(core.clone());
        desk.unlock(Some(&passphrase)).await.expect("the right one");
        let file = format!(
            "name = \"sandbox-mailbox\"\nkind = \"mailbox\"\nenvironment = \"live\"\n[mailbox]\nfrom = [\"{ADDRESS}\"]\n\
             smtp = \"smtp+plain://127.0.0.1:2525\"\nusername = \"{ADDRESS}\"\n"
        );
        desk.add_destination(&file, &scratch.join(""), &LoginSecret::new("a password")).await.expect("added");
        for name in ["bot", "other"] {
            desk.add_source(name, LIVE, &["email.send".into()], &["sandbox-mailbox".into()], false)
                .await
                .expect("added");
        }
        let intake = Intake::open(&core).await.expect("an intake");
        fs::create_dir_all(scratch.join("in/bot")).expect("a folder");
        Place { scratch, desk, intake }
    }
    fn open(&self) -> Folder {
        Folder::open(&self.scratch.join("in"), self.intake.clone()).expect("it is ours")
    }
    fn put(&self, name: &str, document: &Value) -> PathBuf {
        self.scratch.write(&format!("in/{name}"), document.to_string())
    }
    fn is(&self, name: &str) -> bool {
        self.scratch.join(&format!("in/{name}")).exists()
    }
    fn answer(&self, name: &str) -> Value {
        read(&self.scratch.join(&format!("in/{name}")))
    }
    async fn actions(&self) -> usize {
        let all = self.intake.by_name("bot").await.expect("known");
        self.intake.find(&all, "r-1", None).await.expect("found").len()
    }
}

fn read(file: &Path) -> Value {
    serde_json::from_slice(&fs::read(file).expect("it is there")).expect("JSON")
}

#[tokio::test(flavor = "multi_thread")]
async fn r09_a_file_is_taken_once_it_stays_as_it_is_and_moves_with_its_answer() {
    let place = Place::new().await;
    let mut folder = place.open();
    let whole = email("evt-1", "r-1").to_string();
    let file = place.scratch.write("in/bot/p.json", &whole[..40]);
    assert_eq!(folder.round().await.accepted, 0, "it may still be written");
    fs::write(&file, &whole).expect("written on");
    let round = folder.round().await;
    assert_eq!((round.accepted, round.refused), (0, 0), "it grew since");
    assert_eq!(folder.round().await.accepted, 1);
    assert!(!file.exists() && place.is("bot/accepted/p.json"));
    assert_eq!(fs::read_to_string(place.scratch.join("in/bot/accepted/p.json")).expect("there"), whole);
    assert_eq!(place.answer("bot/accepted/p.answer.json")["actions"][0]["disposition"], "created");
    assert_eq!(place.actions().await, 1);
    assert_eq!(folder.round().await, Default::default(), "nothing waits");
}

#[tokio::test(flavor = "multi_thread")]
async fn r06_a_file_that_was_taken_and_not_moved_before_the_end_is_a_duplicate_the_next_time() {
    let place = Place::new().await;
    let document = email("evt-1", "r-1");
    // As a process leaves it that ended between the two.
    let bot = place.intake.by_name("bot").await.expect("known");
    place.intake.propose(&bot, document.to_string().as_bytes()).await.expect("taken");
    place.put("bot/p.json", &document);
    let mut folder = place.open();
    folder.round().await;
    assert_eq!(folder.round().await.accepted, 1);
    assert_eq!(place.answer("bot/accepted/p.answer.json")["actions"][0]["disposition"], "duplicate");
    // The same name again writes over nothing.
    place.put("bot/p.json", &document);
    folder.round().await;
    assert_eq!(folder.round().await.accepted, 1);
    assert!(place.is("bot/accepted/p.json") && place.is("bot/accepted/p-1.json"));
    assert!(place.is("bot/accepted/p-1.answer.json"));
    assert_eq!(place.actions().await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn r10_what_may_not_be_taken_moves_to_refused_with_the_reason_beside_it() {
    let place = Place::new().await;
    let mut malformed = email("evt-1", "r-1");
    malformed["actions"][0]["payload"]["colour"] = json!("red");
    let mut foreign = email("evt-2", "r-1");
    foreign["actions"][0]["effect"] = json!("webhook.post");
    foreign["actions"][0]["payload"] = json!({ "body": {} });
    place.put("bot/malformed.json", &malformed);
    place.put("bot/foreign.json", &foreign);
    place.scratch.write("in/bot/no-json.json", "not this");
    place.put("stranger/p.json", &email("evt-3", "r-1"));
    place.put("bot/.hidden.json", &email("evt-4", "r-1"));
    place.put("bot/notes.txt", &email("evt-5", "r-1"));
    let source = place.intake.by_name("other").await.expect("known");
    place.desk.revoke_source("other").await.expect("revoked");
    place.put("other/p.json", &email("evt-6", "r-1"));
    let mut folder = place.open();
    folder.round().await;
    let round = folder.round().await;
    assert_eq!((round.accepted, round.refused), (0, 5), "{round:?}");
    let error = |name: &str| place.answer(name)["error"].clone();
    assert_eq!(error("bot/refused/malformed.answer.json")["field"], "actions[0].payload.colour");
    assert_eq!(place.answer("bot/refused/foreign.answer.json")["actions"][0]["disposition"], "not_permitted");
    assert_eq!(error("bot/refused/no-json.answer.json")["code"], "bad_input");
    assert_eq!(error("stranger/refused/p.answer.json")["code"], "not_found");
    assert_eq!(error("other/refused/p.answer.json")["code"], "not_permitted");
    assert!(place.is("bot/.hidden.json") && place.is("bot/notes.txt"), "they are left alone");
    assert_eq!(place.actions().await, 0);
    assert_eq!(source.name(), "other");
}

#[tokio::test(flavor = "multi_thread")]
async fn r06_a_file_that_cannot_be_moved_is_handed_in_once_and_moves_once_it_can() {
    let place = Place::new().await;
    // Where the folder for what was taken would be.
    let obstacle = place.scratch.write("in/bot/accepted", "in the way");
    place.put("bot/p.json", &email("evt-1", "r-1"));
    let mut folder = place.open();
    folder.round().await;
    for _ in 0..4 {
        let round = folder.round().await;
        assert_eq!((round.accepted, round.failures.len()), (0, 1), "{round:?}");
    }
    // Others behind it are not kept waiting by it.
    place.put("bot/q.json", &email("evt-2", "r-2"));
    folder.round().await;
    folder.round().await;
    let bot = place.intake.by_name("bot").await.expect("known");
    assert_eq!(place.intake.find(&bot, "r-2", None).await.expect("found").len(), 1);
    fs::remove_file(&obstacle).expect("it is ours");
    assert_eq!(folder.round().await.accepted, 2);
    assert_eq!(place.answer("bot/accepted/p.answer.json")["actions"][0]["disposition"], "created");
    let id = place.answer("bot/accepted/p.answer.json")["actions"][0]["id"].as_str().expect("an id").to_owned();
    let doc = place.desk.action(id.parse().expect("an id")).await.expect("it is there");
    assert_eq!(doc.deliveries.len(), 1, "one delivery, however often it could not be moved: {:?}", doc.deliveries);
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn r09_a_folder_that_others_may_write_in_and_a_link_are_no_door() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let place = Place::new().await;
    let open = |dir: &str, mode| {
        let at = place.scratch.join(dir);
        fs::set_permissions(at, fs::Permissions::from_mode(mode)).expect("set");
    };
    open("in", 0o777);
    let no = Folder::open(&place.scratch.join("in"), place.intake.clone()).expect_err("anybody could hand in");
    assert_eq!((no.code, no.field.as_deref()), (Code::BadInput, Some("watch")));
    open("in", 0o700);
    let mut folder = place.open();
    place.put("bot/p.json", &email("evt-1", "r-1"));
    open("in/bot", 0o770);
    place.scratch.write("elsewhere/p.json", email("evt-2", "r-1").to_string());
    symlink(place.scratch.join("elsewhere"), place.scratch.join("in/other")).expect("a link");
    symlink(place.scratch.join("elsewhere/p.json"), place.scratch.join("in/bot/linked.json")).expect("a link");
    folder.round().await;
    let round = folder.round().await;
    assert_eq!(round.failures.len(), 1, "{round:?}");
    assert!(place.is("bot/p.json"), "it stays where it is");
    open("in/bot", 0o700);
    folder.round().await;
    folder.round().await;
    assert!(place.is("bot/accepted/p.json") && place.is("bot/linked.json"));
    assert_eq!(place.actions().await, 1, "and the link led nowhere");
}

/// Another user's folder, whoever runs this: the superuser gives one away, everybody else has those of the system.
#[cfg(unix)]
fn of_another_user(folder: &Path) -> PathBuf {
    const NOBODY: u32 = 65_534;
    fs::set_permissions(folder, std::os::unix::fs::PermissionsExt::from_mode(0o700)).expect("set");
    match std::os::unix::fs::chown(folder, Some(NOBODY), None) {
        Ok(()) => folder.to_owned(),
        Err(_) => PathBuf::from("/usr"),
    }
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn r09_a_folder_of_another_user_is_no_door_whatever_its_mode() {
    let place = Place::new().await;
    fs::create_dir_all(place.scratch.join("theirs")).expect("a folder");
    let theirs = of_another_user(&place.scratch.join("theirs"));
    let no = Folder::open(&theirs, place.intake.clone()).expect_err("it is not ours");
    assert_eq!((no.code, no.field.as_deref()), (Code::BadInput, Some("watch")));
    assert!(no.message.contains("another user"), "{}", no.message);
    // The same for a source's own folder below ours, where that can be arranged.
    place.put("bot/p.json", &email("evt-1", "r-1"));
    if of_another_user(&place.scratch.join("in/bot")).starts_with(place.scratch.path()) {
        let mut folder = place.open();
        folder.round().await;
        let round = folder.round().await;
        assert!(round.failures.len() == 1 && round.failures[0].message.contains("another user"), "{round:?}");
        assert!(place.is("bot/p.json"), "it stays where it is");
        assert_eq!(place.actions().await, 0);
    }
}

#[test]
fn r09_one_proposal_through_http_command_line_and_folder_is_one_action() {
    let inbox = Scratch::new("");
    fs::create_dir_all(inbox.join("bot")).expect("a folder");
    let door = Door::watching(&inbox.path().display().to_string());
    let document = email("evt-1", "r-1");
    let first = door.post(&document).expect(201).json();
    let file = inbox.write("again.json", document.to_string());
    let by_hand = door.cli.ok(&["propose", &file.display().to_string(), "--source", "bot"]);
    inbox.write("bot/p.json", document.to_string());
    let answer = inbox.join("bot/accepted/p.json");
    wait::until("the file was taken", || answer.exists().then_some(()));
    let third = read(&inbox.join("bot/accepted/p.answer.json"));
    assert_eq!(
        (&by_hand["actions"][0]["id"], &third["actions"][0]["id"]),
        (&first["actions"][0]["id"], &first["actions"][0]["id"])
    );
    assert_eq!(third["actions"][0]["disposition"], "duplicate");
    assert_eq!(door.cli.ok(&["list"])["actions"].as_array().map(Vec::len), Some(1));
}
