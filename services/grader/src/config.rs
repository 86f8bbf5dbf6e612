//! The grader's options.

use clap::{Parser, ValueEnum};
use emend_chassis::ServiceOptions;
use emend_evaluator::EvaluatorOptions;
use emend_models::chat::ChatOptions;
use emend_models::embed::EmbedderOptions;
use emend_models::prompt::PromptOptions;

/// Grades passages against a question, and answers against evidence and question.
#[derive(Clone, Debug, Parser)]
#[command(name = "emend-grader", version, about, mut_arg("listen", |listen| listen.default_value("127.0.0.1:50052")))]
pub struct Options {
    /// What every service has.
    #[command(flatten)]
    pub service: ServiceOptions,

    /// Where grades come from.
    #[arg(long, env = "EMEND_GRADER_BACKEND", help_heading = "Grading", value_enum, default_value_t = BackendKind::Embedded)]
    pub backend: BackendKind,

    /// Backend `embedded`: the embedder that its features come from.
    #[command(flatten, next_help_heading = "Backend embedded")]
    pub embedder: EmbedderOptions,

    /// Backend `embedded`: its coefficients and thresholds.
    #[command(flatten, next_help_heading = "Backend embedded")]
    pub evaluator: EvaluatorOptions,

    /// Backend `llm`: the model, and its server where it has one.
    #[command(flatten, next_help_heading = "Backend llm")]
    pub chat: ChatOptions,

    /// Backend `llm`: the prompts.
    #[command(flatten, next_help_heading = "Backend llm")]
    pub prompts: PromptOptions,

    /// Backend `llm`: options of its own.
    #[command(flatten, next_help_heading = "Backend llm")]
    pub llm: LlmOptions,
}

/// Where grades come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BackendKind {
    /// In process: logistic models over embedder and lexical features, calibrated on labelled pairs.
    Embedded,
    /// A language model, behind an OpenAI-compatible API or that of `--llm-local`, asked for constrained verdicts.
    Llm,
    /// Both: in process first, and the language model for what is in doubt.
    Cascade,
}

/// Options of the backend `llm`. Thresholds are probabilities, 0–1, and apply if a request sets
/// none.
#[derive(Clone, Debug, clap::Args)]
pub struct LlmOptions {
    /// Passages graded in one call, 1–100; with 1, each passage has its own call. If a reply does
    /// not assign its verdicts to the passages, all of them stay ungraded.
    #[arg(long, env = "EMEND_LLM_BATCH_GRADING", value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=100))]
    pub llm_batch_grading: u8,

    /// Entries of the grade cache. A grade for the same model, prompt and texts comes from the
    /// cache, and concurrent requests for it share one call. 0 turns both off.
    #[arg(long, env = "EMEND_GRADE_CACHE_ENTRIES", value_name = "N", default_value_t = 10_000)]
    pub grade_cache_entries: u64,

    /// Alternative tokens to request log-probabilities for, per token, 0–20. If the server returns
    /// them, scores are finer than 0 and 1. 0 requests none.
    #[arg(long, env = "EMEND_LLM_TOP_LOGPROBS", value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u8).range(0..=20))]
    pub llm_top_logprobs: u8,

    /// Probability from which a passage is relevant, and from which a strip is kept.
    #[arg(long, env = "EMEND_LLM_RELEVANCE_THRESHOLD", value_name = "P", default_value_t = 0.5, value_parser = probability)]
    pub llm_relevance_threshold: f64,

    /// Score from which one passage makes the evaluation correct.
    #[arg(long, env = "EMEND_LLM_UPPER_THRESHOLD", value_name = "P", default_value_t = 0.7, value_parser = probability)]
    pub llm_upper_threshold: f64,

    /// Score below which all passages make the evaluation incorrect; at most the upper threshold.
    #[arg(long, env = "EMEND_LLM_LOWER_THRESHOLD", value_name = "P", default_value_t = 0.3, value_parser = probability)]
    pub llm_lower_threshold: f64,

    /// Utility, 1–5, from which an answer is useful.
    #[arg(long, env = "EMEND_LLM_USEFUL_UTILITY", value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=5))]
    pub llm_useful_utility: u8,
}

emend_chassis::service_options!(Options);

fn probability(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(value) if (0.0..=1.0).contains(&value) => Ok(value),
        _ => Err(format!("`{text}` is not a probability; give a number from 0 to 1")),
    }
}

#[cfg(test)]
mod tests;
