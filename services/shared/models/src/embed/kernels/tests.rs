use candle_core::{D, Device, Tensor};

use super::*;

fn ramp(rows: usize, columns: usize, from: f32, to: f32) -> Tensor {
    let n = rows * columns;
    let values: Vec<f32> = (0..n)
        .map(|i| from + (to - from) * ((i * 7919 % n) as f32) / n as f32)
        .collect();
    Tensor::from_vec(values, (rows, columns), &Device::Cpu).unwrap()
}

fn gap(left: &Tensor, right: &Tensor) -> f32 {
    (left - right)
        .unwrap()
        .abs()
        .unwrap()
        .flatten_all()
        .unwrap()
        .max(D::Minus1)
        .unwrap()
        .to_scalar()
        .unwrap()
}

#[test]
fn gelu_is_exact() {
    let x = ramp(300, 200, -12.0, 12.0);
    let bias = vec![0.25_f32; 200];
    let expected = (&x + 0.25).unwrap().gelu_erf().unwrap();
    x.inplace_op1(&AddBiasGelu(&bias)).unwrap();
    assert!(gap(&x, &expected) < 5e-6, "{}", gap(&x, &expected));
}

#[test]
fn softmax_matches_candle_even_for_large_values() {
    for (from, to) in [(-4.0, 4.0), (-600.0, 900.0)] {
        let x = ramp(70, 333, from, to);
        let expected = candle_nn::ops::softmax_last_dim(&(&x * 0.5).unwrap()).unwrap();
        x.inplace_op1(&ScaledSoftmax(0.5)).unwrap();
        assert!(gap(&x, &expected) < 2e-6, "{}", gap(&x, &expected));
    }
}

#[test]
fn layer_norm_of_a_sum_matches_candle() {
    let (x, residual) = (ramp(120, 384, -3.0, 5.0), ramp(120, 384, 1.0, -2.0));
    let norm = LayerNorm {
        weight: vec![1.5; 384],
        bias: vec![-0.5; 384],
        epsilon: 1e-12,
    };
    let summed = ((&x + &residual).unwrap() + 0.125).unwrap();
    let weight = Tensor::from_slice(&norm.weight, 384, &Device::Cpu).unwrap();
    let shift = Tensor::from_slice(&norm.bias, 384, &Device::Cpu).unwrap();
    let expected = candle_nn::ops::layer_norm(&summed, &weight, &shift, 1e-12).unwrap();
    x.inplace_op2(
        &residual,
        &AddNorm {
            bias: &[0.125; 384],
            norm: &norm,
        },
    )
    .unwrap();
    assert!(gap(&x, &expected) < 1e-5, "{}", gap(&x, &expected));
}

#[test]
fn a_view_that_is_not_contiguous_is_an_error() {
    let x = ramp(4, 6, 0.0, 1.0).t().unwrap();
    assert!(x.inplace_op1(&AddBias(&[0.0; 4])).is_err());
}
