use emend_core::ServiceError;

use super::*;

#[test]
fn every_bad_field_is_named_at_once() {
    let request = SearchRequest {
        query: " ".to_owned(),
        max_results: Some(0),
        allowed_domains: vec!["example.com".to_owned(), "https://example.com".to_owned()],
        blocked_domains: vec!["a b".to_owned(); MAX_DOMAINS + 1],
    };
    let fields: Vec<_> = search(request)
        .unwrap_err()
        .violations()
        .into_iter()
        .map(|v| v.field)
        .collect();
    assert_eq!(
        fields[..4],
        ["query", "max_results", "allowed_domains[1]", "blocked_domains"]
    );
    assert_eq!(fields.len(), 4 + MAX_DOMAINS);
}

#[test]
fn the_limits_themselves_are_allowed_and_unset_means_four() {
    let request = SearchRequest {
        query: "q".repeat(MAX_QUESTION_BYTES),
        max_results: Some(MAX_WEB_RESULTS),
        allowed_domains: vec!["example.com".to_owned(); MAX_DOMAINS],
        blocked_domains: vec![],
    };
    assert_eq!(search(request).unwrap().max_results, 50);
    let request = SearchRequest {
        query: "q".to_owned(),
        ..SearchRequest::default()
    };
    assert_eq!(search(request).unwrap().max_results, 4);
}
