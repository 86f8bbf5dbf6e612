//! Messages as JSON responses.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::HeaderValue;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http_body::{Frame, SizeHint};
use http_body_util::Full;
use prost::Message;

use crate::memory::{Held, Memory};
use crate::problem::Problem;

/// A message of `emend.v1` as a response; it counts as memory until it was sent.
pub(crate) async fn message(memory: &Memory, name: &str, message: &impl Message) -> Result<Response, Problem> {
    let held = memory.wait(message.encoded_len()).await;
    Ok(json(text(name, message)?, Some(held)))
}

/// A message as one line of JSON.
pub(crate) fn text(name: &str, message: &impl Message) -> Result<String, Problem> {
    emend_json::text(name, message)
        .map_err(|error| Problem::internal(format!("a {name} could not be written as JSON: {error}")))
}

/// JSON as a response.
pub(crate) fn json(text: String, held: Option<Held>) -> Response {
    let mut response = Response::new(Body::new(Holding {
        inner: Full::from(text),
        _held: held,
    }));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// A body that gives its memory back when it was sent.
struct Holding {
    inner: Full<Bytes>,
    _held: Option<Held>,
}

impl http_body::Body for Holding {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Pin::new(&mut self.inner).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
