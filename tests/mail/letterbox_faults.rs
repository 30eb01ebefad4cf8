//! The watched mailbox when its server breaks off, hangs, is gone, knows no MOVE, or does not know us (R09).

use crate::letters::{self, Does, FOLDER, Letters, Relay};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use testkit::office::{self, Mailbox, Office};
use testkit::{MailServers, Scratch, wait};

fn start(servers: MailServers, relay: Option<&Relay>) -> Letters {
    let mut mailbox = Mailbox::plain(servers.ports().submission, &servers);
    if let Some(relay) = relay {
        mailbox.imap = Some(format!("imap+plain://127.0.0.1:{}", relay.port()));
    }
    let office = Office::on_a_manual_clock(&[mailbox]);
    Letters::new(servers, office)
}

fn at(servers: MailServers) -> (Letters, Relay) {
    let relay = Relay::to(servers.ports().imap);
    (start(servers, Some(&relay)), relay)
}

#[test]
fn r06_taken_and_not_moved_only_the_move_is_tried_again_and_after_a_kill_it_is_a_duplicate() {
    let (letters, relay) = at(MailServers::start());
    let running = letters.watch(&[]);
    relay.at("UID MOVE", Does::Cut);
    letters.deliver(&letters.signed("inquiry-1"));
    relay.wait(2);
    let [id] = &letters.actions()[..] else { panic!("one action") };
    assert_eq!(letters.counts(), (1, 0, 0), "it was taken, and lies where it was");
    assert_eq!(letters.dispositions(id), ["created"], "the second round handed nothing in again");
    running.kill();
    relay.release();
    let running = letters.watch(&[]);
    letters.settled(1, 0);
    assert_eq!(letters.dispositions(id), ["created", "duplicate"]);
    assert_eq!(letters.actions().len(), 1);
    running.stop();
}

#[test]
fn r09_a_server_that_goes_in_the_middle_of_a_round_and_comes_back_loses_nothing() {
    let (letters, relay) = at(MailServers::start());
    let running = letters.watch(&[]);
    relay.at("BODY.PEEK", Does::Cut);
    for request in ["inquiry-1", "inquiry-2", "inquiry-3"] {
        letters.deliver(&letters.signed(request));
    }
    relay.wait(1);
    letters.servers.down();
    relay.release();
    letters.servers.up();
    letters.settled(3, 0);
    assert_eq!(letters.actions().len(), 3);
    letters.deliver(&letters.signed("inquiry-4"));
    letters.settled(4, 0);
    let (_, log) = running.stop();
    assert!(log.contains("the watched mailbox"), "it was told: {log}");
}

#[test]
fn r09_a_server_that_hangs_holds_up_neither_the_worker_nor_another_mailbox_nor_the_end() {
    let (servers, other) = (MailServers::start(), MailServers::start());
    let relay = Relay::to(other.ports().imap);
    let slow = Mailbox {
        name: "slow-mailbox",
        imap: Some(format!("imap+plain://127.0.0.1:{}", relay.port())),
        ..Mailbox::plain(other.ports().submission, &other)
    };
    let office = Office::on_a_manual_clock(&[Mailbox::plain(servers.ports().submission, &servers), slow]);
    servers.deliver("support", office::CUSTOMER, office::ASKED.as_bytes());
    let letters = Letters::new(servers, office);
    relay.at("UID SEARCH", Does::Hang);
    let running = letters.watch(&["--watch-mailbox", "slow-mailbox"]);
    relay.wait(1);
    letters.deliver(&letters.signed("inquiry-1"));
    letters.settled(1, 0);
    let id = letters.actions().remove(0);
    letters.office.approve(&id);
    letters.office.until(&id, "is accepted", |doc| office::state(doc) == "accepted");
    let (code, log) = running.stop();
    assert_eq!(code, 0, "and it ends while the server still hangs: {log}");
}

#[test]
fn r09_without_move_the_message_is_copied_and_no_other_is_deleted() {
    const PLAIN: &str = "IMAP4rev1 SASL-IR LITERAL+ NAMESPACE SPECIAL-USE";
    for (capabilities, left) in [(format!("{PLAIN} UIDPLUS"), 1), (PLAIN.to_owned(), 2)] {
        let letters = start(MailServers::offering(&capabilities), None);
        let mut imap = letters.servers.imap("support");
        imap.create(FOLDER);
        imap.append_with(FOLDER, "(\\Deleted)", b"Subject: marked by somebody else\r\n\r\nstill needed\r\n");
        let running = letters.watch(&[]);
        letters.deliver(&letters.signed("inquiry-1"));
        letters.deliver("Subject: unsigned\r\n\r\nhello\r\n");
        let done = if left == 1 { (1, 1, 1) } else { (3, 1, 1) };
        wait::until("both were handled", || (letters.counts() == done).then_some(()));
        // What stays, marked, is not taken again.
        letters.deliver(&letters.signed("inquiry-2"));
        let then = if left == 1 { (1, 2, 1) } else { (4, 2, 1) };
        wait::until("the next one was handled", || (letters.counts() == then).then_some(()));
        assert_eq!(letters.actions().len(), 2);
        running.stop();
    }
}

#[test]
fn r09_a_refused_login_is_told_once_and_keeps_no_other_mailbox_waiting() {
    let letters = start(MailServers::start(), None);
    let ports = letters.servers.ports();
    let wrong = format!(
        "name = \"wrong\"\nkind = \"mailbox\"\nenvironment = \"sandbox\"\n[mailbox]\nfrom = [\"robin@test.example\"]\n\
         smtp = \"smtp+plain://127.0.0.1:{}\"\nimap = \"imap+plain://127.0.0.1:{}\"\nusername = \"robin\"\n",
        ports.submission, ports.imap
    );
    letters.office.add_destination("wrong", &wrong, "not the password");
    let running = letters.watch(&["--watch-mailbox", "wrong"]);
    // Each takes a round of its own, in which the other one could try again.
    for (done, request) in ["inquiry-1", "inquiry-2", "inquiry-3", "inquiry-4"].iter().enumerate() {
        letters.deliver(&letters.signed(request));
        letters.settled(done + 1, 0);
    }
    let (code, log) = running.stop();
    assert_eq!(code, 0);
    assert_eq!(log.matches("refused the login").count(), 1, "{log}");
    assert!(!log.contains("not the password"));
}

#[test]
fn r27_a_frozen_home_takes_nothing_away_until_it_is_let_go_on() {
    let letters = start(MailServers::start(), None);
    letters.office.ok(&["freeze"]);
    letters.servers.imap("support").create(FOLDER);
    letters.deliver(&letters.signed("inquiry-1"));
    let files = Scratch::new("");
    fs::create_dir(files.join("inbox-agent")).expect("a folder");
    let dir = files.path().to_str().expect("plain").to_owned();
    fs::set_permissions(files.path(), fs::Permissions::from_mode(0o700)).expect("ours");
    let mailbox = ["--watch-mailbox", "support-mailbox", "--watch-mailbox-every", "1"];
    let mut running = letters.office.spawn(&[&["serve", "--watch", &dir], &mailbox[..]].concat(), &[]);
    running.listening();
    // Files are taken all the same: they lie in this computer, and no other home is waiting for them.
    files.write("inbox-agent/p.json", letters::proposal("inquiry-2").to_string());
    wait::until("some rounds went by", || files.join("inbox-agent/accepted/p.json").exists().then_some(()));
    assert_eq!(letters.counts(), (1, 0, 0));
    letters.office.ok(&["unfreeze"]);
    letters.settled(1, 0);
    let (_, log) = running.stop();
    assert_eq!(log.matches("frozen by hand").count(), 1, "{log}");
}
