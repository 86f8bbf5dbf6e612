//! Embedder errors.

use std::{path::PathBuf, time::Duration};

/// Texts could not be embedded.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// The server could not be reached or the connection was lost. A retry may help.
    #[error("embedding server {url} cannot be reached")]
    Unreachable {
        /// The URL of the request.
        url: String,
        /// The connection error.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The server answered with an HTTP error status.
    #[error("embedding server {url} answered {status}: {message}")]
    Refused {
        /// The URL of the request.
        url: String,
        /// The HTTP status.
        status: u16,
        /// The server's error message, shortened.
        message: String,
        /// How long to wait before a retry, from `Retry-After`.
        retry_after: Option<Duration>,
    },
    /// The server's response is invalid.
    #[error("embedding server {url} sent an invalid response: {detail}")]
    Response {
        /// The URL of the request.
        url: String,
        /// What is wrong with the response.
        detail: String,
    },
    /// The model failed on these texts.
    #[error("embedder {model} failed: {detail}")]
    Model {
        /// The embedder's id.
        model: String,
        /// What failed.
        detail: String,
    },
}

impl EmbedError {
    /// Whether a retry of the same call may succeed.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable { .. } => true,
            Self::Refused { status, .. } => matches!(status, 408 | 425 | 429 | 500 | 502 | 503 | 504),
            Self::Response { .. } | Self::Model { .. } => false,
        }
    }

    /// How long to wait before a retry, if the server said so.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Refused { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}

/// A model could not be loaded.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ModelError {
    /// The files could not be fetched.
    #[cfg(feature = "local")]
    #[error(transparent)]
    Fetch(#[from] std::sync::Arc<crate::fetch::FetchError>),
    /// The embedding server failed.
    #[error(transparent)]
    Server(std::sync::Arc<EmbedError>),
    /// A file of the model is damaged or invalid.
    #[error("{}: {detail}; remove the file to fetch it again", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What is wrong with the file.
        detail: String,
    },
    /// An option has an invalid value.
    #[error("--{option} {value:?}: {detail}")]
    Option {
        /// The flag, without its dashes.
        option: &'static str,
        /// The value.
        value: String,
        /// What is wrong and how to fix it.
        detail: String,
    },
    /// The program was built without a feature that the embedder needs.
    #[error("embedder {embedder} needs a build with the feature {feature:?}")]
    NotBuilt {
        /// The value of `--embedder`.
        embedder: String,
        /// The missing feature of the crate.
        feature: &'static str,
    },
    /// The embedder could not be started, for example because no thread could be created.
    #[error("embedder {embedder} cannot start: {detail}")]
    Start {
        /// The value of `--embedder`.
        embedder: String,
        /// What failed.
        detail: String,
    },
}
