//! A collector in this process: takes OTLP over gRPC and keeps the spans, as Jaeger would.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use opentelemetry_proto::tonic::{
    collector::trace::v1::{
        ExportTraceServiceRequest, ExportTraceServiceResponse,
        trace_service_server::{TraceService, TraceServiceServer},
    },
    common::v1::any_value::Value,
    trace::v1::Span,
};
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status};

/// Spans received so far.
#[derive(Clone, Default)]
pub struct Collector {
    spans: Arc<Mutex<Vec<Span>>>,
}

impl Collector {
    /// Listens on a free port and says which.
    pub async fn start() -> (Self, SocketAddr) {
        let collector = Self::default();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let server = tonic::transport::Server::builder().add_service(TraceServiceServer::new(collector.clone()));
        tokio::spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
        (collector, address)
    }

    /// The spans, as a tree by trace.
    pub fn spans(&self) -> Spans {
        let spans = self.spans.lock().expect("no panic while held").clone();
        Spans {
            by_id: spans.into_iter().map(|span| (span.span_id.clone(), span)).collect(),
        }
    }
}

#[tonic::async_trait]
impl TraceService for Collector {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let spans = request.into_inner().resource_spans.into_iter();
        let spans = spans
            .flat_map(|resource| resource.scope_spans)
            .flat_map(|scope| scope.spans);
        self.spans.lock().expect("no panic while held").extend(spans);
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

/// Spans by their ids.
pub struct Spans {
    by_id: HashMap<Vec<u8>, Span>,
}

impl Spans {
    /// The ids of the traces that have a span whose name satisfies `name`.
    pub fn traces_with(&self, name: impl Fn(&str) -> bool) -> Vec<String> {
        let mut traces: Vec<_> = self
            .by_id
            .values()
            .filter(|s| name(&s.name))
            .map(|s| hex(&s.trace_id))
            .collect();
        traces.sort();
        traces.dedup();
        traces
    }

    /// The spans of a trace in order of their start.
    pub fn of_trace(&self, trace_id: &str) -> Vec<&Span> {
        let mut spans: Vec<_> = self.by_id.values().filter(|s| hex(&s.trace_id) == trace_id).collect();
        spans.sort_by_key(|span| span.start_time_unix_nano);
        spans
    }

    /// The span that `span` is a child of.
    pub fn parent(&self, span: &Span) -> Option<&Span> {
        self.by_id.get(&span.parent_span_id)
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
    match found.value.as_ref()?.value.as_ref()? {
        Value::StringValue(text) => Some(text.clone()),
        Value::IntValue(number) => Some(number.to_string()),
        Value::DoubleValue(number) => Some(number.to_string()),
        Value::BoolValue(truth) => Some(truth.to_string()),
        _ => None,
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
