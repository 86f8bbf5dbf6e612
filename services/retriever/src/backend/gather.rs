//! Groups search candidates by their parent unit, fetching more until the limit is reached (R10).

use std::collections::{BTreeMap, BTreeSet};

/// Maximum candidates of one search.
const MAX_CANDIDATES: usize = 1 << 17;
/// How many times as many candidates the next search has.
const GROWTH: usize = 4;

/// The result of one search: the unit and score of each candidate, best first.
pub(crate) struct Candidates<K> {
    /// Unit and score. Candidates that no longer exist are left out.
    pub(crate) units: Vec<(K, f64)>,
    /// Whether a larger limit would return no more candidates.
    pub(crate) exhausted: bool,
}

/// Collects the `limit` best units, best first, with ties in the order of the units.
///
/// The score of a unit is that of its best candidate. A search is made with [`GROWTH`] times as many candidates each time,
/// until there are [`Enough`] or no more.
pub(crate) struct Gathering {
    limit: usize,
    candidates: usize,
}

impl Gathering {
    /// Begins with `first` candidates.
    pub(crate) fn new(limit: usize, first: usize) -> Self {
        Self {
            limit,
            candidates: first.clamp(1, MAX_CANDIDATES),
        }
    }

    /// How many candidates to search for next.
    pub(crate) fn candidates(&self) -> usize {
        self.candidates
    }

    /// The units, where these candidates suffice.
    pub(crate) fn offer<K: Ord>(&mut self, found: Candidates<K>) -> Option<Vec<(K, f64)>> {
        let Candidates { units, exhausted } = found;
        let mut enough = Enough::new(self.limit);
        let settled = units.iter().any(|(unit, score)| enough.with(unit, *score));
        let mut best: BTreeMap<K, f64> = BTreeMap::new();
        for (unit, score) in units {
            best.entry(unit)
                .and_modify(|known| *known = known.max(score))
                .or_insert(score);
        }
        // The map is ordered by `K`, and the sort is stable.
        let mut ranked: Vec<(K, f64)> = best.into_iter().collect();
        ranked.sort_by(|(_, left), (_, right)| right.total_cmp(left));
        if exhausted || settled || self.candidates >= MAX_CANDIDATES {
            ranked.truncate(self.limit);
            return Some(ranked);
        }
        self.candidates = (self.candidates * GROWTH).min(MAX_CANDIDATES);
        None
    }
}

/// When there are enough candidates, which come best first: with the best units, all that tie with the last of them, and one
/// that does not. A tie at the limit would make the result unstable.
pub(crate) struct Enough<K> {
    limit: usize,
    units: BTreeSet<K>,
    /// The score of the last unit that is needed.
    last: Option<f64>,
}

impl<K: Ord> Enough<K> {
    /// For the best `limit` units.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            units: BTreeSet::new(),
            last: None,
        }
    }

    /// Whether there are enough with this one.
    pub(crate) fn with(&mut self, unit: K, score: f64) -> bool {
        if self.last.is_none() && self.units.insert(unit) && self.units.len() == self.limit {
            self.last = Some(score);
        }
        self.last.is_some_and(|last| score < last)
    }
}

/// [`Gathering`] with a search that does not wait.
///
/// # Errors
/// The first error of `search`.
pub(crate) fn gather<K: Ord, E>(
    limit: usize,
    first: usize,
    mut search: impl FnMut(usize) -> Result<Candidates<K>, E>,
) -> Result<Vec<(K, f64)>, E> {
    let mut gathering = Gathering::new(limit, first);
    loop {
        if let Some(ranked) = gathering.offer(search(gathering.candidates())?) {
            return Ok(ranked);
        }
    }
}

#[cfg(test)]
mod tests;
