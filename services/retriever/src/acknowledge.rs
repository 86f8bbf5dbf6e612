//! The ingest stream: reads documents, ingests a few concurrently, and acknowledges each.

use std::collections::HashSet;

use emend_chassis::{ActorHandle, CallError, Caller, Identity, refusal};
use emend_core::{Reason, error_chain};
use emend_proto::v1::{Document, IngestRequest, IngestResponse, IngestStatus};
use futures::future::BoxFuture;
use futures::stream::{self, BoxStream, FuturesUnordered};
use futures::{FutureExt, Stream, StreamExt};
use tokio_util::sync::CancellationToken;
use tonic::Status;

use crate::error::RetrieverError;
use crate::library::Library;
use crate::validate;
use crate::work::{Handover, IngestDocument, call};

/// Concurrency limits of one stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Maximum documents in flight: while one is written, the next is embedded.
    pub(crate) documents: usize,
    /// Maximum bytes of content in flight. A larger document is ingested alone.
    pub(crate) bytes: usize,
}

/// Collection and document id. Two versions of one document must not run concurrently.
type Key = (String, String);

/// A document that was read.
struct Next {
    key: Key,
    document: Document,
    words_only: bool,
}

struct Finished {
    key: Key,
    bytes: usize,
    outcome: Result<IngestResponse, Status>,
}

struct Pipeline<S> {
    requests: S,
    /// Who sends the documents.
    identity: Identity,
    writer: ActorHandle<Library>,
    /// Dropped with the stream, which cancels the documents in flight.
    caller: Caller,
    limits: Limits,
    shutdown: CancellationToken,
    /// The collection of the last message.
    collection: String,
    /// The document that was read but not started.
    next: Option<Next>,
    in_flight: FuturesUnordered<BoxFuture<'static, Finished>>,
    keys: HashSet<Key>,
    bytes: usize,
    /// Whether the stream of requests has ended.
    ended: bool,
    failure: Option<Status>,
}

/// Acknowledges each document once, in the order of completion. Reads no further ahead than the limits allow.
///
/// A failed document is acknowledged as failed. The stream itself fails only if the caller's deadline passes, its key may
/// not use a collection, the request stream fails or the service shuts down. Documents in flight are acknowledged first.
pub(crate) fn acknowledge(
    requests: impl Stream<Item = Result<IngestRequest, Status>> + Send + Unpin + 'static,
    identity: Identity,
    writer: ActorHandle<Library>,
    caller: Caller,
    limits: Limits,
    shutdown: CancellationToken,
) -> BoxStream<'static, Result<IngestResponse, Status>> {
    let pipeline = Pipeline {
        requests,
        identity,
        writer,
        caller,
        limits,
        shutdown,
        collection: String::new(),
        next: None,
        in_flight: FuturesUnordered::new(),
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
        let deadline = self.caller.scope().deadline.instant();
        loop {
            self.start_next();
            tokio::select! {
                biased;
                Some(done) = self.in_flight.next(), if !self.in_flight.is_empty() => {
                    self.keys.remove(&done.key);
                    self.bytes -= done.bytes;
                    match done.outcome {
                        Ok(acknowledgement) => return Some(Ok(acknowledgement)),
                        Err(status) => {
                            // The deadline applies to all documents, so no more are started.
                            self.next = None;
                            self.end(status);
                        }
                    }
                }
                request = self.requests.next(), if self.next.is_none() && !self.ended => match request {
                    Some(Ok(request)) => {
                        if let Some(rejected) = self.accept(request) {
                            return Some(Ok(rejected));
                        }
                    }
                    Some(Err(status)) => self.end(status),
                    None => self.ended = true,
                },
                // Also while a sender that is late, or has to wait for the memory of its next document, says nothing.
                () = tokio::time::sleep_until(deadline), if !self.ended => {
                    self.next = None;
                    self.end(CallError::<RetrieverError>::Deadline.into());
                }
                () = self.shutdown.cancelled(), if !self.ended => {
                    self.next = None;
                    self.end(refusal(
                        Reason::ShuttingDown,
                        "shutting down: resend the documents that were not acknowledged",
                    ));
                }
                else => return self.failure.take().map(Err),
            }
        }
    }

    fn end(&mut self, status: Status) {
        self.ended = true;
        self.failure.get_or_insert(status);
    }

    /// Accepts a message. Returns an acknowledgement if it has no document.
    fn accept(&mut self, request: IngestRequest) -> Option<IngestResponse> {
        self.collection = validate::collection_after(&self.collection, request.collection);
        if let Err(denied) = self.identity.collection(&self.collection) {
            self.end(denied.into());
            return None;
        }
        match request.document {
            Some(document) => {
                self.next = Some(Next {
                    key: (self.collection.clone(), document.id.clone()),
                    document,
                    words_only: request.words_only,
                });
                None
            }
            None => Some(failed(String::new(), "the message has no document".to_owned())),
        }
    }

    /// Starts the document that was read, once the limits allow it and its earlier version is finished.
    fn start_next(&mut self) {
        let Some(next) = &self.next else { return };
        let bytes = next.document.content.len();
        let room = self.in_flight.is_empty()
            || (self.in_flight.len() < self.limits.documents && self.bytes + bytes <= self.limits.bytes);
        if !room || self.keys.contains(&next.key) {
            return;
        }
        let Some(Next {
            key,
            document,
            words_only,
        }) = self.next.take()
        else {
            return;
        };
        self.bytes += bytes;
        self.keys.insert(key.clone());
        let scope = self.caller.scope();
        let (writer, span) = (self.writer.clone(), self.caller.span.clone());
        let id = document.id.clone();
        let work = IngestDocument {
            collection: key.0.clone(),
            document: Handover::new(document),
            words_only,
        };
        let work = async move {
            let outcome = match call(&writer, &scope, &span, &work).await {
                Ok(acknowledgement) => Ok(acknowledgement),
                Err(error @ (CallError::Deadline | CallError::Cancelled | CallError::Full { .. })) => Err(error.into()),
                // The work saw the end of its time before the call did: nothing is wrong with the document.
                Err(CallError::Work(RetrieverError::Stopped)) => Err(CallError::<RetrieverError>::Deadline.into()),
                Err(error) => Ok(failed(id, error_chain(&error))),
            };
            Finished { key, bytes, outcome }
        };
        self.in_flight.push(work.boxed());
    }
}

fn failed(document_id: String, error: String) -> IngestResponse {
    IngestResponse {
        document_id,
        status: IngestStatus::Failed.into(),
        error,
        passages: 0,
        words_only: false,
    }
}
