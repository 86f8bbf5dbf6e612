//! What a connection travels on: TCP, with TLS or without.
//!
//! TLS begins with the first read or write, on the thread that serves the connection. So the handshake counts among the
//! connections, and it is under the same bound of time as the preface of HTTP/2 that comes after it.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use emend_core::error_chain;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;
use tokio_rustls::{Accept, TlsAcceptor};
use tonic::transport::server::{Connected, TcpConnectInfo};

use super::ServerTls;

/// How connections of a server begin; one for all of its threads.
#[derive(Clone, Debug, Default)]
pub struct Greeter {
    tls: Option<ServerTls>,
    failures: Arc<AtomicU64>,
}

impl Greeter {
    /// For a server with this TLS, or without any.
    pub fn new(tls: Option<ServerTls>) -> Self {
        Self {
            tls,
            failures: Arc::default(),
        }
    }

    /// Takes a connection as it was accepted. Nothing is done before it is read from or written to.
    pub fn begin(&self, connection: TcpStream) -> Wire {
        let Some(tls) = &self.tls else {
            return Wire(Way::Plain(connection));
        };
        let info = connection.connect_info();
        Wire(Way::Tls(Box::new(Encrypted {
            state: State::Handshake(TlsAcceptor::from(tls.config()).accept(connection)),
            info,
            failures: Arc::clone(&self.failures),
        })))
    }
}

/// A connection as it was accepted.
pub struct Wire(Way);

enum Way {
    Plain(TcpStream),
    Tls(Box<Encrypted>),
}

/// A connection with TLS.
struct Encrypted {
    state: State,
    info: TcpConnectInfo,
    failures: Arc<AtomicU64>,
}

enum State {
    Handshake(Accept<TcpStream>),
    Open(TlsStream<TcpStream>),
    Failed,
}

impl Encrypted {
    /// The connection once the handshake is over.
    fn poll_open(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Pin<&mut TlsStream<TcpStream>>>> {
        if let State::Handshake(accept) = &mut self.state {
            self.state = match ready!(Pin::new(accept).poll(context)) {
                Ok(stream) => State::Open(stream),
                Err(error) => {
                    say(&self.failures, self.info.remote_addr(), &error);
                    self.state = State::Failed;
                    return Poll::Ready(Err(error));
                }
            };
        }
        Poll::Ready(match &mut self.state {
            State::Open(stream) => Ok(Pin::new(stream)),
            State::Handshake(_) | State::Failed => Err(io::ErrorKind::NotConnected.into()),
        })
    }
}

/// Says of a handshake that failed, ever more rarely: whoever reaches the port can make them fail.
fn say(failures: &AtomicU64, peer: Option<SocketAddr>, error: &io::Error) {
    let failures = failures.fetch_add(1, Ordering::Relaxed) + 1;
    let peer = peer.map(tracing::field::display);
    let reason = error_chain(error);
    if failures.is_power_of_two() {
        tracing::warn!(peer, failures, reason, "a client did not get through the TLS handshake");
    } else {
        tracing::debug!(peer, failures, reason, "a client did not get through the TLS handshake");
    }
}

impl std::fmt::Debug for Wire {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Wire")
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.0 {
            Way::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Way::Tls(stream) => ready!(stream.poll_open(context))?.poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.0 {
            Way::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Way::Tls(stream) => ready!(stream.poll_open(context))?.poll_write(context, bytes),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.0 {
            Way::Plain(stream) => Pin::new(stream).poll_flush(context),
            Way::Tls(stream) => ready!(stream.poll_open(context))?.poll_flush(context),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.0 {
            Way::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Way::Tls(stream) => match &mut stream.state {
                State::Open(stream) => Pin::new(stream).poll_shutdown(context),
                // There is nobody yet to say farewell to.
                State::Handshake(_) | State::Failed => Poll::Ready(Ok(())),
            },
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut self.0 {
            Way::Plain(stream) => Pin::new(stream).poll_write_vectored(context, bytes),
            Way::Tls(stream) => ready!(stream.poll_open(context))?.poll_write_vectored(context, bytes),
        }
    }

    fn is_write_vectored(&self) -> bool {
        // TLS gathers what is written into records of its own.
        true
    }
}

impl Connected for Wire {
    type ConnectInfo = TcpConnectInfo;

    fn connect_info(&self) -> Self::ConnectInfo {
        match &self.0 {
            Way::Plain(stream) => stream.connect_info(),
            Way::Tls(stream) => stream.info.clone(),
        }
    }
}
