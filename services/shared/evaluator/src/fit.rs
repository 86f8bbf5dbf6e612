//! L2-regularized logistic regression by Newton's method, with cross-validation grouped by article or question.
//!
//! Rows that compete with each other, such as the sentences of one question, are fitted to be told apart as well
//! (conditional logit, McFadden 1974).

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use super::metrics::Judged;

/// Candidate inverse regularization strengths (`C` in scikit-learn).
const CHOICES: [f64; 8] = [0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0];
/// The column that is penalized less where rows compete: how similar the embedder finds a question and a sentence. It has
/// learned that from many more questions than a calibration has.
const SIMILARITY: &str = "cosine_sentence";
/// How much less. On questions by authors and over folders that nothing was fitted to, 300 chooses the right sentence for 88 of
/// 127, 1 for 75, and the similarity alone for 81.
const SIMILARITY_PENALTY: f64 = 1.0 / 300.0;
/// Maximum Newton iterations. Convergence is quadratic, so the number of correct digits doubles with each.
const MAX_STEPS: usize = 60;
/// Standardized values are clamped to ± this.
pub(super) const CLAMP: f64 = 5.0;
/// How much the choice among the rows of a contest counts beside the label of a row. On questions by authors that a model was
/// not fitted to, 1 to 10 choose the right sentence more often than 0, by 1 to 5 of 100; from 10 on their probabilities
/// tell right from wrong choices worse.
const CONTEST_WEIGHT: f64 = 3.0;
/// Number of folds for cross-validation.
pub(super) const FOLDS: usize = 5;

/// The training data of one model.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    /// The column names.
    pub(super) names: Vec<&'static str>,
    pub(super) rows: Vec<Row>,
}

impl Table {
    /// Whether rows compete with each other.
    fn competes(&self) -> bool {
        self.rows.iter().any(|row| row.contest.is_some())
    }
}

#[derive(Clone, Debug)]
pub(super) struct Row {
    /// One value per column.
    pub(super) values: Vec<f64>,
    pub(super) label: bool,
    /// The grouping key for cross-validation, the article or the question: rows with the same key are in the same fold.
    pub(super) key: String,
    /// The data set, which determines the row's weight.
    pub(super) source: String,
    /// The question for whose answer the row competes with the other rows of it in the data set; `None` for a row that is
    /// judged by itself.
    pub(super) contest: Option<String>,
}

/// `bias + Σ weight · (value − mean) / scale`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fit {
    pub(super) bias: f64,
    /// `(weight, mean, scale)` per column; `None` for a constant column.
    pub(super) terms: Vec<Option<(f64, f64, f64)>>,
}

impl Fit {
    /// Maps the log-odds `x` that the model returns to `scale · x + shift`.
    pub(super) fn rescale(&mut self, scale: f64, shift: f64) {
        self.bias = scale * self.bias + shift;
        for (weight, _, _) in self.terms.iter_mut().flatten() {
            *weight *= scale;
        }
    }

    fn probability(&self, values: &[f64]) -> f64 {
        let terms = self.terms.iter().zip(values).filter_map(|(term, value)| {
            let (weight, mean, scale) = (*term)?;
            Some(weight * ((value - mean) / scale).clamp(-CLAMP, CLAMP))
        });
        sigmoid(terms.fold(self.bias, |sum, term| sum + term))
    }
}

/// The scale and the shift of a line through one value: `sigmoid(scale · value + shift)` is the probability of the label.
/// `None` if all values are equal.
pub(super) fn line(rows: &[Row]) -> Option<(f64, f64)> {
    let table = Table {
        names: vec!["value"],
        rows: rows.to_vec(),
    };
    let fit = fit_rows(
        &table,
        &table.rows.iter().collect::<Vec<_>>(),
        CHOICES[CHOICES.len() - 1],
    );
    let (weight, mean, scale) = fit.terms.into_iter().next()??;
    Some((weight / scale, fit.bias - weight * mean / scale))
}

/// Fits a model to all rows, and returns for each row, in order, the probability by a model that was not fitted to its
/// question.
///
/// The penalty is the one with the lowest log loss on these held-out probabilities; where rows compete, the strongest one
/// within a standard error of it, as their choice has to carry over to texts that no row is of.
pub(super) fn fit(table: &Table) -> (Fit, Vec<Judged>) {
    let candidates = CHOICES.map(|c| {
        let judged = cross_validated(table, c);
        (c, loss(table, &judged), judged)
    });
    let best = candidates
        .iter()
        .map(|(_, loss, _)| *loss)
        .min_by(|a, b| a.sum.total_cmp(&b.sum));
    let most = best.map_or(f64::INFINITY, |best| match table.competes() {
        true => best.sum + best.error,
        false => best.sum,
    });
    let chosen = candidates.into_iter().find(|(_, loss, _)| loss.sum <= most);
    let (c, judged) = chosen.map_or((CHOICES[0], Vec::new()), |(c, _, judged)| (c, judged));
    (fit_rows(table, &table.rows.iter().collect::<Vec<_>>(), c), judged)
}

#[derive(Clone, Copy)]
struct Loss {
    sum: f64,
    /// The standard error of the sum, by articles or questions.
    error: f64,
}

/// The log loss.
fn loss(table: &Table, judged: &[Judged]) -> Loss {
    let mut by_key: BTreeMap<&str, f64> = BTreeMap::new();
    for (row, one) in table.rows.iter().zip(judged) {
        let likelihood = if one.label {
            one.probability
        } else {
            1.0 - one.probability
        };
        *by_key.entry(&row.key).or_default() -= likelihood.max(1e-12).ln();
    }
    let (sum, count) = (by_key.values().sum::<f64>(), by_key.len() as f64);
    let spread: f64 = by_key.values().map(|loss| (loss - sum / count).powi(2)).sum();
    Loss {
        sum,
        error: (spread * count / (count - 1.0).max(1.0)).sqrt(),
    }
}

fn cross_validated(table: &Table, c: f64) -> Vec<Judged> {
    let mut judged = vec![None; table.rows.len()];
    for fold in 0..FOLDS {
        let (own, others): (Vec<_>, Vec<_>) = table.rows.iter().enumerate().partition(|(_, row)| fold_of(row) == fold);
        let others: Vec<&Row> = others.into_iter().map(|(_, row)| row).collect();
        let model = fit_rows(table, &others, c);
        for (place, row) in own {
            if let Some(slot) = judged.get_mut(place) {
                *slot = Some(Judged {
                    probability: model.probability(&row.values),
                    label: row.label,
                });
            }
        }
    }
    judged.into_iter().flatten().collect()
}

/// The fold by a hash of the question, independent of the order of rows.
fn fold_of(row: &Row) -> usize {
    let hash = Sha256::digest(row.key.as_bytes());
    usize::from(hash.first().copied().unwrap_or_default()) % FOLDS
}

/// Row weights. A row of a data set with n rows weighs 1/√n, scaled to a mean of 1: a large data set counts more than a
/// small one, but not in proportion.
fn weights(rows: &[&Row]) -> Vec<f64> {
    let mut sizes: BTreeMap<&str, f64> = BTreeMap::new();
    for row in rows {
        *sizes.entry(&row.source).or_default() += 1.0;
    }
    let raw: Vec<f64> = rows
        .iter()
        .map(|row| sizes.get(row.source.as_str()).map_or(1.0, |size| size.sqrt().recip()))
        .collect();
    let mean = raw.iter().sum::<f64>() / raw.len().max(1) as f64;
    raw.into_iter().map(|weight| weight / mean).collect()
}

fn fit_rows(table: &Table, rows: &[&Row], c: f64) -> Fit {
    let width = table.names.len();
    let spread = (0..width)
        .map(|column| mean_and_deviation(rows, column))
        .collect::<Vec<_>>();
    let used: Vec<usize> = (0..width).filter(|column| spread[*column].1 > 1e-6).collect();
    // The bias is a column of ones, which is not regularized.
    let inputs: Vec<Vec<f64>> = rows
        .iter()
        .map(|row| {
            let value = |column: &usize| {
                let (mean, scale) = spread[*column];
                ((row.values[*column] - mean) / scale).clamp(-CLAMP, CLAMP)
            };
            std::iter::once(1.0).chain(used.iter().map(value)).collect()
        })
        .collect();
    let penalty = |column: &usize| match table.names[*column] {
        SIMILARITY if table.competes() => SIMILARITY_PENALTY,
        _ => 1.0,
    };
    let problem = Problem {
        inputs,
        penalties: std::iter::once(0.0).chain(used.iter().map(penalty)).collect(),
        labels: rows.iter().map(|row| f64::from(u8::from(row.label))).collect(),
        weights: weights(rows).iter().map(|weight| c * weight).collect(),
        contests: contests(rows),
    };
    let solution = newton(&problem);
    let mut terms = vec![None; width];
    for (column, weight) in used.iter().zip(solution.iter().skip(1)) {
        let (mean, scale) = spread[*column];
        terms[*column] = Some((*weight, mean, scale));
    }
    Fit {
        bias: solution.first().copied().unwrap_or_default(),
        terms,
    }
}

/// The mean and standard deviation of a column.
fn mean_and_deviation(rows: &[&Row], column: usize) -> (f64, f64) {
    let count = rows.len().max(1) as f64;
    let mean = rows.iter().map(|row| row.values[column]).sum::<f64>() / count;
    let variance = rows.iter().map(|row| (row.values[column] - mean).powi(2)).sum::<f64>() / count;
    (mean, variance.sqrt())
}

/// The rows of each contest that has a right and a wrong one, by index.
fn contests(rows: &[&Row]) -> Vec<Vec<usize>> {
    let mut by_question: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
    for (index, row) in rows.iter().enumerate() {
        if let Some(question) = &row.contest {
            by_question.entry((&row.source, question)).or_default().push(index);
        }
    }
    let is_right = |index: &usize| rows.get(*index).is_some_and(|row| row.label);
    by_question
        .into_values()
        .filter(|contest| contest.iter().any(is_right) && !contest.iter().all(is_right))
        .collect()
}

/// What is minimized: ½Σ penalty·w² + Σ weight·loss over the rows + [`CONTEST_WEIGHT`]·Σ weight·loss over the contests, whose loss is
/// −log of the share of their right rows in the softmax.
struct Problem {
    /// Standardized values behind a 1 for the bias.
    inputs: Vec<Vec<f64>>,
    /// One per input; 0 for the bias.
    penalties: Vec<f64>,
    labels: Vec<f64>,
    weights: Vec<f64>,
    contests: Vec<Vec<usize>>,
}

impl Problem {
    fn derivatives(&self, solution: &[f64]) -> Derivatives {
        let logits: Vec<f64> = self.inputs.iter().map(|input| dot(input, solution)).collect();
        let (mut slopes, mut curves) = (Vec::new(), Vec::new());
        for ((logit, label), weight) in logits.iter().zip(&self.labels).zip(&self.weights) {
            let probability = sigmoid(*logit);
            slopes.push(weight * (probability - label));
            curves.push(weight * (probability * (1.0 - probability)).max(1e-9));
        }
        let mut means = Vec::with_capacity(self.contests.len());
        for contest in &self.contests {
            let most = contest.iter().map(|row| logits[*row]).fold(f64::MIN, f64::max);
            let shares: Vec<f64> = contest.iter().map(|row| (logits[*row] - most).exp()).collect();
            let all: f64 = shares.iter().sum();
            let of_right = contest
                .iter()
                .zip(&shares)
                .map(|(row, share)| self.labels[*row] * share);
            let right = of_right.sum::<f64>().max(1e-300);
            let weight = contest.first().map_or(0.0, |row| CONTEST_WEIGHT * self.weights[*row]);
            let mut mean = vec![0.0; solution.len()];
            for (row, share) in contest.iter().zip(&shares) {
                slopes[*row] += weight * (share / all - self.labels[*row] * share / right);
                curves[*row] += weight * share / all;
                for (sum, value) in mean.iter_mut().zip(&self.inputs[*row]) {
                    *sum += share / all * value;
                }
            }
            means.push((weight, mean));
        }
        Derivatives { slopes, curves, means }
    }
}

/// How the loss changes with the logits.
struct Derivatives {
    /// The first derivative by the logit of each row.
    slopes: Vec<f64>,
    /// The second one. Those of the right rows of a contest among each other are left out, which bounds the true ones.
    curves: Vec<f64>,
    /// The weight of each contest, and the mean of its inputs by their shares.
    means: Vec<(f64, Vec<f64>)>,
}

fn newton(problem: &Problem) -> Vec<f64> {
    let width = problem.penalties.len();
    let mut solution = vec![0.0; width];
    for _ in 0..MAX_STEPS {
        let slopes = solution.iter().zip(&problem.penalties);
        let mut gradient: Vec<f64> = slopes.map(|(value, penalty)| value * penalty).collect();
        let mut hessian = vec![vec![0.0; width]; width];
        for (place, (row, penalty)) in hessian.iter_mut().zip(&problem.penalties).enumerate() {
            // A small diagonal entry for the bias keeps the Hessian regular if all labels are equal.
            row[place] = penalty.max(1e-6);
        }
        let Derivatives { slopes, curves, means } = problem.derivatives(&solution);
        let of_rows = curves.iter().copied().zip(&problem.inputs);
        let of_contests = means.iter().map(|(weight, mean)| (-weight, mean));
        for (curve, input) in of_rows.chain(of_contests) {
            for (a, left) in input.iter().enumerate() {
                for (b, right) in input.iter().enumerate().take(a + 1) {
                    hessian[a][b] += curve * left * right;
                }
            }
        }
        for (slope, input) in slopes.iter().zip(&problem.inputs) {
            for (sum, value) in gradient.iter_mut().zip(input) {
                *sum += slope * value;
            }
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

fn dot(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).map(|(a, b)| a * b).sum()
}

pub(super) fn sigmoid(logit: f64) -> f64 {
    1.0 / (1.0 + (-logit).exp())
}

#[cfg(test)]
mod tests;
