//! Counts over a range of time, and the bytes of one action.

use super::Desk;
use super::decide::render;
use crate::failure::Failure;
use crate::view::{CheckCount, InsightsDoc, SettledDoc, SourceShareDoc, TallyBin, TallyDoc, WireDoc};
use countersign_connectors::Survey;
use countersign_domain::{ActionId, ReceiptKind, State, Timestamp, Wire};
use countersign_ledger::{Tally, WasUnclear};
use std::collections::BTreeMap;

/// Days of a year, and some: more bars are not drawn.
const STARTS_MOST: usize = 400;
/// Bytes of a wire that are shown.
const SHOWN: usize = 64 * 1024;

impl Desk {
    /// What History holds since the first of `starts`, in bins that begin at each of them. The starts are days or weeks as
    /// the person's clock has them, in milliseconds since 1970. With a first start of zero the states are counted from the
    /// beginning, and the bins begin with the second.
    ///
    /// # Errors
    /// Bad input for no start, too many, or starts out of order.
    pub async fn tally(&self, starts: &[i64], destination: Option<&str>) -> Result<TallyDoc, Failure> {
        let everything = starts.len() > 1 && starts[0] == 0;
        let starts = if everything { &starts[1..] } else { starts };
        let from = first_of(starts)?;
        let destination = destination.filter(|name| !name.is_empty());
        let environment = self.environment().await?;
        let mut doc = in_bins(&self.ledger().tally(&environment, from, destination).await?, starts);
        if everything {
            let all = self.ledger().state_counts(&environment, destination).await?;
            doc.states = all.into_iter().map(|(state, many)| (state.name().to_owned(), many)).collect();
        }
        Ok(doc)
    }

    /// What can be learnt from the actions since the first of `starts`.
    ///
    /// # Errors
    /// As [`Desk::tally`].
    pub async fn insights(&self, starts: &[i64]) -> Result<InsightsDoc, Failure> {
        let from = first_of(starts)?;
        let environment = self.environment().await?;
        let tally = in_bins(&self.ledger().tally(&environment, from, None).await?, starts);
        let found = self.ledger().insights(&environment, from).await?;
        let (settled, settled_median_seconds) = settled(&found.unclear);
        Ok(InsightsDoc {
            tally,
            approvals: found.times.many,
            buckets: found.times.buckets,
            median_seconds: found.times.median.map(seconds),
            unclear: u32::try_from(found.unclear.len()).unwrap_or(u32::MAX),
            settled,
            settled_median_seconds,
            sources: found
                .sources
                .into_iter()
                .map(|s| SourceShareDoc { source: s.source, approved: s.approved, as_written: s.as_written })
                .collect(),
            checks: found.checks.into_iter().map(|(code, many)| CheckCount { code, many }).collect(),
        })
    }

    /// The bytes of an action: those an approval covers, or how its current version would be rendered now.
    ///
    /// # Errors
    /// What rendering names: a field that the provider cannot carry. Conflict once the bytes were purged.
    pub async fn wire(&self, id: ActionId) -> Result<WireDoc, Failure> {
        if let Some(wire) = self.ledger().wire(id).await.map_err(|e| Failure::from(e).on(id))? {
            return Ok(wire_doc(&wire, true));
        }
        let secret = self.core.ledger_secret().await?;
        let signing = self.ledger().signable(id, &secret).await.map_err(|e| Failure::from(e).on(id))?;
        let destination = signing.sealed.key().destination.clone();
        let (_, connector) = self.core.destinations.connector(&destination).await.map_err(|e| e.on(id))?;
        let survey = self.shown(id).await?.unwrap_or(Survey::NothingToAsk);
        let wire = render(connector.as_ref(), &signing, self.now(), &survey).map_err(|e| e.on(id))?;
        Ok(wire_doc(&wire, false))
    }
}

fn wire_doc(wire: &Wire, stored: bool) -> WireDoc {
    let bytes = wire.bytes();
    let shown = &bytes[..bytes.len().min(SHOWN)];
    WireDoc {
        stored,
        hash: stored.then(|| wire.hash().to_string()),
        size: bytes.len() as u64,
        text: String::from_utf8_lossy(shown).into_owned(),
        cut: bytes.len() > SHOWN,
    }
}

fn first_of(starts: &[i64]) -> Result<Timestamp, Failure> {
    if starts.len() > STARTS_MOST || !starts.is_sorted() {
        return Err(Failure::bad_input("starts", format!("1 to {STARTS_MOST} times in order are expected")));
    }
    let first = starts.first().ok_or_else(|| Failure::bad_input("starts", "a time is needed"))?;
    Ok(Timestamp::from_millis(*first))
}

fn in_bins(tally: &Tally, starts: &[i64]) -> TallyDoc {
    let bin = |start: &i64| TallyBin { start: Timestamp::from_millis(*start).to_string(), ..TallyBin::default() };
    let mut bins: Vec<TallyBin> = starts.iter().map(bin).collect();
    let mut states: BTreeMap<String, u32> = BTreeMap::new();
    for quarter in &tally.quarters {
        if let Some(state) = quarter.state {
            *states.entry(state.name().to_owned()).or_default() += quarter.many;
        }
        let at = starts.partition_point(|start| *start <= quarter.start.millis());
        let Some(bin) = at.checked_sub(1).and_then(|at| bins.get_mut(at)) else { continue };
        let counted = match quarter.state {
            None => &mut bin.went_unknown,
            Some(State::Accepted) => &mut bin.accepted,
            Some(State::Refused | State::GaveUp) => &mut bin.refused,
            Some(State::Unknown | State::ClosedUnknown) => &mut bin.unknown,
            Some(State::Approved | State::InProgress) => &mut bin.on_the_way,
            Some(State::Rejected | State::Superseded) => &mut bin.not_sent,
            // Nobody has decided on these yet.
            Some(State::Prepared | State::NeedsReview) => continue,
        };
        *counted += quarter.many;
    }
    TallyDoc { states, bins, asked: tally.asked, two_receipts: tally.two_receipts }
}

/// What became of each, most frequent first and what is still unknown last; and the median time to a receipt.
fn settled(unclear: &[WasUnclear]) -> (Vec<SettledDoc>, Option<u32>) {
    let mut many: BTreeMap<&'static str, u32> = BTreeMap::new();
    let mut took = Vec::new();
    for one in unclear {
        *many.entry(how(one)).or_default() += 1;
        if let Some(at) = one.accepted_at {
            took.push(at.millis() - one.since.millis());
        }
    }
    took.sort_unstable();
    let median = took.get(took.len().saturating_sub(1) / 2).copied().map(seconds);
    let mut all: Vec<SettledDoc> =
        many.into_iter().map(|(how, many)| SettledDoc { how: how.to_owned(), many }).collect();
    let open = |one: &SettledDoc| matches!(one.how.as_str(), "unknown" | "closed_unknown" | "under_way");
    all.sort_by_key(|one| (open(one), std::cmp::Reverse(one.many)));
    (all, median)
}

fn how(one: &WasUnclear) -> &'static str {
    match (one.state, one.receipt.as_ref().map(|r| r.kind)) {
        (_, Some(ReceiptKind::Lookup)) => "lookup",
        (_, Some(ReceiptKind::Answer)) => "answer",
        (_, Some(ReceiptKind::LateAnswer)) => "late_answer",
        (_, Some(ReceiptKind::Dsn)) => "dsn",
        (_, Some(ReceiptKind::Person)) => "person",
        (State::Refused | State::GaveUp | State::Rejected, None) => "not_sent",
        (State::Superseded, None) => "revised",
        (State::ClosedUnknown, None) => "closed_unknown",
        (State::Unknown, None) => "unknown",
        (State::Approved | State::InProgress | State::Prepared | State::NeedsReview | State::Accepted, None) => {
            "under_way"
        }
    }
}

fn seconds(millis: i64) -> u32 {
    u32::try_from(millis.max(0) / 1000).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_ledger::QuarterCount;

    fn quarter(start: i64, state: Option<State>, many: u32) -> QuarterCount {
        QuarterCount { start: Timestamp::from_millis(start), state, many }
    }

    #[test]
    fn r32_each_quarter_falls_into_the_bin_that_has_begun_and_all_are_counted() {
        let tally = Tally {
            quarters: vec![
                quarter(900_000, Some(State::Accepted), 2),
                quarter(1_800_000, Some(State::Accepted), 3),
                quarter(1_800_000, Some(State::GaveUp), 1),
                quarter(2_700_000, Some(State::ClosedUnknown), 1),
                quarter(2_700_000, None, 4),
            ],
            asked: 1,
            two_receipts: 0,
        };
        let doc = in_bins(&tally, &[1_800_000, 2_700_000]);
        let told: Vec<_> = doc.bins.iter().map(|b| (b.accepted, b.refused, b.unknown, b.went_unknown)).collect();
        assert_eq!(told, [(3, 1, 0, 0), (0, 0, 1, 4)]);
        assert_eq!(doc.states["accepted"], 5, "what came before the first bin is counted too");
        assert_eq!((doc.states["gave_up"], doc.states["closed_unknown"]), (1, 1));
    }

    #[test]
    fn r32_starts_out_of_order_are_refused() {
        assert!(first_of(&[2, 1]).is_err());
        assert!(first_of(&[]).is_err());
        assert_eq!(first_of(&[1, 2]).map(Timestamp::millis).ok(), Some(1));
    }
}
