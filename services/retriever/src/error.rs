//! How the retriever's tasks can fail.

use std::time::Duration;

use emend_chassis::InvalidRequest;
use emend_core::{BrokenOff, FieldViolation, Reason, Resource, ServiceError};
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
    /// A document that is stored by its words alone cannot be exported.
    #[error(
        "document `{}` is stored by its words alone, without embeddings: ingest it again, or copy the collection, and export then",
        emend_core::cut(document)
    )]
    NotEmbedded {
        /// The document's identifier.
        document: String,
    },
    /// A document was handed over twice.
    #[error("the document was taken by a task that broke off: send it again")]
    Taken,
    /// Nobody waits for the work any more.
    #[error("the work was stopped")]
    Stopped,
    /// A computation of a search broke off.
    #[error(transparent)]
    BrokenOff(#[from] BrokenOff),
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
    fn reason(&self) -> Reason {
        match self {
            Self::Invalid(error) => error.reason(),
            Self::Unreadable { .. } => Reason::DocumentUnreadable,
            Self::Store(error) => error.reason(),
            Self::UnknownDocument { .. } => Reason::DocumentNotFound,
            Self::Replaced { .. } => Reason::PageTokenExpired,
            Self::NothingToCopy { .. } | Self::NotEmbedded { .. } => Reason::StateUnsuitable,
            Self::Taken => Reason::Interrupted,
            Self::Stopped => Reason::CallerGone,
            Self::Embed { source, .. } if source.is_transient() => Reason::EmbedderUnavailable,
            Self::Embed {
                source: EmbedError::Refused { .. },
                ..
            } => Reason::EmbedderRefused,
            Self::Embed { .. } | Self::Embeddings { .. } => Reason::EmbedderFailed,
            Self::BrokenOff(_) | Self::Broken { .. } => Reason::Fault,
        }
    }

    fn passed_on(&self) -> Option<&dyn ServiceError> {
        match self {
            Self::Invalid(error) => Some(error),
            Self::Store(error) => Some(error),
            _ => None,
        }
    }

    fn resource(&self) -> Option<Resource> {
        match self {
            Self::Unreadable { document, .. }
            | Self::UnknownDocument { document, .. }
            | Self::Replaced { document }
            | Self::NotEmbedded { document }
            | Self::Broken { document, .. } => Some(Resource::document(document)),
            other => other.passed_on().and_then(ServiceError::resource),
        }
    }

    fn violations(&self) -> Vec<FieldViolation> {
        self.passed_on().map(ServiceError::violations).unwrap_or_default()
    }

    fn retry_after(&self) -> Option<Duration> {
        if let Self::Embed { source, .. } = self {
            source.retry_after()
        } else {
            None
        }
    }
}
