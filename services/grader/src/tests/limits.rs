//! Bad input, overload, deadlines, callers that leave.

use std::time::Duration;

use emend_proto::v1::{Evaluation, GradeDocumentsRequest, GradeGroundednessRequest, Relevance};
use tonic::{Code, Request};
use tonic_types::StatusExt;

use super::{Gated, documents, embedded, llm, options, soon};
use crate::backend;

#[tokio::test]
async fn bad_input_names_every_field() {
    let mut grader = embedded().await;
    let request = GradeDocumentsRequest {
        relevance_threshold: Some(2.0),
        upper_threshold: Some(0.1),
        lower_threshold: Some(0.9),
        ..GradeDocumentsRequest::default()
    };
    let status = grader.client.grade_documents(request).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    let details = status.get_error_details();
    let fields: Vec<&str> = details
        .bad_request()
        .unwrap()
        .field_violations
        .iter()
        .map(|v| v.field.as_str())
        .collect();
    assert_eq!(
        fields,
        ["question", "passages", "relevance_threshold", "lower_threshold"]
    );
    let status = grader
        .client
        .grade_groundedness(GradeGroundednessRequest::default())
        .await
        .unwrap_err();
    assert_eq!(
        status.get_error_details().bad_request().unwrap().field_violations.len(),
        3
    );
}

#[tokio::test]
async fn the_largest_request_fits() {
    let mut grader = embedded().await;
    // Words that say nothing about the question, so that the evaluator has little to do but read.
    let text = "x ".repeat(32 * 1024);
    let mut request = documents("q", &[text.as_str(); 100]);
    request.passages.push(request.passages[0].clone());
    let status = grader.client.grade_documents(request).await.unwrap_err();
    assert_eq!(
        status.code(),
        Code::InvalidArgument,
        "101 passages arrive and are refused by number: {status:?}"
    );
}

#[tokio::test]
async fn a_full_service_refuses_at_once_and_says_when_to_come_again() {
    let chat = Gated::shut();
    let grader = llm(chat.clone(), &["--max-in-flight", "1"]).await;
    let mut client = grader.client.clone();
    let first = tokio::spawn(async move { client.grade_documents(documents("Which?", &["text"])).await });
    chat.wait_for(1).await;
    let mut client = grader.client.clone();
    let status = soon(client.grade_documents(documents("Which?", &["text"])))
        .await
        .unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted);
    assert!(status.get_error_details().retry_info().unwrap().retry_delay.is_some());
    chat.open();
    assert!(soon(first).await.unwrap().is_ok());
    assert!(
        soon(client.grade_documents(documents("Which?", &["text"])))
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn work_stops_when_the_caller_leaves() {
    let chat = Gated::shut();
    let grader = llm(chat.clone(), &["--max-in-flight", "1"]).await;
    let mut client = grader.client.clone();
    let call = tokio::spawn(async move { client.grade_documents(documents("Which?", &["a", "b"])).await });
    chat.wait_for(2).await;
    call.abort();
    chat.wait_for(0).await;
}

#[tokio::test]
async fn what_was_graded_in_time_arrives_before_the_deadline() {
    let chat = Gated::shut();
    chat.open();
    let mut grader = llm(chat, &[]).await;
    let mut request = Request::new(documents("Which?", &["stuck", "text"]));
    request.set_timeout(Duration::from_secs(3));
    let response = soon(grader.client.grade_documents(request)).await.unwrap().into_inner();
    assert_eq!(response.grades[0].relevance(), Relevance::Ungraded);
    assert!(response.grades[0].error.contains("time ran out"));
    assert_eq!(response.grades[1].relevance(), Relevance::Relevant);
    assert_eq!(response.evaluation(), Evaluation::Correct);
}

#[tokio::test]
async fn nothing_graded_in_time_is_a_deadline_exceeded() {
    let mut grader = llm(Gated::shut(), &[]).await;
    let mut request = Request::new(documents("Which?", &["stuck"]));
    request.set_timeout(Duration::from_secs(1));
    let status = soon(grader.client.grade_documents(request)).await.unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded, "{status:?}");
}

#[tokio::test]
async fn a_fallback_of_no_model_is_refused_at_start() {
    for backend in ["embedded", "llm", "cascade"] {
        let options = options(&["--backend", backend, "--llm-fallback", "http://a#b"]);
        let error = emend_core::error_chain(&backend::load(&options).await.err().unwrap());
        assert!(
            error.contains("`http://a#b` would never be called"),
            "{backend}: {error}"
        );
    }
}
