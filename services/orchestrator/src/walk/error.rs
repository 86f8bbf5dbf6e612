//! Why there is no result at all.

use emend_core::{Code, FieldViolation, ServiceError};

use super::services::Failure;

/// Why a walk has no result. Limits, doubts and services that are down are no errors but part of a result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WalkError {
    /// The retriever says that the question cannot be looked up as it is asked: the collection is unknown, the filter is
    /// wrong, the collection was made by another embedder.
    #[error("{}", .0.message)]
    Refused(Failure),
    /// Neither the documents nor the web could be searched, not once, and nothing was answered.
    #[error("no evidence could be searched: {0}")]
    NoEvidenceSource(Failure),
    /// Nobody reads the events any more (R12).
    #[error("the caller is gone")]
    CallerGone,
    /// The walk panicked. The cause is in the log, under the walk's span.
    #[error("the walk failed inside; the log has the cause")]
    Panicked,
}

impl ServiceError for WalkError {
    fn code(&self) -> Code {
        match self {
            WalkError::Refused(failure) => failure.code,
            WalkError::NoEvidenceSource(_) => Code::Unavailable,
            WalkError::CallerGone => Code::Cancelled,
            WalkError::Panicked => Code::Internal,
        }
    }

    fn violations(&self) -> Vec<FieldViolation> {
        let WalkError::Refused(failure) = self else {
            return Vec::new();
        };
        // The caller knows these fields as parts of its question.
        let inside = |violation: &FieldViolation| FieldViolation {
            field: format!("question.{}", violation.field),
            description: violation.description.clone(),
        };
        failure.violations.iter().map(inside).collect()
    }
}
