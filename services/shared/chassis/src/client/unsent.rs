//! Sending a call again that was never served.
//!
//! A server that closes a connection because of its age takes no new calls on it. A call that was handed to the
//! connection at that moment comes back without having left, or was left out of those that the server says it takes, and
//! belongs on another connection; so does a call to a server that cannot be connected to, on another server.

use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::sync::oneshot;
use tonic::body::Body;
use tonic::{Code, Status};
use tower::{BoxError, Service, ServiceExt};

use super::member::Load;

/// Most servers that a call is tried on that cannot be connected to.
const MAX_UNREACHED: u32 = 3;
/// Most connections that close before they take a call. Each was open when it got the call, so that it takes a server that
/// closes every connection at once, or a machine so busy that connections are old when they begin, to meet many.
const MAX_CLOSED: u32 = 16;
/// Largest request that is kept until it is answered, in bytes, to be sent again.
const MAX_KEPT_BYTES: usize = 64 * 1024;

/// Why a call has no answer.
#[derive(Debug)]
pub(super) struct Failed {
    pub(super) status: Status,
    /// The server said that it did not look at the call, which may have reached it.
    pub(super) unprocessed: bool,
    /// The server that had the call; none where it was given to nobody.
    pub(super) load: Option<Load>,
    /// Whether the server may have looked at the call.
    pub(super) sent: bool,
}

impl From<Status> for Failed {
    fn from(status: Status) -> Self {
        Self {
            status,
            unprocessed: false,
            load: None,
            sent: false,
        }
    }
}

impl From<BoxError> for Failed {
    fn from(error: BoxError) -> Self {
        let mut cause: Option<&(dyn Error + 'static)> = Some(&*error);
        let mut unprocessed = false;
        while let Some(error) = cause {
            // A stream above the last one of a GOAWAY, or one that was refused (RFC 9113, section 8.7).
            unprocessed |= error.downcast_ref::<h2::Error>().is_some_and(|error| {
                let reason = error.reason();
                let left_out = error.is_go_away() && reason == Some(h2::Reason::NO_ERROR);
                error.is_remote() && (left_out || error.is_reset() && reason == Some(h2::Reason::REFUSED_STREAM))
            });
            cause = error.source();
        }
        Self {
            unprocessed,
            ..Status::from_error(error).into()
        }
    }
}

/// Sends a request, and sends it again if it came back unsent or unprocessed.
pub(super) async fn send<R, Fut>(
    mut once: impl FnMut(http::Request<Body>) -> Fut,
    mut request: http::Request<Body>,
) -> Result<R, Failed>
where
    Fut: Future<Output = Result<R, Failed>>,
{
    let (mut unreached, mut closed) = (0, 0);
    loop {
        let (parts, body) = request.into_parts();
        let (body, returned) = Returned::new(body);
        let failed = match once(http::Request::from_parts(parts.clone(), Body::new(body))).await {
            Ok(response) => return Ok(response),
            Err(failed) => failed,
        };
        let body = match returned.await {
            Ok(body) if failed.unprocessed || body.first.is_none() => body,
            _ => return Err(Failed { sent: true, ..failed }),
        };
        // A connection that closes cancels the calls that it has not begun to send.
        match failed.unprocessed || failed.status.code() == Code::Cancelled {
            true => closed += 1,
            false => unreached += 1,
        }
        if unreached == MAX_UNREACHED || closed == MAX_CLOSED {
            return Err(failed);
        }
        request = http::Request::from_parts(parts, Body::new(body));
    }
}

/// Hands a request to a connection.
pub(super) async fn once<S>(mut service: S, request: http::Request<Body>) -> Result<S::Response, Failed>
where
    S: Service<http::Request<Body>>,
    S::Error: Into<BoxError>,
{
    let sent = async { service.ready().await?.call(request).await };
    sent.await.map_err(|error| error.into().into())
}

/// A request body that is given back when it is dropped, from its beginning, unless too much was read from it.
struct Returned {
    body: Body,
    /// What was read.
    first: Option<Bytes>,
    /// None once more was read than is kept.
    back: Option<oneshot::Sender<Unsent>>,
}

impl Returned {
    fn new(body: Body) -> (Self, oneshot::Receiver<Unsent>) {
        let (sender, returned) = oneshot::channel();
        let body = Self {
            body,
            first: None,
            back: Some(sender),
        };
        (body, returned)
    }
}

impl http_body::Body for Returned {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let this = self.get_mut();
        let read = ready!(Pin::new(&mut this.body).poll_frame(cx));
        match &read {
            Some(Ok(frame)) => match frame.data_ref() {
                Some(data) if this.first.is_none() && data.len() <= MAX_KEPT_BYTES => this.first = Some(data.clone()),
                _ => this.back = None,
            },
            Some(Err(_)) => this.back = None,
            None => {}
        }
        Poll::Ready(read)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Returned {
    fn drop(&mut self) {
        if let Some(back) = self.back.take() {
            let (first, rest) = (self.first.take(), std::mem::take(&mut self.body));
            // Whoever sent it may have stopped waiting.
            drop(back.send(Unsent { first, rest }));
        }
    }
}

/// A request body as it was before it was read.
struct Unsent {
    first: Option<Bytes>,
    rest: Body,
}

impl http_body::Body for Unsent {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let this = self.get_mut();
        match this.first.take() {
            Some(first) => Poll::Ready(Some(Ok(Frame::data(first)))),
            None => Pin::new(&mut this.rest).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.first.is_none() && self.rest.is_end_stream()
    }
}

#[cfg(test)]
mod tests;
