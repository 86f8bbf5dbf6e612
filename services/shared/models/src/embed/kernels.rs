//! Element-wise kernels of the encoder, in place and vectorised.
//!
//! With scalar erf and exp, an encoder spends a third of its time in them. Here they are polynomial approximations that
//! the compiler vectorises for the widest SIMD instruction set of the CPU (`pulp`), with rows in parallel (`rayon`). For that
//! all of a kernel must be inlined into the function that `pulp` makes for an instruction set: a closure is not, where it is
//! large, and is then compiled for the oldest CPU.

use candle_core::{CpuStorage, InplaceOp1, InplaceOp2, Layout, Result};
use rayon::prelude::*;

/// Values per parallel task: some tens of microseconds of work, well above the cost of scheduling a task.
const TASK_VALUES: usize = 1 << 15;
/// Partial sums of a reduction, for SIMD.
const LANES: usize = 16;

/// `x + bias`, row by row.
pub(super) struct AddBias<'a>(pub(super) &'a [f32]);
/// `gelu(x + bias)`, the exact GELU with erf.
pub(super) struct AddBiasGelu<'a>(pub(super) &'a [f32]);
/// `softmax(x · scale)` of each row.
pub(super) struct ScaledSoftmax(pub(super) f32);
/// `layer_norm(x + bias + residual)` of each row.
pub(super) struct AddNorm<'a> {
    pub(super) bias: &'a [f32],
    pub(super) norm: &'a LayerNorm,
}

/// Scale, shift and epsilon of a layer norm.
#[derive(Clone)]
pub(super) struct LayerNorm {
    pub(super) weight: Vec<f32>,
    pub(super) bias: Vec<f32>,
    pub(super) epsilon: f32,
}

/// What is done to each row of a matrix, in place.
trait RowKernel: Sync {
    /// Implementations are `#[inline(always)]`.
    fn apply(&self, row: &mut [f32]);
}

impl LayerNorm {
    /// Normalises each row of `rows`, in place.
    pub(super) fn apply_to(&self, rows: &mut [f32]) {
        by_rows(rows, self.weight.len(), self);
    }
}

impl RowKernel for LayerNorm {
    #[inline(always)]
    fn apply(&self, row: &mut [f32]) {
        let length = row.len() as f32;
        let mean = sum(row, |v| v) / length;
        let variance = sum(row, |v| (v - mean) * (v - mean)) / length;
        let scale = 1.0 / (variance + self.epsilon).sqrt();
        for ((value, weight), bias) in row.iter_mut().zip(&self.weight).zip(&self.bias) {
            *value = (*value - mean) * scale * weight + bias;
        }
    }
}

impl RowKernel for AddBias<'_> {
    #[inline(always)]
    fn apply(&self, row: &mut [f32]) {
        for (value, bias) in row.iter_mut().zip(self.0) {
            *value += bias;
        }
    }
}

impl InplaceOp1 for AddBias<'_> {
    fn name(&self) -> &'static str {
        "add-bias"
    }

    fn cpu_fwd(&self, storage: &mut CpuStorage, layout: &Layout) -> Result<()> {
        by_rows(values_mut(storage, layout)?, self.0.len(), self);
        Ok(())
    }
}

impl RowKernel for AddBiasGelu<'_> {
    #[inline(always)]
    fn apply(&self, row: &mut [f32]) {
        for (value, bias) in row.iter_mut().zip(self.0) {
            *value = gelu(*value + bias);
        }
    }
}

impl InplaceOp1 for AddBiasGelu<'_> {
    fn name(&self) -> &'static str {
        "add-bias-gelu"
    }

    fn cpu_fwd(&self, storage: &mut CpuStorage, layout: &Layout) -> Result<()> {
        by_rows(values_mut(storage, layout)?, self.0.len(), self);
        Ok(())
    }
}

impl RowKernel for ScaledSoftmax {
    #[inline(always)]
    fn apply(&self, row: &mut [f32]) {
        softmax(row, self.0);
    }
}

impl InplaceOp1 for ScaledSoftmax {
    fn name(&self) -> &'static str {
        "scaled-softmax"
    }

    fn cpu_fwd(&self, storage: &mut CpuStorage, layout: &Layout) -> Result<()> {
        let columns = layout.dims().last().copied().unwrap_or(1);
        by_rows(values_mut(storage, layout)?, columns, self);
        Ok(())
    }
}

impl InplaceOp2 for AddNorm<'_> {
    fn name(&self) -> &'static str {
        "add-norm"
    }

    fn cpu_fwd(
        &self,
        storage: &mut CpuStorage,
        layout: &Layout,
        residual: &CpuStorage,
        residual_layout: &Layout,
    ) -> Result<()> {
        let columns = self.bias.len();
        let residual = contiguous(residual.as_slice::<f32>()?, residual_layout)?;
        let values = values_mut(storage, layout)?;
        if residual.len() != values.len() {
            candle_core::bail!("add-norm of {} values and {} values", values.len(), residual.len());
        }
        let rows = rows_per_task(columns);
        values
            .par_chunks_mut(rows * columns)
            .zip(residual.par_chunks(rows * columns))
            .for_each(|(rows, residual)| {
                let kernel = self;
                pulp::Arch::new().dispatch(NormOfSum { kernel, rows, residual });
            });
        Ok(())
    }
}

/// [`AddNorm`] of each row and of its residual.
struct NormOfSum<'a> {
    kernel: &'a AddNorm<'a>,
    rows: &'a mut [f32],
    residual: &'a [f32],
}

impl pulp::NullaryFnOnce for NormOfSum<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let AddNorm { bias, norm } = self.kernel;
        let rows = self.rows.chunks_exact_mut(bias.len());
        for (row, residual) in rows.zip(self.residual.chunks_exact(bias.len())) {
            for ((value, residual), bias) in row.iter_mut().zip(residual).zip(*bias) {
                *value += residual + bias;
            }
            norm.apply(row);
        }
    }
}

/// The values of a tensor in their order.
pub(super) fn contiguous<'a>(values: &'a [f32], layout: &Layout) -> Result<&'a [f32]> {
    match layout
        .contiguous_offsets()
        .and_then(|(start, end)| values.get(start..end))
    {
        Some(values) => Ok(values),
        None => candle_core::bail!("the values are not contiguous"),
    }
}

fn values_mut<'a>(storage: &'a mut CpuStorage, layout: &Layout) -> Result<&'a mut [f32]> {
    let CpuStorage::F32(values) = storage else {
        candle_core::bail!("the values are not f32")
    };
    match layout
        .contiguous_offsets()
        .and_then(|(start, end)| values.get_mut(start..end))
    {
        Some(values) => Ok(values),
        None => candle_core::bail!("the values are not contiguous"),
    }
}

fn rows_per_task(columns: usize) -> usize {
    (TASK_VALUES / columns.max(1)).max(1)
}

/// Applies `kernel` to each row, in parallel.
fn by_rows<K: RowKernel>(values: &mut [f32], columns: usize, kernel: &K) {
    let columns = columns.max(1);
    values
        .par_chunks_mut(rows_per_task(columns) * columns)
        .for_each(|rows| {
            pulp::Arch::new().dispatch(EachRow { kernel, rows, columns });
        });
}

/// A kernel and the rows that it is applied to.
struct EachRow<'a, K> {
    kernel: &'a K,
    rows: &'a mut [f32],
    columns: usize,
}

impl<K: RowKernel> pulp::NullaryFnOnce for EachRow<'_, K> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        for row in self.rows.chunks_exact_mut(self.columns) {
            self.kernel.apply(row);
        }
    }
}

/// Sum with several partial sums. The compiler cannot vectorise a single sum, because float addition is not
/// associative.
#[inline(always)]
pub(super) fn sum(values: &[f32], term: impl Fn(f32) -> f32) -> f32 {
    let (lanes, rest) = values.as_chunks::<LANES>();
    let mut sums = [0.0_f32; LANES];
    for chunk in lanes {
        for (sum, value) in sums.iter_mut().zip(chunk) {
            *sum += term(*value);
        }
    }
    sums.iter().sum::<f32>() + rest.iter().map(|v| term(*v)).sum::<f32>()
}

/// The least and the largest value; the limits of f32, reversed, of none.
#[inline(always)]
pub(super) fn range(values: &[f32]) -> (f32, f32) {
    let (lanes, rest) = values.as_chunks::<LANES>();
    let (mut minima, mut maxima) = ([f32::MAX; LANES], [f32::MIN; LANES]);
    for chunk in lanes {
        for ((min, max), value) in minima.iter_mut().zip(&mut maxima).zip(chunk) {
            *min = if *value < *min { *value } else { *min };
            *max = if *value > *max { *value } else { *max };
        }
    }
    (
        minima.iter().chain(rest).fold(f32::MAX, |min, value| min.min(*value)),
        maxima.iter().chain(rest).fold(f32::MIN, |max, value| max.max(*value)),
    )
}

#[inline(always)]
fn softmax(row: &mut [f32], scale: f32) {
    let max = range(row).1 * scale;
    for value in &mut *row {
        *value = exp(*value * scale - max);
    }
    let inverse = 1.0 / sum(row, |v| v);
    for value in row {
        *value *= inverse;
    }
}

/// Exact GELU. erf is Abramowitz and Stegun 7.1.28, without exp; its error of 3e-7 is below that of the f32 sums.
#[inline(always)]
fn gelu(x: f32) -> f32 {
    let z = x.abs() * std::f32::consts::FRAC_1_SQRT_2;
    let p = 0.000_043_063_8_f32;
    let p = p * z + 0.000_276_567_2;
    let p = p * z + 0.000_152_014_3;
    let p = p * z + 0.009_270_527;
    let p = p * z + 0.042_282_01;
    let p = p * z + 0.070_523_08;
    let p = p * z + 1.0;
    let p = p * p;
    let p = p * p;
    let p = p * p;
    let p = p * p;
    let erf = (1.0 - 1.0 / p).copysign(x);
    0.5 * x * (1.0 + erf)
}

/// e^x for x ≤ 0, with a relative error of 2e-7. Below −87 it is about 1e-38, not 0.
#[inline(always)]
fn exp(x: f32) -> f32 {
    // Adding 1.5·2²³ rounds to an integer and leaves it in the low bits.
    const ROUND: f32 = 12_582_912.0;
    let x = if x < -87.0 { -87.0 } else { x };
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let whole = shifted - ROUND;
    // ln 2 in two parts: the first has few bits, so that its product with a small integer is exact.
    let r = x - whole * 0.693_359_4;
    let r = r + whole * 0.000_212_194_44;
    let p = 1.0 / 5040.0;
    let p = p * r + 1.0 / 720.0;
    let p = p * r + 1.0 / 120.0;
    let p = p * r + 1.0 / 24.0;
    let p = p * r + 1.0 / 6.0;
    let p = p * r + 0.5;
    let p = p * r + 1.0;
    let p = p * r + 1.0;
    let power = f32::from_bits(shifted.to_bits().wrapping_sub(ROUND.to_bits()).wrapping_add(127) << 23);
    p * power
}

#[cfg(test)]
mod tests;
