//! Log-probabilities: parsed, streamed with the text, and optional.

use super::*;
use crate::chat::TokenLogprobs;

#[tokio::test]
async fn log_probabilities_are_read() {
    let body = json!({ "choices": [{
        "message": { "content": "yes" }, "finish_reason": "stop",
        "logprobs": { "content": [{ "token": "yes", "logprob": -0.2, "top_logprobs": [{ "token": "yes", "logprob": -0.2 }, { "token": "no", "logprob": -1.7 }] }] },
    }]});
    let server = HttpServer::replying(vec![response("200 OK", "", &body.to_string())]).await;
    let reply = server
        .client(&[])
        .complete(ChatRequest {
            top_logprobs: 5,
            ..ask()
        })
        .await
        .unwrap();
    assert_eq!(server.sent(0)["top_logprobs"], 5);
    assert!((crate::verdict::probability(&reply.logprobs).unwrap() - 0.8176).abs() < 1e-3);
}

fn with_logprobs() -> ChatRequest {
    ChatRequest {
        top_logprobs: 1,
        ..ask()
    }
}

#[tokio::test]
async fn a_stream_tells_the_tokens_of_each_piece_before_it() {
    let piece = |logprobs: &str| {
        format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"a b\"}},\"logprobs\":{logprobs}}}]}}\n\n")
    };
    let end = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
    let known = "{\"content\":[{\"token\":\"a\",\"logprob\":-0.5},{\"token\":\" b\",\"logprob\":null}]}";
    // Events without logprobs, or with an unknown format, are still valid.
    let text = [known, "null", "{\"tokens\":[\"a\"]}", "[-0.5]"].map(piece).concat() + end;
    let server = HttpServer::replying(vec![events(&[text.as_bytes()]), events(&[text.as_bytes()])]).await;
    let client = server.client(&[]);
    let found: Vec<_> = client.stream(with_logprobs()).map(Result::unwrap).collect().await;
    let tokens = vec![TokenLogprobs {
        token: "a".to_owned(),
        logprob: -0.5,
        top: Vec::new(),
    }];
    assert_eq!(
        found[..2],
        [ChatDelta::Logprobs(tokens), ChatDelta::Text("a b".to_owned())]
    );
    assert_eq!(found.len(), 6, "{found:?}");
    assert_eq!(server.sent(0)["logprobs"], true);
    // Not requested.
    assert_eq!(deltas(&client).await.len(), 5);
    assert_eq!(server.sent(1).get("logprobs"), None);
}

#[tokio::test]
async fn a_server_that_keeps_its_log_probabilities_is_not_asked_for_them_again() {
    let body = "{\"error\":{\"message\":\"You are not allowed to request logprobs from this model\"}}";
    for refusal in [
        response("400 Bad Request", "", body),
        response("403 Forbidden", "", body),
        response("400 Bad Request", "", "bad request"),
    ] {
        let said: &[u8] = b"data: {\"choices\":[{\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\n";
        let server = HttpServer::replying(vec![refusal, events(&[said]), events(&[said])]).await;
        let client = server.client(&[]);
        for _ in 0..2 {
            assert!(
                client
                    .stream(with_logprobs())
                    .all(|item| async move { item.is_ok() })
                    .await
            );
        }
        assert_eq!(server.seen().requests, 3);
        assert!((1..3).all(|index| server.sent(index).get("logprobs").is_none()));
    }
}

#[tokio::test]
async fn the_tokens_of_the_reasoning_are_none_of_the_text() {
    let piece = |delta: &str, token: &str| {
        format!(
            "data: {{\"choices\":[{{\"delta\":{delta},\"logprobs\":{{\"content\":[{{\"token\":\"{token}\",\"logprob\":-0.5}}]}}}}]}}\n\n"
        )
    };
    let text = [
        piece("{\"reasoning_content\":\"hm\"}", "hm"),
        piece("{\"content\":null,\"reasoning\":\"hm\"}", "hm"),
        piece("{\"content\":\"hi\",\"reasoning\":null}", "hi"),
        "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n".to_owned(),
    ]
    .concat();
    let server = HttpServer::replying(vec![events(&[text.as_bytes()])]).await;
    let found: Vec<_> = server
        .client(&[])
        .stream(with_logprobs())
        .map(Result::unwrap)
        .collect()
        .await;
    let tokens = found.iter().filter_map(|delta| match delta {
        ChatDelta::Logprobs(tokens) => Some(tokens.iter().map(|token| token.token.as_str())),
        _ => None,
    });
    assert_eq!(tokens.flatten().collect::<Vec<_>>(), ["hi"]);
}
