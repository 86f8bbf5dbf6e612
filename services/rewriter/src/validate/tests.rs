use emend_core::ServiceError;
use emend_proto::v1::{ChatMessage, Passage};

use super::*;

fn message(role: Role, content: String) -> ChatMessage {
    ChatMessage {
        role: role.into(),
        content,
    }
}

#[test]
fn the_limits_themselves_are_allowed() {
    let request = RewriteRequest {
        question: "q".repeat(MAX_QUESTION_BYTES),
        failed_queries: vec!["q".repeat(MAX_QUESTION_BYTES); MAX_FAILED_QUERIES],
        purpose: RewritePurpose::Condense.into(),
        history: vec![message(Role::User, "q".repeat(MAX_QUESTION_BYTES)); MAX_HISTORY],
        passages: vec![
            Passage {
                text: "p".repeat(MAX_PASSAGE_BYTES),
                ..Passage::default()
            };
            MAX_REWRITE_PASSAGES
        ],
        max_tokens: Some(MAX_TOKENS),
    };
    assert!(rewrite(&request).is_ok());
}

#[test]
fn every_bad_field_is_named_at_once() {
    let request = RewriteRequest {
        question: "\n".to_owned(),
        failed_queries: vec![String::new(); MAX_FAILED_QUERIES + 1],
        purpose: 9,
        history: vec![message(Role::Unspecified, "q".repeat(MAX_QUESTION_BYTES + 1))],
        passages: [
            vec![
                Passage {
                    headings: vec!["h".repeat(201)],
                    ..Passage::default()
                };
                1
            ],
            vec![Passage::default(); MAX_REWRITE_PASSAGES],
        ]
        .concat(),
        max_tokens: Some(MAX_TOKENS + 1),
    };
    let violations = rewrite(&request).unwrap_err().violations();
    let fields: Vec<_> = violations.iter().map(|violation| violation.field.as_str()).collect();
    assert_eq!(
        fields,
        [
            "question",
            "failed_queries",
            "purpose",
            "history[0].content",
            "history[0].role",
            "passages",
            "passages[0].headings",
            "max_tokens"
        ]
    );
    assert!(
        violations[2].description.contains("REWRITE_PURPOSE_WEB_SEARCH"),
        "{violations:?}"
    );
}

#[test]
fn a_purpose_has_to_be_told() {
    let request = RewriteRequest {
        question: "q".to_owned(),
        ..RewriteRequest::default()
    };
    assert_eq!(rewrite(&request).unwrap_err().violations()[0].field, "purpose");
}
