//! What follows an accepted action: filing the copy in Sent. It has a state of its own and can never re-open a send.

use crate::core::Core;
use crate::failure::Failure;
use crate::testpoint::testpoint;
use countersign_connectors::Filing as Filed;
use countersign_domain::{ActionId, Echo, ReceiptKind, State, Timestamp};
use countersign_ledger::{Filing, FirstFiling, PageFilter};
use std::time::Duration;

const WAITING: &str = "waiting";
const NOT_NEEDED: &str = "not_needed";
const NO_COPY: &str = "This destination needs no copy from us.";
/// So often a copy is tried by itself; after that a person may ask for it.
const TRIES: u32 = 6;
/// So many accepted actions are looked through for a follow-up that a crash cut off.
const LOOK_BACK: u32 = 200;

fn again_after(tries: u32) -> Duration {
    Duration::from_secs(match tries {
        0 => 30,
        1 => 120,
        2 => 600,
        3 => 3600,
        _ => 6 * 3600,
    })
}

impl Core {
    /// Puts the follow-up of an accepted action on the list, or says at once that there is none.
    pub(crate) async fn begin_filing(&self, action: ActionId, destination: &str) -> Result<(), Failure> {
        if self.ledger.filing(action).await?.is_some() {
            return Ok(());
        }
        let now = self.clock.now();
        let first = self.first_filing(destination, now);
        Ok(self.ledger.put_filing(action, first.state, first.text, first.next_at, now).await?)
    }

    /// What is said of the copy when its action is accepted.
    pub(crate) fn first_filing(&self, destination: &str, now: Timestamp) -> FirstFiling<'static> {
        match self.destinations.made(destination).is_some_and(|connector| !connector.has_copies()) {
            true => FirstFiling { state: NOT_NEEDED, text: NO_COPY, next_at: None },
            false => FirstFiling { state: WAITING, text: "The copy is filed next.", next_at: Some(now) },
        }
    }

    /// Finds accepted actions whose follow-up was cut off by a crash.
    pub(crate) async fn begin_missing_filings(&self) -> Result<(), Failure> {
        let filter = PageFilter { states: vec![State::Accepted], ..PageFilter::default() };
        for row in self.ledger.page(&filter, None, LOOK_BACK).await?.rows {
            // What a person says happened was sent elsewhere, perhaps in other words: our bytes are filed only when asked.
            if row.receipt.is_none_or(|receipt| receipt.kind != ReceiptKind::Person) {
                self.begin_filing(row.id, &row.destination).await?;
            }
        }
        Ok(())
    }

    /// Files what is due, at most `max`. A copy that cannot be filed is recorded; it never touches the action.
    pub(crate) async fn file_due(&self, max: usize) -> Result<Vec<ActionId>, Failure> {
        let due = self.ledger.filings_due(self.clock.now()).await?;
        let mut done = Vec::new();
        for filing in due.into_iter().take(max) {
            self.file(&filing).await?;
            done.push(filing.action);
        }
        Ok(done)
    }

    /// Files one copy now, because a person asked.
    pub async fn file_copy(&self, action: ActionId) -> Result<(), Failure> {
        let record = self
            .ledger
            .action(action)
            .await?
            .ok_or_else(|| Failure::not_found(format!("there is no action {action}")))?;
        if record.state() != State::Accepted {
            return Err(Failure::conflict("only the copy of an accepted action is filed").on(action));
        }
        self.begin_filing(action, &record.row.destination).await?;
        match self.ledger.filing(action).await? {
            Some(filing) => self.file(&filing).await,
            None => Ok(()),
        }
    }

    async fn file(&self, filing: &Filing) -> Result<(), Failure> {
        let action = filing.action;
        testpoint("before_filing").await;
        let (state, text, next) = match self.try_to_file(action).await {
            Ok(Filed::AlreadyPresent { folder }) => {
                ("already_present", format!("The copy is in {folder} already; the provider filed it."), None)
            }
            Ok(Filed::Filed { folder, .. }) => ("filed", format!("The copy is in {folder}."), None),
            Ok(Filed::NotNeeded) => (NOT_NEEDED, NO_COPY.to_owned(), None),
            Ok(Filed::Waiting { again_in }) => {
                (WAITING, "The provider may file it itself; we look again.".to_owned(), Some(self.later(again_in)))
            }
            Ok(Filed::Failed { why, .. }) => self.failed(filing, &why),
            Err(failure) => self.failed(filing, &failure.message),
        };
        testpoint("after_filing").await;
        Ok(self.ledger.put_filing(action, state, &text, next, self.clock.now()).await?)
    }

    fn failed(&self, filing: &Filing, why: &str) -> (&'static str, String, Option<Timestamp>) {
        let next = (filing.tries + 1 < TRIES).then(|| self.later(again_after(filing.tries)));
        ("failed", format!("Accepted; the copy is not filed yet: {why}"), next)
    }

    fn later(&self, d: Duration) -> Timestamp {
        self.clock.now().plus(d)
    }

    async fn try_to_file(&self, action: ActionId) -> Result<Filed, Failure> {
        let (roster, secret) = (self.roster().await?, self.ledger_secret().await?);
        let order = match self.ledger.order_for_look(action, &roster, &secret).await? {
            Ok(order) => order,
            Err(refused) => return Ok(Filed::Failed { why: refused.to_string(), signed_out: false }),
        };
        let reached = match self.destinations.reach(&order.key().destination).await? {
            Ok(reached) => reached,
            Err(none) => return Ok(Filed::Failed { why: none.why, signed_out: none.signed_out }),
        };
        let detail = self.ledger.detail(action).await?;
        let noted: Vec<_> = detail.attempts.iter().filter_map(|a| a.evidence.get("noted").cloned()).collect();
        let accepted = detail.record.accepted_at.unwrap_or_else(|| self.clock.now());
        let since = self.clock.now().since(accepted);
        let mut filed = reached.connector.file_copy(&order, &reached.login, &noted, since).await;
        if matches!(filed, Filed::Failed { signed_out: true, .. })
            && let Some(anew) = self.destinations.reach_anew(&reached).await?
        {
            filed = match anew {
                Ok(anew) => anew.connector.file_copy(&order, &anew.login, &noted, since).await,
                Err(none) => Filed::Failed { why: none.why, signed_out: none.signed_out },
            };
        }
        Ok(match filed {
            Filed::Failed { why, signed_out } => {
                Filed::Failed { why: Echo::of(order.sealed().payload()).clean(&why), signed_out }
            }
            other => other,
        })
    }
}
