//! What an answer means under a contract.

use countersign_domain::contract::{answer_receipt, matches};
use countersign_domain::{Answer, AnswerCode, Contract, Outcome, classify};
use std::time::Duration;

fn contract() -> Contract {
    toml::from_str(
        r#"
        effects = ["email.send", "email.reply"]
        family = "look_up_only"
        key_mechanism = "Message-ID"
        on_changed_content = "not noticed"
        lookup = "Sent folder"
        not_sent = ["smtp:*:4yz", "net:connect", "http:429"]
        pauses = ["smtp:auth:*", "net:offline"]
        refused = ["smtp:*:5yz"]
        accepted = ["smtp:final_dot:2yz"]
        unclear = ["smtp:final_dot:421", "smtp:final_dot:450:*"]
        sources = ["RFC 5321"]
        facts_as_of = "2026-11-01"
        "#,
    )
    .unwrap()
}

fn answer(codes: &[&str]) -> Answer {
    Answer { codes: codes.iter().map(|c| AnswerCode::new(*c)).collect(), words: "words".into(), ..Answer::default() }
}

fn outcome(codes: &[&str]) -> &'static str {
    classify(&contract(), &answer(codes)).name()
}

#[test]
fn r20_patterns_match_segment_by_segment() {
    for (pattern, code) in [
        ("smtp:rcpt:550", "smtp:rcpt:550"),
        ("smtp:rcpt:5yz", "smtp:rcpt:550"),
        ("http:5xx", "http:503"),
        ("smtp:*:550", "smtp:rcpt:550"),
        ("smtp:*", "smtp:rcpt:550"),
        ("net:timeout", "net:timeout"),
    ] {
        assert!(matches(pattern, code), "{pattern} {code}");
    }
    for (pattern, code) in [
        ("smtp:rcpt:5yz", "smtp:rcpt:450"),
        ("smtp:rcpt:5yz", "smtp:rcpt:5502"),
        ("smtp:rcpt:5yz", "smtp:rcpt:5ab"),
        ("smtp:rcpt", "smtp:rcpt:550"),
        ("smtp:rcpt:550", "smtp:rcpt"),
        ("smtp:*", "smtp"),
        ("smtp:*:550", "smtp:550"),
        ("", "smtp"),
        ("net:timeout", "net:timeouts"),
    ] {
        assert!(!matches(pattern, code), "{pattern} {code}");
    }
}

#[test]
fn r20_the_contract_alone_says_what_an_answer_means() {
    assert_eq!(outcome(&["smtp:rcpt:450"]), "not_sent");
    assert_eq!(outcome(&["smtp:rcpt:550"]), "refused");
    assert_eq!(outcome(&["smtp:final_dot:421"]), "unclear", "an exception beats the wider pattern");
    assert_eq!(outcome(&["http:200"]), "unclear", "what no list has is unclear");
    assert_eq!(outcome(&[]), "unclear", "no code at all");
}

#[test]
fn codes_that_point_different_ways_are_unclear() {
    assert_eq!(outcome(&["smtp:rcpt:450", "smtp:rcpt:450"]), "not_sent");
    assert_eq!(outcome(&["smtp:rcpt:450", "smtp:rcpt:550"]), "unclear");
    assert_eq!(outcome(&["smtp:rcpt:450", "smtp:auth:535"]), "unclear");
}

#[test]
fn a_success_without_its_receipt_is_not_a_success() {
    let mut good = answer(&["smtp:final_dot:250"]);
    assert_eq!(classify(&contract(), &good).name(), "unclear");
    good.receipt = Some(answer_receipt(Some("4F2A".into()), "250 queued as 4F2A"));
    assert_eq!(classify(&contract(), &good).name(), "accepted");
}

#[test]
fn r21_a_failed_login_pauses_and_counts_nothing_and_retry_after_is_kept() {
    match classify(&contract(), &answer(&["smtp:auth:535"])) {
        Outcome::NotSent(no) => assert!(no.pauses && !no.counts),
        other => panic!("{other:?}"),
    }
    let busy = Answer { retry_after: Some(Duration::from_secs(90)), ..answer(&["http:429"]) };
    match classify(&contract(), &busy) {
        Outcome::NotSent(no) => {
            assert!(!no.pauses && no.counts);
            assert_eq!(no.retry_after, Some(Duration::from_secs(90)));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_contract_with_an_unknown_or_missing_field_is_not_read() {
    let good = r#"effects = []
        family = "none"
        key_mechanism = ""
        on_changed_content = ""
        not_sent = []
        refused = []
        accepted = []
        sources = []
        facts_as_of = """#;
    let contract: Contract = toml::from_str(good).unwrap();
    assert!(!contract.recognises_repeat() && !contract.can_look() && !contract.absence_conclusive);
    assert!(!contract.refusal_frees_key, "what is not promised is not assumed");
    assert!(toml::from_str::<Contract>(&format!("{good}\nabsense_conclusive = true")).is_err());
    assert!(toml::from_str::<Contract>(&good.replace("family = \"none\"", "")).is_err());
}
