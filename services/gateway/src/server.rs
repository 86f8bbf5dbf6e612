//! Connections: HTTP/1.1 and HTTP/2 on one port, bounded in number, silence, age and size of headers.

mod connection;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use emend_chassis::{ServeError, ServiceOptions};
use emend_core::Backoff;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use connection::Connection;

/// Most connections at once; one more is closed as it comes.
const MAX_CONNECTIONS: usize = 2048;
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
/// Pauses after errors of `accept` itself.
const ACCEPT_BACKOFF: Backoff = Backoff::new(Duration::from_millis(10), Duration::from_secs(1));

/// Serves until `shutdown` is cancelled and the requests in flight are done.
pub(crate) async fn serve(
    router: Router,
    options: &ServiceOptions,
    listener: TcpListener,
    shutdown: CancellationToken,
) -> Result<(), ServeError> {
    let address = listener.local_addr().ok();
    tracing::info!(
        service = "emend-gateway",
        address = address.map(tracing::field::display),
        "serving"
    );
    let mut connections = JoinSet::new();
    let accepting = accept(&router, options, listener, &shutdown, &mut connections);
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
    shutdown: &CancellationToken,
    connections: &mut JoinSet<()>,
) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let builder = builder();
    let (mut failures, mut closed) = (0_u32, 0_u64);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = connections.join_next() => continue,
        };
        let connection = match accepted {
            Ok((connection, _)) => connection,
            Err(error) => {
                failures = failures.saturating_add(1);
                if failures.is_power_of_two() {
                    tracing::warn!(%error, failures, "a connection could not be accepted");
                }
                tokio::time::sleep(ACCEPT_BACKOFF.after(failures)).await;
                continue;
            }
        };
        failures = 0;
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
            closed += 1;
            if closed.is_power_of_two() {
                tracing::warn!(closed, "connections were closed as they came: add a replica");
            }
            continue;
        };
        if let Err(error) = connection.set_nodelay(true) {
            tracing::debug!(%error, "a connection has no TCP_NODELAY");
        }
        let connection = Connection::new(connection, place);
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
    connection: Connection<TcpStream>,
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
