//! Errors of searches and of loading a provider.

use std::io;
use std::path::PathBuf;

use emend_core::{Code, ServiceError};

/// Why a search failed. Finding nothing is not an error.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// The service runs without a provider.
    #[error(
        "no web search provider is configured: start emend-web-search with --folder FOLDER (EMEND_WEB_FOLDER), a folder \
         of saved pages, or use a graph without web search"
    )]
    NoProvider,
    /// The task of the provider failed.
    #[error("provider {provider} failed while searching: try again")]
    Failed {
        /// The provider.
        provider: &'static str,
    },
}

impl ServiceError for SearchError {
    fn code(&self) -> Code {
        match self {
            Self::NoProvider => Code::FailedPrecondition,
            Self::Failed { .. } => Code::Unavailable,
        }
    }
}

/// Why the provider could not be loaded from the options.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// `--provider folder` without a folder.
    #[error("provider folder needs a folder of saved pages: give --folder FOLDER or set EMEND_WEB_FOLDER")]
    NoFolder,
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
