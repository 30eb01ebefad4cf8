//! Everything that is stored about one action, read in one trip and as one view: what is shown of it, signed, proven before
//! it is sent, and verified.

use crate::content::{self, StoredPayload};
use crate::proof::{APPROVALS, ATTEMPTS, CHAIN_OF_ACTION, SIGHTINGS, VERDICTS};
use crate::rows::{ACTION, Action};
use crate::script::{Answer, Said, say, trip};
use crate::slots::Lease;
use crate::tx::{Conn, exactly, statements};
use crate::types::{DestinationRecord, Head};
use crate::{Ledger, LedgerError, decide, directory, followup, journal, read};
use countersign_domain::{ActionId, Conversation, Sealed, Wire};

statements! {
    ATTACHMENTS = "SELECT sha256, bytes FROM attachments WHERE sha256 IN \
        (SELECT sha256 FROM payload_attachments WHERE action = $1)";
    WIRE = "SELECT w.bytes FROM actions a JOIN wires w ON w.action = a.n AND w.hash = a.wire_hash WHERE a.n = $1";
    CONVERSATION = "SELECT c.value FROM actions a JOIN conversations c ON c.hash = a.conversation WHERE a.n = $1";
    DESTINATION = concat!("SELECT ", directory::destination_columns!(), " FROM destinations \
        WHERE name = (SELECT destination FROM actions WHERE n = $1)");
}

pub(crate) struct Dossier {
    id: ActionId,
    action: Answer,
    head: Answer,
    wire: Answer,
    conversation: Answer,
    destination: Answer,
    payloads: Answer,
    pub(crate) attachments: Answer,
    /// With the hashes beside each row, as [`crate::proof::linked`] wants them.
    pub(crate) journal: Answer,
    pub(crate) approvals: Answer,
    pub(crate) attempts: Answer,
    pub(crate) sightings: Answer,
    pub(crate) verdicts: Answer,
    pub(crate) cleared: Answer,
    pub(crate) deliveries: Answer,
    pub(crate) filing: Answer,
}

impl Dossier {
    /// How many statements it is read with.
    pub(crate) const SAID: usize = 15;

    pub(crate) fn said(id: ActionId) -> [Said; Dossier::SAID] {
        let doing = "reading an action";
        let all = [
            ACTION,
            journal::HEAD,
            WIRE,
            CONVERSATION,
            DESTINATION,
            content::PAYLOADS,
            ATTACHMENTS,
            CHAIN_OF_ACTION,
            APPROVALS,
            ATTEMPTS,
            SIGHTINGS,
            VERDICTS,
            decide::CLEARED,
            read::DELIVERIES_OF,
            followup::FILING,
        ];
        all.map(|statement| match statement {
            journal::HEAD => say!(doing, statement),
            _ => say!(doing, statement, id.0),
        })
    }

    pub(crate) fn of(id: ActionId, answers: Vec<Answer>) -> Dossier {
        let [
            action,
            head,
            wire,
            conversation,
            destination,
            payloads,
            attachments,
            journal,
            approvals,
            attempts,
            sightings,
            verdicts,
            cleared,
            deliveries,
            filing,
        ] = exactly::<{ Dossier::SAID }>(answers);
        Dossier {
            id,
            action,
            head,
            wire,
            conversation,
            destination,
            payloads,
            attachments,
            journal,
            approvals,
            attempts,
            sightings,
            verdicts,
            cleared,
            deliveries,
            filing,
        }
    }

    pub(crate) fn action(&self) -> Result<Action, LedgerError> {
        let row = self.action.first().ok_or_else(|| LedgerError::not_found("action", self.id))?;
        Action::read(row)
    }

    pub(crate) fn head(&self) -> Result<Head, LedgerError> {
        journal::read_head(self.head.one("reading the journal's head")?)
    }

    pub(crate) fn payloads(&self) -> Result<Vec<StoredPayload>, LedgerError> {
        content::read_payloads(&self.payloads)
    }

    /// The current payload sealed again: its hash is computed, and must be the stored one.
    pub(crate) async fn sealed(&self, conn: &mut Conn, action: &Action) -> Result<Sealed, LedgerError> {
        let current = self.payloads()?.into_iter().find(|stored| stored.version == action.payload_version);
        let id = || format!("{} version {}", action.id(), action.payload_version);
        let stored = current.ok_or_else(|| LedgerError::corrupt("payload", id(), "its row is missing"))?;
        content::seal(conn, action, &stored, &self.attachments).await
    }

    /// The conversation behind the action, hashed again. None where there is none or it was purged.
    pub(crate) fn conversation(&self, action: &Action) -> Result<Option<Conversation>, LedgerError> {
        match action.conversation {
            Some(hash) => content::read_conversation(action.id(), hash, self.conversation.first()),
            None => Ok(None),
        }
    }

    /// The wire that the action names, hashed again.
    pub(crate) fn wire(&self, action: &Action) -> Result<Option<Wire>, LedgerError> {
        action.wire_hash.map(|hash| content::read_wire(action.id(), hash, self.wire.first())).transpose()
    }

    /// Also a removed one.
    pub(crate) fn destination(&self) -> Result<Option<DestinationRecord>, LedgerError> {
        self.destination.first().map(directory::read_destination).transpose()
    }
}

impl Dossier {
    /// Inside a transaction.
    pub(crate) async fn read(conn: &mut Conn, id: ActionId) -> Result<Dossier, LedgerError> {
        let mut said = Dossier::said(id);
        match trip(conn, None, &said, None).await {
            Ok(answers) => Ok(Dossier::of(id, answers)),
            Err(broke) => Err(broke.error(&mut said, "reading an action")),
        }
    }
}

impl Ledger {
    /// The dossier as one view; the connection may be asked for more that never changes.
    pub(crate) async fn dossier(&self, id: ActionId, doing: &'static str) -> Result<(Dossier, Lease), LedgerError> {
        let (answers, lease) = self.pools().view(doing, Dossier::said(id).into()).await?;
        Ok((Dossier::of(id, answers), lease))
    }
}
