//! Cleaning up: the points of versions that nobody needs any more.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use qdrant_client::qdrant::Filter;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::Inner;
use super::collections::VERSIONS_AT_ONCE;
use super::record::Version;
use super::search::READS;
use super::wire::{
    KIND_ABSENT, KIND_DOCUMENT, KIND_PASSAGE, KIND_SECTION, all_payload, in_state, kept, of_kinds, of_versions, owner,
    owner_fields,
};
use crate::backend::{Fingerprint, Repaired, StoreError};

/// The fingerprint of a document that is not whole: none has it, so what is ingested again is not taken for unchanged.
const DAMAGED: Fingerprint = [0; 32];

/// Documents that wait to be cleaned up. What does not find room is cleaned up by the next write or by a repair.
pub(super) const WAITING: usize = 1 << 16;

/// A document with versions that can be removed from an instant on.
pub(super) struct Due {
    at: Instant,
    collection: String,
    document: String,
    versions: Vec<Version>,
}

/// Cleans up as documents become due, until the store is gone. They come in the order in which they are due.
pub(super) async fn clean_up(store: Weak<Inner>, mut waiting: mpsc::Receiver<Due>) {
    while let Some(due) = waiting.recv().await {
        tokio::time::sleep_until(due.at).await;
        let Some(store) = store.upgrade() else { return };
        if let Err(error) = store.clean(&due.collection, &due.document, &due.versions).await {
            tracing::debug!(
                error = emend_core::error_chain(&error),
                "replaced passages are removed when their document is written again, or by a repair"
            );
        }
    }
}

impl Inner {
    /// Removes these versions, which are not visible any more, once no search can need them.
    pub(super) async fn clean_later(&self, collection: &str, document: &str, versions: Vec<Version>) {
        let grace = self.settings.timing.grace;
        if versions.is_empty() {
            return;
        }
        if grace == Duration::ZERO {
            // Nobody else would do it before the next write; failing is no failure of the write.
            drop(self.clean(collection, document, &versions).await);
            return;
        }
        let due = Due {
            at: Instant::now() + grace,
            collection: collection.to_owned(),
            document: document.to_owned(),
            versions,
        };
        drop(self.waiting.try_send(due));
    }

    /// Removes the points of those versions of a document that nobody needs: those that are known to be `ripe`, those that
    /// were replaced long ago and those that were given up. Then forgets them. Returns how many points there were.
    pub(super) async fn clean(&self, name: &str, document: &str, ripe: &[Version]) -> Result<u64, StoreError> {
        let timing = self.settings.timing;
        let stored = self
            .change(name, document, |record| {
                let pending = record.pending.len();
                record.abandon_stale(&timing);
                pending != record.pending.len()
            })
            .await?;
        let mut versions = stored.record.removable(&timing);
        versions.extend(ripe.iter().filter(|version| stored.record.was_replaced(**version)));
        versions.sort();
        versions.dedup();
        let mut removed = 0;
        for versions in versions.chunks(VERSIONS_AT_ONCE) {
            removed += self.count(name, Filter::must([of_versions(versions)])).await?;
        }
        // Removed first and forgotten afterwards, so that nothing is forgotten that is there.
        self.remove_versions(name, &versions).await?;
        let stored = self
            .change(name, document, |record| {
                let named = record.invisible().count();
                record.forget(&versions);
                named != record.invisible().count()
            })
            .await?;
        if stored.record.current.is_none() && !stored.record.is_unsettled() {
            self.remove(name, in_state(&stored)).await?;
        }
        Ok(removed)
    }

    /// Cleans up a whole collection, and finds the documents that are not whole, which can be stored again then.
    pub(super) async fn repair(&self, name: &str) -> Result<Repaired, StoreError> {
        self.described(name).await?;
        let mut repaired = Repaired::default();
        // The points first and the records afterwards: a version is announced in its record before it has a point, so one
        // that has points and is in no record has been given up.
        let mut found: HashMap<Version, (u32, u32)> = HashMap::new();
        self.scroll(
            name,
            Filter::must([of_kinds(&[KIND_PASSAGE, KIND_SECTION])]),
            owner_fields(),
            false,
            |point| {
                let (_, version, is_passage) = owner(&point.payload)?;
                let (passages, sections) = found.entry(version).or_default();
                *if is_passage { passages } else { sections } += 1;
                Ok(())
            },
        )
        .await?;
        let (mut unsettled, mut suspects) = (Vec::new(), Vec::new());
        let records = Filter::must([of_kinds(&[KIND_DOCUMENT, KIND_ABSENT])]);
        self.scroll(name, records, all_payload(), false, |point| {
            let record = kept(&point.payload)?.record;
            if let Some(current) = &record.current {
                let there = found.remove(&current.version).unwrap_or_default();
                if there != (current.passages, current.sections) {
                    suspects.push(record.id.clone());
                }
            }
            record.invisible().for_each(|entry| {
                found.remove(&entry.version);
            });
            if record.is_unsettled() || record.current.is_none() {
                unsettled.push(record.id);
            }
            Ok(())
        })
        .await?;
        let orphans: Vec<Version> = found.keys().copied().collect();
        self.remove_versions(name, &orphans).await?;
        repaired.removed = found
            .values()
            .map(|(passages, sections)| u64::from(passages + sections))
            .sum();
        for document in unsettled {
            repaired.removed += self.clean(name, &document, &[]).await?;
        }
        for document in suspects {
            if let Some(version) = self.damaged(name, &document).await? {
                self.change(name, &document, |record| match &mut record.current {
                    Some(current) if current.version == version && current.fingerprint != DAMAGED => {
                        current.fingerprint = DAMAGED;
                        true
                    }
                    _ => false,
                })
                .await?;
                repaired.incomplete.push(document);
            }
        }
        repaired.incomplete.sort();
        Ok(repaired)
    }

    /// The visible version of a document, where not all of its points are there.
    async fn damaged(&self, name: &str, document: &str) -> Result<Option<Version>, StoreError> {
        for _ in 0..READS {
            let before = self.record(name, document).await?.and_then(|kept| kept.record.current);
            let Some(current) = before else { return Ok(None) };
            let count = |kind| Filter::must([of_kinds(&[kind]), of_versions(&[current.version])]);
            let passages = self.count(name, count(KIND_PASSAGE)).await?;
            let sections = self.count(name, count(KIND_SECTION)).await?;
            let after = self.record(name, document).await?;
            if after.is_some_and(|kept| kept.record.version() == Some(current.version)) {
                let is_whole = (passages, sections) == (current.passages.into(), current.sections.into());
                return Ok((!is_whole).then_some(current.version));
            }
        }
        // It is written again and again, each time whole.
        Ok(None)
    }
}

/// A store that is cleaned up after, for as long as there is one.
pub(super) fn start(inner: Inner, waiting: mpsc::Receiver<Due>) -> Arc<Inner> {
    let store = Arc::new(inner);
    tokio::spawn(clean_up(Arc::downgrade(&store), waiting));
    store
}
