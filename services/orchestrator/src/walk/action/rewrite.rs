//! Makes the walk's next query from the original question and the queries that failed (R2).

use emend_core::limits::{MAX_FAILED_QUERIES, MAX_QUESTION_BYTES, MAX_REWRITE_PASSAGES};
use emend_proto::v1::{RewritePurpose, RewriteRequest};

use super::{Ended, Report, StepContext};
use crate::{
    graph::{Purpose, RewriteOutcome},
    walk::{deadline::Share, state::State},
};

/// The request to the rewriter.
pub(super) fn request(state: &State, purpose: Purpose, max_tokens: Option<u32>) -> RewriteRequest {
    let mut failed: Vec<String> = state
        .failed_queries(purpose)
        .rev()
        .take(MAX_FAILED_QUERIES)
        .map(str::to_owned)
        .collect();
    failed.reverse();
    RewriteRequest {
        question: state.question().text().to_owned(),
        failed_queries: failed,
        purpose: match purpose {
            Purpose::Retrieval => RewritePurpose::Retrieval,
            Purpose::WebSearch => RewritePurpose::WebSearch,
        }
        .into(),
        history: Vec::new(),
        passages: match purpose {
            Purpose::Retrieval => state.retrieved.iter().take(MAX_REWRITE_PASSAGES).cloned().collect(),
            // A query for the web leaves the deployment: no word of a document may come into it.
            Purpose::WebSearch => Vec::new(),
        },
        max_tokens,
    }
}

/// The query as it can be searched: the services reject longer ones, and a model decides how long it is (R15).
pub(super) fn searchable(query: &str) -> &str {
    let query = query.trim();
    query[..query.floor_char_boundary(MAX_QUESTION_BYTES)].trim_end()
}

pub(super) async fn run(
    context: &mut StepContext<'_>,
    purpose: Purpose,
    max_tokens: Option<u32>,
) -> Ended<RewriteOutcome> {
    let request = request(&context.state, purpose, max_tokens);
    let response = match context.services.rewrite(request, context.hop(Share::Half)).await {
        Ok(response) => response,
        Err(failure) => return Ok((RewriteOutcome::Unavailable, Report::failed(&failure))),
    };
    let query = searchable(&response.query).to_owned();
    // A query that was searched already would find the same passages again (R3).
    if query.is_empty() || context.state.has_searched(purpose, &query) {
        let report = Report::of("no other query to offer").costing(response.usage);
        return Ok((RewriteOutcome::Exhausted, report));
    }
    let report = Report::of(format!("query: {query}")).costing(response.usage);
    let previous = context.state.query.clone();
    context.state.rewritten(purpose, &query);
    Ok((RewriteOutcome::Rewritten, report.with_query(previous, query)))
}
