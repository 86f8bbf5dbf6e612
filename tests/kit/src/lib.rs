//! What tests put in the place of the real thing. No code that is served depends on it.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a double that fails, fails its test"
)]

pub mod scripted_chat;
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
