use std::sync::Arc;

use emend_testkit::http_server::{HttpAnswer, HttpServer};
use serde_json::{Value, json};

use super::*;
use crate::embed::{EmbedderChoice, cosine};

/// A server that answers each request with what `answer` makes of its body, status and body, and the way to it.
async fn serve(
    answer: impl Fn(&Value) -> (&'static str, String) + Send + Sync + 'static,
) -> (EmbedderOptions, HttpServer) {
    let server = HttpServer::start(move |_, request| {
        let (status, body) = answer(&request.json());
        HttpAnswer::response(status, "", &body)
    })
    .await;
    let choice = EmbedderChoice::OpenAi("tiny".to_owned());
    let options = EmbedderOptions {
        embedder_url: format!("{}/v1/", server.url()),
        embedder_api_key: Some("sk-hidden".to_owned().into()),
        ..EmbedderOptions::of(choice)
    };
    (options, server)
}

/// Embeds a text as its length and its number of `e`s, last text first.
fn backwards(body: &Value) -> (&'static str, String) {
    let texts = body["input"].as_array().unwrap();
    let data = texts.iter().enumerate().rev().map(|(index, text)| {
        let text = text.as_str().unwrap();
        json!({"object": "embedding", "index": index, "embedding": [text.len(), text.matches('e').count()]})
    });
    (
        "200 OK",
        json!({"object": "list", "data": data.collect::<Vec<_>>()}).to_string(),
    )
}

async fn failing(answer: impl Fn(&Value) -> (&'static str, String) + Send + Sync + 'static) -> EmbedError {
    let (options, _) = serve(answer).await;
    match OpenAiEmbedder::connect("tiny", &options).await {
        Err(ModelError::Server(error)) => Arc::into_inner(error).unwrap(),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("accepted"),
    }
}

#[tokio::test]
async fn embeddings_come_in_the_order_of_the_texts_and_as_unit_vectors() {
    let (options, server) = serve(backwards).await;
    let embedder = OpenAiEmbedder::connect("tiny", &options).await.unwrap();
    assert_eq!((embedder.id(), embedder.dimensions()), ("tiny", 2));
    let texts: Vec<String> = (0..150)
        .map(|n| format!("{}{}", "e".repeat(n % 7), "x".repeat(n + 1)))
        .collect();
    let vectors = embedder.embed(Input::Passage, texts.clone()).await.unwrap();
    assert_eq!(vectors.len(), texts.len());
    for (text, vector) in texts.iter().zip(&vectors) {
        let mut expected = [text.len() as f32, text.matches('e').count() as f32];
        normalize(&mut expected);
        assert!(
            cosine(vector, &expected) > 0.99999 && (vector[0] - expected[0]).abs() < 1e-6,
            "{text}"
        );
    }
    let requests = server.requests();
    let sizes: Vec<usize> = requests
        .iter()
        .map(|request| request.json()["input"].as_array().unwrap().len())
        .collect();
    assert_eq!(sizes, [1, 64, 64, 22]);
    let (head, body) = (&requests[1].head, requests[1].json());
    assert!(head.starts_with("POST /v1/embeddings HTTP/1.1"), "{head}");
    assert!(head.contains("authorization: Bearer sk-hidden"), "{head}");
    assert_eq!(
        (&body["model"], &body["encoding_format"]),
        (&json!("tiny"), &json!("base64"))
    );
}

#[tokio::test]
async fn an_error_carries_the_words_of_the_server_and_not_the_key() {
    let error = failing(|_| {
        let body = json!({"error": {"message": "key sk-hidden has no quota", "type": "insufficient_quota"}});
        ("429 Too Many Requests\r\nretry-after: 7", body.to_string())
    })
    .await;
    assert!(error.is_transient());
    assert_eq!(error.retry_after(), Some(Duration::from_secs(7)));
    let text = format!("{error} {error:?}");
    assert!(text.contains("429") && text.contains("key … has no quota"), "{text}");
    assert!(!text.contains("hidden"), "{text}");
    let error = failing(|_| {
        (
            "404 Not Found",
            json!({"error": "model \"tiny\" not found"}).to_string(),
        )
    })
    .await;
    assert!(!error.is_transient());
    assert!(
        error.to_string().ends_with("answered 404: model \"tiny\" not found"),
        "{error}"
    );
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_an_error() {
    let with = |data: Value| failing(move |_| ("200 OK", json!({"data": data}).to_string()));
    for (data, words) in [
        (json!([]), "0 embeddings for 1 texts"),
        (
            json!([{"index": 1, "embedding": [1.0]}]),
            "index 1 comes twice or is not below 1",
        ),
        (json!([{"index": 0, "embedding": []}]), "embedding 0 has 0 values"),
        (
            json!([{"index": 0, "embedding": "AAAA"}]),
            "3 bytes has no whole number of values",
        ),
        (json!([{"index": 0, "embedding": "?"}]), "no base64"),
        (json!([{"index": 0, "embedding": true}]), "invalid type"),
    ] {
        let error = with(data).await.to_string();
        assert!(error.contains(words), "{error}");
    }
}

/// A vector of three values in the encoding that is asked for.
fn encoded(body: &Value) -> (&'static str, String) {
    let values = [3.0_f32, -4.0, 0.0];
    let embedding = if body["encoding_format"] == "base64" {
        json!(BASE64_STANDARD.encode(values.map(f32::to_le_bytes).as_flattened()))
    } else {
        json!(values)
    };
    (
        "200 OK",
        json!({"data": [{"index": 0, "embedding": embedding}]}).to_string(),
    )
}

#[tokio::test]
async fn a_vector_is_the_same_in_base64() {
    let (options, server) = serve(encoded).await;
    let embedder = OpenAiEmbedder::connect("tiny", &options).await.unwrap();
    let found = embedder.embed(Input::Query, vec!["what".to_owned()]).await.unwrap();
    assert_eq!(*found[0], [0.6, -0.8, 0.0]);
    let requests = server.requests();
    assert!(
        requests
            .iter()
            .all(|request| request.json()["encoding_format"] == "base64")
    );
}

#[tokio::test]
async fn a_server_that_refuses_base64_is_asked_for_numbers_from_then_on() {
    let (options, server) = serve(|body| match body["encoding_format"].as_str() {
        Some("float") => encoded(body),
        _ => (
            "422 Unprocessable Entity",
            json!({"error": "unknown variant"}).to_string(),
        ),
    })
    .await;
    let embedder = OpenAiEmbedder::connect("tiny", &options).await.unwrap();
    let found = embedder.embed(Input::Query, vec!["what".to_owned()]).await.unwrap();
    assert_eq!(*found[0], [0.6, -0.8, 0.0]);
    let asked: Vec<Value> = server
        .requests()
        .iter()
        .map(|request| request.json()["encoding_format"].take())
        .collect();
    assert_eq!(asked, ["base64", "float", "float"]);
}

#[tokio::test]
async fn vectors_of_another_length_later_on_are_refused() {
    let (options, _) = serve(|body| {
        let length = if body["input"][0] == "longer" { 3 } else { 2 };
        (
            "200 OK",
            json!({"data": [{"index": 0, "embedding": vec![1.0; length]}]}).to_string(),
        )
    })
    .await;
    let embedder = OpenAiEmbedder::connect("tiny", &options).await.unwrap();
    let error = embedder
        .embed(Input::Query, vec!["longer".to_owned()])
        .await
        .unwrap_err();
    assert!(error.to_string().contains("3 values instead of 2"), "{error}");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named() {
    let options = EmbedderOptions {
        embedder_url: "http://me:secret@127.0.0.1:1/v1".to_owned(),
        ..EmbedderOptions::of(EmbedderChoice::OpenAi("tiny".to_owned()))
    };
    let Err(ModelError::Server(error)) = OpenAiEmbedder::connect("tiny", &options).await else {
        panic!("answered")
    };
    assert!(error.is_transient());
    let text = format!("{error} {error:?}");
    assert!(
        text.contains("http://127.0.0.1:1/v1/embeddings") && !text.contains("secret"),
        "{text}"
    );
}

#[tokio::test]
async fn an_address_that_is_none_is_an_error_of_the_option() {
    for wrong in ["localhost:8080/v1", "ftp://host/v1", ""] {
        let options = EmbedderOptions {
            embedder_url: wrong.to_owned(),
            ..EmbedderOptions::default()
        };
        let Err(error) = OpenAiEmbedder::connect("tiny", &options).await else {
            panic!("{wrong:?} was accepted")
        };
        assert!(error.to_string().starts_with("--embedder-url"), "{error}");
    }
}
