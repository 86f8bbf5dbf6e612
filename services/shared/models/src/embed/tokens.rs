//! A text as the vectors of its tokens, each of which knows its neighbours: what late interaction compares.

use super::{Embedding, normalize};

/// The tokens of one text that was given in pieces, such as a passage in sentences.
///
/// The vectors are kept in eight bits a value: a passage of 250 tokens and 384 dimensions takes 95 KiB.
#[derive(Clone, Debug)]
pub struct TokenVectors {
    width: usize,
    tokens: Vec<Token>,
    /// `width` values a token.
    values: Vec<i8>,
    /// What one step of a token's values is worth, so that the token has a norm of 1.
    steps: Vec<f32>,
    whole: Embedding,
    means: Vec<Embedding>,
}

/// One token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// As the model's vocabulary writes it, such as `▁boil` or `##er`.
    pub text: Box<str>,
    /// The place of the piece that it is of.
    pub piece: usize,
}

impl TokenVectors {
    /// Of `rows`, `width` values a token, with the mean of all of the text's rows (marks and prefix among them).
    pub fn new(width: usize, tokens: Vec<Token>, rows: &[f32], pieces: usize, whole: Embedding) -> Self {
        let mut sums = vec![vec![0.0_f32; width]; pieces];
        let (mut values, mut steps) = (Vec::with_capacity(rows.len()), Vec::with_capacity(tokens.len()));
        for (token, row) in tokens.iter().zip(rows.chunks_exact(width.max(1))) {
            if let Some(sum) = sums.get_mut(token.piece) {
                for (sum, value) in sum.iter_mut().zip(row) {
                    *sum += value;
                }
            }
            let norm = row.iter().map(|value| value * value).sum::<f32>().sqrt();
            let most = row.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
            if most == 0.0 {
                values.resize(values.len() + width, 0);
                steps.push(0.0);
                continue;
            }
            values.extend(row.iter().map(|value| (value / most * 127.0).round() as i8));
            steps.push(most / 127.0 / norm);
        }
        for sum in &mut sums {
            normalize(sum);
        }
        Self {
            width,
            tokens,
            values,
            steps,
            whole,
            means: sums.into_iter().map(Embedding::from).collect(),
        }
    }

    /// The embedding of the whole text.
    pub fn whole(&self) -> &Embedding {
        &self.whole
    }

    /// For each piece the mean of its tokens, a unit vector; zeros for a piece without a token.
    pub fn means(&self) -> &[Embedding] {
        &self.means
    }

    /// The tokens in order.
    pub fn tokens(&self) -> &[Token] {
        &self.tokens
    }

    /// The cosine of token `at` with token `other_at` of `other`, −1 to 1; 0 where there is none or the models differ.
    pub fn cosine(&self, at: usize, other: &Self, other_at: usize) -> f32 {
        if self.width != other.width {
            return 0.0;
        }
        let row = |of: &Self, at: usize| -> Option<(std::ops::Range<usize>, f32)> {
            Some((at * of.width..(at + 1) * of.width, *of.steps.get(at)?))
        };
        let (Some((own, step)), Some((its, other_step))) = (row(self, at), row(other, other_at)) else {
            return 0.0;
        };
        let (Some(own), Some(its)) = (self.values.get(own), other.values.get(its)) else {
            return 0.0;
        };
        let dot: i32 = own.iter().zip(its).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum();
        (dot as f32 * step * other_step).clamp(-1.0, 1.0)
    }

    /// What it takes in memory, bytes.
    pub(super) fn size(&self) -> usize {
        let embeddings = (self.means.len() + 1) * (self.width * size_of::<f32>() + 16);
        self.values.len() + self.tokens.len() * 40 + embeddings
    }
}
