//! Connections whose other side says nothing.
//!
//! HTTP/2 begins with a preface of the client, after the handshake where there is TLS. Until it is there a connection has
//! no age, sends no pings, and cannot be closed gracefully.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Sleep;
use tonic::transport::server::Connected;

/// How long the other side may take to begin.
pub(super) const PREFACE_TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes of the preface (RFC 9113, section 3.4).
const PREFACE_BYTES: usize = 24;

/// A connection that fails unless its preface comes in time.
pub(super) struct Connection<C> {
    inner: C,
    silence: Option<Silence>,
    _place: OwnedSemaphorePermit,
}

struct Silence {
    /// Bytes of the preface that are still to come.
    left: usize,
    end: Pin<Box<Sleep>>,
}

impl<C> Connection<C> {
    pub(super) fn new(inner: C, place: OwnedSemaphorePermit) -> Self {
        Self {
            inner,
            silence: Some(Silence {
                left: PREFACE_BYTES,
                end: Box::pin(tokio::time::sleep(PREFACE_TIMEOUT)),
            }),
            _place: place,
        }
    }

    /// Fails what has to wait when the other side has taken too long to begin.
    fn unless_late<T>(&mut self, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        let Some(silence) = &mut self.silence else {
            return Poll::Pending;
        };
        ready!(silence.end.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<C: AsyncRead + Unpin> AsyncRead for Connection<C> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let before = buffer.filled().len();
        let polled = Pin::new(&mut this.inner).poll_read(context, buffer);
        let Some(silence) = &mut this.silence else {
            return polled;
        };
        if polled.is_ready() {
            silence.left = silence.left.saturating_sub(buffer.filled().len() - before);
            if silence.left == 0 {
                this.silence = None;
            }
            return polled;
        }
        this.unless_late(context)
    }
}

impl<C: AsyncWrite + Unpin> AsyncWrite for Connection<C> {
    // A server writes first, and with TLS that waits for the client's handshake.
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match Pin::new(&mut self.inner).poll_write(context, bytes) {
            Poll::Pending => self.unless_late(context),
            polled => polled,
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match Pin::new(&mut self.inner).poll_flush(context) {
            Poll::Pending => self.unless_late(context),
            polled => polled,
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match Pin::new(&mut self.inner).poll_write_vectored(context, bytes) {
            Poll::Pending => self.unless_late(context),
            polled => polled,
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }
}

impl<C: Connected> Connected for Connection<C> {
    type ConnectInfo = C::ConnectInfo;

    fn connect_info(&self) -> Self::ConnectInfo {
        self.inner.connect_info()
    }
}
