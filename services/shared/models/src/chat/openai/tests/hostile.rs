//! Servers that go on for ever, and that want what was meant for another.

use super::*;
use crate::chat::Receipt;

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

fn short() -> (ChatRequest, Receipt) {
    let receipt = Receipt::default();
    let request = ChatRequest {
        max_tokens: Some(10),
        receipt: receipt.clone(),
        ..ask()
    };
    (request, receipt)
}

#[tokio::test]
async fn an_answer_without_an_end_is_cut_at_its_limit() {
    let more = b"data: {\"choices\":[{\"delta\":{\"content\":\"and then \"}}]}\n\n".to_vec();
    let server = HttpServer::start(move |_, _| HttpAnswer::Endless(vec![HEAD.into(), more.clone()])).await;
    let (request, receipt) = short();
    let deltas: Vec<_> = server.client(&[]).stream(request).collect().await;
    let text: String = deltas
        .iter()
        .filter_map(|delta| match delta {
            Ok(ChatDelta::Text(text)) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert!(
        text.starts_with("and then and then") && text.len() == 320,
        "{}",
        text.len()
    );
    let Some(Ok(ChatDelta::Finished { finish_reason, usage })) = deltas.last() else {
        panic!("{deltas:?}")
    };
    assert_eq!((*finish_reason, usage.output_tokens), (FinishReason::Length, 10));
    // The connection is closed, so the server stops.
    server.wait_for(0).await;
    assert_eq!(receipt.calls(), 1);
}

#[tokio::test]
async fn a_whole_reply_is_cut_at_its_limit() {
    let server = HttpServer::replying(vec![reply_with(&"và ".repeat(1000))]).await;
    let reply = server.client(&[]).complete(short().0).await.unwrap();
    assert!(
        reply.text.len() <= 320 && reply.text.len() > 310,
        "{}",
        reply.text.len()
    );
    assert_eq!(reply.finish_reason, FinishReason::Length);
}

#[tokio::test]
async fn what_never_ends_is_no_reply() {
    let status = "HTTP/1.1 200 OK\r\n";
    let cases: [(Vec<Vec<u8>>, &str); 4] = [
        // A line.
        (vec![HEAD.into(), vec![b'x'; 4096]], "too long"),
        // Words that the model only thinks.
        (
            vec![
                HEAD.into(),
                format!(
                    "data: {{\"choices\":[{{\"delta\":{{\"reasoning\":\"{}\"}}}}]}}\n\n",
                    "x".repeat(500_000)
                )
                .into(),
            ],
            "longer than",
        ),
        // Comments.
        (
            vec![HEAD.into(), format!(": {}\n", "x".repeat(500_000)).into()],
            "longer than",
        ),
        // Headers.
        (vec![status.into(), b"x-more: and more\r\n".repeat(100)], "unavailable"),
    ];
    for (parts, says) in cases {
        let server = HttpServer::start(move |_, _| HttpAnswer::Endless(parts.clone())).await;
        let deltas: Vec<_> = server.client(&[]).stream(short().0).collect().await;
        let [Err(error)] = deltas.as_slice() else {
            panic!("{says}: {} deltas", deltas.len())
        };
        assert!(error.to_string().contains(says), "{error}");
        server.wait_for(0).await;
    }
    let body = vec![format!("{status}\r\n").into_bytes(), vec![b' '; 1 << 16]];
    let server = HttpServer::start(move |_, _| HttpAnswer::Endless(body.clone())).await;
    let error = server.client(&[]).complete(short().0).await.unwrap_err();
    assert!(
        matches!(&error, ChatError::BadReply { reason, .. } if reason.contains("longer than")),
        "{error}"
    );
    // Of the body of an error only the beginning is read.
    let body = vec![
        b"HTTP/1.1 400 Bad Request\r\n\r\nno such model".to_vec(),
        vec![b'x'; 1 << 16],
    ];
    let server = HttpServer::start(move |_, _| HttpAnswer::Endless(body.clone())).await;
    let error = server.client(&[]).complete(short().0).await.unwrap_err();
    assert!(
        matches!(&error, ChatError::Rejected { reason, .. } if reason.starts_with("no such model")),
        "{error}"
    );
}

#[tokio::test]
async fn nesting_is_bounded() {
    let deep = |levels: usize| {
        let nested = format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        let body = format!(
            "{{\"choices\":[{{\"message\":{{\"content\":\"hi\",\"reasoning\":{nested}}},\"finish_reason\":\"stop\"}}]}}"
        );
        response("200 OK", "", &body)
    };
    let server = HttpServer::replying(vec![deep(10), deep(100_000)]).await;
    let client = server.client(&[]);
    assert_eq!(client.complete(ask()).await.unwrap().text, "hi");
    let error = client.complete(ask()).await.unwrap_err();
    assert!(matches!(error, ChatError::BadReply { .. }), "{error}");
}

#[tokio::test]
async fn neither_key_nor_question_follows_a_redirect() {
    for status in [
        "301 Moved Permanently",
        "302 Found",
        "307 Temporary Redirect",
        "308 Permanent Redirect",
    ] {
        let other = HttpServer::start(|_, _| reply_with("mine")).await;
        let to = other.url().replace("http://", "http://user:hidden@");
        let location = format!("location: {to}/v1/chat/completions\r\n");
        let server = HttpServer::start(move |_, _| response(status, &location, "")).await;
        let error = server.client(&[]).complete(ask()).await.unwrap_err();
        let error = error.to_string();
        assert!(
            error.contains("redirects to http://127.0.0.1") && !error.contains("hidden"),
            "{error}"
        );
        assert_eq!(other.seen().requests, 0);
    }
}

#[tokio::test]
async fn every_call_that_was_made_is_counted() {
    let server = HttpServer::start(|_, _| response("503 Service Unavailable", "retry-after-ms: 0\r\n", "")).await;
    let (request, receipt) = short();
    let error = server.client(&[]).complete(request).await.unwrap_err();
    assert_eq!((server.seen().requests, receipt.calls()), (3, 3));
    let failure = crate::chat::ModelFailure::new(error, &receipt).after(2);
    assert_eq!(
        (failure.reason(), failure.code()),
        (
            emend_core::Reason::ModelRateLimited,
            emend_core::Code::ResourceExhausted
        )
    );
    let metadata = failure.metadata();
    assert_eq!(
        metadata,
        [
            ("model_calls", "5".to_owned()),
            ("model_error", "rate_limited".to_owned())
        ]
    );
}
