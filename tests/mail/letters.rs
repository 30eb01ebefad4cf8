//! Messages with a proposal in them, the program that watches for them, and a relay that breaks its connection.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use countersign_domain::Timestamp;
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};
use testkit::cli::Running;
use testkit::office::{self, Office};
use testkit::{MailServers, peers, wait};

/// The source that signs, in [`Letters`].
pub const SOURCE: &str = "mailer";
pub const FOLDER: &str = "Countersign";
/// A word of every message that no log may have.
pub const WORD: &str = "Kaleidoscope";
pub const HOUR: i64 = 3600;

pub fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    i64::try_from(since.as_secs()).expect("seconds fit")
}

/// One reply, of a request of its own.
pub fn proposal(request: &str) -> Value {
    let mut document = office::reply(request);
    document["actions"][0]["payload"]["text"] = format!("{WORD}: Thursday, 10 to 12. Grüße").into();
    document
}

/// A part with the document as programs attach it.
pub fn part(document: &str) -> String {
    let encoded = STANDARD.encode(document);
    let lines = encoded.as_bytes().chunks(76).map(|line| String::from_utf8_lossy(line).into_owned());
    let lines = lines.collect::<Vec<_>>().join("\r\n");
    format!(
        "Content-Type: application/json; name=\"proposal.json\"\r\nContent-Transfer-Encoding: base64\r\n\
         Content-Disposition: attachment; filename=\"proposal.json\"\r\n\r\n{lines}\r\n"
    )
}

pub fn text() -> String {
    format!("Content-Type: text/plain; charset=utf-8\r\n\r\nWhat is attached is a proposal. {WORD}\r\n")
}

pub fn multipart(kind: &str, boundary: &str, parts: &[String]) -> String {
    let parts: String = parts.iter().map(|part| format!("--{boundary}\r\n{part}")).collect();
    format!("Content-Type: multipart/{kind}; boundary=\"{boundary}\"\r\n\r\n{parts}--{boundary}--\r\n")
}

/// The usual message: words for people, and the document attached.
pub fn attached(document: &str) -> String {
    multipart("mixed", "b-1", &[text(), part(document)])
}

/// A whole message. `fields`: further lines of its header; `content`: from its Content-Type on.
pub fn message(fields: &str, content: &str) -> String {
    format!(
        "From: Support <{}>\r\nTo: support@test.example\r\nDate: Mon, 02 Nov 2026 09:15:00 +0000\r\n\
         Subject: {WORD}\r\nMIME-Version: 1.0\r\n{fields}{content}",
        office::ACCOUNT
    )
}

/// The three fields, by the Standard Webhooks library.
pub fn signature(secret: &str, id: &str, at: i64, document: &str) -> String {
    let signed = peers::sign(secret, id, u64::try_from(at).expect("after 1970"), document);
    format!("webhook-id: {id}\r\nwebhook-timestamp: {at}\r\nwebhook-signature: {signed}\r\n")
}

/// A home whose mailbox is at real servers, and a source that signs.
pub struct Letters {
    pub servers: MailServers,
    pub office: Office,
    pub secret: String,
}

impl Letters {
    pub fn new(servers: MailServers, office: Office) -> Letters {
        let secret = add_source(&office, SOURCE);
        Letters { servers, office, secret }
    }

    /// Starts the program and waits for the folders it makes.
    pub fn watch(&self, more: &[&str]) -> Running {
        let every = ["serve", "--watch-mailbox", "support-mailbox", "--watch-mailbox-every", "1"];
        let mut running = self.office.spawn(&[&every, more].concat(), &[]);
        running.listening();
        let mut imap = self.servers.imap("support");
        wait::until("the folders are made", || imap.has(&format!("{FOLDER}/refused")).then_some(()));
        running
    }

    /// A message of the source, signed now.
    pub fn signed(&self, request: &str) -> String {
        let document = proposal(request).to_string();
        message(&signature(&self.secret, &format!("msg_{request}"), now(), &document), &attached(&document))
    }

    /// As it comes from outside: through Dovecot's LMTP into the folder.
    pub fn deliver(&self, message: &str) {
        self.servers.deliver(&format!("support+{FOLDER}"), "anybody@elsewhere.example", message.as_bytes());
    }

    /// Puts it into the folder as if it had arrived at this time.
    pub fn put(&self, arrived: i64, message: &str) {
        self.servers.imap("support").append_with(FOLDER, &internal_date(arrived), message.as_bytes());
    }

    /// Waits until `accepted` and `refused` hold so many and the folder itself is empty.
    #[track_caller]
    pub fn settled(&self, accepted: usize, refused: usize) {
        let found = wait::within(wait::PATIENCE, || (self.counts() == (0, accepted, refused)).then_some(()));
        assert!(found.is_some(), "waiting, accepted, refused: {:?}; expected 0, {accepted}, {refused}", self.counts());
    }

    /// How many wait, were accepted, and were refused.
    pub fn counts(&self) -> (usize, usize, usize) {
        let mut imap = self.servers.imap("support");
        let [waiting, accepted, refused] =
            ["", "/accepted", "/refused"].map(|below| imap.count(&format!("{FOLDER}{below}")));
        (waiting, accepted, refused)
    }

    /// Ids of all actions, the newest first.
    pub fn actions(&self) -> Vec<String> {
        let listed = self.office.ok(&["list"]);
        let actions = listed["actions"].as_array().expect("a list").iter();
        actions.map(|a| a["id"].as_str().expect("an id").to_owned()).collect()
    }

    /// What became of each delivery of an action.
    pub fn dispositions(&self, id: &str) -> Vec<String> {
        let doc = self.office.show(id);
        let deliveries = doc["deliveries"].as_array().expect("a list").iter();
        let mut all: Vec<_> = deliveries.map(|d| d["disposition"].as_str().expect("a word").to_owned()).collect();
        all.sort();
        all
    }
}

/// Allows a source that signs; its secret.
pub fn add_source(office: &Office, name: &str) -> String {
    let made = office.ok(&[
        "source",
        "add",
        name,
        "--environment",
        "sandbox",
        "--effects",
        "email.reply",
        "--destinations",
        "support-mailbox",
        "--signed",
    ]);
    made["signing_secret"].as_str().expect("a secret").to_owned()
}

/// As APPEND takes a time.
fn internal_date(seconds: i64) -> String {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let time = Timestamp::from_millis(seconds * 1000).to_string();
    let month: usize = time[5..7].parse().expect("a month");
    format!("() \"{}-{}-{} {} +0000\"", &time[8..10], MONTHS[month - 1], &time[..4], &time[11..19])
}

/// What happens to a command.
#[derive(Clone, Copy, PartialEq)]
pub enum Does {
    /// Both sides are closed; the server never hears it.
    Cut,
    /// It stays under way until [`Relay::release`].
    Hang,
}

#[derive(Default)]
struct State {
    at: Option<(String, Does)>,
    hits: usize,
}

/// Passes an IMAP conversation on, line by line.
pub struct Relay {
    port: u16,
    state: Arc<(Mutex<State>, Condvar)>,
}

impl Relay {
    pub fn to(upstream: u16) -> Relay {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let port = listener.local_addr().expect("bound").port();
        let state: Arc<(Mutex<State>, Condvar)> = Arc::default();
        let ours = state.clone();
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, upstream)) else { continue };
                let state = ours.clone();
                let (mut from, mut to) = (server.try_clone().expect("a handle"), client.try_clone().expect("a handle"));
                thread::spawn(move || {
                    let _ = std::io::copy(&mut from, &mut to);
                    let _ = to.shutdown(Shutdown::Both);
                });
                thread::spawn(move || pass(&state, client, server));
            }
        });
        Relay { port, state }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// From now on, whenever a command has these words.
    pub fn at(&self, words: &str, does: Does) {
        self.state.0.lock().expect("no thread panicked").at = Some((words.to_owned(), does));
    }

    /// From now on everything passes, and what hangs goes on.
    pub fn release(&self) {
        self.state.0.lock().expect("no thread panicked").at = None;
        self.state.1.notify_all();
    }

    /// Waits until it happened so often.
    pub fn wait(&self, hits: usize) {
        wait::until("the command came", || {
            (self.state.0.lock().expect("no thread panicked").hits >= hits).then_some(())
        });
    }
}

fn pass(state: &(Mutex<State>, Condvar), client: TcpStream, mut server: TcpStream) {
    let mut lines = BufReader::new(client.try_clone().expect("a handle"));
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        let mut now = state.0.lock().expect("no thread panicked");
        let text = String::from_utf8_lossy(&line).into_owned();
        let does = now.at.as_ref().filter(|(words, _)| text.contains(words.as_str())).map(|(_, does)| *does);
        if does.is_some() {
            now.hits += 1;
        }
        if does == Some(Does::Hang) {
            now = state.1.wait_while(now, |s| s.at.is_some()).expect("no thread panicked");
        }
        drop(now);
        if does == Some(Does::Cut) || server.write_all(&line).is_err() {
            break;
        }
        line.clear();
    }
    for stream in [&client, &server] {
        let _ = stream.shutdown(Shutdown::Both);
    }
}
