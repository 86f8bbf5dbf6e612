//! The span and the duration of every call that a server answers. The span is a child of the caller's (R14).

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use opentelemetry::KeyValue;
use opentelemetry_http::HeaderExtractor;
use tokio::time::Instant;
use tonic::Code;
use tonic::body::Body;
use tower::{Layer, Service};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

use super::auth::KeyName;
use crate::observed::{Ending, ObservedBody, Record};
use crate::status::grpc_code_name;
use emend_core::{fail_span, semconv};

use crate::metrics::Latency;

/// The names of the services that a server has.
pub(super) type KnownServices = Arc<[String]>;

/// `package.Service/Method` of a request, or `_OTHER` where the server has no such service: a caller must not be able to
/// invent span names. `None` for health checks and reflection, which would bury everything else.
fn method<'a>(path: &'a str, known: &KnownServices) -> Option<&'a str> {
    let method = path.strip_prefix('/').unwrap_or(path);
    let (service, _) = method.split_once('/').unwrap_or((method, ""));
    if service.starts_with("grpc.") {
        None
    } else if known.iter().any(|name| name == service) {
        Some(method)
    } else {
        Some(semconv::RPC_METHOD_OTHER)
    }
}

/// Makes the span of a call, a child of the one in its `traceparent`.
pub(super) fn span_maker<B>(known: KnownServices) -> impl FnMut(&http::Request<B>) -> Span + Clone {
    move |request| {
        let Some(method) = method(request.uri().path(), &known) else {
            return Span::none();
        };
        let span = tracing::info_span!(
            "rpc",
            otel.name = method,
            otel.kind = "server",
            otel.status_code = tracing::field::Empty,
            otel.status_description = tracing::field::Empty,
            rpc.system.name = semconv::RPC_SYSTEM_GRPC,
            rpc.method = method,
            rpc.response.status_code = tracing::field::Empty,
            error.type = tracing::field::Empty,
            emend.key.name = tracing::field::Empty,
        );
        let parent = opentelemetry::global::get_text_map_propagator(|propagator| {
            propagator.extract(&HeaderExtractor(request.headers()))
        });
        // Fails only where no OpenTelemetry layer is installed; then there is no trace to join.
        drop(span.set_parent(parent));
        span
    }
}

/// Records how each call ended: in its span, in `rpc.server.call.duration` and in the log.
#[derive(Clone)]
pub(super) struct RecordLayer {
    known: KnownServices,
    duration: Latency,
}

impl RecordLayer {
    pub(super) fn new(known: KnownServices) -> Self {
        Self {
            known,
            duration: Latency::new(semconv::RPC_SERVER_CALL_DURATION),
        }
    }
}

impl<S> Layer<S> for RecordLayer {
    type Service = RecordCalls<S>;

    fn layer(&self, inner: S) -> Self::Service {
        RecordCalls {
            inner,
            layer: self.clone(),
        }
    }
}

/// The service that [`RecordLayer`] makes.
#[derive(Clone)]
pub(super) struct RecordCalls<S> {
    inner: S,
    layer: RecordLayer,
}

impl<S> Service<http::Request<Body>> for RecordCalls<S>
where
    S: Service<http::Request<Body>, Response = http::Response<Body>, Error = Infallible>,
    S::Future: Future<Output = Result<http::Response<Body>, Infallible>> + Send + 'static,
{
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let call = method(request.uri().path(), &self.layer.known).map(|method| {
            Ending::new(Call {
                span: Span::current(),
                method: method.to_owned(),
                started: Instant::now(),
                duration: self.layer.duration.clone(),
                key: request.extensions().get().map(|KeyName(name)| Arc::clone(name)),
            })
        });
        let response = self.inner.call(request);
        Box::pin(async move {
            let Some(ending) = call else { return response.await };
            let response = response.await?;
            Ok(ObservedBody::wrap(response, ending, None).map(Body::new))
        })
    }
}

/// One call, until it ends.
struct Call {
    span: Span,
    method: String,
    started: Instant,
    duration: Latency,
    /// The name of the caller's key.
    key: Option<Arc<str>>,
}

impl Record for Call {
    fn end(&mut self, code: Code, message: &str) {
        let elapsed = self.started.elapsed();
        let name = grpc_code_name(code);
        self.span.record(semconv::RPC_RESPONSE_STATUS_CODE, name);
        let mut attributes = vec![
            KeyValue::new(semconv::RPC_SYSTEM_NAME, semconv::RPC_SYSTEM_GRPC),
            KeyValue::new(semconv::RPC_METHOD, self.method.clone()),
            KeyValue::new(semconv::RPC_RESPONSE_STATUS_CODE, name),
        ];
        if is_server_fault(code) {
            fail_span(&self.span, name, message);
            attributes.push(KeyValue::new(semconv::ERROR_TYPE, name));
        }
        let key = self.key.as_deref();
        if let Some(key) = key {
            attributes.push(KeyValue::new(semconv::EMEND_KEY_NAME, key.to_owned()));
        }
        self.duration.record(elapsed, &attributes, &self.span);
        let _entered = self.span.enter();
        let ms = elapsed.as_millis();
        if is_server_fault(code) && code != Code::DeadlineExceeded {
            tracing::warn!(
                method = self.method,
                code = name,
                key,
                ms,
                reason = message,
                "call failed"
            );
        } else if matches!(code, Code::Unauthenticated | Code::PermissionDenied) {
            tracing::info!(
                method = self.method,
                code = name,
                key,
                ms,
                reason = message,
                "call refused"
            );
        } else {
            tracing::debug!(
                method = self.method,
                code = name,
                key,
                ms,
                reason = message,
                "call ended"
            );
        }
    }
}

/// The codes that the semantic conventions count as errors of the server; the others are the caller's.
fn is_server_fault(code: Code) -> bool {
    matches!(
        code,
        Code::Unknown
            | Code::DeadlineExceeded
            | Code::Unimplemented
            | Code::Internal
            | Code::Unavailable
            | Code::DataLoss
    )
}

#[cfg(test)]
mod tests;
