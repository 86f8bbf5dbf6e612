//! Sentences that compete to be the answer to a question.

use std::collections::BTreeMap;

use super::Calibrated;
use crate::coefficients::Task;
use crate::features::Group;
use crate::metrics::Judged;

/// The sentences of each question of a data set: the group of each one's model, and its row in that model's table.
#[derive(Default)]
pub(super) struct Contests(BTreeMap<(String, String), Contest>);

#[derive(Default)]
struct Contest {
    number: usize,
    sentences: Vec<(Group, usize)>,
}

impl Contests {
    /// Adds a sentence to those that compete for a question, and returns the number of their contest.
    pub(super) fn enter(&mut self, source: &str, question: &str, group: Group, row: usize) -> usize {
        let number = self.0.len();
        let contest = (source.to_owned(), question.to_owned());
        let contest = self.0.entry(contest).or_insert_with(|| Contest {
            number,
            ..Contest::default()
        });
        contest.sentences.push((group, row));
        contest.number
    }

    /// The best sentence of each question; `None` if a model of theirs was not fitted.
    pub(super) fn winners(&self, models: &[Calibrated]) -> Option<Winners> {
        let judged = |group: Group, row: usize| -> Option<Judged> {
            let mut own = models.iter().filter(|model| model.task == Task::Answer.name());
            let model = own.find(|model| model.fitted && model.group == group.name())?;
            model.judged.get(row).map(|(_, judged)| *judged)
        };
        let of = |contest: &Contest| {
            let own: Option<Vec<Judged>> = contest
                .sentences
                .iter()
                .map(|(group, row)| judged(*group, *row))
                .collect();
            let own = own?;
            let best = own.iter().max_by(|a, b| a.probability.total_cmp(&b.probability))?;
            Some((*best, own.iter().any(|judged| judged.label)))
        };
        self.0.values().map(of).collect::<Option<Vec<_>>>().map(Winners)
    }
}

/// The best sentence of each question, and whether any of its sentences holds the answer.
pub(super) struct Winners(Vec<(Judged, bool)>);

impl Winners {
    /// The threshold with the most correct outcomes.
    ///
    /// An outcome is correct if the best sentence reaches the threshold and holds the answer, or if it does not reach it
    /// and no sentence holds the answer. Of the thresholds within one standard error of the best, it is the middle one.
    pub(super) fn best_threshold(&self) -> Option<f64> {
        let outcome = |threshold: f64| {
            let right = self.0.iter().filter(|(best, any)| {
                if best.probability >= threshold {
                    best.label
                } else {
                    !any
                }
            });
            right.count()
        };
        let steps = (1..100).map(|step| f64::from(step) * 0.01);
        let outcomes: Vec<(f64, usize)> = steps.map(|threshold| (threshold, outcome(threshold))).collect();
        middle_of_best(&outcomes, self.0.len())
    }
}

/// The middle of the thresholds whose number of correct outcomes is within one standard error of the maximum. `of` is
/// the number of all outcomes.
pub(super) fn middle_of_best(outcomes: &[(f64, usize)], of: usize) -> Option<f64> {
    let most = outcomes.iter().map(|(_, right)| *right).max()? as f64;
    let error = (most * (1.0 - most / of as f64)).sqrt();
    let good = outcomes
        .iter()
        .filter(|(_, right)| *right > 0 && *right as f64 >= most - error);
    let good: Vec<f64> = good.map(|(threshold, _)| *threshold).collect();
    Some(f64::midpoint(*good.first()?, *good.last()?))
}
