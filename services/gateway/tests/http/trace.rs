//! A request is a part of its caller's trace, and so is what the services do for it, by whatever protocol it came.

use emend_chassis::{Telemetry, TelemetryOptions};
use emend_proto::v1::{AskRequest, AskStreamRequest};
use emend_testkit::otlp::{Collector, attribute, hex};
use reqwest::RequestBuilder;
use serde_json::json;

use crate::standin::Fixture;
use crate::{collections, grpc_web, mcp};

/// The span of every caller.
const CALLER: &str = "00f067aa0ba902b7";

/// A request of each protocol, its route, and the call that it becomes.
fn requests(fixture: &Fixture) -> Vec<(RequestBuilder, &'static str, &'static str)> {
    let ask = |accept| {
        let body = json!({"question": "Why?"});
        fixture.post("/v1/ask", &body).header("accept", accept)
    };
    let chat = |stream| {
        let messages = json!([{"role": "user", "content": "Why?"}]);
        let body = json!({"model": "self-rag@handbook", "messages": messages, "stream": stream});
        fixture.post("/v1/chat/completions", &body)
    };
    let tool = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call",
                      "params": {"name": "ask", "arguments": {"question": "Why?"}}});
    let question = grpc_web::question("Why?");
    let ask_frame = grpc_web::frame(&AskRequest {
        question: question.clone(),
    });
    let stream_frame = grpc_web::frame(&AskStreamRequest { question });
    let file = "Content-Disposition: form-data; name=\"file\"; filename=\"a.md\"";
    let form = format!("--edge\r\n{file}\r\n\r\ntext\r\n--edge--\r\n");
    const WEB: &str = "/emend.v1.OrchestratorService/{method}";
    vec![
        (ask("application/json"), "/v1/ask", "OrchestratorService/Ask"),
        (ask("text/event-stream"), "/v1/ask", "OrchestratorService/AskStream"),
        (chat(false), "/v1/chat/completions", "OrchestratorService/Ask"),
        (chat(true), "/v1/chat/completions", "OrchestratorService/AskStream"),
        (mcp::post(fixture, &tool), "/mcp", "OrchestratorService/AskStream"),
        (
            grpc_web::call(fixture, "OrchestratorService/Ask", ask_frame),
            WEB,
            "OrchestratorService/Ask",
        ),
        (
            grpc_web::call(fixture, "OrchestratorService/AskStream", stream_frame),
            WEB,
            "OrchestratorService/AskStream",
        ),
        (
            collections::upload(fixture, form, "*/*"),
            "/v1/documents",
            "RetrieverService/Ingest",
        ),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_is_a_part_of_its_callers_trace() {
    let (collector, endpoint) = Collector::start().await;
    let telemetry = Telemetry::start(TelemetryOptions::new("emend-gateway").with_endpoint(endpoint)).unwrap();
    let fixture = Fixture::start().await;
    let mut expected = Vec::new();
    for (place, (request, route, rpc)) in requests(&fixture).into_iter().enumerate() {
        let trace = format!("4bf92f3577b34da6a3ce929d0e0e47{place:02x}");
        // What vendors add to a trace, which everybody passes on.
        let state = format!("congo=t61rcWkgMzE,rojo={place}");
        let request = request
            .header("traceparent", format!("00-{trace}-{CALLER}-01"))
            .header("tracestate", &state);
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200, "{route} {rpc}");
        response.bytes().await.unwrap();
        let sent = fixture.sent.last("traceparent").unwrap();
        assert!(sent.starts_with(&format!("00-{trace}-")), "{route} {rpc}: {sent}");
        assert_eq!(fixture.sent.last("tracestate").unwrap(), state, "{route} {rpc}");
        expected.push((trace, route, format!("emend.v1.{rpc}")));
    }
    telemetry.shutdown().await;

    let spans = collector.spans();
    for (trace, route, method) in expected {
        // The service's span, below the gateway's call, below the request, below the caller.
        let trace = spans.of_trace(&trace);
        let served = trace
            .iter()
            .find(|span| span.name == method && spans.parent(span).is_some_and(|parent| parent.name == method));
        let served = served.unwrap_or_else(|| panic!("{route}: {method} is not in the trace"));
        let called = spans.parent(served).unwrap();
        let request = spans.parent(called).unwrap();
        assert_eq!(request.name, format!("POST {route}"));
        assert_eq!(attribute(request, "http.route").unwrap(), route);
        assert_eq!(attribute(request, "http.response.status_code").unwrap(), "200");
        assert_eq!(hex(&request.parent_span_id), CALLER);
    }
}
