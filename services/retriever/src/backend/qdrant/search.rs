//! Readers: searches that see one version of each document, and documents read as a whole.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Mutex as Lock, PoisonError};
use std::time::{Duration, Instant};

use futures::try_join;
use qdrant_client::qdrant::{
    DenseVector, Filter, QuantizationSearchParams, Query as ServerQuery, QueryPoints, SearchParams, VectorInput, query,
    vector_input,
};
use tokio::sync::Mutex;

use super::Inner;
use super::record::{Current, Version};
use super::wire::{
    DENSE, KIND_PASSAGE, KIND_SECTION, Passage, TERMS, all_payload, chunk, of_kinds, of_versions, passage,
    passage_fields, section, section_id, server_filter, sparse, vectors,
};
use crate::backend::foreign::{self, with_foreign};
use crate::backend::gather::{Candidates, Gathering};
use crate::backend::ranking::{FUSION_DEPTH, RANKED_PER_UNIT, content_hash, distinct, first_candidates, part};
use crate::backend::{NewDocument, Query, Search, SearchHit, Section, StoreError, Unit};
use crate::fusion::reciprocal_rank;

/// How long a search may take. Passages of a replaced version are kept for longer.
const MAX_SEARCH: Duration = Duration::from_secs(30);

/// Times that a query is made again because documents among its hits had just changed.
const ROUNDS: usize = 8;

/// Times that a document is read again because it was replaced meanwhile.
pub(super) const READS: usize = 8;

const OPERATION: &str = "search";

/// A unit of a document. Ties are returned in this order.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct UnitKey {
    document: String,
    index: u32,
    version: Version,
}

/// What is known of a document for the length of a search.
struct Known {
    /// Its visible version when the record was read; `None` where there was none.
    current: Option<Current>,
    /// When it was read.
    at: Instant,
}

struct Searching<'a> {
    store: &'a Inner,
    name: &'a str,
    search: &'a Search,
    known: Mutex<HashMap<String, Known>>,
    /// The best passage of each unit that was found.
    passages: Lock<HashMap<UnitKey, Passage>>,
}

impl Inner {
    /// The best units for a search, best first, each text once.
    pub(super) async fn search(&self, name: &str, search: &Search) -> Result<Vec<SearchHit>, StoreError> {
        let searching = Searching {
            store: self,
            name,
            search,
            known: Mutex::default(),
            passages: Lock::default(),
        };
        let found = tokio::time::timeout(MAX_SEARCH, async {
            let ranked = searching.rank().await?;
            searching.hits(ranked).await
        });
        found
            .await
            .unwrap_or_else(|_| Err(self.too_slow("the search took too long")))
    }

    /// A document as it was given to [`put`](Self::put).
    pub(super) async fn read(&self, name: &str, document: &str) -> Result<Option<NewDocument>, StoreError> {
        for _ in 0..READS {
            let Some(current) = self.record(name, document).await?.and_then(|kept| kept.record.current) else {
                self.described(name).await?;
                return Ok(None);
            };
            let of = |kind| Filter::must([of_kinds(&[kind]), of_versions(&[current.version])]);
            let mut sections: BTreeMap<u32, Section> = BTreeMap::new();
            self.scroll(name, of(KIND_SECTION), all_payload(), false, |point| {
                let (_, index, section) = section(&point.payload)?;
                sections.insert(index, section);
                Ok(())
            })
            .await?;
            let mut chunks = BTreeMap::new();
            self.scroll(name, of(KIND_PASSAGE), passage_fields(), true, |point| {
                chunks.extend([chunk(point)?]);
                Ok(())
            })
            .await?;
            if (chunks.len(), sections.len()) == (current.passages as usize, current.sections as usize) {
                return Ok(Some(NewDocument {
                    id: document.to_owned(),
                    fingerprint: current.fingerprint,
                    title: current.title,
                    source: current.source,
                    owner: current.owner,
                    metadata: current.metadata,
                    sections: sections.into_values().collect(),
                    chunks: chunks.into_values().collect(),
                }));
            }
            let now = self.record(name, document).await?;
            if now.is_some_and(|kept| kept.record.version() == Some(current.version)) {
                return Err(StoreError::DamagedDocument {
                    collection: name.to_owned(),
                    document: document.to_owned(),
                    reason: format!(
                        "{} of {} passages and {} of {} sections are there",
                        chunks.len(),
                        current.passages,
                        sections.len(),
                        current.sections
                    ),
                });
            }
        }
        Err(self.contended(name, document))
    }
}

/// The units for a search.
struct Ranked {
    /// Best first; at most [`RANKED_PER_UNIT`] times its limit.
    units: Vec<(UnitKey, f64)>,
    /// Of a hybrid search, those of its embedding, nearest first, as many as are looked through for other languages.
    nearest: Vec<UnitKey>,
}

impl Searching<'_> {
    async fn rank(&self) -> Result<Ranked, StoreError> {
        let by_one = |units| Ranked {
            units,
            nearest: Vec::new(),
        };
        let limit = self.search.limit.saturating_mul(RANKED_PER_UNIT);
        match &self.search.query {
            Query::Dense(embedding) => Ok(by_one(self.units(self.dense(embedding), limit).await?)),
            Query::Sparse(terms) if terms.is_empty() => Ok(by_one(Vec::new())),
            Query::Sparse(terms) => Ok(by_one(self.units(self.sparse(terms), limit).await?)),
            Query::Hybrid(embedding, terms) => {
                let depth = limit.max(FUSION_DEPTH);
                let dense = self.units(self.dense(embedding), depth);
                let sparse = async {
                    if terms.is_empty() {
                        return Ok(Vec::new());
                    }
                    self.units(self.sparse(terms), depth).await
                };
                let (dense, sparse) = try_join!(dense, sparse)?;
                let keys =
                    |ranked: Vec<(UnitKey, f64)>| ranked.into_iter().map(|(unit_key, _)| unit_key).collect::<Vec<_>>();
                let mut nearest = keys(dense);
                let mut units = reciprocal_rank([nearest.clone(), keys(sparse)]);
                units.truncate(limit);
                nearest.truncate(foreign::depth(self.search.limit));
                Ok(Ranked { units, nearest })
            }
        }
    }

    fn dense(&self, embedding: &[f32]) -> QueryPoints {
        let Search { ef, exact, .. } = self.search;
        let params = SearchParams {
            hnsw_ef: ef.map(|ef| ef as u64),
            exact: exact.then_some(true),
            // Whoever made the collection may have had it keep bytes, and the score of bytes is not the cosine.
            quantization: Some(QuantizationSearchParams {
                rescore: Some(true),
                ..QuantizationSearchParams::default()
            }),
            ..SearchParams::default()
        };
        let embedding = DenseVector {
            data: embedding.to_vec(),
        };
        QueryPoints {
            params: Some(params),
            ..self.query(vector_input::Variant::Dense(embedding), DENSE)
        }
    }

    fn sparse(&self, terms: &crate::terms::Terms) -> QueryPoints {
        self.query(vector_input::Variant::Sparse(sparse(terms)), TERMS)
    }

    fn query(&self, vector: vector_input::Variant, using: &str) -> QueryPoints {
        QueryPoints {
            collection_name: self.store.full(self.name),
            query: Some(ServerQuery {
                variant: Some(query::Variant::Nearest(VectorInput { variant: Some(vector) })),
            }),
            using: Some(using.to_owned()),
            filter: server_filter(&self.search.filter),
            with_payload: passage_fields(),
            with_vectors: vectors(false),
            ..QueryPoints::default()
        }
    }

    /// The best `limit` units of the passages that a query finds.
    async fn units(&self, query: QueryPoints, limit: usize) -> Result<Vec<(UnitKey, f64)>, StoreError> {
        let mut gathering = Gathering::new(limit, first_candidates(self.search.unit, limit));
        loop {
            let (found, exhausted) = self.visible(&query, gathering.candidates()).await?;
            let mut units = Vec::with_capacity(found.len());
            let mut passages = self.passages.lock().unwrap_or_else(PoisonError::into_inner);
            for (passage, score) in found {
                let key = UnitKey {
                    document: passage.document.clone(),
                    index: match self.search.unit {
                        Unit::Chunk => passage.index,
                        Unit::Section => passage.section,
                    },
                    version: passage.version,
                };
                units.push((key.clone(), score));
                passages.entry(key).or_insert(passage);
            }
            drop(passages);
            if let Some(ranked) = gathering.offer(Candidates { units, exhausted }) {
                return Ok(ranked);
            }
        }
    }

    /// The passages that a query finds, of visible versions only, and whether there are no more.
    ///
    /// A hit counts if its version was visible before the query began, and its passages, which are all written by then, are
    /// still there after it ended. Where a document has changed since, the query is made again: what its record says then
    /// was so before.
    async fn visible(&self, query: &QueryPoints, limit: usize) -> Result<(Vec<(Passage, f64)>, bool), StoreError> {
        let query = QueryPoints {
            limit: Some(limit as u64),
            ..query.clone()
        };
        let send = |request| {
            let mut client = self.store.client.points();
            async move { client.query(request).await }
        };
        for _ in 0..ROUNDS {
            let began = Instant::now();
            let found = self.store.client.call(OPERATION, self.name, query.clone(), send);
            let found = found.await?.result;
            let exhausted = found.len() < limit;
            let passages = found
                .iter()
                .map(|hit| Ok((passage(&hit.payload)?, f64::from(hit.score))))
                .collect::<Result<Vec<_>, _>>()
                .map_err(|error| self.store.unreadable(OPERATION, &error))?;
            let known = self.learn(&passages).await?;
            let sure = |known: &Known| match &known.current {
                Some(current) => known.at <= began || current.is_settled(&self.store.settings.timing),
                // It has none now: hits of it are of versions that are not visible yet or no longer.
                None => true,
            };
            if passages
                .iter()
                .all(|(passage, _)| known.get(&passage.document).is_some_and(sure))
            {
                let is_visible = |passage: &Passage| {
                    let known = known.get(&passage.document).and_then(|known| known.current.as_ref());
                    known.is_some_and(|current| current.version == passage.version)
                };
                let visible = passages.into_iter().filter(|(passage, _)| is_visible(passage));
                return Ok((visible.collect(), exhausted));
            }
        }
        Err(self.store.too_slow("documents change faster than they can be searched"))
    }

    /// Reads the records of the documents that are not known yet. What is known stays the same until the search ends.
    async fn learn(
        &self,
        passages: &[(Passage, f64)],
    ) -> Result<tokio::sync::MutexGuard<'_, HashMap<String, Known>>, StoreError> {
        let mut known = self.known.lock().await;
        let unknown: HashSet<&str> = passages
            .iter()
            .map(|(passage, _)| passage.document.as_str())
            .filter(|document| !known.contains_key(*document))
            .collect();
        if !unknown.is_empty() {
            let unknown: Vec<&str> = unknown.into_iter().collect();
            let records = self.store.records(self.name, &unknown).await?;
            let at = Instant::now();
            let mut records: HashMap<String, Option<Current>> = records
                .into_iter()
                .map(|kept| (kept.record.id, kept.record.current))
                .collect();
            for document in unknown {
                let current = records.remove(document).flatten();
                known.insert(document.to_owned(), Known { current, at });
            }
        }
        Ok(known)
    }

    /// Reads ranked units up to the limit of the search. Of copies, such as a licence in every file, only the best is taken.
    async fn hits(self, ranked: Ranked) -> Result<Vec<SearchHit>, StoreError> {
        let Ranked { units, nearest } = ranked;
        let passages = self.passages.into_inner().unwrap_or_else(PoisonError::into_inner);
        let asked = self.search.language;
        // Those in the query's own language are not read. Where the language is not stored, the text has to be read to tell.
        let nearest: Vec<(u32, UnitKey)> = (1..)
            .zip(nearest)
            .filter(|(_, key)| asked.is_some() && passages.get(key).and_then(|passage| passage.language) != asked)
            .collect();
        let ranked = units.iter().map(|(key, _)| key);
        let wanted: HashSet<(Version, u32)> = ranked
            .chain(nearest.iter().map(|(_, key)| key))
            .filter_map(|key| Some((key.version, passages.get(key)?.section)))
            .collect();
        let ids: Vec<_> = wanted
            .iter()
            .map(|(version, index)| section_id(*version, *index))
            .collect();
        let mut sections: HashMap<(Version, u32), Section> = HashMap::new();
        if !ids.is_empty() {
            for point in self.store.points(OPERATION, self.name, ids).await? {
                let (version, index, section) =
                    section(&point.payload).map_err(|error| self.store.unreadable(OPERATION, &error))?;
                sections.insert((version, index), section);
            }
        }
        let mut reading = Reading {
            name: self.name,
            unit: self.search.unit,
            passages: &passages,
            known: &self.known.into_inner(),
            sections: &sections,
            seen: HashSet::new(),
        };
        let limit = self.search.limit;
        let found = distinct(units, limit, |key, score| reading.unseen(key, score))?;
        match asked {
            Some(asked) => with_foreign(asked, limit, found, nearest, |key, score| {
                Ok(reading.unseen(key, score)?.filter(|hit| hit.language != asked))
            }),
            None => Ok(found),
        }
    }
}

/// Units of sections that were read, of each text the first.
struct Reading<'a> {
    name: &'a str,
    unit: Unit,
    passages: &'a HashMap<UnitKey, Passage>,
    known: &'a HashMap<String, Known>,
    sections: &'a HashMap<(Version, u32), Section>,
    /// Hashes of the texts that were read.
    seen: HashSet<u64>,
}

impl Reading<'_> {
    /// The text of a unit with its document; none where it was read before.
    fn unseen(&mut self, key: UnitKey, score: f64) -> Result<Option<SearchHit>, StoreError> {
        let current = self.known.get(&key.document).and_then(|known| known.current.as_ref());
        let (Some(passage), Some(current)) = (self.passages.get(&key), current) else {
            return Ok(None);
        };
        let Some(section) = self.sections.get(&(key.version, passage.section)) else {
            return Err(StoreError::DamagedDocument {
                collection: self.name.to_owned(),
                document: key.document,
                reason: format!("section {} is missing", passage.section),
            });
        };
        let (start, end, text) = match self.unit {
            Unit::Section => part(section, None),
            Unit::Chunk => part(section, Some((passage.start, passage.end))),
        };
        if !self.seen.insert(content_hash(&text)) {
            return Ok(None);
        }
        Ok(Some(SearchHit {
            document: key.document,
            title: current.title.clone(),
            source: current.source.clone(),
            metadata: current.metadata.clone(),
            unit: self.unit,
            index: key.index,
            start,
            end,
            language: passage.language.unwrap_or_else(|| foreign::language(&text)),
            text,
            headings: section.headings.clone(),
            score,
        }))
    }
}
