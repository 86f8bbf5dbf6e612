//! No provider: every search says how to configure one.

use emend_core::Scope;
use emend_proto::v1::Passage;
use futures::FutureExt;
use futures::future::{self, BoxFuture};

use super::{Provider, Search};
use crate::error::SearchError;

/// Stands in where nobody has configured a provider, so that a graph can see it and go on without.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProvider;

impl Provider for NoProvider {
    fn name(&self) -> &'static str {
        "none"
    }

    fn search(&self, _search: Search, _scope: Scope) -> BoxFuture<'_, Result<Vec<Passage>, SearchError>> {
        future::ready(Err(SearchError::NoProvider)).boxed()
    }
}
