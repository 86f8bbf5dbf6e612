//! The stores that are tested, and documents to store.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use emend_core::Secret;
use emend_retriever::backend::qdrant::{Layout, QdrantSettings, QdrantStore, Timing};
use emend_retriever::backend::{
    Chunk, EdgeStore, EmbedderInfo, NewDocument, Query, Search, SearchHit, Section, Unit, VectorStore,
};
use emend_retriever::terms::Terms;
use emend_test_qdrant::Server;

pub(crate) const DIMENSIONS: usize = 4;

/// A store with what it needs.
pub(crate) struct Subject {
    pub(crate) store: Arc<dyn VectorStore>,
    kept: Kept,
}

enum Kept {
    Folder(#[expect(dead_code, reason = "removed when the test ends")] tempfile::TempDir),
    Server(Qdrant),
}

/// A Qdrant server.
#[derive(Clone)]
pub(crate) struct Qdrant {
    pub(crate) url: String,
    pub(crate) prefix: String,
    /// The stand-in, where it is one.
    pub(crate) stand_in: Option<Server>,
}

impl Qdrant {
    /// The server of `EMEND_TEST_QDRANT_URL`, or a stand-in.
    pub(crate) async fn start() -> Self {
        let prefix = format!("test-{}-", uuid::Uuid::new_v4().simple());
        match std::env::var("EMEND_TEST_QDRANT_URL") {
            Ok(url) => Self {
                url,
                prefix,
                stand_in: None,
            },
            Err(_) => {
                let (server, url) = Server::start().await;
                Self {
                    url,
                    prefix,
                    stand_in: Some(server),
                }
            }
        }
    }

    /// A retriever's store on it.
    pub(crate) fn store(&self, timing: Timing) -> QdrantStore {
        self.store_at(&self.url, timing)
    }

    /// As [`store`](Self::store), through a proxy.
    pub(crate) fn store_at(&self, url: &str, timing: Timing) -> QdrantStore {
        let settings = QdrantSettings {
            url: url.to_owned(),
            api_key: Secret::from_environment("EMEND_TEST_QDRANT_API_KEY"),
            prefix: self.prefix.clone(),
            timing,
            ..Self::settings()
        };
        QdrantStore::new(settings).unwrap()
    }

    /// The settings of a store, but for where it is.
    pub(crate) fn settings() -> QdrantSettings {
        QdrantSettings {
            url: String::new(),
            api_key: None,
            certificates: None,
            timeout: Duration::from_secs(30),
            prefix: String::new(),
            layout: Layout::default(),
            timing: Timing::default(),
        }
    }

    /// How many points a collection has; `None` where only the stand-in could tell.
    pub(crate) fn points(&self, collection: &str) -> Option<usize> {
        let server = self.stand_in.as_ref()?;
        Some(server.points(&format!("{}{collection}", self.prefix)))
    }
}

/// Replaced versions are removed at once, and every other writer is taken for dead.
pub(crate) const AT_ONCE: Timing = Timing {
    grace: Duration::ZERO,
    skew: Duration::ZERO,
    write: Duration::from_secs(600),
    writing: Duration::ZERO,
};

impl Subject {
    pub(crate) fn edge() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self {
            store: Arc::new(EdgeStore::open(folder.path()).unwrap()),
            kept: Kept::Folder(folder),
        }
    }

    pub(crate) async fn qdrant() -> Self {
        let server = Qdrant::start().await;
        Self {
            store: Arc::new(server.store(Timing::default())),
            kept: Kept::Server(server),
        }
    }

    /// Another retriever on the same collections; the same one where there can be only one.
    pub(crate) fn another(&self) -> Arc<dyn VectorStore> {
        match &self.kept {
            Kept::Folder(_) => Arc::clone(&self.store),
            Kept::Server(server) => Arc::new(server.store(Timing::default())),
        }
    }

    /// Does what time does to a collection: removes what searches could still have needed, and rewrites what it was in. The
    /// store on the local disk does both by itself, at once.
    pub(crate) async fn settle(&self, collection: &str) {
        if let Kept::Server(server) = &self.kept {
            server.store(AT_ONCE).repair(collection).await.unwrap();
            if let Some(stand_in) = &server.stand_in {
                stand_in.optimize(&format!("{}{collection}", server.prefix));
            }
        }
    }

    /// Removes what the test has made.
    pub(crate) async fn end(self) {
        for collection in self.store.collections().await.unwrap() {
            self.store.delete_collection(&collection.name).await.unwrap();
        }
        self.store.close().await;
    }
}

/// A word of letters for a number: digits are words of their own.
pub(crate) fn word(number: u64) -> String {
    let letters = number.to_string().into_bytes().into_iter();
    let letters: String = letters.map(|digit| char::from(digit - b'0' + b'a')).collect();
    format!("w{letters}w")
}

pub(crate) fn embedder() -> EmbedderInfo {
    EmbedderInfo {
        id: "fixed".to_owned(),
        dimensions: DIMENSIONS,
    }
}

/// A unit vector that depends only on `seed`.
pub(crate) fn vector(seed: u64) -> Arc<[f32]> {
    vector_of(seed, DIMENSIONS)
}

pub(crate) fn vector_of(seed: u64, dimensions: usize) -> Arc<[f32]> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678_9abc_def1;
    let values: Vec<f32> = (0..dimensions)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 40) as f32 / (1 << 24) as f32 - 0.5
        })
        .collect();
    let norm = values.iter().map(|value| value * value).sum::<f32>().sqrt();
    values.iter().map(|value| value / norm).collect()
}

/// A document of sections, each with a number of chunks of equal length. A section's text is its own words, repeated, and
/// its chunks have the vectors `seed`, `seed + 1`, ….
pub(crate) fn document(id: &str, seed: u64, sections: &[(&str, u32)]) -> NewDocument {
    let (mut parts, mut chunks, mut start) = (Vec::new(), Vec::new(), 0);
    for (index, (words, count)) in (0..).zip(sections) {
        let piece = format!("{words}. ");
        let length = piece.chars().count() as u32;
        for number in 0..*count {
            chunks.push(Chunk {
                section: index,
                start: start + number * length,
                end: start + (number + 1) * length,
                embedding: Some(vector(seed + chunks.len() as u64)),
                terms: Terms::of_passage(&piece),
            });
        }
        parts.push(Section {
            start,
            text: piece.repeat(*count as usize),
            // The first section has none.
            headings: (0..index)
                .map(|above| format!("Heading {above} 제목 of {words}"))
                .collect(),
        });
        start += length * count;
    }
    let mut fingerprint = [0; 32];
    fingerprint[..8].copy_from_slice(&seed.to_le_bytes());
    NewDocument {
        id: id.to_owned(),
        fingerprint,
        title: format!("Title of {id}"),
        source: format!("/files/{id}"),
        owner: format!("/owners/{id}"),
        metadata: BTreeMap::new(),
        sections: parts,
        chunks,
    }
}

pub(crate) fn dense(seed: u64, limit: usize, unit: Unit) -> Search {
    Search {
        query: Query::Dense(vector(seed)),
        limit,
        unit,
        filter: Vec::new(),
        language: None,
        ef: None,
        exact: false,
    }
}

pub(crate) fn sparse(words: &str, limit: usize) -> Search {
    Search {
        query: Query::Sparse(Terms::of_query(words)),
        ..dense(0, limit, Unit::Chunk)
    }
}

/// Document and index of each hit.
pub(crate) fn places(hits: &[SearchHit]) -> Vec<(&str, u32)> {
    hits.iter().map(|hit| (hit.document.as_str(), hit.index)).collect()
}
