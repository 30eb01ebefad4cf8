//! The process is killed at every step of an attempt that the mail server can see; then it starts again.

use testkit::{Act, FaultProxy, MailServers, Point};

use testkit::office::{self, ASKED, CUSTOMER, Mailbox, Office};

/// Kills the worker while the connection is held at `at`, then runs it again. Returns the state right after the restart
/// and whether the attempt had crossed.
fn killed(hidden: &[&str], at: Point) -> (String, bool, usize) {
    let servers = MailServers::start();
    servers.deliver("support", CUSTOMER, ASKED.as_bytes());
    let proxy = FaultProxy::hiding(servers.ports().submission, hidden);
    let office = Office::on_a_manual_clock(&[Mailbox::plain(proxy.port(), &servers)]);
    let id = office.approved_reply();
    proxy.script(at, Act::HoldThenFin);
    let worker = office.spawn(&["dispatch"], &[]);
    proxy.wait(at, 1);
    worker.kill();
    // Only now does the server hear more, or that the line is gone.
    proxy.release();
    let crossed_at = office.show(&id)["attempts"][0]["crossed_at"].clone();
    office.dispatch();
    let right_after = office.show(&id);
    for _ in 0..6 {
        office.later(5);
        office.dispatch();
    }
    servers.settle();
    let effects = servers.mailbox("robin", "INBOX").len();
    assert!(effects <= 1, "{at:?}: {effects} copies");
    let ended = office.show(&id);
    assert_eq!(office.run(&["verify"]).code, 0, "{at:?}: the ledger is whole");
    match office::state(&ended) {
        "accepted" => assert_eq!(effects, 1, "{at:?}: accepted means it arrived"),
        "unknown" => assert!(!crossed_at.is_null(), "{at:?}: doubt comes from a crossing only: {ended:#}"),
        other => panic!("{at:?} ended as {other}: {ended:#}"),
    }
    (office::state(&right_after).to_owned(), !crossed_at.is_null(), effects)
}

#[test]
fn r26_killed_before_the_final_nothing_was_sent_and_it_is_sent_once_after_the_restart() {
    // Connecting, before MAIL, after RCPT, in the message: all before the crossing.
    for at in [Point::Connected, Point::BeforeMail, Point::AfterRcpt, Point::InBody] {
        let (right_after, crossed, effects) = killed(&["DSN"], at);
        assert!(!crossed, "{at:?}");
        // The claim is found at once, since its process is gone, and the action goes again.
        assert_eq!((right_after.as_str(), effects), ("accepted", 1), "{at:?}");
    }
}

#[test]
fn r26_killed_at_the_final_the_outcome_is_unknown_and_is_not_repeated() {
    // BeforeFinal: the last BDAT was written, but the server never got it.
    for (at, effects) in [(Point::BeforeFinal, 0), (Point::AfterFinal, 1), (Point::AnswerHeld, 1)] {
        let (right_after, crossed, seen) = killed(&["DSN"], at);
        assert!(crossed, "{at:?}");
        assert_eq!((right_after.as_str(), seen), ("unknown", effects), "{at:?}");
    }
}
