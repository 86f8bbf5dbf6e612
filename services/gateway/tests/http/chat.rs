//! OpenAI's protocol.

use serde_json::{Value, json};

use crate::standin::{Fixture, events};

fn ask(fixture: &Fixture, question: &str, more: Value) -> reqwest::RequestBuilder {
    let mut body = json!({
        "model": "self-rag@handbook",
        "messages": [{"role": "user", "content": question}],
    });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    fixture.post("/v1/chat/completions", &body)
}

/// The status and the body of a response.
pub(crate) async fn read(request: reqwest::RequestBuilder) -> (u16, Value) {
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    (status, response.json().await.unwrap())
}

/// The chunks of a stream, without its end.
pub(crate) async fn chunks(request: reqwest::RequestBuilder) -> Vec<Value> {
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 200);
    let text = response.text().await.unwrap();
    let events = events(&text);
    let parsed = events.iter().filter(|(_, data)| data != "[DONE]");
    parsed.map(|(_, data)| serde_json::from_str(data).unwrap()).collect()
}

/// What all chunks together have under this name.
pub(crate) fn content(chunks: &[Value], name: &str) -> String {
    let deltas = chunks
        .iter()
        .filter_map(|chunk| chunk["choices"][0]["delta"][name].as_str());
    deltas.collect()
}

/// What the stand-in answers.
pub(crate) const ANSWER: &str = "Everybody has 25 days. [1] Managers approve it. [2]\n\n\
    [1] handbook/leave.md — Leave  \n[2] web: https://example.com/who — Who approves";

#[tokio::test]
async fn an_answer_has_its_citations_and_its_usage() {
    let fixture = Fixture::start().await;
    let (status, completion) = read(ask(&fixture, "How many?", json!({}))).await;
    assert_eq!(status, 200);
    assert_eq!(completion["object"], "chat.completion");
    let choice = &completion["choices"][0];
    assert_eq!(choice["message"]["content"], ANSWER);
    assert_eq!(choice["finish_reason"], "stop");
    assert_eq!(
        choice["message"]["annotations"][1]["url_citation"]["url"],
        "https://example.com/who"
    );
    assert_eq!(
        completion["usage"],
        json!({"prompt_tokens": 120, "completion_tokens": 30, "total_tokens": 150})
    );
    assert_eq!(completion["emend"]["status"], "ANSWERED");
    let asked = fixture.questions.lock().unwrap().remove(0);
    assert_eq!(
        (asked.graph.as_str(), asked.collection.as_str()),
        ("self-rag", "handbook")
    );
}

#[tokio::test]
async fn what_was_taken_back_is_never_streamed_as_the_answer() {
    let fixture = Fixture::start().await;
    let streamed = ask(
        &fixture,
        "How many?",
        json!({"stream": true, "stream_options": {"include_usage": true}}),
    );
    let chunks = chunks(streamed).await;
    assert_eq!(chunks[0]["choices"][0]["delta"]["role"], "assistant");
    assert_eq!(content(&chunks, "content"), ANSWER);
    assert_eq!(content(&chunks, "reasoning_content"), "");
    let last = &chunks[chunks.len() - 1];
    assert_eq!(last["usage"]["total_tokens"], 150);
    assert_eq!(last["choices"], json!([]));
    let ended = &chunks[chunks.len() - 2];
    assert_eq!(ended["choices"][0]["finish_reason"], "stop");
}

#[tokio::test]
async fn drafts_are_streamed_apart_where_they_are_wanted() {
    let fixture = Fixture::start().await;
    let streamed = ask(
        &fixture,
        "How many?",
        json!({"stream": true, "emend": {"drafts": true}}),
    );
    let chunks = chunks(streamed).await;
    assert_eq!(content(&chunks, "content"), ANSWER);
    let drafts = content(&chunks, "reasoning_content");
    assert!(
        drafts.starts_with("Everybody has 40 days.") && drafts.contains("retracted"),
        "{drafts}"
    );
}

#[tokio::test]
async fn an_abstention_is_an_answer_and_a_failed_service_an_error() {
    let fixture = Fixture::start().await;
    let (status, abstained) = read(ask(&fixture, "ABSTAIN", json!({}))).await;
    assert_eq!(status, 200);
    assert_eq!(
        abstained["choices"][0]["message"]["content"],
        "The documents do not say."
    );
    assert_eq!(abstained["emend"]["status"], "ABSTAINED");
    let (status, failed) = read(ask(&fixture, "FAIL", json!({}))).await;
    assert_eq!((status, &failed["error"]["type"]), (503, &json!("server_error")));
    assert!(failed["error"]["message"].as_str().unwrap().contains("generator"));
    let streamed = chunks(ask(&fixture, "FAIL", json!({"stream": true}))).await;
    assert_eq!(streamed[streamed.len() - 1]["error"]["code"], "SERVICE_UNAVAILABLE");
    let broken = chunks(ask(&fixture, "BREAK", json!({"stream": true}))).await;
    assert_eq!(broken[broken.len() - 1]["error"]["code"], "SERVICE_UNAVAILABLE");
}

#[tokio::test]
async fn an_unknown_model_is_told_the_known_ones() {
    let fixture = Fixture::start().await;
    for stream in [false, true] {
        let more = json!({"model": "self-rga@handbook", "stream": stream});
        let (status, error) = read(ask(&fixture, "Why?", more)).await;
        assert_eq!(status, 404);
        let error = &error["error"];
        assert_eq!(
            (&error["param"], &error["code"]),
            (&json!("model"), &json!("model_not_found"))
        );
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("did you mean `self-rag@handbook`"), "{message}");
    }
    let (status, _) = read(fixture.get("/v1/models/other@handbook")).await;
    assert_eq!(status, 404);
}

#[tokio::test]
async fn models_are_graphs_over_collections() {
    let fixture = Fixture::start().await;
    let (_, models) = read(fixture.get("/v1/models").bearer_auth("k-1")).await;
    assert_eq!(
        models["data"],
        json!([{"id": "self-rag@handbook", "object": "model", "created": 0, "owned_by": "emend"}])
    );
    assert_eq!(fixture.sent.last("authorization").unwrap(), "Bearer k-1");
    for id in ["self-rag@handbook", "self-rag%40handbook"] {
        assert_eq!(
            read(fixture.get(&format!("/v1/models/{id}"))).await.1["id"],
            "self-rag@handbook"
        );
    }
}

#[tokio::test]
async fn errors_have_the_shape_of_openai() {
    let mut fixture = Fixture::start_with(|options| options.service.max_in_flight = 1).await;
    let (status, error) = read(ask(&fixture, "Why?", json!({"temperature": 9}))).await;
    assert_eq!((status, &error["error"]["param"]), (400, &json!("temperature")));
    let (status, error) = read(ask(&fixture, "KEY", json!({}))).await;
    assert_eq!((status, &error["error"]["code"]), (401, &json!("invalid_api_key")));
    let (status, error) = read(ask(&fixture, "REFUSE", json!({}))).await;
    assert_eq!((status, &error["error"]["param"]), (400, &json!("options[top_k]")));
    let hanging = tokio::spawn(ask(&fixture, "HANG", json!({"stream": true})).send());
    assert_eq!(fixture.hears().await, "began");
    let (status, error) = read(fixture.get("/v1/models")).await;
    assert_eq!((status, &error["error"]["code"]), (429, &json!("rate_limit_exceeded")));
    hanging.abort();
}
