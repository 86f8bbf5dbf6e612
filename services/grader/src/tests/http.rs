//! A model behind HTTP that misbehaves.

use std::sync::Arc;

use emend_models::prompt::{PromptOptions, Prompts};
use emend_proto::v1::Relevance;
use emend_testkit::http_server::{HttpAnswer, HttpServer, response};

use super::{Grader, documents, options, relevances, serve, soon};
use crate::backend::{LlmBackend, LlmSettings};

/// What to send for the body of a request; none keeps the connection open without a word.
async fn server(answer: fn(&str) -> Option<Vec<u8>>) -> HttpServer {
    HttpServer::start(move |_, request| match answer(&request.body) {
        Some(answer) => HttpAnswer::Bytes(vec![answer]),
        None => HttpAnswer::Stuck(Vec::new()),
    })
    .await
}

/// A grader that asks this server.
async fn grader(server: &HttpServer, flags: &[&str]) -> Grader {
    let mut options = options(flags);
    options.chat.llm_url = Some(server.url().to_owned());
    options.chat.llm_model = Some("small".to_owned());
    let chat = options.chat.connect().unwrap().unwrap();
    let settings = LlmSettings::from_options(&options.llm).unwrap();
    let prompts = Prompts::load(&PromptOptions::default()).unwrap();
    serve(Arc::new(LlmBackend::new(chat, prompts, settings)), options).await
}

fn says(text: &str) -> Vec<u8> {
    let body = format!("{{\"choices\":[{{\"message\":{{\"content\":\"{text}\"}},\"finish_reason\":\"stop\"}}]}}");
    response("200 OK", "", &body)
}

#[tokio::test]
async fn a_grade_that_cannot_be_had_is_ungraded_whatever_the_server_does() {
    let model = server(|body| {
        let answers = [
            ("well", says("yes")),
            (
                "limited",
                response("429 Too Many Requests", "retry-after: 0\r\n", "slow down"),
            ),
            (
                "broken",
                response("500 Internal Server Error", "retry-after-ms: 0\r\n", ""),
            ),
            ("garbage", response("200 OK", "", "{\"choices\": [{\"mess")),
            (
                "page",
                response("200 OK", "content-type: text/html\r\n", "<html>yes</html>"),
            ),
            ("choiceless", response("200 OK", "", "{\"choices\": []}")),
            ("silent", says("")),
            (
                "refusing",
                response(
                    "200 OK",
                    "",
                    "{\"choices\":[{\"message\":{\"refusal\":\"yes, I refuse\"},\"finish_reason\":\"stop\"}]}",
                ),
            ),
            (
                "cut",
                b"HTTP/1.1 200 OK\r\ncontent-length: 900\r\nconnection: close\r\n\r\n{\"choices\":[]}".to_vec(),
            ),
            ("rejected", response("400 Bad Request", "", "context length")),
        ];
        answers
            .into_iter()
            .find(|(word, _)| body.contains(word))
            .map(|(_, answer)| answer)
    })
    .await;
    let mut grader = grader(&model, &[]).await;
    let words = [
        "well",
        "limited",
        "broken",
        "garbage",
        "page",
        "choiceless",
        "silent",
        "refusing",
        "cut",
        "rejected",
    ];
    let response = soon(grader.client.grade_documents(documents("Which?", &words)))
        .await
        .unwrap()
        .into_inner();
    assert_eq!(
        response.grades[0].relevance(),
        Relevance::Relevant,
        "{:?}",
        response.grades[0]
    );
    for (word, grade) in words.iter().zip(&response.grades).skip(1) {
        assert_eq!(
            (grade.relevance(), grade.score),
            (Relevance::Ungraded, None),
            "{word}: {grade:?}"
        );
        assert!(!grade.error.is_empty(), "{word}");
    }
    let usage = response.usage.unwrap();
    assert_eq!(
        usage.model_calls as usize,
        model.seen().requests,
        "every call is counted"
    );
    // Two of them are tried three times, and one is searched for what the server does not understand.
    assert!(model.seen().requests <= 10 + 2 * 2 + 3, "{}", model.seen().requests);
}

#[tokio::test]
async fn a_model_that_never_ends_its_reply_leaves_its_passages_ungraded() {
    let model = server(|_| None).await;
    let mut grader = grader(&model, &["--llm-timeout", "100ms", "--llm-concurrency", "2"]).await;
    let found = relevances(&mut grader, documents("Which?", &["a", "b", "c", "d"])).await;
    assert_eq!(found, (vec![Relevance::Ungraded; 4], 4));
}

#[tokio::test]
async fn a_server_without_schemas_grades_all_the_same() {
    let model = server(|body| {
        Some(if body.contains("response_format") || body.contains("logprobs") {
            response("400 Bad Request", "", "unknown parameter")
        } else {
            says("Yes, it does.")
        })
    })
    .await;
    let mut grader = grader(&model, &[]).await;
    let (found, calls) = relevances(&mut grader, documents("Which?", &["a"])).await;
    assert_eq!(
        (found, calls as usize),
        (vec![Relevance::Relevant], model.seen().requests)
    );
}

#[tokio::test]
async fn a_fallback_grades_what_the_model_cannot_and_each_call_counts() {
    let down = server(|_| Some(response("503 Service Unavailable", "retry-after: 3600\r\n", ""))).await;
    let up = server(|_| Some(says("no"))).await;
    let fallback = format!("{}#other", up.url());
    let mut grader = grader(&down, &["--llm-fallback", &fallback]).await;
    let found = relevances(&mut grader, documents("Which?", &["a"])).await;
    assert_eq!(found, (vec![Relevance::Irrelevant], 2));
    // It is no grade of the model that was asked, and that is not asked again while it wants to be left alone.
    let found = relevances(&mut grader, documents("Which?", &["a"])).await;
    assert_eq!(found, (vec![Relevance::Irrelevant], 1));
    assert_eq!((down.seen().requests, up.seen().requests), (1, 2));
}

#[tokio::test]
async fn a_verdict_that_cannot_be_read_is_asked_of_the_next_model() {
    fn said(text: &str) -> Option<Vec<u8>> {
        let choice = format!("{{\"message\":{{\"content\":\"{text}\"}},\"finish_reason\":\"stop\"}}");
        let usage = "{\"prompt_tokens\":10,\"completion_tokens\":1}";
        let body = format!("{{\"choices\":[{choice}],\"usage\":{usage}}}");
        Some(response("200 OK", "", &body))
    }
    let first = server(|body| said(if body.contains("alpha") { "yes" } else { "perhaps" })).await;
    let second = server(|body| said(if body.contains("beta") { "no" } else { "well" })).await;
    let fallback = format!("{}#other", second.url());
    let mut grader = grader(&first, &["--llm-fallback", &fallback]).await;
    let request = || documents("Which?", &["alpha", "beta", "gamma"]);
    let grades = vec![Relevance::Relevant, Relevance::Irrelevant, Relevance::Ungraded];
    assert_eq!(relevances(&mut grader, request()).await, (grades.clone(), 5));
    // What another model said is not kept for the one that is asked.
    assert_eq!(relevances(&mut grader, request()).await, (grades, 4));
    assert_eq!((first.seen().requests, second.seen().requests), (5, 4));
    let response = soon(grader.client.grade_documents(request()))
        .await
        .unwrap()
        .into_inner();
    let usage = response.usage.unwrap();
    assert_eq!((usage.model_calls, usage.input_tokens, usage.output_tokens), (4, 40, 4));
}
