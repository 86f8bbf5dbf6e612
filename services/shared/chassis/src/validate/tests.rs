use super::*;
use tonic_types::StatusExt;

#[test]
fn every_bad_field_is_named_at_once() {
    let mut violations = Violations::new();
    violations
        .require(false, "question", || "must not be empty".into())
        .require(true, "collection", || unreachable!())
        .push("top_k", "must be 1 to 100, is 0");
    let status = tonic::Status::from(violations.finish().unwrap_err());
    assert_eq!(status.code(), tonic::Code::InvalidArgument);
    assert_eq!(
        status.message(),
        "invalid request: question: must not be empty; top_k: must be 1 to 100, is 0"
    );
    let fields: Vec<_> = status
        .get_error_details()
        .bad_request()
        .unwrap()
        .field_violations
        .iter()
        .map(|v| v.field.clone())
        .collect();
    assert_eq!(fields, ["question", "top_k"]);
}

#[test]
fn nothing_wrong_is_fine() {
    assert!(Violations::new().finish().is_ok());
}

#[test]
fn headings_are_few_and_short() {
    let wrong = |headings: &[String]| {
        let mut violations = Violations::new();
        violations.headings("passages[0].headings", headings);
        violations.finish().map_err(|error| error.to_string())
    };
    // Characters, not bytes.
    assert!(wrong(&vec!["휴".repeat(MAX_HEADING_CHARS); MAX_HEADINGS]).is_ok());
    let many = wrong(&vec![String::new(); MAX_HEADINGS + 1]).unwrap_err();
    assert!(
        many.contains("passages[0].headings: must be at most 8 headings, are 9"),
        "{many}"
    );
    let long = wrong(&["a".to_owned(), "휴".repeat(MAX_HEADING_CHARS + 1)]).unwrap_err();
    assert!(long.contains("at most 200 characters each, one has 201"), "{long}");
}
