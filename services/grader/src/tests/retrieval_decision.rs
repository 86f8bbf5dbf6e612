//! Whether evidence is needed.

use std::time::Duration;

use emend_core::limits::MAX_ANSWER_BYTES;
use emend_proto::v1::{DecideRetrievalRequest, DecideRetrievalResponse, RetrievalDecision};
use emend_testkit::scripted_chat::Scripted;
use tonic::{Code, Request};

use super::llm::by_word;
use super::{Gated, Grader, Likely, bad_fields, embedded, llm, passage, said, soon};

const QUESTION: &str = "How tall is the lighthouse of Corran Point?";
const TALL: &str = "The lighthouse of Corran Point is 31 metres tall.";
const BREAD: &str = "Knead the dough for ten minutes, then let it rest under a damp cloth.";

fn request(question: &str, answer_so_far: &str, texts: &[&str]) -> DecideRetrievalRequest {
    DecideRetrievalRequest {
        question: question.to_owned(),
        answer_so_far: answer_so_far.to_owned(),
        passages: texts.iter().map(|text| passage("p", text)).collect(),
        threshold: None,
    }
}

async fn decide(grader: &Grader, request: DecideRetrievalRequest) -> DecideRetrievalResponse {
    let response = grader
        .client
        .clone()
        .decide_retrieval(request)
        .await
        .unwrap()
        .into_inner();
    assert_eq!(
        response.probability.is_none(),
        response.decision() == RetrievalDecision::Ungraded
    );
    response
}

#[tokio::test]
async fn facts_are_retrieved_and_small_talk_is_answered() {
    let grader = embedded().await;
    for question in [QUESTION, "등대의 높이는 얼마인가요?", "灯台の高さは？", "灯塔有多高？"] {
        let response = decide(&grader, request(question, "", &[])).await;
        assert_eq!(
            (response.decision(), response.probability),
            (RetrievalDecision::Yes, Some(0.9)),
            "{question}"
        );
        assert_eq!(response.usage.unwrap().model_calls, 0);
    }
    for question in ["Hello!", "감사합니다", "こんにちは。", "你好"] {
        let response = decide(&grader, request(question, "", &[])).await;
        assert_eq!(response.decision(), RetrievalDecision::No, "{question}");
    }
}

#[tokio::test]
async fn evidence_that_answers_is_continued_with_until_it_is_said() {
    let grader = embedded().await;
    let response = decide(&grader, request(QUESTION, "", &[BREAD])).await;
    assert_eq!(response.decision(), RetrievalDecision::Yes, "{response:?}");
    let response = decide(&grader, request(QUESTION, "", &[BREAD, TALL])).await;
    assert_eq!(response.decision(), RetrievalDecision::Continue, "{response:?}");
    let response = decide(&grader, request(QUESTION, TALL, &[BREAD, TALL])).await;
    assert_eq!(response.decision(), RetrievalDecision::No, "{response:?}");
    // What was said without an answer in it leaves the evidence to say.
    let response = decide(
        &grader,
        request(QUESTION, "It is a question about a building.", &[TALL]),
    )
    .await;
    assert_eq!(response.decision(), RetrievalDecision::Continue, "{response:?}");
}

#[tokio::test]
async fn a_probability_at_the_threshold_is_not_above_it() {
    let grader = embedded().await;
    let mut request = request(QUESTION, "", &[]);
    for (threshold, decision) in [(0.9, RetrievalDecision::No), (0.899, RetrievalDecision::Yes)] {
        request.threshold = Some(threshold);
        assert_eq!(
            decide(&grader, request.clone()).await.decision(),
            decision,
            "{threshold}"
        );
    }
    for (yes, decision) in [(0.19, RetrievalDecision::No), (0.21, RetrievalDecision::Yes)] {
        let chat = Likely(vec![("no", vec![("yes", yes), ("no", 1.0 - yes)])]);
        let grader = llm(chat, &[]).await;
        let response = decide(&grader, self::request("Which?", "", &[])).await;
        assert_eq!(response.decision(), decision, "{yes} of the default threshold");
        assert!((response.probability.unwrap() - yes).abs() < 1e-9);
    }
}

#[tokio::test]
async fn every_dress_of_a_decision_is_read() {
    for (reply, decision, probability) in [
        ("{\"decision\": \"yes\"}", RetrievalDecision::Yes, Some(1.0)),
        ("No.", RetrievalDecision::No, Some(0.0)),
        ("계속", RetrievalDecision::Continue, Some(0.0)),
        ("継続。", RetrievalDecision::Continue, Some(0.0)),
        ("[Continue to Use Evidence]", RetrievalDecision::Continue, Some(0.0)),
        ("perhaps", RetrievalDecision::Ungraded, None),
    ] {
        let chat = Scripted::replies([reply]);
        let grader = llm(chat.clone(), &[]).await;
        let response = decide(&grader, request("Which?", "So far.", &["evidence one"])).await;
        assert_eq!(
            (response.decision(), response.probability),
            (decision, probability),
            "{reply}"
        );
        assert_eq!(response.error.contains("perhaps"), probability.is_none());
        assert_eq!(response.usage.unwrap().model_calls, 1);
        let asked = &chat.requests()[0];
        for input in ["Which?", "So far.", "evidence one"] {
            assert!(said(asked).contains(input), "{input}");
        }
        assert_eq!(asked.response_schema.as_ref().unwrap().name, "DecideRetrieval");
    }
}

#[tokio::test]
async fn without_passages_nothing_is_continued() {
    for texts in [&[][..], &[" "]] {
        let grader = llm(Scripted::replies(["continue"]), &[]).await;
        let response = decide(&grader, request("Which?", "So far.", texts)).await;
        assert_eq!(response.decision(), RetrievalDecision::No);
        let chat = Likely(vec![("continue", vec![("continue", 0.9), ("no", 0.05), ("yes", 0.05)])]);
        let grader = llm(chat, &[]).await;
        let response = decide(&grader, request("Which?", "So far.", texts)).await;
        assert_eq!(response.decision(), RetrievalDecision::No);
        let grader = embedded().await;
        for answer in ["", TALL, BREAD] {
            let response = decide(&grader, request(QUESTION, answer, texts)).await;
            assert_ne!(response.decision(), RetrievalDecision::Continue, "{answer}");
        }
    }
}

#[tokio::test]
async fn a_model_that_is_down_decides_nothing_and_fails_no_call() {
    let grader = llm(by_word(&[]), &[]).await;
    let response = decide(&grader, request("Which?", "", &[])).await;
    assert_eq!(response.decision(), RetrievalDecision::Ungraded);
    assert!(response.error.contains("down"), "{response:?}");
}

#[tokio::test]
async fn bad_input_names_every_field() {
    let mut grader = embedded().await;
    let request = DecideRetrievalRequest {
        question: " ".to_owned(),
        answer_so_far: "a".repeat(MAX_ANSWER_BYTES + 1),
        passages: vec![passage("p", "text"); 101],
        threshold: Some(-0.1),
    };
    let status = grader.client.decide_retrieval(request).await.unwrap_err();
    assert_eq!(
        bad_fields(&status),
        ["question", "answer_so_far", "passages", "threshold"]
    );
}

#[tokio::test]
async fn work_stops_when_the_caller_leaves_or_its_time_is_over() {
    let chat = Gated::shut();
    let mut grader = llm(chat.clone(), &[]).await;
    let mut client = grader.client.clone();
    let call = tokio::spawn(async move { client.decide_retrieval(request("Which?", "", &[])).await });
    chat.wait_for(1).await;
    call.abort();
    chat.wait_for(0).await;
    let mut late = Request::new(request("Which?", "", &[]));
    late.set_timeout(Duration::from_secs(1));
    let status = soon(grader.client.decide_retrieval(late)).await.unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded, "{status:?}");
}
