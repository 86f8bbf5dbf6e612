//! What the rewriter does.

use std::sync::Arc;

use emend_chassis::Work;
use emend_core::{Scope, ServiceError, error_chain, fail_span, semconv};
use emend_proto::v1::{RewritePurpose, RewriteRequest, RewriteResponse};
use tracing::{Instrument, field, info_span};

use crate::backend::Backend;
use crate::error::RewriteError;

/// What all work of the rewriter needs.
pub(crate) struct Rewriter(pub(crate) Arc<dyn Backend>);

impl Work<Rewriter> for RewriteRequest {
    type Reply = RewriteResponse;
    type Error = RewriteError;
    const NAME: &'static str = "rewrite";

    /// Makes a query, in a span of its own. Spans contain neither the question nor the query. The request is valid.
    async fn run(self, rewriter: &Rewriter, scope: &Scope) -> Result<RewriteResponse, RewriteError> {
        let backend = &rewriter.0;
        let purpose = match self.purpose() {
            RewritePurpose::Unspecified | RewritePurpose::Retrieval => "retrieval",
            RewritePurpose::WebSearch => "web_search",
            RewritePurpose::Condense => "condense",
        };
        let span = info_span!(
            "rewrite",
            otel.name = format!("rewrite {purpose}"),
            otel.status_code = field::Empty,
            otel.status_description = field::Empty,
            { semconv::ERROR_TYPE } = field::Empty,
            emend.rewrite.purpose = purpose,
            emend.rewrite.backend = backend.name(),
            emend.rewrite.failed_queries = self.failed_queries.len(),
            emend.rewrite.fallback = field::Empty,
            emend.rewrite.exhausted = field::Empty,
        );
        match backend.rewrite(self, scope.clone()).instrument(span.clone()).await {
            Ok(rewritten) => {
                if let Some(reason) = rewritten.fallback {
                    span.record("emend.rewrite.fallback", reason);
                }
                span.record("emend.rewrite.exhausted", rewritten.query.is_empty());
                Ok(RewriteResponse {
                    query: rewritten.query,
                    usage: Some(rewritten.usage),
                })
            }
            Err(error) => {
                fail_span(&span, error.code().name(), &error_chain(&error));
                Err(error)
            }
        }
    }
}
