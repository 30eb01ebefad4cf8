//! An HTTP API that can be told to misbehave: one server on loopback, and in it an [`App`] that plays one provider. A
//! provider's double is a file of its own under `apps/`; here is what all of them have in common.
//!
//! ```text
//! Api::start(app)                    a server on 127.0.0.1
//! set_fault, release                 how it behaves                  (api/faults.rs)
//! wait_for(Point)                    what has happened               (signals.rs)
//! effects, requests                  "how many effects did you have?"
//! advance                            the provider's own clock: keys expire, an index catches up
//! ```

mod faults;
mod serve;

pub use faults::{Acts, ApiFault, ApiSays, On};

use crate::signals::{Point, Signals, TimedOut, WAIT_LIMIT};
use crate::{Times, listen};
use faults::ApiScript;
use serde_json::Value;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A request, whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiRequest {
    pub method: String,
    /// As it was sent: path and query.
    pub target: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl ApiRequest {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }
    /// Without the query.
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }
    /// A value of the query, percent-decoded.
    pub fn query(&self, name: &str) -> Option<String> {
        let query = self.target.split_once('?')?.1;
        query.split('&').filter_map(|pair| pair.split_once('=')).find(|(n, _)| *n == name).map(|(_, v)| unescaped(v))
    }
    /// The body as JSON; null if it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }
}

/// A value of a form (`application/x-www-form-urlencoded`).
pub fn form_value(body: &[u8], name: &str) -> Option<String> {
    let text = std::str::from_utf8(body).ok()?;
    text.split('&').filter_map(|pair| pair.split_once('=')).find(|(n, _)| *n == name).map(|(_, v)| unescaped(v))
}

fn unescaped(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = text.get(at + 1..at + 3).filter(|_| bytes[at] == b'%').and_then(|h| u8::from_str_radix(h, 16).ok());
        match hex {
            Some(byte) => out.push(byte),
            None => out.push(if bytes[at] == b'+' { b' ' } else { bytes[at] }),
        }
        at += if hex.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// What the server says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiAnswer {
    pub status: u16,
    pub content_type: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl ApiAnswer {
    pub fn json(status: u16, body: &Value) -> ApiAnswer {
        ApiAnswer {
            status,
            content_type: "application/json".into(),
            headers: Vec::new(),
            body: body.to_string().into_bytes(),
        }
    }
    pub fn html(status: u16, body: &str) -> ApiAnswer {
        let content_type = "text/html; charset=utf-8".into();
        ApiAnswer { status, content_type, headers: Vec::new(), body: body.as_bytes().to_vec() }
    }
    pub fn empty(status: u16) -> ApiAnswer {
        ApiAnswer { status, content_type: String::new(), headers: Vec::new(), body: Vec::new() }
    }
    pub fn with(mut self, name: &str, value: impl Into<String>) -> ApiAnswer {
        self.headers.push((name.into(), value.into()));
        self
    }
}

/// Something that happened at the provider because of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct ApiEffect {
    /// The key or reference that the request carried, if it carried one.
    pub key: Option<String>,
    /// The provider's own number of what came of it.
    pub id: String,
    /// What came of it.
    pub what: Value,
}

/// The provider's memory.
#[derive(Debug, Default)]
pub struct ApiWorld {
    effects: Vec<ApiEffect>,
    /// Seconds since 1970 by the provider's clock.
    now: i64,
    numbered: u64,
    hides: bool,
}

impl ApiWorld {
    /// Seconds since 1970 by the provider's clock.
    pub fn now(&self) -> i64 {
        self.now
    }
    /// Whether what happens now is not found by questions yet.
    pub fn hides(&self) -> bool {
        self.hides
    }
    /// A number nobody had before.
    pub fn number(&mut self) -> u64 {
        self.numbered += 1;
        self.numbered
    }
    /// Something happened.
    pub fn effect(&mut self, key: Option<&str>, id: &str, what: Value) {
        self.effects.push(ApiEffect { key: key.map(str::to_owned), id: id.to_owned(), what });
    }
    pub fn effects(&self) -> &[ApiEffect] {
        &self.effects
    }
}

/// Plays one provider.
pub trait App: Send + 'static {
    /// Answers, and acts if the request asks for it.
    fn handle(&mut self, request: &ApiRequest, world: &mut ApiWorld) -> ApiAnswer;
    /// The provider's own body for a status it gives without acting: 401, 403, 429, 500 and so on.
    fn refusal(&self, status: u16) -> ApiAnswer;
    /// What the provider would say of a success it forgot to number: its body without the reference.
    fn without_reference(&self, answer: ApiAnswer) -> ApiAnswer {
        ApiAnswer { body: b"{}".to_vec(), ..answer }
    }
    /// Whether the request only asks.
    fn only_asks(&self, request: &ApiRequest) -> bool {
        request.method == "GET"
    }
    /// The request was taken up but is not through; [`App::finish`] comes later.
    fn begin(&mut self, _request: &ApiRequest, _world: &mut ApiWorld) {}
    /// What was begun is through.
    fn finish(&mut self, request: &ApiRequest, world: &mut ApiWorld) -> ApiAnswer {
        self.handle(request, world)
    }
    /// For what only this provider has: the test brings the type it expects.
    fn as_any(&mut self) -> &mut dyn std::any::Any;
}

struct Inner {
    app: Box<dyn App>,
    world: ApiWorld,
    requests: Vec<ApiRequest>,
    connections: usize,
}

pub(crate) struct State {
    inner: Mutex<Inner>,
    script: ApiScript,
    signals: Signals,
    released: watch::Sender<u64>,
}

impl State {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A running provider. It stops when dropped.
pub struct Api {
    state: Arc<State>,
    address: SocketAddr,
    server: Mutex<Option<JoinHandle<()>>>,
}

impl std::fmt::Debug for Api {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Api").field(&self.address).finish()
    }
}

impl Api {
    /// Starts it on the current tokio runtime. `now`: its clock, in seconds since 1970; only [`Api::advance`] moves it.
    ///
    /// # Errors
    /// When no port can be had.
    pub async fn start(app: Box<dyn App>, now: i64) -> io::Result<Api> {
        let (listener, address) = listen::bind(0).await?;
        let world = ApiWorld { now, ..ApiWorld::default() };
        let inner = Inner { app, world, requests: Vec::new(), connections: 0 };
        let state = Arc::new(State {
            inner: Mutex::new(inner),
            script: ApiScript::default(),
            signals: Signals::new(),
            released: watch::Sender::new(0),
        });
        let server = Mutex::new(Some(serve::listen(listener, state.clone())));
        Ok(Api { state, address, server })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `http://127.0.0.1:PORT`
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Puts a fault at the end of the script.
    pub fn set_fault(&self, fault: ApiFault, times: Times) {
        self.state.script.add(fault, times);
    }

    /// The next time only.
    pub fn fault_once(&self, fault: ApiFault) {
        self.set_fault(fault, Times::Once);
    }

    /// How many faults are still in the script.
    pub fn faults(&self) -> usize {
        self.state.script.len()
    }

    pub fn clear_faults(&self) {
        self.state.script.clear();
    }

    /// Lets go of what is held.
    pub fn release(&self) {
        self.state.released.send_modify(|times| *times += 1);
    }

    /// The provider's clock goes on.
    pub fn advance(&self, by: Duration) {
        self.state.lock().world.now += i64::try_from(by.as_secs()).unwrap_or(i64::MAX);
    }

    /// Everything that happened here, oldest first.
    pub fn effects(&self) -> Vec<ApiEffect> {
        self.state.lock().world.effects.clone()
    }

    /// What happened under this key or reference.
    pub fn effects_of(&self, key: &str) -> Vec<ApiEffect> {
        self.effects().into_iter().filter(|effect| effect.key.as_deref() == Some(key)).collect()
    }

    /// Every whole request, oldest first.
    pub fn requests(&self) -> Vec<ApiRequest> {
        self.state.lock().requests.clone()
    }

    /// Those that did not only ask.
    pub fn writes(&self) -> Vec<ApiRequest> {
        let inner = self.state.lock();
        inner.requests.iter().filter(|request| !inner.app.only_asks(request)).cloned().collect()
    }

    /// How many connections were taken.
    pub fn connections(&self) -> usize {
        self.state.lock().connections
    }

    /// The app itself.
    pub fn with_app<T>(&self, use_it: impl FnOnce(&mut dyn App) -> T) -> T {
        use_it(&mut *self.state.lock().app)
    }

    /// What happens from now on is not found by questions until the index catches up.
    pub fn hide_what_is_new(&self, hidden: bool) {
        self.state.lock().world.hides = hidden;
    }

    /// Waits until the point was reached this often in all.
    ///
    /// # Errors
    /// [`TimedOut`] when it was not.
    pub async fn wait_for(&self, point: Point, count: u64) -> Result<(), TimedOut> {
        self.state.signals.wait_for(point, count, WAIT_LIMIT).await
    }

    pub fn count(&self, point: Point) -> u64 {
        self.state.signals.count(point)
    }

    /// Closes the port: whoever connects is refused.
    pub async fn go_down(&self) {
        let server = self.server.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(server) = server {
            server.abort();
            // Its end is all that is waited for; it was asked to stop.
            let _ = server.await;
        }
    }

    /// Opens the port again.
    ///
    /// # Errors
    /// When somebody else took it meanwhile.
    pub async fn come_back(&self) -> io::Result<()> {
        if self.server.lock().unwrap_or_else(PoisonError::into_inner).is_some() {
            return Ok(());
        }
        let (listener, _) = listen::bind(self.address.port()).await?;
        *self.server.lock().unwrap_or_else(PoisonError::into_inner) = Some(serve::listen(listener, self.state.clone()));
        Ok(())
    }
}

impl Drop for Api {
    fn drop(&mut self) {
        if let Some(server) = self.server.lock().unwrap_or_else(PoisonError::into_inner).take() {
            server.abort();
        }
    }
}
