//! A stream that knows how much was written to it, so that "not a byte was said" is a fact and not a guess.

use crate::transport::tls::Stream;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

pub(super) struct Counted {
    stream: Stream,
    written: Arc<AtomicU64>,
}

impl Counted {
    pub(super) fn new(stream: Stream) -> (Counted, Arc<AtomicU64>) {
        let written = Arc::<AtomicU64>::default();
        (Counted { stream, written: written.clone() }, written)
    }
}

impl AsyncRead for Counted {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Counted {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let done = Pin::new(&mut this.stream).poll_write(cx, buf);
        // Counted also where it failed: a part may have left.
        let bytes = match &done {
            Poll::Ready(Ok(n)) => *n as u64,
            Poll::Ready(Err(_)) => 1,
            Poll::Pending => 0,
        };
        this.written.fetch_add(bytes, Ordering::SeqCst);
        done
    }
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}
