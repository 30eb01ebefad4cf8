//! `propose`: dispositions, exit codes and refusals with their field.

use crate::shared::{World, at, disposition, email, text};
use serde_json::json;

const ROBIN: &str = "robin@customer.example";

#[test]
fn r06_a_repeat_meets_the_same_action_and_says_so() {
    let world = World::sandbox();
    let first = world.created(&email("evt-1", "r-1", ROBIN));
    assert_eq!((text(&first["state"]), first["payload_version"].as_i64()), ("prepared", Some(1)));
    assert_eq!(first["key"]["revision"], 1);
    let again = world.propose(&email("evt-1", "r-1", ROBIN)).expect(0).json();
    assert_eq!(disposition(&again), "duplicate");
    assert_eq!(again["actions"][0]["id"], first["id"]);
    let redelivered = world.propose(&email("evt-2", "r-1", ROBIN)).expect(0).json();
    assert_eq!(disposition(&redelivered), "duplicate", "another event, the same draft");
    let doc = world.show(&first["id"]);
    assert_eq!(doc["deliveries"].as_array().unwrap().len(), 3, "every delivery is recorded");
    assert_eq!(world.cli.ok(&["list"])["actions"].as_array().unwrap().len(), 1);
}

#[test]
fn r06_the_same_event_with_other_content_is_a_conflict_and_replaces_nothing() {
    let world = World::sandbox();
    let first = world.created(&email("evt-1", "r-1", ROBIN));
    let mut other = email("evt-1", "r-1", ROBIN);
    other["actions"][0]["payload"]["text"] = json!("Something else.");
    let refused = world.propose(&other).expect(3).json();
    assert_eq!(disposition(&refused), "conflict", "the answer is printed also when it is refused");
    assert_eq!(world.show(&first["id"])["payload_hash"], first["payload_hash"]);
}

#[test]
fn r07_a_new_draft_replaces_what_nobody_approved_and_is_late_afterwards() {
    let world = World::sandbox();
    let first = world.created(&email("evt-1", "r-1", ROBIN));
    let mut newer = email("evt-2", "r-1", ROBIN);
    newer["actions"][0]["payload"]["text"] = json!("Of course: Thursday.");
    let replaced = world.propose(&newer).expect(0).json();
    assert_eq!(disposition(&replaced), "draft_replaced");
    assert_eq!(replaced["actions"][0]["payload_version"], 2);
    world.approve(&first, &at(0)).expect(3);
    world.approve(&replaced["actions"][0], &at(0)).expect(0);
    let mut late = email("evt-3", "r-1", ROBIN);
    late["actions"][0]["payload"]["text"] = json!("Of course: Friday.");
    assert_eq!(disposition(&world.propose(&late).expect(0).json()), "late_draft");
    let doc = world.show(&first["id"]);
    assert_eq!(doc["payload_hash"], replaced["actions"][0]["payload_hash"], "what was approved is unchanged");
}

#[test]
fn r08_an_older_source_version_never_overwrites_a_newer_one() {
    let world = World::sandbox();
    let first = world.created(&email("evt-1", "r-1", ROBIN));
    let mut older = email("evt-0", "r-1", ROBIN);
    older["source_version"] = json!(2);
    older["actions"][0]["payload"]["text"] = json!("An older thought.");
    assert_eq!(disposition(&world.propose(&older).expect(0).json()), "stale");
    assert_eq!(world.show(&first["id"])["payload_hash"], first["payload_hash"]);
}

#[test]
fn r10_what_a_source_may_not_propose_is_refused_whole_and_recorded() {
    let world = World::sandbox();
    let mut document = email("evt-1", "r-1", ROBIN);
    document["actions"].as_array_mut().unwrap().push(json!({
        "step": "note", "effect": "crm.note", "destination": "crm",
        "payload": { "record": { "type": "contact", "match": { "email": ROBIN } }, "text": "Asked." }
    }));
    let refused = world.propose(&document).expect(4).json();
    let all: Vec<&str> = refused["actions"].as_array().unwrap().iter().map(|a| text(&a["disposition"])).collect();
    assert_eq!(all, ["not_taken", "not_permitted"]);
    assert!(text(&refused["actions"][1]["reason"]).len() > 5, "with the reason");
    assert!(text(&refused["delivery"]).starts_with("D-"));
    assert_eq!(world.cli.ok(&["list"])["actions"], json!([]), "taken whole or not at all");
    // The owner finds it without a window, and a conflict as well.
    world.created(&email("evt-2", "r-2", ROBIN));
    let mut other = email("evt-2", "r-2", ROBIN);
    other["actions"][0]["payload"]["text"] = json!("Something else.");
    world.propose(&other).expect(3);
    let told = world.cli.ok(&["source", "refusals", "bot"]);
    let of = |n: usize| {
        let one = &told["not_taken"][n];
        (text(&one["disposition"]).to_owned(), text(&one["event_id"]).to_owned(), text(&one["reason"]).len() > 5)
    };
    assert_eq!(of(0), ("conflict".into(), "evt-2".into(), true), "{told}");
    assert_eq!(of(1), ("not_permitted".into(), "evt-1".into(), true), "{told}");
    assert_eq!((text(&told["not_taken"][1]["delivery"]), told["not_taken"].as_array().unwrap().len()), ("D-1", 2));
}

#[test]
fn r04_nothing_is_completed_that_its_source_may_not_propose_any_more_or_that_still_lacks_an_identity() {
    let world = World::sandbox();
    let waiting = |event: Option<&str>, request: &str| {
        let mut document = email(event.unwrap_or_default(), request, ROBIN);
        document["actions"][0]["payload"]["text"] = json!(format!("{event:?} {request}"));
        let answer = world.propose(&document).expect(0).json();
        assert_eq!(disposition(&answer), "needs_review");
        text(&answer["actions"][0]["id"]).to_owned()
    };
    let eventless = waiting(None, "r-1");
    let missing = world.cli.run(&["confirm", &eventless]).expect(3).error();
    assert_eq!((text(&missing["code"]), text(&missing["field"])), ("conflict", "event_id"));
    assert_eq!(world.cli.ok(&["confirm", &eventless, "--event-id", "evt-1"])["state"], "prepared");

    let (first, second) = (waiting(Some("evt-2"), ""), waiting(Some("evt-3"), ""));
    assert_eq!(world.cli.ok(&["confirm", &first, "--request-id", "r-2"])["state"], "prepared");
    world.cli.ok(&["source", "revoke", "bot"]);
    assert_eq!(
        world.cli.run(&["source", "revoke", "bot"]).expect(3).error()["code"],
        "conflict",
        "it was revoked already"
    );
    let refused = world.cli.run(&["confirm", &second, "--request-id", "r-3"]).expect(4).error();
    assert_eq!((text(&refused["code"]), text(&refused["action"])), ("not_permitted", second.as_str()));
    let doc = world.cli.ok(&["show", &second]);
    assert_eq!((&doc["state"], &doc["key"]), (&json!("needs_review"), &json!(null)), "nothing changed");
}

#[test]
fn r04_nothing_is_completed_for_a_destination_that_is_gone() {
    let world = World::sandbox();
    let answer = world.propose(&email("evt-1", "", ROBIN)).expect(0).json();
    let id = text(&answer["actions"][0]["id"]);
    world.cli.ok(&["destination", "remove", "sandbox-mailbox"]);
    let refused = world.cli.run(&["confirm", id, "--request-id", "r-1"]).expect(4).error();
    assert!(text(&refused["message"]).contains("sandbox-mailbox"), "{refused}");
    assert_eq!(world.cli.ok(&["show", id])["state"], "needs_review");
}

#[test]
fn r04_a_missing_identity_needs_review_and_gets_its_key_when_a_person_completes_it() {
    let world = World::sandbox();
    let mut document = email("evt-1", "r-1", ROBIN);
    document.as_object_mut().unwrap().remove("request_id");
    let answer = world.propose(&document).expect(0).json();
    assert_eq!(disposition(&answer), "needs_review");
    let id = text(&answer["actions"][0]["id"]).to_owned();
    assert_eq!(answer["actions"][0]["key"], json!(null));
    for told in [&answer["actions"][0], &world.show(&json!(id)), &world.cli.ok(&["list"])["actions"][0]] {
        assert_eq!(told.get("payload_hash"), Some(&json!(null)), "one word for none: {told}");
    }
    let none = world.cli.run(&["approve", &id, "--payload-hash", &"0".repeat(64)]).expect(3);
    assert_eq!(none.error()["action"], id);
    world.cli.run(&["confirm", &id]).expect(3);
    assert_eq!(world.cli.run(&["confirm", &id, "--request-id", ""]).expect(2).error()["field"], "request_id");
    let doc = world.cli.ok(&["confirm", &id, "--request-id", "r-1"]);
    assert_eq!((text(&doc["state"]), text(&doc["key"]["request_id"])), ("prepared", "r-1"));

    let mut second = email("evt-2", "", ROBIN);
    second["actions"][0]["payload"]["text"] = json!("Another one.");
    let second = world.propose(&second).expect(0).json();
    let id = text(&second["actions"][0]["id"]);
    world.cli.run(&["confirm", id, "--request-id", "r-1"]).expect(3);
    assert_eq!(world.show(&second["actions"][0]["id"])["state"], "needs_review", "a key that exists changes nothing");
}

#[test]
fn f54_f30_malformed_documents_name_the_field_and_leave_no_row() {
    let world = World::sandbox();
    let good = email("evt-1", "r-1", ROBIN).to_string();
    let twice = good.replacen("\"subject\":", "\"subject\":\"x\",\"subject\":", 1);
    let large = good.replacen("\"source_version\":3", "\"source_version\":9007199254740993", 1);
    let unknown = good.replacen("\"event_id\":", "\"colour\":1,\"event_id\":", 1);
    let mut folded = email("evt-1", "r-1", ROBIN);
    folded["actions"][0]["effect"] = json!("email.reply");
    folded["actions"][0]["payload"]["in_reply_to"] = json!("<a@b.example>\r\nBcc: spy@example.test");
    let folded = folded.to_string();
    let cases = [
        (twice.as_str(), "actions[0].payload.subject"),
        (large.as_str(), "source_version"),
        (unknown.as_str(), "colour"),
        (folded.as_str(), "actions[0].payload.in_reply_to"),
    ];
    for (document, field) in cases {
        let refused = world.cli.run_input(&["propose", "-", "--source", "bot"], document.as_bytes()).expect(2);
        assert_eq!(refused.error()["field"], field);
        assert_eq!(refused.stdout, "", "no answer where nothing was recorded");
    }
    let seq = |w: &World| w.cli.ok(&["verify"])["seq"].clone();
    let before = seq(&world);
    world.cli.run_input(&["propose", "-", "--source", "bot"], twice.as_bytes()).expect(2);
    assert_eq!(seq(&world), before, "no partial row");
    assert_eq!(world.cli.run_input(&["propose", "-", "--source", "bot"], b"").expect(2).error()["code"], "bad_input");
    world.cli.run_input(&["propose", "-", "--source", "nobody"], good.as_bytes()).expect(5);
    world.cli.run(&["propose", "/nowhere.json", "--source", "bot"]).expect(2);
}

#[test]
fn r06_sixteen_identical_proposals_at_once_make_one_action() {
    let world = World::sandbox();
    let document = email("evt-1", "r-1", ROBIN);
    let answers: Vec<_> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..16).map(|_| scope.spawn(|| world.propose(&document).expect(0).json())).collect();
        all.into_iter().map(|one| one.join().expect("no proposal panics")).collect()
    });
    let created = answers.iter().filter(|a| disposition(a) == "created").count();
    assert_eq!(created, 1);
    assert!(answers.iter().all(|a| a["actions"][0]["id"] == answers[0]["actions"][0]["id"]));
    assert_eq!(world.cli.ok(&["list"])["actions"].as_array().unwrap().len(), 1);
}
