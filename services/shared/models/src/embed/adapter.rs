//! Low-rank adaptation of an encoder's last layers (LoRA, Hu et al. 2022): to each weight a product of two small matrices is
//! added, once, when the model is loaded.

use std::collections::HashMap;

use candle_core::{DType, Device, Result, Tensor};

use super::{
    bert::{Bert, Layer},
    linear::Linear,
};

/// How much of the adaptation a search has (Wortsman et al. 2022 interpolate weights likewise). All of it places a question near
/// single sentences, and farther from the passages that hold them; none leaves it near what is in its own language.
const SEARCH_STRENGTH: f32 = 0.5;

/// What an encoder has of its own for questions and the sentences that answer them.
pub(super) struct Adapter {
    /// The layers that replace the encoder's last ones for questions and sentences.
    pub(super) answer_layers: Vec<Layer>,
    /// The layers that replace the encoder's last ones for queries and passages.
    pub(super) search_layers: Vec<Layer>,
    /// The direction by which a question's tokens are weighed (see [`TokenVectors::weighted`](super::TokenVectors::weighted)).
    pub(super) token_weights: Vec<f32>,
}

impl Adapter {
    /// Reads the adapter of `bert`: a safetensors file with the tensors `layers.INDEX.PART.a` (inputs × rank) and
    /// `layers.INDEX.PART.b` (rank × outputs) for each of the last layers, whose products are added to the encoder's weights, and
    /// `token_weights` (hidden size).
    ///
    /// # Errors
    /// It is no such file, a tensor is missing, or does not fit the encoder.
    pub(super) fn read(bert: &Bert, adapter: &[u8]) -> Result<Self> {
        let tensors = candle_core::safetensors::load_buffer(adapter, &Device::Cpu)?;
        let count = tensors.keys().filter(|name| name.ends_with(".qkv.a")).count();
        if count == 0 || count > bert.layers.len() {
            candle_core::bail!("it adapts {count} layers, the model has {}", bert.layers.len());
        }
        let layers = |strength: f32| -> Result<Vec<Layer>> {
            let layers = bert.layers.iter().enumerate().skip(bert.layers.len() - count);
            let adapted = layers.map(|(index, layer)| {
                let adapted = |part: &str, linear: &Linear| -> Result<Linear> {
                    let a = tensor(&tensors, &format!("layers.{index}.{part}.a"))?;
                    let b = tensor(&tensors, &format!("layers.{index}.{part}.b"))?;
                    let mut change = a.matmul(&b)?.flatten_all()?.to_vec1::<f32>()?;
                    change.iter_mut().for_each(|value| *value *= strength);
                    linear.with(&change)
                };
                Ok(Layer {
                    qkv: adapted("qkv", &layer.qkv)?,
                    attention_output: adapted("attention_output", &layer.attention_output)?,
                    attention_norm: layer.attention_norm.clone(),
                    feed_forward_in: adapted("feed_forward_in", &layer.feed_forward_in)?,
                    feed_forward_out: adapted("feed_forward_out", &layer.feed_forward_out)?,
                    output_norm: layer.output_norm.clone(),
                })
            });
            adapted.collect()
        };
        let token_weights = tensor(&tensors, "token_weights")?.to_vec1::<f32>()?;
        if token_weights.len() != bert.hidden() {
            let (given, hidden) = (token_weights.len(), bert.hidden());
            candle_core::bail!("it weighs tokens of {given} values, the model has {hidden}");
        }
        Ok(Self {
            answer_layers: layers(1.0)?,
            search_layers: layers(SEARCH_STRENGTH)?,
            token_weights,
        })
    }
}

fn tensor(tensors: &HashMap<String, Tensor>, name: &str) -> Result<Tensor> {
    match tensors.get(name) {
        Some(tensor) => tensor.to_dtype(DType::F32),
        None => candle_core::bail!("tensor {name:?} is missing"),
    }
}

#[cfg(test)]
mod tests;
