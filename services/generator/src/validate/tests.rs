use emend_core::ServiceError;
use emend_proto::v1::{ChatMessage, Passage, TextPiece};

use super::*;

#[test]
fn every_bad_field_is_named_at_once() {
    let long = "x".repeat(MAX_PASSAGE_BYTES + 1);
    let request = GenerateRequest {
        question: "\t".to_owned(),
        passages: vec![
            Passage {
                text: long.clone(),
                pieces: vec![TextPiece::default(); MAX_PIECES + 1],
                headings: vec![String::new(); 9],
                ..Passage::default()
            };
            MAX_PASSAGES + 1
        ],
        unsupported: vec![long.clone()],
        temperature: Some(f64::NAN),
        max_tokens: Some(0),
        max_sentences: Some(101),
        answer_so_far: long,
        history: vec![
            ChatMessage {
                role: 9,
                content: "x".repeat(MAX_QUESTION_BYTES + 1)
            };
            MAX_HISTORY + 1
        ],
        ..GenerateRequest::default()
    };
    let fields: Vec<String> = generate(&request)
        .unwrap_err()
        .violations()
        .into_iter()
        .map(|v| v.field)
        .collect();
    for field in [
        "question",
        "passages",
        "passages[99].text",
        "passages[99].pieces",
        "passages[99].headings",
        "unsupported",
        "temperature",
        "max_tokens",
        "max_sentences",
        "answer_so_far",
        "history",
        "history[0].role",
        "history[49].content",
    ] {
        assert!(
            fields.iter().any(|named| named == field),
            "{field} is not among {fields:?}"
        );
    }
}

#[test]
fn no_passages_and_the_limits_themselves_are_allowed() {
    let request = GenerateRequest {
        question: "q".repeat(MAX_QUESTION_BYTES),
        temperature: Some(2.0),
        max_tokens: Some(MAX_TOKENS),
        max_sentences: Some(MAX_SENTENCES),
        answer_so_far: "a".repeat(MAX_ANSWER_BYTES),
        ..GenerateRequest::default()
    };
    assert!(generate(&request).is_ok());
}

#[test]
fn a_passage_of_many_pieces_is_allowed_up_to_the_limit() {
    let request = |pieces: usize| GenerateRequest {
        question: "Who?".to_owned(),
        passages: vec![Passage {
            pieces: vec![TextPiece::default(); pieces],
            ..Passage::default()
        }],
        ..GenerateRequest::default()
    };
    assert!(generate(&request(MAX_PIECES)).is_ok());
    assert!(generate(&request(MAX_PIECES + 1)).is_err());
}
