//! An embedder without a model: hashed words and character n-grams.
//!
//! Each feature of a text adds ±1 at a place that its hash chooses (the hashing trick, Weinberger et al. 2009), so texts
//! that share words, or parts of words, are near one another. It knows nothing about meaning or other languages. It is
//! there for tests, and to see the rest of the system work before anything is downloaded.

use futures::future::{BoxFuture, FutureExt};
use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

use super::{EmbedError, Embedder, Embedding, Input, normalize};

const DIMENSIONS: usize = 256;
/// Long enough for any passage, short enough for a text of megabytes not to block.
const MAX_WORDS: usize = 8192;
/// A whole word says more than a piece of it.
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
            // Marks around the word tell its beginning and end from its middle.
            let marked: Vec<char> = std::iter::once('^')
                .chain(word.chars())
                .chain(std::iter::once('$'))
                .collect();
            for gram in marked.windows(3) {
                let gram: String = gram.iter().collect();
                add(&mut vector, gram.as_bytes(), b'g', GRAM_WEIGHT);
            }
        }
        // Chinese and Japanese have no spaces: the segmentation gives single characters, and it is their pairs that matter.
        let letters: Vec<char> = text.chars().filter(|c| c.is_alphanumeric()).take(MAX_WORDS).collect();
        for pair in letters.windows(2).filter(|pair| pair.iter().all(|c| !c.is_ascii())) {
            let pair: String = pair.iter().collect();
            add(&mut vector, pair.as_bytes(), b'p', WORD_WEIGHT);
        }
        // What occurs nine times is not nine times as important.
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
    let place = (hash % DIMENSIONS as u64) as usize;
    if let Some(value) = vector.get_mut(place) {
        *value += sign * weight;
    }
}

/// FNV-1a over one byte that tells the kinds of features apart, then the feature, with a final mix of the high bits.
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
            let mut embeddings = Vec::with_capacity(texts.len());
            for text in texts {
                embeddings.push(Self::vector(&text));
                // Microseconds each, but there may be thousands: let others run and notice that the caller left.
                tokio::task::consume_budget().await;
            }
            Ok(embeddings)
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embed::cosine;

    async fn embed(texts: &[&str]) -> Vec<Embedding> {
        let texts = texts.iter().map(|text| (*text).to_owned()).collect();
        HashedEmbedder.embed(Input::Passage, texts).await.unwrap()
    }

    #[tokio::test]
    async fn texts_that_share_words_are_nearer_than_texts_that_do_not() {
        for (question, near, far) in [
            (
                "How tall is the old lighthouse?",
                "The old lighthouse is 31 metres tall.",
                "Bread needs flour and yeast.",
            ),
            (
                "오래된 등대의 높이는?",
                "오래된 등대의 높이는 31미터이다.",
                "빵에는 밀가루와 효모가 필요하다.",
            ),
            (
                "古い灯台の高さは？",
                "古い灯台の高さは31メートルです。",
                "パンには小麦粉と酵母が必要です。",
            ),
            ("旧灯塔有多高？", "旧灯塔高三十一米。", "面包需要面粉和酵母。"),
        ] {
            let vectors = embed(&[question, near, far]).await;
            let (near, far) = (cosine(&vectors[0], &vectors[1]), cosine(&vectors[0], &vectors[2]));
            assert!(near > far + 0.15, "{question}: {near} against {far}");
        }
    }

    #[tokio::test]
    async fn embeddings_are_unit_vectors_and_the_same_each_time() {
        let text = "Rain fell on the harbour for nine days.";
        let vectors = embed(&[text, text, ""]).await;
        assert_eq!(vectors[0], vectors[1]);
        assert_eq!(vectors[0].len(), DIMENSIONS);
        assert!((vectors[0].iter().map(|v| v * v).sum::<f32>() - 1.0).abs() < 1e-5);
        assert!(vectors[2].iter().all(|v| *v == 0.0));
        // A change of the hash would make every stored collection useless without a word.
        let first: Vec<usize> = (0..DIMENSIONS).filter(|i| vectors[0][*i] != 0.0).take(4).collect();
        assert_eq!(first, [2, 5, 8, 9]);
    }

    #[tokio::test]
    async fn case_and_width_do_not_matter() {
        let vectors = embed(&["LIGHTHOUSE ３１", "lighthouse 31"]).await;
        assert_eq!(vectors[0], vectors[1]);
    }
}
