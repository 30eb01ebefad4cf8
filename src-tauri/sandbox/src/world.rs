//! The sandbox's world: mailboxes in which every address has an INBOX, the effects, and the log of what was said.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::apps::oauth::Tokens;
use crate::config::{Config, FolderSetup, Habits, ImapFeatures, SmtpFeatures};
use crate::date::Clock;
use crate::faults::Script;
use crate::message::first_header;
use crate::signals::{Point, Signals};
use crate::store::Store;

pub(crate) type Folders = BTreeMap<String, Folder>;
pub(crate) type Mailboxes = BTreeMap<String, Folders>;

/// How many lines of dialogue the log keeps; the oldest go first.
const LOG_LIMIT: usize = 20_000;

/// A message in a folder.
#[derive(Clone, Debug)]
pub struct Stored {
    pub(crate) file: u64,
    /// IMAP UID.
    pub uid: u32,
    /// IMAP flags such as `\Seen`.
    pub flags: Vec<String>,
    /// Seconds since 1970 at which the server took it.
    pub internal_date: i64,
    pub(crate) modseq: u64,
    /// The message as IMAP serves it.
    pub bytes: Arc<[u8]>,
}

/// A folder of one address.
#[derive(Clone, Debug)]
pub(crate) struct Folder {
    pub(crate) special_use: Option<String>,
    pub(crate) uid_validity: u32,
    pub(crate) uid_next: u32,
    pub(crate) messages: Vec<Stored>,
    /// Taken, but a slow index does not show them yet. Their UID is 0 until then.
    pub(crate) hidden: Vec<Stored>,
}

impl Folder {
    pub(crate) fn new(special_use: Option<String>, uid_validity: u32) -> Folder {
        Folder { special_use, uid_validity, uid_next: 1, messages: Vec::new(), hidden: Vec::new() }
    }

    pub(crate) fn highest_modseq(&self) -> u64 {
        // RFC 7162 wants at least 1, also for an empty folder.
        self.messages.iter().map(|stored| stored.modseq).max().unwrap_or(1)
    }

    fn show(&mut self, mut stored: Stored) -> u32 {
        stored.uid = self.uid_next;
        stored.modseq = self.highest_modseq() + 1;
        self.uid_next += 1;
        self.messages.push(stored);
        self.uid_next - 1
    }

    /// Shows what was hidden; how many there were.
    pub(crate) fn reveal(&mut self) -> usize {
        let hidden = std::mem::take(&mut self.hidden);
        let count = hidden.len();
        for stored in hidden {
            self.show(stored);
        }
        count
    }
}

/// The envelope of one transaction, as the client gave it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Envelope {
    /// Reverse path without brackets; empty for `<>`.
    pub mail_from: String,
    /// The accepted recipients without brackets, in the order of RCPT.
    pub rcpt_to: Vec<String>,
    /// Who was logged in.
    pub login: String,
    /// ENVID, decoded from xtext.
    pub envid: Option<String>,
    /// RET.
    pub ret: Option<String>,
    /// NOTIFY of each recipient, as given.
    pub notify: Vec<Option<String>>,
    /// ORCPT of each recipient, as given.
    pub orcpt: Vec<Option<String>>,
    /// SMTPUTF8 was asked for.
    pub smtputf8: bool,
    /// BODY was 8BITMIME.
    pub eight_bit: bool,
    /// BDAT was used.
    pub chunked: bool,
}

/// One message that the SMTP server took: the outside effect that must happen once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effect {
    /// Place in the order of everything that happened (see [`Said::at_seq`]).
    pub at_seq: u64,
    /// The queue id that the 250 names.
    pub queue_id: String,
    /// Who sent it to whom.
    #[serde(flatten)]
    pub envelope: Envelope,
    /// The message exactly as it was submitted, dots unstuffed.
    #[serde(with = "base64_bytes")]
    pub bytes: Vec<u8>,
}

impl Effect {
    /// The unfolded values of a header of the submitted message.
    pub fn header(&self, name: &str) -> Vec<String> {
        crate::message::header_values(&self.bytes, name)
    }
}

/// One APPEND that was stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Appended {
    /// Place in the order of everything that happened.
    pub at_seq: u64,
    /// Whose mailbox.
    pub address: String,
    /// Which folder.
    pub folder: String,
    /// The UID it got.
    pub uid: u32,
    /// The flags it came with.
    pub flags: Vec<String>,
    /// The message.
    #[serde(with = "base64_bytes")]
    pub bytes: Vec<u8>,
}

/// SMTP or IMAP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// Submission.
    Smtp,
    /// Mailbox access.
    Imap,
}

/// One line a client said. Credentials are replaced by `…`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    /// Place in the order of everything that happened: lines, effects and appends share one counter.
    pub at_seq: u64,
    /// Which connection; numbered from 1 over both servers.
    pub connection: u64,
    /// Which server.
    pub protocol: Protocol,
    /// The line without its end; a literal is shown as its size.
    pub line: String,
}

pub(crate) mod base64_bytes {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(bytes))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(deserializer)?;
        STANDARD.decode(text).map_err(serde::de::Error::custom)
    }
}

pub(crate) struct Inner {
    pub(crate) mailboxes: Mailboxes,
    pub(crate) effects: Vec<Effect>,
    pub(crate) appends: Vec<Appended>,
    pub(crate) said: VecDeque<Said>,
    pub(crate) connections: Vec<Protocol>,
    pub(crate) smtp: SmtpFeatures,
    pub(crate) imap: ImapFeatures,
    pub(crate) habits: Habits,
    folders: Vec<FolderSetup>,
    next_file: u64,
    next_validity: u32,
    seq: u64,
}

impl Inner {
    pub(crate) fn next_seq(&mut self) -> u64 {
        self.seq += 1;
        self.seq
    }
}

/// What both servers and the control channel share.
pub(crate) struct World {
    inner: Mutex<Inner>,
    accounts: Vec<crate::config::Account>,
    /// Access tokens that are taken instead of a password. None: the servers offer no such login.
    pub(crate) tokens: Mutex<Option<Tokens>>,
    pub(crate) signals: Signals,
    pub(crate) script: Script,
    pub(crate) clock: Clock,
    /// Moves whenever a folder changes; IDLE waits on it.
    pub(crate) changed: watch::Sender<u64>,
    /// Moves at every `release`.
    pub(crate) released: watch::Sender<u64>,
    pub(crate) store: Option<Store>,
}

pub(crate) fn lower(address: &str) -> String {
    address.to_lowercase()
}

/// INBOX is the one folder whose name knows no case.
pub(crate) fn folder_name(name: &str) -> &str {
    if name.eq_ignore_ascii_case("INBOX") { "INBOX" } else { name }
}

impl World {
    pub(crate) fn new(config: Config, store: Option<Store>) -> std::io::Result<World> {
        let (mailboxes, highest) = store.as_ref().map_or(Ok((Mailboxes::new(), 0)), Store::load)?;
        let effects = store.as_ref().map_or(Ok(Vec::new()), Store::load_effects)?;
        let in_use = mailboxes.values().flat_map(|folders| folders.values()).map(|folder| folder.uid_validity).max();
        let born = u32::try_from(config.clock.unix_seconds()).unwrap_or(1).max(1);
        let inner = Inner {
            mailboxes,
            seq: effects.last().map_or(0, |effect| effect.at_seq),
            effects,
            appends: Vec::new(),
            said: VecDeque::new(),
            connections: Vec::new(),
            smtp: config.smtp,
            imap: config.imap,
            habits: config.habits,
            folders: config.folders,
            next_file: highest + 1,
            next_validity: in_use.map_or(born, |validity| (validity + 1).max(born)),
        };
        let world = World {
            inner: Mutex::new(inner),
            accounts: config.accounts,
            tokens: Mutex::default(),
            signals: Signals::new(),
            script: Script::default(),
            clock: config.clock,
            changed: watch::Sender::new(0),
            released: watch::Sender::new(0),
            store,
        };
        for account in &world.accounts {
            world.mailbox_of(&mut world.lock(), &lower(&account.address));
        }
        Ok(world)
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The address of the login, when the password is right.
    pub(crate) fn login(&self, user: &str, password: &str) -> Option<String> {
        let account = self.accounts.iter().find(|account| account.address.eq_ignore_ascii_case(user))?;
        (account.password == password).then(|| lower(&account.address))
    }

    pub(crate) fn tokens(&self) -> Option<Tokens> {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The address of the login, when the token is one of this user's.
    pub(crate) fn login_by_token(&self, user: &str, token: &str) -> Option<String> {
        let account = self.accounts.iter().find(|account| account.address.eq_ignore_ascii_case(user))?;
        let owner = self.tokens()?.user(token)?;
        owner.eq_ignore_ascii_case(user).then(|| lower(&account.address))
    }

    /// Makes sure the address has its folders, on disk too, so that UIDVALIDITY never changes by itself.
    fn mailbox_of(&self, inner: &mut Inner, address: &str) {
        let inbox = FolderSetup { name: "INBOX".to_owned(), special_use: None };
        for setup in std::iter::once(inbox).chain(inner.folders.clone()) {
            if inner.mailboxes.get(address).is_none_or(|folders| !folders.contains_key(&setup.name)) {
                self.create_folder_in(inner, address, &setup);
            }
        }
    }

    fn create_folder_in(&self, inner: &mut Inner, address: &str, setup: &FolderSetup) {
        let folder = Folder::new(setup.special_use.clone(), inner.next_validity);
        inner.next_validity += 1;
        if let Some(store) = &self.store {
            keep(store.save_index(address, &setup.name, &folder));
        }
        inner.mailboxes.entry(address.to_owned()).or_default().insert(setup.name.clone(), folder);
    }

    /// False when it was there already.
    pub(crate) fn create_folder(&self, address: &str, name: &str) -> bool {
        let mut inner = self.lock();
        if inner.mailboxes.get(address).is_some_and(|folders| folders.contains_key(folder_name(name))) {
            return false;
        }
        self.create_folder_in(&mut inner, address, &FolderSetup { name: name.to_owned(), special_use: None });
        true
    }

    /// The folder with this special use.
    pub(crate) fn special_folder(inner: &Inner, address: &str, special_use: &str) -> Option<String> {
        let folders = inner.mailboxes.get(address)?;
        let wanted = folders.iter().find(|(_, folder)| folder.special_use.as_deref() == Some(special_use));
        wanted.map(|(name, _)| name.clone())
    }

    /// Puts a message into a folder. The UID, or `None` while a slow index hides it.
    pub(crate) fn file(
        &self,
        inner: &mut Inner,
        address: &str,
        folder: &str,
        bytes: &[u8],
        filing: Filing,
    ) -> Option<u32> {
        let address = lower(address);
        self.mailbox_of(inner, &address);
        let (slow, flags, date) = match filing {
            Filing::ByServer { seen } => {
                let flags = if seen { vec!["\\Seen".to_owned()] } else { Vec::new() };
                (self.script.slow_index(folder), flags, self.clock.unix_seconds())
            }
            Filing::ByClient { flags, date } => (false, flags, date.unwrap_or_else(|| self.clock.unix_seconds())),
        };
        let stored =
            Stored { file: inner.next_file, uid: 0, flags, internal_date: date, modseq: 1, bytes: bytes.into() };
        inner.next_file += 1;
        if let Some(store) = &self.store {
            keep(store.save_message(&address, folder, &stored));
        }
        let target = inner.mailboxes.get_mut(&address)?.get_mut(folder)?;
        let uid = if slow {
            target.hidden.push(stored);
            None
        } else {
            Some(target.show(stored))
        };
        if let Some(store) = &self.store {
            keep(store.save_index(&address, folder, target));
        }
        if uid.is_some() {
            self.moved(1);
        }
        uid
    }

    /// Takes messages out of a folder for good.
    pub(crate) fn expunge(&self, inner: &mut Inner, address: &str, folder: &str, gone: impl Fn(&Stored) -> bool) {
        let Some(target) = inner.mailboxes.get_mut(address).and_then(|folders| folders.get_mut(folder)) else { return };
        for stored in target.messages.iter().filter(|stored| gone(stored)) {
            if let Some(store) = &self.store {
                keep(store.remove_message(address, folder, stored.file));
            }
        }
        target.messages.retain(|stored| !gone(stored));
        if let Some(store) = &self.store {
            keep(store.save_index(address, folder, target));
        }
    }

    /// Marks messages as read, as BODY[] without PEEK does.
    pub(crate) fn mark_seen(&self, address: &str, name: &str, uids: &[u32]) {
        let mut inner = self.lock();
        let Some(folder) = inner.mailboxes.get_mut(address).and_then(|folders| folders.get_mut(name)) else { return };
        let modseq = folder.highest_modseq() + 1;
        for stored in folder.messages.iter_mut().filter(|stored| uids.contains(&stored.uid)) {
            if !stored.flags.iter().any(|flag| flag == "\\Seen") {
                stored.flags.push("\\Seen".to_owned());
                stored.modseq = modseq;
            }
        }
        if let Some(store) = &self.store {
            keep(store.save_index(address, name, folder));
        }
    }

    /// Shows what slow indexes hide, everywhere.
    pub(crate) fn release_index(&self) {
        let mut inner = self.lock();
        let mut shown = 0;
        for (address, folders) in &mut inner.mailboxes {
            for (name, folder) in folders {
                let count = folder.reveal();
                shown += count;
                if let (Some(store), true) = (&self.store, count > 0) {
                    keep(store.save_index(address, name, folder));
                }
            }
        }
        self.moved(shown);
    }

    /// Gives a folder a new UIDVALIDITY and new UIDs, as a server does whose index was rebuilt.
    pub(crate) fn rebuild_folder(&self, address: &str, name: &str) {
        let mut inner = self.lock();
        let validity = inner.next_validity;
        inner.next_validity += 1;
        let Some(folder) = inner.mailboxes.get_mut(&lower(address)).and_then(|all| all.get_mut(folder_name(name)))
        else {
            return;
        };
        let messages = std::mem::take(&mut folder.messages);
        folder.uid_validity = validity;
        folder.uid_next = 1;
        for stored in messages {
            folder.show(stored);
        }
        if let Some(store) = &self.store {
            keep(store.save_index(&lower(address), folder_name(name), folder));
        }
    }

    fn moved(&self, count: usize) {
        for _ in 0..count {
            self.signals.reached(Point::Filed);
        }
        if count > 0 {
            self.changed.send_modify(|version| *version += 1);
        }
    }

    /// A new connection's number.
    pub(crate) fn connected(&self, protocol: Protocol) -> u64 {
        let mut inner = self.lock();
        inner.connections.push(protocol);
        let number = inner.connections.len() as u64;
        drop(inner);
        self.signals.reached(if protocol == Protocol::Smtp { Point::Connected } else { Point::ImapConnected });
        number
    }

    pub(crate) fn said(&self, protocol: Protocol, connection: u64, line: String) {
        let mut inner = self.lock();
        let at_seq = inner.next_seq();
        if inner.said.len() >= LOG_LIMIT {
            inner.said.pop_front();
        }
        inner.said.push_back(Said { at_seq, connection, protocol, line });
    }

    /// APPEND of one message. `None` when the folder is not there.
    pub(crate) fn append(
        &self,
        address: &str,
        folder: &str,
        flags: Vec<String>,
        date: Option<i64>,
        bytes: &[u8],
    ) -> Option<(u32, u32)> {
        let mut inner = self.lock();
        let folder = folder_name(folder);
        let validity = inner.mailboxes.get(address)?.get(folder)?.uid_validity;
        if inner.habits.append_replaces_same_id {
            let id = first_header(bytes, "message-id");
            self.expunge(&mut inner, address, folder, |stored| {
                !id.is_empty() && first_header(&stored.bytes, "message-id") == id
            });
        }
        let uid = self.file(&mut inner, address, folder, bytes, Filing::ByClient { flags: flags.clone(), date })?;
        let at_seq = inner.next_seq();
        let (address, folder) = (address.to_owned(), folder.to_owned());
        inner.appends.push(Appended { at_seq, address, folder, uid, flags, bytes: bytes.to_vec() });
        drop(inner);
        self.signals.reached(Point::Appended);
        Some((validity, uid))
    }
}

/// Who puts a message into a folder.
pub(crate) enum Filing {
    /// The server itself: a delivery, a report, its own Sent copy.
    ByServer {
        /// Marked as read.
        seen: bool,
    },
    /// A client by APPEND.
    ByClient {
        /// Flags it gave.
        flags: Vec<String>,
        /// Date it gave.
        date: Option<i64>,
    },
}

/// A copy that cannot be written is still in memory; the pretend server says so in the log and goes on.
pub(crate) fn keep(result: std::io::Result<()>) {
    if let Err(error) = result {
        tracing::error!(%error, "the sandbox cannot write to its directory");
    }
}

impl World {
    /// Waits for the release of an answer that is held; hands back what is to be said then.
    pub(crate) async fn after_release(&self, mut answer: crate::faults::Misbehaviour) -> crate::faults::Misbehaviour {
        while let crate::faults::Misbehaviour::Held { then } = answer {
            let mut released = self.released.subscribe();
            self.signals.reached(Point::Held);
            // The sender lives in `self`, so this can only end with a release.
            if released.changed().await.is_err() {
                tracing::debug!("the world ended while an answer was held");
            }
            answer = *then;
        }
        answer
    }
}
