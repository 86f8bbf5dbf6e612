//! Rotary position embedding (Su et al. 2021).

use std::ops::Range;

use super::LoadError;
use super::family::{Family, Shape};
use super::gguf::Gguf;

/// The rotation frequencies of the value pairs of a head.
pub(super) struct Rope {
    frequencies: Vec<f32>,
    /// Whether a pair is two adjacent values (GPT-J style) instead of one value of each half of the head (NeoX style).
    interleaved: bool,
}

impl Rope {
    pub(super) fn read(gguf: &mut Gguf, family: Family, shape: &Shape) -> Result<Self, LoadError> {
        let rotated = gguf.optional_size("rope.dimension_count").unwrap_or(shape.head_dim);
        if rotated != shape.head_dim {
            return Err(gguf.corrupt(format!(
                "partial rotary embedding is not supported: it rotates {rotated} of the {} values of a head",
                shape.head_dim
            )));
        }
        let factor = match gguf.model_text("rope.scaling.type") {
            None | Some("none") => 1.0,
            Some("linear") => gguf.model_float("rope.scaling.factor").unwrap_or(1.0),
            Some(other) => {
                return Err(gguf.corrupt(format!(
                    "the RoPE scaling type `{other}` is not supported; known: none, linear"
                )));
            }
        };
        let base = gguf.model_float("rope.freq_base").unwrap_or(match family {
            Family::Gemma3 => 1_000_000.0,
            _ => 10_000.0,
        });
        let mut frequencies = frequencies(base, shape.head_dim);
        for frequency in &mut frequencies {
            *frequency /= factor;
        }
        // Llama 3.1 and later scale down the low frequencies.
        if gguf.has("rope_freqs.weight") {
            let factors = gguf.vector("rope_freqs.weight", shape.head_dim / 2)?;
            for (frequency, factor) in frequencies.iter_mut().zip(factors) {
                *frequency /= factor;
            }
        }
        Ok(Self {
            frequencies,
            interleaved: family.interleaved_rope(),
        })
    }

    /// The rotary embedding of the sliding-window layers: a smaller base and no scaling.
    pub(super) fn local(&self, gguf: &Gguf) -> Self {
        let base = gguf.model_float("rope.local_freq_base").unwrap_or(10_000.0);
        Self {
            frequencies: frequencies(base, self.frequencies.len() * 2),
            interleaved: self.interleaved,
        }
    }

    /// Computes the rotations of `positions`.
    pub(super) fn table(&self, positions: Range<usize>) -> RotaryTable {
        let angles = positions.flat_map(|position| {
            self.frequencies
                .iter()
                .map(move |frequency| position as f32 * frequency)
        });
        RotaryTable {
            rotary: angles.map(f32::sin_cos).collect(),
            interleaved: self.interleaved,
        }
    }
}

fn frequencies(base: f32, head_dim: usize) -> Vec<f32> {
    (0..head_dim)
        .step_by(2)
        .map(|at| 1.0 / base.powf(at as f32 / head_dim as f32))
        .collect()
}

/// Sine and cosine of every rotation angle, `head_dim / 2` pairs per position.
pub(super) struct RotaryTable {
    rotary: Vec<(f32, f32)>,
    interleaved: bool,
}

impl RotaryTable {
    /// Rotates all heads of `rows` in place, one row per position.
    pub(super) fn apply(&self, rows: &mut [f32], heads: usize, head_dim: usize) {
        let half = head_dim / 2;
        let rows = rows.chunks_exact_mut(heads * head_dim);
        for (row, rotary) in rows.zip(self.rotary.chunks_exact(half)) {
            for head in row.chunks_exact_mut(head_dim) {
                if self.interleaved {
                    let (pairs, _) = head.as_chunks_mut::<2>();
                    for (pair, (sin, cos)) in pairs.iter_mut().zip(rotary) {
                        let [a, b] = *pair;
                        *pair = [a * cos - b * sin, a * sin + b * cos];
                    }
                } else {
                    let (left, right) = head.split_at_mut(half);
                    for ((left, right), (sin, cos)) in left.iter_mut().zip(right).zip(rotary) {
                        let (a, b) = (*left, *right);
                        (*left, *right) = (a * cos - b * sin, a * sin + b * cos);
                    }
                }
            }
        }
    }
}
