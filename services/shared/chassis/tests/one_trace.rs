//! One call from client to actor is one trace, as an OTLP collector sees it. A process of its own: telemetry is global.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use emend_chassis::{
    ActorHandle, ActorOptions, ActorSystem, Server, ServiceOptions, Telemetry, TelemetryOptions, Upstream, Work,
    request, retrying, telemetry,
};
use emend_core::{Code, Deadline, Scope, ServiceError};
use emend_proto::v1::web_search_service_client::WebSearchServiceClient;
use emend_proto::v1::web_search_service_server::{WebSearchService, WebSearchServiceServer};
use emend_proto::v1::{SearchRequest, SearchResponse};
use opentelemetry_proto::tonic::collector::logs::v1::logs_service_server::{LogsService, LogsServiceServer};
use opentelemetry_proto::tonic::collector::logs::v1::{ExportLogsServiceRequest, ExportLogsServiceResponse};
use opentelemetry_proto::tonic::collector::metrics::v1::metrics_service_server::{
    MetricsService, MetricsServiceServer,
};
use opentelemetry_proto::tonic::collector::metrics::v1::{ExportMetricsServiceRequest, ExportMetricsServiceResponse};
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{TraceService, TraceServiceServer};
use opentelemetry_proto::tonic::collector::trace::v1::{ExportTraceServiceRequest, ExportTraceServiceResponse};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;
use tracing::Instrument;

struct Record {
    body: String,
    trace_id: Vec<u8>,
}

#[derive(Clone, Default)]
struct Collector {
    spans: Arc<Mutex<Vec<Span>>>,
    resources: Arc<Mutex<Vec<String>>>,
    metrics: Arc<Mutex<Vec<String>>>,
    logs: Arc<Mutex<Vec<Record>>>,
}

#[tonic::async_trait]
impl TraceService for Collector {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        for resource in request.into_inner().resource_spans {
            for attribute in resource.resource.unwrap_or_default().attributes {
                self.resources
                    .lock()
                    .unwrap()
                    .push(format!("{}={}", attribute.key, text(attribute.value)));
            }
            self.spans
                .lock()
                .unwrap()
                .extend(resource.scope_spans.into_iter().flat_map(|scope| scope.spans));
        }
        Ok(Response::new(Default::default()))
    }
}

#[tonic::async_trait]
impl MetricsService for Collector {
    async fn export(
        &self,
        request: Request<ExportMetricsServiceRequest>,
    ) -> Result<Response<ExportMetricsServiceResponse>, Status> {
        let resources = request.into_inner().resource_metrics;
        let scopes = resources.into_iter().flat_map(|resource| resource.scope_metrics);
        let names = scopes.flat_map(|scope| scope.metrics).map(|metric| metric.name);
        self.metrics.lock().unwrap().extend(names);
        Ok(Response::new(Default::default()))
    }
}

#[tonic::async_trait]
impl LogsService for Collector {
    async fn export(
        &self,
        request: Request<ExportLogsServiceRequest>,
    ) -> Result<Response<ExportLogsServiceResponse>, Status> {
        let resources = request.into_inner().resource_logs;
        let scopes = resources.into_iter().flat_map(|resource| resource.scope_logs);
        let records = scopes.flat_map(|scope| scope.log_records);
        let records = records.map(|record| Record {
            body: text(record.body),
            trace_id: record.trace_id,
        });
        self.logs.lock().unwrap().extend(records);
        Ok(Response::new(Default::default()))
    }
}

fn text(value: Option<opentelemetry_proto::tonic::common::v1::AnyValue>) -> String {
    match value.and_then(|value| value.value) {
        Some(Value::StringValue(text)) => text,
        Some(other) => format!("{other:?}"),
        None => String::new(),
    }
}

struct Search;

#[derive(Debug, thiserror::Error)]
#[error("nothing found")]
struct Nothing;

impl ServiceError for Nothing {
    fn code(&self) -> Code {
        Code::Unavailable
    }
}

/// Fails the first call.
#[derive(Default)]
struct Searcher {
    calls: AtomicU32,
}

impl Work<Searcher> for Search {
    type Reply = u32;
    type Error = Nothing;
    const NAME: &'static str = "search";

    async fn run(self, searcher: &Searcher, _: &Scope) -> Result<u32, Nothing> {
        async {
            tracing::info!("searching");
            let calls = searcher.calls.fetch_add(1, Ordering::SeqCst) + 1;
            tokio::task::yield_now().await;
            if calls == 1 { Err(Nothing) } else { Ok(calls) }
        }
        .instrument(tracing::info_span!("execute_tool web_search"))
        .await
    }
}

struct Service(ActorHandle<Searcher>);

#[tonic::async_trait]
impl WebSearchService for Service {
    async fn search(&self, request: Request<SearchRequest>) -> Result<Response<SearchResponse>, Status> {
        let caller = self.0.caller(&request);
        let calls = self.0.call(Search, caller).await?;
        Ok(Response::new(SearchResponse {
            provider: calls.to_string(),
            ..Default::default()
        }))
    }
}

async fn listener() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    (listener, url)
}

fn attributes(span: &Span) -> HashMap<&str, String> {
    span.attributes
        .iter()
        .map(|attribute| (attribute.key.as_str(), text(attribute.value.clone())))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_with_a_retry_is_one_tree() {
    let collector = Collector::default();
    let (incoming, endpoint) = listener().await;
    tokio::spawn(
        tonic::transport::Server::builder()
            .add_service(TraceServiceServer::new(collector.clone()))
            .add_service(MetricsServiceServer::new(collector.clone()))
            .add_service(LogsServiceServer::new(collector.clone()))
            .serve_with_incoming(TcpListenerStream::new(incoming)),
    );
    let running = Telemetry::start(TelemetryOptions::new("emend-test").with_endpoint(endpoint.clone())).unwrap();
    assert!(
        Telemetry::start(TelemetryOptions::new("again")).is_err(),
        "one a process"
    );

    let system = ActorSystem::start("actors").unwrap();
    let server = Server::new("emend-test", &ServiceOptions::default());
    let health = server.health().flag("emend.v1.WebSearchService");
    let options = ActorOptions::new("searcher", &ServiceOptions::default());
    let searcher = Arc::new(Searcher::default());
    let handle = ActorHandle::start(&system, options, health, move || Arc::clone(&searcher)).unwrap();
    let (incoming, url) = listener().await;
    let shutdown = CancellationToken::new();
    let served = tokio::spawn(
        server
            .add(WebSearchServiceServer::new(Service(handle)))
            .serve(incoming, shutdown.clone()),
    );

    let upstream = Upstream::new(&url).unwrap();
    HealthClient::new(upstream.channel())
        .check(HealthCheckRequest::default())
        .await
        .unwrap();
    let deadline = Deadline::after(Duration::from_secs(60));
    let walk = tracing::info_span!("walk");
    let id = telemetry::trace_id(&walk).unwrap();
    let batch = tracing::info_span!("batch");
    telemetry::link(&batch, &walk);
    drop(batch);
    let found = retrying(deadline, |_| {
        let mut client = WebSearchServiceClient::new(upstream.channel());
        async move { client.search(request(SearchRequest::default(), deadline)).await }
    })
    .instrument(walk)
    .await;
    assert_eq!(found.unwrap().into_inner().provider, "2");

    shutdown.cancel();
    served.await.unwrap().unwrap();
    system.stop().await;
    running.flush().await;
    running.shutdown().await;

    let spans = collector.spans.lock().unwrap().clone();
    let trace: Vec<u8> = (0..id.len())
        .step_by(2)
        .map(|i| u8::from_str_radix(&id[i..i + 2], 16).unwrap())
        .collect();
    let ours: Vec<&Span> = spans.iter().filter(|span| span.trace_id == trace).collect();
    let walk = ours.iter().find(|span| span.name == "walk").unwrap();
    let children = |parent: &Span| {
        let mut of: Vec<&&Span> = ours
            .iter()
            .filter(|span| span.parent_span_id == parent.span_id)
            .collect();
        of.sort_by_key(|span| span.start_time_unix_nano);
        of
    };
    assert!(walk.parent_span_id.is_empty());
    assert_eq!(
        ours.len(),
        7,
        "{:?}",
        ours.iter().map(|span| &span.name).collect::<Vec<_>>()
    );

    let attempts = children(walk);
    assert_eq!(attempts.len(), 2, "one client span an attempt");
    for (attempt, code) in attempts.iter().zip(["UNAVAILABLE", "OK"]) {
        assert_eq!(attempt.name, "emend.v1.WebSearchService/Search");
        assert_eq!(attempt.kind(), SpanKind::Client);
        let client = attributes(attempt);
        assert_eq!(client["rpc.system.name"], "grpc");
        assert_eq!(client["rpc.method"], "emend.v1.WebSearchService/Search");
        assert_eq!(client["rpc.response.status_code"], code);
        assert_eq!(client["server.address"], "127.0.0.1");
        let [server] = children(attempt)[..] else {
            panic!("not one server span")
        };
        assert_eq!(server.name, "emend.v1.WebSearchService/Search");
        assert_eq!(server.kind(), SpanKind::Server);
        let attributes = attributes(server);
        assert_eq!(attributes["rpc.response.status_code"], code);
        assert_eq!(attributes.contains_key("error.type"), code != "OK");
        let [work] = children(server)[..] else {
            panic!("not one span of work")
        };
        assert_eq!(work.name, "execute_tool web_search");
    }

    let names: Vec<_> = spans.iter().map(|span| span.name.as_str()).collect();
    assert!(
        !names.iter().any(|name| name.contains("Export")),
        "exporting is not traced: {names:?}"
    );
    let servers = spans.iter().filter(|span| span.kind() == SpanKind::Server).count();
    assert_eq!(servers, 2, "{names:?}");
    assert!(
        !names.iter().any(|name| name.contains("Health")),
        "health checks are not traced: {names:?}"
    );
    let batch = spans.iter().find(|span| span.name == "batch").unwrap();
    assert_eq!(batch.links[0].trace_id, trace);

    let resources = collector.resources.lock().unwrap().clone();
    assert!(
        resources.contains(&"service.name=emend-test".to_owned()),
        "{resources:?}"
    );
    let metrics = collector.metrics.lock().unwrap().clone();
    for name in [
        "rpc.server.call.duration",
        "rpc.client.call.duration",
        "emend.actor.in_flight",
    ] {
        assert!(metrics.contains(&name.to_owned()), "{name} is not in {metrics:?}");
    }
    let logs = collector.logs.lock().unwrap();
    assert!(logs.iter().any(|log| log.body == "searching" && log.trace_id == trace));
}
