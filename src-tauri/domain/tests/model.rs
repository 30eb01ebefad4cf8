//! The model check: the real `advance()` in every world it can get into, with late effects, late answers, crashes, wrong
//! words, edits, undo, expiry, revisions and up to four attempts.

mod world;

use countersign_domain::state::{Fact, Standing, State, advance};
use std::collections::HashSet;
use world::{destinations, walk};

#[test]
fn inv1_to_inv4_hold_in_every_reachable_world_and_every_situation_can_still_end() {
    for destination in destinations() {
        let walk = walk(destination, advance);
        assert!(walk.violations.is_empty(), "{destination:?}: {:#?}", walk.violations);
        assert_eq!(walk.stuck(), Vec::<&world::World>::new(), "{destination:?}");

        // A walk that does not come far proves nothing.
        let states: HashSet<State> = walk.worlds.iter().map(|w| w.standing.state).collect();
        assert_eq!(states.len(), State::ALL.len(), "{destination:?} reaches every state");
        let reached = |what: fn(&Standing) -> bool| walk.worlds.iter().any(|w| what(&w.standing));
        assert!(reached(|s| s.attempts == 4), "{destination:?}");
        assert!(reached(|s| s.by_word && s.state == State::GaveUp), "{destination:?}");
        assert!(reached(|s| s.revised && s.state == State::Superseded), "{destination:?}");
        assert!(reached(|s| s.stale_claims == 3), "{destination:?}");
        assert_eq!(reached(|s| s.in_doubt && s.crossing), destination.keyed, "{destination:?}");
    }
}

#[test]
fn inv5_replaying_the_stored_facts_gives_the_same_standing() {
    for destination in destinations() {
        let walk = walk(destination, advance);
        for (i, world) in walk.worlds.iter().enumerate().step_by(17) {
            let stored: Vec<String> = walk.facts(i).iter().map(|f| serde_json::to_string(f).unwrap()).collect();
            let replayed = stored.iter().try_fold(Standing::proposed(true), |standing, text| {
                advance(&standing, &serde_json::from_str::<Fact>(text).unwrap())
            });
            assert_eq!(replayed, Ok(world.standing));
        }
    }
}
