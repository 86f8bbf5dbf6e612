//! One collection: one writer at a time, readers beside it.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::catalog::{CatalogError, Snapshot};
use super::index::{self, MAX_CHUNKS};
use super::open::{INDEX, Open, OpenError, points_of};
use super::space;
use crate::backend::gather::{Candidates, gather};
use crate::backend::{
    CollectionInfo, EmbedderInfo, Found, ListedDocument, NewDocument, Search, StoreError, StoredDocument, Unit,
};

/// Points without a graph that are still compared one by one in a few milliseconds.
const OPTIMIZE_AT: usize = 8192;

/// The engine's log is never read and only shrinks when the index is opened.
const MAX_LOG_BYTES: u64 = 256 << 20;

/// Candidates asked for first, for each piece wanted: about as many chunks as a section has.
const CHUNKS_PER_SECTION: usize = 4;

pub(super) struct Collection {
    name: String,
    folder: PathBuf,
    writer: Mutex<Writer>,
    /// Held for reading by a search from its snapshot to its last look at the index. Held for writing to open anew, and
    /// for a moment before replaced points are removed: so no search that still counts on them is under way.
    open: RwLock<Option<Open>>,
}

#[derive(Default)]
struct Writer {
    /// 0 until it is known.
    next_version: u64,
    inserted: usize,
}

/// Which piece of which document: the order in which equals are returned.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    document: String,
    index: u32,
    version: u64,
}

impl Collection {
    /// A collection in `folder`; nothing is opened or made yet.
    pub(super) fn new(name: &str, folder: PathBuf) -> Self {
        Self {
            name: name.to_owned(),
            folder,
            writer: Mutex::default(),
            open: RwLock::new(None),
        }
    }

    /// Opens the collection unless it is open.
    pub(super) fn open(&self) -> Result<(), StoreError> {
        self.read("open the collection", |_| Ok(()))
    }

    /// Counts and embedder; `None` before the first document.
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

    /// Stores a document. Says whether [`optimize`](Self::optimize) is due.
    pub(super) fn put(&self, embedder: &EmbedderInfo, document: &NewDocument) -> Result<bool, StoreError> {
        const DOING: &str = "store a document";
        let chunks = document.chunks.len();
        if chunks >= MAX_CHUNKS as usize
            || document
                .chunks
                .iter()
                .any(|chunk| chunk.embedding.len() != embedder.dimensions)
        {
            let source = format!(
                "{chunks} chunks, each with {} values, were to be stored",
                embedder.dimensions
            );
            return Err(StoreError::Storage {
                doing: DOING,
                folder: self.folder.clone(),
                source: source.into(),
            });
        }
        let mut writer = self.writer();
        std::fs::create_dir_all(&self.folder).map_err(|error| self.failed(DOING)(error.into()))?;
        space::require(&self.folder, size(document))?;
        self.prepare(embedder, &mut writer)
            .map_err(|error| self.recover(DOING, error))??;
        let version = writer.next_version;
        writer.next_version += 1;
        let replaced = self.read_once(|open| {
            // A reader may have opened the collection anew since: an acknowledgement without an index would be a lie.
            let index = open
                .index
                .as_ref()
                .ok_or_else(|| std::io::Error::other("the index was closed meanwhile"))?;
            let embeddings = (0..).zip(&document.chunks).map(|(chunk, c)| (chunk, &*c.embedding));
            index.insert(version, &document.metadata, embeddings)?;
            Ok(open.catalog.put(embedder, version, document)?)
        });
        let replaced = replaced.map_err(|error| self.recover(DOING, error))?;
        self.remove_points(replaced);
        writer.inserted += chunks;
        Ok(writer.inserted >= OPTIMIZE_AT)
    }

    /// Removes documents; says how many there were.
    pub(super) fn delete(&self, documents: &[String]) -> Result<u32, StoreError> {
        const DOING: &str = "remove documents";
        let _writer = self.writer();
        self.ensure_open().map_err(self.failed(DOING))?;
        let removed = self.read_once(|open| Ok(open.catalog.delete(documents)?));
        let removed = removed.map_err(|error| self.recover(DOING, error))?;
        let count = u32::try_from(removed.len()).unwrap_or(u32::MAX);
        self.remove_points(removed);
        Ok(count)
    }

    pub(super) fn search(&self, search: &Search) -> Result<Vec<Found>, StoreError> {
        self.read("search", |open| {
            let Some(index) = &open.index else {
                return Ok(Vec::new());
            };
            // First the snapshot, then the index: points of a document that is replaced meanwhile stay until we are done.
            let snapshot = open.catalog.snapshot()?;
            let first = match search.unit {
                Unit::Chunk => search.limit + 1,
                Unit::Section => search.limit.saturating_mul(CHUNKS_PER_SECTION) + 1,
            };
            let places = gather(search.limit, first, |limit| {
                let hits = index.search(&search.embedding, &search.filter, search.ef, limit)?;
                let exhausted = hits.len() < limit;
                let mut units = Vec::with_capacity(hits.len());
                for (point, score) in hits {
                    // Not there: written and not published yet, or replaced and not removed yet.
                    let Some(document) = snapshot.document_of(point.version)? else {
                        continue;
                    };
                    let index = match search.unit {
                        Unit::Chunk => point.chunk,
                        Unit::Section => snapshot.chunk(point.version, point.chunk)?.0,
                    };
                    units.push((
                        Place {
                            document,
                            index,
                            version: point.version,
                        },
                        score,
                    ));
                }
                Ok::<_, OpenError>(Candidates { units, exhausted })
            })?;
            Ok(places
                .into_iter()
                .map(|(place, score)| found(&snapshot, place, search.unit, score))
                .collect::<Result<_, CatalogError>>()?)
        })
    }

    /// Builds graphs and tidies up where there is enough to do.
    pub(super) fn optimize(&self) -> Result<(), StoreError> {
        const DOING: &str = "build the vector index";
        let mut writer = self.writer();
        if writer.inserted < OPTIMIZE_AT {
            return Ok(());
        }
        writer.inserted = 0;
        let optimized = self.read_once(|open| match &open.index {
            Some(index) => Ok(index.optimize()?),
            None => Ok(()),
        });
        optimized.map_err(|error| self.recover(DOING, error))?;
        if index::log_bytes(&self.folder.join(INDEX)) > MAX_LOG_BYTES {
            self.reopen().map_err(self.failed(DOING))?;
        }
        Ok(())
    }

    /// Closes the collection; the next use opens it again.
    pub(super) fn close(&self) {
        let _writer = self.writer();
        *self.write_lock() = None;
    }

    /// Makes sure that there is an index and that it is for `embedder`, and learns the next version.
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

    /// Removes the points of versions that no new reader can see. What fails here is only left over.
    fn remove_points(&self, versions: impl IntoIterator<Item = super::catalog::Version>) {
        let mut versions = versions.into_iter().peekable();
        if versions.peek().is_none() {
            return;
        }
        // Whoever began to read before the versions were gone is through when this is granted.
        drop(self.write_lock());
        let removed = self.read_once(|open| match &open.index {
            Some(index) => Ok(index.remove(versions.flat_map(points_of))?),
            None => Ok(()),
        });
        if let Err(error) = removed {
            tracing::warn!(%error, collection = self.name, "replaced passages stay in the index until it is opened again");
        }
    }

    /// Runs `work` on the open collection; where it fails, opens the collection anew and tries once more.
    fn read<T>(&self, doing: &'static str, work: impl Fn(&Open) -> Result<T, OpenError>) -> Result<T, StoreError> {
        self.ensure_open().map_err(self.failed(doing))?;
        match self.read_once(&work) {
            Ok(value) => Ok(value),
            Err(error) => {
                tracing::warn!(%error, collection = self.name, doing, "failed: the collection is opened again");
                self.reopen()
                    .and_then(|()| self.read_once(&work))
                    .map_err(self.failed(doing))
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

    /// Closes and opens, after which catalog and index agree again.
    fn reopen(&self) -> Result<(), OpenError> {
        let mut open = self.write_lock();
        *open = None;
        *open = Some(Open::at(&self.folder)?);
        Ok(())
    }

    /// After a write that failed: the catalog takes no further write until it is opened again, and the index may hold
    /// points of a document that was never published.
    fn recover(&self, doing: &'static str, error: OpenError) -> StoreError {
        if let Err(error) = self.reopen() {
            tracing::error!(%error, collection = self.name, "the collection cannot be opened again for now");
        }
        self.failed(doing)(error)
    }

    fn failed(&self, doing: &'static str) -> impl Fn(OpenError) -> StoreError {
        move |error| StoreError::Storage {
            doing,
            folder: self.folder.clone(),
            source: Box::new(error),
        }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    // A panic while a lock is held leaves nothing half-done that the next use would not notice.
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

/// Reads a place's text and its document.
fn found(snapshot: &Snapshot, place: Place, unit: Unit, score: f64) -> Result<Found, CatalogError> {
    let record = snapshot
        .document(&place.document)?
        .ok_or_else(|| CatalogError::Corrupted(format!("document {:?} has passages and no record", place.document)))?;
    let (start, end, text) = match unit {
        Unit::Section => {
            let (start, text) = snapshot.section(place.version, place.index)?;
            let length = u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
            (start, start.saturating_add(length), text)
        }
        Unit::Chunk => {
            let (section, start, end) = snapshot.chunk(place.version, place.index)?;
            let (section_start, text) = snapshot.section(place.version, section)?;
            let skipped = start.saturating_sub(section_start) as usize;
            (
                start,
                end,
                text.chars()
                    .skip(skipped)
                    .take(end.saturating_sub(start) as usize)
                    .collect(),
            )
        }
    };
    Ok(Found {
        document: place.document,
        title: record.title,
        source: record.source,
        metadata: record.metadata,
        unit,
        index: place.index,
        start,
        end,
        text,
        score,
    })
}

/// Bytes of a document's texts and embeddings.
fn size(document: &NewDocument) -> u64 {
    let texts: usize = document.sections.iter().map(|section| section.text.len()).sum();
    let embeddings: usize = document.chunks.iter().map(|chunk| size_of_val(&*chunk.embedding)).sum();
    (texts + embeddings) as u64
}
