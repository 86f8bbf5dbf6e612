//! A client that leaves stops the call that was made for it, by whatever protocol it came.

use emend_proto::v1::AskStreamRequest;
use futures::StreamExt as _;
use reqwest::RequestBuilder;
use serde_json::json;

use crate::standin::Fixture;
use crate::{collections, grpc_web, mcp};

#[tokio::test]
async fn when_the_client_leaves_the_call_is_dropped() {
    let mut fixture = Fixture::start().await;
    let ask = |accept| {
        let body = json!({"question": "HANG"});
        fixture.post("/v1/ask", &body).header("accept", accept)
    };
    let chat = |stream| {
        let messages = json!([{"role": "user", "content": "HANG"}]);
        let body = json!({"model": "self-rag@handbook", "messages": messages, "stream": stream});
        fixture.post("/v1/chat/completions", &body)
    };
    let question = grpc_web::question("HANG");
    let frame = grpc_web::frame(&AskStreamRequest { question });
    let tool = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call",
                      "params": {"name": "ask", "arguments": {"question": "HANG"}}});
    let upload = |accept| {
        let file = "Content-Disposition: form-data; name=\"file\"; filename=\"a.md\"";
        let form = format!("--edge\r\n{file}\r\n\r\nHANG\r\n--edge--\r\n");
        collections::upload(&fixture, form, accept)
    };
    let requests: [(&str, RequestBuilder); 8] = [
        ("ask", ask("application/json")),
        ("ask, events", ask("text/event-stream")),
        ("chat", chat(false)),
        ("chat, streamed", chat(true)),
        (
            "gRPC-Web",
            grpc_web::call(&fixture, "OrchestratorService/AskStream", frame),
        ),
        ("MCP", mcp::post(&fixture, &tool)),
        ("upload", upload("application/json")),
        ("upload, events", upload("text/event-stream")),
    ];
    for (name, request) in requests {
        let asking = tokio::spawn(async move {
            let mut body = request.send().await.unwrap().bytes_stream();
            while body.next().await.is_some() {}
        });
        assert_eq!(fixture.hears().await, "began", "{name}");
        asking.abort();
        assert_eq!(fixture.hears().await, "dropped", "{name}");
    }
}
