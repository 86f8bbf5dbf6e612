//! An embedder without a model: feature hashing of words and character n-grams.
//!
//! Each feature of a text adds its weight with a random sign to the dimension that its hash selects (the hashing trick,
//! Weinberger et al. 2009), so texts that share words or parts of words are similar. It captures no meaning and no
//! cross-lingual similarity. It is for tests, and for trying out the system without a download.

use emend_core::{PIECE_BYTES, Turns};
use futures::future::{BoxFuture, FutureExt};
use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

use super::{EmbedError, Embedder, Embedding, Input, normalize};

const DIMENSIONS: usize = 256;
/// Longer than any passage, and short enough that a text of megabytes does not block the executor.
const MAX_WORDS: usize = 8192;
/// A whole word is more specific than an n-gram of it.
const WORD_WEIGHT: f32 = 1.0;
const GRAM_WEIGHT: f32 = 0.35;

/// The embedder named `hashed-256`: deterministic, 256 dimensions, no weights.
#[derive(Clone, Copy, Debug, Default)]
pub struct HashedEmbedder;

impl HashedEmbedder {
    fn vector(text: &str) -> Embedding {
        let text: String = text.nfkc().flat_map(char::to_lowercase).collect();
        let mut vector = vec![0.0_f32; DIMENSIONS];
        for word in text.unicode_words().take(MAX_WORDS) {
            add(&mut vector, word.as_bytes(), b'w', WORD_WEIGHT);
            // Boundary markers distinguish n-grams at the start and end of the word.
            let marked: Vec<char> = std::iter::once('^')
                .chain(word.chars())
                .chain(std::iter::once('$'))
                .collect();
            for gram in marked.windows(3) {
                let gram: String = gram.iter().collect();
                add(&mut vector, gram.as_bytes(), b'g', GRAM_WEIGHT);
            }
        }
        // Chinese and Japanese have no spaces, and the segmentation yields single characters: add character bigrams.
        let letters: Vec<char> = text.chars().filter(|c| c.is_alphanumeric()).take(MAX_WORDS).collect();
        for pair in letters.windows(2).filter(|pair| pair.iter().all(|c| !c.is_ascii())) {
            let pair: String = pair.iter().collect();
            add(&mut vector, pair.as_bytes(), b'p', WORD_WEIGHT);
        }
        // Sublinear term frequency.
        for value in &mut vector {
            *value = value.signum() * value.abs().sqrt();
        }
        normalize(&mut vector);
        vector.into()
    }
}

fn add(vector: &mut [f32], feature: &[u8], space: u8, weight: f32) {
    let hash = fnv1a(space, feature);
    let sign = if hash >> 63 == 0 { 1.0 } else { -1.0 };
    let index = (hash % DIMENSIONS as u64) as usize;
    if let Some(value) = vector.get_mut(index) {
        *value += sign * weight;
    }
}

/// FNV-1a of the feature, prefixed with one byte for its kind, with a final mix of the high bits.
fn fnv1a(space: u8, bytes: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in std::iter::once(&space).chain(bytes) {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^ (hash >> 33)
}

impl Embedder for HashedEmbedder {
    fn id(&self) -> &str {
        "hashed-256"
    }

    fn dimensions(&self) -> usize {
        DIMENSIONS
    }

    fn max_tokens(&self) -> usize {
        MAX_WORDS
    }

    fn count_tokens(&self, text: &str) -> usize {
        text.unicode_words().count()
    }

    fn embed<'a>(&'a self, _kind: Input, texts: Vec<String>) -> BoxFuture<'a, Result<Vec<Embedding>, EmbedError>> {
        async move {
            let bytes: usize = texts.iter().map(String::len).sum();
            if bytes <= PIECE_BYTES {
                return Ok(texts.iter().map(|text| Self::vector(text)).collect());
            }
            let embedded = Turns::shared().each(texts, String::len, |text| Self::vector(&text));
            embedded.await.map_err(|error| EmbedError::Model {
                model: self.id().to_owned(),
                detail: error.to_string(),
            })
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests;
