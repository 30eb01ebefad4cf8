use super::*;
use tokio::net::{TcpListener, TcpStream};

async fn pair() -> (Talk, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (server, _) = listener.accept().await.unwrap();
    (Talk::new(Stream::Plain(client), Duration::from_secs(5)), server)
}

async fn told(bytes: &[u8]) -> Result<SmtpReply, NoReply> {
    let (mut talk, mut server) = pair().await;
    server.write_all(bytes).await.unwrap();
    server.shutdown().await.unwrap();
    talk.reply(Step::Mail, Duration::from_secs(5)).await
}

#[tokio::test]
async fn replies_are_whole_or_not_at_all() {
    let r = told(b"250 2.1.0 Ok\r\n").await.unwrap();
    assert_eq!((r.code, r.enhanced, r.text.as_str()), (250, Some([2, 1, 0]), "Ok"));
    let r = told(b"250-mail.example\r\n250-SIZE 1000\r\n250 DSN\r\n").await.unwrap();
    assert_eq!(r.text.lines().collect::<Vec<_>>(), ["mail.example", "SIZE 1000", "DSN"]);
    assert_eq!(told(b"354\r\n").await.unwrap().code, 354);
    assert_eq!(told(b"550 5.1.1 no\n").await.unwrap().enhanced, Some([5, 1, 1]));
    assert_eq!(told(b"250 2.1.0 O").await, Err(NoReply::Closed));
    assert_eq!(told(b"250-one\r\n").await, Err(NoReply::Closed));
    for odd in [&b"hello\r\n"[..], b"25 no\r\n", b"250-a\r\n251 b\r\n", b"999 x\r\n", b"150 x\r\n", b"250_x\r\n"] {
        assert_eq!(told(odd).await, Err(NoReply::Unreadable), "{}", String::from_utf8_lossy(odd));
    }
    assert_eq!(told(&b"2".repeat(5000)).await, Err(NoReply::Unreadable));
}

#[tokio::test]
async fn f04_a_command_is_not_given_while_something_is_unread() {
    let (mut talk, mut server) = pair().await;
    server.write_all(b"250 one\r\n250 two\r\n").await.unwrap();
    assert_eq!(talk.reply(Step::Mail, Duration::from_secs(5)).await.unwrap().text, "one");
    assert_eq!(talk.command(Step::Rcpt, "RCPT TO:<a@b.example>").await, Err(NoReply::OutOfStep));
}

#[tokio::test]
async fn f01_a_reply_that_comes_in_two_halves_around_a_time_out_is_whole() {
    let (mut talk, mut server) = pair().await;
    server.write_all(b"250 2.0.0 que").await.unwrap();
    assert_eq!(talk.reply(Step::FinalDot, Duration::from_millis(50)).await, Err(NoReply::Timeout));
    server.write_all(b"ued as X1\r\n").await.unwrap();
    assert_eq!(talk.reply(Step::FinalDot, Duration::from_secs(5)).await.unwrap().text, "queued as X1");
}
