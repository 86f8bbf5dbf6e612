//! Collections on a Qdrant server or cluster, over gRPC.
//!
//! A retriever keeps nothing of its own: any number of them serve and write the same collections.
//!
//! # What is stored
//!
//! A collection is one collection of the server, named with a prefix, whose metadata names its embedder; where a copy made
//! it, its name is an alias (`aliases`). Its points are
//! passages (with their vectors), sections (with their texts) and one **record** for each document. A version of a document
//! is a random number, drawn by its writer, that all its passages and sections carry. The record names the version that is
//! visible, and every version that is being written, was replaced or was given up. A record is one point, and a point is
//! replaced as a whole: there is no instant at which a document has no visible version between two others.
//!
//! # How a document is written
//!
//! 1. *Announce*: the record gets the new version as pending.
//! 2. *Write*: sections and passages are written. Nobody sees them: their version is not the visible one.
//! 3. *Publish*: the record gets the version as the visible one, and the one before as replaced.
//! 4. *Clean up*, later: the points of the replaced version are removed, and then its name in the record.
//!
//! Every change of a record is conditional. It holds only if the record is in the state that was read, which a number tells
//! that is drawn anew for each state (`update_filter` with `UPDATE_ONLY`, or `INSERT_ONLY` where there is no record), and goes
//! through the leader of its shard (`ordering: strong`), so that all replicas decide in the same order. Afterwards the record
//! is read, to learn whether the change held. So a record behaves as a register with compare-and-swap, and:
//!
//! * *A writer dies anywhere*: before 3 the old version is visible, after it the new one. What is left is named in the
//!   record, and the next write of the document removes it once the writer must be dead ([`Timing::writing`]), as does
//!   [`repair`](VectorStore::repair).
//! * *Two write one document*: both have points of their own, one publishes after the other, the last one stays. Who takes
//!   a writer for dead wrongly does no harm: it moves the pending version to those that were given up, in one change of the
//!   record; publishing then finds the version not pending, and the writer begins again with another one. What it wrote
//!   in between is in no record, and [`repair`](VectorStore::repair) removes it.
//! * *A call is made twice*, because its answer was lost, or arrives late: points of a version are written with ids that
//!   depend on the version alone, a change of a record that comes late finds another state, and only versions that never
//!   will be visible (again) are removed. The record of a removed document is itself removed after the same wait as its
//!   passages; a call that was given up is taken to have had its effect by then.
//! * *Publishing fails* and the server cannot be asked whether it held: the document is whole, in the old version or the
//!   new one.
//!
//! # How it is searched
//!
//! A query finds passages of all versions. The records of their documents are read in one call, and passages of versions
//! that are not visible are dropped, with a larger query where too few are left. That alone could show a half: a query that
//! runs while a version is written, and ends before the record is read, has seen some of its passages. So a hit counts
//! only if its version was visible before the query began: because the record had been read before, in the same search, or
//! says that it was published longer ago than clocks differ ([`Timing::skew`]). Otherwise the query is made again. And a
//! query that began before a replacement still needs the old passages, on every shard: they are kept for longer than a
//! search may take ([`Timing::grace`]). So a search sees every document in one version, complete: the one that was visible
//! when the search first met it.
//!
//! # With replicas
//!
//! Writes wait until they are applied (`wait: true`) on as many replicas as the collection's write consistency factor says:
//! all of them unless set otherwise. A read from any replica then has every write that was acknowledged, and reads ask one.
//! With a smaller factor a replica may lag: a document that was just acknowledged may be found in its version before, or
//! not yet, until the replica has caught up; and a version may be seen without passages that lag. What was acknowledged
//! survives the loss of one replica less than the factor.
//!
//! # Words
//!
//! The weights of words are those of [`Terms`](crate::terms::Terms). The server multiplies them by the inverse document
//! frequency when it searches (`Modifier::Idf`), which it counts in each shard. It counts passages of versions that are not
//! visible too, and removed ones until its optimizer has rewritten their segment, which it does when a fifth of at least a
//! thousand points are removed, unless it is set otherwise (`deleted_threshold`, `vacuum_min_vector_number`). So scores of
//! words are those of a collection with a few more passages, a quarter of its own or some hundreds at most, and become those
//! of the documents that are there. On the local disk it is the same, from 256 points on.

mod aliases;
mod clean;
mod client;
mod collections;
mod record;
mod search;
mod settings;
mod units;
mod wire;
mod write;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::mpsc;

use super::{
    CollectionInfo, DocumentUnits, EmbedderInfo, ListedDocument, NewDocument, ReadUnits, Repaired, Search, SearchHit,
    StoreError, StoredDocument, VectorStore,
};
use client::Client;
use wire::Unreadable;

pub use client::ClientError;
pub use settings::{Layout, MAX_CALL_TIMEOUT, QdrantSettings, Timing};

/// Collections on a Qdrant server. Cheap to clone.
#[derive(Clone)]
pub struct QdrantStore(Arc<Inner>);

struct Inner {
    client: Client,
    settings: QdrantSettings,
    /// The embedders of collections, and when they were asked for.
    embedders: Mutex<HashMap<String, (Instant, EmbedderInfo)>>,
    /// Collections whose fields are known to be indexed.
    indexed: Mutex<HashSet<String>>,
    /// Documents with versions to be removed later.
    waiting: mpsc::Sender<clean::Due>,
}

impl QdrantStore {
    /// The collections of a server, which is asked for nothing yet. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// [`ClientError`] where no client can be made of the settings.
    pub fn new(settings: QdrantSettings) -> Result<Self, ClientError> {
        let (waiting, due) = mpsc::channel(clean::WAITING);
        let inner = Inner {
            client: Client::new(&settings)?,
            settings,
            embedders: Mutex::default(),
            indexed: Mutex::default(),
            waiting,
        };
        Ok(Self(clean::start(inner, due)))
    }

    /// Runs work that completes even if the caller is gone.
    fn run<'a, T: Send + 'static, F>(&self, work: impl FnOnce(Arc<Inner>) -> F) -> BoxFuture<'a, Result<T, StoreError>>
    where
        F: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        let store = Arc::clone(&self.0);
        let working = tokio::spawn(tracing::Instrument::in_current_span(work(store)));
        let url = self.0.client.url.clone();
        let joined = working.map(|joined| {
            joined.unwrap_or_else(|error| {
                Err(StoreError::Server {
                    url,
                    operation: "complete the task",
                    reason: error.to_string(),
                })
            })
        });
        joined.boxed()
    }

    /// Runs a reader on the collection that a name stands for, again where a copy has taken its place meanwhile.
    async fn on<'f, T>(
        &self,
        name: &str,
        work: impl Fn(String) -> BoxFuture<'f, Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let mut real = self.0.real(name).await?;
        loop {
            let done = work(real.clone()).await;
            if let Err(StoreError::UnknownCollection { .. }) = done {
                self.0.forget(&real);
                let now = self.0.real(name).await?;
                if now != real {
                    real = now;
                    continue;
                }
            }
            return self.named(name, done).await;
        }
    }

    /// Makes an error one of the collection that was asked for, and adds the known names where it is unknown.
    async fn named<T>(&self, asked: &str, done: Result<T, StoreError>) -> Result<T, StoreError> {
        match done {
            Err(StoreError::UnknownCollection { .. }) => {
                let infos = self.0.infos().await.unwrap_or_default();
                Err(StoreError::UnknownCollection {
                    name: asked.to_owned(),
                    known: infos.into_iter().map(|info| info.name).collect(),
                })
            }
            done => done.map_err(|error| error.of(asked)),
        }
    }
}

impl Inner {
    fn locked<'a, T>(&self, of: &'a Mutex<T>) -> MutexGuard<'a, T> {
        of.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn contended(&self, collection: &str, document: &str) -> StoreError {
        StoreError::Contended {
            collection: collection.to_owned(),
            document: document.to_owned(),
        }
    }

    fn too_slow(&self, reason: &str) -> StoreError {
        StoreError::Unreachable {
            url: self.client.url.clone(),
            reason: reason.to_owned(),
        }
    }

    fn unreadable(&self, operation: &'static str, error: &Unreadable) -> StoreError {
        StoreError::Server {
            url: self.client.url.clone(),
            operation,
            reason: error.to_string(),
        }
    }
}

impl VectorStore for QdrantStore {
    fn collections(&self) -> BoxFuture<'_, Result<Vec<CollectionInfo>, StoreError>> {
        self.0.infos().boxed()
    }

    fn collection<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<CollectionInfo, StoreError>> {
        let info = async move {
            let info = self
                .on(name, |real| async move { self.0.info(&real).await }.boxed())
                .await?;
            Ok(CollectionInfo {
                name: name.to_owned(),
                ..info
            })
        };
        info.boxed()
    }

    fn embedder<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<EmbedderInfo, StoreError>> {
        self.on(name, move |real| async move { self.0.embedder(&real).await }.boxed())
            .boxed()
    }

    fn stored<'a>(
        &'a self,
        collection: &'a str,
        document: &'a str,
    ) -> BoxFuture<'a, Result<Option<StoredDocument>, StoreError>> {
        async move {
            let real = self.0.real(collection).await?;
            match self.0.record(&real, document).await {
                Ok(kept) => Ok(kept.and_then(|kept| kept.record.current.as_ref().map(StoredDocument::from))),
                Err(StoreError::UnknownCollection { .. }) => Ok(None),
                Err(error) => Err(error.of(collection)),
            }
        }
        .boxed()
    }

    fn documents<'a>(
        &'a self,
        collection: &'a str,
        after: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<ListedDocument>, StoreError>> {
        self.on(collection, move |real| {
            async move { self.0.documents(&real, after, limit).await }.boxed()
        })
        .boxed()
    }

    fn put<'a>(
        &'a self,
        collection: &'a str,
        embedder: &'a EmbedderInfo,
        document: NewDocument,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let (collection, embedder) = (collection.to_owned(), embedder.clone());
        if document.chunks.iter().any(|chunk| chunk.is_misfit(&embedder)) {
            let reason = format!("a chunk has not the {} values of the embedder", embedder.dimensions);
            let error = StoreError::Server {
                url: self.0.client.url.clone(),
                operation: "store a document",
                reason,
            };
            return futures::future::ready(Err(error)).boxed();
        }
        self.run(|store| async move {
            let write = async {
                let real = store.real(&collection).await?;
                let stored = store.put(&real, &embedder, &document).await;
                let replaced = stored.map_err(|error| match error {
                    // It was removed while it was written: that is not for want of a collection.
                    StoreError::UnknownCollection { .. } => {
                        store.forget(&real);
                        StoreError::Removed {
                            name: collection.clone(),
                        }
                    }
                    error => error.of(&collection),
                })?;
                Ok((real, replaced))
            };
            let written = tokio::time::timeout(store.settings.timing.write, write).await;
            let (real, replaced) =
                written.unwrap_or_else(|_| Err(store.too_slow("the document was not written in time")))?;
            store.clean_later(&real, &document.id, replaced).await;
            Ok(())
        })
    }

    fn delete<'a>(&'a self, collection: &'a str, documents: Vec<String>) -> BoxFuture<'a, Result<u32, StoreError>> {
        let name = collection.to_owned();
        let deleted = self.run(|store| async move {
            let real = store.real(&name).await?;
            store.delete(&real, documents).await
        });
        async move { self.named(collection, deleted.await).await }.boxed()
    }

    fn search<'a>(&'a self, collection: &'a str, search: Search) -> BoxFuture<'a, Result<Vec<SearchHit>, StoreError>> {
        let found = async move {
            let search = &search;
            self.on(collection, |real| {
                async move { self.0.search(&real, search).await }.boxed()
            })
            .await
        };
        found.boxed()
    }

    fn document<'a>(
        &'a self,
        collection: &'a str,
        document: &'a str,
        read: ReadUnits,
    ) -> BoxFuture<'a, Result<Option<DocumentUnits>, StoreError>> {
        self.on(collection, move |real| {
            async move { self.0.document(&real, document, read).await }.boxed()
        })
        .boxed()
    }

    fn read<'a>(
        &'a self,
        collection: &'a str,
        document: &'a str,
    ) -> BoxFuture<'a, Result<Option<NewDocument>, StoreError>> {
        self.on(collection, move |real| {
            async move { self.0.read(&real, document).await }.boxed()
        })
        .boxed()
    }

    fn delete_collection<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<u64, StoreError>> {
        let collection = name.to_owned();
        let deleted = self.run(|store| async move { store.drop_collection(&collection).await });
        async move { self.named(name, deleted.await).await }.boxed()
    }

    fn repair<'a>(&'a self, collection: &'a str) -> BoxFuture<'a, Result<Repaired, StoreError>> {
        self.on(collection, move |real| {
            async move { self.0.repair(&real).await }.boxed()
        })
        .boxed()
    }

    fn draft<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<String, StoreError>> {
        self.0.draft(name).boxed()
    }

    fn publish<'a>(&'a self, draft: &'a str, name: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        let (from, to) = (draft.to_owned(), name.to_owned());
        let published = self.run(|store| async move { store.publish(&from, &to).await });
        async move { self.named(draft, published.await).await }.boxed()
    }

    fn probe(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        self.0.client.probe().boxed()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        // Nothing is kept here.
        futures::future::ready(()).boxed()
    }
}
