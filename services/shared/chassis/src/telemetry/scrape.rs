//! `/metrics`, `/livez` and `/readyz` by HTTP, on a port of their own.
//!
//! For Prometheus, and for probes that do not speak gRPC. Each connection has one request, without a body, and ends.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, ALLOW, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use prometheus::{Registry, TextEncoder};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::metrics::exemplars::{self, OPEN_METRICS};
use crate::server::{Acceptor, is_process_ready};

/// Most connections at once; one more is closed as it comes.
const MAX_SCRAPES: usize = 16;
/// Most bytes of a request: its first line and its headers.
const MAX_SCRAPE_REQUEST_BYTES: usize = 8 * 1024;
/// Time for a connection, from its first byte to the last.
const SCRAPE_TIMEOUT: Duration = Duration::from_secs(10);

/// The listener, until it is dropped.
#[derive(Debug)]
pub(super) struct Scrape {
    address: SocketAddr,
    _stop: DropGuard,
}

impl Scrape {
    /// Listens on `address` and serves what `registry` has. Inside a tokio runtime.
    ///
    /// # Errors
    /// The operating system refuses the address.
    pub(super) fn start(address: SocketAddr, registry: Registry) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        exemplars::collect();
        let address = listener.local_addr()?;
        let stop = CancellationToken::new();
        tokio::spawn(stop.clone().run_until_cancelled_owned(accept(listener, registry)));
        Ok(Self {
            address,
            _stop: stop.drop_guard(),
        })
    }

    /// Where it listens; the port is never 0.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }
}

async fn accept(listener: TcpListener, registry: Registry) {
    let mut acceptor = Acceptor::new(listener, MAX_SCRAPES);
    loop {
        let (connection, place) = acceptor.accept().await;
        let registry = registry.clone();
        tokio::spawn(async move {
            // Whatever ends the connection early, the other side sees it.
            drop(tokio::time::timeout(SCRAPE_TIMEOUT, serve(connection, registry)).await);
            drop(place);
        });
    }
}

async fn serve(connection: TcpStream, registry: Registry) -> Result<(), hyper::Error> {
    let answer = service_fn(move |request: Request<hyper::body::Incoming>| {
        let registry = registry.clone();
        async move { Ok::<_, Infallible>(answer(&request, registry).await) }
    });
    hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(SCRAPE_TIMEOUT)
        .keep_alive(false)
        .max_buf_size(MAX_SCRAPE_REQUEST_BYTES)
        .serve_connection(TokioIo::new(connection), answer)
        .await
}

async fn answer(request: &Request<hyper::body::Incoming>, registry: Registry) -> Response<Full<Bytes>> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut refused = text(StatusCode::METHOD_NOT_ALLOWED, "use GET\n");
        refused
            .headers_mut()
            .insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return refused;
    }
    match request.uri().path() {
        "/livez" => text(StatusCode::OK, "ok\n"),
        "/readyz" if is_process_ready().await => text(StatusCode::OK, "ok\n"),
        "/readyz" => text(
            StatusCode::SERVICE_UNAVAILABLE,
            "starting, draining, or a service is not serving\n",
        ),
        "/metrics" => metrics(registry, takes_open_metrics(request.headers())).await,
        _ => text(StatusCode::NOT_FOUND, "there are /metrics, /livez and /readyz\n"),
    }
}

/// Prometheus asks for OpenMetrics, which has exemplars, and takes the older text.
fn takes_open_metrics(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted
        .flat_map(|value| value.split(','))
        .any(|kind| kind.trim_start().starts_with("application/openmetrics-text"))
}

async fn metrics(registry: Registry, open_metrics: bool) -> Response<Full<Bytes>> {
    // Collecting takes locks that every call takes too, and some milliseconds where there are many series.
    let encoded = tokio::task::spawn_blocking(move || {
        let families = registry.gather();
        if open_metrics {
            exemplars::collect().encode(&families)
        } else {
            TextEncoder::new().encode_to_string(&families)
        }
    });
    match encoded.await {
        Ok(Ok(body)) => {
            let mut response = Response::new(Full::new(Bytes::from(body)));
            let kind = if open_metrics {
                OPEN_METRICS
            } else {
                prometheus::TEXT_FORMAT
            };
            let kind = HeaderValue::from_static(kind);
            response.headers_mut().insert(CONTENT_TYPE, kind);
            response
        }
        Ok(Err(error)) => {
            tracing::warn!(%error, "the metrics cannot be written");
            text(
                StatusCode::INTERNAL_SERVER_ERROR,
                "the metrics cannot be written; the log says why\n",
            )
        }
        Err(_) => text(
            StatusCode::INTERNAL_SERVER_ERROR,
            "the metrics could not be collected\n",
        ),
    }
}

fn text(status: StatusCode, body: &'static str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from_static(body.as_bytes())));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

#[cfg(test)]
mod tests;
