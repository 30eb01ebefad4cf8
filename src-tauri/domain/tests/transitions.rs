//! The transition table of protocol.md, written down once more from its text, against `advance()`.

use countersign_domain::state::{Fact, Standing, State, advance};

use Fact as F;
use State as S;

// The table ------------------------------------------------------------------------------------------------------------

/// One row: from, on, guard, to.
struct Row {
    from: &'static [State],
    on: fn(&Fact) -> bool,
    guard: fn(&Standing) -> bool,
    to: fn(&Standing) -> State,
}

fn approval(f: &Fact, complete: bool, must_free: bool) -> bool {
    matches!(*f, F::Approved { complete: c, frees_key } if c == complete && (frees_key || !must_free))
}

fn home(s: &Standing) -> State {
    if s.revised { S::Superseded } else { S::Approved }
}

#[rustfmt::skip]
const TABLE: &[Row] = &[
    // prepared | newer draft, owner's edit | never crossed | prepared
    Row { from: &[S::Prepared], on: |f| *f == F::Redrafted, guard: |s| !s.crossed_once, to: |_| S::Prepared },
    // prepared | approve | | approved; first of two approvals: prepared
    Row { from: &[S::Prepared], on: |f| approval(f, true, false), guard: |s| !s.revised, to: |_| S::Approved },
    Row { from: &[S::Prepared], on: |f| approval(f, false, false), guard: |s| !s.revised, to: |_| S::Prepared },
    // prepared, needs_review | reject | | rejected
    Row { from: &[S::Prepared, S::NeedsReview], on: |f| *f == F::Rejected, guard: |_| true, to: |_| S::Rejected },
    // approved | undo | not claimed | prepared; crossed once: needs_review
    Row { from: &[S::Approved], on: |f| *f == F::Undone, guard: |s| !s.crossed_once, to: |_| S::Prepared },
    Row { from: &[S::Approved], on: |f| *f == F::Undone, guard: |s| s.crossed_once, to: |_| S::NeedsReview },
    // approved | expiry; a change of the account; the customer wrote again | not claimed | needs_review
    Row { from: &[S::Approved], on: |f| matches!(f, F::Expired | F::AccountChanged | F::SituationChanged), guard: |_| true, to: |_| S::NeedsReview },
    // approved | person: release from its order | | approved
    Row { from: &[S::Approved], on: |f| *f == F::Released, guard: |_| true, to: |_| S::Approved },
    // approved | claim | not revised (and an attempt left) | in_progress
    Row { from: &[S::Approved], on: |f| *f == F::Claimed, guard: |s| !s.revised && s.attempts < s.allowed, to: |_| S::InProgress },
    // the crossing: a compare-and-set on the open attempt
    Row { from: &[S::InProgress], on: |f| *f == F::Crossed, guard: |s| !s.crossing, to: |_| S::InProgress },
    // in_progress, no crossing, not in doubt | situation changed | | needs_review
    Row { from: &[S::InProgress], on: |f| *f == F::SituationChanged, guard: |s| !s.crossing && !s.in_doubt, to: |_| S::NeedsReview },
    // in_progress | accepted | (nothing is accepted that did not cross) | accepted
    Row { from: &[S::InProgress], on: |f| *f == F::Accepted, guard: |s| s.crossing, to: |_| S::Accepted },
    // in_progress | not sent, transient | attempts < cap, not in doubt | approved;  attempts ≥ cap: gave_up
    Row { from: &[S::InProgress], on: |f| *f == F::NotSent { counts: true }, guard: |s| !s.in_doubt && s.attempts + 1 < s.allowed, to: |_| S::Approved },
    Row { from: &[S::InProgress], on: |f| *f == F::NotSent { counts: true }, guard: |s| !s.in_doubt && s.attempts + 1 >= s.allowed, to: |_| S::GaveUp },
    // offline or a failed login counts nothing
    Row { from: &[S::InProgress], on: |f| *f == F::NotSent { counts: false }, guard: |s| !s.in_doubt, to: |_| S::Approved },
    // in_progress | refused | not in doubt | refused
    Row { from: &[S::InProgress], on: |f| *f == F::Refused, guard: |s| !s.in_doubt, to: |_| S::Refused },
    // in_progress | unclear; or anything but accepted while in doubt | | unknown
    Row { from: &[S::InProgress], on: |f| *f == F::Unclear, guard: |s| s.crossing || s.in_doubt, to: |_| S::Unknown },
    Row { from: &[S::InProgress], on: |f| matches!(f, F::NotSent { .. } | F::Refused), guard: |s| s.in_doubt, to: |_| S::Unknown },
    // in_progress | claim found stale | no crossing, not in doubt | approved; the third: needs_review
    Row { from: &[S::InProgress], on: |f| *f == F::Stale, guard: |s| !s.crossing && !s.in_doubt && s.stale_claims < 2, to: |_| S::Approved },
    Row { from: &[S::InProgress], on: |f| *f == F::Stale, guard: |s| !s.crossing && !s.in_doubt && s.stale_claims >= 2, to: |_| S::NeedsReview },
    // in_progress | claim found stale | crossing or in doubt | unknown
    Row { from: &[S::InProgress], on: |f| *f == F::Stale, guard: |s| s.crossing || s.in_doubt, to: |_| S::Unknown },
    // unknown | same-key repeat | attempts < cap, not revised | in_progress, in doubt
    Row { from: &[S::Unknown], on: |f| *f == F::Repeated, guard: |s| !s.revised && s.attempts < s.allowed, to: |_| S::InProgress },
    // any state but accepted | proof of acceptance | | accepted
    Row { from: &[S::Prepared, S::NeedsReview, S::Approved, S::InProgress, S::Unknown, S::Refused, S::GaveUp, S::Rejected, S::Superseded, S::ClosedUnknown],
          on: |f| *f == F::Found, guard: |_| true, to: |_| S::Accepted },
    // unknown | look-up: absent | attempts < cap | approved; revised: superseded;  attempts ≥ cap: gave_up (the cap's rule)
    Row { from: &[S::Unknown], on: |f| *f == F::Absent, guard: |s| s.revised || s.attempts < s.allowed, to: home },
    Row { from: &[S::Unknown], on: |f| *f == F::Absent, guard: |s| !s.revised && s.attempts >= s.allowed, to: |_| S::GaveUp },
    // unknown, closed_unknown | person: it happened | | accepted
    Row { from: &[S::Unknown, S::ClosedUnknown], on: |f| *f == F::SaidHappened, guard: |_| true, to: |_| S::Accepted },
    // unknown, closed_unknown | person: it did not | | approved; revised: superseded
    Row { from: &[S::Unknown, S::ClosedUnknown], on: |f| *f == F::SaidDidNotHappen, guard: |_| true, to: home },
    // unknown | person: leave it | | closed_unknown
    Row { from: &[S::Unknown], on: |f| *f == F::Left, guard: |_| true, to: |_| S::ClosedUnknown },
    // needs_review, never crossed | person: confirm or complete | | prepared
    Row { from: &[S::NeedsReview], on: |f| *f == F::Completed, guard: |s| !s.crossed_once, to: |_| S::Prepared },
    // needs_review, crossed once | approve of the stored wire | as approve | approved
    Row { from: &[S::NeedsReview], on: |f| approval(f, true, false), guard: |s| s.crossed_once && !s.revised, to: |_| S::Approved },
    Row { from: &[S::NeedsReview], on: |f| approval(f, false, false), guard: |s| s.crossed_once && !s.revised, to: |_| S::NeedsReview },
    // gave_up, refused | approve again | not revised; from refused only where a refusal frees the key | approved
    Row { from: &[S::GaveUp], on: |f| approval(f, true, false), guard: |s| !s.revised, to: |_| S::Approved },
    Row { from: &[S::GaveUp], on: |f| approval(f, false, false), guard: |s| !s.revised, to: |_| S::GaveUp },
    Row { from: &[S::Refused], on: |f| approval(f, true, true), guard: |s| !s.revised, to: |_| S::Approved },
    Row { from: &[S::Refused], on: |f| approval(f, false, true), guard: |s| !s.revised, to: |_| S::Refused },
    // any ended state, unknown | revise | once | never-sent ones: superseded, others unchanged
    Row { from: &[S::Refused, S::GaveUp, S::Rejected, S::Superseded], on: |f| *f == F::Revised, guard: |s| !s.revised, to: |_| S::Superseded },
    Row { from: &[S::Accepted, S::Unknown, S::ClosedUnknown], on: |f| *f == F::Revised, guard: |s| !s.revised, to: |s| s.state },
];

/// What else the protocol says of the standing after a row: attempts, grants, flags.
fn after(s: &Standing, f: &Fact, to: State) -> Standing {
    let ends_attempt = s.state == S::InProgress && to != S::InProgress;
    let spoke = match f {
        F::Accepted | F::Refused | F::Unclear | F::NotSent { counts: true } => true,
        F::Stale => s.crossing,
        _ => false,
    };
    let counted = ends_attempt && spoke;
    let attempts = s.attempts + u8::from(counted);
    let person_grants = matches!(f, F::Approved { complete: true, .. } | F::SaidDidNotHappen);
    let stale_again = *f == F::Stale && !s.crossing && !s.in_doubt;
    let fresh = matches!(f, F::Approved { complete: true, .. } | F::Completed) || counted;
    Standing {
        state: to,
        attempts,
        allowed: if person_grants { s.allowed.max(attempts + 1) } else { s.allowed },
        crossed_once: s.crossed_once || *f == F::Crossed,
        crossing: to == S::InProgress && *f == F::Crossed,
        in_doubt: to == S::InProgress && (s.in_doubt || *f == F::Repeated),
        revised: s.revised || *f == F::Revised,
        by_word: (s.by_word || *f == F::SaidDidNotHappen) && !(to == S::Accepted && s.state != S::Accepted),
        signed: u8::from(matches!(f, F::Approved { complete: false, .. })),
        stale_claims: match () {
            () if stale_again => s.stale_claims + 1,
            () if fresh => 0,
            () => s.stale_claims,
        },
    }
}

fn facts() -> Vec<Fact> {
    let mut all = vec![
        F::Redrafted,
        F::Rejected,
        F::Undone,
        F::Expired,
        F::AccountChanged,
        F::Released,
        F::Claimed,
        F::Crossed,
        F::SituationChanged,
        F::Accepted,
        F::Refused,
        F::Unclear,
        F::Stale,
        F::Repeated,
        F::Found,
        F::Absent,
        F::SaidHappened,
        F::SaidDidNotHappen,
        F::Left,
        F::Completed,
        F::Revised,
    ];
    for b in [false, true] {
        all.push(F::NotSent { counts: b });
        all.extend([false, true].map(|frees_key| F::Approved { complete: b, frees_key }));
    }
    all
}

/// Every standing whose parts do not contradict each other.
fn standings() -> Vec<Standing> {
    let mut all = Vec::new();
    for state in State::ALL {
        for allowed in 3..=5 {
            for attempts in 0..=allowed {
                for bits in 0..32_u8 {
                    for signed in 0..=1 {
                        for stale_claims in 0..=2 {
                            let bit = |n: u8| bits & (1 << n) != 0;
                            let s = Standing {
                                state,
                                attempts,
                                allowed,
                                crossed_once: bit(0),
                                crossing: bit(1),
                                in_doubt: bit(2),
                                revised: bit(3),
                                by_word: bit(4),
                                signed,
                                stale_claims,
                            };
                            let open = state == S::InProgress;
                            let waits = matches!(state, S::Prepared | S::NeedsReview | S::GaveUp | S::Refused);
                            let of_an_attempt = s.crossing || s.in_doubt;
                            let sound_flags = !of_an_attempt || (open && s.crossed_once);
                            if sound_flags && (waits || signed == 0) && (!open || attempts < allowed) {
                                all.push(s);
                            }
                        }
                    }
                }
            }
        }
    }
    all
}

#[test]
fn every_standing_and_fact_is_as_the_table_says() {
    let (mut possible, mut impossible) = (0, 0);
    for s in standings() {
        for f in facts() {
            let rows: Vec<&Row> =
                TABLE.iter().filter(|r| r.from.contains(&s.state) && (r.on)(&f) && (r.guard)(&s)).collect();
            let got = advance(&s, &f);
            match rows.as_slice() {
                [] => {
                    impossible += 1;
                    assert!(got.is_err(), "{f:?} on {s:?} is in no row, but gave {got:?}");
                }
                [row] => {
                    possible += 1;
                    assert_eq!(got, Ok(after(&s, &f, (row.to)(&s))), "{f:?} on {s:?}");
                }
                _ => panic!("{f:?} on {s:?} is in {} rows", rows.len()),
            }
        }
    }
    assert!(possible > 10_000 && impossible > 100_000, "{possible} possible, {impossible} impossible");
}

#[test]
fn every_row_of_the_table_is_used() {
    let all = standings();
    for (i, row) in TABLE.iter().enumerate() {
        let used =
            all.iter().any(|s| row.from.contains(&s.state) && (row.guard)(s) && facts().iter().any(|f| (row.on)(f)));
        assert!(used, "row {i}");
    }
}

#[test]
fn facts_and_states_are_stored_under_the_words_of_the_protocol() {
    for f in facts() {
        let text = serde_json::to_string(&f).unwrap();
        assert!(text.contains(&format!("\"fact\":\"{}\"", f.name())), "{text}");
        assert_eq!(serde_json::from_str::<Fact>(&text).unwrap(), f);
    }
    for s in State::ALL {
        assert_eq!(serde_json::to_string(&s).unwrap(), format!("\"{}\"", s.name()));
        assert_eq!(s.name().parse::<State>().unwrap(), s);
    }
    assert!("sent".parse::<State>().is_err());
}
