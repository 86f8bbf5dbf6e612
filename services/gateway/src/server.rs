//! Connections: HTTP/1.1 and HTTP/2 on one port, bounded in number, silence, age and size of headers.

use std::time::Duration;

use axum::Router;
use emend_chassis::tls::{Greeter, Wire};
use emend_chassis::{Acceptor, Connection, MAX_CONNECTIONS, ServeError, ServerTls, ServiceOptions};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Largest headers of a request, in bytes.
const MAX_HEADER_BYTES: usize = 64 * 1024;
/// Most headers of a request.
const MAX_HEADERS: usize = 100;
/// How long a connection may be open without a request, and a request without the end of its headers.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// Most requests at once on one HTTP/2 connection.
const MAX_STREAMS: u32 = 128;
/// How often a silent HTTP/2 connection is asked whether it is still there, and how long it may take to say so.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(30);
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes of a request that may be on their way or unread, and of all requests of a connection.
const STREAM_WINDOW_BYTES: u32 = 256 * 1024;
const CONNECTION_WINDOW_BYTES: u32 = 2 * 1024 * 1024;
/// The application protocols over TLS, the best first.
const PROTOCOLS: &[&[u8]] = &[b"h2", b"http/1.1"];

/// Serves until `shutdown` is cancelled and the requests in flight are done.
pub(crate) async fn serve(
    router: Router,
    options: &ServiceOptions,
    listener: TcpListener,
    shutdown: CancellationToken,
) -> Result<(), ServeError> {
    let address = listener.local_addr().ok();
    let tls = ServerTls::load_for(&options.tls, PROTOCOLS)?;
    tracing::info!(
        service = "emend-gateway",
        address = address.map(tracing::field::display),
        tls = tls.is_some(),
        keys = options.keys_file.is_some(),
        "serving"
    );
    let mut connections = JoinSet::new();
    let accepting = accept(
        &router,
        options,
        listener,
        Greeter::new(tls),
        &shutdown,
        &mut connections,
    );
    tokio::select! {
        () = accepting => {}
        () = shutdown.cancelled() => {}
    }
    tracing::info!(service = "emend-gateway", "draining");
    let drained = async { while connections.join_next().await.is_some() {} };
    match tokio::time::timeout(options.drain_timeout, drained).await {
        Ok(()) => Ok(()),
        Err(_) => Err(ServeError::Drain {
            timeout: options.drain_timeout,
        }),
    }
}

async fn accept(
    router: &Router,
    options: &ServiceOptions,
    listener: TcpListener,
    greeter: Greeter,
    shutdown: &CancellationToken,
    connections: &mut JoinSet<()>,
) {
    let mut acceptor = Acceptor::new(listener, MAX_CONNECTIONS);
    let builder = builder();
    loop {
        let (connection, place) = tokio::select! {
            accepted = acceptor.accept() => accepted,
            Some(_) = connections.join_next() => continue,
        };
        // A request of HTTP/1.1 begins with whatever its client says first.
        let connection = Connection::new(greeter.begin(connection), place, 1);
        let serving = one(
            builder.clone(),
            connection,
            router.clone(),
            options.max_connection_age,
            shutdown.clone(),
        );
        connections.spawn(serving);
    }
}

fn builder() -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE_TIMEOUT)
        .max_headers(MAX_HEADERS)
        .max_buf_size(MAX_HEADER_BYTES);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_STREAMS)
        .max_header_list_size(MAX_HEADER_BYTES as u32)
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .keep_alive_interval(KEEPALIVE_INTERVAL)
        .keep_alive_timeout(KEEPALIVE_TIMEOUT);
    builder
}

/// Serves one connection until it ends, or is of an age, or the gateway stops; then its requests may end.
async fn one(
    builder: Builder<TokioExecutor>,
    connection: Connection<Wire>,
    router: Router,
    max_age: Duration,
    shutdown: CancellationToken,
) {
    let serving = builder.serve_connection(TokioIo::new(connection), TowerToHyperService::new(router));
    tokio::pin!(serving);
    let ended = tokio::select! {
        ended = serving.as_mut() => Some(ended),
        () = tokio::time::sleep(max_age) => None,
        () = shutdown.cancelled() => None,
    };
    let ended = match ended {
        Some(ended) => ended,
        None => {
            serving.as_mut().graceful_shutdown();
            serving.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(error, "a connection ended with an error");
    }
}
