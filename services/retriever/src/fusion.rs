//! Joins rankings of the same units.

use std::collections::BTreeMap;

/// The constant of reciprocal rank fusion (Cormack, Clarke and Büttcher 2009): the larger, the less the first places
/// count for.
const K: f64 = 60.0;

/// Reciprocal rank fusion: the score of a unit is the sum of 1 / (60 + its rank), from 1, over the rankings that have it.
///
/// Returns all units, best first, with ties in the order of `T`.
pub(crate) fn reciprocal_rank<T: Ord>(rankings: impl IntoIterator<Item = Vec<T>>) -> Vec<(T, f64)> {
    let mut scores: BTreeMap<T, f64> = BTreeMap::new();
    for ranking in rankings {
        for (rank, unit) in (1_u32..).zip(ranking) {
            *scores.entry(unit).or_default() += reciprocal(rank);
        }
    }
    // The map is ordered by `T`, and the sort is stable.
    let mut ranked: Vec<(T, f64)> = scores.into_iter().collect();
    ranked.sort_by(|(_, left), (_, right)| right.total_cmp(left));
    ranked
}

/// The score of a unit with this rank, from 1, in one ranking.
pub(crate) fn reciprocal(rank: u32) -> f64 {
    1.0 / (K + f64::from(rank))
}

#[cfg(test)]
mod tests;
