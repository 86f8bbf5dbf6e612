//! The embedder to load and how it computes: the values of `--embedder` and `--embedder-precision`.

use std::{fmt, str::FromStr};

/// The embedders that [`load`](super::load) supports.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum EmbedderChoice {
    /// `e5-small`: multilingual-e5-small, 384 dimensions, about a hundred languages. The default.
    E5Small,
    /// `minilm`: all-MiniLM-L6-v2, 384 dimensions, English only, twice as fast as `e5-small`.
    MiniLm,
    /// `hashed`: hashed words and character n-grams, 256 dimensions, no download. For tests and first steps.
    Hashed,
    /// `openai:MODEL`: a model of an OpenAI-compatible `/v1/embeddings` endpoint.
    OpenAi(String),
}

/// The numbers that a local embedder computes with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Precision {
    /// `auto`: [`Int8`](Self::Int8) where the CPU multiplies 8-bit integers several times as fast as floats, else
    /// [`F32`](Self::F32).
    #[default]
    Auto,
    /// `f32`: 32-bit floats.
    F32,
    /// `int8`: 8-bit integers in products of activations and weights, 32-bit floats elsewhere.
    Int8,
}

/// The value of `--embedder-precision` is unknown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown precision {0:?}: use auto, f32 or int8")]
pub struct UnknownPrecision(pub String);

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::F32 => "f32",
            Self::Int8 => "int8",
        })
    }
}

impl FromStr for Precision {
    type Err = UnknownPrecision;

    fn from_str(value: &str) -> Result<Self, Self::Err> {
        match value.trim() {
            "auto" => Ok(Self::Auto),
            "f32" => Ok(Self::F32),
            "int8" => Ok(Self::Int8),
            _ => Err(UnknownPrecision(value.to_owned())),
        }
    }
}

/// The value of `--embedder` is unknown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown embedder {0:?}: use e5-small, minilm, hashed or openai:MODEL")]
pub struct UnknownEmbedder(pub String);

/// The space of queries and passages of multilingual-e5-small with the built-in adapter.
pub(super) const E5_ADAPTED_SPACE: &str = "multilingual-e5-small-answers";

impl EmbedderChoice {
    /// What the vectors of queries and passages depend on, for names: another one for each [space](super::Embedder::space).
    #[must_use]
    pub fn space(&self) -> String {
        match self {
            Self::E5Small => E5_ADAPTED_SPACE.to_owned(),
            other => other.to_string(),
        }
    }
}

impl fmt::Display for EmbedderChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::E5Small => f.write_str("e5-small"),
            Self::MiniLm => f.write_str("minilm"),
            Self::Hashed => f.write_str("hashed"),
            Self::OpenAi(model) => write!(f, "openai:{model}"),
        }
    }
}

impl FromStr for EmbedderChoice {
    type Err = UnknownEmbedder;

    fn from_str(value: &str) -> Result<Self, Self::Err> {
        match value.trim() {
            "e5-small" | "multilingual-e5-small" => Ok(Self::E5Small),
            "minilm" | "all-MiniLM-L6-v2" => Ok(Self::MiniLm),
            "hashed" => Ok(Self::Hashed),
            other => match other.strip_prefix("openai:").map(str::trim) {
                Some(model) if !model.is_empty() => Ok(Self::OpenAi(model.to_owned())),
                _ => Err(UnknownEmbedder(value.to_owned())),
            },
        }
    }
}

#[cfg(test)]
mod tests;
