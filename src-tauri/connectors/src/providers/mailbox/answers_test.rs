use super::*;
use crate::transport::SmtpReply;
use countersign_domain::classify;
use toml::Table;

/// A recorded reply, or a code of our own, with the outcome it must get.
fn cases(text: &str) -> Vec<Table> {
    let file: Table = text.parse().unwrap();
    file["answer"].as_array().unwrap().iter().map(|v| v.as_table().unwrap().clone()).collect()
}

const FILES: [(&str, &str); 2] =
    [("replies", include_str!("answers/replies.toml")), ("own_codes", include_str!("answers/own_codes.toml"))];

fn step(name: &str) -> Step {
    use Step::*;
    [Greeting, Ehlo, StartTls, Auth, Mail, Rcpt, Data, FinalDot].into_iter().find(|s| s.name() == name).unwrap()
}

#[test]
fn r20_every_recorded_answer_gets_its_outcome() {
    let mut seen = 0;
    for (file, text) in FILES {
        for case in cases(text) {
            let get = |key: &str| case.get(key).and_then(toml::Value::as_str);
            let answer = match get("code") {
                Some(code) => answer(code, "recorded"),
                None => {
                    let line = get("line").unwrap();
                    let (code, text) = line.split_once(' ').unwrap_or((line, ""));
                    let reply = SmtpReply {
                        step: step(get("step").unwrap()),
                        code: code.parse().unwrap(),
                        enhanced: None,
                        text: text.to_owned(),
                    };
                    read(&Reply::Smtp(reply))
                }
            };
            for has_mailbox in [true, false] {
                let outcome = classify(contract::of(has_mailbox), &answer);
                let found = match &outcome {
                    countersign_domain::Outcome::NotSent(n) if n.pauses => "pauses",
                    other => other.name(),
                };
                assert_eq!(found, get("outcome").unwrap(), "{file}: {case:?}");
                if let (countersign_domain::Outcome::Accepted(r), Some(id)) = (&outcome, get("reference")) {
                    assert_eq!(r.reference.as_deref(), Some(id).filter(|id| !id.is_empty()), "{case:?}");
                }
            }
            seen += 1;
        }
    }
    assert!(seen > 40, "the folder is read: {seen}");
}

#[test]
fn r20_every_answer_file_is_read() {
    let here = concat!(env!("CARGO_MANIFEST_DIR"), "/src/providers/mailbox/answers");
    let mut names: Vec<String> = std::fs::read_dir(here)
        .unwrap()
        .map(|f| f.unwrap().file_name().into_string().unwrap().trim_end_matches(".toml").to_owned())
        .collect();
    names.sort();
    let mut known = FILES.map(|(n, _)| n.to_owned()).to_vec();
    known.sort();
    assert_eq!(names, known);
}

#[test]
fn without_a_mailbox_the_contract_says_that_nothing_can_be_looked_up() {
    assert!(contract::of(true).can_look() && !contract::of(false).can_look());
    for c in [contract::of(true), contract::of(false)] {
        assert!(!c.absence_conclusive, "absence in Sent is no evidence");
        assert!(!c.recognises_repeat(), "nothing in SMTP recognises a repeat");
        assert!(c.refusal_frees_key);
        assert_eq!(c.effects, ["email.send", "email.reply"]);
    }
}

#[test]
fn r31_words_hold_no_address() {
    let reply = SmtpReply {
        step: Step::Rcpt,
        code: 550,
        enhanced: Some([5, 1, 1]),
        text: "<robin@customer.example>: Recipient address rejected".into(),
    };
    assert_eq!(read(&Reply::Smtp(reply)).words, "550 5.1.1 <address> Recipient address rejected");
}
