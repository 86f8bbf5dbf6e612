//! Metrics of predicted probabilities against labels: ranking (ROC-AUC), decisions (F1, precision, recall) and
//! calibration (Brier score, expected calibration error).

/// A predicted probability and its label.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judged {
    /// The probability of the positive class, 0–1.
    pub probability: f64,
    /// Whether the label is positive.
    pub label: bool,
}

/// A decision threshold with its precision and recall.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// The lowest probability that is decided as positive, 0–1.
    pub threshold: f64,
    /// The share of true positives among the positive decisions, 0–1.
    pub precision: f64,
    /// The share of true positives among the positive labels, 0–1.
    pub recall: f64,
}

impl Decision {
    /// The harmonic mean of precision and recall, 0–1.
    pub fn f1(&self) -> f64 {
        let sum = self.precision + self.recall;
        if sum > 0.0 {
            2.0 * self.precision * self.recall / sum
        } else {
            0.0
        }
    }
}

/// A bin of judgements with similar probabilities.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bin {
    /// The lower bound, inclusive, 0–1.
    pub from: f64,
    /// The upper bound, 0–1.
    pub to: f64,
    /// The number of judgements.
    pub count: usize,
    /// The mean probability, 0–1; 0 in an empty bin.
    pub mean: f64,
    /// The share of positive labels, 0–1; 0 in an empty bin.
    pub right: f64,
}

/// ROC-AUC: the probability that a positive ranks above a negative, with ties counting half; `None` if either is
/// missing (Hanley and McNeil 1982).
pub fn roc_auc(judged: &[Judged]) -> Option<f64> {
    let mut sorted: Vec<&Judged> = judged.iter().collect();
    sorted.sort_by(|a, b| a.probability.total_cmp(&b.probability));
    let right = sorted.iter().filter(|one| one.label).count();
    let wrong = sorted.len() - right;
    if right == 0 || wrong == 0 {
        return None;
    }
    let (mut below, mut wins) = (0usize, 0.0);
    for tied in sorted.chunk_by(|a, b| a.probability == b.probability) {
        let tied_right = tied.iter().filter(|one| one.label).count();
        let tied_wrong = tied.len() - tied_right;
        wins += tied_right as f64 * (below as f64 + tied_wrong as f64 / 2.0);
        below += tied_wrong;
    }
    Some(wins / (right as f64 * wrong as f64))
}

/// The decision at every distinct threshold, highest first.
fn decisions(judged: &[Judged]) -> Vec<Decision> {
    let mut sorted: Vec<&Judged> = judged.iter().collect();
    sorted.sort_by(|a, b| b.probability.total_cmp(&a.probability));
    let right = sorted.iter().filter(|one| one.label).count().max(1) as f64;
    let (mut predicted, mut true_positives) = (0.0, 0.0);
    sorted
        .chunk_by(|a, b| a.probability == b.probability)
        .map(|tied| {
            predicted += tied.len() as f64;
            true_positives += tied.iter().filter(|one| one.label).count() as f64;
            Decision {
                threshold: tied.first().map_or(0.0, |one| one.probability),
                precision: true_positives / predicted,
                recall: true_positives / right,
            }
        })
        .collect()
}

/// The decision with the highest F1; `None` without a positive label.
pub fn best_f1(judged: &[Judged]) -> Option<Decision> {
    let best = decisions(judged).into_iter().max_by(|a, b| a.f1().total_cmp(&b.f1()));
    best.filter(|best| best.f1() > 0.0)
}

/// The lowest threshold with at least this precision; `None` if no threshold reaches it.
pub fn threshold_for_precision(judged: &[Judged], precision: f64) -> Option<Decision> {
    decisions(judged)
        .into_iter()
        .filter(|decision| decision.precision >= precision)
        .min_by(|a, b| a.threshold.total_cmp(&b.threshold))
}

/// The highest threshold with at least this recall; `None` without a positive label.
pub fn threshold_for_recall(judged: &[Judged], recall: f64) -> Option<Decision> {
    decisions(judged).into_iter().find(|decision| decision.recall >= recall)
}

/// The Brier score: the mean squared difference of probability and label, 0–1, lower is better (Brier 1950); 0 if
/// empty.
pub fn brier(judged: &[Judged]) -> f64 {
    let sum: f64 = judged
        .iter()
        .map(|one| (one.probability - f64::from(u8::from(one.label))).powi(2))
        .sum();
    sum / judged.len().max(1) as f64
}

/// The index of the bin of a probability among `count` equal-width bins.
fn bin(probability: f64, count: usize) -> usize {
    ((probability * count as f64) as usize).min(count.saturating_sub(1))
}

/// The reliability diagram: `count` equal-width bins.
pub fn reliability(judged: &[Judged], count: usize) -> Vec<Bin> {
    let width = 1.0 / count.max(1) as f64;
    (0..count)
        .map(|place| {
            let own: Vec<&Judged> = judged
                .iter()
                .filter(|one| bin(one.probability, count) == place)
                .collect();
            let share = |sum: f64| if own.is_empty() { 0.0 } else { sum / own.len() as f64 };
            Bin {
                from: place as f64 * width,
                to: (place + 1) as f64 * width,
                count: own.len(),
                mean: share(own.iter().map(|one| one.probability).sum()),
                right: share(own.iter().filter(|one| one.label).count() as f64),
            }
        })
        .collect()
}

/// Number of bins of the expected calibration error.
const BINS: usize = 10;

/// The expected calibration error: the mean absolute difference of probability and share of positives over ten bins,
/// weighted by bin size, 0–1 (Naeini et al. 2015); 0 if empty.
pub fn expected_calibration_error(judged: &[Judged]) -> f64 {
    let off: f64 = reliability(judged, BINS)
        .iter()
        .map(|bin| bin.count as f64 * (bin.mean - bin.right).abs())
        .sum();
    off / judged.len().max(1) as f64
}

/// The value of [`expected_calibration_error`] that is due to chance, 0–1: its mean if every label were drawn with
/// exactly the predicted probability.
///
/// Even perfectly calibrated predictions have this error on average with this number of pairs. The share of positives
/// in a bin is approximated as normal.
pub fn chance_calibration_error(judged: &[Judged]) -> f64 {
    let mut variances = [0.0; BINS];
    for one in judged {
        variances[bin(one.probability, BINS)] += one.probability * (1.0 - one.probability);
    }
    let off: f64 = variances.iter().map(|variance| variance.sqrt()).sum();
    off * std::f64::consts::FRAC_2_PI.sqrt() / judged.len().max(1) as f64
}

#[cfg(test)]
mod tests;
