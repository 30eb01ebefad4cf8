//! Whether an attempt in doubt may still repeat under its key, judged at the last moment before the crossing: the look, the
//! login and the connection took their time since it was planned, and somebody may have signed in anew.

use crate::destinations::Reached;
use crate::dispatch::{Worker, waiting};
use crate::failure::Failure;
use countersign_connectors::Login;
use countersign_domain::policy::{may_repeat_by_itself, person_may_repeat};
use countersign_domain::{Contract, LedgerSecret, NotSent};
use countersign_ledger::Claim;
use hmac::{Hmac, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

/// In whose name an attempt is made. It matters for one in doubt only: how much of its key's window must be left depends on
/// who wants the repeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    ByItself,
    ByPerson,
}

/// Under which member of an attempt's notes the mark of its login stands.
const MARK: &str = "login";

impl Worker {
    /// Why a claim in doubt is not repeated, if it is not. A first attempt is none.
    pub(crate) async fn bars_repeat(
        &self,
        claim: &Claim,
        reached: &Reached,
        contract: &Contract,
        asked: Asked,
    ) -> Result<Option<NotSent>, Failure> {
        if !claim.standing.in_doubt {
            return Ok(None);
        }
        let first = self.core.ledger.action(claim.action).await?.and_then(|record| record.first_crossed);
        let holds = match (first, self.core.window_time().await?) {
            (Some(first), Some(now)) => match asked {
                Asked::ByItself => may_repeat_by_itself(contract, first, now),
                Asked::ByPerson => person_may_repeat(contract, first, now),
            },
            _ => false,
        };
        if !holds {
            let why = "the time in which the destination recognises a repeat is over, so nothing was repeated";
            return Ok(Some(waiting("engine:key_window", why)));
        }
        if contract.key_of_login {
            let mark = mark(&self.core.ledger_secret().await?, &reached.login);
            if !claim.noted.iter().all(|note| note[MARK] == mark) {
                let why = "somebody signed in anew since it was handed over, and of which account cannot be asked: another \
                           account does not know the key and would act again, so nothing was repeated";
                return Ok(Some(waiting("engine:other_login", why)));
            }
        }
        Ok(None)
    }

    /// What is written down of the login with the crossing, where the key is known to its account only.
    pub(crate) async fn note_login(
        &self,
        noted: Value,
        reached: &Reached,
        contract: &Contract,
    ) -> Result<Value, Failure> {
        let mut noted = noted;
        if contract.key_of_login {
            if noted.is_null() {
                noted = json!({});
            }
            noted[MARK] = mark(&self.core.ledger_secret().await?, &reached.login).into();
        }
        Ok(noted)
    }
}

/// Tells one login from another. Made with the ledger's secret, so nobody who holds the file alone can try passwords on it.
fn mark(secret: &LedgerSecret, login: &Login) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(&secret.0).expect("HMAC takes a key of any length");
    for part in ["countersign/login/v1", &login.username, &login.secret] {
        mac.update(&(part.len() as u64).to_be_bytes());
        mac.update(part.as_bytes());
    }
    hex::encode(&mac.finalize().into_bytes()[..8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r20_a_mark_tells_logins_apart_and_ledgers_too() {
        let of = |ledger: u8, name: &str, secret: &str| mark(&LedgerSecret([ledger; 32]), &Login::new(name, secret));
        assert_eq!(of(1, "", "re_1"), of(1, "", "re_1"));
        for other in [of(1, "", "re_2"), of(2, "", "re_1"), of(1, "re_", "1")] {
            assert_ne!(of(1, "", "re_1"), other);
        }
    }
}
