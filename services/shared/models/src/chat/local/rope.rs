//! Rotary position embedding (Su et al. 2021).

use std::ops::Range;

use super::LoadError;
use super::family::{Family, Shape};
use super::gguf::Gguf;

/// The frequencies with which the pairs of values of a head are rotated.
pub(super) struct Rope {
    frequencies: Vec<f32>,
    /// Whether a pair is two neighbours; elsewhere a value of the first half and one of the second.
    neighbours: bool,
}

impl Rope {
    pub(super) fn read(gguf: &mut Gguf, family: Family, shape: &Shape) -> Result<Self, LoadError> {
        let rotated = gguf.optional_size("rope.dimension_count").unwrap_or(shape.head);
        if rotated != shape.head {
            return Err(gguf.corrupt(format!(
                "{rotated} of the {} values of a head are rotated, which is not supported",
                shape.head
            )));
        }
        let stretched = match gguf.word("rope.scaling.type") {
            None | Some("none") => 1.0,
            Some("linear") => gguf.real("rope.scaling.factor").unwrap_or(1.0),
            Some(other) => {
                return Err(gguf.corrupt(format!(
                    "its positions are scaled by `{other}`, which is not supported; known: none, linear"
                )));
            }
        };
        let base = gguf.real("rope.freq_base").unwrap_or(match family {
            Family::Gemma3 => 1_000_000.0,
            _ => 10_000.0,
        });
        let mut frequencies = frequencies(base, shape.head);
        for frequency in &mut frequencies {
            *frequency /= stretched;
        }
        // Llama 3.1 and later slow the long waves down.
        if gguf.has("rope_freqs.weight") {
            let factors = gguf.vector("rope_freqs.weight", shape.head / 2)?;
            for (frequency, factor) in frequencies.iter_mut().zip(factors) {
                *frequency /= factor;
            }
        }
        Ok(Self {
            frequencies,
            neighbours: family.rotates_neighbours(),
        })
    }

    /// The same for layers that look back over a window: faster waves, never stretched.
    pub(super) fn nearby(&self, gguf: &Gguf) -> Self {
        let base = gguf.real("rope.local_freq_base").unwrap_or(10_000.0);
        Self {
            frequencies: frequencies(base, self.frequencies.len() * 2),
            neighbours: self.neighbours,
        }
    }

    /// The rotations at these places.
    pub(super) fn rotary(&self, places: Range<usize>) -> RotaryTable {
        let angles = places.flat_map(|place| self.frequencies.iter().map(move |frequency| place as f32 * frequency));
        RotaryTable {
            rotary: angles.map(f32::sin_cos).collect(),
            neighbours: self.neighbours,
        }
    }
}

fn frequencies(base: f32, head: usize) -> Vec<f32> {
    (0..head)
        .step_by(2)
        .map(|at| 1.0 / base.powf(at as f32 / head as f32))
        .collect()
}

/// Sine and cosine of every angle, place by place.
pub(super) struct RotaryTable {
    rotary: Vec<(f32, f32)>,
    neighbours: bool,
}

impl RotaryTable {
    /// Rotates every head of `rows`, a row a place.
    pub(super) fn apply(&self, rows: &mut [f32], heads: usize, head: usize) {
        let half = head / 2;
        for (row, rotary) in rows.chunks_exact_mut(heads * head).zip(self.rotary.chunks_exact(half)) {
            for head in row.chunks_exact_mut(head) {
                if self.neighbours {
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
