//! The few words of LMTP it takes to deliver one message.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpStream};

use crate::wait;

pub(super) fn deliver(port: u16, from: &str, to: &str, raw: &[u8]) {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("Dovecot listens for LMTP");
    stream.set_read_timeout(Some(wait::PATIENCE)).expect("a time-out can be set");
    let mut reader = BufReader::new(stream.try_clone().expect("a second handle"));
    let mut writer = stream;
    let mut say = |words: &[u8], expect: char| {
        writer.write_all(words).expect("LMTP takes the words");
        let mut line = String::new();
        loop {
            line.clear();
            reader.read_line(&mut line).expect("LMTP answers");
            if line.as_bytes().get(3) != Some(&b'-') {
                break;
            }
        }
        assert!(line.starts_with(expect), "LMTP said: {line}");
    };
    say(b"", '2');
    say(b"LHLO localhost\r\n", '2');
    say(format!("MAIL FROM:<{from}>\r\n").as_bytes(), '2');
    say(format!("RCPT TO:<{to}>\r\n").as_bytes(), '2');
    say(b"DATA\r\n", '3');
    let mut body = Vec::with_capacity(raw.len() + 8);
    for line in raw.split_inclusive(|b| *b == b'\n') {
        if line.starts_with(b".") {
            body.push(b'.');
        }
        body.extend_from_slice(line);
    }
    if !body.ends_with(b"\r\n") {
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(b".\r\n");
    say(&body, '2');
    say(b"QUIT\r\n", '2');
}
