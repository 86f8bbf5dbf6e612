//! A model behind HTTP that misbehaves.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use emend_models::prompt::{PromptOptions, Prompts};
use emend_proto::v1::Relevance;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::{Grader, documents, options, relevances, serve, soon};
use crate::backend::{LlmBackend, LlmSettings};

/// What to send for a request; none keeps the connection open without a word.
type Answer = fn(&str) -> Option<String>;

/// A server on 127.0.0.1 that answers with what `answer` makes of the body of a request.
struct Server {
    url: String,
    requests: Arc<AtomicUsize>,
}

impl Server {
    async fn start(answer: Answer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&requests);
        tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                let count = Arc::clone(&count);
                tokio::spawn(async move {
                    let mut bytes = Vec::new();
                    let mut chunk = [0; 4096];
                    let body = loop {
                        let read = socket.read(&mut chunk).await.unwrap_or(0);
                        if read == 0 {
                            return;
                        }
                        bytes.extend_from_slice(&chunk[..read]);
                        let text = String::from_utf8_lossy(&bytes).into_owned();
                        let Some((head, body)) = text.split_once("\r\n\r\n") else {
                            continue;
                        };
                        let head = head.to_lowercase();
                        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
                        if length.is_some_and(|length| Ok(body.len()) == length.parse()) {
                            break body.to_owned();
                        }
                    };
                    count.fetch_add(1, Ordering::SeqCst);
                    match answer(&body) {
                        Some(answer) => {
                            socket.write_all(answer.as_bytes()).await.ok();
                            socket.shutdown().await.ok();
                        }
                        None => while socket.read(&mut chunk).await.is_ok_and(|read| read > 0) {},
                    }
                });
            }
        });
        Self { url, requests }
    }

    fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }

    /// A grader that asks this server.
    async fn grader(&self, flags: &[&str]) -> Grader {
        let mut options = options(flags);
        options.chat.llm_url = Some(self.url.clone());
        options.chat.llm_model = Some("small".to_owned());
        let chat = options.chat.connect().unwrap().unwrap();
        let settings = LlmSettings::from_options(&options.llm).unwrap();
        let prompts = Prompts::load(&PromptOptions::default()).unwrap();
        serve(Arc::new(LlmBackend::new(chat, prompts, settings)), options).await
    }
}

fn http(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}\r\n{body}")
}

fn says(text: &str) -> String {
    let body = format!("{{\"choices\":[{{\"message\":{{\"content\":\"{text}\"}},\"finish_reason\":\"stop\"}}]}}");
    http("200 OK", "", &body)
}

#[tokio::test]
async fn a_grade_that_cannot_be_had_is_ungraded_whatever_the_server_does() {
    let server = Server::start(|body| {
        let answers = [
            ("well", says("yes")),
            (
                "limited",
                http("429 Too Many Requests", "retry-after: 0\r\n", "slow down"),
            ),
            ("broken", http("500 Internal Server Error", "retry-after-ms: 0\r\n", "")),
            ("garbage", http("200 OK", "", "{\"choices\": [{\"mess")),
            (
                "page",
                http("200 OK", "content-type: text/html\r\n", "<html>yes</html>"),
            ),
            ("choiceless", http("200 OK", "", "{\"choices\": []}")),
            ("silent", says("")),
            (
                "refusing",
                http(
                    "200 OK",
                    "",
                    "{\"choices\":[{\"message\":{\"refusal\":\"yes, I refuse\"},\"finish_reason\":\"stop\"}]}",
                ),
            ),
            (
                "cut",
                http("200 OK", "", "{\"choices\":[]}").replace("length: 14", "length: 900"),
            ),
            ("rejected", http("400 Bad Request", "", "context length")),
        ];
        answers
            .into_iter()
            .find(|(word, _)| body.contains(word))
            .map(|(_, answer)| answer)
    })
    .await;
    let mut grader = server.grader(&[]).await;
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
    assert_eq!(response.usage.unwrap().model_calls, 10);
    // Two of them are tried three times, and one is searched for what the server does not understand.
    assert!(server.requests() <= 10 + 2 * 2 + 3, "{}", server.requests());
}

#[tokio::test]
async fn a_model_that_never_ends_its_reply_leaves_its_passages_ungraded() {
    let server = Server::start(|_| None).await;
    let mut grader = server
        .grader(&["--llm-timeout", "100ms", "--llm-concurrency", "2"])
        .await;
    let found = relevances(&mut grader, documents("Which?", &["a", "b", "c", "d"])).await;
    assert_eq!(found, (vec![Relevance::Ungraded; 4], 4));
}

#[tokio::test]
async fn a_server_without_schemas_grades_all_the_same() {
    let server = Server::start(|body| {
        Some(if body.contains("response_format") || body.contains("logprobs") {
            http("400 Bad Request", "", "unknown parameter")
        } else {
            says("Yes, it does.")
        })
    })
    .await;
    let mut grader = server.grader(&[]).await;
    let found = relevances(&mut grader, documents("Which?", &["a"])).await;
    assert_eq!(found, (vec![Relevance::Relevant], 1));
}

#[tokio::test]
async fn a_fallback_grades_what_the_model_cannot_and_each_call_counts() {
    let down = Server::start(|_| Some(http("503 Service Unavailable", "retry-after: 3600\r\n", ""))).await;
    let up = Server::start(|_| Some(says("no"))).await;
    let fallback = format!("{}#other", up.url);
    let mut grader = down.grader(&["--llm-fallback", &fallback]).await;
    let found = relevances(&mut grader, documents("Which?", &["a"])).await;
    assert_eq!(found, (vec![Relevance::Irrelevant], 2));
    // It is no grade of the model that was asked, and that is not asked again while it wants to be left alone.
    let found = relevances(&mut grader, documents("Which?", &["a"])).await;
    assert_eq!(found, (vec![Relevance::Irrelevant], 1));
    assert_eq!((down.requests(), up.requests()), (1, 2));
}

#[tokio::test]
async fn a_verdict_that_cannot_be_read_is_asked_of_the_next_model() {
    fn said(text: &str) -> Option<String> {
        let choice = format!("{{\"message\":{{\"content\":\"{text}\"}},\"finish_reason\":\"stop\"}}");
        let usage = "{\"prompt_tokens\":10,\"completion_tokens\":1}";
        let body = format!("{{\"choices\":[{choice}],\"usage\":{usage}}}");
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close", body.len());
        Some(format!("{head}\r\n\r\n{body}"))
    }
    let first = Server::start(|body| said(if body.contains("alpha") { "yes" } else { "perhaps" })).await;
    let second = Server::start(|body| said(if body.contains("beta") { "no" } else { "well" })).await;
    let fallback = format!("{}#other", second.url);
    let mut grader = first.grader(&["--llm-fallback", &fallback]).await;
    let request = || documents("Which?", &["alpha", "beta", "gamma"]);
    let grades = vec![Relevance::Relevant, Relevance::Irrelevant, Relevance::Ungraded];
    assert_eq!(relevances(&mut grader, request()).await, (grades.clone(), 5));
    // What another model said is not kept for the one that is asked.
    assert_eq!(relevances(&mut grader, request()).await, (grades, 4));
    assert_eq!((first.requests(), second.requests()), (5, 4));
    let response = soon(grader.client.grade_documents(request()))
        .await
        .unwrap()
        .into_inner();
    let usage = response.usage.unwrap();
    assert_eq!((usage.model_calls, usage.input_tokens, usage.output_tokens), (4, 40, 4));
}
