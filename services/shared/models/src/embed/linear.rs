//! Linear layers, in floats or with 8-bit integers.

use candle_core::Result;
use rten_gemm::{GemmExecutor, GemmInputB, PackedBMatrix};
use rten_tensor::NdTensorView;

use super::{
    int8::Int8Weight,
    product::{Scratch, failed},
};

/// A linear layer: `x · weight + bias`.
pub(super) struct Linear {
    weight: Weight,
    pub(super) bias: Vec<f32>,
}

/// A weight of shape inputs × outputs, because the matrix product reads it row by row.
enum Weight {
    /// As it was read. Products with it are correct, but slow.
    Plain(Vec<f32>),
    /// In the order in which the products of this CPU read it.
    F32(PackedBMatrix<f32>),
    Int8(Box<Int8Weight>),
}

impl Linear {
    /// Creates a layer from a weight of shape outputs × inputs, the usual order in files.
    pub(super) fn new(weight: &[f32], bias: Vec<f32>) -> Result<Self> {
        let inputs = weight.len() / bias.len().max(1);
        if inputs * bias.len() != weight.len() {
            candle_core::bail!("a weight of {} values for {} outputs", weight.len(), bias.len());
        }
        let columns = (0..inputs).flat_map(|input| weight.iter().skip(input).step_by(inputs));
        Ok(Self {
            weight: Weight::Plain(columns.copied().collect()),
            bias,
        })
    }

    /// The layer with `change`, of shape inputs × outputs, added to its weight, which is as it was read.
    pub(super) fn with(&self, change: &[f32]) -> Result<Self> {
        match &self.weight {
            Weight::Plain(weight) if weight.len() == change.len() => Ok(Self {
                weight: Weight::Plain(
                    weight
                        .iter()
                        .zip(change)
                        .map(|(weight, change)| weight + change)
                        .collect(),
                ),
                bias: self.bias.clone(),
            }),
            _ => candle_core::bail!("a change of {} values does not fit the weight", change.len()),
        }
    }

    /// Brings the weight into the form in which it is multiplied.
    pub(super) fn pack(&mut self, to_int8: bool) -> Result<()> {
        if let Weight::Plain(weight) = &self.weight {
            let outputs = self.bias.len();
            self.weight = if to_int8 {
                Weight::Int8(Box::new(Int8Weight::new(weight, outputs)?))
            } else {
                Weight::F32(GemmExecutor::<f32>::default().prepack_b(matrix(weight, outputs)?))
            };
        }
        Ok(())
    }

    /// The values of a row.
    pub(super) fn inputs(&self) -> usize {
        match &self.weight {
            Weight::Plain(weight) => weight.len() / self.bias.len().max(1),
            Weight::F32(weight) => weight.rows(),
            Weight::Int8(weight) => weight.inputs(),
        }
    }

    /// The values of a row's product.
    pub(super) fn outputs(&self) -> usize {
        self.bias.len()
    }

    /// Writes `rows · weight` to `out`.
    pub(super) fn product(&self, rows: &[f32], out: &mut [f32], scratch: &mut Scratch) -> Result<()> {
        let right = match &self.weight {
            Weight::Plain(weight) => GemmInputB::Unpacked(matrix(weight, self.outputs())?),
            Weight::F32(weight) => GemmInputB::Packed(weight),
            Weight::Int8(weight) => return weight.product(rows, out, &mut scratch.int8),
        };
        scratch.multiply(matrix(rows, self.inputs())?, right, out)
    }
}

/// The matrix of `values` with `columns` columns.
pub(super) fn matrix<T>(values: &[T], columns: usize) -> Result<NdTensorView<'_, T, 2>> {
    let rows = values.len() / columns.max(1);
    NdTensorView::try_from_data([rows, columns], values).map_err(failed)
}
