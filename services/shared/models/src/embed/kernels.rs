//! Element-wise kernels of the encoder, in place and vectorised.
//!
//! With scalar erf and exp, an encoder spends a third of its time in them. Here they are polynomial approximations that
//! the compiler vectorises for the widest SIMD instruction set of the CPU (`pulp`). For that all of a kernel must be inlined
//! into the function that `pulp` makes for an instruction set: a closure is not, where it is large, and is then compiled for the
//! oldest CPU.

/// Adding 1.5·2²³ to a number below 2²² rounds it to an integer and leaves that in the low bits.
pub(super) const ROUND: f32 = 12_582_912.0;
/// Values that are reduced side by side, for SIMD.
pub(super) const LANES: usize = 16;

/// Adds `bias` to each row.
pub(super) fn add_bias(rows: &mut [f32], bias: &[f32]) {
    by_rows(rows, bias.len(), &AddBias(bias));
}

/// `gelu(x + bias)` of each row, the exact GELU with erf.
pub(super) fn add_bias_gelu(rows: &mut [f32], bias: &[f32]) {
    by_rows(rows, bias.len(), &AddBiasGelu(bias));
}

/// `softmax(x · scale)` of each row of `columns` values.
pub(super) fn scaled_softmax(rows: &mut [f32], columns: usize, scale: f32) {
    by_rows(rows, columns, &ScaledSoftmax(scale));
}

/// `layer_norm(x + bias + residual)` of each row.
pub(super) fn add_norm(rows: &mut [f32], bias: &[f32], residual: &[f32], norm: &LayerNorm) {
    pulp::Arch::new().dispatch(AddNorm {
        rows,
        bias,
        residual,
        norm,
    });
}

struct AddBias<'a>(&'a [f32]);
struct AddBiasGelu<'a>(&'a [f32]);
struct ScaledSoftmax(f32);

/// Scale, shift and epsilon of a layer norm.
#[derive(Clone)]
pub(super) struct LayerNorm {
    pub(super) weight: Vec<f32>,
    pub(super) bias: Vec<f32>,
    pub(super) epsilon: f32,
}

/// What is done to each row of a matrix, in place.
trait RowKernel {
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

impl RowKernel for AddBiasGelu<'_> {
    #[inline(always)]
    fn apply(&self, row: &mut [f32]) {
        for (value, bias) in row.iter_mut().zip(self.0) {
            *value = gelu(*value + bias);
        }
    }
}

impl RowKernel for ScaledSoftmax {
    #[inline(always)]
    fn apply(&self, row: &mut [f32]) {
        softmax(row, self.0);
    }
}

/// [`add_norm`] and what it is applied to.
struct AddNorm<'a> {
    rows: &'a mut [f32],
    bias: &'a [f32],
    residual: &'a [f32],
    norm: &'a LayerNorm,
}

impl pulp::NullaryFnOnce for AddNorm<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let columns = self.bias.len().max(1);
        let rows = self.rows.chunks_exact_mut(columns);
        for (row, residual) in rows.zip(self.residual.chunks_exact(columns)) {
            for ((value, residual), bias) in row.iter_mut().zip(residual).zip(self.bias) {
                *value += residual + bias;
            }
            self.norm.apply(row);
        }
    }
}

/// Applies `kernel` to each row.
fn by_rows<K: RowKernel>(rows: &mut [f32], columns: usize, kernel: &K) {
    let columns = columns.max(1);
    pulp::Arch::new().dispatch(EachRow { kernel, rows, columns });
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
