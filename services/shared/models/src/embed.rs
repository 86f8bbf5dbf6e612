//! Embedders: text in, unit vectors out.
//!
//! An [`Embedder`] is shared by everything in the process that embeds. [`load`] makes one from [`EmbedderOptions`]; the
//! same options give the same embedder for as long as somebody holds it, so a process that serves several roles reads the
//! weights once. Every embedder that [`load`] returns remembers what it embedded (see [`EmbedderOptions::embedder_cache_mib`]).

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
mod bert;
#[cfg(feature = "local")]
mod binary;
#[cfg(feature = "local")]
mod e5;
#[cfg(feature = "local")]
mod kernels;
#[cfg(feature = "local")]
mod local;
#[cfg(feature = "local")]
mod minilm;
#[cfg(feature = "local")]
mod q4;
#[cfg(feature = "local")]
mod safetensors;
#[cfg(feature = "local")]
mod tokenize;

use std::sync::Arc;

use futures::future::BoxFuture;

pub use cache::Cached;
pub use choice::{EmbedderChoice, UnknownEmbedder};
pub use error::{EmbedError, ModelError};
pub use hashed::HashedEmbedder;
pub use load::load;
#[cfg(feature = "openai")]
pub use openai::OpenAiEmbedder;
pub use options::EmbedderOptions;
pub use tokens::{Token, TokenVectors};

/// A vector of [`Embedder::dimensions`] values with an L2 norm of 1, so that a dot product is a cosine.
///
/// The embedding of a text without a single token is all zeros.
pub type Embedding = Arc<[f32]>;

/// What a text is: models trained for retrieval embed a question and a passage differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Input {
    /// Something that is searched for.
    Query,
    /// Something that is found.
    Passage,
}

/// Turns texts into vectors whose cosine says how near they are.
pub trait Embedder: Send + Sync {
    /// The model's name, for example `multilingual-e5-small`.
    ///
    /// Vectors of different names cannot be compared: a collection keeps the name with its vectors.
    fn id(&self) -> &str;

    /// The length of an embedding.
    fn dimensions(&self) -> usize;

    /// The longest text in tokens, without the prefix and the marks that the model adds. What is beyond is not embedded.
    fn max_tokens(&self) -> usize;

    /// How many of the model's own tokens `text` has, without the prefix and the marks that the model adds.
    ///
    /// Not cut at [`max_tokens`](Self::max_tokens). An embedder behind an API estimates it.
    fn count_tokens(&self, text: &str) -> usize;

    /// Embeds `texts`: as many embeddings, in the same order.
    ///
    /// Dropping the future stops the work that is left within a fraction of a second.
    ///
    /// # Errors
    /// [`EmbedError`] when any of the texts could not be embedded.
    fn embed<'a>(&'a self, kind: Input, texts: Vec<String>) -> BoxFuture<'a, Result<Vec<Embedding>, EmbedError>>;

    /// Embeds the tokens of `texts`, each given in pieces that follow one another, such as the sentences of a passage: as
    /// many results, in the same order. `None` from an embedder that does not show its tokens.
    ///
    /// Dropping the future stops the work that is left within a fraction of a second.
    ///
    /// # Errors
    /// [`EmbedError`] when any of the texts could not be embedded.
    fn embed_tokens<'a>(
        &'a self,
        kind: Input,
        texts: Vec<Vec<String>>,
    ) -> BoxFuture<'a, Result<Option<Vec<Arc<TokenVectors>>>, EmbedError>> {
        let _ = (kind, texts);
        Box::pin(std::future::ready(Ok(None)))
    }
}

/// The cosine of two embeddings of one model, −1 to 1; 0 where their lengths differ.
#[must_use]
pub fn cosine(left: &[f32], right: &[f32]) -> f32 {
    if left.len() != right.len() {
        return 0.0;
    }
    left.iter().zip(right).map(|(l, r)| l * r).sum::<f32>().clamp(-1.0, 1.0)
}

/// Scales `vector` to an L2 norm of 1 and leaves a vector of zeros as it is.
fn normalize(vector: &mut [f32]) {
    let norm = vector.iter().map(|v| v * v).sum::<f32>().sqrt();
    if norm > 0.0 {
        for value in vector {
            *value /= norm;
        }
    }
}
