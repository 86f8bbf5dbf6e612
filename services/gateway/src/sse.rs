//! Server-sent events, and the same as lines of JSON.
//!
//! Nothing is buffered here: the next event is taken from its source when the connection has room for it.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::response::sse::Event;
use axum::response::{IntoResponse, Response, Sse};
use bytes::Bytes;
use futures::{Stream, StreamExt as _};
use http::{HeaderName, HeaderValue, header::CONTENT_TYPE};

/// After so long without an event a comment says that the connection is alive.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// An event: its name, and its data as one line of JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    /// Empty for an event without a name.
    pub(crate) name: &'static str,
    pub(crate) data: String,
}

impl Said {
    /// The last event of a stream that failed.
    pub(crate) fn problem(problem: &crate::problem::Problem) -> Self {
        Self {
            name: "error",
            data: problem.json(),
        }
    }
}

/// A stream of events as a response.
pub(crate) fn events(source: impl Stream<Item = Said> + Send + 'static) -> Response {
    let events = kept_alive(source).map(|said| {
        Ok::<_, Infallible>(match said {
            Some(said) if said.name.is_empty() => Event::default().data(said.data),
            Some(said) => Event::default().event(said.name).data(said.data),
            None => Event::default().comment("still here"),
        })
    });
    let mut response = Sse::new(events).into_response();
    // Proxies that hold back responses until they are whole.
    response.headers_mut().insert(
        HeaderName::from_static("x-accel-buffering"),
        HeaderValue::from_static("no"),
    );
    response
}

/// A stream of events as lines of JSON: `{"event": …, "data": …}`.
pub(crate) fn lines(source: impl Stream<Item = Said> + Send + 'static) -> Response {
    let lines = source.map(|Said { name, data }| {
        Ok::<_, Infallible>(Bytes::from(format!("{{\"event\":\"{name}\",\"data\":{data}}}\n")))
    });
    let mut response = Response::new(Body::from_stream(lines));
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/x-ndjson"));
    response
}

/// `None` where nothing came for a while.
fn kept_alive(source: impl Stream<Item = Said> + Send + 'static) -> impl Stream<Item = Option<Said>> + Send {
    futures::stream::unfold(Box::pin(source), |mut source| async {
        match tokio::time::timeout(KEEP_ALIVE, source.next()).await {
            Ok(said) => said.map(|said| (Some(said), source)),
            Err(_) => Some((None, source)),
        }
    })
}

#[cfg(test)]
mod tests;
