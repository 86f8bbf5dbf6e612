//! gRPC-Web, for stubs that browsers use: what comes is passed on to the service behind as it is.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use bytes::{Bytes, BytesMut};
use emend_chassis::TracedChannel;
use emend_core::limits::MAX_MESSAGE_BYTES;
use emend_core::{Deadline, Reason};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use http_body_util::{BodyExt as _, Full};
use tonic::Status;
use tonic_web::GrpcWebLayer;
use tower::{Layer as _, ServiceExt as _, service_fn};

use crate::Gateway;
use crate::memory::{Held, Memory};
use crate::problem::Problem;
use crate::request;

/// How long a message may take to come.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);
/// Bytes of a message besides itself, and what base64 adds to it.
const MAX_BODY_BYTES: usize = (MAX_MESSAGE_BYTES + 5) / 3 * 4 + 4;
/// Most milliseconds that `grpc-timeout` can say: eight digits.
const MAX_TIMEOUT_MS: u128 = 99_999_999;

/// A call of the orchestrator.
pub(crate) async fn orchestrator(State(gateway): State<Arc<Gateway>>, request: Request) -> Result<Response, Problem> {
    let channel = gateway.services.orchestrator.clone();
    call(&gateway, channel, request).await
}

/// A call of the retriever. A stream of documents has no way through gRPC-Web: `POST /v1/documents` is there for it.
pub(crate) async fn retriever(State(gateway): State<Arc<Gateway>>, request: Request) -> Result<Response, Problem> {
    if request.uri().path().ends_with("/Ingest") {
        return Err(Problem::new(
            StatusCode::NOT_IMPLEMENTED,
            Reason::MethodUnknown,
            "gRPC-Web has no streams of requests: use POST /v1/documents",
        ));
    }
    let channel = gateway.services.retriever.clone();
    call(&gateway, channel, request).await
}

async fn call(gateway: &Gateway, channel: TracedChannel, request: Request) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    let given = request::content_type(&parts.headers);
    if !given.starts_with("application/grpc-web") {
        return Err(Problem::media_type(
            "the content type must be one of gRPC-Web, application/grpc-web+proto or application/grpc-web-text",
        ));
    }
    let deadline = request::deadline(&parts.headers, gateway.default_timeout)?;
    let (message, held) = read(&gateway.memory, body).await?;
    let mut passed_on = http::Request::new(Full::new(message));
    *passed_on.method_mut() = parts.method;
    *passed_on.uri_mut() = parts
        .uri
        .path()
        .parse()
        .map_err(|_| Problem::unreadable("the path is none"))?;
    *passed_on.headers_mut() = headers(&parts.headers, deadline);
    // What fails here fails as a call does.
    let service = service_fn(move |request| {
        let channel = channel.clone();
        async move {
            let answered = channel.oneshot(request).await;
            Ok::<_, Infallible>(answered.unwrap_or_else(Status::into_http))
        }
    });
    let answered = GrpcWebLayer::new().layer(service).oneshot(passed_on).await;
    drop(held);
    Ok(match answered {
        Ok(response) => response.map(Body::new),
        Err(never) => match never {},
    }
    .into_response())
}

/// What of a request is the service's matter: neither cookies nor what a browser says of itself.
fn headers(given: &HeaderMap, deadline: Deadline) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for name in [CONTENT_TYPE, ACCEPT, AUTHORIZATION] {
        if let Some(value) = given.get(&name) {
            headers.insert(name, value.clone());
        }
    }
    for name in request::TRACE_CONTEXT {
        if let Some(value) = given.get(name) {
            headers.insert(name, value.clone());
        }
    }
    let left = deadline.remaining().as_millis().clamp(1, MAX_TIMEOUT_MS);
    if let Ok(left) = HeaderValue::from_str(&format!("{left}m")) {
        headers.insert(HeaderName::from_static("grpc-timeout"), left);
    }
    headers
}

/// The one message of a call.
async fn read(memory: &Memory, mut body: Body) -> Result<(Bytes, Held), Problem> {
    let mut held = memory.hold();
    let reading = async {
        let mut message = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| Problem::unreadable(format!("the message cannot be read: {error}")))?;
            let Ok(data) = frame.into_data() else { continue };
            let length = message.len() + data.len();
            if length > MAX_BODY_BYTES {
                return Err(Problem::too_large(format!(
                    "a message must have at most {MAX_MESSAGE_BYTES} bytes"
                )));
            }
            held.grow(length, 2)?;
            message.extend_from_slice(&data);
        }
        Ok(message.freeze())
    };
    match tokio::time::timeout(BODY_TIMEOUT, reading).await {
        Ok(message) => Ok((message?, held)),
        Err(_) => Err(Problem::too_slow("the message did not come in time")),
    }
}
