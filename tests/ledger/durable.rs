//! What is on disk when a phase of the protocol has returned (protocol.md, "Durability"): seen from outside, since `kill -9`
//! leaves what was written in the system's memory, and only a power cut would tell.

use crate::stage::*;
use countersign_domain::{Payload, Sighting, State, Verdict};
use serde_json::json;
use std::io::Write;
use std::process::Command;
use testkit::trace::{Event, traced};

/// Where the traced half of the test writes down what it has done.
const DONE: &str = "COUNTERSIGN_TEST_PHASES_DONE";

/// What must be on disk before anything follows from it.
const SYNCED: [&str; 17] = [
    "receive",
    "approve",
    "crossing",
    "close",
    "late answer",
    "edit",
    "undo",
    "reject",
    "look",
    "settle",
    "revise",
    "changed situation",
    "found",
    "recover",
    "switch",
    "device withdrawn",
    "destination removed",
];
/// What a later sync carries.
const RIDES: [&str; 3] = ["claim", "typed text", "filing"];

/// The traced half: each phase once, and its name after it.
async fn phases(done: &std::path::Path) {
    let mut done = std::fs::File::create(done).expect("a file");
    let mut mark = |phase: &str| done.write_all(phase.as_bytes()).expect("it is written down");
    let s = Stage::sqlite().await;
    mark("furnished");
    let id = s.prepared("req-1").await;
    mark("receive");
    s.approve(id).await.expect("approved");
    mark("approve");
    let claim = s.claim(id).await;
    mark("claim");
    s.cross(&claim).await;
    mark("crossing");
    s.close(&claim, &unclear()).await;
    mark("close");
    s.look(id, &Sighting::NotSeen { looked: "Sent".to_owned() }, false, None).await.expect("looked");
    mark("look");
    s.verdict(id, Verdict::Leave).await.expect("settled");
    mark("settle");
    s.ledger.late_answer(claim.attempt, &accepted(), &json!({}), s.now()).await.expect("kept");
    mark("late answer");
    s.ledger.put_filing(id, "waiting", "next", None, s.now()).await.expect("noted");
    mark("filing");
    s.ledger.revise(id, None, &s.secret, &noor(), s.now()).await.expect("revised");
    mark("revise");

    let id = s.prepared("req-2").await;
    mark("more set up");
    let edited = Payload::parse("email.reply", email("robin@customer.example", "On Tuesday."), &[]).expect("a payload");
    s.ledger.edit(id, 1, &edited, &noor(), s.now()).await.expect("edited");
    mark("edit");
    s.ledger.keep_text(id, &noor(), "On Tue", s.now()).await.expect("kept");
    mark("typed text");
    s.approve(id).await.expect("approved");
    mark("more set up");
    s.ledger.undo(id, &noor(), s.now()).await.expect("undone");
    mark("undo");
    s.approve(id).await.expect("approved");
    let claim = s.claim(id).await;
    mark("more set up");
    s.ledger.situation_changed(&claim, "the customer wrote again", s.now()).await.expect("moved");
    mark("changed situation");
    s.ledger.reject(id, "no need", &noor(), s.now()).await.expect("rejected");
    mark("reject");

    let id = s.approved("req-3").await;
    let claim = s.claim(id).await;
    mark("more set up");
    s.ledger.found_before_crossing(&claim, &receipt("in Sent"), s.now()).await.expect("moved");
    mark("found");
    let id = s.approved("req-4").await;
    s.claim(id).await;
    mark("more set up");
    assert_eq!(s.ledger.recover_stale(&worker("w2"), s.now()).await.expect("recovered").len(), 1);
    assert_eq!(s.state(id).await, State::Approved);
    mark("recover");
    s.ledger.set_setting("sending/live", "off", "Noor", s.now()).await.expect("off");
    mark("switch");
    s.ledger.withdraw_device(&device_of(&sam()).id(), &noor(), s.now()).await.expect("withdrawn");
    mark("device withdrawn");
    s.ledger.remove_destination("crm", &noor(), s.now()).await.expect("removed");
    mark("destination removed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r26_receive_approve_crossing_and_close_are_on_disk_before_what_follows() {
    if let Some(done) = std::env::var_os(DONE) {
        return phases(done.as_ref()).await;
    }
    let dir = tempfile::tempdir().expect("a folder");
    let done = dir.path().join("done");
    let mut again = Command::new(std::env::current_exe().expect("this program"));
    again.args(["--exact", "durable::r26_receive_approve_crossing_and_close_are_on_disk_before_what_follows"]);
    again.args(["--nocapture", "--test-threads=1"]).env(DONE, &done);
    let noted = |line: &str| {
        let (_, rest) = line.split_once("/done>, \"")?;
        Some(rest.split('"').next()?.to_owned())
    };
    let (out, events) = traced(&again, &dir.path().join("trace"), "/ledger.db-wal", noted);
    assert!(out.status.success(), "{out:?}");
    let mut seen = Vec::new();
    let mut since = Vec::new();
    for event in events {
        match event {
            Event::Mark(phase) => seen.push((phase, std::mem::take(&mut since))),
            other => since.push(other),
        }
    }
    let of = |phase: &str| {
        let found = seen.iter().find(|(name, _)| name == phase).unwrap_or_else(|| panic!("{phase}: {seen:?}"));
        assert!(found.1.contains(&Event::Wrote), "{phase} writes: {found:?}");
        &found.1
    };
    let in_memory: Vec<&str> = SYNCED.into_iter().filter(|phase| of(phase).last() != Some(&Event::Synced)).collect();
    assert_eq!(in_memory, [""; 0], "a power cut would take these back");
    // They show that what rides is told from what is synced, and cost no sync of their own.
    for phase in RIDES {
        assert!(!of(phase).contains(&Event::Synced), "{phase}: {:?}", of(phase));
    }
}
