//! Q4_0 quantisation in ggml's layout: blocks of 32 values in 18 bytes, an f16 scale and 32 4-bit integers.

use half::f16;

use super::bert::EmbeddingTable;

/// Values per block.
pub(super) const BLOCK_VALUES: usize = 32;
/// Bytes per block.
pub(super) const BLOCK_BYTES: usize = 18;

/// Dequantises `blocks` into `values`, up to the end of the shorter one.
pub(super) fn dequantize(blocks: &[u8], values: &mut [f32]) {
    let (blocks, _) = blocks.as_chunks::<BLOCK_BYTES>();
    let (values, _) = values.as_chunks_mut::<BLOCK_VALUES>();
    for ([low, high, nibbles @ ..], values) in blocks.iter().zip(values) {
        let scale = f16::from_le_bytes([*low, *high]).to_f32();
        // The low nibbles of the 16 bytes are the first 16 values, the high nibbles the others.
        let (first, second) = values.split_at_mut(BLOCK_VALUES / 2);
        for ((byte, first), second) in nibbles.iter().zip(first).zip(second) {
            *first = (f32::from(byte & 15) - 8.0) * scale;
            *second = (f32::from(byte >> 4) - 8.0) * scale;
        }
    }
}

/// A table of token embeddings in Q4_0. Rows are dequantised when they are read.
pub(super) struct Q4Table {
    blocks: Vec<u8>,
    row_bytes: usize,
}

impl Q4Table {
    /// Creates a table with rows of `hidden` values. `None` unless `hidden` is a multiple of [`BLOCK_VALUES`].
    pub(super) fn new(blocks: Vec<u8>, hidden: usize) -> Option<Self> {
        (hidden > 0 && hidden.is_multiple_of(BLOCK_VALUES)).then(|| Self {
            blocks,
            row_bytes: hidden / BLOCK_VALUES * BLOCK_BYTES,
        })
    }
}

impl EmbeddingTable for Q4Table {
    fn rows(&self) -> usize {
        self.blocks.len() / self.row_bytes
    }

    fn read(&self, id: usize, row: &mut [f32]) {
        let start = id * self.row_bytes;
        if let Some(blocks) = self.blocks.get(start..start + self.row_bytes) {
            dequantize(blocks, row);
        }
    }
}

#[cfg(test)]
mod tests;
