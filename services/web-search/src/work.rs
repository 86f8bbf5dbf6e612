//! The work of the web search actors.

use std::sync::Arc;

use emend_chassis::{Work, metrics};
use emend_core::{Scope, ServiceError, error_chain, fail_span, semconv};
use emend_proto::v1::SearchResponse;
use opentelemetry::KeyValue;
use opentelemetry::metrics::Counter;
use tracing::{Instrument, field, info_span};

use crate::backend::{Provider, Search as Query};
use crate::error::SearchError;

/// What all work of web search needs.
pub(crate) struct Searcher {
    provider: Arc<dyn Provider>,
    searches: Counter<u64>,
}

impl Searcher {
    /// Must be called after telemetry is initialized; its counter is a no-op otherwise.
    pub(crate) fn new(provider: Arc<dyn Provider>) -> Self {
        let searches = metrics::meter()
            .u64_counter(semconv::EMEND_WEB_SEARCHES)
            .with_unit("{search}")
            .build();
        Self { provider, searches }
    }
}

/// Runs a search. The query is valid.
pub(crate) struct Search(pub(crate) Query);

impl Work<Searcher> for Search {
    type Reply = SearchResponse;
    type Error = SearchError;
    const NAME: &'static str = "search";

    /// Runs one search in its own span. The query is user data, so no span contains it.
    async fn run(self, searcher: &Searcher, scope: &Scope) -> Result<SearchResponse, SearchError> {
        let provider = &searcher.provider;
        let span = info_span!(
            "execute_tool",
            otel.name = "execute_tool web_search",
            otel.status_code = field::Empty,
            otel.status_description = field::Empty,
            { semconv::GEN_AI_OPERATION_NAME } = "execute_tool",
            { semconv::GEN_AI_TOOL_NAME } = "web_search",
            { semconv::ERROR_TYPE } = field::Empty,
            { semconv::EMEND_WEB_SEARCH_PROVIDER } = field::Empty,
            emend.web_search.max_results = self.0.max_results,
            emend.web_search.passages = field::Empty,
        );
        let found = provider.search(self.0, scope.clone()).instrument(span.clone()).await;
        match &found {
            Ok(found) => {
                span.record(semconv::EMEND_WEB_SEARCH_PROVIDER, found.provider);
                let provider = KeyValue::new(semconv::EMEND_WEB_SEARCH_PROVIDER, found.provider);
                searcher.searches.add(1, &[provider]);
                span.record("emend.web_search.passages", found.passages.len());
            }
            Err(error) => {
                let code = error.code().name();
                span.record(semconv::EMEND_WEB_SEARCH_PROVIDER, provider.name());
                fail_span(&span, code, &error_chain(error));
                let provider = KeyValue::new(semconv::EMEND_WEB_SEARCH_PROVIDER, provider.name());
                searcher
                    .searches
                    .add(1, &[provider, KeyValue::new(semconv::ERROR_TYPE, code)]);
            }
        }
        let found = found?;
        Ok(SearchResponse {
            passages: found.passages,
            provider: found.provider.to_owned(),
        })
    }
}
