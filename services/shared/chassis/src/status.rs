//! Errors and their one way onto the wire: one total match of the eleven codes to a gRPC code, and back.

pub(crate) mod limit;

use std::collections::HashMap;

use emend_core::{Code, Reason, Resource, ServiceError, error_chain};
use tonic_types::{ErrorDetails, StatusExt};

/// The `domain` of every `google.rpc.ErrorInfo` that Emend sends.
pub const ERROR_DOMAIN: &str = "emend";

/// The gRPC code that carries a kind of failure.
pub const fn grpc_code(code: Code) -> tonic::Code {
    match code {
        Code::InvalidArgument => tonic::Code::InvalidArgument,
        Code::NotFound => tonic::Code::NotFound,
        Code::Unauthenticated => tonic::Code::Unauthenticated,
        Code::PermissionDenied => tonic::Code::PermissionDenied,
        Code::FailedPrecondition => tonic::Code::FailedPrecondition,
        Code::ResourceExhausted => tonic::Code::ResourceExhausted,
        Code::DeadlineExceeded => tonic::Code::DeadlineExceeded,
        Code::Cancelled => tonic::Code::Cancelled,
        Code::Unavailable => tonic::Code::Unavailable,
        Code::Unimplemented => tonic::Code::Unimplemented,
        Code::Internal => tonic::Code::Internal,
    }
}

/// The kind of failure that a status from another service is. Codes that Emend's own services never send become the
/// nearest that they do, or [`Code::Internal`]: so does OUT_OF_RANGE, which tonic reports for a response that is larger
/// than a client takes.
pub const fn code_of_grpc(code: tonic::Code) -> Code {
    match code {
        tonic::Code::InvalidArgument => Code::InvalidArgument,
        tonic::Code::NotFound => Code::NotFound,
        tonic::Code::Unauthenticated => Code::Unauthenticated,
        tonic::Code::PermissionDenied => Code::PermissionDenied,
        tonic::Code::FailedPrecondition | tonic::Code::AlreadyExists => Code::FailedPrecondition,
        tonic::Code::ResourceExhausted => Code::ResourceExhausted,
        tonic::Code::DeadlineExceeded => Code::DeadlineExceeded,
        tonic::Code::Cancelled => Code::Cancelled,
        tonic::Code::Unavailable | tonic::Code::Aborted => Code::Unavailable,
        tonic::Code::Unimplemented => Code::Unimplemented,
        tonic::Code::Ok
        | tonic::Code::Unknown
        | tonic::Code::OutOfRange
        | tonic::Code::Internal
        | tonic::Code::DataLoss => Code::Internal,
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

/// The reason of a status: the one that it names, or, where an implementation that is not Emend's own names another one
/// or none, what its code says.
pub fn reason_of(status: &tonic::Status) -> Reason {
    let info = status.get_details_error_info();
    info.filter(|info| info.domain == ERROR_DOMAIN)
        .and_then(|info| Reason::of_name(&info.reason))
        .unwrap_or_else(|| Reason::of_code(code_of_grpc(status.code())))
}

/// What the reason of a status is about, where it names something.
pub fn resource_of(status: &tonic::Status) -> Option<Resource> {
    let info = status.get_details_resource_info()?;
    match info.resource_type.as_str() {
        "collection" => Some(Resource::collection(info.resource_name)),
        "document" => Some(Resource::document(info.resource_name)),
        "graph" => Some(Resource::graph(info.resource_name)),
        _ => None,
    }
}

/// A status of no more than a reason and a message.
pub fn refusal(reason: Reason, message: impl Into<String>) -> tonic::Status {
    let details = ErrorDetails::with_error_info(reason.name(), ERROR_DOMAIN, HashMap::new());
    tonic::Status::with_error_details(grpc_code(reason.code()), message, details)
}

/// Turns an error into a status: its message with those of all its sources, and `google.rpc` details (`ErrorInfo`, and
/// `ResourceInfo`, `BadRequest` and `RetryInfo` where the error has them).
pub fn status(error: &dyn ServiceError) -> tonic::Status {
    let mut details = ErrorDetails::new();
    let metadata = error.metadata().into_iter();
    let metadata: HashMap<String, String> = metadata.map(|(name, value)| (name.to_owned(), value)).collect();
    details.set_error_info(error.reason().name(), ERROR_DOMAIN, metadata);
    if let Some(resource) = error.resource() {
        details.set_resource_info(resource.kind, resource.name, "", "");
    }
    for violation in error.violations() {
        details.add_bad_request_violation(violation.field, violation.description);
    }
    if let Some(delay) = error.retry_after() {
        details.set_retry_info(Some(delay));
    }
    tonic::Status::with_error_details(grpc_code(error.code()), error_chain(error), details)
}

#[cfg(test)]
mod tests;
