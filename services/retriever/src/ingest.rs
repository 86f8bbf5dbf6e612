//! Ingests one document: extracts its text, splits it, embeds the chunks and stores them.

mod known;

use std::collections::BTreeMap;
use std::sync::Arc;

use emend_core::{Scope, limits::MAX_TITLE_BYTES};
use emend_models::embed::{Embedder, Embedding, Input};
use emend_proto::headings::page_number;
use emend_proto::v1::{Document, IngestResponse, IngestStatus};
use sha2::{Digest, Sha256};

use crate::backend::{Chunk, Fingerprint, NewDocument, Section, StoreError};
use crate::error::RetrieverError;
use crate::format;
use crate::headings;
use crate::library::Library;
use crate::room::Place;
use crate::split::{ChunkPiece, SectionPiece, SplitError, SplitSettings};
use crate::terms::Terms;
use crate::validate;

/// Version of text extraction, of splitting and of what is stored. Increase it when they change, so that documents are
/// stored again on the next ingest.
const SPLITTER: u32 = 9;

/// Chunks per embedding call: enough for good throughput, few enough to notice cancellation soon.
const EMBED_BATCH: usize = 32;

/// Maximum characters of the title and headings that are prepended to an embedded chunk. They help retrieval but are
/// not part of the chunk.
const MAX_CONTEXT: usize = 160;

impl Library {
    /// Ingests a document unless its stored version has the same fingerprint; by its words alone where `words_only` says so,
    /// unless it is stored with its embeddings.
    pub(crate) async fn ingest(
        &self,
        collection: String,
        document: Document,
        words_only: bool,
        scope: &Scope,
    ) -> Result<IngestResponse, RetrieverError> {
        validate::document(&collection, &document)?;
        let place = self.room.take(document.content.len()).await?;
        match self.check_embedder(&collection).await {
            Ok(()) | Err(StoreError::UnknownCollection { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        let embedded = fingerprint(&document, self.split);
        let by_words = fingerprint_by_words(embedded);
        let stored = self.store.stored(&collection, &document.id).await?;
        if let Some(stored) = stored
            && (stored.fingerprint == embedded || words_only && stored.fingerprint == by_words)
        {
            return Ok(IngestResponse {
                document_id: document.id,
                status: IngestStatus::Unchanged.into(),
                error: String::new(),
                passages: stored.passages,
                words_only: stored.fingerprint == by_words,
            });
        }
        let prepared = self.prepare(document, place, scope).await?;
        let prepared = self
            .with_stored_embeddings(&collection, stored.is_some(), prepared)
            .await?;
        let words_only = words_only && !prepared.is_embedded();
        let (fingerprint, chunks) = if words_only {
            let without = |chunk: PreparedChunk| Chunk {
                embedding: None,
                ..chunk.into()
            };
            (by_words, prepared.chunks.into_iter().map(without).collect())
        } else {
            (embedded, self.embed_chunks(prepared.chunks).await?)
        };
        let passages = u32::try_from(chunks.len()).unwrap_or(u32::MAX);
        let stored = NewDocument {
            id: prepared.id.clone(),
            fingerprint,
            title: prepared.title,
            source: prepared.source,
            owner: prepared.owner,
            metadata: prepared.metadata,
            sections: prepared.sections,
            chunks,
        };
        self.store.put(&collection, &self.embedder_info(), stored).await?;
        Ok(IngestResponse {
            document_id: prepared.id,
            status: IngestStatus::Ingested.into(),
            error: String::new(),
            passages,
            words_only,
        })
    }

    /// Embeds the chunks of a document that have no embedding yet, a few at a time.
    pub(crate) async fn embed_chunks(&self, mut prepared: Vec<PreparedChunk>) -> Result<Vec<Chunk>, RetrieverError> {
        let mut missing: Vec<_> = prepared.iter_mut().filter(|chunk| chunk.embedding.is_none()).collect();
        for batch in missing.chunks_mut(EMBED_BATCH) {
            let texts = batch.iter_mut().map(|chunk| std::mem::take(&mut chunk.text));
            let embedded = self.embed(Input::Passage, texts.collect()).await?;
            for (chunk, embedding) in batch.iter_mut().zip(embedded) {
                chunk.embedding = Some(embedding);
            }
        }
        Ok(prepared.into_iter().map(Into::into).collect())
    }

    /// Extracts and splits a document on the blocking thread pool. It stops with the scope, and keeps its place until it
    /// has.
    async fn prepare(&self, document: Document, place: Place, scope: &Scope) -> Result<Prepared, RetrieverError> {
        let (embedder, split, scope) = (Arc::clone(&self.embedder), self.split, scope.clone());
        let (id, span) = (document.id.clone(), tracing::Span::current());
        let stop = move || scope.is_stopped();
        let prepare = move || {
            let prepared = prepare(document, split, &*embedder, &stop)?;
            Ok(Prepared {
                _place: Some(place),
                ..prepared
            })
        };
        tokio::task::spawn_blocking(move || span.in_scope(prepare))
            .await
            .map_err(|source| RetrieverError::Broken { document: id, source })?
    }
}

impl From<PreparedChunk> for Chunk {
    fn from(chunk: PreparedChunk) -> Self {
        Self {
            section: chunk.section,
            start: chunk.start,
            end: chunk.end,
            embedding: chunk.embedding,
            terms: chunk.terms,
        }
    }
}

/// A split document, before its chunks are embedded.
#[derive(Debug)]
struct Prepared {
    id: String,
    title: String,
    source: String,
    owner: String,
    metadata: BTreeMap<String, String>,
    sections: Vec<Section>,
    chunks: Vec<PreparedChunk>,
    /// Given back once the document is stored.
    _place: Option<Place>,
}

#[derive(Debug)]
pub(crate) struct PreparedChunk {
    pub(crate) section: u32,
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// The text to embed.
    pub(crate) text: String,
    /// Its words.
    pub(crate) terms: Terms,
    /// Its embedding, where that is known.
    pub(crate) embedding: Option<Embedding>,
}

fn prepare(
    mut document: Document,
    split: SplitSettings,
    embedder: &dyn Embedder,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Prepared, RetrieverError> {
    let unreadable = |error| RetrieverError::unreadable(&document.id, &error);
    let extracted = format::extract(&document, stop).map_err(unreadable)?;
    // Its text is all that is needed from here on.
    drop(std::mem::take(&mut document.content));
    let count = |text: &str| embedder.count_tokens(text);
    let pieces = split
        .split(&extracted.text, extracted.markdown, &count, stop)
        .map_err(|error| match error {
            SplitError::Stopped => RetrieverError::Stopped,
            SplitError::Config(error) => RetrieverError::Unreadable {
                document: document.id.clone(),
                reason: error.to_string(),
            },
        })?;
    let source = match document.source.is_empty() {
        true => document.id.clone(),
        false => document.source,
    };
    let first_heading = || {
        let headings = |section: &SectionPiece<'_>| {
            let mut headings = section.headings.iter();
            // The number of a page names no document.
            headings.find(|heading| page_number(heading).is_none()).cloned()
        };
        let first = headings(pieces.sections.first()?)?;
        let is_part = pieces
            .sections
            .iter()
            .filter_map(headings)
            .any(|other| other != first && are_numbered_alike(&first, &other));
        Some(if is_part {
            emend_documents::stem(&source).to_owned()
        } else {
            first
        })
    };
    let title = Some(document.title.trim().to_owned())
        .filter(|title| !title.is_empty())
        .or(extracted.title)
        .or_else(first_heading)
        .map(|title| emend_text::one_line(&title, MAX_TITLE_BYTES))
        .unwrap_or_default();
    let sections: Vec<Section> = pieces
        .sections
        .iter()
        .map(|section| Section {
            start: section.start,
            text: section.text.to_owned(),
            headings: headings::bounded(&section.headings),
        })
        .collect();
    let chunks = worth_finding(&pieces.chunks, extracted.markdown)
        .map(|chunk| {
            if stop() {
                return Err(RetrieverError::Stopped);
            }
            let headings = sections
                .get(chunk.section as usize)
                .map_or(&[][..], |section| &section.headings);
            let text = with_context(&title, headings, chunk.text);
            Ok(PreparedChunk {
                section: chunk.section,
                start: chunk.start,
                end: chunk.end,
                terms: passage_terms(&source, &text),
                text,
                embedding: None,
            })
        })
        .collect::<Result<_, _>>()?;
    Ok(Prepared {
        id: document.id,
        title,
        owner: Some(document.owner)
            .filter(|owner| *owner != source)
            .unwrap_or_default(),
        source,
        metadata: document.metadata.into_iter().collect(),
        sections,
        chunks,
        _place: None,
    })
}

/// Whether two headings have the same words before their first number, as those of versions and of chapters do. Each of them
/// names a part of its document.
fn are_numbered_alike(one: &str, other: &str) -> bool {
    let before = |heading: &str| Some(heading.split_once(char::is_numeric)?.0.to_lowercase());
    before(one).is_some_and(|words| before(other) == Some(words))
}

/// The chunks that a search is to find: of Markdown those with content, unless none has any.
fn worth_finding<'c, 't>(
    chunks: &'c [ChunkPiece<'t>],
    markdown: bool,
) -> impl Iterator<Item = &'c ChunkPiece<'t>> + use<'c, 't> {
    let has_content = move |chunk: &ChunkPiece<'_>| !markdown || emend_text::has_content(chunk.text);
    let all = !chunks.iter().any(has_content);
    chunks.iter().filter(move |chunk| all || has_content(chunk))
}

/// Prepends the title and headings to a chunk, unless it contains them itself. The subject of a paragraph is often
/// named only above it.
///
/// The embedding of a stored chunk is taken for that of this text ([`Library::with_stored_embeddings`]): what changes here
/// changes nothing that is stored until its own text changes.
pub(crate) fn with_context(title: &str, headings: &[String], chunk: &str) -> String {
    let mut context: Vec<&str> = Vec::new();
    for part in std::iter::once(title).chain(headings.iter().map(String::as_str)) {
        if !part.is_empty() && !context.contains(&part) && !chunk.contains(part) {
            context.push(part);
        }
    }
    if context.is_empty() {
        return chunk.to_owned();
    }
    let context: String = context.join(" › ").chars().take(MAX_CONTEXT).collect();
    format!("{context}\n\n{chunk}")
}

/// The words that a passage is found by: those of its text and of the name that `source` gives its document.
pub(crate) fn passage_terms(source: &str, text: &str) -> Terms {
    Terms::of_passage(&format!("{text}\n{}", emend_text::source_name(source)))
}

/// Hashes all inputs that determine what is stored. Each part is preceded by its length, so that different lists of
/// parts have different hashes.
fn fingerprint(document: &Document, split: SplitSettings) -> Fingerprint {
    let mut hash = Sha256::new();
    let mut add = |part: &[u8]| {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    };
    for number in [
        SPLITTER as usize,
        split.chunk,
        split.overlap,
        split.section,
        document.metadata.len(),
    ] {
        add(&(number as u64).to_le_bytes());
    }
    add(&document.format.to_le_bytes());
    add(document.title.as_bytes());
    add(document.source.as_bytes());
    if !document.owner.is_empty() {
        add(b"owner");
        add(document.owner.as_bytes());
    }
    for (key, value) in document.metadata.iter().collect::<BTreeMap<_, _>>() {
        add(key.as_bytes());
        add(value.as_bytes());
    }
    add(&document.content);
    hash.finalize().into()
}

/// The fingerprint of a document that is stored by its words alone, of the one that it has with its embeddings.
fn fingerprint_by_words(embedded: Fingerprint) -> Fingerprint {
    let mut hash = Sha256::new();
    hash.update(b"words only");
    hash.update(embedded);
    hash.finalize().into()
}

#[cfg(test)]
mod tests;
