//! Reads a provider's recorded answers: the folder's files, each answer with the outcome it must get. For tests.

use crate::transport::HttpReply;
use countersign_domain::{Answer, Contract, Outcome, classify};
use toml::{Table, Value};

/// Checks every answer of `providers/NAME/answers/*.toml` and tells how many there were.
pub(crate) fn check(provider: &str, contract: &Contract, read: impl Fn(&HttpReply) -> Answer) -> usize {
    let folder = format!("{}/src/providers/{provider}/answers", env!("CARGO_MANIFEST_DIR"));
    let mut seen = 0;
    for file in std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{folder}: {e}")) {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        let table: Table = text.parse().unwrap();
        for case in table["answer"].as_array().unwrap() {
            let text = |key: &str| case.get(key).and_then(Value::as_str);
            let answer = match text("code") {
                Some(code) => crate::transport::reply::answer(code, "recorded"),
                None => {
                    let mut headers =
                        vec![("content-type".to_owned(), text("type").unwrap_or("application/json").to_owned())];
                    headers.extend(text("retry_after").map(|v| ("retry-after".to_owned(), v.to_owned())));
                    let more = case.get("headers").and_then(Value::as_table).into_iter().flatten();
                    headers.extend(more.map(|(name, v)| (name.clone(), v.as_str().unwrap().to_owned())));
                    read(&HttpReply {
                        status: u16::try_from(case["status"].as_integer().unwrap()).unwrap(),
                        headers,
                        body: text("body").unwrap_or_default().as_bytes().to_vec(),
                        ahead_seconds: None,
                    })
                }
            };
            let outcome = classify(contract, &answer);
            let found = match &outcome {
                Outcome::NotSent(n) if n.pauses => "pauses",
                other => other.name(),
            };
            assert_eq!(found, text("outcome").unwrap(), "{provider}: {case:?} gives {answer:?}");
            if let (Outcome::Accepted(receipt), Some(wanted)) = (&outcome, text("reference")) {
                assert_eq!(receipt.reference.as_deref().unwrap_or_default(), wanted, "{case:?}");
            }
            if let (Outcome::NotSent(no), Some(wanted)) = (&outcome, text("retry_after")) {
                assert_eq!(no.retry_after.map(|d| d.as_secs().to_string()).as_deref(), Some(wanted), "{case:?}");
            }
            assert!(!answer.words.contains('@'), "words hold no address: {}", answer.words);
            seen += 1;
        }
    }
    seen
}
