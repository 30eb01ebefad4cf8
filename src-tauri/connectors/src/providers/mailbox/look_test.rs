use super::*;
use serde_json::json;

fn marks() -> Marks {
    Marks { message_id: "<k1@shop.example>".into(), key: "k1".into() }
}

fn headers(raw: &str) -> Headers {
    Headers::read(5, None, format!("{raw}\r\n\r\n").as_bytes()).unwrap()
}

#[test]
fn f07_every_mark_counts_as_much_as_it_proves() {
    let of = |raw: &str| marks().strength(&headers(raw));
    assert_eq!(of("Message-ID: <k1@shop.example>"), Strength::Proof);
    assert_eq!(of("Message-ID:\r\n <k1@shop.example>"), Strength::Proof);
    let moved = "Message-ID: <new-77@provider.example>\r\nX-Microsoft-Original-Message-ID: <k1@shop.example>";
    assert_eq!(of(moved), Strength::Strong);
    let text = in_sent("Sent", &headers(moved), Strength::Strong).text;
    assert!(text.contains("original Message-ID"), "the reason is shown: {text}");
    assert_eq!(of("Message-ID: <x@y.example>\r\nX-Countersign-Key: k1"), Strength::Strong);
    for other in
        ["Message-ID: <xk1@shop.example>", "X-Countersign-Key: k12", "Subject: k1", "Message-ID: <K1@shop.example>"]
    {
        assert_eq!(of(other), Strength::None, "{other}");
    }
}

#[test]
fn the_floor_is_the_oldest_note_and_holds_only_for_the_same_folder() {
    let note = |validity: u32, next: u32| json!({"mailbox": {"sent": {"uid_validity": validity, "uid_next": next}}});
    assert_eq!(floor(&[note(1, 40), note(1, 50)], "sent", 1), Some(40));
    assert_eq!(floor(&[note(1, 40), note(2, 50)], "sent", 2), None);
    assert_eq!(floor(&[note(1, 40), Value::Null], "sent", 1), None, "an attempt without a note lies anywhere");
    assert_eq!(floor(&[], "sent", 1), None);
}

fn dsn(envelope: &str, action: &str, id: &str) -> Vec<u8> {
    format!(
        "From: MAILER-DAEMON@mail.example\r\nContent-Type: multipart/report; report-type=delivery-status; boundary=\"B\"\r\n\r\n\
         --B\r\nContent-Type: text/plain\r\n\r\nYour message.\r\n\
         --B\r\nContent-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; mail.example\r\n{envelope}\r\nFinal-Recipient: rfc822; r@c.example\r\nAction: {action}\r\nStatus: 2.0.0\r\n\
         --B\r\nContent-Type: text/rfc822-headers\r\n\r\nMessage-ID: {id}\r\nSubject: x\r\n\r\n--B--\r\n"
    )
    .into_bytes()
}

#[test]
fn f07_a_delivery_report_with_our_envelope_id_is_proof_and_one_with_our_message_is_strong() {
    let of = |bytes: Vec<u8>| report_of(&bytes, &marks());
    assert_eq!(of(dsn("Original-Envelope-Id: k1", "relayed", "<x@y>")), Some(("relayed".into(), Strength::Proof)));
    assert_eq!(of(dsn("X: y", "failed", "<k1@shop.example>")), Some(("failed".into(), Strength::Strong)));
    assert_eq!(of(dsn("Original-Envelope-Id: k2", "relayed", "<k2@shop.example>")), None);
    assert_eq!(of(dsn("Original-Envelope-Id: k1", "celebrated", "<x@y>")), None);
    assert_eq!(of(b"Content-Type: text/plain\r\n\r\nOriginal-Envelope-Id: k1\r\nAction: relayed\r\n".to_vec()), None);
}
