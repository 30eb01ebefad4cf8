//! The same walk with one amendment of the real `advance()` switched off must find the hole that the amendment closes. A
//! model that would not notice is no proof.

mod world;

use countersign_domain::state::{Amendments, Fact, Illegal, Standing, advance_with};
use world::{Violation, destinations, walk};

fn without_doubt(s: &Standing, f: &Fact) -> Result<Standing, Illegal> {
    advance_with(s, f, Amendments::choose(false, true, true))
}
fn without_frozen_wire(s: &Standing, f: &Fact) -> Result<Standing, Illegal> {
    advance_with(s, f, Amendments::choose(true, false, true))
}
fn without_bar_on_revised(s: &Standing, f: &Fact) -> Result<Standing, Illegal> {
    advance_with(s, f, Amendments::choose(true, true, false))
}
fn with_all(s: &Standing, f: &Fact) -> Result<Standing, Illegal> {
    advance_with(s, f, Amendments::choose(true, true, true))
}

fn holes(advance: world::Advance) -> Vec<Violation> {
    destinations().into_iter().flat_map(|d| walk(d, advance).violations).collect()
}

#[track_caller]
fn found<'v>(holes: &'v [Violation], what: &str, steps: &[&str]) -> &'v Violation {
    let in_order = |v: &Violation| {
        let mut trace = v.trace.iter();
        steps.iter().all(|step| trace.any(|t| t == step))
    };
    holes.iter().find(|v| v.what.contains(what) && in_order(v)).unwrap_or_else(|| panic!("{what}: {holes:#?}"))
}

#[test]
fn hole_1_without_the_rule_of_doubt_a_later_no_turns_unknown_into_not_sent() {
    let holes = holes(without_doubt);
    found(&holes, "says that nothing was sent, but it was", &["acted, answer lost", "repeat under the same key"]);
    found(&holes, "says that nothing was sent, but nobody knows", &["repeat under the same key"]);
}

#[test]
fn hole_2_and_3_without_the_frozen_wire_other_content_or_other_bytes_go_under_a_used_key() {
    let holes = holes(without_frozen_wire);
    found(&holes, "edited under a used key", &["cross", "undo", "edit"]);
    let other = found(
        &holes,
        "other bytes cross under a used key",
        &["cross", "put off after crossing", "undo", "approve", "cross"],
    );
    assert!(!other.trace.contains(&"edit"), "a new rendering alone is enough: {other:?}");
}

#[test]
fn hole_4_without_the_bar_a_revised_action_dispatches_again() {
    let holes = holes(without_bar_on_revised);
    found(&holes, "revised: dispatches again", &["cross", "revise", "claim"]);
}

#[test]
fn with_every_amendment_the_same_walk_finds_nothing() {
    let holes = holes(with_all);
    assert!(holes.is_empty(), "{holes:#?}");
}
