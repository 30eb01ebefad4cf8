//! The folder that documents come into by mail: what waits there, one message after the other, and the two folders below it
//! where each goes once it was handled. No other folder is ever opened for changes.

use super::post::{Handed, NoDocument, read};
use super::{Folder, Imap, MailboxError, Result, Session, USUAL_SENT, arrived, folder_argument, within};
use crate::login::Login;
use async_imap::imap_proto::NameAttribute;
use std::fmt;

/// Bytes fetched by one command, so that a large message on a slow line is not one call that is too long.
const PIECE: usize = 2 << 20;
/// What a message has beside its document: header fields, words for people, boundaries.
const AROUND: usize = 1 << 20;

/// Where documents come in.
pub struct Letterbox<'a> {
    imap: Imap<'a>,
    folder: String,
}

/// Where a handled message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shelf {
    Accepted,
    Refused,
}

/// A message that waits.
#[derive(Debug, PartialEq, Eq)]
pub struct Post {
    /// When it came into the mailbox, by the server's clock: seconds since 1970.
    pub arrived: Option<i64>,
    pub handed: std::result::Result<Handed, NoDocument>,
}

/// An opened letterbox: a connection of its own, good until its first error.
pub struct OpenLetterbox {
    session: Session,
    /// Numbers of messages hold only together with it.
    pub uid_validity: u32,
    accepted: String,
    refused: String,
    /// RFC 6851.
    can_move: bool,
    /// RFC 4315: what others marked for deletion can be left alone.
    can_expunge_one: bool,
}

impl fmt::Debug for OpenLetterbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OpenLetterbox")
    }
}

impl<'a> Letterbox<'a> {
    pub(crate) fn new(imap: Imap<'a>, folder: &str) -> Letterbox<'a> {
        Letterbox { imap, folder: folder.to_owned() }
    }

    /// Logs in, makes the folders that are missing and opens the first for changes.
    ///
    /// # Errors
    /// [`MailboxError::Reserved`] for the Inbox and for any folder the server or the destination has another use for: every
    /// message of a letterbox is taken out of it.
    pub async fn open(&self, login: &Login) -> Result<OpenLetterbox> {
        let mut session = self.imap.open(login).await?;
        let limit = session.limit;
        let folders = within(limit, session.list()).await?;
        if self.is_reserved(&folders) {
            return Err(MailboxError::Reserved);
        }
        let own = folders.iter().find(|f| f.name == self.folder);
        // A server without a hierarchy takes any character into a name.
        let separator = own.or(folders.first()).and_then(|f| f.separator.clone()).unwrap_or_else(|| "-".into());
        let below = |name: &str| format!("{}{separator}{name}", self.folder);
        let (accepted, refused) = (below("accepted"), below("refused"));
        for name in [&self.folder, &accepted, &refused] {
            if !folders.iter().any(|f| f.name == *name) {
                session.make(name).await?;
            }
        }
        let can = within(limit, session.inner.capabilities()).await?;
        let (can_move, can_expunge_one) = (can.has_str("MOVE"), can.has_str("UIDPLUS"));
        folder_argument(&self.folder)?;
        let opened = within(limit, session.inner.select(&self.folder)).await?;
        let uid_validity = opened.uid_validity.ok_or(MailboxError::Odd)?;
        Ok(OpenLetterbox { session, uid_validity, accepted, refused, can_move, can_expunge_one })
    }

    fn is_reserved(&self, folders: &[Folder]) -> bool {
        let is = |name: &str| self.folder.eq_ignore_ascii_case(name);
        let used = |f: &Folder| f.attributes.iter().any(has_another_use);
        is("INBOX")
            || self.imap.sent_folder.is_some_and(is)
            || USUAL_SENT.iter().any(|name| is(name))
            || folders.iter().any(|f| is(&f.name) && used(f))
    }
}

/// RFC 6154.
fn has_another_use(attribute: &NameAttribute<'_>) -> bool {
    use NameAttribute::{All, Archive, Drafts, Flagged, Junk, Sent, Trash};
    matches!(attribute, All | Archive | Drafts | Flagged | Junk | Sent | Trash)
}

impl Session {
    /// Makes a folder, and shows it to programs that show subscribed ones only.
    async fn make(&mut self, name: &str) -> Result<()> {
        let argument = folder_argument(name)?;
        self.done(&format!("CREATE {argument}")).await?;
        match self.done(&format!("SUBSCRIBE {argument}")).await {
            // It is there all the same.
            Ok(()) | Err(MailboxError::Refused(_)) => Ok(()),
            Err(e) => Err(e),
        }
    }

    /// A command of which nothing but the yes matters.
    async fn done(&mut self, command: &str) -> Result<()> {
        within(self.limit, self.inner.run_command_and_check_ok(command)).await
    }
}

impl OpenLetterbox {
    /// Numbers of the messages that wait, the oldest first.
    pub async fn waiting(&mut self) -> Result<Vec<u32>> {
        // A server tells of what came since only when it is asked something.
        within(self.session.limit, self.session.inner.noop()).await?;
        let mut uids = within(self.session.limit, self.session.uids("UNDELETED")).await?;
        uids.sort_unstable();
        uids.dedup();
        Ok(uids)
    }

    /// Reads a message, which stays as it is. `fields` and `document_max`: what of it is wanted, and the largest document
    /// in bytes.
    pub async fn read(&mut self, uid: u32, fields: &[&str], document_max: usize) -> Result<Post> {
        // Base64 makes four bytes of three, and a line end after 76 of them.
        let message_max = document_max / 3 * 4 / 76 * 78 + AROUND;
        let told = self.session.fetch(&[uid], "(UID RFC822.SIZE INTERNALDATE)").await?;
        let told = told.first().ok_or(MailboxError::Odd)?;
        let arrived = arrived(told);
        if told.size.is_some_and(|size| size as usize > message_max) {
            return Ok(Post { arrived, handed: Err(NoDocument::TooLarge) });
        }
        let mut message = Vec::new();
        loop {
            let piece = format!("(UID BODY.PEEK[]<{}.{PIECE}>)", message.len());
            let fetched = self.session.fetch(&[uid], &piece).await?;
            let bytes = fetched.first().and_then(|f| f.body()).unwrap_or_default();
            message.extend_from_slice(bytes);
            if message.len() > message_max {
                return Ok(Post { arrived, handed: Err(NoDocument::TooLarge) });
            }
            if bytes.len() < PIECE {
                return Ok(Post { arrived, handed: read(&message, fields, document_max) });
            }
        }
    }

    /// Moves a handled message out of the letterbox. Without MOVE it is copied, and then deleted alone; a server that can
    /// delete only everything that anybody marked keeps it, marked, and it waits no longer.
    pub async fn put(&mut self, uid: u32, shelf: Shelf) -> Result<()> {
        let folder = folder_argument(match shelf {
            Shelf::Accepted => &self.accepted,
            Shelf::Refused => &self.refused,
        })?;
        if self.can_move {
            return self.session.done(&format!("UID MOVE {uid} {folder}")).await;
        }
        self.session.done(&format!("UID COPY {uid} {folder}")).await?;
        self.session.done(&format!("UID STORE {uid} +FLAGS.SILENT (\\Deleted)")).await?;
        if self.can_expunge_one {
            self.session.done(&format!("UID EXPUNGE {uid}")).await?;
        }
        Ok(())
    }

    /// Takes leave; nothing depends on it.
    pub async fn leave(self) {
        self.session.leave().await;
    }
}
