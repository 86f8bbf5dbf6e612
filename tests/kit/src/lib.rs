//! What tests put in the place of the real thing. No code that is served depends on it.
#![expect(clippy::unwrap_used, reason = "a double that fails, fails its test")]

pub mod bad_grader;
pub mod http_server;
pub mod in_process;
pub mod language_model;
pub mod otlp;
pub mod pdf;
pub mod process;
pub mod repeated;
pub mod retriever;
#[cfg(feature = "models")]
pub mod scripted_chat;
pub mod spans;
#[cfg(feature = "models")]
pub mod tiny_gguf;

use std::time::Duration;

use emend_core::{Deadline, Scope};

/// Bounds that nothing in a test should reach: an hour, never cancelled.
pub fn scope() -> Scope {
    Scope {
        deadline: Deadline::after(Duration::from_secs(3600)),
        cancel: Default::default(),
    }
}
