//! One action, one destination, persons, crashes: a world around the real `advance()`, walked breadth-first.
//!
//! The world knows what `advance()` cannot: what the destination really did, which bytes are still on their way, what a
//! person signed. Answers and look-ups are truthful; persons may be wrong when they say that it did not happen.

// Each of the tests that share this world uses its part of it.
#![allow(dead_code)]

use countersign_domain::state::{Fact, Illegal, Standing, State};
use std::collections::{HashMap, VecDeque};

/// Payload version and rendering: two renderings of one version differ in their bytes.
pub type Wire = (u8, u8);

#[derive(Clone, Copy, Debug)]
pub struct Destination {
    /// Recognises a second request under the same key.
    pub keyed: bool,
    /// Not finding it, after the delay, proves that it did not happen.
    pub absence_conclusive: bool,
    /// A refusal frees the key.
    pub refusal_frees: bool,
    pub approvers: u8,
}

/// The bounds of the walk. What lies beyond repeats what lies within.
const ATTEMPTS: u8 = 4;
const VERSIONS: u8 = 2;
const RENDERINGS: u8 = 2;
const WORDS: u8 = 2;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    pub standing: Standing,
    version: u8,
    renderings: u8,
    /// The stored wire.
    wire: Option<Wire>,
    /// Approvers whose signature on this wire counts.
    signers: u8,
    /// The approval is older than it may be.
    too_old: bool,
    /// The first wire that crossed: what the key stands for.
    used: Option<Wire>,
    /// What the destination did, in order.
    effects: Vec<Wire>,
    /// Crossed, no clear answer; may still take effect.
    in_flight: Vec<Wire>,
    /// Signed "it did not happen".
    words: u8,
    /// Some crossing had no clear end, and neither evidence nor a word settled it.
    doubtful: bool,
    /// A proof was seen.
    receipt: bool,
    /// The wire that the open attempt sends.
    open: Option<Wire>,
}

impl World {
    fn new() -> World {
        World {
            standing: Standing::proposed(true),
            version: 1,
            renderings: 0,
            wire: None,
            signers: 0,
            too_old: false,
            used: None,
            effects: Vec::new(),
            in_flight: Vec::new(),
            words: 0,
            doubtful: false,
            receipt: false,
            open: None,
        }
    }

    /// The destination acts on a wire. Where keys are honoured a second request under the key does nothing.
    fn act(&mut self, wire: Wire, to: Destination) {
        if !to.keyed || self.effects.is_empty() {
            self.effects.push(wire);
        }
    }
    fn approvals_end(&mut self) {
        self.signers = 0;
        self.too_old = false;
    }
    fn settled(&mut self) {
        self.doubtful = false;
        self.receipt = true;
        self.open = None;
    }
}

pub struct Step {
    pub name: &'static str,
    pub fact: Option<Fact>,
    /// The world does this whether we like it or not: `advance()` has to take it.
    pub happens: bool,
    pub change: fn(&mut World, Destination),
}

fn ours(name: &'static str, fact: Fact, change: fn(&mut World, Destination)) -> Step {
    Step { name, fact: Some(fact), happens: false, change }
}
fn theirs(name: &'static str, fact: Fact, change: fn(&mut World, Destination)) -> Step {
    Step { name, fact: Some(fact), happens: true, change }
}
fn nature(name: &'static str, change: fn(&mut World, Destination)) -> Step {
    Step { name, fact: None, happens: true, change }
}

/// Everything that can be tried or can happen here, whatever the state says. `advance()` decides what is possible.
fn steps(w: &World, to: Destination) -> Vec<Step> {
    let s = &w.standing;
    let mut all = Vec::new();
    let nothing: fn(&mut World, Destination) = |_, _| {};

    // Persons and sources.
    if w.version < VERSIONS {
        all.push(ours("edit", Fact::Redrafted, |w, _| {
            w.version += 1;
            w.renderings = 0;
            w.approvals_end();
        }));
    }
    if w.renderings < RENDERINGS || s.state != State::Prepared {
        let complete = w.signers + 1 >= to.approvers;
        let fact = Fact::Approved { complete, frees_key: to.refusal_frees };
        all.push(ours("approve", fact, |w, _| {
            // Rendered where it is approved for the first time; from everywhere else the stored wire is approved.
            if w.standing.state == State::Prepared && w.signers == 0 {
                w.renderings += 1;
                w.wire = Some((w.version, w.renderings));
            }
            w.signers += 1;
            w.too_old = false;
        }));
    }
    all.push(ours("reject", Fact::Rejected, |w, _| w.approvals_end()));
    all.push(ours("undo", Fact::Undone, |w, _| w.approvals_end()));
    all.push(ours("account changed", Fact::AccountChanged, |w, _| w.approvals_end()));
    all.push(ours("release", Fact::Released, nothing));
    all.push(ours("complete", Fact::Completed, |w, _| w.approvals_end()));
    all.push(ours("revise", Fact::Revised, nothing));
    all.push(ours("leave it", Fact::Left, nothing));
    if w.words < WORDS {
        all.push(ours("person: it did not happen", Fact::SaidDidNotHappen, |w, _| {
            w.words += 1;
            w.doubtful = false;
        }));
    }
    if !w.effects.is_empty() {
        all.push(ours("person: it happened", Fact::SaidHappened, |w, _| w.settled()));
    }

    // Time.
    if s.state == State::Approved && !w.too_old {
        all.push(nature("the approval grows old", |w, _| w.too_old = true));
    }
    if w.too_old {
        all.push(ours("expired", Fact::Expired, |w, _| w.approvals_end()));
    }

    // The dispatcher. An old approval bars a claim, never a same-key repeat.
    if s.attempts < ATTEMPTS && w.signers >= to.approvers && !w.too_old {
        all.push(ours("claim", Fact::Claimed, |w, _| w.open = w.wire));
    }
    if s.attempts < ATTEMPTS && to.keyed {
        all.push(ours("repeat under the same key", Fact::Repeated, |w, _| w.open = w.wire));
    }
    if s.state == State::InProgress {
        attempt(w, to, &mut all);
    }

    // What is still on its way arrives, or is lost for good.
    if !w.in_flight.is_empty() {
        all.push(nature("a late effect", |w, to| {
            let wire = w.in_flight.remove(0);
            w.act(wire, to);
        }));
        all.push(nature("what was on its way is lost", |w, _| {
            w.in_flight.remove(0);
        }));
    }

    // Evidence. A look-up, a late answer or a DSN says what is true.
    if !w.effects.is_empty() && s.state != State::Accepted {
        all.push(theirs("found, late answer or DSN", Fact::Found, |w, _| w.settled()));
    }
    if to.absence_conclusive && w.effects.is_empty() && w.in_flight.is_empty() {
        all.push(ours("looked: absent", Fact::Absent, |w, _| w.doubtful = false));
    }
    all
}

/// The open attempt goes on, ends, or its worker dies.
fn attempt(w: &World, to: Destination, all: &mut Vec<Step>) {
    let s = &w.standing;
    if !s.crossing {
        all.push(theirs("not sent, offline", Fact::NotSent { counts: false }, |w, _| w.open = None));
        all.push(theirs("not sent, put off", Fact::NotSent { counts: true }, |w, _| w.open = None));
        all.push(theirs("refused before crossing", Fact::Refused, |w, _| w.open = None));
        all.push(theirs("worker dies", Fact::Stale, |w, _| w.open = None));
        all.push(ours("situation changed", Fact::SituationChanged, |w, _| {
            w.open = None;
            w.approvals_end();
        }));
        all.push(ours("cross", Fact::Crossed, |w, _| {
            w.used = w.used.or(w.open);
        }));
        return;
    }
    // Tried too late or twice: what has crossed may act.
    all.push(ours("situation changed", Fact::SituationChanged, |w, _| {
        w.in_flight.extend(w.open);
        lost(w);
    }));
    all.push(ours("cross", Fact::Crossed, |_, _| {}));
    let conflict = to.keyed && w.effects.first().is_some_and(|first| Some(*first) != w.open);
    if !conflict {
        all.push(theirs("accepted", Fact::Accepted, |w, to| {
            act(w, to);
            w.settled();
        }));
        all.push(theirs("acted, answer lost", Fact::Unclear, |w, to| {
            act(w, to);
            lost(w);
        }));
        all.push(theirs("acted, worker dies", Fact::Stale, |w, to| {
            act(w, to);
            lost(w);
        }));
    }
    if w.in_flight.len() < 2 {
        all.push(theirs("answer lost, will act or not", Fact::Unclear, |w, _| {
            w.in_flight.extend(w.open);
            lost(w);
        }));
    }
    all.push(theirs("not acted, answer lost", Fact::Unclear, |w, _| lost(w)));
    all.push(theirs("not acted, worker dies", Fact::Stale, |w, _| lost(w)));
    // A clean no, to this attempt.
    all.push(theirs("put off after crossing", Fact::NotSent { counts: true }, |w, _| w.open = None));
    all.push(theirs("refused", Fact::Refused, |w, _| w.open = None));
}

fn act(w: &mut World, to: Destination) {
    if let Some(wire) = w.open {
        w.act(wire, to);
    }
}

fn lost(w: &mut World) {
    w.doubtful = true;
    w.open = None;
}

/// The protocol's promises, looked at after every step.
fn broken(before: &World, step: &Step, w: &World, to: Destination) -> Option<&'static str> {
    let s = &w.standing;
    if w.effects.len() > 1 + usize::from(w.words) {
        return Some("inv1: more effects than one and the signed words");
    }
    if s.state == State::Accepted && w.effects.is_empty() {
        return Some("inv1: accepted without an effect");
    }
    if s.state.says_nothing_sent() && !s.by_word && !w.effects.is_empty() {
        return Some("inv1: says that nothing was sent, but it was");
    }
    if s.state.says_nothing_sent() && !s.by_word && (w.doubtful || !w.in_flight.is_empty()) {
        return Some("inv4: says that nothing was sent, but nobody knows");
    }
    if s.state == State::Accepted && !w.receipt {
        return Some("inv4: accepted without a receipt");
    }
    if s.by_word && w.words == 0 {
        return Some("inv4: by a person's word that nobody gave");
    }
    match step.fact {
        Some(Fact::Crossed) => {
            if w.signers < to.approvers || w.open.is_none() || w.open != w.wire {
                return Some("inv2: crosses without a verifying approval of exactly this wire");
            }
            if w.used != w.open {
                return Some("wire frozen: other bytes cross under a used key");
            }
            if before.standing.crossing {
                return Some("inv3: crosses twice in one attempt");
            }
        }
        Some(Fact::Claimed | Fact::Repeated) => {
            if before.open.is_some() {
                return Some("inv3: a second open attempt");
            }
            if before.standing.revised {
                return Some("revised: dispatches again");
            }
        }
        Some(Fact::Redrafted) if before.used.is_some() => return Some("wire frozen: edited under a used key"),
        _ => {}
    }
    if (s.state == State::InProgress) != w.open.is_some() {
        return Some("inv3: in progress and an open attempt are two things");
    }
    if s.state == State::Approved && s.attempts >= s.allowed {
        return Some("approved, but no attempt is left");
    }
    None
}

/// Where a walk went wrong, with the steps that led there.
#[derive(Debug)]
pub struct Violation {
    pub what: &'static str,
    pub trace: Vec<&'static str>,
}

pub struct Walk {
    pub violations: Vec<Violation>,
    pub worlds: Vec<World>,
    /// World and fact that led to each world; none for the first.
    parents: Vec<Option<(usize, &'static str, Option<Fact>)>>,
    followers: Vec<Vec<usize>>,
}

pub type Advance = fn(&Standing, &Fact) -> Result<Standing, Illegal>;

/// Walks everything that can be reached. Behind a violation it does not go on.
pub fn walk(to: Destination, advance: Advance) -> Walk {
    let first = World::new();
    let mut walk =
        Walk { violations: Vec::new(), worlds: vec![first.clone()], parents: vec![None], followers: vec![Vec::new()] };
    let mut seen = HashMap::from([(first, 0)]);
    let mut queue = VecDeque::from([0]);
    while let Some(at) = queue.pop_front() {
        let world = walk.worlds[at].clone();
        for step in steps(&world, to) {
            let mut next = world.clone();
            match step.fact.map(|fact| advance(&world.standing, &fact)) {
                Some(Err(_)) if step.happens => {
                    walk.note(at, step.name, "what happened cannot be recorded");
                    continue;
                }
                Some(Err(_)) => continue,
                Some(Ok(standing)) => {
                    (step.change)(&mut next, to);
                    next.standing = standing;
                }
                None => (step.change)(&mut next, to),
            }
            // Approvals end where the state asks for a new one.
            if matches!(next.standing.state, State::GaveUp | State::Refused | State::NeedsReview)
                && next.standing.state != world.standing.state
            {
                next.approvals_end();
            }
            if let Some(what) = broken(&world, &step, &next, to) {
                walk.note(at, step.name, what);
                continue;
            }
            let index = *seen.entry(next.clone()).or_insert_with(|| {
                walk.worlds.push(next);
                walk.parents.push(Some((at, step.name, step.fact)));
                walk.followers.push(Vec::new());
                queue.push_back(walk.worlds.len() - 1);
                walk.worlds.len() - 1
            });
            walk.followers[at].push(index);
        }
    }
    walk
}

impl Walk {
    fn note(&mut self, at: usize, step: &'static str, what: &'static str) {
        // The first of its kind has the shortest trace.
        if self.violations.iter().any(|v| v.what == what) {
            return;
        }
        let mut trace = vec![step];
        let mut here = at;
        while let Some((parent, name, _)) = self.parents[here] {
            trace.push(name);
            here = parent;
        }
        trace.reverse();
        self.violations.push(Violation { what, trace });
    }

    /// The facts that led to a world, oldest first.
    pub fn facts(&self, mut at: usize) -> Vec<Fact> {
        let mut facts = Vec::new();
        while let Some((parent, _, fact)) = self.parents[at] {
            facts.extend(fact);
            at = parent;
        }
        facts.reverse();
        facts
    }

    /// Worlds from which no end can be reached.
    pub fn stuck(&self) -> Vec<&World> {
        let ended = |w: &World| match w.standing.state {
            State::Accepted | State::Rejected | State::Superseded | State::ClosedUnknown => true,
            State::Prepared
            | State::NeedsReview
            | State::Approved
            | State::InProgress
            | State::Unknown
            | State::Refused
            | State::GaveUp => false,
        };
        let mut leads_to = vec![Vec::new(); self.worlds.len()];
        for (from, followers) in self.followers.iter().enumerate() {
            for to in followers {
                leads_to[*to].push(from);
            }
        }
        let mut can_end: Vec<bool> = self.worlds.iter().map(ended).collect();
        let mut queue: Vec<usize> = (0..self.worlds.len()).filter(|i| can_end[*i]).collect();
        while let Some(at) = queue.pop() {
            for from in &leads_to[at] {
                if !can_end[*from] {
                    can_end[*from] = true;
                    queue.push(*from);
                }
            }
        }
        self.worlds.iter().zip(can_end).filter(|(_, ends)| !ends).map(|(w, _)| w).collect()
    }
}

/// Every kind of destination that makes a difference.
pub fn destinations() -> Vec<Destination> {
    let mut all = Vec::new();
    for keyed in [true, false] {
        for absence_conclusive in [true, false] {
            for refusal_frees in [true, false] {
                for approvers in [1, 2] {
                    all.push(Destination { keyed, absence_conclusive, refusal_frees, approvers });
                }
            }
        }
    }
    all
}
