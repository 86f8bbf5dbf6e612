//! The rewriter's options.

use clap::{Parser, ValueEnum};
use emend_chassis::ServiceOptions;
use emend_models::chat::ChatOptions;
use emend_models::prompt::PromptOptions;

/// Makes the next query from a question and the queries that failed.
#[derive(Clone, Debug, Parser)]
#[command(name = "emend-rewriter", version, about, mut_arg("listen", |listen| listen.default_value("127.0.0.1:50054")))]
pub struct Options {
    /// What every service has.
    #[command(flatten)]
    pub service: ServiceOptions,

    /// How queries are made.
    #[arg(long, env = "EMEND_REWRITER_BACKEND", value_enum, default_value_t = BackendKind::Keywords)]
    pub backend: BackendKind,

    /// Backend `llm`: sampling temperature of the second attempt, after the first gave a query that has failed before, 0–2.
    #[arg(long, env = "EMEND_REWRITER_RETRY_TEMPERATURE", default_value_t = 0.8, value_parser = temperature)]
    pub retry_temperature: f32,

    /// Backend `llm`: the model, and its server where it has one.
    #[command(flatten)]
    pub chat: ChatOptions,

    /// Backend `llm`: the prompts.
    #[command(flatten)]
    pub prompts: PromptOptions,
}

/// How queries are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BackendKind {
    /// In process: the question's keywords, terms of the best passages, and fewer keywords.
    Keywords,
    /// A language model, behind an OpenAI-compatible API or that of `--llm-local`; keywords where it has no new query to offer.
    Llm,
}

emend_chassis::service_options!(Options);

fn temperature(text: &str) -> Result<f32, String> {
    match text.trim().parse::<f32>() {
        Ok(value) if (0.0..=2.0).contains(&value) => Ok(value),
        _ => Err(format!("`{text}` is not a temperature; give a number from 0 to 2")),
    }
}

#[cfg(test)]
mod tests;
