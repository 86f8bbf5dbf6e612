//! L2-regularized logistic regression and conditional logit by Newton's method, with cross-validation grouped by article or
//! question.

mod newton;

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use newton::{Rivals, newton};

/// Candidate inverse regularization strengths (`C` in scikit-learn).
const CHOICES: [f64; 6] = [0.003, 0.01, 0.03, 0.1, 0.3, 1.0];
/// Standardized values are clamped to ± this.
pub(super) const CLAMP: f64 = 5.0;
/// Number of folds for cross-validation.
pub(super) const FOLDS: usize = 5;

/// The training data of one model.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    /// The column names.
    pub(super) names: Vec<&'static str>,
    pub(super) rows: Vec<Row>,
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
    /// Rows with the same number are rivals: one of them is chosen, or none (conditional logit, McFadden 1974). A row
    /// without a number has no rival, which is logistic regression.
    pub(super) contest: Option<usize>,
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

    fn logit(&self, values: &[f64]) -> f64 {
        let terms = self.terms.iter().zip(values).filter_map(|(term, value)| {
            let (weight, mean, scale) = (*term)?;
            Some(weight * ((value - mean) / scale).clamp(-CLAMP, CLAMP))
        });
        terms.fold(self.bias, |sum, term| sum + term)
    }
}

/// Fits a model to all rows, and returns for each row, in order, the log-odds by a model that was not fitted to its
/// question.
///
/// The penalty is the one with the lowest log loss on the held-out rows.
pub(super) fn fit(table: &Table) -> (Fit, Vec<f64>) {
    let rows: Vec<&Row> = table.rows.iter().collect();
    let rivals = rivals(&rows);
    let labels: Vec<bool> = table.rows.iter().map(|row| row.label).collect();
    let candidates = CHOICES.map(|c| (c, cross_validated(table, c)));
    let loss = |logits: &[f64]| -> f64 {
        let each = rivals.iter().map(|rivals| rivals.weight * rivals.loss(logits, &labels));
        each.sum()
    };
    let best = candidates
        .into_iter()
        .min_by(|(_, a), (_, b)| loss(a).total_cmp(&loss(b)));
    let (c, logits) = best.unwrap_or((CHOICES[0], Vec::new()));
    (fit_rows(table.names.len(), &rows, c), logits)
}

/// Maps held-out log-odds, and those of the model, to a line on which the probabilities of the choices are calibrated: a model
/// with a strong penalty is too modest (Platt scaling, Platt 1999). Nothing changes where all choices are right, or all
/// wrong: that says how sure the model may be at least, and not how sure at most.
pub(super) fn recalibrate(table: &Table, fit: &mut Fit, logits: &mut [f64]) {
    let held_out = table.rows.iter().zip(logits.iter()).map(|(row, logit)| Row {
        values: vec![*logit],
        ..row.clone()
    });
    let held_out: Vec<Row> = held_out.collect();
    let rows: Vec<&Row> = held_out.iter().collect();
    let mut right = 0;
    let contests = rivals(&rows);
    for contest in &contests {
        let best = contest.rows.iter().max_by(|a, b| logits[**a].total_cmp(&logits[**b]));
        right += usize::from(best.is_some_and(|best| table.rows[*best].label));
    }
    if right == 0 || right == contests.len() {
        return;
    }
    let line = fit_rows(1, &rows, CHOICES[CHOICES.len() - 1]);
    let Some((weight, mean, deviation)) = line
        .terms
        .first()
        .copied()
        .flatten()
        .filter(|(weight, ..)| *weight > 0.0)
    else {
        return;
    };
    let (scale, shift) = (weight / deviation, line.bias - weight * mean / deviation);
    fit.rescale(scale, shift);
    for logit in logits {
        *logit = scale * *logit + shift;
    }
}

/// The probability that each row is chosen among its rivals, by the rows' log-odds.
pub(super) fn choices(table: &Table, logits: &[f64]) -> Vec<f64> {
    let mut chosen = vec![0.0; logits.len()];
    for rivals in rivals(&table.rows.iter().collect::<Vec<_>>()) {
        let own: Vec<f64> = rivals.rows.iter().map(|row| logits[*row]).collect();
        for (row, probability) in rivals.rows.iter().zip(softmax(&own)) {
            chosen[*row] = probability;
        }
    }
    chosen
}

/// The probability that each is chosen, and not another or none, by their log-odds against none.
pub(super) fn softmax(logits: &[f64]) -> Vec<f64> {
    let most = logits.iter().copied().fold(0.0, f64::max);
    let parts: Vec<f64> = logits.iter().map(|logit| (logit - most).exp()).collect();
    let whole = (-most).exp() + parts.iter().sum::<f64>();
    parts.into_iter().map(|part| part / whole).collect()
}

/// The log-odds of each row, by a model that was fitted to the other folds.
fn cross_validated(table: &Table, c: f64) -> Vec<f64> {
    let mut logits = vec![0.0; table.rows.len()];
    for fold in 0..FOLDS {
        let (own, others): (Vec<_>, Vec<_>) = table.rows.iter().enumerate().partition(|(_, row)| fold_of(row) == fold);
        let others: Vec<&Row> = others.into_iter().map(|(_, row)| row).collect();
        let model = fit_rows(table.names.len(), &others, c);
        for (place, row) in own {
            logits[place] = model.logit(&row.values);
        }
    }
    logits
}

/// The rows that compete with each other, by their places in `rows`.
///
/// A contest of a data set with n of them weighs 1/√n, scaled to a mean of 1: a large data set counts more than a small
/// one, but not in proportion.
fn rivals(rows: &[&Row]) -> Vec<Rivals> {
    let mut contests: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut alone = Vec::new();
    for (place, row) in rows.iter().enumerate() {
        match row.contest {
            Some(contest) => contests.entry(contest).or_default().push(place),
            None => alone.push(vec![place]),
        }
    }
    let contests: Vec<Vec<usize>> = contests.into_values().chain(alone).collect();
    let source = |contest: &[usize]| contest.first().map_or("", |first| rows[*first].source.as_str());
    let mut sizes: BTreeMap<&str, f64> = BTreeMap::new();
    for contest in &contests {
        *sizes.entry(source(contest)).or_default() += 1.0;
    }
    let weight = |contest: &[usize]| sizes.get(source(contest)).map_or(1.0, |size| size.sqrt().recip());
    let mean = contests.iter().map(|contest| weight(contest)).sum::<f64>() / contests.len().max(1) as f64;
    let rivals = contests.iter().map(|contest| Rivals {
        weight: weight(contest) / mean,
        rows: contest.clone(),
    });
    rivals.collect()
}

/// The fold by a hash of the question, independent of the order of rows.
fn fold_of(row: &Row) -> usize {
    let hash = Sha256::digest(row.key.as_bytes());
    usize::from(hash.first().copied().unwrap_or_default()) % FOLDS
}

fn fit_rows(width: usize, rows: &[&Row], c: f64) -> Fit {
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
    let labels: Vec<bool> = rows.iter().map(|row| row.label).collect();
    let solution = newton(&inputs, &labels, &rivals(rows), c, used.len() + 1);
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

pub(super) fn sigmoid(logit: f64) -> f64 {
    1.0 / (1.0 + (-logit).exp())
}

#[cfg(test)]
mod tests;
