//! Two emails of one request, one of whose mailboxes is down.

use serde_json::{Value, json};
use testkit::MailServers;

use testkit::office::{self, ASKED, CUSTOMER, Mailbox, Office};

struct Two {
    first: MailServers,
    second: MailServers,
    office: Office,
}

impl Two {
    fn start() -> Two {
        let (first, second) = (MailServers::start(), MailServers::start());
        first.deliver("support", CUSTOMER, ASKED.as_bytes());
        let other = Mailbox { name: "billing-mailbox", ..Mailbox::plain(second.ports().submission, &second) };
        let office = Office::on_a_manual_clock(&[Mailbox::plain(first.ports().submission, &first), other]);
        Two { first, second, office }
    }

    fn propose(&self, second: Value) -> [String; 2] {
        let mut proposal = office::reply("inquiry-1");
        proposal["actions"].as_array_mut().expect("a list").push(second);
        let ids = self.office.propose(&proposal);
        for id in &ids {
            self.office.approve(id);
        }
        ids.try_into().expect("two actions")
    }

    fn copies(&self) -> (usize, usize) {
        self.first.settle();
        (self.first.mailbox("robin", "INBOX").len(), self.second.mailbox("robin", "INBOX").len())
    }
}

fn notice() -> Value {
    let mut second = office::action("notice", "billing-mailbox", "email.send");
    second["payload"]["subject"] = "Your new slot".into();
    second
}

#[test]
fn r23_when_the_second_mailbox_is_down_recovery_touches_only_the_second() {
    let two = Two::start();
    let [first, second] = two.propose(notice());
    two.second.down();
    two.office.dispatch();
    let done = two.office.show(&first);
    assert_eq!(office::state(&done), "accepted", "{done:#}");
    let waits = two.office.show(&second);
    assert_eq!(office::state(&waits), "approved", "{waits:#}");

    two.second.up();
    for _ in 0..4 {
        two.office.later(15);
        two.office.dispatch();
    }
    let sent = two.office.show(&second);
    assert_eq!(office::state(&sent), "accepted", "{sent:#}");
    assert_eq!(two.second.wait_for("robin", "INBOX", 1).len(), 1);
    assert_eq!(two.copies(), (1, 1));
    let still = two.office.show(&first);
    assert_eq!(still["attempts"], done["attempts"], "the first was not touched");
    assert_eq!(still["receipt"], done["receipt"]);
}

#[test]
fn r11_an_action_waits_for_the_one_it_follows() {
    let two = Two::start();
    let mut after = notice();
    after["after"] = "first-reply".into();
    let [first, second] = two.propose(after);
    two.first.down();
    two.office.dispatch();
    assert_eq!(office::state(&two.office.show(&first)), "approved");
    let waits = two.office.show(&second);
    assert_eq!(office::state(&waits), "approved", "its own mailbox is up, its order is not: {waits:#}");
    assert_eq!(waits["attempts"], json!([]), "nothing was tried");

    two.first.up();
    for _ in 0..4 {
        two.office.later(15);
        two.office.dispatch();
    }
    assert_eq!(office::state(&two.office.show(&first)), "accepted");
    assert_eq!(office::state(&two.office.show(&second)), "accepted");
    two.second.wait_for("robin", "INBOX", 1);
    assert_eq!(two.copies(), (1, 1));
}
