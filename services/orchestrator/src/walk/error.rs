//! Errors of walks without a result.

use emend_core::{Code, FieldViolation, Reason, Resource, ServiceError};

use super::services::{Failure, place_in_question};

/// Why a walk has no result. Limits, missing grades and services that are down are not errors; the
/// result reports them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WalkError {
    /// A service rejected what the question asks for: the collection is unknown, the filter or an option is invalid, or
    /// another embedder made the collection.
    #[error("{}", .0.message)]
    Refused(Failure),
    /// The reader of the events has disconnected (R12).
    #[error("the caller is gone")]
    CallerGone,
    /// The walk panicked, or its clients could not be created. The log has the cause.
    #[error("the walk failed inside; the log has the cause")]
    Internal,
}

impl ServiceError for WalkError {
    fn reason(&self) -> Reason {
        match self {
            WalkError::Refused(failure) => failure.reason,
            WalkError::CallerGone => Reason::CallerGone,
            WalkError::Internal => Reason::Fault,
        }
    }

    fn code(&self) -> Code {
        match self {
            // A service that is not Emend's own may give another code to a reason.
            WalkError::Refused(failure) => failure.code,
            other => other.reason().code(),
        }
    }

    fn resource(&self) -> Option<Resource> {
        match self {
            WalkError::Refused(failure) => failure.resource.clone(),
            WalkError::CallerGone | WalkError::Internal => None,
        }
    }

    fn violations(&self) -> Vec<FieldViolation> {
        let WalkError::Refused(failure) = self else {
            return Vec::new();
        };
        // To the caller these fields are parts of its question.
        let inside = |violation: &FieldViolation| FieldViolation {
            field: place_in_question(&violation.field),
            description: violation.description.clone(),
        };
        failure.violations.iter().map(inside).collect()
    }
}
