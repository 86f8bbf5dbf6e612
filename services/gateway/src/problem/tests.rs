use emend_chassis::Violations;
use tonic_types::ErrorDetails;

use super::*;

#[test]
fn a_status_keeps_its_code_its_fields_and_its_wait() {
    let mut details = ErrorDetails::new();
    details.add_bad_request_violation("question.graph_yaml", "must be at most 65536 bytes, is 70000");
    details.add_bad_request_violation("question.filter[my_key]", "must have a name");
    details.set_retry_info(Some(Duration::from_millis(1500)));
    details.set_resource_info("collection", "handbook", "", "");
    details.set_error_info("GRAPH_INVALID", "emend", [("model_calls".to_owned(), "3".to_owned())]);
    let status = Status::with_error_details(Code::InvalidArgument, "invalid request", details);
    let problem = Problem::from(status).within("question");
    let json: serde_json::Value = serde_json::from_str(&problem.json()).unwrap();
    assert_eq!(
        json,
        serde_json::json!({
            "type": "urn:emend:problem:GRAPH_INVALID", "title": "Bad Request", "status": 400,
            "detail": "invalid request", "code": "INVALID_ARGUMENT", "reason": "GRAPH_INVALID",
            "resource": {"type": "collection", "name": "handbook"},
            "metadata": {"model_calls": "3"},
            "errors": [
                {"field": "graphYaml", "description": "must be at most 65536 bytes, is 70000"},
                {"field": "filter[my_key]", "description": "must have a name"},
            ],
            "retryAfter": 1.5,
        })
    );
    let response = problem.into_response();
    assert_eq!(response.status(), 400);
    assert_eq!(response.headers()[CONTENT_TYPE], MEDIA_TYPE);
    assert_eq!(response.headers()[RETRY_AFTER], "2", "rounded up to whole seconds");
}

#[test]
fn who_has_no_key_is_told_what_to_send() {
    let response = Problem::from(Status::unauthenticated("no key")).into_response();
    assert_eq!(response.status(), 401);
    assert_eq!(response.headers()[WWW_AUTHENTICATE], "Bearer");
}

#[test]
fn violations_are_fields() {
    let mut violations = Violations::new();
    violations.push("top_k", "must be 1 to 100, is 0");
    let problem = Problem::from(violations.finish().unwrap_err());
    assert_eq!(problem.errors[0].field, "topK");
}
