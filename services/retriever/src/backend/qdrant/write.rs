//! Writers: how a version of a document becomes visible. The protocol is described in the module above.

use futures::{StreamExt, TryStreamExt, stream};
use qdrant_client::qdrant::{
    DeletePoints, Filter, GetPoints, PointId, PointStruct, RetrievedPoint, UpdateMode, UpsertPoints, WriteOrdering,
    WriteOrderingType,
};

use super::Inner;
use super::record::{Current, Entry, Record, Version};
use super::wire::{
    Kept, all_payload, in_state, kept, of_versions, passage_point, record_id, record_point, section_point, vectors,
};
use crate::backend::foreign::language;
use crate::backend::{EmbedderInfo, NewDocument, StoreError};

/// Times that a record is changed again because somebody else was faster.
const SWAPS: usize = 32;

/// Times that a document is written again because its version was given up by another writer.
const WRITES: usize = 4;

/// Points and bytes of one call that writes.
const BATCH_POINTS: usize = 256;
const BATCH_BYTES: usize = 4 << 20;

/// Bytes of a point besides its text and vectors, about.
const POINT_BYTES: usize = 512;

/// Documents that are removed at once.
const AT_ONCE: usize = 8;

/// Records that are read by one call.
const RECORDS_AT_ONCE: usize = 1000;

/// How a write ended.
enum Written {
    /// The version is visible, or was until another writer replaced it. These were visible before it.
    Published(Vec<Version>),
    /// Another writer gave the version up, taking this one for dead.
    GivenUp,
}

impl Inner {
    /// Stores a document as a new version. Returns the versions that were visible before it.
    pub(super) async fn put(
        &self,
        name: &str,
        embedder: &EmbedderInfo,
        document: &NewDocument,
    ) -> Result<Vec<Version>, StoreError> {
        self.ensure(name, embedder).await?;
        for _ in 0..WRITES {
            if let Written::Published(replaced) = self.write(name, document).await? {
                return Ok(replaced);
            }
        }
        Err(self.contended(name, &document.id))
    }

    /// One try to store a document.
    async fn write(&self, name: &str, document: &NewDocument) -> Result<Written, StoreError> {
        let mut version = Version::draw();
        // Announced before it has a single point: whoever writes this document next knows what to remove.
        let announced = self
            .change(name, &document.id, |record| {
                if record.is_pending(version) {
                    return false;
                }
                // A version that was given up already must not come back.
                version = Version::draw();
                record.abandon_stale(&self.settings.timing);
                record.pending.push(Entry::now(version));
                true
            })
            .await?;
        let removable = announced.record.removable(&self.settings.timing);
        match self.fill(name, document, version, &removable).await {
            Ok(written) => Ok(written),
            Err(error) => {
                // What can be undone now need not wait for the next write.
                if !matches!(error, StoreError::Unreachable { .. }) {
                    self.give_up(name, &document.id, version).await;
                }
                Err(error)
            }
        }
    }

    /// Writes the points of an announced version and makes it visible. Also removes those of versions that nobody needs.
    async fn fill(
        &self,
        name: &str,
        document: &NewDocument,
        version: Version,
        removable: &[Version],
    ) -> Result<Written, StoreError> {
        self.remove_versions(name, removable).await?;
        let mut batch = Batch::default();
        let mut languages = Vec::with_capacity(document.sections.len());
        for (index, section) in (0..).zip(&document.sections) {
            languages.push(language(&section.text));
            let point = section_point(&document.id, version, index, section);
            if let Some(full) = batch.push(point, section.text.len()) {
                self.upsert(name, full).await?;
            }
        }
        for (index, chunk) in (0..).zip(&document.chunks) {
            let language = languages.get(chunk.section as usize).copied();
            let point = passage_point(&document.id, &document.metadata, version, index, chunk, language);
            let bytes =
                4 * chunk.embedding.as_ref().map_or(0, |embedding| embedding.len()) + 8 * chunk.terms.indices.len();
            if let Some(full) = batch.push(point, bytes) {
                self.upsert(name, full).await?;
            }
        }
        if !batch.points.is_empty() {
            self.upsert(name, batch.points).await?;
        }
        let count = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        let current = Current::of(
            document,
            version,
            count(document.sections.len()),
            count(document.chunks.len()),
        );
        let published = self
            .change(name, &document.id, |record| {
                if !record.is_pending(version) {
                    return false;
                }
                record.forget(removable);
                record.publish(Some(current.clone()));
                true
            })
            .await?;
        let record = &published.record;
        Ok(if record.version() == Some(version) || record.was_replaced(version) {
            Written::Published(record.replaced.iter().map(|entry| entry.version).collect())
        } else {
            Written::GivenUp
        })
    }

    /// Gives up a version that cannot be written. Where that fails, the next write does it.
    async fn give_up(&self, name: &str, document: &str, version: Version) {
        let given_up = async {
            self.change(name, document, |record| {
                let was = record.is_pending(version);
                record.abandon(version);
                was
            })
            .await?;
            self.clean(name, document, &[]).await
        };
        if let Err(error) = given_up.await {
            tracing::debug!(
                error = emend_core::error_chain(&error),
                "what was written of a document is removed when it is written again"
            );
        }
    }

    /// Makes no version of these documents visible, and returns how many were.
    pub(super) async fn delete(&self, name: &str, documents: Vec<String>) -> Result<u32, StoreError> {
        self.described(name).await?;
        let removed = stream::iter(documents).map(|document| async move {
            let mut there = false;
            // A document that never was gets no record either.
            if self.record(name, &document).await?.is_some() {
                let changed = self
                    .change(name, &document, |record| {
                        let visible = record.current.is_some();
                        there |= visible;
                        record.publish(None);
                        visible
                    })
                    .await?;
                let replaced = changed.record.replaced.iter().map(|entry| entry.version);
                self.clean_later(name, &document, replaced.collect()).await;
            }
            Ok::<_, StoreError>(u32::from(there))
        });
        let removed = removed.buffer_unordered(AT_ONCE);
        removed.try_fold(0, |sum, one| async move { Ok(sum + one) }).await
    }

    /// Changes the record of a document in one step, again and again while others are faster. Returns the record as it is
    /// afterwards, which may have changed again; or as it is where `change` finds nothing to do and says so.
    ///
    /// `change` sees the newest record each time, and must find nothing to do where it has done its work.
    pub(super) async fn change(
        &self,
        name: &str,
        document: &str,
        mut change: impl FnMut(&mut Record) -> bool,
    ) -> Result<Kept, StoreError> {
        let mut stored = self.record(name, document).await?;
        for _ in 0..SWAPS {
            let mut new = Kept {
                revision: Version::draw(),
                record: stored
                    .as_ref()
                    .map_or_else(|| Record::of(document), |kept| kept.record.clone()),
            };
            if !change(&mut new.record) {
                new.revision = stored.map_or(new.revision, |kept| kept.revision);
                return Ok(new);
            }
            self.swap(name, stored.as_ref(), &new).await?;
            // The answer does not say whether the condition held.
            stored = self.record(name, document).await?;
            if stored.as_ref().is_some_and(|kept| kept.revision == new.revision) {
                return Ok(new);
            }
        }
        Err(self.contended(name, document))
    }

    /// Replaces the record of a document if it is in the state `old`, or inserts it if there is none.
    async fn swap(&self, name: &str, old: Option<&Kept>, new: &Kept) -> Result<(), StoreError> {
        const OPERATION: &str = "write the record of a document";
        let point = record_point(new).map_err(|error| self.unreadable(OPERATION, &error))?;
        let (mode, update_filter) = match old {
            Some(old) => (UpdateMode::UpdateOnly, Some(in_state(old))),
            None => (UpdateMode::InsertOnly, None),
        };
        let request = UpsertPoints {
            collection_name: self.full(name),
            wait: Some(true),
            points: vec![point],
            ordering: strong(),
            update_filter,
            update_mode: Some(mode.into()),
            ..UpsertPoints::default()
        };
        self.send_points(OPERATION, name, request).await
    }

    async fn upsert(&self, name: &str, points: Vec<PointStruct>) -> Result<(), StoreError> {
        let request = UpsertPoints {
            collection_name: self.full(name),
            wait: Some(true),
            points,
            ..UpsertPoints::default()
        };
        self.send_points("write passages", name, request).await
    }

    async fn send_points(&self, operation: &'static str, name: &str, request: UpsertPoints) -> Result<(), StoreError> {
        let upsert = |request| {
            let mut client = self.client.points();
            async move { client.upsert(request).await }
        };
        self.client.call(operation, name, request, upsert).await.map(drop)
    }

    /// Removes all points of versions.
    pub(super) async fn remove_versions(&self, name: &str, versions: &[Version]) -> Result<(), StoreError> {
        for versions in versions.chunks(super::collections::VERSIONS_AT_ONCE) {
            self.remove(name, Filter::must([of_versions(versions)])).await?;
        }
        Ok(())
    }

    /// Removes points.
    pub(super) async fn remove(&self, name: &str, filter: Filter) -> Result<(), StoreError> {
        let request = DeletePoints {
            collection_name: self.full(name),
            wait: Some(true),
            points: Some(filter.into()),
            ordering: strong(),
            ..DeletePoints::default()
        };
        let delete = |request| {
            let mut client = self.client.points();
            async move { client.delete(request).await }
        };
        self.client.call("remove points", name, request, delete).await.map(drop)
    }

    /// The record of a document, if there is one.
    pub(super) async fn record(&self, name: &str, document: &str) -> Result<Option<Kept>, StoreError> {
        Ok(self.records(name, &[document]).await?.pop())
    }

    /// The records of those documents that have one, in any order.
    pub(super) async fn records(&self, name: &str, documents: &[&str]) -> Result<Vec<Kept>, StoreError> {
        const OPERATION: &str = "read the records of documents";
        let mut records = Vec::with_capacity(documents.len());
        for documents in documents.chunks(RECORDS_AT_ONCE) {
            let ids = documents.iter().map(|document| record_id(document)).collect();
            for point in self.points(OPERATION, name, ids).await? {
                records.push(kept(&point.payload).map_err(|error| self.unreadable(OPERATION, &error))?);
            }
        }
        Ok(records)
    }

    /// The points with these ids, in any order.
    pub(super) async fn points(
        &self,
        operation: &'static str,
        name: &str,
        ids: Vec<PointId>,
    ) -> Result<Vec<RetrievedPoint>, StoreError> {
        let request = GetPoints {
            collection_name: self.full(name),
            ids,
            with_payload: all_payload(),
            with_vectors: vectors(false),
            ..GetPoints::default()
        };
        let get = |request| {
            let mut client = self.client.points();
            async move { client.get(request).await }
        };
        Ok(self.client.call(operation, name, request, get).await?.result)
    }
}

/// Points for one call.
#[derive(Default)]
struct Batch {
    points: Vec<PointStruct>,
    bytes: usize,
}

impl Batch {
    /// Adds a point of about so many bytes. Returns the points before it where they are as many as a call takes.
    fn push(&mut self, point: PointStruct, bytes: usize) -> Option<Vec<PointStruct>> {
        let bytes = bytes + POINT_BYTES;
        let full = self.points.len() == BATCH_POINTS || self.bytes + bytes > BATCH_BYTES;
        let full = (full && !self.points.is_empty()).then(|| {
            self.bytes = 0;
            std::mem::take(&mut self.points)
        });
        self.points.push(point);
        self.bytes += bytes;
        full
    }
}

/// All through one replica, in one order.
fn strong() -> Option<WriteOrdering> {
    Some(WriteOrdering {
        r#type: WriteOrderingType::Strong.into(),
    })
}
