use super::*;
use serde_json::json;
use std::net::SocketAddr;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};

const LONG: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_millis(100);
const AT: Timestamp = Timestamp::from_millis(1_793_610_900_000);

async fn server() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

async fn poised(address: SocketAddr, body: &Value) -> HttpPoised {
    let base = BaseUrl::read(&format!("http://{address}/v1"), true).unwrap();
    let site = Site::new(base.clone(), Trust::load(None, std::path::Path::new(".")).unwrap());
    let request = Request::json("POST", base.join("/emails"), body).with("idempotency-key", "k-1");
    site.approach(request, &Credentials::bearer("re_secret"), AT, Value::Null).await.unwrap()
}

/// The head as text, and the body, of one request.
async fn heard(stream: &mut TcpStream) -> (String, Vec<u8>) {
    let mut all = Vec::new();
    loop {
        let mut bytes = [0u8; 4096];
        let n = stream.read(&mut bytes).await.unwrap();
        assert!(n > 0, "the client left in the middle of its request");
        all.extend_from_slice(&bytes[..n]);
        let Some(end) = all.windows(4).position(|w| w == b"\r\n\r\n") else { continue };
        let head = String::from_utf8(all[..end].to_vec()).unwrap();
        let length = head.lines().find_map(|l| l.strip_prefix("content-length: ")).map_or(0, |n| n.parse().unwrap());
        if all.len() == end + 4 + length {
            return (head, all[end + 4..].to_vec());
        }
    }
}

/// Crosses, and answers with these bytes and a hang-up.
async fn answered(bytes: &'static [u8]) -> Crossed {
    let (listener, address) = server().await;
    let poised = poised(address, &json!({ "text": "Grüße" })).await;
    let (mut stream, _) = listener.accept().await.unwrap();
    let served = async {
        heard(&mut stream).await;
        stream.write_all(bytes).await.unwrap();
        stream.shutdown().await.unwrap();
    };
    tokio::join!(poised.cross(BootTime::now(), LONG), served).0
}

fn whole(crossed: Crossed) -> HttpReply {
    match crossed {
        Crossed::Answered(Reply::Http(reply)) => reply,
        other => panic!("no whole answer: {other:?}"),
    }
}

fn doubtful(crossed: Crossed) -> String {
    match crossed {
        Crossed::Broken(doubt) => doubt.code,
        other => panic!("not broken: {other:?}"),
    }
}

#[tokio::test]
async fn the_connection_is_there_before_a_byte_is_said_and_the_bytes_are_the_stored_ones() {
    let (listener, address) = server().await;
    let poised = poised(address, &json!({ "text": "Grüße\r\n\r\n例子" })).await;
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut byte = [0u8; 1];
    assert!(stream.read(&mut byte).now_or_never().is_none(), "connected, and silent");
    let served = async {
        let (head, body) = heard(&mut stream).await;
        stream
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}")
            .await
            .unwrap();
        (head, body)
    };
    let (crossed, (head, body)) = tokio::join!(poised.cross(BootTime::now(), LONG), served);
    assert_eq!(whole(crossed).json(), Some(json!({})));
    let mut lines = head.lines();
    assert_eq!(lines.next(), Some("POST /v1/emails HTTP/1.1"));
    let lines: Vec<&str> = lines.collect();
    for line in [
        &format!("host: {address}")[..],
        "content-type: application/json",
        "idempotency-key: k-1",
        "authorization: Bearer re_secret",
    ] {
        assert_eq!(lines.iter().filter(|l| **l == line).count(), 1, "{line}: {head}");
    }
    assert_eq!(body, json!({ "text": "Grüße\r\n\r\n例子" }).to_string().into_bytes());
}

#[tokio::test]
async fn what_is_not_whole_is_no_answer() {
    let ok = whole(answered(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").await);
    assert_eq!((ok.status, ok.body.as_slice()), (200, &b"{}"[..]));
    let chunked = answered(b"HTTP/1.1 201 x\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n").await;
    assert_eq!(whole(chunked).body, b"{}");
    assert_eq!(doubtful(answered(b"HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\n{}").await), "http:truncated");
    assert_eq!(
        doubtful(answered(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n9\r\n{}").await),
        "http:truncated"
    );
    assert_eq!(doubtful(answered(b"HTTP/1.1 200 OK\r\ncontent-len").await), "net:closed");
    assert_eq!(doubtful(answered(b"").await), "net:closed");
    assert_eq!(doubtful(answered(b"220 mail.example ESMTP\r\n").await), "http:unreadable");
}

#[tokio::test]
async fn f02_a_request_is_said_once_whatever_the_answer_asks_for() {
    for answer in [
        &b"HTTP/1.1 307 x\r\nlocation: /elsewhere\r\ncontent-length: 0\r\n\r\n"[..],
        b"HTTP/1.1 503 x\r\nretry-after: 0\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 408 x\r\ncontent-length: 0\r\n\r\n",
        b"",
    ] {
        let (listener, address) = server().await;
        let poised = poised(address, &json!({})).await;
        let (mut stream, _) = listener.accept().await.unwrap();
        let served = async {
            heard(&mut stream).await;
            stream.write_all(answer).await.unwrap();
            stream.shutdown().await.unwrap();
        };
        tokio::join!(poised.cross(BootTime::now(), LONG), served);
        assert!(listener.accept().now_or_never().is_none(), "nobody connects again");
    }
}

#[tokio::test]
async fn a_laptop_that_slept_or_a_server_that_left_gets_not_a_byte() {
    let (listener, address) = server().await;
    let held = poised(address, &json!({})).await;
    let (mut stream, _) = listener.accept().await.unwrap();
    let long_ago = BootTime::now().before(Duration::from_secs(6));
    assert!(matches!(held.cross(long_ago, LONG).await, Crossed::Unsent(_)));
    let mut bytes = Vec::new();
    assert_eq!(stream.read_to_end(&mut bytes).await.unwrap(), 0, "dropped without a word");

    let left = poised(address, &json!({})).await;
    let (stream, _) = listener.accept().await.unwrap();
    drop(stream);
    left.stream_is_closed().await;
    match left.cross(BootTime::now(), LONG).await {
        Crossed::Unsent(answer) => assert_eq!(answer.codes[0].0, "http:before_request:closed"),
        other => panic!("{other:?}"),
    }
}

impl HttpPoised {
    /// Waits until the end of the other side has arrived here.
    async fn stream_is_closed(&self) {
        let Stream::Plain(tcp) = &self.stream else { panic!("it is plain") };
        tcp.readable().await.unwrap();
    }
}

#[tokio::test]
async fn f53_a_late_answer_is_read_on_for_on_the_same_connection() {
    let (listener, address) = server().await;
    let poised = poised(address, &json!({})).await;
    let (mut stream, _) = listener.accept().await.unwrap();
    let (crossed, ()) = tokio::join!(poised.cross(BootTime::now(), SHORT), async {
        heard(&mut stream).await;
    });
    let Crossed::Pending(late) = crossed else { panic!("{crossed:?}") };
    assert_eq!(late.doubt().code, "net:timeout");
    let Crossed::Pending(late) = late.read_on(SHORT).await else { panic!("nothing came yet") };
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\n{\"id\"").await.unwrap();
    let Crossed::Pending(late) = late.read_on(SHORT).await else { panic!("half of it came") };
    stream.write_all(b":1}").await.unwrap();
    assert_eq!(whole(late.read_on(LONG).await).body, b"{\"id\":1}");
}

#[tokio::test]
async fn f04_two_answers_to_one_request_make_neither_count() {
    let first = b"HTTP/1.1 429 Slow\r\ncontent-length: 2\r\n\r\n{}HTTP/1.1 202 OK\r\ncontent-length: 0\r\n\r\n";
    assert_eq!(doubtful(answered(first).await), "http:two_answers");
    let yes_first = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n";
    assert_eq!(doubtful(answered(yes_first).await), "http:two_answers");
    let a_line_too_many = answered(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}\r\n").await;
    assert_eq!(whole(a_line_too_many).body, b"{}");
    // The second one comes on its own, a moment later.
    let (listener, address) = server().await;
    let poised = poised(address, &json!({})).await;
    let (mut stream, _) = listener.accept().await.unwrap();
    let served = async {
        heard(&mut stream).await;
        stream.write_all(b"HTTP/1.1 429 Slow\r\ncontent-length: 2\r\n\r\n{}").await.unwrap();
        stream.flush().await.unwrap();
        tokio::task::yield_now().await;
        stream.write_all(b"HTTP/1.1 202 OK\r\ncontent-length: 0\r\n\r\n").await.unwrap();
    };
    let (crossed, ()) = tokio::join!(poised.cross(BootTime::now(), LONG), served);
    assert_eq!(doubtful(crossed), "http:two_answers");
}

#[test]
fn f54_an_answer_in_which_a_name_occurs_twice_says_nothing() {
    let reply = |body: &str| HttpReply {
        status: 200,
        headers: vec![("content-type".to_owned(), "application/json".to_owned())],
        body: body.as_bytes().to_vec(),
        ahead_seconds: None,
    };
    assert_eq!(reply(r#"{"id":"x","error":"bad","error":null}"#).json(), None);
    assert_eq!(reply(r#"{"id":"a\u0000b"}"#).json(), None);
    let numbers = r#"{"score":1.5,"long":12345678901234567890}"#;
    assert_eq!(reply(numbers).json().map(|json| json["score"].clone()), Some(json!(1.5)));
}

#[tokio::test]
async fn a_token_that_fits_no_header_is_no_login() {
    let (_listener, address) = server().await;
    let site = Site::new(
        BaseUrl::read(&format!("http://{address}"), true).unwrap(),
        Trust::load(None, std::path::Path::new(".")).unwrap(),
    );
    let no = site.approach(Request::get("/"), &Credentials::bearer("a\nb"), AT, Value::Null).await.err().unwrap();
    assert_eq!(no.codes[0].0, "http:login:unusable");
    assert!(!no.words.contains("a\nb"));
}

#[test]
fn f40_retry_after_and_the_skew_are_read_from_the_answers_own_clock() {
    let reply = |headers: &[(&str, &str)]| HttpReply {
        status: 429,
        headers: headers.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect(),
        body: Vec::new(),
        ahead_seconds: None,
    };
    let date = ("date", "Mon, 02 Nov 2026 09:15:00 GMT");
    let of = |headers: &[(&str, &str)]| reply(headers).retry_after();
    assert_eq!(of(&[("retry-after", "120")]), Some(Duration::from_secs(120)));
    assert_eq!(of(&[date, ("retry-after", "Mon, 02 Nov 2026 09:17:00 GMT")]), Some(Duration::from_secs(120)));
    assert_eq!(of(&[date, ("retry-after", "Mon, 02 Nov 2026 09:00:00 GMT")]), None, "it is over");
    assert_eq!(of(&[("retry-after", "Mon, 02 Nov 2026 09:17:00 GMT")]), None);
    for week in ["99999999999", "99999999999999999999999"] {
        assert_eq!(of(&[date, ("retry-after", week)]), Some(Duration::from_secs(7 * 24 * 3600)), "{week}");
    }
}

#[test]
fn r22_a_retry_after_that_asks_for_no_wait_leaves_our_own_backoff() {
    let date = "Mon, 02 Nov 2026 09:15:00 GMT";
    for says in ["0", "soon", "-5", "1.5", "", "+3", "0x10", "Mon", "2026-11-02"] {
        let headers = [("date", date), ("retry-after", says)].map(|(n, v)| (n.to_owned(), v.to_owned()));
        let reply = HttpReply { status: 429, headers: headers.into(), body: Vec::new(), ahead_seconds: None };
        assert_eq!(reply.retry_after(), None, "{says:?}");
    }
}
