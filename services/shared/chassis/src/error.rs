//! Why a server does not start, or does not end as it should.

use std::error::Error;
use std::net::SocketAddr;
use std::time::Duration;

use crate::exposed::Exposed;
use crate::keys::KeysError;
use crate::tls::TlsError;

/// Why a server did not start, or did not end as it should.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The service's own start-up failed: a model that does not load, a store that does not open.
    #[error("cannot start")]
    Start(#[source] Box<dyn Error + Send + Sync>),
    /// The listening address is taken or not ours.
    #[error("cannot listen on {address}: set another address with --listen")]
    Bind {
        /// The address of `--listen`.
        address: SocketAddr,
        /// What the operating system said.
        #[source]
        source: std::io::Error,
    },
    /// The files of certificates and keys cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The file of API keys cannot be used.
    #[error(transparent)]
    Keys(#[from] KeysError),
    /// The service would be open to whoever reaches its port.
    #[error(transparent)]
    Exposed(#[from] Exposed),
    /// The file descriptor set handed to the reflection service is not one.
    #[error("the file descriptor set for reflection is not valid")]
    Reflection(#[source] tonic_reflection::server::Error),
    /// The HTTP/2 server failed.
    #[error("the gRPC server failed")]
    Transport(#[source] tonic::transport::Error),
    /// A thread that served connections ended before it was told to.
    #[error("a thread that served connections ended by itself")]
    Thread,
    /// Calls were still running when the time to drain was over; they were cut off.
    #[error("calls were still running {} after the signal to stop and were cut off: raise --drain-timeout if they need longer", humantime::format_duration(*timeout))]
    Drain {
        /// The value of `--drain-timeout`.
        timeout: Duration,
    },
}

impl ServeError {
    /// Wraps a service's own start-up error.
    pub fn start(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Start(error.into())
    }
}
