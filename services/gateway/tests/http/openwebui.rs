//! Open WebUI's ways of asking, from the files in `openwebui`, answered as that program reads answers.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use crate::chat::{ANSWER, chunks, content, read};
use crate::standin::{Fixture, events};

/// The bodies of the files, by their names.
fn requests() -> BTreeMap<String, Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/http/openwebui");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let bodies = files.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    bodies
        .map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap())
        })
        .collect()
}

#[tokio::test]
async fn every_request_of_open_webui_is_answered_as_it_reads_answers() {
    let fixture = Fixture::start().await;
    for (name, body) in requests() {
        let request = fixture.post("/v1/chat/completions", &body).bearer_auth("none");
        match name.as_str() {
            "chat" | "conversation" | "tools" | "image_before" => streamed(&name, request).await,
            "title" | "tags" | "follow_ups" | "queries" => task(&name, request).await,
            "image" => refused(&name, request).await,
            _ => panic!("nobody reads the answer to {name}"),
        }
    }
}

/// A chat: the text in deltas, then why it ended, then the usage, and no two of them in one chunk.
async fn streamed(name: &str, request: reqwest::RequestBuilder) {
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 200, "{name}");
    let mut events = events(&response.text().await.unwrap());
    assert_eq!(events.pop().unwrap().1, "[DONE]", "{name}");
    let chunks: Vec<Value> = events
        .iter()
        .map(|(_, data)| serde_json::from_str(data).unwrap())
        .collect();
    assert_eq!(content(&chunks, "content"), ANSWER, "{name}");
    let ended: Vec<_> = chunks
        .iter()
        .filter_map(|chunk| chunk["choices"][0]["finish_reason"].as_str())
        .collect();
    assert_eq!(ended, ["stop"], "{name}");
    let usage: Vec<_> = chunks.iter().filter(|chunk| chunk["usage"].is_object()).collect();
    assert_eq!(usage.len(), 1, "{name}");
    assert_eq!(
        (&usage[0]["usage"]["total_tokens"], &usage[0]["choices"]),
        (&json!(150), &json!([])),
        "{name}"
    );
}

/// A title, tags and the like are JSON within the text of the only choice. Text without any leaves the chat as it is: its
/// first message is its title, and it has no tags.
async fn task(name: &str, request: reqwest::RequestBuilder) {
    let (status, completion) = read(request).await;
    assert_eq!(status, 200, "{name}: {completion}");
    assert_eq!(completion["choices"].as_array().unwrap().len(), 1, "{name}");
    let message = &completion["choices"][0]["message"];
    assert_eq!(message["role"], "assistant", "{name}");
    let text = message["content"].as_str().unwrap();
    assert!(!text.is_empty() && !text.contains(['{', '}']), "{name}: {text}");
}

/// What cannot be asked: the text of the error is shown in the chat.
async fn refused(name: &str, request: reqwest::RequestBuilder) {
    let (status, error) = read(request).await;
    assert_eq!(status, 400, "{name}");
    let message = error["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("take the part of type `image_url` out"),
        "{name}: {message}"
    );
}

#[tokio::test]
async fn a_conversation_of_open_webui_is_the_questions_history() {
    let fixture = Fixture::start().await;
    let requests = requests();
    for (name, history) in [
        ("conversation", vec!["Who approves leave?", "Managers approve it. [1]"]),
        ("image_before", vec!["Is this form about leave?"]),
    ] {
        chunks(fixture.post("/v1/chat/completions", &requests[name])).await;
        let asked = fixture.questions.lock().unwrap().remove(0);
        assert_eq!(asked.question, "How many days?", "{name}");
        let said: Vec<_> = asked.history.iter().map(|message| message.content.as_str()).collect();
        assert_eq!(said.len(), history.len(), "{name}: {said:?}");
        for (said, begins) in said.iter().zip(history) {
            assert!(said.starts_with(begins), "{name}: {said}");
        }
    }
}

/// It looks for the models before it shows any, and asks no more of each than its id.
#[tokio::test]
async fn open_webui_finds_the_models() {
    let fixture = Fixture::start().await;
    let (status, models) = read(fixture.get("/v1/models").bearer_auth("none")).await;
    assert_eq!((status, &models["data"][0]["id"]), (200, &json!("self-rag@handbook")));
}
