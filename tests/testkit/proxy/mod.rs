//! A TCP proxy that speaks just enough SMTP to cut, hold or delay one connection at one exact point.
//!
//! It stands between the product and a real server, for plain SMTP. Each transaction (a connection that says MAIL) takes
//! the next [`Fault`] of the script; an empty script means no fault. Every point that a transaction passes is noted, so a
//! test can prove where a process was when it was killed, and what the server was handed.

mod session;
mod wire;

use std::collections::VecDeque;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use crate::wait;

/// Where in a transaction. The final is the dot that ends DATA, or the last BDAT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// A client connected; the server has not been called yet.
    Connected,
    /// The client has said MAIL; the server has not heard it.
    BeforeMail,
    /// The answer to a RCPT has reached the client.
    AfterRcpt,
    /// About half of the first block of the message has reached the server.
    InBody,
    /// The whole message has reached the server, and with BDAT its answer the client; the final has not reached the
    /// server. With DATA the client has written the final already.
    BeforeFinal,
    /// The final has reached the server; whatever it answers stays with us.
    AfterFinal,
    /// The server has answered the final; the client has not heard it.
    AnswerHeld,
    /// The answer to the final has reached the client.
    AfterAnswer,
}

/// What happens at the point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Both sides are closed in an orderly way (FIN).
    Fin,
    /// The client's side is reset (RST). The server's is closed, so that what was passed on does reach it.
    Rst,
    /// Nothing moves until [`FaultProxy::release`]; then all goes on as if nothing had been.
    Hold,
    /// Nothing moves until [`FaultProxy::release`]; then both sides are closed.
    HoldThenFin,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    pub at: Point,
    pub act: Act,
}

/// What one transaction did, as seen from the middle.
#[derive(Clone, Debug, Default)]
pub struct Transaction {
    /// The client's command lines in order, without the message; AUTH arguments are left out.
    pub commands: Vec<String>,
    /// The message as the server was handed it, DATA's dots undone.
    pub message: Vec<u8>,
    /// Whether the final reached the server: the number of such transactions bounds the effects.
    pub final_passed: bool,
    /// The server's answer to the final, where it came.
    pub answer: Option<String>,
    /// Whether that answer reached the client.
    pub answer_passed: bool,
    /// Points passed, in order.
    pub points: Vec<Point>,
}

#[derive(Default)]
struct Board {
    script: VecDeque<Fault>,
    transactions: Vec<Transaction>,
    /// Points reached over all connections, in order; [`Point::Connected`] among them.
    reached: Vec<Point>,
    connections: usize,
    released: usize,
    held: usize,
}

struct Shared {
    upstream: u16,
    hidden: Vec<String>,
    refuse: AtomicBool,
    stop: AtomicBool,
    board: Mutex<Board>,
    moved: Condvar,
}

impl Shared {
    fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().expect("the proxy's threads do not panic while they hold this")
    }
}

/// The proxy. Its threads end with it.
pub struct FaultProxy {
    port: u16,
    shared: Arc<Shared>,
}

impl FaultProxy {
    /// A proxy to `127.0.0.1:upstream`.
    pub fn start(upstream: u16) -> FaultProxy {
        FaultProxy::hiding(upstream, &[])
    }

    /// The same, with these keywords left out of the server's EHLO answer (`CHUNKING` forces DATA).
    pub fn hiding(upstream: u16, keywords: &[&str]) -> FaultProxy {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port for the proxy");
        let port = listener.local_addr().expect("a bound listener has an address").port();
        let shared = Arc::new(Shared {
            upstream,
            hidden: keywords.iter().map(|word| word.to_ascii_uppercase()).collect(),
            refuse: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            board: Mutex::default(),
            moved: Condvar::new(),
        });
        let ours = Arc::clone(&shared);
        thread::spawn(move || {
            for client in listener.incoming() {
                if ours.stop.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(client) = client else { continue };
                if ours.refuse.load(Ordering::SeqCst) {
                    continue;
                }
                let shared = Arc::clone(&ours);
                thread::spawn(move || session::run(&shared, client));
            }
        });
        FaultProxy { port, shared }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Adds a fault for the next transaction without one.
    pub fn script(&self, at: Point, act: Act) {
        self.shared.board().script.push_back(Fault { at, act });
    }

    /// From now on connections are closed as soon as they are made (`true`), or served again.
    pub fn refuse(&self, on: bool) {
        self.shared.refuse.store(on, Ordering::SeqCst);
    }

    /// Lets the oldest held connection, or the next one to be held, go on.
    pub fn release(&self) {
        self.shared.board().released += 1;
        self.shared.moved.notify_all();
    }

    /// Waits until `point` was reached for the `nth` time (from 1) over all connections.
    ///
    /// # Panics
    /// After [`wait::PATIENCE`], with what was reached instead.
    pub fn wait(&self, point: Point, nth: usize) {
        let end = Instant::now() + wait::PATIENCE;
        let mut board = self.shared.board();
        while board.reached.iter().filter(|p| **p == point).count() < nth {
            let left = end.saturating_duration_since(Instant::now());
            assert!(
                left > Duration::ZERO,
                "the proxy never saw {point:?} for the {nth}. time; it saw {:?}",
                board.reached
            );
            board = self.shared.moved.wait_timeout(board, left).expect("no thread panicked here").0;
        }
    }

    /// [`FaultProxy::wait`] for async tests.
    pub async fn reached(&self, point: Point, nth: usize) {
        let watcher = FaultProxy { port: 0, shared: Arc::clone(&self.shared) };
        let watched = tokio::task::spawn_blocking(move || watcher.wait(point, nth)).await;
        watched.expect("the point is reached");
    }

    /// Every transaction so far, in the order of their MAIL.
    pub fn transactions(&self) -> Vec<Transaction> {
        self.shared.board().transactions.clone()
    }

    /// How often the final reached the server: an upper bound of the effects.
    pub fn finals(&self) -> usize {
        self.shared.board().transactions.iter().filter(|t| t.final_passed).count()
    }

    /// How many connections were made, transactions or not.
    pub fn connections(&self) -> usize {
        self.shared.board().connections
    }

    /// How many connections are held right now.
    pub fn held(&self) -> usize {
        self.shared.board().held
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        if self.port == 0 {
            return;
        }
        self.shared.stop.store(true, Ordering::SeqCst);
        self.shared.moved.notify_all();
        // The listener sits in accept; one last connection wakes it.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
    }
}
