use candle_core::{Device, Tensor};

use super::*;

fn ramp(rows: usize, columns: usize, from: f32, to: f32) -> Vec<f32> {
    let n = rows * columns;
    (0..n)
        .map(|i| from + (to - from) * ((i * 7919 % n) as f32) / n as f32)
        .collect()
}

fn tensor(values: &[f32], columns: usize) -> Tensor {
    Tensor::from_slice(values, (values.len() / columns, columns), &Device::Cpu).unwrap()
}

fn gap(values: &[f32], expected: &Tensor) -> f32 {
    let expected: Vec<f32> = expected.flatten_all().unwrap().to_vec1().unwrap();
    assert_eq!(values.len(), expected.len());
    let gaps = values
        .iter()
        .zip(&expected)
        .map(|(value, expected)| (value - expected).abs());
    gaps.fold(0.0, f32::max)
}

#[test]
fn gelu_is_exact() {
    let mut x = ramp(300, 200, -12.0, 12.0);
    let expected = (tensor(&x, 200) + 0.25).unwrap().gelu_erf().unwrap();
    add_bias_gelu(&mut x, &[0.25; 200]);
    assert!(gap(&x, &expected) < 5e-6, "{}", gap(&x, &expected));
}

#[test]
fn softmax_matches_candle_even_for_large_values() {
    for (from, to) in [(-4.0, 4.0), (-600.0, 900.0)] {
        let mut x = ramp(70, 333, from, to);
        let expected = candle_nn::ops::softmax_last_dim(&(tensor(&x, 333) * 0.5).unwrap()).unwrap();
        scaled_softmax(&mut x, 333, 0.5);
        assert!(gap(&x, &expected) < 2e-6, "{}", gap(&x, &expected));
    }
}

#[test]
fn layer_norm_of_a_sum_matches_candle() {
    let (mut x, residual) = (ramp(120, 384, -3.0, 5.0), ramp(120, 384, 1.0, -2.0));
    let norm = LayerNorm {
        weight: vec![1.5; 384],
        bias: vec![-0.5; 384],
        epsilon: 1e-12,
    };
    let summed = ((tensor(&x, 384) + tensor(&residual, 384)).unwrap() + 0.125).unwrap();
    let weight = Tensor::from_slice(&norm.weight, 384, &Device::Cpu).unwrap();
    let shift = Tensor::from_slice(&norm.bias, 384, &Device::Cpu).unwrap();
    let expected = candle_nn::ops::layer_norm(&summed, &weight, &shift, 1e-12).unwrap();
    add_norm(&mut x, &[0.125; 384], &residual, &norm);
    assert!(gap(&x, &expected) < 1e-5, "{}", gap(&x, &expected));
}
