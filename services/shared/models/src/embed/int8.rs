//! Matrix products of 8-bit integers.
//!
//! A CPU with AVX-512 VNNI multiplies four pairs of bytes where it multiplies one pair of floats. Weights are rounded once, when
//! the model is loaded, with a scale for each output; activations at each product, with a scale and a zero point for each row
//! (dynamic quantization). An encoder has a few activations that are many times as large as all others: what they have above
//! [`OUTLIER`] is multiplied in floats (after LLM.int8(), Dettmers et al. 2022), for else they would take the bits of all others.
//! Sums are exact 32-bit integers, so that a row's product does not depend on the rows beside it.

use candle_core::Result;
use rten_gemm::{GemmExecutor, GemmInputA, GemmInputB, GemmOptions, PackedBMatrix};

use super::{
    kernels::{LANES, ROUND, range, sum},
    linear::matrix,
    product::failed,
};

/// What an activation has above so many times the root of its row's mean square is no part of the 8-bit product. At most one
/// activation in 36 is that large.
const OUTLIER: f32 = 6.0;
/// The largest quantized weight. −128 is not used, so that the range is symmetric.
const MAX_WEIGHT: f32 = 127.0;
/// The largest quantized activation.
const MAX_ACTIVATION: f32 = 255.0;

/// Whether this CPU multiplies 8-bit integers several times as fast as floats, and adds them exactly.
pub(super) fn is_fast() -> bool {
    #[cfg(target_arch = "x86_64")]
    let is_fast = std::arch::is_x86_feature_detected!("avx512vnni");
    #[cfg(not(target_arch = "x86_64"))]
    let is_fast = false;
    is_fast && !GemmExecutor::<u8, i8, i32>::default().may_saturate()
}

/// A weight of a linear layer in 8 bits.
pub(super) struct Int8Weight {
    packed: PackedBMatrix<i8>,
    /// The same, row by row, for outliers.
    rows: Vec<i8>,
    /// The scale of each output.
    scales: Vec<f32>,
    /// The sum of each output's weights, which a row's zero point is subtracted with.
    sums: Vec<i32>,
}

impl Int8Weight {
    /// Quantizes a weight of shape inputs × outputs.
    pub(super) fn new(weight: &[f32], outputs: usize) -> Result<Self> {
        let mut scales = vec![0.0_f32; outputs];
        for row in weight.chunks_exact(outputs.max(1)) {
            for (scale, value) in scales.iter_mut().zip(row) {
                *scale = scale.max(value.abs() / MAX_WEIGHT);
            }
        }
        let rows = weight.chunks_exact(outputs.max(1));
        let rows: Vec<i8> = rows
            .flat_map(|row| row.iter().zip(&scales))
            .map(|(value, scale)| if *scale > 0.0 { (value / scale).round() as i8 } else { 0 })
            .collect();
        let mut sums = vec![0_i32; outputs];
        for row in rows.chunks_exact(outputs.max(1)) {
            for (sum, value) in sums.iter_mut().zip(row) {
                *sum += i32::from(*value);
            }
        }
        Ok(Self {
            packed: GemmExecutor::<u8, i8, i32>::default().prepack_b(matrix(&rows, outputs)?),
            rows,
            scales,
            sums,
        })
    }

    /// The values of a row.
    pub(super) fn inputs(&self) -> usize {
        self.packed.rows()
    }

    /// Writes `rows · weight` to `out`.
    pub(super) fn product(&self, rows: &[f32], out: &mut [f32], scratch: &mut Int8Scratch) -> Result<()> {
        let inputs = self.inputs().max(1);
        let count = rows.len() / inputs;
        let Int8Scratch {
            executor,
            bytes,
            scales,
            zeros,
            sums,
            outliers,
        } = scratch;
        outliers.clear();
        bytes.resize(rows.len(), 0);
        scales.resize(count, 0.0);
        zeros.resize(count, 0);
        sums.resize(out.len(), 0);
        let arch = pulp::Arch::new();
        arch.dispatch(Quantize {
            rows,
            inputs,
            bytes,
            scales,
            zeros,
            outliers,
        });
        let left = GemmInputA::Unpacked(matrix(bytes, inputs)?);
        let product = executor.gemm(sums, left, GemmInputB::Packed(&self.packed), GemmOptions::default());
        product.map_err(failed)?;
        arch.dispatch(Scale {
            weight: self,
            sums,
            scales,
            zeros,
            outliers,
            out,
        });
        Ok(())
    }
}

/// What a thread needs for a product.
#[derive(Default)]
pub(super) struct Int8Scratch {
    executor: GemmExecutor<u8, i8, i32>,
    bytes: Vec<u8>,
    scales: Vec<f32>,
    zeros: Vec<i32>,
    sums: Vec<i32>,
    outliers: Vec<Outlier>,
}

/// What an activation has above the range of its row's bytes.
struct Outlier {
    row: usize,
    input: usize,
    excess: f32,
}

/// Rounds each row to bytes, so that `row ≈ (bytes − zero) · scale`.
struct Quantize<'a> {
    rows: &'a [f32],
    inputs: usize,
    bytes: &'a mut [u8],
    scales: &'a mut [f32],
    zeros: &'a mut [i32],
    outliers: &'a mut Vec<Outlier>,
}

impl pulp::NullaryFnOnce for Quantize<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let rows = self.rows.chunks_exact(self.inputs);
        let rows = rows.zip(self.bytes.chunks_exact_mut(self.inputs));
        let rows = rows.zip(self.scales).zip(self.zeros).enumerate();
        for (index, (((row, bytes), scale), zero)) in rows {
            let limit = OUTLIER * (sum(row, |value| value * value) / self.inputs as f32).sqrt();
            let (least, most) = range(row);
            let has_outliers = least < -limit || most > limit;
            let (least, most) = (least.max(-limit).min(0.0), most.min(limit).max(0.0));
            let step = (most - least) / MAX_ACTIVATION;
            if !(step > 0.0 && step.is_finite()) {
                // Of zeros, or of what is no number: the products are 0.
                bytes.fill(0);
                (*scale, *zero) = (0.0, 0);
                continue;
            }
            if has_outliers {
                for (chunk, values) in row.chunks(LANES).enumerate() {
                    // Few chunks have one, and the compiler vectorises this.
                    if !values
                        .iter()
                        .fold(false, |any, value| any | (*value < least) | (*value > most))
                    {
                        continue;
                    }
                    let excesses = values.iter().map(|value| value - value.clamp(least, most)).enumerate();
                    let excesses = excesses.filter(|(_, excess)| *excess != 0.0);
                    self.outliers.extend(excesses.map(|(at, excess)| Outlier {
                        row: index,
                        input: chunk * LANES + at,
                        excess,
                    }));
                }
            }
            let inverse = step.recip();
            let origin = (-least * inverse).round();
            for (byte, value) in bytes.iter_mut().zip(row) {
                let value = value * inverse + origin;
                let value = if value > 0.0 { value } else { 0.0 };
                let value = if value < MAX_ACTIVATION { value } else { MAX_ACTIVATION };
                *byte = (value + ROUND).to_bits() as u8;
            }
            *scale = step;
            *zero = origin as i32;
        }
    }
}

/// Turns sums of products of bytes into products of the rows that the bytes stand for.
struct Scale<'a> {
    weight: &'a Int8Weight,
    sums: &'a [i32],
    scales: &'a [f32],
    zeros: &'a [i32],
    outliers: &'a [Outlier],
    out: &'a mut [f32],
}

impl pulp::NullaryFnOnce for Scale<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let outputs = self.weight.scales.len();
        let rows = self.out.chunks_exact_mut(outputs).zip(self.sums.chunks_exact(outputs));
        for (((out, sums), scale), zero) in rows.zip(self.scales).zip(self.zeros) {
            let weights = self.weight.scales.iter().zip(&self.weight.sums);
            for ((out, sum), (output, weights)) in out.iter_mut().zip(sums).zip(weights) {
                *out = (sum - zero * weights) as f32 * (scale * output);
            }
        }
        for Outlier { row, input, excess } in self.outliers {
            let out = self.out.get_mut(row * outputs..(row + 1) * outputs).unwrap_or_default();
            let weights = self
                .weight
                .rows
                .get(input * outputs..(input + 1) * outputs)
                .unwrap_or_default();
            for ((out, weight), output) in out.iter_mut().zip(weights).zip(&self.weight.scales) {
                *out += excess * f32::from(*weight) * output;
            }
        }
    }
}

#[cfg(test)]
mod tests;
