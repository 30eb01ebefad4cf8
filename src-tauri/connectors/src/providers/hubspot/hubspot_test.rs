use super::*;
use crate::survey::Record;
use countersign_domain::{ActionKey, LedgerSecret, Outcome, Payload, classify};
use toml::Table;

const ENTRIES: [&str; 3] = ["contact_create", "record_update", "engagement"];

#[test]
fn r20_every_recorded_answer_gets_its_outcome() {
    let here = concat!(env!("CARGO_MANIFEST_DIR"), "/src/providers/hubspot/answers");
    let mut seen = 0;
    for file in std::fs::read_dir(here).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        let file: Table = text.parse().unwrap();
        for case in file["answer"].as_array().unwrap() {
            let get = |key: &str| case.get(key).and_then(toml::Value::as_str);
            let reply = HttpReply {
                status: u16::try_from(case["status"].as_integer().unwrap()).unwrap(),
                headers: vec![("content-type".into(), get("type").unwrap_or("application/json").into())],
                body: get("body").unwrap().as_bytes().to_vec(),
                ahead_seconds: None,
            };
            let of = case.get("of").and_then(toml::Value::as_array);
            for entry in ENTRIES.iter().filter(|e| of.is_none_or(|of| of.iter().any(|o| o.as_str() == Some(**e)))) {
                let outcome = classify(contract::named(entry).unwrap(), &read(&reply));
                let found = match &outcome {
                    Outcome::NotSent(n) if n.pauses => "pauses",
                    other => other.name(),
                };
                assert_eq!(found, get("outcome").unwrap(), "{entry}: {case:?}");
                if let (Outcome::Accepted(r), Some(id)) = (&outcome, get("reference")) {
                    assert_eq!(r.reference.as_deref(), Some(id), "{case:?}");
                }
                seen += 1;
            }
        }
    }
    assert!(seen > 40, "the folder is read: {seen}");
}

#[test]
fn the_contract_of_each_effect_says_what_a_lost_answer_leads_to() {
    for effect in contract::EFFECTS {
        let c = contract::of(effect).unwrap();
        assert!(c.effects.iter().any(|e| e == effect) && c.can_look() && !c.sources.is_empty(), "{effect}");
        assert!(!c.recognises_repeat(), "{effect}: it is looked up, never repeated blindly");
        assert_eq!(c.absence_conclusive, effect == "crm.contact.upsert", "{effect}");
    }
    assert!(contract::of("email.send").is_none());
    assert!(!contract::named("record_update").unwrap().absence_conclusive);
}

fn place() -> HubSpot {
    let table: Table = "portal = 4815162\nexternal_id_property = \"shop_id\"".parse().unwrap();
    HubSpot::new(&HubSpotConfig::read(&table, false).unwrap(), Path::new(".")).unwrap()
}

fn rendered(effect: &str, payload: Value, survey: &Survey) -> Result<(String, String, Value), Unrenderable> {
    let key = ActionKey {
        environment: "live".into(),
        destination: "crm".into(),
        effect: effect.into(),
        source: "agent".into(),
        request_id: "r1".into(),
        step: "s".into(),
        revision: 1,
    };
    let idempotency_key = key.idempotency_key(&LedgerSecret([7; 32]));
    let sealed = Sealed::seal(key, 1, Payload::parse(effect, payload, &[]).unwrap());
    let at = "2026-11-02T09:15:00Z".parse().unwrap();
    let wire = place().render_on(&sealed, &idempotency_key, None, at, survey)?;
    let open = wire::open(&wire).expect("it is read back");
    let body = open.body();
    Ok((open.request.method, open.request.path, body))
}

fn robin() -> Survey {
    let values = [("phone".to_owned(), "1".to_owned())].into();
    Survey::Found(Record { id: "4711".into(), title: "Robin Vale".into(), values, version: None })
}

#[test]
fn a_contact_is_made_where_there_is_none_and_changed_by_number_where_there_is_one() {
    let contact = |mode: &str| {
        json!({ "match": { "email": "Robin@Customer.example" }, "mode": mode,
        "fields": { "phone": "+41 44", "score": 7, "vip": true, "note": null } })
    };
    for mode in ["upsert", "create_only"] {
        let (method, path, body) = rendered("crm.contact.upsert", contact(mode), &Survey::Missing).unwrap();
        assert_eq!((method.as_str(), path.as_str()), ("POST", "/crm/objects/2026-03/contacts"));
        let p = &body["properties"];
        assert_eq!((&p["email"], &p["phone"]), (&json!("robin@customer.example"), &json!("+41 44")));
        assert_eq!((&p["score"], &p["vip"], &p["note"]), (&json!("7"), &json!("true"), &json!("")));
        assert_eq!(p["countersign_key"].as_str().unwrap().len(), 36);
    }
    for mode in ["upsert", "update_only"] {
        let (method, path, body) = rendered("crm.contact.upsert", contact(mode), &robin()).unwrap();
        assert_eq!((method.as_str(), path.as_str()), ("PATCH", "/crm/objects/2026-03/contacts/4711"));
        assert!(body["properties"].get("countersign_key").is_none() && body["properties"].get("email").is_none());
    }
    assert_eq!(rendered("crm.contact.upsert", contact("create_only"), &robin()).unwrap_err().field, "mode");
    assert_eq!(rendered("crm.contact.upsert", contact("update_only"), &Survey::Missing).unwrap_err().field, "record");
    let odd = json!({ "match": { "email": "r@x.example" }, "mode": "upsert", "fields": { "Phone/../x": "1" } });
    assert!(rendered("crm.contact.upsert", odd, &Survey::Missing).unwrap_err().field.starts_with("fields."));
    for (list, field) in [("fields", "fields.a&archived=true"), ("expected", "expected.a&archived=true")] {
        let mut deal =
            json!({ "record": { "type": "deal", "match": { "id": "7" } }, "fields": { "dealstage": "won" } });
        deal[list] = json!({ "a&archived=true": "1" });
        assert_eq!(rendered("crm.deal.update", deal, &robin()).unwrap_err().field, field, "it would stand in a query");
    }
    for (fields, field) in [
        (json!({ "countersign_key": "of another action" }), "fields.countersign_key"),
        (json!({ "email": "somebody.else@customer.example" }), "fields.email"),
    ] {
        let payload =
            json!({ "match": { "email": "robin@customer.example" }, "fields": fields, "mode": "create_only" });
        let refused = rendered("crm.contact.upsert", payload, &Survey::Missing).unwrap_err();
        assert_eq!(refused.field, field, "what was approved is not replaced, and our key is ours");
    }
}

#[test]
fn f30_a_note_carries_its_tag_and_no_markup_of_the_text() {
    let note = json!({ "record": { "type": "contact", "match": { "email": "r@x.example" } },
        "text": "Grüße & <img src=x>\nnext" });
    let (_, path, body) = rendered("crm.note", note.clone(), &robin()).unwrap();
    assert_eq!(path, "/crm/objects/2026-03/notes");
    let text = body["properties"]["hs_note_body"].as_str().unwrap();
    assert!(text.starts_with("Grüße &amp; &lt;img src=x&gt;<br>next<br><br>[cs-") && text.ends_with(']'), "{text}");
    assert_eq!(body["properties"]["hs_timestamp"], "2026-11-02T09:15:00Z");
    assert_eq!(body["associations"][0]["to"]["id"], "4711");
    assert_eq!(body["associations"][0]["types"][0]["associationTypeId"], 202);
    for unseen in [Survey::Missing, Survey::NothingToAsk, Survey::CannotAsk { why: "down".into(), signed_out: false }] {
        assert_eq!(rendered("crm.note", note.clone(), &unseen).unwrap_err().field, "record", "{unseen:?}");
    }
    let long = json!({ "record": { "type": "contact", "match": { "id": 4711 } }, "text": "x".repeat(65_536) });
    assert_eq!(rendered("crm.note", long, &robin()).unwrap_err().field, "text");
}

#[test]
fn a_task_and_a_logged_email_hang_on_their_record() {
    let task = json!({ "record": { "type": "company", "match": { "id": "12" } }, "title": "Call", "due_at": "2026-11-05",
        "assignee": "77" });
    let (_, path, body) = rendered("crm.task", task, &Survey::NothingToAsk).unwrap();
    assert_eq!(path, "/crm/objects/2026-03/tasks");
    let p = &body["properties"];
    assert_eq!((&p["hs_task_subject"], &p["hs_timestamp"]), (&json!("Call"), &json!("2026-11-05T12:00:00Z")));
    assert_eq!(
        (&p["hubspot_owner_id"], &body["associations"][0]["types"][0]["associationTypeId"]),
        (&json!("77"), &json!(192))
    );
    let free = rendered("crm.task", json!({ "title": "Call" }), &Survey::NothingToAsk).unwrap().2;
    assert!(free.get("associations").is_none());
    let log =
        json!({ "record": { "type": "deal", "match": { "id": 9 } }, "subject": "Re: slot", "text": "Of <course>" });
    let (_, path, body) = rendered("crm.email.log", log, &Survey::NothingToAsk).unwrap();
    assert_eq!(
        (path.as_str(), &body["associations"][0]["types"][0]["associationTypeId"]),
        ("/crm/objects/2026-03/emails", &json!(210))
    );
    assert!(body["properties"]["hs_email_text"].as_str().unwrap().starts_with("Of <course>\n\n[cs-"));
    let foreign = json!({ "record": { "type": "invoice", "match": { "id": 9 } }, "text": "x" });
    assert_eq!(rendered("crm.note", foreign, &Survey::NothingToAsk).unwrap_err().field, "record.type");
}

#[test]
fn r34_the_table_is_checked() {
    let read = |text: &str| HubSpotConfig::read(&text.parse().unwrap(), true).map_err(|e| e.field);
    assert_eq!(read("").unwrap_err(), "portal");
    assert_eq!(read("portal = 0").unwrap_err(), "portal");
    assert_eq!(read("portal = 1\nbase_url = \"http://crm.example\"").unwrap_err(), "base_url");
    assert_eq!(
        read("portal = 1\nbase_url = \"http://127.0.0.1:9\"\nexternal_id_property = \"A b\"").unwrap_err(),
        "external_id_property"
    );
    let good = read("portal = 1\nbase_url = \"http://127.0.0.1:9\"").unwrap();
    let other = read("portal = 2\nbase_url = \"http://127.0.0.1:9\"").unwrap();
    assert_ne!(good.account(), other.account(), "two accounts of one provider are two");
}

#[test]
fn what_hubspot_writes_in_its_own_form_is_the_same_value() {
    for (approved, kept) in [
        ("2026-12-31", "2026-12-31T00:00:00Z"),
        ("2026-12-31T10:00:00+01:00", "2026-12-31T09:00:00.000Z"),
        ("Sam@Other.example", "sam@other.example"),
        ("  text ", "text"),
        ("7", "7.0"),
        ("-0.50", "-0.5"),
    ] {
        assert!(look::same_value(approved, kept), "{approved} {kept}");
    }
    for (approved, kept) in [
        ("2026-12-31", "2026-12-30T23:00:00Z"),
        ("Won", "won"),
        ("007", "7"),
        ("12345678901234567", "12345678901234568"),
        ("", "0"),
        ("a@b.example", "c@b.example"),
    ] {
        assert!(!look::same_value(approved, kept), "{approved} {kept}");
    }
}
