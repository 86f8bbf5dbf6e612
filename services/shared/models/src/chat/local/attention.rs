//! Causal multi-head attention over the KV cache.

use std::ops::Range;

use rayon::prelude::*;

/// Partial sums of a dot product, for SIMD.
const LANES: usize = 16;
/// Minimum number of query–key products to run attention on several threads.
const PARALLEL_THRESHOLD: usize = 1 << 14;

/// The KV cache of one layer: the keys and values of all tokens so far, one contiguous list per key/value head.
pub(super) struct KvCache {
    keys: Vec<Vec<f32>>,
    values: Vec<Vec<f32>>,
    /// Head dimension.
    size: usize,
}

/// The attention heads of a layer (grouped-query attention).
pub(super) struct Heads {
    /// Number of query heads, a multiple of `keys`.
    pub(super) queries: usize,
    /// Number of key/value heads.
    pub(super) keys: usize,
    /// Head dimension.
    pub(super) size: usize,
    /// Scale of the attention scores, applied before the softmax.
    pub(super) scale: f32,
    /// Sliding window: the number of positions that a token attends to, itself included. `None` attends to all.
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

    /// Appends the keys and values of new tokens, one row of `heads · size` values per token.
    pub(super) fn extend(&mut self, keys: &[f32], values: &[f32], size: usize) {
        self.size = size;
        for (cache, rows) in [(&mut self.keys, keys), (&mut self.values, values)] {
            let width = cache.len() * size;
            for row in rows.chunks_exact(width) {
                for (cache, head) in cache.iter_mut().zip(row.chunks_exact(size)) {
                    cache.extend_from_slice(head);
                }
            }
        }
    }

    /// Keeps only the first `tokens` tokens.
    pub(super) fn truncate(&mut self, tokens: usize) {
        for cache in self.keys.iter_mut().chain(&mut self.values) {
            cache.truncate(tokens * self.size);
        }
    }
}

/// Computes the attention of the tokens at `positions`. `queries` and the result have one row of
/// `heads.queries · heads.size` values per token. `cache` already contains the keys and values of these tokens.
pub(super) fn attend(queries: &[f32], cache: &KvCache, positions: Range<usize>, heads: &Heads) -> Vec<f32> {
    let width = heads.queries * heads.size;
    let mut output = vec![0.0; queries.len()];
    let attend_row = |(position, (output, queries)): (usize, (&mut [f32], &[f32]))| {
        let from = heads.window.map_or(0, |window| (position + 1).saturating_sub(window));
        let visible = from * heads.size..(position + 1) * heads.size;
        let mut weights = vec![0.0; position + 1 - from];
        let group = heads.queries / heads.keys;
        for (index, (output, query)) in output
            .chunks_exact_mut(heads.size)
            .zip(queries.chunks_exact(heads.size))
            .enumerate()
        {
            let keys = rows(&cache.keys, index / group, &visible);
            let values = rows(&cache.values, index / group, &visible);
            pulp::Arch::new().dispatch(|| attend_head(query, keys, values, heads, &mut weights, output));
        }
    };
    let products = positions.len() * positions.end * heads.queries;
    let rows = output.chunks_exact_mut(width).zip(queries.chunks_exact(width));
    if products < PARALLEL_THRESHOLD || positions.len() == 1 {
        positions.zip(rows).for_each(attend_row);
    } else {
        let rows: Vec<_> = positions.zip(rows).collect();
        rows.into_par_iter().for_each(attend_row);
    }
    output
}

/// The visible rows of a head: a range of its cached keys or values.
fn rows<'a>(heads: &'a [Vec<f32>], head: usize, visible: &Range<usize>) -> &'a [f32] {
    heads
        .get(head)
        .and_then(|rows| rows.get(visible.clone()))
        .unwrap_or_default()
}

/// Attention of one head of one token: the sum of `values`, weighted by the softmax of the scaled query–key products.
#[inline(always)]
fn attend_head(query: &[f32], keys: &[f32], values: &[f32], heads: &Heads, weights: &mut [f32], output: &mut [f32]) {
    let mut max = f32::MIN;
    for (weight, key) in weights.iter_mut().zip(keys.chunks_exact(heads.size)) {
        *weight = product(query, key) * heads.scale;
        max = max.max(*weight);
    }
    let mut sum = 0.0;
    for weight in &mut *weights {
        *weight = (*weight - max).exp();
        sum += *weight;
    }
    for (weight, value) in weights.iter().zip(values.chunks_exact(heads.size)) {
        let weight = weight / sum;
        for (output, value) in output.iter_mut().zip(value) {
            *output += weight * value;
        }
    }
}

/// Dot product, with the widest SIMD instructions of the CPU.
pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
    pulp::Arch::new().dispatch(|| product(a, b))
}

/// Dot product with several partial sums. The compiler cannot vectorise a single sum, because float addition is not
/// associative.
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
