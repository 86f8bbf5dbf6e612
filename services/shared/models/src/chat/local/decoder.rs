//! The decoder-only transformer that Llama, Qwen 2, Qwen 3 and Gemma 3 are variants of.
//!
//! The variants differ in a few places: biases and norms that a file has or has not, the activation, how positions are
//! rotated, and how far a layer looks back. One implementation covers them, with the quantised products of candle.
//! It stops between two layers when asked to, keeps what it has computed for a prompt apart from the weights, and takes
//! word vectors from the quantised table, which as floats would be the largest part of a small model.

use std::ops::Range;
use std::sync::Arc;

use candle_core::quantized::{QMatMul, QTensor};
use candle_core::{Device, Module, Result, Tensor};

use super::LoadError;
use super::attention::{self, Heads, KvCache};
use super::family::{Activation, Family, Shape};
use super::gguf::Gguf;
use super::rope::{Rope, RotaryTable};

/// A model's weights. Computing leaves them as they are: what belongs to one conversation is in a [`Cache`].
pub(super) struct Decoder {
    words: Arc<QTensor>,
    word_scale: f32,
    layers: Vec<Layer>,
    norm: Norm,
    output: QMatMul,
    shape: Shape,
    rope: Rope,
    /// That of the layers with a window.
    nearby: Option<Rope>,
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
    /// How many positions it looks back, itself included; all where there is no limit.
    window: Option<usize>,
}

/// Keys and values of the tokens so far.
pub(super) struct Cache {
    layers: Vec<KvCache>,
    tokens: Vec<u32>,
}

impl Cache {
    /// How many tokens from the beginning are those of `prompt`.
    pub(super) fn common(&self, prompt: &[u32]) -> usize {
        self.tokens.iter().zip(prompt).take_while(|(a, b)| a == b).count()
    }

    /// Forgets all but the first `tokens`.
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
    /// Reads the weights of a `family` from `gguf`.
    pub(super) fn read(gguf: &mut Gguf, family: Family) -> std::result::Result<Self, LoadError> {
        let shape = Shape::read(gguf, family)?;
        let rows = gguf.rows("token_embd.weight").unwrap_or_default();
        let words = gguf.matrix("token_embd.weight", rows, shape.hidden)?;
        let output = if gguf.has("output.weight") {
            gguf.matrix("output.weight", rows, shape.hidden)?
        } else {
            Arc::clone(&words)
        };
        let norm = Norm::read(gguf, "output_norm", shape.hidden, shape.epsilon)?;
        let rope = Rope::read(gguf, family, &shape)?;
        let mut layers = Vec::with_capacity(shape.layers.min(1024));
        for index in 0..shape.layers {
            let window = family.window(gguf, index)?;
            layers.push(Layer::read(gguf, index, &shape, window)?);
        }
        let nearby = layers.iter().any(|layer| layer.window.is_some());
        let nearby = nearby.then(|| rope.nearby(gguf));
        let output_bytes = output.storage_size_in_bytes();
        let bytes = output_bytes + layers.iter().map(Layer::bytes).sum::<usize>();
        Ok(Self {
            words,
            word_scale: family.word_scale(shape.hidden),
            layers,
            norm,
            output: QMatMul::from_arc(output).map_err(|error| gguf.corrupt(error))?,
            shape,
            rope,
            nearby,
            bytes,
        })
    }

    /// Bytes of weights that are read for every token that is generated.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The size of the vocabulary.
    pub(super) fn vocabulary(&self) -> usize {
        self.words.shape().dims().first().copied().unwrap_or_default()
    }

    pub(super) fn start(&self) -> Cache {
        let kept = || KvCache::new(self.shape.key_heads);
        Cache {
            layers: self.layers.iter().map(|_| kept()).collect(),
            tokens: Vec::new(),
        }
    }

    /// Takes in `tokens` after those of `cache` and gives the logits of the token that follows the last of them.
    ///
    /// `None` when `stop` said so; the cache is of no use then.
    pub(super) fn forward(
        &self,
        tokens: &[u32],
        cache: &mut Cache,
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<Vec<f32>>> {
        let first = cache.tokens.len();
        let places = first..first + tokens.len();
        let ids = Tensor::from_slice(tokens, tokens.len(), &Device::Cpu)?;
        let mut state: Vec<f32> = self.words.embedding(&ids)?.flatten_all()?.to_vec1()?;
        for value in &mut state {
            *value *= self.word_scale;
        }
        let rotary = self.rope.rotary(places.clone());
        let nearby = self.nearby.as_ref().map(|rope| rope.rotary(places.clone()));
        for (layer, kept) in self.layers.iter().zip(&mut cache.layers) {
            if stop() {
                return Ok(None);
            }
            let rotary = match &nearby {
                Some(nearby) if layer.window.is_some() => nearby,
                _ => &rotary,
            };
            layer.forward(&mut state, &self.shape, rotary, places.clone(), kept)?;
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
        let (hidden, inner, head) = (shape.hidden, shape.inner, shape.head);
        let (queries, keys) = (shape.heads * head, shape.key_heads * head);
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
        let of_attention = [&self.query, &self.key, &self.value, &self.attention_output];
        let of_feed_forward = [&self.gate, &self.up, &self.down];
        of_attention.into_iter().chain(of_feed_forward).map(Linear::bytes).sum()
    }

    /// Adds to `state`, a row of `hidden` values a token, what this layer makes of it.
    fn forward(
        &self,
        state: &mut [f32],
        shape: &Shape,
        rotary: &RotaryTable,
        places: Range<usize>,
        kept: &mut KvCache,
    ) -> Result<()> {
        let input = self.attention_norm.of(state, shape.hidden)?;
        let mut queries = self.query.of(&input)?;
        let mut keys = self.key.of(&input)?;
        let values = self.value.of(&input)?;
        if let Some(norm) = &self.query_norm {
            norm.apply(&mut queries);
        }
        if let Some(norm) = &self.key_norm {
            norm.apply(&mut keys);
        }
        rotary.apply(&mut queries, shape.heads, shape.head);
        rotary.apply(&mut keys, shape.key_heads, shape.head);
        kept.extend(&keys, &values, shape.head);
        let heads = Heads {
            queries: shape.heads,
            keys: shape.key_heads,
            size: shape.head,
            scale: shape.attention_scale,
            window: self.window,
        };
        let attended = attention::attend(&queries, kept, places, &heads);
        let width = shape.heads * shape.head;
        let attended = Tensor::from_vec(attended, (state.len() / shape.hidden, width), &Device::Cpu)?;
        let attended = self.attention_output.of(&attended)?;
        add(state, attended, self.attention_output_norm.as_ref());

        let input = self.feed_forward_norm.of(state, shape.hidden)?;
        let mut gated = self.gate.of(&input)?;
        let up = self.up.of(&input)?;
        shape.activation.gate(&mut gated, &up);
        let gated = Tensor::from_vec(gated, (state.len() / shape.hidden, shape.inner), &Device::Cpu)?;
        let down = self.down.of(&gated)?;
        add(state, down, self.feed_forward_output_norm.as_ref());
        Ok(())
    }
}

fn add(state: &mut [f32], mut more: Vec<f32>, norm: Option<&Norm>) {
    if let Some(norm) = norm {
        norm.apply(&mut more);
    }
    for (state, more) in state.iter_mut().zip(more) {
        *state += more;
    }
}

impl Activation {
    /// `activation(gate) · up`, in place.
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

/// A product with a matrix, and a bias where the file has one.
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

    fn of(&self, input: &Tensor) -> Result<Vec<f32>> {
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

/// Division by the root mean square (Zhang and Sennrich 2019), and a scale for each value of a row.
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

    /// The norm of each row of `state` as a matrix.
    fn of(&self, state: &[f32], hidden: usize) -> Result<Tensor> {
        let mut rows = state.to_vec();
        self.apply(&mut rows);
        Tensor::from_vec(rows, (state.len() / hidden, hidden), &Device::Cpu)
    }
}
