//! Queries without a model: the question's keywords, terms of the best passages, and fewer keywords.
//!
//! Each attempt is another step of one plan, read off the number of failed queries: the service keeps no state, and the
//! same request gives the same query on every replica.
//!
//! Condensing looks for what a follow-up leaves open and adds the topic of the conversation to it; see [`condense`] for
//! what that can do and what it cannot.

mod chinese;
mod condense;
mod elliptic;
mod expansion;
mod japanese;
mod korean;
mod plan;
mod reference;
mod terms;

use emend_core::Scope;
use emend_proto::v1::{RewritePurpose, RewriteRequest};
use futures::FutureExt;
use futures::future::BoxFuture;

use super::{Backend, Rewritten};
use crate::error::RewriteError;
use crate::queries::{Failed, MAX_TOKENS, shortened};

/// Makes queries in process, in English, Korean, Japanese and Chinese, and in other languages as far as rules reach.
#[derive(Clone, Copy, Debug, Default)]
pub struct KeywordBackend;

impl Backend for KeywordBackend {
    fn name(&self) -> &'static str {
        "keywords"
    }

    fn rewrite(&self, request: RewriteRequest, _scope: Scope) -> BoxFuture<'_, Result<Rewritten, RewriteError>> {
        async move {
            // Twenty long passages are some ten milliseconds of reading: not on the actors' thread.
            let query = tokio::task::spawn_blocking(move || rewrite(&request))
                .await
                .map_err(|_| RewriteError::Keywords)?;
            Ok(Rewritten {
                query,
                ..Rewritten::default()
            })
        }
        .boxed()
    }
}

/// The first candidate that has not failed; empty when all have. A condensed question is no candidate: there is one.
fn rewrite(request: &RewriteRequest) -> String {
    let failed = Failed::new(&request.failed_queries);
    let candidates = match request.purpose() {
        RewritePurpose::Condense => return condense::condensed(&request.question, &request.history),
        RewritePurpose::WebSearch => plan::web_search(request),
        RewritePurpose::Retrieval | RewritePurpose::Unspecified => {
            plan::retrieval(request, failed.attempts(&request.question))
        }
    };
    let allowed = candidates
        .iter()
        .map(|candidate| shortened(candidate, MAX_TOKENS))
        .find(|candidate| failed.allows(candidate));
    allowed.unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;
