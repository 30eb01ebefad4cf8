//! APPEND by hand: the client below loses APPENDUID and how far it got.

use super::{MailboxError, Result, Session, folder_argument};
use async_imap::imap_proto::rfc4315::UidSetMember;
use async_imap::imap_proto::{Response, ResponseCode, Status};
use tokio::io::AsyncWriteExt as _;
use tokio::time::timeout;

/// What became of an APPEND.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Appended {
    Stored {
        uid: Option<u32>,
    },
    /// A clear no, or lost before the last byte: nothing was stored.
    Not(MailboxError),
    /// Lost after the whole message was written. Search before appending again.
    Unclear,
}

impl Session {
    /// Appends `message`, marked as read.
    pub async fn append(&mut self, folder: &str, message: &[u8]) -> Appended {
        let limit = self.limit;
        let last = match timeout(limit, self.begin(folder, message)).await {
            Err(_) => return Appended::Not(MailboxError::Timeout),
            Ok(Err(e)) => return Appended::Not(e),
            Ok(Ok(last)) => last,
        };
        // From this byte on the server may have stored it.
        match timeout(limit, self.finish(last)).await {
            Ok(Ok(end)) => end,
            Ok(Err(_)) | Err(_) => Appended::Unclear,
        }
    }

    /// Everything but the last byte, which is handed back: without it nothing is stored.
    async fn begin(&mut self, folder: &str, message: &[u8]) -> Result<u8> {
        let name = folder_argument(folder)?;
        self.inner.run_command(format!("APPEND {name} (\\Seen) {{{}}}", message.len())).await?;
        loop {
            let reply = self.inner.read_response().await.map_err(|_| MailboxError::Lost)?.ok_or(MailboxError::Lost)?;
            match reply.parsed() {
                Response::Continue { .. } => break,
                Response::Done { outcome, .. } => {
                    let words = outcome.information.as_deref().unwrap_or("no reason given");
                    return Err(MailboxError::Refused(super::without_addresses(words)));
                }
                _ => {}
            }
        }
        let Some((last, head)) = message.split_last() else { return Err(MailboxError::Odd) };
        let stream = self.inner.get_mut();
        stream.write_all(head).await.map_err(|_| MailboxError::Lost)?;
        stream.flush().await.map_err(|_| MailboxError::Lost)?;
        Ok(*last)
    }

    async fn finish(&mut self, last: u8) -> Result<Appended> {
        let stream = self.inner.get_mut();
        stream.write_all(&[last, b'\r', b'\n']).await.map_err(|_| MailboxError::Lost)?;
        stream.flush().await.map_err(|_| MailboxError::Lost)?;
        loop {
            let reply = self.inner.read_response().await.map_err(|_| MailboxError::Lost)?.ok_or(MailboxError::Lost)?;
            let Response::Done { status, outcome, .. } = reply.parsed() else { continue };
            return Ok(match status {
                Status::Ok => Appended::Stored {
                    uid: match &outcome.code {
                        Some(ResponseCode::AppendUid(_, uids)) => match uids.as_slice() {
                            [UidSetMember::Uid(uid)] => Some(*uid),
                            _ => None,
                        },
                        _ => None,
                    },
                },
                _ => {
                    let words = outcome.information.as_deref().unwrap_or("no reason given");
                    Appended::Not(MailboxError::Refused(super::without_addresses(words)))
                }
            });
        }
    }
}
