//! The lines of an exported collection.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail};
use emend_proto::v1::{EmbeddedDocument, EmbeddedPassage, EmbeddedSection};
use serde::{Deserialize, Serialize};

/// What the first line says it is.
const FORMAT: &str = "emend-collection";
const VERSION: u32 = 1;

/// The first line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Header {
    format: String,
    version: u32,
    /// The collection that was exported.
    pub(super) collection: String,
    /// The model that made its embeddings.
    pub(super) embedder: String,
}

impl Header {
    pub(super) fn new(collection: &str, embedder: &str) -> Self {
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            collection: collection.to_owned(),
            embedder: embedder.to_owned(),
        }
    }

    /// Reads the first line.
    pub(super) fn read(line: &[u8]) -> Result<Self> {
        let header: Self =
            serde_json::from_slice(line).context("its first line is not that of an exported collection")?;
        if header.format != FORMAT || header.version != VERSION {
            bail!(
                "it has format {:?} in version {}, known is {FORMAT:?} in version {VERSION}",
                header.format,
                header.version
            );
        }
        Ok(header)
    }
}

/// A document, or a part of one.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Line {
    pub(super) id: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    title: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    source: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    owner: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    metadata: BTreeMap<String, String>,
    /// In hexadecimal digits.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    fingerprint: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    sections: Vec<Section>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    passages: Vec<Passage>,
    /// Whether the document ends here.
    pub(super) last: bool,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Section {
    start: u32,
    text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    headings: Vec<String>,
}

impl From<EmbeddedSection> for Section {
    fn from(EmbeddedSection { start, text, headings }: EmbeddedSection) -> Self {
        Self { start, text, headings }
    }
}

impl From<Section> for EmbeddedSection {
    fn from(Section { start, text, headings }: Section) -> Self {
        Self { start, text, headings }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Passage {
    section: u32,
    start: u32,
    end: u32,
    embedding: Vec<f32>,
    /// Hash and weight of each word.
    terms: Vec<(u32, f32)>,
}

/// The end of a line: what the end of a file is looked at for.
#[derive(Deserialize)]
struct End {
    id: String,
    #[serde(default)]
    last: bool,
}

/// The document that ends with a line, if one does.
pub(super) fn ends(line: &[u8]) -> Option<String> {
    let end: End = serde_json::from_slice(line).ok()?;
    end.last.then_some(end.id)
}

impl Line {
    pub(super) fn new(document: EmbeddedDocument, last: bool) -> Self {
        let fingerprint = document.fingerprint.iter().map(|byte| format!("{byte:02x}"));
        Self {
            id: document.id,
            title: document.title,
            source: document.source,
            owner: document.owner,
            metadata: document.metadata.into_iter().collect(),
            fingerprint: fingerprint.collect(),
            sections: document.sections.into_iter().map(Section::from).collect(),
            passages: document
                .passages
                .into_iter()
                .map(|passage| Passage {
                    section: passage.section,
                    start: passage.start,
                    end: passage.end,
                    embedding: passage.embedding,
                    terms: passage.term_hashes.into_iter().zip(passage.term_weights).collect(),
                })
                .collect(),
            last,
        }
    }

    /// Reads a line.
    pub(super) fn read(line: &[u8]) -> Result<(EmbeddedDocument, bool)> {
        let line: Self = serde_json::from_slice(line)?;
        let fingerprint = bytes(&line.fingerprint).context("its fingerprint is not in hexadecimal digits")?;
        let document = EmbeddedDocument {
            id: line.id,
            title: line.title,
            source: line.source,
            owner: line.owner,
            metadata: line.metadata.into_iter().collect(),
            fingerprint,
            sections: line.sections.into_iter().map(EmbeddedSection::from).collect(),
            passages: line
                .passages
                .into_iter()
                .map(|passage| {
                    let (term_hashes, term_weights) = passage.terms.into_iter().unzip();
                    EmbeddedPassage {
                        section: passage.section,
                        start: passage.start,
                        end: passage.end,
                        embedding: passage.embedding,
                        term_hashes,
                        term_weights,
                    }
                })
                .collect(),
        };
        Ok((document, line.last))
    }
}

fn bytes(hexadecimal: &str) -> Option<Vec<u8>> {
    let digits = hexadecimal.as_bytes();
    let (pairs, rest) = digits.as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    let digit = |digit: u8| char::from(digit).to_digit(16);
    let byte = |[high, low]: &[u8; 2]| u8::try_from(digit(*high)? * 16 + digit(*low)?).ok();
    pairs.iter().map(byte).collect()
}

#[cfg(test)]
mod tests;
