//! A submission server that takes everything, writes each message to a file and syncs it before its 250, as a real one does;
//! and the bare send to it: the shortest dialogue that hands a message over.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

pub struct Sink {
    pub addr: SocketAddr,
}

impl Sink {
    /// `spool`: where messages are kept and synced; None: kept nowhere (so that no sync of the sink's is counted).
    pub fn start(spool: Option<&Path>) -> anyhow::Result<Sink> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let addr = listener.local_addr()?;
        let spool = spool.map(|p| File::create(p.join("spool"))).transpose()?.map(|f| Arc::new(Mutex::new(f)));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let spool = spool.clone();
                thread::spawn(move || serve(stream, spool.as_deref()));
            }
        });
        Ok(Sink { addr })
    }
}

fn serve(stream: TcpStream, spool: Option<&Mutex<File>>) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut out = stream.try_clone()?;
    let mut input = BufReader::new(stream);
    out.write_all(b"220 sink ESMTP\r\n")?;
    let mut line = Vec::new();
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        let verb: String = line.iter().take(4).map(|b| b.to_ascii_uppercase() as char).collect();
        match verb.as_str() {
            "EHLO" => out.write_all(b"250-sink\r\n250-8BITMIME\r\n250 AUTH PLAIN LOGIN\r\n")?,
            "AUTH" => out.write_all(b"235 2.7.0 ok\r\n")?,
            "DATA" => {
                out.write_all(b"354 go on\r\n")?;
                let mut message = Vec::new();
                loop {
                    let at = message.len();
                    if input.read_until(b'\n', &mut message)? == 0 {
                        return Ok(());
                    }
                    if &message[at..] == b".\r\n" {
                        break;
                    }
                }
                if let Some(spool) = spool {
                    let mut file = spool.lock().unwrap_or_else(|e| e.into_inner());
                    file.write_all(&message)?;
                    file.sync_data()?;
                }
                out.write_all(b"250 2.0.0 queued as 1\r\n")?;
            }
            "QUIT" => {
                out.write_all(b"221 bye\r\n")?;
                return Ok(());
            }
            _ => out.write_all(b"250 ok\r\n")?,
        }
    }
}

/// One message over a new connection, from connect to the 250 after the dot.
pub fn bare_send(addr: SocketAddr, message: &[u8]) -> anyhow::Result<Duration> {
    let began = Instant::now();
    let stream = TcpStream::connect(addr)?;
    stream.set_nodelay(true)?;
    let mut out = stream.try_clone()?;
    let mut input = BufReader::new(stream);
    let mut say = |what: &[u8]| -> anyhow::Result<()> {
        if !what.is_empty() {
            out.write_all(what)?;
        }
        let mut line = String::new();
        loop {
            line.clear();
            input.read_line(&mut line)?;
            if line.as_bytes().get(3) != Some(&b'-') {
                break;
            }
        }
        anyhow::ensure!(line.starts_with('2') || line.starts_with('3'), "the sink said {line}");
        Ok(())
    };
    say(b"")?;
    say(b"EHLO bench\r\n")?;
    // Credentials: user and password `bench`.
    say(b"AUTH PLAIN AGJlbmNoAGJlbmNo\r\n")?;
    say(b"MAIL FROM:<shop@bench.example>\r\n")?;
    say(b"RCPT TO:<robin@customer.example>\r\n")?;
    say(b"DATA\r\n")?;
    let mut rest = message.to_vec();
    rest.extend_from_slice(b".\r\n");
    say(&rest)?;
    let took = began.elapsed();
    let _ = say(b"QUIT\r\n");
    Ok(took)
}
