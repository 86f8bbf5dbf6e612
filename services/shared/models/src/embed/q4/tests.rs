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
fn rows_are_read_by_index() {
    let blocks = [block(1.0, |_| 8), block(1.0, |_| 9), block(2.0, |_| 9)].concat();
    let table = Q4Table::new(blocks, 32).unwrap();
    let mut row = [0.0; 32];
    table.read(2, &mut row);
    assert_eq!((table.rows(), row), (3, [2.0; 32]));
    assert!(Q4Table::new(Vec::new(), 40).is_none());
}
