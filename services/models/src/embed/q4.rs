//! Q4_0: 32 values in 18 bytes, an f16 scale and 32 numbers of four bits (ggml's layout).

use half::f16;

use super::bert::WordTable;

/// Values of a block.
pub(super) const BLOCK_VALUES: usize = 32;
/// Bytes of a block.
pub(super) const BLOCK_BYTES: usize = 18;

/// Expands `blocks` to `values`; what is left over of the longer one is not touched.
pub(super) fn dequantize(blocks: &[u8], values: &mut [f32]) {
    let (blocks, _) = blocks.as_chunks::<BLOCK_BYTES>();
    let (values, _) = values.as_chunks_mut::<BLOCK_VALUES>();
    for ([low, high, nibbles @ ..], values) in blocks.iter().zip(values) {
        let scale = f16::from_le_bytes([*low, *high]).to_f32();
        // The low halves of the sixteen bytes are the first sixteen values, the high halves the others.
        let (first, second) = values.split_at_mut(BLOCK_VALUES / 2);
        for ((byte, first), second) in nibbles.iter().zip(first).zip(second) {
            *first = (f32::from(byte & 15) - 8.0) * scale;
            *second = (f32::from(byte >> 4) - 8.0) * scale;
        }
    }
}

/// A table of word embeddings that stays in Q4_0; a row is expanded when it is read.
pub(super) struct Q4Table {
    blocks: Vec<u8>,
    row_bytes: usize,
}

impl Q4Table {
    /// `None` unless `hidden` is a multiple of [`BLOCK_VALUES`].
    pub(super) fn new(blocks: Vec<u8>, hidden: usize) -> Option<Self> {
        (hidden > 0 && hidden.is_multiple_of(BLOCK_VALUES)).then(|| Self {
            blocks,
            row_bytes: hidden / BLOCK_VALUES * BLOCK_BYTES,
        })
    }
}

impl WordTable for Q4Table {
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
mod tests {
    use super::*;

    fn block(scale: f32, number: impl Fn(usize) -> u8) -> Vec<u8> {
        let mut block = f16::from_f32(scale).to_le_bytes().to_vec();
        block.extend((0..16).map(|i| number(i) | number(i + 16) << 4));
        block
    }

    #[test]
    fn the_values_of_a_block_are_in_order() {
        let mut values = [0.0; 32];
        dequantize(&block(0.5, |i| (i % 16) as u8), &mut values);
        let expected: Vec<f32> = (0..32).map(|i| ((i % 16) as f32 - 8.0) * 0.5).collect();
        assert_eq!(values.as_slice(), expected);
    }

    #[test]
    fn a_row_is_read_from_its_place() {
        let blocks = [block(1.0, |_| 8), block(1.0, |_| 9), block(2.0, |_| 9)].concat();
        let table = Q4Table::new(blocks, 32).unwrap();
        let mut row = [0.0; 32];
        table.read(2, &mut row);
        assert_eq!((table.rows(), row), (3, [2.0; 32]));
        assert!(Q4Table::new(Vec::new(), 40).is_none());
    }
}
