//! A document that another collection of the folder has.

use std::cmp::Reverse;
use std::fs;
use std::sync::Arc;
use std::time::SystemTime;

use super::Store;
use super::collection::Collection;
use super::open::CATALOG;
use super::publish::DRAFT;
use super::usage::MAX_OPEN;
use crate::backend::{EmbedderInfo, NewDocument, StoreError};

/// Collections that are looked into for one document, those that were written last: fewer than stay open, so that a document
/// after the other does not open them again.
const MAX_SEARCHED: usize = MAX_OPEN / 2;

impl Store {
    /// A version of a document that a collection other than `collection` has with embeddings of `embedder`. One that cannot be
    /// read is as good as none.
    pub(super) fn stored_elsewhere(
        &self,
        collection: &str,
        embedder: &EmbedderInfo,
        document: &str,
    ) -> Option<NewDocument> {
        let mut others = self.all();
        others.retain(|other| other.name() != collection && !other.name().starts_with(DRAFT));
        others.sort_by_cached_key(|other| Reverse(written(other)));
        let version = |other: Arc<Collection>| {
            let read = embedded(&other, embedder, document);
            read.unwrap_or_else(|error| {
                tracing::debug!(
                    error = emend_core::error_chain(&error),
                    "a collection cannot be searched for a document"
                );
                None
            })
        };
        others.into_iter().take(MAX_SEARCHED).find_map(version)
    }
}

/// The version of a document in a collection, if it has embeddings of `embedder`.
fn embedded(
    collection: &Collection,
    embedder: &EmbedderInfo,
    document: &str,
) -> Result<Option<NewDocument>, StoreError> {
    if collection.embedder()?.as_ref() != Some(embedder) {
        return Ok(None);
    }
    let found = collection.whole(document)?;
    Ok(found.filter(|found| found.chunks.iter().any(|chunk| chunk.embedding.is_some())))
}

/// When a collection was written last, as its file tells.
fn written(collection: &Collection) -> Option<SystemTime> {
    fs::metadata(collection.folder().join(CATALOG)).ok()?.modified().ok()
}
