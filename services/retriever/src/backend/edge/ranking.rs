//! Ranks the units of a collection for a query.

use std::collections::HashSet;

use super::catalog::{CatalogError, Snapshot};
use super::index::{Index, IndexError, Point};
use super::open::OpenError;
use super::units;
use crate::backend::gather::{Candidates, Enough, gather};
use crate::backend::ranking::{FUSION_DEPTH, RANKED_PER_UNIT, content_hash, first_candidates};
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
    Ok(distinct(snapshot, rank(index, snapshot, search)?, search)?)
}

/// The units for a search, best first; at most [`RANKED_PER_UNIT`] times its limit.
fn rank(index: &Index, snapshot: &Snapshot, search: &Search) -> Result<Vec<(UnitKey, f64)>, OpenError> {
    let limit = search.limit.saturating_mul(RANKED_PER_UNIT);
    let ranking = Ranking {
        index,
        snapshot,
        search,
    };
    match &search.query {
        Query::Dense(embedding) => ranking.dense(embedding, limit),
        Query::Sparse(terms) => ranking.sparse(terms, limit),
        Query::Hybrid(embedding, terms) => {
            let depth = limit.max(FUSION_DEPTH);
            let units = |ranked: Vec<(UnitKey, f64)>| ranked.into_iter().map(|(unit_key, _)| unit_key).collect();
            let (dense, sparse) = (ranking.dense(embedding, depth)?, ranking.sparse(terms, depth)?);
            let mut fused = reciprocal_rank([units(dense), units(sparse)]);
            fused.truncate(limit);
            Ok(fused)
        }
    }
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

/// Reads ranked units up to the limit of the search. Of copies, such as a licence in every file, only the best is taken.
fn distinct(snapshot: &Snapshot, ranked: Vec<(UnitKey, f64)>, search: &Search) -> Result<Vec<SearchHit>, CatalogError> {
    let (mut seen, mut hits) = (HashSet::new(), Vec::new());
    for (unit_key, score) in ranked {
        if hits.len() == search.limit {
            break;
        }
        let hit = search_hit(snapshot, unit_key, search.unit, score)?;
        if seen.insert(content_hash(&hit.text)) {
            hits.push(hit);
        }
    }
    Ok(hits)
}

/// Reads the text of a unit and its document.
fn search_hit(snapshot: &Snapshot, unit_key: UnitKey, unit: Unit, score: f64) -> Result<SearchHit, CatalogError> {
    let record = snapshot.document(&unit_key.document)?.ok_or_else(|| {
        CatalogError::Corrupted(format!("document {:?} has passages and no record", unit_key.document))
    })?;
    let StoredUnit {
        start,
        end,
        text,
        headings,
        ..
    } = units::unit(snapshot, unit_key.version, unit, unit_key.index)?;
    Ok(SearchHit {
        document: unit_key.document,
        title: record.title,
        source: record.source,
        metadata: record.metadata,
        unit,
        index: unit_key.index,
        start,
        end,
        text,
        headings,
        score,
    })
}

#[cfg(test)]
mod tests;
