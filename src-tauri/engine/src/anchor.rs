//! The ledger's head, anchored outside the ledger (R27, F10).
//!
//! A restored backup, a copied home or a rolled-back disk has a head that the anchor does not know, or lies in another
//! place. Dispatch then freezes. After a person adopted such a ledger, every action it holds that is not accepted counts as
//! *may have been sent*: its first attempt starts with a look-up, and where absence proves nothing a person signs.

use crate::core::Core;
use crate::failure::Failure;
use crate::home::Home;
use crate::keychain::{Anchor, Keychain, Presence};
use countersign_domain::{ActionId, PersonId, Timestamp};
use countersign_ledger::{Detail, Head, JournalRow, Ledger};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::path::Path;
use std::time::Duration;

/// Setting that holds why dispatch is frozen; empty when it is not.
pub(crate) const FROZEN: &str = "frozen";
/// Setting by which the ledger knows that it is a backup copy; the ledger writes it, adoption empties it.
const BACKUP_MARK: &str = "backup";
/// Setting that holds the last [`Adopted`].
pub(crate) const ADOPTED: &str = "adopted";
/// A source that tells no time of a request is expected to deliver again within this time after an adoption.
const REDELIVERED_WITHIN: Duration = Duration::from_secs(14 * 24 * 3600);
/// The finding a person clears to say that an action of a restored ledger was not sent.
pub const MAY_HAVE_BEEN_SENT: &str = "may_have_been_sent";

/// Why dispatch is frozen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frozen {
    /// The ledger is a backup copy.
    Restored,
    /// The home lies in another place or on another machine than the anchor knows.
    Copied,
    /// The ledger is behind its anchor, or has another history.
    RolledBack,
    /// No anchor is there although there should be one.
    AnchorLost,
    /// Something that was about to be sent was found at the destination already, without a crossing of ours.
    FoundElsewhere,
    /// A hash or signature does not hold.
    Integrity,
    /// A person froze it.
    ByHand,
}

impl Frozen {
    pub const ALL: [Frozen; 7] = [
        Frozen::Restored,
        Frozen::Copied,
        Frozen::RolledBack,
        Frozen::AnchorLost,
        Frozen::FoundElsewhere,
        Frozen::Integrity,
        Frozen::ByHand,
    ];

    pub const fn word(self) -> &'static str {
        match self {
            Frozen::Restored => "restored",
            Frozen::Copied => "copied",
            Frozen::RolledBack => "rolled_back",
            Frozen::AnchorLost => "anchor_lost",
            Frozen::FoundElsewhere => "found_elsewhere",
            Frozen::Integrity => "integrity",
            Frozen::ByHand => "by_hand",
        }
    }

    /// Whether lifting it means taking over a ledger whose past may differ from what was sent.
    pub const fn needs_adoption(self) -> bool {
        match self {
            Frozen::Restored | Frozen::Copied | Frozen::RolledBack | Frozen::AnchorLost => true,
            Frozen::FoundElsewhere | Frozen::Integrity | Frozen::ByHand => false,
        }
    }

    /// What happened, what is known, what comes next, who decides.
    pub const fn text(self) -> &'static str {
        match self {
            Frozen::Restored => {
                "This ledger is a restored backup. What was sent after the backup is not in it, so nothing is sent by \
                 itself. Adopt it to go on: every open action is looked up first."
            }
            Frozen::Copied => {
                "This ledger was made in another place or on another machine. If the other one still runs, both could \
                 send the same. Adopt this one to go on: every open action is looked up first."
            }
            Frozen::RolledBack => {
                "This ledger is older than what was last sent from it, or has another past. Nothing is sent by itself. \
                 Adopt it to go on: every open action is looked up first."
            }
            Frozen::AnchorLost => {
                "The mark that shows whether this ledger is current is missing from the secrets store. Adopt the ledger \
                 to go on: every open action is looked up first."
            }
            Frozen::FoundElsewhere => {
                "Something that was about to go out was found at its destination, and it was not handed over from this \
                 ledger. Another copy of it may be sending. Nothing goes out until you lift this."
            }
            Frozen::Integrity => {
                "Something in this ledger does not match its signature or hash. Nothing goes out until you have looked \
                 (`verify` names it) and lifted this."
            }
            Frozen::ByHand => "Dispatch was frozen by hand. Nothing goes out until you lift this.",
        }
    }

    /// From the setting; whatever else stands there was somebody's hand.
    pub(crate) fn stored(word: &str) -> Frozen {
        Frozen::ALL.into_iter().find(|f| f.word() == word).unwrap_or(Frozen::ByHand)
    }
}

/// What a person took over, and up to which action it may have been sent elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Adopted {
    pub why: String,
    pub seq: i64,
    /// Number of the newest action at that time.
    pub last_action: i64,
    pub at: Timestamp,
}

impl Adopted {
    /// This, where the other copy may have sent that action; see [`may_have_been_sent`].
    pub(crate) fn knew(self, detail: &Detail) -> Option<Adopted> {
        if detail.record.id().0 <= self.last_action {
            return Some(self);
        }
        // A conversation that came later than the action says nothing about when the request was first known.
        let replaced = |row: &JournalRow| row.entry.fact["details"]["news"] == true || row.kind == "redrafted";
        let told = detail.conversation.as_ref().filter(|_| !detail.journal.iter().any(replaced));
        let received = told.and_then(|told| told.received_at);
        let created = detail.record.row.created_at;
        let known_before = match received {
            Some(received) => received <= self.at,
            None => created < self.at.plus(REDELIVERED_WITHIN),
        };
        known_before.then_some(self)
    }

    /// Whether the action's journal holds a person's word from after this adoption that it was not sent.
    pub(crate) fn word_since(&self, detail: &Detail) -> bool {
        detail.journal.iter().any(|row| {
            let told = &row.entry.fact["details"];
            row.kind == "finding_cleared"
                && row.entry.seq > self.seq
                && told["code"] == MAY_HAVE_BEEN_SENT
                && told["version"] == detail.record.row.payload_version
        })
    }
}

/// Digest of this machine and the home's real path.
pub(crate) fn place(home: &Home) -> String {
    place_of(&machine(), &home.dir().canonicalize().unwrap_or_else(|_| home.dir().to_path_buf()))
}

fn place_of(machine: &str, dir: &Path) -> String {
    let mut hasher = Sha256::new();
    hasher.update(b"countersign/place/v1\n");
    hasher.update(machine);
    hasher.update(b"\n");
    hasher.update(dir.as_os_str().as_encoded_bytes());
    hex::encode(hasher.finalize())
}

/// What the operating system calls this installation. Where there is no such text the keychain, which belongs to the
/// machine, is the whole tie.
fn machine() -> String {
    ["/etc/machine-id", "/var/lib/dbus/machine-id"]
        .iter()
        .find_map(|path| std::fs::read_to_string(Path::new(path)).ok())
        .map(|text| text.trim().to_owned())
        .unwrap_or_default()
}

fn at(ledger: &Ledger, head: &Head, home: &Home) -> Anchor {
    Anchor { ledger_id: ledger.id().to_owned(), seq: head.seq, hash: head.hash.to_string(), place: place(home) }
}

/// The anchor of a new home.
pub(crate) async fn first(ledger: &Ledger, keychain: &Keychain, home: &Home) -> Result<(), Failure> {
    keychain.set_anchor(&at(ledger, &ledger.head().await?, home)).await
}

/// Compares ledger and anchor. Reads the anchor first: the ledger is always written before it.
pub(crate) async fn compare(ledger: &Ledger, keychain: &Keychain, home: &Home) -> Result<Option<Frozen>, Failure> {
    let anchor = keychain.anchor().await?;
    if ledger.is_backup().await? {
        return Ok(Some(Frozen::Restored));
    }
    let Some(anchor) = anchor else { return Ok(Some(Frozen::AnchorLost)) };
    if anchor.ledger_id != ledger.id() {
        return Ok(Some(Frozen::RolledBack));
    }
    let known = ledger.hash_at(anchor.seq).await?.map(|hash| hash.to_string());
    if anchor.seq > 0 && known.as_deref() != Some(anchor.hash.as_str()) {
        return Ok(Some(Frozen::RolledBack));
    }
    if anchor.place != place(home) {
        return Ok(Some(Frozen::Copied));
    }
    Ok(None)
}

/// Why dispatch is frozen, if it is.
pub(crate) async fn frozen(ledger: &Ledger) -> Result<Option<Frozen>, Failure> {
    let stored = ledger.setting(FROZEN).await?.unwrap_or_default();
    Ok((!stored.is_empty()).then(|| Frozen::stored(&stored)))
}

impl Core {
    /// Why dispatch is frozen, if it is.
    pub async fn frozen(&self) -> Result<Option<Frozen>, Failure> {
        frozen(&self.ledger).await
    }

    /// Compares with the anchor and freezes on a mismatch.
    pub(crate) async fn check_anchor(&self) -> Result<Option<Frozen>, Failure> {
        if let Some(why) = compare(&self.ledger, &self.keychain, &self.home).await? {
            let stored = self.frozen().await?;
            if !stored.is_some_and(Frozen::needs_adoption) {
                self.freeze(why, "worker").await?;
            }
            return Ok(Some(why));
        }
        self.frozen().await
    }

    /// Stops dispatch in every environment, durably.
    pub async fn freeze(&self, why: Frozen, by: &str) -> Result<(), Failure> {
        Ok(self.ledger.set_setting(FROZEN, why.word(), by, self.clock.now()).await?)
    }

    /// Lifts a freeze. A ledger that was restored, copied or rolled back must be adopted; without its old secret it cannot.
    /// Answers whether it was adopted: a freeze that needs none takes nothing over, whatever was said.
    pub async fn unfreeze(&self, adopt: bool, by: &PersonId, _presence: &Presence) -> Result<bool, Failure> {
        let mismatch = compare(&self.ledger, &self.keychain, &self.home).await?;
        let stored = self.frozen().await?;
        let Some(why) = mismatch.or(stored) else {
            return Err(Failure::conflict("dispatch is not frozen"));
        };
        let now = self.clock.now();
        let adopts = why.needs_adoption() || mismatch.is_some();
        if adopts {
            if !adopt {
                return Err(Failure::conflict(format!("{} Say --adopt to take it over.", why.text())));
            }
            self.check_secret().await?;
            let last_action = self.last_action().await?;
            let seq = self.ledger.head().await?.seq;
            let adopted = Adopted { why: why.word().to_owned(), seq, last_action, at: now };
            let text = serde_json::to_string(&adopted).map_err(|e| Failure::internal(e.to_string()))?;
            // The doubt is on disk before the freeze goes.
            self.ledger.set_setting(ADOPTED, &text, &by.0, now).await?;
            self.ledger.set_setting(BACKUP_MARK, "", &by.0, now).await?;
        }
        let head = self.ledger.head().await?;
        self.keychain.set_anchor(&at(&self.ledger, &head, &self.home)).await?;
        self.ledger.set_setting(FROZEN, "", &by.0, now).await?;
        Ok(adopts)
    }

    /// The secret in the store must be the one this ledger's keys were made with.
    async fn check_secret(&self) -> Result<(), Failure> {
        let secret = self.ledger_secret().await?;
        let newest = self.last_action().await?;
        for n in (1..=newest).rev() {
            let Some(action) = self.ledger.action(ActionId(n)).await? else { continue };
            if let (Some(key), Some(stored)) = (&action.key, &action.idempotency_key) {
                if key.idempotency_key(&secret) == *stored {
                    return Ok(());
                }
                return Err(Failure::frozen(
                    "the secrets store does not hold the secret this ledger's keys were made with; nothing is adopted. \
                     Import the recovery export first",
                ));
            }
        }
        Ok(())
    }

    async fn last_action(&self) -> Result<i64, Failure> {
        let page = self.ledger.page(&countersign_ledger::PageFilter::default(), None, 1).await?;
        Ok(page.rows.first().map_or(0, |row| row.id.0))
    }

    /// Whether an action may have been sent from another copy of this ledger; see [`may_have_been_sent`].
    pub async fn may_have_been_sent(&self, action: ActionId) -> Result<Option<Adopted>, Failure> {
        may_have_been_sent(&self.ledger, action).await
    }

    /// Whether a person said, since the adoption and of the payload as it stands, that the action was not sent. The order
    /// of the journal tells, not a clock: a word given before an earlier adoption says nothing about this one.
    pub async fn said_unsent(&self, action: ActionId, adopted: &Adopted) -> Result<bool, Failure> {
        let detail = self.ledger.detail(action).await?;
        Ok(adopted.word_since(&detail))
    }

    /// Raises the anchor to this head, unless it is further on already.
    pub(crate) async fn raise_anchor(&self, head: &Head) -> Result<(), Failure> {
        let ours = at(&self.ledger, head, &self.home);
        let Some(there) = self.keychain.raise_anchor(&ours).await? else { return Ok(()) };
        // Another attempt raised it further, which is as good. Anything else means that this ledger is not the one that
        // the anchor knows: it was replaced, or taken over in another place, while this program ran.
        let why = match self.ledger.hash_at(there.seq).await? {
            _ if there.ledger_id != ours.ledger_id => Frozen::RolledBack,
            known if there.seq > 0 && known.is_none_or(|hash| hash.to_string() != there.hash) => Frozen::RolledBack,
            _ if there.place != ours.place => Frozen::Copied,
            _ => return Ok(()),
        };
        self.freeze(why, "worker").await?;
        Err(Failure::frozen(why.text()))
    }
}

/// Whether an action may have been sent from another copy of this ledger: why it was adopted. That is every action of the
/// ledger that was taken over; and every later one whose request is older than that, as the other copy may have known it,
/// too, and a source that delivers it again gets a new number for it.
pub(crate) async fn may_have_been_sent(ledger: &Ledger, action: ActionId) -> Result<Option<Adopted>, Failure> {
    match adopted(ledger.setting(ADOPTED).await?.as_deref())? {
        None => Ok(None),
        Some(adopted) if action.0 <= adopted.last_action => Ok(Some(adopted)),
        Some(adopted) => Ok(adopted.knew(&ledger.detail(action).await?)),
    }
}

/// What stands in the setting [`ADOPTED`].
pub(crate) fn adopted(stored: Option<&str>) -> Result<Option<Adopted>, Failure> {
    let read = |text| {
        serde_json::from_str(text).map_err(|_| Failure::integrity("the record of what was adopted cannot be read"))
    };
    stored.map(read).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f10_the_same_folder_on_another_machine_is_another_place() {
        let dir = std::env::temp_dir().canonicalize().expect("it is there");
        assert_ne!(place_of("0123456789abcdef", &dir), place_of("fedcba9876543210", &dir));
        assert_eq!(place(&Home::at(&dir)), place_of(&machine(), &dir), "this machine is in it");
    }
}
