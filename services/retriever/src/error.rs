//! How the retriever's tasks can fail.

use std::time::Duration;

use emend_chassis::InvalidRequest;
use emend_core::{Code, FieldViolation, ServiceError};
use emend_documents::DocumentError;
use emend_models::embed::EmbedError;

use crate::backend::StoreError;

/// A task failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RetrieverError {
    /// A document's fields are wrong.
    #[error(transparent)]
    Invalid(#[from] InvalidRequest),
    /// A document's content has no text that could be stored.
    #[error("document {document:?} cannot be read: {reason}")]
    Unreadable {
        /// The document's identifier.
        document: String,
        /// Why, and what to do.
        reason: String,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The collection has no such document.
    #[error(
        "unknown document `{}` in collection {collection:?}: {known}",
        emend_core::cut(document)
    )]
    UnknownDocument {
        /// The collection.
        collection: String,
        /// The requested identifier.
        document: String,
        /// What exists.
        known: String,
    },
    /// The document was replaced while its pages were read.
    #[error(
        "document `{}` was replaced since the page before: begin again without page_token",
        emend_core::cut(document)
    )]
    Replaced {
        /// The document's identifier.
        document: String,
    },
    /// The embedder failed.
    #[error("embedder {embedder} failed")]
    Embed {
        /// Its name.
        embedder: String,
        /// What failed.
        #[source]
        source: EmbedError,
    },
    /// The embedder did not do what it promises.
    #[error("embedder {embedder} returned {found}, {expected} were expected")]
    Embeddings {
        /// Its name.
        embedder: String,
        /// What came.
        found: String,
        /// What should have come.
        expected: String,
    },
    /// A collection without documents cannot be copied: the first document makes the copy.
    #[error("collection {collection:?} has no documents: there is nothing to copy")]
    NothingToCopy {
        /// The collection.
        collection: String,
    },
    /// A document was handed over twice.
    #[error("the document was taken by a task that broke off: send it again")]
    Taken,
    /// Nobody waits for the work any more.
    #[error("the work was stopped")]
    Stopped,
    /// Work on a thread of its own broke off.
    #[error("cutting document {document:?} broke off")]
    Broken {
        /// The document's identifier.
        document: String,
        /// How it ended.
        #[source]
        source: tokio::task::JoinError,
    },
}

impl RetrieverError {
    pub(crate) fn unreadable(document: &str, reason: &DocumentError) -> Self {
        Self::Unreadable {
            document: document.to_owned(),
            reason: reason.to_string(),
        }
    }
}

impl ServiceError for RetrieverError {
    fn code(&self) -> Code {
        match self {
            Self::Invalid(_) | Self::Unreadable { .. } => Code::InvalidArgument,
            Self::Store(error) => error.code(),
            Self::UnknownDocument { .. } => Code::NotFound,
            Self::Replaced { .. } | Self::NothingToCopy { .. } => Code::FailedPrecondition,
            Self::Taken => Code::Unavailable,
            Self::Stopped => Code::Cancelled,
            Self::Embed { source, .. } if source.is_transient() => Code::Unavailable,
            Self::Embed {
                source: EmbedError::Refused { .. },
                ..
            } => Code::FailedPrecondition,
            Self::Embed { .. } | Self::Embeddings { .. } | Self::Broken { .. } => Code::Internal,
        }
    }

    fn violations(&self) -> Vec<FieldViolation> {
        if let Self::Invalid(error) = self {
            error.violations()
        } else {
            Vec::new()
        }
    }

    fn retry_after(&self) -> Option<Duration> {
        if let Self::Embed { source, .. } = self {
            source.retry_after()
        } else {
            None
        }
    }
}
