//! Commands and replies of SMTP on one connection, strictly in turn: a reply belongs to one command, or to none.

use super::reply::{SmtpReply, Step};
use super::tls::Stream;
use futures_util::FutureExt as _;
use smtp_proto::response::parser::ResponseReceiver;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::{Instant, timeout_at};

const LINE_MAX: usize = 2048;
const REPLY_MAX: usize = 64 << 10;
/// Body bytes written between two looks for a reply that nobody asked for.
const BLOCK: usize = 64 << 10;

/// Why no reply was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoReply {
    Timeout,
    Closed,
    Reset,
    /// Not a reply of SMTP, or an endless one.
    Unreadable,
    /// Bytes were there before the command was given.
    OutOfStep,
}

impl NoReply {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            NoReply::Timeout => "timeout",
            NoReply::Closed => "closed",
            NoReply::Reset => "reset",
            NoReply::Unreadable => "unreadable",
            NoReply::OutOfStep => "out_of_step",
        }
    }
    pub(crate) const fn words(self) -> &'static str {
        match self {
            NoReply::Timeout => "no reply in time",
            NoReply::Closed => "the server closed the connection",
            NoReply::Reset => "the connection broke",
            NoReply::Unreadable => "the reply could not be read",
            NoReply::OutOfStep => "the server spoke out of turn",
        }
    }
}

/// What a write of the body met.
#[derive(Debug)]
pub(crate) enum Interrupted {
    /// A reply came before the body was through.
    Reply(SmtpReply),
    No(NoReply),
}

pub(crate) struct Talk {
    stream: Stream,
    /// Bytes read and not yet used. Kept over time-outs, so that a late reply is whole.
    unread: Vec<u8>,
    patience: Duration,
}

impl Talk {
    pub(crate) fn new(stream: Stream, patience: Duration) -> Talk {
        Talk { stream, unread: Vec::new(), patience }
    }

    /// The bare connection, for STARTTLS. None if bytes came after the reply: somebody slipped them in before the
    /// encryption began.
    pub(crate) fn into_stream(self) -> Option<Stream> {
        self.unread.is_empty().then_some(self.stream)
    }

    /// Gives a command (without line end) and reads its reply.
    pub(crate) async fn command(&mut self, step: Step, line: &str) -> Result<SmtpReply, NoReply> {
        self.say(line).await?;
        self.reply_in_time(step).await
    }

    /// Reads one whole reply within the limit for one command.
    pub(crate) async fn reply_in_time(&mut self, step: Step) -> Result<SmtpReply, NoReply> {
        self.reply(step, self.patience).await
    }

    /// Gives a command and reads nothing. Refused while bytes are unread: the reply would be somebody else's.
    pub(crate) async fn say(&mut self, line: &str) -> Result<(), NoReply> {
        if self.spoken_to().await {
            return Err(NoReply::OutOfStep);
        }
        let mut bytes = Vec::with_capacity(line.len() + 2);
        bytes.extend_from_slice(line.as_bytes());
        bytes.extend_from_slice(b"\r\n");
        self.write(&bytes).await
    }

    pub(crate) async fn write(&mut self, bytes: &[u8]) -> Result<(), NoReply> {
        let deadline = Instant::now() + self.patience;
        let write = async {
            self.stream.write_all(bytes).await?;
            self.stream.flush().await
        };
        match timeout_at(deadline, write).await {
            Err(_) => Err(NoReply::Timeout),
            Ok(Err(e)) => Err(broken(&e)),
            Ok(Ok(())) => Ok(()),
        }
    }

    /// Writes the body block by block and stops at the first reply that comes before its end.
    pub(crate) async fn write_body(&mut self, step: Step, bytes: &[u8]) -> Result<(), Interrupted> {
        for block in bytes.chunks(BLOCK) {
            if self.spoken_to().await {
                return Err(self.interruption(step).await);
            }
            if let Err(no) = self.write(block).await {
                // The server often says why before it hangs up.
                return Err(match self.reply(step, Duration::from_millis(200)).await {
                    Ok(reply) => Interrupted::Reply(reply),
                    Err(_) => Interrupted::No(no),
                });
            }
        }
        Ok(())
    }

    pub(crate) async fn interruption(&mut self, step: Step) -> Interrupted {
        match self.reply_in_time(step).await {
            Ok(reply) => Interrupted::Reply(reply),
            Err(no) => Interrupted::No(no),
        }
    }

    /// Whether something unread is there, or the connection has ended.
    pub(crate) async fn spoken_to(&mut self) -> bool {
        if !self.unread.is_empty() {
            return true;
        }
        let mut bytes = [0u8; 1024];
        match self.stream.read(&mut bytes).now_or_never() {
            None => false,
            Some(Ok(n)) => {
                self.unread.extend_from_slice(&bytes[..n]);
                true
            }
            Some(Err(_)) => true,
        }
    }

    /// Reads one whole reply. After `Timeout` it may be called again.
    pub(crate) async fn reply(&mut self, step: Step, limit: Duration) -> Result<SmtpReply, NoReply> {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(reply) = self.take_reply(step)? {
                return Ok(reply);
            }
            let mut bytes = [0u8; 4096];
            match timeout_at(deadline, self.stream.read(&mut bytes)).await {
                Err(_) => return Err(NoReply::Timeout),
                Ok(Err(e)) => return Err(broken(&e)),
                Ok(Ok(0)) => return Err(NoReply::Closed),
                Ok(Ok(n)) => self.unread.extend_from_slice(&bytes[..n]),
            }
        }
    }

    /// A whole reply that has been read already, without waiting for one.
    pub(crate) fn buffered(&mut self, step: Step) -> Option<SmtpReply> {
        self.take_reply(step).ok().flatten()
    }

    /// Takes a reply out of what was read, if it is whole.
    fn take_reply(&mut self, step: Step) -> Result<Option<SmtpReply>, NoReply> {
        let mut end = 0;
        let mut code: Option<[u8; 3]> = None;
        let last = loop {
            let Some(length) = self.unread[end..].iter().position(|b| *b == b'\n') else {
                let hopeless = self.unread.len() > REPLY_MAX || self.unread.len() - end > LINE_MAX;
                return if hopeless { Err(NoReply::Unreadable) } else { Ok(None) };
            };
            let line = self.unread[end..end + length].strip_suffix(b"\r").unwrap_or(&self.unread[end..end + length]);
            end += length + 1;
            let digits: [u8; 3] = match line.get(..3).map(<[u8; 3]>::try_from) {
                Some(Ok(d)) if d.iter().all(u8::is_ascii_digit) => d,
                _ => return Err(NoReply::Unreadable),
            };
            // All lines of one reply carry the same code (RFC 5321, 4.2.1).
            if code.is_some_and(|c| c != digits) {
                return Err(NoReply::Unreadable);
            }
            code = Some(digits);
            match line.get(3) {
                Some(b'-') => {}
                Some(b' ') | None => break digits,
                Some(_) => return Err(NoReply::Unreadable),
            }
        };
        let bytes: Vec<u8> = self.unread.drain(..end).collect();
        let parsed = ResponseReceiver::default().parse(&mut bytes.iter()).map_err(|_| NoReply::Unreadable)?;
        let number = last.iter().fold(0u16, |n, d| n * 10 + u16::from(d - b'0'));
        if parsed.code != number || !(200..600).contains(&number) {
            return Err(NoReply::Unreadable);
        }
        let enhanced = (parsed.esc[0] != 0).then_some(parsed.esc);
        let text = parsed.message.split(['\r', '\n']).map(str::trim).filter(|l| !l.is_empty()).collect::<Vec<_>>();
        Ok(Some(SmtpReply { step, code: number, enhanced, text: text.join("\n") }))
    }

    /// Takes leave without waiting: what had to be known is known.
    pub(crate) async fn leave(mut self) {
        let bye = async {
            self.stream.write_all(b"QUIT\r\n").await?;
            self.stream.shutdown().await
        };
        let _ = tokio::time::timeout(Duration::from_secs(1), bye).await;
    }
}

fn broken(e: &io::Error) -> NoReply {
    match e.kind() {
        io::ErrorKind::UnexpectedEof => NoReply::Closed,
        _ => NoReply::Reset,
    }
}

#[cfg(test)]
#[path = "talk_test.rs"]
mod tests;
