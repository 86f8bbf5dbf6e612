//! One walk is one trace: from the client through the orchestrator into every service.

use emend_chassis::{Telemetry, TelemetryOptions};
use emend_cli::cluster::Plan;
use emend_testkit::otlp::{self, Collector};
use emend_tests::{Fixture, question};
use opentelemetry_proto::tonic::trace::v1::{Span, status::StatusCode};
use tracing::Instrument as _;

#[tokio::test(flavor = "multi_thread")]
async fn the_span_tree_of_a_walk_is_the_path_it_took() {
    let (collector, endpoint) = Collector::start().await;
    let options = TelemetryOptions::new("emend-tests").with_endpoint(endpoint);
    let telemetry = Telemetry::start(options).unwrap();
    let fixture = Fixture::start().await;
    let text = "The Torvik lighthouse was built in 1873 by the engineer Ansgar Lund.";
    fixture.ingest("village", &[("lighthouse", text)]).await;
    let asked = question("Who built the Torvik lighthouse in 1873?", "self-rag", "village");
    let client = tracing::info_span!(target: "emend", "client");
    let result = fixture.ask(asked).instrument(client).await.unwrap();
    let refused = tracing::info_span!(target: "emend", "refused");
    let asked = question("Who built it?", "self-rag", "no-such-village");
    fixture.ask(asked).instrument(refused).await.unwrap_err();
    fixture.cluster.stop().await;
    let telling = Fixture::with_flags(Plan::default(), &["--llm-record-content"]).await;
    telling.ingest("village", &[("lighthouse", text)]).await;
    let asked = question("Who built the Torvik lighthouse in 1873?", "self-rag", "village");
    let told = telling.ask(asked.clone()).await.unwrap();
    telling.cluster.stop().await;
    telemetry.shutdown().await;

    let spans = collector.spans();
    assert_eq!(
        spans.traces_with(|name| name == "client"),
        std::slice::from_ref(&result.trace_id),
        "the client's trace"
    );
    let trace = spans.of_trace(&result.trace_id);
    let names: Vec<_> = trace.iter().map(|span| span.name.as_str()).collect();

    // No span has lost its parent, and one alone has none.
    let roots: Vec<_> = trace.iter().filter(|span| span.parent_span_id.is_empty()).collect();
    assert_eq!(roots.len(), 1, "{names:?}");
    assert_eq!(roots[0].name, "client");
    for span in &trace {
        let known = span.parent_span_id.is_empty() || spans.parent(span).is_some();
        assert!(known, "{} has lost its parent", span.name);
    }

    // The steps of the walk are spans below the walk's, in order, each with its outcome.
    let steps: Vec<_> = trace
        .iter()
        .filter(|span| otlp::attribute(span, "emend.step.number").is_some())
        .collect();
    let path: Vec<_> = steps
        .iter()
        .map(|span| {
            (
                otlp::attribute(span, "emend.node").unwrap(),
                otlp::attribute(span, "emend.outcome").unwrap(),
            )
        })
        .collect();
    let taken: Vec<_> = result
        .steps
        .iter()
        .map(|step| (step.node.clone(), step.outcome.clone()))
        .collect();
    assert_eq!(path, taken);
    // Each tells which visit it is, and where the walk went from there and why.
    for (place, step) in steps.iter().enumerate() {
        let says = |key: &str| otlp::attribute(step, key).unwrap_or_else(|| panic!("{key} of {}", step.name));
        let next = result.steps.get(place + 1).map_or("finish", |step| &step.node);
        assert_eq!(
            (says("emend.edge.to").as_str(), says("emend.node.visit").as_str()),
            (next, "1")
        );
        assert!(says("emend.edge.reason").contains(&result.steps[place].outcome));
        assert_eq!(status(step), (StatusCode::Unset, String::new()), "{}", step.name);
    }
    let walk = spans.parent(steps[0]).unwrap();
    assert!(
        steps
            .iter()
            .all(|step| spans.parent(step).unwrap().span_id == walk.span_id)
    );

    // Every call of a service lies below the step that made it, and the service's own span below the call's.
    for (rpc, node) in [
        ("emend.v1.RetrieverService/Retrieve", "retrieve"),
        ("emend.v1.GraderService/GradeDocuments", "grade_documents"),
        ("emend.v1.GeneratorService/Generate", "generate"),
        ("emend.v1.GraderService/GradeGroundedness", "grade_generation"),
        ("emend.v1.GraderService/GradeUsefulness", "grade_generation"),
    ] {
        let of_rpc: Vec<_> = trace.iter().filter(|span| span.name == rpc).collect();
        assert_eq!(of_rpc.len(), 2, "{rpc}: a client's span and a server's: {names:?}");
        let (client, server) = (of_rpc[0], of_rpc[1]);
        assert_eq!(server.parent_span_id, client.span_id, "{rpc}");
        let step = spans
            .ancestor(client, |name| name == node)
            .unwrap_or_else(|| panic!("{rpc} is below {node}"));
        assert_eq!(otlp::attribute(step, "emend.node").as_deref(), Some(node));
        assert_eq!(otlp::attribute(server, "rpc.method").as_deref(), Some(rpc));
    }
    assert!(
        names.iter().any(|name| name.starts_with("retrieval ")),
        "the store's span: {names:?}"
    );
    assert!(
        names.iter().any(|name| name.starts_with("embeddings ")),
        "the model's span: {names:?}"
    );

    // Neither the question nor the documents are in the spans.
    for span in &trace {
        let text = format!("{span:?}");
        assert!(!text.contains("Torvik") && !text.contains("Ansgar"), "{}", span.name);
    }

    // Where content is recorded, the walk's span has the question and the answer, and a retrieval what it found.
    let trace = spans.of_trace(&told.trace_id);
    let says = |span: &str, key: &str| {
        let span = trace.iter().find(|found| found.name == span).unwrap();
        otlp::attribute(span, key).unwrap_or_else(|| panic!("{key} of {}", span.name))
    };
    let json = |span: &str, key: &str| -> serde_json::Value { serde_json::from_str(&says(span, key)).unwrap() };
    let walk = "invoke_workflow self-rag";
    let said = json(walk, "gen_ai.input.messages");
    assert_eq!(
        (&said[0]["role"], &said[0]["parts"][0]["content"]),
        (&"user".into(), &asked.question.clone().into())
    );
    let said = json(walk, "gen_ai.output.messages");
    assert_eq!(
        (&said[0]["role"], &said[0]["parts"][0]["content"]),
        (&"assistant".into(), &told.answer.clone().into())
    );
    assert_eq!(says("retrieve", "gen_ai.retrieval.query.text"), asked.question);
    let found = json("retrieve", "gen_ai.retrieval.documents");
    assert_eq!(
        (found.as_array().unwrap().len(), &found[0]["content"]),
        (1, &text.into())
    );
    assert!(found[0]["id"].is_string() && found[0]["score"].is_number(), "{found}");

    // A walk that ends in an error says so, as does the step that caused it: in its status, with the reason.
    let trace = spans.of_trace(&spans.traces_with(|name| name == "refused")[0]);
    for name in [
        "invoke_workflow self-rag",
        "retrieve",
        "emend.v1.RetrieverService/Retrieve",
    ] {
        let span = trace.iter().find(|span| span.name == name).unwrap();
        let (code, message) = status(span);
        assert_eq!(code, StatusCode::Error, "{name}");
        assert!(message.contains("no-such-village"), "{name}: {message}");
        assert_eq!(
            otlp::attribute(span, "error.type").as_deref(),
            Some("NOT_FOUND"),
            "{name}"
        );
    }
}

fn status(span: &Span) -> (StatusCode, String) {
    let status = span.status.clone().unwrap_or_default();
    (status.code(), status.message)
}
