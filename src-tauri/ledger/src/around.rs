//! What the ledger knows around one action, in one trip: who and what its people are, what else went to them, where it may
//! go, what was set.

use crate::claim::BESIDE;
use crate::directory::{self, DESTINATIONS, SETTING};
use crate::read::{self, KNOWN_DOMAINS, KNOWN_PERSON};
use crate::rows::Get;
use crate::script::say;
use crate::types::{Around, AroundWhat};
use crate::{Ledger, LedgerError, related};
use countersign_domain::risk::Known;
use countersign_domain::{ActionId, Timestamp};
use std::collections::BTreeMap;

impl Ledger {
    pub async fn around(&self, id: ActionId, what: &AroundWhat<'_>, now: Timestamp) -> Result<Around, LedgerError> {
        let doing = "reading what is around an action";
        let environment = what.environment;
        let mut domains = self.inner.domains.lock().await;
        let (upto, met) = domains.entry(environment.to_owned()).or_default();
        let mut script = vec![
            say!(doing, KNOWN_DOMAINS, environment, *upto),
            say!(doing, DESTINATIONS),
            say!(doing, BESIDE, id.0, now.millis()),
        ];
        script.extend(related::said(id));
        script.extend(what.addresses.iter().map(|address| say!(doing, KNOWN_PERSON, environment, address)));
        script.extend(what.settings.iter().map(|key| say!(doing, SETTING, *key)));
        let (answers, _) = self.pools().view(doing, script).await?;
        let mut answers = answers.into_iter();
        let mut next = || answers.next().unwrap_or_default();

        read::learn_domains(&next().rows, upto, met)?;
        let mut known = Known { domains: met.clone(), ..Known::default() };
        let mut destinations = Vec::new();
        for row in &next().rows {
            destinations.extend(Some(directory::read_destination(row)?).filter(|d| d.environment == environment));
        }
        let beside = next().first().map(|row| row.int("n").map(ActionId)).transpose()?;
        let related = related::of(&[next(), next(), next(), next()])?;
        for address in what.addresses {
            let times: u32 = next().first().map(|row| row.num("times")).transpose()?.unwrap_or(0);
            if times > 0 {
                known.recipients.push((address.clone(), times));
            }
        }
        let mut settings = BTreeMap::new();
        for key in what.settings {
            if let Some(row) = next().first() {
                settings.insert((*key).to_owned(), row.text("value")?);
            }
        }
        Ok(Around { known, destinations, related, beside, settings })
    }
}
