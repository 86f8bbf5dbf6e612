//! The retriever's tasks.

use std::collections::BTreeMap;
use std::sync::Arc;

use emend_chassis::Task;
use emend_proto::v1::{self, Document, IngestResponse, Passage};

use crate::backend::Unit;
use crate::error::RetrieverError;

/// Find passages.
pub(crate) struct Retrieve {
    pub(crate) query: String,
    pub(crate) collection: String,
    pub(crate) top_k: usize,
    pub(crate) filter: BTreeMap<String, String>,
    pub(crate) unit: Unit,
    pub(crate) ef: Option<usize>,
}

impl Task for Retrieve {
    type Reply = Vec<Passage>;
    type Error = RetrieverError;
    const NAME: &'static str = "retrieve";
}

/// Store one document. Shared, because it is asked again where the actor has its fill.
pub(crate) struct IngestDocument {
    pub(crate) collection: String,
    pub(crate) document: Arc<Document>,
}

impl Task for IngestDocument {
    type Reply = IngestResponse;
    type Error = RetrieverError;
    const NAME: &'static str = "ingest_document";
}

/// Remove documents.
pub(crate) struct DeleteDocuments {
    pub(crate) collection: String,
    pub(crate) documents: Vec<String>,
}

impl Task for DeleteDocuments {
    type Reply = u32;
    type Error = RetrieverError;
    const NAME: &'static str = "delete_documents";
}

/// List the documents of a collection after an id.
pub(crate) struct ListDocuments {
    pub(crate) collection: String,
    pub(crate) after: String,
    pub(crate) limit: usize,
}

impl Task for ListDocuments {
    type Reply = v1::ListDocumentsResponse;
    type Error = RetrieverError;
    const NAME: &'static str = "list_documents";
}

/// List the collections.
pub(crate) struct ListCollections;

impl Task for ListCollections {
    type Reply = Vec<v1::Collection>;
    type Error = RetrieverError;
    const NAME: &'static str = "list_collections";
}

/// Describe one collection.
pub(crate) struct GetCollection(pub(crate) String);

impl Task for GetCollection {
    type Reply = v1::Collection;
    type Error = RetrieverError;
    const NAME: &'static str = "get_collection";
}
