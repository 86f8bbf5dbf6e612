//! Progress reports of slow operations, such as downloads.

use std::{fmt, sync::Arc};

/// A progress report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step<'a> {
    /// What is being done, for display: `downloading model.safetensors from the hub`.
    pub message: &'a str,
    /// Bytes done so far.
    pub done: u64,
    /// Total bytes. `None` if unknown or not measured in bytes.
    pub total: Option<u64>,
}

/// A callback for every [`Step`]. Cheap to clone. It is called often and from any thread, so it must be fast.
#[derive(Clone, Default)]
pub struct Progress(Option<Arc<Report>>);

type Report = dyn Fn(Step<'_>) + Send + Sync;

impl Progress {
    /// Discards all reports.
    #[must_use]
    pub fn none() -> Self {
        Self(None)
    }

    /// Calls `report` for every step.
    pub fn new(report: impl Fn(Step<'_>) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(report)))
    }

    /// Reports `done` of `total` bytes.
    pub fn bytes(&self, message: &str, done: u64, total: Option<u64>) {
        if let Some(report) = &self.0 {
            report(Step { message, done, total });
        }
    }

    /// Reports the start of an operation of unknown length.
    pub fn message(&self, message: &str) {
        self.bytes(message, 0, None);
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() {
            "Progress(reporting)"
        } else {
            "Progress(none)"
        })
    }
}
