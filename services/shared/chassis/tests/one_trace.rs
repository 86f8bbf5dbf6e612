//! One call from client to actor is one trace, as an OTLP collector sees it. A process of its own: telemetry is global.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use emend_chassis::{
    ActorHandle, ActorOptions, ActorSystem, Server, ServiceOptions, Telemetry, TelemetryOptions, Upstream, Work,
    request, retrying, telemetry,
};
use emend_core::{Deadline, Reason, Scope, ServiceError};
use emend_proto::v1::generator_service_client::GeneratorServiceClient;
use emend_proto::v1::generator_service_server::{GeneratorService, GeneratorServiceServer};
use emend_proto::v1::web_search_service_client::WebSearchServiceClient;
use emend_proto::v1::web_search_service_server::{WebSearchService, WebSearchServiceServer};
use emend_proto::v1::{GenerateRequest, GenerateResponse, SearchRequest, SearchResponse};
use emend_testkit::otlp::{Collector, attribute, hex};
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;
use tracing::Instrument;

struct Search;

#[derive(Debug, thiserror::Error)]
#[error("nothing found")]
struct Nothing;

impl ServiceError for Nothing {
    fn reason(&self) -> Reason {
        Reason::ServiceUnavailable
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

/// Answers with what a test sends.
struct Writer(Mutex<Option<mpsc::Receiver<Result<GenerateResponse, Status>>>>);

#[tonic::async_trait]
impl GeneratorService for Writer {
    type GenerateStream = ReceiverStream<Result<GenerateResponse, Status>>;

    async fn generate(&self, _: Request<GenerateRequest>) -> Result<Response<Self::GenerateStream>, Status> {
        let receiver = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let receiver = receiver.ok_or_else(|| Status::internal("asked twice"))?;
        Ok(Response::new(ReceiverStream::new(receiver)))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_with_a_retry_is_one_tree() {
    let (collector, endpoint) = Collector::start().await;
    let running = Telemetry::start(TelemetryOptions::new("emend-test").with_endpoint(endpoint)).unwrap();
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
    let (sender, receiver) = mpsc::channel(1);
    let incoming = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", incoming.local_addr().unwrap());
    let shutdown = CancellationToken::new();
    let served = tokio::spawn(
        server
            .add(WebSearchServiceServer::new(Service(handle)))
            .add(GeneratorServiceServer::new(Writer(Mutex::new(Some(receiver)))))
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

    let writing = tracing::info_span!("writing");
    let stream_id = telemetry::trace_id(&writing).unwrap();
    let mut writer = GeneratorServiceClient::new(upstream.channel());
    let asked = writer.generate(request(GenerateRequest::default(), deadline));
    let mut stream = asked.instrument(writing).await.unwrap().into_inner();
    let begun = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
    sender.send(Ok(GenerateResponse::default())).await.unwrap();
    assert!(stream.message().await.unwrap().is_some());
    sender.send(Err(Status::internal("the pen broke"))).await.unwrap();
    assert_eq!(stream.message().await.unwrap_err().code(), tonic::Code::Internal);
    drop(stream);

    shutdown.cancel();
    served.await.unwrap().unwrap();
    system.stop().await;
    running.flush().await;
    running.shutdown().await;

    let spans = collector.spans();
    let ours = spans.of_trace(&id);
    let walk = ours.iter().find(|span| span.name == "walk").unwrap();
    assert!(walk.parent_span_id.is_empty());
    assert_eq!(
        ours.len(),
        7,
        "{:?}",
        ours.iter().map(|span| &span.name).collect::<Vec<_>>()
    );

    let attempts = spans.children(walk);
    assert_eq!(attempts.len(), 2, "one client span an attempt");
    for (attempt, code) in attempts.iter().zip(["UNAVAILABLE", "OK"]) {
        assert_eq!(attempt.name, "emend.v1.WebSearchService/Search");
        assert_eq!(attempt.kind(), SpanKind::Client);
        let client = |key: &str| attribute(attempt, key).unwrap();
        assert_eq!(client("rpc.system.name"), "grpc");
        assert_eq!(client("rpc.method"), "emend.v1.WebSearchService/Search");
        assert_eq!(client("rpc.response.status_code"), code);
        assert_eq!(client("server.address"), "127.0.0.1");
        let status = attempt.status.clone().unwrap_or_default();
        assert_eq!(status.message, if code == "OK" { "" } else { "nothing found" });
        let [server] = spans.children(attempt)[..] else {
            panic!("not one server span")
        };
        assert_eq!(server.name, "emend.v1.WebSearchService/Search");
        assert_eq!(server.kind(), SpanKind::Server);
        assert_eq!(attribute(server, "rpc.response.status_code").as_deref(), Some(code));
        assert_eq!(attribute(server, "error.type").is_some(), code != "OK");
        let [work] = spans.children(server)[..] else {
            panic!("not one span of work")
        };
        assert_eq!(work.name, "execute_tool web_search");
    }

    let stream = spans.of_trace(&stream_id);
    let [client, server] =
        [SpanKind::Client, SpanKind::Server].map(|kind| *stream.iter().find(|span| span.kind() == kind).unwrap());
    assert!(
        u128::from(client.end_time_unix_nano) >= begun,
        "the client's span ended with the headers"
    );
    for span in [client, server] {
        let status = span.status.clone().unwrap_or_default();
        assert_eq!(
            status.code(),
            StatusCode::Error,
            "{}: a failure in mid-stream is seen",
            span.name
        );
        assert_eq!(status.message, "the pen broke");
    }
    assert!(spans.all().all(|span| attribute(span, "target").is_none()));

    let names: Vec<_> = spans.all().map(|span| span.name.as_str()).collect();
    assert!(
        !names.iter().any(|name| name.contains("Export")),
        "exporting is not traced: {names:?}"
    );
    let servers = spans
        .all()
        .filter(|span: &&Span| span.kind() == SpanKind::Server)
        .count();
    assert_eq!(servers, 3, "{names:?}");
    assert!(
        !names.iter().any(|name| name.contains("Health")),
        "health checks are not traced: {names:?}"
    );
    let batch = spans.all().find(|span| span.name == "batch").unwrap();
    assert_eq!(hex(&batch.links[0].trace_id), id);

    let resource = collector.resource();
    let named = ("service.name".to_owned(), "emend-test".to_owned());
    assert!(resource.contains(&named), "{resource:?}");
    let metrics = collector.metrics();
    for name in [
        "rpc.server.call.duration",
        "rpc.client.call.duration",
        "emend.actor.in_flight",
    ] {
        assert!(metrics.contains(&name.to_owned()), "{name} is not in {metrics:?}");
    }
    let logs = collector.logs();
    assert!(logs.iter().any(|log| log.body == "searching" && log.trace_id == id));
}
