//! How far something slow has come, for whoever shows it.

use std::{fmt, sync::Arc};

/// A moment of something slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step<'a> {
    /// What is being done, for a person: `downloading model.safetensors from the hub`.
    pub message: &'a str,
    /// Bytes done so far.
    pub done: u64,
    /// Bytes in all; `None` where nobody knows, and for what is not counted in bytes.
    pub total: Option<u64>,
}

/// Is told of every [`Step`]. Cloned freely; called often and from any thread, so it has to be quick.
#[derive(Clone, Default)]
pub struct Progress(Option<Arc<Report>>);

type Report = dyn Fn(Step<'_>) + Send + Sync;

impl Progress {
    /// Tells nobody.
    #[must_use]
    pub fn none() -> Self {
        Self(None)
    }

    /// Tells `report`.
    pub fn new(report: impl Fn(Step<'_>) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(report)))
    }

    /// Reports bytes.
    pub fn bytes(&self, message: &str, done: u64, total: Option<u64>) {
        if let Some(report) = &self.0 {
            report(Step { message, done, total });
        }
    }

    /// Reports that something of unknown length began.
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
