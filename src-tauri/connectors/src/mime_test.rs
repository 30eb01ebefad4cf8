use super::*;
use crate::preview::{Preview, preview};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use countersign_domain::{ActionKey, LedgerSecret, Payload};
use serde_json::{Value, json};

fn key() -> ActionKey {
    ActionKey {
        environment: "live".into(),
        destination: "support-mailbox".into(),
        effect: "email.reply".into(),
        source: "agent".into(),
        request_id: "inquiry-1".into(),
        step: "first-reply".into(),
        revision: 1,
    }
}

fn idempotency() -> IdempotencyKey {
    key().idempotency_key(&LedgerSecret([7; 32]))
}

fn base() -> Value {
    json!({
        "from": {"name": "Shop Support", "email": "support@shop.example"},
        "to": [{"name": "Robin Vale", "email": "robin@customer.example"}],
        "subject": "Re: Delivery slot",
        "text": "Of course.\n",
        "in_reply_to": "<m1@customer.example>",
    })
}

fn with(changes: Value) -> Value {
    let mut payload = base();
    for (k, v) in changes.as_object().unwrap() {
        payload[k] = v.clone();
    }
    payload
}

fn sealed(payload: Value) -> Sealed {
    let payload = Payload::parse("email.reply", payload, &[]).expect("the payload is right");
    Sealed::seal(key(), 1, payload)
}

fn wire(payload: Value) -> Wire {
    render(&sealed(payload), &idempotency(), None, at()).expect("it can be rendered")
}

fn at() -> Timestamp {
    "2026-11-02T09:20:00Z".parse().unwrap()
}

fn bytes(wire: &Wire) -> String {
    String::from_utf8(Letter::open(wire).unwrap().message.to_vec()).unwrap()
}

fn shown(payload: Value) -> Preview {
    let shown = preview(&wire(payload));
    assert_eq!(shown.unreadable, None);
    shown
}

/// The raw value of a header, folds and all.
fn header<'a>(message: &'a str, name: &str) -> &'a str {
    let head = &message[..message.find("\r\n\r\n").unwrap() + 2];
    let start = head.find(&format!("{name}: ")).unwrap_or_else(|| panic!("no {name} in {head}")) + name.len() + 2;
    let mut end = start;
    loop {
        end += head[end..].find("\r\n").unwrap() + 2;
        if !head[end..].starts_with([' ', '\t']) {
            return &head[start..end - 2];
        }
    }
}

#[test]
fn r14_same_arguments_same_bytes_and_the_headers_are_ours() {
    let payload = with(json!({"html": "<p>Of course.</p>", "attachments": [pdf("slots.pdf")]}));
    let one = wire(payload.clone());
    assert_eq!(one, wire(payload));
    let text = bytes(&one);
    assert_eq!(header(&text, "Message-ID"), format!("<{}@shop.example>", idempotency()));
    assert_eq!(header(&text, "X-Countersign-Key"), idempotency().as_str());
    assert_eq!(header(&text, "Date"), "Mon, 2 Nov 2026 09:20:00 +0000");
    assert!(header(&text, "Content-Type").contains("multipart/mixed"));
    let head = String::from_utf8_lossy(one.bytes()).lines().next().unwrap().to_owned();
    let digest = hex::encode(sha256(text.as_bytes()));
    let frozen = format!(
        "{{\"mail_from\":\"support@shop.example\",\"message_sha256\":\"{digest}\",\"rcpt_to\":[\"robin@customer.example\"]}}"
    );
    assert_eq!(head, frozen);
}

#[test]
fn a_wire_whose_message_is_not_the_one_named_is_not_opened() {
    let mut altered = wire(base()).bytes().to_vec();
    *altered.last_mut().unwrap() = b'x';
    assert_eq!(Letter::open(&Wire::new(altered.clone())), Err(crate::letter::NotALetter));
    assert!(preview(&Wire::new(altered)).unreadable.is_some());
}

#[test]
fn f31_bcc_people_are_in_the_envelope_and_nowhere_in_the_bytes() {
    let wire = wire(with(json!({
        "cc": [{"email": "cc@shop.example"}],
        "bcc": [{"name": "Quiet One", "email": "quiet@example.test"}],
    })));
    let text = bytes(&wire).to_lowercase();
    assert!(!text.contains("bcc") && !text.contains("quiet"), "{text}");
    let shown = preview(&wire);
    assert_eq!(shown.rcpt_to, ["cc@shop.example", "quiet@example.test", "robin@customer.example"]);
    assert_eq!(shown.bcc, ["quiet@example.test"]);
}

#[test]
fn f22_the_parents_id_is_written_as_one_id_on_its_line() {
    let text = bytes(&wire(base()));
    assert!(text.contains("\r\nIn-Reply-To: <m1@customer.example>\r\n"), "{text}");
    assert!(text.contains("\r\nReferences: <m1@customer.example>\r\n"), "{text}");
}

#[test]
fn f23_a_long_thread_is_folded_between_ids_and_keeps_its_ends() {
    let ids: Vec<String> = (0..60).map(|i| format!("<{i:0>26}@mail.example>")).collect();
    let conversation = Conversation::parse(json!({
        "from": {"email": "robin@customer.example"}, "subject": "Delivery slot",
        "message_id": "<m1@customer.example>", "references": ids, "text": "?",
    }))
    .unwrap();
    let wire = render(&sealed(base()), &idempotency(), Some(&conversation), at()).unwrap();
    let text = bytes(&wire);
    let references = header(&text, "References");
    assert!(references.split("\r\n").all(|l| l.len() <= 78 && l.trim().ends_with('>')), "{references}");
    let kept: Vec<&str> = references.split_whitespace().collect();
    assert_eq!(kept[0], ids[0]);
    assert_eq!(kept[kept.len() - 2..], [ids[59].as_str(), "<m1@customer.example>"]);
    let told = bytes(&self::wire(with(json!({ "references": ids }))));
    let all: Vec<&str> = header(&told, "References").split_whitespace().collect();
    assert_eq!(all, ids, "a list that was approved is sent whole");
}

#[test]
fn f24_a_comma_and_an_accent_in_a_name_stay_one_mailbox() {
    for name in ["Doe, Jóhn", "Doe, John", "O\"Hara \\ Co.", "日本 太郎", "=?utf-8?Q?x?=", "a@b, c", ""] {
        let wire = wire(with(json!({"to": [{"name": name, "email": "john.doe@example.test"}]})));
        let text = bytes(&wire);
        let mail = mailparse::parse_mail(text.as_bytes()).unwrap();
        let to = mail.headers.iter().find(|h| h.get_key() == "To").unwrap();
        let one = mailparse::addrparse_header(to).unwrap().extract_single_info().expect("one mailbox");
        assert_eq!(one.addr, "john.doe@example.test");
        assert_eq!(one.display_name.unwrap_or_default(), name);
        let raw = header(&text, "To");
        assert!(!(raw.contains("=?") && raw.contains('"') && name.contains('ó')), "no quotes around words: {raw}");
    }
}

fn pdf(name: &str) -> Value {
    json!({"filename": name, "content_type": "application/pdf", "base64": STANDARD.encode([0, 255, 13, 10, 46, 13])})
}

#[test]
fn f25_both_names_of_a_file_are_the_same_and_keep_the_extension() {
    let long = format!("{}.pdf", "Übersicht über März und April 📎 ".repeat(5).trim());
    for name in ["Übersicht März 📎.pdf", "plain name.pdf", "semi;colon \"quoted\" 100%.pdf", "it's.pdf", &long] {
        let text = bytes(&wire(with(json!({"attachments": [pdf(name)]}))));
        let mail = mailparse::parse_mail(text.as_bytes()).unwrap();
        let part = &mail.subparts[1];
        assert_eq!(part.get_content_disposition().params["filename"], name);
        assert_eq!(part.ctype.params["name"], name);
        assert!(text.split("\r\n").all(|l| l.len() <= 120), "{text}");
    }
}

#[test]
fn r14_attachments_and_texts_arrive_as_they_were() {
    let text = "dot\n.\n..\n\nFrom here\ttabs \u{a0}\n=20 trailing   \nümläut 📎 \u{202e}rtl\nend without newline";
    let shown = shown(with(json!({
        "text": text, "html": format!("<p>{}</p>", "x".repeat(3000)),
        "attachments": [pdf("a.pdf"), {"filename": "n.txt", "content_type": "text/plain; charset=utf-8", "base64": STANDARD.encode("a\nb\r\nc")}],
    })));
    assert_eq!(shown.text.unwrap().replace("\r\n", "\n").trim_end_matches('\n'), text);
    assert_eq!(shown.html.unwrap().trim_end().len(), 3007);
    assert_eq!(shown.attachments[0].size, 6);
    assert_eq!(shown.attachments[1].sha256, hex::encode(sha256(b"a\nb\r\nc")));
}

#[test]
fn text_that_looks_encoded_is_shown_as_it_was_written() {
    let subject = "=?utf-8?B?SGk=?= and =?x";
    assert_eq!(shown(with(json!({ "subject": subject }))).subject, subject);
}

#[test]
fn f26_a_dot_that_a_soft_break_puts_first_is_not_doubled_here() {
    let line = format!("{}.com is cheaper", "x".repeat(75));
    let payload = with(json!({ "text": line }));
    assert_eq!(shown(payload).text.unwrap().trim_end(), line);
}

#[test]
fn f30_line_breaks_never_make_a_header() {
    let id = "<a@b.example>\r\nBcc: spy@example.test";
    assert!(!is_message_id(id));
    for odd in ["<a@b> <c@d>", "a@b", "<a b@c>", "<ab>", "<a@b\u{e9}>", &format!("<{}@b>", "a".repeat(250))] {
        assert!(!is_message_id(odd), "{odd}");
    }
    assert!(is_message_id("<CAF=x+1$2@mail.example>"));
}

#[test]
fn an_idn_domain_goes_out_in_its_ascii_form() {
    let shown = shown(with(json!({"to": [{"name": "B", "email": "anna@bücher.example"}]})));
    assert_eq!(shown.rcpt_to, ["anna@xn--bcher-kva.example"]);
    assert!(shown.bcc.is_empty());
}

#[test]
fn a_draft_that_knows_its_boundary_gains_nothing() {
    // The worst case: the boundary of the previous version, quoted in the next one.
    let html = json!({"html": "<p>x</p>"});
    let first = bytes(&wire(with(html.clone())));
    let boundary = first.split("boundary=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let mut next = with(html);
    next["text"] = json!(format!("before\n--{boundary}\nContent-Type: text/html\n\n<b>other</b>\n--{boundary}--\n"));
    let shown = shown(next.clone());
    assert_eq!(shown.text.unwrap().replace("\r\n", "\n").trim_end(), next["text"].as_str().unwrap().trim_end());
    assert_eq!(shown.html.unwrap().trim_end(), "<p>x</p>");
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(300))]

    #[test]
    fn r14_any_draft_is_sent_as_it_is_or_not_at_all(
        text in "(\\PC|\n|\r|\t){0,400}",
        html in proptest::option::of("(\\PC|\n){0,200}"),
        subject in "\\PC{0,120}",
        name in "\\PC{0,60}",
        file in proptest::option::of("[^/\\\\\\p{C}]{1,40}"),
    ) {
        let mut payload = with(json!({
            "text": text, "subject": subject, "to": [{"name": name, "email": "r@customer.example"}],
            "bcc": [{"email": "hidden@example.test"}],
        }));
        if let Some(html) = &html { payload["html"] = json!(html); }
        if let Some(file) = &file { payload["attachments"] = json!([pdf(file)]); }
        let Ok(payload) = Payload::parse("email.reply", payload, &[]) else { return Ok(()) };
        let sealed = Sealed::seal(key(), 1, payload);
        match render(&sealed, &idempotency(), None, at()) {
            // It was read back inside; here the bytes are held to the rules of the wire.
            Ok(wire) => {
                let letter = Letter::open(&wire).unwrap();
                proptest::prop_assert!(check::check_bytes(letter.message).is_ok());
                let head = bytes(&wire).split("\r\n\r\n").next().unwrap().to_lowercase();
                proptest::prop_assert!(!head.contains("\nbcc:") && !head.contains("hidden"));
            }
            Err(e) => proptest::prop_assert!(false, "{e}"),
        }
    }
}
