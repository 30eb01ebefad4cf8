//! HTTP/1.1 on one connection: one request, one answer, and the end. Strict about what it reads, so that a client's mistake
//! is seen and not repaired.

use super::{Acts, ApiAnswer, ApiFault, ApiRequest, ApiSays, Inner, On, State};
use crate::date::mail_date;
use crate::line::{Gone, Line, Wire};
use crate::signals::Point;
use std::sync::Arc;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

const LINE_MAX: usize = 16 << 10;
const HEADERS_MAX: usize = 100;
const BODY_MAX: usize = 64 << 20;

/// Takes connections until it is aborted; then all of them end.
pub(super) fn listen(listener: TcpListener, state: Arc<State>) -> JoinHandle<()> {
    tokio::spawn(async move {
        let mut connections = JoinSet::new();
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    while connections.try_join_next().is_some() {}
                    let state = state.clone();
                    // Here, so that connections are counted in the order they came.
                    let fault = state.script.take(|on| *on == On::Connect);
                    state.lock().connections += 1;
                    connections.spawn(async move {
                        state.signals.reached(Point::Connected);
                        // However it ended, it has ended.
                        let _: Gone = serve(stream, fault, &state).await;
                        state.signals.reached(Point::Disconnected);
                    });
                }
                Err(error) => tracing::warn!(%error, "the provider's double could not take a connection"),
            }
        }
    })
}

async fn serve(stream: TcpStream, fault: Option<ApiFault>, state: &State) -> Gone {
    let mut wire = Wire::new(stream);
    if let Some(fault) = fault {
        state.signals.reached(Point::Misbehaved);
        return say(&mut wire, state, fault.says, None).await.unwrap_or(Gone);
    }
    let request = match read(&mut wire).await {
        Ok(request) => request,
        Err(Unread::Gone) => return Gone,
        Err(Unread::Bad(why)) => {
            let answer = ApiAnswer::html(400, why);
            return match wire.write(&written(&answer, state)).await {
                Ok(()) => wire.close().await,
                Err(gone) => gone,
            };
        }
    };
    answer(&mut wire, state, request).await.unwrap_or(Gone)
}

enum Unread {
    Gone,
    Bad(&'static str),
}

impl From<Gone> for Unread {
    fn from(_: Gone) -> Unread {
        Unread::Gone
    }
}

async fn line(wire: &mut Wire) -> Result<String, Unread> {
    match wire.line(LINE_MAX).await? {
        Line::Good(bytes) => String::from_utf8(bytes).map_err(|_| Unread::Bad("the head is not UTF-8")),
        Line::Bad(why) => Err(Unread::Bad(why)),
    }
}

async fn read(wire: &mut Wire) -> Result<ApiRequest, Unread> {
    let first = line(wire).await?;
    let parts: Vec<&str> = first.split(' ').collect();
    let [method, target, "HTTP/1.1"] = parts[..] else { return Err(Unread::Bad("no request line")) };
    let mut headers = Vec::new();
    loop {
        let text = line(wire).await?;
        if text.is_empty() {
            break;
        }
        let (name, value) = text.split_once(':').ok_or(Unread::Bad("no header"))?;
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        if headers.len() > HEADERS_MAX {
            return Err(Unread::Bad("too many headers"));
        }
    }
    let mut request = ApiRequest { method: method.to_owned(), target: target.to_owned(), headers, body: Vec::new() };
    let all = |name: &str| request.headers.iter().filter(|(n, _)| n == name).count();
    if all("host") != 1 || all("content-length") > 1 || all("transfer-encoding") > 0 {
        return Err(Unread::Bad("host or length is missing or said twice"));
    }
    let length = request.header("content-length").unwrap_or("0");
    let length = length.parse::<usize>().ok().filter(|n| *n <= BODY_MAX).ok_or(Unread::Bad("a body too large"))?;
    request.body = wire.exact(length).await?;
    Ok(request)
}

async fn answer(wire: &mut Wire, state: &State, request: ApiRequest) -> Result<Gone, Gone> {
    let fault = {
        let mut inner = state.lock();
        inner.requests.push(request.clone());
        let asks = inner.app.only_asks(&request);
        state.script.take(|on| match on {
            On::Writes => !asks,
            On::Questions => asks,
            On::Path(start) => request.path().starts_with(start.as_str()),
            On::Connect => false,
        })
    };
    state.signals.reached(Point::CommitReceived);
    if fault.is_some() {
        state.signals.reached(Point::Misbehaved);
    }
    let fault = fault.unwrap_or(ApiFault::new(Acts::Yes, ApiSays::Normal));
    let act = |begun: bool| {
        let mut inner = state.lock();
        let Inner { app, world, .. } = &mut *inner;
        let answer = if begun { app.finish(&request, world) } else { app.handle(&request, world) };
        drop(inner);
        state.signals.reached(Point::Acted);
        answer
    };
    let ordinary = match fault.acts {
        Acts::No => None,
        Acts::Yes => Some(act(false)),
        Acts::WhenReleased => {
            {
                let mut inner = state.lock();
                let Inner { app, world, .. } = &mut *inner;
                app.begin(&request, world);
            }
            held(state).await?;
            Some(act(true))
        }
    };
    say(wire, state, fault.says, ordinary).await
}

/// Waits for the release. The client may leave meanwhile; whoever acts afterwards acts all the same.
async fn held(state: &State) -> Result<(), Gone> {
    let mut released = state.released.subscribe();
    released.borrow_and_update();
    state.signals.reached(Point::Held);
    released.changed().await.map_err(|_| Gone)
}

async fn say(wire: &mut Wire, state: &State, says: ApiSays, ordinary: Option<ApiAnswer>) -> Result<Gone, Gone> {
    let written = |answer: &ApiAnswer| written(answer, state);
    // The lock ends with each of them: the date of an answer takes it again.
    let refusal = |status| state.lock().app.refusal(status);
    let normal = || ordinary.clone().unwrap_or_else(|| refusal(503));
    let bytes = match says {
        ApiSays::Normal => written(&normal()),
        ApiSays::Refusal { status, headers } => {
            let mut answer = refusal(status);
            answer.headers.extend(headers);
            written(&answer)
        }
        ApiSays::Twice { status } => {
            let mut bytes = written(&refusal(status));
            bytes.extend(written(&normal()));
            bytes
        }
        ApiSays::Page { status } => {
            written(&ApiAnswer::html(status, "<!doctype html><title>Sign in</title><p>Welcome to our network</p>"))
        }
        ApiSays::Json { status, body } => {
            let answer = ApiAnswer::json(status, &serde_json::Value::Null);
            written(&ApiAnswer { body: body.into_bytes(), ..answer })
        }
        ApiSays::WithoutReference => {
            let answer = normal();
            let answer = state.lock().app.without_reference(answer);
            written(&answer)
        }
        ApiSays::Truncated => {
            let mut bytes = written(&normal());
            // An answer without a body is cut in its head: nothing else of it can be missing.
            let cut = if normal().body.is_empty() { bytes.len() } else { normal().body.len() };
            bytes.truncate(bytes.len() - cut.div_ceil(2));
            bytes
        }
        ApiSays::Endless => {
            let mut head = format!(
                "HTTP/1.1 {} OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n",
                normal().status
            );
            head.push_str("10000\r\n");
            let mut bytes = head.into_bytes();
            wire.write(&bytes).await?;
            bytes = vec![b' '; 0x10000];
            bytes.extend_from_slice(b"\r\n10000\r\n");
            // The client leaves when it has enough.
            loop {
                wire.write(&bytes).await?;
            }
        }
        ApiSays::Nonsense => b"220 mail.example ESMTP\r\n".to_vec(),
        ApiSays::Silence => return Ok(wire.drain().await),
        ApiSays::Reset => return Ok(wire.reset()),
        ApiSays::Close => return Ok(wire.close().await),
        ApiSays::Held(then) => {
            held(state).await?;
            return Box::pin(say(wire, state, *then, ordinary)).await;
        }
    };
    wire.write(&bytes).await?;
    state.signals.reached(Point::Answered);
    Ok(wire.close().await)
}

/// A server that has a clock tells its time with every answer (RFC 9110, 6.6.1).
fn written(answer: &ApiAnswer, state: &State) -> Vec<u8> {
    let date = mail_date(state.lock().world.now).replace("+0000", "GMT");
    let length = answer.body.len();
    let mut head = format!("HTTP/1.1 {} Status\r\ndate: {date}\r\ncontent-length: {length}\r\n", answer.status);
    if !answer.content_type.is_empty() {
        head.push_str(&format!("content-type: {}\r\n", answer.content_type));
    }
    for (name, value) in &answer.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    let mut bytes = head.into_bytes();
    bytes.extend_from_slice(&answer.body);
    bytes
}
