//! A stream that knows when something was last written to it, so that "not a byte was said" is a fact and not a guess.

use crate::transport::tls::Stream;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

/// When a byte left last; None while none has.
#[derive(Debug, Default)]
pub(super) struct Written(Mutex<Option<Instant>>);

impl Written {
    pub(super) fn last(&self) -> Option<Instant> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
    fn now(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }
}

pub(super) struct Counted {
    stream: Stream,
    written: Arc<Written>,
}

impl Counted {
    pub(super) fn new(stream: Stream) -> (Counted, Arc<Written>) {
        let written = Arc::<Written>::default();
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
        // Also where it failed: a part may have left.
        if matches!(&done, Poll::Ready(Ok(1..) | Err(_))) {
            this.written.now();
        }
        done
    }
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}
