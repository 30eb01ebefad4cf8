//! A raw client: it writes bytes and reads lines, and knows nothing of what the sandbox knows.

use std::error::Error;
use std::net::SocketAddr;
use std::time::Duration;

use countersign_sandbox::{Config, Sandbox};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

pub type Tried = Result<(), Box<dyn Error>>;

/// Support's mailbox and password.
pub const SUPPORT: &str = "support@shop.example";
pub const PASSWORD: &str = "open \"sesame\"";

/// A message in the form every server passes on unchanged, with dots where they hurt.
pub const MESSAGE: &str = "From: support@shop.example\r\nTo: robin@customer.example\r\nSubject: Delivery slot\r\n\
    Message-ID: <act-1@shop.example>\r\nX-Countersign-Key: key-1\r\n\r\n.first line has a dot\r\n..\r\n.\tand\r\n  spaces  \r\n\r\n";

pub struct Peer {
    stream: BufReader<TcpStream>,
}

/// How long a peer waits for a line; only a broken test waits this long.
const PATIENCE: Duration = Duration::from_secs(20);

impl Peer {
    pub async fn connect(address: SocketAddr) -> std::io::Result<Peer> {
        Ok(Peer { stream: BufReader::new(TcpStream::connect(address).await?) })
    }

    pub async fn write(&mut self, text: &str) -> std::io::Result<()> {
        self.stream.write_all(text.as_bytes()).await
    }

    /// The next line without CRLF; `None` when the server is gone, politely or not.
    pub async fn line(&mut self) -> Option<String> {
        let mut line = Vec::new();
        let read = tokio::time::timeout(PATIENCE, self.stream.read_until(b'\n', &mut line)).await;
        match read {
            Ok(Ok(count)) if count > 0 => {
                let text = String::from_utf8_lossy(&line).into_owned();
                Some(text.strip_suffix("\r\n").map_or(format!("no CRLF: {text}"), str::to_owned))
            }
            Ok(_) => None,
            Err(_) => Some("nothing in time".to_owned()),
        }
    }

    pub async fn exact(&mut self, count: usize) -> std::io::Result<Vec<u8>> {
        let mut bytes = vec![0; count];
        self.stream.read_exact(&mut bytes).await?;
        Ok(bytes)
    }

    /// A whole SMTP reply: code, and its lines without it.
    pub async fn reply(&mut self) -> Option<(u16, Vec<String>)> {
        let mut lines = Vec::new();
        loop {
            let line = self.line().await?;
            let code = line.get(..3)?.parse().ok()?;
            lines.push(line.get(4..).unwrap_or_default().to_owned());
            if line.get(3..4) != Some("-") {
                return Some((code, lines));
            }
        }
    }

    /// Sends an SMTP command; the code of its reply, 0 when the server is gone or says no SMTP.
    pub async fn smtp(&mut self, command: &str) -> u16 {
        if self.write(&format!("{command}\r\n")).await.is_err() {
            return 0;
        }
        self.code().await
    }

    pub async fn code(&mut self) -> u16 {
        self.reply().await.map_or(0, |(code, _)| code)
    }

    /// Sends an IMAP command; every line up to its tagged one, which is the last.
    pub async fn imap(&mut self, command: &str) -> Vec<String> {
        if self.write(&format!("t {command}\r\n")).await.is_err() {
            return Vec::new();
        }
        self.tagged().await
    }

    pub async fn tagged(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        while let Some(line) = self.line().await {
            let last = line.starts_with("t ") || line.starts_with("+ ") || line == "nothing in time";
            lines.push(line);
            if last {
                break;
            }
        }
        lines
    }
}

pub async fn sandbox() -> Result<Sandbox, Box<dyn Error>> {
    Ok(Sandbox::start(Config::in_memory(&[(SUPPORT, PASSWORD), ("noor@shop.example", "other")])).await?)
}

/// `\0support@shop.example\0open "sesame"` in base64, computed with coreutils.
pub const PLAIN: &str = "AHN1cHBvcnRAc2hvcC5leGFtcGxlAG9wZW4gInNlc2FtZSI=";

/// An SMTP client that has said EHLO and logged in.
pub async fn submitting(sandbox: &Sandbox) -> Result<Peer, Box<dyn Error>> {
    let mut peer = Peer::connect(sandbox.smtp_addr()).await?;
    assert_eq!(peer.code().await, 220);
    assert_eq!(peer.smtp("EHLO test.example").await, 250);
    assert_eq!(peer.smtp(&format!("AUTH PLAIN {PLAIN}")).await, 235);
    Ok(peer)
}

/// The same as far as the recipient.
pub async fn with_recipient(sandbox: &Sandbox) -> Result<Peer, Box<dyn Error>> {
    let mut peer = submitting(sandbox).await?;
    assert_eq!(peer.smtp("MAIL FROM:<support@shop.example>").await, 250);
    assert_eq!(peer.smtp("RCPT TO:<robin@customer.example>").await, 250);
    Ok(peer)
}

/// Dot-stuffs as RFC 5321 4.5.2 says and adds the terminator.
pub fn stuffed(message: &str) -> String {
    let lines = message.split_inclusive("\r\n");
    let stuffed: String =
        lines.map(|line| if line.starts_with('.') { format!(".{line}") } else { line.to_owned() }).collect();
    format!("{stuffed}.\r\n")
}

/// An IMAP client that has logged in.
pub async fn reading(sandbox: &Sandbox) -> Result<Peer, Box<dyn Error>> {
    let mut peer = Peer::connect(sandbox.imap_addr()).await?;
    assert!(peer.line().await.is_some_and(|line| line.starts_with("* OK [CAPABILITY IMAP4rev1 ")));
    let lines = peer.imap("LOGIN support@shop.example \"open \\\"sesame\\\"\"").await;
    assert!(lines.last().is_some_and(|line| line.starts_with("t OK ")), "{lines:?}");
    Ok(peer)
}
