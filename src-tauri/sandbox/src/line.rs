//! Reading lines and bytes off a connection, strictly: a line ends with CRLF and holds no other CR or LF.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The connection ended: by the peer, by an error, or because the script wants it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gone;

impl From<io::Error> for Gone {
    fn from(_: io::Error) -> Gone {
        Gone
    }
}

/// What was read up to a line end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// A line, without its CRLF.
    Good(Vec<u8>),
    /// A line with a bare CR or LF, or too long. It was skipped up to the next LF.
    Bad(&'static str),
}

/// A connection with its read buffer.
pub(crate) struct Wire {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Wire {
    pub(crate) fn new(stream: TcpStream) -> Wire {
        Wire { stream, buffer: Vec::new() }
    }

    /// Whether the peer has sent more than was asked for.
    pub(crate) fn has_unread(&self) -> bool {
        !self.buffer.is_empty()
    }

    /// Reads at least one more byte.
    pub(crate) async fn fill(&mut self) -> Result<(), Gone> {
        let read = self.stream.read_buf(&mut self.buffer).await?;
        if read == 0 { Err(Gone) } else { Ok(()) }
    }

    /// The next line up to CRLF, at most `limit` bytes with it.
    pub(crate) async fn line(&mut self, limit: usize) -> Result<Line, Gone> {
        let mut searched = 0;
        loop {
            if let Some(at) = self.buffer[searched..].iter().position(|byte| *byte == b'\n') {
                let mut line: Vec<u8> = self.buffer.drain(..=searched + at).collect();
                line.pop();
                return Ok(match line.pop() {
                    _ if line.len() + 2 > limit => Line::Bad("line too long"),
                    Some(b'\r') if line.contains(&b'\r') => Line::Bad("bare CR"),
                    Some(b'\r') => Line::Good(line),
                    _ => Line::Bad("bare LF"),
                });
            }
            searched = self.buffer.len();
            if searched > limit {
                // Only the end of an endless line is of interest.
                self.buffer.drain(..searched - limit);
                searched = limit;
            }
            self.fill().await?;
        }
    }

    /// Exactly this many bytes.
    pub(crate) async fn exact(&mut self, count: usize) -> Result<Vec<u8>, Gone> {
        while self.buffer.len() < count {
            self.fill().await?;
        }
        Ok(self.buffer.drain(..count).collect())
    }

    /// What is in the buffer, up to `limit` bytes; waits for the first byte.
    pub(crate) async fn some(&mut self, limit: usize) -> Result<Vec<u8>, Gone> {
        if self.buffer.is_empty() {
            self.fill().await?;
        }
        let count = self.buffer.len().min(limit);
        Ok(self.buffer.drain(..count).collect())
    }

    pub(crate) async fn write(&mut self, bytes: &[u8]) -> Result<(), Gone> {
        self.stream.write_all(bytes).await?;
        Ok(self.stream.flush().await?)
    }

    /// Reads and forgets until the peer is gone.
    pub(crate) async fn drain(&mut self) -> Gone {
        loop {
            self.buffer.clear();
            if self.fill().await.is_err() {
                return Gone;
            }
        }
    }

    /// Ends the connection with a reset.
    pub(crate) fn reset(&mut self) -> Gone {
        // With a zero linger, dropping the socket sends RST; if the option cannot be set a plain close has to do.
        if let Err(error) = self.stream.set_zero_linger() {
            tracing::debug!(%error, "no reset, only a close");
        }
        Gone
    }

    /// Ends the connection in the ordinary way.
    pub(crate) async fn close(&mut self) -> Gone {
        // Unread bytes would turn the close into a reset, so they are taken first, as far as they are here.
        let mut scrap = [0; 4096];
        while matches!(self.stream.try_read(&mut scrap), Ok(count) if count > 0) {}
        if let Err(error) = self.stream.shutdown().await {
            tracing::debug!(%error, "already closed");
        }
        Gone
    }
}
