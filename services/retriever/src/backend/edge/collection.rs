//! A collection, with one writer at a time and concurrent readers.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::index::{self, MAX_CHUNKS};
use super::open::{INDEX, Need, Open, OpenError, points_of};
use super::space::Space;
use super::usage::Usage;
use super::writer::Writer;
use super::{private, publish, ranking, units};
use crate::backend::{
    CollectionInfo, DocumentUnits, EmbedderInfo, ListedDocument, NewDocument, ReadUnits, Repaired, Search, SearchHit,
    StoreError, StoredDocument,
};

/// Maximum size of the engine's log. It is never read, and shrinks only when the index is opened.
const MAX_LOG_BYTES: u64 = 256 << 20;

/// What the folder of a removed collection is called, before its name.
pub(super) const REMOVED: &str = ".removed-";

pub(super) struct Collection {
    name: String,
    folder: PathBuf,
    writer: Mutex<Writer>,
    /// A search holds the read lock from its snapshot to its last access to the index. The write lock is held to
    /// reopen, and taken briefly before replaced points are removed, so that no search that still needs them is
    /// running.
    open: RwLock<Option<Open>>,
    /// The counts and the embedder as read last; `None` where they were not read since they changed.
    info: Mutex<Option<CollectionInfo>>,
    usage: Arc<Usage>,
    /// When it was used last, by the clock of `usage`.
    used: AtomicU64,
    /// Whether the collection was removed. Its folder may be that of another one by now.
    removed: AtomicBool,
    space: Space,
}

impl Collection {
    /// A collection in `folder`, counted in `usage`. Nothing is opened or created yet.
    pub(super) fn new(name: &str, folder: PathBuf, usage: Arc<Usage>) -> Self {
        Self {
            name: name.to_owned(),
            folder,
            writer: Mutex::default(),
            open: RwLock::new(None),
            info: Mutex::new(None),
            usage,
            used: AtomicU64::new(0),
            removed: AtomicBool::new(false),
            space: Space::default(),
        }
    }

    #[cfg(test)]
    pub(super) fn set_space(&mut self, space: Space) {
        self.space = space;
    }

    /// The counts and the embedder; `None` before the first document. A collection that is not open is not kept open for
    /// it.
    pub(super) fn info(&self) -> Result<Option<CollectionInfo>, StoreError> {
        const OPERATION: &str = "read the collection";
        if let Some(known) = self.known_info() {
            return Ok(Some(known));
        }
        if self.read_lock().is_some() {
            let info = self.read(OPERATION, Need::Catalog, |open| self.noted(open))?;
            return Ok(info);
        }
        // Held while the file is open, which cannot be opened twice.
        let open = self.write_lock();
        let info = match &*open {
            Some(open) => self.noted(open),
            None if !self.folder.exists() => Ok(None),
            None => self.opened().and_then(|once| self.noted(&once)),
        };
        drop(open);
        info.map_err(self.failed(OPERATION))
    }

    /// Reads the counts, and keeps them until they change.
    fn noted(&self, open: &Open) -> Result<Option<CollectionInfo>, OpenError> {
        let mut known = self.info.lock().unwrap_or_else(PoisonError::into_inner);
        known.clone_from(&open.catalog.info(&self.name)?);
        Ok(known.clone())
    }

    fn known_info(&self) -> Option<CollectionInfo> {
        self.info.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What embedded the documents; `None` before the first document.
    pub(super) fn embedder(&self) -> Result<Option<EmbedderInfo>, StoreError> {
        Ok(self.info()?.map(|info| info.embedder))
    }

    /// What embedded the documents, where that was read before and nobody is reading it.
    pub(super) fn known_embedder(&self) -> Option<EmbedderInfo> {
        Some(self.info.try_lock().ok()?.as_ref()?.embedder.clone())
    }

    pub(super) fn stored(&self, document: &str) -> Result<Option<StoredDocument>, StoreError> {
        self.read("read a document", Need::Catalog, |open| {
            Ok(open
                .catalog
                .snapshot()?
                .document(document)?
                .as_ref()
                .map(StoredDocument::from))
        })
    }

    pub(super) fn documents(&self, after: &str, limit: usize) -> Result<Vec<ListedDocument>, StoreError> {
        self.read("list the documents", Need::Catalog, |open| {
            Ok(open.catalog.snapshot()?.documents_after(after, limit)?)
        })
    }

    /// Units of a document, as one version of it has them.
    pub(super) fn units(&self, document: &str, read: ReadUnits) -> Result<Option<DocumentUnits>, StoreError> {
        self.read("read a document", Need::Catalog, |open| {
            Ok(units::of_document(&open.catalog.snapshot()?, document, read)?)
        })
    }

    /// A document as it was stored; `None` if there is none.
    pub(super) fn whole(&self, document: &str) -> Result<Option<NewDocument>, StoreError> {
        self.read("read a document", Need::Catalog, |open| {
            Ok(open.catalog.snapshot()?.whole(document)?)
        })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn is_removed(&self) -> bool {
        self.removed.load(Ordering::SeqCst)
    }

    /// Closes the collection for good and moves its files to `aside`. What waits for it goes on once `then` is done.
    pub(super) fn retire(&self, aside: &Path, then: impl FnOnce() -> io::Result<()>) -> Result<(), StoreError> {
        const OPERATION: &str = "remove the collection";
        let _writer = self.writer();
        let mut open = self.write_lock();
        if self.is_removed() {
            return Err(self.failed(OPERATION)(OpenError::Removed));
        }
        self.set_open(&mut open, None);
        self.forget_info();
        let moved = publish::move_aside(&self.folder, aside).and_then(|()| {
            self.removed.store(true, Ordering::SeqCst);
            then()
        });
        moved.map_err(|error| self.failed(OPERATION)(error.into()))
    }

    /// Compares the index with the catalog, and makes it agree.
    pub(super) fn repair(&self) -> Result<Repaired, StoreError> {
        const OPERATION: &str = "repair the collection";
        let _writer = self.writer();
        self.space.for_upkeep(self.existing_folder())?;
        self.reopen().map_err(self.failed(OPERATION))?;
        let repaired = self.read_once(|open| Ok(open.repaired.clone()));
        repaired.map_err(self.failed(OPERATION))
    }

    /// Stores a document. Returns whether [`optimize`](Self::optimize) is due.
    pub(super) fn put(&self, embedder: &EmbedderInfo, document: &NewDocument) -> Result<bool, StoreError> {
        const OPERATION: &str = "store a document";
        let chunks = document.chunks.len();
        if chunks >= MAX_CHUNKS as usize || document.chunks.iter().any(|chunk| chunk.is_misfit(embedder)) {
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
        private::create_folder(self.folder.parent().unwrap_or(&self.folder))
            .map_err(|error| self.failed(OPERATION)(error.into()))?;
        self.space.for_document(self.existing_folder(), size(document))?;
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
            let chunks = chunks.map(|(number, chunk)| (number, chunk.embedding.as_deref(), &chunk.terms));
            index.insert(version, &document.metadata, chunks)?;
            Ok(open.catalog.put(embedder, version, document)?)
        });
        let replaced = replaced.map_err(|error| self.recover(OPERATION, error))?;
        self.forget_info();
        writer.removed += self.remove_points(replaced);
        writer.inserted += chunks;
        Ok(writer.is_due())
    }

    /// Removes documents. Returns how many existed, and whether [`optimize`](Self::optimize) is due.
    pub(super) fn delete(&self, documents: &[String]) -> Result<(u32, bool), StoreError> {
        const OPERATION: &str = "remove documents";
        let mut writer = self.writer();
        self.space.for_upkeep(self.existing_folder())?;
        self.ensure_open(Need::Index).map_err(self.failed(OPERATION))?;
        let removed = self.read_once(|open| Ok(open.catalog.delete(documents)?));
        let removed = removed.map_err(|error| self.recover(OPERATION, error))?;
        self.forget_info();
        let count = u32::try_from(removed.len()).unwrap_or(u32::MAX);
        writer.removed += self.remove_points(removed);
        Ok((count, writer.is_due()))
    }

    pub(super) fn search(&self, search: &Search) -> Result<Vec<SearchHit>, StoreError> {
        self.read("search", Need::Index, |open| {
            let Some(index) = &open.index else {
                return Ok(Vec::new());
            };
            // Take the snapshot before reading the index: points of documents that are replaced meanwhile stay until
            // the search is done.
            let snapshot = open.catalog.snapshot()?;
            ranking::find(index, &snapshot, search)
        })
    }

    /// Optimizes the index and trims its log if enough points were inserted or removed.
    pub(super) fn optimize(&self) -> Result<(), StoreError> {
        const OPERATION: &str = "build the vector index";
        let mut writer = self.writer();
        if !writer.is_due() || self.is_removed() {
            return Ok(());
        }
        writer.optimized();
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
        let mut writer = self.writer();
        self.set_open(&mut self.write_lock(), None);
        *writer = Writer::default();
        self.forget_info();
    }

    /// Closes the collection unless it is in use.
    pub(super) fn close_unused(&self) {
        let (Ok(mut writer), Ok(mut open)) = (self.writer.try_lock(), self.open.try_write()) else {
            return;
        };
        self.set_open(&mut open, None);
        *writer = Writer::default();
    }

    /// When it was used last; `None` where it is not open.
    pub(super) fn last_used(&self) -> Option<u64> {
        // Somebody opens or closes it, who uses it now.
        let open = self.open.try_read().ok()?;
        open.is_some().then(|| self.used.load(Ordering::Relaxed))
    }

    /// Ensures that there is an index and that it was created with `embedder`, and reads the next version.
    fn prepare(&self, embedder: &EmbedderInfo, writer: &mut Writer) -> Result<Result<(), StoreError>, OpenError> {
        self.ensure_open(Need::Index)?;
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

    /// Removes the points of versions that no new reader can see, and returns how many there are. If this fails, they are
    /// removed when the index is opened again.
    fn remove_points(&self, versions: impl IntoIterator<Item = super::catalog::Version>) -> usize {
        let points: Vec<_> = versions.into_iter().flat_map(points_of).collect();
        let count = points.len();
        if count == 0 {
            return 0;
        }
        // Wait for the searches that began before the versions were removed.
        drop(self.write_lock());
        let removed = self.read_once(|open| match &open.index {
            Some(index) => Ok(index.remove(points.into_iter())?),
            None => Ok(()),
        });
        if let Err(error) = removed {
            tracing::warn!(%error, collection = self.name, "cannot remove replaced passages until the index is opened again");
        }
        count
    }

    /// Runs `work` on the open collection. On failure, reopens the collection and retries once.
    fn read<T>(
        &self,
        operation: &'static str,
        need: Need,
        work: impl Fn(&Open) -> Result<T, OpenError>,
    ) -> Result<T, StoreError> {
        let outcome = loop {
            if need == Need::Index && !self.is_open(need) {
                self.space.for_upkeep(self.existing_folder())?;
            }
            self.ensure_open(need).map_err(self.failed(operation))?;
            match self.read_once(&work) {
                // Another collection was opened in its place just now.
                Err(OpenError::NotOpen) => {}
                outcome => break outcome,
            }
        };
        match outcome {
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
            None => Err(OpenError::NotOpen),
        }
    }

    fn is_open(&self, need: Need) -> bool {
        self.read_lock().as_ref().is_some_and(|open| open.has(need))
    }

    fn ensure_open(&self, need: Need) -> Result<(), OpenError> {
        self.used.store(self.usage.now(), Ordering::Relaxed);
        if self.is_open(need) {
            return Ok(());
        }
        let mut open = self.write_lock();
        if open.is_none() {
            let new = self.opened()?;
            self.set_open(&mut open, Some(new));
        }
        match &mut *open {
            Some(open) if !open.has(need) => {
                self.usage.opened_index();
                open.open_index(&self.folder)
            }
            _ => Ok(()),
        }
    }

    /// Closes and opens the collection, which reconciles catalog and index.
    fn reopen(&self) -> Result<(), OpenError> {
        let mut open = self.write_lock();
        self.set_open(&mut open, None);
        self.forget_info();
        let mut new = self.opened()?;
        self.usage.opened_index();
        new.open_index(&self.folder)?;
        self.set_open(&mut open, Some(new));
        Ok(())
    }

    fn opened(&self) -> Result<Open, OpenError> {
        if self.is_removed() {
            return Err(OpenError::Removed);
        }
        self.usage.opened_catalog();
        Open::at(&self.folder)
    }

    /// Replaces what is open, and counts it.
    fn set_open(&self, open: &mut Option<Open>, new: Option<Open>) {
        match (open.is_some(), new.is_some()) {
            (false, true) => self.usage.opened(),
            (true, false) => self.usage.closed(),
            _ => {}
        }
        *open = new;
    }

    fn forget_info(&self) {
        *self.info.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// The collection's folder, or the one above it before the first document.
    fn existing_folder(&self) -> &Path {
        match self.folder.parent() {
            Some(parent) if !self.folder.exists() => parent,
            _ => &self.folder,
        }
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
        move |error| match error {
            OpenError::Removed => StoreError::Removed {
                name: self.name.clone(),
            },
            OpenError::Damaged(reason) => StoreError::Damaged {
                collection: self.name.clone(),
                folder: self.folder.clone(),
                reason,
            },
            error => StoreError::Storage {
                operation,
                folder: self.folder.clone(),
                source: Box::new(error),
            },
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

    pub(super) fn read_lock(&self) -> RwLockReadGuard<'_, Option<Open>> {
        self.open.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_lock(&self) -> RwLockWriteGuard<'_, Option<Open>> {
        self.open.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Size in bytes of a document's texts and embeddings.
fn size(document: &NewDocument) -> u64 {
    let texts: usize = document.sections.iter().map(|section| section.text.len()).sum();
    let embeddings = document.chunks.iter().filter_map(|chunk| chunk.embedding.as_deref());
    let embeddings: usize = embeddings.map(size_of_val).sum();
    (texts + embeddings) as u64
}
