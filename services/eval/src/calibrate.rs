//! The evaluator's coefficients and thresholds from labelled pairs.

use std::{collections::BTreeMap, fmt::Write as _, path::PathBuf};

use anyhow::Result;
use emend_evaluator::{
    Calibrated, Calibration, Calibrator, Evaluator, Targets, Thresholds,
    metrics::{self, Judged},
};
use futures::TryStreamExt as _;
use serde::Serialize;

use crate::{
    pairs::{self, LabelledPair, Task},
    progress::Progress,
    reliability::{self, Curve},
};

/// Follows the name of a data set for those of its pairs that no person judged.
const CONSTRUCTED: &str = ", constructed";

/// One model, or one data set of it, on questions that it was not fitted to.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    /// What is judged.
    pub task: &'static str,
    /// `alphabet`, `cjk` or `cross`.
    pub group: &'static str,
    /// The data set; none for the whole model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Whether there were enough pairs to fit it.
    pub fitted: bool,
    /// How many there are.
    pub pairs: usize,
    /// Area under the curve of the receiver operating characteristic, 0–1; none with one label alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roc_auc: Option<f64>,
    /// Highest F1 over all thresholds, 0–1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub best_f1: Option<f64>,
    /// Mean squared distance of probability and label, 0–1.
    pub brier: f64,
    /// Mean distance of probability and share that is right, 0–1.
    pub expected_calibration_error: f64,
    /// What the error would be by chance if the probabilities were right: on average so few pairs show no less.
    pub chance_calibration_error: f64,
}

/// Labelled pairs with the name of the data set that each is of.
#[derive(Clone, Debug, Default)]
pub struct Labelled(Vec<(String, LabelledPair)>);

impl Labelled {
    /// Adds the pairs of files.
    ///
    /// # Errors
    /// A file cannot be read, or holds a line that is no pair of the task.
    pub fn read(&mut self, task: Task, files: &[PathBuf]) -> Result<()> {
        for path in files {
            let source = pairs::source(path);
            let named = |pair: LabelledPair| {
                let marked = if pair.constructed { CONSTRUCTED } else { "" };
                (format!("{source}{marked}"), pair)
            };
            self.0.extend(pairs::read(path, task)?.into_iter().map(named));
        }
        Ok(())
    }
}

/// How the models are fitted.
#[derive(Clone, Copy, Debug)]
pub struct Fit {
    /// On words alone, without what the embedder sees.
    pub words_only: bool,
    /// What the thresholds are to reach.
    pub targets: Targets,
}

/// Models that were fitted.
#[derive(Debug)]
pub struct Fitted {
    calibration: Calibration,
    about: String,
}

/// Fits the models for which there are pairs; the others stay those of `evaluator`, whose embedder is named `embedder`.
/// `data_sources` says more about the data, a line each.
///
/// # Errors
/// The evaluator's embedder fails.
pub async fn fit(
    evaluator: Evaluator,
    embedder: &str,
    labelled: &Labelled,
    fit: Fit,
    data_sources: &[String],
    progress: &impl Progress,
) -> Result<Fitted> {
    let labelled = &labelled.0;
    let mut calibrator = Calibrator::new(evaluator).words_only(fit.words_only);
    progress.begin("reading", labelled.len() as u64);
    let mut observed = Vec::with_capacity(labelled.len());
    {
        let calibrator = &calibrator;
        let mut looked = pairs::each(labelled, |(_, pair)| calibrator.observe(pair.pair()));
        while let Some(one) = looked.try_next().await? {
            observed.push(one);
            progress.advance();
        }
    }
    progress.end();
    for ((source, pair), observed) in labelled.iter().zip(observed) {
        calibrator.add(source, pair.pair(), observed, &pair.labels, pair.article.as_deref());
    }
    Ok(Fitted {
        calibration: calibrator.finish(fit.targets),
        about: about(embedder, fit, labelled, data_sources),
    })
}

impl Fitted {
    /// The file of coefficients and thresholds, which says what they were fitted to.
    #[must_use]
    pub fn to_toml(&self) -> String {
        self.calibration.coefficients.to_toml(&self.about)
    }

    /// A page that shows how probabilities and labels agree.
    ///
    /// # Errors
    /// The page cannot be rendered.
    pub fn diagram(&self) -> Result<String> {
        let curves = self.calibration.models.iter().map(|model| Curve {
            task: model.task,
            name: model.group.to_owned(),
            bins: metrics::reliability(&model.judgements(), 10),
        });
        reliability::diagram("Calibrated grades", &curves.collect::<Vec<_>>())
    }

    /// How the models do.
    #[must_use]
    pub fn rows(&self) -> Vec<Row> {
        self.calibration.models.iter().flat_map(rows).collect()
    }

    /// The new thresholds.
    #[must_use]
    pub fn thresholds(&self) -> &Thresholds {
        self.calibration.coefficients.thresholds()
    }

    /// How the models do and the thresholds, on a terminal.
    #[must_use]
    pub fn text(&self) -> String {
        text(&self.rows(), self.thresholds())
    }
}

/// What the file says of itself.
fn about(embedder: &str, fit: Fit, labelled: &[(String, LabelledPair)], data_sources: &[String]) -> String {
    let mut sources: BTreeMap<(Task, &str), usize> = BTreeMap::new();
    for (source, pair) in labelled {
        *sources.entry((pair.task, source)).or_default() += 1;
    }
    let seen = if fit.words_only {
        "on words alone".to_owned()
    } else {
        format!("with {embedder}")
    };
    let mut about = format!(
        "Coefficients of the evaluator {seen}, fitted by `emend calibrate`: logistic regressions\n\
         over standardised features with an L2 penalty; a row weighs 1/√n of its data set's n rows. The penalty and\n\
         the thresholds are chosen on judgements of questions that a model was not fitted to, for a precision of {}\n\
         and a recall of {}.\n\
         Fitted on:\n",
        fit.targets.precision, fit.targets.recall
    );
    for ((task, source), rows) in sources {
        about.push_str(&format!("- {}: {source}, {rows} pairs\n", task.name()));
    }
    for source in data_sources {
        about.push_str(&format!("{source}\n"));
    }
    about
}

fn text(rows: &[Row], thresholds: &Thresholds) -> String {
    let mut text = format!(
        "{:<21} {:<9} {:<24} {:>6} {:>7} {:>7} {:>7} {:>7} {:>7}\n",
        "task", "group", "data", "pairs", "AUC", "F1", "Brier", "ECE", "chance"
    );
    for row in rows {
        let data = match (&row.source, row.fitted) {
            (Some(source), _) => source.as_str(),
            (None, true) => "all",
            (None, false) => "all (not fitted)",
        };
        let share = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.3}"));
        let _ = writeln!(
            text,
            "{:<21} {:<9} {data:<24} {:>6} {:>7} {:>7} {:>7.3} {:>7.3} {:>7.3}",
            row.task,
            row.group,
            row.pairs,
            share(row.roc_auc),
            share(row.best_f1),
            row.brier,
            row.expected_calibration_error,
            row.chance_calibration_error
        );
    }
    if rows.iter().any(|row| !row.fitted) {
        text.push_str("not fitted: fewer than 40 pairs, or fewer than 10 of a label; the old model stays\n");
    }
    let _ = writeln!(
        text,
        "thresholds: relevant {}, lower {}, upper {}, strip {}, answers {}, fully {}, partially {}, useful {}, quote {}",
        thresholds.relevant,
        thresholds.lower,
        thresholds.upper,
        thresholds.strip,
        thresholds.answers,
        thresholds.fully,
        thresholds.partially,
        thresholds.useful,
        thresholds.quote
    );
    text
}

/// The model as a whole, then by data set where there are several; of a set with labels of both origins also each of them
/// by itself, where it has both labels.
fn rows(model: &Calibrated) -> Vec<Row> {
    let mut sets: BTreeMap<&str, BTreeMap<&str, Vec<Judged>>> = BTreeMap::new();
    for (source, judged) in &model.judged {
        let set = source.strip_suffix(CONSTRUCTED).unwrap_or(source);
        sets.entry(set).or_default().entry(source).or_default().push(*judged);
    }
    let row = |source: Option<&str>, judged: &[Judged]| Row {
        task: model.task,
        group: model.group,
        source: source.map(str::to_owned),
        fitted: model.fitted,
        pairs: judged.len(),
        roc_auc: metrics::roc_auc(judged),
        best_f1: metrics::best_f1(judged).map(|best| best.f1()),
        brier: metrics::brier(judged),
        expected_calibration_error: metrics::expected_calibration_error(judged),
        chance_calibration_error: metrics::chance_calibration_error(judged),
    };
    let mut rows = vec![row(None, &model.judgements())];
    if sets.len() == 1 && sets.values().all(|parts| parts.len() == 1) {
        return rows;
    }
    for (set, parts) in &sets {
        let all: Vec<Judged> = parts.values().flatten().copied().collect();
        match parts.keys().next() {
            Some(only) if parts.len() == 1 => rows.push(row(Some(only), &all)),
            _ => {
                rows.push(row(Some(set), &all));
                for (source, judged) in parts {
                    let name = if source == set {
                        format!("{set}, human")
                    } else {
                        (*source).to_owned()
                    };
                    rows.extend(metrics::roc_auc(judged).map(|_| row(Some(&name), judged)));
                }
            }
        }
    }
    rows
}
