//! A collector in this process: takes traces, metrics and logs by OTLP over gRPC and keeps them, as Jaeger would.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use opentelemetry_proto::tonic::{
    collector::{
        logs::v1::{
            ExportLogsServiceRequest, ExportLogsServiceResponse,
            logs_service_server::{LogsService, LogsServiceServer},
        },
        metrics::v1::{
            ExportMetricsServiceRequest, ExportMetricsServiceResponse,
            metrics_service_server::{MetricsService, MetricsServiceServer},
        },
        trace::v1::{
            ExportTraceServiceRequest, ExportTraceServiceResponse,
            trace_service_server::{TraceService, TraceServiceServer},
        },
    },
    common::v1::{AnyValue, any_value::Value},
    trace::v1::Span,
};
use tokio::{net::TcpListener, sync::oneshot, task::JoinHandle};
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status};

/// What stops a server, and the server.
type Serving = (oneshot::Sender<()>, JoinHandle<()>);

/// Keeps what it is sent; cheap to clone.
#[derive(Clone, Default)]
pub struct Collector {
    received: Arc<Mutex<Received>>,
    server: Arc<Mutex<Option<Serving>>>,
}

#[derive(Default)]
struct Received {
    spans: Vec<Span>,
    resource: Vec<(String, String)>,
    metrics: Vec<String>,
    logs: Vec<Log>,
    transcript: String,
}

/// One log record.
#[derive(Clone, Debug)]
pub struct Log {
    /// The text.
    pub body: String,
    /// The trace it was written in, in hexadecimal; empty where there was none.
    pub trace_id: String,
}

impl Collector {
    /// Listens on a free port of 127.0.0.1, and says at which URL. It stops with the last clone of it.
    pub async fn start() -> (Self, String) {
        Self::start_at(([127, 0, 0, 1], 0).into()).await
    }

    /// Listens at an address, and says at which URL.
    pub async fn start_at(address: SocketAddr) -> (Self, String) {
        let collector = Self::default();
        let listener = TcpListener::bind(address).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = tonic::transport::Server::builder()
            .add_service(TraceServiceServer::new(collector.clone()))
            .add_service(MetricsServiceServer::new(collector.clone()))
            .add_service(LogsServiceServer::new(collector.clone()));
        let (stop, stopped) = oneshot::channel();
        let serving = tokio::spawn(async move {
            let incoming = TcpListenerStream::new(listener);
            let stopped = async { drop(stopped.await) };
            server.serve_with_incoming_shutdown(incoming, stopped).await.unwrap();
        });
        *collector.server.lock().unwrap_or_else(PoisonError::into_inner) = Some((stop, serving));
        (collector, url)
    }

    /// Stops listening and closes the connections.
    pub async fn stop(&self) {
        let server = self.server.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((stop, serving)) = server {
            drop(stop);
            serving.await.unwrap();
        }
    }

    /// The spans so far.
    pub fn spans(&self) -> Spans {
        let spans = self.received().spans.clone();
        Spans {
            by_id: spans.into_iter().map(|span| (span.span_id.clone(), span)).collect(),
        }
    }

    /// The attributes of the resources that sent spans.
    pub fn resource(&self) -> Vec<(String, String)> {
        self.received().resource.clone()
    }

    /// The names of the metrics so far, each as often as it came.
    pub fn metrics(&self) -> Vec<String> {
        self.received().metrics.clone()
    }

    /// The log records so far.
    pub fn logs(&self) -> Vec<Log> {
        self.received().logs.clone()
    }

    /// Everything that came, word for word, for who looks for what must not be there.
    pub fn transcript(&self) -> String {
        self.received().transcript.clone()
    }

    fn received(&self) -> MutexGuard<'_, Received> {
        self.received.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[tonic::async_trait]
impl TraceService for Collector {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let mut received = self.received();
        received.transcript.push_str(&format!("{:?}\n", request.get_ref()));
        for of_resource in request.into_inner().resource_spans {
            let attributes = of_resource.resource.unwrap_or_default().attributes;
            let attributes = attributes.into_iter().map(|of| (of.key, text(of.value.as_ref())));
            received.resource.extend(attributes);
            let spans = of_resource.scope_spans.into_iter().flat_map(|scope| scope.spans);
            received.spans.extend(spans);
        }
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

#[tonic::async_trait]
impl MetricsService for Collector {
    async fn export(
        &self,
        request: Request<ExportMetricsServiceRequest>,
    ) -> Result<Response<ExportMetricsServiceResponse>, Status> {
        self.received()
            .transcript
            .push_str(&format!("{:?}\n", request.get_ref()));
        let resources = request.into_inner().resource_metrics;
        let scopes = resources.into_iter().flat_map(|resource| resource.scope_metrics);
        let names = scopes.flat_map(|scope| scope.metrics).map(|metric| metric.name);
        self.received().metrics.extend(names);
        Ok(Response::new(ExportMetricsServiceResponse::default()))
    }
}

#[tonic::async_trait]
impl LogsService for Collector {
    async fn export(
        &self,
        request: Request<ExportLogsServiceRequest>,
    ) -> Result<Response<ExportLogsServiceResponse>, Status> {
        self.received()
            .transcript
            .push_str(&format!("{:?}\n", request.get_ref()));
        let resources = request.into_inner().resource_logs;
        let scopes = resources.into_iter().flat_map(|resource| resource.scope_logs);
        let logs = scopes.flat_map(|scope| scope.log_records).map(|record| Log {
            body: text(record.body.as_ref()),
            trace_id: hex(&record.trace_id),
        });
        self.received().logs.extend(logs);
        Ok(Response::new(ExportLogsServiceResponse::default()))
    }
}

/// Spans by their ids.
pub struct Spans {
    by_id: HashMap<Vec<u8>, Span>,
}

impl Spans {
    /// Every span, in no order.
    pub fn all(&self) -> impl Iterator<Item = &Span> {
        self.by_id.values()
    }

    /// The ids of the traces that have a span whose name satisfies `name`.
    pub fn traces_with(&self, name: impl Fn(&str) -> bool) -> Vec<String> {
        let mut traces: Vec<_> = self
            .all()
            .filter(|span| name(&span.name))
            .map(|span| hex(&span.trace_id))
            .collect();
        traces.sort();
        traces.dedup();
        traces
    }

    /// The spans of a trace in order of their start.
    pub fn of_trace(&self, trace_id: &str) -> Vec<&Span> {
        let mut spans: Vec<_> = self.all().filter(|span| hex(&span.trace_id) == trace_id).collect();
        spans.sort_by_key(|span| span.start_time_unix_nano);
        spans
    }

    /// The span that `span` is a child of.
    pub fn parent(&self, span: &Span) -> Option<&Span> {
        self.by_id.get(&span.parent_span_id)
    }

    /// The children of `span` in order of their start.
    pub fn children(&self, span: &Span) -> Vec<&Span> {
        let mut children: Vec<_> = self
            .all()
            .filter(|child| child.trace_id == span.trace_id && child.parent_span_id == span.span_id)
            .collect();
        children.sort_by_key(|child| child.start_time_unix_nano);
        children
    }

    /// The nearest span above `span` whose name satisfies `name`.
    pub fn ancestor(&self, span: &Span, name: impl Fn(&str) -> bool) -> Option<&Span> {
        let mut at = self.parent(span);
        while let Some(span) = at {
            if name(&span.name) {
                return Some(span);
            }
            at = self.parent(span);
        }
        None
    }
}

/// The text of a span's attribute.
pub fn attribute(span: &Span, key: &str) -> Option<String> {
    let found = span.attributes.iter().find(|attribute| attribute.key == key)?;
    Some(text(found.value.as_ref()))
}

fn text(value: Option<&AnyValue>) -> String {
    match value.and_then(|value| value.value.as_ref()) {
        Some(Value::StringValue(text)) => text.clone(),
        Some(Value::IntValue(number)) => number.to_string(),
        Some(Value::DoubleValue(number)) => number.to_string(),
        Some(Value::BoolValue(truth)) => truth.to_string(),
        Some(other) => format!("{other:?}"),
        None => String::new(),
    }
}

/// Bytes in hexadecimal, as ids are written.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
