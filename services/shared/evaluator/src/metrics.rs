//! How good probabilities are against labels: ranking (ROC-AUC), decisions (F1, precision), and calibration (Brier score,
//! expected calibration error).

/// A judgement and whether it was right to say yes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judged {
    /// The probability of yes, 0–1.
    pub probability: f64,
    /// Whether yes is right.
    pub label: bool,
}

/// A threshold and what it does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// Yes from here on, 0–1.
    pub threshold: f64,
    /// The share of right ones among those that are said yes to, 0–1.
    pub precision: f64,
    /// The share of the right ones that are said yes to, 0–1.
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

/// Judgements of about the same probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bin {
    /// From this probability on, 0–1.
    pub from: f64,
    /// Up to this one, 0–1.
    pub to: f64,
    /// How many.
    pub count: usize,
    /// The mean probability, 0–1; 0 in an empty bin.
    pub mean: f64,
    /// The share for which yes is right, 0–1; 0 in an empty bin.
    pub right: f64,
}

/// The probability that a right one is above a wrong one, ties counting half; `None` without both (Hanley and McNeil 1982).
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

/// Every threshold at which the decisions change, from the highest on.
fn decisions(judged: &[Judged]) -> Vec<Decision> {
    let mut sorted: Vec<&Judged> = judged.iter().collect();
    sorted.sort_by(|a, b| b.probability.total_cmp(&a.probability));
    let right = sorted.iter().filter(|one| one.label).count().max(1) as f64;
    let (mut said, mut hit) = (0.0, 0.0);
    sorted
        .chunk_by(|a, b| a.probability == b.probability)
        .map(|tied| {
            said += tied.len() as f64;
            hit += tied.iter().filter(|one| one.label).count() as f64;
            Decision {
                threshold: tied.first().map_or(0.0, |one| one.probability),
                precision: hit / said,
                recall: hit / right,
            }
        })
        .collect()
}

/// The decision with the highest F1; `None` without a right one.
pub fn best_f1(judged: &[Judged]) -> Option<Decision> {
    let best = decisions(judged).into_iter().max_by(|a, b| a.f1().total_cmp(&b.f1()));
    best.filter(|best| best.f1() > 0.0)
}

/// The lowest threshold from which on yes is right with at least this precision; `None` where no threshold reaches it.
pub fn precise(judged: &[Judged], precision: f64) -> Option<Decision> {
    decisions(judged)
        .into_iter()
        .filter(|decision| decision.precision >= precision)
        .min_by(|a, b| a.threshold.total_cmp(&b.threshold))
}

/// The highest threshold that says yes to at least this share of the right ones; `None` without a right one.
pub fn complete(judged: &[Judged], recall: f64) -> Option<Decision> {
    decisions(judged).into_iter().find(|decision| decision.recall >= recall)
}

/// The mean squared distance of probability and label, 0–1, lower is better (Brier 1950); 0 for none.
pub fn brier(judged: &[Judged]) -> f64 {
    let sum: f64 = judged
        .iter()
        .map(|one| (one.probability - f64::from(u8::from(one.label))).powi(2))
        .sum();
    sum / judged.len().max(1) as f64
}

/// The place of a probability among `count` bins of the same width.
fn bin(probability: f64, count: usize) -> usize {
    ((probability * count as f64) as usize).min(count.saturating_sub(1))
}

/// `count` bins of the same width.
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

/// Bins of the calibration error.
const BINS: usize = 10;

/// The mean distance of probability and share of right ones over ten bins, weighted by their sizes, 0–1 (Naeini et al.
/// 2015); 0 for none.
pub fn expected_calibration_error(judged: &[Judged]) -> f64 {
    let off: f64 = reliability(judged, BINS)
        .iter()
        .map(|bin| bin.count as f64 * (bin.mean - bin.right).abs())
        .sum();
    off / judged.len().max(1) as f64
}

/// What [`expected_calibration_error`] shows by chance, 0–1: its mean if each label were yes with just the probability that
/// was said. So many pairs show no lower error on average, however well calibrated. The share of right ones of a bin is
/// taken as normal.
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
