//! How a server is connected to: by TCP, and with TLS where its address says https.

use std::io;
use std::net::SocketAddr;

use futures::TryFutureExt;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tonic::transport::{Channel, Endpoint};
use tower::service_fn;

use crate::tls::ClientTls;

/// A connection of either kind.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// Connects to the servers behind a name. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) enum Dial {
    Plain,
    /// With TLS; every server has to have a certificate for the name.
    Tls(ClientTls, ServerName<'static>),
}

impl Dial {
    /// A connection, after the handshake of TLS.
    pub(super) async fn connect(&self, address: SocketAddr) -> io::Result<Box<dyn Stream>> {
        let stream = TcpStream::connect(address).await?;
        let Self::Tls(tls, name) = self else {
            return Ok(Box::new(stream));
        };
        // Without it a small call may wait for the acknowledgement of the one before.
        stream.set_nodelay(true)?;
        let connector = TlsConnector::from(tls.config());
        Ok(Box::new(connector.connect(name.clone(), stream).await?))
    }

    /// A channel that is connected with its first call.
    pub(super) fn channel(&self, address: SocketAddr, endpoint: &Endpoint) -> Channel {
        match self {
            Self::Plain => endpoint.connect_lazy(),
            Self::Tls(..) => {
                let dial = self.clone();
                endpoint.connect_with_connector_lazy(service_fn(move |_| {
                    let dial = dial.clone();
                    async move { dial.connect(address).map_ok(TokioIo::new).await }
                }))
            }
        }
    }
}
