//! How a call of an actor can fail.

use std::time::Duration;

use emend_core::{Reason, ServiceError};

use crate::status::status;

/// How a call through an [`ActorHandle`](crate::ActorHandle) can fail; `E` is the work's own error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError<E> {
    /// The actors have their fill. [`Reason::Overloaded`] with `RetryInfo`.
    #[error("too many calls at once: try again in {} ms or add a replica", retry_after.as_millis())]
    Full {
        /// How long to wait before trying again.
        retry_after: Duration,
    },
    /// The actor died, or was stopped, with the call in it. [`Reason::Interrupted`]: the work may or may not have been
    /// done, so only an idempotent call is to be tried again.
    #[error("the actor that had the call is gone: try again")]
    Gone,
    /// The deadline passed first. [`Reason::DeadlineTooShort`].
    #[error("the deadline passed before the answer was ready: give the call a longer timeout")]
    Deadline,
    /// The caller went away. [`Reason::CallerGone`].
    #[error("the call was cancelled by its caller")]
    Cancelled,
    /// The work itself failed.
    #[error(transparent)]
    Work(E),
}

impl<E: ServiceError> ServiceError for CallError<E> {
    fn reason(&self) -> Reason {
        match self {
            Self::Full { .. } => Reason::Overloaded,
            Self::Gone => Reason::Interrupted,
            Self::Deadline => Reason::DeadlineTooShort,
            Self::Cancelled => Reason::CallerGone,
            Self::Work(error) => error.reason(),
        }
    }

    fn passed_on(&self) -> Option<&dyn ServiceError> {
        match self {
            Self::Work(error) => Some(error),
            _ => None,
        }
    }

    fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Full { retry_after } => Some(*retry_after),
            other => other.passed_on().and_then(ServiceError::retry_after),
        }
    }
}

impl<E: ServiceError> From<CallError<E>> for tonic::Status {
    fn from(error: CallError<E>) -> Self {
        status(&error)
    }
}

/// Nobody is at the other end any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("nobody is listening any more")]
pub struct Gone;

impl ServiceError for Gone {
    fn reason(&self) -> Reason {
        Reason::CallerGone
    }
}
