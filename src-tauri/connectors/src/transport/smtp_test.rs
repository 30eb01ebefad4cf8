use super::*;
use crate::providers::mailbox::config::Endpoint;
use crate::transport::Poised;
use crate::transport::tls::Trust;
use std::path::Path;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;

/// A server that answers from a table: the first entry whose command begins the line. `\n` stands for CRLF; an empty
/// reply says nothing, `!` hangs up. What it heard is kept.
struct Scripted {
    port: u16,
    heard: Arc<Mutex<Vec<u8>>>,
}

impl Scripted {
    async fn start(script: &'static [(&'static str, &'static str)]) -> Scripted {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let log = heard.clone();
        tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let (read, mut write) = stream.into_split();
            let mut read = BufReader::new(read);
            write.write_all(b"220 ready\r\n").await.unwrap();
            let mut in_data = false;
            loop {
                let mut line = Vec::new();
                if read.read_until(b'\n', &mut line).await.unwrap_or(0) == 0 {
                    return;
                }
                log.lock().unwrap().extend_from_slice(&line);
                let text = String::from_utf8_lossy(&line).into_owned();
                if in_data && text != ".\r\n" && !text.starts_with('!') {
                    continue;
                }
                let reply = script.iter().find(|(command, _)| text.starts_with(command)).map_or("250 ok\n", |(_, r)| r);
                in_data = text.starts_with("DATA") && reply.starts_with("354");
                if let Some(n) = text.strip_prefix("BDAT ").and_then(|t| t.trim().parse::<usize>().ok()) {
                    let mut body = vec![0; n];
                    tokio::io::AsyncReadExt::read_exact(&mut read, &mut body).await.unwrap();
                    log.lock().unwrap().extend_from_slice(&body);
                }
                if reply == "!" {
                    return;
                }
                write.write_all(reply.replace('\n', "\r\n").as_bytes()).await.unwrap();
            }
        });
        Scripted { port, heard }
    }
    fn heard(&self) -> String {
        String::from_utf8(self.heard.lock().unwrap().clone()).unwrap()
    }
    fn server(&self) -> Server {
        let endpoint = Endpoint { security: Security::Plain, host: "127.0.0.1".into(), port: self.port };
        Server { endpoint, port: self.port, trust: Trust::load(None, Path::new(".")).unwrap() }
    }
    async fn approach(&self, message: &[u8]) -> Result<SmtpPoised, Answer> {
        let login = Login::new("", "");
        let session = log_in(&self.server(), &login, Duration::from_secs(5), &|_| {}).await?;
        let rcpt_to = ["robin@customer.example".to_owned(), "kit@customer.example".to_owned()];
        let envelope = Envelope { mail_from: "support@shop.example", rcpt_to: &rcpt_to, message, envelope_id: "a+b=c" };
        session.approach(&envelope, Value::Null).await
    }
    async fn send(&self) -> Crossed {
        self.send_within(Duration::from_secs(5)).await
    }
    async fn send_within(&self, limit: Duration) -> Crossed {
        let poised = self.approach(BODY).await.expect("nothing is refused before the last thing");
        Poised::Smtp(poised).cross(BootTime::now(), limit).await
    }
}

const BODY: &[u8] = b"Subject: x\r\n\r\nhello\r\n.\r\n..two\r\n";

fn code(answer: &Answer) -> &str {
    &answer.codes[0].0
}

fn reply(crossed: Crossed) -> SmtpReply {
    match crossed {
        Crossed::Answered(Reply::Smtp(r)) => r,
        other => panic!("no answer: {other:?}"),
    }
}

fn broken(crossed: Crossed) -> String {
    match crossed {
        Crossed::Broken(d) => d.code,
        other => panic!("not broken: {other:?}"),
    }
}

#[tokio::test]
async fn f32_the_last_thing_is_the_dot_and_everything_else_went_before() {
    let s = Scripted::start(&[("DATA", "354 go\n"), (".\r\n", "250 2.0.0 Ok: queued as X9\n")]).await;
    let poised = s.approach(BODY).await.unwrap();
    let crossed = Poised::Smtp(poised).cross(BootTime::now(), Duration::from_secs(5)).await;
    assert_eq!(reply(crossed).text, "Ok: queued as X9");
    let heard = s.heard();
    let body = heard.split("DATA\r\n").nth(1).unwrap();
    assert!(body.starts_with("Subject: x\r\n\r\nhello\r\n..\r\n...two\r\n.\r\n"), "{body}");
}

#[tokio::test]
async fn the_last_chunk_is_the_last_thing_where_chunking_is_offered() {
    let s = Scripted::start(&[("EHLO", "250-x\n250-CHUNKING\n250-DSN\n250 SIZE 5000\n")]).await;
    let poised = s.approach(BODY).await.unwrap();
    assert!(!s.heard().contains("LAST"));
    assert_eq!(poised.noted()["chunking"], true);
    assert_eq!(reply(poised.cross(BootTime::now(), Duration::from_secs(5)).await).code, 250);
    let heard = s.heard();
    assert!(heard.contains("MAIL FROM:<support@shop.example> SIZE=31 RET=HDRS ENVID=a+2Bb+3Dc\r\n"), "{heard}");
    assert!(heard.contains("NOTIFY=SUCCESS,FAILURE ORCPT=rfc822;robin@customer.example\r\n"), "{heard}");
    let whole = format!("BDAT {}\r\n{}BDAT 0 LAST\r\n", BODY.len(), String::from_utf8_lossy(BODY));
    assert!(heard.contains(&whole), "the bytes go unstuffed: {heard}");
}

#[tokio::test]
async fn f08_one_refused_recipient_and_there_is_no_data() {
    let s = Scripted::start(&[("RCPT TO:<kit@", "550 5.1.1 <kit@customer.example> unknown\n")]).await;
    let no = s.approach(BODY).await.err().unwrap();
    assert_eq!(code(&no), "smtp:rcpt:550");
    assert_eq!(no.words, "recipient 1: 250 ok; recipient 2: 550 5.1.1 <address> unknown");
    assert!(!s.heard().contains("DATA"));
}

#[tokio::test]
async fn f08_a_lasting_no_outweighs_a_passing_one_and_552_is_a_passing_one() {
    let s = Scripted::start(&[("RCPT TO:<robin@", "450 later\n"), ("RCPT TO:<kit@", "550 no\n")]).await;
    assert_eq!(code(&s.approach(BODY).await.err().unwrap()), "smtp:rcpt:550");
    let s = Scripted::start(&[("RCPT TO:<robin@", "552 full\n")]).await;
    assert_eq!(code(&s.approach(BODY).await.err().unwrap()), "smtp:rcpt:552");
}

#[tokio::test]
async fn f36_a_message_above_the_limit_is_stopped_before_mail_with_the_real_number() {
    let s = Scripted::start(&[("EHLO", "250-x\n250 SIZE 20\n")]).await;
    let no = s.approach(BODY).await.err().unwrap();
    assert_eq!(code(&no), "smtp:size:exceeded");
    assert!(
        no.words.starts_with("the message has 31 bytes as it is sent") && no.words.contains("at most 20 bytes."),
        "{no:?}"
    );
    assert!(!s.heard().contains("MAIL"));
}

#[tokio::test]
async fn r19_a_connection_lost_before_the_last_thing_is_not_sent() {
    for script in [&[("MAIL", "!")][..], &[("RCPT", "!")], &[("DATA", "!")], &[("EHLO", "!")]] {
        let s = Scripted::start(script).await;
        assert_eq!(code(&s.approach(BODY).await.err().unwrap()), "smtp:before_final_dot:closed");
    }
    for (script, wanted) in [
        (&[("MAIL", "550 no\n")][..], "smtp:mail:550"),
        (&[("MAIL", "421 bye\n")], "smtp:before_final_dot:421"),
        (&[("DATA", "554 no\n")], "smtp:data:554"),
        (&[("DATA", "250 ok\n")], "smtp:data:250"),
        (&[("EHLO", "502 what\n")], "smtp:ehlo:502"),
    ] {
        let s = Scripted::start(script).await;
        assert_eq!(code(&s.approach(BODY).await.err().unwrap()), wanted);
    }
}

#[tokio::test]
async fn f01_after_the_dot_a_lost_answer_is_broken_and_a_late_one_settles_it() {
    let s = Scripted::start(&[("DATA", "354 go\n"), (".\r\n", "!")]).await;
    assert_eq!(broken(s.send().await), "smtp:final_dot:closed");
    let s = Scripted::start(&[("DATA", "354 go\n"), (".\r\n", "what?\n")]).await;
    assert_eq!(broken(s.send().await), "smtp:final_dot:unreadable");
    let s = Scripted::start(&[("DATA", "354 go\n"), (".\r\n", "")]).await;
    let Crossed::Pending(late) = s.send_within(Duration::from_millis(300)).await else { panic!("it is overdue") };
    assert_eq!(late.doubt().code, "smtp:final_dot:timeout");
    let Crossed::Pending(_) = late.read_on(Duration::from_millis(50)).await else { panic!("and stays so") };
}

#[tokio::test]
async fn f04_two_replies_to_one_step_are_no_answer() {
    let s = Scripted::start(&[("DATA", "354 go\n"), (".\r\n", "451 waiting\n250 ok\n"), ("QUIT", "221 bye\n")]).await;
    assert_eq!(broken(s.send().await), "smtp:final_dot:two_replies");
    let s = Scripted::start(&[("DATA", "354 go\n"), (".\r\n", "250 ok\n451 or not\n")]).await;
    assert_eq!(broken(s.send().await), "smtp:final_dot:two_replies");
    let s = Scripted::start(&[("DATA", "354 go\n"), (".\r\n", "250 ok\n421 closing\n")]).await;
    assert_eq!(reply(s.send().await).code, 250);
    let s = Scripted::start(&[("DATA", "354 go\n"), (".\r\n", "451 later\n"), ("QUIT", "221 bye\n")]).await;
    assert_eq!(reply(s.send().await).code, 451);
    let s = Scripted::start(&[("DATA", "354 go\n"), (".\r\n", "550 no\n"), ("QUIT", "!")]).await;
    assert_eq!(reply(s.send().await).code, 550);
}

#[tokio::test]
async fn f04_a_reply_while_the_body_is_written_bars_the_last_thing() {
    let s = Scripted::start(&[("DATA", "354 go\n451 timeout waiting for input\n")]).await;
    let poised = s.approach(&b"a line of text\r\n".repeat(20_000)).await.unwrap();
    assert_eq!(broken(poised.cross(BootTime::now(), Duration::from_secs(5)).await), "smtp:final_dot:out_of_step");
    assert!(!s.heard().contains("\r\n.\r\n"));
}

#[tokio::test]
async fn r19_a_machine_that_slept_after_the_mark_says_nothing() {
    let s = Scripted::start(&[("DATA", "354 go\n")]).await;
    let poised = s.approach(BODY).await.unwrap();
    let marked = BootTime::now().before(Duration::from_secs(6));
    let Crossed::Unsent(no) = poised.cross(marked, Duration::from_secs(5)).await else { panic!("it was sent") };
    assert_eq!(code(&no), "smtp:before_final_dot:slept");
    assert!(!s.heard().contains("\r\n.\r\n"));
}

#[tokio::test]
async fn nobody_there_is_offline_and_a_wrong_port_is_not_trusted() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let s = Scripted { port, heard: Arc::default() };
    assert_eq!(code(&s.approach(BODY).await.err().unwrap()), "net:before_body");
    let s = Scripted::start(&[("EHLO", "250 x\n")]).await;
    let mut server = s.server();
    server.endpoint.security = Security::StartTls;
    let no = log_in(&server, &Login::new("u", "p"), Duration::from_secs(5), &|_| {}).await.err().unwrap();
    assert_eq!(code(&no), "smtp:tls:not_offered");
    assert!(!s.heard().contains("AUTH"), "no password without encryption");
}

#[tokio::test]
async fn a_failed_login_keeps_its_step_whatever_its_code() {
    for (script, wanted) in [
        (&[("EHLO", "250-x\n250 AUTH PLAIN\n"), ("AUTH", "535 5.7.8 no\n")][..], "smtp:auth:535"),
        (&[("EHLO", "250-x\n250 AUTH LOGIN\n"), ("AUTH", "421 4.7.0 too many\n")], "smtp:auth:421"),
        (&[("EHLO", "250-x\n250 AUTH XOAUTH2\n")], "smtp:auth:no_mechanism"),
    ] {
        let s = Scripted::start(script).await;
        let no = log_in(&s.server(), &Login::new("u", "p"), Duration::from_secs(5), &|_| {}).await.err().unwrap();
        assert_eq!(code(&no), wanted);
    }
}

#[test]
fn xtext_is_what_rfc_3461_says() {
    assert_eq!(xtext("a b+c=d@e"), "a+20b+2Bc+3Dd@e");
}

proptest::proptest! {
    #[test]
    fn f26_f32_what_a_server_unstuffs_is_what_was_built(lines in proptest::collection::vec("\\.{0,3}[ -~]{0,12}", 0..20)) {
        let message: Vec<u8> = lines.iter().flat_map(|l| [l.as_bytes(), b"\r\n"].concat()).collect();
        let sent = [stuffed(&message), b".\r\n".to_vec()].concat();
        // RFC 5321, 4.5.2, at the receiving side, line by line up to the lone dot.
        let mut received = Vec::new();
        let mut rest = sent.as_slice();
        loop {
            let end = rest.windows(2).position(|w| w == b"\r\n").unwrap() + 2;
            let line = &rest[..end];
            rest = &rest[end..];
            if line == b".\r\n" { break; }
            received.extend_from_slice(line.strip_prefix(b".").unwrap_or(line));
        }
        proptest::prop_assert_eq!(received, message);
        proptest::prop_assert!(rest.is_empty(), "nothing follows the dot");
    }
}

#[tokio::test]
async fn r34_a_token_is_told_by_the_mechanism_that_is_offered_and_a_long_one_on_a_line_of_its_own() {
    const BOTH: &str = "250-x\n250 AUTH PLAIN XOAUTH2 OAUTHBEARER\n";
    const ONE: &str = "250-x\n250 AUTH LOGIN XOAUTH2\n";
    let log_in = async |script: &'static [(&'static str, &'static str)], token: &str| {
        let s = Scripted::start(script).await;
        let login = Login::token("support@shop.example", token);
        let done = log_in(&s.server(), &login, Duration::from_secs(5), &|_| {}).await.map(drop);
        (s, done)
    };
    let (s, done) = log_in(&[("EHLO", BOTH), ("AUTH OAUTHBEARER bixh", "235 ok\n")], "short").await;
    assert!(done.is_ok(), "{done:?} {}", s.heard());
    let (s, done) = log_in(&[("EHLO", ONE), ("AUTH XOAUTH2 dXNl", "235 ok\n")], "short").await;
    assert!(done.is_ok(), "{done:?} {}", s.heard());
    // RFC 5321 allows 512 octets for a command, RFC 4954 an answer of any length.
    let long = "t".repeat(2000);
    let (s, done) = log_in(&[("EHLO", ONE), ("AUTH XOAUTH2\r", "334 \n"), ("dXNl", "235 ok\n")], &long).await;
    assert!(done.is_ok() && s.heard().lines().all(|l| l.len() <= 510 || l.starts_with("dXNl")), "{}", s.heard());
}

#[tokio::test]
async fn f42_the_servers_account_of_a_refused_token_is_heard_and_its_no_is_the_answer() {
    let cases = [
        (&[("EHLO", "250-x\n250 AUTH XOAUTH2\n"), ("AUTH", "334 e30=\n"), ("\r\n", "535 5.7.8 no\n")][..], "\r\n"),
        (&[("EHLO", "250-x\n250 AUTH OAUTHBEARER\n"), ("AUTH", "334 e30=\n"), ("AQ==", "535 5.7.8 no\n")], "AQ==\r\n"),
    ];
    for (script, heard) in cases {
        let s = Scripted::start(script).await;
        let login = Login::token("support@shop.example", "canary");
        let no = log_in(&s.server(), &login, Duration::from_secs(5), &|_| {}).await.err().expect("it is refused");
        assert_eq!((code(&no), no.words.as_str()), ("smtp:auth:535", "535 5.7.8 no"));
        assert!(s.heard().ends_with(heard) && !s.heard().contains("MAIL"), "{}", s.heard());
    }
    for (login, code_of) in [
        (Login::token("support@shop.example", "canary"), "smtp:auth:no_mechanism"),
        (Login::token("a\x01b", "canary"), "smtp:auth:unusable"),
    ] {
        let offers =
            if code_of.ends_with("unusable") { "250-x\n250 AUTH XOAUTH2\n" } else { "250-x\n250 AUTH PLAIN\n" };
        let script: &'static [(&str, &str)] = Box::leak(Box::new([("EHLO", offers)]));
        let s = Scripted::start(script).await;
        let no = log_in(&s.server(), &login, Duration::from_secs(5), &|_| {}).await.err().expect("it is not tried");
        assert_eq!(code(&no), code_of);
        assert!(!s.heard().contains("AUTH"), "a token goes to nobody who did not ask for it");
    }
}
