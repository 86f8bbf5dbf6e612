//! The limits of the contract, checked before anything is admitted.

use emend_chassis::{InvalidRequest, Violations};
use emend_core::limits::{MAX_FAILED_QUERIES, MAX_HISTORY, MAX_PASSAGE_BYTES, MAX_REWRITE_PASSAGES, MAX_TOKENS};
use emend_proto::v1::chat_message::Role;
use emend_proto::v1::{RewritePurpose, RewriteRequest};

use emend_core::limits::MAX_QUESTION_BYTES;

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
        MAX_REWRITE_PASSAGES,
        "passages",
    );
    for (index, passage) in request.passages.iter().enumerate().take(MAX_REWRITE_PASSAGES) {
        at_most(
            &mut violations,
            &format!("passages[{index}].text"),
            passage.text.len(),
            MAX_PASSAGE_BYTES,
            "bytes",
        );
        violations.headings(&format!("passages[{index}].headings"), &passage.headings);
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
mod tests;
