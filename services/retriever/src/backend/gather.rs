//! Children of one parent become one passage, and further ones fill up to the limit (R10).

use std::collections::BTreeMap;

/// Searches never ask for more candidates than this at once.
const MAX_CANDIDATES: usize = 1 << 17;

/// One answer of the underlying search: which unit each candidate belongs to and its score, best first.
pub(crate) struct Candidates<K> {
    /// Unit and score; candidates that no longer exist are left out.
    pub(crate) units: Vec<(K, f64)>,
    /// Whether a larger limit would find no more.
    pub(crate) exhausted: bool,
}

/// Collects the `limit` best units, best first, equal scores in the order of `K`.
///
/// A unit's score is that of its best candidate. `search` is asked for twice as many candidates each time until enough
/// distinct units are found, with all that have the last one's score, or there are no more.
///
/// # Errors
/// The first error of `search`.
pub(crate) fn gather<K: Ord, E>(
    limit: usize,
    first: usize,
    mut search: impl FnMut(usize) -> Result<Candidates<K>, E>,
) -> Result<Vec<(K, f64)>, E> {
    let mut candidates = first.clamp(1, MAX_CANDIDATES);
    loop {
        let Candidates { units, exhausted } = search(candidates)?;
        let lowest = units.last().map(|(_, score)| *score);
        let mut best: BTreeMap<K, f64> = BTreeMap::new();
        for (unit, score) in units {
            best.entry(unit)
                .and_modify(|known| *known = known.max(score))
                .or_insert(score);
        }
        // The map is in the order of `K`, and the sort is stable.
        let mut ranked: Vec<(K, f64)> = best.into_iter().collect();
        ranked.sort_by(|(_, left), (_, right)| right.total_cmp(left));
        // A tie at the edge could go either way next time: look further until the edge is below what is returned.
        let settled = limit
            .checked_sub(1)
            .and_then(|last| ranked.get(last))
            .is_some_and(|(_, score)| lowest.is_some_and(|lowest| lowest < *score));
        if exhausted || settled || candidates >= MAX_CANDIDATES {
            ranked.truncate(limit);
            return Ok(ranked);
        }
        candidates = (candidates * 2).min(MAX_CANDIDATES);
    }
}

#[cfg(test)]
mod tests;
