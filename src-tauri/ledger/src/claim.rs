//! Phase: claim, verify, cross. An approval is a ticket spent by one conditional update (F12); before it is spent,
//! everything it rests on is proven again.

use crate::close::Closing;
use crate::configured::ToldSince;
use crate::dossier::Dossier;
use crate::proof::{self, Proven, broken_part};
use crate::rows::{Action, Get, read_json, skip_damaged, to_json};
use crate::script::{Answer, Said, say, trip};
use crate::tx::{Conn, Durable, Write, exactly, failed, statements};
use crate::types::{Claim, ClaimRequest, Claimed, DestinationRecord, OpenAttempt, RefusedClaim};
use crate::{Conflict, Ledger, LedgerError, apply, approvers, close, content, directory, journal, news};
use countersign_domain::countersigned::Candidate;
use countersign_domain::{
    ActionId, AttemptId, Countersigned, Fact, LedgerSecret, NotCountersigned, Receipt, Roster, Standing, State,
    Timestamp, WorkerId,
};
use serde_json::{Value, json};
use sqlx::any::AnyRow;
use std::collections::BTreeMap;

statements! {
    // One destination's next action: due, its order satisfied, no other action of the same record under way or in doubt,
    // its environment's sending on, dispatch not frozen. $4 is one action's number, or zero for any. Where one names its
    // record by address and the other by number they may be the same: they wait for each other while one is under way,
    // and two minutes longer where its answer was lost (so long a destination may still work on it, crm.md 1.5).
    DUE = "SELECT a.n, a.not_before FROM actions a JOIN destinations d ON d.name = a.destination \
        JOIN settings s ON s.key = 'sending/' || d.environment WHERE a.state = 'approved' AND a.destination = $1 \
        AND a.not_before <= $2 AND ($4 = 0 OR a.n = $4) AND d.removed_at IS NULL AND s.value = 'on' \
        AND NOT EXISTS (SELECT 1 FROM settings f WHERE f.key = 'frozen' AND f.value NOT IN ('', 'off')) \
        AND a.revised = 0 AND a.attempts < a.allowed AND (a.expires_at IS NULL OR a.expires_at > $2) \
        AND (a.after_action IS NULL OR EXISTS (SELECT 1 FROM actions w WHERE w.n = a.after_action AND w.state = 'accepted')) \
        AND (a.record_key IS NULL OR (NOT EXISTS (SELECT 1 FROM actions o WHERE o.record_key = a.record_key \
            AND o.n <> a.n AND o.state IN ('in_progress', 'unknown')) \
          AND NOT EXISTS (SELECT 1 FROM actions o WHERE o.environment = a.environment \
            AND o.state IN ('in_progress', 'unknown') AND o.n <> a.n AND substr(o.record_key, 1, 16) = substr(a.record_key, 1, 16) \
            AND substr(o.record_key, 18, 1) <> substr(a.record_key, 18, 1) \
            AND (o.state = 'in_progress' OR o.last_crossed > $2 - 120000)))) \
        ORDER BY a.not_before, a.n LIMIT CAST($3 AS bigint)";
    // What keeps an action from being claimed beside it: the oldest other one on its record. A plain order by n would walk
    // every action of the environment.
    BESIDE = "SELECT o.n FROM actions a JOIN actions o ON o.environment = a.environment AND o.n <> a.n \
        AND o.state IN ('in_progress', 'unknown') AND substr(o.record_key, 1, 16) = substr(a.record_key, 1, 16) \
        AND (o.record_key = a.record_key OR (substr(o.record_key, 18, 1) <> substr(a.record_key, 18, 1) \
            AND (o.state = 'in_progress' OR o.last_crossed > $2 - 120000))) \
        WHERE a.n = $1 ORDER BY o.n + 0";
    MAY_SEND = "SELECT key, value FROM settings WHERE key = 'frozen' OR key = $1";
    OPEN_ATTEMPT = "INSERT INTO attempts (action, number, worker, claimed_at, in_doubt) \
        SELECT CAST($1 AS BIGINT), COALESCE(MAX(number), 0) + 1, CAST($2 AS TEXT), CAST($3 AS BIGINT), \
        CAST($4 AS BIGINT) FROM attempts WHERE action = $1 RETURNING n, number";
    // What certainly did nothing left nothing to be found: whatever looks like it since then is not ours.
    NOTED = "SELECT noted FROM attempts WHERE action = $1 AND noted IS NOT NULL \
        AND (outcome IS NULL OR outcome NOT IN ('not_sent', 'refused')) ORDER BY n";
    CROSS = "UPDATE attempts SET crossed_at = $3, noted = $4 WHERE n = $1 AND worker = $2 \
        AND closed_at IS NULL AND crossed_at IS NULL RETURNING noted";
    // What a claim rests on beside the action itself: the settings that could hold it back, the findings a person checked.
    RESTS_ON = "SELECT 'setting' AS what, key AS code, value AS field, changed_by AS by_whom, changed_at AS at, \
        CAST(0 AS BIGINT) AS version FROM settings WHERE key = 'frozen' \
        OR key IN (SELECT 'sending/' || environment FROM actions WHERE n = $1) \
        OR key IN (SELECT 'approvers_needed/' || environment FROM actions WHERE n = $1) \
        UNION ALL SELECT 'cleared', code, field, by_whom, at, version FROM cleared WHERE action = $1";
    OPEN_ATTEMPTS = "SELECT n, action, worker, claimed_at, crossed_at, in_doubt FROM attempts WHERE closed_at IS NULL \
        ORDER BY action";
}

impl Ledger {
    /// Takes the next action that is due and reachable, if everything it rests on holds. What does not hold is named and
    /// nothing moves. Durable together with the crossing, which follows before anything can be seen outside.
    pub async fn claim(&self, request: &ClaimRequest<'_>) -> Result<Claimed, LedgerError> {
        // Looked at without the write lock first: most ticks find nothing.
        let first = {
            let mut tx = self.pools().bare("looking for what is due").await?;
            let Some(first) = due(&mut tx, request).await?.into_iter().next() else { return Ok(Claimed::None) };
            self.configured_once(&mut tx).await.or_else(|e| broken_part(e, ActionId(0)).map(|_| ()))?;
            first
        };
        let mut w = self.pools().write("claiming an action", Durable::Rides).await?;
        let mut wanted = Wanted::read(self, &mut w, first, request).await?;
        if !wanted.is_due {
            // Somebody was first. What is due now is known under the lock.
            let Some(next) = due(w.conn().await?, request).await?.into_iter().next() else { return Ok(Claimed::None) };
            wanted = Wanted::read(self, &mut w, next, request).await?;
        }
        self.take(w, wanted, Fact::Claimed, request).await
    }

    /// Repeats an unknown action under the same key: it goes in progress, in doubt. An expired approval is no bar.
    pub async fn claim_repeat(&self, action: ActionId, request: &ClaimRequest<'_>) -> Result<Claimed, LedgerError> {
        let mut w = self.pools().write("claiming an action again", Durable::Rides).await?;
        let current = Action::take(&mut w, action).await?;
        countersign_domain::advance(&current.standing, &Fact::Repeated)?;
        let [switches] = w.ask([may_send(&current.environment)]).await?;
        if !is_on(&switches.rows, &current.environment)? || !request.reach.contains(&current.destination) {
            return Ok(Claimed::None);
        }
        // Another unknown one does not bar it: both were handed over long ago, and each is settled by itself.
        for other in beside(w.conn().await?, action, request.now).await? {
            if Action::get(w.conn().await?, other).await?.standing.state == State::InProgress {
                return Ok(Claimed::None);
            }
        }
        let wanted = Wanted::read(self, &mut w, action, request).await?;
        self.take(w, wanted, Fact::Repeated, request).await
    }

    async fn take(
        &self,
        mut w: Write,
        wanted: Wanted,
        fact: Fact,
        request: &ClaimRequest<'_>,
    ) -> Result<Claimed, LedgerError> {
        let n = wanted.n;
        let checked = self.check(&mut w, &wanted, &fact, request).await;
        let (current, order, destination) = match checked {
            Ok(Ok(good)) => good,
            Ok(Err(why)) => {
                // The number was raised while it was under way: left approved, it would wait for ever.
                if why == NotCountersigned::NeedsAnother && fact == Fact::Claimed {
                    // In a write of its own that is synced: the anchor follows it.
                    drop(w);
                    let doing = "taking an approval back";
                    let mut w = self.pools().write(doing, Durable::Full).await?;
                    let current = Action::take(&mut w, n).await?;
                    if current.standing.state == State::Approved {
                        approvers::take_back(&mut w, &current, "countersign", request.now).await?;
                        w.commit(doing).await?;
                    }
                }
                return Ok(Claimed::Refused { action: n, why: why.into() });
            }
            Err(error) => {
                let (what, id, why) = broken_part(error, n)?;
                return Ok(Claimed::Refused { action: n, why: RefusedClaim::Integrity { what, id, why } });
            }
        };
        let doing = "opening an attempt";
        let repeats = fact == Fact::Repeated;
        let open = say!(doing, OPEN_ATTEMPT, n.0, &request.worker.0, request.now.millis(), repeats);
        let [opened, noted] = w.ask([open.clashing(Conflict::AttemptOpen), say!(doing, NOTED, n.0)]).await?;
        let row = opened.one(doing)?;
        let (attempt, number): (i64, u32) = (row.int("n")?, row.num("number")?);
        let noted = read_noted(&noted.rows)?;
        let details = json!({ "attempt": attempt, "number": number, "worker": request.worker.0 });
        let change = |a: &mut Action| {
            a.attempt = Some(attempt);
            a.worker = Some(request.worker.0.clone());
        };
        let next = apply::apply(&mut w, &current, &fact, change, details, "worker", request.now).await?;
        let head = match w.head {
            Some(head) => head,
            None => journal::head(w.conn().await?).await?,
        };
        w.commit("claiming an action").await?;
        Ok(Claimed::Claimed(Box::new(Claim {
            action: n,
            attempt: AttemptId(attempt),
            number,
            order,
            worker: request.worker.clone(),
            standing: next.standing,
            row_version: next.row_version,
            noted,
            head,
            destination,
        })))
    }

    /// The durable mark before the point of no return: a compare-and-set on the open attempt and its worker.
    ///
    /// # Errors
    /// `ClaimLost` where the attempt was closed or crossed before; `SendingOff` where the switch was thrown meanwhile;
    /// `WroteAgain` where a source told so since the claim.
    /// After any error nothing may cross.
    pub async fn record_crossing(&self, claim: &Claim, noted: &Value, now: Timestamp) -> Result<Standing, LedgerError> {
        let doing = "writing down the crossing";
        let mut w = self.pools().write(doing, Durable::Full).await?;
        // The mark is set with the questions; where an answer bars it, the transaction is dropped and the mark with it.
        let noted = (!noted.is_null()).then(|| to_json(noted));
        let cross = say!(doing, CROSS, claim.attempt.0, &claim.worker.0, now.millis(), noted);
        let may_send = may_send(&claim.order.key().environment);
        let (current, [switches, crossed]) = Action::take_and(&mut w, claim.action, [may_send, cross]).await?;
        if current.attempt != Some(claim.attempt.0) || current.worker.as_deref() != Some(claim.worker.0.as_str()) {
            return Err(Conflict::ClaimLost.into());
        }
        if !is_on(&switches.rows, &current.environment)? {
            return Err(Conflict::SendingOff.into());
        }
        let crossed = crossed.first().ok_or(Conflict::ClaimLost)?;
        // Something was written down about it since the claim. In doubt it no longer matters: it may have happened already.
        if current.row_version != claim.row_version
            && !claim.standing.in_doubt
            && news::waiting(w.conn().await?, &current).await?.is_some()
        {
            return Err(Conflict::WroteAgain.into());
        }
        let details = json!({ "attempt": claim.attempt.0, "noted": read_json::<Value>(crossed, "noted")? });
        let next = apply::apply(&mut w, &current, &Fact::Crossed, |_| {}, details, "worker", now).await?;
        w.commit(doing).await?;
        Ok(next.standing)
    }

    /// The world moved on between approval and dispatch (R16): nothing was sent, a person looks again.
    pub async fn situation_changed(&self, claim: &Claim, why: &str, now: Timestamp) -> Result<Standing, LedgerError> {
        let doing = "recording a changed situation";
        let mut w = self.pools().write(doing, Durable::Full).await?;
        let closing = Closing::new(claim, "not_sent", &json!({ "situation": why }), None, now);
        let (current, [closed]) = Action::take_and(&mut w, claim.action, [closing.said()]).await?;
        let mut details = closing.details(&closed)?;
        details["reason"] = json!(why);
        let change = |a: &mut Action| a.reason = Some(why.to_owned());
        let next = apply::apply(&mut w, &current, &Fact::SituationChanged, change, details, "worker", now).await?;
        w.commit(doing).await?;
        Ok(next.standing)
    }

    /// Our own key was found at the destination before this attempt crossed: somebody sent it. The attempt is dropped.
    pub async fn found_before_crossing(
        &self,
        claim: &Claim,
        receipt: &Receipt,
        now: Timestamp,
    ) -> Result<Standing, LedgerError> {
        let doing = "recording what was found before crossing";
        let mut w = self.pools().write(doing, Durable::Full).await?;
        let closing = Closing::new(claim, "not_sent", &json!({ "found": receipt }), None, now);
        let (current, [closed]) = Action::take_and(&mut w, claim.action, [closing.said()]).await?;
        let mut details = closing.details(&closed)?;
        details["receipt"] = json!(receipt);
        let change = |a: &mut Action| a.receipt = Some(receipt.clone());
        let next = apply::apply(&mut w, &current, &Fact::Found, change, details, "worker", now).await?;
        content::know_people_of(&mut w, &next);
        w.commit(doing).await?;
        Ok(next.standing)
    }

    /// Closes every open attempt of another worker than `alive`, whose process is gone (R26). Never by clock alone.
    pub async fn recover_stale(
        &self,
        alive: &WorkerId,
        now: Timestamp,
    ) -> Result<Vec<(ActionId, Standing)>, LedgerError> {
        let doing = "recovering claims of a worker that is gone";
        if !self.open_attempts().await?.iter().any(|a| a.worker != *alive) {
            return Ok(Vec::new());
        }
        let mut w = self.pools().write(doing, Durable::Full).await?;
        let mut done = Vec::new();
        for open in open_attempts(w.conn().await?).await?.into_iter().filter(|a| a.worker != *alive) {
            let Some(current) = Action::take_if_intact(&mut w, open.action).await? else { continue };
            if current.attempt != Some(open.attempt.0) || current.standing.crossing != open.crossed_at.is_some() {
                tracing::error!(attempt = %open.attempt, "it is not the one its action tells of; `verify` names it");
                continue;
            }
            let outcome = if open.crossed_at.is_some() { "unclear" } else { "not_sent" };
            let evidence = json!({ "stale": "the worker that held the claim is gone" });
            let details = close::close_open(&mut w, open.attempt, outcome, &evidence, now).await?;
            let change = |a: &mut Action| {
                if a.standing.state == State::NeedsReview {
                    a.reason = Some("its worker stopped several times before anything was sent".to_owned());
                }
            };
            let next = apply::apply(&mut w, &current, &Fact::Stale, change, details, "worker", now).await?;
            done.push((open.action, next.standing));
        }
        w.commit(doing).await?;
        Ok(done)
    }

    pub async fn open_attempts(&self) -> Result<Vec<OpenAttempt>, LedgerError> {
        let mut tx = self.pools().bare("reading open attempts").await?;
        open_attempts(&mut tx).await
    }

    /// The actions on the same record that are under way or in doubt, so that this one is not claimed beside them.
    pub async fn beside(&self, action: ActionId, now: Timestamp) -> Result<Vec<ActionId>, LedgerError> {
        let mut tx = self.pools().bare("looking for others on the same record").await?;
        beside(&mut tx, action, now).await
    }

    /// The order behind an action, verified as for a claim but without expiry: to look for it, or to file its copy.
    pub async fn order_for_look(
        &self,
        action: ActionId,
        roster: &Roster,
        secret: &LedgerSecret,
    ) -> Result<Result<Countersigned, RefusedClaim>, LedgerError> {
        let (rows, mut conn) = self.dossier(action, "verifying an order").await?;
        let current = rows.action()?;
        let account = rows.destination()?.map(|d| d.account);
        let Some(account) = account else {
            return Err(LedgerError::not_found("destination", &current.destination));
        };
        let proven = match proof::prove(&mut conn, &rows, &current, roster).await {
            Ok(proven) => proven,
            Err(error) => {
                let (what, id, why) = broken_part(error, action)?;
                return Ok(Err(RefusedClaim::Integrity { what, id, why }));
            }
        };
        // Nothing is sent by a look, so the clock has no say in it.
        let order = Countersigned::verify(
            candidate(&current, proven, account, 1),
            roster,
            secret,
            Timestamp::from_millis(0),
            false,
        );
        Ok(order.map_err(RefusedClaim::from))
    }
}

/// An action that may be claimed, the order made of it, and where it goes.
type Proof = (Action, Countersigned, DestinationRecord);

fn candidate(
    action: &Action,
    proven: Proven,
    account: countersign_domain::AccountFingerprint,
    approvers_needed: u8,
) -> Candidate {
    Candidate {
        action: action.id(),
        sealed: proven.sealed,
        wire: proven.wire,
        account,
        conversation: proven.conversation,
        approvals: proven.approvals,
        newest_sequence: action.newest_sequence,
        approvers_needed,
    }
}

impl Ledger {
    /// Proves an action and makes the order of it. The outer error is what does not hold, the inner one an approval that
    /// does not count.
    async fn check(
        &self,
        w: &mut Write,
        wanted: &Wanted,
        fact: &Fact,
        request: &ClaimRequest<'_>,
    ) -> Result<Result<Proof, NotCountersigned>, LedgerError> {
        let (n, rows) = (wanted.n, &wanted.rows);
        let current = rows.action()?;
        countersign_domain::advance(&current.standing, fact)?;
        let key = current.need_key()?.idempotency_key(request.secret);
        if current.idempotency_key.as_ref() != Some(&key) {
            return Err(LedgerError::corrupt("action", n, "its idempotency key is not that of its action key"));
        }
        let configured = wanted.since.answered(self, &wanted.told_since)?;
        let proven = proof::prove(w.conn().await?, rows, &current, request.roster).await?;
        // Proven with its journal up to the head, it is as it was written down.
        w.head = Some(rows.head()?);
        w.intact = Some((current.n, current.row_version));
        for approval in &proven.approvals {
            configured.device_counts(approval)?;
        }
        let settings = settings_of(&current, &proven, &wanted.rests_on.rows)?;
        configured.settings_hold(&current.environment, &settings)?;
        let stored = rows
            .destination()?
            .filter(|d| d.removed_at.is_none())
            .ok_or_else(|| LedgerError::not_found("destination", &current.destination))?;
        configured.destination_holds(&stored)?;
        let account = request.accounts.get(&current.destination).copied().unwrap_or(stored.account);
        let needed = request.approvers_needed.get(&current.environment).copied().unwrap_or(1);
        // The setting may have been raised since the caller read it.
        let set = settings.get(&format!("{}{}", directory::APPROVERS_NEEDED, current.environment));
        let needed = needed.max(set.and_then(|text| text.trim().parse().ok()).unwrap_or(1));
        let order = Countersigned::verify(
            candidate(&current, proven, account, needed),
            request.roster,
            request.secret,
            request.now,
            *fact == Fact::Claimed,
        );
        Ok(order.map(|order| (current, order, stored)))
    }
}

/// All that a claim of one action is judged by, read in one trip under the write lock.
struct Wanted {
    n: ActionId,
    /// Still due, reachable and free to go.
    is_due: bool,
    rows: Dossier,
    rests_on: Answer,
    since: ToldSince,
    told_since: Answer,
}

impl Wanted {
    async fn read(
        ledger: &Ledger,
        w: &mut Write,
        n: ActionId,
        request: &ClaimRequest<'_>,
    ) -> Result<Wanted, LedgerError> {
        let since = ledger.told_since();
        let mut script: Vec<Said> = Dossier::said(n).into();
        script.extend([since.said(), say!("reading what an action rests on", RESTS_ON, n.0)]);
        script.extend(request.reach.iter().map(|destination| said_due(destination, 1, n, request.now)));
        let mut answers = w.ask_all(script).await?;
        let mut more = answers.split_off(Dossier::SAID);
        let is_due = more.split_off(2).iter().any(|answer| answer.first().is_some());
        let [told_since, rests_on] = exactly(more);
        Ok(Wanted { n, is_due, rows: Dossier::of(n, answers), rests_on, since, told_since })
    }
}

/// The settings that could hold the action back, once its checked findings are those the journal tells of.
fn settings_of(action: &Action, proven: &Proven, rows: &[AnyRow]) -> Result<BTreeMap<String, String>, LedgerError> {
    let (mut settings, mut cleared) = (BTreeMap::new(), Vec::new());
    for row in rows {
        match row.text("what")?.as_str() {
            "setting" => {
                settings.insert(row.text("code")?, row.text("field")?);
            }
            _ => cleared.push(crate::beside::Check::read(row)?),
        }
    }
    crate::beside::checks_hold(action, &proven.told, &cleared)?;
    Ok(settings)
}

/// Asks what [`is_on`] reads.
fn may_send(environment: &str) -> Said {
    say!("reading whether sending is on", MAY_SEND, format!("{}{environment}", directory::SENDING))
}

/// Whether this environment's sending is on and dispatch is not frozen.
fn is_on(rows: &[AnyRow], environment: &str) -> Result<bool, LedgerError> {
    let own = format!("{}{environment}", directory::SENDING);
    let mut on = false;
    for row in rows {
        let (key, value) = (row.text("key")?, row.text("value")?);
        if key == directory::FROZEN && !value.is_empty() && value != "off" {
            return Ok(false);
        }
        on |= key == own && value == "on";
    }
    Ok(on)
}

async fn beside(conn: &mut Conn, action: ActionId, now: Timestamp) -> Result<Vec<ActionId>, LedgerError> {
    let rows = sqlx::query(BESIDE)
        .bind(action.0)
        .bind(now.millis())
        .fetch_all(conn)
        .await
        .map_err(|e| failed("looking for others on the same record", e))?;
    rows.iter().map(|row| row.int("n").map(ActionId)).collect()
}

/// `only`: one action's number, or zero for any.
fn said_due(destination: &str, most: i64, only: ActionId, now: Timestamp) -> Said {
    say!("looking for what is due", DUE, destination, now.millis(), most, only.0)
}

/// What may be claimed now, the longest waiting first.
async fn due(conn: &mut Conn, request: &ClaimRequest<'_>) -> Result<Vec<ActionId>, LedgerError> {
    if let Some(only) = request.only
        && request.skip.contains(&only)
    {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    let (most, only) = (request.skip.len() as i64 + 1, request.only.unwrap_or(ActionId(0)));
    let mut script: Vec<Said> =
        request.reach.iter().map(|destination| said_due(destination, most, only, request.now)).collect();
    let answers = trip(conn, None, &script, None).await;
    for answer in answers.map_err(|broke| broke.error(&mut script, "looking for what is due"))? {
        for row in &answer.rows {
            let n = ActionId(row.int("n")?);
            if !request.skip.contains(&n) {
                found.push((row.int("not_before")?, n));
            }
        }
    }
    found.sort();
    Ok(found.into_iter().map(|(_, n)| n).collect())
}

pub(crate) async fn noted(conn: &mut Conn, action: i64) -> Result<Vec<Value>, LedgerError> {
    let rows = sqlx::query(NOTED).bind(action).fetch_all(conn).await.map_err(|e| failed("reading notes", e))?;
    read_noted(&rows)
}

fn read_noted(rows: &[AnyRow]) -> Result<Vec<Value>, LedgerError> {
    rows.iter().filter_map(|r| read_json(r, "noted").transpose()).collect()
}

async fn open_attempts(conn: &mut Conn) -> Result<Vec<OpenAttempt>, LedgerError> {
    let rows = sqlx::query(OPEN_ATTEMPTS).fetch_all(conn).await.map_err(|e| failed("reading open attempts", e))?;
    let read = |r: &AnyRow| {
        Ok(OpenAttempt {
            attempt: AttemptId(r.int("n")?),
            action: ActionId(r.int("action")?),
            worker: WorkerId(r.text("worker")?),
            claimed_at: r.time("claimed_at")?,
            crossed_at: r.time_or_null("crossed_at")?,
            in_doubt: r.flag("in_doubt")?,
        })
    };
    rows.iter().filter_map(|r| read(r).map(Some).or_else(skip_damaged).transpose()).collect()
}
