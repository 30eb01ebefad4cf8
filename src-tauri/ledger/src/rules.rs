//! What a round of the dispatcher goes by, read at once: the switches, the destinations, who may approve.

use crate::directory::{self, DESTINATIONS, DEVICES};
use crate::rows::Get;
use crate::script::say;
use crate::tx::{exactly, statements};
use crate::types::DestinationRecord;
use crate::{Ledger, LedgerError};
use countersign_domain::{DeviceCert, Timestamp};
use std::collections::{BTreeMap, BTreeSet, HashMap};

statements! {
    // Settings are also kept per action and per destination; only these three kinds concern a round.
    SWITCHES = "SELECT key, value FROM settings WHERE key = 'frozen' OR (key >= 'sending/' AND key < 'sending0') \
        OR (key >= 'approvers_needed/' AND key < 'approvers_needed0')";
    // Each part reads an index that holds only what waits.
    WAITS = "SELECT CAST(CASE WHEN EXISTS (SELECT 1 FROM actions WHERE state = 'approved' AND expires_at <= $1) \
        THEN 1 ELSE 0 END AS BIGINT) AS expires, \
        CAST(CASE WHEN EXISTS (SELECT 1 FROM actions WHERE state = 'unknown' AND next_look <= $1) \
        THEN 1 ELSE 0 END AS BIGINT) AS to_ask";
}

/// Read without the write lock: a claim and a crossing look at each of these once more.
#[derive(Clone, Debug)]
pub struct Rules {
    switches: BTreeMap<String, String>,
    /// Those in use.
    pub destinations: Vec<DestinationRecord>,
    /// Certificates of devices that were not withdrawn.
    pub certs: Vec<DeviceCert>,
    /// An approval grew too old.
    pub expires: bool,
    /// It is time to ask about an unknown action.
    pub to_ask: bool,
}

impl Rules {
    /// Why dispatch is frozen, as stored; None where it is not.
    pub fn frozen(&self) -> Option<&str> {
        self.switches.get(directory::FROZEN).map(String::as_str).filter(|word| !word.is_empty())
    }

    /// The switch of an environment: `on` or `off`; None where nobody touched it.
    pub fn sending(&self, environment: &str) -> Option<&str> {
        self.switches.get(&format!("{}{environment}", directory::SENDING)).map(String::as_str)
    }

    /// Environment to approvers needed; 1 where it is missing.
    pub fn approvers_needed(&self) -> HashMap<String, u8> {
        let of = |(key, value): (&String, &String)| {
            let environment = key.strip_prefix(directory::APPROVERS_NEEDED)?;
            Some((environment.to_owned(), if value.trim() == "2" { 2 } else { 1 }))
        };
        self.switches.iter().filter_map(of).collect()
    }

    /// The environments that have a destination.
    pub fn environments(&self) -> BTreeSet<String> {
        self.destinations.iter().map(|d| d.environment.clone()).collect()
    }
}

impl Ledger {
    pub async fn rules(&self, now: Timestamp) -> Result<Rules, LedgerError> {
        let doing = "reading what a round goes by";
        let script = vec![
            say!(doing, SWITCHES),
            say!(doing, DESTINATIONS),
            say!(doing, DEVICES),
            say!(doing, WAITS, now.millis()),
        ];
        let [switches, destinations, devices, waits] = exactly(self.pools().view(doing, script).await?.0);
        let switches: Result<_, LedgerError> =
            switches.rows.iter().map(|r| Ok((r.text("key")?, r.text("value")?))).collect();
        let destinations: Result<_, _> = destinations.rows.iter().map(directory::read_destination).collect();
        let certs: Result<_, _> = devices.rows.iter().map(directory::read_cert).collect();
        let waits = waits.one(doing)?;
        Ok(Rules {
            switches: switches?,
            destinations: destinations?,
            certs: certs?,
            expires: waits.flag("expires")?,
            to_ask: waits.flag("to_ask")?,
        })
    }
}
