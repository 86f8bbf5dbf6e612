//! Options about labelled pairs: fitting the evaluator to them, and measuring it.

use std::path::PathBuf;

use clap::Args;
use emend_evaluator::EvaluatorOptions;
use emend_models::embed::EmbedderOptions;

/// Options of `emend calibrate`.
#[derive(Args, Debug)]
#[command(group(clap::ArgGroup::new("pairs").required(true).multiple(true)))]
pub struct CalibrateOptions {
    /// Pairs of question and passage: `question` (or `query`), `passage`, `relevant` and, where known, `title` and `article`
    /// a line
    #[arg(long, value_name = "JSONL", num_args = 1.., group = "pairs")]
    pub relevance: Vec<PathBuf>,
    /// Passages whose sentences answer or not: `question`, `passage`, `answers` and, where known, `title`, `rank` and
    /// `article` a line
    #[arg(long, value_name = "JSONL", num_args = 1.., group = "pairs")]
    pub answer: Vec<PathBuf>,
    /// Pairs of claim and evidence: `claim`, `evidence`, `supported` and, where known, `question` a line
    #[arg(long, value_name = "JSONL", num_args = 1.., group = "pairs")]
    pub groundedness: Vec<PathBuf>,
    /// Pairs of question and answer: `question`, `answer`, `useful` a line
    #[arg(long, value_name = "JSONL", num_args = 1.., group = "pairs")]
    pub usefulness: Vec<PathBuf>,
    /// Precision from which a passage counts as surely relevant or surely not, and a sentence as fully supported
    #[arg(long, value_name = "P", default_value_t = 0.9, value_parser = share)]
    pub target_precision: f64,
    /// Share of the relevant passages that count as relevant at least: one that is lost takes its answer along
    #[arg(long, value_name = "R", default_value_t = 0.9, value_parser = share)]
    pub target_recall: f64,
    /// Fit to words alone, without what the embedder sees: for embedders that have no coefficients of their own
    #[arg(long)]
    pub words_only: bool,
    /// The file to write
    #[arg(long, value_name = "TOML", default_value = "coefficients.toml")]
    pub out: PathBuf,
    /// Also draw how probabilities and labels agree
    #[arg(long, value_name = "HTML")]
    pub diagram: Option<PathBuf>,
    /// A line about the data, such as its licence, for the head of the file; may be repeated
    #[arg(long, value_name = "TEXT")]
    pub data_source: Vec<String>,
    /// Print the outcome as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    #[expect(missing_docs, reason = "its fields document themselves in --help")]
    pub evaluator: EvaluatorOptions,
    #[command(flatten)]
    #[expect(missing_docs, reason = "its fields document themselves in --help")]
    pub embedder: EmbedderOptions,
}

/// Options of `emend eval grades`.
#[derive(Args, Debug)]
pub struct EvalGradesOptions {
    /// Folder with relevance/NAME.jsonl, groundedness/NAME.jsonl and usefulness/NAME.jsonl
    #[arg(long, value_name = "DIR")]
    pub data: PathBuf,
    /// Only these sets of the folder
    #[arg(long = "set", value_name = "NAME")]
    pub sets: Vec<String>,
    /// Only the first pairs of each set
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
    /// Also draw how probabilities and labels agree
    #[arg(long, value_name = "HTML")]
    pub diagram: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    #[expect(missing_docs, reason = "its fields document themselves in --help")]
    pub evaluator: EvaluatorOptions,
    #[command(flatten)]
    #[expect(missing_docs, reason = "its fields document themselves in --help")]
    pub embedder: EmbedderOptions,
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (0.5..=1.0).contains(&value) => Ok(value),
        _ => Err(format!("`{text}` is not a target; give a number from 0.5 to 1")),
    }
}
