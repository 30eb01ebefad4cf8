//! A mailbox that is signed in to with OAuth: Dovecot asks whose a token is, and Postfix asks Dovecot. Exchanges are counted
//! at the sign-in server, messages in the recipients' mailboxes.

use countersign_sandbox::Point;
use countersign_sandbox::api::{Api, ApiFault, On};
use countersign_sandbox::apps::oauth::{SignIn, Tokens};
use serde_json::{Value, json};
use testkit::MailServers;
use testkit::mail;
use testkit::office::{self, CLIENT, CLIENT_SECRET, Mailbox, Office, REFRESH};
use tokio::runtime::Runtime;

/// The manual clock's start, in seconds since 1970.
const START: i64 = 1_793_610_000;

struct House {
    servers: MailServers,
    office: Office,
    tokens: Tokens,
    id: Api,
    runtime: Runtime,
}

impl House {
    fn start(mechanisms: &'static str) -> House {
        let runtime = Runtime::new().expect("a runtime for the sign-in server");
        let app = SignIn::new("support", CLIENT, Some(CLIENT_SECRET), REFRESH);
        let tokens = app.tokens();
        let id = runtime.block_on(Api::start(Box::new(app), START)).expect("the sign-in server starts");
        let introspect = format!("{}/introspect", id.base_url());
        let servers = MailServers::start_with_tokens(&mail::SignIn { introspect, mechanisms });
        let mailbox = Mailbox {
            sign_in: Some(format!("{}/token", id.base_url())),
            ..Mailbox::plain(servers.ports().submission, &servers)
        };
        let office = Office::on_a_manual_clock(&[mailbox]);
        House { servers, office, tokens, id, runtime }
    }

    fn with<T>(&self, of: impl FnOnce(&mut SignIn) -> T) -> T {
        self.id.with_app(|app| of(app.as_any().downcast_mut().expect("it is the sign-in server")))
    }

    fn exchanges(&self) -> u64 {
        self.with(|id| id.exchanges())
    }

    fn approved(&self, user: &str) -> String {
        let mut proposal = office::reply(user);
        proposal["conversation"]["message_id"] = format!("<{user}@customer.example>").into();
        proposal["conversation"]["from"] = json!({ "name": user, "email": self.servers.address(user) });
        proposal["actions"] = json!([office::action("notice", "support-mailbox", "email.send")]);
        proposal["actions"][0]["payload"]["to"] = json!([{ "name": user, "email": self.servers.address(user) }]);
        let id = self.office.propose(&proposal).remove(0);
        self.office.approve(&id);
        id
    }

    fn health(&self) -> Value {
        let all = self.office.ok(&["destination", "list"]);
        let found = all["destinations"].as_array().expect("a list").iter().find(|d| d["name"] == "support-mailbox");
        found.expect("it is there").clone()
    }

    fn state(&self, id: &str) -> String {
        office::state(&self.office.show(id)).to_owned()
    }
}

#[test]
fn r34_a_mailbox_is_signed_in_to_with_what_its_servers_offer() {
    for mechanisms in ["plain login oauthbearer xoauth2", "plain xoauth2"] {
        let house = House::start(mechanisms);
        let told = house.office.ok(&["destination", "test", "support-mailbox"]);
        assert_eq!(told["sent_folder"], "Sent", "{told}");
        let alice = house.approved("alice");
        house.office.dispatch();
        assert_eq!(house.state(&alice), "accepted", "{}", house.servers.log());
        // Nothing that was given out is good any more, long before its time.
        house.tokens.end_all();
        let before = house.exchanges();
        let bob = house.approved("bob");
        house.office.dispatch();
        assert_eq!(house.state(&bob), "accepted", "{}", house.servers.log());
        assert_eq!(house.exchanges(), before + 1, "{mechanisms}");
        for user in ["alice", "bob"] {
            assert_eq!(house.servers.wait_for(user, "INBOX", 1).len(), 1, "{mechanisms}");
        }
        assert_eq!(house.servers.wait_for("support", "Sent", 2).len(), 2, "the copies are filed");
        let log = house.servers.log();
        let expected = if mechanisms.contains("oauthbearer") { "OAUTHBEARER" } else { "XOAUTH2" };
        assert!(log.contains(&format!("sasl_method={expected}")), "{log}");
    }
}

#[test]
fn f42_a_lost_sign_in_sends_nothing_until_a_person_signs_in() {
    let house = House::start("plain login oauthbearer xoauth2");
    let id = house.approved("alice");
    house.with(|id| id.sign_in_again("canary-refresh-other"));
    house.office.dispatch();
    let health = house.health();
    assert_eq!((house.state(&id).as_str(), &health["health"]), ("approved", &json!("signed_out")), "{health}");
    let text = health["health_text"].as_str().expect("it says why");
    assert!(text.contains("sign in again") && !text.contains("canary") && !text.contains('@'), "{text}");
    house.servers.settle();
    assert_eq!(house.servers.mailbox("alice", "INBOX").len(), 0);
    let wrong = house.office.run_secret(&["destination", "login", "support-mailbox"], "canary-wrong").expect(4);
    assert!(!format!("{wrong:?}").contains("canary"), "{wrong:?}");
    // The client's secret is kept from before.
    house.office.run_secret(&["destination", "login", "support-mailbox"], "canary-refresh-other").expect(0);
    house.office.dispatch();
    assert_eq!(house.state(&id), "accepted");
    assert_eq!(house.servers.wait_for("alice", "INBOX", 1).len(), 1);
}

#[test]
fn f42_five_sends_of_two_processes_renew_an_expired_sign_in_once() {
    let house = House::start("plain login oauthbearer xoauth2");
    let users = ["alice", "bob", "carol", "erin", "robin"];
    let ids = users.map(|user| house.approved(user));
    house.office.ok(&["destination", "test", "support-mailbox"]);
    house.office.later(120);
    house.tokens.end_all();
    let before = house.exchanges();
    let asked = house.id.requests().len();
    house.id.fault_once(ApiFault::answers_late().on(On::Path("/token".into())));
    let past = [("COUNTERSIGN_PAST_THE_LOCK", "1")];
    let mut all: Vec<_> = (0..2).map(|_| house.office.spawn(&["dispatch", "--until-idle"], &past)).collect();
    all.push(house.office.spawn(&["destination", "test", "support-mailbox"], &[]));
    house.runtime.block_on(house.id.wait_for(Point::Held, 1)).expect("one of them renews it");
    house.id.release();
    for one in all {
        let (code, log) = one.wait();
        assert_eq!(code, 0, "{log}");
    }
    assert_eq!(house.exchanges(), before + 1, "one renewal for all processes");
    let renewals = house.id.requests().iter().skip(asked).filter(|r| r.path() == "/token").count();
    assert_eq!(renewals, 1, "and nobody else asked");
    for (user, id) in users.iter().zip(&ids) {
        assert_eq!(house.state(id), "accepted", "{user}");
        assert_eq!(house.servers.wait_for(user, "INBOX", 1).len(), 1, "{user}: once");
    }
}
