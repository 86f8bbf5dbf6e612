//! The providers that find pages.

mod chain;
mod choice;
mod engine;
mod folder;
mod html;
mod index;
mod none;
mod page;
mod pages;
mod rate;
mod web;
mod window;

use std::path::Path;
use std::sync::Arc;

use emend_core::{Scope, Secret};
use emend_proto::v1::Passage;
use futures::future::BoxFuture;

use crate::config::{BRAVE_KEY, Options, ProviderKind, TAVILY_KEY};
use crate::error::{LoadError, SearchError};
use chain::Chain;
use emend_pages::DomainFilter;
use engine::{Brave, Engine, SearxNg, Tavily};
use pages::PageReader;
use web::Web;

pub use folder::{Folder, FolderSettings};
pub use none::NoProvider;
pub(crate) use pages::MAX_PAGE_BYTES;
pub use rate::{Rate, Rates};
pub(crate) use web::WebSettings;

/// Finds passages on the web, or in a substitute for it.
pub trait Provider: Send + Sync {
    /// Its name in responses and spans.
    fn name(&self) -> &'static str;

    /// At most `max_results` passages of admitted domains, best first, with `origin`, `title`,
    /// `text`, `source`, `score` and `retrieved_at`. Finding none is not an error. Dropping the
    /// future stops the search.
    fn search(&self, search: Search, scope: Scope) -> BoxFuture<'_, Result<SearchResults, SearchError>>;
}

/// A search request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Search {
    /// The query; not blank, at most 8 KiB.
    pub query: String,
    /// Most passages to return, 1–50.
    pub max_results: usize,
    /// Which pages may be returned.
    pub domains: DomainFilter,
}

/// What a search found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SearchResults {
    /// The passages, best first.
    pub passages: Vec<Passage>,
    /// The provider that answered.
    pub provider: &'static str,
}

/// Loads the providers that `options` select.
///
/// # Errors
/// [`LoadError`] when the options do not select a valid provider, an address or key of one is missing or wrong, or its
/// folder cannot be read.
pub async fn load(options: &Options) -> Result<Arc<dyn Provider>, LoadError> {
    let mut kinds = options.providers();
    kinds.dedup();
    let reader = Arc::new(PageReader::new(options.web.page_settings())?);
    let mut providers: Vec<Arc<dyn Provider>> = Vec::new();
    for kind in kinds {
        let engine: Arc<dyn Engine> = match kind {
            ProviderKind::None => continue,
            ProviderKind::Folder => {
                let folder = options.folder.clone().ok_or(LoadError::NoFolder)?;
                let settings = FolderSettings {
                    check_every: options.folder_check,
                    passage_chars: options.passage_chars as usize,
                };
                providers.push(Arc::new(Folder::open(folder, settings).await?));
                continue;
            }
            ProviderKind::Tavily => {
                let key = key(options.web.tavily_api_key_file.as_deref(), TAVILY_KEY, kind)?;
                Arc::new(Tavily::new(&options.web.tavily_url, key)?)
            }
            ProviderKind::Brave => {
                let key = key(options.web.brave_api_key_file.as_deref(), BRAVE_KEY, kind)?;
                Arc::new(Brave::new(&options.web.brave_url, key)?)
            }
            ProviderKind::Searxng => {
                let url = options.web.searxng_url.as_deref().ok_or(LoadError::NoAddress)?;
                Arc::new(SearxNg::new(url)?)
            }
        };
        providers.push(Arc::new(Web::new(
            engine,
            Arc::clone(&reader),
            &options.web_settings(kind),
        )));
    }
    let names: Vec<&str> = providers.iter().map(|provider| provider.name()).collect();
    if names.is_empty() {
        tracing::info!("no web search provider is configured; searches fail with FAILED_PRECONDITION");
    } else {
        tracing::info!(providers = names.join(", "), "web search is ready");
    }
    Ok(match providers.len() {
        0 => Arc::new(NoProvider),
        1 => providers.swap_remove(0),
        _ => Arc::new(Chain::new(providers)),
    })
}

/// The API key of a provider: from its file, or else from the environment.
fn key(file: Option<&Path>, variable: &'static str, kind: ProviderKind) -> Result<Secret, LoadError> {
    let Some(file) = file else {
        return Secret::from_environment(variable).ok_or(LoadError::NoKey {
            provider: kind.name(),
            variable,
        });
    };
    Secret::read(file).map_err(|source| LoadError::KeyFile {
        file: file.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests;
