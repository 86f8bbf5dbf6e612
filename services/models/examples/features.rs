//! Prints what the evaluator sees of labelled pairs, one JSON object a line: the table from which its coefficients are
//! fitted by logistic regression over standardised features.
//!
//! ```text
//! cargo run -p emend-models --example features -- relevance pairs.jsonl > table.jsonl
//! ```
//!
//! A pair is a JSON object a line; other keys than these are passed over:
//! - `relevance`: `query`, `passage`, `relevant`
//! - `answer`: `question`, `passage`, `answers` (a sentence that holds one of them is right)
//! - `groundedness`: `question` (may be null), `evidence`, `claim`, `supported`
//! - `usefulness`: `question`, `answer`, `useful`
//!
//! A row of the table has `task`, `file`, `key` (the question or evidence, to split by), `group`, `label`,
//! `constructed`, `probability` (with the present coefficients) and `features`.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Parser, ValueEnum};
use emend_models::embed::{self, EmbedderOptions};
use emend_models::evaluate::{Evaluator, EvaluatorOptions, Pair};
use serde::Deserialize;
use serde_json::json;

#[derive(Parser)]
#[command(about = "Prints the evaluator's features of labelled pairs as JSONL")]
struct Options {
    /// What the pairs are labelled for.
    task: Task,
    /// Files of pairs, JSONL.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    embedder: EmbedderOptions,
    #[command(flatten)]
    evaluator: EvaluatorOptions,
}

#[derive(Clone, Copy, ValueEnum)]
enum Task {
    Relevance,
    Answer,
    Groundedness,
    Usefulness,
}

/// The union of all pair files' keys.
#[derive(Deserialize)]
struct Row {
    #[serde(alias = "query")]
    question: Option<String>,
    passage: Option<String>,
    evidence: Option<String>,
    claim: Option<String>,
    answer: Option<String>,
    #[serde(default)]
    answers: Vec<String>,
    #[serde(alias = "relevant", alias = "supported", alias = "useful")]
    right: Option<bool>,
    #[serde(default)]
    constructed: bool,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let options = Options::parse();
    let progress = emend_models::progress::Progress::default();
    let embedder = embed::load(&options.embedder, progress).await?;
    let evaluator = Evaluator::load(embedder, &options.evaluator)?;
    let mut out = std::io::stdout().lock();
    for path in &options.files {
        let file = std::fs::File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        for (number, line) in BufReader::new(file).lines().enumerate() {
            let place = || format!("{}:{}", path.display(), number + 1);
            let row: Row = serde_json::from_str(&line.with_context(place)?).with_context(place)?;
            for table in rows(options.task, &evaluator, &row, &name).await.with_context(place)? {
                writeln!(out, "{table}")?;
            }
        }
    }
    Ok(())
}

async fn rows(task: Task, evaluator: &Evaluator, row: &Row, file: &str) -> Result<Vec<serde_json::Value>> {
    let text = |value: &'_ Option<String>, name: &str| value.clone().with_context(|| format!("`{name}` is missing"));
    let question = row.question.clone().unwrap_or_default();
    let (first, second) = match task {
        Task::Relevance | Task::Answer => (text(&row.question, "question")?, text(&row.passage, "passage")?),
        Task::Groundedness => (text(&row.claim, "claim")?, text(&row.evidence, "evidence")?),
        Task::Usefulness => (text(&row.question, "question")?, text(&row.answer, "answer")?),
    };
    let (name, pair) = match task {
        Task::Relevance => (
            "relevance",
            Pair::Relevance {
                question: &first,
                passage: &second,
            },
        ),
        Task::Answer => (
            "answer",
            Pair::Answer {
                question: &first,
                passage: &second,
            },
        ),
        Task::Groundedness => (
            "groundedness",
            Pair::Groundedness {
                question: &question,
                claim: &first,
                evidence: &second,
            },
        ),
        Task::Usefulness => (
            "usefulness",
            Pair::Usefulness {
                question: &first,
                answer: &second,
            },
        ),
    };
    let explanations = evaluator.explain(pair).await?;
    let labels: Vec<bool> = match task {
        Task::Answer => emend_models::text::sentences(&second)
            .into_iter()
            .map(|range| {
                row.answers
                    .iter()
                    .any(|answer| !answer.is_empty() && second[range.clone()].contains(answer.as_str()))
            })
            .collect(),
        _ => vec![row.right.context("the label is missing")?],
    };
    let key = if matches!(task, Task::Groundedness) {
        &second
    } else {
        &first
    };
    let table = explanations.into_iter().zip(labels).map(|(explanation, label)| {
        let features: serde_json::Map<_, _> =
            explanation.features.into_iter().map(|(name, value)| (name.to_owned(), json!(value))).collect();
        json!({
            "task": name, "model": explanation.task, "file": file, "key": key, "group": explanation.group, "label": label,
            "constructed": row.constructed, "probability": explanation.probability, "features": features,
        })
    });
    Ok(table.collect())
}
