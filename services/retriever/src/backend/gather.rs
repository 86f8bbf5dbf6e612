//! Groups search candidates by their parent unit, fetching more until the limit is reached (R10).

use std::collections::{BTreeMap, HashSet};
use std::hash::Hash;

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
/// The score of a unit is that of its best candidate. A search is made with [`GROWTH`] times as many candidates each time, until there
/// are enough distinct units, including all that tie with the last one, or no more candidates.
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
        let lowest = units.last().map(|(_, score)| *score);
        let mut best: BTreeMap<K, f64> = BTreeMap::new();
        for (unit, score) in units {
            best.entry(unit)
                .and_modify(|known| *known = known.max(score))
                .or_insert(score);
        }
        // The map is ordered by `K`, and the sort is stable.
        let mut ranked: Vec<(K, f64)> = best.into_iter().collect();
        ranked.sort_by(|(_, left), (_, right)| right.total_cmp(left));
        // A tie at the limit would make the result unstable: search on until the lowest score is below the last
        // returned one.
        let last = self.limit.checked_sub(1).and_then(|last| ranked.get(last));
        let settled = last.is_some_and(|(_, score)| lowest.is_some_and(|lowest| lowest < *score));
        if exhausted || settled || self.candidates >= MAX_CANDIDATES {
            ranked.truncate(self.limit);
            return Some(ranked);
        }
        self.candidates = (self.candidates * GROWTH).min(MAX_CANDIDATES);
        None
    }
}

/// How many candidates a [`Gathering`] needs of those that were found, which come best first.
pub(crate) struct Enough<K> {
    limit: usize,
    units: HashSet<K>,
    /// The score of the last unit that is needed.
    last: Option<f64>,
}

impl<K: Eq + Hash> Enough<K> {
    /// For the best `limit` units.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            units: HashSet::new(),
            last: None,
        }
    }

    /// Whether there are enough with this one: `limit` units, and after them one that does not tie with the last of them.
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
