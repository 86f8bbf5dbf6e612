//! Attention of new tokens to those before them, head by head over what is kept.

use std::ops::Range;

use rayon::prelude::*;

const LANES: usize = 16;
/// Products of a query and a key above which the work is worth more than one thread.
const MANY: usize = 1 << 14;

/// Keys and values of the tokens so far in one layer, a list for each head of theirs.
pub(super) struct KvCache {
    keys: Vec<Vec<f32>>,
    values: Vec<Vec<f32>>,
    size: usize,
}

/// How the heads of a layer look.
pub(super) struct Heads {
    /// Heads of the queries, a multiple of those of the keys.
    pub(super) queries: usize,
    pub(super) keys: usize,
    /// Values of a head.
    pub(super) size: usize,
    /// What a product is multiplied by.
    pub(super) scale: f32,
    /// How many positions a token looks back, itself included.
    pub(super) window: Option<usize>,
}

impl KvCache {
    pub(super) fn new(heads: usize) -> Self {
        Self {
            keys: vec![Vec::new(); heads],
            values: vec![Vec::new(); heads],
            size: 0,
        }
    }

    /// Keeps those of more tokens, given as a row a token; a head has `size` values.
    pub(super) fn extend(&mut self, keys: &[f32], values: &[f32], size: usize) {
        self.size = size;
        for (kept, rows) in [(&mut self.keys, keys), (&mut self.values, values)] {
            let width = kept.len() * size;
            for row in rows.chunks_exact(width) {
                for (kept, head) in kept.iter_mut().zip(row.chunks_exact(size)) {
                    kept.extend_from_slice(head);
                }
            }
        }
    }

    /// Forgets all but the first `tokens`.
    pub(super) fn truncate(&mut self, tokens: usize) {
        for kept in self.keys.iter_mut().chain(&mut self.values) {
            kept.truncate(tokens * self.size);
        }
    }
}

/// What the tokens at `places` see: for each a row with `heads.queries` heads, as `queries` has. Their own keys and
/// values are among those kept.
pub(super) fn attend(queries: &[f32], kept: &KvCache, places: Range<usize>, heads: &Heads) -> Vec<f32> {
    let width = heads.queries * heads.size;
    let mut seen = vec![0.0; queries.len()];
    let see = |(place, (seen, queries)): (usize, (&mut [f32], &[f32]))| {
        let from = heads.window.map_or(0, |window| (place + 1).saturating_sub(window));
        let visible = from * heads.size..(place + 1) * heads.size;
        let mut weights = vec![0.0; place + 1 - from];
        let shared = heads.queries / heads.keys;
        for (index, (seen, query)) in seen
            .chunks_exact_mut(heads.size)
            .zip(queries.chunks_exact(heads.size))
            .enumerate()
        {
            let keys = rows(&kept.keys, index / shared, &visible);
            let values = rows(&kept.values, index / shared, &visible);
            pulp::Arch::new().dispatch(|| one(query, keys, values, heads, &mut weights, seen));
        }
    };
    let work = places.len() * places.end * heads.queries;
    let rows = seen.chunks_exact_mut(width).zip(queries.chunks_exact(width));
    if work < MANY || places.len() == 1 {
        places.zip(rows).for_each(see);
    } else {
        let rows: Vec<_> = places.zip(rows).collect();
        rows.into_par_iter().for_each(see);
    }
    seen
}

fn rows<'a>(heads: &'a [Vec<f32>], head: usize, visible: &Range<usize>) -> &'a [f32] {
    heads
        .get(head)
        .and_then(|rows| rows.get(visible.clone()))
        .unwrap_or_default()
}

/// One head of one token: the softmax of its products with `keys` as weights of `values`.
#[inline(always)]
fn one(query: &[f32], keys: &[f32], values: &[f32], heads: &Heads, weights: &mut [f32], seen: &mut [f32]) {
    let mut most = f32::MIN;
    for (weight, key) in weights.iter_mut().zip(keys.chunks_exact(heads.size)) {
        *weight = product(query, key) * heads.scale;
        most = most.max(*weight);
    }
    let mut sum = 0.0;
    for weight in &mut *weights {
        *weight = (*weight - most).exp();
        sum += *weight;
    }
    for (weight, value) in weights.iter().zip(values.chunks_exact(heads.size)) {
        let weight = weight / sum;
        for (seen, value) in seen.iter_mut().zip(value) {
            *seen += weight * value;
        }
    }
}

/// Σ aᵢ·bᵢ, with the best instructions that the processor has.
pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
    pulp::Arch::new().dispatch(|| product(a, b))
}

/// A sum in several lanes: a single one would have to add in order, one value at a time.
#[inline(always)]
fn product(a: &[f32], b: &[f32]) -> f32 {
    let ((a_lanes, a_rest), (b_lanes, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut sums = [0.0_f32; LANES];
    for (a, b) in a_lanes.iter().zip(b_lanes) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a * b;
        }
    }
    sums.iter().sum::<f32>() + a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum::<f32>()
}

#[cfg(test)]
mod tests;
