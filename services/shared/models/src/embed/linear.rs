//! Linear layers, in f32 or with 8-bit integers.

use candle_core::{Device, Result, Tensor};

use super::int8::Int8Weight;

/// A linear layer: `x · weight + bias`.
pub(super) struct Linear {
    weight: Weight,
    pub(super) bias: Vec<f32>,
}

enum Weight {
    /// Shape inputs × outputs, because the matrix product reads it row by row.
    F32(Tensor),
    Int8(Box<Int8Weight>),
}

impl Linear {
    /// Creates a layer from a weight of shape outputs × inputs, the usual order in files.
    pub(super) fn new(weight: Vec<f32>, bias: Vec<f32>) -> Result<Self> {
        let outputs = bias.len().max(1);
        let inputs = weight.len() / outputs;
        let weight = Tensor::from_vec(weight, (outputs, inputs), &Device::Cpu)?;
        Ok(Self {
            weight: Weight::F32(weight.t()?.contiguous()?),
            bias,
        })
    }

    /// The layer with `change`, of shape inputs × outputs, added to its weight.
    pub(super) fn with(&self, change: &Tensor) -> Result<Self> {
        match &self.weight {
            Weight::F32(weight) => Ok(Self {
                weight: Weight::F32((weight + change)?),
                bias: self.bias.clone(),
            }),
            Weight::Int8(_) => candle_core::bail!("an 8-bit weight cannot be changed"),
        }
    }

    /// Rounds the weight to 8 bits.
    pub(super) fn quantize(&mut self) -> Result<()> {
        if let Weight::F32(weight) = &self.weight {
            self.weight = Weight::Int8(Box::new(Int8Weight::new(weight)?));
        }
        Ok(())
    }

    /// `x · weight`.
    pub(super) fn product(&self, x: &Tensor) -> Result<Tensor> {
        match &self.weight {
            Weight::F32(weight) => x.matmul(weight),
            Weight::Int8(weight) => weight.product(x),
        }
    }
}
