//! One HTTP request on one fresh connection. No pool, no redirect, no proxy, no repeat: a client that has any of these
//! cannot promise when the first byte left, and some of them send twice by themselves (F02).
//!
//! [`Site::approach`] connects and says nothing. [`HttpPoised::cross`] says the stored request, byte for byte, and reads one
//! whole answer. What is cut off, larger than is read, or no HTTP is no answer.

mod base_url;
mod counted;
mod request;

pub use base_url::BaseUrl;
pub use request::{NotARequest, Request};

use super::poised::{Crossed, Late, LateReader, SLEPT};
use super::reply::{HttpReply, Reply, answer};
use super::tls::{Server, Stream, Trust, Unreached};
use crate::boot::BootTime;
use counted::{Counted, Written};
use countersign_domain::{Answer, Doubt, Timestamp};
use futures_util::FutureExt as _;
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{HeaderName, HeaderValue};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use std::error::Error;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncReadExt as _;
use tokio::time::{Instant, timeout, timeout_at};

/// Longest body of an answer that is read.
const ANSWER_MAX: usize = 8 << 20;
/// How long a server may take to close the connection after its answer; meanwhile it could answer once more.
const AFTERWARDS: Duration = Duration::from_millis(500);
/// Longest time for one read-only question.
const QUESTION_TIMEOUT: Duration = Duration::from_secs(30);

/// Headers that prove who we are. Never stored, never printed.
#[derive(Clone, Default)]
pub struct Credentials(Vec<(&'static str, String)>);

impl Credentials {
    pub fn none() -> Credentials {
        Credentials::default()
    }
    pub fn bearer(token: &str) -> Credentials {
        Credentials::none().with("authorization", format!("Bearer {token}"))
    }
    /// `name` in lower case.
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Credentials {
        self.0.push((name, value.into()));
        self
    }
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    #[cfg(test)]
    pub(super) fn holds(&self, name: &str, value: &str) -> bool {
        self.0.iter().any(|(n, v)| *n == name && v == value)
    }
}

/// Whether a token can stand in a header (RFC 9110, 5.5): a space or a line too many was copied with it.
pub(crate) fn fits_a_header(token: &str) -> Result<(), &'static str> {
    match !token.is_empty() && token.bytes().all(|b| (b'!'..=b'~').contains(&b)) {
        true => Ok(()),
        false => Err("has a space or another character that no token has; copy it again"),
    }
}

/// Where a destination is reached.
#[derive(Clone)]
pub struct Site {
    server: Server,
    base: BaseUrl,
}

/// Why a question has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoAnswer {
    Unreached(Unreached),
    /// The secret has characters that no header takes.
    Unusable,
    Timeout,
    /// Cut off, too large or no HTTP.
    Broken(String),
}

impl NoAnswer {
    /// For people; without addresses.
    pub fn text(&self) -> String {
        match self {
            NoAnswer::Unreached(why) => why.text(),
            NoAnswer::Unusable => UNUSABLE.into(),
            NoAnswer::Timeout => "the server did not answer in time".into(),
            NoAnswer::Broken(why) => why.clone(),
        }
    }
}

const UNUSABLE: &str = "the token has a character that no header takes; copy it again";

impl Site {
    pub fn new(base: BaseUrl, trust: Trust) -> Site {
        let server = Server { port: base.endpoint.port, endpoint: base.endpoint.clone(), trust };
        Site { server, base }
    }

    pub fn base(&self) -> &BaseUrl {
        &self.base
    }

    /// Connects and encrypts. Says nothing. `at`: the time of the attempt, to notice a clock that is wrong.
    pub async fn approach(
        &self,
        request: Request,
        credentials: &Credentials,
        at: Timestamp,
        noted: Value,
    ) -> Result<HttpPoised, Answer> {
        let head = self.head(&request, credentials).map_err(|odd| match odd {
            Odd::Request => answer("http:wire:unreadable", "the stored request is not a request of HTTP"),
            Odd::Credentials => answer("http:login:unusable", UNUSABLE),
        })?;
        let stream = self.server.connect().await.map_err(|e| unreached(&e))?;
        let noted = json!({ "http": self.base.endpoint.host, "at": at, "more": noted });
        Ok(HttpPoised { stream, head, at, noted })
    }

    /// Connects, encrypts and hangs up: what a test can do where nothing may be asked.
    pub async fn greet(&self) -> Result<(), Unreached> {
        self.server.connect().await.map(drop)
    }

    /// Asks. Only for what changes nothing at the destination; the caller vouches for it.
    pub async fn ask(&self, request: &Request, credentials: &Credentials) -> Result<HttpReply, NoAnswer> {
        self.question(request, credentials, None).await
    }

    /// The same, and a refusal tells of clocks that are apart. `at`: the time now.
    pub async fn ask_at(
        &self,
        request: &Request,
        credentials: &Credentials,
        at: Timestamp,
    ) -> Result<HttpReply, NoAnswer> {
        self.question(request, credentials, Some(at)).await
    }

    async fn question(
        &self,
        request: &Request,
        credentials: &Credentials,
        at: Option<Timestamp>,
    ) -> Result<HttpReply, NoAnswer> {
        let head = self.head(request, credentials).map_err(|odd| match odd {
            Odd::Request => NoAnswer::Broken("the question cannot be written".into()),
            Odd::Credentials => NoAnswer::Unusable,
        })?;
        let stream = self.server.connect().await.map_err(NoAnswer::Unreached)?;
        let (exchange, _) = exchange(stream, head, at);
        match timeout(QUESTION_TIMEOUT, exchange).await {
            Err(_) => Err(NoAnswer::Timeout),
            Ok(Err(doubt)) => Err(NoAnswer::Broken(doubt.words)),
            Ok(Ok(reply)) => Ok(reply),
        }
    }

    fn head(&self, request: &Request, credentials: &Credentials) -> Result<hyper::Request<Full<Bytes>>, Odd> {
        if !request.is_sendable() {
            return Err(Odd::Request);
        }
        let body = Full::new(Bytes::from(request.body.clone()));
        let builder = hyper::Request::builder()
            .method(request.method.as_str())
            .uri(&request.path)
            .header("host", self.base.authority())
            // Some providers turn away whoever does not say what he is.
            .header("user-agent", concat!("Countersign/", env!("CARGO_PKG_VERSION")))
            .header("accept", "application/json")
            .header("connection", "close");
        let mut head = builder.body(body).map_err(|_| Odd::Request)?;
        for (name, value) in &request.headers {
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| Odd::Request)?;
            let value = HeaderValue::from_str(value).map_err(|_| Odd::Request)?;
            head.headers_mut().append(name, value);
        }
        for (name, value) in &credentials.0 {
            let mut value = HeaderValue::from_str(value).map_err(|_| Odd::Credentials)?;
            value.set_sensitive(true);
            head.headers_mut().append(HeaderName::from_static(name), value);
        }
        Ok(head)
    }
}

/// What cannot be written.
enum Odd {
    Request,
    Credentials,
}

fn unreached(why: &Unreached) -> Answer {
    let code = match why {
        Unreached::Offline(_) | Unreached::Timeout => "net:before_body",
        Unreached::Tls(_) => "http:tls:failed",
    };
    answer(code, why.text())
}

/// A connection on which nothing has been said.
pub struct HttpPoised {
    stream: Stream,
    head: hyper::Request<Full<Bytes>>,
    at: Timestamp,
    noted: Value,
}

impl HttpPoised {
    pub(crate) fn noted(&self) -> Value {
        self.noted.clone()
    }

    pub(crate) async fn cross(mut self, marked: BootTime, limit: Duration) -> Crossed {
        if marked.elapsed() > SLEPT {
            return Crossed::Unsent(answer(
                "http:before_request:slept",
                "the machine slept before the request was sent",
            ));
        }
        // A server that has hung up, or that speaks first, is not one to send to.
        let mut byte = [0u8; 1];
        match self.stream.read(&mut byte).now_or_never() {
            None => {}
            Some(Ok(1..)) => {
                let words = "the server spoke before it was asked";
                return Crossed::Unsent(answer("http:before_request:spoken_to", words));
            }
            Some(Ok(0) | Err(_)) => {
                let words = "the server hung up before the request was sent";
                return Crossed::Unsent(answer("http:before_request:closed", words));
            }
        }
        let (exchange, written) = exchange(self.stream, self.head, Some(self.at));
        LateHttp { exchange, written }.read_on(limit).await
    }
}

type Exchange = Pin<Box<dyn Future<Output = Result<HttpReply, Doubt>> + Send>>;

/// The request is being said, or its answer awaited.
pub struct LateHttp {
    exchange: Exchange,
    written: Arc<Written>,
}

impl LateHttp {
    pub(crate) fn doubt(&self) -> Doubt {
        doubt("net:timeout", "no answer in time")
    }

    /// `limit` is counted from the last byte that left: a large request on a slow line is not a late answer.
    pub(crate) async fn read_on(mut self, limit: Duration) -> Crossed {
        let begun = Instant::now();
        loop {
            let from = self.written.last().unwrap_or(begun);
            match timeout_at(from + limit, &mut self.exchange).await {
                Ok(Ok(reply)) => return Crossed::Answered(Reply::Http(reply)),
                Ok(Err(doubt)) if self.written.last().is_none() => {
                    return Crossed::Unsent(answer("http:before_request:closed", doubt.words));
                }
                Ok(Err(doubt)) => return Crossed::Broken(doubt),
                Err(_) if self.written.last().is_some_and(|last| last > from) => {}
                Err(_) => return Crossed::Pending(LateReader(Late::Http(self))),
            }
        }
    }
}

fn doubt(code: &str, words: impl Into<String>) -> Doubt {
    Doubt { code: code.into(), words: words.into() }
}

/// Says the request and reads one whole answer, and that it is the only one. Nothing is written before it is polled.
fn exchange(stream: Stream, head: hyper::Request<Full<Bytes>>, at: Option<Timestamp>) -> (Exchange, Arc<Written>) {
    let (io, written) = Counted::new(stream);
    let begun = BootTime::now();
    let exchange = async move {
        let shaken = http1::Builder::new().handshake(TokioIo::new(io)).await;
        let (mut sender, mut connection) = shaken.map_err(|e| before_the_answer(&e))?;
        let answer = async move {
            let reply = sender.send_request(head).await.map_err(|e| before_the_answer(&e))?;
            let (parts, body) = reply.into_parts();
            let body = Limited::new(body, ANSWER_MAX).collect().await.map_err(|e| within_the_answer(&*e))?;
            let text = |v: &HeaderValue| String::from_utf8_lossy(v.as_bytes()).into_owned();
            let headers: Vec<_> = parts.headers.iter().map(|(n, v)| (n.as_str().to_owned(), text(v))).collect();
            let mut reply = HttpReply {
                status: parts.status.as_u16(),
                headers,
                body: body.to_bytes().to_vec(),
                ahead_seconds: None,
            };
            reply.ahead_seconds = at.and_then(|at| {
                let theirs = mailparse::dateparse(reply.header("date")?).ok()?;
                // It may have been waited for.
                theirs.checked_sub(at.plus(begun.elapsed()).millis().div_euclid(1000))
            });
            Ok(reply)
        };
        tokio::pin!(answer);
        let first = tokio::select! {
            biased;
            reply = &mut answer => Some(reply),
            // The connection has ended; what there was of an answer is in the other one's hands.
            _ = poll_fn(|cx| connection.poll_without_shutdown(cx)) => None,
        };
        let reply = match first {
            Some(reply) => reply,
            None => answer.await,
        }?;
        let left = connection.into_parts();
        if speaks(&left.read_buf) || speaks_again(left.io.into_inner()).await {
            return Err(doubt("http:two_answers", "it answered twice, so neither answer counts"));
        }
        Ok(reply)
    };
    (Box::pin(exchange), written)
}

/// Some servers end a body with a line too many; anything else is a further answer.
fn speaks(bytes: &[u8]) -> bool {
    bytes.iter().any(|b| !b.is_ascii_whitespace())
}

/// Whether more comes although one answer was asked for and the connection is to be closed after it (F04).
async fn speaks_again(mut io: Counted) -> bool {
    let more = async {
        let mut bytes = [0u8; 64];
        while let Ok(n @ 1..) = io.read(&mut bytes).await {
            if speaks(&bytes[..n]) {
                return true;
            }
        }
        false
    };
    timeout(AFTERWARDS, more).await.unwrap_or(false)
}

fn before_the_answer(e: &hyper::Error) -> Doubt {
    if e.is_parse() {
        return doubt("http:unreadable", "the answer was no answer of HTTP");
    }
    match broken(e) {
        Some(io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionAborted) => {
            doubt("net:reset", "the connection broke before an answer came")
        }
        _ => doubt("net:closed", "the server hung up before it answered"),
    }
}

fn within_the_answer(e: &(dyn Error + 'static)) -> Doubt {
    if e.is::<LengthLimitError>() {
        return doubt("http:oversize", "the answer was larger than is read");
    }
    doubt("http:truncated", "the answer was cut off")
}

/// The system's error below hyper's.
fn broken(e: &hyper::Error) -> Option<io::ErrorKind> {
    let mut source = e.source();
    while let Some(inner) = source {
        if let Some(io) = inner.downcast_ref::<io::Error>() {
            return Some(io.kind());
        }
        source = inner.source();
    }
    None
}

#[cfg(test)]
#[path = "http_test.rs"]
mod tests;
