//! Errors and their one way onto the wire: nine codes, one total match to a gRPC code.

use std::error::Error;
use std::net::SocketAddr;
use std::time::Duration;

use tonic_types::{ErrorDetails, StatusExt};

/// The `domain` of every `google.rpc.ErrorInfo` that Emend sends.
pub const ERROR_DOMAIN: &str = "emend";

/// What kind of failure an error is, for whoever has to act on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// The request itself is wrong; the same request will fail again.
    InvalidArgument,
    /// A named thing (collection, graph, document) does not exist.
    NotFound,
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
    /// The gRPC code that carries this one.
    pub const fn grpc(self) -> tonic::Code {
        match self {
            Self::InvalidArgument => tonic::Code::InvalidArgument,
            Self::NotFound => tonic::Code::NotFound,
            Self::FailedPrecondition => tonic::Code::FailedPrecondition,
            Self::ResourceExhausted => tonic::Code::ResourceExhausted,
            Self::DeadlineExceeded => tonic::Code::DeadlineExceeded,
            Self::Cancelled => tonic::Code::Cancelled,
            Self::Unavailable => tonic::Code::Unavailable,
            Self::Unimplemented => tonic::Code::Unimplemented,
            Self::Internal => tonic::Code::Internal,
        }
    }

    /// The name in `ErrorInfo.reason` and in logs, for example `INVALID_ARGUMENT`.
    pub const fn name(self) -> &'static str {
        grpc_code_name(self.grpc())
    }

    /// The kind of failure that a status from another service is. Codes that Emend's own services never send become
    /// [`Code::Internal`].
    pub const fn of_grpc(code: tonic::Code) -> Self {
        match code {
            tonic::Code::InvalidArgument | tonic::Code::OutOfRange => Self::InvalidArgument,
            tonic::Code::NotFound => Self::NotFound,
            tonic::Code::FailedPrecondition
            | tonic::Code::AlreadyExists
            | tonic::Code::PermissionDenied
            | tonic::Code::Unauthenticated => Self::FailedPrecondition,
            tonic::Code::ResourceExhausted => Self::ResourceExhausted,
            tonic::Code::DeadlineExceeded => Self::DeadlineExceeded,
            tonic::Code::Cancelled => Self::Cancelled,
            tonic::Code::Unavailable | tonic::Code::Aborted => Self::Unavailable,
            tonic::Code::Unimplemented => Self::Unimplemented,
            tonic::Code::Ok | tonic::Code::Unknown | tonic::Code::Internal | tonic::Code::DataLoss => Self::Internal,
        }
    }
}

/// The upper-case name of a gRPC code, the form that `rpc.response.status_code` has.
pub const fn grpc_code_name(code: tonic::Code) -> &'static str {
    match code {
        tonic::Code::Ok => "OK",
        tonic::Code::Cancelled => "CANCELLED",
        tonic::Code::Unknown => "UNKNOWN",
        tonic::Code::InvalidArgument => "INVALID_ARGUMENT",
        tonic::Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        tonic::Code::NotFound => "NOT_FOUND",
        tonic::Code::AlreadyExists => "ALREADY_EXISTS",
        tonic::Code::PermissionDenied => "PERMISSION_DENIED",
        tonic::Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        tonic::Code::FailedPrecondition => "FAILED_PRECONDITION",
        tonic::Code::Aborted => "ABORTED",
        tonic::Code::OutOfRange => "OUT_OF_RANGE",
        tonic::Code::Unimplemented => "UNIMPLEMENTED",
        tonic::Code::Internal => "INTERNAL",
        tonic::Code::Unavailable => "UNAVAILABLE",
        tonic::Code::DataLoss => "DATA_LOSS",
        tonic::Code::Unauthenticated => "UNAUTHENTICATED",
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

/// An error that knows how it should reach the caller.
pub trait ServiceError: Error + Send + Sync + 'static {
    /// The kind of failure.
    fn code(&self) -> Code;

    /// The wrong fields, sent as `google.rpc.BadRequest`. Empty for anything but [`Code::InvalidArgument`].
    fn violations(&self) -> Vec<FieldViolation> {
        Vec::new()
    }

    /// How long the caller should wait before trying again, sent as `google.rpc.RetryInfo`.
    fn retry_after(&self) -> Option<Duration> {
        None
    }
}

/// Turns an error into a status: its message with those of all its sources, and `google.rpc` details
/// (`ErrorInfo`, and `BadRequest` and `RetryInfo` where the error has them).
pub fn status(error: &dyn ServiceError) -> tonic::Status {
    let code = error.code();
    let mut details = ErrorDetails::new();
    details.set_error_info(code.name(), ERROR_DOMAIN, std::collections::HashMap::new());
    for violation in error.violations() {
        details.add_bad_request_violation(violation.field, violation.description);
    }
    if let Some(delay) = error.retry_after() {
        details.set_retry_info(Some(delay));
    }
    tonic::Status::with_error_details(code.grpc(), chain(error), details)
}

/// The message of an error followed by those of its sources, joined by `: `. A source whose text the outer message
/// already ends with is not repeated.
pub fn chain(error: &(dyn Error + 'static)) -> String {
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

/// Why a server did not start, or did not end as it should.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The service's own start-up failed: a model that does not load, a store that does not open.
    #[error("cannot start")]
    Start(#[source] Box<dyn Error + Send + Sync>),
    /// The listening address is taken or not ours.
    #[error("cannot listen on {address}: set another address with --listen")]
    Bind {
        /// The address of `--listen`.
        address: SocketAddr,
        /// What the operating system said.
        #[source]
        source: std::io::Error,
    },
    /// The file descriptor set handed to the reflection service is not one.
    #[error("the file descriptor set for reflection is not valid")]
    Reflection(#[source] tonic_reflection::server::Error),
    /// The HTTP/2 server failed.
    #[error("the gRPC server failed")]
    Transport(#[source] tonic::transport::Error),
    /// Calls were still running when the time to drain was over; they were cut off.
    #[error("calls were still running {} after the signal to stop and were cut off: raise --drain-timeout if they need longer", humantime::format_duration(*timeout))]
    Drain {
        /// The value of `--drain-timeout`.
        timeout: Duration,
    },
}

impl ServeError {
    /// Wraps a service's own start-up error.
    pub fn start(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Start(error.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot read {path}")]
    struct Outer {
        path: &'static str,
        #[source]
        source: std::io::Error,
    }

    impl ServiceError for Outer {
        fn code(&self) -> Code {
            Code::InvalidArgument
        }
        fn violations(&self) -> Vec<FieldViolation> {
            vec![FieldViolation {
                field: "path".into(),
                description: "must exist".into(),
            }]
        }
        fn retry_after(&self) -> Option<Duration> {
            Some(Duration::from_millis(250))
        }
    }

    #[test]
    fn a_status_has_the_code_the_chain_and_the_details() {
        let error = Outer {
            path: "a.md",
            source: std::io::Error::other("disk on fire"),
        };
        let status = status(&error);
        assert_eq!(status.code(), tonic::Code::InvalidArgument);
        assert_eq!(status.message(), "cannot read a.md: disk on fire");
        let details = status.get_error_details();
        let info = details.error_info().unwrap();
        assert_eq!(
            (info.reason.as_str(), info.domain.as_str()),
            ("INVALID_ARGUMENT", "emend")
        );
        assert_eq!(details.bad_request().unwrap().field_violations[0].field, "path");
        assert_eq!(
            details.retry_info().unwrap().retry_delay,
            Some(Duration::from_millis(250))
        );
    }

    #[test]
    fn every_code_survives_the_way_to_grpc_and_back() {
        for code in [
            Code::InvalidArgument,
            Code::NotFound,
            Code::FailedPrecondition,
            Code::ResourceExhausted,
            Code::DeadlineExceeded,
            Code::Cancelled,
            Code::Unavailable,
            Code::Unimplemented,
            Code::Internal,
        ] {
            assert_eq!(Code::of_grpc(code.grpc()), code);
        }
    }
}
