//! The limits of the contract, checked before anything is admitted.

use emend_chassis::{InvalidRequest, Violations};
use emend_proto::v1::chat_message::Role;
use emend_proto::v1::{RewritePurpose, RewriteRequest};

use crate::queries::MAX_QUESTION_BYTES;

/// Longest query in tokens.
const MAX_TOKENS: u32 = 8192;
/// Most failed queries.
const MAX_FAILED_QUERIES: usize = 50;
/// Most messages of history.
const MAX_HISTORY: usize = 50;
/// Most passages.
const MAX_PASSAGES: usize = 20;
/// Longest passage in bytes.
const MAX_PASSAGE_BYTES: usize = 64 * 1024;

pub(crate) fn rewrite(request: &RewriteRequest) -> Result<(), InvalidRequest> {
    let mut violations = Violations::new();
    let bytes = request.question.len();
    violations.require(!request.question.trim().is_empty(), "question", || {
        format!("must not be blank, is {bytes} bytes of white space")
    });
    at_most(&mut violations, "question", bytes, MAX_QUESTION_BYTES, "bytes");
    at_most(
        &mut violations,
        "failed_queries",
        request.failed_queries.len(),
        MAX_FAILED_QUERIES,
        "queries",
    );
    for (index, query) in request.failed_queries.iter().enumerate().take(MAX_FAILED_QUERIES) {
        at_most(
            &mut violations,
            &format!("failed_queries[{index}]"),
            query.len(),
            MAX_QUESTION_BYTES,
            "bytes",
        );
    }
    let known = RewritePurpose::try_from(request.purpose).is_ok_and(|purpose| purpose != RewritePurpose::Unspecified);
    violations.require(known, "purpose", || {
        let known = [
            RewritePurpose::Retrieval,
            RewritePurpose::WebSearch,
            RewritePurpose::Condense,
        ];
        format!(
            "must be one of {}, is {}",
            known.map(|purpose| purpose.as_str_name()).join(", "),
            request.purpose
        )
    });
    at_most(
        &mut violations,
        "history",
        request.history.len(),
        MAX_HISTORY,
        "messages",
    );
    for (index, message) in request.history.iter().enumerate().take(MAX_HISTORY) {
        at_most(
            &mut violations,
            &format!("history[{index}].content"),
            message.content.len(),
            MAX_QUESTION_BYTES,
            "bytes",
        );
        let spoken = Role::try_from(message.role).is_ok_and(|role| role != Role::Unspecified);
        violations.require(spoken, &format!("history[{index}].role"), || {
            let known = [Role::User, Role::Assistant]
                .map(|role| role.as_str_name())
                .join(" or ");
            format!("must be {known}, is {}", message.role)
        });
    }
    at_most(
        &mut violations,
        "passages",
        request.passages.len(),
        MAX_PASSAGES,
        "passages",
    );
    for (index, passage) in request.passages.iter().enumerate().take(MAX_PASSAGES) {
        at_most(
            &mut violations,
            &format!("passages[{index}].text"),
            passage.text.len(),
            MAX_PASSAGE_BYTES,
            "bytes",
        );
    }
    if let Some(tokens) = request.max_tokens {
        violations.require((1..=MAX_TOKENS).contains(&tokens), "max_tokens", || {
            format!("must be 1 to {MAX_TOKENS}, is {tokens}")
        });
    }
    violations.finish()
}

fn at_most(violations: &mut Violations, field: &str, value: usize, most: usize, unit: &str) {
    violations.require(value <= most, field, || {
        format!("must be at most {most} {unit}, is {value}")
    });
}

#[cfg(test)]
mod tests {
    use emend_chassis::ServiceError;
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
                MAX_PASSAGES
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
            passages: vec![Passage::default(); MAX_PASSAGES + 1],
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
}
