//! Bad input, overload, deadlines, callers that leave.

use std::time::Duration;

use emend_proto::v1::{ChatMessage, FinishReason, GenerateRequest, Passage};
use tonic::{Code, Request};
use tonic_types::StatusExt;

use super::{Streamed, ask, extractive, openai, options, read, soon};
use crate::backend;

#[tokio::test]
async fn bad_input_names_every_field() {
    let generator = extractive().await;
    let request = GenerateRequest {
        passages: vec![Passage::default(); 101],
        unsupported: vec!["a".repeat((64 << 10) + 1)],
        temperature: Some(-1.0),
        max_tokens: Some(0),
        max_sentences: Some(0),
        answer_so_far: "a".repeat((64 << 10) + 1),
        history: vec![ChatMessage {
            role: 0,
            content: "a".repeat((8 << 10) + 1),
        }],
        ..GenerateRequest::default()
    };
    let status = generator.answer(request).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    let details = status.get_error_details();
    let fields: Vec<&str> = details
        .bad_request()
        .unwrap()
        .field_violations
        .iter()
        .map(|v| v.field.as_str())
        .collect();
    let expected = [
        "question",
        "passages",
        "unsupported",
        "temperature",
        "max_tokens",
        "max_sentences",
        "answer_so_far",
        "history[0].role",
        "history[0].content",
    ];
    assert_eq!(fields, expected);
}

#[tokio::test]
async fn a_full_service_refuses_at_once_and_says_when_to_come_again() {
    let chat = Streamed::stuck_after(&["One "]);
    let generator = openai(chat.clone(), &["--max-in-flight", "1"]).await;
    let first = generator.start(Request::new(ask("Which?", &["text"]))).await.unwrap();
    chat.wait_until_held_by(1).await;
    let status = generator.answer(ask("Which?", &["text"])).await.unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted);
    assert!(status.get_error_details().retry_info().unwrap().retry_delay.is_some());
    drop(first);
    chat.wait_until_held_by(0).await;
}

#[tokio::test]
async fn work_stops_when_the_caller_leaves_in_the_middle() {
    let chat = Streamed::stuck_after(&["One two"]);
    let generator = openai(chat.clone(), &[]).await;
    let mut events = generator.start(Request::new(ask("Which?", &["text"]))).await.unwrap();
    assert!(soon(events.message()).await.unwrap().is_some());
    chat.wait_until_held_by(1).await;
    drop(events);
    chat.wait_until_held_by(0).await;
}

#[tokio::test]
async fn what_was_written_in_time_arrives_before_the_deadline() {
    let generator = openai(Streamed::stuck_after(&["The tower is red [1].", " It was"]), &[]).await;
    let mut request = Request::new(ask("Which?", &["text"]));
    request.set_timeout(Duration::from_secs(3));
    let (_, finished) = read(generator.start(request).await.unwrap()).await.unwrap();
    assert_eq!(finished.answer, "The tower is red. It was");
    assert_eq!(finished.finish_reason(), FinishReason::Deadline);
    assert_eq!(finished.sentences[0].citations.len(), 1);
}

#[tokio::test]
async fn nothing_written_in_time_is_a_deadline_exceeded() {
    let generator = openai(Streamed::stuck_after(&[]), &[]).await;
    let mut request = Request::new(ask("Which?", &["text"]));
    request.set_timeout(Duration::from_secs(1));
    let status = read(generator.start(request).await.unwrap()).await.unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded, "{status:?}");
}

#[tokio::test]
async fn a_fallback_of_no_model_is_refused_at_start() {
    for backend in ["extractive", "openai"] {
        let options = options(&["--backend", backend, "--llm-fallback", "http://a#b"]);
        let error = emend_core::error_chain(&backend::load(&options).await.err().unwrap());
        assert!(
            error.contains("`http://a#b` would never be called"),
            "{backend}: {error}"
        );
    }
}
