//! Vector stores: the trait, its types and its errors.

mod edge;
mod gather;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use emend_core::{Code, ServiceError};
use futures::future::BoxFuture;

use crate::terms::Terms;

pub use edge::EdgeStore;

/// Stores collections of embedded documents and searches them.
///
/// An implementation guarantees:
/// - A document for which [`put`](Self::put) has returned `Ok` survives a crash of the process or the machine.
/// - A reader sees either the old or the new version of a document, complete.
/// - A failed `put` leaves the earlier version of the document unchanged.
pub trait VectorStore: Send + Sync + 'static {
    /// All collections, by name.
    fn collections(&self) -> BoxFuture<'_, Result<Vec<CollectionInfo>, StoreError>>;

    /// The collection `name`.
    ///
    /// # Errors
    /// [`StoreError::UnknownCollection`] if it does not exist.
    fn collection<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<CollectionInfo, StoreError>>;

    /// The embedder that a collection was created with. Cheaper than [`collection`](Self::collection), which counts: every
    /// query asks.
    ///
    /// # Errors
    /// [`StoreError::UnknownCollection`] if it does not exist.
    fn embedder<'a>(&'a self, collection: &'a str) -> BoxFuture<'a, Result<EmbedderInfo, StoreError>>;

    /// The fingerprint and size of a stored document; `None` if the collection or the document does not exist.
    fn stored<'a>(
        &'a self,
        collection: &'a str,
        document: &'a str,
    ) -> BoxFuture<'a, Result<Option<StoredDocument>, StoreError>>;

    /// At most `limit` documents with ids greater than `after`, in the order of their ids.
    fn documents<'a>(
        &'a self,
        collection: &'a str,
        after: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<ListedDocument>, StoreError>>;

    /// The units of a stored document in order, those that `read` asks for; `None` if the document does not exist.
    ///
    /// # Errors
    /// [`StoreError::UnknownCollection`] if the collection does not exist.
    fn document<'a>(
        &'a self,
        collection: &'a str,
        document: &'a str,
        read: ReadUnits,
    ) -> BoxFuture<'a, Result<Option<DocumentUnits>, StoreError>>;

    /// Stores a document, replacing its earlier version. The first document creates the collection.
    fn put<'a>(
        &'a self,
        collection: &'a str,
        embedder: &'a EmbedderInfo,
        document: NewDocument,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Removes documents and returns how many of them existed.
    fn delete<'a>(&'a self, collection: &'a str, documents: Vec<String>) -> BoxFuture<'a, Result<u32, StoreError>>;

    /// The best units for a query, best first, without copies: of units with the same letters and digits only the first
    /// is returned. Ties are ordered by document id and position, so the order is deterministic.
    fn search<'a>(&'a self, collection: &'a str, search: Search) -> BoxFuture<'a, Result<Vec<SearchHit>, StoreError>>;

    /// Flushes data that only speeds up the next start. No acknowledged write depends on it.
    fn close(&self) -> BoxFuture<'_, ()>;
}

/// The embedder of a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbedderInfo {
    /// Its name, for example `multilingual-e5-small`.
    pub id: String,
    /// Dimensions of an embedding.
    pub dimensions: usize,
}

/// Metadata of a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectionInfo {
    /// Its name.
    pub name: String,
    /// Number of documents.
    pub documents: u64,
    /// Number of chunks.
    pub passages: u64,
    /// The embedder of its documents.
    pub embedder: EmbedderInfo,
}

/// The fingerprint and size of a stored document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredDocument {
    /// See [`NewDocument::fingerprint`].
    pub fingerprint: Fingerprint,
    /// Number of chunks.
    pub passages: u32,
}

/// A stored document, without its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedDocument {
    /// Its identifier.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Where a user can find it, such as a URL or a path.
    pub source: String,
    /// See [`NewDocument::owner`].
    pub owner: String,
    /// Number of chunks.
    pub passages: u32,
}

/// Which units of a document are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadUnits {
    /// The unit.
    pub unit: Unit,
    /// The index of the first one.
    pub from: u32,
    /// Maximum number of units.
    pub limit: usize,
    /// Maximum bytes of their texts together; one unit is read however long it is.
    pub bytes: usize,
}

/// Units of a stored document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentUnits {
    /// The document.
    pub document: ListedDocument,
    /// See [`NewDocument::fingerprint`].
    pub fingerprint: Fingerprint,
    /// The user's own fields.
    pub metadata: BTreeMap<String, String>,
    /// How many units it has.
    pub total: u32,
    /// Those that were read, in order.
    pub units: Vec<StoredUnit>,
}

/// A unit of a stored document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredUnit {
    /// Its index in the document, from 0.
    pub index: u32,
    /// Offset of the first code point in the document.
    pub start: u32,
    /// One past the last code point.
    pub end: u32,
    /// Its text.
    pub text: String,
}

/// SHA-256 of all inputs that determine what is stored for a document.
pub type Fingerprint = [u8; 32];

/// An embedded document, ready to be stored.
#[derive(Clone, Debug)]
pub struct NewDocument {
    /// Its identifier within the collection.
    pub id: String,
    /// Documents with the same fingerprint are stored identically.
    pub fingerprint: Fingerprint,
    /// Title; may be empty.
    pub title: String,
    /// Where a user can find it, such as a URL or a path.
    pub source: String,
    /// The file or address that keeps it, where that is not `source`; else empty.
    pub owner: String,
    /// The user's own fields.
    pub metadata: BTreeMap<String, String>,
    /// The sections, in order.
    pub sections: Vec<Section>,
    /// The embedded chunks, in order.
    pub chunks: Vec<Chunk>,
}

/// A parent unit: a section of a document that can be read on its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Offset of the first code point in the document.
    pub start: u32,
    /// Its text. Its end is `start` plus the number of code points.
    pub text: String,
}

/// A child unit: an embedded chunk.
#[derive(Clone, Debug)]
pub struct Chunk {
    /// The index of its section.
    pub section: u32,
    /// Offset of the first code point in the document; it is within the section.
    pub start: u32,
    /// One past the last code point.
    pub end: u32,
    /// The embedding, a unit vector.
    pub embedding: Arc<[f32]>,
    /// Its words.
    pub terms: Terms,
}

/// The unit that a search returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Chunks, as embedded.
    Chunk,
    /// Distinct sections, each with the score of its best chunk.
    Section,
}

/// What is searched for.
#[derive(Clone, Debug)]
pub enum Query {
    /// Nearness to the embedding, a unit vector with the dimensions of the collection.
    Dense(Arc<[f32]>),
    /// Words, with BM25.
    Sparse(Terms),
    /// Both, joined by reciprocal rank fusion.
    Hybrid(Arc<[f32]>, Terms),
}

/// A search.
#[derive(Clone, Debug)]
pub struct Search {
    /// What is searched for.
    pub query: Query,
    /// Maximum number of units to return.
    pub limit: usize,
    /// The unit to return.
    pub unit: Unit,
    /// Restricts the search to documents whose metadata has all these values.
    pub filter: BTreeMap<String, String>,
    /// Size of the candidate list of the HNSW search (`ef`).
    pub ef: Option<usize>,
}

/// A search hit: a unit of a document with its score.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchHit {
    /// The document's identifier.
    pub document: String,
    /// Its title.
    pub title: String,
    /// Where a user can find it, such as a URL or a path.
    pub source: String,
    /// The user's own fields.
    pub metadata: BTreeMap<String, String>,
    /// The unit.
    pub unit: Unit,
    /// The index of the unit in the document, from 0.
    pub index: u32,
    /// Offset of the first code point in the document.
    pub start: u32,
    /// One past the last code point.
    pub end: u32,
    /// The text.
    pub text: String,
    /// Higher is better: cosine similarity (−1 to 1) of a dense search, BM25 (0 or more) of a sparse search, the sum of
    /// reciprocal ranks (below 0.04) of a hybrid search.
    pub score: f64,
}

/// Errors of a vector store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The collection does not exist.
    #[error("unknown collection {name:?}: {}", known_collections(known))]
    UnknownCollection {
        /// The requested name.
        name: String,
        /// The existing names, sorted.
        known: Vec<String>,
    },
    /// The collection was created with another embedder.
    #[error(
        "collection {collection:?} holds embeddings of {} ({} values), this service embeds with {} ({} values): start it \
         with the collection's embedder, or ingest the documents into another collection",
        stored.id, stored.dimensions, given.id, given.dimensions
    )]
    OtherEmbedder {
        /// The collection.
        collection: String,
        /// The embedder of the collection.
        stored: EmbedderInfo,
        /// The embedder of this service.
        given: EmbedderInfo,
    },
    /// Another process uses the folder.
    #[error("data folder {} is in use by another process: stop it, or choose another folder with --data-dir", folder.display())]
    InUse {
        /// The data folder.
        folder: PathBuf,
    },
    /// The folder cannot be created, read or written.
    #[error("data folder {} cannot be used: choose a writable folder with --data-dir", folder.display())]
    Folder {
        /// The data folder.
        folder: PathBuf,
        /// The I/O error.
        #[source]
        source: std::io::Error,
    },
    /// Not enough free disk space to write safely.
    #[error(
        "no room left for data folder {}: {free_mib} MiB are free and {needed_mib} MiB are needed; free some space",
        folder.display()
    )]
    NoSpace {
        /// The collection's folder.
        folder: PathBuf,
        /// Free space in MiB.
        free_mib: u64,
        /// Needed space in MiB.
        needed_mib: u64,
    },
    /// The catalog of a collection is lost or damaged.
    #[error(
        "collection {collection:?} cannot be opened: {reason}; restore {} from a backup, or remove it and ingest the \
         documents again",
        folder.display()
    )]
    Damaged {
        /// The collection.
        collection: String,
        /// The collection's folder.
        folder: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// Reading or writing failed.
    #[error("cannot {operation} in {}: check the disk and its permissions", folder.display())]
    Storage {
        /// The operation that failed.
        operation: &'static str,
        /// The collection's folder.
        folder: PathBuf,
        /// The cause.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

fn known_collections(known: &[String]) -> String {
    if known.is_empty() {
        "there are none yet, ingest documents first".to_owned()
    } else {
        format!("known are {}", emend_core::list_names(known))
    }
}

impl ServiceError for StoreError {
    fn code(&self) -> Code {
        match self {
            Self::UnknownCollection { .. } => Code::NotFound,
            Self::OtherEmbedder { .. } | Self::InUse { .. } | Self::Folder { .. } | Self::Damaged { .. } => {
                Code::FailedPrecondition
            }
            Self::NoSpace { .. } => Code::ResourceExhausted,
            Self::Storage { .. } => Code::Internal,
        }
    }
}
