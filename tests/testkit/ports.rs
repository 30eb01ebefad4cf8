//! Free loopback ports.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

// Below the kernel's range for outgoing connections, so that no client socket takes a port between choice and use.
const FIRST: u16 = 12_000;
const SPAN: u16 = 20_000;

static NEXT: AtomicU16 = AtomicU16::new(0);

/// A port nobody listened on a moment ago. Test processes running side by side start at different places.
pub fn free() -> u16 {
    let start = (std::process::id() % u32::from(SPAN)) as u16;
    for _ in 0..SPAN {
        // 37 is coprime to the span: neighbours in time are not neighbours in number, all are visited.
        let step = NEXT.fetch_add(37, Ordering::Relaxed) % SPAN;
        let port = FIRST + (start + step) % SPAN;
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return port;
        }
    }
    panic!("no free port on 127.0.0.1");
}

/// Whether somebody answers on the port.
pub fn open(port: u16) -> bool {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_ok()
}
