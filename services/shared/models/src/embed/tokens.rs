//! Contextual token vectors, for late interaction.

use super::Embedding;

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
        Self {
            width,
            tokens,
            values,
            scales,
            whole,
            pieces,
        }
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
        self.values.len() + self.tokens.len() * 40 + self.width * size_of::<f32>() + 16
    }
}
