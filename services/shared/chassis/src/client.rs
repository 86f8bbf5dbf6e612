//! Clients of other services: balanced over the replicas behind a name, traced, bounded.

mod channel;
mod circuit;
mod dial;
mod discovery;
mod key;
mod member;
mod outlier;
mod retry;
mod unsent;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http::Uri;
use rustls::pki_types::ServerName;
use tokio_util::sync::CancellationToken;
use tonic::transport::Endpoint;

pub use channel::TracedChannel;
pub use discovery::Resolve;
pub use key::{ApiKey, ApiKeyError};
pub use retry::{Attempt, failed_model_calls, request, retrying};

use emend_core::{semconv, without_secrets};

use crate::metrics::{Latency, UpstreamMetrics};
use crate::tls::{ClientTls, ClientTlsOptions, TlsError};
use channel::Shared;
use circuit::Circuit;
use dial::Dial;
use discovery::{Discovery, Finder};

/// Largest headers of a response that are read, in bytes. Our own services send at most 7 KiB; another implementation may
/// put its error at length into a status, and hyper's own 16 KiB would lose the code with it.
const MAX_HEADER_LIST_BYTES: u32 = 256 * 1024;

/// How an upstream is looked up and connected to.
#[derive(Clone)]
pub struct UpstreamOptions {
    /// How often the name is resolved while calls are made.
    pub resolve_every: Duration,
    /// How long a lookup, and a connection, may take.
    pub connect_timeout: Duration,
    /// Time given to a call without `grpc-timeout`.
    pub default_timeout: Duration,
    /// Interval of the pings that find out that a server is gone.
    pub keepalive_interval: Duration,
    /// How long a ping, and the question whether a server is there, may stay unanswered.
    pub keepalive_timeout: Duration,
    /// How long a call may be without an answer before the server is asked whether it is there. One that does not say so
    /// loses the call and gets no more until it does.
    pub patience: Duration,
    /// Resolves the name in place of the operating system.
    pub resolver: Option<Arc<dyn Resolve>>,
    /// How an https:// address is connected to; `None` trusts the authorities of the operating system.
    pub tls: Option<ClientTls>,
    /// Sent with every call that has no `authorization` of its own.
    pub api_key: Option<ApiKey>,
    /// Whether the key may be sent without TLS to another machine.
    pub insecure: bool,
}

impl Default for UpstreamOptions {
    /// Resolved every 5 s, connected within 2 s, calls without a deadline end after 60 s, pings every 5 s with 5 s to
    /// answer, asked after 1 s without an answer, resolved by the operating system; no key.
    fn default() -> Self {
        Self {
            resolve_every: Duration::from_secs(5),
            connect_timeout: Duration::from_secs(2),
            default_timeout: Duration::from_secs(60),
            keepalive_interval: Duration::from_secs(5),
            keepalive_timeout: Duration::from_secs(5),
            patience: Duration::from_secs(1),
            resolver: None,
            tls: None,
            api_key: None,
            insecure: false,
        }
    }
}

impl std::fmt::Debug for UpstreamOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UpstreamOptions")
            .field("resolve_every", &self.resolve_every)
            .field("connect_timeout", &self.connect_timeout)
            .field("default_timeout", &self.default_timeout)
            .finish_non_exhaustive()
    }
}

/// Why a target cannot be an upstream.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UpstreamError {
    /// It is not an address of a server.
    #[error(
        "\"{target}\" is not the address of a gRPC server: write it like http://grader:50052 or https://grader:50052"
    )]
    Target {
        /// What was given, without its secrets.
        target: String,
    },
    /// TLS cannot be set up for an https:// address.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The key would travel in the clear.
    #[error("an API key is not sent to \"{target}\" without TLS: write https://, or allow it with --insecure")]
    KeyInTheClear {
        /// What was given, without its secrets.
        target: String,
    },
    /// There is no tokio runtime here for its tasks.
    #[error("an upstream can only be made inside a tokio runtime")]
    NoRuntime,
}

/// All replicas of a service behind one name. Cheap to clone; nothing is looked up before the first call.
#[derive(Clone, Debug)]
pub struct Upstream(TracedChannel);

impl Upstream {
    /// An upstream at `target`, for example `http://grader:50052`, with the default options. Call it inside a tokio
    /// runtime, the process's and not an arbiter's: its connections live there.
    ///
    /// # Errors
    /// [`UpstreamError`].
    pub fn new(target: &str) -> Result<Self, UpstreamError> {
        Self::with_options(target, UpstreamOptions::default())
    }

    /// An upstream at `target` with options.
    ///
    /// # Errors
    /// [`UpstreamError`].
    pub fn with_options(target: &str, options: UpstreamOptions) -> Result<Self, UpstreamError> {
        let runtime = tokio::runtime::Handle::try_current().map_err(|_| UpstreamError::NoRuntime)?;
        let Address { host, port, tls } = address(target)?;
        // What it is called by in errors, in logs and, behind TLS, by the call itself.
        let target = without_secrets(target);
        if options.api_key.is_some() && !tls && !options.insecure && !is_loopback(&host) {
            return Err(UpstreamError::KeyInTheClear { target });
        }
        let dial = if tls {
            let name =
                ServerName::try_from(host.clone()).map_err(|_| UpstreamError::Target { target: target.clone() })?;
            let tls = match options.tls.clone() {
                Some(tls) => tls,
                None => ClientTls::load(&ClientTlsOptions::default())?,
            };
            Dial::Tls(tls, name)
        } else {
            Dial::Plain
        };
        // What a call says of where it goes: behind TLS the name that the certificate has, as other implementations check.
        let origin: Option<Uri> = tls.then(|| target.trim_end_matches('/').parse().ok()).flatten();
        let resolver = options.resolver.clone().unwrap_or_else(|| Arc::new(discovery::system));
        let target: Arc<str> = target.into();
        let closed = CancellationToken::new();
        let metrics = Arc::new(UpstreamMetrics::new(&host));
        let finder = Finder {
            target: Arc::clone(&target),
            host: host.clone(),
            port,
            resolver,
            every: options.resolve_every,
            connect_timeout: options.connect_timeout,
            dial,
            metrics: Arc::clone(&metrics),
            endpoint: Box::new(move |address| {
                let endpoint = Endpoint::from_shared(format!("http://{address}"))?;
                let endpoint = match &origin {
                    Some(origin) => endpoint.origin(origin.clone()),
                    None => endpoint,
                };
                Ok(endpoint
                    .connect_timeout(options.connect_timeout)
                    .tcp_nodelay(true)
                    .http2_max_header_list_size(MAX_HEADER_LIST_BYTES)
                    .http2_keep_alive_interval(options.keepalive_interval)
                    .keep_alive_timeout(options.keepalive_timeout)
                    .keep_alive_while_idle(true))
            }),
        };
        let discovery = Discovery::new(finder, closed.clone(), &runtime);
        Ok(Self(TracedChannel(Arc::new(Shared {
            target,
            host,
            port,
            default_timeout: options.default_timeout,
            patience: options.patience,
            answer_limit: options.keepalive_timeout,
            api_key: options.api_key,
            discovery,
            duration: Latency::new(semconv::RPC_CLIENT_CALL_DURATION),
            circuit: Circuit::new(metrics),
            _closed: closed.drop_guard(),
        }))))
    }

    /// The transport for a generated client.
    pub fn channel(&self) -> TracedChannel {
        self.0.clone()
    }

    /// The target as it was given, without its secrets.
    pub fn target(&self) -> &str {
        &self.0.0.target
    }
}

/// Where a target is, and whether TLS is spoken there.
#[derive(Debug, PartialEq, Eq)]
struct Address {
    host: String,
    port: u16,
    tls: bool,
}

fn address(target: &str) -> Result<Address, UpstreamError> {
    let wrong = || UpstreamError::Target {
        target: without_secrets(target),
    };
    let uri: Uri = target.parse().map_err(|_| wrong())?;
    let tls = match uri.scheme_str() {
        Some("http") => false,
        Some("https") => true,
        _ => return Err(wrong()),
    };
    let host = uri.host().filter(|host| !host.is_empty()).ok_or_else(wrong)?;
    let plain = host.trim_start_matches('[').trim_end_matches(']');
    if !matches!(uri.path(), "" | "/") {
        return Err(wrong());
    }
    Ok(Address {
        host: plain.to_owned(),
        port: uri.port_u16().unwrap_or(if tls { 443 } else { 80 }),
        tls,
    })
}

/// Whether what is sent to this host stays on this machine.
fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests;
