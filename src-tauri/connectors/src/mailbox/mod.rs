//! A mailbox over IMAP, read-only but for the copy in Sent and the letterbox. A thin layer: every call has a time limit after which the
//! connection is dropped, and every argument is quoted and checked, because the client below takes raw text and a line
//! break in it would be a second command.

mod append;
pub mod headers;
mod letterbox;
mod post;
pub mod query;

pub use append::Appended;
pub use headers::Headers;
pub use letterbox::{Letterbox, OpenLetterbox, Post, Shelf};
pub use post::{Handed, NoDocument};

use crate::login::Login;
use crate::providers::mailbox::config::Security;
use crate::sasl::Bearer;
use crate::transport::reply::without_addresses;
use crate::transport::tls::{Server, Stream, Unreached};
use async_imap::error::Error as ImapError;
use async_imap::imap_proto::{Capability, MailboxDatum, NameAttribute, Response, Status};
use futures_util::TryStreamExt as _;
use query::{Query, quoted};
use serde_json::{Value, json};
use std::future::Future;
use std::time::Duration;
use tokio::io::AsyncWriteExt as _;
use tokio::time::timeout;

/// Longest wait for one call. A first header search of a large folder takes ten seconds and more.
const CALL_TIMEOUT: Duration = Duration::from_secs(60);
/// Messages looked at per search, the newest ones.
const FETCH_MAX: usize = 50;
/// A message larger than this is looked at by its headers only.
const BODY_MAX: u32 = 10 << 20;

/// Why a mailbox told nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MailboxError {
    Unreached(Unreached),
    /// The login was refused. The server's words, without addresses.
    Login(String),
    Timeout,
    Lost,
    /// A clear no to one command.
    Refused(String),
    /// An answer that could not be understood.
    Odd,
    /// No folder is marked as Sent or has one of its usual names.
    NoSentFolder,
    /// The folder has another use, and everything would be taken out of it.
    Reserved,
}

impl MailboxError {
    /// For people; without addresses.
    pub fn text(&self) -> String {
        match self {
            MailboxError::Unreached(why) => format!("the mailbox: {}", why.text()),
            MailboxError::Login(words) => format!("the mailbox refused the login: {words}"),
            MailboxError::Timeout => "the mailbox did not answer in time".into(),
            MailboxError::Lost => "the connection to the mailbox broke".into(),
            MailboxError::Refused(words) => format!("the mailbox said no: {words}"),
            MailboxError::Odd => "the mailbox gave an answer that could not be read".into(),
            MailboxError::NoSentFolder => "the mailbox has no Sent folder; name it in sent_folder".into(),
            MailboxError::Reserved => "this folder has another use; name one that is for nothing else".into(),
        }
    }

    /// Whether it was the login: asking again before a person signed in could lock the account.
    pub fn is_login(&self) -> bool {
        matches!(self, MailboxError::Login(_))
    }

    /// Whether asking again soon is pointless.
    pub fn pauses(&self) -> bool {
        match self {
            MailboxError::Unreached(_)
            | MailboxError::Login(_)
            | MailboxError::NoSentFolder
            | MailboxError::Reserved => true,
            MailboxError::Timeout | MailboxError::Lost | MailboxError::Refused(_) | MailboxError::Odd => false,
        }
    }
}

impl From<ImapError> for MailboxError {
    fn from(e: ImapError) -> Self {
        match e {
            ImapError::No(words) => MailboxError::Refused(without_addresses(&information(&words))),
            ImapError::Io(_) | ImapError::ConnectionLost => MailboxError::Lost,
            // Bad, parse, validate and whatever else a later version adds: nothing was learnt.
            _ => MailboxError::Odd,
        }
    }
}

/// The client below hands over a debug print; the server's own words are in its `information`.
fn information(debug: &str) -> String {
    let words = debug.split("information: Some(\"").nth(1).and_then(|r| r.split("\")").next());
    words.unwrap_or("no reason given").to_owned()
}

type Result<T> = std::result::Result<T, MailboxError>;

/// How to reach a mailbox.
pub struct Imap<'a> {
    pub server: &'a Server,
    pub patience: Duration,
    /// As configured; None: found by its marking.
    pub sent_folder: Option<&'a str>,
}

/// Where a folder stood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    pub uid_validity: u32,
    pub uid_next: u32,
}

/// A logged-in connection, used for one task and dropped.
pub struct Session {
    inner: async_imap::Session<Stream>,
    limit: Duration,
}

async fn within<T, E: Into<MailboxError>>(
    limit: Duration,
    call: impl Future<Output = std::result::Result<T, E>>,
) -> Result<T> {
    timeout(limit, call).await.map_err(|_| MailboxError::Timeout)?.map_err(Into::into)
}

impl Imap<'_> {
    pub async fn open(&self, login: &Login) -> Result<Session> {
        let limit = self.patience.min(CALL_TIMEOUT);
        let stream = self.server.connect().await.map_err(MailboxError::Unreached)?;
        let mut client = async_imap::Client::new(stream);
        let greeting = timeout(limit, client.read_response()).await.map_err(|_| MailboxError::Timeout)?;
        if greeting.map_err(|_| MailboxError::Lost)?.is_none() {
            return Err(MailboxError::Lost);
        }
        if self.server.endpoint.security == Security::StartTls {
            within(limit, client.run_command_and_check_ok("STARTTLS", None)).await?;
            // Whatever was slipped in before the encryption is dropped with the old client's buffer.
            let stream = self.server.encrypt(client.into_inner()).await.map_err(MailboxError::Unreached)?;
            client = async_imap::Client::new(stream);
        }
        let mechanism = match login.bearer {
            true => Some(bearer(&mut client, limit).await?),
            false => None,
        };
        let logged_in = async {
            if let Some(mechanism) = mechanism {
                let message = mechanism.message(login, &self.server.endpoint);
                let message = message.ok_or_else(|| ImapError::No(UNUSABLE.into()))?;
                let said = Said { message: Some(message), then: mechanism.after_failure() };
                return client.authenticate(mechanism.name(), said).await.map_err(|(e, _)| e);
            }
            // LOGIN takes a quoted text; anything else goes as base64.
            if login.username.is_ascii() && login.secret.is_ascii() && !login.secret.contains(['\r', '\n']) {
                client.login(&login.username, &login.secret).await.map_err(|(e, _)| e)
            } else {
                client.authenticate("PLAIN", Plain(login)).await.map_err(|(e, _)| e)
            }
        };
        let inner = within(limit, logged_in).await.map_err(|e| match e {
            MailboxError::Refused(words) => MailboxError::Login(words),
            other => other,
        })?;
        Ok(Session { inner, limit })
    }

    /// Where Sent and the Inbox stand now, for later look-ups. Read-only.
    pub async fn note(&self, login: &Login) -> Result<Value> {
        let mut session = self.open(login).await?;
        let sent = self.sent(&mut session).await?;
        let mark = |m: Mark| json!({ "uid_validity": m.uid_validity, "uid_next": m.uid_next });
        let sent_mark = session.mark(&sent).await?;
        let inbox_mark = session.mark("INBOX").await?;
        session.leave().await;
        let mut noted = mark(sent_mark);
        noted["folder"] = Value::String(sent);
        Ok(json!({ "sent": noted, "inbox": mark(inbox_mark) }))
    }

    /// Name of the Sent folder, as the server writes it.
    pub async fn sent(&self, session: &mut Session) -> Result<String> {
        match self.sent_folder {
            Some(name) => Ok(name.to_owned()),
            None => session.folder(Use::Sent).await?.ok_or(MailboxError::NoSentFolder),
        }
    }
}

/// What a folder is for (RFC 6154).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    Sent,
    All,
    Archive,
}

/// Names that servers without the marking give their Sent folder, in the order of trust.
const USUAL_SENT: [&str; 5] = ["sent", "sent items", "sent messages", "inbox.sent", "inbox/sent"];

struct Folder {
    name: String,
    /// Between the levels of the hierarchy; None where there are none.
    separator: Option<String>,
    attributes: Vec<NameAttribute<'static>>,
}

impl Session {
    /// The folder with this marking; for Sent a usual name will do.
    pub async fn folder(&mut self, wanted: Use) -> Result<Option<String>> {
        let names = within(self.limit, self.list()).await?;
        let marked = names.iter().find(|n| {
            n.attributes.iter().any(|a| match wanted {
                Use::Sent => *a == NameAttribute::Sent,
                Use::All => *a == NameAttribute::All,
                Use::Archive => *a == NameAttribute::Archive,
            })
        });
        let usual = || USUAL_SENT.iter().find_map(|u| names.iter().find(|n| n.name.eq_ignore_ascii_case(u)));
        let found = marked.or_else(|| if wanted == Use::Sent { usual() } else { None });
        Ok(found.map(|n| n.name.clone()))
    }

    /// By hand, as [`Session::uids`]: a no would read as a mailbox without folders.
    async fn list(&mut self) -> Result<Vec<Folder>> {
        let tag = self.inner.run_command("LIST \"\" \"*\"").await?;
        let mut folders = Vec::new();
        loop {
            let reply = self.inner.read_response().await.map_err(|_| MailboxError::Lost)?.ok_or(MailboxError::Lost)?;
            match reply.parsed() {
                Response::MailboxData(MailboxDatum::List(told)) => folders.push(Folder {
                    name: told.name.to_string(),
                    separator: told.delimiter.as_deref().map(str::to_owned),
                    attributes: told.name_attributes.iter().map(|a| a.clone().into_owned()).collect(),
                }),
                Response::Done { tag: of, status: Status::Ok, .. } if *of == tag => return Ok(folders),
                Response::Done { tag: of, outcome, .. } if *of == tag => {
                    let words = outcome.information.as_deref().unwrap_or("no reason given");
                    return Err(MailboxError::Refused(without_addresses(words)));
                }
                _ => {}
            }
        }
    }

    /// Where a folder stands, without opening it.
    pub async fn mark(&mut self, folder: &str) -> Result<Mark> {
        let limit = self.limit;
        let status = within(limit, self.inner.status(folder, "(UIDNEXT UIDVALIDITY)")).await?;
        mark_of(&status)
    }

    /// Opens a folder for reading only.
    pub async fn open(&mut self, folder: &str) -> Result<Mark> {
        let limit = self.limit;
        mark_of(&within(limit, self.inner.examine(folder)).await?)
    }

    /// UIDs in the open folder, ascending. `from`: only these and later ones.
    pub async fn search(&mut self, from: Option<u32>, query: &Query) -> Result<Vec<u32>> {
        let text = match from {
            Some(uid) => format!("UID {uid}:* {query}"),
            None => query.to_string(),
        };
        let mut uids = within(self.limit, self.uids(&text)).await?;
        // `n:*` also names the last message when n is beyond it.
        uids.retain(|uid| from.is_none_or(|f| *uid >= f));
        uids.sort_unstable();
        uids.dedup();
        Ok(uids)
    }

    /// By hand: the client below takes a no, and a connection that ends, for an empty answer; and an empty answer would
    /// be told as "not there".
    async fn uids(&mut self, query: &str) -> Result<Vec<u32>> {
        let tag = self.inner.run_command(format!("UID SEARCH {query}")).await?;
        let mut uids = Vec::new();
        loop {
            let reply = self.inner.read_response().await.map_err(|_| MailboxError::Lost)?.ok_or(MailboxError::Lost)?;
            match reply.parsed() {
                Response::MailboxData(MailboxDatum::Search(found)) => uids.extend(found.iter().copied()),
                Response::Done { tag: of, status: Status::Ok, .. } if *of == tag => return Ok(uids),
                Response::Done { tag: of, outcome, .. } if *of == tag => {
                    let words = outcome.information.as_deref().unwrap_or("no reason given");
                    return Err(MailboxError::Refused(without_addresses(words)));
                }
                _ => {}
            }
        }
    }

    /// Headers of the newest of `uids`, in their order.
    pub async fn headers(&mut self, uids: &[u32]) -> Result<Vec<Headers>> {
        let fetched = self.fetch(uids, "(UID INTERNALDATE BODY.PEEK[HEADER])").await?;
        let read = |f: &async_imap::types::Fetch| {
            let uid = f.uid.unwrap_or_default();
            let known = f.header().and_then(|bytes| Headers::read(uid, arrived(f), bytes));
            known.unwrap_or(Headers { uid, arrived: arrived(f), unreadable: true, ..Headers::default() })
        };
        Ok(fetched.iter().map(read).collect())
    }

    /// A whole message with its arrival; only its headers if it is very large.
    pub async fn message(&mut self, uid: u32) -> Result<Option<Vec<u8>>> {
        let sizes = self.fetch(&[uid], "(UID RFC822.SIZE)").await?;
        let Some(size) = sizes.iter().find(|f| f.uid == Some(uid)).and_then(|f| f.size) else {
            return Ok(None);
        };
        let whole = size <= BODY_MAX;
        let wanted = if whole { "(UID BODY.PEEK[])" } else { "(UID BODY.PEEK[HEADER])" };
        let fetched = self.fetch(&[uid], wanted).await?;
        let bytes = fetched.iter().find(|f| f.uid == Some(uid)).and_then(|f| if whole { f.body() } else { f.header() });
        Ok(bytes.map(<[u8]>::to_vec))
    }

    async fn fetch(&mut self, uids: &[u32], items: &str) -> Result<Vec<async_imap::types::Fetch>> {
        if uids.is_empty() {
            return Ok(Vec::new());
        }
        let newest = &uids[uids.len().saturating_sub(FETCH_MAX)..];
        let set = newest.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        let limit = self.limit;
        let fetch = async { self.inner.uid_fetch(set, items).await?.try_collect::<Vec<_>>().await };
        let mut fetched = within(limit, fetch).await?;
        // A server may tell of other messages in between.
        fetched.retain(|f| f.uid.is_some_and(|u| newest.contains(&u)));
        fetched.sort_by_key(|f| f.uid);
        // Here too a no, or the end of the connection, looks like an answer that stops early.
        if newest.iter().any(|uid| !fetched.iter().any(|f| f.uid == Some(*uid))) {
            return Err(MailboxError::Odd);
        }
        Ok(fetched)
    }

    /// Takes leave; nothing depends on it.
    pub async fn leave(mut self) {
        let _ = timeout(Duration::from_secs(1), self.inner.logout()).await;
    }
}

fn mark_of(mailbox: &async_imap::types::Mailbox) -> Result<Mark> {
    match (mailbox.uid_validity, mailbox.uid_next) {
        (Some(uid_validity), Some(uid_next)) => Ok(Mark { uid_validity, uid_next }),
        // A server may leave UIDNEXT out when opening; then nothing can be skipped.
        (Some(uid_validity), None) => Ok(Mark { uid_validity, uid_next: 1 }),
        _ => Err(MailboxError::Odd),
    }
}

fn arrived(f: &async_imap::types::Fetch) -> Option<i64> {
    f.internal_date().map(|d| d.timestamp())
}

/// In the form of the client below, from which [`information`] takes the words.
const UNUSABLE: &str = "information: Some(\"the user name or token has a character that no server takes\")";

/// How this server takes a token. What it offers is read by hand: before a login the client below does not tell.
async fn bearer(client: &mut async_imap::Client<Stream>, limit: Duration) -> Result<Bearer> {
    let ask = async {
        // A tag that the client below never gives.
        client.get_mut().write_all(b"OFFERS CAPABILITY\r\n").await.map_err(|_| MailboxError::Lost)?;
        let mut offered = Vec::new();
        loop {
            let reply = client.read_response().await.map_err(|_| MailboxError::Lost)?.ok_or(MailboxError::Lost)?;
            match reply.parsed() {
                Response::Capabilities(all) => offered.extend(all.iter().filter_map(|capability| match capability {
                    Capability::Auth(name) => Some(name.to_ascii_uppercase()),
                    _ => None,
                })),
                Response::Done { tag, status: Status::Ok, .. } if tag.0 == "OFFERS" => return Ok(offered),
                Response::Done { .. } => return Err(MailboxError::Odd),
                _ => {}
            }
        }
    };
    let offered = within(limit, ask).await?;
    let none = || MailboxError::Login("it offers no sign-in with OAuth".into());
    Bearer::of(|name| offered.iter().any(|o| o == name)).ok_or_else(none)
}

/// The first message, and what is said to the server's account of a failure.
struct Said {
    message: Option<String>,
    then: &'static str,
}

impl async_imap::Authenticator for Said {
    type Response = String;
    fn process(&mut self, _challenge: &[u8]) -> String {
        self.message.take().unwrap_or_else(|| self.then.to_owned())
    }
}

struct Plain<'a>(&'a Login);

impl async_imap::Authenticator for Plain<'_> {
    type Response = String;
    fn process(&mut self, _challenge: &[u8]) -> String {
        format!("\0{}\0{}", self.0.username, self.0.secret)
    }
}

/// The text of a folder name in a command.
pub(crate) fn folder_argument(name: &str) -> Result<String> {
    quoted(name).ok_or(MailboxError::Odd)
}
