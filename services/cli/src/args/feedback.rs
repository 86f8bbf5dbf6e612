//! Options of `emend feedback`.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand, ValueEnum};

use super::ConnectOptions;

/// `emend feedback …`.
#[derive(Debug, Subcommand)]
pub enum FeedbackCommand {
    /// Record what you say of an answer
    ///
    /// Sends it to a running orchestrator that was started with --feedback-dir, or writes it to such a folder itself. The
    /// answer and its passages come from what `emend ask --json` printed.
    #[command(after_help = "Examples:\n  \
        emend ask --docs ./handbook --json \"Who approves leave?\" > answer.json\n  \
        emend feedback record --feedback-dir ./feedback --verdict wrong --question \"Who approves leave?\" \\\n    \
        --result answer.json --relevant 2 --comment \"It is the team lead\"")]
    Record(Box<RecordOptions>),
    /// Write feedback as labelled pairs for `emend calibrate`
    ///
    /// Writes OUT/usefulness/feedback.jsonl: the answers that were called right or wrong; and OUT/relevance/feedback.jsonl:
    /// the passages that were called relevant or irrelevant, and those that an answer cites which was called right. Of
    /// what was said of the same pair more than once, the last holds.
    #[command(after_help = "Example:\n  \
        emend feedback export --feedback-dir ./feedback --out pairs\n  \
        emend calibrate --relevance pairs/relevance/feedback.jsonl --usefulness pairs/usefulness/feedback.jsonl")]
    Export(ExportOptions),
}

/// Options of `emend feedback record`.
#[derive(Args, Debug)]
#[command(group(ArgGroup::new("place").required(true).args(["url", "feedback_dir"])))]
pub struct RecordOptions {
    /// What you say of the answer
    #[arg(long, value_enum, value_name = "VERDICT")]
    pub verdict: SaidVerdict,
    /// What was asked
    #[arg(long, value_name = "TEXT")]
    pub question: String,
    /// The result as `emend ask --json` printed it, or - for standard input
    #[arg(long, value_name = "FILE")]
    pub result: Option<PathBuf>,
    /// The answer, where there is no --result
    #[arg(long, value_name = "TEXT", conflicts_with = "result")]
    pub answer: Option<String>,
    /// What else there is to say
    #[arg(long, value_name = "TEXT")]
    pub comment: Option<String>,
    /// Numbers of the documents of the result that help with the question, from 1
    #[arg(long, value_name = "N", value_delimiter = ',', requires = "result")]
    pub relevant: Vec<usize>,
    /// Numbers of the documents of the result that do not
    #[arg(long, value_name = "N", value_delimiter = ',', requires = "result")]
    pub irrelevant: Vec<usize>,
    /// A running orchestrator, for instance http://127.0.0.1:50050
    #[arg(long, env = "EMEND_URL", hide_env_values = true, value_name = "URL")]
    pub url: Option<String>,
    /// A folder to write to
    #[arg(long, env = "EMEND_FEEDBACK_DIR", value_name = "DIR")]
    pub feedback_dir: Option<PathBuf>,
    /// Print the identifier as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    #[expect(missing_docs, reason = "its fields document themselves in --help")]
    pub connect: ConnectOptions,
}

/// Options of `emend feedback export`.
#[derive(Args, Debug)]
pub struct ExportOptions {
    /// The folder of feedback
    #[arg(long, env = "EMEND_FEEDBACK_DIR", value_name = "DIR")]
    pub feedback_dir: PathBuf,
    /// Folder to write to
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Print how many pairs there are as JSON
    #[arg(long)]
    pub json: bool,
}

/// What is said of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SaidVerdict {
    /// It is right and answers the question
    Right,
    /// It is wrong, or does not answer the question
    Wrong,
    /// There is none although the documents hold one
    WronglyAbstained,
}
