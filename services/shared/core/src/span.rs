//! Marks spans as failed.

use tracing::Span;

use crate::semconv;

/// Longest description of a failure in a span, in bytes.
pub const MAX_DESCRIPTION_BYTES: usize = 1024;

/// Marks a span as failed: its status is ERROR with this description, and it has an `error.type`. A span has these
/// fields only where its macro declares them, empty: [`semconv::OTEL_STATUS_CODE`], [`semconv::OTEL_STATUS_DESCRIPTION`]
/// and [`semconv::ERROR_TYPE`].
pub fn fail_span(span: &Span, error_type: &str, description: &str) {
    let end = description.floor_char_boundary(MAX_DESCRIPTION_BYTES);
    span.record(semconv::OTEL_STATUS_CODE, "ERROR");
    span.record(semconv::OTEL_STATUS_DESCRIPTION, &description[..end]);
    span.record(semconv::ERROR_TYPE, error_type);
}
