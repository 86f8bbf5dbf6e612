//! The BERT encoder with mean pooling, on the CPU.
//!
//! Post-layer-norm layers with exact GELU (Devlin et al. 2018), mean pooling over the last layer's tokens, and L2
//! normalisation (Reimers and Gurevych 2019). A batch is unpadded: the tokens of all texts are concatenated into one
//! matrix, so that a layer is four large matrix products. Only attention is computed per text.

use std::sync::atomic::{AtomicBool, Ordering};

use candle_core::Result;
use rayon::prelude::*;
use rten_gemm::GemmInputB;
use rten_tensor::{Matrix, NdTensorView, prelude::*};

use super::{
    kernels::{LayerNorm, add_bias, add_bias_gelu, add_norm, scaled_softmax},
    linear::{Linear, matrix},
    normalize,
    product::{Scratch, failed},
};

/// Rows of a task: few enough that what it computes stays in the cache.
const TASK_ROWS: usize = 64;

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
    /// Brings the weights into the form in which they are multiplied.
    pub(super) fn pack(&mut self, to_int8: bool) -> Result<()> {
        self.qkv.pack(to_int8)?;
        self.attention_output.pack(to_int8)?;
        self.feed_forward_in.pack(to_int8)?;
        self.feed_forward_out.pack(to_int8)
    }

    /// Queries, keys and values of the rows of `x`.
    fn project(&self, x: &[f32]) -> Result<Vec<f32>> {
        let (inputs, outputs) = (self.qkv.inputs(), self.qkv.outputs());
        let mut projected = vec![0.0_f32; x.len() / inputs.max(1) * outputs];
        x.par_chunks(TASK_ROWS * inputs.max(1))
            .zip(projected.par_chunks_mut(TASK_ROWS * outputs.max(1)))
            .try_for_each(|(x, projected)| {
                Scratch::with(|scratch| self.qkv.product(x, projected, scratch))?;
                add_bias(projected, &self.qkv.bias);
                Ok::<(), candle_core::Error>(())
            })?;
        Ok(projected)
    }

    /// What follows attention, row by row: from the rows `x` and what they attend to, `contexts`, to the rows after the layer.
    fn finish(&self, x: &mut [f32], contexts: &[f32]) -> Result<()> {
        let rows = TASK_ROWS * self.qkv.inputs().max(1);
        x.par_chunks_mut(rows)
            .zip(contexts.par_chunks(rows))
            .try_for_each(|(x, contexts)| Scratch::with(|scratch| self.finish_rows(x, contexts, scratch)))
    }

    fn finish_rows(&self, x: &mut [f32], contexts: &[f32], scratch: &mut Scratch) -> Result<()> {
        let rows = x.len() / self.qkv.inputs().max(1);
        let (mut attended, mut inner) = (
            std::mem::take(&mut scratch.attended),
            std::mem::take(&mut scratch.inner),
        );
        attended.resize(x.len(), 0.0);
        self.attention_output.product(contexts, &mut attended, scratch)?;
        add_norm(&mut attended, &self.attention_output.bias, x, &self.attention_norm);
        inner.resize(rows * self.feed_forward_in.outputs(), 0.0);
        self.feed_forward_in.product(&attended, &mut inner, scratch)?;
        add_bias_gelu(&mut inner, &self.feed_forward_in.bias);
        self.feed_forward_out.product(&inner, x, scratch)?;
        add_norm(x, &self.feed_forward_out.bias, &attended, &self.output_norm);
        (scratch.attended, scratch.inner) = (attended, inner);
        Ok(())
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
            let contexts = self.attend(&layer.project(&x)?, texts)?;
            layer.finish(&mut x, &contexts)?;
        }
        let mut rest = x.as_slice();
        let mut rows = Vec::with_capacity(texts.len());
        for text in texts {
            let (head, tail) = rest.split_at((text.len() * self.hidden()).min(rest.len()));
            rows.push(head.to_vec());
            rest = tail;
        }
        Ok(Some(rows))
    }

    fn embed_tokens(&self, texts: &[Vec<u32>]) -> Result<Vec<f32>> {
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
        Ok(values)
    }

    /// What each token attends to, from queries, keys and values. Texts do not attend to each other.
    fn attend(&self, qkv: &[f32], texts: &[Vec<u32>]) -> Result<Vec<f32>> {
        let hidden = self.hidden();
        let size = hidden / self.heads.max(1);
        let mut from = 0;
        let mut heads = Vec::with_capacity(texts.len() * self.heads);
        for text in texts {
            heads.extend((0..self.heads).map(|head| (from, text.len(), head * size)));
            from += text.len();
        }
        let contexts: Result<Vec<Vec<f32>>> = heads
            .par_iter()
            .map(|&(from, tokens, column)| {
                let part = |part: usize| {
                    let values = qkv.get((3 * from + part) * hidden + column..).unwrap_or_default();
                    NdTensorView::from_slice_with_strides([tokens, size], values, [3 * hidden, 1]).map_err(failed)
                };
                Scratch::with(|scratch| context(part(0)?, part(1)?, part(2)?, scratch))
            })
            .collect();
        let mut all = vec![0.0_f32; from * hidden];
        for ((from, _, column), context) in heads.into_iter().zip(contexts?) {
            let rows = all.chunks_exact_mut(hidden).skip(from);
            for (row, context) in rows.zip(context.chunks_exact(size)) {
                if let Some(row) = row.get_mut(column..column + size) {
                    row.copy_from_slice(context);
                }
            }
        }
        Ok(all)
    }
}

/// What each token of a text attends to by one head: `softmax(queries · keysᵀ / √size) · values`.
fn context(queries: Matrix<'_>, keys: Matrix<'_>, values: Matrix<'_>, scratch: &mut Scratch) -> Result<Vec<f32>> {
    let [tokens, size] = queries.shape();
    let mut scores = std::mem::take(&mut scratch.inner);
    scores.resize(tokens * tokens, 0.0);
    scratch.multiply(queries, GemmInputB::Unpacked(keys.transposed()), &mut scores)?;
    scaled_softmax(&mut scores, tokens, 1.0 / (size as f32).sqrt());
    let mut context = vec![0.0_f32; tokens * size];
    scratch.multiply(matrix(&scores, tokens)?, GemmInputB::Unpacked(values), &mut context)?;
    scratch.inner = scores;
    Ok(context)
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
