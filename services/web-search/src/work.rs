//! The work of the web search actors.

use std::sync::Arc;

use emend_chassis::Work;
use emend_core::{Scope, ServiceError, error_chain, fail_span, semconv};
use emend_proto::v1::SearchResponse;
use tracing::{Instrument, field, info_span};

use crate::backend::{Provider, Search as Query};
use crate::error::SearchError;

/// What all work of web search needs.
pub(crate) struct Searcher(pub(crate) Arc<dyn Provider>);

/// Runs a search. The query is valid.
pub(crate) struct Search(pub(crate) Query);

impl Work<Searcher> for Search {
    type Reply = SearchResponse;
    type Error = SearchError;
    const NAME: &'static str = "search";

    /// Runs one search in its own span. The query is user data, so no span contains it.
    async fn run(self, searcher: &Searcher, scope: &Scope) -> Result<SearchResponse, SearchError> {
        let provider = &searcher.0;
        let span = info_span!(
            "execute_tool",
            otel.name = "execute_tool web_search",
            otel.status_code = field::Empty,
            otel.status_description = field::Empty,
            { semconv::GEN_AI_OPERATION_NAME } = "execute_tool",
            { semconv::GEN_AI_TOOL_NAME } = "web_search",
            { semconv::ERROR_TYPE } = field::Empty,
            emend.web_search.provider = field::Empty,
            emend.web_search.max_results = self.0.max_results,
            emend.web_search.passages = field::Empty,
        );
        let found = provider.search(self.0, scope.clone()).instrument(span.clone()).await;
        match &found {
            Ok(found) => {
                span.record("emend.web_search.provider", found.provider);
                span.record("emend.web_search.passages", found.passages.len());
            }
            Err(error) => {
                span.record("emend.web_search.provider", provider.name());
                fail_span(&span, error.code().name(), &error_chain(error));
            }
        }
        let found = found?;
        Ok(SearchResponse {
            passages: found.passages,
            provider: found.provider.to_owned(),
        })
    }
}
