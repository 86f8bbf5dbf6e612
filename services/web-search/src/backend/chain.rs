//! Providers that stand in for one another.

use std::sync::Arc;

use emend_core::{Deadline, Scope, ServiceError as _, error_chain};
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
    ///
    /// The time that is left is shared equally by the providers that are left, so that one that hangs leaves time for those
    /// after it; what a provider does not use goes to those after it.
    fn search(&self, search: Search, scope: Scope) -> BoxFuture<'_, Result<SearchResults, SearchError>> {
        async move {
            let mut nothing: Option<SearchResults> = None;
            let mut first: Option<SearchError> = None;
            for (place, provider) in self.providers.iter().enumerate() {
                match in_share(provider.as_ref(), self.providers.len() - place, &search, &scope).await {
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

/// Searches with `provider`, the first of so many that are left, for its share of the time that is left.
async fn in_share(
    provider: &dyn Provider,
    left: usize,
    search: &Search,
    scope: &Scope,
) -> Result<SearchResults, SearchError> {
    let share = scope.deadline.remaining() / u32::try_from(left).unwrap_or(u32::MAX);
    let deadline = Deadline::after(share).min(scope.deadline);
    let searching = provider.search(
        search.clone(),
        Scope {
            deadline,
            ..scope.clone()
        },
    );
    deadline.run(searching).await.unwrap_or_else(|_| {
        Err(SearchError::Unreachable {
            provider: provider.name(),
            reason: "it did not answer in its share of the time".to_owned(),
        })
    })
}

#[cfg(test)]
mod tests;
