//! Errors of searches and of loading a provider.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use emend_core::{Reason, ServiceError};

/// Why a search failed. Finding nothing is not an error.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// The service runs without a provider.
    #[error(
        "no web search provider is configured: start emend-web-search with --searxng-url URL (EMEND_SEARXNG_URL), with an \
         API key of Tavily or Brave (EMEND_TAVILY_API_KEY, EMEND_BRAVE_API_KEY) or with --folder FOLDER \
         (EMEND_WEB_FOLDER), a folder of saved pages; or use a graph without web search"
    )]
    NoProvider,
    /// The task of the provider failed.
    #[error("provider {provider} failed while searching: try again")]
    Failed {
        /// The provider.
        provider: &'static str,
    },
    /// The search engine refuses the key, or this client.
    #[error("the search engine {provider} refuses access (HTTP {status}): {advice}")]
    Unauthorized {
        /// The provider.
        provider: &'static str,
        /// The HTTP status.
        status: u16,
        /// What to do.
        advice: &'static str,
    },
    /// The search engine's limit, or ours for it, is reached.
    #[error("the search engine {provider} takes no more searches at the moment")]
    RateLimited {
        /// The provider.
        provider: &'static str,
        /// When it accepts searches again, if known.
        retry_after: Option<Duration>,
    },
    /// The search engine does not answer, or answers with an error.
    #[error("the search engine {provider} cannot be reached: {reason}")]
    Unreachable {
        /// The provider.
        provider: &'static str,
        /// Why, without the query.
        reason: String,
    },
    /// The search engine sends something else than results.
    #[error("the search engine {provider} sent no results but something else: {reason}")]
    BadReply {
        /// The provider.
        provider: &'static str,
        /// What is wrong with it.
        reason: String,
    },
}

impl ServiceError for SearchError {
    fn reason(&self) -> Reason {
        match self {
            Self::NoProvider => Reason::WebSearchDisabled,
            Self::Unauthorized { .. } => Reason::WebSearchRefused,
            Self::RateLimited { .. } => Reason::WebSearchRateLimited,
            Self::Failed { .. } | Self::Unreachable { .. } | Self::BadReply { .. } => Reason::WebSearchUnavailable,
        }
    }

    fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}

/// Why the provider could not be loaded from the options.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// `--web-provider folder` without a folder.
    #[error("provider folder needs a folder of saved pages: give --folder FOLDER or set EMEND_WEB_FOLDER")]
    NoFolder,
    /// `--web-provider searxng` without an address.
    #[error("provider searxng needs the address of an instance: give --searxng-url URL or set EMEND_SEARXNG_URL")]
    NoAddress,
    /// A search engine's address is wrong.
    #[error("the address `{url}` of provider {provider} is wrong: {reason}; write http://HOST:PORT or https://HOST")]
    Address {
        /// The provider.
        provider: &'static str,
        /// The address as given.
        url: String,
        /// Why.
        reason: String,
    },
    /// A search engine that needs a key has none.
    #[error("provider {provider} needs an API key: set {variable}, or give a file with --{provider}-api-key-file")]
    NoKey {
        /// The provider.
        provider: &'static str,
        /// The environment variable.
        variable: &'static str,
    },
    /// A key cannot be sent.
    #[error("the API key of provider {provider} has characters that a header cannot carry: copy it again")]
    Key {
        /// The provider.
        provider: &'static str,
    },
    /// A file with a key cannot be read.
    #[error("cannot read the API key in {}", file.display())]
    KeyFile {
        /// The file as given.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The HTTP client cannot be set up.
    #[error("cannot set up the HTTP client: {0}")]
    Client(String),
    /// The folder cannot be read.
    #[error("cannot read the folder of saved pages {}: create it or correct --folder (EMEND_WEB_FOLDER)", folder.display())]
    Folder {
        /// The folder as given.
        folder: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The task that reads the folder failed.
    #[error("reading the folder of saved pages {} broke off", folder.display())]
    Interrupted {
        /// The folder as given.
        folder: PathBuf,
    },
}
