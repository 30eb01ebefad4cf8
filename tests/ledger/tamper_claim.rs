//! What a claim rests on beside the action's own rows: the device that signed, the switches, the destination, the findings
//! a person checked. Each is what the journal tells, or the claim is refused (R12, R30).

use crate::stage::*;
use countersign_domain::{ActionId, OwnerKey, Roster};
use countersign_ledger::{ClaimRequest, Claimed, RefusedClaim};
use std::collections::HashMap;

async fn drop_triggers(s: &Stage) {
    for row in s.rows("SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name <> 'journal'").await {
        let name: String = sqlx::Row::try_get(&row, 0).expect("a name");
        s.raw(&format!("DROP TRIGGER {name}")).await;
    }
}

/// Claims with the devices as the file now shows them, and this many approvers.
async fn claim(s: &Stage, id: ActionId, approvers: u8) -> Claimed {
    let certs = s.ledger.device_certs().await.expect("certificates");
    let roster = Roster::new(&OwnerKey::from_seed(&[7; 32]).public(), &certs);
    let (by, reach) = (worker("w1"), ["support".to_owned(), "crm".to_owned()]);
    let needed = HashMap::from([("live".to_owned(), approvers)]);
    let request = ClaimRequest { roster: &roster, approvers_needed: &needed, ..s.request(&by, &reach, Some(id)) };
    s.ledger.claim(&request).await.expect("the claim runs")
}

async fn refused_as(s: &Stage, id: ActionId, approvers: u8, named: &str) {
    match claim(s, id, approvers).await {
        Claimed::Refused { why: RefusedClaim::Integrity { what, .. }, .. } => assert_eq!(what, named),
        other => panic!("{named}: {other:?}"),
    }
    assert_eq!(s.number("SELECT count(*) FROM attempts").await, 0, "{named}");
    assert!(s.broken().await.iter().any(|b| b.what == named), "{named}: {:?}", s.broken().await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r12_a_withdrawn_device_that_was_put_back_approves_nothing() {
    let s = Stage::sqlite().await;
    let id = s.approved("req-1").await;
    s.ledger.withdraw_device(&device_of(&noor()).id(), &noor(), s.now()).await.expect("withdrawn");
    assert!(matches!(
        claim(&s, id, 1).await,
        Claimed::Refused { why: RefusedClaim::Integrity { what, .. }, .. } if what == "approval"
    ));
    s.raw("UPDATE devices SET withdrawn_at = NULL").await;
    refused_as(&s, id, 1, "device").await;
    // Also by a process that never saw the withdrawal.
    let again = countersign_ledger::Ledger::open(s.path(), Default::default()).await.expect("opened");
    let (by, reach) = (worker("w2"), ["support".to_owned()]);
    let told = again.claim(&s.request(&by, &reach, Some(id))).await.expect("the claim runs");
    assert!(matches!(
        told,
        Claimed::Refused { why: RefusedClaim::Integrity { what, .. }, .. } if what == "device"
    ));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r30_a_switch_thrown_past_the_journal_lets_nothing_out() {
    for (key, put, back) in
        [("sending/live", "off", "on"), ("frozen", "restored", ""), ("approvers_needed/live", "2", "1")]
    {
        let s = Stage::sqlite().await;
        let id = s.approved("req-1").await;
        s.ledger.set_setting(key, put, "Noor", s.now()).await.expect("set");
        if key != "approvers_needed/live" {
            assert!(!matches!(claim(&s, id, 1).await, Claimed::Claimed(_)), "{key}");
        }
        s.raw(&format!("UPDATE settings SET value = '{back}' WHERE key = '{key}'")).await;
        refused_as(&s, id, 1, "setting").await;
        s.raw(&format!("DELETE FROM settings WHERE key = '{key}'")).await;
        match key {
            // Without the row nothing is sent at all.
            "sending/live" => assert!(matches!(claim(&s, id, 1).await, Claimed::None)),
            _ => refused_as(&s, id, 1, "setting").await,
        }
        // Set back properly, it goes.
        let right = if key == "approvers_needed/live" { "1" } else { back };
        s.ledger.set_setting(key, right, "Noor", s.now()).await.expect("set");
        assert!(matches!(claim(&s, id, 1).await, Claimed::Claimed(_)), "{key}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r20_a_destination_changed_past_the_journal_is_not_sent_to() {
    for set in ["undo_seconds = 99", "config = '{\"name\":\"elsewhere\"}'", "kind = 'webhook'", "account_label = 'x'"] {
        let s = Stage::sqlite().await;
        let id = s.approved("req-1").await;
        s.raw(&format!("UPDATE destinations SET {set} WHERE name = 'support'")).await;
        refused_as(&s, id, 1, "destination").await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r17_a_check_that_nobody_made_or_that_was_taken_away_stops_the_claim() {
    for change in [
        "INSERT INTO cleared VALUES (1, 1, 'split_reply', 'a2', 'Noor', 1)",
        "DELETE FROM cleared",
        "UPDATE cleared SET by_whom = 'Sam'",
        "UPDATE cleared SET version = 2",
        "UPDATE cleared SET at = at + 1",
    ] {
        let s = Stage::sqlite().await;
        let id = s.prepared("req-1").await;
        s.ledger.clear_finding(id, 1, "outside_domain", "to", &noor(), s.now()).await.expect("checked");
        // A second look by somebody else leaves the first one's name.
        s.pass(1000);
        s.ledger.clear_finding(id, 1, "outside_domain", "to", &sam(), s.now()).await.expect("checked");
        s.approve(id).await.expect("approved");
        s.holds().await;
        assert_eq!(s.raw(change).await, 1, "{change}");
        refused_as(&s, id, 1, "check").await;
    }
}

/// A second attempt rests on the first one's rows.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r30_inv2_what_an_earlier_attempt_kept_is_proven_before_the_next_one() {
    for (change, named) in [
        ("UPDATE attempts SET noted = replace(noted, '7', '8')", "attempt"),
        ("UPDATE attempts SET noted = NULL", "attempt"),
        ("UPDATE sightings SET conclusive = 1 - conclusive", "look"),
        ("UPDATE sightings SET at = at + 1", "look"),
    ] {
        let s = Stage::sqlite().await;
        let id = s.unknown("req-1").await;
        let seen = countersign_domain::Sighting::NotSeen { looked: "Sent".to_owned() };
        assert_eq!(s.look(id, &seen, true, None).await.expect("kept").state, countersign_domain::State::Approved);
        drop_triggers(&s).await;
        s.raw(change).await;
        match claim(&s, id, 1).await {
            Claimed::Refused { why: RefusedClaim::Integrity { what, .. }, .. } => assert_eq!(what, named, "{change}"),
            other => panic!("{change}: {other:?}"),
        }
        assert!(s.broken().await.iter().any(|b| b.what == named), "{change}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r30_a_missing_change_of_the_configuration_is_named_by_claim_and_verify() {
    let s = Stage::sqlite().await;
    let id = s.approved("req-1").await;
    s.ledger.set_setting("expiry_hours", "24", "Noor", s.now()).await.expect("set");
    s.prepared("req-2").await;
    s.ledger.set_setting("undo_seconds", "5", "Noor", s.now()).await.expect("set");
    s.prepared("req-3").await;
    s.raw("DROP TRIGGER journal_no_delete").await;
    assert_eq!(s.raw("DELETE FROM journal WHERE fact LIKE '%expiry_hours%'").await, 1);
    // A process that reads the journal afresh.
    let again = countersign_ledger::Ledger::open(s.path(), Default::default()).await.expect("opened");
    let (by, reach) = (worker("w2"), ["support".to_owned()]);
    match again.claim(&s.request(&by, &reach, Some(id))).await.expect("the claim runs") {
        Claimed::Refused { why: RefusedClaim::Integrity { what, .. }, .. } => assert_eq!(what, "journal"),
        other => panic!("{other:?}"),
    }
    assert!(s.broken().await.iter().any(|b| b.what == "journal"));
}
