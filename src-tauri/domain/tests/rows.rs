//! One test per row of protocol.md's transition table and per decided point that `advance()` carries.

use countersign_domain::state::{Fact, Illegal, Standing, State, Why, advance};

use Fact as F;
use State as S;

const YES: Fact = F::Approved { complete: true, frees_key: false };
const FIRST: Fact = F::Approved { complete: false, frees_key: false };
const NO: Fact = F::NotSent { counts: true };

#[track_caller]
fn walk(facts: &[Fact]) -> Standing {
    facts.iter().fold(Standing::proposed(true), |s, f| match advance(&s, f) {
        Ok(next) => next,
        Err(illegal) => panic!("{illegal} ({f:?} on {s:?})"),
    })
}

#[track_caller]
fn leads(facts: &[Fact], state: State) -> Standing {
    let s = walk(facts);
    assert_eq!(s.state, state, "{facts:?}");
    s
}

#[track_caller]
fn impossible(facts: &[Fact], fact: Fact, why: Why) -> Illegal {
    let illegal = advance(&walk(facts), &fact).expect_err("should be impossible");
    assert_eq!(illegal.why, why, "{illegal}");
    illegal
}

/// An attempt that crossed and was then certainly not taken.
const CROSSED_NO: [Fact; 4] = [YES, F::Claimed, F::Crossed, NO];
/// An attempt that crossed and got no answer.
const LOST: [Fact; 4] = [YES, F::Claimed, F::Crossed, F::Unclear];

fn and(front: &[Fact], more: &[Fact]) -> Vec<Fact> {
    [front, more].concat()
}

#[test]
fn row_a_complete_proposal_is_prepared_and_one_without_identity_needs_review() {
    assert_eq!(Standing::proposed(true).state, S::Prepared);
    let waiting = Standing::proposed(false);
    assert_eq!(waiting.state, S::NeedsReview);
    assert_eq!(advance(&waiting, &F::Completed).unwrap().state, S::Prepared);
    assert_eq!(advance(&waiting, &YES).unwrap_err().why, Why::NeverCrossed);
}

#[test]
fn row_an_edit_leaves_it_prepared_and_voids_the_first_of_two_approvals() {
    assert_eq!(leads(&[FIRST], S::Prepared).signed, 1);
    assert_eq!(leads(&[FIRST, F::Redrafted], S::Prepared).signed, 0);
    impossible(&[YES], F::Redrafted, Why::NoSuchRow);
}

#[test]
fn r15_two_approvals_lead_to_approved_together() {
    leads(&[FIRST, YES], S::Approved);
    let gave_up = and(&[YES, F::Claimed, NO, F::Claimed, NO, F::Claimed, NO], &[FIRST]);
    assert_eq!(leads(&gave_up, S::GaveUp).signed, 1);
    leads(&and(&gave_up, &[YES]), S::Approved);
}

#[test]
fn row_reject_from_prepared_and_needs_review() {
    leads(&[F::Rejected], S::Rejected);
    leads(&[YES, F::Expired, F::Rejected], S::Rejected);
    impossible(&[YES], F::Rejected, Why::NoSuchRow);
    impossible(&[F::Rejected], YES, Why::NoSuchRow);
}

#[test]
fn row_undo_goes_back_to_prepared_but_once_crossed_to_needs_review() {
    leads(&[YES, F::Undone], S::Prepared);
    leads(&and(&CROSSED_NO, &[F::Undone]), S::NeedsReview);
    impossible(&[YES, F::Claimed], F::Undone, Why::NoSuchRow);
}

#[test]
fn row_expiry_and_a_changed_account_need_review() {
    leads(&[YES, F::Expired], S::NeedsReview);
    leads(&[YES, F::AccountChanged], S::NeedsReview);
    leads(&and(&CROSSED_NO, &[F::Expired]), S::NeedsReview);
    impossible(&[YES, F::Claimed], F::Expired, Why::NoSuchRow);
}

#[test]
fn row_release_keeps_it_approved() {
    assert_eq!(leads(&[YES, F::Released], S::Approved), walk(&[YES]));
    impossible(&[], F::Released, Why::NoSuchRow);
}

#[test]
fn row_claim_only_from_approved_and_only_once() {
    leads(&[YES, F::Claimed], S::InProgress);
    impossible(&[], F::Claimed, Why::NoSuchRow);
    impossible(&[YES, F::Claimed], F::Claimed, Why::NoSuchRow);
    impossible(&LOST, F::Claimed, Why::NoSuchRow);
}

#[test]
fn inv3_an_attempt_crosses_once() {
    impossible(&[YES, F::Claimed, F::Crossed], F::Crossed, Why::HasCrossed);
    impossible(&[YES], F::Crossed, Why::NoSuchRow);
}

#[test]
fn r16_a_changed_situation_stops_only_an_attempt_that_has_not_crossed_and_is_not_in_doubt() {
    leads(&[YES, F::Claimed, F::SituationChanged], S::NeedsReview);
    leads(&[YES, F::SituationChanged], S::NeedsReview);
    impossible(&[YES, F::Claimed, F::Crossed], F::SituationChanged, Why::HasCrossed);
    impossible(&and(&LOST, &[F::Repeated]), F::SituationChanged, Why::InDoubt);
}

#[test]
fn row_accepted_ends_the_attempt() {
    assert_eq!(leads(&[YES, F::Claimed, F::Crossed, F::Accepted], S::Accepted).attempts, 1);
    impossible(&[YES, F::Claimed], F::Accepted, Why::HasNotCrossed);
}

#[test]
fn row_not_sent_goes_back_to_approved_until_the_cap_and_then_gives_up() {
    let once = [YES, F::Claimed, NO];
    assert_eq!(leads(&once, S::Approved).attempts, 1);
    let twice = and(&once, &[F::Claimed, NO]);
    leads(&twice, S::Approved);
    let thrice = and(&twice, &[F::Claimed, NO]);
    assert_eq!(leads(&thrice, S::GaveUp).attempts, 3);
}

#[test]
fn r21_being_offline_or_a_failed_login_counts_nothing() {
    let offline = F::NotSent { counts: false };
    let mut facts = vec![YES];
    for _ in 0..20 {
        facts.extend([F::Claimed, offline]);
    }
    assert_eq!(leads(&facts, S::Approved).attempts, 0);
}

#[test]
fn row_refused_ends_the_attempt_before_and_after_crossing() {
    leads(&[YES, F::Claimed, F::Refused], S::Refused);
    leads(&[YES, F::Claimed, F::Crossed, F::Refused], S::Refused);
}

#[test]
fn row_unclear_is_unknown_and_only_after_crossing() {
    leads(&LOST, S::Unknown);
    impossible(&[YES, F::Claimed], F::Unclear, Why::HasNotCrossed);
}

#[test]
fn r19_a_stale_claim_is_approved_before_the_crossing_and_unknown_after_it() {
    assert_eq!(leads(&[YES, F::Claimed, F::Stale], S::Approved).attempts, 0);
    assert_eq!(leads(&[YES, F::Claimed, F::Crossed, F::Stale], S::Unknown).attempts, 1);
    leads(&and(&LOST, &[F::Repeated, F::Stale]), S::Unknown);
}

#[test]
fn three_stale_claims_without_a_crossing_need_review() {
    let stale = [F::Claimed, F::Stale];
    let two = [&[YES][..], &stale, &stale].concat();
    leads(&two, S::Approved);
    let three = and(&two, &stale);
    leads(&three, S::NeedsReview);
    // An attempt in between that got somewhere starts the count again.
    let between = and(&two, &[F::Claimed, NO, F::Claimed, F::Stale]);
    leads(&between, S::Approved);
}

#[test]
fn row_a_same_key_repeat_is_in_doubt_and_has_the_cap() {
    let repeat = and(&LOST, &[F::Repeated]);
    assert!(leads(&repeat, S::InProgress).in_doubt);
    let third = and(&repeat, &[F::Crossed, F::Unclear, F::Repeated, F::Crossed, F::Unclear]);
    assert_eq!(leads(&third, S::Unknown).attempts, 3);
    impossible(&third, F::Repeated, Why::NoAttemptLeft);
    impossible(&[YES], F::Repeated, Why::NoSuchRow);
}

#[test]
fn doubt_is_cleared_only_by_evidence() {
    let repeat = and(&LOST, &[F::Repeated]);
    for no in [NO, F::NotSent { counts: false }, F::Refused, F::Stale, F::Unclear] {
        leads(&and(&repeat, &[no]), S::Unknown);
        leads(&and(&repeat, &[F::Crossed, no]), S::Unknown);
    }
    leads(&and(&repeat, &[F::Crossed, F::Accepted]), S::Accepted);
    leads(&and(&repeat, &[F::Found]), S::Accepted);
}

#[test]
fn row_proof_of_acceptance_settles_every_state_but_accepted() {
    let ways: [&[Fact]; 10] = [
        &[],
        &[YES, F::Expired],
        &[YES],
        &[YES, F::Claimed],
        &[YES, F::Claimed, F::Crossed, F::Unclear],
        &[YES, F::Claimed, F::Refused],
        &[YES, F::Claimed, NO, F::Claimed, NO, F::Claimed, NO],
        &[F::Rejected],
        &[F::Rejected, F::Revised],
        &[YES, F::Claimed, F::Crossed, F::Unclear, F::Left],
    ];
    for way in ways {
        let found = leads(&and(way, &[F::Found]), S::Accepted);
        assert!(!found.crossing && !found.in_doubt && !found.by_word, "an open attempt is dropped: {way:?}");
    }
    impossible(&[F::Found], F::Found, Why::NoSuchRow);
}

#[test]
fn r25_conclusive_absence_gives_one_more_attempt_of_the_same_action() {
    let absent = and(&LOST, &[F::Absent]);
    let s = leads(&absent, S::Approved);
    assert!(s.crossed_once && !s.by_word && s.attempts < s.allowed);
    leads(&and(&LOST, &[F::Revised, F::Absent]), S::Superseded);
    impossible(&and(&LOST, &[F::Left]), F::Absent, Why::NoSuchRow);
}

#[test]
fn r22_absence_by_itself_never_goes_past_the_cap() {
    let again = [F::Absent, F::Claimed, F::Crossed, F::Unclear];
    let three = and(&and(&LOST, &again), &again);
    assert_eq!(walk(&three).attempts, 3);
    let over = leads(&and(&three, &[F::Absent]), S::GaveUp);
    assert!(over.crossed_once && !over.by_word);
    leads(&and(&three, &[F::Revised, F::Absent]), S::Superseded);
    // A person gives leave for one more.
    let more = and(&three, &[F::Absent, YES]);
    leads(&more, S::Approved);
    leads(&and(&and(&more, &[F::Claimed, F::Crossed, F::Unclear]), &[F::Absent]), S::GaveUp);
}

#[test]
fn row_a_person_says_it_happened() {
    leads(&and(&LOST, &[F::SaidHappened]), S::Accepted);
    leads(&and(&LOST, &[F::Left, F::SaidHappened]), S::Accepted);
    impossible(&[YES], F::SaidHappened, Why::NoSuchRow);
}

#[test]
fn row_a_person_says_it_did_not_and_from_then_on_it_is_by_their_word() {
    let word = and(&LOST, &[F::SaidDidNotHappen]);
    assert!(leads(&word, S::Approved).by_word);
    assert!(leads(&and(&LOST, &[F::Left, F::SaidDidNotHappen]), S::Approved).by_word);
    assert!(leads(&and(&LOST, &[F::Revised, F::SaidDidNotHappen]), S::Superseded).by_word);
    for rest in [&[F::Undone][..], &[F::Claimed, F::Refused], &[F::Undone, F::Rejected]] {
        assert!(walk(&and(&word, rest)).by_word, "{rest:?}");
    }
    // A third no after two unclear ends: gave up, still by word.
    let worn = and(&LOST, &[F::SaidDidNotHappen, F::Claimed, NO, F::Claimed, NO]);
    assert!(leads(&worn, S::GaveUp).by_word);
    assert!(!leads(&and(&word, &[F::Claimed, F::Crossed, F::Accepted]), S::Accepted).by_word);
}

#[test]
fn a_persons_approval_or_verdict_grants_one_more_attempt() {
    let worn = [YES, F::Claimed, NO, F::Claimed, NO, F::Claimed, NO, YES];
    let s = leads(&worn, S::Approved);
    assert_eq!((s.attempts, s.allowed), (3, 4));
    leads(&and(&worn, &[F::Claimed, NO]), S::GaveUp);
    let unknown = and(&LOST, &[F::Repeated, F::Crossed, F::Unclear, F::Repeated, F::Crossed, F::Unclear]);
    assert_eq!(leads(&and(&unknown, &[F::SaidDidNotHappen]), S::Approved).allowed, 4);
}

#[test]
fn row_leave_it_closes_without_asserting_anything_and_evidence_still_settles() {
    let left = and(&LOST, &[F::Left]);
    leads(&left, S::ClosedUnknown);
    assert!(!S::ClosedUnknown.says_nothing_sent());
    leads(&and(&left, &[F::Found]), S::Accepted);
    impossible(&left, F::Repeated, Why::NoSuchRow);
    impossible(&left, F::Left, Why::NoSuchRow);
}

#[test]
fn row_needs_review_that_never_crossed_is_completed_and_never_approved_as_it_is() {
    let review = [YES, F::Expired];
    leads(&and(&review, &[F::Completed]), S::Prepared);
    impossible(&review, YES, Why::NeverCrossed);
}

#[test]
fn row_needs_review_that_crossed_is_approved_with_the_stored_wire_only() {
    let review = and(&CROSSED_NO, &[F::Undone]);
    leads(&and(&review, &[YES]), S::Approved);
    impossible(&review, F::Completed, Why::CrossedOnce);
    let illegal = impossible(&review, F::Redrafted, Why::NoSuchRow);
    assert!(illegal.to_string().contains("redrafted is not possible"), "{illegal}");
}

#[test]
fn row_gave_up_is_approved_again_and_refused_only_where_a_refusal_frees_the_key() {
    leads(&[YES, F::Claimed, NO, F::Claimed, NO, F::Claimed, NO, YES], S::Approved);
    let refused = [YES, F::Claimed, F::Crossed, F::Refused];
    impossible(&refused, YES, Why::KeyNotFreed);
    leads(&and(&refused, &[F::Approved { complete: true, frees_key: true }]), S::Approved);
}

#[test]
fn r28_revise_marks_once_and_supersedes_what_was_never_sent() {
    for (way, to) in [
        (&[F::Rejected][..], S::Superseded),
        (&[YES, F::Claimed, F::Refused], S::Superseded),
        (&[YES, F::Claimed, NO, F::Claimed, NO, F::Claimed, NO], S::Superseded),
        (&[YES, F::Claimed, F::Crossed, F::Accepted], S::Accepted),
        (&LOST, S::Unknown),
        (&[YES, F::Claimed, F::Crossed, F::Unclear, F::Left], S::ClosedUnknown),
    ] {
        let revised = and(way, &[F::Revised]);
        assert!(leads(&revised, to).revised);
        impossible(&revised, F::Revised, Why::Revised);
    }
    for way in [&[][..], &[YES], &[YES, F::Claimed], &[YES, F::Expired]] {
        impossible(way, F::Revised, Why::NoSuchRow);
    }
}

#[test]
fn a_revised_action_never_dispatches_again() {
    let revised = and(&LOST, &[F::Revised]);
    impossible(&revised, F::Repeated, Why::Revised);
    for back in [F::Absent, F::SaidDidNotHappen] {
        let ended = and(&revised, &[back]);
        leads(&ended, S::Superseded);
        impossible(&ended, F::Claimed, Why::NoSuchRow);
        impossible(&ended, YES, Why::NoSuchRow);
    }
}
