//! The actor that searches.

use std::sync::Arc;

use actix::fut::WrapFuture;
use actix::{Actor, AsyncContext, Context, Handler};
use emend_chassis::{Alive, Job};
use emend_core::{Scope, ServiceError, semconv};
use emend_proto::v1::SearchResponse;
use tracing::{Instrument, field, info_span};

use crate::backend::{Provider, Search as Query};
use crate::error::SearchError;
use crate::messages::Search;

/// Searches with its provider, as many queries at once as are admitted.
pub(crate) struct WebSearchActor {
    provider: Arc<dyn Provider>,
    _alive: Alive,
}

impl WebSearchActor {
    pub(crate) fn new(provider: Arc<dyn Provider>, alive: Alive) -> Self {
        Self {
            provider,
            _alive: alive,
        }
    }
}

impl Actor for WebSearchActor {
    type Context = Context<Self>;
}

impl Handler<Job<Search>> for WebSearchActor {
    type Result = ();

    fn handle(&mut self, job: Job<Search>, context: &mut Self::Context) {
        let provider = Arc::clone(&self.provider);
        let work = job.run(move |task, scope| async move { search(&*provider, task.0, scope).await });
        context.spawn(work.into_actor(self));
    }
}

/// One search in a span of its own. The query is in no span: it is the user's.
async fn search(provider: &dyn Provider, query: Query, scope: Scope) -> Result<SearchResponse, SearchError> {
    let span = info_span!(
        "execute_tool",
        otel.name = "execute_tool web_search",
        otel.status_code = field::Empty,
        { semconv::GEN_AI_OPERATION_NAME } = "execute_tool",
        { semconv::GEN_AI_TOOL_NAME } = "web_search",
        { semconv::ERROR_TYPE } = field::Empty,
        emend.web_search.provider = provider.name(),
        emend.web_search.max_results = query.max_results,
        emend.web_search.passages = field::Empty,
    );
    let found = provider.search(query, scope).instrument(span.clone()).await;
    match &found {
        Ok(passages) => {
            span.record("emend.web_search.passages", passages.len());
        }
        Err(error) => {
            span.record("otel.status_code", "ERROR");
            span.record(semconv::ERROR_TYPE, error.code().name());
        }
    }
    Ok(SearchResponse {
        passages: found?,
        provider: provider.name().to_owned(),
    })
}
