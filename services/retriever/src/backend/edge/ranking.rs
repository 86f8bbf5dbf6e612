//! Ranks the units of a collection for a query.

use std::collections::HashSet;

use emend_text::Language;

use super::catalog::{CatalogError, Snapshot};
use super::index::{Index, IndexError, Point};
use super::open::OpenError;
use super::units;
use crate::backend::foreign::{self, with_foreign};
use crate::backend::gather::{Candidates, Enough, gather};
use crate::backend::ranking::{FUSION_DEPTH, RANKED_PER_UNIT, content_hash, distinct, first_candidates};
use crate::backend::{Query, Search, SearchHit, StoredUnit, Unit};
use crate::fusion::reciprocal_rank;
use crate::terms::Terms;

/// A unit of a document. Ties are returned in this order.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct UnitKey {
    document: String,
    index: u32,
    version: u64,
}

/// The best units for a search, best first, each text once.
pub(super) fn find(index: &Index, snapshot: &Snapshot, search: &Search) -> Result<Vec<SearchHit>, OpenError> {
    let Ranked { units, nearest } = rank(index, snapshot, search)?;
    let mut reading = Reading {
        snapshot,
        unit: search.unit,
        seen: HashSet::new(),
    };
    let found = distinct(units, search.limit, |unit_key, score| reading.unseen(unit_key, score))?;
    Ok(match search.language {
        Some(asked) => with_foreign(asked, search.limit, found, (1..).zip(nearest), |unit_key, score| {
            reading.foreign(unit_key, score, asked)
        })?,
        None => found,
    })
}

/// The units for a search.
struct Ranked {
    /// Best first; at most [`RANKED_PER_UNIT`] times its limit.
    units: Vec<(UnitKey, f64)>,
    /// Of a hybrid search, those of its embedding, nearest first.
    nearest: Vec<UnitKey>,
}

fn rank(index: &Index, snapshot: &Snapshot, search: &Search) -> Result<Ranked, OpenError> {
    let limit = search.limit.saturating_mul(RANKED_PER_UNIT);
    let ranking = Ranking {
        index,
        snapshot,
        search,
    };
    let by_one = |units| Ranked {
        units,
        nearest: Vec::new(),
    };
    Ok(match &search.query {
        Query::Dense(embedding) => by_one(ranking.dense(embedding, limit)?),
        Query::Sparse(terms) => by_one(ranking.sparse(terms, limit)?),
        Query::Hybrid(embedding, terms) => {
            let depth = limit.max(FUSION_DEPTH);
            let keys =
                |ranked: Vec<(UnitKey, f64)>| ranked.into_iter().map(|(unit_key, _)| unit_key).collect::<Vec<_>>();
            let (nearest, sparse) = (
                keys(ranking.dense(embedding, depth)?),
                keys(ranking.sparse(terms, depth)?),
            );
            let mut units = reciprocal_rank([nearest.clone(), sparse]);
            units.truncate(limit);
            Ranked { units, nearest }
        }
    })
}

struct Ranking<'a> {
    index: &'a Index,
    snapshot: &'a Snapshot,
    search: &'a Search,
}

impl Ranking<'_> {
    fn dense(&self, embedding: &[f32], limit: usize) -> Result<Vec<(UnitKey, f64)>, OpenError> {
        self.units(limit, |limit| self.index.nearest(embedding, self.search, limit))
    }

    fn sparse(&self, terms: &Terms, limit: usize) -> Result<Vec<(UnitKey, f64)>, OpenError> {
        self.units(limit, |limit| self.index.matching(terms, &self.search.filter, limit))
    }

    /// The best `limit` units of the points that `points` finds.
    fn units(
        &self,
        limit: usize,
        points: impl Fn(usize) -> Result<Vec<(Point, f64)>, IndexError>,
    ) -> Result<Vec<(UnitKey, f64)>, OpenError> {
        gather(limit, first_candidates(self.search.unit, limit), |candidates| {
            let hits = points(candidates)?;
            let exhausted = hits.len() < candidates;
            let (mut units, mut enough) = (Vec::new(), Enough::new(limit));
            for (point, score) in hits {
                // The document is missing if its version is not published yet, or replaced and not removed yet.
                let Some(document) = self.snapshot.document_of(point.version)? else {
                    continue;
                };
                let index = match self.search.unit {
                    Unit::Chunk => point.chunk,
                    Unit::Section => self.snapshot.chunk(point.version, point.chunk)?.0,
                };
                units.push((
                    UnitKey {
                        document,
                        index,
                        version: point.version,
                    },
                    score,
                ));
                // What comes after it is not looked up: that costs more than finding it did.
                if enough.with((point.version, index), score) {
                    break;
                }
            }
            Ok(Candidates { units, exhausted })
        })
    }
}

/// Reads units, of each text the first.
struct Reading<'a> {
    snapshot: &'a Snapshot,
    unit: Unit,
    /// Hashes of the texts that were read.
    seen: HashSet<u64>,
}

impl Reading<'_> {
    /// A unit that is in another language than `asked` and whose text was not read; none otherwise.
    fn foreign(&mut self, unit_key: UnitKey, score: f64, asked: Language) -> Result<Option<SearchHit>, CatalogError> {
        let section = match self.unit {
            Unit::Section => unit_key.index,
            Unit::Chunk => self.snapshot.chunk(unit_key.version, unit_key.index)?.0,
        };
        if self.snapshot.language(unit_key.version, section)? == Some(asked) {
            return Ok(None);
        }
        let hit = self.unseen(unit_key, score)?;
        // Where the language is not stored, the text had to be read to tell.
        Ok(hit.filter(|hit| hit.language != asked))
    }

    /// The text of a unit with its document; none where it was read before.
    fn unseen(&mut self, unit_key: UnitKey, score: f64) -> Result<Option<SearchHit>, CatalogError> {
        let record = self.snapshot.document(&unit_key.document)?.ok_or_else(|| {
            CatalogError::Corrupted(format!("document {:?} has passages and no record", unit_key.document))
        })?;
        let (section, unit) = units::unit(self.snapshot, unit_key.version, self.unit, unit_key.index)?;
        if !self.seen.insert(content_hash(&unit.text)) {
            return Ok(None);
        }
        let language = match self.snapshot.language(unit_key.version, section)? {
            Some(stored) => stored,
            None => foreign::language(&unit.text),
        };
        let StoredUnit {
            start,
            end,
            text,
            headings,
            ..
        } = unit;
        Ok(Some(SearchHit {
            document: unit_key.document,
            title: record.title,
            source: record.source,
            metadata: record.metadata,
            unit: self.unit,
            index: unit_key.index,
            start,
            end,
            text,
            language,
            headings,
            score,
        }))
    }
}

#[cfg(test)]
mod tests;
