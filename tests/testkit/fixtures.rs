//! The fixtures themselves: what the other suites take for granted about them.
//!
//! The cuts repeat the measurements on which the mailbox destination rests: on Postfix a message whose final arrived is
//! delivered whatever becomes of the connection, and one whose final did not is not.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpStream};

use testkit::mail::{self, MailServers};
use testkit::{Act, Display, FaultProxy, Point, Session};

/// A client of the fixtures' own: says the whole dialogue and tells the last answer, or nothing when the line broke.
struct Client {
    reader: BufReader<TcpStream>,
    writer: TcpStream,
}

impl Client {
    fn connect(port: u16) -> Option<Client> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok()?;
        let writer = stream.try_clone().ok()?;
        let mut client = Client { reader: BufReader::new(stream), writer };
        client.answer()?;
        Some(client)
    }

    fn say(&mut self, words: &str) -> Option<String> {
        self.writer.write_all(words.as_bytes()).ok()?;
        self.answer()
    }

    fn answer(&mut self) -> Option<String> {
        loop {
            let mut line = String::new();
            if self.reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            if line.as_bytes().get(3) != Some(&b'-') {
                return Some(line);
            }
        }
    }
}

const MESSAGE: &str = "From: alice@test.example\r\nTo: bob@test.example\r\nSubject: cut\r\nMessage-ID: <cut@test.example>\r\n\
                       Date: Mon, 02 Nov 2026 09:15:00 +0000\r\n\r\n.leading dot\r\ntext\r\n";

fn long_message() -> String {
    format!("{MESSAGE}{}", "a line of the message, so that there is a middle to cut\r\n".repeat(40))
}

fn send(port: u16, chunking: bool) -> Option<String> {
    let message = long_message();
    let mut client = Client::connect(port)?;
    client.say("EHLO test\r\n")?;
    client.say("AUTH PLAIN AGFsaWNlAHNlY3JldA==\r\n")?;
    client.say("MAIL FROM:<alice@test.example>\r\n")?;
    client.say("RCPT TO:<bob@test.example>\r\n")?;
    if chunking {
        client.say(&format!("BDAT {}\r\n{message}", message.len()))?;
        return client.say("BDAT 0 LAST\r\n");
    }
    client.say("DATA\r\n")?;
    client.say(&format!("{}.\r\n", message.replace("\r\n.", "\r\n..")))
}

#[test]
fn each_cut_is_where_it_says_and_delivers_what_was_measured() {
    use Act::{Fin, Rst};
    use Point::{AfterAnswer, AfterFinal, AfterRcpt, AnswerHeld, BeforeFinal, BeforeMail, Connected, InBody};
    let servers = MailServers::start();
    // point, act, delivered
    let cuts = [
        (Connected, Fin, 0),
        (BeforeMail, Fin, 0),
        (AfterRcpt, Fin, 0),
        (InBody, Fin, 0),
        (InBody, Rst, 0),
        (BeforeFinal, Fin, 0),
        (AfterFinal, Fin, 1),
        (AfterFinal, Rst, 1),
        (AnswerHeld, Fin, 1),
        (AnswerHeld, Rst, 1),
        (AfterAnswer, Fin, 1),
    ];
    for chunking in [false, true] {
        for (at, act, delivered) in cuts {
            let proxy = FaultProxy::start(servers.ports().submission);
            servers.imap("bob").empty("INBOX");
            proxy.script(at, act);
            let answer = send(proxy.port(), chunking);
            let whole = at == AfterAnswer;
            assert_eq!(answer.is_some_and(|a| a.starts_with("250")), whole, "{at:?} {act:?} chunking {chunking}");
            proxy.wait(at, 1);
            assert_eq!(proxy.finals(), delivered, "{at:?} {act:?} chunking {chunking}");
            let got = if delivered == 0 {
                servers.settle();
                servers.mailbox("bob", "INBOX")
            } else {
                servers.wait_for("bob", "INBOX", delivered)
            };
            assert_eq!(got.len(), delivered, "{at:?} {act:?} chunking {chunking}");
            for message in got {
                assert_eq!(mail::without_trace(&message), long_message().into_bytes(), "the bytes pass unchanged");
                assert_eq!(
                    proxy.transactions()[0].message,
                    long_message().into_bytes(),
                    "the proxy saw the same bytes"
                );
            }
        }
    }
}

#[test]
fn a_held_answer_passes_when_it_is_released() {
    let servers = MailServers::start();
    let proxy = FaultProxy::hiding(servers.ports().submission, &["chunking"]);
    proxy.script(Point::AnswerHeld, Act::Hold);
    let port = proxy.port();
    let sender = std::thread::spawn(move || send(port, false));
    proxy.wait(Point::AnswerHeld, 1);
    assert_eq!(servers.wait_for("bob", "INBOX", 1).len(), 1, "delivered while the client still waits");
    assert!(!sender.is_finished());
    proxy.release();
    assert!(sender.join().expect("the client ends").is_some_and(|answer| answer.starts_with("250")));
    let mut client = Client::connect(proxy.port()).expect("the proxy listens");
    client.writer.write_all(b"EHLO test\r\n").expect("it takes the words");
    let mut ehlo = String::new();
    while !ehlo.contains("250 ") {
        client.reader.read_line(&mut ehlo).expect("it answers");
    }
    assert!(ehlo.contains("DSN") && !ehlo.contains("CHUNKING"), "{ehlo}");
}

#[test]
fn the_second_submission_port_files_a_copy_and_the_first_does_not() {
    let servers = MailServers::start();
    assert!(send(servers.ports().submission, true).is_some_and(|answer| answer.starts_with("250")));
    servers.wait_for("bob", "INBOX", 1);
    assert_eq!(servers.mailbox("alice", "Sent").len(), 0);
    assert!(send(servers.ports().submission_files_copy, true).is_some_and(|answer| answer.starts_with("250")));
    assert_eq!(servers.wait_for("alice", "Sent", 1).len(), 1);
    servers.deliver("bob", "robin@customer.example", MESSAGE.as_bytes());
    assert_eq!(servers.wait_for("bob", "INBOX", 3).len(), 3);
    servers.down();
    assert!(Client::connect(servers.ports().submission).is_none());
    servers.up();
    assert_eq!(servers.mailbox("bob", "INBOX").len(), 3, "a stop loses no mail");
}

#[test]
fn refusals_come_where_they_are_announced() {
    let servers = MailServers::start();
    let mut client = Client::connect(servers.ports().submission).expect("Postfix listens");
    let mut say = |words: &str| client.say(words).expect("Postfix answers");
    say("EHLO test\r\n");
    assert!(say("MAIL FROM:<alice@test.example>\r\n").starts_with("250"));
    assert!(say("RCPT TO:<bob@test.example>\r\n").starts_with("5"), "without AUTH nothing is relayed");
    say("RSET\r\n");
    say("AUTH PLAIN AGFsaWNlAHNlY3JldA==\r\n");
    say("MAIL FROM:<alice@test.example>\r\n");
    assert!(say(&format!("RCPT TO:<{}>\r\n", mail::REFUSED)).starts_with("550"));
    assert!(say(&format!("RCPT TO:<{}>\r\n", mail::BUSY)).starts_with("450"));
    assert!(say("RCPT TO:<bob@test.example>\r\n").starts_with("250"));
    say("DATA\r\n");
    let text = MESSAGE.replace("Subject: cut", &format!("Subject: {}", mail::REFUSED_SUBJECT));
    assert!(say(&format!("{}.\r\n", text.replace("\r\n.", "\r\n.."))).starts_with("550"));
}

#[test]
fn a_session_has_a_keychain_that_keeps_secrets_and_remembers_bubbles() {
    let display = Display::start();
    let mut session = Session::with_keyring();
    let mut store = session.command("secret-tool");
    store.args(["store", "--label=test", "for", "fixtures"]).stdin(std::process::Stdio::piped());
    let mut child = store.spawn().expect("secret-tool is installed");
    child.stdin.take().expect("it is piped").write_all(b"a secret").expect("it reads");
    assert!(child.wait().expect("it ends").success());
    let found = session.command("secret-tool").args(["lookup", "for", "fixtures"]).output().expect("secret-tool runs");
    assert_eq!(found.stdout, b"a secret");

    session.start_dunst(&display);
    let notify = [
        "call",
        "--session",
        "--dest",
        "org.freedesktop.Notifications",
        "--object-path",
        "/org/freedesktop/Notifications",
    ];
    let method = ["--method", "org.freedesktop.Notifications.Notify"];
    let words = ["fixtures", "0", "", "A summary", "A body", "[]", "{}", "1000"];
    let shown = session.command("gdbus").args(notify).args(method).args(words).output().expect("gdbus is installed");
    assert!(shown.status.success(), "{}", String::from_utf8_lossy(&shown.stderr));
    let told = testkit::wait::until("dunst remembers the bubble", || {
        let all = session.notifications();
        (!all.is_empty()).then_some(all)
    });
    assert_eq!(told, [("A summary".to_owned(), "A body".to_owned())]);
    let picture = display.path().join("shot.png");
    display.screenshot(&picture);
    assert!(std::fs::metadata(&picture).is_ok_and(|m| m.len() > 0));
}

#[test]
fn nothing_is_left_when_a_fixture_goes() {
    let servers = MailServers::start();
    let (path, port) = (servers.ca_pem(), servers.ports().imap);
    drop(servers);
    assert!(!path.exists());
    assert!(TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err());
}
