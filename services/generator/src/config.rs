//! The generator's options.

use clap::{Parser, ValueEnum};
use emend_chassis::ServiceOptions;
use emend_evaluator::EvaluatorOptions;
use emend_models::chat::ChatOptions;
use emend_models::embed::EmbedderOptions;
use emend_models::prompt::PromptOptions;

/// Writes answers from passages, with citations.
#[derive(Clone, Debug, Parser)]
#[command(name = "emend-generator", version, about, mut_arg("listen", |listen| listen.default_value("127.0.0.1:50053")))]
pub struct Options {
    /// What every service has.
    #[command(flatten)]
    pub service: ServiceOptions,

    /// How answers are written.
    #[arg(long, env = "EMEND_GENERATOR_BACKEND", help_heading = "Generating", value_enum, default_value_t = BackendKind::Extractive)]
    pub backend: BackendKind,

    /// Longest answer in sentences, 1–20, if a request sets none. `extractive` quotes at most that
    /// many. A model is asked for at most that many, and is only stopped at the limit of a request.
    #[arg(long, env = "EMEND_MAX_SENTENCES", value_name = "N", help_heading = "Generating", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=20))]
    pub max_sentences: u32,

    /// Backend `extractive`: the embedder that its features come from.
    #[command(flatten, next_help_heading = "Backend extractive")]
    pub embedder: EmbedderOptions,

    /// Backend `extractive`: its coefficients and thresholds.
    #[command(flatten, next_help_heading = "Backend extractive")]
    pub evaluator: EvaluatorOptions,

    /// Backend `openai`: the model, and its server where it has one.
    #[command(flatten, next_help_heading = "Backend openai")]
    pub chat: ChatOptions,

    /// Backend `openai`: the prompts.
    #[command(flatten, next_help_heading = "Backend openai")]
    pub prompts: PromptOptions,
}

/// How answers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BackendKind {
    /// In process: the best-supported sentences, quoted and cited.
    Extractive,
    /// A language model: one behind an OpenAI-compatible API, or that of `--llm-local`.
    #[value(name = "openai", alias = "llm")]
    OpenAi,
}

emend_chassis::service_options!(Options);

#[cfg(test)]
mod tests;
