//! What a service tells its caller about a model that failed.

use std::time::Duration;

use emend_core::{MODEL_CALLS, Reason, ServiceError};

use super::{ChatError, Receipt};

/// Name in `ErrorInfo.metadata` of how the model failed: [`ChatError::error_type`].
const MODEL_ERROR: &str = "model_error";

/// A model that failed for good, and what that took. The service has tried again as far as its time and its budget of
/// retries went: its caller gains nothing by the same call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{error}")]
pub struct ModelFailure {
    error: ChatError,
    calls: u32,
}

impl ModelFailure {
    /// A model that failed in `error` after the calls on `receipt`.
    pub fn new(error: ChatError, receipt: &Receipt) -> Self {
        let calls = receipt.calls();
        Self { error, calls }
    }

    /// The same after more calls, made before.
    #[must_use]
    pub fn after(self, calls: u32) -> Self {
        Self {
            calls: self.calls.saturating_add(calls),
            ..self
        }
    }

    /// How the model failed.
    pub fn error(&self) -> &ChatError {
        &self.error
    }
}

impl ServiceError for ModelFailure {
    fn reason(&self) -> Reason {
        self.error.reason()
    }

    fn metadata(&self) -> Vec<(&'static str, String)> {
        vec![
            (MODEL_CALLS, self.calls.to_string()),
            (MODEL_ERROR, self.error.error_type().to_owned()),
        ]
    }

    fn retry_after(&self) -> Option<Duration> {
        self.error.retry_after()
    }
}
