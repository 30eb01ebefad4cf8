//! A reply through a real Postfix with a note and a task at a CRM, by the command line alone. Effects are counted in the
//! customer's mailbox and at the CRM's double.

use countersign_sandbox::api::{Api, ApiFault};
use countersign_sandbox::apps::hubspot::HubSpot;
use serde_json::{Value, json};
use testkit::MailServers;
use testkit::office::{self, ASKED, CUSTOMER, Mailbox, Office};
use tokio::runtime::Runtime;

const TOKEN: &str = "pat-na1-a-token";

struct Shop {
    servers: MailServers,
    office: Office,
    api: Api,
    runtime: Runtime,
}

impl Shop {
    fn start() -> Shop {
        let servers = MailServers::start();
        servers.deliver("support", CUSTOMER, ASKED.as_bytes());
        let runtime = Runtime::new().expect("a runtime for the CRM's double");
        let robin = [("email", CUSTOMER), ("firstname", "Robin"), ("lastname", "Vale")];
        let app = HubSpot::new(TOKEN).with("contacts", "101", &robin);
        let api = runtime.block_on(Api::start(Box::new(app), 1_793_610_900)).expect("the CRM starts");
        let office = Office::on_a_manual_clock(&[Mailbox::plain(servers.ports().submission, &servers)]);
        let file = format!(
            "name = \"crm\"\nkind = \"hubspot\"\nenvironment = \"sandbox\"\nundo_seconds = 0\n[hubspot]\n\
             portal = 4815162\nbase_url = \"{}\"\nanswer_timeout_seconds = 5\n",
            api.base_url()
        );
        office.add_destination("crm", &file, TOKEN);
        office.add_source("crm-agent", "email.reply,crm.note,crm.task", "support-mailbox,crm");
        Shop { servers, office, api, runtime }
    }

    /// Proposes all three and approves each.
    fn approved(&self) -> [String; 3] {
        let mut proposal = office::reply("inquiry-1");
        let record = json!({ "type": "contact", "match": { "email": CUSTOMER } });
        let follows = |step: &str, effect: &str, payload: Value| json!({ "step": step, "after": "first-reply", "effect": effect, "destination": "crm", "payload": payload });
        let actions = proposal["actions"].as_array_mut().expect("a list");
        actions.push(follows("note", "crm.note", json!({ "record": record, "text": "Moved to Thursday" })));
        actions.push(follows("task", "crm.task", json!({ "record": record, "title": "Call Robin" })));
        let ids = self.office.propose_as("crm-agent", &proposal);
        for id in &ids {
            self.office.approve(id);
        }
        ids.try_into().expect("three actions")
    }

    fn states(&self, ids: &[String; 3]) -> [String; 3] {
        ids.each_ref().map(|id| office::state(&self.office.show(id)).to_owned())
    }

    /// How often each happened: the reply in the customer's mailbox, the others at the CRM by what they made.
    fn effects(&self) -> (usize, usize, usize) {
        self.servers.settle();
        let made = |object: &str| self.api.effects().iter().filter(|e| e.what["created"] == object).count();
        (self.servers.mailbox("robin", "INBOX").len(), made("notes"), made("tasks"))
    }
}

#[test]
fn r11_r23_the_crm_drops_the_answer_after_acting_and_each_happens_once() {
    let shop = Shop::start();
    let ids = shop.approved();
    shop.api.hide_what_is_new(true);
    shop.api.fault_once(ApiFault::closes_after_acting());
    assert_eq!(shop.office.dispatch(), 6);
    assert_eq!(shop.states(&ids), ["accepted", "unknown", "approved"]);
    let waits = shop.office.show(&ids[2]);
    assert_eq!(waits["attempts"], json!([]));
    assert!(waits["explanation"].as_str().is_some_and(|words| words.contains(&ids[1])), "{waits:#}");
    shop.api.hide_what_is_new(false);
    shop.office.later(1);
    shop.office.dispatch();
    assert_eq!(shop.states(&ids), ["accepted", "accepted", "accepted"]);
    assert_eq!(shop.office.show(&ids[1])["receipt"]["kind"], "lookup");
    shop.servers.wait_for("robin", "INBOX", 1);
    assert_eq!(shop.effects(), (1, 1, 1));
    shop.office.ok(&["verify"]);
}

#[test]
fn r11_r23_while_the_crm_is_down_the_reply_goes_and_nothing_else_is_touched() {
    let shop = Shop::start();
    let ids = shop.approved();
    shop.runtime.block_on(shop.api.go_down());
    shop.office.dispatch();
    assert_eq!(shop.states(&ids), ["accepted", "approved", "approved"]);
    let reply = shop.office.show(&ids[0]);
    assert_eq!(shop.effects(), (1, 0, 0));
    shop.runtime.block_on(shop.api.come_back()).expect("it is up again");
    for _ in 0..3 {
        shop.office.later(15);
        shop.office.dispatch();
    }
    assert_eq!(shop.states(&ids), ["accepted", "accepted", "accepted"]);
    assert_eq!(shop.office.show(&ids[0])["attempts"], reply["attempts"], "the reply was not touched again");
    assert_eq!(shop.effects(), (1, 1, 1));
}

#[test]
fn the_unique_property_is_prepared_by_a_command_once() {
    let shop = Shop::start();
    let tested = shop.office.ok(&["destination", "test", "crm"]).to_string();
    assert!(tested.contains("Not prepared"), "{tested}");
    for _ in 0..2 {
        let done = shop.office.ok(&["destination", "prepare", "crm"]);
        assert_eq!(done["steps"][0]["state"], "done", "{done:#}");
    }
    assert_eq!(shop.api.writes().len(), 1);
    shop.office.run(&["destination", "prepare", "support-mailbox"]).expect(2);
    let contracts = shop.office.ok(&["destination", "contract", "crm"]);
    let all = contracts["contracts"].as_array().expect("a list");
    let effects: std::collections::BTreeSet<_> = all.iter().map(|one| one["effect"].as_str()).collect();
    assert_eq!((effects.len(), all.len()), (5, 6), "a contact is made or changed: {contracts:#}");
}
