//! What becomes of proposals that come over HTTP.

use crate::wire::{Door, ROBIN, email, text};
use serde_json::json;

#[test]
fn r06_r07_r08_r10_every_disposition_has_its_status() {
    let door = Door::open();
    let created = door.post(&email("evt-1", "r-1")).expect(201).json();
    let action = &created["actions"][0];
    assert_eq!((text(&action["disposition"]), text(&action["state"])), ("created", "prepared"));

    let duplicate = door.post(&email("evt-1", "r-1")).expect(200).json();
    assert_eq!(duplicate["actions"][0]["disposition"], "duplicate");
    assert_eq!(duplicate["actions"][0]["id"], action["id"]);

    let mut other = email("evt-1", "r-1");
    other["actions"][0]["payload"]["text"] = json!("Something else.");
    assert_eq!(door.post(&other).expect(409).json()["actions"][0]["disposition"], "conflict");

    other["event_id"] = json!("evt-2");
    let replaced = door.post(&other).expect(200).json();
    assert_eq!(replaced["actions"][0]["disposition"], "draft_replaced");
    assert_eq!(replaced["actions"][0]["payload_version"], 2);

    let mut older = email("evt-0", "r-1");
    older["source_version"] = json!(1);
    older["actions"][0]["payload"]["text"] = json!("An older thought.");
    assert_eq!(door.post(&older).expect(200).json()["actions"][0]["disposition"], "stale");

    let (id, hash) = (text(&action["id"]), text(&replaced["actions"][0]["payload_hash"]));
    door.cli.ok(&["approve", id, "--payload-hash", hash]);
    let mut late = email("evt-3", "r-1");
    late["actions"][0]["payload"]["text"] = json!("Too late.");
    assert_eq!(door.post(&late).expect(200).json()["actions"][0]["disposition"], "late_draft");

    let mut not_mine = email("evt-4", "r-4");
    not_mine["actions"][0]["destination"] = json!("somewhere-else");
    let refused = door.post(&not_mine).expect(403).json();
    assert_eq!(refused["actions"][0]["disposition"], "not_permitted");
    assert!(text(&refused["actions"][0]["reason"]).len() > 5);

    let mut nameless = email("evt-5", "r-5");
    nameless.as_object_mut().expect("an object").remove("request_id");
    assert_eq!(door.post(&nameless).expect(201).json()["actions"][0]["disposition"], "needs_review");
}

#[test]
fn f20_r06_identical_posts_at_once_make_one_action() {
    let door = Door::open();
    let document = email("evt-100", "r-100");
    let replies: Vec<_> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..16).map(|_| scope.spawn(|| door.post(&document))).collect();
        all.into_iter().map(|one| one.join().expect("no post panics")).collect()
    });
    assert_eq!(replies.iter().filter(|r| r.status == 201).count(), 1, "one creates it");
    assert_eq!(replies.iter().filter(|r| r.status == 200).count(), 15, "the others are told that they are duplicates");
    let id = replies[0].json()["actions"][0]["id"].clone();
    assert!(replies.iter().all(|r| r.json()["actions"][0]["id"] == id));
    assert_eq!(door.cli.ok(&["list"])["actions"].as_array().map(Vec::len), Some(1));
}

#[test]
fn r09_the_command_line_and_http_are_one_intake() {
    let door = Door::open();
    let document = email("evt-1", "r-1");
    let first = door.post(&document).expect(201).json();
    let again =
        door.cli.run_input(&["propose", "-", "--source", "bot"], document.to_string().as_bytes()).expect(0).json();
    assert_eq!(again["actions"][0]["disposition"], "duplicate");
    assert_eq!(again["actions"][0]["id"], first["actions"][0]["id"]);
}

#[test]
fn f30_f54_malformed_documents_are_422_with_the_field_and_leave_no_row() {
    let door = Door::open();
    let before = door.seq();
    let good = email("evt-1", "r-1");
    let mut folded = good.clone();
    folded["actions"][0]["effect"] = json!("email.reply");
    folded["actions"][0]["payload"]["in_reply_to"] = json!("<a@b.example>\r\nBcc: spy@example.test");
    let mut nobody = good.clone();
    nobody["actions"][0]["payload"]["to"] = json!([]);
    let twice = good.to_string().replacen("\"request_id\":", "\"request_id\":\"x\",\"request_id\":", 1);
    let large = good.to_string().replacen("\"source_version\":3", "\"source_version\":9007199254740993", 1);
    let cases = [
        (folded.to_string(), "actions[0].payload.in_reply_to"),
        (nobody.to_string(), "actions[0].payload.to"),
        (twice, "request_id"),
        (large, "source_version"),
        ("{\"event_id\":\"a\0b\"}".to_owned(), ""),
        ("not json".to_owned(), ""),
    ];
    for (body, field) in cases {
        let error = door.post_text(body.as_bytes(), &[]).expect(422).error();
        assert_eq!(error["code"], "bad_input");
        if !field.is_empty() {
            assert_eq!(error["field"], field);
        }
        assert!(text(&error["message"]).len() > 5, "with the reason");
    }
    assert_eq!(door.seq(), before, "no partial row");
    assert_eq!(door.cli.ok(&["list"])["actions"], json!([]));
}

#[test]
fn f21_an_idempotency_key_gives_the_first_answer_again_and_only_accepted_work_is_kept() {
    let door = Door::open();
    let key = [("Idempotency-Key", "\"8e03978e-40d5-43dd-bc93-6894a57f9324\"")];
    let first = email("evt-1", "r-1").to_string();
    let made = door.post_text(first.as_bytes(), &key).expect(201);
    let again = door.post_text(first.as_bytes(), &key).expect(201);
    assert_eq!(made.body, again.body, "the first answer, not a duplicate");
    let reused = door.post_text(email("evt-2", "r-2").to_string().as_bytes(), &key).expect(422).error();
    assert_eq!(reused["field"], "Idempotency-Key");

    let key = [("Idempotency-Key", "k2")];
    let mut without = email("evt-3", "r-3");
    without["actions"][0]["payload"].as_object_mut().expect("an object").remove("to");
    door.post_text(without.to_string().as_bytes(), &key).expect(422);
    door.post_text(email("evt-3", "r-3").to_string().as_bytes(), &key).expect(201);

    // Another source under the same key: another scope.
    let other = door.source("other", &[])["token"].as_str().expect("a token").to_owned();
    let theirs = email("evt-9", "r-9").to_string();
    door.as_source(&other, "POST", "/v1/proposals", &key, theirs.as_bytes()).expect(201);
    door.post_text(first.as_bytes(), &[("Idempotency-Key", "two words")]).expect(400);
}

#[test]
fn f21_an_idempotency_key_is_a_string_of_rfc_8941_with_blanks_escapes_and_parameters() {
    let door = Door::open();
    let first = email("evt-1", "r-1").to_string();
    let made = door.post_text(first.as_bytes(), &[("Idempotency-Key", r#""order \"17\", part 2""#)]).expect(201);
    // Parameters are no part of the key, so this is the same one.
    let with = [("Idempotency-Key", r#""order \"17\", part 2";v=1;by="shop""#)];
    assert_eq!(door.post_text(first.as_bytes(), &with).expect(201).body, made.body, "the first answer");
    let other = email("evt-2", "r-2").to_string();
    assert_eq!(door.post_text(other.as_bytes(), &with).expect(422).error()["field"], "Idempotency-Key");
    for bad in ["\"open", "\"a\" b", "\"a\", \"b\"", "\"\"", r#""a\b""#] {
        let refused = door.post_text(other.as_bytes(), &[("Idempotency-Key", bad)]).expect(400).error();
        assert_eq!(refused["field"], "Idempotency-Key", "{bad}");
        assert!(text(&refused["message"]).contains("double quote"), "{bad}: {refused}");
    }
    door.post_text(other.as_bytes(), &[("Idempotency-Key", "\"order 17\"")]).expect(201);
}

#[test]
fn r09_a_source_learns_what_became_of_it_and_not_what_the_owner_wrote() {
    let door = Door::open();
    let made = door.post(&email("evt-1", "r-1")).expect(201).json();
    let id = text(&made["actions"][0]["id"]);
    let private = "PRIVATE: robin@customer.example is a fraud";
    door.cli.ok(&["reject", id, "--reason", private]);
    let told = door.get(&format!("/v1/actions/{id}")).expect(200).json();
    assert_eq!((text(&told["state"]), &told["reason"]), ("rejected", &json!(null)));
    assert!(text(&told["explanation"]).contains("A person declined it"), "{told}");
    assert!(!told.to_string().contains("PRIVATE"), "{told}");
    assert!(door.cli.ok(&["show", id])["reason"] == private, "the owner keeps their words");
}

#[test]
fn r09_a_source_asks_about_its_own_actions_only() {
    let door = Door::open();
    let made = door.post(&email("evt-1", "r-1")).expect(201).json();
    let action = &made["actions"][0];
    let (id, key) = (text(&action["id"]), text(&action["idempotency_key"]));
    for which in [id, key] {
        let told = door.get(&format!("/v1/actions/{which}")).expect(200).json();
        assert_eq!((text(&told["state"]), &told["receipt"]), ("prepared", &json!(null)));
        assert!(text(&told["explanation"]).len() > 10, "{told}");
        assert!(!told.to_string().contains(ROBIN), "what a person edits is not told to a source");
    }
    let found = door.get("/v1/actions?request_id=r-1&step=first-reply").expect(200).json();
    assert_eq!(found["actions"][0]["id"], action["id"]);
    assert_eq!(door.get("/v1/actions?request_id=r-1&step=other").expect(200).json()["actions"], json!([]));
    assert_eq!(door.get("/v1/actions").expect(422).error()["field"], "request_id");
    door.get("/v1/actions/A-99").expect(404);
    let other = door.source("other", &[])["token"].as_str().expect("a token").to_owned();
    door.as_source(&other, "GET", &format!("/v1/actions/{id}"), &[], b"").expect(404);
    let theirs = door.as_source(&other, "GET", "/v1/actions?request_id=r-1", &[], b"").expect(200).json();
    assert_eq!(theirs["actions"], json!([]));
    door.cli.ok(&["source", "revoke", "other"]);
    door.as_source(&other, "GET", "/v1/actions?request_id=r-1", &[], b"").expect(401);
}

#[test]
fn f21_an_idempotency_key_is_remembered_by_the_ledger_when_the_program_starts_again() {
    let door = Door::open();
    let key = [("Idempotency-Key", "\"k-durable\"")];
    let body = email("evt-1", "r-1").to_string();
    let first = door.post_text(body.as_bytes(), &key).expect(201);
    let door = door.restart();
    let again = door.post_text(body.as_bytes(), &key).expect(201);
    assert_eq!(again.body, first.body, "the first answer, byte for byte: created, and not a duplicate");
    let other = email("evt-2", "r-2").to_string();
    assert_eq!(door.post_text(other.as_bytes(), &key).expect(422).error()["field"], "Idempotency-Key");
    let shown = door.cli.ok(&["show", text(&first.json()["actions"][0]["id"])]);
    assert_eq!(shown["deliveries"].as_array().map(Vec::len), Some(1), "the repeat was not handed in a second time");
}
