//! Proposals at the door: what is taken, what is refused, and with which path.

use countersign_domain::{Conversation, Payload, Proposal};
use serde_json::{Value, json};

/// The example of interfaces.md.
fn document() -> Value {
    json!({
        "event_id": "evt-1001",
        "request_id": "inquiry-4417",
        "source_version": 3,
        "conversation": {
            "from": {"name": "Robin Vale", "email": "robin@customer.example"},
            "subject": "Delivery slot", "received_at": "2026-11-02T09:15:00Z",
            "message_id": "<m1@customer.example>", "references": [], "text": "Can I move my slot?", "html": null
        },
        "actions": [
            {"step": "first-reply", "effect": "email.reply", "destination": "support-mailbox",
             "payload": {"from": {"email": "support@shop.example"},
               "to": [{"name": "Robin Vale", "email": "robin@customer.example"}],
               "cc": [], "bcc": [], "reply_to": [], "subject": "Re: Delivery slot", "text": "Of course: …", "html": null,
               "in_reply_to": "<m1@customer.example>", "references": ["<m1@customer.example>"],
               "attachments": [{"filename": "slots.pdf", "content_type": "application/pdf", "base64": "JVBERg=="}]}},
            {"step": "log-note", "after": "first-reply", "effect": "crm.note", "destination": "crm",
             "payload": {"record": {"type": "contact", "match": {"email": "robin@customer.example"}},
               "text": "Asked to move the slot"}}
        ],
        "draft": {"run_id": "run-88", "model": "any", "reason": "moves the slot, confirms the fee"}
    })
}

fn parse(document: &Value) -> Result<Proposal, String> {
    Proposal::parse(document.to_string().as_bytes()).map_err(|e| e.to_string())
}

/// The error after `change`, which must begin with the path.
fn refused(path: &str, change: impl FnOnce(&mut Value)) -> String {
    let mut document = document();
    change(&mut document);
    let error = parse(&document).expect_err(path);
    assert!(error.starts_with(&format!("{path}: ")), "{error} should be about {path}");
    error
}

/// The error after putting `value` at the JSON pointer.
fn refused_at(path: &str, pointer: &str, value: Value) -> String {
    refused(path, |d| *d.pointer_mut(pointer).expect("pointer of the example") = value)
}

#[test]
fn the_example_of_the_interfaces_is_taken_as_it_is() {
    let proposal = parse(&document()).unwrap();
    assert_eq!(proposal.event_id.as_deref(), Some("evt-1001"));
    assert_eq!(proposal.request_id.as_deref(), Some("inquiry-4417"));
    assert_eq!(proposal.source_version, Some(3));
    assert_eq!(proposal.actions[1].after.as_deref(), Some("first-reply"));
    assert_eq!(proposal.draft.model.as_deref(), Some("any"));
    let payload = &proposal.actions[0].payload;
    // printf '%%PDF' | sha256sum
    let digest = "315d429b7714cedb6ad04ac31240145257692630457f3c88253c5beceac76027";
    assert_eq!(
        payload.value()["attachments"],
        json!([{"filename": "slots.pdf", "content_type": "application/pdf", "sha256": digest, "size": 4}])
    );
    let mut rest = payload.value().clone();
    rest["attachments"] = document()["actions"][0]["payload"]["attachments"].clone();
    assert_eq!(rest, document()["actions"][0]["payload"], "nothing but the attachment's bytes is replaced");
    let email = payload.email().unwrap();
    assert_eq!(email.to[0].name.as_deref(), Some("Robin Vale"));
    assert_eq!(&email.attachments[0].content.bytes[..], b"%PDF");
}

#[test]
fn r04_missing_null_empty_and_blank_identities_are_missing_and_not_refused() {
    for value in [Value::Null, json!(""), json!("  ")] {
        let mut d = document();
        d["event_id"] = value.clone();
        d["request_id"] = value;
        let proposal = parse(&d).unwrap();
        assert_eq!((proposal.event_id, proposal.request_id), (None, None));
    }
    let mut d = document();
    d.as_object_mut().unwrap().retain(|k, _| k != "event_id" && k != "request_id");
    assert_eq!(parse(&d).unwrap().request_id, None);
    refused_at("request_id", "/request_id", json!(4417));
}

#[test]
fn unknown_fields_are_refused_by_name_wherever_they_are() {
    refused("environment", |d| d["environment"] = json!("live"));
    refused("conversation.mood", |d| d["conversation"]["mood"] = json!("cross"));
    refused("conversation.from.phone", |d| d["conversation"]["from"]["phone"] = json!("1"));
    refused("actions[0].when", |d| d["actions"][0]["when"] = json!("now"));
    refused("actions[0].payload.sender", |d| d["actions"][0]["payload"]["sender"] = json!("x"));
    refused("actions[0].payload.to[0].addr", |d| d["actions"][0]["payload"]["to"][0]["addr"] = json!("x"));
    refused("actions[0].payload.attachments[0].url", |d| {
        d["actions"][0]["payload"]["attachments"][0]["url"] = json!("x");
    });
    refused("actions[1].payload.record.id", |d| d["actions"][1]["payload"]["record"]["id"] = json!("x"));
    refused("draft.score", |d| d["draft"]["score"] = json!(1));
    refused("actions[0].payload.in_reply_to", |d| d["actions"][0]["effect"] = json!("email.send"));
}

#[test]
fn missing_fields_are_named() {
    for (path, parent, field) in [
        ("actions", "", "actions"),
        ("actions[0].step", "/actions/0", "step"),
        ("actions[0].destination", "/actions/0", "destination"),
        ("actions[0].payload", "/actions/0", "payload"),
        ("actions[0].payload.from", "/actions/0/payload", "from"),
        ("actions[0].payload.to", "/actions/0/payload", "to"),
        ("actions[0].payload.subject", "/actions/0/payload", "subject"),
        ("actions[0].payload.text", "/actions/0/payload", "text"),
        ("actions[0].payload.in_reply_to", "/actions/0/payload", "in_reply_to"),
        ("actions[0].payload.to[0].email", "/actions/0/payload/to/0", "email"),
        ("actions[0].payload.attachments[0].base64", "/actions/0/payload/attachments/0", "base64"),
        ("actions[0].payload.attachments[0].filename", "/actions/0/payload/attachments/0", "filename"),
        ("actions[1].payload.record", "/actions/1/payload", "record"),
        ("actions[1].payload.text", "/actions/1/payload", "text"),
    ] {
        refused(path, |d| {
            d.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(field);
        });
    }
    refused_at("actions[0].payload.to", "/actions/0/payload/to", json!([]));
    refused_at("actions", "/actions", json!([]));
    refused_at("actions[0].effect", "/actions/0/effect", json!("email.forward"));
}

#[test]
fn r11_after_names_a_step_of_the_same_document_and_never_leads_in_a_circle() {
    refused_at("actions[1].after", "/actions/1/after", json!("second-reply"));
    refused_at("actions[1].after", "/actions/1/after", json!("log-note"));
    refused_at("actions[1].step", "/actions/1/step", json!("first-reply"));
    let circle = refused("actions[0].after", |d| d["actions"][0]["after"] = json!("log-note"));
    assert!(circle.contains("circle"), "{circle}");
}

#[test]
fn f30_line_breaks_and_nul_are_refused_in_every_header_value_with_the_path() {
    for (path, pointer) in [
        ("actions[0].payload.subject", "/actions/0/payload/subject"),
        ("actions[0].payload.in_reply_to", "/actions/0/payload/in_reply_to"),
        ("actions[0].payload.references[0]", "/actions/0/payload/references/0"),
        ("actions[0].payload.from.email", "/actions/0/payload/from/email"),
        ("actions[0].payload.to[0].email", "/actions/0/payload/to/0/email"),
        ("actions[0].payload.to[0].name", "/actions/0/payload/to/0/name"),
        ("actions[0].payload.attachments[0].filename", "/actions/0/payload/attachments/0/filename"),
        ("actions[0].payload.attachments[0].content_type", "/actions/0/payload/attachments/0/content_type"),
        ("conversation.subject", "/conversation/subject"),
        ("conversation.from.name", "/conversation/from/name"),
        ("event_id", "/event_id"),
        ("request_id", "/request_id"),
        ("actions[0].step", "/actions/0/step"),
    ] {
        let was = document().pointer(pointer).unwrap().as_str().unwrap().to_owned();
        for breaker in ["\r\n", "\n", "\r", "\0"] {
            refused_at(path, pointer, json!(format!("{was}{breaker}Bcc: spy@example.test")));
        }
    }
    refused_at(
        "actions[0].payload.in_reply_to",
        "/actions/0/payload/in_reply_to",
        json!("<a@b.example>\r\nBcc: spy@example.test"),
    );
}

#[test]
fn f39_a_time_that_the_zone_does_not_have_or_has_twice_is_refused_at_its_field() {
    let at = |local: &str| json!({"local": local, "zone": "Europe/Berlin"});
    let skipped = refused("actions[0].payload.send_at.local", |d| {
        d["actions"][0]["payload"]["send_at"] = at("2027-03-28T02:30");
    });
    assert!(skipped.contains("01:30") && skipped.contains("03:30"), "what may be said instead: {skipped}");
    refused("actions[0].payload.send_at.offset", |d| d["actions"][0]["payload"]["send_at"] = at("2027-10-31T02:30"));
    refused("actions[0].payload.send_at.zone", |d| {
        d["actions"][0]["payload"]["send_at"] = json!({"local": "2027-03-28T10:30", "zone": "CEST"});
    });
    refused("actions[0].payload.send_at.when", |d| d["actions"][0]["payload"]["send_at"] = json!({"when": "soon"}));
    // Only messages wait for a time.
    refused("actions[1].payload.send_at", |d| d["actions"][1]["payload"]["send_at"] = at("2027-03-28T10:30"));
    // Kept as it came; a stored one stays readable when the zone's rules change.
    let mut told = document();
    told["actions"][0]["payload"]["send_at"] = at("2027-03-28T10:30");
    let proposal = parse(&told).expect("it exists");
    assert_eq!(proposal.actions[0].payload.value()["send_at"], at("2027-03-28T10:30"));
    let mut value = proposal.actions[0].payload.value().clone();
    value["send_at"] = at("2027-03-28T02:30");
    let stored = Payload::parse("email.reply", value, proposal.actions[0].payload.attachments()).expect("it is read");
    assert!(stored.due().is_err(), "but never due at another time");
}

#[test]
fn f54_duplicate_keys_and_integers_beyond_53_bits_are_refused_with_their_path() {
    let duplicate = r#"{"actions":[{"step":"s","payload":{"to":"a@example.test","to":"b@example.test"}}]}"#;
    assert_eq!(Proposal::parse(duplicate.as_bytes()).unwrap_err().field, "actions[0].payload.to");
    for number in ["9007199254740993", "-9007199254740993", "0.5", "1e3", "18446744073709551616"] {
        let text = format!(r#"{{"actions":[{{"payload":{{"fields":{{"deal_id":{number}}}}}}}]}}"#);
        let error = Proposal::parse(text.as_bytes()).unwrap_err();
        assert_eq!(error.field, "actions[0].payload.fields.deal_id", "{number}: {error}");
    }
    let torn = Proposal::parse(b"{\"actions\":[{\"step\":\"\xff\"}]}").unwrap_err();
    assert!(torn.reason.contains("UTF-8") && torn.field == "actions[0].step", "{torn}");
    assert!(Proposal::parse(b"{} {}").is_err());
}

#[test]
fn f22_a_folded_message_id_of_the_parent_is_unfolded_and_the_value_stays_as_it_came() {
    let raw = "\r\n <long-id-0001@mail.example.test>\r\n";
    let value =
        json!({"message_id": raw, "references": ["<a@b.example>\r\n\t<c@d.example>", "junk", "<<e@f.example>"]});
    let conversation = Conversation::parse(value.clone()).unwrap();
    assert_eq!(conversation.message_id.as_deref(), Some("<long-id-0001@mail.example.test>"));
    assert_eq!(conversation.references, ["<a@b.example>", "<c@d.example>", "<e@f.example>"]);
    assert_eq!(conversation.value, value);
    let none = Conversation::parse(json!({"message_id": "no id here"})).unwrap();
    assert_eq!(none.message_id, None);
}

#[test]
fn the_content_hash_does_not_depend_on_the_order_of_keys_or_on_spaces() {
    let tidy = parse(&document()).unwrap().content_hash;
    let pretty = serde_json::to_string_pretty(&document()).unwrap();
    assert_eq!(Proposal::parse(pretty.as_bytes()).unwrap().content_hash, tidy);
    let mut other = document();
    other["draft"]["reason"] = json!("something else");
    assert_ne!(parse(&other).unwrap().content_hash, tidy);
}

#[test]
fn f14_an_untouched_payload_round_trips_and_deliberate_empties_survive() {
    let value = json!({
        "record": {"type": "deal", "match": {"id": 5}},
        "fields": {"deal_amount": 0, "owner": null, "note": "", "won": false, "score": "12.50"}
    });
    let payload = Payload::parse("crm.deal.update", value.clone(), &[]).unwrap();
    assert_eq!(*payload.value(), value);
    let email = parse(&document()).unwrap().actions.remove(0).payload;
    let again = Payload::parse("email.reply", email.value().clone(), email.attachments()).unwrap();
    assert_eq!(again, email);
    // Absent, null and [] are three things.
    let mut variants = Vec::new();
    for cc in [None, Some(Value::Null), Some(json!([]))] {
        let mut v =
            json!({"from": {"email": "a@b.example"}, "to": [{"email": "c@d.example"}], "subject": "", "text": ""});
        if let Some(cc) = cc {
            v["cc"] = cc;
        }
        variants.push(Payload::parse("email.send", v, &[]).unwrap());
    }
    assert_ne!(variants[0].value(), variants[1].value());
    assert_ne!(variants[1].value(), variants[2].value());
}

#[test]
fn attachments_are_bound_by_digest_and_an_edit_may_only_name_a_known_one() {
    let payload = parse(&document()).unwrap().actions.remove(0).payload;
    let edit = |change: &dyn Fn(&mut Value)| {
        let mut value = payload.value().clone();
        change(&mut value);
        Payload::parse("email.reply", value, payload.attachments()).map_err(|e| e.field)
    };
    let renamed = edit(&|v| v["attachments"][0]["filename"] = json!("new.pdf")).unwrap();
    assert_eq!(renamed.attachments(), payload.attachments());
    assert_eq!(edit(&|v| v["attachments"][0]["sha256"] = json!("00")).unwrap_err(), "attachments[0].sha256");
    assert_eq!(edit(&|v| v["attachments"][0]["size"] = json!(5)).unwrap_err(), "attachments[0].size");
    assert_eq!(edit(&|v| v["attachments"][0]["base64"] = json!("JVBERg==")).unwrap_err(), "attachments[0].base64");
    assert_eq!(edit(&|v| v["attachments"][0]["filename"] = json!("../x")).unwrap_err(), "attachments[0].filename");
    assert_eq!(
        edit(&|v| v["attachments"][0]["content_type"] = json!("multipart/mixed")).unwrap_err(),
        "attachments[0].content_type"
    );
    refused_at("actions[0].payload.attachments[0].base64", "/actions/0/payload/attachments/0/base64", json!("JV BE"));
}

#[test]
fn every_effect_of_the_table_takes_its_payload_and_refuses_a_wrong_one() {
    let record = json!({"type": "contact", "match": {"external_id": "x-1"}});
    let mail =
        json!({"from": {"email": "a@b.example"}, "to": [{"email": "c@d.example"}], "subject": "S", "html": "<p>x</p>"});
    let mut reply = mail.clone();
    reply["in_reply_to"] = Value::Null;
    // effect, payload, a required field, a change that is refused and its path
    let table = [
        ("email.send", mail, "from", ("html", json!(1), "html")),
        ("email.reply", reply, "in_reply_to", ("references", json!(["x"]), "references[0]")),
        (
            "crm.contact.upsert",
            json!({"match": {"email": "c@d.example"}, "fields": {"a": 1, "b": null}, "mode": "create_only"}),
            "mode",
            ("mode", json!("merge"), "mode"),
        ),
        (
            "crm.note",
            json!({"record": record, "text": "x"}),
            "record",
            ("record", json!({"type": "contact"}), "record.match"),
        ),
        ("crm.task", json!({"title": "call", "due_at": "2026-11-02"}), "title", ("due_at", json!("soon"), "due_at")),
        (
            "crm.deal.update",
            json!({"record": record, "fields": {"stage": "won"}, "expected": {"stage": "open"}, "expected_version": "7"}),
            "fields",
            ("fields", json!({"tags": []}), "fields.tags"),
        ),
        (
            "crm.email.log",
            json!({"record": record, "subject": "s", "text": "t", "of_step": "x"}),
            "subject",
            ("text", json!([]), "text"),
        ),
        (
            "ticket.reply",
            json!({"ticket": {"id": "9"}, "text": "t", "public": false}),
            "public",
            ("public", json!("no"), "public"),
        ),
        (
            "ticket.create",
            json!({"requester": {"email": "c@d.example"}, "subject": "s", "text": "t"}),
            "requester",
            ("requester", json!({"email": "x"}), "requester.email"),
        ),
        ("webhook.post", json!({"body": {"any": [1, {"thing": null}]}}), "body", ("body", json!([]), "body")),
    ];
    let names: Vec<&str> = table.iter().map(|row| row.0).collect();
    assert_eq!(names, countersign_domain::payload::EFFECTS);
    for (effect, payload, required, (field, wrong, path)) in table {
        Payload::parse(effect, payload.clone(), &[]).unwrap_or_else(|e| panic!("{effect}: {e}"));
        let mut without = payload.clone();
        without.as_object_mut().unwrap().remove(required);
        assert_eq!(Payload::parse(effect, without, &[]).unwrap_err().field, required, "{effect}");
        let mut unknown = payload.clone();
        unknown["surprise"] = json!(1);
        assert_eq!(Payload::parse(effect, unknown, &[]).unwrap_err().field, "surprise", "{effect}");
        let mut changed = payload;
        changed[field] = wrong;
        assert_eq!(Payload::parse(effect, changed, &[]).unwrap_err().field, path, "{effect}");
    }
    let two = json!({"match": {"id": "1", "email": "c@d.example"}, "fields": {}, "mode": "upsert"});
    assert_eq!(Payload::parse("crm.contact.upsert", two, &[]).unwrap_err().field, "match");
}
