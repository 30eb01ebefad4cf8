//! Properties: what is canonical stays so, and nothing that comes in from outside makes the domain fall over.

use countersign_domain::address::{check_address, message_ids};
use countersign_domain::canonical::canonical;
use countersign_domain::json::{MAX_SAFE, parse};
use countersign_domain::risk::{Known, findings};
use countersign_domain::{ActionKey, Conversation, IdempotencyKey, LedgerSecret, Mailbox, Payload, Proposal};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn texts() -> impl Strategy<Value = String> {
    any::<String>().prop_map(|s| s.replace('\0', "?"))
}

fn values() -> impl Strategy<Value = Value> {
    let max = MAX_SAFE as i64;
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        (-max..=max).prop_map(Value::from),
        texts().prop_map(Value::String),
    ];
    leaf.prop_recursive(4, 48, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
            prop::collection::vec((texts(), inner), 0..6).prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

/// The same value with every object's keys inserted the other way round.
fn reversed(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let pairs: Vec<(String, Value)> = map.iter().map(|(k, v)| (k.clone(), reversed(v))).collect();
            Value::Object(pairs.into_iter().rev().collect::<Map<_, _>>())
        }
        Value::Array(items) => Value::Array(items.iter().map(reversed).collect()),
        other => other.clone(),
    }
}

proptest! {
    #[test]
    fn r14_canonical_text_is_read_back_as_the_same_value_and_stays_as_it_is(value in values()) {
        let text = canonical(&value);
        let read = parse(text.as_bytes()).unwrap();
        prop_assert_eq!(&read, &value);
        prop_assert_eq!(canonical(&read), text);
    }

    #[test]
    fn canonical_text_does_not_depend_on_the_order_or_spacing_it_came_in(value in values()) {
        let pretty = serde_json::to_string_pretty(&reversed(&value)).unwrap();
        prop_assert_eq!(canonical(&parse(pretty.as_bytes()).unwrap()), canonical(&value));
    }

    #[test]
    fn two_values_with_one_canonical_text_are_one_value(a in values(), b in values()) {
        prop_assert_eq!(canonical(&a) == canonical(&b), a == b);
    }

    #[test]
    fn any_bytes_at_the_door_give_an_answer(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = Proposal::parse(&bytes);
    }

    #[test]
    fn any_value_at_the_door_gives_an_answer(value in values(), effect in prop::sample::select(&countersign_domain::payload::EFFECTS[..])) {
        let _ = Payload::parse(effect, value.clone(), &[]);
        let _ = Conversation::parse(value.clone());
        let _ = Proposal::parse(json!({"actions": [{"step": "s", "effect": effect, "destination": "d", "payload": value}]}).to_string().as_bytes());
    }

    #[test]
    fn f29_what_is_taken_as_an_address_has_one_reading(text in "[a-z.@\"<>,;: \\\\()\\[\\]\u{430}]{0,24}") {
        if check_address(&text).is_ok() {
            prop_assert_eq!(text.matches('@').count(), 1);
            prop_assert!(!text.contains(['"', '<', '>', ',', ';', ':', ' ', '\\', '(', ')', '[', ']']));
            let mailbox = text.parse::<Mailbox>().unwrap();
            prop_assert!(mailbox.ascii_email().is_ascii());
            prop_assert_eq!(text.split_once('@').map(|(_, d)| d), Some(mailbox.domain()));
        }
    }

    #[test]
    fn f22_message_ids_out_of_any_header_are_clean(raw in any::<String>()) {
        for id in message_ids(&raw) {
            prop_assert!(id.bytes().all(|b| (0x21..=0x7e).contains(&b)));
        }
    }

    #[test]
    fn r03_keys_that_differ_in_any_part_differ(parts in prop::array::uniform6(texts()), other in prop::array::uniform6(texts()), a in 1..9_u32, b in 1..9_u32) {
        let key = |p: &[String; 6], revision| ActionKey {
            environment: p[0].clone(), destination: p[1].clone(), effect: p[2].clone(),
            source: p[3].clone(), request_id: p[4].clone(), step: p[5].clone(), revision,
        };
        let (one, two) = (key(&parts, a), key(&other, b));
        let secret = LedgerSecret([7; 32]);
        prop_assert_eq!(one.canonical() == two.canonical(), one == two);
        let text = one.idempotency_key(&secret).to_string();
        prop_assert!(text.parse::<IdempotencyKey>().is_ok());
        prop_assert_eq!((text.as_bytes()[14], b"89ab".contains(&text.as_bytes()[19])), (b'4', true));
    }

    #[test]
    fn r17_no_html_or_name_makes_the_findings_fall_over(html in "[<>/a-z\"'=: ;#&!\\-{}@.]{0,200}", name in texts()) {
        let value = json!({"from": {"email": "a@b.example"}, "to": [{"email": "c@d.example", "name": name.chars().filter(|c| !c.is_control()).take(60).collect::<String>()}],
            "subject": "", "html": html});
        let email = Payload::parse("email.send", value, &[]).unwrap().email().unwrap();
        let _ = findings(&email, None, &Known::default());
    }
}
