//! The gateway: Emend for those who do not speak gRPC. It is thin: a request becomes a call of the orchestrator or the
//! retriever, an answer becomes JSON, and it decides nothing.
//!
//! # HTTP and JSON
//!
//! | request | call | answer |
//! | --- | --- | --- |
//! | `POST /v1/ask` | `OrchestratorService/Ask`, `AskStream` | a `WalkResult`; with `Accept: text/event-stream` the walk's events |
//! | `GET /v1/graphs` | `ListGraphs` | `ListGraphsResponse` |
//! | `GET /v1/graphs/{name}` | `GetGraph` | `GetGraphResponse` |
//! | `GET /v1/graphs/{name}/mermaid` | `GetGraph` | a Mermaid flowchart, `text/vnd.mermaid` |
//! | `POST /v1/graphs/validate` | `ValidateGraph` | `ValidateGraphResponse` |
//! | `POST /v1/search` | `RetrieverService/Retrieve` | `RetrieveResponse` |
//! | `GET /v1/collections` | `ListCollections` | `ListCollectionsResponse` |
//! | `GET /v1/collections/{name}` | `GetCollection` | `Collection` |
//! | `DELETE /v1/collections/{name}` | `DeleteCollection` | `DeleteCollectionResponse` |
//! | `GET /v1/collections/{name}/documents` | `ListDocuments` | `ListDocumentsResponse`; `?pageSize=` and `?pageToken=` |
//! | `GET /v1/collections/{name}/documents/{id}` | `GetDocument` | `GetDocumentResponse`; `?parents=` too |
//! | `DELETE /v1/collections/{name}/documents/{id}` | `DeleteDocuments` | `DeleteDocumentsResponse` |
//! | `POST /v1/documents` | `Ingest` | what became of each document, see below |
//! | `POST /v1/replay` | `ReplayWalk` | `ReplayWalkResponse`; the body is a `ReplayWalkRequest` |
//! | `POST /v1/feedback` | `OrchestratorService/RecordFeedback` | `RecordFeedbackResponse`; the body is a `Feedback` |
//! | `GET /` | | the page; with `Accept: application/json` the list of these, and `traceUrl` of `--trace-url` |
//! | `GET /openapi.json` | | OpenAPI 3.1, made from the contracts |
//! | `GET /livez`, `GET /readyz` | health of both services | `ok`, or a problem; gRPC's own health, without a name, says the same |
//!
//! The body of `POST /v1/ask` is a `Question`, that of `/v1/search` a `RetrieveRequest`. Fields have the names of protobuf's
//! JSON mapping (`traceId`; `trace_id` is read too), 64-bit integers are strings, durations are like `"1.5s"`. A field that
//! the contract does not have is an error. The OpenAPI document is generated from the descriptor set that the contracts
//! compile to, so that it has every field with its comment.
//!
//! **Events.** `Accept: text/event-stream` gives `event: stepStarted | stepFinished | edgeTaken | textDelta |
//! sentenceCommitted | sentenceRetracted | finished`, each with a `WalkEvent` as `data`; `finished`, with the result, is the
//! last. `Accept: application/x-ndjson` gives the same as lines `{"event": …, "data": …}`. A stream that breaks off ends with
//! an event `error`, whose data is a problem.
//!
//! **Documents.** `POST /v1/documents` takes `multipart/form-data`: every part with a file name is a document, whose id is
//! the file name, which may be a path. Parts without one say something of the documents after them: `collection` and
//! `metadata` (a JSON object of strings) of all, `id`, `title` and `source` of the next one. Documents are passed on while
//! they come. The answer is `{"documents": [IngestResponse…], "ingested", "unchanged", "failed"}`, or with
//! `Accept: text/event-stream` (or `application/x-ndjson`) an event `document` for each as it is stored, and `finished` with the counts.
//!
//! **Errors** are problem details (RFC 9457, `application/problem+json`): `type` (`urn:emend:problem:` and the reason),
//! `title`, `status`, `detail`, `code` (the gRPC code), `reason` (an `ErrorReason` of the contracts without its prefix), and
//! where there are any `resource` (`type` and `name`), `metadata`, `errors` (`field` and `description` of every wrong field)
//! and `retryAfter` in seconds, which is in `Retry-After` too. That a walk abstains, reaches a limit or fails for a service is no
//! error: its status is in the result.
//!
//! **Time.** `X-Request-Timeout: 30s` (or seconds, `30`) or `grpc-timeout: 30S`, at most an hour, is when the answer is due;
//! a walk answers with what it has before that. When the caller leaves, the call is dropped and the walk stops.
//!
//! **Keys and traces.** `Authorization` is passed on as it is, and what it allows is for the services to say; with
//! `--keys-file`, a file as theirs, a request without a key that is known gets no further than here. `traceparent` and `tracestate` make the request a part of the
//! caller's trace.
//!
//! # OpenAI's protocol
//!
//! `POST /v1/chat/completions` (also streamed) and `GET /v1/models`: a model is a graph over a collection,
//! `self-corrective-rag@handbook`. The conversation before the last message makes the question stand on its own; the answer
//! has its citations as `[1]`, as footnotes and as `annotations`. Which parameters are used, refused and not used stands in
//! `openai.rs`. Errors have OpenAI's shape.
//!
//! # MCP
//!
//! `POST /mcp` is the Model Context Protocol over streamable HTTP, without sessions: the tools `ask`, `search`, `ingest`,
//! `list_collections` and `explain_walk`, the cited passages as resources, and progress as a walk goes on.
//! [`serve_streams`] is the same over standard input and output.
//!
//! # gRPC-Web
//!
//! `POST /emend.v1.OrchestratorService/{method}` and `POST /emend.v1.RetrieverService/{method}` take what stubs for browsers
//! send; `Ingest` alone, a stream of requests, has no way through.
//!
//! # Browsers
//!
//! Pages of other origins are refused unless `--cors-origin` names them, which also lets them read. On a
//! loopback address only requests for localhost, or a host of `--allowed-host`, are answered.

mod ask;
mod assets;
mod collections;
mod config;
mod documents;
mod edge;
mod graphs;
mod grpc_web;
mod health;
mod mcp;
mod memory;
mod openai;
mod openapi;
mod origin;
mod problem;
mod request;
mod respond;
mod routes;
mod server;
mod sse;
mod trace_url;

use std::net::{IpAddr, Ipv4Addr};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use emend_chassis::keys::Keys;
use emend_chassis::metrics::Latency;
use emend_chassis::{ServeError, ServiceOptions, TracedChannel, Upstream, UpstreamError, UpstreamOptions};
use emend_core::limits::{MAX_EVIDENCE_REQUEST_BYTES, MAX_MESSAGE_BYTES};
use emend_core::semconv;
use emend_proto::v1::orchestrator_service_client::OrchestratorServiceClient;
use emend_proto::v1::retriever_service_client::RetrieverServiceClient;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::memory::Memory;
use crate::origin::OriginPolicy;
use crate::trace_url::TraceUrl;

pub use config::{BrowserOptions, Options, PageOptions, ServiceUrls};
pub use mcp::{McpOptions, serve_stdio, serve_streams};
pub use origin::{HostName, Origin};

/// What every request works with.
pub(crate) struct Gateway {
    services: Services,
    /// Places of requests at once.
    places: Arc<Semaphore>,
    memory: Memory,
    default_timeout: Duration,
    origins: OriginPolicy,
    /// Where the page links traces to.
    trace_url: Option<TraceUrl>,
    duration: Latency,
    mcp: mcp::HttpService,
    /// Cancelled when no new request is to come.
    draining: CancellationToken,
    /// What requests need a key of; the services behind decide what it may do.
    keys: Option<Keys>,
}

/// The services behind the gateway.
#[derive(Clone, Debug)]
pub(crate) struct Services {
    orchestrator: TracedChannel,
    retriever: TracedChannel,
}

impl Services {
    fn new(urls: &ServiceUrls, options: UpstreamOptions) -> Result<Self, UpstreamError> {
        Ok(Self {
            orchestrator: Upstream::with_options(&urls.orchestrator_url, options.clone())?.channel(),
            retriever: Upstream::with_options(&urls.retriever_url, options)?.channel(),
        })
    }

    pub(crate) fn orchestrator(&self) -> OrchestratorServiceClient<TracedChannel> {
        OrchestratorServiceClient::new(self.orchestrator.clone())
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
            .max_encoding_message_size(MAX_MESSAGE_BYTES)
    }

    pub(crate) fn retriever(&self) -> RetrieverServiceClient<TracedChannel> {
        RetrieverServiceClient::new(self.retriever.clone()).max_decoding_message_size(MAX_EVIDENCE_REQUEST_BYTES)
    }
}

impl Gateway {
    fn new(options: &Options, listens_on: IpAddr, draining: CancellationToken) -> Result<Self, ServeError> {
        let ServiceOptions {
            max_in_flight,
            request_memory_mib,
            default_timeout,
            ..
        } = options.service;
        let services = Services::new(&options.services, options.upstream()?).map_err(ServeError::start)?;
        Ok(Self {
            mcp: mcp::service(&services, options, &draining),
            services,
            places: Arc::new(Semaphore::new(max_in_flight.min(Semaphore::MAX_PERMITS))),
            memory: Memory::new(request_memory_mib),
            default_timeout,
            origins: OriginPolicy::new(&options.browsers, listens_on),
            trace_url: options.page.trace_url().map_err(ServeError::start)?,
            duration: Latency::new(semconv::HTTP_SERVER_REQUEST_DURATION),
            draining,
            keys: Keys::load(&options.service)?,
        })
    }
}

/// The main function of `emend-gateway`.
#[must_use]
pub fn main() -> ExitCode {
    emend_chassis::run::<Options, _, _>("emend-gateway", serve)
}

/// Serves on `listener` until `shutdown` is cancelled and the requests in flight are done.
///
/// # Errors
/// [`ServeError`] when the address of a service or of traces is none, a file of certificates or keys is wrong, or requests were still running after `--drain-timeout`.
pub async fn serve(options: Options, listener: TcpListener, shutdown: CancellationToken) -> Result<(), ServeError> {
    let address = listener.local_addr().ok();
    let listens_on = address.map_or(Ipv4Addr::LOCALHOST.into(), |address| address.ip());
    let gateway = Gateway::new(&options, listens_on, shutdown.clone())?;
    let gateway = Arc::new(gateway);
    emend_chassis::enlist(&gateway);
    let router = routes::router(gateway);
    server::serve(router, &options.service, listener, shutdown).await
}
