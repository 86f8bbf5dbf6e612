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
