use super::*;

/// Values like those of an encoder: most are small, some columns are not.
fn values(rows: usize, columns: usize, seed: usize) -> Vec<f32> {
    let value = |index: usize| {
        let spread = if index % columns % 50 == 7 { 8.0 } else { 1.0 };
        let hash = (index + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        spread * (hash as f32 / (1 << 23) as f32 - 1.0)
    };
    (0..rows * columns).map(value).collect()
}

fn exact(rows: &[f32], weight: &[f32], outputs: usize) -> Vec<f32> {
    let inputs = weight.len() / outputs;
    let product = |row: &[f32], output: usize| {
        let weights = weight.iter().skip(output).step_by(outputs);
        row.iter()
            .zip(weights)
            .map(|(value, weight)| value * weight)
            .sum::<f32>()
    };
    let rows = rows.chunks_exact(inputs);
    rows.flat_map(|row| (0..outputs).map(move |output| product(row, output)))
        .collect()
}

fn rounded(rows: &[f32], weight: &Int8Weight) -> Vec<f32> {
    let mut out = vec![f32::NAN; rows.len() / weight.inputs() * weight.scales.len()];
    weight.product(rows, &mut out, &mut Int8Scratch::default()).unwrap();
    out
}

/// Checks the root of the mean square of the errors, as a share of that of the products. A CPU whose sums saturate is refused
/// 8 bits, and what it computes is not checked.
fn assert_close(rows: &[f32], weight: &[f32], outputs: usize, bound: f32) {
    if GemmExecutor::<u8, i8, i32>::default().may_saturate() {
        return;
    }
    let exact = exact(rows, weight, outputs);
    let rounded = rounded(rows, &Int8Weight::new(weight, outputs).unwrap());
    let errors = exact
        .iter()
        .zip(&rounded)
        .map(|(exact, rounded)| (exact - rounded).powi(2));
    let error = (errors.sum::<f32>() / exact.iter().map(|value| value.powi(2)).sum::<f32>()).sqrt();
    assert!(error < bound, "{} values: {error}", rows.len());
}

#[test]
fn a_product_is_that_of_floats_to_two_digits() {
    let weight = values(384, 96, 1);
    for rows in [1, 3, 64, 65] {
        assert_close(&values(rows, 384, 5), &weight, 96, 0.02);
    }
}

#[test]
fn a_row_has_the_same_product_among_other_rows() {
    let weight = Int8Weight::new(&values(64, 32, 1), 32).unwrap();
    let x = values(150, 64, 3);
    let all = rounded(&x, &weight);
    for row in [0, 63, 64, 149] {
        let alone = rounded(&x[row * 64..(row + 1) * 64], &weight);
        assert_eq!(alone, all[row * 32..(row + 1) * 32], "row {row}");
    }
}

#[test]
fn a_few_large_values_do_not_cost_the_others_their_digits() {
    let mut x = values(70, 384, 5);
    for row in x.chunks_exact_mut(384) {
        (row[17], row[200]) = (70.0, -40.0);
    }
    assert_close(&x, &values(384, 96, 1), 96, 0.01);
}

#[test]
fn rows_on_one_side_of_zero_and_rows_of_zeros_keep_their_products() {
    let weight = values(16, 4, 2);
    for offset in [-3.0, 3.0] {
        let x: Vec<f32> = values(2, 16, 9).iter().map(|value| value * 0.1 + offset).collect();
        assert_close(&x, &weight, 4, 0.02);
    }
    assert_eq!(rounded(&[0.0; 32], &Int8Weight::new(&weight, 4).unwrap()), [0.0; 8]);
    let none = Int8Weight::new(&[0.0; 64], 4).unwrap();
    assert_eq!(rounded(&values(2, 16, 9), &none), [0.0; 8]);
}

#[test]
fn values_that_are_not_finite_do_no_harm_to_other_rows() {
    let weight = Int8Weight::new(&values(16, 4, 2), 4).unwrap();
    let mut x = values(2, 16, 9);
    let whole = rounded(&x, &weight);
    (x[3], x[4]) = (f32::INFINITY, f32::NAN);
    assert_eq!(rounded(&x, &weight)[4..], whole[4..]);
}

#[test]
fn a_thread_goes_on_with_what_another_product_left() {
    let (wide, narrow) = (values(64, 32, 1), values(16, 4, 2));
    let (wide, narrow) = (
        Int8Weight::new(&wide, 32).unwrap(),
        Int8Weight::new(&narrow, 4).unwrap(),
    );
    let (mut x, y) = (values(9, 64, 3), values(5, 16, 4));
    // An outlier, which no row of the second product has.
    x[5] = 90.0;
    let mut scratch = Int8Scratch::default();
    let (mut first, mut second) = (vec![0.0; 9 * 32], vec![0.0; 5 * 4]);
    wide.product(&x, &mut first, &mut scratch).unwrap();
    narrow.product(&y, &mut second, &mut scratch).unwrap();
    assert_eq!((first, second), (rounded(&x, &wide), rounded(&y, &narrow)));
}
