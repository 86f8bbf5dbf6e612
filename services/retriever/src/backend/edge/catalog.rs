//! The source of truth of a collection: its documents, sections, chunks and embeddings, in one `redb` file.
//!
//! One durable transaction stores or replaces a document. The vector index can be rebuilt from the catalog without
//! embedding anything again.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use emend_text::Language;
use redb::{
    Builder, Database, ReadOnlyTable, ReadableDatabase, ReadableTable, ReadableTableMetadata, TableDefinition,
    TableError, WriteTransaction,
};
use serde::{Deserialize, Serialize};

use crate::backend::foreign::language;
use crate::backend::{
    Chunk, CollectionInfo, EmbedderInfo, Fingerprint, ListedDocument, NewDocument, Section, StoredDocument,
};
use crate::terms::Terms;

/// Format version. It is increased when the tables change, so that an older program does not misread a newer file.
const FORMAT: u32 = 1;

/// Cache size per collection. The default of `redb` is 1 GiB.
const CACHE_BYTES: usize = 32 << 20;

const SETTINGS: TableDefinition<'_, &str, &str> = TableDefinition::new("settings");
const COUNTERS: TableDefinition<'_, &str, u64> = TableDefinition::new("counters");
const DOCUMENTS: TableDefinition<'_, &str, &str> = TableDefinition::new("documents");
/// The document of each version. A version that is not in this table is invisible to readers.
const VERSIONS: TableDefinition<'_, u64, &str> = TableDefinition::new("versions");
/// (version, index) → (first code point, text)
const SECTIONS: TableDefinition<'_, (u64, u32), (u32, &str)> = TableDefinition::new("sections");
/// (version, index) → (section, first code point, end)
const CHUNKS: TableDefinition<'_, (u64, u32), (u32, u32, u32)> = TableDefinition::new("chunks");
/// (version, index) → little-endian f32; missing where a document is stored by its words alone
const EMBEDDINGS: TableDefinition<'_, (u64, u32), &[u8]> = TableDefinition::new("embeddings");

/// (version, index) → [`Terms::to_bytes`]; missing in files that were written before there was a search by words.
const TERMS: TableDefinition<'_, (u64, u32), &[u8]> = TableDefinition::new("terms");

/// (version, index) → the headings of a section, one a line; missing where there are none, and in files that were written
/// before they were stored.
const HEADINGS: TableDefinition<'_, (u64, u32), &str> = TableDefinition::new("headings");

/// (version, index) → the code of the language of a section; missing in files that were written before it was stored.
const LANGUAGES: TableDefinition<'_, (u64, u32), &str> = TableDefinition::new("languages");

const SETTING: &str = "collection";
const NEXT_VERSION: &str = "next_version";
const PASSAGES: &str = "passages";

/// An error reading or writing the catalog.
pub(super) type CatalogError = redb::Error;

#[derive(Serialize, Deserialize)]
struct Settings {
    format: u32,
    embedder: String,
    dimensions: usize,
}

/// The record of a document.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct DocumentRecord {
    pub(super) version: u64,
    pub(super) fingerprint: Fingerprint,
    pub(super) title: String,
    pub(super) source: String,
    /// Missing in files that were written before documents had one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) owner: String,
    pub(super) metadata: BTreeMap<String, String>,
    pub(super) sections: u32,
    pub(super) chunks: u32,
}

/// A version of a document and its number of chunks. Its points in the index are `0..chunks`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Version {
    pub(super) number: u64,
    pub(super) chunks: u32,
}

#[derive(Debug)]
pub(super) struct Catalog {
    database: Database,
    /// Written with the first document and never again.
    embedder: OnceLock<EmbedderInfo>,
}

impl Catalog {
    /// Creates the file.
    pub(super) fn create(path: &Path) -> Result<Self, CatalogError> {
        Self::of(Builder::new().set_cache_size(CACHE_BYTES).create(path)?)
    }

    /// Opens the file.
    pub(super) fn open(path: &Path) -> Result<Self, CatalogError> {
        Self::of(Builder::new().set_cache_size(CACHE_BYTES).open(path)?)
    }

    /// With all tables.
    fn of(database: Database) -> Result<Self, CatalogError> {
        // The table that was added last.
        let incomplete = matches!(
            database.begin_read()?.open_table(LANGUAGES),
            Err(TableError::TableDoesNotExist(_))
        );
        if incomplete {
            let transaction = database.begin_write()?;
            transaction.open_table(SETTINGS)?;
            Tables::open(&transaction)?;
            transaction.commit()?;
        }
        Ok(Self {
            database,
            embedder: OnceLock::new(),
        })
    }

    /// The embedder of the documents; `None` before the first document.
    pub(super) fn embedder(&self) -> Result<Option<EmbedderInfo>, CatalogError> {
        if let Some(known) = self.known_embedder() {
            return Ok(Some(known.clone()));
        }
        let settings = self.database.begin_read()?.open_table(SETTINGS)?;
        let Some(settings) = settings.get(SETTING)? else {
            return Ok(None);
        };
        let settings: Settings = decode(settings.value())?;
        if settings.format != FORMAT {
            return Err(CatalogError::Corrupted(format!(
                "the collection has format {}, but this version of the program reads format {FORMAT}",
                settings.format
            )));
        }
        let embedder = EmbedderInfo {
            id: settings.embedder,
            dimensions: settings.dimensions,
        };
        Ok(Some(self.embedder.get_or_init(|| embedder).clone()))
    }

    /// As [`embedder`](Self::embedder), where it was read before.
    pub(super) fn known_embedder(&self) -> Option<&EmbedderInfo> {
        self.embedder.get()
    }

    /// The counts and the embedder; `None` before the first document.
    pub(super) fn info(&self, name: &str) -> Result<Option<CollectionInfo>, CatalogError> {
        let Some(embedder) = self.embedder()? else {
            return Ok(None);
        };
        let transaction = self.database.begin_read()?;
        let documents = transaction.open_table(DOCUMENTS)?.len()?;
        let passages = transaction
            .open_table(COUNTERS)?
            .get(PASSAGES)?
            .map_or(0, |count| count.value());
        Ok(Some(CollectionInfo {
            name: name.to_owned(),
            documents,
            passages,
            embedder,
        }))
    }

    /// The number of the next version, for any document.
    pub(super) fn next_version(&self) -> Result<u64, CatalogError> {
        let counters = self.database.begin_read()?.open_table(COUNTERS)?;
        Ok(counters.get(NEXT_VERSION)?.map_or(1, |next| next.value()))
    }

    /// Durably stores a document as `version`, and returns the version it replaces.
    pub(super) fn put(
        &self,
        embedder: &EmbedderInfo,
        version: u64,
        document: &NewDocument,
    ) -> Result<Option<Version>, CatalogError> {
        let transaction = self.database.begin_write()?;
        let replaced;
        {
            let mut settings = transaction.open_table(SETTINGS)?;
            if settings.get(SETTING)?.is_none() {
                let value = Settings {
                    format: FORMAT,
                    embedder: embedder.id.clone(),
                    dimensions: embedder.dimensions,
                };
                settings.insert(SETTING, encode(&value)?.as_str())?;
            }
            let mut tables = Tables::open(&transaction)?;
            replaced = tables.remove(&document.id)?;
            tables.insert(version, document)?;
            tables.counters.insert(NEXT_VERSION, version + 1)?;
        }
        transaction.commit()?;
        Ok(replaced)
    }

    /// Durably removes documents, and returns the removed versions.
    pub(super) fn delete(&self, documents: &[String]) -> Result<Vec<Version>, CatalogError> {
        let transaction = self.database.begin_write()?;
        let mut removed = Vec::new();
        {
            let mut tables = Tables::open(&transaction)?;
            for document in documents {
                removed.extend(tables.remove(document)?);
            }
        }
        transaction.commit()?;
        Ok(removed)
    }

    /// A snapshot of the current state, unaffected by later writes.
    pub(super) fn snapshot(&self) -> Result<Snapshot, CatalogError> {
        let transaction = self.database.begin_read()?;
        Ok(Snapshot {
            documents: transaction.open_table(DOCUMENTS)?,
            versions: transaction.open_table(VERSIONS)?,
            sections: transaction.open_table(SECTIONS)?,
            chunks: transaction.open_table(CHUNKS)?,
            embeddings: transaction.open_table(EMBEDDINGS)?,
            terms: transaction.open_table(TERMS)?,
            headings: transaction.open_table(HEADINGS)?,
            languages: transaction.open_table(LANGUAGES)?,
        })
    }
}

/// The tables of a write transaction on documents.
struct Tables<'t> {
    documents: redb::Table<'t, &'static str, &'static str>,
    versions: redb::Table<'t, u64, &'static str>,
    sections: redb::Table<'t, (u64, u32), (u32, &'static str)>,
    chunks: redb::Table<'t, (u64, u32), (u32, u32, u32)>,
    embeddings: redb::Table<'t, (u64, u32), &'static [u8]>,
    terms: redb::Table<'t, (u64, u32), &'static [u8]>,
    headings: redb::Table<'t, (u64, u32), &'static str>,
    languages: redb::Table<'t, (u64, u32), &'static str>,
    counters: redb::Table<'t, &'static str, u64>,
}

impl<'t> Tables<'t> {
    fn open(transaction: &'t WriteTransaction) -> Result<Self, CatalogError> {
        Ok(Self {
            documents: transaction.open_table(DOCUMENTS)?,
            versions: transaction.open_table(VERSIONS)?,
            sections: transaction.open_table(SECTIONS)?,
            chunks: transaction.open_table(CHUNKS)?,
            embeddings: transaction.open_table(EMBEDDINGS)?,
            terms: transaction.open_table(TERMS)?,
            headings: transaction.open_table(HEADINGS)?,
            languages: transaction.open_table(LANGUAGES)?,
            counters: transaction.open_table(COUNTERS)?,
        })
    }

    fn insert(&mut self, version: u64, document: &NewDocument) -> Result<(), CatalogError> {
        let record = DocumentRecord {
            version,
            fingerprint: document.fingerprint,
            title: document.title.clone(),
            source: document.source.clone(),
            owner: document.owner.clone(),
            metadata: document.metadata.clone(),
            sections: count(document.sections.len())?,
            chunks: count(document.chunks.len())?,
        };
        self.documents.insert(document.id.as_str(), encode(&record)?.as_str())?;
        self.versions.insert(version, document.id.as_str())?;
        for (index, section) in (0..).zip(&document.sections) {
            self.sections
                .insert((version, index), (section.start, section.text.as_str()))?;
            self.languages
                .insert((version, index), language(&section.text).code())?;
            if !section.headings.is_empty() {
                let lines = section.headings.join("\n");
                self.headings.insert((version, index), lines.as_str())?;
            }
        }
        let mut bytes = Vec::new();
        for (index, chunk) in (0..).zip(&document.chunks) {
            self.chunks
                .insert((version, index), (chunk.section, chunk.start, chunk.end))?;
            if let Some(embedding) = &chunk.embedding {
                bytes.clear();
                bytes.extend(embedding.iter().flat_map(|value| value.to_le_bytes()));
                self.embeddings.insert((version, index), bytes.as_slice())?;
            }
            self.terms.insert((version, index), chunk.terms.to_bytes().as_slice())?;
        }
        self.add_passages(i64::from(record.chunks))
    }

    fn remove(&mut self, document: &str) -> Result<Option<Version>, CatalogError> {
        let Some(record) = self
            .documents
            .remove(document)?
            .map(|record| decode::<DocumentRecord>(record.value()))
        else {
            return Ok(None);
        };
        let record = record?;
        self.versions.remove(record.version)?;
        for index in 0..record.sections {
            self.sections.remove((record.version, index))?;
            self.headings.remove((record.version, index))?;
            self.languages.remove((record.version, index))?;
        }
        for index in 0..record.chunks {
            self.chunks.remove((record.version, index))?;
            self.embeddings.remove((record.version, index))?;
            self.terms.remove((record.version, index))?;
        }
        self.add_passages(-i64::from(record.chunks))?;
        Ok(Some(Version {
            number: record.version,
            chunks: record.chunks,
        }))
    }

    fn add_passages(&mut self, change: i64) -> Result<(), CatalogError> {
        let passages = self.counters.get(PASSAGES)?.map_or(0, |count| count.value());
        self.counters.insert(PASSAGES, passages.saturating_add_signed(change))?;
        Ok(())
    }
}

/// A snapshot of the catalog.
pub(super) struct Snapshot {
    documents: ReadOnlyTable<&'static str, &'static str>,
    versions: ReadOnlyTable<u64, &'static str>,
    sections: ReadOnlyTable<(u64, u32), (u32, &'static str)>,
    chunks: ReadOnlyTable<(u64, u32), (u32, u32, u32)>,
    embeddings: ReadOnlyTable<(u64, u32), &'static [u8]>,
    terms: ReadOnlyTable<(u64, u32), &'static [u8]>,
    headings: ReadOnlyTable<(u64, u32), &'static str>,
    languages: ReadOnlyTable<(u64, u32), &'static str>,
}

impl Snapshot {
    pub(super) fn document(&self, id: &str) -> Result<Option<DocumentRecord>, CatalogError> {
        self.documents.get(id)?.map(|record| decode(record.value())).transpose()
    }

    /// The document of a version; `None` if the version is removed or not published yet.
    pub(super) fn document_of(&self, version: u64) -> Result<Option<String>, CatalogError> {
        Ok(self.versions.get(version)?.map(|document| document.value().to_owned()))
    }

    /// The section, first code point and end of a chunk.
    pub(super) fn chunk(&self, version: u64, index: u32) -> Result<(u32, u32, u32), CatalogError> {
        match self.chunks.get((version, index))? {
            Some(chunk) => Ok(chunk.value()),
            None => Err(missing("chunk", version, index)),
        }
    }

    pub(super) fn section(&self, version: u64, index: u32) -> Result<Section, CatalogError> {
        let headings = self.headings.get((version, index))?;
        match self.sections.get((version, index))? {
            Some(section) => {
                let (start, text) = section.value();
                Ok(Section {
                    start,
                    text: text.to_owned(),
                    headings: headings
                        .map(|lines| lines.value().lines().map(str::to_owned).collect())
                        .unwrap_or_default(),
                })
            }
            None => Err(missing("section", version, index)),
        }
    }

    /// The language of a section; `None` where the document was stored before there was one.
    pub(super) fn language(&self, version: u64, section: u32) -> Result<Option<Language>, CatalogError> {
        let code = self.languages.get((version, section))?;
        Ok(code.and_then(|code| Language::from_code(code.value())))
    }

    /// The embedding of a chunk; `None` where the document is stored by its words alone.
    pub(super) fn embedding(&self, version: u64, index: u32) -> Result<Option<Arc<[f32]>>, CatalogError> {
        let bytes = self.embeddings.get((version, index))?;
        Ok(bytes.map(|bytes| {
            let values = bytes.value().as_chunks().0.iter();
            values.map(|value| f32::from_le_bytes(*value)).collect()
        }))
    }

    /// The words of a chunk; none where the document was stored before there was a search by words.
    pub(super) fn terms(&self, version: u64, index: u32) -> Result<Terms, CatalogError> {
        let terms = self.terms.get((version, index))?;
        Ok(terms.map(|bytes| Terms::from_bytes(bytes.value())).unwrap_or_default())
    }

    /// A document as it was stored; `None` if there is none.
    pub(super) fn whole(&self, id: &str) -> Result<Option<NewDocument>, CatalogError> {
        let Some(record) = self.document(id)? else {
            return Ok(None);
        };
        let version = record.version;
        let chunk = |index| {
            let (section, start, end) = self.chunk(version, index)?;
            Ok(Chunk {
                section,
                start,
                end,
                embedding: self.embedding(version, index)?,
                terms: self.terms(version, index)?,
            })
        };
        Ok(Some(NewDocument {
            id: id.to_owned(),
            fingerprint: record.fingerprint,
            title: record.title,
            source: record.source,
            owner: record.owner,
            metadata: record.metadata,
            sections: (0..record.sections)
                .map(|index| self.section(version, index))
                .collect::<Result<_, CatalogError>>()?,
            chunks: (0..record.chunks).map(chunk).collect::<Result<_, CatalogError>>()?,
        }))
    }

    /// At most `limit` documents with ids greater than `after`, in the order of their ids.
    pub(super) fn documents_after(&self, after: &str, limit: usize) -> Result<Vec<ListedDocument>, CatalogError> {
        let after = (Bound::Excluded(after), Bound::Unbounded);
        let listed = self.documents.range::<&str>(after)?.take(limit).map(|entry| {
            let (id, record) = entry?;
            let record: DocumentRecord = decode(record.value())?;
            Ok(record.listed(id.value()))
        });
        listed.collect()
    }

    /// Calls `each` for every document, in the order of their ids.
    pub(super) fn each_document(
        &self,
        mut each: impl FnMut(&str, DocumentRecord) -> Result<(), CatalogError>,
    ) -> Result<(), CatalogError> {
        for entry in self.documents.iter()? {
            let (id, record) = entry?;
            each(id.value(), decode(record.value())?)?;
        }
        Ok(())
    }
}

impl DocumentRecord {
    /// The document as a list has it.
    pub(super) fn listed(self, id: &str) -> ListedDocument {
        ListedDocument {
            id: id.to_owned(),
            title: self.title,
            source: self.source,
            owner: self.owner,
            passages: self.chunks,
        }
    }
}

impl From<&DocumentRecord> for StoredDocument {
    fn from(record: &DocumentRecord) -> Self {
        Self {
            fingerprint: record.fingerprint,
            passages: record.chunks,
        }
    }
}

fn missing(what: &str, version: u64, index: u32) -> CatalogError {
    CatalogError::Corrupted(format!("{what} {index} of version {version} is missing"))
}

fn count(length: usize) -> Result<u32, CatalogError> {
    u32::try_from(length).map_err(|_| CatalogError::ValueTooLarge(length))
}

fn encode<T: Serialize>(value: &T) -> Result<String, CatalogError> {
    serde_json::to_string(value).map_err(|error| CatalogError::Corrupted(error.to_string()))
}

fn decode<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, CatalogError> {
    serde_json::from_str(text).map_err(|error| CatalogError::Corrupted(error.to_string()))
}

#[cfg(test)]
mod tests;
