//! `emend eval grades`: the evaluator's judgements against labelled pairs.

use std::{fs, process::ExitCode};

use anyhow::{Context as _, Result};
use emend_eval::{grades::Grades, pairs};
use emend_evaluator::Evaluator;

use crate::{
    args::EvalGradesOptions,
    progress::{self, Measuring},
    terminal,
};

/// Judges every pair of a folder and compares with its label.
///
/// # Errors
/// The data cannot be read, or a model cannot be had.
pub async fn grades(options: EvalGradesOptions) -> Result<ExitCode> {
    let files = pairs::folder(&options.data)?;
    let embedder = progress::embedder(&options.embedder).await?;
    let evaluator = Evaluator::load(embedder, &options.evaluator)?;
    let bar = Measuring::new("pairs");
    let mut grades = Grades::default();
    for ((task, set), path) in files {
        if options.sets.is_empty() || options.sets.contains(&set) {
            let labelled = pairs::read(&path, task)?;
            grades
                .add(&evaluator, task, &set, labelled, options.limit, &bar)
                .await?;
        }
    }
    if let Some(path) = &options.diagram {
        fs::write(path, grades.diagram()?).with_context(|| format!("cannot write {}", path.display()))?;
    }
    if options.json {
        terminal::print_json(&grades.rows, true)?;
    } else {
        terminal::print(grades.text())?;
    }
    Ok(ExitCode::SUCCESS)
}
