//! A response body that notices how its call ended.
//!
//! A gRPC call ends in the trailers of its body, in its headers when it fails at once, in a broken connection, or by
//! being dropped. The same body watches for all four, on the server and on the client.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use tokio::time::Sleep;
use tonic::{Code, Status};

use emend_core::{Deadline, DeadlineExceeded};

/// Is told once how a call ended.
pub(crate) trait Record: Send + Unpin + 'static {
    /// `message` is empty on success.
    fn end(&mut self, code: Code, message: &str);

    /// What the reader of the body gets for an error of the transport.
    fn transport_error(&mut self, error: Status) -> Status {
        error
    }
}

/// Ends a record as cancelled when nothing else ended it: tonic drops a handler's future, and its body, when the caller
/// disconnects.
pub(crate) struct Ending<R: Record>(Option<R>);

impl<R: Record> Ending<R> {
    pub(crate) fn new(record: R) -> Self {
        Self(Some(record))
    }

    /// Changes the record of a call that has not ended.
    pub(crate) fn update(&mut self, change: impl FnOnce(&mut R)) {
        self.0.as_mut().map(change);
    }

    pub(crate) fn end(&mut self, code: Code, message: &str) {
        if let Some(mut record) = self.0.take() {
            record.end(code, message);
        }
    }

    fn end_with(&mut self, headers: &HeaderMap) -> bool {
        match Status::from_header_map(headers) {
            Some(status) => {
                self.end(status.code(), status.message());
                true
            }
            None => false,
        }
    }

    fn transport_error(&mut self, error: Status) -> Status {
        match &mut self.0 {
            Some(record) => record.transport_error(error),
            None => error,
        }
    }
}

impl<R: Record> Drop for Ending<R> {
    fn drop(&mut self) {
        self.end(Code::Cancelled, "dropped before it was done");
    }
}

/// A body that watches how its call ends, and ends it itself at a deadline where it has one.
pub(crate) struct ObservedBody<R: Record> {
    inner: tonic::body::Body,
    ending: Ending<R>,
    deadline: Option<Pin<Box<Sleep>>>,
}

impl<R: Record> ObservedBody<R> {
    /// Puts the body of a response under observation.
    pub(crate) fn wrap(
        response: http::Response<tonic::body::Body>,
        mut ending: Ending<R>,
        deadline: Option<Deadline>,
    ) -> http::Response<Self> {
        let (parts, inner) = response.into_parts();
        ending.end_with(&parts.headers);
        let deadline = deadline.map(|deadline| Box::pin(tokio::time::sleep_until(deadline.instant())));
        http::Response::from_parts(
            parts,
            Self {
                inner,
                ending,
                deadline,
            },
        )
    }
}

impl<R: Record> Body for ObservedBody<R> {
    type Data = <tonic::body::Body as Body>::Data;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let this = &mut *self;
        let frame = match Pin::new(&mut this.inner).poll_frame(context) {
            Poll::Ready(frame) => frame,
            Poll::Pending => {
                if let Some(deadline) = &mut this.deadline {
                    ready!(deadline.as_mut().poll(context));
                    this.deadline = None;
                    let status = crate::status::status(&DeadlineExceeded);
                    this.ending.end(status.code(), status.message());
                    return Poll::Ready(Some(Err(status)));
                }
                return Poll::Pending;
            }
        };
        Poll::Ready(match frame {
            Some(Ok(frame)) => {
                if let Some(trailers) = frame.trailers_ref() {
                    this.ending.end_with(trailers);
                }
                Some(Ok(frame))
            }
            Some(Err(error)) => {
                let status = this.ending.transport_error(error);
                this.ending.end(status.code(), status.message());
                Some(Err(status))
            }
            None => {
                this.ending.end(Code::Unknown, "the body ended without a status");
                None
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
