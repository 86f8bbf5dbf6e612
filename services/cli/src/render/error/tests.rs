use super::*;

#[test]
fn a_rejected_request_lists_every_field() {
    let details = tonic_types::ErrorDetails::with_bad_request(vec![
        tonic_types::FieldViolation::new("top_k", "is 0, must be 1–100"),
        tonic_types::FieldViolation::new("question", "is empty"),
    ]);
    let status = tonic::Status::with_error_details(tonic::Code::InvalidArgument, "invalid request", details);
    let text = explain(&status.into());
    assert!(
        text.contains("top_k: is 0, must be 1–100") && text.contains("question: is empty"),
        "{text}"
    );
}

#[test]
fn an_error_as_json_has_its_code_and_every_field() {
    let details = tonic_types::ErrorDetails::with_bad_request(vec![tonic_types::FieldViolation::new(
        "top_k",
        "is 0, must be 1–100",
    )]);
    let mut details = details;
    details.set_error_info("OPTION_UNKNOWN", "emend", std::collections::HashMap::new());
    details.set_resource_info("graph", "self-rag", "", "");
    let status = tonic::Status::with_error_details(tonic::Code::InvalidArgument, "invalid request", details);
    let error = &error_json(&status.into())["error"];
    assert_eq!(
        (&error["code"], &error["reason"]),
        (&json!("INVALID_ARGUMENT"), &json!("OPTION_UNKNOWN"))
    );
    assert_eq!(error["resource"], json!({"type": "graph", "name": "self-rag"}));
    assert_eq!(error["fields"][0]["field"], "top_k");
    assert!(error["message"].as_str().unwrap().contains("is 0"), "{error}");
    let own = &error_json(&anyhow::anyhow!("cannot read a.md"))["error"];
    assert_eq!(
        (&own["code"], &own["message"]),
        (&json!("COMMAND"), &json!("cannot read a.md"))
    );
}
