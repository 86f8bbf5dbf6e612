//! Vector stores: the trait, its types and its errors.

mod edge;
mod error;
mod filter;
mod foreign;
mod gather;
pub mod qdrant;
mod ranking;

use std::collections::BTreeMap;
use std::sync::Arc;

use emend_text::Language;
use futures::FutureExt as _;
use futures::future::{BoxFuture, ready};

use crate::terms::Terms;

pub use edge::{EdgeStore, Holder};
pub use error::StoreError;
pub(crate) use filter::of_request as filter_of;
pub use filter::{Condition, Range, Test};
pub(crate) use foreign::depth as foreign_depth;
pub use qdrant::QdrantStore;
pub(crate) use ranking::part;

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

    /// A stored document with everything that [`put`](Self::put) was given; `None` if the document does not exist.
    ///
    /// # Errors
    /// [`StoreError::UnknownCollection`] if the collection does not exist.
    fn read<'a>(
        &'a self,
        collection: &'a str,
        document: &'a str,
    ) -> BoxFuture<'a, Result<Option<NewDocument>, StoreError>>;

    /// A version of a document that another collection with the same embedder has; `None` also where nobody can tell without
    /// asking a server about each of its collections.
    fn stored_elsewhere<'a>(
        &'a self,
        _collection: &'a str,
        _embedder: &'a EmbedderInfo,
        _document: &'a str,
    ) -> BoxFuture<'a, Result<Option<NewDocument>, StoreError>> {
        ready(Ok(None)).boxed()
    }

    /// Removes a collection with all its documents, and returns how many there were. What was being written to it fails.
    ///
    /// # Errors
    /// [`StoreError::UnknownCollection`] if it does not exist.
    fn delete_collection<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<u64, StoreError>>;

    /// Removes what writers that died have left in a collection, restores what can be restored, and says what cannot.
    ///
    /// # Errors
    /// [`StoreError::UnknownCollection`] if it does not exist.
    fn repair<'a>(&'a self, collection: &'a str) -> BoxFuture<'a, Result<Repaired, StoreError>>;

    /// The name of the collection in which a copy is made that is to become `name`. No request can name it, and it is in no
    /// list. It is the same one until the copy is published.
    ///
    /// # Errors
    /// [`StoreError::Occupied`] if no copy can become `name`.
    fn draft<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<String, StoreError>>;

    /// Makes a [`draft`](Self::draft) the collection `name`, in one step: a reader sees what `name` held before, whole, or
    /// the copy, whole. What it held before is removed.
    ///
    /// # Errors
    /// [`StoreError::UnknownCollection`] if the draft has no document.
    fn publish<'a>(&'a self, draft: &'a str, name: &'a str) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Whether the store can be used now. Answers within seconds.
    ///
    /// # Errors
    /// The error that every other call would end with.
    fn probe(&self) -> BoxFuture<'_, Result<(), StoreError>>;

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

/// What [`VectorStore::repair`] did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repaired {
    /// Passages and sections that belonged to no document and were removed.
    pub removed: u64,
    /// Passages that were missing in the index and were restored.
    pub restored: u64,
    /// Documents of which something is lost, sorted: they have to be ingested again.
    pub incomplete: Vec<String>,
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
    /// Maximum bytes of their texts and headings together; one unit is read however long it is.
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
    /// See [`Section::headings`]; those of its section.
    pub headings: Vec<String>,
}

impl Chunk {
    /// Whether it has an embedding of another length than the collection's.
    pub(crate) fn is_misfit(&self, embedder: &EmbedderInfo) -> bool {
        self.embedding
            .as_ref()
            .is_some_and(|embedding| embedding.len() != embedder.dimensions)
    }
}

impl StoredUnit {
    /// Bytes of its text and headings.
    pub(crate) fn bytes(&self) -> usize {
        self.text.len() + self.headings.iter().map(String::len).sum::<usize>()
    }
}

/// SHA-256 of all inputs that determine what is stored for a document.
pub type Fingerprint = [u8; 32];

/// A document that is cut, ready to be stored.
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
    /// The chunks, in order.
    pub chunks: Vec<Chunk>,
}

/// A parent unit: a section of a document that can be read on its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Offset of the first code point in the document.
    pub start: u32,
    /// Its text. Its end is `start` plus the number of code points.
    pub text: String,
    /// The headings above it and its own, outermost first, each on one line; none in documents that were stored before
    /// there were any.
    pub headings: Vec<String>,
}

/// A child unit: a chunk that a search finds.
#[derive(Clone, Debug)]
pub struct Chunk {
    /// The index of its section.
    pub section: u32,
    /// Offset of the first code point in the document; it is within the section.
    pub start: u32,
    /// One past the last code point.
    pub end: u32,
    /// The embedding, a unit vector; `None` where the document is stored by its words alone, and a dense search does not find
    /// it.
    pub embedding: Option<Arc<[f32]>>,
    /// Its words.
    pub terms: Terms,
}

/// The unit that a search returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Chunks.
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
    /// Restricts the search to documents whose metadata meets all these conditions.
    pub filter: Vec<Condition>,
    /// The language of the query. A hybrid search for at least four units then keeps one place in four for the nearest units
    /// in other languages.
    pub language: Option<Language>,
    /// Size of the candidate list of the HNSW search (`ef`).
    pub ef: Option<usize>,
    /// Whether every embedding is compared, without the HNSW graph.
    pub exact: bool,
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
    /// The language of its section.
    pub language: Language,
    /// See [`Section::headings`]; those of its section.
    pub headings: Vec<String>,
    /// Higher is better: cosine similarity (−1 to 1) of a dense search, BM25 (0 or more) of a sparse search, the sum of
    /// reciprocal ranks (below 0.04) of a hybrid search.
    pub score: f64,
}
