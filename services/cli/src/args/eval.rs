//! Options of `emend eval qa`, `emend eval retrieval` and `emend eval pairs`.

use std::{num::NonZeroUsize, path::PathBuf, time::Duration};

use clap::Args;

use super::{LocalOptions, Search};

/// The question sets that are measured.
#[derive(Args, Debug)]
pub struct SetOptions {
    /// Folder of question sets; may be given more than once
    #[arg(long, value_name = "DIR", required = true)]
    pub data: Vec<PathBuf>,
    /// Only these sets of the folders
    #[arg(long = "set", value_name = "NAME")]
    pub sets: Vec<String>,
    /// At most so many questions of each set
    ///
    /// They are spread as evenly as the set allows over the kinds, and within a kind over the languages. Which questions
    /// those are depends on the questions alone, not on their order in the file, and a smaller sample is part of a larger
    /// one.
    #[arg(long, value_name = "N")]
    pub limit: Option<NonZeroUsize>,
    #[command(flatten)]
    #[expect(missing_docs, reason = "its fields document themselves in --help")]
    pub local: LocalOptions,
}

/// How a retriever is searched for many questions.
#[derive(Args, Clone, Copy, Debug)]
pub struct SearchLoadOptions {
    /// Searches under way at once
    #[arg(long, value_name = "N", default_value = "4")]
    pub concurrent: NonZeroUsize,
    /// Longest time for one search
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = emend_core::duration)]
    pub timeout: Duration,
}

/// Options of `emend eval qa`.
#[derive(Args, Debug)]
pub struct EvalQaOptions {
    #[command(flatten)]
    #[expect(missing_docs, reason = "its fields document themselves in --help")]
    pub questions: SetOptions,
    /// Graphs to compare; the others are compared with the first
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "plain-rag,self-corrective-rag"
    )]
    pub graphs: Vec<String>,
    /// Walks under way at once; latencies are those under this load
    #[arg(long, value_name = "N", default_value = "4")]
    pub concurrent: NonZeroUsize,
    /// Longest time for one walk
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = emend_core::duration)]
    pub timeout: Duration,
    /// Print the report as one JSON object
    ///
    /// How it was run, `sets`, `groups` (all questions, each set, each language) of `kinds` of `graphs` with their outcomes
    /// and costs, `speed` and `failures`. `schema` goes up when a key is renamed, removed or means something else.
    #[arg(long)]
    pub json: bool,
    /// Also write the report as one HTML page, with plots and the questions that went wrong
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Also write one line of JSON for each walk as it ends
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// Options of `emend eval retrieval`.
#[derive(Args, Debug)]
pub struct EvalRetrievalOptions {
    #[command(flatten)]
    #[expect(missing_docs, reason = "its fields document themselves in --help")]
    pub questions: SetOptions,
    /// Modes of search to compare
    #[arg(
        long,
        value_name = "MODES",
        value_enum,
        value_delimiter = ',',
        default_value = "dense,sparse,hybrid"
    )]
    pub modes: Vec<Search>,
    /// Also measure hybrid search whose first N passages are ordered by the grader, as `--option rerank=N` of `emend ask`
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(10..=100))]
    pub rerank: Option<u32>,
    #[command(flatten)]
    #[expect(missing_docs, reason = "its fields document themselves in --help")]
    pub load: SearchLoadOptions,
    /// Print the report as one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Options of `emend eval pairs`.
#[derive(Args, Debug)]
pub struct EvalPairsOptions {
    #[command(flatten)]
    #[expect(missing_docs, reason = "its fields document themselves in --help")]
    pub questions: SetOptions,
    /// Passages to take for each question
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=50))]
    pub top_k: u32,
    /// Also search for the first so many questions of each other set, which the documents are taken not to answer
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub foreign: usize,
    /// Folder to write relevance/NAME.jsonl and answer/NAME.jsonl to
    #[arg(long, value_name = "DIR", default_value = "pairs")]
    pub out: PathBuf,
    #[command(flatten)]
    #[expect(missing_docs, reason = "its fields document themselves in --help")]
    pub load: SearchLoadOptions,
}
