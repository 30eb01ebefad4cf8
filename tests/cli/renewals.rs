//! A sign-in that is being renewed while a command comes to its end.

use crate::shared::{START, World, at, email, text};
use countersign_sandbox::Point;
use countersign_sandbox::api::{Api, ApiFault};
use countersign_sandbox::apps::oauth::SignIn;
use serde_json::json;
use tokio::runtime::Runtime;

const ADDRESS: &str = "signed@far-shop.example";
const CLIENT: &str = "countersign-test";
const REFRESH: &str = "canary-refresh";

#[test]
fn f42_a_command_that_answered_without_the_mailbox_ends_once_what_was_granted_is_saved() {
    let world = World::sandbox();
    let runtime = Runtime::new().expect("a runtime");
    let app = SignIn::new(ADDRESS, CLIENT, None, REFRESH);
    let id = runtime.block_on(Api::start(Box::new(app), START)).expect("the sign-in server starts");
    // Nobody listens where the mailbox would be: only the sign-in matters.
    let file = format!(
        "name = \"signed\"\nkind = \"mailbox\"\nenvironment = \"sandbox\"\n[mailbox]\nfrom = [\"{ADDRESS}\"]\n\
         smtp = \"smtp+plain://127.0.0.1:9\"\nimap = \"imap+plain://127.0.0.1:9\"\nusername = \"{ADDRESS}\"\n\
         auth = \"oauth\"\ntoken_endpoint = \"{}/token\"\nclient_id = \"{CLIENT}\"\n",
        id.base_url()
    );
    let path = world.scratch.write("signed.toml", file);
    world.cli.run_secret(&["destination", "add", path.to_str().unwrap()], "--secret-fd", REFRESH).expect(0);
    world.source("signer", "signed");
    let mut document = email("evt-1", "r-1", "robin@customer.example");
    document["conversation"] = json!({
        "from": { "name": "Robin Vale", "email": "robin@customer.example" }, "subject": "Delivery slot",
        "received_at": at(-60), "message_id": "<m1@customer.example>", "references": [],
        "text": "Can I move my slot?", "html": null
    });
    document["actions"][0]["destination"] = json!("signed");
    document["actions"][0]["payload"]["from"] = json!({ "email": ADDRESS });
    let answer = world.cli.run_input(&["propose", "-", "--source", "signer"], document.to_string().as_bytes());
    let action = answer.expect(0).json()["actions"][0].clone();

    id.fault_once(ApiFault::answers_late());
    let hash = text(&action["payload_hash"]);
    let args = ["approve", text(&action["id"]), "--payload-hash", hash, "--now", &at(0)];
    let mut command = world.cli.spawn(&args);
    runtime.block_on(id.wait_for(Point::Held, 1)).expect("it asks for a login");
    // The mailbox is not waited for longer than a person would wait; then it is approved without.
    assert!(command.line().is_some_and(|line| line.starts_with('{')), "it answers");
    // A whole command of somebody else comes and goes meanwhile: what does not wait has ended by then.
    world.cli.ok(&["list"]);
    id.release();
    assert_eq!(command.wait().0, 0);
    let asked = id.requests().len();
    let tested = world.cli.run(&["destination", "test", "signed", "--now", &at(30)]);
    assert_ne!(tested.error()["code"], "not_permitted", "it is signed in: {tested:?}");
    assert_eq!((asked, id.requests().len()), (1, 1), "with what was granted to the one before");
}
