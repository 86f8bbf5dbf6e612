//! Stored documents as messages, in parts that fit.

use emend_proto::v1::{EmbeddedDocument, EmbeddedPassage, EmbeddedSection};

use crate::backend::{Chunk, NewDocument, Section};
use crate::terms::Terms;

/// Bytes of one message, about: the section or passage that goes beyond is its last.
const PART_BYTES: usize = 1 << 20;

/// Bytes of a passage besides its vectors, and of a section besides its texts.
const PASSAGE_BYTES: usize = 32;

/// The parts of a document, and of each whether it is the last.
pub(super) fn split(document: NewDocument) -> impl Iterator<Item = (EmbeddedDocument, bool)> + Send {
    let NewDocument {
        id,
        fingerprint,
        title,
        source,
        owner,
        metadata,
        sections,
        chunks,
    } = document;
    let mut first = Some(EmbeddedDocument {
        id: id.clone(),
        title,
        source,
        owner,
        metadata: metadata.into_iter().collect(),
        fingerprint: fingerprint.to_vec(),
        ..EmbeddedDocument::default()
    });
    let (mut sections, mut chunks) = (sections.into_iter().peekable(), chunks.into_iter().peekable());
    std::iter::from_fn(move || {
        let begun = first.take();
        if begun.is_none() && sections.peek().is_none() && chunks.peek().is_none() {
            return None;
        }
        let mut part = begun.unwrap_or_else(|| EmbeddedDocument {
            id: id.clone(),
            ..EmbeddedDocument::default()
        });
        let mut bytes = 0;
        while bytes < PART_BYTES {
            if let Some(Section { start, text, headings }) = sections.next() {
                let section = EmbeddedSection { start, text, headings };
                bytes += section_bytes(&section);
                part.sections.push(section);
            } else if let Some(chunk) = chunks.next() {
                let embedding = chunk.embedding.unwrap_or_default();
                bytes += passage_bytes(embedding.len(), chunk.terms.indices.len());
                part.passages.push(EmbeddedPassage {
                    section: chunk.section,
                    start: chunk.start,
                    end: chunk.end,
                    embedding: embedding.to_vec(),
                    term_hashes: chunk.terms.indices,
                    term_weights: chunk.terms.weights,
                });
            } else {
                break;
            }
        }
        let last = sections.peek().is_none() && chunks.peek().is_none();
        Some((part, last))
    })
}

fn section_bytes(section: &EmbeddedSection) -> usize {
    let headings = section
        .headings
        .iter()
        .map(|heading| heading.len() + size_of::<String>());
    section.text.len() + headings.sum::<usize>() + PASSAGE_BYTES
}

fn passage_bytes(values: usize, terms: usize) -> usize {
    4 * values + 8 * terms + PASSAGE_BYTES
}

/// The size of a part in memory, about.
pub(super) fn size(part: &EmbeddedDocument) -> usize {
    let sections = part.sections.iter().map(section_bytes);
    let passages = part.passages.iter();
    let passages = passages.map(|passage| {
        passage_bytes(
            passage.embedding.len(),
            passage.term_hashes.len().max(passage.term_weights.len()),
        )
    });
    sections.sum::<usize>() + passages.sum::<usize>()
}

/// A document as the store takes it, of one that was [checked](crate::validate::embedded).
pub(super) fn whole(document: EmbeddedDocument) -> NewDocument {
    let mut fingerprint = [0; 32];
    for (to, from) in fingerprint.iter_mut().zip(&document.fingerprint) {
        *to = *from;
    }
    let sections = document.sections.into_iter();
    let chunks = document.passages.into_iter().map(|passage| Chunk {
        section: passage.section,
        start: passage.start,
        end: passage.end,
        embedding: Some(passage.embedding.into()),
        terms: Terms {
            indices: passage.term_hashes,
            weights: passage.term_weights,
        },
    });
    NewDocument {
        id: document.id,
        fingerprint,
        title: document.title,
        source: document.source,
        owner: document.owner,
        metadata: document.metadata.into_iter().collect(),
        sections: sections
            .map(|section| Section {
                start: section.start,
                text: section.text,
                headings: section.headings,
            })
            .collect(),
        chunks: chunks.collect(),
    }
}

#[cfg(test)]
mod tests;
