//! Pages, search, counts, everything around the lists, and the record as a file.

use super::{Desk, contracts_in_words, document};
use crate::clock::Clock;
use crate::failure::Failure;
use crate::home::LIVE;
use crate::keychain::SANDBOX;
use crate::view::{ActionPage, Counts, DestinationRow, ErrorDoc, FindingDoc, NotTakenRow, Overview, SearchFilters};
use countersign_domain::explain::sentence;
use countersign_domain::payload::EFFECTS;
use countersign_domain::{State, Timestamp};
use countersign_ledger::{Cursor, DestinationRecord, Page, PageFilter, RowRecord, SearchFilter, StateCounts};
use std::collections::{BTreeSet, HashMap};
use std::str::FromStr;
use std::time::Duration;

/// A list of the sidebar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    Awaiting,
    OnTheWay,
    Unknown,
    NeedsReview,
    History,
}

impl View {
    fn states(self) -> Vec<State> {
        State::ALL.into_iter().filter(|s| self.has(*s)).collect()
    }

    fn has(self, state: State) -> bool {
        match state {
            State::Prepared => self == View::Awaiting,
            State::NeedsReview => self == View::NeedsReview,
            State::Approved | State::InProgress => matches!(self, View::OnTheWay | View::History),
            State::Unknown | State::ClosedUnknown => matches!(self, View::Unknown | View::History),
            // Somebody has to decide what becomes of it.
            State::Refused | State::GaveUp => matches!(self, View::NeedsReview | View::History),
            // History answers "sent, unknown or not sent?" and so holds everything a person has decided.
            State::Accepted | State::Rejected | State::Superseded => self == View::History,
        }
    }
}

impl FromStr for View {
    type Err = Failure;
    fn from_str(text: &str) -> Result<View, Failure> {
        match text {
            "awaiting" => Ok(View::Awaiting),
            "on_the_way" => Ok(View::OnTheWay),
            "unknown" => Ok(View::Unknown),
            "needs_review" => Ok(View::NeedsReview),
            "history" => Ok(View::History),
            _ => Err(Failure::bad_input("view", format!("`{text}` is not a list"))),
        }
    }
}

pub(super) const PAGE: u32 = 200;
/// No test of it succeeded yet, and nothing was accepted.
const NOT_TRIED: &str = "not_tried";
/// How long what was left unknown stays beside what is unknown.
const LATELY: Duration = Duration::from_secs(30 * 24 * 3600);
/// Rounds of feeding the index before a search: enough for whatever was done without a worker, and bounded.
const FEED_ROUNDS: usize = 50;

impl Desk {
    /// A page of one list, of the environment that is shown.
    pub async fn list(
        &self,
        view: View,
        state: Option<State>,
        after: Option<&str>,
        limit: u32,
    ) -> Result<ActionPage, Failure> {
        let states = match state {
            Some(state) if view.has(state) => vec![state],
            Some(state) => return Err(Failure::bad_input("state", format!("{state} is not in this list"))),
            None => view.states(),
        };
        let environment = self.environment().await?;
        let after = cursor(after)?;
        let page = match view {
            View::NeedsReview => self.ledger().page_unrevised(&environment, &states, after, limit).await?,
            View::Unknown => self.unknown_page(environment, &states, after, limit).await?,
            View::Awaiting | View::OnTheWay | View::History => {
                let filter = PageFilter { environment: Some(environment), states, ..PageFilter::default() };
                self.ledger().page(&filter, after, limit.clamp(1, 500)).await?
            }
        };
        self.page_doc(page).await
    }

    /// What is unknown, page by page; on the last one also what was left unknown lately.
    async fn unknown_page(
        &self,
        environment: String,
        states: &[State],
        after: Option<Cursor>,
        limit: u32,
    ) -> Result<Page<RowRecord>, Failure> {
        let of =
            |state| PageFilter { environment: Some(environment.clone()), states: vec![state], ..PageFilter::default() };
        let mut page = match states.contains(&State::Unknown) {
            true => self.ledger().page(&of(State::Unknown), after, limit.clamp(1, 500)).await?,
            false => Page { rows: Vec::new(), next: None },
        };
        if page.next.is_none() && states.contains(&State::ClosedUnknown) {
            let closed = self.ledger().page(&of(State::ClosedUnknown), None, PAGE).await?;
            let now = self.now();
            page.rows.extend(closed.rows.into_iter().filter(|row| now.since(row.changed_at) < LATELY));
        }
        Ok(page)
    }

    /// A page of all lists together.
    pub async fn page(
        &self,
        environment: Option<&str>,
        state: Option<State>,
        after: Option<&str>,
        limit: u32,
    ) -> Result<ActionPage, Failure> {
        let filter = PageFilter {
            environment: environment.map(str::to_owned),
            states: state.into_iter().collect(),
            oldest_first: false,
        };
        let page = self.ledger().page(&filter, cursor(after)?, limit.clamp(1, 500)).await?;
        self.page_doc(page).await
    }

    /// Full-text search. Feeds what is not indexed yet first, so that what was just done is found.
    pub async fn search(
        &self,
        text: &str,
        filters: &SearchFilters,
        after: Option<&str>,
        limit: u32,
    ) -> Result<ActionPage, Failure> {
        let time = |field: &str, text: &Option<String>| -> Result<Option<Timestamp>, Failure> {
            text.as_deref()
                .filter(|t| !t.is_empty())
                .map(|t| {
                    t.parse().map_err(|e: countersign_domain::time::BadTime| Failure::bad_input(field, e.to_string()))
                })
                .transpose()
        };
        let state = filters
            .state
            .as_deref()
            .filter(|s| !s.is_empty())
            .map(|s| {
                s.parse().map_err(|e: countersign_domain::state::BadState| Failure::bad_input("state", e.to_string()))
            })
            .transpose()?;
        let filter = SearchFilter {
            environment: filters.environment.clone(),
            state,
            destination: filters.destination.clone().filter(|d| !d.is_empty()),
            effect: None,
            from: time("from", &filters.from)?,
            to: time("to", &filters.to)?,
        };
        for _ in 0..FEED_ROUNDS {
            if self.ledger().feed_search_index(PAGE).await? == 0 {
                break;
            }
        }
        let page = self.ledger().search(text, &filter, cursor(after)?, limit.clamp(1, 500)).await?;
        self.page_doc(page).await
    }

    /// Proposals that were recorded but not taken.
    pub async fn not_taken(&self) -> Result<Vec<NotTakenRow>, Failure> {
        let rows = self.ledger().not_taken(PAGE).await?;
        Ok(rows
            .into_iter()
            .map(|n| NotTakenRow {
                delivery: n.delivery.to_string(),
                source: n.source,
                at: n.at.to_string(),
                disposition: n.disposition,
                reason: n.reason,
            })
            .collect())
    }

    async fn page_doc(&self, page: Page<RowRecord>) -> Result<ActionPage, Failure> {
        let now = self.now();
        let destinations: HashMap<String, DestinationRecord> =
            self.ledger().destinations(None).await?.into_iter().map(|d| (d.name.clone(), d)).collect();
        let mut actions = Vec::with_capacity(page.rows.len());
        for row in &page.rows {
            let findings = match row.standing.state {
                State::Prepared => self.row_findings(row).await?,
                State::NeedsReview
                | State::Approved
                | State::InProgress
                | State::Accepted
                | State::Unknown
                | State::Refused
                | State::GaveUp
                | State::Rejected
                | State::Superseded
                | State::ClosedUnknown => Vec::new(),
            };
            let open = findings.iter().filter(|f| f.holds && f.cleared.is_none()).count();
            let heaviest = findings.into_iter().find(|f| matches!(f.weight.as_str(), "look" | "stop"));
            let prospect = self.core.destinations.prospect(row, None, destinations.get(&row.destination));
            actions.push(document::action_row(row, &prospect, heaviest, u32::try_from(open).unwrap_or(u32::MAX), now));
        }
        Ok(ActionPage { actions, next: page.next.map(|c| c.to_string()) })
    }

    /// The findings of a line: the same as those of the opened action, so that a list never says less than it. Only what
    /// has to be asked for at the destination waits until somebody opens it.
    async fn row_findings(&self, row: &RowRecord) -> Result<Vec<FindingDoc>, Failure> {
        let detail = self.ledger().detail(row.id).await?;
        let shown = detail.payloads.iter().rev().find(|p| p.version == row.payload_version);
        let Some(payload) = shown.and_then(|p| p.payload.as_ref()) else { return Ok(Vec::new()) };
        let around = self.around(&detail, Some(payload)).await?;
        self.findings_of(&detail, payload, row.payload_version, &around).await
    }

    /// Which environment the window shows: the one chosen, else the sandbox while live has nowhere to send to.
    pub async fn environment(&self) -> Result<String, Failure> {
        let chosen = self.shown.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
        if let Some(chosen) = chosen {
            return Ok(chosen);
        }
        let sandboxed = self.core.config.sandbox && self.ledger().destinations(Some(LIVE)).await?.is_empty();
        Ok(if sandboxed { SANDBOX } else { LIVE }.to_owned())
    }

    pub async fn set_environment(&self, environment: &str) -> Result<Overview, Failure> {
        if !self.environments().await?.iter().any(|e| e == environment) {
            return Err(Failure::not_found(format!("there is no environment {environment}")).at("environment"));
        }
        *self.shown.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(environment.to_owned());
        self.overview().await
    }

    async fn environments(&self) -> Result<Vec<String>, Failure> {
        let mut all = BTreeSet::from([LIVE.to_owned()]);
        if self.core.config.sandbox {
            all.insert(SANDBOX.to_owned());
        }
        all.extend(self.ledger().destinations(None).await?.into_iter().map(|d| d.environment));
        all.extend(self.ledger().sources().await?.into_iter().map(|s| s.environment));
        Ok(all.into_iter().collect())
    }

    /// Everything around the lists.
    pub async fn overview(&self) -> Result<Overview, Failure> {
        let environment = self.environment().await?;
        let counts = self.ledger().counts(&environment).await?;
        let frozen = self.core.frozen().await?;
        let needs_key = environment != SANDBOX && self.core.config.passphrase;
        let secrets = self.core.ledger_secret().await.err();
        Ok(Overview {
            home_exists: true,
            owner: self.core.owner.to_string(),
            environments: self.environments().await?,
            counts: shown_counts(&counts),
            sending: self.core.settings.sending(&environment).await?,
            frozen: frozen.map(|f| f.word().to_owned()),
            frozen_text: frozen.map(|f| f.text().to_owned()),
            another_dispatcher: !self.dispatches_here() && self.core.home.is_dispatching(),
            locked: needs_key && self.presence().is_none(),
            no_keychain: secrets.filter(|e| e.field.as_deref() == Some("secrets")).map(|e| e.message),
            quiet: self.core.settings.quiet(self.now()).await?,
            destinations: self.destinations(Some(&environment)).await?,
            seq: self.ledger().head().await?.seq,
            now: self.now().to_string(),
            environment,
        })
    }

    pub async fn destinations(&self, environment: Option<&str>) -> Result<Vec<DestinationRow>, Failure> {
        let mut rows = Vec::new();
        for record in self.ledger().destinations(environment).await? {
            rows.push(self.full_row(&record).await?);
        }
        Ok(rows)
    }

    /// With what the settings say of it.
    pub(super) async fn full_row(&self, record: &DestinationRecord) -> Result<DestinationRow, Failure> {
        let mut row = self.destination_row(record);
        let connector = self.core.destinations.connect(record).ok();
        let repeats = |effect: &&str| {
            connector.as_ref().and_then(|c| c.contract(effect)).is_some_and(|contract| contract.recognises_repeat())
        };
        if EFFECTS.iter().any(repeats) {
            row.repeats_by_itself = Some(self.core.settings.repeats_by_itself(&record.name).await?);
        }
        let embedded = record.config.get("embedded") == Some(&serde_json::Value::Bool(true));
        if row.health == NOT_TRIED && (embedded || self.core.destinations.has_worked(&record.name).await?) {
            "reachable".clone_into(&mut row.health);
            row.health_text = self.core.clock_warning(&record.name).unwrap_or_default();
        }
        Ok(row)
    }

    pub(super) fn destination_row(&self, record: &DestinationRecord) -> DestinationRow {
        let contracts = match self.core.destinations.connect(record) {
            Err(_) => Vec::new(),
            Ok(connector) => {
                EFFECTS.iter().flat_map(|effect| contracts_in_words(record, connector.as_ref(), effect)).collect()
            }
        };
        let now = self.now();
        let (health, text) = match &record.paused {
            Some(paused) if paused.by_hand() => {
                ("held", "You paused it. Approved actions wait; nothing leaves.".to_owned())
            }
            Some(paused) if paused.until.is_none_or(|until| now < until) => match paused.until {
                None => {
                    let why = sentence(&paused.why);
                    ("signed_out", format!("{why} Nothing is lost; approvals wait until you sign in."))
                }
                Some(until) => ("paused", format!("{} Next try {until}.", sentence(&paused.why))),
            },
            _ => {
                let text = format!(
                    "Nothing was tried yet. Test it: Destinations, or `countersign destination test {}`.",
                    record.name
                );
                (NOT_TRIED, text)
            }
        };
        DestinationRow {
            name: record.name.clone(),
            kind: record.kind.clone(),
            environment: record.environment.clone(),
            account: record.account_label.clone(),
            undo_seconds: record.undo_seconds,
            health: health.to_owned(),
            health_text: text,
            repeats_by_itself: None,
            contracts,
        }
    }
}

fn shown_counts(counts: &StateCounts) -> Counts {
    let all = [
        ("awaiting", counts.awaiting),
        ("on_the_way", counts.on_the_way),
        ("unknown", counts.unknown),
        ("needs_review", counts.needs_review),
    ];
    Counts {
        awaiting: counts.awaiting.n,
        on_the_way: counts.on_the_way.n,
        unknown: counts.unknown.n,
        needs_review: counts.needs_review.n,
        more: all.iter().filter(|(_, many)| many.more).map(|(name, _)| (*name).to_owned()).collect(),
    }
}

/// The overview before there is a home: first run.
pub fn no_home(clock: &Clock, why: Option<&ErrorDoc>) -> Overview {
    Overview {
        home_exists: false,
        owner: String::new(),
        environment: String::new(),
        environments: Vec::new(),
        counts: Counts::default(),
        sending: false,
        frozen: None,
        frozen_text: None,
        another_dispatcher: false,
        locked: false,
        no_keychain: why.filter(|e| e.field.as_deref() == Some("secrets")).map(|e| e.message.clone()),
        quiet: false,
        destinations: Vec::new(),
        seq: 0,
        now: clock.now().to_string(),
    }
}

fn cursor(after: Option<&str>) -> Result<Option<Cursor>, Failure> {
    after.map(|text| text.parse().map_err(|e: String| Failure::bad_input("after", e))).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r29_every_state_is_in_exactly_the_lists_a_person_looks_in() {
        for state in State::ALL {
            let views = [View::Awaiting, View::OnTheWay, View::Unknown, View::NeedsReview, View::History];
            let work = views.iter().filter(|v| **v != View::History && v.has(state)).count();
            let ended = matches!(state, State::Accepted | State::Rejected | State::Superseded);
            assert_eq!(work, if ended { 0 } else { 1 }, "{state}");
            let undecided = matches!(state, State::Prepared | State::NeedsReview);
            assert_eq!(View::History.has(state), !undecided, "{state}");
        }
    }
}
