//! The provider `none`: every search fails and says how to configure a provider.

use emend_core::Scope;
use futures::FutureExt;
use futures::future::{self, BoxFuture};

use super::{Provider, Search, SearchResults};
use crate::error::SearchError;

/// The provider when none is configured. A graph sees the error and goes on without web search.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProvider;

impl Provider for NoProvider {
    fn name(&self) -> &'static str {
        "none"
    }

    fn search(&self, _search: Search, _scope: Scope) -> BoxFuture<'_, Result<SearchResults, SearchError>> {
        future::ready(Err(SearchError::NoProvider)).boxed()
    }
}
