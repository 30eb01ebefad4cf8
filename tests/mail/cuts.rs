//! Every cut of the connection, and what is known afterwards. The recipient's mailbox never holds two.

use serde_json::Value;
use testkit::{Act, FaultProxy, MailServers, Point};

use testkit::office::{self, ASKED, CUSTOMER, Mailbox, Office};

/// One office behind one proxy with one fault, after the first run of the worker.
struct Cut {
    servers: MailServers,
    proxy: FaultProxy,
    office: Office,
    id: String,
}

impl Cut {
    fn new(hidden: &[&str], at: Point, act: Act, server_files: bool) -> Cut {
        let servers = MailServers::start();
        servers.deliver("support", CUSTOMER, ASKED.as_bytes());
        let upstream = if server_files { servers.ports().submission_files_copy } else { servers.ports().submission };
        let proxy = FaultProxy::hiding(upstream, hidden);
        let files = if server_files { "true" } else { "false" };
        let office = Office::on_a_manual_clock(&[Mailbox {
            files_sent_itself: files,
            ..Mailbox::plain(proxy.port(), &servers)
        }]);
        let id = office.approved_reply();
        proxy.script(at, act);
        office.dispatch();
        Cut { servers, proxy, office, id }
    }

    fn show(&self) -> Value {
        self.office.show(&self.id)
    }

    fn effects(&self) -> usize {
        self.servers.settle();
        self.servers.mailbox("robin", "INBOX").len()
    }

    /// Half an hour of retries and look-ups.
    fn half_an_hour_later(&self) {
        for _ in 0..6 {
            self.office.later(5);
            self.office.dispatch();
        }
    }
}

const DATA: &[&str] = &["CHUNKING"];
const BDAT: &[&str] = &[];
/// Nothing but Sent can tell afterwards.
const DATA_WITHOUT_DSN: &[&str] = &["CHUNKING", "DSN"];
const BDAT_WITHOUT_DSN: &[&str] = &["DSN"];

/// Cut before anything could have left: not sent for certain, tried again by itself, sent once.
fn nothing_left(hidden: &[&str], at: Point, act: Act) {
    let cut = Cut::new(hidden, at, act, false);
    let doc = cut.show();
    assert_eq!(office::state(&doc), "approved", "{at:?} {act:?}: {doc:#}");
    assert_eq!(doc["attempts"][0]["outcome"], "not_sent");
    assert!(doc["attempts"][0]["crossed_at"].is_null(), "{doc:#}");
    assert_eq!((cut.effects(), cut.proxy.finals()), (0, 0), "{at:?} {act:?}");
    cut.half_an_hour_later();
    let doc = cut.show();
    assert_eq!(office::state(&doc), "accepted", "{at:?} {act:?}: {doc:#}");
    assert_eq!((cut.effects(), cut.proxy.finals()), (1, 1), "{at:?} {act:?}");
}

/// Cut at the final or behind it, where the server files a copy: unclear at first, then found in Sent. Never sent again.
fn found_afterwards(hidden: &[&str], at: Point, act: Act) {
    let cut = Cut::new(hidden, at, act, true);
    assert_eq!(cut.servers.wait_for("support", "Sent", 1).len(), 1, "{at:?} {act:?}");
    cut.half_an_hour_later();
    let doc = cut.show();
    assert_eq!(doc["attempts"][0]["outcome"], "unclear", "{at:?} {act:?}: {doc:#}");
    assert_eq!(office::state(&doc), "accepted", "{at:?} {act:?}: {doc:#}");
    assert_eq!(doc["receipt"]["kind"], "lookup", "{doc:#}");
    assert_eq!(doc["attempts"].as_array().map(Vec::len), Some(1), "nothing was sent again");
    assert_eq!((cut.effects(), cut.proxy.finals()), (1, 1), "{at:?} {act:?}");
    assert_eq!(cut.servers.mailbox("support", "Sent").len(), 1, "the copy is there once");
}

/// The same where neither Sent nor a report can tell: it stays unknown, and nothing is sent by itself.
fn stays_unknown(hidden: &[&str], at: Point, act: Act, effects: usize) {
    let cut = Cut::new(hidden, at, act, false);
    let doc = cut.show();
    assert_eq!(office::state(&doc), "unknown", "{at:?} {act:?}: {doc:#}");
    cut.half_an_hour_later();
    let doc = cut.show();
    assert_eq!(office::state(&doc), "unknown", "absence in Sent proves nothing; {at:?} {act:?}: {doc:#}");
    assert!(doc["lookups"].as_array().is_some_and(|l| l.len() >= 2), "it was asked about: {doc:#}");
    assert_eq!(cut.proxy.transactions().len(), 1, "nothing was sent again");
    assert_eq!(cut.effects(), effects, "{at:?} {act:?}");
    assert_eq!(cut.office.run(&["reconcile", &cut.id]).code, 6);
}

#[test]
fn r21_a_connection_cut_before_mail_is_not_sent() {
    nothing_left(BDAT, Point::BeforeMail, Act::Fin);
    nothing_left(DATA, Point::BeforeMail, Act::Rst);
}

#[test]
fn r21_a_connection_cut_after_rcpt_is_not_sent() {
    nothing_left(BDAT, Point::AfterRcpt, Act::Fin);
    nothing_left(DATA, Point::AfterRcpt, Act::Rst);
}

#[test]
fn r19_a_connection_cut_within_the_message_before_the_last_bdat_is_not_sent() {
    nothing_left(BDAT, Point::InBody, Act::Fin);
    nothing_left(BDAT, Point::InBody, Act::Rst);
}

#[test]
fn f04_a_connection_cut_within_data_never_counts_as_sent_nor_is_doubled() {
    for act in [Act::Fin, Act::Rst] {
        let cut = Cut::new(DATA_WITHOUT_DSN, Point::InBody, act, false);
        let doc = cut.show();
        // Whether we had written the final already is a matter of the kernel's buffers: found closed before its first byte,
        // nothing was sent for certain; otherwise nobody knows. The state follows from that and from nothing else.
        let certain = doc["attempts"][0]["outcome"] == "not_sent";
        assert_eq!(office::state(&doc), if certain { "approved" } else { "unknown" }, "{doc:#}");
        assert_eq!((cut.effects(), cut.proxy.finals()), (0, 0));
        cut.half_an_hour_later();
        assert_eq!(cut.effects(), usize::from(certain), "{:#}", cut.show());
    }
}

#[test]
fn f01_a_final_that_never_reached_the_server_leaves_an_unknown_that_nobody_repeats() {
    stays_unknown(DATA_WITHOUT_DSN, Point::BeforeFinal, Act::Fin, 0);
    stays_unknown(BDAT_WITHOUT_DSN, Point::BeforeFinal, Act::Rst, 0);
}

#[test]
fn f01_an_answer_lost_after_the_final_is_unknown_and_is_not_sent_again() {
    stays_unknown(DATA_WITHOUT_DSN, Point::AfterFinal, Act::Rst, 1);
    stays_unknown(BDAT_WITHOUT_DSN, Point::AnswerHeld, Act::Fin, 1);
}

#[test]
fn r24_an_answer_lost_after_the_final_is_settled_by_the_copy_in_sent() {
    found_afterwards(BDAT_WITHOUT_DSN, Point::AfterFinal, Act::Fin);
    found_afterwards(DATA_WITHOUT_DSN, Point::AfterFinal, Act::Rst);
    found_afterwards(BDAT_WITHOUT_DSN, Point::AnswerHeld, Act::Rst);
}

#[test]
fn r24_an_answer_lost_after_the_final_is_settled_by_the_servers_report() {
    let cut = Cut::new(BDAT, Point::AnswerHeld, Act::Fin, false);
    assert!(!cut.servers.wait_for("support", "INBOX", 2).is_empty(), "the report arrived");
    cut.half_an_hour_later();
    let doc = cut.show();
    assert_eq!(office::state(&doc), "accepted", "{doc:#}");
    assert_eq!(doc["receipt"]["kind"], "dsn", "{doc:#}");
    assert_eq!((cut.effects(), cut.proxy.finals()), (1, 1));
}

#[test]
fn f03_a_connection_cut_after_the_answer_changes_nothing() {
    for hidden in [DATA, BDAT] {
        let cut = Cut::new(hidden, Point::AfterAnswer, Act::Rst, false);
        let doc = cut.show();
        assert_eq!(office::state(&doc), "accepted", "{doc:#}");
        assert_eq!(doc["receipt"]["kind"], "answer", "{doc:#}");
        cut.half_an_hour_later();
        assert_eq!((cut.effects(), cut.proxy.finals()), (1, 1));
    }
}

#[test]
fn f01_a_late_answer_settles_the_case_because_the_connection_is_read_on() {
    let servers = MailServers::start();
    servers.deliver("support", CUSTOMER, ASKED.as_bytes());
    let proxy = FaultProxy::hiding(servers.ports().submission, DATA_WITHOUT_DSN);
    let mailbox = Mailbox { answer_timeout: 10, ..Mailbox::plain(proxy.port(), &servers) };
    let office = Office::on_a_manual_clock(&[mailbox]);
    let id = office.approved_reply();
    proxy.script(Point::AnswerHeld, Act::Hold);
    let worker = office.spawn(&["dispatch"], &[]);
    let doc = office.until(&id, "is unknown", |doc| office::state(doc) == "unknown");
    assert_eq!(doc["attempts"][0]["outcome"], "unclear", "{doc:#}");
    assert_eq!(proxy.held(), 1, "the connection is still open");
    proxy.release();
    let doc = office.until(&id, "is accepted", |doc| office::state(doc) == "accepted");
    assert_eq!(doc["receipt"]["kind"], "late_answer", "{doc:#}");
    drop(worker);
    assert_eq!(servers.wait_for("robin", "INBOX", 1).len(), 1);
    assert_eq!(proxy.finals(), 1);
}

#[test]
fn r25_only_a_persons_false_word_makes_a_second_copy() {
    let cut = Cut::new(DATA_WITHOUT_DSN, Point::AnswerHeld, Act::Fin, false);
    cut.half_an_hour_later();
    assert_eq!((office::state(&cut.show()), cut.effects()), ("unknown", 1));
    cut.office.ok(&["resolve", &cut.id, "--did-not-happen", "--evidence", "the customer says nothing came"]);
    cut.half_an_hour_later();
    let doc = cut.show();
    assert_eq!(office::state(&doc), "accepted", "{doc:#}");
    assert_eq!(cut.effects(), 2, "it was signed for: {doc:#}");
    let messages = cut.servers.mailbox("robin", "INBOX");
    let [one, two] = [0, 1].map(|n| testkit::mail::without_trace(&messages[n]));
    assert_eq!(one, two, "the same bytes under the same key");
}
