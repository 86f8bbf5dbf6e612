//! Where collections are kept: the trait, its plain types, and how it can fail.

mod edge;
mod gather;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use emend_core::{Code, ServiceError};
use futures::future::BoxFuture;

pub use edge::EdgeStore;

/// Keeps collections of embedded documents and searches them.
///
/// An implementation promises:
/// - a document that [`put`](Self::put) has returned `Ok` for survives a crash of the process and of the machine;
/// - a reader sees a document whole, in its old version or in its new one, never half and never neither;
/// - a `put` that fails leaves the earlier version of the document as it was.
pub trait VectorStore: Send + Sync + 'static {
    /// All collections, by name.
    fn collections(&self) -> BoxFuture<'_, Result<Vec<CollectionInfo>, StoreError>>;

    /// One collection; [`StoreError::UnknownCollection`] where there is none of that name.
    fn collection<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<CollectionInfo, StoreError>>;

    /// The embedder that a collection was made with; [`StoreError::UnknownCollection`] where there is none of that name.
    /// Every query asks, so it costs less than [`collection`](Self::collection), which counts.
    fn embedder<'a>(&'a self, collection: &'a str) -> BoxFuture<'a, Result<EmbedderInfo, StoreError>>;

    /// What is known of a stored document; `None` where the collection or the document does not exist.
    fn stored<'a>(
        &'a self,
        collection: &'a str,
        document: &'a str,
    ) -> BoxFuture<'a, Result<Option<StoredDocument>, StoreError>>;

    /// Documents in order of their ids: those after `after`, at most `limit`.
    fn documents<'a>(
        &'a self,
        collection: &'a str,
        after: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<ListedDocument>, StoreError>>;

    /// Stores a document in place of its earlier version, and creates the collection with its first document.
    fn put<'a>(
        &'a self,
        collection: &'a str,
        embedder: &'a EmbedderInfo,
        document: NewDocument,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Removes documents; says how many of them were there.
    fn delete<'a>(&'a self, collection: &'a str, documents: Vec<String>) -> BoxFuture<'a, Result<u32, StoreError>>;

    /// The best pieces for an embedding, best first; equal scores by document id and place, so that the order is the
    /// same each time.
    fn search<'a>(&'a self, collection: &'a str, search: Search) -> BoxFuture<'a, Result<Vec<Found>, StoreError>>;

    /// Writes out what is only there for a quick start next time. Nothing acknowledged depends on it.
    fn close(&self) -> BoxFuture<'_, ()>;
}

/// The embedder a collection was made with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbedderInfo {
    /// Its name, for example `multilingual-e5-small`.
    pub id: String,
    /// Length of an embedding.
    pub dimensions: usize,
}

/// What a collection holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectionInfo {
    /// Its name.
    pub name: String,
    /// Documents stored.
    pub documents: u64,
    /// Chunks stored.
    pub passages: u64,
    /// What its embeddings were made with.
    pub embedder: EmbedderInfo,
}

/// What is known of a stored document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredDocument {
    /// See [`NewDocument::fingerprint`].
    pub fingerprint: Fingerprint,
    /// Chunks it was cut into.
    pub passages: u32,
}

/// A stored document, without its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedDocument {
    /// Its identifier.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Where a person can find it.
    pub source: String,
    /// Chunks it was cut into.
    pub passages: u32,
}

/// SHA-256 of everything that decides what is stored for a document.
pub type Fingerprint = [u8; 32];

/// A document ready to be stored.
#[derive(Clone, Debug)]
pub struct NewDocument {
    /// Identifier within the collection.
    pub id: String,
    /// Two documents with the same fingerprint are stored the same.
    pub fingerprint: Fingerprint,
    /// Title; may be empty.
    pub title: String,
    /// Where a person finds it.
    pub source: String,
    /// The user's own fields.
    pub metadata: BTreeMap<String, String>,
    /// The larger pieces, in order.
    pub sections: Vec<Section>,
    /// The pieces that were embedded, in order.
    pub chunks: Vec<Chunk>,
}

/// A parent: a larger piece of a document that reads well on its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// First code point in the document.
    pub start: u32,
    /// Its text; its end is `start` and as many code points as it has.
    pub text: String,
}

/// A child: what was embedded.
#[derive(Clone, Debug)]
pub struct Chunk {
    /// Index of its section.
    pub section: u32,
    /// First code point in the document, within the section.
    pub start: u32,
    /// One past the last code point.
    pub end: u32,
    /// A unit vector.
    pub embedding: Arc<[f32]>,
}

/// What a search returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Chunks as they were embedded.
    Chunk,
    /// Sections, each once, with the score of its best chunk.
    Section,
}

/// A search.
#[derive(Clone, Debug)]
pub struct Search {
    /// A unit vector of the collection's length.
    pub embedding: Arc<[f32]>,
    /// Most pieces to return.
    pub limit: usize,
    /// Which pieces.
    pub unit: Unit,
    /// Only documents whose metadata has all these values.
    pub filter: BTreeMap<String, String>,
    /// Size of the candidate list of the HNSW search.
    pub ef: Option<usize>,
}

/// A piece of a document that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The document's identifier.
    pub document: String,
    /// Its title.
    pub title: String,
    /// Where a person finds it.
    pub source: String,
    /// The user's own fields.
    pub metadata: BTreeMap<String, String>,
    /// Which unit this is.
    pub unit: Unit,
    /// Index of the unit in the document, from 0.
    pub index: u32,
    /// First code point in the document.
    pub start: u32,
    /// One past the last code point.
    pub end: u32,
    /// The text.
    pub text: String,
    /// Cosine, −1 to 1.
    pub score: f64,
}

/// How a store can fail.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// No collection of that name.
    #[error("unknown collection {name:?}: {}", known_collections(known))]
    UnknownCollection {
        /// The name asked for.
        name: String,
        /// The names there are, sorted.
        known: Vec<String>,
    },
    /// The collection was made with another embedder.
    #[error(
        "collection {collection:?} holds embeddings of {} ({} values), this service embeds with {} ({} values): start it \
         with the collection's embedder, or ingest the documents into another collection",
        stored.id, stored.dimensions, given.id, given.dimensions
    )]
    OtherEmbedder {
        /// The collection.
        collection: String,
        /// What it was made with.
        stored: EmbedderInfo,
        /// What was to be used.
        given: EmbedderInfo,
    },
    /// Another process works on the folder.
    #[error("data folder {} is in use by another process: stop it, or choose another folder with --data-dir", folder.display())]
    InUse {
        /// The data folder.
        folder: PathBuf,
    },
    /// The folder cannot be used at all.
    #[error("data folder {} cannot be used: choose a writable folder with --data-dir", folder.display())]
    Folder {
        /// The data folder.
        folder: PathBuf,
        /// What the operating system said.
        #[source]
        source: std::io::Error,
    },
    /// Too little room to write safely.
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
    /// Reading or writing failed.
    #[error("cannot {doing} in {}: check the disk and its permissions", folder.display())]
    Storage {
        /// What was tried.
        doing: &'static str,
        /// The collection's folder.
        folder: PathBuf,
        /// What failed.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

fn known_collections(known: &[String]) -> String {
    if known.is_empty() {
        "there are none yet, ingest documents first".to_owned()
    } else {
        format!("known are {}", known.join(", "))
    }
}

impl ServiceError for StoreError {
    fn code(&self) -> Code {
        match self {
            Self::UnknownCollection { .. } => Code::NotFound,
            Self::OtherEmbedder { .. } | Self::InUse { .. } | Self::Folder { .. } => Code::FailedPrecondition,
            Self::NoSpace { .. } => Code::ResourceExhausted,
            Self::Storage { .. } => Code::Internal,
        }
    }
}
