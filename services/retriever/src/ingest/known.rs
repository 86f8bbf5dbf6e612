//! Embeddings that documents are stored with: a text that was embedded once is not embedded again when another part of its
//! document changes, or when the document is ingested into another collection.

use std::collections::{HashMap, HashSet};

use emend_models::embed::Embedding;
use sha2::{Digest as _, Sha256};

use super::{Prepared, PreparedChunk, with_context};
use crate::backend::{Chunk, NewDocument, StoreError, part};
use crate::error::RetrieverError;
use crate::library::Library;

/// The SHA-256 of a text that was embedded.
type Key = [u8; 32];

/// Embeddings by the text that they are of.
#[derive(Debug, Default)]
pub(crate) struct KnownEmbeddings(HashMap<Key, Embedding>);

impl KnownEmbeddings {
    /// The embedding of a text.
    pub(crate) fn of(&self, text: &str) -> Option<Embedding> {
        if self.0.is_empty() {
            return None;
        }
        self.0.get(&key(text)).cloned()
    }

    /// Whether the embeddings of all chunks are known.
    pub(super) fn has_all(&self, chunks: &[PreparedChunk]) -> bool {
        chunks.iter().all(|chunk| self.of(&chunk.text).is_some())
    }

    /// Adds the embeddings of a version of the document, on the blocking thread pool: it may have thousands. A version that
    /// cannot be read is no reason to refuse the next one.
    async fn with_those_of(
        mut self,
        version: Result<Option<NewDocument>, StoreError>,
        prepared: Prepared,
    ) -> Result<(Self, Prepared), RetrieverError> {
        let version = match version {
            Ok(Some(version)) => version,
            Ok(None) => return Ok((self, prepared)),
            Err(error) => {
                let error = emend_core::error_chain(&error);
                tracing::debug!(error, "the embeddings of an earlier version cannot be read");
                return Ok((self, prepared));
            }
        };
        let (id, span) = (prepared.id.clone(), tracing::Span::current());
        let take = move || {
            let wanted = prepared.chunks.iter().map(|chunk| key(&chunk.text)).collect();
            self.take(&version, &wanted);
            let (known, chunks) = (self.0.len(), prepared.chunks.len());
            tracing::debug!(known, chunks, "embeddings of an earlier version");
            (self, prepared)
        };
        tokio::task::spawn_blocking(move || span.in_scope(take))
            .await
            .map_err(|source| RetrieverError::Broken { document: id, source })
    }

    /// Takes the embeddings of a stored document, of the texts that are wanted.
    fn take(&mut self, document: &NewDocument, wanted: &HashSet<Key>) {
        for chunk in &document.chunks {
            let Some(embedding) = &chunk.embedding else { continue };
            let key = key(&embedded_text(document, chunk));
            if wanted.contains(&key) {
                self.0.entry(key).or_insert_with(|| embedding.clone());
            }
        }
    }
}

impl Library {
    /// What is known of the embeddings of a document's chunks: by the version that the collection has, where it `is_stored`, and
    /// by one of another collection, where embeddings are shared.
    pub(super) async fn known_embeddings(
        &self,
        collection: &str,
        is_stored: bool,
        mut prepared: Prepared,
    ) -> Result<(KnownEmbeddings, Prepared), RetrieverError> {
        let mut known = KnownEmbeddings::default();
        if is_stored {
            let version = self.store.read(collection, &prepared.id).await;
            (known, prepared) = known.with_those_of(version, prepared).await?;
        }
        if self.shares_embeddings && !known.has_all(&prepared.chunks) {
            let embedder = self.embedder_info();
            let version = self.store.stored_elsewhere(collection, &embedder, &prepared.id).await;
            (known, prepared) = known.with_those_of(version, prepared).await?;
        }
        Ok((known, prepared))
    }
}

/// The text that a chunk of a stored document was embedded as.
fn embedded_text(document: &NewDocument, chunk: &Chunk) -> String {
    let Some(section) = document.sections.get(chunk.section as usize) else {
        return String::new();
    };
    let (_, _, text) = part(section, Some((chunk.start, chunk.end)));
    with_context(&document.title, &section.headings, &text)
}

fn key(text: &str) -> Key {
    Sha256::digest(text.as_bytes()).into()
}

#[cfg(test)]
mod tests;
