//! Contextual token vectors, for late interaction.

use super::{Embedding, cosine, normalize};

/// The token vectors of one text that was given in pieces, such as the sentences of a passage.
///
/// The vectors are quantised to 8 bits per value: a passage of 250 tokens and 384 dimensions takes 95 KiB.
#[derive(Clone, Debug)]
pub struct TokenVectors {
    /// Dimensions of a vector.
    width: usize,
    tokens: Vec<Token>,
    /// Quantised values, `width` per token.
    values: Vec<i8>,
    /// Quantisation scale of each token. The dequantised vectors have an L2 norm of 1.
    scales: Vec<f32>,
    /// The share of each token in [`answer_similarities`](Self::answer_similarities); they sum to 1.
    weights: Vec<f32>,
    whole: Embedding,
    pieces: usize,
}

/// One token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// The text in the model's vocabulary, such as `▁boil` or `##er`.
    pub text: Box<str>,
    /// Index of the piece that contains the token.
    pub piece: usize,
}

impl TokenVectors {
    /// Creates the token vectors from `rows`, which has `width` values per token. `whole` is the embedding of the whole
    /// text: the mean of all rows, including those of special tokens and prefix.
    pub fn new(width: usize, tokens: Vec<Token>, rows: &[f32], pieces: usize, whole: Embedding) -> Self {
        let (mut values, mut scales) = (Vec::with_capacity(rows.len()), Vec::with_capacity(tokens.len()));
        for (_, row) in tokens.iter().zip(rows.chunks_exact(width.max(1))) {
            let norm = row.iter().map(|value| value * value).sum::<f32>().sqrt();
            let max = row.iter().fold(0.0_f32, |max, value| max.max(value.abs()));
            if max == 0.0 {
                values.resize(values.len() + width, 0);
                scales.push(0.0);
                continue;
            }
            values.extend(row.iter().map(|value| (value / max * 127.0).round() as i8));
            scales.push(max / 127.0 / norm);
        }
        let weights = vec![1.0 / tokens.len().max(1) as f32; tokens.len()];
        Self {
            width,
            tokens,
            values,
            scales,
            weights,
            whole,
            pieces,
        }
    }

    /// Weighs the tokens by the softmax of their dot products with `direction`, which has the dimensions of a vector, in place of
    /// equally.
    #[must_use]
    pub fn weighted(mut self, direction: &[f32]) -> Self {
        let logits: Vec<f32> = (0..self.tokens.len())
            .map(|at| self.vector(at).zip(direction).map(|(value, own)| value * own).sum())
            .collect();
        let max = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let shares = logits.iter().map(|logit| (logit - max).exp());
        let total: f32 = shares.clone().sum();
        self.weights = shares.map(|share| share / total).collect();
        self
    }

    /// How well each piece of `passage` answers this question, −1 to 1: the mean of the cosine similarity of their mean vectors
    /// and of MaxSim, the cosine similarity of each of the question's tokens with its closest one, weighted. −1 for a piece
    /// without tokens, or if the dimensions differ.
    #[must_use]
    pub fn answer_similarities(&self, passage: &Self) -> Vec<f32> {
        let mut sums = vec![vec![0.0_f32; passage.width]; passage.pieces];
        let mut nearest = vec![vec![-1.0_f32; self.tokens.len()]; passage.pieces];
        for (at, token) in passage.tokens.iter().enumerate() {
            let (Some(sum), Some(nearest)) = (sums.get_mut(token.piece), nearest.get_mut(token.piece)) else {
                continue;
            };
            for (sum, value) in sum.iter_mut().zip(passage.vector(at)) {
                *sum += value;
            }
            for (own, best) in nearest.iter_mut().enumerate() {
                *best = best.max(self.cosine(own, passage, at));
            }
        }
        let mut question = vec![0.0; self.width];
        for at in 0..self.tokens.len() {
            for (sum, value) in question.iter_mut().zip(self.vector(at)) {
                *sum += value;
            }
        }
        normalize(&mut question);
        let similarity = |(mut sum, nearest): (Vec<f32>, Vec<f32>)| {
            if self.width != passage.width || sum.iter().all(|value| *value == 0.0) {
                return -1.0;
            }
            normalize(&mut sum);
            let late: f32 = nearest
                .iter()
                .zip(&self.weights)
                .map(|(best, weight)| best * weight)
                .sum();
            f32::midpoint(cosine(&question, &sum), late)
        };
        sums.into_iter().zip(nearest).map(similarity).collect()
    }

    /// The dequantised vector of a token, with an L2 norm of 1; nothing if there is no such token.
    fn vector(&self, at: usize) -> impl Iterator<Item = f32> + '_ {
        let values = self
            .values
            .get(at * self.width..(at + 1) * self.width)
            .unwrap_or_default();
        let scale = self.scales.get(at).copied().unwrap_or_default();
        values.iter().map(move |value| f32::from(*value) * scale)
    }

    /// The embedding of the whole text.
    pub fn whole(&self) -> &Embedding {
        &self.whole
    }

    /// The number of pieces that the text was given in.
    pub fn pieces(&self) -> usize {
        self.pieces
    }

    /// The tokens in order.
    pub fn tokens(&self) -> &[Token] {
        &self.tokens
    }

    /// The cosine similarity of token `at` and token `other_at` of `other`, −1 to 1. 0 if one of them does not exist or
    /// the dimensions differ.
    pub fn cosine(&self, at: usize, other: &Self, other_at: usize) -> f32 {
        if self.width != other.width {
            return 0.0;
        }
        let row = |vectors: &Self, at: usize| -> Option<(std::ops::Range<usize>, f32)> {
            Some((at * vectors.width..(at + 1) * vectors.width, *vectors.scales.get(at)?))
        };
        let (Some((left, left_scale)), Some((right, right_scale))) = (row(self, at), row(other, other_at)) else {
            return 0.0;
        };
        let (Some(left), Some(right)) = (self.values.get(left), other.values.get(right)) else {
            return 0.0;
        };
        let dot: i32 = left.iter().zip(right).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum();
        (dot as f32 * left_scale * right_scale).clamp(-1.0, 1.0)
    }

    /// Approximate memory size in bytes.
    pub(super) fn size(&self) -> usize {
        self.values.len() + self.tokens.len() * 44 + self.width * size_of::<f32>() + 16
    }
}

#[cfg(test)]
mod tests;
