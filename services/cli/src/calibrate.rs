//! `emend calibrate`: the evaluator's coefficients and thresholds from labelled pairs.

use std::{collections::BTreeMap, fs, process::ExitCode};

use anyhow::{Context as _, Result};
use emend_evaluator::{
    Calibrated, Calibration, Calibrator, Evaluator, Targets,
    metrics::{self, Judged},
};
use emend_models::embed;
use futures::TryStreamExt as _;
use serde::Serialize;

use crate::{
    args::CalibrateOptions,
    pairs::{self, LabelledPair, Task},
    progress::{self, ModelProgress},
    reliability::{self, Curve},
};

/// Follows the name of a data set for those of its pairs that no person judged.
const CONSTRUCTED: &str = ", constructed";

/// One model, or one data set of it, on questions that it was not fitted to.
#[derive(Debug, Serialize)]
struct Row {
    task: &'static str,
    group: &'static str,
    /// The data set; none for the whole model.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    fitted: bool,
    pairs: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    roc_auc: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    best_f1: Option<f64>,
    brier: f64,
    expected_calibration_error: f64,
    /// What the error would be by chance if the probabilities were right: on average so few pairs show no less.
    chance_calibration_error: f64,
}

/// Fits the models for which there are pairs, and writes all coefficients to a file.
///
/// # Errors
/// A file of pairs cannot be read, a model cannot be had, or the output cannot be written.
pub async fn run(options: CalibrateOptions) -> Result<ExitCode> {
    let mut labelled: Vec<(String, LabelledPair)> = Vec::new();
    for (task, files) in [
        (Task::Relevance, &options.relevance),
        (Task::Answer, &options.answer),
        (Task::Groundedness, &options.groundedness),
        (Task::Usefulness, &options.usefulness),
    ] {
        for path in files {
            let source = pairs::source(path);
            let named = |pair: LabelledPair| {
                let marked = if pair.constructed { CONSTRUCTED } else { "" };
                (format!("{source}{marked}"), pair)
            };
            labelled.extend(pairs::read(path, task)?.into_iter().map(named));
        }
    }
    let (shown, report) = ModelProgress::start();
    let embedder = embed::load(&options.embedder, report).await;
    shown.finish();
    let embedder = embedder?;
    let name = embedder.id().to_owned();
    let evaluator = Evaluator::load(embedder, &options.evaluator)?;
    let mut calibrator = Calibrator::new(evaluator).words_only(options.words_only);
    let bar = progress::pairs("reading", labelled.len() as u64);
    let mut observed = Vec::with_capacity(labelled.len());
    {
        let calibrator = &calibrator;
        let mut looked = pairs::each(&labelled, |(_, pair)| calibrator.observe(pair.pair()));
        while let Some(one) = looked.try_next().await? {
            observed.push(one);
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    for ((source, pair), observed) in labelled.iter().zip(observed) {
        calibrator.add(source, pair.pair(), observed, &pair.labels);
    }
    let calibration = calibrator.finish(Targets {
        precision: options.target_precision,
        recall: options.target_recall,
    });
    let about = about(&name, &options, &labelled);
    let file = calibration.coefficients.to_toml(&about);
    fs::write(&options.out, file).with_context(|| format!("cannot write {}", options.out.display()))?;
    if let Some(path) = &options.diagram {
        let curves = calibration.models.iter().map(|model| Curve {
            task: model.task,
            name: model.group.to_owned(),
            bins: metrics::reliability(&model.judgements(), 10),
        });
        let page = reliability::diagram("Calibrated grades", &curves.collect::<Vec<_>>())?;
        fs::write(path, page).with_context(|| format!("cannot write {}", path.display()))?;
    }
    show(&options, &calibration)?;
    Ok(ExitCode::SUCCESS)
}

/// What the file says of itself.
fn about(embedder: &str, options: &CalibrateOptions, labelled: &[(String, LabelledPair)]) -> String {
    let mut sources: BTreeMap<(Task, &str), usize> = BTreeMap::new();
    for (source, pair) in labelled {
        *sources.entry((pair.task, source)).or_default() += 1;
    }
    let seen = if options.words_only {
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
        options.target_precision, options.target_recall
    );
    for ((task, source), rows) in sources {
        about.push_str(&format!("- {}: {source}, {rows} pairs\n", task.name()));
    }
    for source in &options.data_source {
        about.push_str(&format!("{source}\n"));
    }
    about
}

fn show(options: &CalibrateOptions, calibration: &Calibration) -> Result<()> {
    let rows: Vec<Row> = calibration.models.iter().flat_map(rows).collect();
    let thresholds = calibration.coefficients.thresholds();
    if options.json {
        let whole = serde_json::json!({ "file": options.out, "thresholds": thresholds, "models": rows });
        anstream::println!("{}", serde_json::to_string_pretty(&whole)?);
        return Ok(());
    }
    anstream::println!(
        "{:<21} {:<9} {:<24} {:>6} {:>7} {:>7} {:>7} {:>7} {:>7}",
        "task",
        "group",
        "data",
        "pairs",
        "AUC",
        "F1",
        "Brier",
        "ECE",
        "chance"
    );
    for row in &rows {
        let data = match (&row.source, row.fitted) {
            (Some(source), _) => source.as_str(),
            (None, true) => "all",
            (None, false) => "all (not fitted)",
        };
        let share = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.3}"));
        anstream::println!(
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
        anstream::println!("not fitted: fewer than 40 pairs, or fewer than 10 of a label; the old model stays");
    }
    anstream::println!(
        "thresholds: relevant {}, lower {}, upper {}, strip {}, answers {}, fully {}, partially {}, useful {}",
        thresholds.relevant,
        thresholds.lower,
        thresholds.upper,
        thresholds.strip,
        thresholds.answers,
        thresholds.fully,
        thresholds.partially,
        thresholds.useful
    );
    anstream::println!(
        "written to {}; use it with EMEND_EVALUATOR_COEFFICIENTS",
        options.out.display()
    );
    Ok(())
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
