use std::time::Duration;

use emend_core::{FieldViolation, Resource};

use super::*;

#[derive(Debug, thiserror::Error)]
#[error("cannot read {path}")]
struct Outer {
    path: &'static str,
    #[source]
    source: std::io::Error,
}

impl ServiceError for Outer {
    fn reason(&self) -> Reason {
        Reason::FieldInvalid
    }
    fn resource(&self) -> Option<Resource> {
        Some(Resource::document("a.md"))
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

#[derive(Debug, thiserror::Error)]
#[error("the model failed")]
struct Reasoned;

impl ServiceError for Reasoned {
    fn reason(&self) -> Reason {
        Reason::ModelUnavailable
    }
    fn metadata(&self) -> Vec<(&'static str, String)> {
        vec![("model_calls", 3.to_string())]
    }
}

#[test]
fn a_reason_and_its_metadata_reach_the_caller_also_through_an_actor() {
    for status in [status(&Reasoned), crate::CallError::Work(Reasoned).into()] {
        assert_eq!(status.code(), tonic::Code::Unavailable);
        let details = status.get_error_details();
        let info = details.error_info().unwrap();
        assert_eq!(
            (info.reason.as_str(), &*info.metadata["model_calls"]),
            ("MODEL_UNAVAILABLE", "3")
        );
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
    assert_eq!((info.reason.as_str(), info.domain.as_str()), ("FIELD_INVALID", "emend"));
    assert_eq!(resource_of(&status), Some(Resource::document("a.md")));
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
        Code::Unauthenticated,
        Code::PermissionDenied,
        Code::FailedPrecondition,
        Code::ResourceExhausted,
        Code::DeadlineExceeded,
        Code::Cancelled,
        Code::Unavailable,
        Code::Unimplemented,
        Code::Internal,
    ] {
        assert_eq!(code_of_grpc(grpc_code(code)), code);
        assert_eq!(grpc_code_name(grpc_code(code)), code.name());
        assert_eq!(Reason::of_code(code).code(), code);
    }
}

#[test]
fn a_reason_is_read_back_and_one_that_is_not_known_is_that_of_its_code() {
    for reason in Reason::ALL {
        assert_eq!(reason_of(&refusal(*reason, "no")), *reason);
    }
    let details = |reason, domain| ErrorDetails::with_error_info(reason, domain, HashMap::new());
    for details in [
        ErrorDetails::new(),
        details("OF_THE_FUTURE", ERROR_DOMAIN),
        details("MODEL_REFUSED", "elsewhere"),
    ] {
        let status = tonic::Status::with_error_details(tonic::Code::Unavailable, "no", details);
        assert_eq!(reason_of(&status), Reason::ServiceUnavailable);
    }
}
