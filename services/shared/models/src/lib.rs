//! Access to models: chat, embedders, evaluators, prompts, and where weights come from.

pub mod chat;
pub mod embed;
#[cfg(feature = "local")]
pub mod fetch;
#[cfg(feature = "local")]
mod http;
pub mod progress;
pub mod prompt;
mod secret;
pub mod verdict;
