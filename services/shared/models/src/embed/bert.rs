//! The BERT encoder with mean pooling, on the CPU.
//!
//! Post-layer-norm layers with exact GELU (Devlin et al. 2018), mean pooling over the last layer's tokens, and L2
//! normalisation (Reimers and Gurevych 2019). A batch is unpadded: the tokens of all texts are concatenated into one
//! matrix, so that a layer is four large matrix products. Only attention is computed per text.

use std::sync::atomic::{AtomicBool, Ordering};

use candle_core::{Device, IndexOp, Result, Tensor};

use super::{
    kernels::{AddBias, AddBiasGelu, AddNorm, LayerNorm, ScaledSoftmax},
    linear::Linear,
    normalize,
};

/// A table of token embeddings, by token id.
pub(super) trait EmbeddingTable: Send + Sync {
    /// The number of rows.
    fn rows(&self) -> usize;
    /// Copies row `id` to `row`. `id` is below [`rows`](Self::rows).
    fn read(&self, id: usize, row: &mut [f32]);
}

/// An encoder layer: attention and feed-forward, each followed by a residual connection and a layer norm.
pub(super) struct Layer {
    /// The fused query, key and value projections.
    pub(super) qkv: Linear,
    pub(super) attention_output: Linear,
    pub(super) attention_norm: LayerNorm,
    pub(super) feed_forward_in: Linear,
    pub(super) feed_forward_out: Linear,
    pub(super) output_norm: LayerNorm,
}

impl Layer {
    /// Rounds the weights to 8 bits.
    pub(super) fn quantize(&mut self) -> Result<()> {
        self.qkv.quantize()?;
        self.attention_output.quantize()?;
        self.feed_forward_in.quantize()?;
        self.feed_forward_out.quantize()
    }
}

/// A BERT encoder.
pub(super) struct Bert {
    pub(super) heads: usize,
    pub(super) token_embeddings: Box<dyn EmbeddingTable>,
    /// Position embeddings, shape positions × hidden. The token type embedding of type 0 is already added.
    pub(super) positions: Vec<f32>,
    pub(super) embedding_norm: LayerNorm,
    pub(super) layers: Vec<Layer>,
}

impl Bert {
    /// The hidden size.
    pub(super) fn hidden(&self) -> usize {
        self.embedding_norm.weight.len()
    }

    /// The maximum text length in tokens, including special tokens.
    pub(super) fn max_positions(&self) -> usize {
        self.positions.len() / self.hidden().max(1)
    }

    /// Encodes `texts`, given as token ids with special tokens, as one unit vector each. The layers of `adapted` replace the
    /// last ones. `None` if `stop` was set.
    ///
    /// # Errors
    /// Fails if a text is too long or has a token id outside of the vocabulary.
    pub(super) fn encode(
        &self,
        adapted: &[Layer],
        texts: &[Vec<u32>],
        stop: &AtomicBool,
    ) -> Result<Option<Vec<Vec<f32>>>> {
        let Some(rows) = self.rows(adapted, texts, stop)? else {
            return Ok(None);
        };
        let pooled = rows.iter().map(|rows| pool(rows, self.hidden()));
        Ok(Some(pooled.collect()))
    }

    /// Returns the last hidden state of each text, one row of [`hidden`](Self::hidden) values per token. `None` if
    /// `stop` was set.
    ///
    /// # Errors
    /// As [`encode`](Self::encode).
    pub(super) fn rows(
        &self,
        adapted: &[Layer],
        texts: &[Vec<u32>],
        stop: &AtomicBool,
    ) -> Result<Option<Vec<Vec<f32>>>> {
        let mut x = self.embed_tokens(texts)?;
        let own = self.layers.len().saturating_sub(adapted.len());
        for layer in self.layers.iter().take(own).chain(adapted) {
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            x = self.layer(layer, x, texts)?;
        }
        let values = x.flatten_all()?.to_vec1::<f32>()?;
        let mut rest = values.as_slice();
        let mut rows = Vec::with_capacity(texts.len());
        for text in texts {
            let (head, tail) = rest.split_at((text.len() * self.hidden()).min(rest.len()));
            rows.push(head.to_vec());
            rest = tail;
        }
        Ok(Some(rows))
    }

    fn embed_tokens(&self, texts: &[Vec<u32>]) -> Result<Tensor> {
        let hidden = self.hidden();
        let tokens = texts.iter().map(Vec::len).sum::<usize>();
        let mut values = vec![0.0_f32; tokens * hidden];
        let mut rows = values.chunks_exact_mut(hidden);
        for text in texts {
            if text.len() > self.max_positions() {
                candle_core::bail!(
                    "text has {} tokens, the model takes {}",
                    text.len(),
                    self.max_positions()
                );
            }
            for ((id, position), row) in text.iter().zip(self.positions.chunks_exact(hidden)).zip(rows.by_ref()) {
                let id = *id as usize;
                if id >= self.token_embeddings.rows() {
                    let rows = self.token_embeddings.rows();
                    candle_core::bail!("token id {id} is out of range, the vocabulary has {rows} tokens");
                }
                self.token_embeddings.read(id, row);
                for (value, position) in row.iter_mut().zip(position) {
                    *value += position;
                }
            }
        }
        self.embedding_norm.apply_to(&mut values);
        Tensor::from_vec(values, (tokens, hidden), &Device::Cpu)
    }

    fn layer(&self, layer: &Layer, x: Tensor, texts: &[Vec<u32>]) -> Result<Tensor> {
        let attended = layer.attention_output.product(&self.attention(layer, &x, texts)?)?;
        attended.inplace_op2(
            &x,
            &AddNorm {
                bias: &layer.attention_output.bias,
                norm: &layer.attention_norm,
            },
        )?;
        let inner = layer.feed_forward_in.product(&attended)?;
        inner.inplace_op1(&AddBiasGelu(&layer.feed_forward_in.bias))?;
        let output = layer.feed_forward_out.product(&inner)?;
        output.inplace_op2(
            &attended,
            &AddNorm {
                bias: &layer.feed_forward_out.bias,
                norm: &layer.output_norm,
            },
        )?;
        Ok(output)
    }

    fn attention(&self, layer: &Layer, x: &Tensor, texts: &[Vec<u32>]) -> Result<Tensor> {
        let (tokens, hidden) = x.dims2()?;
        let size = hidden / self.heads;
        let qkv = layer.qkv.product(x)?;
        qkv.inplace_op1(&AddBias(&layer.qkv.bias))?;
        let qkv = qkv.reshape((tokens, 3, self.heads, size))?;
        let scale = ScaledSoftmax(1.0 / (size as f32).sqrt());
        let mut contexts = Vec::with_capacity(texts.len());
        let mut start = 0;
        for text in texts {
            let end = start + text.len();
            // Strided views, heads first; matmul takes them without a copy.
            let [q, k, v] = [0, 1, 2].map(|part| qkv.i((start..end, part)).and_then(|part| part.transpose(0, 1)));
            let scores = q?.matmul(&k?.t()?)?;
            scores.inplace_op1(&scale)?;
            contexts.push(scores.matmul(&v?)?.transpose(0, 1)?.reshape((end - start, hidden))?);
            start = end;
        }
        match contexts.as_slice() {
            [one] => Ok(one.clone()),
            several => Tensor::cat(several, 0),
        }
    }
}

/// Mean pooling over rows of `width` values, scaled to an L2 norm of 1.
pub(super) fn pool(rows: &[f32], width: usize) -> Vec<f32> {
    let mut vector = vec![0.0_f32; width];
    for row in rows.chunks_exact(width.max(1)) {
        for (total, value) in vector.iter_mut().zip(row) {
            *total += value;
        }
    }
    // After normalisation, the sum is the same as the mean.
    normalize(&mut vector);
    vector
}
