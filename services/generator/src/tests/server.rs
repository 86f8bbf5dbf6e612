//! A language model behind HTTP, from the request to the answer.

use std::sync::{Arc, Mutex};

use emend_proto::v1::FinishReason;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

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

/// Bodies of the requests that a server was sent, in order.
type Bodies = Arc<Mutex<Vec<String>>>;

/// A generator whose model is a server on 127.0.0.1. It refuses what asks for log-probabilities with `refusal`, where
/// there is one.
async fn behind_http(refusal: Option<&'static str>) -> (Generator, Bodies) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let bodies = Bodies::default();
    let kept = Arc::clone(&bodies);
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let body = read(&mut socket).await;
            let (status, kind, said) = match refusal {
                Some(words) if body.contains("logprobs") => ("400 Bad Request", "application/json", words),
                Some(_) => ("200 OK", "text/event-stream", UNTOLD),
                None => ("200 OK", "text/event-stream", TOLD),
            };
            kept.lock().unwrap().push(body);
            let length = said.len();
            let answer = format!(
                "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{said}"
            );
            socket.write_all(answer.as_bytes()).await.unwrap();
            socket.shutdown().await.ok();
        }
    });
    let options = options(&["--backend", "openai", "--llm-url", &url, "--llm-model", "small"]);
    (serve(backend::load(&options).await.unwrap(), options).await, bodies)
}

async fn read(socket: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    loop {
        let mut chunk = [0; 4096];
        let count = socket.read(&mut chunk).await.unwrap();
        bytes.extend_from_slice(&chunk[..count]);
        let text = String::from_utf8_lossy(&bytes).to_lowercase();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
        if body.len() >= length.map_or(0, |length| length.trim().parse().unwrap()) {
            return body.to_owned();
        }
    }
}

#[tokio::test]
async fn the_likelihood_is_read_from_the_tokens_that_the_server_tells() {
    let (generator, bodies) = behind_http(None).await;
    let (_, finished) = generator
        .answer(ask("Which colour?", &["The tower is red."]))
        .await
        .unwrap();
    assert_eq!(finished.answer, "It is red.");
    // −0.5, −0.1, −0.9 and −0.1; the reasoning is not the answer's.
    let likelihood = finished.likelihood.unwrap();
    assert!((likelihood - (-0.4_f64).exp()).abs() < 1e-9, "{likelihood}");
    let bodies = bodies.lock().unwrap();
    assert!(
        bodies.len() == 1 && bodies[0].contains("\"logprobs\":true"),
        "{bodies:?}"
    );
}

#[tokio::test]
async fn a_server_that_refuses_log_probabilities_answers_and_is_not_asked_for_them_again() {
    for refusal in [
        r#"{"error":{"message":"'logprobs' is not supported with this model"}}"#,
        "bad request",
    ] {
        let (generator, bodies) = behind_http(Some(refusal)).await;
        for requests in [2, 3, 4] {
            let (_, finished) = generator
                .answer(ask("Which colour?", &["The tower is red."]))
                .await
                .unwrap();
            assert_eq!((finished.answer.as_str(), finished.likelihood), ("It is red.", None));
            assert_eq!(finished.finish_reason(), FinishReason::Stop);
            assert_eq!(bodies.lock().unwrap().len(), requests);
        }
        let asked: Vec<bool> = bodies
            .lock()
            .unwrap()
            .iter()
            .map(|body| body.contains("logprobs"))
            .collect();
        assert_eq!(asked, [true, false, false, false]);
    }
}
