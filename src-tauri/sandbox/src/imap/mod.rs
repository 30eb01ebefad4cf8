//! The IMAP server: the part of RFC 3501 that a mail client needs to look things up and to file a copy, with UIDPLUS,
//! SPECIAL-USE, LITERAL+, SASL-IR, CONDSTORE's numbers and IDLE.

mod commands;
mod fetch;
mod parse;
mod search;

use std::sync::Arc;

use tokio::net::TcpStream;

use crate::config::ImapFeatures;
use crate::faults::{Due, ImapStage, Misbehaviour};
use crate::line::{Gone, Line, Wire};
use crate::signals::Point;
use crate::world::{Protocol, World};
use parse::{Bad, Cursor};

const LINE_LIMIT: usize = 65_536;
const LITERAL_LIMIT: usize = 80 * 1024 * 1024;

/// Serves one connection until either side ends it.
pub(crate) async fn serve(stream: TcpStream, world: Arc<World>) {
    let connection = world.connected(Protocol::Imap);
    let features = world.lock().imap.clone();
    let wire = Wire::new(stream);
    let mut session = Session { wire, world, connection, features, login: None, selected: None };
    let Gone = match session.dialogue().await {
        Ok(()) => session.wire.close().await,
        Err(gone) => gone,
    };
}

/// The folder a client works in.
struct Selected {
    folder: String,
    read_only: bool,
    /// The UIDs the client knows, by sequence number.
    uids: Vec<u32>,
}

struct Session {
    wire: Wire,
    world: Arc<World>,
    connection: u64,
    features: ImapFeatures,
    login: Option<String>,
    selected: Option<Selected>,
}

/// How a command ends.
enum End {
    /// `OK` with this text.
    Ok(String),
    /// `NO` with this text.
    No(&'static str),
    /// `BAD` with this text.
    Bad(Bad),
    /// The script has answered already.
    Said,
}

impl From<Bad> for End {
    fn from(bad: Bad) -> End {
        End::Bad(bad)
    }
}

/// Whether the ordinary way is still to be gone after the script had its turn.
#[derive(PartialEq, Eq)]
enum Next {
    Proceed,
    Said,
}

impl Session {
    async fn dialogue(&mut self) -> Result<(), Gone> {
        if self.fault(ImapStage::Connect, "", "*").await? == Next::Said {
            return Ok(());
        }
        let greeting = format!("* OK [CAPABILITY {}] Countersign sandbox\r\n", self.capabilities());
        self.wire.write(greeting.as_bytes()).await?;
        loop {
            let Some(raw) = self.read_command().await? else { continue };
            let mut cursor = Cursor::new(&raw);
            let (tag, name) = match tag_and_name(&mut cursor) {
                Ok(both) => both,
                Err(bad) => {
                    self.wire.write(format!("* BAD {bad}\r\n").as_bytes()).await?;
                    continue;
                }
            };
            if name == "LOGOUT" {
                self.wire.write(format!("* BYE bye\r\n{tag} OK logged out\r\n").as_bytes()).await?;
                return Ok(());
            }
            let line = match self.command(&tag, &name, cursor).await? {
                End::Ok(text) => format!("{tag} OK {text}\r\n"),
                End::No(text) => format!("{tag} NO {text}\r\n"),
                End::Bad(text) => format!("{tag} BAD {text}\r\n"),
                End::Said => continue,
            };
            self.wire.write(line.as_bytes()).await?;
        }
    }

    fn capabilities(&self) -> String {
        let mut words = vec!["IMAP4rev1", "SASL-IR", "AUTH=PLAIN", "ID", "ENABLE", "UNSELECT"];
        let features = &self.features;
        if self.world.tokens().is_some() {
            words.extend(["AUTH=OAUTHBEARER", "AUTH=XOAUTH2"]);
        }
        for (offered, word) in [
            (features.special_use, "SPECIAL-USE"),
            (features.uidplus, "UIDPLUS"),
            (features.literal_plus, "LITERAL+"),
            (features.condstore, "CONDSTORE"),
            (features.idle, "IDLE"),
        ] {
            if offered {
                words.push(word);
            }
        }
        words.join(" ")
    }

    /// One command with its literals. `None` when it was so wrong that it has been answered already.
    async fn read_command(&mut self) -> Result<Option<Vec<u8>>, Gone> {
        let mut raw = Vec::new();
        let mut shown = String::new();
        loop {
            let line = match self.wire.line(LINE_LIMIT).await? {
                Line::Good(line) => line,
                Line::Bad(why) => {
                    self.wire.write(format!("* BAD {why}\r\n").as_bytes()).await?;
                    return Ok(None);
                }
            };
            shown.push_str(&String::from_utf8_lossy(&line));
            raw.extend_from_slice(&line);
            let Some((size, waits)) = literal_at_end(&line) else { break };
            let tag = shown.split(' ').next().unwrap_or("*").to_owned();
            let refusal = match size {
                _ if size > LITERAL_LIMIT => Some("literal too big"),
                _ if !waits && !self.features.literal_plus => Some("LITERAL+ is not offered"),
                _ => None,
            };
            if let Some(refusal) = refusal {
                self.wire.write(format!("{tag} BAD {refusal}\r\n").as_bytes()).await?;
                // The client may be sending the literal already; what it says next cannot be told from it.
                return Err(self.wire.close().await);
            }
            if waits {
                if let Some(folder) = append_folder(&raw)
                    && self.fault(ImapStage::AppendStart, &folder, &tag).await? == Next::Said
                {
                    return Ok(None);
                }
                self.wire.write(b"+ go ahead\r\n").await?;
            }
            raw.extend_from_slice(b"\r\n");
            raw.extend(self.wire.exact(size).await?);
        }
        self.world.said(Protocol::Imap, self.connection, without_secrets(&shown));
        Ok(Some(raw))
    }

    /// Lets the script have its turn.
    async fn fault(&mut self, stage: ImapStage, folder: &str, tag: &str) -> Result<Next, Gone> {
        match self.world.script.imap(stage, folder) {
            Some(due) => self.misbehave(due, tag).await,
            None => Ok(Next::Proceed),
        }
    }

    async fn misbehave(&mut self, due: Due, tag: &str) -> Result<Next, Gone> {
        self.world.signals.reached(Point::Misbehaved);
        let text = match self.world.after_release(due.answer).await {
            Misbehaviour::Normal | Misbehaviour::Held { .. } => return Ok(Next::Proceed),
            Misbehaviour::No { text } => format!("{tag} NO {text}\r\n"),
            Misbehaviour::Reply { code, text } => format!("{code} {text}\r\n"),
            Misbehaviour::Raw { text } => text,
            Misbehaviour::Silence => return Err(self.wire.drain().await),
            Misbehaviour::Reset => return Err(self.wire.reset()),
            Misbehaviour::Close => return Err(self.wire.close().await),
        };
        self.wire.write(text.as_bytes()).await?;
        Ok(Next::Said)
    }
}

fn tag_and_name(cursor: &mut Cursor<'_>) -> Result<(String, String), Bad> {
    let tag = cursor.atom()?;
    cursor.space()?;
    let mut name = cursor.atom()?.to_uppercase();
    if name == "UID" {
        cursor.space()?;
        name = format!("UID {}", cursor.atom()?.to_uppercase());
    }
    Ok((tag, name))
}

/// The size of the literal a line announces, and whether the client waits to be asked for it.
fn literal_at_end(line: &[u8]) -> Option<(usize, bool)> {
    let inside = line.strip_suffix(b"}")?;
    let open = inside.iter().rposition(|byte| *byte == b'{')?;
    let digits = &inside[open + 1..];
    let (digits, waits) = digits.strip_suffix(b"+").map_or((digits, true), |digits| (digits, false));
    let size = std::str::from_utf8(digits).ok()?.parse().ok()?;
    Some((size, waits))
}

/// The folder of an APPEND that has come as far as its message literal.
fn append_folder(raw: &[u8]) -> Option<String> {
    let mut cursor = Cursor::new(raw);
    let (_, name) = tag_and_name(&mut cursor).ok()?;
    if name != "APPEND" {
        return None;
    }
    cursor.space().ok()?;
    cursor.astring().ok()
}

fn without_secrets(line: &str) -> String {
    let mut words = line.splitn(4, ' ');
    let (tag, name) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    match name.to_uppercase().as_str() {
        "LOGIN" => format!("{tag} {name} … …"),
        "AUTHENTICATE" => format!("{tag} {name} {} …", words.next().unwrap_or("")),
        _ => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_seen_at_the_end_of_a_line() {
        assert_eq!(literal_at_end(b"a APPEND Sent {12}"), Some((12, true)));
        assert_eq!(literal_at_end(b"a APPEND Sent (\\Seen) {12+}"), Some((12, false)));
        assert_eq!(literal_at_end(b"a LOGIN x {y}"), None);
        assert_eq!(literal_at_end(b"a NOOP"), None);
        assert_eq!(append_folder(b"a APPEND \"Sent Items\" {12}"), Some("Sent Items".to_owned()));
        assert_eq!(append_folder(b"a LOGIN {5}"), None);
    }

    #[test]
    fn passwords_are_not_in_the_log() {
        assert_eq!(without_secrets("a1 LOGIN \"user\" \"secret\""), "a1 LOGIN … …");
        assert_eq!(without_secrets("a1 authenticate PLAIN AGEAYg=="), "a1 authenticate PLAIN …");
        assert_eq!(without_secrets("a1 SELECT INBOX"), "a1 SELECT INBOX");
    }
}
