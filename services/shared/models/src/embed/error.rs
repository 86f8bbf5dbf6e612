//! What can go wrong with an embedder.

use std::{path::PathBuf, time::Duration};

/// Texts could not be embedded.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// The server could not be reached or broke off. Worth another try.
    #[error("embedding server {url} cannot be reached")]
    Unreachable {
        /// The address that was asked.
        url: String,
        /// What happened on the way.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The server answered with an HTTP error.
    #[error("embedding server {url} answered {status}: {message}")]
    Refused {
        /// The address that was asked.
        url: String,
        /// The HTTP status.
        status: u16,
        /// The server's own words, shortened.
        message: String,
        /// How long the server asks to wait (`Retry-After`).
        retry_after: Option<Duration>,
    },
    /// The server's answer is not what was asked for.
    #[error("embedding server {url} gave an answer that cannot be used: {detail}")]
    Response {
        /// The address that was asked.
        url: String,
        /// What is wrong with it.
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
    /// Whether the same call may succeed a moment later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable { .. } => true,
            Self::Refused { status, .. } => matches!(status, 408 | 425 | 429 | 500 | 502 | 503 | 504),
            Self::Response { .. } | Self::Model { .. } => false,
        }
    }

    /// How long to wait before the same call is tried again, where the server said so.
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
    /// Its files could not be had.
    #[cfg(feature = "local")]
    #[error(transparent)]
    Fetch(#[from] std::sync::Arc<crate::fetch::FetchError>),
    /// The server that embeds does not.
    #[error(transparent)]
    Server(std::sync::Arc<EmbedError>),
    /// A file of it is not what it should be.
    #[error("{}: {detail}; remove the file to have it fetched again", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        detail: String,
    },
    /// An option has a value that cannot work.
    #[error("--{option} {value:?}: {detail}")]
    Option {
        /// The flag, without its dashes.
        option: &'static str,
        /// Its value.
        value: String,
        /// What is wrong and what would be right.
        detail: String,
    },
    /// This program was built without what the model needs.
    #[error("embedder {embedder} needs a build with the feature {feature:?}")]
    NotBuilt {
        /// The value of `--embedder`.
        embedder: String,
        /// The missing feature of the crate.
        feature: &'static str,
    },
    /// The machine refused something that a model needs, such as a thread.
    #[error("embedder {embedder} cannot start: {detail}")]
    Start {
        /// The value of `--embedder`.
        embedder: String,
        /// What failed.
        detail: String,
    },
}
