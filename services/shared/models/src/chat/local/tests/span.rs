//! The span of a local call.

use futures::StreamExt;
use tokio::time::Instant;

use super::{ChatRequest, Model, asking};
use crate::chat::Chat;
use emend_testkit::spans::Spans;
use emend_testkit::tiny_gguf::Tiny;

#[tokio::test]
async fn a_local_call_records_the_same_attributes_as_an_http_call() {
    let model = Model::new(&Tiny::default());
    let client = model.client(&[
        "--llm-seed",
        "7",
        "--llm-frequency-penalty",
        "0.5",
        "--llm-temperature",
        "0.25",
    ]);
    let request = ChatRequest {
        prompt: Some("rewrite_retrieval.en@1".to_owned()),
        ..asking("the thing", 5)
    };
    let late = ChatRequest {
        deadline: Some(Instant::now()),
        ..request.clone()
    };
    let (spans, _guard) = Spans::keep();
    let reply = client.complete(request.clone()).await.unwrap();
    let streamed: Vec<_> = client.stream(request).collect().await;
    assert!(streamed.iter().all(Result::is_ok));
    client.complete(late).await.unwrap_err();

    let input = reply.usage.input_tokens.to_string();
    for (name, expected) in [
        ("otel.name", ["chat tiny"; 3]),
        ("otel.kind", ["internal"; 3]),
        ("gen_ai.operation.name", ["chat"; 3]),
        ("gen_ai.provider.name", ["candle"; 3]),
        ("gen_ai.request.model", ["tiny"; 3]),
        ("gen_ai.request.temperature", ["0.25"; 3]),
        ("gen_ai.request.max_tokens", ["5"; 3]),
        ("gen_ai.request.seed", ["7"; 3]),
        ("gen_ai.request.frequency_penalty", ["0.5"; 3]),
        ("emend.prompt.version", ["rewrite_retrieval.en@1"; 3]),
        ("emend.llm.response_format", ["text"; 3]),
        ("gen_ai.response.model", ["tiny", "tiny", ""]),
        ("gen_ai.response.finish_reasons", ["length", "length", ""]),
        ("gen_ai.usage.input_tokens", [&input, &input, ""]),
        ("gen_ai.usage.output_tokens", ["5", "5", ""]),
        ("error.type", ["", "", "timeout"]),
        ("otel.status_code", ["", "", "ERROR"]),
        ("server.address", [""; 3]),
        ("gen_ai.input.messages", [""; 3]),
        ("gen_ai.output.messages", [""; 3]),
    ] {
        assert_eq!(spans.of(name), expected, "{name}");
    }
}

#[tokio::test]
async fn messages_are_recorded_if_enabled() {
    let model = Model::new(&Tiny::default());
    let client = model.client(&["--llm-record-content"]);
    let (spans, _guard) = Spans::keep();
    let reply = client.complete(asking("the thing", 5)).await.unwrap();
    assert_eq!(spans.of("gen_ai.output.messages"), [reply.text]);
    let asked = &spans.of("gen_ai.input.messages")[0];
    assert!(
        asked.contains("Answer in one word.") && asked.contains("the thing"),
        "{asked}"
    );
}
