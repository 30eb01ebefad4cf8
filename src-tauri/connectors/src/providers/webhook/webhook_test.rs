use super::*;

#[test]
fn r20_every_recorded_answer_gets_its_outcome() {
    let seen = crate::answers::check("webhook", &contract("none"), read);
    assert!(seen > 20, "the folder is read: {seen}");
}

#[test]
fn r20_what_the_file_chooses_is_what_is_promised() {
    let of = |name: &str| contract(name);
    assert!(!of("none").can_look() && !of("none").recognises_repeat());
    assert!(of("keeps_id").has_native_key() && !of("keeps_id").can_look());
    assert!(of("look_up").absence_conclusive && !of("look_up").recognises_repeat());
    let both = of("keeps_id_and_look_up");
    assert!(both.has_native_key() && both.can_look() && both.absence_conclusive);
    let read = |text: &str| Config::read(&text.parse().unwrap(), true).map(|c| c.contract.retention_hours);
    let base = "base_url = \"http://127.0.0.1:9/in\"\n";
    assert_eq!(read(&format!("{base}contract = \"keeps_id\"\nkeeps_id_hours = 48")), Ok(Some(48)));
    for (text, field) in [
        (format!("{base}keeps_id_hours = 48"), "keeps_id_hours"),
        (format!("{base}contract = \"always\""), "contract"),
        (format!("{base}contract = \"keeps_id\"\nkeeps_id_hours = 0"), "keeps_id_hours"),
        (String::new(), "base_url"),
    ] {
        assert_eq!(read(&text).unwrap_err().field, field);
    }
}

/// The example of the Standard Webhooks libraries.
#[test]
fn the_published_example_is_signed_as_published() {
    let key = signing_key("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
    let signature = sign(&key, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, b"{\"test\": 2432232314}");
    assert_eq!(signature, "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    assert!(signing_key("whsec_c2hvcnQ=").is_none() && signing_key("secret").is_none());
}
