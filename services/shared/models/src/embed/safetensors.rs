//! Loads a BERT encoder from a `model.safetensors` with Hugging Face tensor names.

use std::{collections::HashMap, fs::File, io::Read as _, path::Path};

use candle_core::{DType, Device, Tensor};

use super::{
    ModelError,
    bert::{Bert, EmbeddingTable, Layer},
    kernels::LayerNorm,
    linear::Linear,
};

/// Longest header in bytes; an encoder's has some thirty thousand.
const MAX_HEADER: u64 = 4 << 20;
/// Largest file in bytes: twice the largest encoder that is known.
const MAX_FILE: u64 = 1 << 30;

/// Hyperparameters that the file does not contain.
pub(super) struct Shape {
    pub(super) heads: usize,
    /// Epsilon of the layer norms.
    pub(super) epsilon: f32,
    /// Unused rows at the start of the position table: 2 for RoBERTa.
    pub(super) skipped_positions: usize,
}

/// A table of token embeddings in f32.
struct F32Table {
    values: Vec<f32>,
    hidden: usize,
}

impl EmbeddingTable for F32Table {
    fn rows(&self) -> usize {
        self.values.len() / self.hidden
    }

    fn read(&self, id: usize, row: &mut [f32]) {
        let start = id * self.hidden;
        if let Some(values) = self.values.get(start..start + self.hidden)
            && values.len() == row.len()
        {
            row.copy_from_slice(values);
        }
    }
}

struct Weights<'a> {
    path: &'a Path,
    tensors: HashMap<String, Tensor>,
    epsilon: f32,
}

impl Weights<'_> {
    fn corrupt(&self, detail: String) -> ModelError {
        ModelError::Corrupt {
            path: self.path.to_owned(),
            detail,
        }
    }

    /// Reads and removes a tensor, so that it is not in memory twice. `None` in `dims` matches any size.
    fn take(&mut self, name: &str, dims: &[Option<usize>]) -> Result<(Vec<f32>, Vec<usize>), ModelError> {
        let Some(tensor) = self.tensors.remove(name) else {
            return Err(self.corrupt(format!("tensor {name:?} is missing")));
        };
        let found = tensor.dims().to_vec();
        let fits = found.len() == dims.len()
            && found
                .iter()
                .zip(dims)
                .all(|(found, dim)| dim.is_none_or(|dim| dim == *found));
        if !fits || found.contains(&0) {
            return Err(self.corrupt(format!("tensor {name:?} has the shape {found:?}, expected {dims:?}")));
        }
        let values = tensor
            .to_dtype(DType::F32)
            .and_then(|tensor| tensor.flatten_all()?.to_vec1::<f32>());
        values
            .map(|values| (values, found))
            .map_err(|error| self.corrupt(format!("tensor {name:?}: {error}")))
    }

    fn norm(&mut self, name: &str, hidden: usize) -> Result<LayerNorm, ModelError> {
        let (weight, _) = self.take(&format!("{name}.weight"), &[Some(hidden)])?;
        let (bias, _) = self.take(&format!("{name}.bias"), &[Some(hidden)])?;
        Ok(LayerNorm {
            weight,
            bias,
            epsilon: self.epsilon,
        })
    }

    /// Reads several linear layers with the same input and fuses them into one.
    fn linear(&mut self, names: &[String], inputs: usize, outputs: usize) -> Result<Linear, ModelError> {
        let (mut weight, mut bias) = (Vec::new(), Vec::new());
        for name in names {
            weight.extend(self.take(&format!("{name}.weight"), &[Some(outputs), Some(inputs)])?.0);
            bias.extend(self.take(&format!("{name}.bias"), &[Some(outputs)])?.0);
        }
        Linear::new(&weight, bias).map_err(|error| self.corrupt(format!("{names:?}: {error}")))
    }
}

/// Checks the length of the file and of its header before they are read.
fn check(path: &Path) -> Result<(), String> {
    let mut file = File::open(path).map_err(|error| error.to_string())?;
    let length = file.metadata().map_err(|error| error.to_string())?.len();
    if length > MAX_FILE {
        return Err(format!("the file has {length} bytes, more than {MAX_FILE}"));
    }
    let mut header = [0; 8];
    file.read_exact(&mut header)
        .map_err(|error| format!("the length of its header cannot be read: {error}"))?;
    let header = u64::from_le_bytes(header);
    if header > MAX_HEADER.min(length) {
        return Err(format!(
            "its header has {header} bytes, more than {}",
            MAX_HEADER.min(length)
        ));
    }
    Ok(())
}

/// Reads the encoder in `path`.
pub(super) fn read(path: &Path, shape: &Shape) -> Result<Bert, ModelError> {
    let corrupt = |detail: String| ModelError::Corrupt {
        path: path.to_owned(),
        detail,
    };
    check(path).map_err(corrupt)?;
    let tensors = candle_core::safetensors::load(path, &Device::Cpu).map_err(|error| corrupt(error.to_string()))?;
    // Some files contain the encoder as part of a larger model.
    let tensors = tensors
        .into_iter()
        .map(|(name, tensor)| (name.strip_prefix("bert.").map(str::to_owned).unwrap_or(name), tensor))
        .collect();
    let mut weights = Weights {
        path,
        tensors,
        epsilon: shape.epsilon,
    };
    let (words, dims) = weights.take("embeddings.word_embeddings.weight", &[None, None])?;
    let hidden = dims.last().copied().unwrap_or(0);
    if hidden == 0 || !hidden.is_multiple_of(shape.heads) {
        return Err(weights.corrupt(format!(
            "the hidden size {hidden} is not a multiple of the {} heads",
            shape.heads
        )));
    }
    let (mut positions, _) = weights.take("embeddings.position_embeddings.weight", &[None, Some(hidden)])?;
    let (types, _) = weights.take("embeddings.token_type_embeddings.weight", &[None, Some(hidden)])?;
    positions.drain(..(shape.skipped_positions * hidden).min(positions.len()));
    for row in positions.chunks_exact_mut(hidden) {
        for (position, kind) in row.iter_mut().zip(&types) {
            *position += kind;
        }
    }
    let embedding_norm = weights.norm("embeddings.LayerNorm", hidden)?;
    let mut layers = Vec::new();
    while weights
        .tensors
        .contains_key(&format!("encoder.layer.{}.attention.self.query.weight", layers.len()))
    {
        let index = layers.len();
        let name = |part: &str| format!("encoder.layer.{index}.{part}");
        let inner = weights
            .tensors
            .get(&name("intermediate.dense.bias"))
            .map_or(0, Tensor::elem_count);
        let qkv = ["query", "key", "value"].map(|part| name(&format!("attention.self.{part}")));
        layers.push(Layer {
            qkv: weights.linear(&qkv, hidden, hidden)?,
            attention_output: weights.linear(&[name("attention.output.dense")], hidden, hidden)?,
            attention_norm: weights.norm(&name("attention.output.LayerNorm"), hidden)?,
            feed_forward_in: weights.linear(&[name("intermediate.dense")], hidden, inner)?,
            feed_forward_out: weights.linear(&[name("output.dense")], inner, hidden)?,
            output_norm: weights.norm(&name("output.LayerNorm"), hidden)?,
        });
    }
    if layers.is_empty() {
        return Err(weights.corrupt("the file has no encoder layers".to_owned()));
    }
    Ok(Bert {
        heads: shape.heads,
        token_embeddings: Box::new(F32Table { values: words, hidden }),
        positions,
        embedding_norm,
        layers,
    })
}

#[cfg(test)]
mod tests;
