//! Model-free query rewriting: the question's keywords, expansion with terms of the best passages, and fewer keywords.
//!
//! Each attempt is the next step of one plan. The number of failed queries gives the step, so the service keeps no
//! state and the same request yields the same query on every replica.
//!
//! Condensing detects what a follow-up question leaves out and adds the topic of the conversation. See [`condense`] for
//! its limits.

mod chinese;
mod condense;
mod elliptic;
mod expansion;
mod japanese;
mod korean;
mod plan;
mod reference;
mod terms;

use std::sync::Arc;

use emend_core::{Scope, Turns};
use emend_proto::v1::{RewritePurpose, RewriteRequest};
use futures::FutureExt;
use futures::future::BoxFuture;

use super::{Backend, Rewritten};
use crate::error::RewriteError;
use crate::queries::{DEFAULT_MAX_TOKENS, FailedQueries, truncated};

/// Rewrites queries in process, in English, Korean, Japanese and Chinese, with rule-based support for other languages.
#[derive(Clone, Copy, Debug, Default)]
pub struct KeywordBackend;

impl Backend for KeywordBackend {
    fn name(&self) -> &'static str {
        "keywords"
    }

    /// Computes in pieces, each in its turn: dropping the future ends the work with its piece.
    fn rewrite(&self, request: RewriteRequest, _scope: Scope) -> BoxFuture<'_, Result<Rewritten, RewriteError>> {
        async move {
            let request = Arc::new(request);
            let terms = match request.purpose() {
                RewritePurpose::Condense => Vec::new(),
                _ => expansion::expansion(&request).await?,
            };
            let bytes = request.question.len();
            let query = Turns::shared().piece(bytes, move || rewrite(&request, &terms)).await?;
            Ok(Rewritten {
                query,
                ..Rewritten::default()
            })
        }
        .boxed()
    }
}

/// The first candidate that has not failed; empty if all have. A condensed question is returned as it is: there is only
/// one.
fn rewrite(request: &RewriteRequest, expansion: &[String]) -> String {
    let failed = FailedQueries::new(&request.failed_queries);
    let candidates = match request.purpose() {
        RewritePurpose::Condense => return condense::condensed(&request.question, &request.history),
        RewritePurpose::WebSearch => plan::web_search(request, expansion),
        RewritePurpose::Retrieval | RewritePurpose::Unspecified => {
            plan::retrieval(request, expansion, failed.attempts(&request.question))
        }
    };
    let allowed = candidates
        .iter()
        .map(|candidate| truncated(candidate, DEFAULT_MAX_TOKENS))
        .find(|candidate| failed.allows(candidate));
    allowed.unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;
