//! The span of an HTTP call.

use super::*;
use emend_testkit::spans::Spans;

#[tokio::test]
async fn a_span_says_how_the_form_of_the_reply_was_asked_for_and_with_which_prompt() {
    let (spans, _guard) = Spans::keep();
    let no = |what: &str| response("400 Bad Request", "", &format!("{what} is not supported"));
    let answers = vec![
        reply_with("{}"),
        no("json_schema"),
        reply_with("{}"),
        no("json_object"),
        reply_with("{}"),
        response("401 Unauthorized", "", ""),
    ];
    let server = HttpServer::replying(answers).await;
    let client = server.client(&["--llm-seed", "7", "--llm-frequency-penalty", "0.5"]);
    for _ in 0..4 {
        let request = ChatRequest {
            prompt: Some("grade_documents.ko@1".to_owned()),
            ..with_schema()
        };
        let _ = client.complete(request).await;
    }
    assert_eq!(
        spans.of("emend.llm.response_format"),
        ["json_schema", "json_object", "text", ""]
    );
    assert_eq!(spans.of("emend.prompt.version"), ["grade_documents.ko@1"; 4]);
    assert_eq!(spans.of("gen_ai.request.seed"), ["7"; 4]);
    assert_eq!(spans.of("gen_ai.request.frequency_penalty"), ["0.5"; 4]);
    assert_eq!(spans.of("gen_ai.provider.name"), ["openai"; 4]);
    assert_eq!(spans.of("otel.kind"), ["client"; 4]);
    assert_eq!(spans.of("server.address"), ["127.0.0.1"; 4]);
    assert_eq!(spans.of("gen_ai.usage.input_tokens"), ["7", "7", "7", ""]);
    assert_eq!(spans.of("error.type"), ["", "", "", "unauthorized"]);
}

#[tokio::test]
async fn each_model_of_a_chain_has_a_span_of_its_own() {
    let (spans, _guard) = Spans::keep();
    let refusal = json!({ "choices": [{ "message": { "refusal": "I will not" } }] }).to_string();
    let down = response("503 Service Unavailable", "retry-after-ms: 0\r\n", "");
    let first = HttpServer::start(move |_, _| down.clone()).await;
    let second = HttpServer::start(move |_, _| response("200 OK", "", &refusal)).await;
    let third = HttpServer::start(|_, _| reply_with("ok")).await;
    let chat = Chain::new(
        Arc::new(first.client(&[])),
        vec![
            Arc::new(second.client(&["--llm-model", "other"])),
            Arc::new(third.client(&["--llm-model", "last"])),
        ],
        Duration::from_secs(600),
    );
    chat.complete(ask()).await.unwrap();
    assert_eq!(spans.of("otel.name"), ["chat small", "chat other", "chat last"]);
    assert_eq!(spans.of("gen_ai.request.model"), ["small", "other", "last"]);
    assert_eq!(spans.of("gen_ai.response.model"), ["", "", "small-2026"]);
    assert_eq!(spans.of("error.type"), ["rate_limited", "refused", ""]);
    assert_eq!(spans.of("emend.llm.fallback.for"), ["", "small", "other"]);
    assert_eq!(spans.of("emend.llm.fallback.reason"), ["", "rate_limited", "refused"]);
}
