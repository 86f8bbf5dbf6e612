//! What all requests for pages, and to search engines, share.

use std::time::Duration;

use emend_core::{fail_span, semconv};
use reqwest::{ClientBuilder, StatusCode};
use tracing::{Span, field, info_span};
use url::Url;

/// A client's builder, with 5 s to connect.
pub fn builder() -> ClientBuilder {
    emend_core::http::builder().connect_timeout(Duration::from_secs(5))
}

/// The span of one request. It names the server only: the rest of a URL may contain the query.
pub fn request_span(method: &'static str, url: &Url) -> Span {
    info_span!(
        "http",
        { semconv::OTEL_NAME } = method,
        { semconv::OTEL_KIND } = "client",
        { semconv::OTEL_STATUS_CODE } = field::Empty,
        { semconv::OTEL_STATUS_DESCRIPTION } = field::Empty,
        { semconv::HTTP_REQUEST_METHOD } = method,
        { semconv::HTTP_RESPONSE_STATUS_CODE } = field::Empty,
        { semconv::SERVER_ADDRESS } = url.host_str(),
        { semconv::SERVER_PORT } = url.port_or_known_default(),
        { semconv::ERROR_TYPE } = field::Empty,
    )
}

/// Records the status of the response in the current span.
pub fn record_status(status: StatusCode) {
    Span::current().record(semconv::HTTP_RESPONSE_STATUS_CODE, status.as_u16());
}

/// Records in the current span why the request failed, as a low-cardinality `error.type`.
pub fn record_error(kind: &str) {
    fail_span(&Span::current(), kind, kind);
}
