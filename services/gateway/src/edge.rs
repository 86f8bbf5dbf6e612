//! What is around every request: its place among the requests at once, its span, its duration, the origin of its page.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::body::Body;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use emend_chassis::metrics::Latency;
use emend_core::semconv;
use http::header::{ORIGIN, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderValue, Method};
use http_body::{Frame, SizeHint};
use opentelemetry::KeyValue;
use opentelemetry_http::HeaderExtractor;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;
use tracing::{Instrument as _, Span};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

use crate::Gateway;
use crate::openai::{self, OpenAiError};
use crate::problem::Problem;

/// Routes that need no key: what they say is the same for everybody, and nothing of what is stored.
const OPEN: [&str; 2] = ["/", "/openapi.json"];

/// Every response of the gateway: pages that may not call are refused, those that may are told so.
pub(crate) async fn guarded(gateway: Arc<Gateway>, request: Request, next: Next) -> Response {
    let origin = request.headers().get(ORIGIN).cloned();
    let mut response = match gateway.origins.check(&request) {
        Ok(()) => next.run(request).await,
        Err(refused) => *refused,
    };
    let headers = response.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    gateway.origins.allow(origin.as_ref(), headers);
    response
}

/// A request of a route that takes a place among those at once, in a span of its own.
pub(crate) async fn observed(gateway: Arc<Gateway>, route: &'static str, request: Request, next: Next) -> Response {
    let span = span(route, &request);
    let mut ending = Ending(Some(Ended {
        span: span.clone(),
        method: known(request.method()),
        route,
        status: None,
        started: Instant::now(),
        duration: gateway.duration.clone(),
    }));
    let refuse = |problem: Problem, mut ending: Ending| {
        let response = if openai::speaks(route) {
            OpenAiError::from(problem).into_response()
        } else {
            problem.into_response()
        };
        ending.answered(&response);
        response
    };
    if let Some(keys) = &gateway.keys
        && !OPEN.contains(&route)
    {
        match keys.authenticate(request.headers()) {
            Ok(identity) => drop(span.record(semconv::EMEND_KEY_NAME, identity.name())),
            Err(status) => return refuse(status.into(), ending),
        }
    }
    let Ok(place) = Arc::clone(&gateway.places).try_acquire_owned() else {
        let full = Problem::full("the gateway takes no more requests at the moment: try again, or add a replica");
        return refuse(full, ending);
    };
    let response = next.run(request).instrument(span).await;
    ending.answered(&response);
    response.map(|inner| {
        Body::new(Counted {
            inner,
            ending,
            _place: place,
        })
    })
}

/// The span of a request, a child of the one in its `traceparent`.
fn span(route: &'static str, request: &Request) -> Span {
    let method = known(request.method());
    let span = tracing::info_span!(
        "http",
        otel.name = format!("{method} {route}"),
        otel.kind = "server",
        otel.status_code = tracing::field::Empty,
        http.request.method = method,
        http.route = route,
        http.response.status_code = tracing::field::Empty,
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

/// The methods that there are routes for; callers must not invent names.
fn known(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "_OTHER",
    }
}

/// Records a request once, when its response was sent or nobody reads it any more.
struct Ending(Option<Ended>);

struct Ended {
    span: Span,
    method: &'static str,
    route: &'static str,
    /// None until there is a response.
    status: Option<u16>,
    started: Instant,
    duration: Latency,
}

impl Ending {
    fn answered(&mut self, response: &Response) {
        if let Some(ended) = &mut self.0 {
            ended.status = Some(response.status().as_u16());
        }
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        let Some(ended) = self.0.take() else { return };
        // As proxies write that the caller left before the response.
        let status = ended.status.unwrap_or(499);
        ended.span.record(semconv::HTTP_RESPONSE_STATUS_CODE, status);
        let mut attributes = vec![
            KeyValue::new(semconv::HTTP_REQUEST_METHOD, ended.method),
            KeyValue::new(semconv::HTTP_ROUTE, ended.route),
            KeyValue::new(semconv::HTTP_RESPONSE_STATUS_CODE, i64::from(status)),
        ];
        if status >= 500 {
            ended.span.record("otel.status_code", "ERROR");
            ended.span.record(semconv::ERROR_TYPE, status);
            attributes.push(KeyValue::new(semconv::ERROR_TYPE, status.to_string()));
        }
        let elapsed = ended.started.elapsed();
        ended.duration.record(elapsed, &attributes, &ended.span);
        let _entered = ended.span.enter();
        let ms = elapsed.as_millis();
        if status >= 500 && status != 504 {
            tracing::warn!(method = ended.method, route = ended.route, status, ms, "request failed");
        } else {
            tracing::debug!(method = ended.method, route = ended.route, status, ms, "request ended");
        }
    }
}

/// A body with whose end the request gives back its place.
struct Counted {
    inner: Body,
    ending: Ending,
    _place: OwnedSemaphorePermit,
}

impl http_body::Body for Counted {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = &mut *self;
        let span = this.ending.0.as_ref().map(|ended| ended.span.clone());
        let _entered = span.as_ref().map(Span::enter);
        Poll::Ready(ready!(Pin::new(&mut this.inner).poll_frame(context)))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
