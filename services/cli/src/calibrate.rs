//! `emend calibrate`: the evaluator's coefficients and thresholds from labelled pairs.

use std::{fs, process::ExitCode};

use anyhow::{Context as _, Result};
use emend_core::printable_line;
use emend_eval::{
    calibrate::{self, Fit, Labelled},
    pairs::Task,
};
use emend_evaluator::{Evaluator, Targets};

use crate::{
    args::CalibrateOptions,
    progress::{self, Measuring},
    terminal,
};

/// Fits the models for which there are pairs, and writes all coefficients to a file.
///
/// # Errors
/// A file of pairs cannot be read, a model cannot be had, or the output cannot be written.
pub async fn run(options: CalibrateOptions) -> Result<ExitCode> {
    let mut labelled = Labelled::default();
    labelled.read(Task::Relevance, &options.relevance)?;
    labelled.read(Task::Answer, &options.answer)?;
    labelled.read(Task::Groundedness, &options.groundedness)?;
    labelled.read(Task::Usefulness, &options.usefulness)?;
    let embedder = progress::embedder(&options.embedder).await?;
    let name = embedder.id().to_owned();
    let evaluator = Evaluator::load(embedder, &options.evaluator)?;
    let fit = Fit {
        words_only: options.words_only,
        targets: Targets {
            precision: options.target_precision,
            recall: options.target_recall,
        },
    };
    let bar = Measuring::new("pairs");
    let fitted = calibrate::fit(evaluator, &name, &labelled, fit, &options.data_source, &bar).await?;
    fs::write(&options.out, fitted.to_toml()).with_context(|| format!("cannot write {}", options.out.display()))?;
    if let Some(path) = &options.diagram {
        fs::write(path, fitted.diagram()?).with_context(|| format!("cannot write {}", path.display()))?;
    }
    if options.json {
        let whole = serde_json::json!({
            "file": options.out,
            "thresholds": fitted.thresholds(),
            "models": fitted.rows(),
        });
        terminal::print_json(&whole, true)?;
    } else {
        terminal::print(fitted.text())?;
        terminal::println(format_args!(
            "written to {}; use it with EMEND_EVALUATOR_COEFFICIENTS",
            printable_line(&options.out.display().to_string())
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}
