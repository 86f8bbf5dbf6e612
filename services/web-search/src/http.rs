//! What all HTTP requests of web search share.

use reqwest::{ClientBuilder, StatusCode};
use tracing::{Span, field, info_span};
use url::Url;

use emend_core::semconv;

/// Who asks, as servers and their `robots.txt` see it.
pub(crate) const USER_AGENT: &str = concat!("emend/", env!("CARGO_PKG_VERSION"));

/// A client's builder, with TLS by rustls and its ring provider.
pub(crate) fn builder() -> ClientBuilder {
    // An error means that the program has chosen a provider already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .user_agent(USER_AGENT)
        .connect_timeout(std::time::Duration::from_secs(5))
}

/// The span of one request. It names the server only: the rest of a URL may contain the query.
pub(crate) fn request_span(method: &'static str, url: &Url) -> Span {
    info_span!(
        "http",
        { semconv::OTEL_NAME } = method,
        { semconv::OTEL_KIND } = "client",
        { semconv::OTEL_STATUS_CODE } = field::Empty,
        { semconv::HTTP_REQUEST_METHOD } = method,
        { semconv::HTTP_RESPONSE_STATUS_CODE } = field::Empty,
        { semconv::SERVER_ADDRESS } = url.host_str(),
        { semconv::SERVER_PORT } = url.port_or_known_default(),
        { semconv::ERROR_TYPE } = field::Empty,
    )
}

/// Records the status of the response in the current span.
pub(crate) fn record_status(status: StatusCode) {
    Span::current().record(semconv::HTTP_RESPONSE_STATUS_CODE, status.as_u16());
}

/// Records in the current span why the request failed, in a word of few.
pub(crate) fn record_error(kind: &str) {
    let span = Span::current();
    span.record(semconv::ERROR_TYPE, kind);
    span.record(semconv::OTEL_STATUS_CODE, "ERROR");
}
