//! Collections on the local disk: `redb` for durable storage, Qdrant's engine for search.
//!
//! ```text
//! DATA_DIR/.lock                       locked while a process uses the folder, and where that is reached
//! DATA_DIR/COLLECTION/documents.redb   documents, sections, chunks, embeddings: the source of truth
//! DATA_DIR/COLLECTION/index/           the engine's shard: a copy, rebuilt if lost
//! ```
//!
//! Folders that begin with a dot are copies that are to become a collection ([`publish`]), and what is being removed.
//!
//! A document is stored in three steps: its points are inserted into the index, where no reader sees them yet; one
//! durable transaction of the catalog publishes it and replaces its earlier version; the points of the earlier version
//! are removed. After a crash at any point, one version is complete. Points that belong to neither are removed when the
//! collection is opened.
//!
//! The engine multiplies the weights of words by their inverse document frequency when it searches. Removed points count as
//! if they were there until their segment is rewritten, in the background: when they are a fifth of it and it has 256 points
//! or more. Scores of words then are those of the documents that are there.

mod catalog;
mod collection;
mod elsewhere;
mod index;
mod lock;
mod open;
mod private;
mod publish;
mod ranking;
mod space;
mod units;
mod usage;
mod writer;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use futures::FutureExt;
use futures::future::{BoxFuture, ready};

use super::{
    CollectionInfo, DocumentUnits, EmbedderInfo, ListedDocument, NewDocument, ReadUnits, Repaired, Search, SearchHit,
    StoreError, StoredDocument, VectorStore,
};
use collection::Collection;
use publish::DRAFT;
use usage::{MAX_OPEN, Usage};

const LOCK: &str = ".lock";

pub use lock::Holder;
use lock::Lock;

/// Collections in a folder of the local disk. Cheap to clone.
#[derive(Clone)]
pub struct EdgeStore(Arc<Store>);

struct Store {
    folder: PathBuf,
    collections: RwLock<BTreeMap<String, Arc<Collection>>>,
    /// At most so many stay open; a collection is opened when it is used first.
    usage: Arc<Usage>,
    /// A repair reads a whole collection: each waits for the one before, and not at all once its caller is gone.
    repairs: Arc<tokio::sync::Mutex<()>>,
    /// Unlocked when the file is closed, even by a crash; `None` after the store is closed.
    lock: Mutex<Option<Lock>>,
}

impl EdgeStore {
    /// Finds the collections in `folder`, which is created for its owner alone if it does not exist. Blocks on I/O, and
    /// takes as long for many collections as for few: each is opened when it is used first.
    ///
    /// A collection that cannot be opened does not affect the others; operations on it fail.
    ///
    /// # Errors
    /// [`StoreError::InUse`] if another process or another store of this process uses the folder;
    /// [`StoreError::Folder`] if it cannot be created or written.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        let unusable = |source| StoreError::Folder {
            folder: folder.to_owned(),
            source,
        };
        private::create_folder(folder).map_err(unusable)?;
        if let Some(mode) = private::open_to_others(folder).map_err(unusable)? {
            tracing::warn!(
                folder = %folder.display(),
                permissions = format!("{mode:o}"),
                "others than the owner may read the data folder and the documents in it: chmod 700 closes it"
            );
        }
        let lock = match Lock::take(&folder.join(LOCK)).map_err(unusable)? {
            Ok(lock) => lock,
            Err(holder) => {
                return Err(StoreError::InUse {
                    folder: folder.to_owned(),
                    holder,
                });
            }
        };
        publish::finish(folder).map_err(unusable)?;
        let mut collections = BTreeMap::new();
        let usage = Arc::new(Usage::default());
        for entry in fs::read_dir(folder).map_err(unusable)? {
            let path = entry.map_err(unusable)?.path();
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
                continue;
            };
            if name.starts_with(collection::REMOVED) {
                // It was removed, and the process ended before its files were.
                remove_folder(&path);
                continue;
            }
            let is_hidden = name.starts_with('.') && !name.starts_with(DRAFT);
            if is_hidden || !path.is_dir() {
                continue;
            }
            let collection = Collection::new(name, path.clone(), Arc::clone(&usage));
            collections.insert(name.to_owned(), Arc::new(collection));
        }
        Ok(Self(Arc::new(Store {
            folder: folder.to_owned(),
            collections: RwLock::new(collections),
            usage,
            repairs: Arc::default(),
            lock: Mutex::new(Some(lock)),
        })))
    }

    /// Tells those who find the folder in use where this process is reached.
    pub fn announce(&self, holder: &Holder) {
        let mut lock = self.0.lock.lock().unwrap_or_else(PoisonError::into_inner);
        // It only helps: without it the folder is as much in use.
        if let Some(Err(error)) = lock.as_mut().map(|lock| lock.announce(holder)) {
            tracing::debug!(%error, "cannot say where this process is reached");
        }
    }
}

impl Store {
    /// The collection `name`. One that never got its first document does not exist.
    fn existing(&self, name: &str) -> Result<Arc<Collection>, StoreError> {
        if let Some(collection) = self.known(name)
            && collection.embedder()?.is_some()
        {
            return Ok(collection);
        }
        let known = self.infos().into_iter().map(|info| info.name).collect();
        Err(StoreError::UnknownCollection {
            name: name.to_owned(),
            known,
        })
    }

    fn known(&self, name: &str) -> Option<Arc<Collection>> {
        let collections = self.collections.read().unwrap_or_else(PoisonError::into_inner);
        collections.get(name).cloned()
    }

    /// Forgets a collection that was removed.
    fn forget(&self, removed: &Arc<Collection>, name: &str) {
        let mut collections = self.collections.write().unwrap_or_else(PoisonError::into_inner);
        if collections.get(name).is_some_and(|known| Arc::ptr_eq(known, removed)) {
            collections.remove(name);
        }
    }

    /// Runs `work` on the collection `name`, again where a copy has taken its place meanwhile.
    fn with<T>(&self, name: &str, work: impl Fn(&Collection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        loop {
            match self.existing(name).and_then(|collection| work(&collection)) {
                Err(StoreError::Removed { .. }) if self.known(name).is_some_and(|now| !now.is_removed()) => {}
                done => return done,
            }
        }
    }

    /// The embedder of an open collection, where it is known without waiting for anything.
    fn known_embedder(&self, name: &str) -> Option<EmbedderInfo> {
        let collections = self.collections.try_read().ok()?;
        collections.get(name)?.known_embedder()
    }

    fn existing_or_new(&self, name: &str) -> Arc<Collection> {
        let mut collections = self.collections.write().unwrap_or_else(PoisonError::into_inner);
        let collection = collections
            .entry(name.to_owned())
            .or_insert_with(|| Arc::new(Collection::new(name, self.folder.join(name), Arc::clone(&self.usage))));
        Arc::clone(collection)
    }

    /// Removes a collection and returns how many documents it had.
    fn delete_collection(&self, name: &str) -> Result<u64, StoreError> {
        let collection = self.existing(name)?;
        let documents = collection.info()?.map_or(0, |info| info.documents);
        let aside = self.folder.join(format!("{}{name}", collection::REMOVED));
        collection.retire(&aside, || Ok(()))?;
        self.forget(&collection, name);
        remove_folder(&aside);
        // Nobody else would remove a copy that broke off.
        let draft = format!("{DRAFT}{name}");
        match self.known(&draft).map(|_| self.delete_collection(&draft)) {
            None | Some(Ok(_) | Err(StoreError::UnknownCollection { .. })) => Ok(documents),
            Some(Err(error)) => Err(error),
        }
    }

    fn all(&self) -> Vec<Arc<Collection>> {
        self.collections
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .values()
            .cloned()
            .collect()
    }

    /// Closes the collections that were not used for longest, until few enough are open. One in use stays open.
    fn close_unused(&self) {
        if self.usage.open() <= MAX_OPEN {
            return;
        }
        let mut open: Vec<_> = self
            .all()
            .into_iter()
            .filter_map(|collection| Some((collection.last_used()?, collection)))
            .collect();
        open.sort_by_key(|(used, _)| *used);
        for (_, collection) in open {
            if self.usage.open() <= MAX_OPEN {
                return;
            }
            collection.close_unused();
        }
    }

    fn is_closed(&self) -> bool {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// The metadata of the readable collections, by name.
    fn infos(&self) -> Vec<CollectionInfo> {
        let info = |collection: &Arc<Collection>| match collection.info() {
            Ok(info) => info,
            Err(error) => {
                tracing::warn!(
                    error = emend_core::error_chain(&error),
                    "left a collection out of the list"
                );
                None
            }
        };
        let all = self.all();
        let named = all.iter().filter(|collection| !collection.name().starts_with(DRAFT));
        named.filter_map(info).collect()
    }
}

impl EdgeStore {
    /// Runs blocking work on the blocking thread pool, within the caller's span. Work that has begun completes even if
    /// the caller is gone.
    fn run<'a, T: Send + 'static>(
        &self,
        work: impl FnOnce(&Store) -> Result<T, StoreError> + Send + 'static,
    ) -> BoxFuture<'a, Result<T, StoreError>> {
        let store = Arc::clone(&self.0);
        let span = tracing::Span::current();
        let folder = store.folder.clone();
        let storage_error = |source| StoreError::Storage {
            operation: "complete the task",
            folder,
            source,
        };
        if store.is_closed() {
            return ready(Err(storage_error("the store is closed".into()))).boxed();
        }
        let work = tokio::task::spawn_blocking(move || {
            span.in_scope(|| {
                let done = work(&store);
                store.close_unused();
                done
            })
        });
        work.map(|joined| joined.unwrap_or_else(|error| Err(storage_error(error.into()))))
            .boxed()
    }
}

impl VectorStore for EdgeStore {
    fn collections(&self) -> BoxFuture<'_, Result<Vec<CollectionInfo>, StoreError>> {
        self.run(|store| Ok(store.infos()))
    }

    fn collection<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<CollectionInfo, StoreError>> {
        let name = name.to_owned();
        self.run(move |store| {
            let info = store.with(&name, Collection::info)?;
            info.ok_or_else(|| StoreError::UnknownCollection {
                name,
                known: Vec::new(),
            })
        })
    }

    fn embedder<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<EmbedderInfo, StoreError>> {
        if let Some(known) = self.0.known_embedder(name) {
            return ready(Ok(known)).boxed();
        }
        let name = name.to_owned();
        self.run(move |store| {
            let embedder = store.with(&name, Collection::embedder)?;
            embedder.ok_or_else(|| StoreError::UnknownCollection {
                name,
                known: Vec::new(),
            })
        })
    }

    fn stored<'a>(
        &'a self,
        collection: &'a str,
        document: &'a str,
    ) -> BoxFuture<'a, Result<Option<StoredDocument>, StoreError>> {
        let (collection, document) = (collection.to_owned(), document.to_owned());
        self.run(
            move |store| match store.with(&collection, |collection| collection.stored(&document)) {
                Err(StoreError::UnknownCollection { .. }) => Ok(None),
                stored => stored,
            },
        )
    }

    fn documents<'a>(
        &'a self,
        collection: &'a str,
        after: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<ListedDocument>, StoreError>> {
        let (collection, after) = (collection.to_owned(), after.to_owned());
        self.run(move |store| store.with(&collection, |collection| collection.documents(&after, limit)))
    }

    fn document<'a>(
        &'a self,
        collection: &'a str,
        document: &'a str,
        read: ReadUnits,
    ) -> BoxFuture<'a, Result<Option<DocumentUnits>, StoreError>> {
        let (collection, document) = (collection.to_owned(), document.to_owned());
        self.run(move |store| store.with(&collection, |collection| collection.units(&document, read)))
    }

    fn put<'a>(
        &'a self,
        collection: &'a str,
        embedder: &'a EmbedderInfo,
        document: NewDocument,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let (collection, embedder) = (collection.to_owned(), embedder.clone());
        let stored = self.run(move |store| {
            let collection = store.existing_or_new(&collection);
            let optimize = collection.put(&embedder, &document)?;
            Ok(optimize.then_some(collection))
        });
        async move {
            optimize_later(stored.await?);
            Ok(())
        }
        .boxed()
    }

    fn delete<'a>(&'a self, collection: &'a str, documents: Vec<String>) -> BoxFuture<'a, Result<u32, StoreError>> {
        let collection = collection.to_owned();
        let deleted = self.run(move |store| {
            let (count, optimize) = store.with(&collection, |collection| collection.delete(&documents))?;
            Ok((count, store.known(&collection).filter(|_| optimize)))
        });
        async move {
            let (count, collection) = deleted.await?;
            optimize_later(collection);
            Ok(count)
        }
        .boxed()
    }

    fn search<'a>(&'a self, collection: &'a str, search: Search) -> BoxFuture<'a, Result<Vec<SearchHit>, StoreError>> {
        let collection = collection.to_owned();
        self.run(move |store| store.with(&collection, |collection| collection.search(&search)))
    }

    fn read<'a>(
        &'a self,
        collection: &'a str,
        document: &'a str,
    ) -> BoxFuture<'a, Result<Option<NewDocument>, StoreError>> {
        let (collection, document) = (collection.to_owned(), document.to_owned());
        self.run(move |store| store.with(&collection, |collection| collection.whole(&document)))
    }

    fn stored_elsewhere<'a>(
        &'a self,
        collection: &'a str,
        embedder: &'a EmbedderInfo,
        document: &'a str,
    ) -> BoxFuture<'a, Result<Option<NewDocument>, StoreError>> {
        let (collection, embedder, document) = (collection.to_owned(), embedder.clone(), document.to_owned());
        self.run(move |store| Ok(store.stored_elsewhere(&collection, &embedder, &document)))
    }

    fn delete_collection<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<u64, StoreError>> {
        let name = name.to_owned();
        self.run(move |store| store.delete_collection(&name))
    }

    fn repair<'a>(&'a self, collection: &'a str) -> BoxFuture<'a, Result<Repaired, StoreError>> {
        let collection = collection.to_owned();
        async move {
            let turn = Arc::clone(&self.0.repairs).lock_owned().await;
            let repaired = self.run(move |store| {
                let _turn = turn;
                store.with(&collection, Collection::repair)
            });
            repaired.await
        }
        .boxed()
    }

    fn draft<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<String, StoreError>> {
        ready(Ok(format!("{DRAFT}{name}"))).boxed()
    }

    fn publish<'a>(&'a self, draft: &'a str, name: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        let (draft, name) = (draft.to_owned(), name.to_owned());
        self.run(move |store| store.publish(&draft, &name))
    }

    fn probe(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        self.run(|_| Ok(()))
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        let closed = self.run(|store| {
            store.all().iter().for_each(|collection| collection.close());
            *store.lock.lock().unwrap_or_else(PoisonError::into_inner) = None;
            Ok(())
        });
        closed.map(drop).boxed()
    }
}

/// Optimizes a collection for which that is due. This runs in the background, but blocks the next write to it.
fn optimize_later(due: Option<Arc<Collection>>) {
    let Some(collection) = due else { return };
    tokio::task::spawn_blocking(move || {
        if let Err(error) = collection.optimize() {
            tracing::warn!(error = emend_core::error_chain(&error), folder = %collection.folder().display(),
                "cannot optimize the vector index, searches stay exact but get slower");
        }
    });
}

/// Removes the files of a collection that is gone already.
fn remove_folder(folder: &Path) {
    if let Err(error) = fs::remove_dir_all(folder) {
        tracing::warn!(%error, folder = %folder.display(),
            "cannot remove the files of a removed collection until the next start");
    }
}

#[cfg(test)]
mod tests;
