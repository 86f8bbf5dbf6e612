//! MCP over HTTP.

use emend_gateway::{McpOptions, ServiceUrls, serve_streams};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio_util::sync::CancellationToken;

use crate::standin::{Fixture, PATIENCE, events};

/// A message of the protocol as its clients send it.
pub(crate) fn post(fixture: &Fixture, message: &Value) -> reqwest::RequestBuilder {
    fixture
        .post("/mcp", message)
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2025-06-18")
}

/// The messages that answer a call: progress, and the result last.
async fn call(request: reqwest::RequestBuilder) -> Vec<Value> {
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 200);
    let kind = response.headers()["content-type"].to_str().unwrap().to_owned();
    let text = response.text().await.unwrap();
    if kind.starts_with("application/json") {
        return vec![serde_json::from_str(&text).unwrap()];
    }
    let events = events(&text).into_iter().filter(|(_, data)| !data.is_empty());
    events.map(|(_, data)| serde_json::from_str(&data).unwrap()).collect()
}

async fn tool(fixture: &Fixture, name: &str, arguments: Value) -> Value {
    let message = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call",
                         "params": {"name": name, "arguments": arguments}});
    let mut messages = call(post(fixture, &message).bearer_auth("k-1")).await;
    let answer = messages.pop().unwrap();
    assert_eq!(answer["id"], 7, "{answer}");
    answer["result"].clone()
}

#[tokio::test]
async fn the_tools_are_listed_with_their_schemas() {
    let fixture = Fixture::start().await;
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}});
    let answer = call(post(&fixture, &initialize)).await.remove(0);
    assert_eq!(answer["result"]["serverInfo"]["name"], "emend");
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    let answer = call(post(&fixture, &list)).await.remove(0);
    let tools = answer["result"]["tools"].as_array().unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["ask", "search", "ingest", "list_collections", "explain_walk"]);
    assert_eq!(tools[0]["inputSchema"]["required"], json!(["question"]));
}

#[tokio::test]
async fn an_answer_has_its_passages_as_resources_and_can_be_explained() {
    let fixture = Fixture::start().await;
    let told = tool(
        &fixture,
        "ask",
        json!({"question": "How many?", "collection": "handbook", "options": {"top_k": 2}}),
    )
    .await;
    assert_eq!(fixture.sent.last("authorization").unwrap(), "Bearer k-1");
    assert_eq!(fixture.questions.lock().unwrap()[0].options["top_k"], 2.0);
    let text = told["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("Everybody has 25 days. [1]"), "{text}");
    let said = &told["structuredContent"];
    assert_eq!(said["status"], "ANSWERED");
    let uri = said["citations"][0]["uri"].as_str().unwrap();
    assert_eq!(told["content"][1]["uri"], uri);
    let read = json!({"jsonrpc": "2.0", "id": 3, "method": "resources/read", "params": {"uri": uri}});
    let answer = call(post(&fixture, &read)).await.remove(0);
    assert_eq!(answer["result"]["contents"][0]["text"], "text");
    // Nobody is told of the walks of others.
    let list = json!({"jsonrpc": "2.0", "id": 4, "method": "resources/list"});
    let answer = call(post(&fixture, &list)).await.remove(0);
    assert_eq!(answer["result"]["resources"], json!([]));

    let explained = tool(&fixture, "explain_walk", json!({"walk": said["walk"]})).await;
    let text = explained["content"][0]["text"].as_str().unwrap();
    assert!(
        text.contains("retracted: Everybody has 40 days.") && text.contains("ended ANSWERED"),
        "{text}"
    );
    let unknown = tool(&fixture, "explain_walk", json!({"walk": "1"})).await;
    assert_eq!(unknown["isError"], true);
}

#[tokio::test]
async fn progress_is_told_to_who_asks_for_it() {
    let fixture = Fixture::start().await;
    let message = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {
        "name": "ask", "arguments": {"question": "How many?"}, "_meta": {"progressToken": "p"}}});
    let messages = call(post(&fixture, &message)).await;
    let progress = &messages[0];
    assert_eq!(progress["method"], "notifications/progress", "{messages:?}");
    assert_eq!(progress["params"]["progressToken"], "p");
    assert_eq!(progress["params"]["message"], "1. generate");
    assert_eq!(messages.last().unwrap()["id"], 7);
}

#[tokio::test]
async fn what_is_wrong_is_for_the_model_to_read() {
    let fixture = Fixture::start().await;
    for (name, arguments, said) in [
        (
            "ask",
            json!({"question": "REFUSE"}),
            "options[top_k]: must be 1 to 100, is 0",
        ),
        ("ask", json!({"question": "FULL"}), "try again in 2.5 s"),
        ("ask", json!({"question": "FAIL"}), "the generator failed"),
        ("ask", json!({"query": "Why?"}), "unknown argument `query`"),
        ("ask", json!({"question": 5}), "expected"),
        (
            "ingest",
            json!({"documents": [{"id": "a", "text": "bad"}]}),
            "it is no text",
        ),
    ] {
        let told = tool(&fixture, name, arguments).await;
        assert_eq!(told["isError"], true, "{said}");
        let text = told["content"][0]["text"].as_str().unwrap();
        assert!(text.contains(said), "{text}");
    }
    let message =
        json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "aks", "arguments": {}}});
    let answer = call(post(&fixture, &message)).await.remove(0);
    assert!(
        answer["error"]["message"].as_str().unwrap().contains("known are ask"),
        "{answer}"
    );
}

#[tokio::test]
async fn documents_are_stored_listed_and_searched() {
    let fixture = Fixture::start().await;
    let stored = tool(
        &fixture,
        "ingest",
        json!({"collection": "c", "documents": [{"id": "a", "text": "Hello"}]}),
    )
    .await;
    assert_eq!(
        stored["structuredContent"]["documents"][0],
        json!({"id": "c/a", "status": "INGESTED", "error": "", "passages": 5})
    );
    let found = tool(
        &fixture,
        "search",
        json!({"query": "leave", "collection": "c", "topK": 3}),
    )
    .await;
    let passage = &found["structuredContent"]["passages"][0];
    assert_eq!(
        (&passage["text"], &passage["headings"]),
        (&json!("about leave in c"), &json!(["Page 3", "Leave"]))
    );
    let text = found["content"][0]["text"].as_str().unwrap();
    assert!(
        text.starts_with("[1] handbook/leave.md, page 3 › Leave\nabout"),
        "{text}"
    );
    let listed = tool(&fixture, "list_collections", json!({})).await;
    assert!(
        listed["content"][0]["text"]
            .as_str()
            .unwrap()
            .starts_with("handbook: 3 documents")
    );
}

#[tokio::test]
async fn pages_of_others_and_large_messages_are_refused() {
    let fixture = Fixture::start().await;
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    let page = post(&fixture, &list).header("origin", "https://evil.example");
    assert_eq!(page.send().await.unwrap().status(), 403);
    let rebound = post(&fixture, &list).header("host", "evil.example");
    assert_eq!(rebound.send().await.unwrap().status(), 421);
    let large = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {"x": "x".repeat(2 << 20)}});
    assert_eq!(post(&fixture, &large).send().await.unwrap().status(), 413);
    assert_eq!(fixture.get("/mcp").send().await.unwrap().status(), 405);
}

/// Over standard streams a client stays when it gives up a call: it says so.
#[tokio::test]
async fn a_call_that_is_cancelled_is_dropped() {
    let mut fixture = Fixture::start().await;
    let (client, server) = tokio::io::duplex(64 * 1024);
    let (input, output) = tokio::io::split(server);
    let options = McpOptions {
        // Its own end comes after the test's.
        timeout: PATIENCE * 10,
        collection: String::new(),
    };
    let urls = ServiceUrls {
        orchestrator_url: fixture.services.clone(),
        retriever_url: fixture.services.clone(),
    };
    let urls = std::future::ready(Ok(urls));
    let serving = tokio::spawn(serve_streams(options, urls, input, output, CancellationToken::new()));
    let (answers, mut requests) = tokio::io::split(client);
    let mut answers = BufReader::new(answers).lines();
    let asked = |id: u32, question: &str| {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
               "params": {"name": "ask", "arguments": {"question": question}}})
    };
    let mut say = async |message: Value| requests.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    let mut hear = async || {
        let line = tokio::time::timeout(PATIENCE, answers.next_line()).await.unwrap();
        serde_json::from_str::<Value>(&line.unwrap().unwrap()).unwrap()
    };
    say(json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}}))
    .await;
    assert_eq!(hear().await["id"], 1);
    say(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    say(asked(2, "HANG")).await;
    assert_eq!(fixture.hears().await, "began");
    say(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2, "reason": "enough"}}))
        .await;
    assert_eq!(fixture.hears().await, "dropped");
    // The connection goes on, and nothing more is said of what was given up.
    say(asked(3, "How many?")).await;
    let answer = hear().await;
    assert_eq!(
        (&answer["id"], &answer["result"]["isError"]),
        (&json!(3), &json!(false)),
        "{answer}"
    );
    drop((requests, answers));
    tokio::time::timeout(PATIENCE, serving).await.unwrap().unwrap().unwrap();
}
