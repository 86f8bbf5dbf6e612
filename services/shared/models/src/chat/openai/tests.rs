mod clock;
mod dialect;
mod fallback;
mod hostile;
mod limit;
mod logprobs;
mod span;

use std::sync::Arc;

use clap::Parser;
use emend_core::ServiceError as _;
use emend_testkit::http_server::{HttpAnswer, HttpServer};
use futures::StreamExt;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::*;
use crate::chat::{FinishReason, Message, Receipt, ResponseSchema, Usage};

/// What is asked of the server of a test.
trait Asked {
    /// A client of it.
    fn client(&self, flags: &[&str]) -> OpenAi;
    /// The body of the request with this number, from 0.
    fn sent(&self, index: usize) -> Value;
}

impl Asked for HttpServer {
    fn client(&self, flags: &[&str]) -> OpenAi {
        OpenAi::new(&options(flags), self.url()).unwrap()
    }

    fn sent(&self, index: usize) -> Value {
        self.requests()[index].json()
    }
}

fn options(flags: &[&str]) -> ChatOptions {
    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        chat: ChatOptions,
    }
    let mut options = Cli::parse_from(["x"].iter().chain(flags)).chat;
    options.llm_api_key = Some("sk-secret".to_owned().into());
    options.llm_model.get_or_insert_with(|| "small".to_owned());
    options
}

fn response(status: &str, headers: &str, body: &str) -> HttpAnswer {
    HttpAnswer::response(status, headers, body)
}

/// 429 with a header line of its own, or none.
fn busy(header: &str) -> HttpAnswer {
    response(
        "429 Too Many Requests",
        header,
        "{\"error\":{\"message\":\"slow down\"}}",
    )
}

fn reply_with(text: &str) -> HttpAnswer {
    let body = json!({
        "model": "small-2026",
        "choices": [{ "message": { "role": "assistant", "content": text }, "finish_reason": "stop" }],
        "usage": { "prompt_tokens": 7, "completion_tokens": 2 },
    });
    response("200 OK", "", &body.to_string())
}

/// A stream of these pieces.
fn events(parts: &[&[u8]]) -> HttpAnswer {
    HttpAnswer::Bytes(pieces(parts))
}

fn pieces(parts: &[&[u8]]) -> Vec<Vec<u8>> {
    let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n".to_vec();
    std::iter::once(head)
        .chain(parts.iter().map(|part| part.to_vec()))
        .collect()
}

fn ask() -> ChatRequest {
    ChatRequest::new(vec![Message::system("be brief"), Message::user("hello")])
}

fn with_schema() -> ChatRequest {
    ChatRequest {
        response_schema: Some(ResponseSchema {
            name: "GradeDocuments",
            schema: json!({ "type": "object" }),
            max_tokens: 16,
        }),
        ..ask()
    }
}

async fn deltas(client: &OpenAi) -> Vec<Result<ChatDelta, ChatError>> {
    client.stream(ask()).collect().await
}

#[tokio::test]
async fn a_whole_reply_comes_back_with_its_usage() {
    let server = HttpServer::replying(vec![reply_with("hi")]).await;
    let reply = server
        .client(&[])
        .complete(ChatRequest {
            seed: Some(7),
            ..with_schema()
        })
        .await
        .unwrap();
    assert_eq!((reply.text.as_str(), reply.model.as_str()), ("hi", "small-2026"));
    assert_eq!(
        reply.usage,
        Usage {
            input_tokens: 7,
            output_tokens: 2
        }
    );
    let sent = server.sent(0);
    assert_eq!(sent["messages"][1], json!({ "role": "user", "content": "hello" }));
    assert_eq!(sent["response_format"]["json_schema"]["name"], "GradeDocuments");
    assert_eq!(
        (&sent["seed"], &sent["temperature"], &sent["max_tokens"]),
        (&json!(7), &json!(0.0), &json!(16))
    );
    let head = server.requests()[0].head.clone();
    assert!(head.starts_with("POST /v1/chat/completions"), "{head}");
    assert!(head.to_lowercase().contains("authorization: bearer sk-secret"));
}

#[tokio::test]
async fn a_stream_may_be_cut_anywhere_even_inside_a_character() {
    let text = "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"물은\"}}]}\n\n: ping\n\ndata: {\"choices\":[{\"delta\":{\"content\":\" H₂O\"},\"finish_reason\":\"stop\"}]}\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":4}}\n\ndata: [DONE]\n\n";
    let bytes: Vec<&[u8]> = text.as_bytes().chunks(5).collect();
    let server = HttpServer::replying(vec![events(&bytes)]).await;
    let found = deltas(&server.client(&[])).await;
    assert_eq!(
        found,
        [
            Ok(ChatDelta::Text("물은".to_owned())),
            Ok(ChatDelta::Text(" H₂O".to_owned())),
            Ok(ChatDelta::Finished {
                finish_reason: FinishReason::Stop,
                usage: Usage {
                    input_tokens: 3,
                    output_tokens: 4
                }
            }),
        ]
    );
    assert_eq!(server.sent(0)["stream_options"]["include_usage"], true);
}

#[tokio::test]
async fn streams_that_break_are_errors() {
    let open: &[u8] = b"data: {\"choices\":[{\"delta\":{\"content\":\"half\"}}]}\n\n";
    let cases: Vec<(&str, Vec<&[u8]>)> = vec![
        ("ended before", vec![open]),
        ("not a chat completion", vec![open, b"data: {\"choices\":[{\"del\n\n"]),
        ("not a chat completion", vec![b"data: <html>\n\n"]),
        (
            "overloaded",
            vec![b"data: {\"error\":{\"message\":\"overloaded\"}}\n\n"],
        ),
        ("ended before", vec![b"data: [DONE]\n\n"]),
        (
            "empty",
            vec![b"data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"],
        ),
    ];
    for (expected, parts) in cases {
        let server = HttpServer::replying(vec![events(&parts)]).await;
        let found = deltas(&server.client(&[])).await;
        let last = found.last().unwrap().as_ref().unwrap_err();
        assert!(
            matches!(last, ChatError::BadReply { .. }) && last.to_string().contains(expected),
            "{last}"
        );
        assert_eq!(found.iter().filter(|item| item.is_err()).count(), 1);
    }
}

#[tokio::test]
async fn a_stream_cut_inside_of_a_chunk_is_an_error() {
    let head =
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\nff\r\ndata: {\"choices\":[{\"del"
            .to_vec();
    let server = HttpServer::replying(vec![HttpAnswer::Bytes(vec![head])]).await;
    let found = deltas(&server.client(&[])).await;
    assert!(
        matches!(found.as_slice(), [Err(ChatError::BadReply { reason, .. })] if reason.contains("cut")),
        "{found:?}"
    );
}

#[tokio::test]
async fn bad_whole_replies_are_errors() {
    for (body, expected) in [
        ("<html>", "not a chat completion"),
        ("{\"choices\":[]}", "no choices"),
        (
            "{\"choices\":[{\"message\":{\"content\":null},\"finish_reason\":\"length\"}]}",
            "finished with `length`",
        ),
        ("{\"error\":\"model is loading\"}", "model is loading"),
    ] {
        let server = HttpServer::replying(vec![response("200 OK", "", body)]).await;
        let error = server.client(&[]).complete(ask()).await.unwrap_err();
        assert!(
            matches!(error, ChatError::BadReply { .. }) && error.to_string().contains(expected),
            "{error}"
        );
    }
    let refusal =
        json!({ "choices": [{ "message": { "content": null, "refusal": "I will not" }, "finish_reason": "stop" }] });
    let server = HttpServer::replying(vec![response("200 OK", "", &refusal.to_string())]).await;
    assert!(matches!(
        server.client(&[]).complete(ask()).await,
        Err(ChatError::Refused { .. })
    ));
}

#[tokio::test]
async fn what_fails_in_passing_is_tried_again() {
    let busy = response(
        "429 Too Many Requests",
        "retry-after: 0\r\n",
        "{\"error\":{\"message\":\"slow down\"}}",
    );
    let down = response("503 Service Unavailable", "retry-after-ms: 1\r\n", "");
    let server = HttpServer::replying(vec![busy.clone(), down, reply_with("third time")]).await;
    assert_eq!(server.client(&[]).complete(ask()).await.unwrap().text, "third time");

    let server = HttpServer::replying(vec![busy.clone(), busy.clone(), busy]).await;
    let error = server.client(&[]).complete(ask()).await.unwrap_err();
    assert!(
        matches!(&error, ChatError::RateLimited { reason, .. } if reason == "slow down"),
        "{error}"
    );
    assert_eq!(server.seen().requests, 3);
}

#[tokio::test]
async fn no_retry_waits_beyond_the_deadline() {
    let later = response("429 Too Many Requests", "retry-after: 3600\r\n", "");
    let server = HttpServer::replying(vec![later, reply_with("too late")]).await;
    let error = server.client(&[]).complete(ask()).await.unwrap_err();
    assert_eq!(error.retry_after(), Some(Duration::from_secs(3600)));
    assert_eq!(server.seen().requests, 1);
}

#[tokio::test]
async fn errors_that_stay_are_not_tried_again() {
    let wrong = response(
        "401 Unauthorized",
        "",
        "{\"error\":{\"message\":\"bad key sk-secret\"}}",
    );
    let server = HttpServer::replying(vec![wrong, reply_with("no")]).await;
    let error = server.client(&[]).complete(ask()).await.unwrap_err();
    assert!(matches!(error, ChatError::Unauthorized { status: 401, .. }));
    assert!(error.to_string().contains("bad key ***") && !format!("{error:?}").contains("sk-secret"));
    assert_eq!(server.seen().requests, 1);

    let long = response(
        "400 Bad Request",
        "",
        "{\"error\":{\"message\":\"context length exceeded\"}}",
    );
    let server = HttpServer::replying(vec![long]).await;
    let error = server.client(&[]).complete(ask()).await.unwrap_err();
    assert!(matches!(error, ChatError::Rejected { status: 400, .. }) && error.to_string().contains("context length"));
}

#[tokio::test]
async fn an_empty_reply_is_one_where_it_may_be() {
    let ends = |reason: &str| format!("data: {{\"choices\":[{{\"delta\":{{}},\"finish_reason\":\"{reason}\"}}]}}\n\n");
    for (reason, is_reply) in [("stop", true), ("length", false)] {
        let server = HttpServer::replying(vec![events(&[ends(reason).as_bytes()])]).await;
        let request = ChatRequest {
            may_be_empty: true,
            ..ask()
        };
        let found: Vec<_> = server.client(&[]).stream(request).collect().await;
        assert_eq!((found.len(), found[0].is_ok()), (1, is_reply), "{found:?}");
    }
}

#[tokio::test]
async fn the_deadline_ends_a_call_that_hangs() {
    let server = HttpServer::replying(vec![]).await;
    let client = server.client(&["--llm-timeout", "50ms"]);
    assert!(matches!(client.complete(ask()).await, Err(ChatError::Timeout { .. })));
    let server = HttpServer::replying(vec![]).await;
    let client = server.client(&["--llm-timeout", "600s"]);
    let soon = ChatRequest {
        deadline: Some(Instant::now() + Duration::from_millis(50)),
        ..ask()
    };
    let found: Vec<_> = client.stream(soon).collect().await;
    assert!(matches!(found.as_slice(), [Err(ChatError::Timeout { .. })]));
}

#[tokio::test]
async fn a_server_that_is_not_there_is_unavailable() {
    let client = OpenAi::new(&options(&[]), "http://127.0.0.1:1").unwrap();
    let error = client.complete(ask()).await.unwrap_err();
    assert!(
        error.is_transient() && matches!(error, ChatError::Unavailable { .. }),
        "{error}"
    );
}

#[test]
fn base_urls_are_completed() {
    for (base, expected) in [
        ("http://localhost:8000", "http://localhost:8000/v1/chat/completions"),
        ("http://localhost:8000/v1/", "http://localhost:8000/v1/chat/completions"),
        ("https://host/api", "https://host/api/v1/chat/completions"),
        (
            "https://host/v1beta/openai",
            "https://host/v1beta/openai/chat/completions",
        ),
        ("https://host/v1/chat/completions", "https://host/v1/chat/completions"),
    ] {
        assert_eq!(endpoint(base).map(String::from), Ok(expected.to_owned()), "{base}");
    }
    assert!(endpoint("localhost:8000").is_err() && endpoint("ftp://host").is_err() && endpoint("").is_err());
}
