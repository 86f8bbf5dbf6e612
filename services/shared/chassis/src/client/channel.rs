//! The transport under generated clients: bounded by the deadline, traced, with errors that say what is down.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::BoxFuture;
use http::header::AUTHORIZATION;
use opentelemetry::KeyValue;
use opentelemetry_http::HeaderInjector;
use tokio::time::Instant;
use tonic::body::Body;
use tonic::metadata::MetadataMap;
use tonic::{Code, Status};
use tower::Service;
use tracing::{Instrument, Span};
use tracing_opentelemetry::OpenTelemetrySpanExt;

use super::circuit::{Circuit, forbid_retry};
use super::discovery::{Discovery, Members};
use super::key::ApiKey;
use super::member::Load;
use super::retry::{asked_to_wait, expired_as_deadline_exceeded, failed_model_calls, is_expired};
use super::unsent::{self, Failed};
use crate::metrics::Latency;
use crate::observed::{Ending, ObservedBody, Record};
use crate::status::{grpc_code_name, status};
use crate::timeout::parse_timeout;
use emend_core::{Deadline, ServiceError, error_chain, fail_span, semconv};

/// What all channels of one upstream share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) target: Arc<str>,
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) default_timeout: Duration,
    /// How long a call may be without an answer before the server is asked whether it is there, and how long it has to
    /// say so.
    pub(super) patience: Duration,
    pub(super) answer_limit: Duration,
    pub(super) api_key: Option<ApiKey>,
    pub(super) discovery: Discovery,
    pub(super) duration: Latency,
    pub(super) circuit: Circuit,
    /// Ends the discovery.
    pub(super) _closed: tokio_util::sync::DropGuard,
}

/// The transport to an upstream, for generated clients: `GraderServiceClient::new(upstream.channel())`. Cheap to clone.
///
/// Each call gets a client span, whose context travels in `traceparent`, and ends by its `grpc-timeout` whatever happens.
#[derive(Clone, Debug)]
pub struct TracedChannel(pub(super) Arc<Shared>);

impl Service<http::Request<Body>> for TracedChannel {
    type Response = http::Response<Body>;
    type Error = Status;
    type Future = BoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        // Readiness is awaited inside the call, where the deadline bounds it.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: http::Request<Body>) -> Self::Future {
        let shared = Arc::clone(&self.0);
        let method = request.uri().path().trim_start_matches('/').to_owned();
        let span = span(&method, &shared);
        opentelemetry::global::get_text_map_propagator(|propagator| {
            propagator.inject_context(&span.context(), &mut HeaderInjector(request.headers_mut()));
        });
        if let Some(key) = &shared.api_key
            && !request.headers().contains_key(AUTHORIZATION)
        {
            request.headers_mut().insert(AUTHORIZATION, key.header());
        }
        let timeout = request
            .headers()
            .get("grpc-timeout")
            .and_then(|value| parse_timeout(value.to_str().ok()?));
        let deadline = Deadline::after(timeout.unwrap_or(shared.default_timeout));
        let call = Call {
            shared: Arc::clone(&shared),
            span: span.clone(),
            method,
            started: Instant::now(),
            load: None,
        };
        let mut ending = Ending::new(call);
        Box::pin(
            async move {
                let answered = deadline
                    .run(shared.send(request, deadline))
                    .await
                    .unwrap_or_else(|_| Err(status(&NoAnswer(Arc::clone(&shared.target)))));
                match answered {
                    Ok((response, load)) => {
                        ending.update(|call| call.load = load);
                        Ok(ObservedBody::wrap(response, ending, Some(deadline)).map(Body::new))
                    }
                    Err(status) => {
                        ending.end(status.code(), status.message());
                        Err(status)
                    }
                }
            }
            .instrument(span),
        )
    }
}

impl Shared {
    async fn send(&self, request: http::Request<Body>, deadline: Deadline) -> Result<Answered, Status> {
        self.circuit.called();
        let ready = self.discovery.ready().await;
        let members = ready.map_err(|reason| Status::unavailable(&*reason))?;
        let sent = unsent::send(|request| self.call(&members, request, deadline), request).await;
        let (mut response, mut load) = sent.map_err(|failed| self.failed(failed))?;
        let Some(status) = Status::from_header_map(response.headers()) else {
            load.answered();
            return Ok((response, Some(load)));
        };
        let load = if is_fault(&status) {
            load.failed(status.message());
            None
        } else {
            load.answered();
            Some(load)
        };
        if status.code() == Code::Unavailable {
            // A server that drains says so; it may have left already.
            self.discovery.suspect();
        }
        if is_expired(&status) {
            return Err(expired_as_deadline_exceeded(status));
        }
        if asked_to_wait(&status).is_some() && !self.circuit.may_retry() {
            forbid_retry(response.headers_mut());
        }
        Ok((response, load))
    }

    /// Hands a request to one of the servers, and waits for the answer for as long as the server is there.
    async fn call(&self, members: &Members, request: http::Request<Body>, deadline: Deadline) -> Result<Sent, Failed> {
        let mut load = match Load::on(members, deadline) {
            Ok(load) => load,
            Err(resting) => return Err(self.circuit.open(&self.target, resting).into()),
        };
        if !load.is_probe() {
            self.circuit.close(&self.target);
        }
        let member = Arc::clone(&load.member);
        tokio::select! {
            biased;
            response = unsent::once(member.channel.clone(), request) => match response {
                Ok(response) => Ok((response, load)),
                Err(failed) => {
                    load.returned();
                    Err(Failed { load: Some(load), ..failed })
                }
            },
            () = member.silent(self.patience, self.answer_limit) => {
                load.silent();
                let status = Status::unavailable(format!("{} does not answer", member.address));
                Err(Failed { load: Some(load), ..status.into() })
            }
        }
    }

    /// What the caller is told of a call that has no answer.
    fn failed(&self, failed: Failed) -> Status {
        let Some(load) = failed.load else {
            return failed.status;
        };
        let mut status = self.broken(failed.status);
        if failed.sent && is_fault(&status) {
            load.failed(status.message());
        }
        if asked_to_wait(&status).is_some() && !self.circuit.may_retry() {
            let mut headers = std::mem::take(status.metadata_mut()).into_headers();
            forbid_retry(&mut headers);
            *status.metadata_mut() = MetadataMap::from_headers(headers);
        }
        status
    }

    /// What the caller is told of a connection that broke: tonic calls most of that UNKNOWN or INTERNAL, and neither
    /// says that it can be tried again.
    fn broken(&self, status: Status) -> Status {
        let status = expired_as_deadline_exceeded(status);
        match status.code() {
            Code::Unknown | Code::Internal | Code::Unavailable => {
                self.discovery.suspect();
                Status::unavailable(format!("the connection to {} failed: {}", self.target, reason(&status)))
            }
            // A stream that the other side's transport reset; the caller itself would not be here to see it.
            Code::Cancelled => Status::unavailable(format!("{} broke off the call: {}", self.target, reason(&status))),
            _ => status,
        }
    }
}

/// [`emend_core::Code::DeadlineExceeded`].
#[derive(Debug, thiserror::Error)]
#[error("{0} gave no answer before the deadline: give the call a longer timeout")]
struct NoAnswer(Arc<str>);

impl ServiceError for NoAnswer {
    fn reason(&self) -> emend_core::Reason {
        emend_core::Reason::DeadlineTooShort
    }
}

/// Whether a server failed that answers so, and not what it was asked for: a model that failed behind it is none of it.
fn is_fault(status: &Status) -> bool {
    let failed = matches!(
        status.code(),
        Code::Unavailable | Code::Internal | Code::Unknown | Code::DataLoss
    );
    failed && failed_model_calls(status).is_none()
}

/// A response, and the call that its server has until its end.
type Sent = (http::Response<Body>, Load);
/// The same; no call where the response says that the server failed.
type Answered = (http::Response<Body>, Option<Load>);

/// The client span of a call; none for health checks and reflection, as on the server.
fn span(method: &str, shared: &Shared) -> Span {
    if method.starts_with("grpc.") {
        return Span::none();
    }
    tracing::info_span!(
        "rpc",
        otel.name = method,
        otel.kind = "client",
        otel.status_code = tracing::field::Empty,
        otel.status_description = tracing::field::Empty,
        rpc.system.name = semconv::RPC_SYSTEM_GRPC,
        rpc.method = method,
        rpc.response.status_code = tracing::field::Empty,
        error.type = tracing::field::Empty,
        server.address = shared.host,
        server.port = shared.port,
    )
}

fn reason(status: &Status) -> String {
    use std::error::Error;
    let mut message = status.message().to_owned();
    if let Some(source) = status.source() {
        let source = error_chain(source);
        if !source.contains(&message) {
            message.push_str(": ");
            message.push_str(&source);
        } else {
            message = source;
        }
    }
    message
}

/// One call, until it ends.
struct Call {
    shared: Arc<Shared>,
    span: Span,
    method: String,
    started: Instant,
    /// The call as its server has it, from its answer on.
    load: Option<Load>,
}

impl Record for Call {
    fn end(&mut self, code: Code, message: &str) {
        if let Some(load) = self.load.take()
            && code != Code::DeadlineExceeded
            && load.worked()
        {
            self.shared.circuit.close(&self.shared.target);
        }
        let name = grpc_code_name(code);
        // A span ends where it was left last: without this, that of a stream would end with the headers.
        let _entered = self.span.enter();
        self.span.record(semconv::RPC_RESPONSE_STATUS_CODE, name);
        let mut attributes = vec![
            KeyValue::new(semconv::RPC_SYSTEM_NAME, semconv::RPC_SYSTEM_GRPC),
            KeyValue::new(semconv::RPC_METHOD, self.method.clone()),
            KeyValue::new(semconv::RPC_RESPONSE_STATUS_CODE, name),
            KeyValue::new(semconv::SERVER_ADDRESS, self.shared.host.clone()),
        ];
        if code != Code::Ok {
            fail_span(&self.span, name, message);
            attributes.push(KeyValue::new(semconv::ERROR_TYPE, name));
        }
        self.shared
            .duration
            .record(self.started.elapsed(), &attributes, &self.span);
    }

    fn transport_error(&mut self, error: Status) -> Status {
        let status = self.shared.broken(error);
        if let Some(load) = self.load.take()
            && is_fault(&status)
        {
            load.failed(status.message());
        }
        status
    }
}
