//! Text embedders.
//!
//! [`load`] creates an [`Embedder`] from [`EmbedderOptions`]. Callers with the same options share one embedder for as
//! long as one of them holds it, so a process that runs several services loads the weights once. Every embedder that
//! [`load`] returns has a cache (see [`EmbedderOptions::embedder_cache_mib`]).

mod cache;
mod choice;
mod error;
mod hashed;
mod load;
#[cfg(feature = "openai")]
mod openai;
mod options;
mod tokens;

#[cfg(feature = "local")]
mod adapter;
#[cfg(feature = "local")]
mod bert;
#[cfg(feature = "local")]
mod binary;
#[cfg(feature = "local")]
mod e5;
#[cfg(feature = "local")]
mod int8;
#[cfg(feature = "local")]
mod kernels;
#[cfg(feature = "local")]
mod linear;
#[cfg(feature = "local")]
mod local;
#[cfg(feature = "local")]
mod minilm;
#[cfg(feature = "local")]
mod product;
#[cfg(feature = "local")]
mod q4;
#[cfg(feature = "local")]
mod safetensors;
#[cfg(feature = "local")]
mod tokenize;

use std::sync::Arc;

use futures::future::BoxFuture;

pub use cache::Cached;
pub use choice::{EmbedderChoice, Precision, UnknownEmbedder, UnknownPrecision};
pub use error::{EmbedError, ModelError};
pub use hashed::HashedEmbedder;
pub use load::load;
#[cfg(feature = "openai")]
pub use openai::OpenAiEmbedder;
pub use options::EmbedderOptions;
pub use tokens::{Token, TokenVectors};

/// A vector of [`Embedder::dimensions`] values with an L2 norm of 1, so that the dot product is the cosine similarity.
///
/// The embedding of a text without tokens is all zeros.
pub type Embedding = Arc<[f32]>;

/// The kind of a text. Retrieval models embed queries and passages differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Input {
    /// A search query.
    Query,
    /// A passage to be retrieved.
    Passage,
    /// A claim that is compared with evidence. The same as [`Query`](Self::Query) for an embedder that does not
    /// [adapt to answers](Embedder::adapts_to_answers).
    Claim,
    /// Evidence that a claim is compared with. The same as [`Passage`](Self::Passage) for an embedder that does not
    /// [adapt to answers](Embedder::adapts_to_answers).
    Evidence,
    /// A question whose answer is looked for among sentences. The same as [`Query`](Self::Query) for an embedder that does
    /// not [adapt to answers](Embedder::adapts_to_answers).
    Question,
    /// Sentences that may answer a question, behind their heading: `Leave:`, `Every employee has 25 days.`, `Ask early.` The
    /// same as [`Passage`](Self::Passage) for an embedder that does not [adapt to answers](Embedder::adapts_to_answers).
    Answer,
}

/// Embeds texts as vectors whose cosine similarity measures how related the texts are.
pub trait Embedder: Send + Sync {
    /// The model's id, for example `multilingual-e5-small`.
    fn id(&self) -> &str;

    /// The name of the space of queries and passages. Vectors of different spaces cannot be compared: a collection stores the
    /// name with its vectors.
    fn space(&self) -> &str {
        self.id()
    }

    /// The number of values of an embedding.
    fn dimensions(&self) -> usize;

    /// The maximum text length in tokens, without the prefix and special tokens that the model adds. Longer texts are
    /// truncated.
    fn max_tokens(&self) -> usize;

    /// Counts the tokens of `text`, without the prefix and special tokens that the model adds.
    ///
    /// Not truncated at [`max_tokens`](Self::max_tokens). An embedder behind an API estimates it.
    fn count_tokens(&self, text: &str) -> usize;

    /// Whether questions and the sentences that answer them have weights of their own:
    /// [`embed_tokens`](Self::embed_tokens) gives them vectors for [`TokenVectors::answer_similarities`], which cannot be
    /// compared with those of queries and passages.
    fn adapts_to_answers(&self) -> bool {
        false
    }

    /// Embeds `texts`. Returns one embedding per text, in the same order.
    ///
    /// Dropping the future cancels the remaining work within a fraction of a second.
    ///
    /// # Errors
    /// [`EmbedError`] if any text could not be embedded.
    fn embed<'a>(&'a self, kind: Input, texts: Vec<String>) -> BoxFuture<'a, Result<Vec<Embedding>, EmbedError>>;

    /// Computes the token vectors of `texts`, for late interaction. Each text is given as consecutive pieces, such as
    /// the sentences of a passage. Returns one result per text, in the same order, or `None` if the embedder does not
    /// expose token vectors.
    ///
    /// Dropping the future cancels the remaining work within a fraction of a second.
    ///
    /// # Errors
    /// [`EmbedError`] if any text could not be embedded.
    fn embed_tokens<'a>(
        &'a self,
        kind: Input,
        texts: Vec<Vec<String>>,
    ) -> BoxFuture<'a, Result<Option<Vec<Arc<TokenVectors>>>, EmbedError>> {
        let _ = (kind, texts);
        Box::pin(std::future::ready(Ok(None)))
    }
}

/// The cosine similarity of two embeddings of the same model, −1 to 1. 0 if their lengths differ.
#[must_use]
pub fn cosine(left: &[f32], right: &[f32]) -> f32 {
    if left.len() != right.len() {
        return 0.0;
    }
    left.iter().zip(right).map(|(l, r)| l * r).sum::<f32>().clamp(-1.0, 1.0)
}

/// Scales `vector` to an L2 norm of 1. A zero vector is unchanged.
fn normalize(vector: &mut [f32]) {
    let norm = vector.iter().map(|v| v * v).sum::<f32>().sqrt();
    if norm > 0.0 {
        for value in vector {
            *value /= norm;
        }
    }
}
