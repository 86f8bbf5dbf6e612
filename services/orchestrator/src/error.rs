//! Errors outside of a walk: unknown graphs, checks without a result, and failed starts.

use std::time::Duration;

use emend_core::{DeadlineExceeded, Reason, Resource, ServiceError};

use crate::catalog::UnknownGraph;

impl ServiceError for UnknownGraph {
    fn reason(&self) -> Reason {
        Reason::GraphNotFound
    }

    fn resource(&self) -> Option<Resource> {
        Some(Resource::graph(&self.name))
    }
}

/// Why a graph was not checked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CheckError {
    /// Too many graphs are being checked.
    #[error("too many graphs are being checked: try again in {} ms, or ask for a graph of the service by name", retry_after.as_millis())]
    Full {
        /// How long to wait before trying again.
        retry_after: Duration,
    },
    /// The deadline passed first.
    #[error(transparent)]
    Deadline(#[from] DeadlineExceeded),
    /// The check panicked.
    #[error("checking the graph failed inside; the log has the cause")]
    Panicked,
}

impl ServiceError for CheckError {
    fn reason(&self) -> Reason {
        match self {
            CheckError::Full { .. } => Reason::Overloaded,
            CheckError::Deadline(late) => late.reason(),
            CheckError::Panicked => Reason::Fault,
        }
    }

    fn retry_after(&self) -> Option<Duration> {
        match self {
            CheckError::Full { retry_after } => Some(*retry_after),
            CheckError::Deadline(_) | CheckError::Panicked => None,
        }
    }
}

impl From<CheckError> for tonic::Status {
    fn from(error: CheckError) -> Self {
        emend_chassis::status(&error)
    }
}

/// Why the service cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A graph file is invalid.
    #[error("the graphs cannot be loaded")]
    Catalog(#[from] crate::catalog::CatalogError),
    /// The default graph does not exist.
    #[error("--default-graph")]
    DefaultGraph(#[source] UnknownGraph),
    /// The folder for feedback cannot be used.
    #[error(transparent)]
    Feedback(#[from] crate::feedback::FeedbackError),
    /// A service URL is malformed.
    #[error(transparent)]
    Upstream(#[from] emend_chassis::UpstreamError),
}
