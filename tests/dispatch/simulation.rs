//! Invariant 6 by chance: seeded days in which people, sources, a failing mail server, kills, clocks and ledgers that were
//! put back meet in any order. After every step the mailbox is asked what really left.
//!
//! `SIMULATION_SEEDS=FIRST..END` runs others than the usual few (a night of them, or the one that a failure named), and
//! `SIMULATION_STEPS=N` longer days. The seed decides what is done; how the network and the workers interleave is the
//! machine's.

use crate::frozen::{adopt, copy_ledger, put_back};
use crate::office::{Office, Setup};
use countersign_domain::{ActionId, State, Timestamp, Verdict};
use countersign_engine::view::ActionDoc;
use countersign_engine::{Code, Desk, Dispatcher, Failure, Intake, SANDBOX};
use countersign_sandbox::{Fault, Point, Release};
use fastrand::Rng;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);
/// Where a worker dies: before, in and after everything that matters of an attempt and of filing its copy.
const DEATHS: [Point; 9] = [
    Point::ImapConnected,
    Point::SearchReceived,
    Point::Connected,
    Point::Rcpt,
    Point::BodyReceived,
    Point::CommitReceived,
    Point::Acted,
    Point::Answered,
    Point::AppendReceived,
];

/// What a server may do to us. None of them lies: whoever says no has not acted.
fn faults() -> Vec<Fault> {
    vec![
        Fault::smtp_down(),
        Fault::greets_with(421),
        Fault::smtp_login_refused(454),
        Fault::cut_before_mail(),
        Fault::cut_after_rcpt(),
        Fault::cut_in_body(10),
        Fault::mail_refused(451),
        Fault::data_refused(451),
        Fault::refused_at_end(451),
        Fault::refused_at_end(554),
        Fault::closing_at_end(),
        Fault::hang_before_acting(),
        Fault::hang_after_acting(),
        Fault::late_answer(),
        Fault::late_refusal(554),
        Fault::reset_before_acting(),
        Fault::reset_after_acting(),
        Fault::close_after_acting(),
        Fault::nonsense_after_acting(),
        Fault::two_replies(),
        Fault::imap_down(),
        Fault::search_refused(),
        Fault::search_cut(),
        Fault::fetch_refused(),
        Fault::append_refused(),
        Fault::append_resets_after_acting(),
        Fault::slow_index("Sent"),
    ]
}

/// What was signed of one action, in order; None where the signature was taken back.
type Signed = Vec<Option<String>>;

struct Day {
    office: Office,
    worker: Option<Dispatcher>,
    dice: Rng,
    actions: Vec<ActionId>,
    signed: BTreeMap<String, Signed>,
    requests: u32,
    /// The ledger was put back once: what it says of the time before may be behind the truth.
    put_back: bool,
    log: String,
}

impl Drop for Day {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("{}", self.log);
        }
    }
}

impl Day {
    async fn begin(seed: u64) -> Day {
        let mut dice = Rng::with_seed(seed);
        let setup = Setup {
            files_sent: dice.bool(),
            undo_seconds: if dice.bool() { 10 } else { 0 },
            answer_timeout: 1,
            ..Setup::default()
        };
        let office = Office::with(setup).await;
        let worker = Some(office.dispatcher().await);
        let (actions, signed, log) = (Vec::new(), BTreeMap::new(), format!("{setup:?}\n"));
        Day { office, worker, dice, actions, signed, requests: 0, put_back: false, log }
    }

    fn note(&mut self, what: impl std::fmt::Display) {
        let _ = writeln!(self.log, "{what}");
    }

    /// What a person may be told, as opposed to what must never happen.
    fn told<T>(&mut self, what: &str, answer: Result<T, Failure>) -> Option<T> {
        match answer {
            Ok(value) => {
                self.note(format_args!("{what}: done"));
                Some(value)
            }
            Err(failure) if [Code::Internal, Code::Integrity].contains(&failure.code) => panic!("{what}: {failure}"),
            Err(failure) => {
                self.note(format_args!("{what}: {failure}"));
                None
            }
        }
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.dice.usize(..n) == 0
    }

    fn worker(&self) -> &Dispatcher {
        self.worker.as_ref().expect("one runs")
    }

    async fn step(&mut self) {
        match self.dice.usize(..30) {
            0..=2 => self.proposed().await,
            3..=7 => self.approved().await,
            8 => self.edited().await,
            9 => self.undone().await,
            10..=11 => self.settled().await,
            12 => self.revised_or_rejected().await,
            13..=15 => self.fault(),
            16..=18 => self.killed().await,
            19 => self.torn().await,
            20 => self.switched().await,
            21 => self.customer_writes(),
            22 if self.one_in(3) => self.rolled_back().await,
            _ => self.time_passes().await,
        }
        self.check().await;
    }

    fn any(&mut self) -> Option<ActionId> {
        (!self.actions.is_empty()).then(|| self.actions[self.dice.usize(..self.actions.len())])
    }

    async fn one_in_state(&mut self, wanted: &[State]) -> Option<ActionId> {
        let mut found = Vec::new();
        for id in self.actions.clone() {
            if wanted.contains(&self.office.state(id).await) {
                found.push(id);
            }
        }
        (!found.is_empty()).then(|| found[self.dice.usize(..found.len())])
    }

    async fn proposed(&mut self) {
        self.requests += 1;
        // Four customers: some write more than once, and most have nothing to do with each other.
        let customer = format!("robin{}@customer.example", self.dice.usize(..4));
        let (request, to) = (format!("r{}", self.requests), [customer.as_str()]);
        let id = self.office.propose_to(&request, &to).await;
        self.note(format_args!("proposed {id}"));
        self.actions.push(id);
        if self.one_in(4) {
            assert_eq!(self.office.propose_to(&request, &to).await, id, "the same event is the same action");
        }
    }

    /// Reads it, now or a while ago, and approves what was read; somebody else may be editing.
    async fn approved(&mut self) {
        let Some(id) = self.one_in_state(&[State::Prepared, State::NeedsReview]).await else { return };
        if self.office.state(id).await == State::NeedsReview {
            let confirmed = self.office.desk.confirm(id, None, None).await;
            self.told("confirm", confirmed);
        }
        let read = self.office.doc(id).await;
        for finding in read.findings.iter().filter(|f| f.holds && f.cleared.is_none()) {
            let cleared = self.office.desk.clear_finding(id, &finding.code, &finding.field).await;
            self.told("clear", cleared);
        }
        let version = read.payload_version;
        let answer = if self.one_in(3) {
            let text = self.text(&read, "beside an approval");
            let other = Desk::new(self.office.core.clone());
            let (answer, edited) = tokio::join!(
                self.office.desk.approve(id, &read.payload_hash, &[]),
                other.edit(id, Some(version), text)
            );
            let edited = self.told("edit beside", edited);
            assert!(answer.is_err() || edited.is_none(), "one of the two comes first and the other one is told");
            answer
        } else {
            self.office.desk.approve(id, &read.payload_hash, &[]).await
        };
        if self.told(&format!("approve {id}"), answer).is_some() {
            let text = read.payload["text"].as_str().expect("it has a text").to_owned();
            self.signed.entry(read.idempotency_key.expect("it has a key")).or_default().push(Some(text));
        }
    }

    fn text(&mut self, read: &ActionDoc, why: &str) -> serde_json::Value {
        let mut payload = read.payload.clone();
        payload["text"] = format!("Words {} {why}.\n", self.dice.usize(..1_000_000)).into();
        payload
    }

    async fn edited(&mut self) {
        let Some(id) = self.any() else { return };
        let read = self.office.doc(id).await;
        let payload = self.text(&read, "edited");
        let edited = self.office.desk.edit(id, Some(read.payload_version), payload).await;
        self.told(&format!("edit {id}"), edited);
    }

    /// Takes an approval back while the worker may be taking it up.
    async fn undone(&mut self) {
        let Some(id) = self.one_in_state(&[State::Approved]).await else { return };
        let key = self.office.key(id).await.to_string();
        let (undone, _) = tokio::join!(self.office.desk.undo(id), self.worker().tick());
        let frozen = self.office.core.ledger.action(id).await.unwrap().unwrap().standing().crossed_once;
        if self.told(&format!("undo {id}"), undone).is_some() && !frozen {
            self.signed.entry(key).or_default().push(None);
        }
    }

    /// The person has looked at the destination, and says the truth.
    async fn settled(&mut self) {
        let Some(id) = self.one_in_state(&[State::Unknown]).await else { return };
        self.office.sandbox.clear_faults();
        self.office.sandbox.release(Release::All);
        let verdict = if self.office.effects(id).await == 1 { Verdict::Happened } else { Verdict::DidNotHappen };
        let settled = self.office.desk.resolve(id, verdict, "looked into the customer's mailbox").await;
        self.told(&format!("settle {id} {verdict:?}"), settled);
    }

    async fn revised_or_rejected(&mut self) {
        let Some(id) = self.any() else { return };
        if self.office.state(id).await == State::Accepted {
            let revised = self.office.desk.revise(id, None).await;
            if let Some(new) = self.told(&format!("revise {id}"), revised) {
                let new = new.id.parse().expect("it is an id");
                if !self.actions.contains(&new) {
                    self.actions.push(new);
                }
            }
        } else {
            let rejected = self.office.desk.reject(id, "not needed").await;
            self.told(&format!("reject {id}"), rejected);
        }
    }

    fn fault(&mut self) {
        let mut all = faults();
        let fault = all.swap_remove(self.dice.usize(..all.len()));
        self.note(format_args!("{fault:?}"));
        self.office.sandbox.fault_once(fault);
    }

    fn customer_writes(&mut self) {
        if self.requests > 0 {
            let request = format!("r{}", 1 + self.dice.usize(..self.requests as usize));
            self.note(format_args!("the customer writes again under {request}"));
            self.office.customer_writes_again(&request);
        }
    }

    async fn switched(&mut self) {
        for on in [false, true] {
            let thrown = self.office.desk.set_sending(SANDBOX, on).await;
            self.told(&format!("sending {on}"), thrown);
            let before = self.office.sandbox.effects().len();
            let report = self.worker().tick().await;
            assert!(on || self.office.sandbox.effects().len() == before, "nothing goes while it is off: {report:?}");
        }
    }

    async fn time_passes(&mut self) {
        let by = [SECOND, 11 * SECOND, MINUTE, 20 * MINUTE, 2 * HOUR, 80 * HOUR][self.dice.usize(..6)];
        // What is held keeps its time on the clock that was right then: set back by days, it waits for days.
        if by <= 2 * HOUR && self.one_in(8) {
            let back = self.office.clock.now().millis() - i64::try_from(by.as_millis()).expect("it fits");
            self.office.clock.set(Timestamp::from_millis(back));
            self.note(format_args!("the clock is set back by {by:?}"));
        } else {
            self.office.later(by);
            self.note(format_args!("{by:?} later"));
        }
        if self.one_in(3) {
            self.office.sandbox.release(Release::All);
            self.note("what was held is let go");
        }
        let report = self.worker().tick().await;
        self.note(format_args!("tick: {report:?}"));
        for (id, _) in report.attempted.iter().filter(|(_, state)| *state == State::NeedsReview) {
            let why = self.office.doc(*id).await.reason;
            self.note(format_args!("  {id} because of {why:?}"));
        }
        for failure in &report.failures {
            assert!(![Code::Internal, Code::Integrity].contains(&failure.code), "{failure}");
        }
    }

    /// The worker dies at one point of its work, and another one begins.
    async fn killed(&mut self) {
        let point = DEATHS[self.dice.usize(..DEATHS.len())];
        let reached = self.office.sandbox.count(point);
        let died = tokio::select! {
            _ = self.worker().tick() => false,
            _ = self.office.sandbox.wait_for(point, reached + 1) => true,
        };
        self.note(format_args!("at {point:?} the worker {}", if died { "died" } else { "would have died" }));
        self.worker = None;
        self.start().await;
    }

    /// Two workers in turn without one word between them: the second starts in the middle of the first one's day.
    async fn torn(&mut self) {
        self.worker = None;
        self.start().await;
        self.note("another worker");
    }

    async fn start(&mut self) {
        let core = self.office.again().await;
        self.office.desk = Desk::new(core.clone());
        self.office.intake = Intake::open(&core).await.expect("the intake opens");
        self.office.core = core;
        self.worker = Some(self.office.dispatcher().await);
    }

    /// The file is put back to how it was a while ago, and a person takes it over.
    async fn rolled_back(&mut self) {
        let aside = self.office.dir.path().join(format!("aside-{}", self.log.len()));
        copy_ledger(self.office.home().dir(), &aside);
        for _ in 0..3 {
            self.approved().await;
            self.time_passes().await;
        }
        let seen = self.office.core.ledger.head().await.expect("it has a head");
        self.worker = None;
        self.office.core.ledger.close().await;
        put_back(&aside, self.office.home().dir());
        self.start().await;
        self.put_back = true;
        let report = self.worker().tick().await;
        let now = self.office.core.ledger.head().await.expect("it has a head");
        self.note(format_args!("put back from {} to {}: {:?}", seen.seq, now.seq, report.frozen));
        if report.frozen.is_some() {
            adopt(&self.office.core.clone()).await;
        }
    }

    /// What must hold at any moment.
    async fn check(&mut self) {
        let mut left: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for effect in self.office.sandbox.effects() {
            let key = effect.header("X-Countersign-Key").pop().expect("every message of ours has its key");
            let bytes = String::from_utf8(effect.bytes).expect("it is text");
            let body = bytes.split_once("\r\n\r\n").expect("it has a body").1.replace("\r\n", "\n");
            left.entry(key).or_default().push(body);
        }
        for (key, bodies) in &left {
            assert_eq!(bodies.len(), 1, "{key} went out more than once");
            let signed = self.signed.get(key).unwrap_or_else(|| panic!("{key} was never approved"));
            assert!(
                signed.iter().flatten().any(|text| *text == bodies[0]),
                "{:?} was not approved: {signed:?}",
                bodies[0]
            );
        }
        for id in self.actions.clone() {
            let record = self.office.core.ledger.action(id).await.expect("it can be read").expect("it is there");
            let went = record.idempotency_key.as_ref().map_or(0, |key| left.get(key.as_str()).map_or(0, Vec::len));
            let standing = record.standing();
            match standing.state {
                State::Accepted => assert_eq!(went, 1, "{id} says accepted and nothing left"),
                State::Unknown | State::InProgress | State::ClosedUnknown => {}
                // After a roll-back the file is behind the truth until somebody asked.
                _ if self.put_back => {}
                state => assert_eq!(went, 0, "{id} says {state:?}, which is \"not sent\""),
            }
        }
    }

    /// Everything works again and enough time passes: nothing is left under way, and the ledger proves itself.
    async fn end(mut self) {
        self.office.sandbox.clear_faults();
        self.office.sandbox.release(Release::All);
        for _ in 0..30 {
            self.worker().tick().await;
            self.office.later(20 * MINUTE);
        }
        self.worker().late_answers().await;
        self.worker().tick().await;
        self.check().await;
        for id in self.actions.clone() {
            let doc = self.office.doc(id).await;
            self.note(format_args!("{id} ends {}: {:?} {:?} {}", doc.state, doc.reason, doc.next, doc.explanation));
            assert!(!["in_progress", "approved"].contains(&doc.state.as_str()), "{id} is left {}", doc.state);
        }
        let core = &self.office.core;
        let (roster, secret) =
            (core.roster().await.expect("it is read"), core.ledger_secret().await.expect("it is there"));
        let broken = core.ledger.verify(&roster, Some(&secret), &mut |_, _| {}).await.expect("it can be verified");
        assert_eq!(broken, Vec::new(), "the ledger proves itself");
    }
}

fn numbers(name: &str) -> Option<(u64, u64)> {
    let told = std::env::var(name).ok()?;
    let (first, end) = told.split_once("..").unwrap_or(("0", &told));
    Some((first.parse().expect("a number"), end.parse().expect("a number")))
}

#[tokio::test(flavor = "multi_thread")]
async fn inv6_no_day_sends_twice_or_what_was_not_approved_or_says_not_sent_of_what_left() {
    let (first, end) = numbers("SIMULATION_SEEDS").unwrap_or((1, 9));
    let (_, steps) = numbers("SIMULATION_STEPS").unwrap_or((0, 60));
    let mut sent = 0;
    for seed in first..end {
        println!("seed {seed}");
        let mut day = Day::begin(seed).await;
        for _ in 0..steps {
            day.step().await;
        }
        sent += day.office.sandbox.effects().len();
        day.end().await;
    }
    assert!(sent > 0, "days on which nothing is sent prove nothing");
}
