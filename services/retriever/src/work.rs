//! What the retriever does. It computes nothing on its actors' threads: embedding has its threads, and the store and the
//! splitter block others.

use std::sync::{Arc, Mutex, PoisonError};

use emend_chassis::{ActorHandle, CallError, Caller, Work};
use emend_core::{Scope, limits::MAX_PASSAGE_BYTES};
use emend_proto::v1::{self, Document, IngestResponse, SearchMode};

use crate::backend::{Condition, Repaired, Unit, foreign_depth};
use crate::error::RetrieverError;
use crate::library::Library;
use crate::read_back::{MAX_PAGE_BYTES, PageToken};

/// Most documents that a repair names.
const MAX_INCOMPLETE: usize = 1000;

/// Find passages.
pub(crate) struct Retrieve {
    pub(crate) query: String,
    pub(crate) mode: SearchMode,
    pub(crate) collection: String,
    pub(crate) top_k: usize,
    pub(crate) filter: Vec<Condition>,
    pub(crate) unit: Unit,
    pub(crate) ef: Option<usize>,
    pub(crate) exact: bool,
}

impl Work<Library> for Retrieve {
    type Reply = v1::RetrieveResponse;
    type Error = RetrieverError;
    const NAME: &'static str = "retrieve";

    async fn run(self, library: &Library, _: &Scope) -> Result<Self::Reply, RetrieverError> {
        // Each part of the query finds as many, and of a hybrid search so many are looked through for other languages.
        let of_part = match self.mode {
            SearchMode::Dense | SearchMode::Sparse => self.top_k,
            _ => self.top_k + foreign_depth(self.top_k),
        };
        let read = emend_text::parts(&self.query).len() * of_part;
        let _place = library.replies.take(read * MAX_PASSAGE_BYTES).await?;
        let passages = library.retrieve(self).await?;
        Ok(v1::RetrieveResponse { passages })
    }
}

/// Hands work to an actor, again and again while there is no room.
pub(crate) async fn call<W: Work<Library, Error = RetrieverError> + Clone>(
    actors: &ActorHandle<Library>,
    scope: &Scope,
    span: &tracing::Span,
    work: &W,
) -> Result<W::Reply, CallError<RetrieverError>> {
    loop {
        let caller = Caller::new(scope.deadline, scope.cancel.child_token(), span.clone());
        match actors.call(work.clone(), caller).await {
            Err(CallError::Full { retry_after }) if !scope.is_stopped() => tokio::time::sleep(retry_after).await,
            outcome => return outcome,
        }
    }
}

/// A document on its way to whoever stores it. Shared with the sender, who asks again where the actors have their fill;
/// whoever takes it is the only one to hold it, and can let go of its content early.
#[derive(Clone)]
pub(crate) struct Handover<T>(Arc<Mutex<Option<T>>>);

impl<T> Handover<T> {
    pub(crate) fn new(document: T) -> Self {
        Self(Arc::new(Mutex::new(Some(document))))
    }

    /// The document, once.
    ///
    /// # Errors
    /// [`RetrieverError::Taken`] the second time.
    pub(crate) fn take(&self) -> Result<T, RetrieverError> {
        let taken = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        taken.ok_or(RetrieverError::Taken)
    }
}

/// Store one document.
#[derive(Clone)]
pub(crate) struct IngestDocument {
    pub(crate) collection: String,
    pub(crate) document: Handover<Document>,
    pub(crate) words_only: bool,
}

impl Work<Library> for IngestDocument {
    type Reply = IngestResponse;
    type Error = RetrieverError;
    const NAME: &'static str = "ingest_document";

    async fn run(self, library: &Library, scope: &Scope) -> Result<Self::Reply, RetrieverError> {
        let document = self.document.take()?;
        library.ingest(self.collection, document, self.words_only, scope).await
    }
}

/// Remove documents.
pub(crate) struct DeleteDocuments {
    pub(crate) collection: String,
    pub(crate) documents: Vec<String>,
}

impl Work<Library> for DeleteDocuments {
    type Reply = v1::DeleteDocumentsResponse;
    type Error = RetrieverError;
    const NAME: &'static str = "delete_documents";

    async fn run(self, library: &Library, _: &Scope) -> Result<Self::Reply, RetrieverError> {
        let deleted = library.delete(self).await?;
        Ok(v1::DeleteDocumentsResponse { deleted })
    }
}

/// List the documents of a collection after an id.
pub(crate) struct ListDocuments {
    pub(crate) collection: String,
    pub(crate) after: String,
    pub(crate) limit: usize,
}

impl Work<Library> for ListDocuments {
    type Reply = v1::ListDocumentsResponse;
    type Error = RetrieverError;
    const NAME: &'static str = "list_documents";

    async fn run(self, library: &Library, _: &Scope) -> Result<Self::Reply, RetrieverError> {
        library.documents(self).await
    }
}

/// Read a document back.
pub(crate) struct GetDocument {
    pub(crate) collection: String,
    pub(crate) document: String,
    pub(crate) unit: Unit,
    /// Where the page before ended.
    pub(crate) after: Option<PageToken>,
    pub(crate) limit: usize,
}

impl Work<Library> for GetDocument {
    type Reply = v1::GetDocumentResponse;
    type Error = RetrieverError;
    const NAME: &'static str = "get_document";

    async fn run(self, library: &Library, _: &Scope) -> Result<Self::Reply, RetrieverError> {
        let _place = library.replies.take(MAX_PAGE_BYTES).await?;
        library.read_back(self).await
    }
}

/// List the collections.
pub(crate) struct ListCollections;

impl Work<Library> for ListCollections {
    type Reply = v1::ListCollectionsResponse;
    type Error = RetrieverError;
    const NAME: &'static str = "list_collections";

    async fn run(self, library: &Library, _: &Scope) -> Result<Self::Reply, RetrieverError> {
        let collections = library.collections().await?;
        Ok(v1::ListCollectionsResponse { collections })
    }
}

/// Describe one collection.
pub(crate) struct GetCollection(pub(crate) String);

impl Work<Library> for GetCollection {
    type Reply = v1::GetCollectionResponse;
    type Error = RetrieverError;
    const NAME: &'static str = "get_collection";

    async fn run(self, library: &Library, _: &Scope) -> Result<Self::Reply, RetrieverError> {
        let collection = Some(library.collection(&self.0).await?);
        Ok(v1::GetCollectionResponse { collection })
    }
}

/// Remove a collection.
pub(crate) struct DeleteCollection(pub(crate) String);

impl Work<Library> for DeleteCollection {
    type Reply = v1::DeleteCollectionResponse;
    type Error = RetrieverError;
    const NAME: &'static str = "delete_collection";

    async fn run(self, library: &Library, _: &Scope) -> Result<Self::Reply, RetrieverError> {
        let documents = library.store.delete_collection(&self.0).await?;
        Ok(v1::DeleteCollectionResponse { documents })
    }
}

/// Repair a collection.
pub(crate) struct RepairCollection(pub(crate) String);

impl Work<Library> for RepairCollection {
    type Reply = v1::RepairCollectionResponse;
    type Error = RetrieverError;
    const NAME: &'static str = "repair_collection";

    async fn run(self, library: &Library, _: &Scope) -> Result<Self::Reply, RetrieverError> {
        let Repaired {
            removed,
            restored,
            mut incomplete,
        } = library.store.repair(&self.0).await?;
        incomplete.truncate(MAX_INCOMPLETE);
        Ok(v1::RepairCollectionResponse {
            removed,
            restored,
            incomplete_document_ids: incomplete,
        })
    }
}
