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
    let status = tonic::Status::with_error_details(tonic::Code::InvalidArgument, "invalid request", details);
    let error = &error_json(&status.into())["error"];
    assert_eq!(error["code"], "INVALID_ARGUMENT");
    assert_eq!(error["fields"][0]["field"], "top_k");
    assert!(error["message"].as_str().unwrap().contains("is 0"), "{error}");
    let own = &error_json(&anyhow::anyhow!("cannot read a.md"))["error"];
    assert_eq!(
        (&own["code"], &own["message"]),
        (&json!("COMMAND"), &json!("cannot read a.md"))
    );
}
