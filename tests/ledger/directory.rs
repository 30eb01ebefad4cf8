//! Destinations, sources, devices, settings.

use crate::stage::*;
use countersign_domain::{State, Timestamp};
use countersign_ledger::{Conflict, PAUSED_BY_HAND};
use serde_json::json;

on_both!(r02_a_removed_name_is_never_used_again, async |s: Stage| {
    s.ledger.remove_destination("crm", &noor(), s.now()).await.expect("removed");
    let again = s.ledger.add_destination(&destination("crm", 8), &noor(), s.now()).await;
    assert_eq!(conflict(again), Conflict::NameTaken { name: "crm".to_owned() });
    assert_eq!(s.ledger.destinations(Some("live")).await.expect("a list").len(), 1);
    assert!(s.ledger.destination("crm").await.expect("read").expect("its row stays").removed_at.is_some());
    // The account is free for another name.
    s.ledger.add_destination(&destination("crm-2", 2), &noor(), s.now()).await.expect("added");
    s.holds().await;
});

on_both!(r02_one_account_cannot_be_added_twice_in_an_environment, async |s: Stage| {
    let again = s.ledger.add_destination(&destination("support-2", 1), &noor(), s.now()).await;
    assert_eq!(conflict(again), Conflict::AccountTaken { by: "support".to_owned() });
    let mut elsewhere = destination("support-sandbox", 1);
    elsewhere.environment = "sandbox".to_owned();
    s.ledger.add_destination(&elsewhere, &noor(), s.now()).await.expect("another environment");
    let mut taken = destination("crm", 1);
    taken.config = json!({});
    assert_eq!(
        conflict(s.ledger.update_destination(&taken, &noor(), s.now()).await),
        Conflict::AccountTaken { by: "support".to_owned() }
    );
});

on_both!(r12_a_new_account_sends_approved_actions_back_and_other_changes_do_not, async |s: Stage| {
    let id = s.approved("req-1").await;
    let mut d = destination("support", 1);
    d.undo_seconds = 0;
    assert!(s.ledger.update_destination(&d, &noor(), s.now()).await.expect("changed").is_empty());
    assert_eq!(s.state(id).await, State::Approved);
    d.account = account(9);
    assert_eq!(s.ledger.update_destination(&d, &noor(), s.now()).await.expect("changed"), [id]);
    assert_eq!(s.state(id).await, State::NeedsReview);
    s.ledger.confirm(id, None, None, &s.secret, &noor(), s.now()).await.expect("confirmed");
    s.approve(id).await.expect("approved for the new account");
    s.claim(id).await;
    s.holds().await;
});

on_both!(r21_a_pause_is_no_state_of_an_action, async |s: Stage| {
    let id = s.approved("req-1").await;
    let until = Timestamp::from_millis(s.now().millis() + 60_000);
    s.ledger.pause_destination("support", "offline", Some(until), s.now()).await.expect("paused");
    let paused = s.ledger.destination("support").await.expect("read").expect("there").paused.expect("paused");
    assert_eq!((paused.why.as_str(), paused.until), ("offline", Some(until)));
    assert_eq!(s.state(id).await, State::Approved);
    s.ledger.resume_destination("support", s.now()).await.expect("resumed");
    assert!(s.ledger.destination("support").await.expect("read").expect("there").paused.is_none());
    s.holds().await;
});

on_both!(r21_what_a_person_paused_only_a_person_takes_up_again, async |s: Stage| {
    let why =
        async || s.ledger.destination("support").await.expect("read").expect("there").paused.map(|paused| paused.why);
    s.ledger.pause_destination("support", "the login failed", None, s.now()).await.expect("paused");
    s.ledger.pause_destination("support", PAUSED_BY_HAND, None, s.now()).await.expect("a person's word comes first");
    s.ledger.pause_destination("support", "the login failed", None, s.now()).await.expect("it is no error");
    s.ledger.let_go_on("support", s.now()).await.expect("it is no error");
    assert_eq!(why().await.as_deref(), Some(PAUSED_BY_HAND));
    s.ledger.resume_destination("support", s.now()).await.expect("resumed");
    s.ledger.pause_destination("support", "the login failed", None, s.now()).await.expect("paused");
    s.ledger.let_go_on("support", s.now()).await.expect("somebody signed in");
    assert_eq!(why().await, None);
    s.holds().await;
});

on_both!(r10_a_revoked_sources_token_is_not_found, async |s: Stage| {
    let hash = source("shopbot").token_hash;
    assert_eq!(s.ledger.source_by_token_hash(&hash).await.expect("read").expect("found").name, "shopbot");
    s.ledger.revoke_source("shopbot", &noor(), s.now()).await.expect("revoked");
    assert!(s.ledger.source_by_token_hash(&hash).await.expect("read").is_none());
    let again = s.ledger.add_source(&source("shopbot"), &noor(), s.now()).await;
    assert_eq!(conflict(again), Conflict::NameTaken { name: "shopbot".to_owned() });
});

on_both!(r12_a_withdrawn_device_no_longer_counts, async |s: Stage| {
    let before = s.ledger.device_certs().await.expect("a list").len();
    s.ledger.withdraw_device(&noors_phone().id(), &noor(), s.now()).await.expect("withdrawn");
    assert_eq!(s.ledger.device_certs().await.expect("a list").len(), before - 1);
});

on_both!(r30_every_change_of_configuration_is_in_the_journal, async |s: Stage| {
    s.ledger.set_setting("undo_seconds", "20", "Noor", s.now()).await.expect("set");
    assert_eq!(s.ledger.setting("undo_seconds").await.expect("read").as_deref(), Some("20"));
    let kinds: Vec<String> =
        s.ledger.journal_after(0, 1_000).await.expect("rows").into_iter().map(|r| r.kind).collect();
    for kind in ["ledger_created", "device_admitted", "destination_added", "source_added", "setting_changed"] {
        assert!(kinds.iter().any(|k| k == kind), "{kind} is missing in {kinds:?}");
    }
    let head = s.ledger.head().await.expect("head");
    assert_eq!(s.ledger.hash_at(head.seq).await.expect("read"), Some(head.hash));
    assert_eq!(s.ledger.hash_at(head.seq + 1).await.expect("read"), None);
});
