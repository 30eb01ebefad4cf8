//! Addresses, message ids and threading: one strict reader for all.

use countersign_domain::Payload;
use countersign_domain::address::{check_address, is_message_id, message_ids};
use countersign_domain::email::{EmailView, Mailbox, threading};
use countersign_domain::proposal::Conversation;
use serde_json::{Value, json};

fn reply(in_reply_to: Value, references: Value) -> EmailView {
    let value = json!({
        "from": {"email": "support@shop.example"}, "to": [{"email": "robin@customer.example"}],
        "subject": "Re: x", "text": "y", "in_reply_to": in_reply_to, "references": references
    });
    Payload::parse("email.reply", value, &[]).unwrap().email().unwrap()
}

fn send() -> EmailView {
    let value = json!({
        "from": {"email": "support@shop.example"}, "to": [{"email": "robin@customer.example"}], "subject": "x", "text": "y"
    });
    Payload::parse("email.send", value, &[]).unwrap().email().unwrap()
}

#[test]
fn ordinary_addresses_are_taken() {
    for address in [
        "robin@customer.example",
        "a.b+c_d'e=f@x.example",
        "UPPER@Case.Example",
        "x@bücher.example",
        "x@xn--bcher-kva.example",
        "x@例子.广告",
        "x@localhost",
        "!#$%&'*+-/=?^_`{|}~@x.example",
    ] {
        assert_eq!(check_address(address), Ok(()), "{address}");
    }
}

#[test]
fn f29_a_quoted_local_part_is_refused_and_never_read_as_another_domain() {
    for address in
        [r#""sales@rival.example"@example.test"#, "sales@rival.example@example.test", r#""a b"@example.test"#, "a@b@c"]
    {
        assert!(check_address(address).is_err(), "{address}");
    }
    let error = check_address(r#""sales@rival.example"@example.test"#).unwrap_err().to_string();
    assert!(error.contains("quoted local part"), "the reason is named: {error}");
}

#[test]
fn f27_a_group_is_refused_by_that_name() {
    let error = check_address("undisclosed-recipients:;").unwrap_err();
    assert!(error.to_string().contains("group"), "{error}");
    assert!(check_address("team: a@b.example;").is_err());
}

#[test]
fn what_is_not_one_address_is_refused() {
    for address in [
        "",
        " ",
        "robin",
        "@x.example",
        "robin@",
        "ro bin@x.example",
        ".robin@x.example",
        "robin.@x.example",
        "ro..bin@x.example",
        "a@b.example,c@d.example",
        "a@b.example c@d.example",
        "Robin <robin@x.example>",
        "<robin@x.example>",
        "robin(comment)@x.example",
        "robin@[192.0.2.1]",
        "robin@192.0.2.1",
        "robin@-x.example",
        "robin@x-.example",
        "robin@x..example",
        "robin@x.example.",
        "robin@x_y.example",
        "robin@xn--zzzzzz99999.example",
        "rößin@x.example",
        "a@b.example\r\nRCPT TO:<c@d.example>",
        "a@b.example\0",
        "a\u{200b}b@x.example",
    ] {
        assert!(check_address(address).is_err(), "{address:?} should be refused");
    }
    assert!(check_address(&format!("{}@x.example", "a".repeat(65))).is_err());
    assert!(check_address(&format!("a@{}.example", "b".repeat(64))).is_err());
    assert!(check_address(&format!("a@{}example", "b.".repeat(130))).is_err());
}

#[test]
fn the_envelope_form_has_an_ascii_domain_and_an_untouched_local_part() {
    let mailbox: Mailbox = "Robin.Vale@Bücher.Example".parse().unwrap();
    assert_eq!(mailbox.ascii_email(), "Robin.Vale@xn--bcher-kva.example");
    assert_eq!(mailbox.folded(), "robin.vale@xn--bcher-kva.example");
}

#[test]
fn f24_names_with_commas_are_read_only_in_quotes() {
    let mailbox: Mailbox = r#""Doe, Jóhn \"J\"" <john.doe@example.test>"#.parse().unwrap();
    assert_eq!(mailbox.name.as_deref(), Some("Doe, Jóhn \"J\""));
    assert_eq!(mailbox.email, "john.doe@example.test");
    assert_eq!("Shop Support <support@shop.example>".parse::<Mailbox>().unwrap().name.as_deref(), Some("Shop Support"));
    for text in [
        "Doe, John <j@x.example>",
        "a@b.example, c <d@e.example>",
        r#""x <a@b.example>"#,
        "x <a@b.example> y",
        "x <a@b>>",
    ] {
        assert!(text.parse::<Mailbox>().is_err(), "{text}");
    }
}

#[test]
fn message_ids_are_strict_and_printable() {
    assert!(is_message_id("<m1@customer.example>"));
    assert!(is_message_id(&format!("<{}@x>", "a".repeat(246))));
    assert!(!is_message_id(&format!("<{}@x>", "a".repeat(247))));
    for id in
        ["m1@x.example", "<m1>", "<@x>", "<a@>", "<a b@x>", "<a@b><c@d>", "<<a@b>", "<a@b>\r\n", "<ä@b>", "<a\t@b>", ""]
    {
        assert!(!is_message_id(id), "{id:?}");
    }
    assert_eq!(message_ids("<a@b> (comment) <c@\r\n d>"), ["<a@b>"]);
}

#[test]
fn threading_takes_what_the_payload_says_and_builds_what_it_leaves_open() {
    let parent = Conversation::parse(json!({"message_id": "<m3@x>", "references": ["<m1@x>", "<m2@x>"]})).unwrap();
    let ids = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
    let m3 = Some("<m3@x>".to_owned());
    // The parent alone said: its references are built.
    assert_eq!(
        threading(&reply(json!("<m3@x>"), Value::Null), Some(&parent)),
        (m3.clone(), ids(&["<m1@x>", "<m2@x>", "<m3@x>"]))
    );
    // Null said: no parent is written, although the conversation has one.
    assert_eq!(threading(&reply(Value::Null, Value::Null), Some(&parent)), (None, vec![]));
    // A send threads with nothing: its payload has no such field that a person could have approved.
    assert_eq!(threading(&send(), Some(&parent)), (None, vec![]));
    // All said: as it is.
    assert_eq!(threading(&reply(json!("<m3@x>"), json!(["<z@x>"])), Some(&parent)), (m3, ids(&["<z@x>"])));
    // An answer to another message does not take this one's references along.
    let other = (Some("<q@x>".to_owned()), ids(&["<q@x>"]));
    assert_eq!(threading(&reply(json!("<q@x>"), Value::Null), Some(&parent)), other);
    // A parent without an id: no headers.
    let nameless = Conversation::parse(json!({"text": "hello"})).unwrap();
    assert_eq!(threading(&reply(Value::Null, Value::Null), Some(&nameless)), (None, vec![]));
    // A parent without references, but with a parent of its own.
    let second = Conversation::parse(json!({"message_id": "<m2@x>", "in_reply_to": "<m1@x>"})).unwrap();
    assert_eq!(threading(&reply(json!("<m2@x>"), Value::Null), Some(&second)).1, ids(&["<m1@x>", "<m2@x>"]));
    // More than one id in the parent's In-Reply-To says nothing about the thread.
    let two = Conversation::parse(json!({"message_id": "<m2@x>", "in_reply_to": "<m1@x> <m0@x>"})).unwrap();
    assert_eq!(threading(&reply(json!("<m2@x>"), Value::Null), Some(&two)).1, ids(&["<m2@x>"]));
}

#[test]
fn f23_a_long_thread_keeps_the_first_and_the_last_ids() {
    let ids: Vec<String> = (0..60).map(|n| format!("<{n:02}{}@mail.example>", "x".repeat(23))).collect();
    assert_eq!(ids[0].len(), 40);
    let parent = Conversation::parse(json!({"message_id": "<parent@mail.example>", "references": ids})).unwrap();
    let (_, references) = threading(&reply(json!("<parent@mail.example>"), Value::Null), Some(&parent));
    assert_eq!(references.first(), Some(&ids[0]));
    assert_eq!(references[references.len() - 2..], [ids[59].clone(), "<parent@mail.example>".to_owned()]);
    assert!("References: ".len() + references.join(" ").len() <= 998, "fits a line even unfolded");
    assert!(references.len() > 20, "no more is dropped than must be");
}
