//! Newton's method for rows of which one is chosen, or none.

use super::softmax;

/// Maximum iterations. Convergence is quadratic, so the number of correct digits doubles with each.
const MAX_STEPS: usize = 60;

/// Rows of which one is chosen, or none. A single row is chosen with the probability of logistic regression.
#[derive(Clone, Debug, Default)]
pub(super) struct Rivals {
    /// Their places in the table.
    pub(super) rows: Vec<usize>,
    /// How much the choice counts.
    pub(super) weight: f64,
}

impl Rivals {
    /// The probability that each is chosen, by their log-odds against none.
    fn probabilities(&self, logit: impl Fn(usize) -> f64) -> Vec<f64> {
        softmax(&self.rows.iter().map(|row| logit(*row)).collect::<Vec<_>>())
    }

    /// The share of the choice that each should have: all positive rows the same.
    fn shares(&self, labels: &[bool]) -> Vec<f64> {
        let positive = self.rows.iter().filter(|row| labels[**row]).count().max(1) as f64;
        let share = |row: &usize| f64::from(u8::from(labels[*row])) / positive;
        self.rows.iter().map(share).collect()
    }

    /// The log loss of the rows' log-odds.
    pub(super) fn loss(&self, logits: &[f64], labels: &[bool]) -> f64 {
        let probabilities = self.probabilities(|row| logits[row]);
        let shares = self.shares(labels);
        let none = (
            1.0 - probabilities.iter().sum::<f64>(),
            1.0 - shares.iter().sum::<f64>(),
        );
        let each = probabilities.into_iter().zip(shares);
        each.chain([none])
            .map(|(probability, share)| -share * probability.max(1e-12).ln())
            .sum()
    }
}

/// Minimizes ½‖w‖² + `c` · Σ weight·loss over `rivals`. The norm leaves out the first coefficient, the bias.
pub(super) fn newton(inputs: &[Vec<f64>], labels: &[bool], rivals: &[Rivals], c: f64, width: usize) -> Vec<f64> {
    let mut solution = vec![0.0; width];
    for _ in 0..MAX_STEPS {
        let mut gradient: Vec<f64> = solution.clone();
        gradient[0] = 0.0;
        let mut hessian = vec![vec![0.0; width]; width];
        for (place, row) in hessian.iter_mut().enumerate() {
            // A small diagonal entry for the bias keeps the Hessian regular if all labels are equal.
            row[place] = if place == 0 { 1e-6 } else { 1.0 };
        }
        for rivals in rivals {
            let weight = c * rivals.weight;
            let probabilities = rivals.probabilities(|row| dot(&inputs[row], &solution));
            let mut expected = vec![0.0; width];
            for ((row, probability), share) in rivals.rows.iter().zip(probabilities).zip(rivals.shares(labels)) {
                let input = &inputs[*row];
                add(&mut gradient, weight * (probability - share), input);
                add(&mut expected, probability, input);
                add_square(&mut hessian, weight * probability, input);
            }
            add_square(&mut hessian, -weight, &expected);
        }
        let step = solve(hessian, &gradient);
        // Limit the step length: a full Newton step can diverge far from the minimum.
        let length = dot(&step, &step).sqrt();
        let share = if length > 4.0 { 4.0 / length } else { 1.0 };
        for (value, step) in solution.iter_mut().zip(&step) {
            *value -= share * step;
        }
        if length < 1e-9 {
            break;
        }
    }
    solution
}

/// Solves `matrix · x = right` by Cholesky decomposition. `matrix` is symmetric positive definite, given by its lower
/// triangle.
fn solve(mut matrix: Vec<Vec<f64>>, right: &[f64]) -> Vec<f64> {
    let size = right.len();
    for column in 0..size {
        for row in column..size {
            let sum = dot(&matrix[row][..column], &matrix[column][..column]);
            let value = matrix[row][column] - sum;
            matrix[row][column] = if row == column {
                value.max(1e-12).sqrt()
            } else {
                value / matrix[column][column]
            };
        }
    }
    let mut x = right.to_vec();
    for row in 0..size {
        x[row] = (x[row] - dot(&matrix[row][..row], &x[..row])) / matrix[row][row];
    }
    for row in (0..size).rev() {
        let sum: f64 = (row + 1..size).map(|below| matrix[below][row] * x[below]).sum();
        x[row] = (x[row] - sum) / matrix[row][row];
    }
    x
}

fn add(sum: &mut [f64], factor: f64, values: &[f64]) {
    for (sum, value) in sum.iter_mut().zip(values) {
        *sum += factor * value;
    }
}

/// Adds `factor · values · valuesᵀ`, of which only the lower triangle.
fn add_square(sum: &mut [Vec<f64>], factor: f64, values: &[f64]) {
    for (place, (row, value)) in sum.iter_mut().zip(values).enumerate() {
        add(&mut row[..=place], factor * value, values);
    }
}

fn dot(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).map(|(a, b)| a * b).sum()
}
