//! The providers that find pages.

mod folder;
mod none;

use std::sync::Arc;

use emend_core::Scope;
use emend_proto::v1::Passage;
use futures::future::BoxFuture;

use crate::config::{Options, ProviderKind};
use crate::domains::DomainFilter;
use crate::error::{LoadError, SearchError};

pub use folder::{Folder, FolderSettings};
pub use none::NoProvider;

/// Finds passages on the web, or in a substitute for it.
pub trait Provider: Send + Sync {
    /// Its name in responses and spans.
    fn name(&self) -> &'static str;

    /// At most `max_results` passages of admitted domains, best first, with `origin`, `title`,
    /// `text`, `source`, `score` and `retrieved_at`. Finding none is not an error. Dropping the
    /// future stops the search.
    fn search(&self, search: Search, scope: Scope) -> BoxFuture<'_, Result<Vec<Passage>, SearchError>>;
}

/// A search request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Search {
    /// The query; not blank, at most 8 KiB.
    pub query: String,
    /// Most passages to return, 1–50.
    pub max_results: usize,
    /// Which pages may be returned.
    pub domains: DomainFilter,
}

/// Loads the provider that `options` select.
///
/// # Errors
/// [`LoadError`] when the options do not select a valid provider, or its folder cannot be read.
pub async fn load(options: &Options) -> Result<Arc<dyn Provider>, LoadError> {
    match options.provider() {
        ProviderKind::None => {
            tracing::info!("no web search provider is configured; searches fail with FAILED_PRECONDITION");
            Ok(Arc::new(NoProvider))
        }
        ProviderKind::Folder => {
            let folder = options.folder.clone().ok_or(LoadError::NoFolder)?;
            let settings = FolderSettings {
                check_every: options.folder_check,
                passage_chars: options.passage_chars as usize,
            };
            Ok(Arc::new(Folder::open(folder, settings).await?))
        }
    }
}
