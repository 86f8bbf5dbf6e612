//! The transport under generated clients: bounded by the deadline, traced, with errors that say what is down.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::BoxFuture;
use opentelemetry::KeyValue;
use opentelemetry::metrics::Histogram;
use opentelemetry_http::HeaderInjector;
use tokio::time::Instant;
use tonic::body::Body;
use tonic::transport::Channel;
use tonic::{Code, Status};
use tower::Service;
use tracing::{Instrument, Span};
use tracing_opentelemetry::OpenTelemetrySpanExt;

use super::discovery::Discovery;
use super::retry::{expired_as_deadline_exceeded, is_expired};
use super::unsent;
use crate::observed::{Ending, ObservedBody, Record};
use crate::status::{grpc_code_name, status};
use crate::timeout::parse_timeout;
use emend_core::semconv;
use emend_core::{Deadline, error_chain};

/// What all channels of one upstream share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) target: Arc<str>,
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) default_timeout: Duration,
    pub(super) balanced: Channel,
    pub(super) discovery: Discovery,
    pub(super) duration: Histogram<f64>,
    /// Ends the discovery.
    pub(super) _closed: tokio_util::sync::DropGuard,
}

/// The transport to an upstream, for generated clients: `GraderServiceClient::new(upstream.channel())`. Cheap to clone.
///
/// Each call gets a client span, whose context travels in `traceparent`, and ends by its `grpc-timeout` whatever happens.
#[derive(Clone, Debug)]
pub struct TracedChannel(pub(super) Arc<Shared>);

impl Service<http::Request<Body>> for TracedChannel {
    type Response = http::Response<Body>;
    type Error = Status;
    type Future = BoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        // Readiness is awaited inside the call, where the deadline bounds it.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: http::Request<Body>) -> Self::Future {
        let shared = Arc::clone(&self.0);
        let method = request.uri().path().trim_start_matches('/').to_owned();
        let span = span(&method, &shared);
        opentelemetry::global::get_text_map_propagator(|propagator| {
            propagator.inject_context(&span.context(), &mut HeaderInjector(request.headers_mut()));
        });
        let timeout = request
            .headers()
            .get("grpc-timeout")
            .and_then(|value| parse_timeout(value.to_str().ok()?));
        let deadline = Deadline::after(timeout.unwrap_or(shared.default_timeout));
        let call = Call {
            shared: Arc::clone(&shared),
            span: span.clone(),
            method,
            started: Instant::now(),
        };
        let mut ending = Ending::new(call);
        Box::pin(
            async move {
                let answered = deadline
                    .run(shared.send(request))
                    .await
                    .unwrap_or_else(|late| Err(status(&late)));
                match answered {
                    Ok(response) => Ok(ObservedBody::wrap(response, ending, Some(deadline)).map(Body::new)),
                    Err(status) => {
                        ending.end(status.code(), status.message());
                        Err(status)
                    }
                }
            }
            .instrument(span),
        )
    }
}

impl Shared {
    async fn send(&self, request: http::Request<Body>) -> Result<http::Response<Body>, Status> {
        self.discovery
            .ready()
            .await
            .map_err(|reason| Status::unavailable(&*reason))?;
        let sent = unsent::send(&self.balanced, request).await;
        let response = sent.map_err(|status| self.broken(status))?;
        match Status::from_header_map(response.headers()) {
            Some(status) if is_expired(&status) => Err(expired_as_deadline_exceeded(status)),
            Some(status) if status.code() == Code::Unavailable => {
                // A server that drains says so; it may have left already.
                self.discovery.suspect();
                Ok(response)
            }
            _ => Ok(response),
        }
    }

    /// What the caller is told of a connection that broke: tonic calls most of that UNKNOWN or INTERNAL, and neither
    /// says that it can be tried again.
    fn broken(&self, status: Status) -> Status {
        let status = expired_as_deadline_exceeded(status);
        match status.code() {
            Code::Unknown | Code::Internal | Code::Unavailable => {
                self.discovery.suspect();
                Status::unavailable(format!("the connection to {} failed: {}", self.target, reason(&status)))
            }
            // A stream that the other side's transport reset; the caller itself would not be here to see it.
            Code::Cancelled => Status::unavailable(format!("{} broke off the call: {}", self.target, reason(&status))),
            _ => status,
        }
    }
}

/// The client span of a call; none for health checks and reflection, as on the server.
fn span(method: &str, shared: &Shared) -> Span {
    if method.starts_with("grpc.") {
        return Span::none();
    }
    tracing::info_span!(
        "rpc",
        otel.name = method,
        otel.kind = "client",
        otel.status_code = tracing::field::Empty,
        rpc.system.name = semconv::RPC_SYSTEM_GRPC,
        rpc.method = method,
        rpc.response.status_code = tracing::field::Empty,
        error.type = tracing::field::Empty,
        server.address = shared.host,
        server.port = shared.port,
    )
}

fn reason(status: &Status) -> String {
    use std::error::Error;
    let mut message = status.message().to_owned();
    if let Some(source) = status.source() {
        let source = error_chain(source);
        if !source.contains(&message) {
            message.push_str(": ");
            message.push_str(&source);
        } else {
            message = source;
        }
    }
    message
}

/// One call, until it ends.
struct Call {
    shared: Arc<Shared>,
    span: Span,
    method: String,
    started: Instant,
}

impl Record for Call {
    fn end(&mut self, code: Code, _message: &str) {
        let name = grpc_code_name(code);
        self.span.record(semconv::RPC_RESPONSE_STATUS_CODE, name);
        let mut attributes = vec![
            KeyValue::new(semconv::RPC_SYSTEM_NAME, semconv::RPC_SYSTEM_GRPC),
            KeyValue::new(semconv::RPC_METHOD, self.method.clone()),
            KeyValue::new(semconv::RPC_RESPONSE_STATUS_CODE, name),
            KeyValue::new(semconv::SERVER_ADDRESS, self.shared.host.clone()),
        ];
        if code != Code::Ok {
            self.span.record("otel.status_code", "ERROR");
            self.span.record(semconv::ERROR_TYPE, name);
            attributes.push(KeyValue::new(semconv::ERROR_TYPE, name));
        }
        self.shared
            .duration
            .record(self.started.elapsed().as_secs_f64(), &attributes);
    }

    fn transport_error(&self, error: Status) -> Status {
        self.shared.broken(error)
    }
}
