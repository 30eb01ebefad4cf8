//! Sockets and lines.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

/// One side of a proxied connection.
pub(super) struct Side {
    reader: BufReader<TcpStream>,
    writer: TcpStream,
}

impl Side {
    pub(super) fn new(stream: TcpStream) -> io::Result<Side> {
        stream.set_nodelay(true)?;
        Ok(Side { reader: BufReader::new(stream.try_clone()?), writer: stream })
    }

    /// One line with its line end; `UnexpectedEof` when the peer hung up.
    pub(super) fn line(&mut self) -> io::Result<Vec<u8>> {
        let mut line = Vec::new();
        self.reader.read_until(b'\n', &mut line)?;
        if line.is_empty() { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(line) }
    }

    /// A whole reply: continuation lines (`250-`) and the last one.
    pub(super) fn reply(&mut self) -> io::Result<Vec<Vec<u8>>> {
        let mut lines = Vec::new();
        loop {
            let line = self.line()?;
            let more = line.get(3) == Some(&b'-');
            lines.push(line);
            if !more {
                return Ok(lines);
            }
        }
    }

    pub(super) fn exact(&mut self, size: usize) -> io::Result<Vec<u8>> {
        let mut block = vec![0; size];
        self.reader.read_exact(&mut block)?;
        Ok(block)
    }

    pub(super) fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.writer.write_all(bytes)
    }

    pub(super) fn close(&self) {
        let _ = self.writer.shutdown(Shutdown::Both);
    }

    /// Closes with RST: the peer sees "connection reset", not an end of file.
    pub(super) fn reset(&self) {
        let _ = socket2::SockRef::from(&self.writer).set_linger(Some(Duration::ZERO));
    }

    /// Two more handles of the socket. Nothing may be left in our buffer: SMTP forbids to speak before TLS stands.
    pub(super) fn duplicate(&self) -> io::Result<(TcpStream, TcpStream)> {
        Ok((self.writer.try_clone()?, self.writer.try_clone()?))
    }
}

/// An EHLO answer without the hidden keywords; the last line keeps its blank.
pub(super) fn without(lines: Vec<Vec<u8>>, hidden: &[String]) -> Vec<u8> {
    let mut kept: Vec<Vec<u8>> = lines
        .into_iter()
        .enumerate()
        .filter(|(n, line)| {
            let word = line.get(4..).unwrap_or_default().split(|b| b" =\r\n".contains(b)).next().unwrap_or_default();
            *n == 0 || !hidden.iter().any(|h| h.as_bytes().eq_ignore_ascii_case(word))
        })
        .map(|(_, line)| line)
        .collect();
    let last = kept.len() - 1;
    for (n, line) in kept.iter_mut().enumerate() {
        line[3] = if n == last { b' ' } else { b'-' };
    }
    kept.concat()
}
