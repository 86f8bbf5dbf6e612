//! Providers that stand in for one another.

use std::sync::Arc;

use emend_core::{Scope, ServiceError as _, error_chain};
use futures::FutureExt;
use futures::future::BoxFuture;

use super::{Provider, Search, SearchResults};
use crate::error::SearchError;

/// Asks one provider after the other until one finds something.
pub(super) struct Chain {
    providers: Vec<Arc<dyn Provider>>,
}

impl Chain {
    /// Asks `providers` in this order.
    pub(super) fn new(providers: Vec<Arc<dyn Provider>>) -> Self {
        Self { providers }
    }
}

impl Provider for Chain {
    fn name(&self) -> &'static str {
        "chain"
    }

    /// The passages of the first provider that finds any. Without any, the result is that of a provider that found
    /// nothing, or else the error of the first.
    fn search(&self, search: Search, scope: Scope) -> BoxFuture<'_, Result<SearchResults, SearchError>> {
        async move {
            let mut nothing: Option<SearchResults> = None;
            let mut first: Option<SearchError> = None;
            for provider in &self.providers {
                match provider.search(search.clone(), scope.clone()).await {
                    Ok(found) if found.passages.is_empty() => nothing = nothing.or(Some(found)),
                    Ok(found) => return Ok(found),
                    Err(error) => {
                        tracing::warn!(
                            provider = provider.name(),
                            code = error.code().name(),
                            error = error_chain(&error),
                            "a web search provider failed; trying the next"
                        );
                        first = first.or(Some(error));
                    }
                }
                if scope.is_stopped() {
                    break;
                }
            }
            match (nothing, first) {
                (Some(nothing), _) => Ok(nothing),
                (None, Some(error)) => Err(error),
                (None, None) => Err(SearchError::NoProvider),
            }
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests;
