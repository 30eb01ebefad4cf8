//! The control port: another process scripts and asks a sandbox. One JSON document per line in each direction, on
//! loopback, and every request carries the token; whoever does not know it is cut off.

use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::BuildHasher;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use crate::config::{Habits, ImapFeatures, SmtpFeatures};
use crate::faults::{Fault, Times};
use crate::signals::{Point, WAIT_LIMIT};
use crate::world::{Appended, Effect, Said, World, base64_bytes};

/// The longest request or answer, in bytes.
const LINE_LIMIT: u64 = 512 * 1024 * 1024;

/// What is let go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Release {
    /// Answers that are held.
    Answers,
    /// Messages that a slow index hides.
    Index,
    /// Both.
    All,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
enum Request {
    SetFault {
        fault: Fault,
        times: Times,
    },
    ClearFaults,
    Faults,
    Release {
        what: Release,
    },
    SetHabits {
        habits: Habits,
    },
    SetSmtp {
        features: SmtpFeatures,
    },
    SetImap {
        features: ImapFeatures,
    },
    Wait {
        point: Point,
        count: u64,
        limit_ms: Option<u64>,
    },
    Count {
        point: Point,
    },
    Effects,
    EffectsWithHeader {
        name: String,
        value: String,
    },
    Appends,
    Mailbox {
        address: String,
        folder: String,
    },
    Deliver {
        to: String,
        #[serde(with = "base64_bytes")]
        message: Vec<u8>,
    },
    Said,
    Token {},
}

#[derive(Serialize, Deserialize)]
struct Sealed {
    token: String,
    #[serde(flatten)]
    request: Request,
}

#[derive(Serialize, Deserialize)]
struct Message {
    #[serde(with = "base64_bytes")]
    bytes: Vec<u8>,
}

/// 256 bits nobody can guess. The standard library seeds `RandomState` from the system's randomness; its keyed hash of a
/// counter gives the bits without a crate of its own.
pub(crate) fn new_token() -> String {
    (0u8..4).map(|part| format!("{:016x}", RandomState::new().hash_one((part, "countersign sandbox")))).collect()
}

pub(crate) async fn serve(stream: TcpStream, world: Arc<World>, token: String) {
    let mut stream = BufReader::new(stream);
    loop {
        let mut line = Vec::new();
        match (&mut stream).take(LINE_LIMIT).read_until(b'\n', &mut line).await {
            Ok(read) if read > 0 => {}
            _ => return,
        }
        let answer = match serde_json::from_slice::<Value>(&line) {
            Ok(value) if value.get("token").and_then(Value::as_str) != Some(token.as_str()) => {
                tracing::warn!("the sandbox's control port was called without its token");
                return;
            }
            Ok(value) => match serde_json::from_value::<Sealed>(value) {
                Ok(sealed) => obey(&world, sealed.request).await,
                Err(error) => Err(error.to_string()),
            },
            Err(_) => return,
        };
        let answer = match answer {
            Ok(value) => json!({ "ok": value }),
            Err(error) => json!({ "error": error }),
        };
        if stream.write_all(format!("{answer}\n").as_bytes()).await.is_err() {
            return;
        }
    }
}

fn value(of: impl Serialize) -> Result<Value, String> {
    serde_json::to_value(of).map_err(|error| error.to_string())
}

async fn obey(world: &World, request: Request) -> Result<Value, String> {
    match request {
        Request::SetFault { fault, times } => world.script.add(fault, times),
        Request::ClearFaults => world.script.clear(),
        Request::Faults => return value(world.script.list()),
        Request::Release { what } => world.release(what),
        Request::SetHabits { habits } => world.lock().habits = habits,
        Request::SetSmtp { features } => world.lock().smtp = features,
        Request::SetImap { features } => world.lock().imap = features,
        Request::Wait { point, count, limit_ms } => {
            let limit = limit_ms.map_or(WAIT_LIMIT, Duration::from_millis);
            world.signals.wait_for(point, count, limit).await.map_err(|error| error.to_string())?;
        }
        Request::Count { point } => return value(world.signals.count(point)),
        Request::Effects => return value(&world.lock().effects),
        Request::EffectsWithHeader { name, value: wanted } => return value(world.effects_with_header(&name, &wanted)),
        Request::Appends => return value(&world.lock().appends),
        Request::Mailbox { address, folder } => {
            let messages = world.mailbox(&address, &folder);
            return value(messages.iter().map(|stored| Message { bytes: stored.bytes.to_vec() }).collect::<Vec<_>>());
        }
        Request::Deliver { to, message } => world.deliver(&to, &message),
        Request::Said => return value(&world.lock().said),
        Request::Token {} => {}
    }
    Ok(Value::Null)
}

/// Why a control call failed.
#[derive(Debug)]
pub enum ControlError {
    /// The connection failed, or the token was wrong and the sandbox hung up.
    Io(io::Error),
    /// The sandbox refused the request, or a wait timed out.
    Refused(String),
    /// The answer is none of ours.
    Unreadable(serde_json::Error),
}

impl fmt::Display for ControlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ControlError::Io(error) => write!(f, "the sandbox's control port cannot be reached: {error}"),
            ControlError::Refused(why) => write!(f, "the sandbox refused: {why}"),
            ControlError::Unreadable(error) => write!(f, "the sandbox's control port answered nonsense: {error}"),
        }
    }
}

impl std::error::Error for ControlError {}

impl From<io::Error> for ControlError {
    fn from(error: io::Error) -> ControlError {
        ControlError::Io(error)
    }
}

impl From<serde_json::Error> for ControlError {
    fn from(error: serde_json::Error) -> ControlError {
        ControlError::Unreadable(error)
    }
}

type Called<T> = Result<T, ControlError>;

/// The client side of the control port. Calls on one connection run one after the other; a `wait` beside other calls
/// wants a connection of its own.
pub struct Control {
    stream: BufReader<TcpStream>,
    token: String,
}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Control").finish_non_exhaustive()
    }
}

impl Control {
    /// Connects and shows the token.
    ///
    /// # Errors
    /// When nothing listens there or the token is wrong.
    pub async fn connect(address: SocketAddr, token: &str) -> Called<Control> {
        let stream = BufReader::new(TcpStream::connect(address).await?);
        let mut control = Control { stream, token: token.to_owned() };
        control.call::<Value>(Request::Token {}).await?;
        Ok(control)
    }

    async fn call<T: DeserializeOwned>(&mut self, request: Request) -> Called<T> {
        let sealed = Sealed { token: self.token.clone(), request };
        let line = format!("{}\n", serde_json::to_string(&sealed)?);
        self.stream.write_all(line.as_bytes()).await?;
        let mut line = Vec::new();
        if (&mut self.stream).take(LINE_LIMIT).read_until(b'\n', &mut line).await? == 0 {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        let mut answer: Value = serde_json::from_slice(&line)?;
        if let Some(why) = answer.get("error").and_then(Value::as_str) {
            return Err(ControlError::Refused(why.to_owned()));
        }
        Ok(serde_json::from_value(answer["ok"].take())?)
    }

    /// See [`crate::Sandbox::set_fault`].
    ///
    /// # Errors
    /// As all calls: when the sandbox is gone or refuses.
    pub async fn set_fault(&mut self, fault: Fault, times: Times) -> Called<()> {
        self.call(Request::SetFault { fault, times }).await
    }

    /// See [`crate::Sandbox::clear_faults`].
    ///
    /// # Errors
    /// As [`Control::set_fault`].
    pub async fn clear_faults(&mut self) -> Called<()> {
        self.call(Request::ClearFaults).await
    }

    /// See [`crate::Sandbox::faults`].
    ///
    /// # Errors
    /// As [`Control::set_fault`].
    pub async fn faults(&mut self) -> Called<Vec<(Fault, Times)>> {
        self.call(Request::Faults).await
    }

    /// See [`crate::Sandbox::release`].
    ///
    /// # Errors
    /// As [`Control::set_fault`].
    pub async fn release(&mut self, what: Release) -> Called<()> {
        self.call(Request::Release { what }).await
    }

    /// See [`crate::Sandbox::set_habits`].
    ///
    /// # Errors
    /// As [`Control::set_fault`].
    pub async fn set_habits(&mut self, habits: Habits) -> Called<()> {
        self.call(Request::SetHabits { habits }).await
    }

    /// See [`crate::Sandbox::set_smtp`].
    ///
    /// # Errors
    /// As [`Control::set_fault`].
    pub async fn set_smtp(&mut self, features: SmtpFeatures) -> Called<()> {
        self.call(Request::SetSmtp { features }).await
    }

    /// See [`crate::Sandbox::set_imap`].
    ///
    /// # Errors
    /// As [`Control::set_fault`].
    pub async fn set_imap(&mut self, features: ImapFeatures) -> Called<()> {
        self.call(Request::SetImap { features }).await
    }

    /// See [`crate::Sandbox::wait_for`]; `limit` defaults to [`WAIT_LIMIT`].
    ///
    /// # Errors
    /// `Refused` when the point was not reached in time, else as [`Control::set_fault`].
    pub async fn wait_for(&mut self, point: Point, count: u64, limit: Option<Duration>) -> Called<()> {
        let limit_ms = limit.map(|limit| u64::try_from(limit.as_millis()).unwrap_or(u64::MAX));
        self.call(Request::Wait { point, count, limit_ms }).await
    }

    /// See [`crate::Sandbox::count`].
    ///
    /// # Errors
    /// As [`Control::set_fault`].
    pub async fn count(&mut self, point: Point) -> Called<u64> {
        self.call(Request::Count { point }).await
    }

    /// See [`crate::Sandbox::effects`].
    ///
    /// # Errors
    /// As [`Control::set_fault`].
    pub async fn effects(&mut self) -> Called<Vec<Effect>> {
        self.call(Request::Effects).await
    }

    /// See [`crate::Sandbox::effects_with_header`].
    ///
    /// # Errors
    /// As [`Control::set_fault`].
    pub async fn effects_with_header(&mut self, name: &str, value: &str) -> Called<Vec<Effect>> {
        self.call(Request::EffectsWithHeader { name: name.to_owned(), value: value.to_owned() }).await
    }

    /// See [`crate::Sandbox::appends`].
    ///
    /// # Errors
    /// As [`Control::set_fault`].
    pub async fn appends(&mut self) -> Called<Vec<Appended>> {
        self.call(Request::Appends).await
    }

    /// The messages of a folder, oldest first.
    ///
    /// # Errors
    /// As [`Control::set_fault`].
    pub async fn mailbox(&mut self, address: &str, folder: &str) -> Called<Vec<Vec<u8>>> {
        let request = Request::Mailbox { address: address.to_owned(), folder: folder.to_owned() };
        let messages: Vec<Message> = self.call(request).await?;
        Ok(messages.into_iter().map(|message| message.bytes).collect())
    }

    /// See [`crate::Sandbox::deliver`].
    ///
    /// # Errors
    /// As [`Control::set_fault`].
    pub async fn deliver(&mut self, to: &str, message: &[u8]) -> Called<()> {
        self.call(Request::Deliver { to: to.to_owned(), message: message.to_vec() }).await
    }

    /// See [`crate::Sandbox::said`].
    ///
    /// # Errors
    /// As [`Control::set_fault`].
    pub async fn said(&mut self) -> Called<Vec<Said>> {
        self.call(Request::Said).await
    }
}
