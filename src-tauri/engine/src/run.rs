//! The loop: recover, expire, claim, attempt, reconcile, follow up, index. Each tick does a bounded amount of work.

use crate::anchor::Frozen;
use crate::core::Core;
use crate::dispatch::Worker;
use crate::failure::{Code, Failure};
use crate::home::{DispatcherLock, LIVE};
use crate::keychain::{self, SANDBOX};
use crate::reconcile::Reconciled;
use crate::repeat::Asked;
pub use crate::report::{Handled, TickReport};
use crate::settings::is_on;
use crate::testpoint::{past_the_lock, testpoint};
use crate::unwritten::Ending;
use countersign_domain::policy::person_may_repeat;
use countersign_domain::{ActionId, Standing, State, Timestamp, WorkerId};
use countersign_ledger::{Claim, ClaimRequest, Claimed, Follows, Rules};
use std::collections::{BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::task::Poll;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::task::{Id, JoinSet};
use tokio_util::sync::CancellationToken;

/// Attempts under way at once, over all destinations; one per destination.
const PARALLEL: usize = 4;
const LOOKS_PER_TICK: usize = 10;
/// How long an unknown action about which nothing could be done lets others go first.
const REST: Duration = Duration::from_secs(60);
const FILINGS_PER_TICK: usize = 10;
const INDEX_PER_TICK: u32 = 500;
/// Rounds of one tick that waits for its attempts.
const ROUNDS_PER_TICK: usize = 100;
const TICK: Duration = Duration::from_secs(1);
/// The longest rest while nothing is under way and nothing falls due: a clock that is set or a machine that wakes up is
/// noticed within it.
const REST_AT_MOST: Duration = Duration::from_secs(5);
/// How often another process's commits are looked for between ticks.
pub(crate) const PEEK: Duration = Duration::from_millis(500);
/// How long a stopping worker waits for attempts that are under way; what is left is found stale at the next start.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// The one worker of a home. It holds the lock as long as it lives.
pub struct Dispatcher {
    core: Core,
    worker: Worker,
    name: WorkerId,
    lock: Option<DispatcherLock>,
    running: Mutex<Running>,
    /// Claims that did not verify, with the row's version then: not tried again until the action moved.
    skip: Mutex<HashMap<ActionId, i64>>,
    /// Unknown actions that came to nothing a moment ago, and until when others go first.
    resting: Mutex<HashMap<ActionId, Timestamp>>,
    /// What a dead process left was found. Nobody else claims as long as this one holds the lock.
    recovered: AtomicBool,
    /// Up to which journal row the anchor was raised.
    anchored: AtomicI64,
    /// Sources are told of outcomes beside everything else, so that a slow listener delays no action.
    telling: Mutex<JoinSet<()>>,
}

#[derive(Default)]
struct Running {
    tasks: JoinSet<Result<Standing, Failure>>,
    claims: HashMap<Id, Arc<Claim>>,
}

impl Dispatcher {
    /// Takes the lock, compares the ledger with its anchor, and finds claims a dead process left.
    pub async fn start(core: Core) -> Result<Dispatcher, Failure> {
        let lock = if past_the_lock() { None } else { Some(core.home.dispatcher_lock()?) };
        // Reads the secrets: without them nothing can be verified, so it is said at once.
        core.ledger_secret().await?;
        let frozen = core.check_anchor().await?;
        let name = WorkerId(format!("{}-{}", std::process::id(), hex::encode(keychain::random::<6>()?)));
        let anchored = AtomicI64::new(core.keychain.anchor().await?.map_or(0, |anchor| anchor.seq));
        let worker = Worker::new(core.clone());
        let (running, skip, resting) = (Mutex::default(), Mutex::default(), Mutex::default());
        let telling = Mutex::default();
        let recovered = AtomicBool::new(false);
        let dispatcher = Dispatcher { core, worker, name, lock, running, skip, resting, recovered, anchored, telling };
        if let Some(why) = frozen {
            tracing::warn!(why = why.word(), "dispatch is frozen");
        }
        dispatcher.core.begin_missing_filings().await?;
        Ok(dispatcher)
    }

    pub fn core(&self) -> &Core {
        &self.core
    }

    /// One bounded round, waiting for the attempts it began.
    pub async fn tick(&self) -> TickReport {
        let mut report = TickReport::default();
        let mut rules = None;
        for _ in 0..ROUNDS_PER_TICK {
            let begun = self.round(&mut report, &mut rules).await;
            self.reap(&mut report, true).await;
            if begun == 0 {
                break;
            }
        }
        self.after(&mut report, rules.as_ref()).await;
        self.tell_outcomes(&report).await;
        self.telling.lock().await.join_next().await;
        report
    }

    /// Begins a pass of telling outcomes, unless one is under way. Nothing of it can fail an action.
    async fn tell_outcomes(&self, report: &TickReport) {
        let mut telling = self.telling.lock().await;
        while telling.try_join_next().is_some() {}
        // A copy of a home that was moved on tells nobody anything.
        if report.frozen.is_some() || !report.to_tell || !telling.is_empty() {
            return;
        }
        let core = self.core.clone();
        telling.spawn(async move {
            if let Err(failure) = core.tell_outcomes().await {
                tracing::warn!(code = failure.code.word(), "an outcome was not told: {failure}");
            }
        });
    }

    /// Runs until told to stop. A tick each second, or at once when the journal moved; fewer while nothing waits, since a
    /// window stands open all day.
    pub async fn run(&self, stop: CancellationToken) {
        let mut moved = self.core.ledger.moved();
        let mut followed: Option<tokio::time::Instant> = None;
        while !stop.is_cancelled() {
            let mut report = TickReport::default();
            // Before the round: what is committed while it runs begins another one.
            moved.mark_unchanged();
            let seen = self.core.ledger.head().await.map_or(-1, |head| head.seq);
            let whole = guarded(async {
                let mut rules = None;
                // Of the last round, so that their destinations are free for the next action.
                self.reap(&mut report, false).await;
                self.round(&mut report, &mut rules).await;
                self.reap(&mut report, false).await;
                // What follows an action makes no other one wait, for a tick at most.
                let busy = !self.running.lock().await.tasks.is_empty();
                if !busy || followed.is_none_or(|at| at.elapsed() >= TICK) {
                    self.after(&mut report, rules.as_ref()).await;
                    self.tell_outcomes(&report).await;
                    followed = Some(tokio::time::Instant::now());
                }
            });
            if whole.await.is_err() {
                report.failures.push(Failure::internal("a tick broke off inside the program; the next one goes on"));
            }
            for failure in report.failures.iter().chain(report.refused.iter().map(|(_, f)| f)) {
                tracing::error!(code = failure.code.word(), action = ?failure.action, "{failure}");
            }
            let ended = tokio::time::Instant::now() + self.pause(&report).await;
            while tokio::time::Instant::now() < ended && !stop.is_cancelled() {
                tokio::select! {
                    () = stop.cancelled() => {}
                    // Of this process; another one's commits are looked for.
                    _ = moved.changed() => {}
                    () = tokio::time::sleep(PEEK) => {}
                }
                if self.core.ledger.head().await.is_ok_and(|head| head.seq != seen) {
                    break;
                }
            }
        }
        let mut report = TickReport::default();
        let last = async {
            self.reap(&mut report, true).await;
            self.write_kept(&mut report).await;
        };
        if tokio::time::timeout(LAST_WORDS, last).await.is_err() {
            tracing::warn!("stopped while an attempt was under way; the next start finds it");
        }
        let last_anchor = async {
            match self.core.check_anchor().await {
                Ok(None) => self.anchor_news(&self.follows(&[]).await?).await,
                Ok(Some(_)) | Err(_) => Ok(()),
            }
        };
        if let Err(failure) = last_anchor.await {
            tracing::error!(code = failure.code.word(), "the anchor could not be raised: {failure}");
        }
    }

    /// How long until the next tick, unless the journal moves.
    async fn pause(&self, report: &TickReport) -> Duration {
        let still = report.is_idle() && report.failures.is_empty() && self.running.lock().await.tasks.is_empty();
        if !still {
            return TICK;
        }
        match self.core.ledger.next_due().await {
            Ok(None) => REST_AT_MOST,
            // What is due and did not go is held up: as often as ever.
            Ok(Some(at)) => match u64::try_from(at.millis() - self.core.clock.now().millis()) {
                Ok(millis @ 1..) => Duration::from_millis(millis).min(REST_AT_MOST),
                _ => TICK,
            },
            Err(_) => TICK,
        }
    }

    /// Works until nothing is due, dispatch is frozen, or something failed. What was done until then is told in any case.
    pub async fn until_idle(&self) -> Handled {
        let mut handled = Handled::default();
        loop {
            let report = self.tick().await;
            let idle = report.is_idle();
            for (action, state) in report.recovered.into_iter().chain(report.attempted).chain(report.looked) {
                handled.states.insert(action, state);
            }
            handled.refused.extend(report.refused);
            handled.frozen = report.frozen;
            handled.held_back = report.held_back;
            let ended = idle || report.frozen.is_some() || !report.failures.is_empty();
            handled.failures.extend(report.failures);
            if ended {
                return handled;
            }
        }
    }

    /// Brings the states up to date that a late answer may have settled.
    pub async fn settled_since(&self, handled: &mut Handled) {
        for (action, state) in &mut handled.states {
            if let Ok(Some(record)) = self.core.ledger.action(*action).await {
                *state = record.state();
            }
        }
    }

    /// Asks the destination about one unknown action now.
    pub async fn ask_now(&self, action: ActionId) -> Result<Standing, Failure> {
        let standing = self.worker.ask(action).await?;
        self.core.file_due(FILINGS_PER_TICK).await?;
        Ok(standing)
    }

    /// A person finishes an unknown action under the same key, inside the key's window.
    pub async fn finish(&self, action: ActionId) -> Result<Standing, Failure> {
        let item = self.core.ledger.unknown_item(action).await?.ok_or_else(|| {
            Failure::conflict("only an action whose outcome is unknown can be finished under its key").on(action)
        })?;
        let (_, connector) = self.core.destinations.connector(&item.destination).await?;
        let now = self.core.window_time().await?;
        let contract = connector.contract(&item.effect);
        let safe = contract.zip(now).is_some_and(|(c, now)| person_may_repeat(c, item.first_crossed, now));
        if !safe {
            return Err(
                Failure::conflict("this destination does not promise to recognise a repeat any more").on(action)
            );
        }
        let rules = self.core.ledger.rules(self.core.clock.now()).await?;
        match self.claim(&rules, Some(action), true).await? {
            Claimed::Claimed(claim) => self.worker.attempt(*claim, Asked::ByPerson).await,
            Claimed::Refused { action, why } => Err(refused(action, &why)),
            Claimed::None => Err(Failure::conflict("it cannot be finished now").on(action)),
        }
    }

    /// Waits until no socket is read on any more. For what ends with its work; the loop never waits for it.
    pub async fn late_answers(&self) {
        self.worker.late.all_read().await;
    }

    /// Everything before attempts, and the claims. Returns how many attempts began, and leaves what they went by.
    async fn round(&self, report: &mut TickReport, rules: &mut Option<Rules>) -> usize {
        match self.try_round(report, rules).await {
            Ok(begun) => begun,
            Err(failure) => {
                report.failures.push(failure);
                0
            }
        }
    }

    async fn try_round(&self, report: &mut TickReport, rules: &mut Option<Rules>) -> Result<usize, Failure> {
        let now = self.core.clock.now();
        self.core.latest.saw(now);
        self.write_kept(report).await;
        // Only the holder of the lock knows that every other worker is gone.
        if self.lock.is_some() && !self.recovered.load(Ordering::SeqCst) {
            let stale = self.core.ledger.recover_stale(&self.name, now).await?;
            report.recovered.extend(stale.into_iter().map(|(action, standing)| (action, standing.state)));
            // A damaged one stays open; it is tried again until somebody mended it.
            let left = self.core.ledger.open_attempts().await?.iter().any(|open| open.worker != self.name);
            self.recovered.store(!left, Ordering::SeqCst);
        }
        let rules = rules.insert(self.core.ledger.rules(now).await?);
        if rules.expires {
            report.expired.extend(self.core.ledger.expire_due(now).await?);
        }
        report.frozen = rules.frozen().map(Frozen::stored);
        if report.frozen.is_some() {
            return Ok(0);
        }
        let asked = report.looked.len();
        let mut begun = self.repeats_and_looks(report, rules).await?;
        if report.looked.len() > asked || begun > 0 {
            // Asking takes its time; a device may have come meanwhile.
            *rules = self.core.ledger.rules(self.core.clock.now()).await?;
        }
        while self.running.lock().await.tasks.len() < PARALLEL {
            testpoint("before_claim").await;
            match self.claim(rules, None, false).await? {
                Claimed::None => break,
                Claimed::Refused { action, why } => {
                    self.pass_over(action).await;
                    report.refused.push((action, refused(action, &why)));
                }
                Claimed::Claimed(claim) => {
                    testpoint("after_claim").await;
                    self.begin(*claim).await;
                    begun += 1;
                }
            }
        }
        Ok(begun)
    }

    /// Endings that could not be written before.
    async fn write_kept(&self, report: &mut TickReport) {
        for written in self.worker.endings.write_kept(&self.core).await {
            match written {
                Ok(ended) => report.attempted.push(ended),
                Err(failure) => report.failures.push(failure),
            }
        }
    }

    async fn repeats_and_looks(&self, report: &mut TickReport, rules: &Rules) -> Result<usize, Failure> {
        let mut begun = 0;
        if !rules.to_ask {
            return Ok(0);
        }
        let now = self.core.clock.now();
        let mut due = self.core.ledger.unknown_due(now).await?;
        let mut resting = self.resting.lock().await;
        // A clock that was set back does not make a rest longer.
        resting.retain(|_, until| now < *until && *until <= now.plus(REST));
        due.retain(|item| !resting.contains_key(&item.action));
        for item in due.into_iter().take(LOOKS_PER_TICK) {
            if !is_on(&item.environment, rules.sending(&item.environment)) && item.state != State::Unknown {
                continue;
            }
            match self.worker.reconcile(&item).await {
                Ok(Reconciled::Looked(standing)) => report.looked.push((item.action, standing.state)),
                Ok(Reconciled::Nothing) => {
                    resting.insert(item.action, now.plus(REST));
                }
                Ok(Reconciled::Repeat) => match self.claim(rules, Some(item.action), true).await? {
                    Claimed::Claimed(claim) => {
                        self.begin(*claim).await;
                        begun += 1;
                    }
                    Claimed::Refused { .. } | Claimed::None => {
                        resting.insert(item.action, now.plus(REST));
                    }
                },
                Err(failure) => {
                    resting.insert(item.action, now.plus(REST));
                    report.failures.push(failure);
                }
            }
        }
        Ok(begun)
    }

    async fn claim(&self, rules: &Rules, only: Option<ActionId>, repeat: bool) -> Result<Claimed, Failure> {
        let busy: BTreeSet<String> = {
            let running = self.running.lock().await;
            running.claims.values().map(|c| c.order.key().destination.clone()).collect()
        };
        let mut reach = Vec::new();
        for destination in &rules.destinations {
            let on = is_on(&destination.environment, rules.sending(&destination.environment));
            let free = on && !busy.contains(&destination.name);
            if free && self.core.destinations.is_reachable(destination).await? {
                reach.push(destination.name.clone());
            }
        }
        if reach.is_empty() {
            return Ok(Claimed::None);
        }
        let roster = self.core.roster_of(&rules.certs).await?;
        let secret = self.core.ledger_secret().await?;
        let approvers_needed = rules.approvers_needed();
        let skip = self.passed_over().await;
        let request = ClaimRequest {
            worker: &self.name,
            reach: &reach,
            roster: &roster,
            secret: &secret,
            approvers_needed: &approvers_needed,
            accounts: &HashMap::new(),
            only,
            skip: &skip,
            now: self.core.clock.now(),
        };
        Ok(match (only, repeat) {
            (Some(action), true) => self.core.ledger.claim_repeat(action, &request).await?,
            _ => self.core.ledger.claim(&request).await?,
        })
    }

    async fn pass_over(&self, action: ActionId) {
        // A row that cannot even be read has no version.
        let version = self.core.ledger.action(action).await.ok().flatten().map_or(0, |record| record.row_version);
        self.skip.lock().await.insert(action, version);
    }

    async fn passed_over(&self) -> Vec<ActionId> {
        let mut skip = self.skip.lock().await;
        let mut still = Vec::new();
        for (action, version) in skip.iter() {
            // A row that cannot even be read has not been mended.
            let now = self.core.ledger.action(*action).await;
            if !matches!(now, Ok(Some(record)) if record.row_version != *version) {
                still.push(*action);
            }
        }
        skip.retain(|action, _| still.contains(action));
        still
    }

    fn environments(&self, rules: &Rules) -> BTreeSet<String> {
        let mut all = rules.environments();
        all.insert(LIVE.to_owned());
        if self.core.config.sandbox {
            all.insert(SANDBOX.to_owned());
        }
        all
    }

    async fn begin(&self, claim: Claim) {
        let mut running = self.running.lock().await;
        let (worker, claim) = (self.worker.clone(), Arc::new(claim));
        let carried = Claim::clone(&claim);
        let handle = running.tasks.spawn(async move { worker.attempt(carried, Asked::ByItself).await });
        running.claims.insert(handle.id(), claim);
    }

    /// Takes the results of attempts that ended. An attempt that panicked is closed by what its mark says.
    async fn reap(&self, report: &mut TickReport, wait: bool) {
        loop {
            let ended = {
                let mut running = self.running.lock().await;
                let next =
                    if wait { running.tasks.join_next_with_id().await } else { running.tasks.try_join_next_with_id() };
                let Some(ended) = next else { return };
                let id = match &ended {
                    Ok((id, _)) => *id,
                    Err(e) => e.id(),
                };
                (running.claims.remove(&id), ended)
            };
            let (Some(claim), result) = ended else { continue };
            match result {
                Ok((_, Ok(standing))) => {
                    report.attempted.push((claim.action, standing.state));
                    if standing.state == State::Accepted {
                        self.worked(&claim).await;
                    }
                }
                Ok((_, Err(failure))) => {
                    report.attempted.push((claim.action, self.state_of(&claim).await));
                    report.failures.push(failure);
                }
                Err(_) => {
                    let state = self.close_after_panic(&claim).await;
                    report.attempted.push((claim.action, state));
                    report.failures.push(Failure::internal("an attempt broke off inside the program").on(claim.action));
                }
            }
        }
    }

    /// Only told to people: a note that could not be made is made at the next start.
    async fn worked(&self, claim: &Claim) {
        if let Err(failure) = self.core.destinations.note_worked(&claim.order.key().destination).await {
            tracing::warn!(code = failure.code.word(), "it could not be noted that a destination works");
        }
    }

    async fn state_of(&self, claim: &Claim) -> State {
        match self.core.ledger.action(claim.action).await {
            Ok(Some(record)) => record.state(),
            _ => State::InProgress,
        }
    }

    async fn close_after_panic(&self, claim: &Claim) -> State {
        if let Err(failure) = self.worker.endings.end(&self.core, claim, Ending::BrokeOff).await {
            tracing::error!(action = %claim.action, code = failure.code.word(), "it could not be closed: {failure}");
        }
        self.state_of(claim).await
    }

    /// Follow-ups, the search index, the anchor.
    async fn after(&self, report: &mut TickReport, rules: Option<&Rules>) {
        if let Err(failure) = self.try_after(report, rules).await {
            report.failures.push(failure);
        }
    }

    async fn try_after(&self, report: &mut TickReport, rules: Option<&Rules>) -> Result<(), Failure> {
        let mut off = rules.map(|rules| self.environments(rules)).unwrap_or_default();
        off.retain(|environment| !rules.is_some_and(|rules| is_on(environment, rules.sending(environment))));
        let follows = self.follows(&Vec::from_iter(off)).await?;
        report.frozen = follows.frozen.as_deref().map(Frozen::stored);
        if report.frozen.is_none() {
            self.anchor_news(&follows).await?;
            if follows.filings {
                report.filed = self.core.file_due(FILINGS_PER_TICK).await?;
            }
        }
        // Where nothing waits the index is merged.
        report.indexed = self.core.ledger.feed_search_index(INDEX_PER_TICK).await?;
        report.held_back = follows.held;
        report.to_tell = follows.outcomes;
        if report.is_idle() {
            self.core.ledger.checkpoint_in_idle().await?;
        }
        Ok(())
    }

    async fn follows(&self, off: &[String]) -> Result<Follows, Failure> {
        let anchored = self.anchored.load(Ordering::SeqCst);
        Ok(self.core.ledger.follows(anchored, off, self.core.clock.now()).await?)
    }

    /// Raises the anchor to the newest row that is certainly on disk, so that a copy of the file from before an undo or a
    /// rejection shows too.
    async fn anchor_news(&self, follows: &Follows) -> Result<(), Failure> {
        if let Some(synced) = &follows.synced {
            self.core.raise_anchor(synced).await?;
            self.anchored.store(synced.seq, Ordering::SeqCst);
        }
        Ok(())
    }
}

/// Polls to the end; a panic inside becomes an error, and what it held is found as after a crash.
async fn guarded<F: Future>(work: F) -> Result<F::Output, ()> {
    let mut work = std::pin::pin!(work);
    std::future::poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(cx))) {
        Ok(polled) => polled.map(Ok),
        Err(_) => Poll::Ready(Err(())),
    })
    .await
}

fn refused(action: ActionId, why: &countersign_ledger::RefusedClaim) -> Failure {
    let code = if why.is_integrity() { Code::Integrity } else { Code::Conflict };
    Failure::new(code, format!("{action} was not sent: {why}")).on(action)
}
