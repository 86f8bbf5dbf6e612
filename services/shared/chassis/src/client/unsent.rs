//! Sending a call again that was never sent.
//!
//! A server that closes a connection because of its age takes no new calls on it. A call that was handed to the
//! connection at that moment comes back without having left, and belongs on another connection.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::sync::oneshot;
use tonic::body::Body;
use tonic::{Code, Status};
use tower::{BoxError, Service, ServiceExt};

/// Most times that a call is handed to a connection.
const MAX_SENDS: u32 = 3;

/// Sends a request, and sends it again if a connection gave it back unsent.
pub(super) async fn send<S>(service: &S, mut request: http::Request<Body>) -> Result<S::Response, Status>
where
    S: Service<http::Request<Body>> + Clone,
    S::Error: Into<BoxError>,
{
    for _ in 1..MAX_SENDS {
        let (parts, body) = request.into_parts();
        let (body, returned) = Returned::new(body);
        let sent = once(service, http::Request::from_parts(parts.clone(), Body::new(body))).await;
        match sent {
            Err(status) if status.code() == Code::Cancelled => match returned.await {
                Ok(body) => request = http::Request::from_parts(parts, body),
                Err(_) => return Err(status),
            },
            sent => return sent,
        }
    }
    once(service, request).await
}

async fn once<S>(service: &S, request: http::Request<Body>) -> Result<S::Response, Status>
where
    S: Service<http::Request<Body>> + Clone,
    S::Error: Into<BoxError>,
{
    let mut service = service.clone();
    let sent = async { service.ready().await?.call(request).await };
    sent.await.map_err(|error| Status::from_error(error.into()))
}

/// A request body that is given back if it is dropped before anything was read from it.
struct Returned {
    body: Body,
    /// None once something was read.
    unread: Option<oneshot::Sender<Body>>,
}

impl Returned {
    fn new(body: Body) -> (Self, oneshot::Receiver<Body>) {
        let (sender, returned) = oneshot::channel();
        let unread = Some(sender);
        (Self { body, unread }, returned)
    }
}

impl http_body::Body for Returned {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let this = self.get_mut();
        this.unread = None;
        Pin::new(&mut this.body).poll_frame(cx)
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
        if let Some(unread) = self.unread.take() {
            // Whoever sent it may have stopped waiting.
            drop(unread.send(std::mem::take(&mut self.body)));
        }
    }
}

#[cfg(test)]
mod tests;
