//! A changed byte anywhere makes claim itself refuse, without `verify` having run, and `verify` names it (R14, R30;
//! invariants 2 and 5).

use crate::stage::*;
use countersign_domain::{ActionId, State};
use countersign_ledger::{Claimed, LedgerError, RefusedClaim};
use serde_json::json;

/// Takes the triggers away, as somebody with the file in hand can.
async fn disarm(s: &Stage) {
    drop_triggers(s, "true").await;
}

async fn drop_triggers(s: &Stage, which: &str) {
    for row in s.rows(&format!("SELECT name FROM sqlite_master WHERE type = 'trigger' AND {which}")).await {
        let name: String = sqlx::Row::try_get(&row, 0).expect("a name");
        s.raw(&format!("DROP TRIGGER {name}")).await;
    }
}

struct Byte {
    what: &'static str,
    change: String,
    /// What claim and verify call it.
    named: &'static [&'static str],
}

/// Each change is made alone, to a fresh ledger with one approved action that has everything.
fn changes(id: ActionId) -> Vec<Byte> {
    let n = id.0;
    let mut all = Vec::new();
    let mut add = |what, named, change: String| all.push(Byte { what, change, named });
    // Replaces the first occurrence of a byte in the middle of a text column by another of the same kind.
    add(
        "payload text",
        &["payload"],
        format!("UPDATE payloads SET value = replace(value, 'Of course', 'Of coarse') WHERE action = {n}"),
    );
    add(
        "payload recipient",
        &["payload"],
        format!("UPDATE payloads SET value = replace(value, 'robin@', 'rabin@') WHERE action = {n}"),
    );
    add(
        "payload hash",
        &["payload"],
        "PRAGMA foreign_keys = OFF; UPDATE payloads SET hash = 'b' || substr(hash, 2)".into(),
    );
    add("payload content hash", &["payload"], "UPDATE payloads SET content = 'b' || substr(content, 2)".into());
    add(
        "attachment bytes",
        &["attachment"],
        "UPDATE attachments SET bytes = CAST(X'00' || substr(bytes, 2) AS BLOB)".into(),
    );
    add("attachment gone", &["payload", "attachment"], "UPDATE attachments SET bytes = NULL".into());
    add("wire bytes", &["wire"], "UPDATE wires SET bytes = CAST(X'00' || substr(bytes, 2) AS BLOB)".into());
    add(
        "wire hash of the action",
        &["wire", "state"],
        "UPDATE actions SET wire_hash = 'b' || substr(wire_hash, 2)".into(),
    );
    add(
        "conversation",
        &["conversation"],
        "UPDATE conversations SET value = replace(value, 'move my slot', 'move my shop')".into(),
    );
    for (what, set) in [
        ("attempts", "attempts = 1"),
        ("allowed", "allowed = 9"),
        ("crossed once", "crossed_once = 1, first_crossed = 1, last_crossed = 1"),
        ("by word", "by_word = 1, by_word_of = 'Noor'"),
        ("stale claims", "stale_claims = 1"),
        ("not before", "not_before = not_before - 1"),
        ("order", "after_action = NULL, waits = 'undo'"),
        ("newest sequence", "newest_sequence = 2"),
        ("expiry", "expires_at = expires_at + 1"),
        ("owner", "owner = 'Sam'"),
        ("payload version", "payload_version = 1, created_at = created_at + 1"),
        ("row version", "row_version = row_version + 1"),
    ] {
        add(what, &["state"], format!("UPDATE actions SET {set} WHERE n = {n}"));
    }
    add("environment", &["action"], format!("UPDATE actions SET request_id = 'req-x' WHERE n = {n}"));
    add(
        "idempotency key",
        &["action", "state"],
        format!("UPDATE actions SET idempotency_key = 'b' || substr(idempotency_key, 2) WHERE n = {n}"),
    );
    for (what, set) in [
        (
            "approval signature",
            "signature = CASE substr(signature, 1, 1) WHEN 'b' THEN 'a' ELSE 'b' END || substr(signature, 2)",
        ),
        ("approver", "by_whom = 'Sam'"),
        ("approval device", "device = '0000000000000000'"),
        ("approval time", "at = at + 1"),
        ("approval expiry", "expires_at = expires_at + 1"),
        ("approval account", "account = 'b' || substr(account, 2)"),
        ("approval conversation", "conversation = NULL"),
    ] {
        add(what, &["approval"], format!("UPDATE approvals SET {set}"));
    }
    add("approval removed", &["approval"], "DELETE FROM approvals".into());
    add(
        "journal fact",
        &["journal"],
        format!(
            "UPDATE journal SET fact = replace(fact, '\"frees_key\":true', '\"frees_key\":false') WHERE action = {n} AND kind = 'approved'"
        ),
    );
    add(
        "journal author",
        &["journal"],
        format!("UPDATE journal SET by_whom = 'Sam' WHERE action = {n} AND kind = 'approved'"),
    );
    add(
        "journal time",
        &["journal"],
        format!("UPDATE journal SET at = at + 1 WHERE action = {n} AND kind = 'proposed'"),
    );
    add(
        "journal hash",
        &["journal"],
        format!("UPDATE journal SET hash = 'b' || substr(hash, 2) WHERE action = {n} AND kind = 'approved'"),
    );
    add(
        "journal link",
        &["journal"],
        format!("UPDATE journal SET previous = 'b' || substr(previous, 2) WHERE action = {n} AND kind = 'proposed'"),
    );
    add(
        "journal row removed",
        &["journal", "state"],
        format!("DELETE FROM journal WHERE action = {n} AND kind = 'approved'"),
    );
    add(
        "journal row moved away",
        &["journal", "state"],
        format!("UPDATE journal SET action = 999 WHERE action = {n} AND kind = 'approved'"),
    );
    all
}

async fn stage_with_everything() -> (Stage, ActionId) {
    let s = Stage::sqlite().await;
    let mut p = proposal("evt-1", "req-1", "Of course.");
    p["actions"][0]["payload"] = with_attachment("robin@customer.example", "Of course.", "c2xvdHM=");
    let id = s.receive(&p).await.actions[0].action.expect("an action");
    s.approve(id).await.expect("approved");
    // Another action after it, so that the journal goes on.
    s.prepared("req-2").await;
    (s, id)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r30_inv2_a_changed_byte_anywhere_makes_claim_refuse_and_verify_name_it() {
    let (first, id) = stage_with_everything().await;
    first.holds().await;
    assert!(matches!(first.claim_as("w1", None).await, Ok(Claimed::Claimed(_))), "unaltered, it is claimed");
    for byte in changes(id) {
        let (s, id) = stage_with_everything().await;
        disarm(&s).await;
        s.raw("PRAGMA ignore_check_constraints = ON; SELECT 1").await;
        assert!(s.raw(&byte.change).await > 0, "{}: nothing was changed", byte.what);
        match s.claim_as("w1", Some(id)).await {
            Ok(Claimed::Refused { action, why }) => {
                assert_eq!(action, id, "{}", byte.what);
                assert!(why.is_integrity(), "{}: {why}", byte.what);
                if let RefusedClaim::Integrity { what, .. } = &why {
                    assert!(byte.named.contains(&what.as_str()), "{}: claim calls it {what}: {why}", byte.what);
                }
            }
            // The row itself is refused at reading.
            Err(LedgerError::Corrupt { what, .. }) => {
                assert!(byte.named.contains(&what), "{}: claim calls it {what}", byte.what);
            }
            other => panic!("{}: claim said {other:?}", byte.what),
        }
        assert_eq!(s.number("SELECT count(*) FROM attempts").await, 0, "{}", byte.what);
        let broken = s.broken().await;
        assert!(broken.iter().any(|b| byte.named.contains(&b.what.as_str())), "{}: verify found {broken:?}", byte.what);
    }
}

/// Every write that goes with an ordinary day; each would put a new digest over an altered row.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r30_inv5_no_write_builds_upon_an_altered_row() {
    for write in ["sign", "approve", "edit", "redraft", "reject", "clear", "revise", "undo", "send now", "remove"] {
        let s = Stage::sqlite().await;
        let id = s.receive(&bundle("evt-1", "req-1")).await.actions[1].action.expect("a note that waits for the reply");
        let (approval, wire) = s.sign(id, &noor(), &device_of(&noor())).await;
        if matches!(write, "undo" | "send now" | "remove") {
            s.ledger.approve(id, &approval, &wire, 1, s.now(), true, s.now()).await.expect("approved");
        }
        disarm(&s).await;
        let altered = format!("UPDATE actions SET after_action = NULL WHERE n = {}", id.0);
        assert_eq!(s.raw(&altered).await, 1);
        let note =
            json!({ "record": { "type": "contact", "match": { "email": "robin@customer.example" } }, "text": "New" });
        let payload = countersign_domain::Payload::parse("crm.note", note.clone(), &[]).expect("a payload");
        let done = match write {
            "sign" => s.ledger.signable(id, &s.secret).await.map(|_| ()),
            "approve" => s.ledger.approve(id, &approval, &wire, 1, s.now(), true, s.now()).await.map(|_| ()),
            "edit" => s.ledger.edit(id, 1, &payload, &noor(), s.now()).await.map(|_| ()),
            "redraft" => {
                let mut newer = bundle("evt-2", "req-1");
                newer["actions"][1]["payload"] = note;
                s.ledger.receive(&parse(&newer), &s.source, &s.secret, &noor(), s.now()).await.map(|_| ())
            }
            "reject" => s.ledger.reject(id, "no", &noor(), s.now()).await.map(|_| ()),
            "clear" => s.ledger.clear_finding(id, 1, "x", "y", &noor(), s.now()).await,
            "revise" => s.ledger.revise(id, None, &s.secret, &noor(), s.now()).await.map(|_| ()),
            "undo" => s.ledger.undo(id, &noor(), s.now()).await.map(|_| ()),
            "send now" => s.ledger.send_now(id, &noor(), s.now()).await.map(|_| ()),
            // A damaged row keeps nobody from taking the destination away, but is left as it is.
            "remove" => {
                s.ledger.remove_destination("crm", &noor(), s.now()).await.expect("removed");
                Err(LedgerError::Corrupt { what: "state", id: id.to_string(), why: String::new() })
            }
            other => panic!("{other}"),
        };
        match done {
            Err(LedgerError::Corrupt { what, id: named, .. }) => {
                assert_eq!((what, named), ("state", id.to_string()), "{write}");
            }
            other => panic!("{write} said {other:?}"),
        }
        let broken = s.broken().await;
        assert!(broken.iter().any(|b| b.what == "state" && b.id == id.to_string()), "after {write}: {broken:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r30_inv5_an_attempt_under_way_does_not_cross_or_close_over_an_altered_row() {
    for crossed in [false, true] {
        let s = Stage::sqlite().await;
        let id = s.approved("req-1").await;
        let claim = s.claim(id).await;
        if crossed {
            s.cross(&claim).await;
        }
        disarm(&s).await;
        s.raw(&format!("UPDATE actions SET allowed = 9 WHERE n = {}", id.0)).await;
        let done = match crossed {
            false => s.ledger.record_crossing(&claim, &json!(null), s.now()).await,
            true => s.ledger.close_attempt(&claim, &not_sent(true), &json!({}), s.now(), s.now()).await,
        };
        assert!(matches!(done, Err(LedgerError::Corrupt { what: "state", .. })), "{done:?}");
        assert_eq!(s.state(id).await, State::InProgress);
        assert!(s.broken().await.iter().any(|b| b.what == "state"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r26_one_damaged_row_does_not_keep_stale_claims_and_expiry_of_others_waiting() {
    for damage in [
        "UPDATE actions SET allowed = 9 WHERE n = 1",
        "UPDATE actions SET payload_hash = 'x' WHERE n = 1",
        "UPDATE attempts SET crossed_at = NULL WHERE action = 1",
        "UPDATE attempts SET claimed_at = 'noon' WHERE action = 1",
        "UPDATE attempts SET crossed_at = 1 WHERE action = 2",
        "INSERT INTO attempts (action, number, worker, claimed_at, in_doubt) VALUES (3, 1, 'gone', 1, 0)",
    ] {
        let s = Stage::sqlite().await;
        let (one, two) = (s.approved("req-1").await, s.approved("req-2").await);
        s.approved("req-3").await;
        let (four, late, hurt_too) = (s.approved("req-4").await, s.approved("req-5").await, s.approved("req-6").await);
        let claim = s.claim(one).await;
        s.cross(&claim).await;
        s.claim(two).await;
        s.claim(four).await;
        // The journal goes on: its head is moved by a trigger.
        drop_triggers(&s, "tbl_name <> 'journal'").await;
        assert!(s.raw(&format!("PRAGMA ignore_check_constraints = ON; {damage}")).await > 0, "{damage}");
        s.raw(&format!("UPDATE actions SET owner = 'Sam' WHERE n = {}", hurt_too.0)).await;
        let back = s.ledger.recover_stale(&worker("w2"), s.now()).await.expect("the others are recovered");
        let done: Vec<_> = back.iter().map(|(id, standing)| (*id, standing.state)).collect();
        let sound = [(one, State::Unknown), (two, State::Approved), (four, State::Approved)];
        let hurt = if damage.contains("action = 2") { two } else { one };
        let expected: Vec<_> =
            sound.into_iter().filter(|(id, _)| damage.starts_with("INSERT") || *id != hurt).collect();
        assert_eq!(done, expected, "{damage}");
        s.pass(80 * HOUR);
        let expired = s.ledger.expire_due(s.now()).await.expect("the others expire");
        assert!(expired.contains(&late) && !expired.contains(&hurt_too), "{damage}: {expired:?}");
        let broken = s.broken().await;
        assert!(broken.iter().any(|b| b.what == "state" && b.id == hurt_too.to_string()), "{damage}: {broken:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r30_verify_finds_what_no_claim_would_touch() {
    let sabotage: [(&str, &str, &str); 10] = [
        (
            "an ended action's state",
            "UPDATE actions SET state = 'rejected', receipt = NULL, accepted_at = NULL WHERE state = 'accepted'",
            "state",
        ),
        (
            "a receipt",
            "UPDATE actions SET receipt = replace(receipt, 'queued', 'quoted') WHERE state = 'accepted'",
            "state",
        ),
        ("evidence", "UPDATE attempts SET evidence = replace(evidence, 'final_dot', 'first_dot')", "attempt"),
        ("a crossing", "UPDATE attempts SET crossed_at = crossed_at + 1", "attempt"),
        ("a look", "UPDATE sightings SET sighting = replace(sighting, 'not_seen', 'not_soon')", "look"),
        ("a verdict", "UPDATE verdicts SET word = replace(word, 'I looked', 'I locked')", "verdict"),
        ("a delivery", "UPDATE deliveries SET content_hash = 'b' || substr(content_hash, 2) WHERE n = 1", "delivery"),
        (
            "a delivery removed",
            "DELETE FROM events; DELETE FROM delivery_actions WHERE delivery = 4; DELETE FROM deliveries WHERE n = 4",
            "delivery",
        ),
        (
            "a switch that nobody put",
            "INSERT INTO settings (key, value, changed_at, changed_by) VALUES ('sending/elsewhere', 'on', 0, 'nobody')",
            "setting",
        ),
        ("a source's permissions", "UPDATE sources SET effects = replace(effects, 'crm.note', 'crm.task')", "source"),
    ];
    for (what, change, named) in sabotage {
        let s = Stage::sqlite().await;
        let id = s.approved("req-1").await;
        s.attempt(id, &accepted()).await;
        let doubtful = s.unknown("req-2").await;
        let seen = countersign_domain::Sighting::NotSeen { looked: "Sent".to_owned() };
        s.look(doubtful, &seen, false, None).await.expect("kept");
        s.verdict(doubtful, countersign_domain::Verdict::Leave).await.expect("left");
        s.prepared("req-3").await;
        s.receive(&proposal("evt-req-3", "req-3", "Of course.")).await;
        s.holds().await;
        disarm(&s).await;
        s.raw(&format!("PRAGMA foreign_keys = OFF; {change}")).await;
        let broken = s.broken().await;
        assert!(broken.iter().any(|b| b.what == named), "{what}: {broken:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r12_rows_in_the_file_alone_make_nobody_an_approver() {
    let s = Stage::sqlite().await;
    let id = s.prepared("req-1").await;
    // A device that no owner key signed, put into the file by hand, and an approval of its.
    let stranger = countersign_domain::DeviceKey::from_seed(&[66; 32]);
    s.raw(&format!(
        "INSERT INTO people VALUES ('Mallory', 1); INSERT INTO devices VALUES ('{}', 'Mallory', '{}', '{}', 1, NULL)",
        stranger.id(),
        stranger.public(),
        "0".repeat(128)
    ))
    .await;
    let (approval, wire) = s.sign(id, &countersign_domain::PersonId::from("Mallory"), &stranger).await;
    s.ledger.approve(id, &approval, &wire, 1, s.now(), true, s.now()).await.expect("stored");
    match s.claim_as("w1", Some(id)).await {
        Ok(Claimed::Refused { why, .. }) => assert!(why.is_integrity(), "{why}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(s.state(id).await, State::Approved);
    let broken = s.broken().await;
    assert!(broken.iter().any(|b| b.what == "approval" && b.why.contains("signature")), "{broken:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r30_an_approved_state_without_an_approval_is_not_claimed() {
    let s = Stage::sqlite().await;
    let id = s.prepared("req-1").await;
    disarm(&s).await;
    s.raw(&format!(
        "UPDATE actions SET state = 'approved', newest_sequence = 1, wire_hash = '{}' WHERE n = {}",
        "a".repeat(64),
        id.0
    ))
    .await;
    assert!(matches!(s.claim_as("w1", Some(id)).await, Ok(Claimed::Refused { .. })));
    assert!(s.broken().await.iter().any(|b| b.what == "state"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r12_a_changed_account_is_not_sent_to() {
    let s = Stage::sqlite().await;
    let id = s.approved("req-1").await;
    s.raw(&format!("UPDATE destinations SET account = '{}' WHERE name = 'support'", account(9))).await;
    match s.claim_as("w1", Some(id)).await {
        Ok(Claimed::Refused { why: RefusedClaim::Integrity { what, .. }, .. }) => assert_eq!(what, "destination"),
        other => panic!("{other:?}"),
    }
    // Whatever the row says, the account this device reaches it by is the one that was signed.
    let (accounts, reach) = ([("crm".to_owned(), account(9))].into(), ["crm".to_owned()]);
    let free = s.receive(&crm_only("evt-3", "req-3")).await.actions[0].action.expect("a note of its own");
    s.approve(free).await.expect("approved");
    let by = worker("w1");
    let request = countersign_ledger::ClaimRequest { accounts: &accounts, ..s.request(&by, &reach, Some(free)) };
    match s.ledger.claim(&request).await {
        Ok(Claimed::Refused { why: RefusedClaim::NotCountersigned(why), .. }) => {
            assert_eq!(why, countersign_domain::NotCountersigned::AccountChanged);
        }
        other => panic!("{other:?}"),
    }
    assert!(s.broken().await.iter().any(|b| b.what == "destination"));
}

on_both!(r30_the_database_refuses_to_rewrite_what_was_written, async |s: Stage| {
    let id = s.unknown("req-1").await;
    let seen = countersign_domain::Sighting::NotSeen { looked: "Sent".to_owned() };
    s.look(id, &seen, false, None).await.expect("kept");
    s.verdict(id, countersign_domain::Verdict::Leave).await.expect("left");
    for statement in [
        "UPDATE journal SET by_whom = 'x'",
        "DELETE FROM journal",
        "INSERT INTO journal (seq, at, kind, fact, by_whom, previous, hash) \
         SELECT seq + 2, at, kind, fact, by_whom, previous, hash FROM journal ORDER BY seq DESC LIMIT 1",
        "UPDATE approvals SET at = 1",
        "DELETE FROM approvals",
        "UPDATE payloads SET value = '{}'",
        "DELETE FROM payloads",
        "UPDATE wires SET hash = hash, at = 1",
        "DELETE FROM wires",
        "UPDATE sightings SET at = 1",
        "DELETE FROM sightings",
        "UPDATE verdicts SET word = ''",
        "DELETE FROM deliveries",
        "UPDATE deliveries SET at = 1",
        "DELETE FROM actions",
        "UPDATE actions SET action_key = 'x'",
        "DELETE FROM attempts",
        "UPDATE attempts SET outcome = 'refused'",
        "UPDATE attempts SET crossed_at = NULL",
        "UPDATE conversations SET value = '{}'",
        "INSERT INTO ledger_head (one, seq, hash) SELECT 2, seq, hash FROM ledger_head",
    ] {
        assert!(s.try_raw(statement).await.is_err(), "allowed: {statement}");
    }
    s.holds().await;
});

on_both!(r30_columns_that_disagree_are_refused_by_the_database, async |s: Stage| {
    let id = s.approved("req-1").await;
    for set in [
        "state = 'in_progress'",
        "state = 'sent'",
        "attempt = 1",
        "worker = 'w'",
        "crossing = 1",
        "in_doubt = 1",
        "state = 'accepted'",
        "state = 'unknown'",
        "wire_hash = NULL",
        "crossed_once = 1",
        "by_word = 1",
        "revised = 1",
        "ended_sequence = 1",
        "payload_hash = NULL",
        "signed = 2",
    ] {
        let statement = format!("UPDATE actions SET {set} WHERE n = {}", id.0);
        assert!(s.try_raw(&statement).await.is_err(), "allowed: {set}");
    }
});

/// One damaged row is left out of a list; the others are shown, found and carried on with.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r30_a_damaged_row_holds_up_no_other() {
    let s = Stage::sqlite().await;
    let damaged = s.approved("req-1").await;
    let whole = s.approved("req-2").await;
    let last = s.approved("req-3").await;
    for id in [damaged, whole] {
        s.claim(id).await;
    }
    // The journal goes on: its head is moved by a trigger.
    drop_triggers(&s, "tbl_name <> 'journal'").await;
    s.raw(&format!("UPDATE actions SET request_id = 'req-x' WHERE n = {}", damaged.0)).await;
    let back = s.ledger.recover_stale(&worker("w2"), s.now()).await.expect("the other one is recovered");
    assert_eq!(back.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [whole]);
    let filter = countersign_ledger::PageFilter { environment: Some("live".to_owned()), ..Default::default() };
    let page = s.ledger.page(&filter, None, 2).await.expect("a page");
    assert_eq!(page.rows.iter().map(|r| r.id).collect::<Vec<_>>(), [last, whole]);
    s.pass(80 * HOUR);
    assert_eq!(s.ledger.expire_due(s.now()).await.expect("looked"), [whole, last]);
    assert!(s.broken().await.iter().any(|b| b.what == "action" && b.id == damaged.to_string()));
}
