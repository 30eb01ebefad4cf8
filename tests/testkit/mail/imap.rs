//! A small IMAP client of the tests' own: what it counts must not depend on the client under test.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};

use crate::wait;

/// One session over plain loopback.
pub struct Imap {
    reader: BufReader<TcpStream>,
    writer: TcpStream,
    tag: u32,
}

/// What one command brought: its lines with the literals in place, and whether the server said OK.
struct Reply {
    ok: bool,
    /// Each untagged line, then the literals it announced.
    items: Vec<(String, Vec<Vec<u8>>)>,
    last: String,
}

impl Imap {
    /// # Panics
    /// When the server does not answer or does not know the password.
    pub fn login(port: u16, user: &str, password: &str) -> Imap {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("the IMAP server listens");
        stream.set_read_timeout(Some(wait::PATIENCE)).expect("a time-out can be set");
        let writer = stream.try_clone().expect("a second handle");
        let mut imap = Imap { reader: BufReader::new(stream), writer, tag: 0 };
        imap.line();
        let reply = imap.run(&format!("LOGIN {user} {password}"));
        assert!(reply.ok, "IMAP login of {user}: {}", reply.last);
        imap
    }

    /// The raw messages of a folder, oldest first; none when there is no such folder.
    pub fn messages(&mut self, folder: &str) -> Vec<Vec<u8>> {
        if !self.run(&format!("EXAMINE \"{folder}\"")).ok {
            return Vec::new();
        }
        let reply = self.run("UID FETCH 1:* (BODY.PEEK[])");
        assert!(reply.ok, "IMAP fetch: {}", reply.last);
        reply.items.into_iter().filter(|(line, _)| line.contains("FETCH")).flat_map(|(_, literals)| literals).collect()
    }

    /// Puts a message into a folder by APPEND.
    pub fn append(&mut self, folder: &str, raw: &[u8]) {
        self.append_with(folder, "(\\Seen)", raw);
    }

    /// The same with flags and arrival as APPEND takes them: `(\Deleted) "30-Nov-2026 12:00:00 +0000"`.
    pub fn append_with(&mut self, folder: &str, attributes: &str, raw: &[u8]) {
        self.tag += 1;
        let tag = format!("t{}", self.tag);
        write!(self.writer, "{tag} APPEND \"{folder}\" {attributes} {{{}}}\r\n", raw.len())
            .expect("IMAP takes the command");
        let go = self.line();
        assert!(go.starts_with('+'), "IMAP append: {go}");
        self.writer.write_all(raw).and_then(|()| self.writer.write_all(b"\r\n")).expect("IMAP takes the message");
        loop {
            let line = self.line();
            if let Some(rest) = line.strip_prefix(&format!("{tag} ")) {
                assert!(rest.starts_with("OK"), "IMAP append: {rest}");
                return;
            }
        }
    }

    /// How many messages a folder holds; none when there is no such folder.
    pub fn count(&mut self, folder: &str) -> usize {
        let reply = self.run(&format!("EXAMINE \"{folder}\""));
        let told =
            reply.items.iter().find_map(|(line, _)| line.strip_prefix("* ")?.strip_suffix(" EXISTS")?.parse().ok());
        if reply.ok { told.expect("EXAMINE tells how many") } else { 0 }
    }

    /// Whether there is such a folder.
    pub fn has(&mut self, folder: &str) -> bool {
        self.run(&format!("EXAMINE \"{folder}\"")).ok
    }

    /// Makes a folder.
    pub fn create(&mut self, folder: &str) {
        let reply = self.run(&format!("CREATE \"{folder}\""));
        assert!(reply.ok, "IMAP create: {}", reply.last);
    }

    /// Removes every message of a folder for good.
    pub fn empty(&mut self, folder: &str) {
        assert!(self.run(&format!("SELECT \"{folder}\"")).ok, "there is a folder {folder}");
        self.run("UID STORE 1:* +FLAGS.SILENT (\\Deleted)");
        assert!(self.run("EXPUNGE").ok, "IMAP expunges");
    }

    fn run(&mut self, command: &str) -> Reply {
        self.tag += 1;
        let tag = format!("t{} ", self.tag);
        write!(self.writer, "{tag}{command}\r\n").expect("IMAP takes the command");
        let mut items = Vec::new();
        loop {
            let mut line = self.line();
            if let Some(rest) = line.strip_prefix(&tag) {
                return Reply { ok: rest.starts_with("OK"), items, last: line };
            }
            let mut literals = Vec::new();
            while let Some(size) = announced(&line) {
                let mut literal = vec![0; size];
                self.reader.read_exact(&mut literal).expect("the literal comes whole");
                literals.push(literal);
                line.push_str(&self.line());
            }
            items.push((line, literals));
        }
    }

    fn line(&mut self) -> String {
        let mut bytes = Vec::new();
        self.reader.read_until(b'\n', &mut bytes).expect("IMAP answers");
        assert!(!bytes.is_empty(), "the IMAP server hung up");
        String::from_utf8_lossy(&bytes).trim_end().to_owned()
    }
}

/// The size in a line that ends with `{size}`.
fn announced(line: &str) -> Option<usize> {
    line.strip_suffix('}')?.rsplit_once('{')?.1.parse().ok()
}
