//! What ends an attempt from outside it: a file put back after a kill, a panic in the program, a sleep of the machine. And
//! what is on disk before the last thing is said. The real program, as in `kills`.

use crate::frozen::{copy_ledger, put_back};
use crate::kills::{AT_WORK, Desk, LATER};
use crate::office::Setup;
use countersign_sandbox::{Point, Protocol};
use serde_json::Value;
use testkit::trace::{Event, traced};
use testkit::{Answer, wait};

const DISPATCH: [&str; 2] = ["dispatch", "--until-idle"];

impl Desk {
    /// Dispatches with one thing of the machinery told to go wrong.
    fn dispatch_told(&self, name: &str, value: &str, now: &str) -> Answer {
        let told = vec![(name.into(), value.into())];
        self.cli.clone().with_env(told).run(&[&DISPATCH[..], &["--now", now]].concat())
    }

    fn dispatch(&self, now: &str) -> Answer {
        self.cli.run(&[&DISPATCH[..], &["--now", now]].concat())
    }

    fn state_of(&self, id: &str) -> String {
        self.cli.ok(&["show", id, "--now", LATER])["state"].as_str().expect("a state").to_owned()
    }

    /// The ledger proves itself, and nothing of an attempt is left open.
    fn holds(&self) {
        self.cli.run(&["verify", "--now", LATER]).expect(0);
    }
}

fn attempts(doc: &Value) -> &[Value] {
    doc["attempts"].as_array().expect("a list")
}

#[test]
fn f10_a_ledger_from_before_the_claim_put_back_after_a_kill_at_the_crossing_freezes_and_sends_nothing() {
    for (step, effects) in [("after_crossing", 0), ("after_cross", 1)] {
        let desk = Desk::new();
        let aside = desk.dir.join("aside");
        copy_ledger(desk.cli.home(), &aside);
        desk.kill_at(step);
        assert_eq!(desk.effects(), effects, "{step}");
        put_back(&aside, desk.cli.home());
        assert_eq!(desk.show(AT_WORK)["state"], "approved", "{step}: the old file knows of no attempt");
        for now in [AT_WORK, LATER] {
            let held = desk.dispatch(now).expect(8).json();
            assert_eq!(held["frozen"], "rolled_back", "{step}: {held}");
        }
        assert_eq!((desk.effects(), desk.sandbox.connections(Protocol::Smtp)), (effects, 1), "{step}");
    }
}

#[test]
fn r26_an_attempt_that_breaks_off_before_its_crossing_was_not_sent_and_goes_later() {
    let desk = Desk::new();
    let (other, other_key) = desk.approved("r2", "sam@other.example");
    desk.dispatch_told("COUNTERSIGN_PANIC_AT", "after_approach", AT_WORK).expect(1);
    let doc = desk.show(AT_WORK);
    assert_eq!((&doc["state"], attempts(&doc).len()), (&"approved".into(), 1), "{doc:#}");
    let attempt = &attempts(&doc)[0];
    assert_eq!((&attempt["outcome"], &attempt["crossed_at"]), (&"not_sent".into(), &Value::Null), "{attempt:#}");
    assert!(attempt["evidence"].to_string().contains("engine:panic"), "{attempt:#}");
    assert_eq!(
        (desk.effects(), desk.sandbox.count(Point::CommitReceived)),
        (0, 1),
        "the last thing of the other alone"
    );
    assert_eq!((desk.state_of(&other).as_str(), desk.effects_of(&other_key)), ("accepted", 1), "the tick went on");
    // It counts, so that it waits for its backoff and ends at the cap.
    desk.dispatch(AT_WORK).expect(0);
    assert_eq!((desk.effects(), attempts(&desk.show(AT_WORK)).len()), (0, 1));
    desk.dispatch(LATER).expect(0);
    assert_eq!((desk.state_of(&desk.id).as_str(), desk.effects()), ("accepted", 1));
    desk.holds();
}

#[test]
fn r26_an_attempt_that_breaks_off_after_its_crossing_is_unknown_and_is_never_made_again() {
    for (step, effects) in [("after_crossing", 0), ("after_cross", 1)] {
        let desk = Desk::new();
        let (other, other_key) = desk.approved("r2", "sam@other.example");
        desk.dispatch_told("COUNTERSIGN_PANIC_AT", step, AT_WORK).expect(6);
        let doc = desk.show(AT_WORK);
        assert_eq!(doc["state"], "unknown", "{step}: {doc:#}");
        let attempt = &attempts(&doc)[0];
        assert_eq!(attempt["outcome"], "unclear", "{step}: {attempt:#}");
        assert!(attempt["evidence"].to_string().contains("engine:panic"), "{step}: {attempt:#}");
        assert_eq!((desk.state_of(&other).as_str(), desk.effects_of(&other_key)), ("accepted", 1), "{step}");
        for _ in 0..2 {
            desk.dispatch(LATER);
        }
        let doc = desk.show(LATER);
        assert_eq!((&doc["state"], attempts(&doc).len()), (&"unknown".into(), 1), "{step}");
        assert_eq!((desk.effects(), desk.sandbox.connections(Protocol::Smtp)), (effects, 2), "{step}: one each");
        desk.holds();
    }
}

#[test]
fn f03_a_panic_while_the_copy_is_filed_never_puts_the_send_back_and_the_copy_is_filed_once() {
    let desk = Desk::with(Setup { told: "false", ..Setup::default() });
    for _ in 0..5 {
        let ended = desk.dispatch_told("COUNTERSIGN_PANIC_AT", "before_filing", AT_WORK);
        assert!(ended.stderr.contains("told to break off at before_filing"), "{ended:?}");
        let doc = desk.show(AT_WORK);
        assert_eq!((&doc["state"], attempts(&doc).len()), (&"accepted".into(), 1), "{doc:#}");
    }
    assert_eq!((desk.effects(), desk.copies(), desk.sandbox.connections(Protocol::Smtp)), (1, 0, 1));
    // A worker that runs on gets over it by itself.
    let told = vec![("COUNTERSIGN_PANIC_AT".into(), "before_filing".into())];
    let worker = desk.cli.clone().with_env(told).spawn(&["dispatch", "--now", AT_WORK]);
    wait::until("the copy is filed", || Some(()).filter(|()| desk.show(AT_WORK)["filing"]["state"] == "filed"));
    let (code, log) = worker.stop();
    assert_eq!(code, 0, "{log}");
    assert!(log.contains("told to break off at before_filing"), "{log}");
    assert_eq!((desk.effects(), desk.copies(), desk.sandbox.connections(Protocol::Smtp)), (1, 1, 1));
    desk.holds();
}

#[test]
fn r19_a_machine_that_slept_before_the_mark_says_nothing_more_and_sends_later() {
    let desk = Desk::new();
    desk.dispatch_told("COUNTERSIGN_SLEPT", "6", AT_WORK).expect(0);
    let doc = desk.show(AT_WORK);
    assert_eq!((&doc["state"], attempts(&doc).len()), (&"approved".into(), 1), "{doc:#}");
    let attempt = &attempts(&doc)[0];
    assert!(attempt["evidence"].to_string().contains("engine:slept"), "{attempt:#}");
    assert_eq!((&attempt["outcome"], &attempt["crossed_at"]), (&"not_sent".into(), &Value::Null), "{attempt:#}");
    let count = |point| desk.sandbox.count(point);
    assert_eq!((count(Point::BodyReceived), count(Point::CommitReceived), desk.effects()), (1, 0, 0));
    // Less is no sleep: an ordinary attempt may take so long.
    desk.dispatch_told("COUNTERSIGN_SLEPT", "1", LATER).expect(0);
    assert_eq!((desk.state_of(&desk.id).as_str(), desk.effects()), ("accepted", 1));
    desk.holds();
}

#[test]
fn r19_the_crossing_is_on_disk_before_the_last_thing_is_said() {
    let desk = Desk::new();
    let command = desk.cli.command(&[&DISPATCH[..], &["--now", AT_WORK]].concat());
    let last_thing = |line: &str| line.contains("\"BDAT 0 LAST").then(String::new);
    let (out, events) = traced(&command, &desk.dir.join("trace"), "/ledger.db-wal", last_thing);
    assert!(out.status.success(), "{out:?}");
    assert_eq!(desk.effects(), 1);
    let said: Vec<usize> = (0..events.len()).filter(|i| matches!(events[*i], Event::Mark(_))).collect();
    let [said] = said[..] else { panic!("it is said once: {events:?}") };
    // The claim rides on the sync of the crossing, so nothing of either may be left in memory alone.
    assert_eq!(events[..said].last(), Some(&Event::Synced), "{:?}", &events[..said]);
    assert!(events[..said].contains(&Event::Wrote), "{:?}", &events[..said]);
    // And its end, before the program ends.
    let after = &events[said + 1..];
    let synced = after.iter().position(|e| *e == Event::Synced);
    assert!(after.first() == Some(&Event::Wrote) && synced.is_some(), "{after:?}");
}
