//! The families of models that are known, and what of a file's metadata makes one.

use super::LoadError;
use super::gguf::Gguf;

/// An architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// Llama, and what was trained in its likeness: SmolLM, SmolLM2, Mistral, TinyLlama.
    Llama,
    /// Qwen 2 and 2.5: biases on queries, keys and values.
    Qwen2,
    /// Qwen 3: norms on queries and keys.
    Qwen3,
    /// Gemma 3: five layers of six look back over a window.
    Gemma3,
}

impl Family {
    const ALL: [(&'static str, Self); 4] = [
        ("llama", Self::Llama),
        ("qwen2", Self::Qwen2),
        ("qwen3", Self::Qwen3),
        ("gemma3", Self::Gemma3),
    ];

    /// The family that `gguf` says it is of.
    pub(super) fn of(gguf: &Gguf) -> Result<Self, LoadError> {
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

    /// Whether neighbouring values are rotated together; elsewhere the two halves of a head are.
    pub(super) fn rotates_neighbours(self) -> bool {
        self == Self::Llama
    }

    /// What the vectors of the words are multiplied by.
    pub(super) fn word_scale(self, hidden: usize) -> f32 {
        match self {
            Self::Gemma3 => (hidden as f32).sqrt(),
            _ => 1.0,
        }
    }

    /// How many positions the layer looks back, itself included; all where there is no limit.
    pub(super) fn window(self, gguf: &Gguf, layer: usize) -> Result<Option<usize>, LoadError> {
        match self {
            Self::Gemma3 if layer % 6 < 5 => gguf.size("attention.sliding_window").map(Some),
            _ => Ok(None),
        }
    }
}

/// What is between the two products of a feed-forward layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Activation {
    /// x·σ(x).
    Silu,
    /// GELU in its approximation by tanh.
    GeluTanh,
}

/// The sizes of a model.
pub(super) struct Shape {
    pub(super) layers: usize,
    pub(super) hidden: usize,
    pub(super) inner: usize,
    /// Heads of the queries, a multiple of those of keys and values.
    pub(super) heads: usize,
    pub(super) key_heads: usize,
    /// Values of a head, an even number.
    pub(super) head: usize,
    pub(super) epsilon: f32,
    pub(super) activation: Activation,
    /// What products of queries and keys are multiplied by.
    pub(super) attention_scale: f32,
}

impl Shape {
    pub(super) fn read(gguf: &Gguf, family: Family) -> Result<Self, LoadError> {
        if gguf.optional_size("expert_count").is_some_and(|experts| experts > 1) {
            return Err(gguf.corrupt("it is a mixture of experts, which is not supported"));
        }
        let (layers, hidden) = (gguf.size("block_count")?, gguf.size("embedding_length")?);
        let heads = gguf.size("attention.head_count")?;
        let key_heads = gguf.optional_size("attention.head_count_kv").unwrap_or(heads);
        let head = gguf.optional_size("attention.key_length").unwrap_or(hidden / heads);
        if !heads.is_multiple_of(key_heads) || head == 0 || !head.is_multiple_of(2) {
            return Err(gguf.corrupt(format!(
                "sizes that do not fit: {heads} heads, {key_heads} of keys, {head} values a head"
            )));
        }
        let epsilon = gguf.real("attention.layer_norm_rms_epsilon");
        // The largest Gemma 3 alone scales by another size than that of its heads.
        let scaled_by = match family {
            Family::Gemma3 if layers == 62 => hidden / heads,
            _ => head,
        };
        Ok(Self {
            layers,
            hidden,
            inner: gguf.size("feed_forward_length")?,
            heads,
            key_heads,
            head,
            epsilon: epsilon.ok_or_else(|| gguf.corrupt("its metadata has no epsilon of the norms"))?,
            activation: match family {
                Family::Gemma3 => Activation::GeluTanh,
                _ => Activation::Silu,
            },
            attention_scale: 1.0 / (scaled_by as f32).sqrt(),
        })
    }
}
