//! Matrix products, and the memory that a thread needs for them.

use std::cell::Cell;

use candle_core::{Error, Result};
use rten_gemm::{GemmExecutor, GemmInputA, GemmInputB, GemmOptions};
use rten_tensor::Matrix;

use super::int8::Int8Scratch;

/// What a thread needs to compute with, kept from one use to the next: allocating and clearing it takes as long as a
/// twentieth of the products. Its values are whatever was left there.
#[derive(Default)]
pub(super) struct Scratch {
    executor: GemmExecutor,
    pub(super) int8: Int8Scratch,
    /// The rows after attention.
    pub(super) attended: Vec<f32>,
    /// The rows inside of a feed-forward layer; the scores of an attention head.
    pub(super) inner: Vec<f32>,
}

thread_local! {
    static SCRATCH: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
}

impl Scratch {
    /// Calls `work` with the scratch of this thread. It is taken and put back, because a thread that waits for parts of its work
    /// may run other work meanwhile.
    pub(super) fn with<T>(work: impl FnOnce(&mut Self) -> T) -> T {
        let mut scratch = SCRATCH.take().unwrap_or_default();
        let result = work(&mut scratch);
        SCRATCH.set(Some(scratch));
        result
    }

    /// Writes the product of two matrices of floats to `out`.
    pub(super) fn multiply(&self, left: Matrix<'_>, right: GemmInputB<'_, f32>, out: &mut [f32]) -> Result<()> {
        let product = self
            .executor
            .gemm(out, GemmInputA::Unpacked(left), right, GemmOptions::default());
        product.map_err(failed)
    }
}

/// The error of a product.
pub(super) fn failed(error: impl std::fmt::Display) -> Error {
    Error::Msg(format!("matrix product: {error}"))
}
