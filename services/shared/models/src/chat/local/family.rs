//! The supported model families and their hyperparameters, read from GGUF metadata.

use super::LoadError;
use super::gguf::Gguf;

/// A model architecture (`general.architecture`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// Llama and models with the same architecture: SmolLM, SmolLM2, Mistral, TinyLlama.
    Llama,
    /// Qwen 2 and 2.5: the query, key and value projections have biases.
    Qwen2,
    /// Qwen 3: queries and keys are normalised.
    Qwen3,
    /// Gemma 3: five of six layers attend over a sliding window.
    Gemma3,
}

impl Family {
    const ALL: [(&'static str, Self); 4] = [
        ("llama", Self::Llama),
        ("qwen2", Self::Qwen2),
        ("qwen3", Self::Qwen3),
        ("gemma3", Self::Gemma3),
    ];

    /// Reads the family of `gguf`.
    pub(super) fn read(gguf: &Gguf) -> Result<Self, LoadError> {
        let name = gguf.architecture();
        match Self::ALL.iter().find(|(known, _)| *known == name) {
            Some((_, family)) => Ok(*family),
            None => Err(LoadError::Architecture {
                path: gguf.path().to_owned(),
                found: name.to_owned(),
                known: Self::ALL.map(|(known, _)| known).join(", "),
            }),
        }
    }

    /// Whether the rotary embedding rotates adjacent values (GPT-J style) instead of the two halves of a head (NeoX
    /// style).
    pub(super) fn interleaved_rope(self) -> bool {
        self == Self::Llama
    }

    /// Factor applied to the token embeddings.
    pub(super) fn embedding_scale(self, hidden: usize) -> f32 {
        match self {
            Self::Gemma3 => (hidden as f32).sqrt(),
            _ => 1.0,
        }
    }

    /// The sliding window of a layer in positions, the token itself included. `None` for full attention.
    pub(super) fn window(self, gguf: &Gguf, layer: usize) -> Result<Option<usize>, LoadError> {
        match self {
            Self::Gemma3 if layer % 6 < 5 => gguf.size("attention.sliding_window").map(Some),
            _ => Ok(None),
        }
    }
}

/// The activation function of the feed-forward layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Activation {
    /// SiLU: x·σ(x).
    Silu,
    /// GELU, tanh approximation.
    GeluTanh,
}

/// The hyperparameters of a model.
pub(super) struct Shape {
    pub(super) layers: usize,
    pub(super) hidden: usize,
    /// Hidden size of the feed-forward layers.
    pub(super) inner: usize,
    /// Number of query heads, a multiple of `kv_heads`.
    pub(super) heads: usize,
    pub(super) kv_heads: usize,
    /// Head dimension, an even number.
    pub(super) head_dim: usize,
    /// Epsilon of the norms.
    pub(super) epsilon: f32,
    pub(super) activation: Activation,
    /// Scale of the attention scores.
    pub(super) attention_scale: f32,
}

impl Shape {
    pub(super) fn read(gguf: &Gguf, family: Family) -> Result<Self, LoadError> {
        if gguf.optional_size("expert_count").is_some_and(|experts| experts > 1) {
            return Err(gguf.corrupt("mixture-of-experts models are not supported"));
        }
        let (layers, hidden) = (gguf.size("block_count")?, gguf.size("embedding_length")?);
        let heads = gguf.size("attention.head_count")?;
        let kv_heads = gguf.optional_size("attention.head_count_kv").unwrap_or(heads);
        let head_dim = gguf.optional_size("attention.key_length").unwrap_or(hidden / heads);
        if !heads.is_multiple_of(kv_heads) || head_dim == 0 || !head_dim.is_multiple_of(2) {
            return Err(gguf.corrupt(format!(
                "inconsistent sizes: {heads} query heads, {kv_heads} key/value heads, head dimension {head_dim}"
            )));
        }
        let epsilon = gguf.model_float("attention.layer_norm_rms_epsilon");
        // Gemma 3 27B (62 layers) scales by hidden / heads instead of by its head dimension.
        let scale_dim = match family {
            Family::Gemma3 if layers == 62 => hidden / heads,
            _ => head_dim,
        };
        Ok(Self {
            layers,
            hidden,
            inner: gguf.size("feed_forward_length")?,
            heads,
            kv_heads,
            head_dim,
            epsilon: epsilon.ok_or_else(|| gguf.corrupt("the metadata has no `attention.layer_norm_rms_epsilon`"))?,
            activation: match family {
                Family::Gemma3 => Activation::GeluTanh,
                _ => Activation::Silu,
            },
            attention_scale: 1.0 / (scale_dim as f32).sqrt(),
        })
    }
}
