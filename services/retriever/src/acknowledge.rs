//! The stream of an ingest: documents in, acknowledgements out, a few documents at once.

use std::collections::HashSet;
use std::sync::Arc;

use emend_chassis::{ActorHandle, CallError, Caller};
use emend_core::error_chain;
use emend_proto::v1::{Document, IngestRequest, IngestResponse, IngestStatus};
use futures::future::BoxFuture;
use futures::stream::{self, BoxStream, FuturesUnordered};
use futures::{FutureExt, Stream, StreamExt};
use tokio_util::sync::CancellationToken;
use tonic::Status;

use crate::library::Library;
use crate::validate;
use crate::work::IngestDocument;

/// How much of one stream is worked on at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Documents: while one is written, the next is embedded.
    pub(crate) documents: usize,
    /// Bytes of their contents. A larger document goes alone.
    pub(crate) bytes: usize,
}

/// A document and its collection: two versions of one document must not overtake each other.
type Key = (String, String);

struct Done {
    key: Key,
    bytes: usize,
    outcome: Result<IngestResponse, Status>,
}

struct Pipeline<S> {
    requests: S,
    writer: ActorHandle<Library>,
    /// Dropped with the stream, which cancels what is under way.
    caller: Caller,
    limits: Limits,
    shutdown: CancellationToken,
    /// Of the last message.
    collection: String,
    /// Read and not begun.
    next: Option<(Key, Arc<Document>)>,
    under_way: FuturesUnordered<BoxFuture<'static, Done>>,
    keys: HashSet<Key>,
    bytes: usize,
    /// No more requests come.
    ended: bool,
    failure: Option<Status>,
}

/// Acknowledges each document once, in the order in which they are done. Reads no further than it can work.
///
/// A document that fails is acknowledged as failed. The stream itself only fails when the caller's deadline passes, its
/// side breaks off or the service stops; what was under way is acknowledged first.
pub(crate) fn acknowledge(
    requests: impl Stream<Item = Result<IngestRequest, Status>> + Send + Unpin + 'static,
    writer: ActorHandle<Library>,
    caller: Caller,
    limits: Limits,
    shutdown: CancellationToken,
) -> BoxStream<'static, Result<IngestResponse, Status>> {
    let pipeline = Pipeline {
        requests,
        writer,
        caller,
        limits,
        shutdown,
        collection: String::new(),
        next: None,
        under_way: FuturesUnordered::new(),
        keys: HashSet::new(),
        bytes: 0,
        ended: false,
        failure: None,
    };
    stream::unfold(pipeline, |mut pipeline| async move {
        let item = pipeline.step().await?;
        Some((item, pipeline))
    })
    .boxed()
}

impl<S: Stream<Item = Result<IngestRequest, Status>> + Send + Unpin> Pipeline<S> {
    async fn step(&mut self) -> Option<Result<IngestResponse, Status>> {
        loop {
            self.begin();
            tokio::select! {
                biased;
                Some(done) = self.under_way.next(), if !self.under_way.is_empty() => {
                    self.keys.remove(&done.key);
                    self.bytes -= done.bytes;
                    match done.outcome {
                        Ok(acknowledgement) => return Some(Ok(acknowledgement)),
                        Err(status) => {
                            // The deadline is that of all of them: nothing more is begun.
                            self.next = None;
                            self.end(status);
                        }
                    }
                }
                request = self.requests.next(), if self.next.is_none() && !self.ended => match request {
                    Some(Ok(request)) => {
                        if let Some(refused) = self.take(request) {
                            return Some(Ok(refused));
                        }
                    }
                    Some(Err(status)) => self.end(status),
                    None => self.ended = true,
                },
                () = self.shutdown.cancelled(), if !self.ended => {
                    self.next = None;
                    self.end(Status::unavailable("the service stops: send what is not acknowledged again"));
                }
                else => return self.failure.take().map(Err),
            }
        }
    }

    fn end(&mut self, status: Status) {
        self.ended = true;
        self.failure.get_or_insert(status);
    }

    /// Reads a message; returns an acknowledgement where there is nothing to work on.
    fn take(&mut self, request: IngestRequest) -> Option<IngestResponse> {
        self.collection = validate::collection_after(&self.collection, request.collection);
        match request.document {
            Some(document) => {
                let key = (self.collection.clone(), document.id.clone());
                self.next = Some((key, Arc::new(document)));
                None
            }
            None => Some(failed(String::new(), "the message has no document".to_owned())),
        }
    }

    /// Begins with the document that was read, once there is room and its earlier version is done.
    fn begin(&mut self) {
        let Some((key, document)) = &self.next else { return };
        let bytes = document.content.len();
        let room = self.under_way.is_empty()
            || (self.under_way.len() < self.limits.documents && self.bytes + bytes <= self.limits.bytes);
        if !room || self.keys.contains(key) {
            return;
        }
        let (key, document) = (key.clone(), Arc::clone(document));
        self.next = None;
        self.bytes += bytes;
        self.keys.insert(key.clone());
        let scope = self.caller.scope();
        let (writer, span) = (self.writer.clone(), self.caller.span.clone());
        let work = async move {
            let outcome = loop {
                let caller = Caller::new(scope.deadline, scope.cancel.child_token(), span.clone());
                let work = IngestDocument {
                    collection: key.0.clone(),
                    document: Arc::clone(&document),
                };
                match writer.call(work, caller).await {
                    // Other streams have the places: the sender waits, as it would for the disk.
                    Err(CallError::Full { retry_after }) if !scope.is_stopped() => {
                        tokio::time::sleep(retry_after).await
                    }
                    outcome => break outcome,
                }
            };
            let outcome = match outcome {
                Ok(acknowledgement) => Ok(acknowledgement),
                Err(error @ (CallError::Deadline | CallError::Cancelled | CallError::Full { .. })) => Err(error.into()),
                Err(error) => Ok(failed(document.id.clone(), error_chain(&error))),
            };
            Done { key, bytes, outcome }
        };
        self.under_way.push(work.boxed());
    }
}

fn failed(document_id: String, error: String) -> IngestResponse {
    IngestResponse {
        document_id,
        status: IngestStatus::Failed.into(),
        error,
        passages: 0,
    }
}
