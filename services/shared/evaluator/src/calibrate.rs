//! Fits coefficients and thresholds to labelled pairs.

mod contests;

use std::collections::BTreeMap;

use super::coefficients::{Coefficients, Model, Task, Term};
use super::features::{Features, Group};
use super::fit::{self, Fit, Row, Table};
use super::metrics::{self, Judged};
use contests::Contests;

use super::{EvaluateError, Evaluator, Pair, Thresholds};

/// The minimum number of rows to fit a model; at least a quarter as many must have each label. With fewer, the current
/// model is kept.
const MIN_ROWS: usize = 40;

/// The probability at which something is twice as likely right as wrong.
const CONVINCING: f64 = 2.0 / 3.0;

/// Collects labelled pairs and fits the evaluator's models to them.
pub struct Calibrator {
    evaluator: Evaluator,
    words_only: bool,
    tables: BTreeMap<(Task, Group), Table>,
}

/// Targets for choosing thresholds, 0–1.
#[derive(Clone, Copy, Debug)]
pub struct Targets {
    /// The minimum precision of the decisions "correct", "incorrect" and "fully supported".
    pub precision: f64,
    /// The minimum recall of relevant passages. A missed passage loses its answer; a superfluous one is only read.
    pub recall: f64,
}

/// The features of a pair: one entry, or one per sentence for [`Pair::Answer`].
#[derive(Clone, Debug)]
pub struct Observed(Vec<(Task, Group, Features)>);

/// The result of a calibration.
#[derive(Clone, Debug)]
pub struct Calibration {
    /// The new coefficients. Models and thresholds with too few pairs are unchanged.
    pub coefficients: Coefficients,
    /// One entry per task and group with pairs.
    pub models: Vec<Calibrated>,
}

/// The quality of one model on held-out questions.
#[derive(Clone, Debug)]
pub struct Calibrated {
    /// `relevance`, `answer`, `groundedness`, `groundedness_fragment`, `usefulness` or `usefulness_fragment`.
    pub task: &'static str,
    /// `alphabet`, `cjk` or `cross`.
    pub group: &'static str,
    /// Whether the model was fitted. With too few pairs it is not, and the judgements are those of the current model.
    pub fitted: bool,
    /// The source and the cross-validated judgement of each pair, in order.
    pub judged: Vec<(String, Judged)>,
}

impl Calibrated {
    /// The judgements without their sources.
    pub fn judgements(&self) -> Vec<Judged> {
        self.judged.iter().map(|(_, judged)| *judged).collect()
    }
}

impl Calibrator {
    /// Creates a calibrator that starts from the coefficients of `evaluator`.
    pub fn new(evaluator: Evaluator) -> Self {
        Self {
            evaluator,
            words_only: false,
            tables: BTreeMap::new(),
        }
    }

    /// Leaves out the embedder's features, so that the coefficients work with any embedder or none.
    ///
    /// Words do not match across languages, so pairs in two languages are skipped. At run time they are judged like
    /// pairs without a common word.
    #[must_use]
    pub fn words_only(self, words_only: bool) -> Self {
        Self { words_only, ..self }
    }

    /// Computes the features of a pair, for [`add`](Self::add). It takes `&self`, so that many pairs can be processed
    /// concurrently.
    ///
    /// # Errors
    /// [`EvaluateError::Embed`] when the texts could not be embedded.
    pub async fn observe(&self, pair: Pair<'_>) -> Result<Observed, EvaluateError> {
        Ok(Observed(self.evaluator.features_of(pair).await?))
    }

    /// Adds the features that [`observe`](Self::observe) computed for a pair of the data set `source`.
    ///
    /// `labels` holds one label, or one per sentence for [`Pair::Answer`]. Missing labels count as negative. Pairs about
    /// one `article` are in the same fold of the cross-validation; without an article those with the same question (for
    /// groundedness, the same evidence) are.
    pub fn add(&mut self, source: &str, pair: Pair<'_>, observed: Observed, labels: &[bool], article: Option<&str>) {
        let question = match pair {
            Pair::Relevance { question, .. } | Pair::Answer { question, .. } | Pair::Usefulness { question, .. } => {
                question
            }
            // Claims change with their evidence, and the question may be unknown.
            Pair::Groundedness { evidence, .. } => evidence,
        };
        let key = article.unwrap_or(question);
        let Observed(observed) = observed;
        let Some(&(_, group, _)) = observed.first() else {
            return;
        };
        if self.words_only && group == Group::Cross {
            return;
        }
        for (place, (task, group, features)) in observed.iter().enumerate() {
            let table = self.tables.entry((*task, *group)).or_insert_with(|| Table {
                names: fitted(*task, *group, self.words_only),
                rows: Vec::new(),
            });
            table.rows.push(Row {
                values: values(&table.names, features),
                label: labels.get(place).copied().unwrap_or_default(),
                key: key.to_owned(),
                source: source.to_owned(),
                contest: (*task == Task::Answer).then(|| question.to_owned()),
            });
        }
    }

    /// Fits every model that has enough pairs, and chooses thresholds on the cross-validated judgements. The model of answers
    /// is also fitted to choose the right one of a question's sentences.
    ///
    /// - `upper` and `fully`: the lowest thresholds at which positive decisions reach the target precision
    /// - `lower`: the same for negative decisions
    /// - `relevant`: the highest threshold that reaches the target recall
    /// - `answers`: the middle of the thresholds with the most correct outcomes
    /// - `quote`: where the best sentence of a question is twice as likely right as wrong, and not below `answers`
    /// - all others: the threshold with the highest F1
    pub fn finish(self, targets: Targets) -> Calibration {
        let mut coefficients = (*self.evaluator.coefficients()).clone();
        let mut models = Vec::new();
        let contests = Contests::new(&self.tables);
        for ((task, group), table) in &self.tables {
            let right = table.rows.iter().filter(|row| row.label).count();
            let least = MIN_ROWS / 4;
            let enough = table.rows.len() >= MIN_ROWS && right >= least && table.rows.len() - right >= least;
            let judged = if enough {
                let (mut fit, mut judged) = fit::fit(table);
                if *task == Task::Answer {
                    contests.recalibrate(*group, table, &mut fit, &mut judged);
                }
                coefficients.set(*task, *group, model(table, &fit));
                judged
            } else {
                let present = |row: &Row| Judged {
                    probability: coefficients.probability(*task, *group, &features(&table.names, &row.values)),
                    label: row.label,
                };
                table.rows.iter().map(present).collect()
            };
            let sources = table.rows.iter().map(|row| row.source.clone());
            models.push(Calibrated {
                task: task.name(),
                group: group.name(),
                fitted: enough,
                judged: sources.zip(judged).collect(),
            });
        }
        if self.words_only {
            coefficients.remove_group(Group::Cross);
        }
        let thresholds = thresholds(*coefficients.thresholds(), &models, &contests, targets);
        coefficients.set_thresholds(thresholds);
        Calibration { coefficients, models }
    }
}

/// Thresholds chosen on the judgements of models that were fitted; others stay as they are.
fn thresholds(mut thresholds: Thresholds, models: &[Calibrated], contests: &Contests, targets: Targets) -> Thresholds {
    let judgements = |tasks: &[Task]| -> Vec<Judged> {
        let own = models
            .iter()
            .filter(|model| model.fitted && tasks.iter().any(|task| task.name() == model.task));
        own.flat_map(Calibrated::judgements).collect()
    };
    let relevance = judgements(&[Task::Relevance]);
    if let Some(relevant) = metrics::threshold_for_recall(&relevance, targets.recall) {
        let upper =
            metrics::threshold_for_precision(&relevance, targets.precision).map_or(1.0, |decision| decision.threshold);
        let opposite: Vec<Judged> = relevance
            .iter()
            .map(|one| Judged {
                probability: 1.0 - one.probability,
                label: !one.label,
            })
            .collect();
        let lower = metrics::threshold_for_precision(&opposite, targets.precision)
            .map_or(0.0, |decision| 1.0 - decision.threshold);
        thresholds.lower = round(lower.min(relevant.threshold));
        thresholds.relevant = round(relevant.threshold);
        thresholds.upper = round(upper.max(relevant.threshold));
        thresholds.strip = thresholds.lower;
    }
    let groundedness = judgements(&[Task::Groundedness, Task::GroundedFragment]);
    if let Some(best) = metrics::best_f1(&groundedness) {
        let fully = metrics::threshold_for_precision(&groundedness, targets.precision)
            .map_or(1.0, |decision| decision.threshold);
        thresholds.partially = round(best.threshold);
        thresholds.fully = round(fully.max(best.threshold));
    }
    if let Some(best) = metrics::best_f1(&judgements(&[Task::Usefulness, Task::UsefulFragment])) {
        thresholds.useful = round(best.threshold);
    }
    if let Some(winners) = contests.winners(models)
        && let Some(answers) = winners.best_threshold()
    {
        thresholds.answers = round(answers);
        thresholds.quote = round(answers.max(CONVINCING));
    }
    thresholds
}

/// The features that a model is fitted to.
///
/// Across languages only meaning, numbers, names and the expected kind of answer can agree. The data has too few
/// languages with alphabets to tell them apart by a language feature.
fn fitted(task: Task, group: Group, words_only: bool) -> Vec<&'static str> {
    let agree = |name: &str| {
        ["cosine", "number", "name", "expected"]
            .iter()
            .any(|part| name.contains(part))
    };
    let names = task.features().iter().copied();
    names
        .filter(|name| group != Group::Cross || agree(name))
        .filter(|name| group == Group::Cjk || !name.starts_with("language"))
        .filter(|name| !(words_only && name.starts_with("cosine")))
        .collect()
}

/// A missing feature is 0. An embedder without token vectors leaves columns of zeros, which a fit ignores.
fn values(names: &[&'static str], features: &Features) -> Vec<f64> {
    names
        .iter()
        .map(|name| features.get(name).unwrap_or_default())
        .collect()
}

fn features(names: &[&'static str], values: &[f64]) -> Features {
    names.iter().copied().zip(values.iter().copied()).collect()
}

fn model(table: &Table, fit: &Fit) -> Model {
    let terms = table.names.iter().zip(&fit.terms).filter_map(|(name, term)| {
        let (weight, mean, scale) = (*term)?;
        Some(((*name).to_owned(), Term { weight, mean, scale }))
    });
    Model {
        bias: fit.bias,
        features: terms.collect(),
    }
}

/// Rounds to three decimals, which is finer than the data can resolve.
fn round(threshold: f64) -> f64 {
    (threshold.clamp(0.0, 1.0) * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests;
