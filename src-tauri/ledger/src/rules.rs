//! What a round of the dispatcher goes by, read at once: the switches, the destinations, who may approve.

use crate::directory::{self, DESTINATIONS, DEVICES};
use crate::rows::Get;
use crate::tx::{failed, statements};
use crate::types::DestinationRecord;
use crate::{Ledger, LedgerError};
use countersign_domain::DeviceCert;
use std::collections::{BTreeMap, BTreeSet, HashMap};

statements! {
    // Settings are also kept per action and per destination; only these three kinds concern a round.
    SWITCHES = "SELECT key, value FROM settings WHERE key = 'frozen' OR (key >= 'sending/' AND key < 'sending0') \
        OR (key >= 'approvers_needed/' AND key < 'approvers_needed0')";
}

/// Read without the write lock: a claim and a crossing look at each of these once more.
#[derive(Clone, Debug)]
pub struct Rules {
    switches: BTreeMap<String, String>,
    /// Those in use.
    pub destinations: Vec<DestinationRecord>,
    /// Certificates of devices that were not withdrawn.
    pub certs: Vec<DeviceCert>,
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
    pub async fn rules(&self) -> Result<Rules, LedgerError> {
        let doing = "reading what a round goes by";
        let mut conn = self.pools().bare(doing).await?;
        let rows = sqlx::query(SWITCHES).fetch_all(&mut *conn).await.map_err(|e| failed(doing, e))?;
        let switches: Result<_, LedgerError> = rows.iter().map(|r| Ok((r.text("key")?, r.text("value")?))).collect();
        let rows = sqlx::query(DESTINATIONS).fetch_all(&mut *conn).await.map_err(|e| failed(doing, e))?;
        let destinations: Result<_, _> = rows.iter().map(directory::read_destination).collect();
        let rows = sqlx::query(DEVICES).fetch_all(&mut *conn).await.map_err(|e| failed(doing, e))?;
        let certs: Result<_, _> = rows.iter().map(directory::read_cert).collect();
        Ok(Rules { switches: switches?, destinations: destinations?, certs: certs? })
    }
}
