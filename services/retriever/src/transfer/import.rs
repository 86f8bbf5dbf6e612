//! Imports: documents that are cut and embedded already.

use emend_chassis::{ActorHandle, CallError, Caller, Identity, Work, refusal};
use emend_core::{Reason, Scope, error_chain};
use emend_proto::v1::{EmbeddedDocument, ImportCollectionRequest, ImportCollectionResponse, IngestStatus};
use futures::stream::{self, BoxStream};
use futures::{Stream, StreamExt};
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;
use tonic::Status;

use super::parts;
use crate::backend::{EmbedderInfo, NewDocument, StoreError};
use crate::error::RetrieverError;
use crate::library::Library;
use crate::validate;
use crate::work::{Handover, call};

/// Imports that are under way at once.
pub(crate) const IMPORTS: usize = 1;

/// Most bytes of one document, with its embeddings.
const MAX_DOCUMENT_BYTES: usize = 256 << 20;

/// Store one document that is embedded.
#[derive(Clone)]
struct ImportDocument {
    collection: String,
    embedder: EmbedderInfo,
    document: Handover<NewDocument>,
}

impl Work<Library> for ImportDocument {
    type Reply = IngestStatus;
    type Error = RetrieverError;
    const NAME: &'static str = "import_document";

    async fn run(self, library: &Library, _: &Scope) -> Result<Self::Reply, RetrieverError> {
        let document = self.document.take()?;
        match library.store.embedder(&self.collection).await {
            Ok(stored) if stored != self.embedder => {
                return Err(RetrieverError::Store(StoreError::OtherEmbedder {
                    collection: self.collection,
                    stored,
                    given: self.embedder,
                }));
            }
            Ok(_) | Err(StoreError::UnknownCollection { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        let stored = library.store.stored(&self.collection, &document.id).await?;
        if stored.is_some_and(|stored| stored.fingerprint == document.fingerprint) {
            return Ok(IngestStatus::Unchanged);
        }
        library.store.put(&self.collection, &self.embedder, document).await?;
        Ok(IngestStatus::Ingested)
    }
}

struct Importing<S> {
    requests: S,
    /// Whose key it is, and which collections it may use.
    identity: Identity,
    writer: ActorHandle<Library>,
    /// Dropped with the stream, which stops the work.
    caller: Caller,
    shutdown: CancellationToken,
    collection: String,
    embedder: String,
    /// The document whose parts are coming, and how large it is so far.
    begun: Option<(EmbeddedDocument, usize)>,
    /// Whether all of it is there.
    whole: bool,
    ended: bool,
    _permit: OwnedSemaphorePermit,
}

/// Acknowledges each document once, in the order in which they come, one after another.
pub(crate) fn import(
    requests: impl Stream<Item = Result<ImportCollectionRequest, Status>> + Send + Unpin + 'static,
    identity: Identity,
    writer: ActorHandle<Library>,
    caller: Caller,
    shutdown: CancellationToken,
    permit: OwnedSemaphorePermit,
) -> BoxStream<'static, Result<ImportCollectionResponse, Status>> {
    let importing = Importing {
        requests,
        identity,
        writer,
        caller,
        shutdown,
        collection: String::new(),
        embedder: String::new(),
        begun: None,
        whole: false,
        ended: false,
        _permit: permit,
    };
    stream::unfold(importing, |mut importing| async move {
        if importing.ended {
            return None;
        }
        let answer = importing.next().await;
        // After an error there is nothing more to say.
        importing.ended = !matches!(answer, Some(Ok(_)));
        Some((answer?, importing))
    })
    .boxed()
}

impl<S: Stream<Item = Result<ImportCollectionRequest, Status>> + Send + Unpin> Importing<S> {
    /// The next acknowledgement.
    async fn next(&mut self) -> Option<Result<ImportCollectionResponse, Status>> {
        let deadline = self.caller.scope().deadline.instant();
        loop {
            if std::mem::take(&mut self.whole)
                && let Some((document, _)) = self.begun.take()
            {
                return Some(self.store(document).await);
            }
            let request = tokio::select! {
                biased;
                () = self.shutdown.cancelled() => {
                    let message = "shutting down: resend the documents that were not acknowledged";
                    return Some(Err(refusal(Reason::ShuttingDown, message)));
                }
                () = tokio::time::sleep_until(deadline) => {
                    return Some(Err(CallError::<RetrieverError>::Deadline.into()));
                }
                request = self.requests.next() => request,
            };
            let request = match request {
                Some(Ok(request)) => request,
                Some(Err(status)) => return Some(Err(status)),
                None => {
                    let (begun, _) = self.begun.take()?;
                    let error = "the stream ended before the last part of the document: send all of it".to_owned();
                    return Some(Ok(failed(begun.id, error)));
                }
            };
            self.collection = validate::collection_after(&self.collection, request.collection);
            if !request.embedder.is_empty() {
                self.embedder = request.embedder;
            }
            let Some(part) = request.document else {
                return Some(Ok(failed(String::new(), "the message has no document".to_owned())));
            };
            self.whole = request.last;
            if let Some(broken) = self.add(part) {
                return Some(Ok(broken));
            }
        }
    }

    /// Adds a part to the document that was begun, or begins one. Says what is wrong with it, and with the one before.
    fn add(&mut self, part: EmbeddedDocument) -> Option<ImportCollectionResponse> {
        let more = parts::size(&part);
        let (document, bytes) = match self.begun.take() {
            None => (part, more),
            Some((mut document, bytes)) if document.id == part.id => {
                document.sections.extend(part.sections);
                document.passages.extend(part.passages);
                (document, bytes + more)
            }
            Some((broken, _)) => {
                self.begun = Some((part, more));
                let error = "another document began before its last part: send all of it".to_owned();
                return Some(failed(broken.id, error));
            }
        };
        if bytes > MAX_DOCUMENT_BYTES {
            // What follows of it begins a document without a fingerprint, which is refused.
            let error = format!("it has more than {} MiB with its embeddings", MAX_DOCUMENT_BYTES >> 20);
            return Some(failed(document.id, error));
        }
        self.begun = Some((document, bytes));
        None
    }

    async fn store(&mut self, document: EmbeddedDocument) -> Result<ImportCollectionResponse, Status> {
        // Before anything is looked up: a collection that the key may not use is refused whether it exists or not.
        self.identity.collection(&self.collection)?;
        let id = document.id.clone();
        let dimensions = match validate::embedded(&self.collection, &self.embedder, &document) {
            Ok(dimensions) => dimensions,
            Err(error) => return Ok(failed(id, error_chain(&error))),
        };
        let work = ImportDocument {
            collection: self.collection.clone(),
            embedder: EmbedderInfo {
                id: self.embedder.clone(),
                dimensions,
            },
            document: Handover::new(parts::whole(document)),
        };
        match call(&self.writer, &self.caller.scope(), &self.caller.span, &work).await {
            Ok(status) => Ok(ImportCollectionResponse {
                document_id: id,
                status: status.into(),
                error: String::new(),
            }),
            // All others would fail for the same reason.
            Err(CallError::Work(error @ RetrieverError::Store(StoreError::OtherEmbedder { .. }))) => {
                Err(CallError::Work(error).into())
            }
            Err(error @ (CallError::Deadline | CallError::Cancelled | CallError::Full { .. })) => Err(error.into()),
            Err(error) => Ok(failed(id, error_chain(&error))),
        }
    }
}

fn failed(document_id: String, error: String) -> ImportCollectionResponse {
    ImportCollectionResponse {
        document_id,
        status: IngestStatus::Failed.into(),
        error,
    }
}
