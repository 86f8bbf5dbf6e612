//! Collections, documents and graphs.

use futures::StreamExt as _;
use reqwest::Body;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::standin::{Fixture, PATIENCE, events};

async fn read(request: reqwest::RequestBuilder) -> (u16, Value) {
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    (status, response.json().await.unwrap())
}

#[tokio::test]
async fn collections_and_documents_are_listed() {
    let fixture = Fixture::start().await;
    let (status, all) = read(fixture.get("/v1/collections")).await;
    assert_eq!((status, &all["collections"][0]["name"]), (200, &json!("handbook")));
    // Above 2^53 a number of JavaScript is another one.
    assert_eq!(all["collections"][0]["passages"], "9007199254740993");
    let (status, one) = read(fixture.get("/v1/collections/handbook")).await;
    assert_eq!((status, &one["documents"]), (200, &json!("3")));
    let (status, problem) = read(fixture.get("/v1/collections/absent")).await;
    assert_eq!((status, &problem["code"]), (404, &json!("NOT_FOUND")));
    assert_eq!(problem["type"], "urn:emend:problem:COLLECTION_NOT_FOUND");
    assert_eq!(problem["resource"], json!({"type": "collection", "name": "absent"}));
    assert!(problem["detail"].as_str().unwrap().contains("known are handbook"));

    let (_, page) = read(fixture.get("/v1/collections/handbook/documents?pageSize=2&pageToken=t")).await;
    assert_eq!(page["nextPageToken"], "2-t");
    let query = "parents=false&pageSize=2&pageToken=t";
    let (_, page) = read(fixture.get(&format!("/v1/collections/handbook/documents/a/leave.md?{query}"))).await;
    assert_eq!(page["document"]["id"], "a/leave.md");
    assert_eq!(page["nextPageToken"], "Some(false) Some(2) t");
    let delete = |id: &str| {
        let url = format!("{}/v1/collections/handbook/documents/{id}", fixture.url);
        fixture.client.delete(url)
    };
    for id in ["handbook/leave.md", "handbook%2Fleave.md"] {
        let (_, removed) = read(delete(id)).await;
        assert_eq!(removed["deleted"], 1, "{id}");
    }
    let delete = |name: &str| fixture.client.delete(format!("{}/v1/collections/{name}", fixture.url));
    let (status, removed) = read(delete("handbook")).await;
    assert_eq!((status, &removed["documents"]), (200, &json!("3")));
    let (status, problem) = read(delete("absent")).await;
    assert_eq!((status, &problem["reason"]), (404, &json!("COLLECTION_NOT_FOUND")));
}

#[tokio::test]
async fn graphs_are_listed_drawn_and_checked() {
    let fixture = Fixture::start().await;
    let (_, all) = read(fixture.get("/v1/graphs")).await;
    assert_eq!(all["graphs"][0]["name"], "self-rag");
    let (_, one) = read(fixture.get("/v1/graphs/self-rag")).await;
    assert_eq!(one["yaml"], "name: self-rag");
    let drawn = fixture.get("/v1/graphs/self-rag/mermaid").send().await.unwrap();
    assert_eq!(drawn.headers()["content-type"], "text/vnd.mermaid; charset=utf-8");
    assert!(drawn.text().await.unwrap().starts_with("flowchart"));
    assert_eq!(read(fixture.get("/v1/graphs/none")).await.0, 404);
    let (_, found) = read(fixture.post("/v1/graphs/validate", &json!({"yaml": "nodes: []"}))).await;
    assert_eq!(found["findings"][0]["message"], "9 bytes");
}

#[tokio::test]
async fn passages_are_searched() {
    let fixture = Fixture::start().await;
    let query = json!({"query": "leave", "collection": "handbook", "topK": 2, "mode": "SEARCH_MODE_SPARSE"});
    let (_, found) = read(fixture.post("/v1/search", &query)).await;
    assert_eq!(found["passages"][0]["text"], "about leave in handbook");
}

const FORM: &str = "--edge\r\nContent-Disposition: form-data; name=\"collection\"\r\n\r\nhandbook\r\n\
    --edge\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a/leave.md\"\r\n\r\n25 days\r\n\
    --edge\r\nContent-Disposition: form-data; name=\"file\"; filename=\"bad.bin\"\r\n\r\nbad\r\n";

/// An upload of a form, whose parts end at `--edge`.
pub(crate) fn upload(fixture: &Fixture, form: impl Into<Body>, accept: &str) -> reqwest::RequestBuilder {
    fixture
        .client
        .post(format!("{}/v1/documents", fixture.url))
        .header("content-type", "multipart/form-data; boundary=edge")
        .header("accept", accept)
        .body(form)
}

#[tokio::test]
async fn documents_are_stored_and_each_is_told_of() {
    let fixture = Fixture::start().await;
    let whole = format!("{FORM}--edge--\r\n");
    let (status, told) = read(upload(&fixture, whole.clone(), "*/*")).await;
    assert_eq!(status, 200);
    assert_eq!((&told["ingested"], &told["failed"]), (&json!(1), &json!(1)));
    assert_eq!(told["documents"][0]["documentId"], "handbook/a/leave.md");
    assert_eq!(told["documents"][1]["error"], "it is no text");

    let streamed = upload(&fixture, whole, "text/event-stream").send().await.unwrap();
    let events = events(&streamed.text().await.unwrap());
    let names: Vec<_> = events.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["document", "document", "finished"]);
    assert_eq!(events[2].1, r#"{"ingested":1,"unchanged":0,"failed":1}"#);
}

#[tokio::test]
async fn a_form_that_breaks_off_tells_what_was_stored() {
    let fixture = Fixture::start().await;
    let wrong = format!("{FORM}--edge\r\nContent-Disposition: form-data; name=\"colour\"\r\n\r\nred\r\n--edge--\r\n");
    let (status, problem) = read(upload(&fixture, wrong.clone(), "application/json")).await;
    assert_eq!(status, 400);
    assert_eq!(problem["errors"][0]["field"], "colour");
    assert_eq!(problem["documents"][0]["documentId"], "handbook/a/leave.md");
    let streamed = upload(&fixture, wrong, "application/x-ndjson").send().await.unwrap();
    let text = streamed.text().await.unwrap();
    assert!(
        text.lines().last().unwrap().starts_with("{\"event\":\"error\""),
        "{text}"
    );
}

/// A form of which the second document is not written before the first is known to be stored.
#[tokio::test]
async fn a_document_is_told_of_while_the_form_is_still_sent() {
    let fixture = Fixture::start().await;
    let (pieces, form) = mpsc::unbounded_channel::<Result<String, std::io::Error>>();
    let form = futures::stream::unfold(form, async |mut form| Some((form.recv().await?, form)));
    let say = |piece: &str| pieces.send(Ok(piece.to_owned())).unwrap();
    let file = |name: &str, text: &str| {
        format!("Content-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\r\n{text}\r\n--edge")
    };
    say("--edge\r\n");
    say(&file("first.md", "one"));
    let response = upload(&fixture, Body::wrap_stream(form), "text/event-stream")
        .send()
        .await
        .unwrap();
    let mut told = response.bytes_stream();
    let mut text = String::new();
    let mut hear = async |of: &str| {
        while !text.contains(of) {
            let piece = tokio::time::timeout(PATIENCE, told.next()).await.unwrap();
            text.push_str(std::str::from_utf8(&piece.unwrap().unwrap()).unwrap());
        }
        text.clone()
    };
    let first = hear("first.md").await;
    assert!(!first.contains("second.md"), "{first}");
    say(&format!("\r\n{}", file("second.md", "two")));
    hear("second.md").await;
    say("--\r\n");
    let all = hear("finished").await;
    drop(pieces);
    let names: Vec<_> = events(&all).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["document", "document", "finished"]);
}
