//! Fewer questions of a set, of every kind.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

use crate::data::{Case, Expect};

/// At most `limit` of `cases`, in their order: spread as evenly as there are questions over the kinds, within a kind over
/// the languages, and of those the ones whose text hashes lowest. That depends on the questions and not on their order,
/// and what is taken for a smaller limit is taken for a larger one too.
#[must_use]
pub(super) fn sample(cases: Vec<Case>, limit: usize) -> Vec<Case> {
    let mut kinds: BTreeMap<Expect, BTreeMap<&str, Vec<(_, usize)>>> = BTreeMap::new();
    for (index, case) in cases.iter().enumerate() {
        let hash = Sha256::digest(format!("{}\n{}", case.id, case.question));
        let langs = kinds.entry(case.expect).or_default();
        langs.entry(&case.lang).or_default().push((hash, index));
    }
    let size = |langs: &BTreeMap<&str, Vec<_>>| langs.values().map(Vec::len).sum();
    let quotas = spread(limit, &kinds.values().map(size).collect::<Vec<_>>());
    let mut taken = vec![false; cases.len()];
    for (langs, quota) in kinds.into_values().zip(quotas) {
        let quotas = spread(quota, &langs.values().map(Vec::len).collect::<Vec<_>>());
        for (mut questions, quota) in langs.into_values().zip(quotas) {
            questions.sort_unstable();
            for (_, index) in questions.into_iter().take(quota) {
                taken[index] = true;
            }
        }
    }
    let kept = cases.into_iter().zip(taken);
    kept.filter_map(|(case, taken)| taken.then_some(case)).collect()
}

/// How many to take of groups of these sizes so that no two that have enough differ by more than one; the first groups
/// get one more where it does not come out even. At most `most` in all.
#[must_use]
pub(crate) fn spread(most: usize, sizes: &[usize]) -> Vec<usize> {
    let mut taken = vec![0; sizes.len()];
    let mut left = most.min(sizes.iter().sum());
    while left > 0 {
        for (taken, size) in taken.iter_mut().zip(sizes) {
            if left > 0 && *taken < *size {
                *taken += 1;
                left -= 1;
            }
        }
    }
    taken
}

#[cfg(test)]
mod tests;
