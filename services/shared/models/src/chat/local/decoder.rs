//! The decoder-only transformer shared by Llama, Qwen 2, Qwen 3 and Gemma 3.
//!
//! The variants differ in optional biases and norms, the activation function, the rotary embedding and the attention
//! window. One implementation covers them all, with candle's quantised matrix products. The forward pass can be
//! cancelled between layers, and the KV cache is separate from the weights. Token embeddings are read from the
//! quantised table: as f32 they would be the largest part of a small model.

use std::ops::Range;
use std::sync::Arc;

use candle_core::quantized::{QMatMul, QTensor};
use candle_core::{Device, Module, Result, Tensor};

use super::LoadError;
use super::attention::{self, Heads, KvCache};
use super::family::{Activation, Family, Shape};
use super::gguf::Gguf;
use super::rope::{Rope, RotaryTable};

/// The weights of a model. They are immutable: the state of a conversation is in a [`Cache`].
pub(super) struct Decoder {
    token_embeddings: Arc<QTensor>,
    embedding_scale: f32,
    layers: Vec<Layer>,
    norm: Norm,
    output: QMatMul,
    shape: Shape,
    rope: Rope,
    /// Rotary embedding of the layers with a sliding window.
    local_rope: Option<Rope>,
    /// Bytes of weights read per generated token.
    bytes: usize,
}

struct Layer {
    attention_norm: Norm,
    query: Linear,
    key: Linear,
    value: Linear,
    query_norm: Option<Norm>,
    key_norm: Option<Norm>,
    attention_output: Linear,
    attention_output_norm: Option<Norm>,
    feed_forward_norm: Norm,
    gate: Linear,
    up: Linear,
    down: Linear,
    feed_forward_output_norm: Option<Norm>,
    /// Sliding window: the number of positions that a token attends to, itself included. `None` attends to all.
    window: Option<usize>,
}

/// The KV cache of all layers, with the tokens that it covers.
pub(super) struct Cache {
    layers: Vec<KvCache>,
    tokens: Vec<u32>,
}

impl Cache {
    /// Length in tokens of the common prefix with `prompt`.
    pub(super) fn common_prefix(&self, prompt: &[u32]) -> usize {
        self.tokens.iter().zip(prompt).take_while(|(a, b)| a == b).count()
    }

    /// Keeps only the first `tokens` tokens.
    pub(super) fn truncate(&mut self, tokens: usize) {
        self.tokens.truncate(tokens);
        for layer in &mut self.layers {
            layer.truncate(tokens);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.tokens.len()
    }
}

impl Decoder {
    /// Reads the weights of a model of `family` from `gguf`.
    pub(super) fn read(gguf: &mut Gguf, family: Family) -> std::result::Result<Self, LoadError> {
        let shape = Shape::read(gguf, family)?;
        let rows = gguf.rows("token_embd.weight").unwrap_or_default();
        let token_embeddings = gguf.matrix("token_embd.weight", rows, shape.hidden)?;
        let output = if gguf.has("output.weight") {
            gguf.matrix("output.weight", rows, shape.hidden)?
        } else {
            Arc::clone(&token_embeddings)
        };
        let norm = Norm::read(gguf, "output_norm", shape.hidden, shape.epsilon)?;
        let rope = Rope::read(gguf, family, &shape)?;
        let mut layers = Vec::with_capacity(shape.layers.min(1024));
        for index in 0..shape.layers {
            let window = family.window(gguf, index)?;
            layers.push(Layer::read(gguf, index, &shape, window)?);
        }
        let has_window = layers.iter().any(|layer| layer.window.is_some());
        let local_rope = has_window.then(|| rope.local(gguf));
        let output_bytes = output.storage_size_in_bytes();
        let bytes = output_bytes + layers.iter().map(Layer::bytes).sum::<usize>();
        Ok(Self {
            token_embeddings,
            embedding_scale: family.embedding_scale(shape.hidden),
            layers,
            norm,
            output: QMatMul::from_arc(output).map_err(|error| gguf.corrupt(error))?,
            shape,
            rope,
            local_rope,
            bytes,
        })
    }

    /// Bytes of weights read per generated token.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The vocabulary size: the number of token embeddings.
    pub(super) fn vocabulary(&self) -> usize {
        self.token_embeddings
            .shape()
            .dims()
            .first()
            .copied()
            .unwrap_or_default()
    }

    /// Creates an empty KV cache.
    pub(super) fn new_cache(&self) -> Cache {
        Cache {
            layers: self.layers.iter().map(|_| KvCache::new(self.shape.kv_heads)).collect(),
            tokens: Vec::new(),
        }
    }

    /// Runs the forward pass over `tokens`, which follow those of `cache`, and returns the logits of the next token.
    ///
    /// `stop` is polled before each layer. Returns `None` if it returned true; the cache is inconsistent then and must
    /// be dropped.
    pub(super) fn forward(
        &self,
        tokens: &[u32],
        cache: &mut Cache,
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<Vec<f32>>> {
        let first = cache.tokens.len();
        let positions = first..first + tokens.len();
        let ids = Tensor::from_slice(tokens, tokens.len(), &Device::Cpu)?;
        let mut state: Vec<f32> = self.token_embeddings.embedding(&ids)?.flatten_all()?.to_vec1()?;
        for value in &mut state {
            *value *= self.embedding_scale;
        }
        let rotary = self.rope.table(positions.clone());
        let local_rotary = self.local_rope.as_ref().map(|rope| rope.table(positions.clone()));
        for (layer, kv_cache) in self.layers.iter().zip(&mut cache.layers) {
            if stop() {
                return Ok(None);
            }
            let rotary = match &local_rotary {
                Some(local) if layer.window.is_some() => local,
                _ => &rotary,
            };
            layer.forward(&mut state, &self.shape, rotary, positions.clone(), kv_cache)?;
        }
        cache.tokens.extend_from_slice(tokens);
        let last = state.len().saturating_sub(self.shape.hidden);
        let mut last = state.split_off(last);
        self.norm.apply(&mut last);
        let row = Tensor::from_vec(last, (1, self.shape.hidden), &Device::Cpu)?;
        self.output.forward(&row)?.flatten_all()?.to_vec1().map(Some)
    }
}

impl Layer {
    fn read(
        gguf: &mut Gguf,
        index: usize,
        shape: &Shape,
        window: Option<usize>,
    ) -> std::result::Result<Self, LoadError> {
        let name = |part: &str| format!("blk.{index}.{part}");
        let (hidden, inner, head) = (shape.hidden, shape.inner, shape.head_dim);
        let (queries, keys) = (shape.heads * head, shape.kv_heads * head);
        let mut norm = |part: &str, length| Norm::read(gguf, &name(part), length, shape.epsilon);
        let attention_norm = norm("attn_norm", hidden)?;
        let feed_forward_norm = norm("ffn_norm", hidden)?;
        let mut optional = |part: &str, length| match gguf.has(&format!("{}.weight", name(part))) {
            true => Norm::read(gguf, &name(part), length, shape.epsilon).map(Some),
            false => Ok(None),
        };
        Ok(Self {
            attention_norm,
            feed_forward_norm,
            query_norm: optional("attn_q_norm", head)?,
            key_norm: optional("attn_k_norm", head)?,
            attention_output_norm: optional("post_attention_norm", hidden)?,
            feed_forward_output_norm: optional("post_ffw_norm", hidden)?,
            query: Linear::read(gguf, &name("attn_q"), queries, hidden)?,
            key: Linear::read(gguf, &name("attn_k"), keys, hidden)?,
            value: Linear::read(gguf, &name("attn_v"), keys, hidden)?,
            attention_output: Linear::read(gguf, &name("attn_output"), hidden, queries)?,
            gate: Linear::read(gguf, &name("ffn_gate"), inner, hidden)?,
            up: Linear::read(gguf, &name("ffn_up"), inner, hidden)?,
            down: Linear::read(gguf, &name("ffn_down"), hidden, inner)?,
            window,
        })
    }

    fn bytes(&self) -> usize {
        let attention = [&self.query, &self.key, &self.value, &self.attention_output];
        let feed_forward = [&self.gate, &self.up, &self.down];
        attention.into_iter().chain(feed_forward).map(Linear::bytes).sum()
    }

    /// Applies the layer to `state` in place. `state` is the residual stream, one row of `hidden` values per token.
    fn forward(
        &self,
        state: &mut [f32],
        shape: &Shape,
        rotary: &RotaryTable,
        positions: Range<usize>,
        cache: &mut KvCache,
    ) -> Result<()> {
        let input = self.attention_norm.forward(state, shape.hidden)?;
        let mut queries = self.query.forward(&input)?;
        let mut keys = self.key.forward(&input)?;
        let values = self.value.forward(&input)?;
        if let Some(norm) = &self.query_norm {
            norm.apply(&mut queries);
        }
        if let Some(norm) = &self.key_norm {
            norm.apply(&mut keys);
        }
        rotary.apply(&mut queries, shape.heads, shape.head_dim);
        rotary.apply(&mut keys, shape.kv_heads, shape.head_dim);
        cache.extend(&keys, &values, shape.head_dim);
        let heads = Heads {
            queries: shape.heads,
            keys: shape.kv_heads,
            size: shape.head_dim,
            scale: shape.attention_scale,
            window: self.window,
        };
        let attended = attention::attend(&queries, cache, positions, &heads);
        let width = shape.heads * shape.head_dim;
        let attended = Tensor::from_vec(attended, (state.len() / shape.hidden, width), &Device::Cpu)?;
        let attended = self.attention_output.forward(&attended)?;
        add(state, attended, self.attention_output_norm.as_ref());

        let input = self.feed_forward_norm.forward(state, shape.hidden)?;
        let mut gated = self.gate.forward(&input)?;
        let up = self.up.forward(&input)?;
        shape.activation.gate(&mut gated, &up);
        let gated = Tensor::from_vec(gated, (state.len() / shape.hidden, shape.inner), &Device::Cpu)?;
        let down = self.down.forward(&gated)?;
        add(state, down, self.feed_forward_output_norm.as_ref());
        Ok(())
    }
}

/// Adds `output`, normalised if there is a norm, to the residual stream `state`.
fn add(state: &mut [f32], mut output: Vec<f32>, norm: Option<&Norm>) {
    if let Some(norm) = norm {
        norm.apply(&mut output);
    }
    for (state, output) in state.iter_mut().zip(output) {
        *state += output;
    }
}

impl Activation {
    /// Gated linear unit: computes `activation(gate) · up` into `gate`.
    fn gate(self, gate: &mut [f32], up: &[f32]) {
        let silu = |x: f32| x / (1.0 + (-x).exp());
        let gelu = |x: f32| {
            let inner = (2.0 / std::f32::consts::PI).sqrt() * (x + 0.044_715 * x * x * x);
            0.5 * x * (1.0 + inner.tanh())
        };
        for (gate, up) in gate.iter_mut().zip(up) {
            *gate = up
                * match self {
                    Self::Silu => silu(*gate),
                    Self::GeluTanh => gelu(*gate),
                };
        }
    }
}

/// A linear layer with an optional bias.
struct Linear {
    weight: QMatMul,
    bias: Option<Vec<f32>>,
}

impl Linear {
    fn read(gguf: &mut Gguf, name: &str, outputs: usize, inputs: usize) -> std::result::Result<Self, LoadError> {
        let bias = format!("{name}.bias");
        Ok(Self {
            bias: match gguf.has(&bias) {
                true => Some(gguf.vector(&bias, outputs)?),
                false => None,
            },
            weight: gguf.linear(&format!("{name}.weight"), outputs, inputs)?,
        })
    }

    fn forward(&self, input: &Tensor) -> Result<Vec<f32>> {
        let mut output: Vec<f32> = self.weight.forward(input)?.flatten_all()?.to_vec1()?;
        if let Some(bias) = &self.bias {
            for row in output.chunks_exact_mut(bias.len()) {
                for (value, bias) in row.iter_mut().zip(bias) {
                    *value += bias;
                }
            }
        }
        Ok(output)
    }

    fn bytes(&self) -> usize {
        match &self.weight {
            QMatMul::QTensor(weight) => weight.storage_size_in_bytes(),
            QMatMul::Tensor(weight) | QMatMul::TensorF16(weight) => {
                weight.elem_count() * weight.dtype().size_in_bytes()
            }
        }
    }
}

/// RMSNorm (Zhang and Sennrich 2019).
struct Norm {
    weight: Vec<f32>,
    epsilon: f32,
}

impl Norm {
    fn read(gguf: &mut Gguf, name: &str, length: usize, epsilon: f32) -> std::result::Result<Self, LoadError> {
        Ok(Self {
            weight: gguf.vector(&format!("{name}.weight"), length)?,
            epsilon,
        })
    }

    fn apply(&self, rows: &mut [f32]) {
        let length = self.weight.len();
        for row in rows.chunks_exact_mut(length) {
            let scale = 1.0 / (attention::dot(row, row) / length as f32 + self.epsilon).sqrt();
            for (value, weight) in row.iter_mut().zip(&self.weight) {
                *value *= scale * weight;
            }
        }
    }

    /// Normalises each row of `state` and returns the result as a matrix.
    fn forward(&self, state: &[f32], hidden: usize) -> Result<Tensor> {
        let mut rows = state.to_vec();
        self.apply(&mut rows);
        Tensor::from_vec(rows, (state.len() / hidden, hidden), &Device::Cpu)
    }
}
