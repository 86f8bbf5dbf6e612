use candle_core::Device;

use super::*;

/// Values like those of an encoder: most are small, some columns are not.
fn values(rows: usize, columns: usize, seed: usize) -> Tensor {
    let value = |index: usize| {
        let spread = if index % columns % 50 == 7 { 8.0 } else { 1.0 };
        let hash = (index + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        spread * (hash as f32 / (1 << 23) as f32 - 1.0)
    };
    let values: Vec<f32> = (0..rows * columns).map(value).collect();
    Tensor::from_vec(values, (rows, columns), &Device::Cpu).unwrap()
}

fn rows(tensor: &Tensor) -> Vec<Vec<f32>> {
    tensor.to_vec2().unwrap()
}

/// The root of the mean square of the errors, as a share of that of the products.
fn error(exact: &Tensor, rounded: &Tensor) -> f32 {
    let square = |tensor: &Tensor| tensor.sqr().unwrap().sum_all().unwrap().to_scalar::<f32>().unwrap();
    (square(&(exact - rounded).unwrap()) / square(exact)).sqrt()
}

#[test]
fn a_product_is_that_of_floats_to_two_digits() {
    let weight = values(384, 96, 1);
    let int8 = Int8Weight::new(&weight).unwrap();
    for rows in [1, 3, 64, 65, 200] {
        let x = values(rows, 384, 5);
        let error = error(&x.matmul(&weight).unwrap(), &int8.product(&x).unwrap());
        assert!(error < 0.02, "{rows} rows: {error}");
    }
}

#[test]
fn a_row_has_the_same_product_among_other_rows() {
    let int8 = Int8Weight::new(&values(64, 32, 1)).unwrap();
    let x = values(150, 64, 3);
    let all = rows(&int8.product(&x).unwrap());
    for row in [0, 63, 64, 149] {
        let alone = int8.product(&x.narrow(0, row, 1).unwrap()).unwrap();
        assert_eq!(rows(&alone)[0], all[row], "row {row}");
    }
}

#[test]
fn rows_on_one_side_of_zero_and_rows_of_zeros_keep_their_products() {
    let weight = values(16, 4, 2);
    let int8 = Int8Weight::new(&weight).unwrap();
    for offset in [-3.0, 3.0] {
        let x = (values(2, 16, 9).affine(0.1, offset)).unwrap();
        let error = error(&x.matmul(&weight).unwrap(), &int8.product(&x).unwrap());
        assert!(error < 0.02, "{offset}: {error}");
    }
    let zeros = Tensor::zeros((2, 16), candle_core::DType::F32, &Device::Cpu).unwrap();
    assert_eq!(rows(&int8.product(&zeros).unwrap()), vec![vec![0.0; 4]; 2]);
    let none = Int8Weight::new(&Tensor::zeros((16, 4), candle_core::DType::F32, &Device::Cpu).unwrap()).unwrap();
    assert_eq!(rows(&none.product(&values(2, 16, 9)).unwrap()), vec![vec![0.0; 4]; 2]);
}

#[test]
fn a_few_large_values_do_not_cost_the_others_their_digits() {
    let weight = values(384, 96, 1);
    let int8 = Int8Weight::new(&weight).unwrap();
    let mut large = rows(&values(70, 384, 5)).concat();
    for row in large.chunks_exact_mut(384) {
        (row[17], row[200]) = (70.0, -40.0);
    }
    let x = Tensor::from_vec(large, (70, 384), &Device::Cpu).unwrap();
    let error = error(&x.matmul(&weight).unwrap(), &int8.product(&x).unwrap());
    assert!(error < 0.01, "{error}");
}

#[test]
fn values_that_are_not_finite_do_no_harm_to_other_rows() {
    let int8 = Int8Weight::new(&values(16, 4, 2)).unwrap();
    let x = values(2, 16, 9);
    let mut broken = rows(&x).concat();
    broken[3] = f32::INFINITY;
    broken[4] = f32::NAN;
    let product = int8
        .product(&Tensor::from_vec(broken, (2, 16), &Device::Cpu).unwrap())
        .unwrap();
    assert_eq!(rows(&product)[1], rows(&int8.product(&x).unwrap())[1]);
}

#[test]
fn a_product_of_other_columns_is_an_error() {
    let int8 = Int8Weight::new(&values(16, 4, 2)).unwrap();
    let error = int8.product(&values(2, 15, 1)).unwrap_err();
    assert!(
        error.to_string().contains("15 columns with a weight of 16 inputs"),
        "{error}"
    );
}
