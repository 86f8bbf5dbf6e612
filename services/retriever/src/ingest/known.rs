//! Embeddings that documents are stored with: a text that was embedded once is not embedded again when another part of its
//! document changes, or when the document is ingested into another collection.

use std::collections::HashMap;

use super::{Prepared, PreparedChunk, with_context};
use crate::backend::{Chunk, NewDocument, StoreError, part};
use crate::error::RetrieverError;
use crate::library::Library;

impl Library {
    /// Adds the embeddings that chunks of a document are stored with: in the version that the collection has, where it
    /// `is_stored`, and in one of another collection, where embeddings are shared.
    pub(super) async fn with_stored_embeddings(
        &self,
        collection: &str,
        is_stored: bool,
        mut prepared: Prepared,
    ) -> Result<Prepared, RetrieverError> {
        if is_stored {
            let version = self.store.read(collection, &prepared.id).await;
            prepared = prepared.with_embeddings_of(version).await?;
        }
        if self.shares_embeddings && !prepared.is_embedded() {
            let embedder = self.embedder_info();
            let version = self.store.stored_elsewhere(collection, &embedder, &prepared.id).await;
            prepared = prepared.with_embeddings_of(version).await?;
        }
        Ok(prepared)
    }
}

impl Prepared {
    /// Whether all chunks have their embeddings.
    pub(super) fn is_embedded(&self) -> bool {
        self.chunks.iter().all(|chunk| chunk.embedding.is_some())
    }

    /// Adds the embeddings of a stored version, on the blocking thread pool: it may have thousands. A version that cannot be read
    /// is no reason to refuse the next one.
    async fn with_embeddings_of(
        mut self,
        version: Result<Option<NewDocument>, StoreError>,
    ) -> Result<Self, RetrieverError> {
        let version = match version {
            Ok(Some(version)) => version,
            Ok(None) => return Ok(self),
            Err(error) => {
                let error = emend_core::error_chain(&error);
                tracing::debug!(error, "the embeddings of an earlier version cannot be read");
                return Ok(self);
            }
        };
        let (id, span) = (self.id.clone(), tracing::Span::current());
        let take = move || {
            take_embeddings(&mut self.chunks, &version);
            self
        };
        tokio::task::spawn_blocking(move || span.in_scope(take))
            .await
            .map_err(|source| RetrieverError::Broken { document: id, source })
    }
}

/// Gives chunks the embeddings of the same texts in a stored version.
fn take_embeddings(chunks: &mut [PreparedChunk], version: &NewDocument) {
    let stored = version.chunks.iter().filter_map(|chunk| {
        let embedding = chunk.embedding.clone()?;
        Some((embedded_text(version, chunk)?, embedding))
    });
    let stored: HashMap<_, _> = stored.collect();
    for chunk in chunks {
        if chunk.embedding.is_none() {
            chunk.embedding = stored.get(&chunk.text).cloned();
        }
    }
}

/// The text that a chunk of a stored document was embedded as; `None` where its section is lost.
fn embedded_text(document: &NewDocument, chunk: &Chunk) -> Option<String> {
    let section = document.sections.get(chunk.section as usize)?;
    let (_, _, text) = part(section, Some((chunk.start, chunk.end)));
    Some(with_context(&document.title, &section.headings, &text))
}

#[cfg(test)]
mod tests;
