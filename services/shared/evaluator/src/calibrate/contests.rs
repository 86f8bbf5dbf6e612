//! Sentences that compete to be the answer to a question.

use std::collections::BTreeMap;

use super::Calibrated;
use crate::coefficients::Task;
use crate::features::Group;
use crate::fit::{self, Fit, Row, Table};
use crate::metrics::Judged;

/// The sentences of each question of a data set: the group of each one's model, and its row in that model's table.
#[derive(Default)]
pub(super) struct Contests(BTreeMap<(String, String), Vec<(Group, usize)>>);

impl Contests {
    /// Of the tables of all models.
    pub(super) fn new(tables: &BTreeMap<(Task, Group), Table>) -> Self {
        let mut contests = Self::default();
        for ((_, group), table) in tables.iter().filter(|((task, _), _)| *task == Task::Answer) {
            for (index, row) in table.rows.iter().enumerate() {
                if let Some(question) = &row.contest {
                    let contest = (row.source.clone(), question.clone());
                    contests.0.entry(contest).or_default().push((*group, index));
                }
            }
        }
        contests
    }

    /// Rescales the logits of a model so that the probability of the best sentence of each question is calibrated.
    ///
    /// The probabilities that a fit returns are calibrated over all sentences. The best of many is right less often than
    /// its probability says, and it is the only one that anybody is shown (Platt scaling, Platt 1999). Nothing changes
    /// where all of them are right, or all wrong: that says how sure the model may be at least, and not how sure at most.
    pub(super) fn recalibrate(&self, group: Group, table: &Table, fit: &mut Fit, judged: &mut [Judged]) {
        let winners = self.0.values().filter_map(|sentences| {
            let own = sentences.iter().filter(|(other, _)| *other == group);
            let (row, best) = own
                .filter_map(|(_, row)| judged.get(*row).map(|judged| (*row, judged)))
                .max_by(|(_, a), (_, b)| a.probability.total_cmp(&b.probability))?;
            let row = table.rows.get(row)?;
            Some(Row {
                values: vec![logit(best.probability)],
                ..row.clone()
            })
        });
        let winners: Vec<Row> = winners.collect();
        let right = winners.iter().filter(|winner| winner.label).count();
        if right == 0 || right == winners.len() {
            return;
        }
        let Some((scale, shift)) = fit::line(&winners).filter(|(scale, _)| *scale > 0.0) else {
            return;
        };
        fit.rescale(scale, shift);
        for one in judged {
            one.probability = fit::sigmoid(scale * logit(one.probability) + shift);
        }
    }

    /// The best sentence of each question; `None` if a model of theirs was not fitted.
    pub(super) fn winners(&self, models: &[Calibrated]) -> Option<Winners> {
        let judged = |group: Group, row: usize| -> Option<Judged> {
            let mut own = models.iter().filter(|model| model.task == Task::Answer.name());
            let model = own.find(|model| model.fitted && model.group == group.name())?;
            model.judged.get(row).map(|(_, judged)| *judged)
        };
        let of = |sentences: &Vec<(Group, usize)>| {
            let own: Option<Vec<Judged>> = sentences.iter().map(|(group, row)| judged(*group, *row)).collect();
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

/// The log-odds of a probability.
fn logit(probability: f64) -> f64 {
    let probability = probability.clamp(1e-6, 1.0 - 1e-6);
    (probability / (1.0 - probability)).ln()
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

#[cfg(test)]
mod tests;
