//! Unsupported features are detected once and then left out.

use super::*;

fn rejected(words: &str) -> HttpAnswer {
    let body = json!({ "error": { "message": words } }).to_string();
    response("400 Bad Request", "", &body)
}

fn vague() -> HttpAnswer {
    response("400 Bad Request", "", "bad request")
}

/// The response format of a request.
fn form(sent: &Value) -> &str {
    sent["response_format"]["type"].as_str().unwrap_or("text")
}

fn says_schema(sent: &Value) -> bool {
    sent["messages"][0]["content"].as_str().unwrap().contains("JSON schema")
}

#[tokio::test]
async fn a_schema_becomes_json_and_then_words_from_then_on() {
    let answers = vec![
        rejected("response_format of type 'json_schema' is not supported"),
        reply_with("{}"),
        reply_with("{}"),
        rejected("unknown field `response_format`"),
        reply_with("{}"),
        reply_with("{}"),
    ];
    let server = HttpServer::replying(answers).await;
    let client = server.client(&[]);
    for _ in 0..4 {
        client.complete(with_schema()).await.unwrap();
    }
    let sent: Vec<Value> = (0..server.seen().requests).map(|index| server.sent(index)).collect();
    let forms: Vec<&str> = sent.iter().map(form).collect();
    assert_eq!(
        forms,
        [
            "json_schema",
            "json_object",
            "json_object",
            "json_object",
            "text",
            "text"
        ]
    );
    assert!(!says_schema(&sent[0]) && sent[1..].iter().all(says_schema));
}

#[tokio::test]
async fn a_vague_rejection_is_the_schemas_fault_only_when_it_works_without() {
    let server = HttpServer::replying(vec![vague(), reply_with("{}"), reply_with("{}")]).await;
    let client = server.client(&[]);
    client.complete(with_schema()).await.unwrap();
    client.complete(with_schema()).await.unwrap();
    assert_eq!((server.seen().requests, form(&server.sent(2))), (3, "json_object"));

    let server = HttpServer::replying(vec![vague(), vague(), reply_with("{}"), reply_with("{}")]).await;
    let client = server.client(&[]);
    client.complete(with_schema()).await.unwrap();
    client.complete(with_schema()).await.unwrap();
    assert_eq!((server.seen().requests, form(&server.sent(3))), (4, "text"));

    let server = HttpServer::replying(vec![vague(), vague(), vague(), reply_with("{}")]).await;
    let client = server.client(&[]);
    assert!(client.complete(with_schema()).await.is_err());
    client.complete(with_schema()).await.unwrap();
    assert_eq!((server.seen().requests, form(&server.sent(3))), (4, "json_schema"));
}

#[tokio::test]
async fn what_a_server_has_taken_is_not_suspected() {
    let server = HttpServer::replying(vec![reply_with("{}"), vague(), reply_with("{}")]).await;
    let client = server.client(&[]);
    client.complete(with_schema()).await.unwrap();
    let error = client.complete(with_schema()).await.unwrap_err();
    assert!(matches!(error, ChatError::Rejected { .. }));
    client.complete(with_schema()).await.unwrap();
    assert_eq!((server.seen().requests, form(&server.sent(2))), (3, "json_schema"));
}

#[tokio::test]
async fn a_server_that_rejects_everything_is_not_searched_for_ever() {
    let server = HttpServer::replying(std::iter::repeat_with(vague).take(60).collect()).await;
    let client = server.client(&[]);
    for _ in 0..20 {
        assert!(client.complete(with_schema()).await.is_err());
    }
    // Eight searches with three requests each, and one request for each of the other twelve.
    assert_eq!(server.seen().requests, 8 * 3 + 12);
}

#[tokio::test]
async fn a_server_that_breaks_on_a_schema_is_asked_without() {
    let broken = response(
        "500 Internal Server Error",
        "",
        "{\"error\":{\"message\":\"failed to parse grammar\"}}",
    );
    let server = HttpServer::replying(vec![broken, reply_with("{}")]).await;
    server.client(&[]).complete(with_schema()).await.unwrap();
    assert_eq!(form(&server.sent(1)), "json_object");
}

/// A reply that the limit on its length has cut.
fn cut(text: &str) -> HttpAnswer {
    let body = json!({
        "choices": [{ "message": { "content": text, "reasoning_content": "hm" }, "finish_reason": "length" }],
        "usage": { "prompt_tokens": 7, "completion_tokens": 16 },
    });
    response("200 OK", "", &body.to_string())
}

#[tokio::test]
async fn a_reply_is_limited_by_its_schema_until_a_model_needs_room_to_reason() {
    for beginning in ["", "<think>The passage"] {
        let server = HttpServer::replying(vec![
            reply_with("{}"),
            cut(beginning),
            reply_with("{}"),
            reply_with("{}"),
        ])
        .await;
        let client = server.client(&[]);
        client.complete(with_schema()).await.unwrap();
        let receipt = Receipt::default();
        let request = ChatRequest {
            receipt: receipt.clone(),
            ..with_schema()
        };
        assert_eq!(client.complete(request).await.unwrap().text, "{}");
        assert_eq!((receipt.calls(), receipt.waste().output_tokens), (2, 16));
        client.complete(with_schema()).await.unwrap();
        let limits: Vec<Value> = (0..4).map(|index| server.sent(index)["max_tokens"].clone()).collect();
        assert_eq!(limits, [json!(16), json!(16), json!(1024), json!(1024)]);
    }
}

#[tokio::test]
async fn a_reply_longer_than_its_schema_allows_or_than_the_request_is_not_asked_for_again() {
    let server = HttpServer::replying(vec![cut("{\"query\": \"a a a"), cut("hm"), cut("hm"), cut("hm")]).await;
    let client = server.client(&[]);
    for calls in [1, 3, 4] {
        let reply = client.complete(with_schema()).await.unwrap();
        assert_eq!(
            (reply.finish_reason, server.seen().requests),
            (FinishReason::Length, calls)
        );
    }
}

#[tokio::test]
async fn newer_names_and_missing_parameters_are_learnt() {
    let answers = vec![
        rejected("Use 'max_completion_tokens' instead."),
        rejected("'temperature' does not support 0"),
        rejected("Unrecognized request argument: frequency_penalty"),
        rejected("seed: extra fields not permitted"),
        reply_with("ok"),
        reply_with("ok"),
    ];
    let server = HttpServer::replying(answers).await;
    let client = server.client(&["--llm-frequency-penalty", "0.5", "--llm-seed", "7"]);
    client.complete(ask()).await.unwrap();
    client.complete(ask()).await.unwrap();
    assert_eq!(server.seen().requests, 6);
    let first = server.sent(0);
    assert_eq!((&first["frequency_penalty"], &first["seed"]), (&json!(0.5), &json!(7)));
    for index in [4, 5] {
        let sent = server.sent(index);
        for gone in ["max_tokens", "temperature", "frequency_penalty", "seed"] {
            assert_eq!(sent.get(gone), None, "{gone}");
        }
        assert_eq!(sent["max_completion_tokens"], 1024);
    }
}

#[tokio::test]
async fn what_is_not_configured_is_not_sent() {
    let server = HttpServer::replying(vec![reply_with("ok"), reply_with("ok")]).await;
    server.client(&[]).complete(ask()).await.unwrap();
    let sent = server.sent(0);
    assert_eq!((sent.get("frequency_penalty"), sent.get("seed")), (None, None));
    let request = ChatRequest {
        frequency_penalty: Some(-1.0),
        seed: Some(3),
        ..ask()
    };
    let client = server.client(&["--llm-frequency-penalty", "0.5", "--llm-seed", "7"]);
    client.complete(request).await.unwrap();
    let sent = server.sent(1);
    assert_eq!((&sent["frequency_penalty"], &sent["seed"]), (&json!(-1.0), &json!(3)));
}
