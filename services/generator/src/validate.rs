//! Checks requests against the limits of the contract before admission (R15).

use emend_chassis::{InvalidRequest, Violations};
use emend_core::limits::{
    MAX_ANSWER_BYTES, MAX_ANSWER_SENTENCES, MAX_HISTORY, MAX_PASSAGE_BYTES, MAX_PASSAGES, MAX_QUESTION_BYTES,
    MAX_TOKENS,
};
use emend_proto::v1::GenerateRequest;
use emend_proto::v1::chat_message::Role;

/// Longest answer in sentences.
const MAX_SENTENCES: u32 = 100;
/// Most pieces of a passage. Every citation searches them.
const MAX_PIECES: usize = 1000;

pub(crate) fn generate(request: &GenerateRequest) -> Result<(), InvalidRequest> {
    let mut violations = Violations::new();
    let bytes = request.question.len();
    violations
        .require(!request.question.trim().is_empty(), "question", || {
            "must not be blank".to_owned()
        })
        .require(bytes <= MAX_QUESTION_BYTES, "question", || {
            format!("must be at most {MAX_QUESTION_BYTES} bytes, is {bytes}")
        });
    let count = request.passages.len();
    violations.require(count <= MAX_PASSAGES, "passages", || {
        format!("must be at most {MAX_PASSAGES} passages, are {count}")
    });
    for (index, passage) in request.passages.iter().enumerate().take(MAX_PASSAGES) {
        let bytes = passage.text.len();
        violations.require(bytes <= MAX_PASSAGE_BYTES, &format!("passages[{index}].text"), || {
            format!("must be at most {MAX_PASSAGE_BYTES} bytes, is {bytes}")
        });
        violations.headings(&format!("passages[{index}].headings"), &passage.headings);
        let pieces = passage.pieces.len();
        violations.require(pieces <= MAX_PIECES, &format!("passages[{index}].pieces"), || {
            format!("must be at most {MAX_PIECES} pieces, are {pieces}")
        });
    }
    let count = request.unsupported.len();
    violations.require(count <= MAX_ANSWER_SENTENCES, "unsupported", || {
        format!("must be at most {MAX_ANSWER_SENTENCES} sentences, are {count}")
    });
    let bytes: usize = request.unsupported.iter().map(String::len).sum();
    violations.require(bytes <= MAX_ANSWER_BYTES, "unsupported", || {
        format!("must be at most {MAX_ANSWER_BYTES} bytes together, are {bytes}")
    });
    if let Some(temperature) = request.temperature {
        violations.require((0.0..=2.0).contains(&temperature), "temperature", || {
            format!("must be 0 to 2, is {temperature}")
        });
    }
    if let Some(tokens) = request.max_tokens {
        violations.require((1..=MAX_TOKENS).contains(&tokens), "max_tokens", || {
            format!("must be 1 to {MAX_TOKENS}, is {tokens}")
        });
    }
    if let Some(sentences) = request.max_sentences {
        violations.require((1..=MAX_SENTENCES).contains(&sentences), "max_sentences", || {
            format!("must be 1 to {MAX_SENTENCES}, is {sentences}")
        });
    }
    let bytes = request.answer_so_far.len();
    violations.require(bytes <= MAX_ANSWER_BYTES, "answer_so_far", || {
        format!("must be at most {MAX_ANSWER_BYTES} bytes, is {bytes}")
    });
    history(&mut violations, request);
    violations.finish()
}

fn history(violations: &mut Violations, request: &GenerateRequest) {
    let turns = request.history.len();
    violations.require(turns <= MAX_HISTORY, "history", || {
        format!("must be at most {MAX_HISTORY} messages, are {turns}")
    });
    for (index, message) in request.history.iter().enumerate().take(MAX_HISTORY) {
        let bytes = message.content.len();
        violations
            .require(
                message.role() != Role::Unspecified,
                &format!("history[{index}].role"),
                || format!("must be ROLE_USER or ROLE_ASSISTANT, is {}", message.role),
            )
            .require(
                bytes <= MAX_QUESTION_BYTES,
                &format!("history[{index}].content"),
                || format!("must be at most {MAX_QUESTION_BYTES} bytes, is {bytes}"),
            );
    }
}

#[cfg(test)]
mod tests;
