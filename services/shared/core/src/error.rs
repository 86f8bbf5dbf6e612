//! Kinds of errors: eleven codes, and what an error tells whoever has to act on it.

use std::error::Error;
use std::time::Duration;

use crate::Reason;

/// What kind of failure an error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// The request itself is wrong; the same request will fail again.
    InvalidArgument,
    /// A named thing (collection, graph, document) does not exist.
    NotFound,
    /// Nobody knows who calls: there is no API key, or none that is known.
    Unauthenticated,
    /// The API key of the call, or the service, does not allow it.
    PermissionDenied,
    /// The request is right but the system is not in the state it needs.
    FailedPrecondition,
    /// A limit is reached; trying again later can succeed.
    ResourceExhausted,
    /// The caller's deadline passed before the work was done.
    DeadlineExceeded,
    /// The caller went away or asked to stop.
    Cancelled,
    /// Something needed is down at the moment; trying again can succeed.
    Unavailable,
    /// The call, or an option of it, is not built into this server.
    Unimplemented,
    /// A fault of this server.
    Internal,
}

impl Code {
    /// The name in logs and in metrics, for example `INVALID_ARGUMENT`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::InvalidArgument => "INVALID_ARGUMENT",
            Self::NotFound => "NOT_FOUND",
            Self::Unauthenticated => "UNAUTHENTICATED",
            Self::PermissionDenied => "PERMISSION_DENIED",
            Self::FailedPrecondition => "FAILED_PRECONDITION",
            Self::ResourceExhausted => "RESOURCE_EXHAUSTED",
            Self::DeadlineExceeded => "DEADLINE_EXCEEDED",
            Self::Cancelled => "CANCELLED",
            Self::Unavailable => "UNAVAILABLE",
            Self::Unimplemented => "UNIMPLEMENTED",
            Self::Internal => "INTERNAL",
        }
    }
}

/// One wrong field of a request: its path in the message and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldViolation {
    /// Path in the request message, for example `passages[2].text`.
    pub field: String,
    /// What was wrong, with the value, and what is allowed.
    pub description: String,
}

/// What an error is about, as `google.rpc.ResourceInfo` names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// `collection`, `document` or `graph`.
    pub kind: &'static str,
    /// Its name or id, as the caller gave it.
    pub name: String,
}

impl Resource {
    /// A collection.
    pub fn collection(name: impl Into<String>) -> Self {
        let (kind, name) = ("collection", name.into());
        Self { kind, name }
    }

    /// A document.
    pub fn document(id: impl Into<String>) -> Self {
        let (kind, name) = ("document", id.into());
        Self { kind, name }
    }

    /// A graph.
    pub fn graph(name: impl Into<String>) -> Self {
        let (kind, name) = ("graph", name.into());
        Self { kind, name }
    }
}

/// An error that knows how it should reach the caller.
pub trait ServiceError: Error + Send + Sync + 'static {
    /// What went wrong, sent as `google.rpc.ErrorInfo.reason`.
    fn reason(&self) -> Reason;

    /// The kind of failure.
    fn code(&self) -> Code {
        self.reason().code()
    }

    /// The error of another layer that this one only passes on, and that says what this one does not say itself.
    fn passed_on(&self) -> Option<&dyn ServiceError> {
        None
    }

    /// What the reason is about, sent as `google.rpc.ResourceInfo`.
    fn resource(&self) -> Option<Resource> {
        self.passed_on().and_then(ServiceError::resource)
    }

    /// What belongs to the reason, as `google.rpc.ErrorInfo.metadata`: names in lower snake case with their values.
    fn metadata(&self) -> Vec<(&'static str, String)> {
        self.passed_on().map(ServiceError::metadata).unwrap_or_default()
    }

    /// The wrong fields, sent as `google.rpc.BadRequest`. Empty for anything but [`Code::InvalidArgument`].
    fn violations(&self) -> Vec<FieldViolation> {
        self.passed_on().map(ServiceError::violations).unwrap_or_default()
    }

    /// How long the caller should wait before trying again, sent as `google.rpc.RetryInfo`.
    fn retry_after(&self) -> Option<Duration> {
        self.passed_on().and_then(ServiceError::retry_after)
    }
}

/// Name in [`ServiceError::metadata`] of the number of calls that were made of models, decimal.
pub const MODEL_CALLS: &str = "model_calls";

/// The message of an error followed by those of its sources, joined by `: `. A source whose text the message already
/// ends with is not repeated.
pub fn error_chain(error: &(dyn Error + 'static)) -> String {
    let mut message = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let text = error.to_string();
        if !message.ends_with(&text) {
            message.push_str(": ");
            message.push_str(&text);
        }
        source = error.source();
    }
    message
}
