//! A language model behind HTTP, from the request to the answer.

use emend_proto::v1::FinishReason;
use emend_testkit::http_server::{HttpAnswer, HttpServer};
use tonic_types::StatusExt as _;

use super::{Generator, ask, options, serve};
use crate::backend;

const TOLD: &str = r#"data: {"choices":[{"delta":{"reasoning_content":"hm"},"logprobs":{"content":[{"token":"hm","logprob":-9.0}]}}]}

data: {"choices":[{"delta":{"content":"It is"},"logprobs":{"content":[{"token":"It","logprob":-0.5},{"token":" is","logprob":-0.1}]}}]}

data: {"choices":[{"delta":{"content":" red."},"logprobs":{"content":[{"token":" red","logprob":-0.9},{"token":".","logprob":-0.1}]},"finish_reason":"stop"}]}

data: [DONE]

"#;
const UNTOLD: &str = r#"data: {"choices":[{"delta":{"content":"It is red."},"finish_reason":"stop"}]}

data: [DONE]

"#;

/// A generator whose model is a server on 127.0.0.1. It refuses what asks for log-probabilities with `refusal`, where
/// there is one.
async fn behind_http(refusal: Option<&'static str>) -> (Generator, HttpServer) {
    let server = HttpServer::start(move |_, request| {
        let (status, kind, said) = match refusal {
            Some(words) if request.body.contains("logprobs") => ("400 Bad Request", "application/json", words),
            Some(_) => ("200 OK", "text/event-stream", UNTOLD),
            None => ("200 OK", "text/event-stream", TOLD),
        };
        HttpAnswer::response(status, &format!("content-type: {kind}\r\n"), said)
    })
    .await;
    let options = options(&["--backend", "openai", "--llm-url", server.url(), "--llm-model", "small"]);
    (serve(backend::load(&options).await.unwrap(), options).await, server)
}

#[tokio::test]
async fn the_likelihood_is_read_from_the_tokens_that_the_server_tells() {
    let (generator, server) = behind_http(None).await;
    let (_, finished) = generator
        .answer(ask("Which colour?", &["The tower is red."]))
        .await
        .unwrap();
    assert_eq!(finished.answer, "It is red.");
    // −0.5, −0.1, −0.9 and −0.1; the reasoning is not the answer's.
    let likelihood = finished.likelihood.unwrap();
    assert!((likelihood - (-0.4_f64).exp()).abs() < 1e-9, "{likelihood}");
    let requests = server.requests();
    assert_eq!(requests.len(), 1, "{requests:?}");
    assert_eq!(requests[0].json()["logprobs"], true);
}

#[tokio::test]
async fn a_server_that_refuses_log_probabilities_answers_and_is_not_asked_for_them_again() {
    for refusal in [
        r#"{"error":{"message":"'logprobs' is not supported with this model"}}"#,
        "bad request",
    ] {
        let (generator, server) = behind_http(Some(refusal)).await;
        for requests in [2, 3, 4] {
            let (_, finished) = generator
                .answer(ask("Which colour?", &["The tower is red."]))
                .await
                .unwrap();
            assert_eq!((finished.answer.as_str(), finished.likelihood), ("It is red.", None));
            assert_eq!(finished.finish_reason(), FinishReason::Stop);
            assert_eq!(server.seen().requests, requests);
        }
        let asked: Vec<bool> = server
            .requests()
            .iter()
            .map(|request| request.body.contains("logprobs"))
            .collect();
        assert_eq!(asked, [true, false, false, false]);
    }
}

#[tokio::test]
async fn a_model_that_fails_says_how_many_calls_were_made_and_that_no_other_helps() {
    let down = HttpAnswer::response("503 Service Unavailable", "retry-after-ms: 0\r\n", "");
    let server = HttpServer::start(move |_, _| down.clone()).await;
    let options = options(&["--backend", "openai", "--llm-url", server.url(), "--llm-model", "small"]);
    let generator = serve(backend::load(&options).await.unwrap(), options).await;
    let status = generator
        .answer(ask("Which?", &["The tower is red."]))
        .await
        .unwrap_err();
    let details = status.get_error_details();
    let info = details.error_info().unwrap();
    assert_eq!(info.reason, "MODEL_RATE_LIMITED");
    assert_eq!(
        (server.seen().requests, info.metadata["model_calls"].as_str()),
        (3, "3")
    );
    assert_eq!(info.metadata["model_error"], "rate_limited");
}

#[tokio::test]
async fn an_answer_without_an_end_is_cut_and_the_model_stopped() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let more = "data: {\"choices\":[{\"delta\":{\"content\":\"It is red. \"}}]}\n\n";
    let server = HttpServer::start(move |_, _| HttpAnswer::Endless(vec![head.into(), more.into()])).await;
    let options = options(&["--backend", "openai", "--llm-url", server.url(), "--llm-model", "small"]);
    let generator = serve(backend::load(&options).await.unwrap(), options).await;
    let mut request = ask("Which colour?", &["The tower is red."]);
    request.max_tokens = Some(20);
    let (_, finished) = generator.answer(request).await.unwrap();
    assert_eq!(finished.finish_reason(), FinishReason::Length);
    assert!(finished.answer.len() <= 20 * 32, "{}", finished.answer.len());
    let usage = finished.usage.unwrap();
    assert_eq!((usage.model_calls, usage.output_tokens), (1, 20));
    server.wait_for(0).await;
}
