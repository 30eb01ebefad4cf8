//! What an approval covers, and what bars the only door to a connector.

use countersign_domain::approval::SignedVerdict;
use countersign_domain::canonical::{AccountFingerprint, PayloadHash};
use countersign_domain::countersigned::Candidate;
use countersign_domain::{
    ActionId, ActionKey, Approval, ApprovalError, Conversation, Countersigned, DeviceCert, DeviceKey, LedgerSecret,
    NotCountersigned, OwnerKey, Payload, PersonId, Roster, Sealed, Signable, Timestamp, Verdict, Wire,
};
use serde_json::json;

const SECRET: LedgerSecret = LedgerSecret([9; 32]);
const HOUR: i64 = 3_600_000;

fn key() -> ActionKey {
    ActionKey {
        environment: "live".into(),
        destination: "support-mailbox".into(),
        effect: "email.send".into(),
        source: "inbox-agent".into(),
        request_id: "r-1".into(),
        step: "first-reply".into(),
        revision: 1,
    }
}

fn payload(text: &str) -> Payload {
    let value = json!({
        "from": {"email": "support@shop.example"}, "to": [{"email": "robin@customer.example"}],
        "subject": "Hello", "text": text
    });
    Payload::parse("email.send", value, &[]).unwrap()
}

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn owner() -> OwnerKey {
    OwnerKey::from_seed(&[1; 32])
}
fn device(n: u8) -> DeviceKey {
    DeviceKey::from_seed(&[n; 32])
}
fn admitted(person: &str, n: u8) -> DeviceCert {
    owner().admit(&person.into(), &device(n).public()).unwrap()
}
/// Noor has two devices, Sam one.
fn roster() -> Roster {
    Roster::new(&owner().public(), &[admitted("Noor", 10), admitted("Noor", 11), admitted("Sam", 12)])
}

fn conversation(text: &str) -> Conversation {
    Conversation::parse(json!({"from": {"email": "robin@customer.example"}, "text": text})).unwrap()
}

fn candidate(approvals: Vec<Approval>) -> Candidate {
    Candidate {
        action: ActionId(1),
        sealed: Sealed::seal(key(), 1, payload("text")),
        wire: Wire::new(b"wire".to_vec()),
        account: AccountFingerprint([5; 32]),
        conversation: Some(conversation("Can I?")),
        newest_sequence: approvals.last().map_or(0, |a| a.sequence),
        approvals,
        approvers_needed: 1,
    }
}

fn signable() -> Signable {
    let c = candidate(vec![]);
    Signable {
        key: key(),
        payload_version: 1,
        payload_hash: c.sealed.hash(),
        wire_hash: c.wire.hash(),
        account: c.account,
        conversation: c.conversation.as_ref().map(Conversation::hash),
    }
}

fn signed(person: &str, n: u8, sequence: u32) -> Approval {
    let what = signable();
    Approval::sign(&what, what.payload_hash, &person.into(), &device(n), sequence, at(0), at(72 * HOUR)).unwrap()
}

fn verify(candidate: Candidate) -> Result<Countersigned, NotCountersigned> {
    Countersigned::verify(candidate, &roster(), &SECRET, at(HOUR), true)
}

fn why(change: impl FnOnce(&mut Candidate)) -> NotCountersigned {
    let mut candidate = candidate(vec![signed("Noor", 10, 1)]);
    change(&mut candidate);
    verify(candidate).expect_err("should not be countersigned")
}

#[test]
fn r12_what_was_signed_is_countersigned() {
    let good = verify(candidate(vec![signed("Noor", 10, 1)])).unwrap();
    assert_eq!(good.wire().bytes(), b"wire");
    assert_eq!(*good.idempotency_key(), key().idempotency_key(&SECRET));
    assert_eq!((good.action(), good.approved_at()), (ActionId(1), at(0)));
}

#[test]
fn r13_approving_a_hash_that_is_no_longer_current_signs_nothing() {
    let what = signable();
    let old = Sealed::seal(key(), 1, payload("what was on the screen")).hash();
    let error = Approval::sign(&what, old, &"Noor".into(), &device(10), 1, at(0), at(HOUR)).unwrap_err();
    assert_eq!(error, ApprovalError::ShownIsStale { current: what.payload_hash });
    assert!(error.to_string().contains(&what.payload_hash.fingerprint()), "{error}");
}

#[test]
fn inv2_anything_that_differs_from_what_was_approved_is_refused_by_name() {
    use NotCountersigned as No;
    assert_eq!(why(|c| c.approvals.clear()), No::NoApproval);
    assert_eq!(why(|c| c.sealed = Sealed::seal(key(), 1, payload("changed"))), No::PayloadChanged);
    assert_eq!(why(|c| c.sealed = Sealed::seal(key(), 2, payload("text"))), No::PayloadChanged);
    let other = ActionKey { request_id: "r-2".into(), ..key() };
    assert_eq!(why(|c| c.sealed = Sealed::seal(other, 1, payload("text"))), No::OtherAction);
    assert_eq!(why(|c| c.wire = Wire::new(b"wirf".to_vec())), No::WireChanged);
    assert_eq!(why(|c| c.conversation = Some(conversation("May I?"))), No::ConversationChanged);
    assert_eq!(why(|c| c.conversation = None), No::ConversationChanged);
    assert_eq!(why(|c| c.account = AccountFingerprint([6; 32])), No::AccountChanged);
    assert_eq!(why(|c| c.newest_sequence = 2), No::Ended);
    assert_eq!(why(|c| c.approvers_needed = 2), No::NeedsAnother);
}

#[test]
fn r12_every_signed_member_is_under_the_signature() {
    let changes: [fn(&mut Approval); 11] = [
        |a| a.key.revision = 2,
        |a| a.payload_version = 2,
        |a| a.payload_hash = PayloadHash([0; 32]),
        |a| a.wire_hash = Wire::new(vec![]).hash(),
        |a| a.account = AccountFingerprint([0; 32]),
        |a| a.conversation = None,
        |a| a.by = "Sam".into(),
        |a| a.device = device(12).id(),
        |a| a.at = at(1),
        |a| a.expires_at = at(i64::MAX),
        |a| a.sequence = 2,
    ];
    for (i, change) in changes.into_iter().enumerate() {
        let mut approval = signed("Noor", 10, 1);
        change(&mut approval);
        assert!(!approval.is_signed(&roster()), "change {i}");
    }
    for broken in ["", "00", &"0".repeat(128), &"z".repeat(128)] {
        let approval = Approval { signature: broken.to_owned(), ..signed("Noor", 10, 1) };
        assert!(!approval.is_signed(&roster()), "{broken}");
    }
    assert_eq!(why(|c| c.approvals[0].signature = "0".repeat(128)), NotCountersigned::BadSignature);
}

#[test]
fn r15_an_approval_expires_but_an_expired_one_does_not_bar_a_same_key_repeat() {
    let expired = candidate(vec![signed("Noor", 10, 1)]);
    let check = |now, counts| Countersigned::verify(expired.clone(), &roster(), &SECRET, at(now), counts).map(|_| ());
    assert_eq!(check(72 * HOUR - 1, true), Ok(()));
    assert_eq!(check(72 * HOUR, true), Err(NotCountersigned::Expired));
    assert_eq!(check(100 * HOUR, false), Ok(()));
}

#[test]
fn r15_two_devices_of_one_person_are_one_approver() {
    let of = |second: Approval| {
        let mut candidate = candidate(vec![signed("Noor", 10, 1), second]);
        candidate.approvers_needed = 2;
        verify(candidate).map(|_| ())
    };
    assert_eq!(of(signed("Noor", 11, 2)), Err(NotCountersigned::NeedsAnother));
    assert_eq!(of(signed("Sam", 12, 2)), Ok(()));
}

#[test]
fn a_device_counts_only_if_the_pinned_owner_key_vouches_for_it() {
    let approval = signed("Noor", 10, 1);
    // A row in the file, with a certificate by somebody else or by nobody.
    let thief = OwnerKey::from_seed(&[2; 32]);
    let forged = thief.admit(&"Noor".into(), &device(10).public()).unwrap();
    assert!(!approval.is_signed(&Roster::new(&owner().public(), &[forged])));
    let unsigned = DeviceCert { signature: "0".repeat(128), ..admitted("Noor", 10) };
    assert!(!approval.is_signed(&Roster::new(&owner().public(), &[unsigned])));
    // A true certificate, bent to another person, device or key.
    for bent in [
        DeviceCert { person: "Sam".into(), ..admitted("Noor", 10) },
        DeviceCert { device: device(11).id(), ..admitted("Noor", 10) },
        DeviceCert { public: device(11).public(), ..admitted("Noor", 10) },
    ] {
        let roster = Roster::new(&owner().public(), &[bent]);
        assert!(!approval.is_signed(&roster));
        assert!(!roster.knows(&"Noor".into(), &device(10).id()) && !roster.knows(&"Sam".into(), &device(10).id()));
    }
    // Sam's device cannot speak for Noor.
    assert!(!signed("Noor", 12, 1).is_signed(&roster()));
    assert!(!approval.is_signed(&Roster::new("not a key", &[admitted("Noor", 10)])));
    assert_eq!(owner().admit(&"Noor".into(), "not a key"), None);
}

#[test]
fn r25_a_verdict_is_signed_with_its_evidence_and_is_no_approval() {
    let noor: PersonId = "Noor".into();
    let word = SignedVerdict::sign(&key(), Verdict::DidNotHappen, "asked Robin", &noor, &device(10), at(5));
    assert!(word.is_signed(&roster()));
    for bent in [
        SignedVerdict { verdict: Verdict::Happened, ..word.clone() },
        SignedVerdict { evidence: "none".into(), ..word.clone() },
        SignedVerdict { at: at(6), ..word.clone() },
        SignedVerdict { by: "Sam".into(), ..word.clone() },
        SignedVerdict { key: ActionKey { revision: 2, ..key() }, ..word.clone() },
        SignedVerdict { signature: signed("Noor", 10, 1).signature, ..word.clone() },
    ] {
        assert!(!bent.is_signed(&roster()), "{bent:?}");
    }
    let as_approval = Approval { signature: word.signature, ..signed("Noor", 10, 1) };
    assert!(!as_approval.is_signed(&roster()));
}

#[test]
fn what_was_altered_is_told_apart_from_what_merely_no_longer_counts() {
    use NotCountersigned as No;
    for no in [No::NoApproval, No::BadSignature, No::OtherAction, No::PayloadChanged, No::WireChanged, No::Ended] {
        assert!(no.is_integrity(), "{no}");
    }
    for no in [No::AccountChanged, No::Expired, No::NeedsAnother] {
        assert!(!no.is_integrity(), "{no}");
    }
}

#[test]
fn r31_nothing_secret_and_no_message_text_is_in_a_debug_text() {
    let good = verify(candidate(vec![signed("Noor", 10, 1)])).unwrap();
    let mail = Payload::parse(
        "email.send",
        json!({"from": {"email": "a@b.example"}, "to": [{"email": "robin@customer.example"}], "subject": "s", "text": "SECRET WORDS"}),
        &[],
    )
    .unwrap();
    let texts = [
        format!("{SECRET:?}"),
        format!("{:?}", device(10)),
        format!("{:?}", owner()),
        format!("{:?}", Wire::new(b"SECRET WORDS".to_vec())),
        format!("{mail:?}"),
        format!("{:?}", good.sealed()),
    ];
    for text in texts {
        for secret in ["SECRET", "robin", "0909", "9, 9", &hex::encode([10; 4]), "10, 10"] {
            assert!(!text.contains(secret), "{text}");
        }
    }
}

#[test]
fn fingerprints_are_read_as_eight_digits_and_copied_as_sixty_four() {
    let hash: PayloadHash = "28f19ec8".repeat(8).parse().unwrap();
    assert_eq!(hash.fingerprint(), "28F1 9EC8");
    assert_eq!(hash.to_string(), "28f19ec8".repeat(8));
    for wrong in
        ["28F19EC8".repeat(8), "28f19ec8".repeat(7), "z8f19ec8".repeat(8), format!(" {}", "28f19ec8".repeat(8))]
    {
        assert!(wrong.parse::<PayloadHash>().is_err(), "{wrong}");
    }
}
