//! Connections whose other side says nothing, takes nothing, or is not done when they end.
//!
//! HTTP/2 begins with a preface of the client, after the handshake where there is TLS. Until it is there a connection has
//! no age, sends no pings, and cannot be closed gracefully.

use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Sleep;
use tonic::transport::server::Connected;

/// How long the other side may take to begin.
pub(super) const BEGIN_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the other side may take nothing of what is sent.
pub(super) const STALL_TIMEOUT: Duration = Duration::from_secs(60);

/// How long the other side may take to close a connection after the server did.
pub(super) const LINGER_TIMEOUT: Duration = Duration::from_secs(1);
/// Bytes that are read at once of what nobody takes any more.
const DISCARD_BYTES: usize = 4096;

/// A connection that fails unless its other side begins in time, and goes on to take what is sent.
///
/// Closed by the server, it lingers: what the other side had sent already is read until that has closed too. A socket that
/// is closed with anything unread resets the connection, and the reset overtakes the GOAWAY that says which calls were not
/// looked at: the client would not know that it can send them again.
pub struct Connection<C> {
    inner: C,
    /// Bytes that are still to come until the other side has begun, and when they are due.
    silence: Option<(usize, Pin<Box<Sleep>>)>,
    stall: Option<Pin<Box<Sleep>>>,
    /// Until when the other side may close; none while this side has not.
    linger: Option<Pin<Box<Sleep>>>,
    _place: OwnedSemaphorePermit,
}

impl<C> Connection<C> {
    /// A connection that begins with so many bytes of the other side, and keeps its place until it ends.
    pub fn new(inner: C, place: OwnedSemaphorePermit, first_bytes: usize) -> Self {
        Self {
            inner,
            silence: Some((first_bytes, Box::pin(tokio::time::sleep(BEGIN_TIMEOUT)))),
            stall: None,
            linger: None,
            _place: place,
        }
    }

    /// Fails what has to wait when the other side has taken too long to begin.
    fn late<T>(&mut self, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        let Some((_, end)) = &mut self.silence else {
            return Poll::Pending;
        };
        ready!(end.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    /// Fails a write that has made no way for too long. A server may write first, and with TLS that waits for the client's
    /// handshake.
    fn written<T>(&mut self, context: &mut Context<'_>, polled: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.stall = None;
            return polled;
        }
        let stall = self
            .stall
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(STALL_TIMEOUT)));
        if stall.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        self.late(context)
    }
}

impl<C: AsyncRead + Unpin> Connection<C> {
    /// Reads what nobody takes any more, until the other side has closed or the time for that is over.
    fn discard(&mut self, context: &mut Context<'_>) -> Poll<()> {
        // The time comes first: a side that never ends to send always has something to read.
        if let Some(end) = &mut self.linger
            && end.as_mut().poll(context).is_ready()
        {
            return Poll::Ready(());
        }
        let mut buffer = [MaybeUninit::uninit(); DISCARD_BYTES];
        loop {
            let mut buffer = ReadBuf::uninit(&mut buffer);
            match ready!(Pin::new(&mut self.inner).poll_read(context, &mut buffer)) {
                Ok(()) if !buffer.filled().is_empty() => {}
                _ => return Poll::Ready(()),
            }
        }
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
        if polled.is_pending() {
            return this.late(context);
        }
        if let Some((left, _)) = &mut this.silence {
            *left = left.saturating_sub(buffer.filled().len() - before);
            if *left == 0 {
                this.silence = None;
            }
        }
        polled
    }
}

impl<C: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Connection<C> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.written(context, polled)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.inner).poll_flush(context);
        self.written(context, polled)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.linger.is_none() {
            let polled = Pin::new(&mut self.inner).poll_shutdown(context);
            ready!(self.written(context, polled))?;
            self.linger = Some(Box::pin(tokio::time::sleep(LINGER_TIMEOUT)));
        }
        self.discard(context).map(Ok)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.inner).poll_write_vectored(context, bytes);
        self.written(context, polled)
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
