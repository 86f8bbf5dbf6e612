use super::*;

#[test]
fn control_characters_are_stripped() {
    assert_eq!(printable("a\u{1b}[31mb\u{7}\nc"), "a[31mb\nc");
    assert_eq!(excerpt("  one\n two\t three", 9), "one two t…");
    assert_eq!(excerpt("one  two", 7), "one two");
}

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
