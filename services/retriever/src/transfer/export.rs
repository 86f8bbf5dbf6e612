//! Exports: the documents of a collection, in the order of their ids.

use std::collections::VecDeque;

use emend_chassis::{ActorHandle, Caller, Work, refusal};
use emend_core::{Reason, Scope};
use emend_proto::v1::ExportCollectionResponse;
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use tokio_util::sync::CancellationToken;
use tonic::Status;

use super::parts;
use crate::backend::NewDocument;
use crate::error::RetrieverError;
use crate::library::Library;
use crate::work::call;

/// Documents that are listed at once.
pub(super) const PAGE: usize = 1000;

/// What to export.
#[derive(Clone, Debug)]
pub(crate) struct Export {
    pub(crate) collection: String,
    pub(crate) after: String,
}

/// List the documents after an id, with the embedder of the collection.
#[derive(Clone)]
pub(super) struct NextIds(pub(super) Export);

impl Work<Library> for NextIds {
    type Reply = (String, Vec<String>);
    type Error = RetrieverError;
    const NAME: &'static str = "export_list";

    async fn run(self, library: &Library, _: &Scope) -> Result<Self::Reply, RetrieverError> {
        let Export { collection, after } = &self.0;
        let embedder = library.store.embedder(collection).await?;
        let listed = library.store.documents(collection, after, PAGE).await?;
        Ok((embedder.id, listed.into_iter().map(|document| document.id).collect()))
    }
}

/// Read one document.
#[derive(Clone)]
struct ReadDocument {
    collection: String,
    document: String,
}

impl Work<Library> for ReadDocument {
    type Reply = Option<NewDocument>;
    type Error = RetrieverError;
    const NAME: &'static str = "export_document";

    async fn run(self, library: &Library, _: &Scope) -> Result<Self::Reply, RetrieverError> {
        let document = library.store.read(&self.collection, &self.document).await?;
        let is_embedded = |document: &NewDocument| document.chunks.iter().all(|chunk| chunk.embedding.is_some());
        if document.as_ref().is_some_and(|document| !is_embedded(document)) {
            return Err(RetrieverError::NotEmbedded {
                document: self.document,
            });
        }
        Ok(document)
    }
}

struct Exporting {
    what: Export,
    reader: ActorHandle<Library>,
    /// Dropped with the stream, which stops the work.
    caller: Caller,
    shutdown: CancellationToken,
    embedder: String,
    /// Documents that were listed and not read yet.
    listed: VecDeque<String>,
    /// Whether no further documents are there to be listed.
    ended: bool,
}

/// Sends the documents, each in parts. Reads one ahead at most of what is taken.
pub(crate) fn export(
    what: Export,
    reader: ActorHandle<Library>,
    caller: Caller,
    shutdown: CancellationToken,
) -> BoxStream<'static, Result<ExportCollectionResponse, Status>> {
    let exporting = Exporting {
        what,
        reader,
        caller,
        shutdown,
        embedder: String::new(),
        listed: VecDeque::new(),
        ended: false,
    };
    let documents = stream::try_unfold(exporting, |mut exporting| async move {
        let document = exporting.next().await?;
        Ok::<_, Status>(document.map(|document| {
            let embedder = exporting.embedder.clone();
            let parts = parts::split(document).map(move |(document, last)| {
                Ok::<_, Status>(ExportCollectionResponse {
                    embedder: embedder.clone(),
                    document: Some(document),
                    last,
                })
            });
            (stream::iter(parts), exporting)
        }))
    });
    documents.try_flatten().boxed()
}

impl Exporting {
    async fn next(&mut self) -> Result<Option<NewDocument>, Status> {
        loop {
            if self.shutdown.is_cancelled() {
                return Err(refusal(
                    Reason::ShuttingDown,
                    "shutting down: go on after the last document that was received",
                ));
            }
            let scope = self.caller.scope();
            let Some(document) = self.listed.pop_front() else {
                if self.ended {
                    return Ok(None);
                }
                let work = NextIds(self.what.clone());
                let (embedder, ids) = call(&self.reader, &scope, &self.caller.span, &work).await?;
                self.ended = ids.len() < PAGE;
                if let Some(last) = ids.last() {
                    self.what.after.clone_from(last);
                }
                (self.embedder, self.listed) = (embedder, ids.into());
                continue;
            };
            let work = ReadDocument {
                collection: self.what.collection.clone(),
                document,
            };
            // One that was removed since is left out.
            if let Some(document) = call(&self.reader, &scope, &self.caller.span, &work).await? {
                return Ok(Some(document));
            }
        }
    }
}
