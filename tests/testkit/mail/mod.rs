//! Postfix and Dovecot, started for one test: their own configuration, users, certificates and ports.
//!
//! Postfix takes submissions and delivers through Dovecot's LMTP; Dovecot serves IMAP and answers for the passwords.
//! No Sieve, so nothing drops a second copy: what the mailbox holds is what was delivered, counted.

mod config;
mod imap;
mod lmtp;

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Mutex;

use crate::scratch::Scratch;
use crate::{ports, wait};

pub use imap::Imap;

/// Everybody who has a mailbox `NAME@test.example`; `dave`'s is reached through a hop without 8BITMIME.
pub const USERS: [&str; 7] = ["alice", "bob", "carol", "dave", "erin", "support", "robin"];
/// The password of them all.
pub const PASSWORD: &str = "secret";
/// The servers' own domain. Mail to any other domain bounces; nothing leaves the machine.
pub const DOMAIN: &str = "test.example";
/// A recipient refused for good at RCPT (550).
pub const REFUSED: &str = "refused@test.example";
/// A recipient refused for now at RCPT (450).
pub const BUSY: &str = "busy@test.example";
/// A message whose subject holds this is refused for good after its last byte (550).
pub const REFUSED_SUBJECT: &str = "refuse-this-content";

/// Ends Dovecot's master, whose folder is `$0`, and waits until it is gone.
const STOP_DOVECOT: &str = "p=$(cat \"$0/dc/run/master.pid\") || exit 0; kill $p; n=0; \
                            while kill -0 $p && [ $n -lt 100 ]; do sleep 0.05; n=$((n + 1)); done; kill -9 $p";

/// Where the servers listen, on 127.0.0.1.
#[derive(Clone, Copy, Debug)]
pub struct Ports {
    /// Submission with AUTH, plain or STARTTLS, that files nothing in Sent.
    pub submission: u16,
    /// The same, but it files a copy in the sender's Sent folder.
    pub submission_files_copy: u16,
    /// Submission with implicit TLS, files nothing.
    pub smtps: u16,
    /// IMAP, plain or STARTTLS.
    pub imap: u16,
    /// IMAP with implicit TLS.
    pub imaps: u16,
    /// Dovecot's delivery port, without AUTH.
    pub lmtp: u16,
    sasl: u16,
}

/// How Dovecot takes access tokens, for itself and for Postfix.
#[derive(Clone, Debug)]
pub struct SignIn {
    /// Whom it asks whose a token is (RFC 7662).
    pub introspect: String,
    /// `plain login oauthbearer xoauth2`, or fewer of them.
    pub mechanisms: &'static str,
}

/// One Postfix and one Dovecot. Dropping it stops both and removes every file.
pub struct MailServers {
    dir: Scratch,
    ports: Ports,
    up: Mutex<bool>,
}

impl MailServers {
    /// Starts both servers and returns once all ports answer.
    ///
    /// # Panics
    /// When a server is not installed or does not start. Needs root, or sudo without a password (Postfix runs as
    /// several users).
    pub fn start() -> MailServers {
        MailServers::starting("", None)
    }

    /// The same, with Dovecot telling of exactly these capabilities after the login; empty: of all it has.
    pub fn offering(capabilities: &str) -> MailServers {
        MailServers::starting(capabilities, None)
    }

    /// The same, and logins with a token are taken too.
    pub fn start_with_tokens(sign_in: &SignIn) -> MailServers {
        MailServers::starting("", Some(sign_in))
    }

    fn starting(capabilities: &str, sign_in: Option<&SignIn>) -> MailServers {
        let sudo = config::sudo();
        let stop =
            format!("{sudo} postfix -c \"$D/pf/etc\" stop; {sudo} sh -c '{STOP_DOVECOT}' \"$D\"; {sudo} rm -rf \"$D\"");
        let dir = Scratch::new(&stop);
        let ports = Ports {
            submission: ports::free(),
            submission_files_copy: ports::free(),
            smtps: ports::free(),
            imap: ports::free(),
            imaps: ports::free(),
            lmtp: ports::free(),
            sasl: ports::free(),
        };
        config::write(&dir, &ports, capabilities, sign_in);
        let servers = MailServers { dir, ports, up: Mutex::new(false) };
        servers.up();
        servers
    }

    /// Starts what [`MailServers::down`] stopped, on the same ports and with the same mail.
    pub fn up(&self) {
        let mut up = self.up.lock().expect("no test panicked here");
        assert!(!*up, "the servers run already");
        let conf = self.dir.join("dc/dovecot.conf");
        let mut start = config::as_root("dovecot");
        start
            .arg("-F")
            .arg("-c")
            .arg(conf)
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut dovecot = start.spawn().expect("dovecot is installed");
        // It is stopped by its own id; somebody must still collect it.
        std::thread::spawn(move || dovecot.wait());
        wait::until("Dovecot listens", || {
            [self.ports.imap, self.ports.imaps, self.ports.lmtp, self.ports.sasl]
                .iter()
                .all(|p| ports::open(*p))
                .then_some(())
        });
        self.postfix("start");
        wait::until("Postfix listens", || {
            [self.ports.submission, self.ports.submission_files_copy, self.ports.smtps]
                .iter()
                .all(|p| ports::open(*p))
                .then_some(())
        });
        *up = true;
    }

    /// Stops both servers and returns once no port answers any more. The mail stays.
    pub fn down(&self) {
        let mut up = self.up.lock().expect("no test panicked here");
        self.postfix("stop");
        let stopped =
            config::as_root("sh").arg("-c").arg(STOP_DOVECOT).arg(self.dir.path()).stderr(Stdio::null()).status();
        assert!(stopped.is_ok(), "sh runs");
        *up = false;
        wait::until("the mail servers are down", || {
            [self.ports.submission, self.ports.imap].iter().all(|p| !ports::open(*p)).then_some(())
        });
    }

    pub fn ports(&self) -> Ports {
        self.ports
    }

    /// The certificate authority that signed the servers' certificate (names `localhost` and 127.0.0.1).
    pub fn ca_pem(&self) -> PathBuf {
        self.dir.join("tls/ca.pem")
    }

    /// `NAME@test.example`.
    pub fn address(&self, user: &str) -> String {
        format!("{user}@{DOMAIN}")
    }

    /// A connection of our own, logged in, for what the methods below do not cover.
    pub fn imap(&self, user: &str) -> Imap {
        Imap::login(self.ports.imap, user, PASSWORD)
    }

    /// The raw messages of a folder, oldest first. Empty when there is no such folder.
    pub fn mailbox(&self, user: &str, folder: &str) -> Vec<Vec<u8>> {
        self.imap(user).messages(folder)
    }

    /// Waits until the folder holds at least `count` messages and the queue is empty, then returns them all: what is
    /// still under way would be missed otherwise.
    pub fn wait_for(&self, user: &str, folder: &str, count: usize) -> Vec<Vec<u8>> {
        let found = wait::within(wait::PATIENCE, || {
            let found = self.mailbox(user, folder);
            (found.len() >= count).then_some(found)
        });
        match found {
            Some(_) => {
                self.settle();
                self.mailbox(user, folder)
            }
            None => panic!("{folder} of {user} never held {count} messages; the log says:\n{}", self.log()),
        }
    }

    /// Waits until Postfix has nothing left to deliver, so that counting afterwards counts everything.
    pub fn settle(&self) {
        wait::until("Postfix's queue is empty", || {
            let queue = config::as_root("postqueue").arg("-c").arg(self.dir.join("pf/etc")).arg("-j").output().ok()?;
            (queue.status.success() && queue.stdout.is_empty()).then_some(())
        });
    }

    /// Puts a message into a mailbox as if it had arrived from outside (Dovecot adds its trace headers).
    pub fn deliver(&self, user: &str, from: &str, raw: &[u8]) {
        lmtp::deliver(self.ports.lmtp, from, &self.address(user), raw);
    }

    /// What Postfix and Dovecot wrote down, for messages about failures.
    pub fn log(&self) -> String {
        let read = |name: &str| {
            let out = config::as_root("cat").arg(self.dir.join(name)).output();
            out.map(|o| String::from_utf8_lossy(&o.stdout).into_owned()).unwrap_or_default()
        };
        format!("{}{}", read("pf/mail.log"), read("dc/log"))
    }

    fn postfix(&self, what: &str) {
        let mut command = config::as_root("postfix");
        command.arg("-c").arg(self.dir.join("pf/etc")).arg(what).current_dir("/");
        // With a terminal on stderr Postfix talks to it too; the log file has it all.
        let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
        let status = status.expect("postfix is installed");
        assert!(status.success() || what == "stop", "postfix {what} failed:\n{}", self.log());
    }
}

/// A message without the trace headers that servers put on top (Return-Path, Delivered-To, X-Original-To, Received):
/// what must equal the approved bytes.
pub fn without_trace(message: &[u8]) -> Vec<u8> {
    let mut rest = message;
    loop {
        let end = header_end(rest);
        let name = rest[..end].split(|b| *b == b':').next().unwrap_or_default().to_ascii_lowercase();
        if end == 0 || !matches!(&name[..], b"return-path" | b"delivered-to" | b"x-original-to" | b"received") {
            return rest.to_vec();
        }
        rest = &rest[end..];
    }
}

/// Length of the first header field with its folded lines and line end; 0 when there is none.
fn header_end(text: &[u8]) -> usize {
    let mut at = 0;
    while let Some(line) = text[at..].windows(2).position(|w| w == b"\r\n") {
        at += line + 2;
        if !matches!(text.get(at), Some(b' ' | b'\t')) {
            return at;
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trace_headers_are_only_taken_from_the_top() {
        let wire = b"From: a@test.example\r\nReceived: kept, since it is not on top\r\n\r\nReceived: text\r\n";
        let mut delivered = b"Return-Path: <a@test.example>\r\nReceived: from x\r\n\tby y;\r\n  now\r\n".to_vec();
        delivered.extend_from_slice(wire);
        assert_eq!(without_trace(&delivered), wire);
    }
}
