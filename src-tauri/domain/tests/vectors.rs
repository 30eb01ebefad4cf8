//! Frozen texts against vectors that another program computed (`vectors/make.py`: Python and openssl), and against the
//! samples of RFC 8785. If one of these fails, do not change the vector: stored hashes and keys in the field depend on it.

use countersign_domain::canonical::canonical;
use countersign_domain::sealed::payload_hash;
use countersign_domain::{
    AccountFingerprint, ActionKey, Approval, DeviceKey, LedgerSecret, Payload, PayloadHash, Sealed, Signable,
    Timestamp, WireHash, json,
};
use serde_json::Value;
use std::path::Path;

fn read(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors").join(name);
    json::parse(&std::fs::read(path).unwrap()).unwrap()
}

fn text<'v>(vector: &'v Value, field: &str) -> &'v str {
    vector[field].as_str().unwrap_or_else(|| panic!("{field}"))
}

fn key(vector: &Value) -> ActionKey {
    serde_json::from_value(vector["action_key"].clone()).unwrap()
}

const VECTORS: [&str; 8] = [
    "01-published.json",
    "02-nothing-filled-in.json",
    "03-null.json",
    "04-empty-list.json",
    "05-attachments.json",
    "06-text-as-it-came.json",
    "07-order-of-keys.json",
    "08-numbers-and-empties.json",
];

#[test]
fn r02_r05_keys_and_hashes_agree_with_the_vectors_of_another_program() {
    for name in VECTORS {
        let vector = read(name);
        let key = key(&vector);
        assert_eq!(key.canonical(), text(&vector, "action_key_canonical"), "{name}");
        let mut secret = [0; 32];
        hex::decode_to_slice(text(&vector, "ledger_secret"), &mut secret).unwrap();
        let idempotency_key = key.idempotency_key(&LedgerSecret(secret));
        assert_eq!(idempotency_key.as_str(), text(&vector, "idempotency_key"), "{name}");

        let payload = Payload::parse(&key.effect, vector["payload"].clone(), &[]).unwrap();
        let hash = payload_hash(&key, &payload);
        assert_eq!(hash.to_string(), text(&vector, "payload_hash"), "{name}");
        let whole: Value = serde_json::from_str(text(&vector, "payload_canonical")).unwrap();
        assert_eq!(*payload.value(), whole["payload"], "{name}");
        assert_eq!(canonical(&whole), text(&vector, "payload_canonical"), "{name}");
        assert_eq!(Sealed::seal(key, 1, payload).hash(), hash);
    }
    let hashes: std::collections::HashSet<String> =
        VECTORS.iter().map(|n| text(&read(n), "payload_hash").to_owned()).collect();
    assert_eq!(hashes.len(), VECTORS.len(), "absent, null and [] are three payloads");
}

#[test]
fn r12_an_approval_agrees_with_the_vector_that_openssl_signed() {
    let vector = read("approval.json");
    let mut seed = [0; 32];
    hex::decode_to_slice(text(&vector, "device_seed"), &mut seed).unwrap();
    let device = DeviceKey::from_seed(&seed);
    assert_eq!(device.public(), text(&vector, "device_public"));
    assert_eq!(device.id().0, text(&vector, "device"));
    let hash: PayloadHash = text(&vector, "payload_hash").parse().unwrap();
    let what = Signable {
        key: key(&vector),
        payload_version: 1,
        payload_hash: hash,
        wire_hash: text(&vector, "wire_hash").parse::<WireHash>().unwrap(),
        account: text(&vector, "account").parse::<AccountFingerprint>().unwrap(),
        conversation: None,
    };
    let at = |field: &str| Timestamp::from_millis(vector[field].as_i64().unwrap());
    let approval = Approval::sign(&what, hash, &"Noor".into(), &device, 1, at("at"), at("expires_at")).unwrap();
    let covered = format!("countersign/approval/v1\n{}", text(&vector, "approval_canonical"));
    assert_eq!(String::from_utf8(approval.signed_bytes()).unwrap(), covered);
    assert_eq!(approval.signature, text(&vector, "signature"));
}

#[test]
fn rfc_8785_sample_of_section_3_2_2() {
    let sample = r#"{
      "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
      "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
      "literals": [null, true, false]
    }"#;
    // The bytes of section 3.2.4.
    let bytes = "7b226c69746572616c73223a5b6e756c6c2c747275652c66616c73655d2c226e756d62657273223a5b3333333333333333332e333333\
                 333333332c31652b33302c342e352c302e3030322c31652d32375d2c22737472696e67223a22e282ac245c75303030665c6e4127\
                 425c225c5c5c5c5c222f227d";
    let value: Value = serde_json::from_str(sample).unwrap();
    assert_eq!(hex::encode(canonical(&value)), bytes.replace(' ', ""));
}

#[test]
fn rfc_8785_order_of_section_3_2_3() {
    let sample = r#"{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One",
      "\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}"#;
    let canonical = canonical(&json::parse(sample.as_bytes()).unwrap());
    let order = [
        "Carriage Return",
        "One",
        "Control",
        "Latin Small Letter O With Diaeresis",
        "Euro Sign",
        "Emoji: Grinning Face",
        "Hebrew Letter Dalet With Dagesh",
    ];
    let places: Vec<usize> = order.iter().map(|value| canonical.find(value).unwrap()).collect();
    assert!(places.is_sorted(), "{canonical}");
}

/// Computed with Python: base64.b32encode(hashlib.sha256(key).digest())[:24], in lower case.
#[test]
fn r05_the_short_tag_agrees_with_another_program() {
    let key: countersign_domain::IdempotencyKey = "0b1d2c3e-4f50-4617-8899-aabbccddeeff".parse().unwrap();
    assert_eq!(key.tag(), "cs-zfm4nfrt6am7harj7nfem3cx");
}
