//! Sparse vectors of words, for BM25.
//!
//! The weights follow Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009). A passage's
//! vector has the part that depends on the passage alone, term frequency with saturation and length normalisation; the
//! store multiplies by the inverse document frequency, which changes with each document, when it searches.

use std::collections::BTreeMap;
use std::hash::Hasher;

use emend_text::content_words;
use fnv::FnvHasher;

/// BM25's k1, term saturation: the smaller, the less a repeated word adds.
const K1: f32 = 1.2;
/// BM25's b, length normalisation, 0–1: the larger, the less a longer passage scores.
const B: f32 = 0.75;
/// Words of a passage of usual length. A constant in place of the collection's mean, so that a stored vector stays right
/// when other documents come; chunks differ little in length.
const USUAL_WORDS: f32 = 120.0;

/// The words of a text as a sparse vector: hashes of words, ascending, and their weights.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Terms {
    /// 32-bit hashes of words, each once. Two words with one hash count as one.
    pub indices: Vec<u32>,
    /// The weight of each, above 0.
    pub weights: Vec<f32>,
}

impl Terms {
    /// The vector of a passage.
    pub fn of_passage(text: &str) -> Self {
        let counts = counts(text);
        let length: f32 = counts.values().sum();
        let norm = K1 * (1.0 - B + B * length / USUAL_WORDS);
        let weight = |count: f32| count * (K1 + 1.0) / (count + norm);
        counts
            .into_iter()
            .map(|(index, count)| (index, weight(count)))
            .collect()
    }

    /// The vector of a query: every word counts once.
    pub fn of_query(text: &str) -> Self {
        counts(text).into_keys().map(|index| (index, 1.0)).collect()
    }

    /// Whether there is no word.
    pub fn is_empty(&self) -> bool {
        self.indices.is_empty()
    }

    /// The vector as bytes: hash and weight by turns, little-endian.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let pairs = self.indices.iter().zip(&self.weights);
        pairs
            .flat_map(|(index, weight)| [index.to_le_bytes(), weight.to_le_bytes()])
            .flatten()
            .collect()
    }

    /// Reads [`to_bytes`](Self::to_bytes).
    pub(crate) fn from_bytes(bytes: &[u8]) -> Self {
        let (pairs, _) = bytes.as_chunks::<8>();
        pairs
            .iter()
            .map(|[a, b, c, d, weight @ ..]| (u32::from_le_bytes([*a, *b, *c, *d]), f32::from_le_bytes(*weight)))
            .collect()
    }
}

impl FromIterator<(u32, f32)> for Terms {
    fn from_iter<I: IntoIterator<Item = (u32, f32)>>(pairs: I) -> Self {
        let (indices, weights) = pairs.into_iter().unzip();
        Self { indices, weights }
    }
}

/// How often each word occurs, by its hash.
fn counts(text: &str) -> BTreeMap<u32, f32> {
    let mut counts = BTreeMap::new();
    for word in content_words(text) {
        *counts.entry(hash(&word)).or_default() += 1.0;
    }
    counts
}

/// FNV-1a, folded to 32 bits. It is stored, so it must never change.
fn hash(word: &str) -> u32 {
    let mut hasher = FnvHasher::default();
    hasher.write(word.as_bytes());
    let hash = hasher.finish();
    (hash >> 32) as u32 ^ hash as u32
}

#[cfg(test)]
mod tests;
