//! Errors as problem details (RFC 9457).

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

use axum::response::{IntoResponse, Response};
use emend_chassis::{InvalidRequest, grpc_code_name, reason_of, resource_of};
use emend_core::{Reason, Resource};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use serde::Serialize;
use tonic::{Code, Status};
use tonic_types::StatusExt as _;

/// The media type of a problem.
pub(crate) const MEDIA_TYPE: &str = "application/problem+json";

/// What went wrong, as every error of the gateway's own endpoints says it.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub(crate) struct Problem(Box<Details>);

/// The members of a problem.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Details {
    /// `urn:emend:problem:` and the reason.
    #[serde(rename = "type")]
    kind: String,
    /// The HTTP status in words.
    title: &'static str,
    /// The HTTP status.
    status: u16,
    /// What was wrong, with which value, and what to do.
    pub(crate) detail: String,
    /// The name of the gRPC code, for instance `INVALID_ARGUMENT`.
    pub(crate) code: &'static str,
    /// What went wrong: the name of an `ErrorReason`, for instance `COLLECTION_NOT_FOUND`.
    pub(crate) reason: &'static str,
    /// What the reason is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    resource: Option<Named>,
    /// What belongs to the reason.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    metadata: BTreeMap<String, String>,
    /// The fields that are wrong, each with what is wrong with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) errors: Vec<FieldError>,
    /// Seconds after which to try again.
    #[serde(rename = "retryAfter", skip_serializing_if = "Option::is_none")]
    pub(crate) retry_after: Option<f64>,
}

/// A collection, a document or a graph.
#[derive(Clone, Debug, Serialize)]
struct Named {
    #[serde(rename = "type")]
    kind: &'static str,
    name: String,
}

/// A wrong field of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct FieldError {
    /// Its path by JSON names, for instance `history[0].content`.
    pub(crate) field: String,
    /// What is wrong with it.
    pub(crate) description: String,
}

impl Problem {
    /// A problem of the gateway's own.
    pub(crate) fn new(status: StatusCode, reason: Reason, detail: impl Into<String>) -> Self {
        Self(Box::new(Details {
            kind: format!("urn:emend:problem:{}", reason.name()),
            title: status.canonical_reason().unwrap_or("Error"),
            status: status.as_u16(),
            detail: detail.into(),
            code: reason.code().name(),
            reason: reason.name(),
            resource: None,
            metadata: BTreeMap::new(),
            errors: Vec::new(),
            retry_after: None,
        }))
    }

    /// A request that cannot be read.
    pub(crate) fn unreadable(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, Reason::RequestUnreadable, detail)
    }

    /// A request that is not of the media type that is taken.
    pub(crate) fn media_type(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, Reason::RequestUnreadable, detail)
    }

    /// A request that does not come whole in time.
    pub(crate) fn too_slow(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::REQUEST_TIMEOUT, Reason::RequestTooSlow, detail)
    }

    /// A request with a wrong value.
    pub(crate) fn invalid(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, Reason::FieldInvalid, detail)
    }

    /// A request with one wrong field.
    pub(crate) fn field(field: impl Into<String>, description: impl Into<String>) -> Self {
        let (field, description) = (field.into(), description.into());
        let mut problem = Self::invalid(format!("invalid request: {field}: {description}"));
        problem.errors.push(FieldError { field, description });
        problem
    }

    /// A body that is larger than the gateway takes.
    pub(crate) fn too_large(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, Reason::RequestTooLarge, detail)
    }

    /// No room for the request at the moment.
    pub(crate) fn full(detail: impl Into<String>) -> Self {
        let mut problem = Self::new(StatusCode::TOO_MANY_REQUESTS, Reason::Overloaded, detail);
        problem.retry_after = Some(1.0);
        problem
    }

    /// A fault of the gateway itself.
    pub(crate) fn internal(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, Reason::Fault, detail)
    }

    /// The status of the response.
    pub(crate) fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// The same with its fields below `message` named as they are in the body, which is that message.
    pub(crate) fn within(mut self, message: &str) -> Self {
        for error in &mut self.errors {
            if let Some(inner) = error
                .field
                .strip_prefix(message)
                .and_then(|rest| rest.strip_prefix('.'))
            {
                error.field = inner.to_owned();
            }
        }
        self
    }

    /// As one line of JSON.
    pub(crate) fn json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Adds the headers that say when to try again, and that a key is asked for.
    pub(crate) fn headers(&self, headers: &mut http::HeaderMap) {
        if let Some(seconds) = self.retry_after {
            // The header has whole seconds.
            let seconds = Duration::try_from_secs_f64(seconds.ceil())
                .unwrap_or_default()
                .as_secs();
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds.max(1)));
        }
        if self.status == StatusCode::UNAUTHORIZED.as_u16() {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
    }
}

impl Deref for Problem {
    type Target = Details;

    fn deref(&self) -> &Details {
        &self.0
    }
}

impl DerefMut for Problem {
    fn deref_mut(&mut self) -> &mut Details {
        &mut self.0
    }
}

impl From<Status> for Problem {
    fn from(status: Status) -> Self {
        let detail = if status.message().is_empty() {
            status.code().description().to_owned()
        } else {
            status.message().to_owned()
        };
        let mut problem = Self::new(http_status(status.code()), reason_of(&status), detail);
        // Services that are not Emend's own may give another code to a reason.
        problem.code = grpc_code_name(status.code());
        problem.resource = resource_of(&status).map(|Resource { kind, name }| Named { kind, name });
        let details = status.get_error_details();
        let metadata = details.error_info().map(|info| info.metadata.clone());
        problem.metadata = metadata.unwrap_or_default().into_iter().collect();
        let violations = details.bad_request().map(|bad| bad.field_violations.as_slice());
        problem.errors = violations
            .unwrap_or_default()
            .iter()
            .map(|violation| FieldError {
                field: json_path(&violation.field),
                description: violation.description.clone(),
            })
            .collect();
        let retry = details.retry_info().and_then(|info| info.retry_delay);
        problem.retry_after = retry.map(|delay| delay.as_secs_f64());
        problem
    }
}

impl From<InvalidRequest> for Problem {
    fn from(invalid: InvalidRequest) -> Self {
        Status::from(invalid).into()
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = (self.status(), self.json()).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        self.headers(headers);
        response
    }
}

/// The HTTP status of a gRPC code, as `google.rpc.Code` maps them.
pub(crate) const fn http_status(code: Code) -> StatusCode {
    match code {
        Code::Ok => StatusCode::OK,
        Code::InvalidArgument | Code::FailedPrecondition | Code::OutOfRange => StatusCode::BAD_REQUEST,
        Code::Unauthenticated => StatusCode::UNAUTHORIZED,
        Code::PermissionDenied => StatusCode::FORBIDDEN,
        Code::NotFound => StatusCode::NOT_FOUND,
        Code::AlreadyExists | Code::Aborted => StatusCode::CONFLICT,
        Code::ResourceExhausted => StatusCode::TOO_MANY_REQUESTS,
        Code::Unimplemented => StatusCode::NOT_IMPLEMENTED,
        Code::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        Code::DeadlineExceeded => StatusCode::GATEWAY_TIMEOUT,
        // The caller asked for it, or nobody is there to read it.
        Code::Cancelled => StatusCode::REQUEST_TIMEOUT,
        Code::Unknown | Code::Internal | Code::DataLoss => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// A path by the names of the proto files as one by JSON names; keys in brackets are the caller's own and stay.
fn json_path(path: &str) -> String {
    let mut json = String::with_capacity(path.len());
    let (mut depth, mut upper) = (0_usize, false);
    for c in path.chars() {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && c == '_' {
            upper = true;
        } else if upper {
            upper = false;
            json.extend(c.to_uppercase());
        } else {
            json.push(c);
        }
    }
    json
}

#[cfg(test)]
mod tests;
