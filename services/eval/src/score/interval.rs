//! How sure a share, or the difference of two shares, is.

use serde::Serialize;

/// The standard normal's quantile of 97.5 %: two tails of 2.5 % leave 95 %.
const Z: f64 = 1.959_963_984_540_054;

/// The 95 % interval of a share of `count` in `of`, by Wilson's score: it keeps its level where few were counted and near
/// 0 and 1. None of nothing.
#[must_use]
pub fn wilson(count: u32, of: u32) -> Option<[f64; 2]> {
    if of == 0 {
        return None;
    }
    let (n, p) = (f64::from(of), f64::from(count) / f64::from(of));
    let (shrink, centre) = (1.0 + Z * Z / n, p + Z * Z / (2.0 * n));
    let half = Z * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
    Some([
        ((centre - half) / shrink).clamp(0.0, p),
        ((centre + half) / shrink).clamp(p, 1.0),
    ])
}

/// How two graphs did on the same questions: in how many cases the outcome of both, of one, of neither was correct.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Paired {
    /// Both.
    pub both: u32,
    /// Only that of the graph itself.
    pub better: u32,
    /// Only that of the baseline.
    pub worse: u32,
    /// Neither.
    pub neither: u32,
}

/// How far a graph is from the baseline, in points of 100.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Difference {
    /// Questions that both graphs walked.
    pub questions: u32,
    /// Questions that only this graph got right.
    pub better: u32,
    /// Questions that only the baseline got right.
    pub worse: u32,
    /// Share correct less the baseline's, −100–100.
    pub points: f64,
    /// Lower end of its 95 % interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Difference {
    /// Whether the interval leaves out 0.
    #[must_use]
    pub fn is_real(&self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }
}

impl Paired {
    /// Adds one question.
    pub fn add(&mut self, correct: bool, baseline: bool) {
        let cell = match (correct, baseline) {
            (true, true) => &mut self.both,
            (true, false) => &mut self.better,
            (false, true) => &mut self.worse,
            (false, false) => &mut self.neither,
        };
        *cell += 1;
    }

    /// The difference with its interval: Newcombe's square-and-add of the two Wilson intervals with their correlation
    /// (Statistics in Medicine 17, 1998, method 10). It needs no random numbers and does not shrink to nothing where the
    /// graphs agree on every question. None of nothing.
    #[must_use]
    pub fn difference(&self) -> Option<Difference> {
        let Self {
            both,
            better,
            worse,
            neither,
        } = *self;
        let questions = both + better + worse + neither;
        let [low, high] = wilson(both + better, questions)?;
        let [base_low, base_high] = wilson(both + worse, questions)?;
        let share = |count: u32| f64::from(count) / f64::from(questions);
        let (p, base) = (share(both + better), share(both + worse));
        let phi = self.correlation();
        let apart = |one: f64, other: f64| (one * one - 2.0 * phi * one * other + other * other).max(0.0).sqrt();
        Some(Difference {
            questions,
            better,
            worse,
            points: 100.0 * (p - base),
            low: 100.0 * (p - base - apart(p - low, base_high - base)),
            high: 100.0 * (p - base + apart(high - p, base - base_low)),
        })
    }

    /// The phi coefficient, corrected for continuity where it is positive; 0 where one of the margins is empty.
    fn correlation(&self) -> f64 {
        let [a, b, c, d] = [self.both, self.better, self.worse, self.neither].map(f64::from);
        let margins = (a + b) * (c + d) * (a + c) * (b + d);
        if margins == 0.0 {
            return 0.0;
        }
        let mut product = a * d - b * c;
        if product > 0.0 {
            product = (product - (a + b + c + d) / 2.0).max(0.0);
        }
        product / margins.sqrt()
    }
}

#[cfg(test)]
mod tests;
