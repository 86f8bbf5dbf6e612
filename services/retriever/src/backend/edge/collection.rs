//! A collection, with one writer at a time and concurrent readers.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::index::{self, MAX_CHUNKS};
use super::open::{INDEX, Open, OpenError, points_of};
use super::{ranking, space};
use crate::backend::{
    CollectionInfo, EmbedderInfo, ListedDocument, NewDocument, Search, SearchHit, StoreError, StoredDocument,
};

/// Inserted points after which the index is optimized. As many are still compared exhaustively in a few milliseconds.
const OPTIMIZE_AT: usize = 8192;

/// Maximum size of the engine's log. It is never read, and shrinks only when the index is opened.
const MAX_LOG_BYTES: u64 = 256 << 20;

pub(super) struct Collection {
    name: String,
    folder: PathBuf,
    writer: Mutex<Writer>,
    /// A search holds the read lock from its snapshot to its last access to the index. The write lock is held to
    /// reopen, and taken briefly before replaced points are removed, so that no search that still needs them is
    /// running.
    open: RwLock<Option<Open>>,
}

#[derive(Default)]
struct Writer {
    /// 0 until it is read from the catalog.
    next_version: u64,
    inserted: usize,
}

impl Collection {
    /// A collection in `folder`. Nothing is opened or created yet.
    pub(super) fn new(name: &str, folder: PathBuf) -> Self {
        Self {
            name: name.to_owned(),
            folder,
            writer: Mutex::default(),
            open: RwLock::new(None),
        }
    }

    /// Opens the collection if it is not open.
    pub(super) fn open(&self) -> Result<(), StoreError> {
        self.read("open the collection", |_| Ok(()))
    }

    /// The counts and the embedder; `None` before the first document.
    pub(super) fn info(&self) -> Result<Option<CollectionInfo>, StoreError> {
        self.read("read the collection", |open| Ok(open.catalog.info(&self.name)?))
    }

    /// What embedded the documents; `None` before the first document.
    pub(super) fn embedder(&self) -> Result<Option<EmbedderInfo>, StoreError> {
        self.read("read the collection", |open| Ok(open.catalog.embedder()?))
    }

    /// What embedded the documents, where that was read before and nobody is opening the collection.
    pub(super) fn known_embedder(&self) -> Option<EmbedderInfo> {
        let open = self.open.try_read().ok()?;
        open.as_ref()?.catalog.known_embedder().cloned()
    }

    pub(super) fn stored(&self, document: &str) -> Result<Option<StoredDocument>, StoreError> {
        self.read("read a document", |open| {
            Ok(open
                .catalog
                .snapshot()?
                .document(document)?
                .as_ref()
                .map(StoredDocument::from))
        })
    }

    pub(super) fn documents(&self, after: &str, limit: usize) -> Result<Vec<ListedDocument>, StoreError> {
        self.read("list the documents", |open| {
            Ok(open.catalog.snapshot()?.documents_after(after, limit)?)
        })
    }

    /// Stores a document. Returns whether [`optimize`](Self::optimize) is due.
    pub(super) fn put(&self, embedder: &EmbedderInfo, document: &NewDocument) -> Result<bool, StoreError> {
        const OPERATION: &str = "store a document";
        let chunks = document.chunks.len();
        if chunks >= MAX_CHUNKS as usize
            || document
                .chunks
                .iter()
                .any(|chunk| chunk.embedding.len() != embedder.dimensions)
        {
            let source = format!(
                "cannot store {chunks} chunks: there must be fewer than {MAX_CHUNKS}, each with {} values",
                embedder.dimensions
            );
            return Err(StoreError::Storage {
                operation: OPERATION,
                folder: self.folder.clone(),
                source: source.into(),
            });
        }
        let mut writer = self.writer();
        std::fs::create_dir_all(&self.folder).map_err(|error| self.failed(OPERATION)(error.into()))?;
        space::require(&self.folder, size(document))?;
        self.prepare(embedder, &mut writer)
            .map_err(|error| self.recover(OPERATION, error))??;
        let version = writer.next_version;
        writer.next_version += 1;
        let replaced = self.read_once(|open| {
            // A reader may have reopened the collection meanwhile. Without an index, the document must not be
            // acknowledged.
            let index = open
                .index
                .as_ref()
                .ok_or_else(|| std::io::Error::other("the index has been closed"))?;
            let chunks = (0..).zip(&document.chunks);
            let chunks = chunks.map(|(number, chunk)| (number, &*chunk.embedding, &chunk.terms));
            index.insert(version, &document.metadata, chunks)?;
            Ok(open.catalog.put(embedder, version, document)?)
        });
        let replaced = replaced.map_err(|error| self.recover(OPERATION, error))?;
        self.remove_points(replaced);
        writer.inserted += chunks;
        Ok(writer.inserted >= OPTIMIZE_AT)
    }

    /// Removes documents and returns how many existed.
    pub(super) fn delete(&self, documents: &[String]) -> Result<u32, StoreError> {
        const OPERATION: &str = "remove documents";
        let _writer = self.writer();
        self.ensure_open().map_err(self.failed(OPERATION))?;
        let removed = self.read_once(|open| Ok(open.catalog.delete(documents)?));
        let removed = removed.map_err(|error| self.recover(OPERATION, error))?;
        let count = u32::try_from(removed.len()).unwrap_or(u32::MAX);
        self.remove_points(removed);
        Ok(count)
    }

    pub(super) fn search(&self, search: &Search) -> Result<Vec<SearchHit>, StoreError> {
        self.read("search", |open| {
            let Some(index) = &open.index else {
                return Ok(Vec::new());
            };
            // Take the snapshot before reading the index: points of documents that are replaced meanwhile stay until
            // the search is done.
            let snapshot = open.catalog.snapshot()?;
            ranking::find(index, &snapshot, search)
        })
    }

    /// Optimizes the index and trims its log if enough points were inserted.
    pub(super) fn optimize(&self) -> Result<(), StoreError> {
        const OPERATION: &str = "build the vector index";
        let mut writer = self.writer();
        if writer.inserted < OPTIMIZE_AT {
            return Ok(());
        }
        writer.inserted = 0;
        let optimized = self.read_once(|open| match &open.index {
            Some(index) => Ok(index.optimize()?),
            None => Ok(()),
        });
        optimized.map_err(|error| self.recover(OPERATION, error))?;
        if index::log_bytes(&self.folder.join(INDEX)) > MAX_LOG_BYTES {
            self.reopen().map_err(self.failed(OPERATION))?;
        }
        Ok(())
    }

    /// Closes the collection. The next operation opens it again.
    pub(super) fn close(&self) {
        let _writer = self.writer();
        *self.write_lock() = None;
    }

    /// Ensures that there is an index and that it was created with `embedder`, and reads the next version.
    fn prepare(&self, embedder: &EmbedderInfo, writer: &mut Writer) -> Result<Result<(), StoreError>, OpenError> {
        self.ensure_open()?;
        let (stored, has_index) = self.read_once(|open| Ok((open.catalog.embedder()?, open.index.is_some())))?;
        if let Some(stored) = stored.filter(|stored| stored != embedder) {
            return Ok(Err(StoreError::OtherEmbedder {
                collection: self.name.clone(),
                stored,
                given: embedder.clone(),
            }));
        }
        if !has_index && let Some(open) = &mut *self.write_lock() {
            open.make_index(&self.folder, embedder)?;
        }
        if writer.next_version == 0 {
            let (next, unindexed) = self.read_once(|open| {
                let unindexed = open.index.as_ref().map_or(Ok(0), |index| index.unindexed())?;
                Ok((open.catalog.next_version()?, unindexed))
            })?;
            (writer.next_version, writer.inserted) = (next, unindexed);
        }
        Ok(Ok(()))
    }

    /// Removes the points of versions that no new reader can see. If this fails, they are removed when the index is
    /// opened again.
    fn remove_points(&self, versions: impl IntoIterator<Item = super::catalog::Version>) {
        let mut versions = versions.into_iter().peekable();
        if versions.peek().is_none() {
            return;
        }
        // Wait for the searches that began before the versions were removed.
        drop(self.write_lock());
        let removed = self.read_once(|open| match &open.index {
            Some(index) => Ok(index.remove(versions.flat_map(points_of))?),
            None => Ok(()),
        });
        if let Err(error) = removed {
            tracing::warn!(%error, collection = self.name, "cannot remove replaced passages until the index is opened again");
        }
    }

    /// Runs `work` on the open collection. On failure, reopens the collection and retries once.
    fn read<T>(&self, operation: &'static str, work: impl Fn(&Open) -> Result<T, OpenError>) -> Result<T, StoreError> {
        self.ensure_open().map_err(self.failed(operation))?;
        match self.read_once(&work) {
            Ok(value) => Ok(value),
            Err(error) => {
                tracing::warn!(%error, collection = self.name, operation, "operation failed, reopening the collection");
                self.reopen()
                    .and_then(|()| self.read_once(&work))
                    .map_err(self.failed(operation))
            }
        }
    }

    fn read_once<T>(&self, work: impl FnOnce(&Open) -> Result<T, OpenError>) -> Result<T, OpenError> {
        match &*self.read_lock() {
            Some(open) => work(open),
            None => Err(std::io::Error::other("the collection is not open").into()),
        }
    }

    fn ensure_open(&self) -> Result<(), OpenError> {
        if self.read_lock().is_some() {
            return Ok(());
        }
        let mut open = self.write_lock();
        if open.is_none() {
            *open = Some(Open::at(&self.folder)?);
        }
        Ok(())
    }

    /// Closes and opens the collection, which reconciles catalog and index.
    fn reopen(&self) -> Result<(), OpenError> {
        let mut open = self.write_lock();
        *open = None;
        *open = Some(Open::at(&self.folder)?);
        Ok(())
    }

    /// Reopens the collection after a failed write. Until then the catalog accepts no writes, and the index may hold
    /// points of an unpublished document.
    fn recover(&self, operation: &'static str, error: OpenError) -> StoreError {
        if let Err(error) = self.reopen() {
            tracing::error!(%error, collection = self.name, "cannot reopen the collection");
        }
        self.failed(operation)(error)
    }

    fn failed(&self, operation: &'static str) -> impl Fn(OpenError) -> StoreError {
        move |error| StoreError::Storage {
            operation,
            folder: self.folder.clone(),
            source: Box::new(error),
        }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    // Poisoning is ignored: a panic while a lock is held leaves no inconsistent state that the next operation would not
    // detect.
    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read_lock(&self) -> RwLockReadGuard<'_, Option<Open>> {
        self.open.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_lock(&self) -> RwLockWriteGuard<'_, Option<Open>> {
        self.open.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Size in bytes of a document's texts and embeddings.
fn size(document: &NewDocument) -> u64 {
    let texts: usize = document.sections.iter().map(|section| section.text.len()).sum();
    let embeddings: usize = document.chunks.iter().map(|chunk| size_of_val(&*chunk.embedding)).sum();
    (texts + embeddings) as u64
}
