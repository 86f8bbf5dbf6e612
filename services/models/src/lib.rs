//! Access to models: chat, embedders, evaluators, prompts, and where weights come from.

pub mod chat;
pub mod embed;
pub mod evaluate;
#[cfg(feature = "local")]
pub mod fetch;
#[cfg(any(feature = "local", feature = "openai"))]
mod http;
pub mod progress;
pub mod prompt;
#[cfg_attr(
    not(feature = "openai"),
    expect(dead_code, reason = "most names are for calls to a server")
)]
mod semconv;
pub mod text;
pub mod verdict;
