//! One proxied connection, in lock-step: a command goes up, its whole answer comes down, then the next.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpStream};
use std::sync::atomic::Ordering;
use std::thread;

use super::wire::{Side, without};
use super::{Act, Fault, Point, Shared, Transaction};

const HALF_OF_DATA: usize = 256;

struct Session<'a> {
    shared: &'a Shared,
    client: Side,
    server: Side,
    /// The fault of this connection, once it said MAIL.
    fault: Option<Fault>,
    /// Index of this connection's transaction on the board.
    transaction: Option<usize>,
    before_mail: Vec<String>,
}

/// Why a session ended: the fault did it, or a peer hung up.
enum End {
    Fault,
    Peer,
}

impl From<io::Error> for End {
    fn from(_: io::Error) -> End {
        End::Peer
    }
}

pub(super) fn run(shared: &Shared, client: TcpStream) {
    shared.board().connections += 1;
    note(shared, Point::Connected);
    if let Some(fault) = for_connections(shared)
        && hold(shared, fault.act)
    {
        if fault.act == Act::Rst {
            let _ = socket2::SockRef::from(&client).set_linger(Some(std::time::Duration::ZERO));
        }
        return;
    }
    let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, shared.upstream)) else { return };
    let (Ok(client), Ok(server)) = (Side::new(client), Side::new(server)) else { return };
    let mut session = Session { shared, client, server, fault: None, transaction: None, before_mail: Vec::new() };
    let rst = match session.serve() {
        Ok(()) | Err(End::Peer) => false,
        Err(End::Fault) => session.fault.is_some_and(|fault| fault.act == Act::Rst),
    };
    session.server.close();
    if rst {
        session.client.reset();
    } else {
        session.client.close();
    }
}

fn for_connections(shared: &Shared) -> Option<Fault> {
    let mut board = shared.board();
    if board.script.front()?.at == Point::Connected { board.script.pop_front() } else { None }
}

fn note(shared: &Shared, point: Point) {
    shared.board().reached.push(point);
    shared.moved.notify_all();
}

/// Waits where the act says so; tells whether the connection ends here.
fn hold(shared: &Shared, act: Act) -> bool {
    if matches!(act, Act::Hold | Act::HoldThenFin) {
        let mut board = shared.board();
        board.held += 1;
        while board.released == 0 && !shared.stop.load(Ordering::SeqCst) {
            board = shared.moved.wait(board).expect("no thread panicked here");
        }
        board.released = board.released.saturating_sub(1);
        board.held -= 1;
    }
    act != Act::Hold
}

impl Session<'_> {
    fn serve(&mut self) -> Result<(), End> {
        let greeting = self.server.reply()?;
        self.client.put(&greeting.concat())?;
        loop {
            let line = self.client.line()?;
            let text = String::from_utf8_lossy(&line).trim_end().to_owned();
            let mut words = text.split_ascii_whitespace();
            let verb = words.next().unwrap_or_default().to_ascii_uppercase();
            self.command(if verb == "AUTH" { "AUTH".into() } else { text.clone() });
            match verb.as_str() {
                "EHLO" => {
                    self.server.put(&line)?;
                    let reply = without(self.server.reply()?, &self.shared.hidden);
                    self.client.put(&reply)?;
                }
                "MAIL" => {
                    self.begin();
                    self.at(Point::BeforeMail)?;
                    self.pass(&line)?;
                }
                "RCPT" => {
                    self.pass(&line)?;
                    self.at(Point::AfterRcpt)?;
                }
                "DATA" => self.data(&line)?,
                "BDAT" => {
                    let size = words.next().and_then(|n| n.parse().ok()).unwrap_or_default();
                    let last = words.next().is_some_and(|w| w.eq_ignore_ascii_case("LAST"));
                    self.bdat(&line, size, last)?;
                }
                "STARTTLS" => {
                    let answer = self.pass(&line)?;
                    if answer.starts_with('2') {
                        return self.blind();
                    }
                }
                "AUTH" => {
                    let mut answer = self.pass(&line)?;
                    while answer.starts_with('3') {
                        let secret = self.client.line()?;
                        answer = self.pass(&secret)?;
                    }
                }
                _ => {
                    self.pass(&line)?;
                }
            }
        }
    }

    /// One command up, its answer down.
    fn pass(&mut self, line: &[u8]) -> Result<String, End> {
        self.server.put(line)?;
        let reply = self.server.reply()?.concat();
        self.client.put(&reply)?;
        Ok(String::from_utf8_lossy(&reply).trim_end().to_owned())
    }

    fn data(&mut self, line: &[u8]) -> Result<(), End> {
        if !self.pass(line)?.starts_with("354") {
            return Ok(());
        }
        let mut halved = false;
        let mut sent = 0;
        loop {
            let line = self.client.line()?;
            if line == b".\r\n" {
                break;
            }
            self.server.put(&line)?;
            let plain = line.strip_prefix(b".").unwrap_or(&line);
            self.edit(|t| t.message.extend_from_slice(plain));
            sent += line.len();
            if !halved && sent >= HALF_OF_DATA {
                halved = true;
                self.at(Point::InBody)?;
            }
        }
        self.at(Point::BeforeFinal)?;
        self.server.put(b".\r\n")?;
        self.finish()
    }

    fn bdat(&mut self, line: &[u8], size: usize, last: bool) -> Result<(), End> {
        if size > 0 {
            let block = self.client.exact(size)?;
            let (half, rest) = block.split_at(size / 2);
            self.server.put(line)?;
            self.server.put(half)?;
            self.edit(|t| t.message.extend_from_slice(half));
            self.at(Point::InBody)?;
            self.server.put(rest)?;
            self.edit(|t| t.message.extend_from_slice(rest));
            if last {
                return self.finish();
            }
            let reply = self.server.reply()?.concat();
            self.client.put(&reply)?;
            return Ok(());
        }
        if last {
            self.at(Point::BeforeFinal)?;
            self.server.put(line)?;
            return self.finish();
        }
        self.pass(line).map(|_| ())
    }

    /// The final has just been handed to the server.
    fn finish(&mut self) -> Result<(), End> {
        self.edit(|t| t.final_passed = true);
        self.at(Point::AfterFinal)?;
        let reply = self.server.reply()?.concat();
        let answer = String::from_utf8_lossy(&reply).trim_end().to_owned();
        self.edit(|t| t.answer = Some(answer));
        self.at(Point::AnswerHeld)?;
        self.client.put(&reply)?;
        self.edit(|t| t.answer_passed = true);
        self.at(Point::AfterAnswer)
    }

    /// Notes the point and does what the script says there.
    fn at(&mut self, point: Point) -> Result<(), End> {
        self.edit(|t| t.points.push(point));
        note(self.shared, point);
        match self.fault {
            Some(fault) if fault.at == point => {
                if hold(self.shared, fault.act) {
                    return Err(End::Fault);
                }
                // A hold is served once, also where a point comes again (two recipients).
                self.fault = None;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn begin(&mut self) {
        let mut board = self.shared.board();
        // A fault for connections is none of ours.
        let ours = board.script.front().is_some_and(|fault| fault.at != Point::Connected);
        self.fault = if ours { board.script.pop_front() } else { None };
        let commands = self.before_mail.clone();
        board.transactions.push(Transaction { commands, ..Transaction::default() });
        self.transaction = Some(board.transactions.len() - 1);
    }

    fn command(&mut self, text: String) {
        match self.transaction {
            Some(n) => self.shared.board().transactions[n].commands.push(text),
            None => self.before_mail.push(text),
        }
    }

    fn edit(&self, change: impl FnOnce(&mut Transaction)) {
        if let Some(n) = self.transaction {
            change(&mut self.shared.board().transactions[n]);
        }
    }

    /// After STARTTLS there is nothing to read for us: bytes go through as they are.
    fn blind(&mut self) -> Result<(), End> {
        let ((mut up_from, mut down_to), (mut down_from, mut up_to)) =
            (self.client.duplicate()?, self.server.duplicate()?);
        let up = thread::spawn(move || pump(&mut up_from, &mut up_to));
        pump(&mut down_from, &mut down_to);
        let _ = up.join();
        Ok(())
    }
}

fn pump(from: &mut TcpStream, to: &mut TcpStream) {
    let mut block = [0; 16 * 1024];
    while let Ok(n @ 1..) = from.read(&mut block) {
        if to.write_all(&block[..n]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}
