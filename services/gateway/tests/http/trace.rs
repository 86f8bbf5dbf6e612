//! A request is a part of its caller's trace, and so is what the services do for it.

use emend_chassis::{Telemetry, TelemetryOptions};
use emend_testkit::otlp::{Collector, attribute, hex};
use serde_json::json;

use crate::standin::Fixture;

/// The other tests of this process make traces of their own.
const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER: &str = "00f067aa0ba902b7";

#[tokio::test(flavor = "multi_thread")]
async fn a_request_is_a_part_of_its_callers_trace() {
    let (collector, endpoint) = Collector::start().await;
    let telemetry = Telemetry::start(TelemetryOptions::new("emend-gateway").with_endpoint(endpoint)).unwrap();
    let fixture = Fixture::start().await;
    for accept in ["application/json", "text/event-stream"] {
        let asked = fixture
            .post("/v1/ask", &json!({"question": "Why?"}))
            .header("accept", accept)
            .header("traceparent", format!("00-{TRACE}-{CALLER}-01"));
        asked.send().await.unwrap().text().await.unwrap();
    }
    telemetry.shutdown().await;

    let spans = collector.spans();
    let trace = spans.of_trace(TRACE);
    for method in [
        "emend.v1.OrchestratorService/Ask",
        "emend.v1.OrchestratorService/AskStream",
    ] {
        // The service's span, below the gateway's call, below the request, below the caller.
        let served = trace
            .iter()
            .find(|span| span.name == method && spans.parent(span).is_some_and(|parent| parent.name == method));
        let called = spans.parent(served.expect("the service is in the trace")).unwrap();
        let request = spans.parent(called).unwrap();
        assert_eq!(request.name, "POST /v1/ask");
        assert_eq!(attribute(request, "http.route").unwrap(), "/v1/ask");
        assert_eq!(attribute(request, "http.response.status_code").unwrap(), "200");
        assert_eq!(hex(&request.parent_span_id), CALLER);
    }
}
